"""Convolutions without columns, in machine code for any sizes where it is to be had.

NumPy has a convolution as a product of columns, which have to be copied, and BLAS is slow at the
long and narrow products of few channels.  The routines of `hooks.convolution_routines` read the
image where it is (`execute/llvm/runtime/convolutions.py`): twice as fast for images of up to a
hundred channels.  Each takes rows along the last spatial axis, by tables of their offsets.

What needs padding is copied with it, image by image, into memory that stays in the second cache.  A
thread makes one call for all its images, without Python's lock: beside a thread that compiles, each
time it is taken costs more than an image does.  Threads share the parts of a batch.  The parts, and
with them the order of sums, depend on the sizes alone.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from talweg.core import settings
from talweg.core.cores import count_cores
from talweg.core.hooks import hooks
from talweg.core.load import load

WORTH = 1 << 29  # multiplications, in one call or several, from which the routines are compiled
LARGE = 1 << 18  # that are worth a call
SHARED = 1 << 22  # that are worth threads
FILTER_BYTES = 1 << 18  # of filters that stay in the second cache; BLAS is good at larger ones
EFFICIENT = 0.7  # the least part of a tile's work that is to be of use
ROWS_BYTES = 1 << 14  # of rows that all filters meet in turn, for the first
PARTS = 8  # of a batch, at most
SUMS = 8  # in registers, which hide the time of an addition
_NOTHING = np.zeros((0, 2), np.int64)
_seen = {"work": 0}


class Routines(NamedTuple):
    """The machine code: of each tile (rows of some vectors) two functions, by (name, *tile)."""

    lanes: int
    tiles: tuple[tuple[int, int], ...]
    functions: dict[tuple[str, int, int], int]  # addresses
    images: Callable[[int, int, int, int, int], None]  # calls one of them for images of a batch

    def choose(self, rows: int, columns: int, widest: int) -> tuple[int, int] | None:
        """Return the tile up to `widest` that computes `rows` x `columns` best; None if none does.

        What it computes beside them, and the time that too few sums wait, is lost.
        """
        best, chosen = EFFICIENT, None
        for tile in self.tiles:
            lanes = self.lanes * tile[1]
            computed = -(-rows // tile[0]) * tile[0] * -(-columns // lanes) * lanes
            efficiency = rows * columns / computed * min(1.0, tile[0] * tile[1] / SUMS)
            if tile[0] <= widest and efficiency > best:
                best, chosen = efficiency, tile
        return chosen


class ConvolutionSizes(NamedTuple):
    """The sizes of a convolution: x [N, *S, C] w [*K, C, M] -> y [N, *O, M]."""

    batch: int
    sizes: tuple[int, ...]
    outputs: tuple[int, ...]
    channels: int
    results: int
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]

    @property
    def padded(self) -> tuple[int, ...]:
        """Return the spatial sizes with padding."""
        return tuple([low + size + high for size, (low, high) in zip(self.sizes, self.padding)])

    @property
    def taps(self) -> int:
        """Return the number of taps."""
        return math.prod(self.kernel)

    @property
    def work(self) -> int:
        """Return the number of multiplications."""
        return self.batch * math.prod(self.outputs) * self.taps * self.channels * self.results

    @property
    def images(self) -> int:
        """Return the number of images in a part of the batch."""
        return -(-self.batch // PARTS)

    def suits(self) -> bool:
        """Return whether the routines are better than BLAS at these sizes."""
        if not self.outputs or any([min(pair) < 0 for pair in self.padding]):
            return False
        return 4 * self.taps * self.channels * self.results <= FILTER_BYTES

    def is_product(self) -> bool:
        """Return whether this is a matrix product of arrays as they are."""
        return self.taps == 1 and all([step == 1 for step in self.strides])


def convolve(x: np.ndarray, w: np.ndarray, y: np.ndarray, geometry: ConvolutionSizes) -> bool:
    """Write y = x * w, unless NumPy is to do it; whether that is done."""
    tile = None if geometry.is_product() else _find_tile(x, w, geometry)
    if tile is None:
        return False
    _convolve(*tile, x, w, y, geometry)
    return True


def _convolve(
    routines: Routines,
    tile: tuple[int, int],
    x: np.ndarray,
    w: np.ndarray,
    y: np.ndarray,
    geometry: ConvolutionSizes,
) -> None:
    """Write y = x * w; channels of y lie side by side."""
    panels, last = _pack(w, routines.lanes * tile[1])
    # Neighbours of the last axis and their channels are one run of memory.
    runs = geometry.kernel[:-1] if geometry.dilation[-1] == 1 else geometry.kernel
    length = geometry.taps // math.prod(runs) * geometry.channels
    sizes = (math.prod(runs), length, len(panels), last, 0)
    job = _Job(geometry, x, y, geometry.channels, runs)
    job.run(routines, routines.functions["convolve", *tile], panels, 0, sizes)


def input_gradient(
    g: np.ndarray, w: np.ndarray, total: np.ndarray, strides: tuple, padding: Sequence
) -> bool:
    """Write the input gradient of a convolution with strides, unless NumPy is to do it; whether
    that is done.

    g [N, *O, M] w [*K, C, M] -> total [N, *S, C], zeros before.  The places that are a stride apart
    are read by the same taps, so for each of them this is a convolution with these.
    """
    phases = []
    for offsets in itertools.product(*map(range, strides)):
        axes = [
            _phase(*each)
            for each in zip(offsets, w.shape, strides, padding, total.shape[1:], g.shape[1:])
        ]
        part = w[tuple([axis.taps for axis in axes])]
        target = total[(slice(None), *[slice(o, None, s) for o, s in zip(offsets, strides)])]
        if 0 in part.shape or not target.size:
            continue
        part = part[(slice(None, None, -1),) * len(axes)].swapaxes(-1, -2)
        ones, channels, results = (1,) * len(axes), part.shape[-2], part.shape[-1]
        pads = tuple([axis.padding for axis in axes])
        outputs, kernel = target.shape[1:-1], part.shape[:-2]
        sizes = len(g), g.shape[1:-1], outputs, channels, results, kernel, ones, pads, ones
        phases.append((part, target, ConvolutionSizes(*sizes)))
    tiles = [_find_tile(g, part, geometry) for part, _, geometry in phases]
    if not tiles or None in tiles:
        return False
    for tile, (part, target, geometry) in zip(tiles, phases):
        if tile is not None:
            _convolve(*tile, g, part, target, geometry)
    return True


class _Phase(NamedTuple):
    """What the places of one axis that are a stride apart are made of."""

    taps: slice
    padding: tuple[int, int]  # of the convolution with these taps, turned round


def _phase(
    offset: int, taps: int, stride: int, pads: tuple[int, int], size: int, outputs: int
) -> _Phase:
    """Return how places j * stride + offset are made.

    Tap first + t * stride reads o = j + ahead - t; with the taps turned round, u = count - 1 - t,
    this is a convolution, which reads j - low + u.
    """
    first = (offset + pads[0]) % stride
    ahead = (offset + pads[0] - first) // stride
    count = -(-(taps - first) // stride)
    places = -(-(size - offset) // stride)
    low = count - 1 - ahead
    return _Phase(slice(first, None, stride), (low, places - outputs - low + count - 1))


def filter_gradient(
    x: np.ndarray, g: np.ndarray, total: np.ndarray, geometry: ConvolutionSizes
) -> bool:
    """Write the filters' gradient to `total`, unless NumPy is to do it; whether that is done."""
    routines = None if geometry.is_product() else _routines(geometry, x, g)
    channels, results = geometry.channels, geometry.results
    tile = routines and routines.choose(channels, results, 2 * channels)
    if routines is None or not tile:
        return False
    lanes = routines.lanes * tile[1]
    count, blocks = -(-channels // tile[0]), -(-results // lanes)
    chunk = max(1, ROWS_BYTES // (4 * geometry.outputs[-1] * (channels + results)))
    # Of each part of the batch: their order, and so the rounding, is the same on any threads.
    parts = -(-geometry.batch // geometry.images)
    sums = np.zeros((parts, geometry.taps, count * tile[0], blocks * lanes), np.float32)
    sizes = (geometry.taps, count, blocks, results - (blocks - 1) * lanes, chunk)
    job = _Job(geometry, x, g, count * tile[0], geometry.kernel)
    job.run(routines, routines.functions["filters", *tile], sums, sums.strides[0], sizes)
    whole = sums[..., :channels, :results].sum(axis=0)
    np.copyto(total, whole.reshape(total.shape))
    return True


class _Job:
    """The arguments of a routine, for x [N, *S, C] and y [N, *O, M] in memory, as `images` takes
    them.
    """

    def __init__(
        self, geometry: ConvolutionSizes, x: np.ndarray, y: np.ndarray, channels: int, taps: tuple
    ) -> None:
        self.geometry = geometry
        self.y = y = y if y.strides[-1] == y.itemsize else np.ascontiguousarray(y)
        self.x = x = np.ascontiguousarray(x)
        self.shape = (*geometry.padded, channels)
        copied = geometry.padded != geometry.sizes or channels != x.shape[-1]
        steps = _steps(self.shape)
        self.copies, self.run_bytes = _copies(geometry, channels) if copied else (_NOTHING, 0)
        apart = [step * stride for step, stride in zip(steps, geometry.strides)]
        self.places = _pairs(geometry.outputs[:-1], tuple(apart[:-1]), y.strides[1:-2])
        self.steps = apart[-1], y.strides[-2]
        self.offsets = _offsets(taps, geometry.dilation, steps)

    def run(
        self, routines: Routines, routine: int, w: np.ndarray, w_part: int, sizes: tuple
    ) -> None:
        """Call a routine for all images; `w_part`: how far apart what parts have for w lies."""
        geometry, x, y = self.geometry, self.x, self.y
        fields = (
            x.ctypes.data, x.strides[0], y.ctypes.data, y.strides[0], w.ctypes.data, w_part,
            geometry.images, len(self.copies), self.copies.ctypes.data, self.run_bytes,
            self.places.ctypes.data, len(self.places), geometry.outputs[-1], *self.steps,
            self.offsets.ctypes.data, *sizes,
        )  # fmt: skip
        job = np.array(fields, np.int64)

        def work(first: int, end: int) -> None:
            buffer = np.zeros(self.shape if len(self.copies) else 1, np.float32)
            routines.images(routine, job.ctypes.data, first, end, buffer.ctypes.data)

        _share(work, geometry)


def is_direct(g: np.ndarray, w: np.ndarray, geometry: ConvolutionSizes) -> bool:
    """Return whether the routines are to compute g * w, of which there is no result yet."""
    return _find_tile(g, w, geometry) is not None


def _find_tile(
    x: np.ndarray, w: np.ndarray, geometry: ConvolutionSizes
) -> tuple[Routines, tuple[int, int]] | None:
    """Return the routines for x * w and the tile; None where NumPy is to do it."""
    routines = _routines(geometry, x, w)
    if routines is None:
        return None
    width = geometry.outputs[-1]
    tile = routines.choose(width, geometry.results, width)
    return None if tile is None else (routines, tile)


def _routines(geometry: ConvolutionSizes, *arrays: np.ndarray) -> Routines | None:
    """Return the routines for what suits them; None before so much was computed that they pay."""
    work = geometry.work
    if work < LARGE or not geometry.suits() or any([x.dtype != np.float32 for x in arrays]):
        return None
    _seen["work"] = min(_seen["work"] + work, WORTH)
    find = getattr(hooks, "convolution_routines", None)  # not without an executor
    return None if _seen["work"] < WORTH or find is None else find()


def _pack(w: np.ndarray, lanes: int) -> tuple[np.ndarray, int]:
    """Return w [*K, C, M] as panels [blocks, taps * C, lanes], and how many lanes the last uses."""
    results = w.shape[-1]
    blocks = -(-results // lanes)
    rows = w.reshape(-1, results)
    wide = np.zeros((len(rows), blocks * lanes), np.float32)
    wide[:, :results] = rows
    panels = wide.reshape(len(rows), blocks, lanes).swapaxes(0, 1)
    return np.ascontiguousarray(panels), results - (blocks - 1) * lanes


@functools.lru_cache(256)
def _copies(geometry: ConvolutionSizes, channels: int) -> tuple[np.ndarray, int]:
    """Return the offsets [runs, 2] of an image's runs of memory in it and in its padded copy, and
    their bytes.
    """
    whole_rows = channels == geometry.channels
    counts = geometry.sizes[:-1] if whole_rows else geometry.sizes
    own = _steps((*geometry.sizes, geometry.channels))
    wide = _steps((*geometry.padded, channels))
    inside = sum([low * step for (low, _), step in zip(geometry.padding, wide)])
    pairs = _pairs(counts, own[: len(counts)], wide[: len(counts)]) + np.array([0, inside])
    return pairs, 4 * geometry.channels * (geometry.sizes[-1] if whole_rows else 1)


def _steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the bytes between neighbours along the spatial axes of an image `[*S, C]`."""
    return tuple([4 * math.prod(shape[axis + 1 :]) for axis in range(len(shape) - 1)])


@functools.lru_cache(256)
def _pairs(counts: tuple, x_steps: tuple, y_steps: tuple) -> np.ndarray:
    """Return the offsets [places, 2] in x and y of all places, in order."""
    return np.stack([_sums_of_steps(counts, x_steps), _sums_of_steps(counts, y_steps)], -1)


@functools.lru_cache(256)
def _offsets(taps: tuple, dilation: tuple, steps: tuple) -> np.ndarray:
    """Return the offsets of taps, in order."""
    return _sums_of_steps(taps, [step * apart for step, apart in zip(steps, dilation)])


def _sums_of_steps(counts: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    total = np.zeros(1, np.int64)
    for count, step in zip(counts, steps):
        total = (total[:, None] + np.arange(count) * step).reshape(-1)
    return total


def _share(work: Callable[[int, int], None], geometry: ConvolutionSizes) -> None:
    """Do the work of all images, whole parts of the batch on each of a share of the cores."""
    batch, images = geometry.batch, geometry.images
    parts = -(-batch // images)
    asked = settings.threads.get()
    count = (asked or load.share(count_cores())) if geometry.work >= SHARED else 1
    each = -(-parts // max(1, min(count, parts))) * images
    errors: list[BaseException] = []

    def take(first: int) -> None:
        try:
            work(first, min(first + each, batch))
        except BaseException as error:
            errors.append(error)

    helpers: list[threading.Thread] = []
    for first in range(each, batch, each):
        helper = threading.Thread(target=take, args=(first,), daemon=True)
        try:
            helper.start()
        except RuntimeError:  # there may be no more threads
            take(first)
            continue
        helpers.append(helper)
    take(0)
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
