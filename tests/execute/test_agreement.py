"""Machine code does what NumPy does, on random loop programs."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from talweg.execute.llvm.codegen import kernel
from talweg.execute.llvm.runtime.executable import Executable
from talweg.execute.loop_interpreter.interpreter import run
from talweg.lower import buffer_assignment
from talweg.lower.ir.loops import Call
from talweg.lower.ir.visitors import all_statements
from tests.execute.emitted import Machine
from tests.lower.kernels import KERNELS
from tests.lower.programs import Case, programs, random_case
from tests.lower.test_check_mutants import kernels_of

QUIET = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))

_INT, _FLOAT, _POINTER = ctypes.c_int64, ctypes.c_float, ctypes.POINTER(ctypes.c_float)


@ctypes.CFUNCTYPE(None, *[_INT] * 5, _FLOAT, _POINTER, _INT, _POINTER, _INT, _FLOAT, _POINTER, _INT)
def gemm(tx, ty, m, n, k, alpha, x, x_step, y, y_step, beta, z, z_step) -> None:
    """The routine, one number after the other."""
    for i in range(m):
        for j in range(n):
            total = 0.0
            for r in range(k):
                one = x[r * x_step + i] if tx else x[i * x_step + r]
                total += one * (y[j * y_step + r] if ty else y[r * y_step + j])
            before = beta * z[i * z_step + j] if beta else 0.0
            z[i * z_step + j] = alpha * total + before


def executed(case: Case, threads: int | None = None, native: bool = True) -> dict:
    """The outputs and states of a case that an `Executable` gives."""
    buffers = case.program.buffers
    executable = Executable(case.program, threads=threads, native=native)
    inputs = [case.arrays[b.name] for b in buffers if b.kind == "input"]
    states = {b.name: case.arrays[b.name].copy() for b in buffers if b.kind == "state"}
    results = executable(inputs, list(states.values()))
    outputs = [b.name for b in buffers if b.kind == "output"]
    return {**dict(zip(outputs, results, strict=True)), **states}


@QUIET
@given(programs())
def test_executables(case):
    wanted = run(case.program, case.arrays)
    case.agree(executed(case), wanted)
    case.agree(executed(case, threads=2), wanted)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("kind", KERNELS)
def test_kinds_of_kernels(kind, vector_bytes):
    """Nothing beyond a buffer's end is touched, whatever vectors there are."""
    for seed in range(6):
        case = random_case(seed, (kind,), control=(), most=1)
        machine = Machine(case.program, vector_bytes, {"talweg_gemm_float32": gemm})
        wanted = run(case.program, case.arrays)
        for threads in (1, 3):
            case.agree(machine.run(case.arrays, threads), wanted)


@pytest.mark.parametrize("kind", KERNELS)
def test_loops_in_pieces(kind, monkeypatch):
    """Whoever is free does the next one, here of every loop that is shared."""
    monkeypatch.setattr(kernel, "PIECE_WORK", 1)
    monkeypatch.setattr(kernel, "FEWEST_PIECES", 1)
    for seed in range(3):
        case = random_case(seed, (kind,), control=(), most=2)
        machine = Machine(case.program, 32, {"talweg_gemm_float32": gemm})
        wanted = run(case.program, case.arrays)
        for threads in (1, 3):
            case.agree(machine.run(case.arrays, threads), wanted)
        for _ in range(3):
            case.agree(executed(case, threads=3), wanted)


@QUIET
@given(programs(most=6))
def test_temporaries_share_memory(case):
    """Where memory is planned, what NumPy computes in it stays the same."""
    wanted = run(case.program, case.arrays)
    buffer_assignment.plan(case.program)
    case.agree(run(case.program, case.arrays), wanted)


def test_routines_are_called():
    case = random_case(1, ("gemm",), control=(), most=1)
    calls = [
        s
        for k in kernels_of(case.program.blocks)
        for s in all_statements(k.body)
        if type(s) is Call
    ]
    assert calls
    case.agree(executed(case, native=False), run(case.program, case.arrays))


def test_cases_are_not_all_alike():
    """The generator reaches what it is meant to: most results are numbers, and differ."""
    found = [run(case.program, case.arrays) for case in map(random_case, range(20))]
    floats = [a.astype(np.float64) for result in found for a in result.values() if a.size > 4]
    assert np.mean([np.isnan(a).mean() for a in floats]) < 0.2
    assert np.mean([len(np.unique(a)) > 1 for a in floats]) > 0.5
