"""Watching gradients: in loops, functions, sessions; each verdict; the picture."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as v1
from talweg.core import dispatch, settings

RANDOM = np.random.default_rng(0)
DATA = RANDOM.standard_normal((16, 4)).astype("f4")


def network(activation, depth=2, scale=0.5, shift=0.0):
    """A small network: its variables, and its loss."""
    random = np.random.default_rng(1)
    kernels = [
        tf.Variable((random.standard_normal((4, 4)) * scale).astype("f4"), name=f"layer{i}")
        for i in range(depth)
    ]
    kernels.append(tf.Variable(random.standard_normal((4, 1)).astype("f4"), name="out"))

    def loss():
        h = tf.constant(DATA)
        for kernel in kernels[:-1]:
            h = activation(h @ kernel + shift)
        return tf.reduce_mean(tf.square(h @ kernels[-1] - 1.0))

    return kernels, loss


def train(variables, loss, rate=0.01, steps=12, traced=False, every=1):
    def step():
        with tf.GradientTape() as tape:
            value = loss()
        for variable, gradient in zip(variables, tape.gradient(value, variables)):
            variable.assign_sub(rate * gradient)

    run = tf.function(step) if traced else step
    with tf.watch_gradients(variables, every=every) as watch:
        for _ in range(steps):
            run()
    return watch


@pytest.fixture(params=["eager", "function", "compiled"])
def traced(request):
    """Eager, traced, and traced and compiled."""
    with settings.executor("llvm" if request.param == "compiled" else "interpret"):
        yield request.param != "eager"


def test_fine(traced):
    variables, loss = network(tf.tanh)
    watch = train(variables, loss, traced=traced)
    report = watch.report()
    assert report.verdict == "fine" and not report and report.code == "" and report.steps == 12
    assert [row.name for row in report.rows] == ["layer0", "layer1", "out"]
    series = watch.series[0]
    assert len(series.norms) == 12 and len(series.ratios) == 12
    expected = series.norms[3] * 0.01  # a step of plain descent
    weights = float(np.linalg.norm(variables[0].numpy()))
    assert series.ratios[3] == pytest.approx(expected / weights, rel=0.05)


def test_vanishing(traced):
    report = train(*network(tf.sigmoid, depth=9, scale=0.2), traced=traced).report()
    assert (report.verdict, report.code) == ("vanishing", "TW356")
    assert report.rows[0].verdict == "vanishing" and report.rows[-1].verdict == "fine"


def test_dead(traced):
    report = train(*network(tf.nn.relu, shift=-30.0), traced=traced).report()
    assert (report.verdict, report.code) == ("dead", "TW366")
    assert report.rows[0].dead == 1.0 and "every gradient was 0" in report.rows[0].why


def test_not_finite(traced):
    variables, loss = network(tf.nn.relu, scale=3.0)
    report = train(variables, lambda: loss() ** 4, rate=10.0, traced=traced).report()
    assert report.code in ("TW358", "TW366")  # overflow, or thrown into the flat part at once
    assert report.findings[0].cure


def test_exploding():
    w = tf.Variable([1.0], name="w")
    scale = tf.Variable(1.0, trainable=False)
    with tf.watch_gradients([w]) as watch:
        for _ in range(12):
            with tf.GradientTape() as tape:
                value = tf.reduce_sum(w) * scale
            tape.gradient(value, w)
            scale.assign(scale * 10.0)
    report = watch.report()
    assert (report.verdict, report.code) == ("exploding", "TW357")
    assert "grew from" in report.rows[0].why


def test_some_units_are_dead():
    inputs = tf.constant([[1.0, 2.0], [2.0, 1.0]])
    kernel = tf.Variable([[0.3, -1.0, -2.0], [0.2, -1.0, -1.0]], name="kernel")
    watch = train([kernel], lambda: tf.reduce_mean(tf.nn.relu(inputs @ kernel) ** 2), steps=6)
    assert watch.series[0].lost.tolist() == [False, True, True]
    assert "2 of 3 units" in watch.report().rows[0].why


def test_by_hand_inside_a_function(traced):
    w = tf.Variable([1.0, 2.0], name="w")
    watch = tf.watch_gradients([w])

    def step(x):
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(tf.square(w * x))
        gradient = tape.gradient(value, w)
        watch.record([gradient])
        w.assign_sub(0.001 * gradient)

    run = tf.function(step) if traced else step
    for x in (1.0, 2.0, 3.0, 4.0):
        run(tf.constant(x))
    assert len(watch.series[0].norms) == 4
    assert watch.series[0].norms[0] == pytest.approx(np.linalg.norm([2.0, 4.0]))


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_session(executor):
    with settings.executor(executor), tf.Graph().as_default():
        w = v1.get_variable("w", initializer=[1.0, 2.0])
        optimizer = v1.train.GradientDescentOptimizer(0.01)
        pairs = optimizer.compute_gradients(tf.reduce_sum(tf.square(w)), [w])
        watch = tf.watch_gradients([w])
        note = watch.record([g for g, _ in pairs])
        with tf.control_dependencies([note]):
            step = optimizer.apply_gradients(pairs)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(5):
                session.run(step)
        report = watch.report()
        assert report.steps == 5 and report.verdict == "fine"
        assert report.rows[0].ratio == pytest.approx(0.02, rel=1e-4)


def test_sparse_gradients_and_none():
    table, other = tf.Variable(tf.ones([5, 2]), name="table"), tf.Variable(1.0, name="other")
    with tf.watch_gradients([table, other]) as watch:
        for _ in range(4):
            with tf.GradientTape() as tape:
                value = tf.reduce_sum(tf.gather(table, [1, 1, 3]))
            tape.gradient(value, [table, other])
    report = watch.report()
    assert report.rows[0].verdict == "fine" and report.rows[0].dead == 0
    assert report.rows[1].verdict == "no gradient" and report.code == "TW368"


def test_every_second_step():
    variables, loss = network(tf.tanh)
    assert train(variables, loss, every=3, steps=10).report().steps == 4


def test_two_tapes_of_one_step():
    """As in adversarial training: each tape has gradients of its own variables."""
    a, b = tf.Variable([1.0], name="a"), tf.Variable([2.0], name="b")
    with tf.watch_gradients({"a": a, "b": b}) as watch:
        for _ in range(3):
            with tf.GradientTape() as first, tf.GradientTape() as second:
                value = tf.reduce_sum(a * b)
            first.gradient(value, [a]), second.gradient(value, [b])
    assert [series.steps for series in watch.series] == [3, 3]


def test_when_it_is_over():
    w = tf.Variable([1.0], name="w")

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(w * w)
        return tape.gradient(value, w)

    busy = dispatch.state.busy
    with tf.watch_gradients([w]) as watch:
        step()
    step()
    assert watch.report().steps == 1
    assert dispatch.state.busy == busy and dispatch.state.observer is None


def test_functions_traced_before_are_named_as_the_reason():
    w = tf.Variable([1.0], name="w")

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(w * w)
        return tape.gradient(value, w)

    step()
    with tf.watch_gradients([w]) as watch:
        step()
    report = watch.report()
    assert report.verdict == "no steps" and "traced before" in str(report)
    assert report.findings == ()


def test_picture(tmp_path):
    watch = train(*network(tf.sigmoid, depth=9, scale=0.2))
    svg = watch.plot(tmp_path / "gradients.svg")
    assert (tmp_path / "gradients.svg").read_text("utf-8") == svg
    tree = xml.fromstring(svg)
    lines = tree.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert 10 < len(lines) <= 2 * 10  # the update of a first layer may be 0
    texts = "".join(t.text or "" for t in tree.iter("{http://www.w3.org/2000/svg}text"))
    assert "layer0: vanishing" in texts and "norm of the gradient" in texts
    report = watch.report()
    assert report.svg in report._repr_html_() and "TW356" in report._repr_html_()
    assert tf.watch_gradients([tf.Variable(1.0)]).plot() == ""


def test_picture_by_matplotlib(tmp_path):
    train(*network(tf.tanh)).plot(tmp_path / "gradients.png")
    assert (tmp_path / "gradients.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_use():
    with pytest.raises(ValueError, match="no variables to watch"):
        tf.watch_gradients([tf.constant(1.0)])
    with pytest.raises(ValueError, match="2 gradients for 1 variables"):
        tf.watch_gradients([tf.Variable(1.0)]).record([None, None])
