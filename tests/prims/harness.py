"""What the generated tests are made of: operands from a declaration, and derivative checks.

Everything is read from the record: samples (default shapes for elementwise primitives), domains,
rejects.  The checks return nothing and raise AssertionError, so that the mutant tests can ask
whether they notice a damaged rule.
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

import talweg as tf
from talweg import prims
from talweg.core.dtypes import float64, of_numpy
from talweg.core.primitive import REGISTRY, Primitive, Sample
from talweg.eager.forward import ForwardAccumulator
from talweg.eager.tape import GradientTape
from talweg.eager.tensor import wrap
from talweg.transform import batch

for _module in pkgutil.walk_packages(prims.__path__, "talweg.prims."):
    importlib.import_module(_module.name)

WIDE = {"float32": np.float64, "complex64": np.complex128}
STEP = 1e-6


def fitted(case: Case, arrays: list) -> list:
    """Operands that belong together: of a pooling's derivative the third is its result.

    What kernels make of others is not promised, and it is not the same once machine code has taken
    the place of a NumPy kernel that was slow.
    """
    if case.prim.name in ("max_pool_gather", "max_pool_scatter"):
        arrays[2] = REGISTRY["max_pool"].numpy(arrays[1], **case.params())
    return arrays


@dataclass
class Case:
    """One primitive with one of its samples."""

    prim: Primitive
    sample: Sample
    number: int

    @property
    def name(self) -> str:
        return f"{self.prim.name}-{self.number}"

    def generator(self) -> np.random.Generator:
        """Random numbers that are the same in every run."""
        return np.random.default_rng(zlib.crc32(self.name.encode()))

    def operand_name(self, position: int) -> str:
        names = self.prim.operands
        return names[min(position, len(names) - 1)]

    def arrays(self, wide: bool = False, random: Any = None) -> list[np.ndarray]:
        """Operands; in double precision if `wide`."""
        random = random or self.generator()
        found = []
        for position, given in enumerate(self.sample.operands):
            if isinstance(given, (list, tuple)):
                low, high = self.prim.domain.get(self.operand_name(position), (-2, 2))
                array = random.uniform(low, high, tuple(given))
                dtype = self.sample.dtype.numpy_dtype
                array = (
                    np.asarray(array).astype(dtype)
                    if dtype.kind != "c"
                    else (
                        np.asarray(array + 1j * random.uniform(low, high, tuple(given))).astype(
                            dtype
                        )
                    )
                )
            else:
                array = np.asarray(given)
            if wide and array.dtype.name in WIDE:
                array = array.astype(WIDE[array.dtype.name])
            found.append(array)
        return fitted(self, found)

    def params(self) -> dict:
        return self.sample.params

    def apply(self, operands: list) -> tuple:
        """The results, always as a tuple."""
        result = self.prim(*operands, **self.params())
        return result if isinstance(result, tuple) else (result,)

    def differentiable(self) -> list[int]:
        """Positions of the operands that a gradient should flow to."""
        return [
            i
            for i, array in enumerate(self.arrays())
            if array.dtype.kind in "fc" and self.operand_name(i) not in self.prim.no_gradient
        ]


def default_samples(prim: Primitive) -> list[Sample]:
    """Shapes for an elementwise primitive: vector, scalar, empty, and two that broadcast."""
    count = len(prim.operands)
    kinds = {d.name for d in prim.accepts or ()}
    if "float32" in kinds:
        dtype = tf.float32
    elif "bool" in kinds:
        dtype = tf.bool
    else:
        dtype = tf.int32
    shapes = [[[5]] * count, [[]] * count, [[0]] * count]
    if count == 2:
        shapes += [[[2, 1], [1, 3]], [[], [3]], [[2, 3], [3]]]
    if count == 3:
        shapes += [[[2, 1], [1, 3], []]]
    samples = [Sample(*shape, dtype=dtype) for shape in shapes]
    if "complex64" in kinds:
        samples.append(Sample(*[[4]] * count, dtype=tf.complex64))
    return samples


def cases() -> list[Case]:
    """Every primitive without effects, with every sample."""
    found = []
    for prim in REGISTRY.values():
        samples = list(prim.samples)
        if prim.elementwise and not samples:
            samples = default_samples(prim)
        found += [Case(prim, sample, i) for i, sample in enumerate(samples)]
    return sorted(found, key=lambda case: case.name)


def direction(random: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """A random direction of an array's shape and dtype."""
    d = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        d = d + 1j * random.standard_normal(array.shape)
    return np.asarray(d, array.dtype)


def inner(a: Any, b: Any) -> float:
    """The real inner product."""
    return float(np.real(np.sum(np.conj(np.asarray(a)) * np.asarray(b))))


def results_and_directions(case: Case, arrays: list, random: np.random.Generator) -> list:
    """A cotangent for each result (None for integer ones)."""
    results = case.apply([wrap(a) for a in arrays])
    return [direction(random, z._array) if z.dtype.is_differentiable else None for z in results]


def pull(case: Case, arrays: list, cotangents: list) -> list:
    """Cotangents of the differentiable operands, by a tape."""
    operands = [wrap(a) for a in arrays]
    sources = [operands[i] for i in case.differentiable()]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sources)
        results = case.apply(operands)
    pairs = [(z, wrap(g)) for z, g in zip(results, cotangents) if g is not None]
    found = tape.gradient([z for z, _ in pairs], sources, [g for _, g in pairs], "zero")
    return [np.asarray(tf.convert_to_tensor(g)._array) for g in found]


def push(case: Case, arrays: list, tangents: list) -> list:
    """Tangents of the results, by an accumulator."""
    operands = [wrap(a) for a in arrays]
    sources = [operands[i] for i in case.differentiable()]
    with ForwardAccumulator(sources, [wrap(t) for t in tangents]) as accumulator:
        results = case.apply(operands)
    return [np.asarray(accumulator.jvp(z, "zero")._array) for z in results]


def moved(case: Case, arrays: list, tangents: list, step: float) -> list:
    """The operands, a step along the tangents."""
    result = list(arrays)
    for position, tangent in zip(case.differentiable(), tangents):
        result[position] = arrays[position] + step * tangent
    return result


def close(a: Any, b: Any, tolerance: float, what: str) -> None:
    """AssertionError unless two numbers or arrays agree to `tolerance` of their size."""
    a, b = np.asarray(a), np.asarray(b)
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    assert a.shape == b.shape, f"{what}: shapes {a.shape} and {b.shape}"
    error = float(np.max(np.abs(a - b), initial=0.0))
    assert error <= tolerance * scale, f"{what}: differ by {error} at scale {scale}\n{a}\n{b}"


def check_forward(case: Case) -> None:
    """The pushforward equals a central difference along a random direction."""
    random = case.generator()
    arrays = case.arrays(wide=True)
    tangents = [direction(random, arrays[i]) for i in case.differentiable()]
    pushed = push(case, arrays, tangents)
    ahead = case.apply([wrap(a) for a in moved(case, arrays, tangents, STEP)])
    behind = case.apply([wrap(a) for a in moved(case, arrays, tangents, -STEP)])
    for part, high, low in zip(pushed, ahead, behind):
        if high.dtype.is_differentiable:
            numeric = (high._array - low._array) / (2 * STEP)
            close(part, numeric, 1e-5, "jvp against finite differences")


def check_reverse(case: Case) -> None:
    """<g, J t> = <Jᵀ g, t> for random g and t, to rounding."""
    random = case.generator()
    arrays = case.arrays(wide=True)
    tangents = [direction(random, arrays[i]) for i in case.differentiable()]
    cotangents = results_and_directions(case, arrays, random)
    pushed, pulled = push(case, arrays, tangents), pull(case, arrays, cotangents)
    left = sum(inner(g, t) for g, t in zip(cotangents, pushed) if g is not None)
    right = sum(inner(x, t) for x, t in zip(pulled, tangents))
    close(left, right, 1e-9, "adjoint identity")


def check_second_order(case: Case) -> None:
    """Reverse over reverse and forward over reverse equal a difference of the gradient."""
    random = case.generator()
    arrays = case.arrays(wide=True)
    positions = case.differentiable()
    tangents = [direction(random, arrays[i]) for i in positions]
    cotangents = results_and_directions(case, arrays, random)
    ahead = pull(case, moved(case, arrays, tangents, STEP), cotangents)
    behind = pull(case, moved(case, arrays, tangents, -STEP), cotangents)
    numeric = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind)]
    operands = [wrap(a) for a in arrays]
    sources = [operands[i] for i in positions]
    with (
        ForwardAccumulator(sources, [wrap(t) for t in tangents]) as accumulator,
        GradientTape(watch_accessed_variables=False) as outer,
    ):
        outer.watch(sources)
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            results = case.apply(operands)
        pairs = [(z, wrap(g)) for z, g in zip(results, cotangents) if g is not None]
        first = tape.gradient([z for z, _ in pairs], sources, [g for _, g in pairs], "zero")
        first = [tf.convert_to_tensor(g) for g in first]
    for g, expected in zip(first, numeric):
        close(np.asarray(accumulator.jvp(g, "zero")._array), expected, 1e-4, "forward over reverse")
    weights = [direction(random, np.asarray(g._array)) for g in first]
    second = outer.gradient(first, sources, [wrap(w) for w in weights], "zero")
    left = sum(inner(h._array, t) for h, t in zip(map(tf.convert_to_tensor, second), tangents))
    right = sum(inner(w, n) for w, n in zip(weights, numeric))
    close(left, right, 1e-4, "reverse over reverse")


def check_shapes(case: Case) -> None:
    """`infer` says what the kernel gives, and operands are not changed."""
    arrays = case.arrays()
    before = [a.copy() for a in arrays]
    from talweg.execute.call import avals_of

    promised = case.prim.infer(*avals_of(arrays), **case.params())
    promised = promised if isinstance(promised, (list, tuple)) else [promised]
    results = case.apply([wrap(a) for a in arrays])
    assert len(promised) == len(results)
    for aval, result in zip(promised, results):
        assert aval.shape.is_compatible_with(result.shape), (aval, result.shape)
        assert aval.dtype is of_numpy(result._array.dtype), (aval, result.dtype)
    for a, b in zip(arrays, before):
        np.testing.assert_array_equal(a, b)


def check_batch(case: Case) -> None:
    """Batching any subset of the operands equals a loop over slices."""
    count = len(case.sample.operands)
    random = case.generator()
    sets = [case.arrays(random=random) for _ in range(2)]
    patterns = [[True] * count] + [[i == j for i in range(count)] for j in range(count)]
    for flags in patterns if count > 1 else patterns[:1]:
        rows = [
            np.stack([s[i] for s in sets]) if flag else sets[0][i] for i, flag in enumerate(flags)
        ]
        with batch.batching(2) as interpreter:
            operands = [
                batch.BatchTensor(wrap(r), interpreter) if flag else wrap(r)
                for r, flag in zip(rows, flags)
            ]
            got = [batch.unwrap(z, interpreter)._array for z in case.apply(operands)]
        for position in range(2):
            each = [wrap(r[position] if flag else r) for r, flag in zip(rows, flags)]
            for found, wanted in zip(got, case.apply(each)):
                tolerance = 1e-5 if wanted.dtype.is_differentiable else 0
                np.testing.assert_allclose(
                    found[position], wanted._array, tolerance, tolerance, err_msg=f"batch {flags}"
                )


def is_float64_capable(case: Case) -> bool:
    """Whether the primitive has derivatives to check on this sample."""
    prim = case.prim
    if prim.derivative is not None or not case.differentiable():
        return False
    return prim.accepts is None or float64 in prim.accepts
