"""Coordinates: how large each box is, and where it stands, for a choice of groups that are open.

Rows lie below each other; in a row, members keep their order and come as near as they can to the
middle of their neighbours: the least squares under "not too near", by pooling what is too near (the
pool-adjacent-violators rule).  `page.html` does the same in the browser when a group is folded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from talweg.command.drawing.layers import Bend, Layers
from talweg.command.drawing.model import DrawnItem, Group, Picture

LETTER, ITEM_HEIGHT, FOLDED_HEIGHT = 6.9, 38.0, 34.0
GAP, BEND_GAP, ROW_GAP = 18.0, 9.0, 30.0
PADDING, HEADER = 14.0, 24.0
SWEEPS = 8
STIFFNESS = 6.0  # how much more a bend pulls than a box: long edges become straight


@dataclass
class PlacedBox:
    """The placement of a box: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The middle of its width."""
        return self.x + self.width / 2


@dataclass(eq=False)
class PlacedPicture:
    """A picture with coordinates."""

    boxes: dict[Any, PlacedBox] = field(default_factory=dict)  # visible items and groups
    bends: dict[Bend, tuple[float, float, float]] = field(default_factory=dict)  # x, top, bottom
    rows: dict[Any, tuple[float, float]] = field(default_factory=dict)  # top and bottom
    width: float = 0.0
    height: float = 0.0


def size_of(member: DrawnItem | Group) -> tuple[float, float]:
    """Return the size of an item or of a folded group."""
    if isinstance(member, Group):
        return max(70.0, LETTER * len(f"{member.title} ({member.count()})") + 30), FOLDED_HEIGHT
    letters = max(len(member.label), 0.86 * len(member.shape))
    return max(46.0, LETTER * letters + 16), ITEM_HEIGHT


def choose_open_groups(picture: Picture, depth: int | None = None, most: int = 90) -> set[Group]:
    """Return the groups that are open:
    those down to `depth`, or level by level as long as not more than `most` boxes are seen.
    """
    opened, level = {picture.root}, [picture.root]
    boxes, reached = len(picture.root.members), 0
    while level and (depth is None or reached < depth):
        following = [group for parent in level for group in parent.groups()]
        following.sort(key=lambda group: len(group.members))
        more = sum([len(group.members) for group in following])
        if depth is None and reached and boxes + more > most:
            return opened  # all of a level or none: what is alike looks alike
        for group in following:
            if depth is None and boxes + len(group.members) > most:
                return opened
            opened.add(group)
            boxes += len(group.members)
        level = following
        reached += 1
    return opened


def place(picture: Picture, layers: dict[Group, Layers], opened: set[Group]) -> PlacedPicture:
    """Return coordinates of all that is seen if `opened` are open."""
    sizes: dict[Any, tuple[float, float]] = {}
    inside: dict[Group, _Inside] = {}
    order, pending = [], [picture.root]
    while pending:
        group = pending.pop()
        order.append(group)
        pending += [inner for inner in group.groups() if inner in opened]
    for group in reversed(order):
        for member in group.members:
            sizes.setdefault(member, size_of(member))
        inside[group] = _Inside(layers[group], sizes)
        sizes[group] = inside[group].size(size_of(group)[0])
    placed = PlacedPicture(width=sizes[picture.root][0], height=sizes[picture.root][1])
    placed.boxes[picture.root] = PlacedBox(0, 0, placed.width, placed.height)
    for group in order:
        inside[group].put(placed.boxes[group], sizes, placed)
    return placed


class _Inside:
    """Coordinates in one group, from its own corner."""

    def __init__(self, layers: Layers, sizes: dict):
        self.rows = layers.rows
        self.sizes = sizes
        self.middles: dict[Any, float] = {}
        self.neighbours = _neighbours(layers)
        for row in self.rows:
            self._spread(row, [0.0] * len(row))
        for sweep in range(SWEEPS):
            for row in self.rows if sweep % 2 == 0 else self.rows[::-1]:
                self._spread(row, [self._find_ideal_place(member, sweep) for member in row])
        self.left = min([m - self._width(x) / 2 for x, m in self.middles.items()], default=0.0)
        self.right = max([m + self._width(x) / 2 for x, m in self.middles.items()], default=0.0)
        self.heights = [max([self._height(x) for x in row], default=0.0) for row in self.rows]

    def _width(self, member: Bend | DrawnItem | Group) -> float:
        return 1.0 if isinstance(member, Bend) else self.sizes[member][0]

    def _height(self, member: Bend | DrawnItem | Group) -> float:
        return 0.0 if isinstance(member, Bend) else self.sizes[member][1]

    def _find_ideal_place(self, member: Bend | DrawnItem | Group, sweep: int) -> float:
        above, below = self.neighbours.get(member, ((), ()))
        near = (above if sweep % 2 == 0 else below) if sweep < SWEEPS - 2 else (*above, *below)
        if not near:
            return self.middles[member]
        return sum([self.middles[other] for other in near]) / len(near)

    def _spread(self, row: list, wanted: list[float]) -> None:
        """Put the members of a row as near to their ideal places as they can be."""
        offsets, place = [], 0.0
        for i, member in enumerate(row):
            if i:
                gap = BEND_GAP if isinstance(member, Bend) or isinstance(row[i - 1], Bend) else GAP
                place += (self._width(row[i - 1]) + self._width(member)) / 2 + gap
            offsets.append(place)
        weights = [STIFFNESS if isinstance(member, Bend) else 1.0 for member in row]
        found = pool_adjacent_violators([w - o for w, o in zip(wanted, offsets)], weights)
        for member, offset, start in zip(row, offsets, found):
            self.middles[member] = start + offset

    def size(self, least: float) -> tuple[float, float]:
        """Return the size of the group when open; at least as wide as its title."""
        gaps = ROW_GAP * max(0, len(self.rows) - 1)
        height = sum(self.heights) + gaps + HEADER + PADDING
        return max(least, self.right - self.left + 2 * PADDING), height

    def put(self, box: PlacedBox, sizes: dict, placed: PlacedPicture) -> None:
        """Give members their places in the picture."""
        slack = (box.width - 2 * PADDING - (self.right - self.left)) / 2
        left, y = box.x + PADDING + slack - self.left, box.y + HEADER
        for row, height in zip(self.rows, self.heights):
            for member in row:
                middle = left + self.middles[member]
                if isinstance(member, Bend):
                    placed.bends[member] = (middle, y, y + height)
                    continue
                wide, high = sizes[member]
                top = y + (height - high) / 2 if isinstance(member, DrawnItem) else y
                placed.rows[member] = (y, y + height)
                placed.boxes[member] = PlacedBox(middle - wide / 2, top, wide, high)
            y += height + ROW_GAP


def _neighbours(layers: Layers) -> dict[Any, tuple[list, list]]:
    """Return the neighbours above and below each member and bend."""
    found: dict[Any, tuple[list, list]] = {}
    for chain in layers.chains():
        for upper, lower in zip(chain, chain[1:]):
            found.setdefault(upper, ([], []))[1].append(lower)
            found.setdefault(lower, ([], []))[0].append(upper)
    return found


def pool_adjacent_violators(wanted: list[float], weights: list[float]) -> list[float]:
    """Return the numbers nearest to `wanted` that do not fall.

    >>> pool_adjacent_violators([1.0, 3.0, 2.0], [1.0, 1.0, 1.0])
    [1.0, 2.5, 2.5]
    """
    blocks: list[list[float]] = []  # [mean, weight, how many]
    for value, weight in zip(wanted, weights):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, total, count = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * total) / (last[1] + total)
            last[1] += total
            last[2] += count
    return [mean for mean, _, count in blocks for _ in range(int(count))]
