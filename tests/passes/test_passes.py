"""Each pass keeps what a program means, and the rules of static programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from talweg.core.dtypes import float32, float64, int32
from talweg.core.errors import InternalError
from talweg.core.primitive import later
from talweg.passes.optimize.pipeline import PASSES
from talweg.passes.optimize.verifier import check
from talweg.passes.specialize.program import StaticProgram, Value
from tests.lower.compositions import programs
from tests.lower.static_numpy import evaluated


@given(made=programs())
@settings(max_examples=60)
def test_each_pass_keeps_the_meaning(made):
    static = made.static
    check(static)
    for name, run in PASSES.items():
        run(static)
        check(static, name)
        results, states, fine = evaluated(static, made.inputs, made.before)
        assert fine != made.refused
        if made.refused:
            continue
        wanted = [*made.outputs, *made.after]
        for found, array in zip([*results, *states], wanted, strict=True):
            assert found.shape == array.shape and found.dtype == array.dtype, name
            np.testing.assert_allclose(found, array, 1e-9, 1e-9, err_msg=f"{name}\n{made!r}")


def program():
    """tanh(x) + y, and y becomes it."""
    static = StaticProgram()
    x, y = Value((3,), float32), Value((3,), float32)
    static.inputs = [x]
    tanh = static.apply(later("tanh"), [x], {})
    total = static.apply(later("add"), [tanh, y], {})
    static.outputs, static.states = [total], [("y", y, total)]
    return static


def in_another_order(static):
    static.equations.reverse()


def without_an_equation(static):
    del static.equations[0]


def twice(static):
    static.equations.append(static.equations[0])


def of_another_shape(static):
    static.equations[0].outputs[0].dims = (4,)


def of_another_dtype(static):
    static.equations[1].outputs[0].dtype = float64


def with_a_lost_result(static):
    static.outputs.append(Value((3,), float32))


def with_a_lost_guard(static):
    static.guards.append(Value((3,), int32))


def with_a_variable_of_another_shape(static):
    ((variable, before, _),) = static.states
    short = static.apply(later("reduce_sum"), [before], {"axes": (0,), "keepdims": False})
    static.states = [(variable, before, short)]


def with_another_maker(static):
    static.equations[0].outputs[0].maker = static.equations[1]


BREAKS = [
    in_another_order,
    without_an_equation,
    twice,
    of_another_shape,
    of_another_dtype,
    with_a_lost_result,
    with_a_lost_guard,
    with_a_variable_of_another_shape,
    with_another_maker,
]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda function: function.__name__)
def test_a_broken_program_is_refused(break_it):
    static = program()
    check(static)
    break_it(static)
    with pytest.raises(InternalError, match="after simplify: "):
        check(static, "simplify")
