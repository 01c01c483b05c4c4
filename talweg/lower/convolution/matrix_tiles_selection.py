"""Choice of the way that matrix registers take for a convolution, by the expected time.

Times are counted in products of 32 x 32 x 32 numbers, and are those measured on one core (Sapphire
Rapids, 27 ns for such a product of bfloat16).
"""

from __future__ import annotations

import math
from itertools import product as combinations
from typing import NamedTuple

from talweg.lower.convolution.geometry import Windows, divisors
from talweg.lower.ir.registers import SIDE

GATHER, COPY, CALL = 5, 4, 8  # of 32 x 32 numbers to gather or copy; of a call
LONGEST = 2048  # products of a result above which gathered taps are summed one after the other
TURNED_BYTES = 1 << 20  # of the rows of a block
NEAR = 1 << 19  # bytes of turned rows that take twice the time
# Times of 32 x 32 numbers, in products of 32 x 32 x 32: to turn, to add to sums.
TURN, ADD, ADD_FAR = 3, 2, 4
SLOWER = 1.2  # the same where all windows are gathered, which fill the second cache


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
    """Return whether to read windows from the image, rather than to gather them.

    Both are counted in products of 32 x 32 x 32 numbers; as measured on a Sapphire Rapids.
    """
    lines, panels = windows.lines, whole(windows.width) // SIDE
    outs = math.prod([line.outs for line in lines])
    steps = whole(windows.reduced) // SIDE
    gathered = whole(outs) // SIDE * steps * (panels + GATHER)
    steps = math.prod([line.taps for line in lines]) * whole(windows.depth) // SIDE
    blocks = whole(places_of(windows, lines[0].outs)) // SIDE
    copied = lines[0].span * sizes_of(windows)[0] * whole(windows.depth) // SIDE**2
    calls = math.prod([line.outs for line in lines[: flat_axes(windows)]])
    read = calls * (blocks * steps * panels + CALL)
    return read + copied * COPY < gathered + (copied * COPY if windows.padded else 0)


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
        return self.images > 1 or self.channels < windows.depth

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

    def nbytes(self, windows: Windows) -> int:
        """Return the bytes of all turned rows."""
        rows = windows.lines[0].cover(self.rows)
        return 2 * rows * self.numbers(windows) * self.places(windows)

    def cost(self, windows: Windows) -> float:
        """Return the expected time, in products of 32 x 32 x 32."""
        first, panels = windows.lines[0], whole(windows.width) // SIDE
        steps, parts = self.places(windows) // SIDE, self.numbers(windows) // SIDE
        sums = first.taps * parts * panels
        add = ADD if sums * SIDE * SIDE * 4 <= 2 * NEAR else ADD_FAR
        turned = first.cover(self.rows) * steps * parts
        packed = self.rows * steps * panels
        both = TURN
        if self.gathers(windows):
            cut = self.channels < windows.depth
            both += gather(self.channels if cut else windows.run[0])
        one = sums * (self.rows * steps + add) + (turned + packed) * both
        blocks = windows.batch // self.images * (first.outs // self.rows)
        slower = 1 + self.nbytes(windows) / NEAR  # in the second cache than in the first
        return one * slower * blocks * (windows.depth // self.channels)


def row_block(windows: Windows) -> RowBlock | None:
    """Return the best block; None where rows are no rows of an image, or do not fit."""
    if len(windows.lines) != 2:
        return None
    depth = windows.depth
    channels = [n for n in divisors(depth) if n == depth or n % SIDE == 0]
    choices = combinations(divisors(windows.batch), divisors(windows.lines[0].outs), channels)
    blocks = [RowBlock(*each) for each in choices]
    blocks = [block for block in blocks if block.nbytes(windows) <= TURNED_BYTES]
    return min(blocks, key=lambda block: block.cost(windows), default=None)


def turns_rows(windows: Windows) -> RowBlock | None:
    """Return the block of rows to turn, if it is better than to gather and turn all windows."""
    block = row_block(windows)
    if block is None:
        return None
    panels, steps = whole(windows.width) // SIDE, whole(windows.reduced) // SIDE
    places = windows.lines[0].outs * windows.lines[1].outs
    gathered = (
        windows.batch * whole(places) // SIDE * steps * (panels + gather(windows.run[0]) + TURN)
    )
    better = windows.reduced > LONGEST or block.cost(windows) < gathered * SLOWER
    return block if better else None
