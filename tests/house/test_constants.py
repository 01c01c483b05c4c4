"""Every number that the compiler names is in benchmarks/constants.md, with a guard if tuned."""

import ast
import re

import pytest

from benchmarks import declare
from tests.house.test_layers import ROOT

PAGE = ROOT / "benchmarks" / "constants.md"
ROW = re.compile(r"^\| `([\w/]+\.py)` \| ([^|]+) \|(?: `([\w.]+)` \|)?$", re.M)
PLAIN = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def numbers_of(path):
    """The names of a module's constants that are numbers."""
    for part in ast.parse(path.read_text("utf-8")).body:
        target = part.targets[0] if isinstance(part, ast.Assign) else getattr(part, "target", None)
        value = getattr(part, "value", None)
        if not isinstance(target, ast.Name) or not target.id.isupper() or target.id[0] == "_":
            continue
        parts = list(ast.walk(value)) if value is not None else [part]
        constants = [x.value for x in parts if isinstance(x, ast.Constant)]
        if all(isinstance(x, PLAIN) for x in parts) and all(
            type(x) in (int, float) for x in constants
        ):
            yield target.id


@pytest.fixture(scope="module")
def rows():
    return [
        (at, re.findall(r"`(\w+)`", names), guard)
        for at, names, guard in ROW.findall(PAGE.read_text())
    ]


def test_every_constant_is_listed_once(rows):
    listed = sorted((at, name) for at, names, _ in rows for name in names)
    there = sorted(
        (path.relative_to(ROOT / "talweg").as_posix(), name)
        for package in ("passes", "lower", "execute")
        for path in (ROOT / "talweg" / package).rglob("*.py")
        for name in numbers_of(path)
    )
    assert listed == there


def test_every_guard_is_a_benchmark(rows):
    declare.load_topics()
    families = {member.family for member in declare.REGISTRY.values()}
    guards = {guard for *_, guard in rows if guard}
    assert guards <= families, sorted(guards - families)
    assert len(guards) > 10
