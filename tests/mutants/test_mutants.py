"""The generated tests must notice damage: each rule is scaled by 1.001 and has to be caught.

Without this a check that compares nothing would pass for ever (autograd's `test_tests`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from talweg.core.value import IndexedSlices, Tensor
from tests.prims import harness

SCALE = 1.001
CONSTANT = {("sign", "x"), ("next_after", "y")}  # partials of 0, which no factor changes


def scaled(value: Any) -> Any:
    """A rule's answer, off by a thousandth."""
    if isinstance(value, (tuple, list)):
        return type(value)(scaled(part) for part in value)
    if callable(value) and not isinstance(value, Tensor):
        return lambda: scaled(value())  # a cotangent computed only where it is wanted
    if isinstance(value, IndexedSlices):
        return IndexedSlices(scaled(value.values), value.indices, value.dense_shape)
    if isinstance(value, Tensor) and value.dtype.is_bool:
        from talweg.prims.arithmetic import cast

        return cast(value, dtype=harness.tf.float64) * SCALE
    if isinstance(value, Tensor) and not value.dtype.is_differentiable:
        return value
    return None if value is None else value * SCALE


def damaged(rule: Any) -> Any:
    return lambda *operands, **params: scaled(rule(*operands, **params))


def mutants() -> list:
    """(primitive, the field, the key in it) of every rule there is."""
    found: list = []
    for prim in {case.prim.name: case.prim for case in harness.cases()}.values():
        if not any(
            case.prim is prim and harness.is_float64_capable(case) for case in harness.cases()
        ):
            continue
        partials = [key for key in prim.partials if (prim.name, key) not in CONSTANT]
        found += [(prim, "partials", key) for key in partials]
        found += [(prim, "transposes", key) for key in prim.transposes]
        found += [(prim, name, None) for name in ("vjp_rule", "jvp_rule") if getattr(prim, name)]
    return found


MUTANTS = mutants()


@pytest.mark.parametrize(
    ("prim", "field", "key"), MUTANTS, ids=[f"{p.name}-{f}-{k}" for p, f, k in MUTANTS]
)
def test_damage_is_caught(prim, field, key, monkeypatch):
    original = getattr(prim, field)
    rule = original if key is None else original[key]
    changed = damaged(rule) if key is None else {**original, key: damaged(rule)}
    monkeypatch.setattr(prim, field, changed)
    monkeypatch.setattr(prim, "vjp", None)
    monkeypatch.setattr(prim, "jvp", None)
    cases = [c for c in harness.cases() if c.prim is prim and harness.is_float64_capable(c)]
    assert any(is_caught(case) for case in cases), f"no check noticed a damaged {field} {key}"


def is_caught(case: harness.Case) -> bool:
    """Whether one of the derivative checks fails."""
    for check in (harness.check_forward, harness.check_reverse):
        try:
            check(case)
        except (AssertionError, ValueError):
            return True
    return False


def test_a_wrong_kernel_shape_is_noticed():
    case = next(c for c in harness.cases() if c.prim.name == "reduce_sum")
    kernel = case.prim.numpy
    case.prim.numpy = lambda x, *, axes, keepdims: np.zeros((7,), x.dtype)
    try:
        with pytest.raises(AssertionError):
            harness.check_shapes(case)
    finally:
        case.prim.numpy = kernel
