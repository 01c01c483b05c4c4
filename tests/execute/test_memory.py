"""Temporaries that share memory never live at the same time."""

from __future__ import annotations

import random

import numpy as np
import pytest

from talweg.core.dtypes import bool_, float32, int32
from talweg.execute.llvm.runtime.executable import make_record
from talweg.execute.loop_interpreter import interpreter
from talweg.lower import buffer_assignment
from talweg.lower.ir import cost
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    Buffer,
    Call,
    Expr,
    For,
    Host,
    If,
    Kernel,
    LoopProgram,
    Pointer,
    Repeat,
    Store,
    When,
    const,
    load,
    number,
)
from tests.lower.programs import random_case


def fill(target: Buffer, *sources: Buffer, plus: int = 1) -> Kernel:
    """target[i] = 3 (sum of the sources' elements) + i + plus."""
    axis = Axis("i", target.size)
    value = number(Index.of(axis) + plus, int32)
    for source in sources:
        value = value + load(source, Index.of(axis) % source.size) * 3
    return Kernel("fill", [For(axis, [Store(target, axis, value)])])


def chain(sizes: list[int]) -> tuple[LoopProgram, list[Buffer]]:
    """Each buffer computed from the one before; the last is an output."""
    program = LoopProgram("chain")
    buffers = [program.buffer("t", int32, (size,)) for size in sizes]
    result = program.buffer("y", int32, (sizes[-1],), "output")
    program.blocks = [fill(buffers[0])]
    for before, after in zip(buffers, [*buffers[1:], result]):
        program.blocks.append(fill(after, before))
    return program, buffers


def overlap(x: Buffer, y: Buffer) -> bool:
    return x.offset < y.offset + y.nbytes and y.offset < x.offset + x.nbytes


def test_a_chain_needs_two_buffers():
    program, buffers = chain([100] * 10)
    plan = buffer_assignment.plan(program)
    assert plan.nbytes == plan.peak == 2 * buffer_assignment.round_up(400)
    assert len({buffer.offset for buffer in buffers}) == 2
    assert not any(overlap(x, y) for x, y in zip(buffers, buffers[1:]))


def test_offsets_are_aligned_and_bounds_hold():
    program, buffers = chain([1, 1000, 3, 17, 512, 65, 2])
    plan = buffer_assignment.plan(program)
    for buffer in buffers:
        assert buffer.offset % buffer_assignment.ALIGNMENT == 0
        assert buffer.offset + buffer.nbytes <= plan.nbytes
    assert plan.nbytes == plan.peak


def test_scratch_is_for_each_thread():
    program = LoopProgram("scratch")
    scratch = program.buffer("s", float32, (5,), "scratch")
    y = program.buffer("y", float32, (1,), "output")
    body = [Store(scratch, 0, const(1.0, float32)), Store(y, 0, load(scratch, 0))]
    program.blocks = [Kernel("k", body)]
    assert buffer_assignment.plan(program, threads=4).nbytes == 4 * 64
    assert buffer_assignment.plan(program, threads=1).nbytes == 64


def test_equal_kernels_are_analysed_once(monkeypatch):
    """Costs and uses of ResNet-20's 544 kernels, of 158 kinds, took a tenth of lowering."""
    program, _ = chain([100] * 40)
    axis = Axis("n", 3)
    program.blocks.append(Repeat(axis, program.blocks[3:7]))  # the same kernels elsewhere
    plain = buffer_assignment.lifetimes(program)
    analysed: list[Kernel] = []
    for module, name in ((cost, "cost"), (buffer_assignment, "accesses")):
        function = getattr(module, name)

        def counted(kernel, *rest, function=function):
            analysed.append(kernel)
            return function(kernel, *rest)

        monkeypatch.setattr(module, name, counted)
    assert make_record(program).plan.offsets == buffer_assignment.plan(program).offsets
    assert len(analysed) < 30  # of 44 kernels, three times
    assert buffer_assignment.lifetimes(program) == plain


@pytest.mark.parametrize("seed", range(20))
def test_uses_of_equal_kernels_are_told_by_their_keys(seed):
    program = random_case(seed).program
    plain = buffer_assignment.lifetimes(program)
    make_record(program)  # which asks for the kernels' keys
    assert buffer_assignment.lifetimes(program) == plain


def test_parts_live_in_the_whole():
    program = LoopProgram("parts")
    whole = program.buffer("w", int32, (32,))
    left, right = [program.buffer("p", int32, (16,)) for _ in range(2)]
    left.part = right.part = whole
    right.offset = 64
    other, y = program.buffer("o", int32, (32,)), program.buffer("y", int32, (32,), "output")
    program.blocks = [fill(left), fill(right, left), fill(other, right), fill(y, other, left)]
    buffer_assignment.plan(program)
    assert (left.offset, right.offset) == (0, 64)  # in the whole: not the plan's business
    assert not overlap(whole, other)


def test_unused_and_empty_buffers_take_nothing():
    program = LoopProgram("nothing")
    empty, y = [program.buffer("b", int32, (0,), kind) for kind in ("temporary", "output")]
    program.blocks = [fill(empty), Host("copy", np.array, (empty,), (y,))]
    program.buffer("unused", int32, (1000,))
    assert buffer_assignment.plan(program).nbytes == 0


def loop(program: LoopProgram, body: list, rounds: int = 3) -> list:
    """Blocks that run `body` `rounds` times."""
    count = program.buffer("n", int32, ())
    flag = program.buffer("f", bool_, ())
    less = Expr("less", (load(count, 0), const(rounds, int32)), bool_)
    start = Kernel("start", [Store(count, 0, const(0, int32))])
    step = Kernel("step", [Store(count, 0, load(count, 0) + 1)])
    test = Kernel("test", [Store(flag, 0, less)])
    return [start, test, Repeat(Axis("t", 1 << 20), [*body, step, test], flag)]


def test_what_a_round_makes_for_itself_shares_memory():
    program = LoopProgram("rounds")
    a, b, c = [program.buffer("t", int32, (100,)) for _ in range(3)]
    y = program.buffer("y", int32, (100,), "output")
    program.blocks = loop(program, [fill(a), fill(b, a), fill(c, b), fill(y, c)])
    buffer_assignment.plan(program)
    assert a.offset == c.offset != b.offset


def test_what_is_carried_from_round_to_round_is_alone():
    program = LoopProgram("carried")
    a, b, c, d = [program.buffer("t", int32, (100,)) for _ in range(4)]
    y = program.buffer("y", int32, (100,), "output")
    body = [fill(b, a), fill(c, b), fill(d, c), fill(a, d)]
    program.blocks = [fill(a), *loop(program, body), fill(y, a)]
    buffer_assignment.plan(program)
    assert not any(overlap(a, other) for other in (b, c, d))
    assert not overlap(b, c) and not overlap(c, d)


def test_what_a_round_writes_under_a_condition_is_carried():
    program = LoopProgram("condition")
    a, b = [program.buffer("t", int32, (100,)) for _ in range(2)]
    y = program.buffer("y", int32, (100,), "output")
    body = [conditional(program, fill(a)), fill(y, a), fill(b), fill(y, b)]
    program.blocks = loop(program, body)
    buffer_assignment.plan(program)
    assert not overlap(a, b)


def test_what_is_made_in_one_body_shares_memory_with_the_other():
    program = LoopProgram("if")
    choice = program.buffer("c", int32, (), "input")
    a, b, c = [program.buffer("t", int32, (100,)) for _ in range(3)]
    y = program.buffer("y", int32, (100,), "output")
    program.blocks = [fill(c), If(choice, [[fill(a), fill(y, a)], [fill(b), fill(y, b, c)]])]
    buffer_assignment.plan(program)
    assert a.offset == b.offset != c.offset


def conditional(program: LoopProgram, block: Kernel) -> Kernel:
    """The block, if an input is positive."""
    x = program.buffer("x", int32, (), "input")
    positive = Expr("greater", (load(x, 0), const(0, int32)), bool_)
    block.body = [When(positive, block.body)]
    return block


def test_what_a_body_writes_under_a_condition_is_carried():
    program = LoopProgram("condition")
    choice = program.buffer("c", int32, (), "input")
    a, b = [program.buffer("t", int32, (100,)) for _ in range(2)]
    y = program.buffer("y", int32, (100,), "output")
    first = If(choice, [[conditional(program, fill(a)), fill(y, a)], []])
    program.blocks = loop(program, [first, fill(b), fill(y, b)])
    buffer_assignment.plan(program)
    assert not overlap(a, b)


def test_what_only_one_body_makes_is_carried():
    program = LoopProgram("one")
    choice = program.buffer("c", int32, (), "input")
    a, b, c = [program.buffer("t", int32, (100,)) for _ in range(3)]
    y = program.buffer("y", int32, (100,), "output")
    body = [If(choice, [[fill(a), fill(c)], [fill(c)]]), fill(y, a, c), fill(b), fill(y, b)]
    program.blocks = loop(program, body)
    buffer_assignment.plan(program)
    assert not overlap(a, b) and overlap(b, c)


def test_what_a_kernel_reads_and_writes_is_carried():
    program = LoopProgram("read")
    a, b = [program.buffer("t", int32, (100,)) for _ in range(2)]
    y = program.buffer("y", int32, (100,), "output")
    axis = Axis("i", 100)
    grow = Kernel("grow", [For(axis, [Store(a, axis, load(a, axis) + 1)])])
    program.blocks = loop(program, [grow, fill(b), fill(y, b)])
    buffer_assignment.plan(program)
    assert not overlap(a, b)


def test_what_rounds_write_part_by_part_is_carried():
    program = LoopProgram("parts")
    a, b = [program.buffer("t", int32, (30,)) for _ in range(2)]
    y, z = [program.buffer("y", int32, (30,), "output") for _ in range(2)]
    turn, axis = Axis("r", 3), Axis("i", 10)
    place = Index.of(turn) * 10 + axis
    part = Kernel("part", [For(axis, [Store(a, place, number(place, int32))])])
    program.blocks = [Repeat(turn, [fill(b), fill(y, b), part, fill(z, a)])]
    buffer_assignment.plan(program)
    assert not overlap(a, b)
    part.body = [For(axis, [Store(a, axis, number(place, int32))])]
    buffer_assignment.plan(program)
    assert overlap(a, b)


def test_flags_and_choices_are_alone():
    program = LoopProgram("flags")
    a, b, c = [program.buffer("t", int32, (1,)) for _ in range(3)]
    y = program.buffer("y", int32, (1,), "output")
    program.blocks = [*loop(program, [fill(y)]), fill(a), fill(b), fill(c, a, b), fill(y, a, b, c)]
    buffer_assignment.plan(program)
    (flag,) = [buffer for buffer in program.buffers if buffer.dtype is bool_]
    others = [b for b in program.buffers if b.kind == "temporary" and b is not flag]
    assert not any(overlap(flag, other) for other in others)


def test_calls_and_hosts_read_and_write():
    program = LoopProgram("calls")
    x = program.buffer("x", float32, (4, 4), "input")
    a, b, c = [program.buffer("t", float32, (4, 4)) for _ in range(3)]
    y = program.buffer("y", float32, (4, 4), "output")
    sizes = [Index(4)] * 3
    call = Call(
        "gemm",
        [
            Index(0),
            Index(0),
            *sizes,
            const(1.0, float32),
            Pointer(a),
            Index(4),
            Pointer(x),
            Index(4),
            const(0.0, float32),
            Pointer(b),
            Index(4),
        ],
        (a, x),
        (b,),
    )
    program.blocks = [
        Host("first", np.sin, (x,), (a,)),
        Kernel("product", [call]),
        Host("then", np.cos, (b,), (c,)),
        Host("last", np.add, (c, x), (y,)),
    ]
    plan = buffer_assignment.plan(program)
    assert a.offset == c.offset != b.offset and plan.nbytes == 128


def test_many_buffers_are_planned_quickly_and_well():
    rng = random.Random(3)
    program = LoopProgram("many")
    made = [program.buffer("t", int32, (rng.randint(1, 5000),)) for _ in range(1500)]
    program.blocks = [fill(made[0])]
    for i in range(1, len(made)):
        program.blocks.append(fill(made[i], made[i - 1], made[rng.randint(max(0, i - 20), i - 1)]))
    plan = buffer_assignment.plan(program)
    assert plan.peak <= plan.nbytes <= 1.15 * plan.peak


class Maker:
    """Random programs in which every read is of something written before, on every path."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.program = LoopProgram("random")
        self.inputs = [self.program.buffer("x", int32, (n,), "input") for n in (1, 5, 40)]
        self.choices = [self.program.buffer("c", int32, (), "input") for _ in range(2)]
        self.temporaries = [
            self.program.buffer("t", int32, (self.rng.choice([1, 5, 16, 33]),))
            for _ in range(self.rng.randint(2, 10))
        ]
        self.outputs = [self.program.buffer("y", int32, (20,), "output") for _ in range(3)]
        known = set(self.inputs)
        blocks = self.blocks(known, 3)
        blocks += [fill(y, self.source(known), self.source(known)) for y in self.outputs]
        self.program.blocks = blocks

    def source(self, known: set) -> Buffer:
        return self.rng.choice(sorted(known, key=lambda buffer: buffer.name))

    def blocks(self, known: set, depth: int) -> list:
        found: list = []
        for _ in range(self.rng.randint(1, 6)):
            kind = self.rng.random()
            if depth and kind < 0.15:
                found += self.while_(known, depth - 1)
            elif depth and kind < 0.3:
                found.append(self.if_(known, depth - 1))
            else:
                found.append(self.kernel(known))
        return found

    def kernel(self, known: set) -> Kernel:
        target = self.rng.choice(self.temporaries)
        sources = [self.source(known) for _ in range(self.rng.randint(1, 2))]
        made = fill(target, *[s for s in sources if s is not target], plus=self.rng.randint(0, 9))
        known.add(target)
        return made

    def while_(self, known: set, depth: int) -> list:
        body = self.blocks(set(known), depth)  # it may not run at all
        return loop(self.program, body, self.rng.randint(0, 3))

    def if_(self, known: set, depth: int) -> If:
        after, bodies = [], []
        for _ in range(2):
            inside = set(known)
            bodies.append(self.blocks(inside, depth))
            after.append(inside)
        known |= after[0] & after[1]
        return If(self.rng.choice(self.choices), bodies)


@pytest.mark.parametrize("start", range(0, 45, 15))
def test_random_programs_mean_the_same_with_shared_memory(start):
    saved = 0
    for seed in range(start, start + 15):
        maker = Maker(seed)
        rng = np.random.default_rng(seed)
        arrays = {b.name: rng.integers(0, 9, b.shape, np.int32) for b in maker.inputs}
        arrays |= {b.name: np.int32(rng.integers(0, 2)) for b in maker.choices}
        wanted = interpreter.run(maker.program, arrays)
        plan = buffer_assignment.plan(maker.program)
        found = interpreter.run(maker.program, arrays)
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"seed {seed}")
        alone = [
            buffer_assignment.round_up(b.nbytes)
            for b in buffer_assignment.lifetimes(maker.program)
            if b.kind == "temporary"
        ]
        saved += sum(alone) - plan.nbytes
    assert saved > 0


@pytest.mark.parametrize("seed", range(25))
def test_random_cases(seed):
    case = random_case(seed)
    wanted = interpreter.run(case.program, case.arrays)
    buffer_assignment.plan(case.program, threads=2)
    found = interpreter.run(case.program, case.arrays)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("way", ["_place", "_place_in_time"])
@pytest.mark.parametrize("seed", range(8))
def test_what_lives_together_lies_apart(seed, way):
    """Both orders: no two lives that meet share memory, and gaps are used again."""
    rng = np.random.default_rng(seed)
    count = 150
    sizes = (64 * rng.integers(1, 9, count)).tolist()
    first = rng.integers(0, 100, count)
    lives = [(int(a), int(a + n)) for a, n in zip(first, rng.integers(0, 40, count))]
    program = LoopProgram("random")
    live = [(size, program.buffer("t", int32, (size // 4,))) for size in sizes]
    nbytes = getattr(buffer_assignment, way)(sizes, lives, live)
    for i, (size, x) in enumerate(live):
        assert 0 <= x.offset <= nbytes - size
        for j, (_, y) in enumerate(live[:i]):
            if lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]:
                assert not overlap(x, y)
    assert nbytes <= 1.5 * buffer_assignment._peak(sizes, lives)


def test_many_buffers_are_placed_in_time(monkeypatch):
    """Activations that live until their gradients, as in deep networks: no more than lives."""
    monkeypatch.setattr(buffer_assignment, "MANY", 10)
    free = buffer_assignment.FreeList()
    kept = [free.take(64 * (1 + i % 3)) for i in range(30)]
    for i in reversed(range(30)):
        free.give(kept[i], 64 * (1 + i % 3))
    assert (free.starts, free.stops) == ([0], [free.top])
    assert free.take(free.top + 64) == 0  # the last gap grows
    program, buffers = chain([100] * 40)
    plan = buffer_assignment.plan(program)
    assert plan.nbytes == plan.peak == 2 * buffer_assignment.round_up(400)
    assert not any(overlap(x, y) for x, y in zip(buffers, buffers[1:]))
