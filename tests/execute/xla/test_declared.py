"""Every declared sample through XLA, against its NumPy kernel; many in one program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from talweg.core.primitive import REGISTRY
from talweg.passes.specialize.program import SpecializationError, StaticProgram
from tests.execute.xla import compare, samples
from tests.lower import declared
from tests.lower.test_declared import CASES, VALUES
from tests.prims.harness import fitted

TOGETHER = 24


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
    for case in CASES:
        if all(0 not in array.shape for array in fitted(case, case.arrays())):
            hosted |= samples.hosted_by(case) or set()
    assert hosted - samples.PARTLY - VALUES == samples.HOST_ONLY
    assert hosted <= REGISTRY.keys()


def test_the_docs_say_how_many_samples_xla_computes():
    text = (Path(__file__).parents[3] / "docs" / "devices.md").read_text()
    wanted = "\n".join(samples.table(samples.count()))
    assert wanted in text, f"python -m tests.execute.xla.samples prints\n{wanted}"
