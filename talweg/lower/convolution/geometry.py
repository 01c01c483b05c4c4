"""Geometry of a convolution's windows: sizes, strides, padding.

A `Windows` describes products  z[t] = Σ x[t scale + tap step + origin] w[tap]  along any number of
spatial axes: a convolution is one, its input gradient is one for each residue of the stride.
Positions outside of x count as zero.  There are always at least two spatial axes, so that all loops
have rows and columns; a line is an image of one row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from talweg.kernels.window import explicit_padding
from talweg.passes.specialize.program import Equation

LONG = 512  # products next to each other
MOST_APART = 12  # taps that may take turns


class Line(NamedTuple):
    """The windows along one axis; results t = 0, 1, ...

    belong at first + t stride of the result.
    """

    size: int  # of what is read
    outs: int  # results
    taps: int
    scale: int  # places between results
    step: int  # places between taps
    origin: int  # the place of result 0 and tap 0; below zero in padding
    first: int = 0
    stride: int = 1
    tap_first: int = 0  # which tap of the filter is number 0
    tap_stride: int = 1  # and how far the next one is

    @property
    def span(self) -> int:
        """The number of positions that all windows together cover."""
        return self.cover(self.outs)

    def cover(self, outs: int) -> int:
        """Return the number of positions that this many neighbouring windows cover."""
        return (outs - 1) * self.scale + (self.taps - 1) * self.step + 1

    @property
    def padded(self) -> bool:
        """Whether windows extend over the ends."""
        return self.origin < 0 or self.origin + self.span > self.size


ONE = Line(1, 1, 1, 1, 1, 0)


class Windows(NamedTuple):
    """A sum of products of x [batch, *sizes, groups * depth] and filters [width] a group."""

    batch: int
    lines: tuple[Line, ...]
    groups: int
    depth: int
    width: int

    @property
    def reduced(self) -> int:
        """The number of products that make up a result."""
        return math.prod([line.taps for line in self.lines]) * self.depth

    @property
    def run(self) -> tuple[int, int]:
        """The length of a run of products contiguous in x, and the number of axes outside."""
        if self.lines[-1].step == 1 and self.groups == 1:
            return self.lines[-1].taps * self.depth, len(self.lines) - 1
        return self.depth, len(self.lines)

    @property
    def interleaved(self) -> bool:
        """Whether panels interleave the taps outside of runs, rather than the runs.

        There is one loop then rather than one for each such tap; but more places are read by turns,
        which in long runs would often lie in the same set of the cache.
        """
        run, apart = self.run
        return run < LONG and math.prod([line.taps for line in self.lines[:apart]]) <= MOST_APART

    @property
    def channels(self) -> int:
        """The number of channels of x."""
        return self.groups * self.depth

    @property
    def padded(self) -> bool:
        """Whether any window extends over the ends."""
        return bool(self.reduced) and any(line.padded for line in self.lines)

    def is_depthwise(self, lanes: int) -> bool:
        """Return whether groups are small, and enough of them for a vector of that many lanes."""
        return self.depth <= 2 and self.width <= 2 and self.groups >= lanes

    @property
    def work(self) -> int:
        """The number of multiplications."""
        outs = math.prod([line.outs for line in self.lines])
        return self.batch * outs * self.reduced * self.groups * self.width


class Geometry(NamedTuple):
    """The sizes and parameters of a convolution, whichever of its three arrays is computed."""

    batch: int
    sizes: tuple[int, ...]
    outs: tuple[int, ...]
    taps: tuple[int, ...]
    strides: tuple[int, ...]
    lows: tuple[int, ...]  # padding in front
    steps: tuple[int, ...]  # dilation
    groups: int
    depth: int  # input channels of a group
    width: int  # output channels of a group

    def forward(self) -> Windows:
        """Return the windows of the convolution."""
        lines = [
            Line(size, out, taps, stride, step, -low)
            for size, out, taps, stride, low, step in self._axes()
        ]
        return Windows(self.batch, _two(lines), self.groups, self.depth, self.width)

    def backward(self) -> list[Windows]:
        """Return the input gradient's windows: one product for each residue modulo the strides.

        x̄[i] = Σ g[(i + low - k step) / stride] w[k] over the taps k for which that is a whole
        number: every stride/gcd(stride, step)th one.  Taken backwards they are windows over g.
        """
        choices = [[]]
        for axis in self._axes():
            choices = [[*lines, line] for lines in choices for line in residues(*axis)]
        return [
            Windows(self.batch, _two(lines), self.groups, self.width, self.depth)
            for lines in choices
        ]

    def _axes(self) -> list[tuple]:
        parts = (self.sizes, self.outs, self.taps, self.strides, self.lows, self.steps)
        return list(zip(*parts, strict=True))


def _two(lines: list[Line]) -> tuple[Line, ...]:
    return tuple([ONE] * (2 - len(lines)) + lines)


def residues(size: int, outs: int, taps: int, stride: int, low: int, step: int) -> list[Line]:
    """Return the windows over g of the positions first, first + stride, ... for each `first`."""
    common = math.gcd(stride, step)
    apart = stride // common
    residues = []
    for first in range(min(stride, size)):
        count = -(-(size - first) // stride)
        fitting = [k for k in range(taps) if (first + low - k * step) % stride == 0]
        if not fitting:
            residues.append(Line(outs, count, 0, 1, 1, 0, first, stride))
            continue
        last = fitting[-1]  # the first window in the order of g
        origin = (first + low - last * step) // stride
        line = Line(
            outs, count, len(fitting), 1, step // common, origin, first, stride, last, -apart
        )
        residues.append(line)
    return residues


def geometry_of(equation: Equation) -> Geometry:
    """Return the geometry of one of the three primitives of convolution."""
    first, second = [value.dims for value in equation.inputs]
    params, result = equation.params, equation.output.dims
    name = equation.prim.name
    if name == "convolution":
        x, w, z = first, second, result
    elif name == "convolution_input_gradient":
        x, w, z = result, second, first
    else:
        x, w, z = first, result, second
    strides, steps = params["strides"], params["dilation"]
    sizes, taps, groups = x[1:-1], w[:-2], params["groups"]
    pairs: Any = explicit_padding(params["padding"], sizes, taps, strides, steps)
    lows = tuple([low for low, _ in pairs])
    depth, width = w[-2], w[-1] // groups
    return Geometry(
        x[0], sizes, z[1:-1], taps, tuple(strides), lows, tuple(steps), groups, depth, width
    )


def divisors(number: int) -> list[int]:
    """Return the divisors of a number in rising order."""
    return [k for k in range(1, number + 1) if number % k == 0]


def shares(count: int, most: int) -> list[int]:
    """Split `count` into few numbers of at most `most` that differ by one, larger ones first."""
    parts = max(1, -(-count // most))
    size, more = divmod(count, parts)
    return [size + 1] * more + [size] * (parts - more)
