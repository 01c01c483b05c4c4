"""Windows of pooling: sizes, loops over positions, elements, reductions.

Parameters and meaning are those of `prims/nn/pooling.py`; the places of windows are `Line`s, as for
convolutions.  Channels are the lanes of vectors, windows are written out where they are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.kernels.window import explicit_padding
from talweg.lower.convolution.geometry import Line
from talweg.lower.fusion.loop_nests import block_of, wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, Kernel, Tile, Update, When, const, load, within
from talweg.passes.specialize.program import Equation
from talweg.prims.nn.pooling import avg_pool

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.lower.build import LoweringBuilder

WRITTEN_OUT = 16  # taps of a window up to which it is written out
NARROW = 4  # channels below which the lanes are columns


class PoolingWindows:
    """The windows of pooling: sizes, loops over positions, elements of windows."""

    def __init__(self, builder: LoweringBuilder, equation: Equation, sizes: tuple, outs: tuple):
        self.builder, self.equation, self.value = builder, equation, equation.outputs[0]
        self.sizes, self.outs = sizes, outs
        params = equation.params
        self.window, strides = params["window"], params["strides"]
        steps = params["dilation"]
        pairs: Any = explicit_padding(params["padding"], sizes, self.window, strides, steps)
        self.lines = [
            Line(size, out, taps, stride, step, -low)
            for size, out, taps, stride, step, (low, _) in zip(
                sizes, outs, self.window, strides, steps, pairs
            )
        ]
        self.batch, self.channels = self.value.dims[0], self.value.dims[-1]

    @property
    def taps(self) -> list[tuple]:
        """The taps that touch x, in row-major order."""
        found: list[tuple] = [()]
        for line in self.lines:
            touching = [k for k in range(line.taps) if _touches(line, k)]
            found = [(*before, k) for before in found for k in touching]
        return found

    def kernel(self, name: str, loops: list) -> Kernel:
        """Make a kernel of these loops."""
        members = [value.maker.prim.name for value in self.builder.current.members]
        kernel = Kernel(name, loops, members)
        kernel.node = self.equation.node
        return kernel

    def inside(self, at: list) -> Expr | None:
        """Return whether a position is in x; None if that is certain."""
        return s.all(*[within(i, 0, size) for i, size in zip(at, self.sizes)])

    def through(self, index: tuple, tap: tuple) -> list:
        """Return the position in x of a window's tap."""
        return [
            i * line.scale + k * line.step + line.origin
            for i, k, line in zip(index[1:-1], tap, self.lines)
        ]

    def element(self, buffer: Buffer, index: tuple, at: list, other: float) -> Expr:
        """Return the element of an array like x, for the image and channel of `index`."""
        place = flat((index[0], *at, index[-1]), (0, *self.sizes, self.channels))
        guard = self.inside(at)
        if guard is None:
            return load(buffer, place)
        return load(buffer, place, guard, const(other, buffer.dtype))

    def windows(self, buffer: Buffer, index: tuple) -> Expr:
        """Return the element of an array like y."""
        return load(buffer, flat(index, (0, *self.outs, self.channels)))

    def loops(self, body: Callable[[tuple], list], counts: tuple | None = None) -> list:
        """Emit loops over images, positions and channels; `body` gets the index."""
        counts = self.outs if counts is None else counts
        image, channel = Axis("n", self.batch), Axis("c", self.channels)
        axes = [Axis(f"o{k}", count) for k, count in enumerate(counts)]
        statements = body(tuple(map(Index.of, (image, *axes, channel))))
        outer, inner = [image, axes[0]], [*axes[1:]]
        if self.channels < NARROW and len(axes) > 1:
            inner = [*axes[1:-1], channel, axes[-1]]
        elif self.channels < NARROW:
            outer, inner = [image], [channel, axes[0]]
        else:
            inner.append(channel)
        statements = wrap_in_loops(inner[-1:], statements, "vector")
        return wrap_in_loops(outer, wrap_in_loops(inner[:-1], statements, "serial"), "parallel")


def _touches(line: Line, tap: int) -> bool:
    """Return whether any window has that tap inside of x."""
    places = range(line.outs)
    return any(0 <= o * line.scale + tap * line.step + line.origin < line.size for o in places)


def _lowest(dtype: DType) -> Any:
    return -math.inf if dtype.is_floating else int(np.iinfo(dtype.numpy_dtype).min)


# -- windows reduced


class WindowReduction(PoolingWindows):
    """The lowering of max_pool and avg_pool."""

    def __init__(self, builder: LoweringBuilder, equation: Equation):
        x, value = equation.inputs[0], equation.output
        super().__init__(builder, equation, x.dims[1:-1], value.dims[1:-1])
        self.x = builder.buffer_of(x)
        self.mean = equation.prim is avg_pool
        self.op, self.start = ("add", 0) if self.mean else ("maximum", _lowest(value.dtype))
        self.counts = counts_of(self) if self.mean else None

    def emit_epilogue(self, total: Expr, index: tuple) -> list:
        """Emit the epilogue of a window's maximum or sum."""
        if self.counts is not None:
            total = divide_by_count(total, index, self.counts)
        return self.builder.results(self.value, index, total)

    def unroll(self) -> list:
        """Emit small windows as one expression."""

        def body(index: tuple) -> list:
            total: Expr | None = None
            for tap in self.taps:
                one = self.element(self.x, index, self.through(index, tap), self.start)
                total = one if total is None else getattr(s, self.op)(total, one)
            if total is None:
                total = const(self.start, self.value.dtype)
            return self.emit_epilogue(total, index)

        return self.loops(body)

    def emit_loop(self) -> list:
        """Emit large windows: a block of channels in registers while taps are read."""
        width = block_of(self.channels, 1)
        image, block, lane = (
            Axis("n", self.batch),
            Axis("b", self.channels // width),
            Axis("c", width),
        )
        axes = [Axis(f"o{k}", count) for k, count in enumerate(self.outs)]
        taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(self.lines)]
        channel = Index.of(block) * width + lane
        index = (*map(Index.of, (image, *axes)), channel)
        dims, lanes = ((width,), (Index.of(lane),)) if width > 1 else ((), ())
        tile = Tile("t", self.value.dtype, dims, self.start)
        at = self.through(index, tuple(map(Index.of, taps)))
        one = load(self.x, flat((index[0], *at, channel), (0, *self.sizes, self.channels)))
        body: list = wrap_in_loops([lane], [Update(tile, lanes, one, self.op)], "vector")
        guard = self.inside(at)
        if guard is not None:
            body = [When(guard, body)]
        after = wrap_in_loops([lane], self.emit_epilogue(tile.at(*lanes), index), "vector")
        body = [tile, *wrap_in_loops(taps, body, "serial"), *after]
        return wrap_in_loops([image, block, *axes], body, "parallel")


def reduction(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Lower max_pool and avg_pool, unrolled or in loops."""
    made = WindowReduction(builder, equation)
    small = math.prod(made.window) <= WRITTEN_OUT
    return [made.kernel(name, made.unroll() if small else made.emit_loop())]


def counts_of(pooling: PoolingWindows) -> Any:
    """Return the number of elements of x in a window, or a buffer of them for each axis."""
    if not any(line.padded for line in pooling.lines):
        return math.prod(pooling.window)
    dtype = pooling.value.dtype
    found = []
    for line in pooling.lines:
        places = np.arange(line.outs)[:, None] * line.scale + line.origin
        places = places + np.arange(line.taps) * line.step
        inside = np.sum((places >= 0) & (places < line.size), axis=1)
        buffer = pooling.builder.new("counts", dtype, (line.outs,), "constant")
        buffer.content = np.maximum(inside, 1).astype(dtype.numpy_dtype)
        found.append(buffer)
    return found


def divide_by_count(total: Expr, index: tuple, counts: Any, guard: Expr | None = None) -> Expr:
    """Emit total / the number of the window's elements."""
    if type(counts) is int:
        if counts & (counts - 1) == 0:
            return total * (1.0 / counts)
        return total / float(counts)
    number: Expr | None = None
    for i, buffer in zip(index[1:-1], counts):
        one = const(1, buffer.dtype)
        found = load(buffer, i) if guard is None else load(buffer, i, guard, one)
        number = found if number is None else number * found
    assert number is not None
    return total / number
