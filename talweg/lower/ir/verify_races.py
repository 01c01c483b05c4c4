"""The race checker: iterations that run concurrently touch no element that one writes.

In a parallel, vector or unrolled loop no iteration may write where another one reads or writes.
Looked at are samples of the places that statements reach (all places, if they are few); indices
computed from data, guarded loads, and statements within conditions are taken to be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    OF_THREADS,
    Buffer,
    Call,
    For,
    Kernel,
    Pointer,
    Repeat,
    Store,
    Tile,
    Update,
    elements,
    walk,
)
from talweg.lower.ir.ranges import evaluate, grid, inner_axes
from talweg.lower.ir.visitors import all_statements, brief, buffers_written, refuse, root_of, roots

_SIDE_BY_SIDE = frozenset(("parallel", "vector", "unroll"))
_POINTS = 1024  # looked at for each access


class _Access:
    """An access to a buffer: its index, and the loops around it, outermost first."""

    __slots__ = ("buffer", "index", "loops", "op", "place", "writes")

    def __init__(self, buffer: Buffer, index: Index, loops: tuple, place: str, op: Any = None):
        self.buffer, self.index, self.loops, self.place, self.op = buffer, index, loops, place, op
        self.writes = False


def check_races(kernel: Kernel, axes: Sequence[Axis] = ()) -> None:
    """Raise InternalError where two iterations of a loop touch one element, and one writes.

    `axes` are those of repeats around the kernel.
    """
    place = f"kernel {kernel.name}"
    accesses: list[_Access] = []
    _collect(kernel.body, (), f"{place}: ", accesses)
    for statement in all_statements(kernel.body):
        if type(statement) is not For or statement.kind not in _SIDE_BY_SIDE:
            continue
        if statement.axis.extent > 1:
            _check_loop(statement, [a for a in accesses if statement in a.loops], axes)
            _check_tiles(statement, f"{place}: {brief(statement)}")
    _check_beside(kernel.body, place)


def check_trips(block: Repeat) -> None:
    """Raise InternalError where two trips of a parallel repeat touch one element, and one writes.

    A trip writes parts that its number tells, and buffers of which each thread has its own.
    """
    where = f"repeat {block.axis.name} in {block.axis.extent} parallel"
    if block.flag is not None:
        raise refuse(where, "it has a flag")
    accesses: list[_Access] = []
    for kernel in _kernels(block.body, where):
        _collect(kernel.body, (), f"{where}: kernel {kernel.name}: ", accesses)
    shared = [each for each in accesses if root_of(each.buffer).kind not in OF_THREADS]
    written = {root_of(access.buffer) for access in shared if access.writes}
    for access in shared:
        if root_of(access.buffer) in written and block.axis not in access.index.axes():
            raise refuse(access.place, f"all trips touch one element of {access.buffer}")


def _kernels(blocks: list, place: str) -> Iterator[Kernel]:
    """Yield the kernels of a parallel repeat, which holds nothing but these and repeats."""
    for block in blocks:
        if type(block) is Kernel:
            yield block
        elif type(block) is Repeat and block.flag is None and not block.parallel:
            yield from _kernels(block.body, place)
        else:
            raise refuse(place, f"{type(block).__name__} is in it")


def _collect(body: list, loops: tuple, within: str, accesses: list[_Access]) -> None:
    """Collect the accesses that certainly happen at known positions."""
    for statement in body:
        where = within + brief(statement)
        for expr in walk(roots(statement)):
            if expr.op == "load" and not expr.args:
                buffer, index = expr.data
                accesses.append(_Access(buffer, index, loops, where))
        if type(statement) is Store:
            access = _Access(statement.buffer, statement.index, loops, where, statement.op)
            access.writes = True
            accesses.append(access)
        elif type(statement) is Call:
            _collect_call(statement, loops, where, accesses)
        elif type(statement) is For and statement.axis.extent:
            _collect(statement.body, (*loops, statement), within, accesses)


def _collect_call(call: Call, loops: tuple, where: str, found: list[_Access]) -> None:
    for argument in call.arguments:
        if type(argument) is Pointer and argument.buffer in call.writes:
            access = _Access(argument.buffer, argument.index, loops, where)
            access.writes = True
            found.append(access)


def _check_loop(loop: For, accesses: list[_Access], around: Sequence[Axis]) -> None:
    """Check the accesses within one loop."""
    by_root: dict[Buffer, list[_Access]] = {}
    for access in accesses:
        root = root_of(access.buffer)
        if not (root.kind == "scratch" and loop.kind == "parallel"):
            by_root.setdefault(root, []).append(access)
    for accesses_here in by_root.values():
        for access in accesses_here:
            if not access.writes or loop.axis in access.index.axes():
                continue
            if access.op is None or loop.kind != "unroll":
                what = f"all iterations of {loop.kind} loop {loop.axis} write to one place"
                raise refuse(access.place, what)
        exact = [access for access in accesses_here if not elements(access.index)]
        if any(access.writes for access in exact):
            for outer in (0, -1):
                _check_places(loop, exact, outer, around)


def _check_places(loop: For, accesses: list[_Access], outer: int, around: Sequence) -> None:
    """Check that no position is written by one iteration and used by another."""
    owner: dict[int, int] = {}  # place: the iteration that writes there
    for access in sorted(accesses, key=lambda access: not access.writes):
        if access.op is not None and loop.kind == "unroll":
            continue
        places, turns = _places(loop, access, outer, around)
        for offset, turn in zip(places.tolist(), turns.tolist()):
            if access.writes:
                other = owner.setdefault(offset, turn)
            else:
                other = owner.get(offset, turn)
            if other != turn:
                word = "writes" if access.writes else "reads"
                what = f"{word} where another iteration of {loop.kind} loop {loop.axis} writes"
                raise refuse(access.place, what)


def _places(
    loop: For, access: _Access, outer: int, around: Sequence[Axis]
) -> tuple[NDArray, NDArray]:
    """Return the bytes that an access starts at, and the loop's iteration for each."""
    depth = access.loops.index(loop)
    fixed = [*around, *[each.axis for each in access.loops[:depth]]]
    used = inner_axes(access.index)
    free = [each.axis for each in access.loops[depth:] if each.axis in used or each is loop]
    values = grid(free, _POINTS)
    count = len(values[loop.axis])
    for axis in fixed:
        values[axis] = np.full(count, 0 if outer == 0 else axis.extent - 1)
    size = access.buffer.dtype.size
    start = _start(access.buffer)
    return evaluate(access.index, values, count) * size + start, values[loop.axis]


def _start(buffer: Buffer) -> int:
    """Return the offset of a buffer in the buffer it is part of."""
    start = 0
    while buffer.part is not None:
        start += buffer.offset
        buffer = buffer.part
    return start


def _check_tiles(loop: For, where: str) -> None:
    """Check the updates by iterations of a tile that they share."""
    statements = list(all_statements(loop.body))
    own_tiles = {statement for statement in statements if type(statement) is Tile}
    shared: dict[Tile, set] = {}
    for statement in statements:
        if type(statement) is not Update or statement.tile in own_tiles:
            continue
        if loop.kind == "parallel":
            raise refuse(where, f"{brief(statement)}: each thread has a tile of its own")
        if not _depends(statement.indices, loop.axis):
            shared.setdefault(statement.tile, set()).add(statement.op)
    for tile, ops in shared.items():
        if len(ops) > 1:
            raise refuse(where, f"iterations combine with tile {tile} in more ways than one")
        if None in ops and loop.kind == "vector":
            raise refuse(where, f"all iterations set tile {tile}")
    for expr in walk([root for statement in statements for root in roots(statement)]):
        if expr.op == "read" and expr.data[0] in shared and None not in shared[expr.data[0]]:
            raise refuse(where, f"tile {expr.data[0]} is read where iterations combine with it")


def _depends(indices: tuple, axis: Axis) -> bool:
    return any(axis in index.axes() for index in indices)


def _check_beside(body: list, within: str) -> None:
    """Check statements beside parallel loops: one thread stores, or all compute tiles."""
    if not any(type(statement) is For and statement.kind == "parallel" for statement in body):
        return
    tiles = {statement for statement in body if type(statement) is Tile}
    for statement in body:
        if type(statement) is For and statement.kind == "parallel":
            continue
        things = [
            thing for inner in all_statements([statement]) for thing in buffers_written(inner)
        ]
        buffers = [thing for thing in things if isinstance(thing, Buffer)]
        where = f"{within}: {brief(statement)}"
        for buffer in buffers:
            if root_of(buffer).kind == "scratch":
                raise refuse(where, f"scratch {buffer} is written beside parallel loops")
        if buffers and not tiles.isdisjoint(things):
            raise refuse(where, "a tile is updated where only one thread works")
