"""Every declared sample through XLA, against its NumPy kernel; many in one program."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from talweg.core.primitive import REGISTRY
from talweg.execute.xla import engine
from talweg.execute.xla.emitter import has_form
from talweg.passes.specialize.program import SpecializationError, StaticProgram
from tests.execute.xla import compare
from tests.lower import declared
from tests.lower.test_declared import CASES, VALUES
from tests.prims.harness import fitted

TOGETHER = 24

# What has no form in XLA, and runs as its NumPy kernel on the host, and why.
HOST = {
    "special functions": "bessel_i bessel_ie bessel_j bessel_k0 bessel_k0e bessel_k1 bessel_k1e "
    "bessel_y0 bessel_y1 dawsn erfcinv expint fresnel_cos fresnel_sin gamma_derivative "
    "igamma_by_a log_quotient next_after",
    "linear algebra": "cofactor eig eigh eigvalsh expm logm lu pinv qr singular_values slogdet "
    "solve sqrtm svd sylvester triangular_solve tridiagonal_solve",
    "transforms": "dct irfft rfft",
    "random numbers": "drawn_box index_shuffle random_binomial random_bounded_normal random_gamma "
    "random_order random_poisson",
    "places": "invert_permutation max_pool_with_argmax suppress suppress_classes",
}
HOST_ONLY = {name for names in HOST.values() for name in names.split()}
PARTLY = {  # for some dtypes or parameters
    "bitcast",
    "cholesky",
    "det",
    "fft",
    "inverse",
    "random_integers",
    "random_numbers",
    "random_classes",
    "reverse_by",
}


def tolerance(arrays: list, wanted: list) -> float:
    narrow = any(a.dtype.name == "complex64" for a in [*arrays, *wanted])
    return 2e-6 if narrow else declared.tolerance_of(arrays)


@pytest.mark.parametrize("start", range(0, len(CASES), TOGETHER))
def test_samples(start):
    static, given, expected = StaticProgram(), [], []
    for case in CASES[start : start + TOGETHER]:
        arrays = fitted(case, case.arrays())
        count = len(static.inputs)
        try:
            results = declared.add(static, case.prim, arrays, case.params())
        except SpecializationError:
            assert case.prim.name in VALUES
            del static.inputs[count:]
            continue
        given += arrays
        wanted = declared.expected(case.prim, arrays, case.params())
        what = declared.signature(case.prim, arrays)
        assert len(results) == len(wanted)
        expected += [(right, tolerance(arrays, wanted), what) for right in wanted]
    ok, found, _ = compare.executable_of(static)([np.asarray(x) for x in given], [])
    assert ok
    for part, (right, within, what) in zip(found, expected, strict=True):
        declared.assert_close(np.asarray(part), right, within, what)


def test_what_runs_on_the_host_is_known():
    hosted = set()
    with engine.wide():
        for case in CASES:
            arrays = fitted(case, case.arrays())
            if any(0 in array.shape for array in arrays):
                continue
            try:
                static = declared.static_of(case.prim, arrays, case.params())
            except SpecializationError:
                continue
            hosted |= {e.prim.name for e in static.equations if not has_form(e)}
    assert hosted - PARTLY - VALUES == HOST_ONLY
    assert hosted <= REGISTRY.keys()
