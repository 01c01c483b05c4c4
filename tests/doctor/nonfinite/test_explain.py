"""Where it came from: on tapes, in functions, loops, branches and sessions, whoever runs them."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as v1
from talweg.core import settings
from tests.counting import entered

from . import programs
from .programs import weights


@pytest.fixture(params=["interpret", "llvm"])
def executor(request):
    """Both executors."""
    with settings.executor(request.param):
        yield request.param


def marked(found, comment, place=None):
    """Whether a place is the line with this comment."""
    place = found.place if place is None else place
    return place is not None and place.source.endswith(f"# {comment}")


def test_function_of_no_arguments(executor):
    w = weights(1.0, 0.0)
    loss = tf.function(programs.hidden_log)
    for _ in range(2):  # compiled by now
        loss(w)
    found = tf.explain_numerics(lambda: loss(w), w)
    assert (found.code, found.verdict, found.operation) == ("TW346", "nan", "log")
    assert (found.direction, found.element, found.subject) == (
        "backward",
        (1,),
        "the gradient of w",
    )
    assert marked(found, "log") and marked(found, "where", found.other)
    assert found.singular == "x = 0" and found.operands[0].value == 0.0
    assert "tf.where(good, x, 1.0)" in found.cure


def test_tape_over_a_function(executor):
    w = weights(1.0, 0.0)
    loss = tf.function(programs.hidden_log)
    with tf.GradientTape() as tape:
        value = loss(w)
    found = tf.explain_numerics(value, w, tape)
    assert found.code == "TW346" and marked(found, "log")
    assert np.isnan(tape.gradient(value, w).numpy()[1])  # the tape is as it was


def test_tape_inside_a_function(executor):
    w = weights(1.0, 0.0)
    step = programs.train_step(programs.hidden_log, w)
    found = tf.explain_numerics(step)
    assert found.subject == "the new value of w" and found.code == "TW346"
    assert marked(found, "log") and marked(found, "asked for", found.asked)
    assert [p.operation for p in found.path][-1] == "update_variable"


def test_loop(executor):
    w = weights(2.0)
    looped = tf.function(programs.in_a_loop)
    found = tf.explain_numerics(lambda: looped(w, tf.constant(5)), w)
    assert (found.code, found.operation, found.direction) == ("TW341", "sqrt", "forward")
    assert marked(found, "sqrt in a loop")
    assert found.operands[0].value == pytest.approx(-0.1)  # of the trip in which it began


def test_gradient_that_vanishes_in_a_loop(executor):
    w = weights(2.0)
    loop = tf.function(programs.shrinking)
    with tf.GradientTape() as tape:
        value = loop(w, tf.constant(20))
    found = tf.explain_numerics(value, w, tape)
    assert (found.code, found.verdict) == ("TW356", "vanishing")
    assert marked(found, "sigmoid in a loop") and "each of the 20 times" in found.cause


def test_zero_in_a_branch(executor):
    w = weights(1.0, 2.0)
    branchy = tf.function(programs.in_a_branch)
    with tf.GradientTape() as tape:
        value = branchy(w)
    found = tf.explain_numerics(value, w, tape)
    assert (found.code, found.operation) == ("TW350", "relu")
    assert marked(found, "relu in a branch")


def test_state_is_left_alone(executor):
    count = tf.Variable(0.0)

    @tf.function
    def loss(w):
        count.assign_add(1.0)
        return tf.reduce_sum(tf.math.log(w)) * count

    w = weights(0.0)
    with tf.GradientTape() as tape:
        value = loss(w)
    assert tf.explain_numerics(value, w, tape).code == "TW340"
    assert count.numpy() == 1.0  # what ran again wrote nothing


def test_session(executor):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        w = v1.get_variable("w", initializer=[3.0, 4.0])
        y = programs.norm(w * x)
        gradient = v1.gradients(y, w)[0]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            zeros, ones = {x: [0.0, 0.0]}, {x: [1.0, 1.0]}
            found = tf.explain_numerics(gradient, session=session, feed_dict=zeros)
            assert found.code == "TW347" and marked(found, "norm")
            found = tf.explain_numerics(y, [w, x], session=session, feed_dict=zeros)
            assert found.code == "TW347" and found.subject == "the gradient of w"
            found = tf.explain_numerics(y, [w, x], session=session, feed_dict=ones)
            assert not found and [s.name for s in found.sources] == ["w", "x"]
            assert found.sources[0].norm == pytest.approx(1.0)
            bad = {x: [np.inf, 1.0]}
            found = tf.explain_numerics(y, session=session, feed_dict=bad)
            assert (found.code, found.direction) == ("TW344", "outside")


def test_custom_gradient_in_a_function(executor):
    @tf.custom_gradient
    def bad(x):
        return x * 2.0, lambda g: g / (x - x)  # the user's rule

    w = weights(1.0, 2.0)
    f = tf.function(lambda: tf.reduce_sum(bad(w)))
    for ask in (f, lambda: tf.reduce_sum(bad(w))):
        found = tf.explain_numerics(ask, w)
        assert (found.code, found.operation) == ("TW349", "bad")
        assert marked(found, "the user's rule")


def test_kinds_of_targets_and_sources():
    x, y = tf.constant([1.0]), tf.constant([4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = {"a": x * y, "b": x / (y - 4.0)}
    found = tf.explain_numerics(z, [x, y], tape)
    assert found.code == "TW340" and found.operation == "div"
    found = tf.explain_numerics(z["a"], {"x": x, "y": y}, tape)
    assert not found and [s.name for s in found.sources] == ["source 0", "source 1"]
    found = tf.explain_numerics(z["a"], [x, tf.constant(0.0)], tape)
    assert "no gradient" in str(found)
    assert found.finding.title == "the gradient of source 0: finite"


def test_the_first_dead_layer_is_blamed():
    w, v = tf.Variable([[1.0, 2.0]], name="w"), tf.Variable(tf.ones([2, 2]), name="v")

    def loss():
        first = tf.nn.relu(w - 10.0)  # dead
        second = tf.nn.relu(first @ v)  # has zeros only
        return tf.reduce_sum(second)

    for ask in (loss, tf.function(loss)):
        found = tf.explain_numerics(ask, [w, v])
        assert found.code == "TW350" and marked(found, "dead")
        assert "between -9 and -8" in found.cause
        assert [s.verdict for s in found.sources] == ["zero", "zero"]


def test_a_training_step_of_a_session():
    with tf.Graph().as_default():
        w = v1.get_variable("w", initializer=[1.0, 0.0])
        loss = tf.reduce_sum(tf.sqrt(w))  # in the graph
        step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            found = tf.explain_numerics(lambda: session.run(step))
    assert found.subject == "the new value of w" and found.code == "TW345"
    assert marked(found, "in the graph")


def test_what_came_from_outside_is_named():
    w = tf.Variable([1.0, np.nan], name="weights")
    f = tf.function(lambda: tf.reduce_sum(w * 2.0))
    with tf.GradientTape() as tape:
        y = f()
    asked = [
        tf.explain_numerics(lambda: tf.reduce_sum(w * 2.0)),
        tf.explain_numerics(f),
        tf.explain_numerics(y, w, tape),
    ]
    for found in asked:
        assert found.code == "TW344" and "the value of weights was NaN" in found.cause
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], name="features")
        y = x * v1.get_variable("scale", initializer=[1.0, np.inf])
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            found = tf.explain_numerics(y, feed_dict={x: [1.0, 1.0]})
            assert "the value of scale was infinite" in found.cause
            found = tf.explain_numerics(y, feed_dict={x: [np.nan, 1.0]})
            assert "the value of features was NaN" in found.cause


def test_random_numbers_are_drawn_anew_and_that_is_said():
    x = tf.Variable(tf.ones([64]))

    @tf.function
    def loss():
        return tf.reduce_sum(tf.math.log(tf.nn.dropout(x, 0.02, seed=3)))

    said = []
    for _ in range(12):  # in some runs an element is dropped, in others none
        with tf.GradientTape() as tape:
            value = loss()
        if np.isinf(value.numpy()):
            said.append("drew others" in tf.explain_numerics(value, x, tape).cause)
    assert any(said)
    assert tf.explain_numerics(loss).code in ("TW340", "")


def test_sources_the_tape_does_not_know():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
    found = tf.explain_numerics(y, tf.constant(1.0), tape)
    assert not found and found.sources[0].norm is None


def test_matrices():
    found = tf.explain_numerics(lambda: tf.linalg.cholesky([[1.0, 2.0], [2.0, 1.0]]))
    assert found.code == "TW341" and "not positive definite" in found.cause
    assert "tf.eye" in found.cure
    large = tf.fill([2, 2], 1e30)
    assert tf.explain_numerics(lambda: tf.matmul(large, large)).code == "TW342"


def test_what_cannot_be_explained():
    with pytest.raises(TypeError, match=r"(?s)nothing says how it was made.*TW104"):
        tf.explain_numerics(tf.constant(1.0))
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match=r"(?s)persistent=True.*TW302"):
        tf.explain_numerics(y, x, tape)
    with pytest.raises(ValueError, match=r"(?s)no tensor to differentiate.*TW303"):
        tf.explain_numerics(lambda: None, x)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"(?s)session=.*TW503"):
        tf.explain_numerics(tf.constant(1.0) * 2.0)


def test_what_is_hidden_is_said_last():
    w = weights(1.0, 0.0)
    found = tf.explain_numerics(lambda: programs.hidden_log(w))
    assert found.subject == "a value on the way" and found.code == "TW340"


ROOTS = {
    "map_fn": lambda x: tf.map_fn(tf.sqrt, x),
    "map_fn in a function": tf.function(lambda x: tf.map_fn(tf.sqrt, x)),
    "vectorized_map": lambda x: tf.vectorized_map(tf.sqrt, x),
    "recompute_grad": lambda x: tf.recompute_grad(lambda v: tf.sqrt(v))(x),
    "scan in a function": tf.function(lambda x: tf.scan(lambda a, b: a + tf.sqrt(b), x)),
}


@pytest.mark.parametrize("name", ROOTS)
def test_through_maps_and_lists(name):
    x = tf.Variable([1.0, 0.0, 4.0])
    found = tf.explain_numerics(lambda: tf.reduce_sum(ROOTS[name](x * 1.0)), x)
    assert (found.code, found.operation) == ("TW345", "sqrt")


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_through_a_tensor_array(wrap):
    x = tf.Variable([1.0, 2.0, 0.0])

    def loss():
        parts = tf.TensorArray(tf.float32, 3)
        for i in range(3):
            parts = parts.write(i, x[i])
        y = tf.math.log(parts.stack())  # stacked
        return tf.reduce_sum(tf.where(tf.math.is_finite(y), y, 0.0))

    found = tf.explain_numerics(wrap(loss), x)
    assert found.code == "TW346" and marked(found, "stacked")


def test_from_numpy():
    x = tf.constant([-1.0])

    def root():
        return tf.numpy_function(lambda v: v * np.float32("nan"), [x], tf.float32) + 1.0

    assert tf.explain_numerics(root).code == "TW344"
    found = tf.explain_numerics(tf.function(root))
    assert found.code == "TW344" and "Python or NumPy" in found.cause


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_forward_mode(wrap):
    x = tf.Variable([1.0, 0.0])

    def pushed():
        with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as accumulator:
            y = tf.sqrt(x)  # pushed through
        return accumulator.jvp(y)

    found = tf.explain_numerics(wrap(pushed))
    assert (found.code, found.operation, found.direction) == ("TW345", "sqrt", "backward")
    assert marked(found, "pushed through")


def test_jacobians():
    x = tf.Variable([1.0, 0.0])

    def rows():
        with tf.GradientTape() as tape:
            y = tf.sqrt(x)  # of the rows
        return tape.jacobian(y, x)

    found = tf.explain_numerics(rows)
    assert found.code == "TW345" and marked(found, "of the rows")


def test_the_default_session():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32)
        y = tf.math.log(x)
        with v1.Session():
            assert v1.explain_numerics(y, feed_dict={x: 0.0}).code == "TW340"


def test_second_derivatives():
    x = tf.Variable([1.0, 0.0])
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x**1.5)
        first = inner.gradient(y, x)
    found = tf.explain_numerics(first, x, outer)
    assert found.code == "TW345" and found.operation == "pow" and found.element == (1,)


def test_complex_and_half_precision():
    z = tf.Variable(tf.constant([0j, 1 + 1j]))
    found = tf.explain_numerics(lambda: tf.math.log(z))
    assert found.code == "TW340" and found.element == (0,)
    for dtype in (tf.float16, tf.bfloat16):
        x = tf.Variable(tf.constant([60000.0, 1.0], dtype))
        found = tf.explain_numerics(lambda x=x: x * x * x * x * x * x * x * x * x)
        assert found.code == "TW342" and dtype.name in found.cause


def test_large_tapes_are_quick():
    """Ten times the records take ten times the work, counted in functions entered."""
    calls = []
    for records in (2000, 20_000):
        x = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = x * 1.0
            for _ in range(records):
                y = y * 1.0001
            y = tf.math.log(y - y)
        calls.append(entered(lambda: tf.explain_numerics(y, x, tape)))  # noqa: B023
    assert calls[1] < 11 * calls[0] and calls[1] < 60 * 20_000


def test_what_a_weight_of_every_step_is_multiplied_by():
    """The gradient at a source is the sum over its uses; each use is compared with its own part."""
    w = tf.Variable([[1.5, 0.0], [0.0, 2.0]])
    with tf.GradientTape() as tape:
        h = tf.ones([1, 2])
        for _ in range(40):
            h = h @ w
        loss = tf.reduce_sum(h)
    cause = str(tape.explain(loss, w))
    factor = float(cause.split("grows by a factor of ")[1].split()[0])
    assert 1.8 < factor < 2.05
