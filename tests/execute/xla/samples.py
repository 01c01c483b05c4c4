"""Which samples of the declarations XLA computes, alone or with a NumPy kernel, and which not.

    python -m tests.execute.xla.samples

prints the table of docs/devices.md.  `HOST` are the declarations without a form in XLA, and why.
"""

from __future__ import annotations

from collections import Counter

from talweg.execute.xla import engine
from talweg.execute.xla.emitter import has_form
from talweg.passes.specialize.program import SpecializationError
from tests.lower import declared
from tests.lower.test_declared import VALUES, has_strings
from tests.prims.harness import Case, cases, fitted

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


def hosted_by(case: Case) -> set[str] | None:
    """The kernels of NumPy that a sample runs beside XLA; None if no program has it."""
    try:
        static = declared.static_of(case.prim, fitted(case, case.arrays()), case.params())
    except SpecializationError:
        return None
    with engine.wide():
        return {step.prim.name for step in static.equations if not has_form(step)}


def kind_of(case: Case) -> str:
    """How a sample runs, as the table says it."""
    if has_strings(case):
        return "not compiled: strings"
    hosted = hosted_by(case)
    if hosted is None:
        assert case.prim.name in VALUES
        return "not compiled: the shape of the result depends on values"
    if not hosted:
        return "XLA alone"
    reasons = [reason for reason, names in HOST.items() if hosted & {*names.split()}]
    return f"with a NumPy kernel: {reasons[0] if reasons else 'some dtypes or parameters'}"


def count() -> Counter[str]:
    """How many samples run in each way."""
    return Counter([kind_of(case) for case in cases() if case.prim.effect is None])


def table(counts: Counter[str]) -> list[str]:
    """The table, the most frequent ways first."""
    rows = [f"| {kind} | {number} |" for kind, number in counts.most_common()]
    return ["| samples | |", "| --- | ---: |", *rows]


if __name__ == "__main__":
    print("\n".join(table(count())))
