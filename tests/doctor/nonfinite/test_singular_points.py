"""Every singular point that a declaration names is told of where it is hit."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re

import numpy as np
import pytest

import talweg as tf
import talweg.prims
from talweg.core.dtypes import float64
from talweg.core.primitive import REGISTRY
from talweg.doctor.nonfinite.causes import CONDITION, hits

for module in pkgutil.walk_packages(talweg.prims.__path__, "talweg.prims."):  # all declarations
    importlib.import_module(module.name)
POINTS = {"π/2 + kπ": [], "0, -1, ...": [0.0, -1.0]}  # π/2 is no float
ELSE = {"x": 0.5, "y": 0.5, "a": 0.5, "b": 0.5}


def points() -> list[tuple]:
    """(primitive, operands at a singular point) of all elementwise declarations."""
    found = []
    for prim in REGISTRY.values():
        if not prim.elementwise or not prim.singular or float64 not in prim.accepts:
            continue
        text = prim.singular.split(" with ")[0]
        if text.count(" = ") > 1:
            *names, value = text.split(" = ")
            found.append((prim, {**ELSE, **dict.fromkeys(names, float(value))}))
            continue
        bar, name, _, listed = CONDITION.fullmatch(text).groups()
        values = POINTS.get(listed)
        if values is None:
            values = [float(v) for v in listed.split(", ")]
        values += [-v for v in values if bar]
        found += [(prim, {**ELSE, name: value}) for value in values]
    return found


CASES = points()


def test_there_are_many():
    assert len(CASES) > 30 and len({prim.name for prim, _ in CASES}) > 20


@pytest.mark.parametrize(("prim", "values"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_a_singular_point(prim, values):
    beside = [sum(prim.domain.get(name, (0.4, 0.6))) / 2 for name in prim.operands]
    operands = [
        tf.Variable([values.get(name, 0.5), usual], dtype=tf.float64)
        for name, usual in zip(prim.operands, beside)
    ]
    wanted = [x for x, name in zip(operands, prim.operands) if name in prim.partials]
    found = tf.explain_numerics(lambda: prim(*[x * 1.0 for x in operands]), wanted or None)
    assert found.code in ("TW340", "TW345"), str(found)
    assert found.operation == prim.name and found.element == (0,)
    assert found.singular == prim.singular and prim.singular in str(found)


@pytest.mark.parametrize(
    ("text", "values", "answer"),
    [
        ("x = 0", {"x": 0.0}, True),
        ("x = 0", {"x": 0.1}, False),
        ("|x| = 1", {"x": -1.0}, True),
        ("x = -1", {"x": -1.0}, True),
        ("x = 0, 2", {"x": 2.0}, True),
        ("x = 0, -1, ...", {"x": -3.0}, True),
        ("x = 0, -1, ...", {"x": 3.0}, False),
        ("x = y = 0", {"x": 0.0, "y": 0.0}, True),
        ("x = y = 0", {"x": 0.0, "y": 1.0}, False),
        ("x = 0 with y < 1", {"x": 0.0, "y": 0.5}, True),
        ("x = π/2 + kπ", {"x": 1.5 * math.pi}, True),
        ("x of rank below full", {"x": 0.0}, False),
        ("x = 0", {"x": None}, False),
        ("x = 0", {"x": np.complex128(0)}, True),
    ],
)
def test_reading_a_declaration(text, values, answer):
    assert hits(text, values) is answer


def test_every_condition_can_be_read():
    for prim in REGISTRY.values():
        if prim.elementwise and prim.singular:
            text = prim.singular.split(" with ")[0]
            assert text.count(" = ") > 1 or re.fullmatch(CONDITION, text), prim.singular
