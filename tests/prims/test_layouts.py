"""Every declaration on operands, cotangents and tangents of every memory layout.

What is compared with is the same call on row-major copies.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from talweg.core.declare import LOOP
from talweg.core.dtypes import of_numpy
from talweg.core.errors import OpError
from talweg.eager.tensor import wrap
from talweg.transform import batch
from tests.prims import harness
from tests.prims.harness import fitted
from tests.prims.layouts import LAYOUTS, laid, plain

PURE = [case for case in harness.cases() if case.prim.effect is None]
COMPARED: Counter = Counter()

SMOOTH = [case for case in PURE if harness.is_float64_capable(case)]
every_case = pytest.mark.parametrize("case", PURE, ids=lambda case: case.name)


def select(cases, check):
    return pytest.mark.parametrize(
        "case", [c for c in cases if check not in c.sample.skip], ids=lambda case: case.name
    )


def compare(case, arrays: list, call, what: str) -> None:
    """`call` gives the same for arrays as for row-major copies, and changes none of them."""
    copies = [plain(a) for a in arrays]
    kept = [plain(a) for a in arrays]
    failure = None
    try:
        wanted = call(copies)
    except OpError as error:  # the values of another row are no operands for this
        failure = type(error)
    if failure is not None:
        with pytest.raises(failure):
            call(arrays)
        return
    found = call(arrays)
    assert len(found) == len(wanted)
    for part, right in zip(found, wanted):
        close(np.asarray(part), np.asarray(right), f"{case.name}, {what}")
    for before, after in zip(kept, arrays):
        np.testing.assert_array_equal(np.asarray(after), before, f"{case.name}, {what}: operand")


def close(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Equal; floats but for the order in which they are added."""
    COMPARED[what.rsplit(", ")[-1]] += 1
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, what
    if wanted.dtype.kind in "fcV" and wanted.size:
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        found, wanted = found.astype(wide), wanted.astype(wide)
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1e-6)
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5 * scale, err_msg=what)
    else:
        np.testing.assert_array_equal(found, wanted, what)


def layouts_of(count: int, step: int = 1):
    """The layout of each operand: each in another, and over all every one in every layout."""
    names = list(LAYOUTS)
    for start in range(0, len(names), step):
        yield [names[(start + 3 * place) % len(names)] for place in range(count)]


def operands(case, layouts: list) -> list:
    arrays = [laid(a, layout) for a, layout in zip(case.arrays(), layouts)]
    return fitted(case, arrays)


def applied(case, arrays: list) -> list:
    return [z._array for z in case.apply([wrap(a) for a in arrays])]


@every_case
def test_values(case):
    for layouts in layouts_of(len(case.sample.operands)):
        compare(
            case,
            operands(case, layouts),
            lambda arrays: applied(case, arrays),
            f"{layouts}, values",
        )


@select(SMOOTH, "reverse")
def test_reverse(case):
    count = len(case.sample.operands)
    random = case.generator()
    for layouts in layouts_of(count):
        arrays = operands(case, layouts)
        try:
            results = [np.asarray(z) for z in applied(case, [plain(a) for a in arrays])]
        except OpError:
            continue
        cotangents = [
            laid(harness.direction(random, z), layouts[place % count])
            if of_numpy(z.dtype).is_differentiable
            else None
            for place, z in enumerate(results)
        ]
        given = [g for g in cotangents if g is not None]

        def pull(mixed, cotangents=cotangents):
            rest = iter(mixed[count:])
            again = [None if g is None else next(rest) for g in cotangents]
            return harness.pull(case, mixed[:count], again)

        compare(case, arrays + given, pull, f"{layouts}, reverse")


@select(SMOOTH, "forward")
def test_forward(case):
    count = len(case.sample.operands)
    random = case.generator()
    for layouts in layouts_of(count):
        arrays = operands(case, layouts)
        tangents = [
            laid(harness.direction(random, arrays[i]), layouts[(i + 1) % count])
            for i in case.differentiable()
        ]
        compare(
            case,
            arrays + tangents,
            lambda mixed: harness.push(case, mixed[:count], mixed[count:]),
            f"{layouts}, forward",
        )


@select(PURE, "batch")
def test_batch(case):
    """The batch rule, of batches whose leading axis is anything but that in memory."""
    count = len(case.sample.operands)
    random = case.generator()
    sets = [fitted(case, case.arrays(random=random)) for _ in range(2)]
    stacks = [np.stack(rows) for rows in zip(*sets)]
    for layouts in layouts_of(count, 5 if case.prim.batch is LOOP else 1):  # one rule for all LOOPs
        compare(
            case,
            [laid(a, layout) for a, layout in zip(stacks, layouts)],
            lambda arrays: batched(case, arrays),
            f"{layouts}, batch",
        )


def batched(case, arrays: list) -> list:
    with batch.batching(2) as interpreter:
        given = [batch.BatchTensor(wrap(a), interpreter) for a in arrays]
        return [batch.unwrap(z, interpreter)._array for z in case.apply(given)]
