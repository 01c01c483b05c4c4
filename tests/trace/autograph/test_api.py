"""tf.autograph by hand."""

import logging

import pytest

import talweg as tf


def collatz(n):
    steps = 0
    while n > 1:
        n = half(n) if n % 2 < 1 else 3 * n + 1
        steps += 1
    return steps


def half(n):
    return n // 2 if n > 0 else n


def test_to_graph():
    converted = tf.autograph.to_graph(collatz)
    assert converted(6) == 8 and converted.__name__ == "collatz"
    assert int(converted(tf.constant(6))) == 8
    assert int(tf.function(converted, autograph=False)(tf.constant(27))) == 111


def test_to_graph_of_one_level():
    converted = tf.autograph.to_graph(half, recursive=False)
    assert int(tf.function(converted, autograph=False)(tf.constant(27))) == 13


def test_in_a_graph_of_version_1():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        n = v1.placeholder(tf.int32, [])
        steps = tf.autograph.to_graph(collatz)(n)
        with v1.Session() as session:
            assert [session.run(steps, {n: k}) for k in (1, 6)] == [0, 8]


def test_to_code():
    code = tf.autograph.to_code(collatz)
    assert code.startswith("def ag__collatz(n):") and "ag__.while_stmt(" in code
    with pytest.raises(ValueError, match="python_function"):
        tf.autograph.to_code(tf.function(collatz))
    with pytest.raises(ValueError, match="has no code"):
        tf.autograph.to_code(3)


def test_methods_become_functions():
    class Box:
        factor = 3

        def scale(self, x):
            return x * self.factor if x > 0 else x

    assert tf.autograph.to_graph(Box().scale)(Box(), 2) == 6


def test_features():
    feature = tf.autograph.experimental.Feature
    assert feature.ALL in feature.all()
    assert set(feature.all_but(feature.LISTS)) == set(feature.all()) - {feature.ALL, feature.LISTS}
    wanted = feature.all_but([feature.NAME_SCOPES])
    traced = tf.function(half, experimental_autograph_options=wanted)
    assert int(traced(tf.constant(8))) == 4


def test_verbosity(caplog, capsys):
    def fresh(x):
        return x if x > 0 else -x

    tf.autograph.set_verbosity(3, alsologtostdout=True)
    try:
        with caplog.at_level(logging.INFO, "talweg"):
            tf.function(fresh)(tf.constant(1))
    finally:
        tf.autograph.set_verbosity(0)
    assert "AutoGraph converted" in caplog.text and "ag__.if_exp" in capsys.readouterr().out


def test_trace_prints_while_tracing(capsys):
    @tf.function
    def run(x):
        tf.autograph.trace("now", 1)
        return x

    run(tf.constant(1))
    run(tf.constant(2))
    assert capsys.readouterr().out == "now 1\n"


def test_do_not_convert_forms():
    keep = tf.autograph.experimental.do_not_convert

    class Box:
        @keep()
        def method(self, x):
            """Documented."""
            return type(self).__name__, x

    assert Box().method(3) == ("Box", 3)
    assert Box.method.__doc__ == "Documented."
