"""Every declaration against itself: shapes, derivatives of two orders and both modes, batching.

Generated from the records; a new primitive is tested by being declared.
"""

from __future__ import annotations

import numpy as np
import pytest

from talweg.core.primitive import REGISTRY
from talweg.eager.tensor import wrap
from tests.prims import harness

PURE = [case for case in harness.cases() if case.prim.effect is None]
SMOOTH = [case for case in PURE if harness.is_float64_capable(case)]


def select(cases, check):
    return pytest.mark.parametrize(
        "case", [c for c in cases if check not in c.sample.skip], ids=lambda case: case.name
    )


@select(PURE, "shapes")
def test_shapes(case):
    harness.check_shapes(case)


@select(SMOOTH, "forward")
def test_forward(case):
    harness.check_forward(case)


@select(SMOOTH, "reverse")
def test_reverse(case):
    harness.check_reverse(case)


@select(SMOOTH, "second")
def test_second_order(case):
    harness.check_second_order(case)


@select(PURE, "batch")
def test_batch(case):
    harness.check_batch(case)


REJECTED = [
    (prim, reject, f"{prim.name}-{i}")
    for prim in REGISTRY.values()
    for i, reject in enumerate(prim.rejects)
]


@pytest.mark.parametrize(
    ("prim", "reject"), [r[:2] for r in REJECTED], ids=[r[2] for r in REJECTED]
)
def test_rejects(prim, reject):
    operands = [
        wrap(
            np.ones(given, reject.dtype.numpy_dtype) if isinstance(given, (list, tuple)) else given
        )
        for given in reject.operands
    ]
    with pytest.raises(Exception, match=rf"\[{reject.code}\]") as caught:
        prim(*operands, **reject.params)
    assert type(caught.value).__name__ != "InternalError"
