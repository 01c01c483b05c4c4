"""Every declaration as a loop program of one equation, against its NumPy kernel.

Generated from the records: all samples, dtypes, constants for operands, values that are not finite,
and operands that must be refused, which the program's guard has to notice.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import talweg as tf
from talweg.core.dtypes import of_numpy
from talweg.core.errors import OpError
from talweg.core.primitive import REGISTRY
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.fusion.inline import is_plain
from talweg.passes.specialize.program import SpecializationError, StaticProgram
from tests.lower import declared
from tests.prims.harness import Case, cases, fitted

# What runs as the NumPy kernel, called from the program, and why: `complex` numbers;
# `special` functions; `sorting` and searching; `library` routines of linear algebra and transforms;
# `random` numbers; `stray` access that no loop form is worth; `replicas` meet where XLA runs them.
HOST = {
    "complex": "angle complex complex_abs fft imag irfft real rfft",
    "special": "bessel_i bessel_j bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 "
    "bessel_y1 betainc dawsn erfcinv expint fresnel_cos fresnel_sin "
    "gamma_derivative igamma igamma_by_a igammac log_quotient next_after spence",
    "sorting": "argsort searchsorted segment_order sort top_k",
    "library": "cofactor dct eig eigh eigvalsh expm logm lu pinv qr "
    "singular_values slogdet solve sqrtm svd sylvester triangular_solve tridiagonal_solve",
    "random": "drawn_box index_shuffle random_binomial random_bounded_normal "
    "random_gamma random_order random_poisson",
    "stray": "invert_permutation max_pool_with_argmax reverse_by suppress suppress_classes",
    "replicas": "all_reduce",
}
HOST_ONLY = {name for names in HOST.values() for name in names.split()}

# What has a rule that does not apply to all samples.
PARTLY = {"bessel_ie", "bitcast", "permute_rows", "random_integers", "random_numbers"}

# Results whose shapes depend on values: no static program has them, unless they are constant.
VALUES = {
    "broadcast_by",
    "grouped_places",
    "nonzero",
    "repeated",
    "reshape_to",
    "sequence",
    "transpose_by",
    "unique",
}


def has_strings(case: Case) -> bool:
    """Whether operands or results are strings, which programs that are compiled have none of."""
    avals = declared.avals_of(case.arrays())
    known = case.prim.infer(*avals, **case.params())
    known = known if case.prim.multiple else [known]
    return any(aval.dtype.name == "string" for aval in [*avals, *known])


CASES = [case for case in cases() if case.prim.effect is None and not has_strings(case)]
FIRST = {case.prim.name: case for case in CASES if case.number == 0}
LOOPS = [case for name, case in FIRST.items() if name not in HOST_ONLY | VALUES]


def fits(case: Case, arrays: list) -> bool:
    """Whether there are operands and results, of numbers that loops compute with."""
    known = case.prim.infer(*declared.avals_of(arrays), **case.params())
    known = known if case.prim.multiple else [known]
    if any(0 in part.dims for part in known) or any(0 in array.shape for array in arrays):
        return False
    dtypes = [aval.dtype for aval in known] + [of_numpy(array.dtype) for array in arrays]
    return all(is_plain(dtype) for dtype in dtypes)


def agree(case: Case, arrays: list, **options) -> list[str]:
    """Assert that the program gives what the kernel gives; the kernels it calls."""
    wanted = declared.expected(case.prim, arrays, case.params())
    found, lowered = declared.results(case.prim, arrays, case.params(), **options)
    what = declared.signature(case.prim, arrays)
    for part, right in zip(found, wanted, strict=True):
        declared.assert_close(part, right, declared.tolerance_of(arrays), what)
    return declared.hosts(lowered.program)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_samples(case):
    arrays = fitted(case, case.arrays())
    if case.prim.name in VALUES and case.sample.params.get("count") is None:
        with pytest.raises(SpecializationError, match="depends on values"):
            declared.static_of(case.prim, arrays, case.params())
        return
    called = agree(case, arrays)
    if case.prim.name in HOST_ONLY:
        assert called, "it has loops now: take it from the list"
    elif fits(case, arrays) and case.prim.name not in VALUES | PARTLY:
        assert not called, "it is called as a NumPy kernel: give it a rule, or a reason above"


@pytest.mark.parametrize("case", LOOPS, ids=lambda case: case.name)
def test_one_lane_after_the_other(case):
    if case.prim.name.startswith("convolution"):
        return  # large samples; the same loops run side by side above
    agree(case, fitted(case, case.arrays()), lanes=False)


KINDS = ("float64", "float16", "bfloat16", "int32", "int64", "bool", "uint8", "int8", "uint64")


def filled(shape: tuple, dtype: np.dtype, random: np.random.Generator) -> np.ndarray:
    """Small numbers of a dtype."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return random.integers(0, 6, shape).astype(dtype)
    return random.uniform(-2, 2, shape).astype(dtype)


def retyped(case: Case, kind: str) -> list | None:
    """The operands given as shapes in another dtype; None if there are none, or that is refused."""
    dtype = tf.as_dtype(kind).numpy_dtype
    random = np.random.default_rng(zlib.crc32(f"{case.name}{kind}".encode()))
    arrays, changed = [], False
    for given, array in zip(case.sample.operands, case.arrays()):
        free = isinstance(given, (list, tuple))
        arrays.append(filled(array.shape, dtype, random) if free else array)
        changed = changed or free
    if not changed:
        return None
    try:
        arrays = fitted(case, arrays)
        case.prim.infer(*declared.avals_of(arrays), **case.params())
        declared.expected(case.prim, arrays, case.params())
    except (OpError, TypeError, ValueError, IndexError):
        return None
    return arrays


@pytest.mark.parametrize("case", LOOPS, ids=lambda case: case.name)
def test_dtypes(case):
    for kind in KINDS:
        if kind == "bool" and case.prim.memory == "window":
            continue  # nobody pools truth values
        arrays = retyped(case, kind)
        if arrays is not None:
            agree(case, arrays)


FLOATS = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-30, -1e30, np.inf, -np.inf, np.nan])
INTEGERS = np.array([0, 1, -1, 2, -3, 7, 100, -(2**31), 2**31 - 1, 12345])
ELEMENTWISE = [case for case in LOOPS if case.prim.elementwise]
# where NumPy says nothing of the sign of a zero: it takes either of two that are equal
EITHER_ZERO = {"elu", "leaky_relu", "maximum", "minimum", "relu", "relu6", "selu"}


def special(case: Case, dtype: tf.DType) -> list[np.ndarray]:
    """Operands that broadcast to all combinations of special values."""
    values = (FLOATS if dtype.is_floating else INTEGERS).astype(dtype.numpy_dtype)
    arrays = []
    for place, given in enumerate(case.arrays()):
        own = np.array([True, False]) if given.dtype == bool else values
        arrays.append(own.reshape(-1, *(1,) * (len(case.prim.operands) - place - 1)))
    return arrays


@pytest.mark.parametrize("kind", ("float32", "float64", "int32"))
def test_special_values_by_machine(kind):
    static, given, wanted, names, dtype = StaticProgram(), [], [], [], tf.as_dtype(kind)
    for case in ELEMENTWISE:
        if dtype not in case.prim.accepts or "check" in case.prim.name:
            continue
        arrays = special(case, dtype)
        try:
            wanted += declared.expected(case.prim, arrays, {})
        except OpError:
            continue
        given += arrays
        declared.add(static, case.prim, arrays, {})
        names.append(case.prim.name)
    lowered = declared.lower(static)
    found = Executable(lowered.program, threads=1)([np.array(array) for array in given], [])
    for name, part, right in zip(names, found, wanted):
        declared.assert_close(part, right, 2e-6, name)


@pytest.mark.parametrize("kind", ("float32", "float64", "int32"))
@pytest.mark.parametrize("case", ELEMENTWISE, ids=lambda case: case.name)
def test_all_pairs_of_special_values(case, kind):
    prim, dtype = case.prim, tf.as_dtype(kind)
    if dtype not in prim.accepts:
        return
    arrays = special(case, dtype)
    try:
        wanted = declared.expected(prim, arrays, {})[0]
    except OpError:  # divided by zero: it has to be refused
        static = declared.static_of(prim, arrays, {})
        lowered = declared.lower(static)
        assert declared.hosts(lowered.program) or not declared.run(lowered, arrays)[-1]
        arrays[-1] = arrays[-1][arrays[-1] > 0]
        wanted = declared.expected(prim, arrays, {})[0]
    (found,), _ = declared.results(prim, arrays, {})
    declared.assert_close(found, wanted, declared.tolerance_of(arrays), prim.name)
    if dtype.is_floating and found.dtype == wanted.dtype and prim.name not in EITHER_ZERO:
        zeros = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("kind", ("float32", "float64", "float16", "int64", "uint8", "bool"))
def test_casts(kind):
    special = [*FLOATS, 3e9, -3e9, 1e19, 2.0**63, -(2.0**63), 255.5, 70000, 1e-8]
    dtype = tf.as_dtype(kind).numpy_dtype
    with np.errstate(all="ignore"):
        values = np.array(special).astype(dtype)
    for target in (*KINDS, "float32", "uint32", "int16", "uint16"):
        params = {"dtype": tf.as_dtype(target)}
        wanted = declared.expected(REGISTRY["cast"], [values], params)
        found, _ = declared.results(REGISTRY["cast"], [values], params)
        declared.assert_close(found[0], wanted[0], 0, (kind, target))


@pytest.mark.parametrize(
    "case", [c for c in CASES if len(c.sample.operands) > 1], ids=lambda case: case.name
)
def test_constant_operands(case):
    """What is known beforehand may be used: shapes, places, exponents."""
    arrays = fitted(case, case.arrays())
    if case.prim.name in HOST_ONLY or any(array.dtype == object for array in arrays):
        return
    for place in range(1, len(arrays)):
        try:
            agree(case, arrays, constants=(place,))
        except SpecializationError:
            assert case.prim.name in VALUES
    if case.prim.name in ("reshape_to", "broadcast_by", "transpose_by", "reverse_by"):
        assert not agree(case, arrays, constants=(1,))


@pytest.mark.parametrize("power", (0, 1, 2, 3, 4, -1, -2, -3, 0.5, -0.5, 5, 1.5, np.nan))
def test_powers(power):
    for values in (FLOATS, FLOATS.astype(np.float32), INTEGERS):
        exponent = np.array(power).astype(values.dtype) if values.dtype.kind == "f" else None
        if exponent is None:
            if power != int(abs(power) if power == power else -1):
                continue
            exponent = np.array(int(power))
        wanted = declared.expected(REGISTRY["pow"], [values, exponent], {})
        found, lowered = declared.results(REGISTRY["pow"], [values, exponent], {}, constants=(1,))
        assert not declared.hosts(lowered.program)
        rooted = (values == 0) | (values == -np.inf) if power == 0.5 else values != values
        wanted[0][rooted] = found[0][rooted]  # NumPy takes √x, which is -0 for -0, NaN for -inf
        declared.assert_close(found[0], wanted[0], 1e-6, (power, values.dtype))


REFUSED = [
    Case(prim, reject, number)
    for prim in REGISTRY.values()
    for number, reject in enumerate(prim.rejects)
    if prim.effect is None and reject.code in ("TW206", "TW207", "TW209")
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case.name}-{case.sample.code}")
def test_what_the_kernel_refuses_the_guard_refuses(case):
    prim, arrays = case.prim, case.arrays()
    if prim.name in HOST_ONLY:
        return
    try:
        lowered = declared.lower(declared.static_of(prim, arrays, case.params()))
    except (OpError, SpecializationError):
        return  # refused before it runs
    if declared.hosts(lowered.program):
        with pytest.raises(OpError):
            declared.run(lowered, arrays)
    else:
        assert lowered.guard and not declared.run(lowered, arrays)[-1]


@pytest.mark.parametrize("part", range(8))
def test_by_machine(part):
    """First samples as machine code, many in one program: without NumPy's hand in it."""
    static, given, wanted, what = StaticProgram(), [], [], []
    for case in LOOPS[part::8]:
        arrays = fitted(case, case.arrays())
        if not fits(case, arrays):
            continue
        given += arrays
        wanted += declared.expected(case.prim, arrays, case.params())
        results = declared.add(static, case.prim, arrays, case.params())
        what += [case.name] * len(results)
    lowered = declared.lower(static)
    found = Executable(lowered.program, threads=2)([np.array(array) for array in given], [])
    if lowered.guard:
        assert found.pop()
    for name, part, right in zip(what, found, wanted, strict=True):
        declared.assert_close(part, right, 1e-5 if right.dtype.kind == "f" else 0, name)


def test_the_lists_are_of_primitives_that_there_are():
    assert not (HOST_ONLY | VALUES | PARTLY) - REGISTRY.keys()
    assert not HOST_ONLY & VALUES
