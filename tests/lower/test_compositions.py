"""Random programs of several primitives: lowered, checked and run, against the NumPy kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from talweg.core.settings import check as checked
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.build import build
from talweg.lower.ir.printer import to_text
from talweg.lower.ir.verifier import check
from talweg.passes.optimize.pipeline import optimize
from tests.lower.compositions import Composition, programs

TOLERANCE = 1e-9


def by_numpy(made: Composition, lowered) -> tuple[list, list]:
    arrays = {buffer.name: array for buffer, array in zip(lowered.inputs, made.inputs)}
    for (_, buffer, _), array in zip(lowered.states, made.before):
        arrays[buffer.name] = array
    found = interpreter.run(lowered.program, arrays)
    outputs = [found[buffer.name].reshape(buffer.shape) for buffer in lowered.outputs]
    states = [
        found.get(buffer.name, arrays[buffer.name]).reshape(buffer.shape)
        for _, buffer, _ in lowered.states
    ]
    return outputs, states


def by_machine(made: Composition, lowered) -> tuple[list, list]:
    from talweg.execute.llvm.runtime.executable import Executable

    written = [number for number, (_, _, written) in enumerate(lowered.states) if written]
    read = [number for number, (_, _, written) in enumerate(lowered.states) if not written]
    states = [np.array(array) for array in made.before]
    inputs = [*made.inputs, *[states[number] for number in read]]
    executable = Executable(lowered.program, threads=1)
    outputs = executable(inputs, [states[number] for number in written])
    return outputs, states


def agree(made: Composition, run) -> None:
    with checked(True):
        optimize(made.static)
    lowered = build(made.static)
    check(lowered.program)
    outputs, states = run(made, lowered)
    text = f"{made!r}\n{to_text(lowered.program)}"
    fine = outputs.pop() if lowered.guard else True
    assert fine != made.refused, text
    if made.refused:
        for found, wanted in zip(states, made.before, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=text)
        return
    for found, wanted in zip([*outputs, *states], [*made.outputs, *made.after], strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype, text
        np.testing.assert_allclose(found, wanted, TOLERANCE, TOLERANCE, err_msg=text)


@given(made=programs())
@settings(max_examples=60)
def test_compositions_by_numpy(made):
    agree(made, by_numpy)


@given(made=programs())
@settings(max_examples=30)
def test_compositions_by_machine(made):
    agree(made, by_machine)
