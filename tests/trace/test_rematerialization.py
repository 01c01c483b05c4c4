"""What a function keeps under a tape, and what its reverse computes again: the same derivatives.

Gradients under a tape outside of a function are compared with those of a tape inside of it, which
keep everything, and with numeric ones.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings
from talweg.passes.optimize import strip_mining
from talweg.trace import call_rules, rematerialization

RANDOM = np.random.default_rng(0)
SMALL = {"large": 1, "again": 1, "matrix": 1, "ratio": 0, "block": 200, "fewest": 5}


@pytest.fixture(autouse=True)
def small(monkeypatch, request):
    """Few bytes count as many, but in tests of how much memory is needed."""
    if "memory" in request.node.name:
        yield
        return
    for name in ("least", "unit"):
        monkeypatch.setattr(rematerialization.limits, name, 1)
    with settings.cache("off"), settings.check(True):
        for name, value in SMALL.items():
            monkeypatch.setattr(strip_mining.limits, name, value)
        yield


def numbers(*dims, dtype="float64"):
    return tf.constant(RANDOM.standard_normal(dims).astype(dtype))


def weighed(y):
    return tf.reduce_sum(y * tf.sin(y + 0.3))


def outside(function, arguments, variables=()):
    """Derivatives under a tape outside of the function."""
    traced = tf.function(function)
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        loss = weighed(traced(*arguments))
    return tape.gradient(loss, [*arguments, *variables])


def keeping_all(function, arguments):
    """Derivatives under a tape outside of the function, which keeps all that rules use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rematerialization.limits, "least", 1 << 60)
        return outside(function, arguments)


def inside(function, arguments, variables=()):
    """Derivatives under a tape in the function."""

    @tf.function
    def derived(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            loss = weighed(function(*arguments))
        return tape.gradient(loss, [*arguments, *variables])

    return derived(*arguments)


def equal(found, wanted, tolerance=0.0):
    for x, y in zip(found, wanted, strict=True):
        assert (x is None) == (y is None)
        if x is None:
            continue
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and x.dtype == y.dtype
        largest = np.abs(y).max(initial=0.0)
        np.testing.assert_allclose(x, y, tolerance, tolerance * largest)


def residuals(function, *arguments):
    """The values that a call under a tape keeps."""
    reverse = call_rules.usual_reverse(tf.function(function).get_concrete_function(*arguments).body)
    assert reverse is not None
    return reverse.inner


def kept_bytes(function, *arguments):
    return sum(map(rematerialization.bytes_of, residuals(function, *arguments)))


# -- generated programs

UNARY = {
    "exp": lambda x: tf.exp(-x * x),
    "tanh": tf.tanh,
    "relu": lambda x: tf.nn.relu(x + 0.1),
    "softmax": tf.nn.softmax,
    "centred": lambda x: x - tf.reduce_mean(x, -1, keepdims=True),
    "largest": lambda x: tf.exp(x - tf.reduce_max(x, -1, keepdims=True)),
    "norm": lambda x: x * tf.math.rsqrt(tf.reduce_sum(x * x, 0, keepdims=True) + 1.0),
    "turned": tf.transpose,
    "chosen": lambda x: tf.where(x > 0.0, tf.sin(x), x * x),
    "masked": lambda x: tf.where(
        tf.range(4)[:, None] >= tf.range(4), x, tf.constant(-1.0, x.dtype)
    ),
    "branch": lambda x: tf.cond(x[0, 0] > 0.0, lambda: tf.sin(x), lambda: x * x),
    "halved": lambda x: tf.cast(tf.cast(x, tf.float32), x.dtype),
    "rows": lambda x: tf.concat([x[1:], x[:1] * x[1:2]], 0),
}
BINARY = {
    "+": tf.add,
    "*": tf.multiply,
    "@": lambda x, y: 0.3 * tf.matmul(x, y),
    "-": tf.subtract,
    "max": tf.maximum,
    "stop": lambda x, y: tf.stop_gradient(x) * y,
}


@st.composite
def programs(draw):
    """Statements (name, operands) over registers, the first three of which are arguments."""
    statements = []
    for number in range(draw(st.integers(1, 10))):
        register = st.integers(0, number + 2)
        if draw(st.booleans()):
            statements.append((draw(st.sampled_from(sorted(UNARY))), draw(register)))
        else:
            statements.append(
                (draw(st.sampled_from(sorted(BINARY))), draw(register), draw(register))
            )
    return statements


def function_of(statements):
    def function(*arguments):
        registers = list(arguments)
        for name, *operands in statements:
            rule = UNARY.get(name) or BINARY[name]
            registers.append(rule(*[registers[x] for x in operands]))
        return registers[-1] + 0.5 * registers[len(registers) // 2]

    return function


def arguments_of(statements):
    random = np.random.default_rng(len(statements))
    return [tf.constant(random.standard_normal((4, 4)) * 0.5) for _ in range(3)]


@given(programs())
@examples(max_examples=80)
def test_generated_programs(statements):
    function, arguments = function_of(statements), arguments_of(statements)
    with settings.executor("interpret"):
        found = outside(function, arguments)
        equal(found, keeping_all(function, arguments))
        equal(found, inside(function, arguments), 1e-12)


@given(programs())
@examples(max_examples=25)
def test_generated_programs_compiled(statements):
    function, arguments = function_of(statements), arguments_of(statements)
    with settings.executor("llvm"):
        equal(outside(function, arguments), inside(function, arguments), 1e-11)


@given(programs())
@examples(max_examples=25)
def test_numeric_derivatives(statements):
    statements = [s for s in statements if s[0] not in ("halved", "stop", "relu", "max", "chosen")]
    statements = [(s[0], *[min(x, n + 2) for x in s[1:]]) for n, s in enumerate(statements)]
    function, arguments = function_of(statements), arguments_of(statements)
    with settings.executor("interpret"):
        found = outside(function, arguments)
        traced = tf.function(function)
        direction = [tf.constant(RANDOM.standard_normal((4, 4))) for _ in arguments]
        step = 1e-5
        ahead, behind = [
            float(weighed(traced(*[x + h * d for x, d in zip(arguments, direction)])))
            for h in (step, -step)
        ]
    along = sum(float(tf.reduce_sum(g * d)) for g, d in zip(found, direction) if g is not None)
    assert math.isclose(along, (ahead - behind) / (2 * step), rel_tol=1e-5, abs_tol=1e-5)


@given(programs())
@examples(max_examples=25)
def test_derivatives_of_higher_order(statements):
    """By a persistent tape that records its own gradient, by two tapes, and as a Jacobian."""
    function, arguments = function_of(statements), arguments_of(statements)
    traced = tf.function(function)

    def second(f, *, own):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(arguments)
            if own:
                first = outer.gradient(weighed(f(*arguments)), arguments[0])
            else:
                with tf.GradientTape() as inner:
                    inner.watch(arguments)
                    loss = weighed(f(*arguments))
                first = inner.gradient(loss, arguments[0])
            target = None if first is None else tf.reduce_sum(first * arguments[1])
        return [None] if target is None else outer.gradient(target, arguments)

    with settings.executor("interpret"):
        wanted = second(function, own=False)
        for own in (False, True):
            found = second(traced, own=own)
            equal(
                [tf.zeros([4, 4], tf.float64) if x is None else x for x in found],
                [tf.zeros([4, 4], tf.float64) if x is None else x for x in wanted],
                1e-9,
            )
        jacobians = []
        for f in (function, traced):
            with tf.GradientTape() as tape:
                tape.watch(arguments)
                y = f(*arguments)[0]
            found = tape.jacobian(y, arguments)
            zero = tf.zeros([4, 4, 4], tf.float64)
            jacobians.append([zero if x is None else x for x in found])
        equal(*jacobians, tolerance=1e-9)


# -- attention


def attention(q, k, v, change=tf.nn.softmax):
    return tf.matmul(change(tf.matmul(q, k, transpose_b=True) * 0.4), v)


def by_hand(x):
    """A softmax whose maximum is differentiated, too."""
    e = tf.exp(x - tf.reduce_max(x, -1, keepdims=True))
    return e / tf.reduce_sum(e, -1, keepdims=True)


def masked(x):
    rows, columns = x.shape[-2:]
    return tf.nn.softmax(tf.where(tf.range(rows)[:, None] >= tf.range(columns), x, -1e9))


def dropped(x):
    return tf.nn.experimental.stateless_dropout(tf.nn.softmax(x), 0.3, seed=[1, 2])


CHANGES = {
    "softmax": tf.nn.softmax,
    "by_hand": by_hand,
    "masked": masked,
    "dropped": dropped,
    "sigmoid": tf.sigmoid,
    "squares": lambda x: x * x,
}


@pytest.mark.parametrize("change", CHANGES)
def test_scores_are_computed_again(change):
    arguments = [numbers(2, 20, 4), numbers(2, 16, 4), numbers(2, 16, 4)]

    def function(q, k, v):
        return attention(q, k, v, CHANGES[change])

    scores = 2 * 20 * 16
    assert all(rematerialization._count(node) < scores for node in residuals(function, *arguments))
    with settings.executor("llvm"):
        equal(outside(function, arguments), inside(function, arguments), 1e-11)


@pytest.mark.parametrize("change", CHANGES)
def test_memory_of_attention(change):
    """Scores of 134 MB are not kept, but what is made of one row of them, or of operands."""
    arguments = [tf.TensorSpec([1, 8, 2048, 64])] * 3
    kept = kept_bytes(lambda q, k, v: attention(q, k, v, CHANGES[change]), *arguments)
    assert kept <= 4 * 8 * 2048 * 64


def test_memory_of_small_scores():
    """Scores that strip mining would store are kept, once."""
    kept = kept_bytes(attention, *[tf.TensorSpec([1, 8, 512, 64])] * 3)
    assert kept == 4 * 8 * 512 * 512


def test_memory_of_elementwise_functions():
    def function(x, w):
        for _ in range(4):
            x = tf.matmul(x, w)
            x = tf.nn.gelu(x, approximate=True) + 0.1 * tf.tanh(x) * tf.cast(x > 0.0, x.dtype)
        return x

    kept = kept_bytes(function, tf.TensorSpec([4096, 256]), tf.TensorSpec([256, 256]))
    assert kept <= 7 * 4 * 4096 * 256  # four products, and three operands of products


def test_scores_that_are_results_are_kept():
    def function(q, k, v):
        p = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        return tf.matmul(p, v), p

    arguments = [numbers(2, 20, 4), numbers(2, 16, 4), numbers(2, 16, 4)]
    assert [node.prim.name for node in residuals(function, *arguments)] == ["softmax"]


def test_operands_are_kept_by_the_tape_alone():
    def function(x):
        return tf.reduce_sum(tf.exp(tf.sin(x) * tf.cos(x)))

    assert not residuals(function, numbers(30, 40))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_what_is_compared_for_equality(dtype):
    """The derivative of a maximum asks which elements are equal to it, in every bit."""

    def function(x):
        y = tf.tanh(x * 1.37) * tf.cast(0.9, x.dtype) + x * x
        return tf.reduce_max(y, -1) + tf.reduce_min(y - x, -1)

    x = tf.cast(numbers(50, 20, dtype="float32"), dtype)
    traced = tf.function(function)
    with settings.executor("llvm"):
        for _ in range(2):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = traced(x)
            gradient = tape.gradient(y, x).numpy()
    for row in gradient.astype("float64"):  # one element has each, unless several are equal
        assert 1 <= np.count_nonzero(row) <= 6


# -- values that change


def test_a_variable_assigned_between_call_and_gradient():
    v = tf.Variable(numbers(5, 6))

    def function(x):
        return tf.exp(tf.sin(x * v) * v)

    x, before = numbers(5, 6), v.numpy()
    wanted = inside(function, [x], [v])
    traced = tf.function(function)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = weighed(traced(x))
    v.assign(v * 3.0 + 1.0)
    equal(tape.gradient(loss, [x, v]), wanted, 1e-12)
    assert not np.array_equal(v.numpy(), before)


def test_a_variable_assigned_in_the_function():
    v = tf.Variable(numbers(5, 6))

    def function(x):
        y = tf.exp(tf.sin(x * v))
        v.assign(tf.cos(y))
        z = tf.sin(y * v) * v
        v.assign_add(x)
        return z * tf.tanh(v)

    x, before = numbers(5, 6), v.numpy()
    wanted = inside(function, [x], [v])
    v.assign(before)
    equal(outside(function, [x], [v]), wanted, 1e-12)


def test_watched_variables_alone():
    v, w = tf.Variable(numbers(5, 6)), tf.Variable(numbers(5, 6))
    traced = tf.function(lambda x: tf.exp(tf.sin(x * v) * tf.tanh(w * v)))
    x = numbers(5, 6)
    found = []
    for f in (traced, traced.python_function):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(w)
            loss = weighed(f(x))
        found.append(tape.gradient(loss, [v, w, x]))
    equal(*found, tolerance=1e-12)
    assert found[0][0] is None and found[0][1] is not None


@pytest.mark.parametrize("how", ["interpret", "llvm"])
@pytest.mark.parametrize("kind", ["stateful", "stateless", "generator"])
def test_dropout(kind, how):
    generator = tf.random.Generator.from_seed(3)

    def function(x):
        x = tf.sin(x)
        if kind == "stateful":
            return tf.nn.dropout(x, 0.4)
        if kind == "stateless":
            return tf.nn.experimental.stateless_dropout(x, 0.4, seed=[3, 4])
        return tf.where(generator.uniform(tf.shape(x), dtype=x.dtype) > 0.4, x / 0.6, 0.0)

    x = numbers(30, 40, dtype="float32")
    traced = tf.function(function)
    with settings.executor(how):
        for _ in range(3):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = traced(x)
            gradient = tape.gradient(y, x).numpy()
            np.testing.assert_array_equal(gradient != 0.0, y.numpy() != 0.0)
            np.testing.assert_allclose(gradient, (y.numpy() != 0.0) * np.cos(x) / 0.6, 1e-5)


# -- what else stands in functions


def test_loops_and_custom_derivatives():
    @tf.custom_gradient
    def cubed(x):
        return x * x * x, lambda g: 2.5 * g * x * x

    def function(x, w):
        x = tf.tanh(tf.matmul(x, w))
        for _ in tf.range(3):
            x = tf.sin(tf.matmul(x, w)) * x
        x = cubed(tf.exp(-x * x))
        return tf.recompute_grad(lambda y: tf.exp(tf.sin(y) * y))(x) * tf.cumsum(x)

    arguments = [numbers(5, 6), numbers(6, 6)]
    for how in ("interpret", "llvm"):
        with settings.executor(how):
            equal(outside(function, arguments), inside(function, arguments), 1e-11)


def test_a_persistent_tape():
    traced = tf.function(lambda x, y: (tf.exp(tf.sin(x) * y), tf.cos(tf.sin(x) * x)))
    x, y = numbers(5, 6), numbers(5, 6)
    found = []
    for f in (traced, traced.python_function):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            a, b = f(x, y)
        found.append([tape.gradient(a, [x, y]), tape.gradient(b, x), tape.gradient([a, b], y)])
    equal(tf.nest.flatten(found[0]), tf.nest.flatten(found[1]), 1e-12)


def test_sizes_that_are_not_known():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def traced(x):
        y = tf.exp(tf.sin(x) * tf.reduce_mean(x, 0, keepdims=True))
        return tf.reshape(y, [-1, tf.shape(x)[0]]) * tf.cast(tf.shape(x)[1], x.dtype)

    for dims in ((3, 4), (5, 2)):
        x = numbers(*dims)
        found = []
        for f in (traced, traced.python_function):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = weighed(f(x))
            found.append([tape.gradient(loss, x)])
        equal(*found, tolerance=1e-12)


def test_long_chains():
    """A value may be computed again from one a thousand operations before it."""

    def function(x):
        for _ in range(1500):
            x = tf.sin(x) + 1e-3
        return x

    x = numbers(3, 4)
    with settings.executor("interpret"):
        equal(outside(function, [x]), keeping_all(function, [x]))
