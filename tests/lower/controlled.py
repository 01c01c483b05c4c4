"""Functions with loops, branches and lists, lowered and run beside the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

import talweg as tf
from talweg.core import settings
from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.execute import interpret
from talweg.execute.compiled import reserve_states
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.buffer_assignment import plan
from talweg.lower.build import Lowered, build
from talweg.lower.ir.loops import If, Repeat
from talweg.lower.ir.printer import parse, to_text
from talweg.lower.ir.verifier import check
from talweg.passes.functionalize import program_of
from talweg.passes.optimize.pipeline import optimize
from talweg.passes.specialize.specializer import specialize


class Case:
    """A function for some arguments: its program, and what that is given."""

    def __init__(self, function: Any, *arguments: Any):
        concrete = tf.function(function).get_concrete_function(*arguments)
        given = [tf.convert_to_tensor(x)._array for x in arguments]
        captured = [v.variable.value() if hasattr(v, "variable") else v for v in concrete._outside]
        self.inputs = given + [value._array for value in captured]
        self.program = program_of(concrete.body)
        variables = [v for v in self.program.starts if hasattr(v, "variable")]
        self.before = {v: np.asarray(v.variable.numpy()) for v in variables}
        states = {v: Aval(array.shape, of_numpy(array.dtype)) for v, array in self.before.items()}
        avals = [Aval(x.shape, of_numpy(x.dtype)) for x in self.inputs]
        self.static = specialize(self.program, avals, states)

    def lowered(self) -> Lowered:
        """The loop program, which keeps all rules and has a text."""
        self.streams = self.static.streams
        with settings.check(True):
            optimize(self.static)
        found = build(self.static)
        plan(found.program)
        check(found.program)
        text = to_text(found.program)
        assert to_text(parse(text)) == text
        return found

    def interpreted(self) -> tuple[list, dict]:
        """Outputs and variables, by the interpreter."""
        state = dict(self.before)
        return interpret.run(self.program, list(self.inputs), state), state


def blocks_of(lowered: Lowered, kind: type) -> list:
    """All blocks of a kind, at any depth."""
    found, pending = [], list(lowered.program.blocks)
    while pending:
        block = pending.pop()
        if type(block) is kind:
            found.append(block)
        if type(block) is Repeat:
            pending += block.body
        elif type(block) is If:
            pending += [inner for body in block.bodies for inner in body]
    return found


def agree(
    function: Any, *arguments: Any, machine: bool = False, tolerance: float = 2e-4
) -> Lowered:
    """Assert that the loop program does what the interpreter does; the loop program."""
    case = Case(function, *arguments)
    lowered = case.lowered()
    wanted, state = case.interpreted()
    inputs = [*case.inputs, *reserve_states(case.streams, {})[0]]
    run = _by_machine if machine else _by_numpy
    outputs, states = run(case, lowered, inputs)
    if lowered.guard:
        assert outputs.pop().all(), to_text(lowered.program)
    for found, expected in zip(outputs, wanted, strict=True):
        _same(found, expected, tolerance, lowered)
    for (variable, _, _), found in zip(lowered.states, states, strict=True):
        _same(found, state[variable], tolerance, lowered)
    return lowered


def _by_numpy(case: Case, lowered: Lowered, inputs: list) -> tuple[list, list]:
    arrays = {buffer.name: np.asarray(x) for buffer, x in zip(lowered.inputs, inputs, strict=True)}
    arrays |= {buffer.name: case.before[v] for v, buffer, _ in lowered.states}
    found = interpreter.run(lowered.program, arrays)
    states = [found.get(buffer.name, arrays[buffer.name]) for _, buffer, _ in lowered.states]
    return [found[buffer.name] for buffer in lowered.outputs], states


def _by_machine(case: Case, lowered: Lowered, inputs: list) -> tuple[list, list]:
    from talweg.execute.llvm.runtime.executable import Executable

    states = [np.array(case.before[v]) for v, _, _ in lowered.states]
    read = [x for x, (_, _, written) in zip(states, lowered.states) if not written]
    written = [x for x, (_, _, written) in zip(states, lowered.states) if written]
    executable = Executable(lowered.program, threads=2)
    return executable([*map(np.asarray, inputs), *read], written), states


def _same(found: Any, expected: Any, tolerance: float, lowered: Lowered) -> None:
    expected = np.asarray(expected)
    found = np.asarray(found).reshape(expected.shape)
    assert found.dtype == expected.dtype
    text = to_text(lowered.program)
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, tolerance, tolerance, err_msg=text)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=text)


def gradient(function: Any) -> Any:
    """The function of the gradients of a function's results, of their sines."""

    def derived(*arguments: Any) -> list:
        arguments = tuple([tf.convert_to_tensor(x) for x in arguments])
        wanted = [x for x in arguments if x.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(wanted)
            results = [y for y in tf.nest.flatten(function(*arguments)) if y.dtype.is_floating]
            total = tf.add_n([tf.reduce_sum(tf.sin(y + 0.3)) for y in results])
        return [g for g in tape.gradient(total, wanted) if g is not None]

    return derived
