"""Buffer assignment: lifetimes of temporaries, and their offsets in one arena.

A temporary's life is an interval of positions; each kernel or host call has one, depth first.  Two
whose intervals meet never share memory.  Control flow makes lives longer:

* within a `Repeat`, which comes round again: what one round leaves for the next lives
  through all of it.  Certain not to be left is what the round makes (writes whole, and does not
  read) before any other use, where all uses are in the same list of blocks;
* what is used inside and outside of a `Repeat` or `If` lives through it; so does what each thread
  has of its own in a parallel repeat;
* flags and choices are read by every thread before the next barrier: they have memory of their own.

A buffer that is part of another one uses that one.  Places are found largest first, each in the
smallest gap that is free for its whole life; in programs of thousands of layers, where that would
take most of the time of compiling, in the order in which lives begin, with a list of what is free.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    OF_THREADS,
    Buffer,
    Call,
    Expr,
    Fill,
    Grow,
    Host,
    If,
    Kernel,
    LoopProgram,
    Pointer,
    Repeat,
    Store,
    When,
    elements,
    walk,
)
from talweg.lower.ir.visitors import bodies, root_of, roots

PLACED = ("temporary", *OF_THREADS)  # those that lie in the arena
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
MANY = 2000  # buffers up to which all are looked at for each
STREAMED_BYTES = 24 << 20  # of a result that does not stay in cache


class BufferAssignment(NamedTuple):
    """The offsets of a program's buffers: bytes of the arena, and the peak of live bytes.

    `offsets` stay true when somebody plans the same buffers for another number of threads.
    """

    nbytes: int
    peak: int
    threads: int
    offsets: dict[Buffer, int]


class BufferUse(NamedTuple):
    """The accesses to a buffer in a block or a list of blocks.

    `first` to `last` is its life if nothing outside uses it, `begin` to `end` otherwise.  `made`:
    it is written before it is read; `settled`: so it is wherever it is used at all, and a loop
    around the block leaves nothing in it for the next round.
    """

    first: int
    last: int
    begin: int
    end: int
    made: bool
    settled: bool


def round_up(nbytes: int) -> int:
    """Round a buffer's size up to the arena's alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def plan(program: LoopProgram, threads: int = 1) -> BufferAssignment:
    """Assign every temporary, private and scratch buffer its offset in the arena."""
    lives = lifetimes(program)
    placed = [
        (round_up(buffer.nbytes) * (threads if buffer.kind in OF_THREADS else 1), buffer)
        for buffer in program.buffers
        if buffer.part is None and buffer.kind in PLACED
    ]
    live = [(size, buffer) for size, buffer in placed if buffer in lives]
    for _, buffer in placed:
        buffer.offset = 0
    place = _place if len(live) <= MANY else _place_in_time
    nbytes = place([size for size, _ in live], [lives[b] for _, b in live], live)
    peak = _peak([size for size, _ in live], [lives[b] for _, b in live])
    return BufferAssignment(nbytes, peak, threads, {buffer: buffer.offset for _, buffer in placed})


def _place(sizes: list[int], lives: list[tuple[int, int]], live: list) -> int:
    """Assign offsets, the largest buffer first; returns the bytes of the arena."""
    first = np.array([life[0] for life in lives], np.int64)
    last = np.array([life[1] for life in lives], np.int64)
    low, high = np.zeros_like(first), np.zeros_like(first)
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], lives[i]))
    done = np.zeros(len(sizes), bool)
    for i in order:
        meets = np.flatnonzero(done & (first <= last[i]) & (last >= first[i]))
        offset = _gap(sizes[i], low[meets], high[meets])
        low[i], high[i], done[i] = offset, offset + sizes[i], True
        live[i][1].offset = offset
    return int(high.max(initial=0))


def _gap(size: int, low: np.ndarray, high: np.ndarray) -> int:
    """Return the start of the smallest free gap that holds `size` bytes."""
    order = np.argsort(low)
    ends = np.concatenate([[0], np.maximum.accumulate(high[order])])
    rooms = low[order] - ends[:-1]
    fitting = np.flatnonzero(rooms >= size)
    if not len(fitting):
        return int(ends[-1])
    return int(ends[fitting[np.argmin(rooms[fitting])]])


def _place_in_time(sizes: list[int], lives: list[tuple[int, int]], live: list) -> int:
    """Assign offsets in order of lifetimes' starts (best fit); returns the bytes of the arena."""
    free = FreeList()
    ends: list[tuple[int, int, int]] = []  # (last position, offset, size) of what lives
    for i in sorted(range(len(sizes)), key=lambda i: (lives[i][0], -sizes[i])):
        if not sizes[i]:
            continue
        while ends and ends[0][0] < lives[i][0]:
            _, offset, size = heappop(ends)
            free.give(offset, size)
        offset = live[i][1].offset = free.take(sizes[i])
        heappush(ends, (lives[i][1], offset, sizes[i]))
    return free.top


class FreeList:
    """The free gaps of an arena, which grows as needed."""

    def __init__(self) -> None:
        self.top = 0
        self.starts: list[int] = []  # of the gaps, in rising order
        self.stops: list[int] = []

    def take(self, size: int) -> int:
        """Allocate `size` bytes in the smallest gap that holds them, or at the end."""
        rooms = [stop - start for start, stop in zip(self.starts, self.stops)]
        fitting = [(room, gap) for gap, room in enumerate(rooms) if room >= size]
        if fitting:
            room, gap = min(fitting)
            start = self.starts[gap]
            self.starts[gap] += size
            if room == size:
                del self.starts[gap], self.stops[gap]
            return start
        start = self.top
        if self.stops and self.stops[-1] == self.top:  # the last gap grows
            start = self.starts.pop()
            self.stops.pop()
        self.top = start + size
        return start

    def give(self, start: int, size: int) -> None:
        """Free bytes and merge them with adjacent gaps."""
        stop, after = start + size, bisect(self.starts, start)  # the gap behind
        if after < len(self.starts) and self.starts[after] == stop:
            stop = self.stops[after]
            del self.starts[after], self.stops[after]
        if after and self.stops[after - 1] == start:
            self.stops[after - 1] = stop
        else:
            self.starts.insert(after, start)
            self.stops.insert(after, stop)


def _peak(sizes: list[int], lives: list[tuple[int, int]]) -> int:
    """Return the most bytes that live at one position."""
    change: dict[int, int] = {}
    for size, (first, last) in zip(sizes, lives):
        change[first] = change.get(first, 0) + size
        change[last + 1] = change.get(last + 1, 0) - size
    most = total = 0
    for position in sorted(change):
        total += change[position]
        most = max(most, total)
    return most


def lifetimes(program: LoopProgram) -> dict[Buffer, tuple[int, int]]:
    """Return the first and last position at which each root buffer is live."""
    walker = _Walker()
    lives = {buffer: use[:2] for buffer, use in walker.list(program.blocks).items()}
    for buffer in walker.read_by_all:
        lives[buffer] = (0, walker.position + 1)
    return lives


class _Walker:
    """The analysis of uses: it numbers the blocks and collects their buffers."""

    def __init__(self) -> None:
        self.position = 0
        self.read_by_all: set[Buffer] = set()
        self.axes: list[Axis] = []  # of the repeats around
        self.known: dict[str, list[list[int]]] = {}  # kernel's key -> numbers of its buffers

    def list(self, blocks: Iterable) -> dict[Buffer, BufferUse]:
        """Collect the uses in blocks that run one after the other."""
        found: dict[Buffer, BufferUse] = {}
        for block in blocks:
            for buffer, use in self.block(block).items():
                before = found.get(buffer)
                if before is None:
                    found[buffer] = use
                else:
                    begin, end = before.begin, use.end
                    found[buffer] = BufferUse(begin, end, begin, end, before.made, before.made)
        return found

    def block(self, block: Any) -> dict[Buffer, BufferUse]:
        """Collect the uses in one block."""
        if type(block) is Repeat:
            self.axes.append(block.axis)
            round = self.round(block)
            self.axes.pop()
            return round
        if type(block) is If:
            return self.if_(block)
        if type(block) in (Grow, Fill):
            return self.stack(block)
        self.position += 1
        here = self.position
        if type(block) is Host:
            reads, makes = set(map(root_of, block.inputs)), set(map(root_of, block.outputs))
            writes = makes
        else:
            assert type(block) is Kernel
            reads, writes, makes = self.kernel(block)
        defined = makes - reads
        return {
            buffer: BufferUse(here, here, here, here, buffer in defined, buffer in defined)
            for buffer in reads | writes
        }

    def kernel(self, block: Kernel) -> list[set[Buffer]]:
        """Return the `accesses` of a kernel; of kernels with one key those of the first tell."""
        if block.key is None or block.key[0] != tuple(self.axes):
            return list(accesses(block, self.axes))
        _, text, met = block.key
        roots_met = [root_of(buffer) for buffer in met]
        known = self.known.get(text)
        if known is None:
            known = self.known[text] = [
                [number for number, root in enumerate(roots_met) if root in found]
                for found in accesses(block, self.axes)
            ]
        return [{roots_met[number] for number in numbers} for numbers in known]

    def stack(self, block: Grow | Fill) -> dict[Buffer, BufferUse]:
        """Collect the uses of row numbers of a stack, which every thread reads."""
        self.position += 1
        here = self.position
        places = [block.row] if type(block) is Grow else [block.start, block.rows]
        values = [atom.value for index in places if index is not None for atom in elements(index)]
        buffers = {root_of(value.data[0]) for value in values}
        self.read_by_all |= buffers
        return {buffer: BufferUse(here, here, here, here, False, False) for buffer in buffers}

    def round(self, block: Repeat) -> dict[Buffer, BufferUse]:
        """Collect the uses in blocks that run repeatedly."""
        begin = self.position + 1
        found = self.list(block.body)
        self.position += 1
        if block.flag is not None:
            self.read_by_all.add(root_of(block.flag))
        end, uses = self.position, {}
        for buffer, use in found.items():
            # threads are not at the same place of a parallel repeat, and their copies lie in a row
            copied = block.parallel and buffer.kind in OF_THREADS
            life = use[:2] if use.settled and not copied else (begin, end)
            uses[buffer] = BufferUse(*life, begin, end, False, use.settled)
        return uses

    def if_(self, block: If) -> dict[Buffer, BufferUse]:
        self.position += 1
        begin = self.position
        self.read_by_all.add(root_of(block.choice))
        bodies = [self.list(body) for body in block.bodies]
        self.position += 1
        end = self.position
        result = {}
        for buffer in {buffer for body in bodies for buffer in body}:
            uses = [body[buffer] for body in bodies if buffer in body]
            made = len(uses) == len(bodies) and all(use.made for use in uses)
            alone = len(uses) == 1 and uses[0].settled
            life = uses[0][:2] if alone else (begin, end)
            result[buffer] = BufferUse(*life, begin, end, made, made or alone)
        return result


def accesses(
    kernel: Kernel, axes: Iterable[Axis] = ()
) -> tuple[set[Buffer], set[Buffer], set[Buffer]]:
    """Return the root buffers that a kernel reads, writes, and writes unconditionally.

    What depends on the axis of a repeat around the kernel, or on data, is a part that is written.
    """
    rounds = set(axes)
    reads: set[Buffer] = set()
    writes: set[Buffer] = set()
    makes: set[Buffer] = set()
    needed: list[Expr] = []
    stack = [(statement, True) for statement in kernel.body]
    while stack:
        statement, certain = stack.pop()
        within = certain and type(statement) is not When
        stack += [(inner, within) for body in bodies(statement) for inner in body]
        needed += roots(statement)
        targets: dict[Buffer, bool] = {}
        if type(statement) is Store:
            targets[root_of(statement.buffer)] = _is_part(statement.index, rounds)
            if statement.op is not None:
                reads.add(root_of(statement.buffer))
        elif type(statement) is Call:
            reads.update(map(root_of, statement.reads))
            targets = dict.fromkeys(map(root_of, statement.writes), False)
            for argument in statement.arguments:
                if type(argument) is Pointer and root_of(argument.buffer) in targets:
                    targets[root_of(argument.buffer)] |= _is_part(argument.index, rounds)
        writes.update(targets)
        if certain:
            makes.update([buffer for buffer, is_part in targets.items() if not is_part])
    for expr in walk(needed):
        if expr.op == "load":
            reads.add(root_of(expr.data[0]))
    return reads, writes, makes


def _is_part(index: Index, rounds: set[Axis]) -> bool:
    """Return whether an index selects the part of a buffer that a trip writes."""
    return bool(elements(index)) or not rounds.isdisjoint(index.axes())
