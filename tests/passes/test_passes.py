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
from tests.lower.straight_numpy import evaluated


@given(made=programs())
@settings(max_examples=60)
def test_each_pass_keeps_the_meaning(made):
    straight = made.straight
    check(straight)
    for name, run in PASSES.items():
        run(straight)
        check(straight, name)
        results, states, fine = evaluated(straight, made.inputs, made.before)
        assert fine != made.refused
        if made.refused:
            continue
        wanted = [*made.outputs, *made.after]
        for found, array in zip([*results, *states], wanted, strict=True):
            assert found.shape == array.shape and found.dtype == array.dtype, name
            np.testing.assert_allclose(found, array, 1e-9, 1e-9, err_msg=f"{name}\n{made!r}")


def program():
    """tanh(x) + y, and y becomes it."""
    straight = StaticProgram()
    x, y = Value((3,), float32), Value((3,), float32)
    straight.inputs = [x]
    tanh = straight.apply(later("tanh"), [x], {})
    total = straight.apply(later("add"), [tanh, y], {})
    straight.outputs, straight.states = [total], [("y", y, total)]
    return straight


def in_another_order(straight):
    straight.equations.reverse()


def without_an_equation(straight):
    del straight.equations[0]


def twice(straight):
    straight.equations.append(straight.equations[0])


def of_another_shape(straight):
    straight.equations[0].outputs[0].dims = (4,)


def of_another_dtype(straight):
    straight.equations[1].outputs[0].dtype = float64


def with_a_lost_result(straight):
    straight.outputs.append(Value((3,), float32))


def with_a_lost_guard(straight):
    straight.guards.append(Value((3,), int32))


def with_a_variable_of_another_shape(straight):
    ((variable, before, _),) = straight.states
    short = straight.apply(later("reduce_sum"), [before], {"axes": (0,), "keepdims": False})
    straight.states = [(variable, before, short)]


def with_another_maker(straight):
    straight.equations[0].outputs[0].maker = straight.equations[1]


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
    straight = program()
    check(straight)
    break_it(straight)
    with pytest.raises(InternalError, match="after simplify: "):
        check(straight, "simplify")
