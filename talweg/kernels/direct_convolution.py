"""Convolutions without columns, in machine code for any sizes where it is to be had.

NumPy has a convolution as a product of columns, which have to be copied, and BLAS is slow at the
long and narrow products of few channels.  The routines of `hooks.convolution_routines` read the
image where it is (`execute/llvm/runtime/convolutions.py`): twice as fast for images of up to a
hundred channels.  Each takes rows along the last spatial axis, by tables of their offsets.

What needs padding is copied with it, some images at a time, into memory that stays in the second
cache.  Threads share the parts of a batch.  The parts, and with them the order of sums, depend on
the sizes alone.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from talweg.core import settings
from talweg.core.cores import count_cores
from talweg.core.hooks import hooks
from talweg.core.load import load

WORTH = 1 << 30  # multiplications, in one call or several, from which the routines are compiled
LARGE = 1 << 18  # that are worth a call
SHARED = 1 << 22  # that are worth threads
FILTER_BYTES = 1 << 18  # of filters that stay in the second cache; BLAS is good at larger ones
EFFICIENT = 0.7  # the least part of a tile's work that is to be of use
BUFFER_BYTES = 1 << 18  # of images with their padding, for the second cache
ROWS_BYTES = 1 << 14  # of rows that all filters meet in turn, for the first
PARTS = 8  # of a batch, at most
SUMS = 8  # in registers, which hide the time of an addition
_seen = {"work": 0}


class Routines(NamedTuple):
    """The machine code: of each tile (rows of some vectors) two functions, by (name, *tile)."""

    lanes: int
    tiles: tuple[tuple[int, int], ...]
    functions: dict[tuple[str, int, int], Callable[..., None]]

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


class Geometry(NamedTuple):
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

    def parts(self) -> list[slice]:
        """Return the parts of the batch."""
        step = -(-self.batch // PARTS)
        return [slice(start, min(start + step, self.batch)) for start in range(0, self.batch, step)]

    def suits(self) -> bool:
        """Return whether the routines are better than BLAS at these sizes."""
        pointwise = self.taps == 1 and all([step == 1 for step in self.strides])
        if not self.outputs or pointwise or any([min(pair) < 0 for pair in self.padding]):
            return False
        return 4 * self.taps * self.channels * self.results <= FILTER_BYTES


def convolve(x: np.ndarray, w: np.ndarray, y: np.ndarray, geometry: Geometry) -> bool:
    """Write y = x * w, unless NumPy is to do it; whether that is done."""
    routines = _routines(geometry, x, w, y)
    width = geometry.outputs[-1] if geometry.outputs else 0
    tile = routines and routines.choose(width, geometry.results, width)
    if routines is None or not tile:
        return False
    routine = routines.functions["convolve", *tile]
    panels, last = _pack(w, routines.lanes * tile[1])
    # Neighbours of the last axis and their channels are one run of memory.
    runs = geometry.kernel[:-1] if geometry.dilation[-1] == 1 else geometry.kernel
    length = geometry.taps // math.prod(runs) * geometry.channels

    def work(part: slice) -> None:
        for images, buffer in _padded(x, geometry, part, geometry.channels):
            rows = y[images]
            places, steps = _rows(buffer, rows, geometry)
            offsets = _offsets(runs, geometry.dilation, buffer.strides)
            routine(
                buffer.ctypes.data, panels.ctypes.data, rows.ctypes.data, places.ctypes.data,
                len(places), width, *steps, offsets.ctypes.data, len(offsets), length,
                len(panels), last, 0,
            )  # fmt: skip

    _share(work, geometry)
    return True


def filter_gradient(x: np.ndarray, g: np.ndarray, total: np.ndarray, geometry: Geometry) -> bool:
    """Write the filters' gradient to `total`, unless NumPy is to do it; whether that is done."""
    routines = _routines(geometry, x, g, total) if g.flags.c_contiguous else None
    channels, results = geometry.channels, geometry.results
    tile = routines and routines.choose(channels, results, 2 * channels)
    if routines is None or not tile:
        return False
    routine, lanes = routines.functions["filters", *tile], routines.lanes * tile[1]
    count, blocks = -(-channels // tile[0]), -(-results // lanes)
    parts, width = geometry.parts(), geometry.outputs[-1]
    chunk = max(1, ROWS_BYTES // (4 * width * (channels + results)))
    sums = np.zeros((len(parts), geometry.taps, count * tile[0], blocks * lanes), np.float32)

    def work(part: slice) -> None:
        own = sums[parts.index(part)]
        for images, buffer in _padded(x, geometry, part, count * tile[0]):
            rows = g[images]
            places, steps = _rows(buffer, rows, geometry)
            offsets = _offsets(geometry.kernel, geometry.dilation, buffer.strides)
            routine(
                buffer.ctypes.data, rows.ctypes.data, own.ctypes.data, places.ctypes.data,
                len(places), width, *steps, offsets.ctypes.data, len(offsets),
                count, blocks, results - (blocks - 1) * lanes, chunk,
            )  # fmt: skip

    _share(work, geometry)
    whole = sums[..., :channels, :results].sum(axis=0)
    np.copyto(total, whole.reshape(total.shape))
    return True


def is_direct(g: np.ndarray, w: np.ndarray, geometry: Geometry) -> bool:
    """Return whether `convolve` would do this, of which there is no result yet."""
    routines = _routines(geometry, g, w)
    width = geometry.outputs[-1] if geometry.outputs else 0
    return routines is not None and bool(routines.choose(width, geometry.results, width))


def _routines(geometry: Geometry, *arrays: np.ndarray) -> Routines | None:
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


def _padded(
    x: np.ndarray, geometry: Geometry, part: slice, channels: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (slice of the batch, its images with padding, some channels of zeros behind).

    Images are overwritten by the next.
    """
    if geometry.padded == geometry.sizes and channels == x.shape[-1] and x.flags.c_contiguous:
        yield part, x[part]
        return
    shape = (*geometry.padded, channels)
    step = max(1, min(part.stop - part.start, BUFFER_BYTES // (4 * math.prod(shape))))
    buffer = np.zeros((step, *shape), np.float32)
    inside = [slice(low, low + n) for n, (low, _) in zip(geometry.sizes, geometry.padding)]
    image = buffer[(slice(None), *inside, slice(x.shape[-1]))]
    for start in range(part.start, part.stop, step):
        images = slice(start, min(start + step, part.stop))
        count = images.stop - start
        np.copyto(image[:count], x[images])
        yield images, buffer[:count]


def _rows(x: np.ndarray, y: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the offsets [rows, 2] in x and y of rows of y, and the steps along them."""
    apart = [step * stride for step, stride in zip(x.strides[1:], geometry.strides)]
    x_steps, y_steps = (x.strides[0], *apart), y.strides[:-1]
    places = _places(y.shape[:-2], x_steps[:-1], y_steps[:-1])
    return places, (x_steps[-1], y_steps[-1])


@functools.lru_cache(256)
def _places(counts: tuple, x_steps: tuple, y_steps: tuple) -> np.ndarray:
    return np.stack([_sums_of_steps(counts, x_steps), _sums_of_steps(counts, y_steps)], -1)


@functools.lru_cache(256)
def _offsets(taps: tuple, dilation: tuple, strides: tuple) -> np.ndarray:
    """Return the offsets of taps, in order."""
    return _sums_of_steps(taps, [step * apart for step, apart in zip(strides[1:], dilation)])


def _sums_of_steps(counts: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    total = np.zeros(1, np.int64)
    for count, step in zip(counts, steps):
        total = (total[:, None] + np.arange(count) * step).reshape(-1)
    return total


def _share(work: Callable[[slice], None], geometry: Geometry) -> None:
    """Do the work of all parts, on this pool's share of the cores."""
    parts = geometry.parts()[::-1]
    asked = settings.threads.get()
    count = (asked or load.share(count_cores())) if geometry.work >= SHARED else 1
    errors: list[BaseException] = []

    def take() -> None:
        try:
            while parts and not errors:
                work(parts.pop())
        except IndexError:  # another thread took the last one
            pass
        except BaseException as error:
            errors.append(error)

    helpers: list[Any] = []
    for _ in range(min(count, len(parts)) - 1):
        helper = threading.Thread(target=take, daemon=True)
        try:
            helper.start()
        except RuntimeError:  # there may be no more threads
            break
        helpers.append(helper)
    take()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
