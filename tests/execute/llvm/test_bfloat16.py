"""Rounding to bfloat16: by the processor's instruction where there is one, and without."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.vector_math.library import VectorMathLibrary
from talweg.lower.ir.printer import parse
from tests.execute.test_cache_of_others import levels

LOOP = """program p
  x: input float32[96]
  z: output bfloat16[96]
kernel k:
  for i in 96 vector:
    z[i] = bfloat16({value})
"""


def numbers() -> np.ndarray:
    """Every number of 16 bits, the middles above it, and what lies beside both."""
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    return np.concatenate([high | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])


def rounded(bits: np.ndarray) -> np.ndarray:
    """The bits of bfloat16 numbers; NaNs keep their first bits, quiet."""
    with np.errstate(invalid="ignore"):
        found = bits.view(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
        absent = np.isnan(bits.view(np.float32))
    return np.where(absent, (bits >> 16 | 64).astype(np.uint16), found)


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("mixed", [False, True])
def test_every_number(level, mixed):
    """Those below the normal range, too, alone and beside others in a vector."""
    bits = numbers()
    if mixed:
        bits = np.random.default_rng(0).permutation(bits)
    with settings.cpu(level), settings.cache("off"), settings.executor("llvm"):
        found = tf.function(lambda x: tf.cast(x, tf.bfloat16))(bits.view(np.float32))
    np.testing.assert_array_equal(found.numpy().view(np.uint16), rounded(bits))


@pytest.mark.parametrize("function", ["exp", "tanh"])
def test_results_of_long_bodies(function):
    """Two vectors at a time: the function of 32 numbers and what is left over."""
    x = np.random.default_rng(0).uniform(-95, 5, 1003).astype("float32")
    double = getattr(tf, function)
    with settings.executor("llvm"):
        wide = tf.function(lambda x: double(x))(x).numpy()
        short = tf.function(lambda x: tf.cast(double(x), tf.bfloat16))(x).numpy()
    np.testing.assert_array_equal(short.view(np.uint16), rounded(wide.view(np.uint32)))


@pytest.mark.parametrize("value, lanes", [("x[i]", 16), ("tanh(x[i])", 32)])
def test_the_instruction_is_used(value, lanes):
    program = parse(LOOP.format(value=value))
    for able in (False, True):
        text = emit(program, 64, VectorMathLibrary(rounds_bfloat16=able))
        assert ("avx512bf16.cvtneps2bf16" in text) == able
        assert (f"call <{lanes} x i16> @talweg_bfloat16x{lanes}(" in text) == able
