"""Choice of the way that matrix registers take for a convolution, by the expected time.

Times are counted in products of 32 x 32 x 32 numbers, and are those measured on one core (Sapphire
Rapids, 27 ns for such a product of bfloat16).
"""

from __future__ import annotations

import functools
import math
from itertools import product as combinations
from typing import NamedTuple

from talweg.lower.convolution.geometry import Windows, divisors
from talweg.lower.ir.registers import SIDE

GATHER, CALL = 5, 8  # of 32 x 32 numbers to gather; of a call
LONGEST = 2048  # products of a result above which gathered taps are summed one after the other
TURNED_BYTES = 1 << 20  # of the rows of a block
NEAR = 1 << 19  # bytes of turned rows that take twice the time
ADD, ADD_FAR = 2, 4  # of 32 x 32 numbers, to add to sums
SLOWER = 1.2  # how many times more it takes where all windows are gathered and turned
# Of 32 x 32 x 32 numbers by vectors, and for 3x3 filters, of few and of many channels.
VECTORS, WINOGRAD, WINOGRAD_FAR = 16, 5, 11
FAR = 1 << 15  # numbers of a tap's filters
SPREAD = 0.4  # of a number of such filters, to transform it


class TermTimes(NamedTuple):
    """The times for numbers of bfloat16, or for those of float16, which are two of these."""

    terms: int
    product: float  # of 32 x 32 x 32
    copy: float  # of 32 x 32
    turn: float
    filters: float  # of 32 x 32 in memory, to pack


SINGLE = TermTimes(1, 1, 4, 3, 6)
SPLIT = TermTimes(2, 4.2, 10, 8, 24)


def whole(count: int) -> int:
    """Round a number up to whole blocks or steps."""
    return -(-count // SIDE) * SIDE


def flat_axes(windows: Windows) -> int:
    """Return the number of the first axis whose places are counted with those of the later ones.

    Where results are several places apart a row's last one is not as far from the next row's.
    """
    lines = windows.lines
    return 0 if all(line.scale == 1 for line in lines) else len(lines) - 1


def sizes_of(windows: Windows) -> list[int]:
    """Return how many places of the copy neighbours along each axis are apart."""
    spans = [line.span for line in windows.lines[1:]]
    return [math.prod(spans[k:]) for k in range(len(spans) + 1)]


def places_of(windows: Windows, rows: int) -> int:
    """Return how many results are counted together: from the first to the last one of a block."""
    first, sizes = flat_axes(windows), sizes_of(windows)
    outs = [rows, *[line.outs for line in windows.lines[1:]]]
    return 1 + sum([(outs[k] - 1) * sizes[k] for k in range(first, len(outs))])


def reads_windows(windows: Windows) -> bool:
    """Return whether to read windows from the image, rather than to gather them."""
    panels = whole(windows.width) // SIDE
    outs = math.prod([line.outs for line in windows.lines])
    gathered = whole(outs) // SIDE * (whole(windows.reduced) // SIDE) * (panels + GATHER)
    if windows.padded:
        gathered += _copied(windows) * SINGLE.copy
    return _image_cost(windows, SINGLE) < gathered


def _copied(windows: Windows) -> int:
    """Return how many times 32 x 32 numbers the copy with zeros round an image has."""
    places = windows.lines[0].span * sizes_of(windows)[0]
    return places * whole(windows.depth) // SIDE**2


def _image_cost(windows: Windows, times: TermTimes) -> float:
    """Return the time for an image whose windows are read."""
    lines, panels = windows.lines, whole(windows.width) // SIDE
    steps = math.prod([line.taps for line in lines]) * whole(windows.depth) // SIDE
    blocks = whole(places_of(windows, lines[0].outs)) // SIDE
    calls = math.prod([line.outs for line in lines[: flat_axes(windows)]])
    products = blocks * steps * panels * times.product
    return windows.groups * (calls * (products + CALL) + _copied(windows) * times.copy)


def beats_vectors(windows: Windows, times: TermTimes) -> bool:
    """Return whether to read windows by matrix registers, rather than to multiply by vectors."""
    taps = windows.reduced // windows.depth
    filters = windows.groups * taps * whole(windows.depth) * whole(windows.width) // SIDE**2
    cost = _image_cost(windows, times) * windows.batch + filters * times.filters
    return cost < _vector_cost(windows)


def gradient_beats_vectors(windows: Windows, times: TermTimes) -> bool:
    """Return whether to turn rows for filter gradients, rather than to multiply by vectors."""
    block = row_block(windows, times)
    return block is not None and block.cost(windows, times) < _vector_cost(windows)


def _vector_cost(windows: Windows) -> float:
    """Return the time that vectors of float32 take."""
    products = windows.work / SIDE**3
    small = [line.taps == 3 and line.scale == line.step == 1 for line in windows.lines]
    if windows.groups > 1 or not all(small):
        return products * VECTORS
    filters = windows.depth * windows.width
    return products * (WINOGRAD if filters <= FAR else WINOGRAD_FAR) + filters * SPREAD


def gather(run: int) -> float:
    """Return the time to gather 32 x 32 numbers, of which so many lie together."""
    return 2 + 100 / run


class RowBlock(NamedTuple):
    """The results of a block: rows of them, in some images, for some channels of x."""

    images: int
    rows: int
    channels: int

    def gathers(self, windows: Windows) -> bool:
        """Return whether rows are put together before they are turned."""
        return self.images > 1 or self.channels < windows.channels

    def apart(self, windows: Windows) -> bool:
        """Return whether each tap of a row is turned by itself, as they are no neighbours."""
        return windows.lines[-1].step != 1 and not self.gathers(windows)

    def tap(self, windows: Windows) -> int:
        """Return how many turned rows a tap has."""
        return whole(self.channels) if self.apart(windows) else self.channels

    def places(self, windows: Windows) -> int:
        """Return the numbers of a turned row."""
        return whole(self.images * windows.lines[-1].outs)

    def numbers(self, windows: Windows) -> int:
        """Return the turned rows of a row of the image: channels of the taps of a row."""
        return whole(windows.lines[-1].taps * self.tap(windows))

    def nbytes(self, windows: Windows, terms: int = 1) -> int:
        """Return the bytes of all turned rows."""
        rows = windows.lines[0].cover(self.rows)
        return 2 * terms * rows * self.numbers(windows) * self.places(windows)

    def cost(self, windows: Windows, times: TermTimes = SINGLE) -> float:
        """Return the expected time."""
        first, panels = windows.lines[0], whole(windows.width) // SIDE
        steps, parts = self.places(windows) // SIDE, self.numbers(windows) // SIDE
        sums = first.taps * parts * panels
        add = ADD if sums * SIDE * SIDE * 4 <= 2 * NEAR else ADD_FAR
        turned = first.cover(self.rows) * steps * parts
        packed = self.rows * steps * panels
        both = times.turn
        if self.gathers(windows):
            cut = self.channels < windows.channels
            both += gather(self.channels if cut else windows.run[0])
        one = sums * (self.rows * steps * times.product + add) + (turned + packed) * both
        blocks = windows.batch // self.images * (first.outs // self.rows)
        slower = 1 + self.nbytes(windows, times.terms) / NEAR  # than in the first cache
        return one * slower * blocks * (windows.channels // self.channels)


def row_block(windows: Windows, times: TermTimes = SINGLE) -> RowBlock | None:
    """Return the best block; None where rows are no rows of an image, or do not fit."""
    return _row_block(windows, times, TURNED_BYTES) if len(windows.lines) == 2 else None


@functools.cache
def _row_block(windows: Windows, times: TermTimes, most: int) -> RowBlock | None:
    depth = windows.depth
    channels = [n for n in divisors(depth) if n == depth or n % SIDE == 0]
    choices = combinations(divisors(windows.batch), divisors(windows.lines[0].outs), channels)
    blocks = [RowBlock(*each) for each in choices]
    blocks = [block for block in blocks if block.nbytes(windows, times.terms) <= most]
    return min(blocks, key=lambda block: block.cost(windows, times), default=None)


def turns_rows(windows: Windows) -> RowBlock | None:
    """Return the block of rows to turn, if it is better than to gather and turn all windows."""
    block = row_block(windows)
    if block is None:
        return None
    panels, steps = whole(windows.width) // SIDE, whole(windows.reduced) // SIDE
    places = windows.lines[0].outs * windows.lines[1].outs
    each = panels + gather(windows.run[0]) + SINGLE.turn
    gathered = windows.batch * whole(places) // SIDE * steps * each
    better = windows.reduced > LONGEST or block.cost(windows) < gathered * SLOWER
    return block if better else None
