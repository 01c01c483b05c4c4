"""Derivatives of random programs through XLA, against plain Python's; see `tests/trace/control`."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from talweg.core import settings
from tests.trace.control.derived import MODES, REGISTERS, WAYS, draw_program, expected

COMPILED = [way for way in sorted(WAYS) if way != "eager"]


@pytest.mark.parametrize("seed", range(6))
def test_first_derivatives(seed):
    rng = np.random.default_rng([7, seed])
    program = draw_program(rng, 2)
    modes = [str(rng.choice(sorted(MODES)))]
    x = rng.normal(size=REGISTERS)
    wanted = expected(program, 1, x)
    with settings.executor("xla"):
        found = WAYS[COMPILED[seed % len(COMPILED)]](program, modes, x)
    np.testing.assert_allclose(found, wanted, 1e-7, 1e-9)
