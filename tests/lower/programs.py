"""Random loop programs that keep all rules of the language, with arrays to run them on.

`programs()` is a hypothesis strategy, `random_case(seed)` a plain source; both give a `Case`.  Any
two executors must agree on a case to rounding (`Case.agree`): numbers stay near 1, and what jumps
(comparisons, casts to integers, indices) is made of exact numbers only.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from talweg.core.dtypes import BY_NAME, DType
from talweg.lower.ir.loops import LoopProgram
from tests.lower.kernels import KERNELS
from tests.lower.maker import Maker

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 33)
DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int32",
    "int64",
    "uint8",
    "int8",
    "int16",
    "uint32",
    "uint64",
    "uint16",
    "bool",
)
CONTROL = ("while", "repeat", "if")
TOLERANCE = {"float64": 1e-6, "float32": 3e-3, "float16": 3e-2, "bfloat16": 1e-1}


class Case:
    """A program, and the arrays of its inputs and states by name."""

    def __init__(self, program: LoopProgram, arrays: dict):
        self.program, self.arrays = program, arrays

    def __repr__(self) -> str:
        from talweg.lower.ir.printer import to_text

        return to_text(self.program)

    def agree(self, found: dict, wanted: dict) -> None:
        """Assert that two results are the same to rounding."""
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            other = found[name]
            assert other.dtype == array.dtype and other.shape == array.shape, name
            tolerance = TOLERANCE.get(array.dtype.name, 0)
            if tolerance:
                np.testing.assert_allclose(
                    other.astype(np.float64),
                    array.astype(np.float64),
                    tolerance,
                    tolerance,
                    err_msg=name,
                )
            else:
                np.testing.assert_array_equal(other, array, err_msg=name)


class _Drawn:
    """Choices that hypothesis makes."""

    def __init__(self, draw: Any):
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def chance(self, percent: int) -> bool:
        return self.number(1, 100) > 100 - percent


class _Random:
    """Choices of a seeded generator."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent


@st.composite
def programs(draw, kernels=tuple(KERNELS), control=CONTROL, most=4):
    """Cases with up to `most` blocks, of kernels of the kinds named, and control flow of those."""
    return build(_Drawn(draw), kernels, control, most)


def random_case(seed: int, kernels=tuple(KERNELS), control=CONTROL, most=4) -> Case:
    """The case of a seed."""
    return build(_Random(seed), kernels, control, most)


def build(source: Any, kernels: Any, control: Any, most: int) -> Case:
    """A case, from a source of choices."""
    maker = Maker(LoopProgram("case"), source)
    rng = np.random.default_rng(source.number(0, 2**20))
    specials = source.chance(15)
    for _ in range(source.number(2, 4)):
        dtype = BY_NAME[source.pick(("float32", "float32", *DTYPES))]
        shape = tuple(source.pick(EXTENTS) for _ in range(source.number(1, 2)))
        kind = source.pick(("input", "input", "constant", "state"))
        maker.give(dtype, shape, kind, values_of(rng, dtype, shape, specials))
    for _ in range(source.number(1, most)):
        _block(maker, source, kernels, control)
    for buffer in maker.program.buffers:
        mine = buffer.kind == "temporary" and buffer.part is None and not maker.is_control(buffer)
        if mine and source.chance(70):
            buffer.kind = "output"
    return Case(maker.program, maker.arrays)


def _block(maker: Maker, source: Any, kernels: Any, control: Any) -> None:
    """One more block, perhaps a loop or choice."""

    def one_or_two() -> None:
        for _ in range(source.number(1, 2)):
            KERNELS[source.pick(kernels)](maker)

    kind = source.pick(control) if control and source.chance(30) else ""
    if kind == "while":
        maker.repeat(source.number(0, 3), one_or_two)
    elif kind == "repeat":
        maker.rounds(one_or_two)
    elif kind == "if":
        maker.choose(source.number(1, 3))
    else:
        KERNELS[source.pick(kernels)](maker)


def values_of(rng: Any, dtype: DType, shape: tuple, specials: bool = False) -> np.ndarray:
    """Numbers to compute with: multiples of 1/8 near zero; any integers."""
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy_dtype)
        found = rng.integers(-9 if limits.min else 0, 10, shape).astype(dtype.numpy_dtype)
        edges = np.array([limits.min, limits.max], dtype.numpy_dtype)
        return np.where(rng.random(shape) < 0.1, rng.choice(edges, shape), found)
    found = (rng.integers(-32, 33, shape) / 8).astype(dtype.numpy_dtype)
    if specials:
        odd = rng.choice([np.nan, np.inf, -np.inf, -0.0], shape).astype(dtype.numpy_dtype)
        found = np.where(rng.random(shape) < 0.1, odd, found)
    return found
