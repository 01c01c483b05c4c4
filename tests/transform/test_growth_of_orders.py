"""Derivatives of every order take operations in proportion to the length of the function.

The factor is that of reverse mode applied again and again, 3.5 an order for the function here.
What grows faster is what sums of cotangents, or histories taken twice, would make.
"""

import pytest

import talweg as tf
from talweg.passes.functionalize import bodies_of, program_of


def chain(length):
    def function(x):
        for _ in range(length):
            x = tf.tanh(x * x) + tf.sin(x)
        return x

    return function


def repeated(length):
    step = chain(length)

    def function(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, step(y)), (0, x))[1]

    return function


def derivative(function, order, batch):
    for _ in range(order):

        def next_one(x, function=function):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            return tape.batch_jacobian(y, x) if batch else tape.gradient(y, x)

        function = next_one
    return function


def steps_of(function):
    """The steps of a function's program, those of its bodies with it."""
    concrete = tf.function(function).get_concrete_function(tf.TensorSpec([4, 3]))
    pending, seen, count = [concrete._only_program()], set(), 0
    while pending:
        program = pending.pop()
        if id(program) in seen:
            continue
        seen.add(id(program))
        count += len(program.steps)
        for step in program.steps:
            if step.kind == "body":
                pending += map(program_of, bodies_of(step.node))
    return count


@pytest.mark.parametrize("batch", [False, True], ids=["gradient", "batch_jacobian"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("make", [chain, repeated])
def test_operations_grow_with_the_length_alone(make, order, batch):
    short, middle, long = [steps_of(derivative(make(n), order, batch)) for n in (3, 6, 12)]
    assert long - middle <= 2.2 * (middle - short)


@pytest.mark.parametrize("make, least", [(chain, 4), (repeated, 6)])
def test_an_order_more_costs_a_factor(make, least):
    first, second, third = [steps_of(derivative(make(8), order, False)) for order in (1, 2, 3)]
    assert second <= least * first
    assert third <= least * second
