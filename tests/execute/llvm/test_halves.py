"""16-bit floats on processors that cannot convert them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from talweg.core import settings
from talweg.execute.llvm import halves, processor
from talweg.execute.llvm.link import code
from tests.execute.test_cache_of_others import levels

LOOP = """
define void @run(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
  %from = getelementptr {source}, ptr %x, i64 %i
  %to = getelementptr {target}, ptr %y, i64 %i
  %a = load {source}, ptr %from
  %b = {what} {source} %a to {target}
  store {target} %b, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""
KINDS = {"half": np.float16, "float": np.float32, "double": np.float64}
OLD = [
    name
    for name in levels()
    if name in processor.LEVELS and processor.HALVES not in processor.LEVELS[name].features
]


def converted(numbers: np.ndarray, source: str, target: str, level: str) -> np.ndarray:
    what = "fpext" if source == "half" else "fptrunc"
    with settings.cpu(level), settings.cache("off"):
        made = code.compile_module(LOOP.format(source=source, target=target, what=what))
    result = np.empty(numbers.shape, KINDS[target])
    numbers = np.ascontiguousarray(numbers, KINDS[source])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    run(made.addresses["run"])(numbers.ctypes.data, result.ctypes.data, numbers.size)
    return result


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~numbers)
    bits = f"u{wanted.itemsize}"
    np.testing.assert_array_equal(found[numbers].view(bits), wanted[numbers].view(bits))


@pytest.mark.parametrize("level", OLD)
@pytest.mark.parametrize("target", ["float", "double"])
def test_every_half_is_widened(level, target):
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        same(converted(every, "half", target, level), every.astype(KINDS[target]))


@pytest.mark.parametrize("level", OLD)
@pytest.mark.parametrize("source", ["float", "double"])
def test_numbers_are_rounded_once(level, source):
    """Between any two halves: the middle, and the nearest numbers beside it and the halves."""
    kind = KINDS[source]
    finite = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(kind)
    middles = np.append((finite[1:] + finite[:-1]) / 2, kind(65520))
    ends = np.array([np.inf, np.nan, np.finfo(kind).max, np.finfo(kind).tiny, 1e-30], kind)
    beside = [np.nextafter(x, kind(to)) for x in (finite, middles) for to in (-np.inf, np.inf)]
    numbers = np.concatenate([finite, middles, *beside, ends])
    numbers = np.concatenate([numbers, -numbers])
    with np.errstate(over="ignore", invalid="ignore"):
        same(converted(numbers, source, "half", level), numbers.astype(np.float16))


def test_the_functions_are_added_where_they_are_called():
    from talweg.execute.llvm.link import jit

    text = LOOP.format(source="half", target="float", what="fpext")
    for level in levels():
        with settings.cpu(level):
            names = {function.name for function in jit.parse(text).functions}
            assert ("__extendhfsf2" in names) == (not jit.target().has_halves)
            assert "__extendhfsf2" not in jit.optimize_module(
                text.replace("half", "float").replace("fpext float %a to float", "fneg float %a")
            )
    assert halves.TEXT.count("define") == 3
