"""Lowering of convolutions and their gradients: the choice of algorithm, with measurements.

On one core (AMD Zen 3, AVX2, 102 GFLOP/s in registers), float32:

* results in tiles, without columns (`direct.py`): 92 to 100 GFLOP/s, for 1x1
  filters as well, so that no product by BLAS is needed; taps in rows of padding are left out;
* an input gradient is that, over g, for each residue of the strides: the same speed;
* filter gradients (`filter_gradients.py`): 88 to 96 GFLOP/s;
* 3x3 filters with fewer products (`winograd.py`): 1.7 to 2.9 times as fast as
  the above, its filter gradients likewise, where `winograd_selection.py` expects a tenth at least;
* 16-bit numbers where registers multiply matrices of them, in the way that is chosen by
  `matrix_tiles_selection.py`: windows are read from the image itself (`matrix_tiles_direct.py`), or
  gathered where channels are few (`matrix_tiles.py`); for filter gradients rows are turned once
  (`matrix_tiles_filter_rows.py`), or what is gathered (`matrix_tiles_filters.py`);
* groups of one or two channels (`depthwise.py`).

16-bit images are read as they are, and converted where they are copied or transformed: memory is
the limit of much that is computed between convolutions.

Fewer results than a vector has lanes waste the rest: 3 channels reach 24 GFLOP/s.  Integers, short
floats and empty arrays are left to the NumPy kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from talweg.core.dtypes import float16
from talweg.lower.convolution.depthwise import Depthwise, DepthwiseFilters
from talweg.lower.convolution.direct import LARGE, DirectConvolution
from talweg.lower.convolution.filter_gradients import FilterGradient
from talweg.lower.convolution.filter_panels import panels_of
from talweg.lower.convolution.geometry import Windows, geometry_of
from talweg.lower.convolution.matrix_tiles import GatheredConvolution
from talweg.lower.convolution.matrix_tiles_direct import WindowConvolution
from talweg.lower.convolution.matrix_tiles_filter_rows import RowFilterGradient
from talweg.lower.convolution.matrix_tiles_filters import TileFilterGradient
from talweg.lower.convolution.matrix_tiles_selection import (
    SINGLE,
    SPLIT,
    reads_windows,
    row_block,
    turns_rows,
)
from talweg.lower.convolution.padding import TASKS
from talweg.lower.convolution.winograd import Winograd
from talweg.lower.convolution.winograd_filter_gradients import WinogradFilters
from talweg.lower.convolution.winograd_selection import choose, choose_filters
from talweg.lower.fusion.loop_nests import guard_load, wrap_in_loops
from talweg.lower.fusion.views import product_operands, short_operands
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Expr, Kernel, Repeat
from talweg.lower.ir.registers import registers
from talweg.passes.specialize.program import Equation, Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


LINE = 64  # bytes of a line of the cache
IMAGE = 1 << 20  # bytes of an image's results that stay in the second cache


def convolution(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower one of the three primitives to blocks; None for the NumPy kernel's part."""
    value = equation.output
    if value.dtype.name not in ("float32", "float64") or not value.size:
        return None
    if any(not x.size for x in equation.inputs):
        return None
    kernels = _WAYS[equation.prim.name](builder, equation, name)
    _note(kernels, equation.node)
    kernels[-1].names = tuple([member.maker.prim.name for member in builder.current.members])
    return kernels


def _note(blocks: list, node: object) -> None:
    """Label kernels with their operation and algorithm."""
    for block in blocks:
        if type(block) is Repeat:
            _note(block.body, node)
        else:
            block.node = node


def lanes_of(value: Value) -> int:
    """Return the number of lanes of a vector."""
    return registers().lanes(value.dtype.size)


def _forward(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Lower z, tile by tile."""
    x, w = product_operands(equation)
    geometry = geometry_of(equation)
    windows = geometry.forward()
    filters = builder.buffer_of(w)

    def weight(
        taps: tuple, channel: Index, group: Index, result: Index, guard: Expr | None
    ) -> Expr:
        offset = flat((*taps, channel, group * geometry.width + result), w.dims)
        return guard_load(filters, offset, guard)

    if windows.is_depthwise(lanes_of(w)):
        rank = len(w.dims) - 2

        def tap(taps: tuple, channel: Index, group: Index, result: Index) -> Expr:
            return weight(taps[-rank:], channel, group, result, None)

        return [
            Depthwise(builder, windows, builder.buffer_of(x), equation.output).kernel(tap, name)
        ]
    return _products(builder, windows, x, equation.output, weight, name, w, False)


def _input_gradient(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Lower x̄: windows over g, with reversed filters, for each residue of the strides."""
    g, w = product_operands(equation)
    geometry = geometry_of(equation)
    filters = builder.buffer_of(w)
    blocks, rank = [], len(w.dims) - 2

    def weight(
        taps: tuple, channel: Index, group: Index, result: Index, guard: Expr | None
    ) -> Expr:
        offset = flat((*taps, result, group * geometry.width + channel), w.dims)
        return guard_load(filters, offset, guard)

    residues = list(geometry.backward())
    if _share_lines(residues, equation.output, builder.threads):
        return _interleave(builder, residues, g, equation.output, weight, name)
    for number, windows in enumerate(residues):
        own = name if number == 0 else f"{name}_{number}"
        if windows.is_depthwise(lanes_of(w)):

            def tap(
                taps: tuple,
                channel: Index,
                group: Index,
                result: Index,
                lines: tuple = windows.lines,
            ) -> Expr:
                own = [i * line.tap_stride + line.tap_first for i, line in zip(taps, lines)]
                return weight(tuple(own[-rank:]), channel, group, result, None)

            kernels = Depthwise(builder, windows, builder.buffer_of(g), equation.output)
            blocks.append(kernels.kernel(tap, own))
            continue
        blocks += _products(builder, windows, g, equation.output, weight, own, w, True)
    return blocks


def by_registers(value: Value) -> bool:
    """Return whether a convolution's products are those of matrix registers."""
    return short_operands(value.maker) is not None  # type: ignore[arg-type]


def _share_lines(residues: list, value: Value, threads: int) -> bool:
    """Return whether residues are computed image by image: none is alone in a line of the cache.

    Else each of them takes all lines of the result from memory and writes them back.
    """
    size, one = value.dtype.size, residues[0]
    filters = sum([w.groups * w.width * w.reduced for w in residues]) * size
    image = math.prod(value.dims[1:]) * size
    if len(residues) == 1 or by_registers(value) or value.dims[-1] * size >= 2 * LINE:
        return False
    if one.batch < TASKS or image > IMAGE or filters > LARGE:
        return False
    return not any([w.is_depthwise(lanes_of(value)) or choose(w, size, threads) for w in residues])


def _interleave(
    builder: LoweringBuilder, residues: list, x: Value, value: Value, weight: Callable, name: str
) -> list:
    """Lower the windows of all residues as one kernel, which goes from image to image."""
    source, rank = builder.buffer_of(x), len(value.dims) - 2
    blocks, body, image = [], [], Axis("n", residues[0].batch)
    for number, windows in enumerate(residues):
        own = name if number == 0 else f"{name}_{number}"
        panels, copying = panels_of(builder, windows, rank, value.dtype, weight, own)
        if windows.reduced:  # without taps it is zero
            blocks.append(copying)
        body += DirectConvolution(builder, windows, source, value).of_image(panels, image)
    names = (value.maker.prim.name,)  # type: ignore[union-attr]
    return [*blocks, Kernel(name, wrap_in_loops([image], body, "parallel"), names)]


def _products(
    builder: LoweringBuilder,
    windows: Windows,
    x: Value,
    value: Value,
    weight: Callable,
    name: str,
    filters: Value,
    turned: bool,
) -> list:
    """Lower sums of products over all channels by the faster algorithm.

    turned: `weight` reads the matrix of a tap's filters as its transpose.
    """
    source, dtype = builder.buffer_of(x), value.dtype
    if by_registers(value) and windows.reduced:
        only = source.dtype is float16 or windows.groups > 1  # what fits is read
        reads = only or reads_windows(windows)
        way = WindowConvolution if reads else GatheredConvolution
        return way(builder, windows, source, value).kernels(weight, filters, turned, name)
    blocks = choose(windows, dtype.size, builder.threads)
    if blocks is not None:
        return Winograd(builder, windows, source, weight, value, blocks).kernels(name)
    panels, copying = panels_of(builder, windows, len(value.dims) - 2, dtype, weight, name)
    kernels = DirectConvolution(builder, windows, source, value).kernels(panels, name)
    return [copying, *kernels] if windows.reduced else kernels  # without taps it is zero


def _filter_gradient(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Lower w̄: sums over positions."""
    x, g = [builder.buffer_of(value) for value in product_operands(equation)]
    windows = geometry_of(equation).forward()
    if windows.is_depthwise(lanes_of(equation.output)):
        return DepthwiseFilters(builder, windows, x, g, equation.output).kernels(name)
    if by_registers(equation.output):
        if x.dtype is float16 or windows.groups > 1:
            rows = row_block(windows, SPLIT if x.dtype is float16 else SINGLE)
        else:
            rows = turns_rows(windows)
        if rows is not None:
            return RowFilterGradient(builder, windows, x, g, equation.output, rows).kernels(name)
        return TileFilterGradient(builder, windows, x, g, equation.output).kernels(name)
    blocks = choose_filters(windows, equation.output.dtype.size)
    if blocks is not None:
        return WinogradFilters(builder, windows, x, g, equation.output, blocks).kernels(name)
    return FilterGradient(builder, windows, x, g, equation.output).kernels(name)


_WAYS = {
    "convolution": _forward,
    "convolution_input_gradient": _input_gradient,
    "convolution_filter_gradient": _filter_gradient,
}
