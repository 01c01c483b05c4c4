"""Casts between all dtypes at the edges of their ranges: eager, interpreted, compiled.

What floats become as integers is computed here with Python's integers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.kernels import casting

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
KINDS = [*INTEGERS, *FLOATS, "bool", "complex64", "complex128"]

POWERS = [2.0**n for n in (7, 8, 15, 16, 31, 32, 53, 63, 64, 65)]
EDGES = [
    0.0,
    -0.0,
    0.5,
    0.999,
    1.5,
    127.5,
    255.5,
    300.0,
    3e9,
    5e9,
    1e19,
    1e20,
    1e38,
    1e300,
    math.inf,
    math.nan,
    2.0**31 - 200,
    2.0**32 - 300,
    2.0**31 - 0.5,
    65504.0,
    *POWERS,
    *[p - 1 for p in POWERS],
    *[p + 1 for p in POWERS],
]
EDGES += [-x for x in EDGES]


def values(kind: str) -> np.ndarray:
    """Edges of all dtypes, as numbers of this one."""
    dtype = tf.as_dtype(kind)
    if dtype.is_integer:
        whole = {int(x) for x in EDGES if math.isfinite(x)} | {dtype.min, dtype.max}
        return np.array(
            [n for n in sorted(whole) if dtype.min <= n <= dtype.max], dtype.numpy_dtype
        )
    if kind == "bool":
        return np.array([True, False])
    with np.errstate(all="ignore"):
        found = np.array(EDGES).astype(dtype.numpy_dtype)
    return found + np.array(0.5j).astype(dtype.numpy_dtype) if dtype.is_complex else found


def integer(x: float, kind: str) -> int:
    """What a float becomes: the rule that docs/differences.md tells."""
    dtype = tf.as_dtype(kind)
    bits = 8 * dtype.size
    if bits < 32:
        return 0 if math.isnan(x) else math.trunc(min(max(x, dtype.min), dtype.max))
    top = 1 << (bits - 1)
    if math.isfinite(x) and -top <= math.trunc(x) < (2 * top if dtype.is_unsigned else top):
        whole = math.trunc(x)
        return whole % (2 * top) if dtype.is_unsigned else whole
    return top if dtype.is_unsigned else -top


def long(array: np.ndarray) -> np.ndarray:
    """Some of each, so that loops over vectors see them all."""
    return np.repeat(array, 9)


def same(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Equal; NaN is NaN, of bfloat16, too."""
    assert found.dtype == wanted.dtype, what
    if wanted.dtype.kind == "V":
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_array_equal(found, wanted, what)


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_all_pairs(source, target):
    given = long(values(source))
    eager = tf.cast(tf.constant(given), target).numpy()
    if target in INTEGERS and source not in INTEGERS and source != "bool":
        wanted = [integer(float(np.real(x).astype(np.float64)), target) for x in given]
        assert eager.tolist() == wanted
    for x, y in zip(given[::9], eager[::9]):
        one = tf.cast(tf.constant(x), target).numpy()
        same(one, y, f"{source} to {target}")


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_all_pairs_in_functions(executor):
    given = {kind: tf.constant(long(values(kind))) for kind in KINDS}

    def function(tensors):
        return {(a, b): tf.cast(x, b) for a, x in tensors.items() for b in KINDS}

    with settings.executor(executor):
        found = tf.function(function, autograph=False)(given)
    for (source, target), result in found.items():
        wanted = tf.cast(given[source], target)
        same(result.numpy(), wanted.numpy(), f"{source} to {target}")


def test_a_processor_that_saturates(monkeypatch):
    """Where NumPy's own conversions give another number, they are put right."""
    whole = casting._to_signed
    monkeypatch.setattr(casting, "_IS_LOWEST", False)
    for target in ("int32", "int64"):
        x = values("float64")
        with np.errstate(invalid="ignore"):
            found = whole(x, np.dtype(target))
        assert found.tolist() == [integer(float(v), target) for v in x]
