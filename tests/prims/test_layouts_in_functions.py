"""Every declaration in functions, on both executors, with operands of every memory layout.

Layouts arise in two ways: views made inside, which a compiled program reads through their index
maps, and arrays that come in as they are.  What is compared with is the eager result on row-major
arrays: values, cotangents and tangents.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.dtypes import of_numpy
from talweg.eager.tensor import wrap
from tests.lower.declared import tolerance_of
from tests.prims import harness
from tests.prims.harness import fitted
from tests.prims.layouts import LAYOUTS, laid, plain

CASES = [case for case in harness.cases() if case.prim.effect is None and case.number == 0]
VIEWS = ("transposed", "rotated", "strided", "reversed")
KEEPING = [name for name in LAYOUTS if not name.startswith("repeated")]  # the values as they are
PARTS = 8  # many cases are one program: compiling each by itself takes longer
COMPARED: Counter = Counter()


class Given:
    """A case with operands, and cotangents and tangents where it has derivatives."""

    def __init__(self, case):
        self.case, self.count = case, len(case.sample.operands)
        random = case.generator()
        arrays = fitted(case, case.arrays())
        results = [np.asarray(z._array) for z in case.apply([wrap(a) for a in arrays])]
        self.smooth = harness.is_float64_capable(case)
        self.smooth = self.smooth and not {"reverse", "forward"} & set(case.sample.skip)
        self.pulled = [of_numpy(z.dtype).is_differentiable for z in results]
        if self.smooth:
            arrays += [harness.direction(random, z) for z, own in zip(results, self.pulled) if own]
            arrays += [harness.direction(random, arrays[i]) for i in case.differentiable()]
        self.arrays = [plain(a) for a in arrays]

    def both_modes(self, tensors: list) -> list:
        """Results, tangents and cotangents."""
        operands, rest = tensors[: self.count], iter(tensors[self.count :])
        if not self.smooth:
            return list(self.case.apply(operands))
        cotangents = [next(rest) if own else None for own in self.pulled]
        sources = [operands[i] for i in self.case.differentiable()]
        with (
            tf.autodiff.ForwardAccumulator(sources, list(rest)) as accumulator,
            tf.GradientTape(watch_accessed_variables=False) as tape,
        ):
            tape.watch(sources)
            results = list(self.case.apply(operands))
        kept = [(z, g) for z, g in zip(results, cotangents) if g is not None]
        pulled = tape.gradient([z for z, _ in kept], sources, [g for _, g in kept], "zero")
        pushed = [accumulator.jvp(z, "zero") for z, _ in kept]
        return [*results, *pushed, *map(tf.convert_to_tensor, pulled)]

    @cached_property
    def wanted(self) -> list:
        return [np.asarray(z._array) for z in self.both_modes([wrap(a) for a in self.arrays])]


GIVEN = [Given(case) for case in CASES]


def below(array: np.ndarray, layout: str) -> np.ndarray:
    """The row-major array of which `view` gives `array`."""
    if array.ndim == 0 or layout == "rotated" and array.ndim < 3:
        return array
    if layout == "transposed":
        return np.ascontiguousarray(array.T)
    if layout == "rotated":
        return np.ascontiguousarray(np.moveaxis(array, -1, 0))
    return array.repeat(2, -1) if layout == "strided" else np.ascontiguousarray(np.flip(array))


def view(x, layout: str):
    """A tensor that is in a layout, if an executor makes a view of it."""
    rank = len(x.shape)
    if rank == 0 or layout == "rotated" and rank < 3:
        return x
    if layout == "transposed":
        return tf.transpose(x)
    if layout == "rotated":
        return tf.transpose(x, [*range(1, rank), 0])
    return x[..., ::2] if layout == "strided" else tf.reverse(x, list(range(rank)))


def turned(names, given: Given, turn: int) -> list:
    """Layouts for the arrays of a case, from the one of this turn on."""
    return [names[(turn + place) % len(names)] for place in range(len(given.arrays))]


def compare(these: list, found: list, what: str) -> None:
    found = iter(found)
    for given in these:
        tolerance = max(1e-5, 10 * tolerance_of(given.arrays))
        for right in given.wanted:
            part = np.asarray(next(found))
            COMPARED[what] += 1
            about = f"{given.case.name}, {what}"
            assert part.shape == right.shape and part.dtype == right.dtype, about
            if right.dtype.kind not in "fcV":
                np.testing.assert_array_equal(part, right, about)
                continue
            scale = np.max(np.abs(right[np.isfinite(right)]), initial=1e-6)
            np.testing.assert_allclose(part, right, tolerance, tolerance * scale, err_msg=about)
    assert next(found, None) is None


def in_function(these: list, prepare) -> tf.types.experimental.PolymorphicFunction:
    """All cases of a part as one function; `prepare` is told a tensor, its case and its place."""

    def function(tensors):
        rest, results = iter(tensors), []
        for given in these:
            own = [prepare(next(rest), given, place) for place in range(len(given.arrays))]
            results += given.both_modes(own)
        return results

    return tf.function(function, autograph=False)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("executor", "turns"), [("interpret", range(4)), ("llvm", (0, 2))])
def test_views_made_inside(executor, turns, part):
    these = GIVEN[part::PARTS]
    for turn in turns:
        laid_out = {given: turned(VIEWS, given, turn) for given in these}
        function = in_function(these, lambda x, given, place: view(x, laid_out[given][place]))
        arrays = [below(a, own) for g in these for a, own in zip(g.arrays, laid_out[g])]
        with settings.executor(executor):
            compare(these, function([wrap(a) for a in arrays]), f"{executor}, turn {turn}")


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_arrays_as_they_come(executor, part):
    these = GIVEN[part::PARTS]
    function = in_function(these, lambda x, given, place: x)
    for turn, name in enumerate(KEEPING):
        arrays = [laid(a, own) for g in these for a, own in zip(g.arrays, turned(KEEPING, g, turn))]
        kept = [plain(a) for a in arrays]
        with settings.executor(executor):
            compare(these, function([wrap(a) for a in arrays]), f"{executor}, from {name}")
        for before, after in zip(kept, arrays):
            np.testing.assert_array_equal(after, before)
