"""`print` in traced functions, once while tracing; TensorFlow 2.21 printed what is here."""

import re

import pytest

import talweg as tf

X = tf.constant([1.0, 2.0, 3.0])
FEATURE = tf.autograph.experimental.Feature


def printed(run, capfd, times=3):
    """The lines that calls of a function print, with tensors' names left out."""
    capfd.readouterr()
    for _ in range(times):
        run()
    return re.sub(r'Tensor\("[^"]*", ', "Tensor(", capfd.readouterr().out).splitlines()


def test_once_while_tracing(capfd):
    @tf.function
    def run(x):
        print("x", x, sep="=")
        print(f"{x.dtype}", [x.shape])
        return x

    lines = printed(lambda: run(X), capfd)
    assert lines == ["x=Tensor(shape=(3,), dtype=float32)", "<dtype: 'float32'> [TensorShape([3])]"]
    assert printed(lambda: run(X[0]), capfd)[0] == "x=Tensor(shape=(), dtype=float32)"


def test_both_branches_and_each_body_once(capfd):
    @tf.function
    def run(x):
        while tf.reduce_sum(x) < 100.0:
            print("body", x)
            x = x * 2.0
            if x[0] > 10.0:
                print("break")
                break
            else:
                print("on")
        for e in x:
            print("for")
            if e > 1.0:
                print("continue")
                continue
        if tf.reduce_sum(x) > 0.0:
            print("early")
            return x
        print("late")
        return -x

    body = "body Tensor(shape=(3,), dtype=float32)"
    assert printed(lambda: run(X), capfd) == [
        body,
        "break",
        "on",
        "for",
        "continue",
        "early",
        "late",
    ]


def test_functions_that_are_handed_on(capfd):
    @tf.function
    def run(x):
        tf.map_fn(lambda e: (print("map"), e)[1], x)
        tf.cond(x[0] > 0, lambda: print("yes"), lambda: print("no"))
        list(map(print, [x[0]]))
        return x

    lines = printed(lambda: run(X), capfd)
    assert lines == ["map", "yes", "no", "Tensor(shape=(), dtype=float32)"]


@pytest.mark.parametrize("features", [FEATURE.ALL, (FEATURE.BUILTIN_FUNCTIONS, FEATURE.LISTS)])
def test_values_at_every_call_if_the_feature_is_asked_for(features, capfd):
    def helper(x):
        print("helper", x)

    @tf.function
    def inner(x):
        print("inner", x.dtype.name)

    @tf.function(experimental_autograph_options=features)
    def run(x):
        print("x", x, sep="=", end="!\n")
        inner(x)
        helper(x)

    lines = printed(lambda: run(tf.constant(1)), capfd, times=2)
    assert lines == ["inner int32", "x=1!", "helper 1", "x=1!", "helper 1"]
    converted = tf.autograph.to_graph(helper, experimental_optional_features=features)
    with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.function(lambda: (converted(tf.constant(7)), tf.constant(0))[1])())
    assert capfd.readouterr().out == "helper 7\n"


def test_values_through_another_name(capfd):
    @tf.function
    def run(x, log=print):
        log("x", x)

    assert printed(lambda: run(tf.constant(1)), capfd, times=2) == ["x 1", "x 1"]


def test_in_datasets_once(capfd):
    def double(x):
        print("double", x)
        return 2 * x

    assert list(tf.data.Dataset.range(3).map(double).as_numpy_iterator()) == [0, 2, 4]
    assert re.fullmatch(
        r'double Tensor\("\w+:0", shape=\(\), dtype=int64\)\n', capfd.readouterr().out
    )
