"""Ranks and orders: in which row each member of a group stands, and where in its row.

Layered drawing (Sugiyama, Tagawa and Toda 1981): rows by the longest path, sources moved down to
their first user, long edges broken by a place in each row between, rows ordered by the mean place
of neighbours, over and over.  Members of one group may need each other both ways (a scope that is
entered twice): such an edge is turned for the ranks and drawn upwards.  Everything is iterative.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talweg.command.drawing.model import Group, Picture

if TYPE_CHECKING:
    from talweg.command.drawing.model import DrawnItem

SWEEPS = 12
WIDEST = 9  # members of a row
MOST_BENDS = 40_000  # in a group; beyond, edges over more than `LONG` rows are drawn straight
LONG = 12
LANES = 16  # edges with the outside that get ways of their own inside a group
LARGE = 4000  # places in a group beyond which fewer sweeps are made


@dataclass(eq=False)
class Bend:
    """The place of a long edge in a row between its ends."""

    ends: tuple[Any, Any]


@dataclass(eq=False)
class Layers:
    """The rows of a group, and the way of each edge between its members."""

    rows: list[list[Any]] = field(default_factory=list)  # members and bends
    ways: dict[tuple[Any, Any], list[Bend]] = field(default_factory=dict)  # edge -> its bends
    turned: set[tuple[Any, Any]] = field(default_factory=set)  # edges that go up
    entries: dict[Any, list[Bend]] = field(default_factory=dict)  # member -> the way from the top
    exits: dict[Any, list[Bend]] = field(default_factory=dict)  # member -> the way to the bottom

    def chains(self) -> list[list[Any]]:
        """Return members and bends that follow each other downwards."""
        found = []
        for (a, b), bends in self.ways.items():
            if (a, b) in self.turned:
                found.append([b, *bends[::-1], a])
            else:
                found.append([a, *bends, b])
        found += [[*bends, member] for member, bends in self.entries.items()]
        return found + [[member, *bends] for member, bends in self.exits.items()]


@dataclass(eq=False)
class EdgeCrossing:
    """The edges of a group: between its members, and of its members with what lies outside."""

    inside: dict[tuple[Any, Any], None] = field(default_factory=dict)
    entered: dict[Any, None] = field(default_factory=dict)
    left: dict[Any, None] = field(default_factory=dict)


def lift_edges(picture: Picture) -> dict[Group, EdgeCrossing]:
    """Return the edges of each group: those of items, at the innermost group around both ends."""
    crossing: dict[Group, EdgeCrossing] = defaultdict(EdgeCrossing)
    paths: dict[Any, list] = {}
    for source, target in picture.edges:
        a, b = (
            [*paths.setdefault(item.parent, item.parent.above()), item] for item in (source, target)
        )
        depth = 0
        while a[depth] is b[depth]:
            depth += 1
        crossing[a[depth - 1]].inside[a[depth], b[depth]] = None
        for group, member in zip(a[depth:], a[depth + 1 :]):
            crossing[group].left[member] = None
        for group, member in zip(b[depth:], b[depth + 1 :]):
            crossing[group].entered[member] = None
    return crossing


def arrange(picture: Picture) -> dict[Group, Layers]:
    """Return the rows of every group of a picture."""
    edges = lift_edges(picture)
    found, pending = {}, [picture.root]
    while pending:
        group = pending.pop()
        own = edges.get(group) or EdgeCrossing()
        found[group] = layers_of(group.members, list(own.inside), own)
        pending += group.groups()
    return found


def layers_of(
    members: list, edges: list[tuple[Any, Any]], own: EdgeCrossing | None = None
) -> Layers:
    """Assign members joined by edges to layers; `own` has those joined with members outside."""
    turned = upward(members, edges)
    straight = [(b, a) if (a, b) in turned else (a, b) for a, b in edges]
    straight = list(dict.fromkeys(straight))
    ranks = assign_ranks(members, straight)
    layers = Layers([[] for _ in range(1 + max(ranks.values(), default=-1))], turned=turned)
    for member in members:
        layers.rows[ranks[member]].append(member)
    links: list[tuple[Any, Any]] = []
    longest = len(layers.rows)
    if sum([ranks[b] - ranks[a] for a, b in straight]) > MOST_BENDS:
        longest = LONG
    for a, b in straight:
        bends: list[Bend] = []
        if ranks[b] - ranks[a] <= longest:
            for rank in range(ranks[a] + 1, ranks[b]):
                bends.append(Bend((a, b)))
                layers.rows[rank].append(bends[-1])
            links += list(zip([a, *bends], [*bends, b]))
        if (b, a) in turned:
            layers.ways[b, a] = bends[::-1]
        if (a, b) not in turned:
            layers.ways[a, b] = bends
    if own is not None and len(own.entered) + len(own.left) <= LANES:
        links += lanes(layers, ranks, own)
    order(layers.rows, links)
    return layers


def lanes(layers: Layers, ranks: dict[Any, int], own: EdgeCrossing) -> list[tuple[Any, Any]]:
    """Return ways for edges from outside, from the top, and to the outside, to the bottom: else
    they would run behind boxes.  The links they consist of.
    """
    links: list[tuple[Any, Any]] = []
    for members, bends_of, is_entry in (
        (own.entered, layers.entries, True),
        (own.left, layers.exits, False),
    ):
        for member in members:
            rank = ranks[member]
            rows = range(rank) if is_entry else range(rank + 1, len(layers.rows))
            bends = [Bend((member, member)) for _ in rows]
            for row, bend in zip(rows, bends):
                layers.rows[row].append(bend)
            bends_of[member] = bends
            chain = [*bends, member] if is_entry else [member, *bends]
            links += list(zip(chain, chain[1:]))
    return links


def upward(members: list, edges: list) -> set:
    """Return edges that close circles:
    among members that need each other, those to one made earlier.
    """
    after: dict[Any, list] = {member: [] for member in members}
    for a, b in edges:
        after[a].append(b)
    born = {member: first_of(member) for member in members}
    knot = knots(members, after)
    return {(a, b) for a, b in edges if knot[a] == knot[b] and born[a] > born[b]}


def first_of(member: DrawnItem | Group) -> int:
    """Return the number of the first item in a member."""
    numbers, pending = [], [member]
    while pending:
        each = pending.pop()
        if isinstance(each, Group):
            pending += each.members
        else:
            numbers.append(each.number)
    return min(numbers, default=0)


def knots(members: list, after: dict[Any, list]) -> dict[Any, int]:
    """Return which members lie on circles with each other: the same number (Tarjan 1972)."""
    number: dict[Any, int] = {}
    low: dict[Any, int] = {}
    knot: dict[Any, int] = {}
    open_ones: list = []
    for start in members:
        stack = [] if start in number else [(start, iter(after[start]))]
        if stack:
            number[start] = low[start] = len(number)
            open_ones.append(start)
        while stack:
            member, rest = stack[-1]
            following = next(rest, None)
            if following is not None:
                if following not in number:
                    number[following] = low[following] = len(number)
                    open_ones.append(following)
                    stack.append((following, iter(after[following])))
                elif following not in knot:
                    low[member] = min(low[member], number[following])
                continue
            stack.pop()
            if stack:
                low[stack[-1][0]] = min(low[stack[-1][0]], low[member])
            if low[member] == number[member]:
                while member not in knot:
                    knot[open_ones.pop()] = number[member]
    return knot


def assign_ranks(members: list, edges: list) -> dict[Any, int]:
    """Return the row of each member: below all it needs;
    what needs nothing, just above its first user.
    """
    after: dict[Any, list] = {member: [] for member in members}
    missing = dict.fromkeys(members, 0)
    for a, b in edges:
        after[a].append(b)
        missing[b] += 1
    sources = [member for member in members if not missing[member]]
    ranks = dict.fromkeys(members, 0)
    pending = list(sources)
    while pending:
        following = []
        for member in pending:
            for other in after[member]:
                ranks[other] = max(ranks[other], ranks[member] + 1)
                missing[other] -= 1
                if not missing[other]:
                    following.append(other)
        pending = following
    for member in sources:
        if after[member]:
            ranks[member] = max(0, min(ranks[other] for other in after[member]) - 1)
    return wrap_rows(ranks)


def wrap_rows(ranks: dict[Any, int]) -> dict[Any, int]:
    """Return rows of more than `WIDEST` members as several."""
    rows: dict[int, list] = {}
    for member, rank in ranks.items():
        rows.setdefault(rank, []).append(member)
    found, row = {}, 0
    for rank in sorted(rows):
        count = -(-len(rows[rank]) // WIDEST)
        size = -(-len(rows[rank]) // count)
        found.update({member: row + place // size for place, member in enumerate(rows[rank])})
        row += count
    return found


def order(rows: list[list], links: list[tuple[Any, Any]]) -> None:
    """Order each row so that few links cross; the best order found stays."""
    above: dict[Any, list] = {}
    below: dict[Any, list] = {}
    for a, b in links:
        below.setdefault(a, []).append(b)
        above.setdefault(b, []).append(a)
    size = sum(map(len, rows))
    rank_of = {member: i for row in rows for i, member in enumerate(row)}
    best, least = [list(row) for row in rows], crossings(rows, below, rank_of)
    for sweep in range(SWEEPS if size <= LARGE else 2):
        if not least:
            break
        downward = sweep % 2 == 0
        neighbours = above if downward else below
        for row in rows if downward else reversed(rows):
            row.sort(key=lambda member: mean(member, neighbours, rank_of))
            for i, member in enumerate(row):
                rank_of[member] = i
        count = crossings(rows, below, rank_of)
        if count < least:
            best, least = [list(row) for row in rows], count
    for row, kept in zip(rows, best):
        row[:] = kept


def mean(member: Bend | DrawnItem | Group, neighbours: dict, place: dict) -> float:
    """Return the mean place of a member's neighbours; its own without any."""
    found = neighbours.get(member)
    if not found:
        return place[member]
    return sum([place[other] for other in found]) / len(found)


def crossings(rows: list[list], below: dict, place: dict) -> int:
    """Count the crossing links between neighbouring rows (Barth, Jünger and Mutzel 2004)."""
    total = 0
    for row in rows:
        ends = [place[b] for a in row for b in sorted(below.get(a, ()), key=place.__getitem__)]
        total += inversions(ends)
    return total


def inversions(numbers: list[int]) -> int:
    """Count the pairs that stand in the wrong order.

    >>> inversions([3, 1, 2])
    2
    """
    if not numbers:
        return 0
    size = 1 << max(numbers).bit_length()
    tree, total = [0] * (2 * size), 0
    for seen, number in enumerate(numbers):
        leaf, smaller = number + size, 0
        tree[leaf] += 1
        while leaf > 1:  # counts what came before and is not larger
            if leaf % 2:
                smaller += tree[leaf - 1]
            leaf //= 2
            tree[leaf] += 1
        total += seen - smaller - (tree[number + size] - 1)
    return total
