"""Mutants: one rule of the loop language broken somewhere in a random program is always found."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

from talweg.core.dtypes import int16
from talweg.core.errors import InternalError
from talweg.execute.loop_interpreter.interpreter import run
from talweg.lower.ir.index import ZERO, Axis, Index
from talweg.lower.ir.loops import (
    Buffer,
    Expr,
    For,
    Kernel,
    Store,
    Tile,
    Update,
    When,
    const,
    elements,
    walk,
)
from talweg.lower.ir.scalars import SCALARS
from talweg.lower.ir.verifier import check
from talweg.lower.ir.visitors import all_statements, bodies, buffers_written, roots
from tests.lower.programs import random_case


def kernels_of(blocks: list) -> list[Kernel]:
    found = []
    for block in blocks:
        if type(block) is Kernel:
            found.append(block)
        for name in ("test", "body"):
            if type(block) is not Kernel and hasattr(block, name):
                found += kernels_of(getattr(block, name))
        for body in getattr(block, "bodies", ()):
            found += kernels_of(body)
    return found


def statements_of(program, kind: type) -> list:
    return [
        s
        for kernel in kernels_of(program.blocks)
        for s in unconditional(kernel.body)
        if type(s) is kind
    ]


def unconditional(body: list) -> list:
    found = []
    for statement in body:
        found.append(statement)
        if type(statement) is not When:
            found += [s for inner in bodies(statement) for s in unconditional(inner)]
    return found


def expressions_of(program) -> list[Expr]:
    every = [s for k in kernels_of(program.blocks) for s in all_statements(k.body)]
    return walk([root for statement in every for root in roots(statement)])


def store_outside(program, choices):
    stores = [s for s in statements_of(program, Store) if not elements(s.index)]
    store = choices.choice(stores)
    store.index = store.index + store.buffer.size


def store_into_input(program, choices):
    store = choices.choice(statements_of(program, Store))
    made = Buffer("given", store.buffer.dtype, store.buffer.shape, "input")
    program.buffers.append(made)
    store.buffer = made


def store_another_dtype(program, choices):
    store = choices.choice(statements_of(program, Store))
    store.value = const(1, int16)  # nothing here is of that dtype


def operand_of_another_dtype(program, choices):
    wide = [e for e in expressions_of(program) if e.op in SCALARS and len(e.args) > 1]
    expr = choices.choice(wide)
    expr.args = (*expr.args[:-1], const(1, int16))


def operand_missing(program, choices):
    wide = [e for e in expressions_of(program) if e.op in SCALARS]
    expr = choices.choice(wide)
    expr.args = expr.args[:-1]


def load_outside(program, choices):
    inside = {id(e) for s in statements_of(program, Store) for e in walk(roots(s))}
    loads = [e for e in expressions_of(program) if e.op == "load" and not e.args]
    expr = choices.choice([e for e in loads if id(e) in inside and not elements(e.data[1])])
    expr.data = (expr.data[0], expr.data[1] - expr.data[1].largest - 1)


def axis_of_nobody(program, choices):
    store = choices.choice(statements_of(program, Store))
    store.index = store.index + Index.of(Axis("z", 2))


def one_place(program, choices):
    loops = [
        s
        for s in statements_of(program, For)
        if s.kind in ("parallel", "vector", "unroll") and s.axis.extent > 1
    ]
    loops = [(loop, s) for loop in loops for s in unconditional(loop.body) if type(s) is Store]
    loop, store = choices.choice(
        [(loop, s) for loop, s in loops if s.buffer.kind != "scratch" and s.op is None]
    )
    store.index = store.index.replace({loop.axis: ZERO})
    if loop.axis in store.index.axes():
        store.index = ZERO


def tile_index(program, choices):
    update = choices.choice(statements_of(program, Update))
    update.indices = (*update.indices, ZERO)


def tile_gone(program, choices):
    lists = [
        s.body
        for k in kernels_of(program.blocks)
        for s in [k, *all_statements(k.body)]
        if hasattr(s, "body")
    ]
    lists = [body for body in lists if any(type(s) is Tile for s in body)]
    body = choices.choice(lists)
    body.remove(next(s for s in body if type(s) is Tile))


def parallel_inside(program, choices):
    kernels = [
        k
        for k in kernels_of(program.blocks)
        if any(getattr(s, "kind", "") == "parallel" for s in k.body)
    ]
    kernel = choices.choice(kernels)
    kernel.body = [For(Axis("again", 2), list(kernel.body))]


def writer_gone(program, choices):
    needed = {e.data[0] for e in expressions_of(program) if e.op == "load"}
    needed = {b for b in needed if b.kind in ("temporary", "output") and b.part is None}
    needed -= {b.part for b in program.buffers}
    buffer = choices.choice(sorted(needed, key=lambda b: b.name))

    def without(body):
        return [s for s in body if not (type(s) is Store and s.buffer is buffer)]

    for kernel in kernels_of(program.blocks):
        for statement in all_statements(kernel.body):
            assert buffer not in buffers_written(statement) or type(statement) is Store
            if type(statement) in (For, When):
                statement.body = without(statement.body)
            if type(statement) is When:
                statement.otherwise = without(statement.otherwise)
        kernel.body = without(kernel.body)


MUTATIONS = [
    store_outside,
    store_into_input,
    store_another_dtype,
    operand_of_another_dtype,
    operand_missing,
    load_outside,
    axis_of_nobody,
    one_place,
    tile_index,
    tile_gone,
    parallel_inside,
    writer_gone,
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutants_are_refused(mutation):
    refused = 0
    for seed in range(200):
        program = random_case(seed, most=2).program
        try:
            mutation(program, random.Random(seed))
        except (IndexError, AssertionError):
            continue  # nothing in it to change that way
        with pytest.raises(InternalError):
            check(program)
        refused += 1
        if refused == 15:
            return
    assert refused >= 5


def test_races_that_the_checker_accepts_are_none():
    """Iterations side by side give what iterations one after the other do."""
    for seed in range(10):
        case = random_case(seed + 900)
        before = copy.deepcopy(case.arrays)
        case.agree(run(case.program, case.arrays, lanes=False), run(case.program, case.arrays))
        for name, array in case.arrays.items():
            np.testing.assert_array_equal(array, before[name])
