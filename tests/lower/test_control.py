"""Loops, branches and lists in the compiled program, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings as talweg_settings
from talweg.core.dtypes import float32, int32
from talweg.core.primitive import later
from talweg.lower.ir.loops import Call, Host, If, Kernel, Repeat
from talweg.lower.ir.visitors import all_statements
from talweg.passes.specialize import specializer
from talweg.passes.specialize.program import SpecializationError, StaticProgram, Value, constant
from talweg.passes.specialize.trip_counts import count_trips
from tests.lower.controlled import Case, agree, blocks_of, gradient

R = np.random.default_rng(1)
X = R.normal(size=(6, 4)).astype("f")
W = (R.normal(size=(4, 4)) / 2).astype("f")
N = np.int32(5)


def plain(x):
    return tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * x + 1.0), (0, x))


def swapped(x):
    return tf.while_loop(lambda i, a, b: i < 5, lambda i, a, b: (i + 1, b, a), (0, x, x * 2))


def crossed(x):
    def body(i, a, b):
        return i + 1, b, a + 0.5 * b

    return tf.while_loop(lambda i, a, b: i < 5, body, (0, x, x * 2))


def transposed(x):
    body = lambda i, a: (i + 1, tf.transpose(a) + a * 0.5)  # noqa: E731
    return tf.while_loop(lambda i, a: i < 5, body, (0, x[:4]))


def recurrent(x, w):
    read = tf.TensorArray(tf.float32, 6).unstack(x)
    written = tf.TensorArray(tf.float32, 6)

    def body(t, h, written):
        h = tf.tanh(h @ w + read.read(t)[None])
        return t + 1, h, written.write(t, h[0])

    start = (tf.constant(0), tf.zeros([1, 4]), written)
    return tf.while_loop(lambda t, *_: t < 6, body, start)[2].stack()


def lstm(x, w):
    kernel = tf.concat([w, w * 0.3, w * 0.7, w * 0.2], 1)

    def body(t, h, c, out):
        gates = h @ kernel + x[t][None] @ (kernel + 0.1)
        i, f, o, z = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(z)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, out.write(t, h)

    zeros, out = tf.zeros([1, 4]), tf.TensorArray(tf.float32, 6)
    return tf.while_loop(lambda t, *_: t < 6, body, (0, zeros, zeros, out))[3].stack()


def nested(x, w):
    def body(i, h):
        inner = lambda j, h: (j + 1, tf.tanh(h @ w))  # noqa: E731
        return i + 1, tf.while_loop(lambda j, h: j < 4, inner, (0, h))[1] + x

    return tf.while_loop(lambda i, h: i < 5, body, (0, x))[1]


def nested_of_other_lengths(x, w):
    def body(i, h):
        inner = lambda j, h: (j + 1, tf.tanh(h @ w))  # noqa: E731
        return i + 1, tf.while_loop(lambda j, h: j < i, inner, (0, h))[1] + x

    return tf.while_loop(lambda i, h: i < 4, body, (0, x))[1]


def nested_lists(x, w):
    rows = tf.TensorArray(tf.float32, 3)
    for i in tf.range(3):
        state, row = tf.zeros([4]), tf.TensorArray(tf.float32, 6)
        for j in tf.range(6):
            state = tf.tanh(tf.linalg.matvec(w, state) + x[j])
            row = row.write(j, state)
        rows = rows.write(i, row.stack())
    return rows.stack()


def small_branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: tf.sin(x))


def large_branch(x, w):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x @ w, lambda: tf.sin(x))


def switch(x, n):
    functions = [
        lambda: x * 2,
        lambda: tf.sin(x) @ tf.ones([4, 4]),
        lambda: x + 1.0,
        lambda: tf.reduce_sum(x, 1, keepdims=True) * x,
    ]
    return tf.switch_case(n % 4, functions)


def loop_in_branch(x, w):
    inner = lambda i, h: (i + 1, tf.tanh(h @ w + x))  # noqa: E731
    run = lambda: tf.while_loop(lambda i, h: i < 5, inner, (0, x))[1]  # noqa: E731
    return tf.cond(tf.reduce_sum(x) > 0, run, lambda: tf.sin(x))


def branch_in_loop(x, w):
    def body(i, h):
        return i + 1, tf.cond(i % 2 == 0, lambda: tf.tanh(h @ w), lambda: h * 0.5 + x)

    return tf.while_loop(lambda i, h: i < 7, body, (0, x))[1]


def branch_by_data_in_loop(x, w):
    def body(i, h):
        positive = tf.reduce_sum(h) > 0
        return i + 1, tf.cond(positive, lambda: tf.tanh(h @ w), lambda: h * 0.5 + x)

    return tf.while_loop(lambda i, h: i < 7, body, (0, x))[1]


def scanned(x, w):
    step = lambda a, b: tf.tanh(tf.linalg.matvec(w, a) + b)  # noqa: E731
    return tf.scan(step, x, tf.zeros([4]))


def mapped(x, w):
    return tf.map_fn(lambda a: tf.linalg.matvec(w, a) + tf.sin(a), x)


def folded(x):
    return tf.foldl(lambda a, b: a * b + 1.0, x), tf.foldr(lambda a, b: a * 0.5 + b, x)


def over_rows(x):
    total = tf.zeros([4])
    for row in x:
        total = tf.sin(total + row)
    return total


def broken_off(x):
    total = tf.zeros([4])
    for i in tf.range(6):
        total = tf.sin(total + x[i])
        if tf.reduce_sum(total) > 1.0:
            break
    return total


def going_on(x):
    total = tf.zeros([4])
    for i in tf.range(6):
        if i % 2 == 0:
            continue
        total = total + x[i]
    return total


def while_large(x):
    total, i = tf.constant(0.0), tf.constant(0)
    while total < 2.0:
        total += tf.reduce_sum(tf.abs(x[i % 6]))
        i += 1
    return total, i


def given_length(x, n):
    total = tf.zeros([4])
    for i in tf.range(n):
        total = tf.sin(total + x[i])
    return total


def at_most(x):
    body = lambda a: (tf.abs(a) * 1.5,)  # noqa: E731
    going = lambda a: tf.reduce_sum(a) < 100.0  # noqa: E731
    return tf.while_loop(going, body, (x,), maximum_iterations=30)


def growing_list(x):
    values = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in tf.range(6):
        values = values.write(i, x[i] * 2.0)
    return values.stack()


def read_back(x):
    values = tf.TensorArray(tf.float32, 7, clear_after_read=False).write(0, x[0])
    for i in tf.range(6):
        values = values.write(i + 1, values.read(i) * 0.5 + x[i])
    return values.stack()


def written_sometimes(x):
    values = tf.TensorArray(tf.float32, 6, element_shape=[4])
    for i in tf.range(6):
        if tf.reduce_sum(x[i]) > 0:
            values = values.write(i, x[i])
    return values.stack()


def no_trip(x):
    return tf.while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * x + 1.0), (0, x))


def one_trip(x):
    return tf.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, a * x + 1.0), (0, x))


def integers(x):
    body = lambda i, j, k: (i + 3, j + i, k * 3 % 17)  # noqa: E731
    return tf.while_loop(lambda i, j, k: i < 40, body, (0, 1, 2))


def sliced(x):
    total = tf.zeros([2, 4])
    for i in tf.range(4):
        total = tf.sin(total + x[i : i + 2]) + tf.slice(x, [i, 0], [2, 4])
    return total


def from_the_end(x):
    total = tf.zeros([6])
    for i in tf.range(1, 4):
        total = total * 0.5 + x[:, i] - x[-i, 0]
    return total


def gathered(x):
    places, total = tf.constant([3, 1, 5, 0, 2, 4]), tf.zeros([4])
    for i in tf.range(6):
        total = total * 0.5 + tf.gather(x, places[i])
    return total


def scattered(x):
    total = tf.zeros([6, 4])
    for i in tf.range(6):
        total = tf.tensor_scatter_nd_add(total, [[5 - i]], [x[i]])
    return total


@tf.custom_gradient
def clipped(x):
    return tf.sin(x), lambda g: tf.clip_by_value(g, -0.1, 0.1)


def custom(x):
    total = tf.zeros([4])
    for i in tf.range(6):
        total = clipped(total + x[i])
    return total


def descent(x):
    place = tf.zeros([4])
    for _ in tf.range(5):
        with tf.GradientTape() as tape:
            tape.watch(place)
            loss = tf.reduce_sum((tf.linalg.matvec(x, place) - 1.0) ** 2)
        place = place - 0.05 * tape.gradient(loss, place)
    return place


def random(x):
    total = tf.zeros([4])
    for i in tf.range(3):
        for j in tf.range(4):
            total = total * 0.5 + x[j] * tf.random.normal([4], seed=5)
        total = total + x[i] * tf.random.uniform([], seed=4)
    return total


FUNCTIONS = [
    (plain, X),
    (swapped, X),
    (crossed, X),
    (transposed, X),
    (recurrent, X, W),
    (lstm, X, W),
    (nested, X, W),
    (nested_of_other_lengths, X, W),
    (nested_lists, X, W),
    (small_branch, X),
    (large_branch, X, W),
    (large_branch, -X, W),
    (switch, X, N),
    (loop_in_branch, X, W),
    (loop_in_branch, -X, W),
    (branch_in_loop, X, W),
    (branch_by_data_in_loop, X, W),
    (scanned, X, W),
    (mapped, X, W),
    (folded, X),
    (over_rows, X),
    (broken_off, X),
    (going_on, X),
    (while_large, X),
    (given_length, X, N),
    (at_most, X),
    (growing_list, X),
    (read_back, X),
    (written_sometimes, X),
    (no_trip, X),
    (one_trip, X),
    (integers, X),
    (sliced, X),
    (from_the_end, X),
    (gathered, X),
    (scattered, X),
    (custom, X),
    (descent, X),
    (random, X),
]
WITHOUT_GRADIENT = (integers,)
TWICE = (
    recurrent,
    nested,
    nested_of_other_lengths,
    loop_in_branch,
    branch_by_data_in_loop,
    broken_off,
    given_length,
    read_back,
    at_most,
)


@pytest.mark.parametrize("function, arguments", [(f, a) for f, *a in FUNCTIONS])
def test_functions(function, arguments):
    agree(function, *arguments)


@pytest.mark.parametrize(
    "function, arguments",
    [(f, a) for f, *a in FUNCTIONS if f not in WITHOUT_GRADIENT],
)
def test_gradients(function, arguments):
    agree(gradient(function), *arguments)


@pytest.mark.parametrize("function, arguments", [(f, a) for f, *a in FUNCTIONS if f in TWICE])
def test_gradients_of_gradients(function, arguments):
    agree(gradient(gradient(function)), *arguments)


@pytest.mark.parametrize("function", [recurrent, nested, branch_by_data_in_loop])
def test_machine_code(function):
    agree(gradient(function), X, W, machine=True)


def test_machine_code_of_lists_and_lengths():
    def everything(x, n):
        return [broken_off(x), given_length(x, n), at_most(x), random(x), sliced(x), switch(x, n)]

    agree(everything, X, N, machine=True)


# -- variables


VARIABLE = tf.Variable(np.ones((6, 4), "f"))


def changing(x):
    for _ in tf.range(5):
        VARIABLE.assign(VARIABLE * 0.9 + x)
    return tf.reduce_sum(VARIABLE)


def training(x):
    for _ in tf.range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((VARIABLE * x - 1.0) ** 2)
        VARIABLE.assign_sub(0.1 * tape.gradient(loss, VARIABLE))
    return tf.reduce_sum(VARIABLE)


def changed_in_one_branch(x):
    if tf.reduce_sum(x) > 0:
        VARIABLE.assign(x @ tf.ones([4, 4]))
    return VARIABLE + 1.0


@pytest.mark.parametrize("function", [changing, training, changed_in_one_branch])
def test_variables(function):
    agree(function, X)
    agree(function, -X)


# -- random bodies


OPERATIONS = (
    "add",
    "mul",
    "tanh",
    "product",
    "swap",
    "transpose",
    "branch",
    "parity",
    "read",
    "write",
    "slice",
    "keep",
    "inner",
    "total",
)


def body_of(steps: list, trips: int):
    """A function of a loop whose body does these steps, each (operation, variable, variable)."""

    def run(x, w):
        values = tf.TensorArray(tf.float32, trips)
        values = values.unstack(tf.tile(x[:1], [trips, 1]))
        start = [x[0], x[1] * 0.5, x[2] + 0.1, tf.zeros([4, 4])]

        def body(i, own, values):
            own = list(own)
            for operation, place, other in steps:
                a, b = own[place], own[other]
                if operation == "add":
                    own[place] = a * 0.7 + b
                elif operation == "mul":
                    own[place] = a * tf.sin(b)
                elif operation == "tanh":
                    own[place] = tf.tanh(a + x[i % 6])
                elif operation == "product":
                    own[place] = tf.linalg.matvec(w, b) * 0.5
                elif operation == "swap":
                    own[place], own[other] = b, a
                elif operation == "transpose":
                    own[3] = tf.transpose(own[3]) * 0.5 + a
                elif operation == "branch":
                    large = tf.reduce_sum(a) > 0.3
                    own[place] = tf.cond(large, lambda a=a: tf.linalg.matvec(w, a), lambda b=b: b)
                elif operation == "parity":
                    own[place] = tf.where(i % 2 == 0, a, b * 0.5)
                elif operation == "read":
                    own[place] = a * 0.5 + values.read(trips - 1 - i)
                elif operation == "write":
                    values = values.write(i, a)
                elif operation == "slice":
                    own[3] = own[3] * 0.5 + x[i % 3 : i % 3 + 4]
                elif operation == "keep":
                    own[place] = own[3][place] + a
                elif operation == "inner":
                    step = lambda j, y, b=b: (j + 1, tf.tanh(y + b))  # noqa: E731
                    own[place] = tf.while_loop(lambda j, y: j < 3, step, (0, a))[1]
                else:
                    own[place] = a * 0.5 + tf.reduce_sum(b)
            return i + 1, own, values

        _, own, values = tf.while_loop(lambda i, *_: i < trips, body, (0, start, values))
        return *own, values.stack()

    return run


STEPS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=5,
)


@given(steps=STEPS, trips=st.sampled_from([3, 4, 7]))
@settings(max_examples=25, deadline=None)
def test_random_bodies(steps, trips):
    agree(body_of(steps, trips), X, W)


@given(steps=STEPS, trips=st.sampled_from([3, 5]))
@settings(max_examples=12, deadline=None)
def test_gradients_of_random_bodies(steps, trips):
    agree(gradient(body_of(steps, trips)), X, W)


# -- what becomes of loops


def test_recurrent_network_is_two_loops_and_few_products():
    """Products of inputs go before the loop, gradients of weights and inputs behind it."""
    lowered = agree(gradient(lstm), X, W)
    loops = blocks_of(lowered, Repeat)
    assert [loop.axis.extent for loop in loops] == [6, 6]
    for loop in loops:
        kernels = [block for block in loop.body if type(block) is Kernel]
        assert len(kernels) == len(loop.body) <= 5
        statements = [s for kernel in kernels for s in all_statements(kernel.body)]
        assert sum(type(statement) is Call for statement in statements) <= 1
    assert not blocks_of(lowered, Host)


def test_small_branches_are_selected():
    assert not blocks_of(agree(small_branch, X), If)
    assert blocks_of(agree(large_branch, X, W), If)


def test_number_that_is_known_chooses_beforehand():
    lowered = agree(lambda x: switch(x, tf.constant(1)), X)
    assert not blocks_of(lowered, If)


def test_shapes_that_change_are_written_out():
    def function(x):
        total = tf.zeros([4])
        for i in tf.range(1, 5):
            total += tf.reduce_sum(x[:i], 0)
        return total

    assert not blocks_of(agree(function, X), Repeat)
    agree(gradient(function), X)


def test_reasons_to_leave_it_to_the_interpreter(monkeypatch):
    monkeypatch.setattr(specializer, "ATTEMPTS", 0)

    def growing(x):
        body = lambda a: (tf.concat([a, a], 0),)  # noqa: E731
        shapes = (tf.TensorShape([None, 4]),)
        return tf.while_loop(lambda a: tf.reduce_sum(a) < 1e3, body, (x,), shapes)

    with pytest.raises(SpecializationError, match="shape of a loop variable"):
        Case(growing, np.abs(X))


def test_failures_are_told_by_the_interpreter():
    with talweg_settings.executor("llvm"):
        function = tf.function(given_length)
        np.testing.assert_allclose(function(X, np.int32(6)), given_length(X, 6), 1e-4, 1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 6"):
            function(X, np.int32(7))


# -- how often


def count(start, step, test, limit):
    static = StaticProgram()
    before = Value((), int32)
    after = static.apply(later("add"), [before, constant(np.int32(step))], {})
    going = static.apply(later(test), [before, constant(np.int32(limit))], {})
    found = count_trips(going, {before: after}, {before: np.int32(start)})
    return None if found is None else (found.trips, found.exact)


@pytest.mark.parametrize(
    "loop, trips",
    [
        ((0, 1, "less", 10), 10),
        ((0, 3, "less", 10), 4),
        ((10, -1, "greater", 0), 10),
        ((0, 1, "less", 0), 0),
        ((0, 7, "less", 1_000_000), 142_858),
        ((1, 2, "not_equal", 301), 150),
        ((2**31 - 3, 1, "greater", 0), 3),
    ],
)
def test_trips(loop, trips):
    assert count(*loop) == (trips, True)


def test_trips_that_do_not_end():
    assert count(0, 0, "less", 10) is None
    assert count(0, 2, "not_equal", 301) is None


def test_trips_bounded_by_one_of_two_conditions():
    static = StaticProgram()
    before, other = Value((), int32), Value((), float32)
    after = static.apply(later("add"), [before, constant(np.int32(1))], {})
    small = static.apply(later("less"), [other, constant(np.float32(1))], {})
    few = static.apply(later("less"), [before, constant(np.int32(8))], {})
    going = static.apply(later("logical_and"), [small, few], {})
    found = count_trips(going, {before: after}, {before: np.int32(0)})
    assert found is not None and (found.trips, found.exact) == (8, False)


def test_complex_variables_change_places():
    def function(x):
        a, b = tf.complex(x, x), tf.complex(x, -x)
        for _ in tf.range(5):
            a, b = b, a + 0.5 * b
        return tf.math.real(a) + tf.math.imag(b)

    agree(function, X)
    agree(gradient(function), X)


@pytest.mark.parametrize("shape", [(), (4,), (3, 4)], ids=str)
def test_a_sum_that_is_a_row_and_goes_on_as_well(shape):
    """What a trip reduces is put into a stack and into the variable of the next trip."""

    def collected(x):
        rows = tf.TensorArray(tf.float32, 3, element_shape=shape)

        def step(i, x, rows):
            wide = tf.stack([tf.sin(x), x * 0.5, tf.cos(x)])
            x = tf.reduce_sum(wide, axis=0)
            return i + 1, x, rows.write(i, x)

        _, x, rows = tf.while_loop(lambda i, *_: i < 3, step, (0, x, rows))
        return x, rows.stack()

    x = tf.constant(np.random.default_rng(0).uniform(-1, 1, shape), tf.float32)
    wanted = collected(x)
    with talweg_settings.executor("llvm"):
        found = tf.function(collected)(x)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_what_the_body_would_do_after_the_last_trip_is_not_asked():
    """The number of trips is computed beforehand, with the body's own kernels."""

    def walked(x):
        table = tf.constant([1, 2, 3, 4])
        step = lambda i, x: (tf.gather(table, i), x * 1.5)  # noqa: E731
        return tf.while_loop(lambda i, x: i < 4, step, (0, x))

    agree(walked, X)
