"""enable_check_numerics: the first result that is not finite raises, whoever computes it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as v1
from talweg.core import dispatch, settings
from talweg.execute.interpret import onlooker
from talweg.passes.specialize.program import demands

from . import programs
from .programs import weights

INVALID = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def checking():
    """Checks are on in each test, and off after it."""
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


@pytest.fixture(params=["interpret", "llvm"])
def executor(request):
    """Both executors."""
    with settings.executor(request.param):
        yield request.param


def test_eager():
    with pytest.raises(INVALID) as caught:
        tf.math.log(tf.constant([1.0, 0.0]))  # eager log
    text = str(caught.value)
    assert "log gave Inf at 1 of 2 elements, first at [1]" in text
    assert "# eager log" in text and "x = 0" in text and "TW340" in text and "[TW343]" in text
    with pytest.raises(INVALID, match="TW342"):
        tf.constant(1e30) * 1e30


def test_gradient_on_a_tape():
    w = weights(1.0, 0.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sqrt(w))  # forward sqrt
    with pytest.raises(INVALID) as caught:
        tape.gradient(y, w)
    text = str(caught.value)
    assert "in the derivative of sqrt" in text and "# forward sqrt" in text and "TW345" in text


def test_what_only_moves_values_is_not_checked():
    bad = tf.constant([np.nan, 1.0])
    assert tf.reshape(bad, [2, 1]).shape == (2, 1)
    assert tf.where([False, True], bad, 0.0).numpy().tolist() == [0.0, 1.0]
    with pytest.raises(INVALID, match="operand x was not finite already"):
        bad + 1.0


def test_functions_traced_before(executor):
    tf.debugging.disable_check_numerics()
    w = weights(1.0, 4.0)
    step = programs.train_step(lambda w: tf.reduce_sum(tf.sqrt(w)), w)
    step(), step()
    w.assign([1.0, 0.0])
    tf.debugging.enable_check_numerics()
    with pytest.raises(INVALID) as caught:
        step()
    text = str(caught.value)
    assert "div, in the derivative of sqrt, gave Inf" in text and "# asked for" in text
    assert w.numpy().tolist() == [1.0, 0.0]  # nothing was written
    tf.debugging.disable_check_numerics()
    step()
    assert not np.isfinite(w.numpy()).all()


def test_hidden_values_are_found(executor):
    with pytest.raises(INVALID, match="log gave Inf"):
        tf.function(programs.hidden_log)(weights(1.0, 0.0))
    with pytest.raises(INVALID, match="sqrt gave NaN"):
        tf.function(programs.in_a_loop)(weights(2.0), tf.constant(5))


def test_good_programs_run(executor):
    w = weights(1.0, 2.0)
    step = programs.train_step(lambda w: programs.norm(w * 2.0), w)
    for _ in range(3):
        step()
    assert np.isfinite(w.numpy()).all()


def test_session(executor):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None])
        y = tf.math.log(x, name="logarithm")
        with v1.Session() as session:
            session.run(y, {x: [1.0, 2.0]})
            with pytest.raises(INVALID) as caught:
                session.run(y, {x: [1.0, -2.0]})
    assert "log gave NaN" in str(caught.value) and caught.value.op.name == "logarithm"


def test_switching():
    tf.debugging.enable_check_numerics()  # twice is once
    tf.debugging.disable_check_numerics()
    assert np.isinf((1.0 / tf.constant(0.0)).numpy())
    assert onlooker.watch is None and not demands.finite
    before = dispatch.state.busy
    tf.debugging.disable_check_numerics()
    assert dispatch.state.busy == before
    tf.debugging.enable_check_numerics(stack_height_limit=10, path_length_limit=20)
    with pytest.raises(INVALID):
        1.0 / tf.constant(0.0)


def test_all_threads():
    caught = []

    def run():
        try:
            tf.math.log(tf.constant(0.0))
        except INVALID as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(caught) == 1


def test_explaining_meanwhile():
    w = weights(1.0, 0.0)
    assert tf.explain_numerics(lambda: programs.hidden_log(w), w).code == "TW346"
    with pytest.raises(INVALID):
        programs.hidden_log(w)


def test_usual_functions_raise_nothing():
    """What is not finite inside of them only, and never seen, would be a false alarm."""
    x = tf.constant([[-2.0, 0.0, 3.0], [80.0, -90.0, 1e-30]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        results = [
            tf.nn.softmax(x),
            tf.nn.log_softmax(x),
            tf.reduce_logsumexp(x, 1),
            tf.nn.softplus(x),
            tf.nn.gelu(x),
            tf.nn.elu(x),
            tf.nn.selu(x),
            tf.nn.silu(x),
            tf.nn.relu6(x),
            tf.math.l2_normalize(x, 1),
            tf.math.divide_no_nan(x, tf.nn.relu(x)),
            tf.math.xlogy(tf.nn.relu(x), tf.nn.relu(x)),
            tf.nn.moments(x, [0])[1],
            tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x),
            tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), x),
            tf.clip_by_norm(x, 1.0),
            tf.nn.dropout(x, 0.5),
            tf.math.reduce_std(x),
            tf.math.cumulative_logsumexp(x, 1),
        ]
    for y in results:
        gradient = tape.gradient(y, x)
        assert gradient is None or np.isfinite(gradient.numpy()).all()
