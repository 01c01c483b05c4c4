"""Traces: how many there are, why, and that they go."""

import gc
import logging
import tracemalloc
import weakref

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from tests.counting import entered


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_two_thousand_shapes_leave_a_bounded_number_of_traces():
    @tf.function
    def f(x, flag):
        return x * 2.0 if flag else x

    for number in range(300):
        f(tf.constant(1.0), number)
    assert len(f._traces) <= 64
    assert f.experimental_get_tracing_count() == 300
    for size in range(1, 400):
        f(tf.zeros([size]), True)
    assert f.experimental_get_tracing_count() <= 303
    assert len(f._fast) <= 64


def test_a_deleted_function_frees_its_traces_at_once(no_collector):
    w = tf.Variable(np.ones((4, 4), np.float32))

    def make():
        @tf.function
        def f(x):
            y = tf.matmul(x, w)
            if tf.reduce_sum(y) > 0.0:
                y = y * 2.0
            for _ in tf.range(3):
                y = tf.tanh(y)
            return y

        return f

    f = make()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(f(tf.ones([2, 4])))
    assert tape.gradient(loss, w) is not None
    del tape, loss
    trace = weakref.ref(next(iter(f._traces.values())))
    node = weakref.ref(trace().body.nodes[-1])
    del f
    assert trace() is None
    assert node() is None


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_models_trained_in_a_loop_leave_nothing(no_collector, executor):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(np.ones((8, 8), np.float32))

        @tf.function
        def step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, self.w)))
            gradient = tape.gradient(loss, self.w)
            self.w.assign_sub(0.1 * gradient)
            return loss

    def train():
        model = Model()
        x = tf.ones([4, 8])
        losses = [float(model.step(x)) for _ in range(3)]
        assert losses[-1] < losses[0]
        return weakref.ref(model)

    with settings.executor(executor):
        for _ in range(5):
            held = train()
            assert held() is None
        tracemalloc.start()
        train()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            train()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000


def test_a_reason_names_the_argument_and_both_values():
    @tf.function
    def f(x, scale=1.0, *, flags=None):
        return x * scale

    f(tf.constant(1.0))
    f(tf.constant(1.0, tf.float64))
    f(tf.constant(1.0, tf.float64), 2.0)
    f(tf.constant(1.0, tf.float64), 2.0, flags={"a": 1})
    reasons = f.retracing_reasons()
    assert reasons[0] == "x: dtype float64, was float32"
    assert reasons[1] == "scale: the Python value 2.0, was the Python value 1.0"
    assert reasons[2].startswith("keyword arguments")


def test_a_function_that_keeps_retracing_says_so_once(caplog):
    @tf.function
    def f(x, number):
        return x + number

    with caplog.at_level(logging.WARNING, logger="talweg"):
        for number in range(4):
            f(tf.constant(1), number)
        assert not caplog.records
        for number in range(4, 20):
            f(tf.constant(1), number)
    lines = [r for r in caplog.records if "was traced" in r.getMessage()]
    assert lines[0].getMessage().startswith("f was traced 5 times")
    assert len(lines) == 1
    assert "number" in lines[0].getMessage()


def test_an_unknown_batch_traces_once_and_runs_for_any_size():
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x):
        return tf.nn.softmax(x) + tf.reduce_mean(x, axis=0) + tf.cast(tf.shape(x)[0], tf.float32)

    for size in (0, 1, 2, 7):
        x = np.random.default_rng(size).normal(size=(size, 3)).astype("f")
        if size:
            expected = tf.nn.softmax(x).numpy() + x.mean(0) + size
            np.testing.assert_allclose(f(x).numpy(), expected, rtol=1e-5)
        else:
            assert f(x).shape == (0, 3)
    assert f.experimental_get_tracing_count() == 1


def test_gradient_with_an_unknown_batch_is_that_of_the_batch():
    w = tf.Variable(np.arange(6, dtype="f").reshape(3, 2))

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None])])
    def loss(x, y):
        return tf.reduce_mean(tf.square(tf.reduce_sum(tf.matmul(x, w), axis=1) - y))

    for size in (1, 2, 5):
        random = np.random.default_rng(size)
        x, y = random.normal(size=(size, 3)).astype("f"), random.normal(size=size).astype("f")
        with tf.GradientTape() as tape:
            value = loss(x, y)
        found = tape.gradient(value, w).numpy()
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(tf.square(tf.reduce_sum(tf.matmul(x, w), axis=1) - y))
        np.testing.assert_allclose(found, tape.gradient(value, w).numpy(), rtol=1e-4)


def test_a_failed_call_leaves_variables_alone():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        tf.debugging.assert_positive(x)
        v.assign_add(x)
        return v

    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(-1.0))
    assert v.numpy() == 1.0
    f(tf.constant(2.0))
    assert v.numpy() == 3.0


def test_variables_may_be_made_after_a_failed_first_trace():
    kept = []

    @tf.function
    def f(x):
        product = tf.matmul(x, x)
        if not kept:
            kept.append(tf.Variable(2.0))
        return product * kept[0]

    with pytest.raises(ValueError, match="matmul"):
        f(tf.ones([2, 3]))
    assert not kept
    for _ in range(2):
        np.testing.assert_array_equal(f(tf.ones([2, 2])), np.full((2, 2), 4, np.float32))
    assert len(kept) == 1


def test_variables_made_in_a_first_trace_that_fails_serve_the_next():
    kept = []

    @tf.function
    def f(x):
        if not kept:
            kept.append(tf.Variable(2.0))
        return tf.matmul(x, x) * kept[0]

    with pytest.raises(ValueError, match="matmul"):
        f(tf.ones([2, 3]))
    np.testing.assert_array_equal(f(tf.ones([2, 2])), np.full((2, 2), 4, np.float32))


ONLY_AT_FIRST = (
    "tf.function only supports singleton tf.Variables created on the first call. "
    "Make sure the tf.Variable is only created once or created outside tf.function"
)


@pytest.mark.parametrize("at_first", [True, False], ids=["and_at_first", "only_then"])
def test_variables_made_in_a_later_trace_are_refused(at_first):
    kept = []

    @tf.function
    def f(x):
        if x.dtype == tf.int32 or at_first and not kept:
            kept.append(tf.Variable(2))
        return x * 2

    assert float(f(tf.constant(1.0))) == 2.0
    for _ in range(2):
        with pytest.raises(ValueError, match=ONLY_AT_FIRST):
            f(tf.constant(1))
    assert float(f(tf.constant(1.0))) == 2.0
    assert len(kept) == at_first


def test_variables_made_in_every_call_are_refused():
    @tf.function
    def f(x):
        return x * tf.Variable(2.0)

    for _ in range(3):
        with pytest.raises(ValueError, match=ONLY_AT_FIRST):
            f(tf.constant(1.0))


def test_a_function_type_has_the_specs_of_a_trace():
    v, weights = tf.Variable(2.0), tf.constant([1.0, 2.0])

    @tf.function
    def f(x, *rest, scale=2, **more):
        return {"sum": x * v + weights, "rest": rest}

    number, whole = tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)
    pair = tf.TensorSpec([2], tf.float32)
    concrete = f.get_concrete_function(tf.constant(1.0), tf.constant(2), 5, other=tf.constant(3))
    found = concrete.function_type
    constraints = {p.name: p.type_constraint for p in found.parameters.values()}
    assert constraints == {"x": number, "rest_0": whole, "rest_1": 5, "scale": 2, "other": whole}
    kinds = [p.kind.name for p in found.parameters.values()]
    assert kinds == ["POSITIONAL_ONLY"] * 3 + ["KEYWORD_ONLY"] * 2
    assert found.output == {"sum": pair, "rest": (whole, tf.TensorSpec([], tf.int32))}
    assert found.flat_inputs == [number, whole, whole]
    assert found.flat_outputs == [whole, whole, pair]
    assert list(found.captures.values()) == [tf.TensorSpec([], tf.resource), pair]


def test_a_function_type_has_the_users_names_only():
    @tf.function
    def f(x, y, z=None):
        return None

    concrete = f.get_concrete_function(tf.TensorSpec([None]), tf.TensorSpec([2], tf.int32, "own"))
    found = concrete.function_type
    assert found.parameters["x"].type_constraint == tf.TensorSpec([None])
    assert found.parameters["y"].type_constraint == tf.TensorSpec([2], tf.int32, "own")
    assert found.parameters["z"].type_constraint is None
    assert found.output is None
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in found.parameters.values())


def test_reasons_number_the_arguments_of_a_star():
    @tf.function
    def f(x, *rest, scale=1):
        return x

    f(tf.constant(1), tf.constant(1), tf.constant(1))
    f(tf.constant(1), tf.constant(1), tf.constant(1.0))
    assert f.retracing_reasons() == ["rest_1: dtype float32, was int32"]


def test_the_users_line_is_in_the_error():
    @tf.function
    def f(x):
        y = x * 2.0
        return tf.matmul(y, y)  # the line that fails

    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)) as caught:
        f(tf.zeros([2, 3]))
    assert "the line that fails" in str(caught.value)


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_a_loops_reverse_is_linear_in_work_and_memory(executor):
    """Counted are bytes and calls; in `auto`, a busy machine compiles in between."""

    def kept(iterations):
        @tf.function
        def f(x):
            return tf.while_loop(
                lambda i, y: i < iterations, lambda i, y: (i + 1, tf.sin(y) * x), (0, x)
            )[1]

        def taped():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape, y

        x = tf.constant(np.full(100, 0.9))
        for _ in range(2):
            tape, y = taped()
            tape.gradient(y, x)
        calls = entered(lambda: (pair := taped())[0].gradient(pair[1], x))
        gc.collect()
        tracemalloc.start()
        try:
            tape, y = taped()
            size = tracemalloc.get_traced_memory()[0]
            tape.gradient(y, x)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return size, peak, calls

    with settings.executor(executor):
        small, large = kept(100), kept(1000)
    assert large[0] < 14 * small[0]
    assert large[1] < 14 * small[1]
    assert large[0] < 1000 * (3 * 800 + 600)  # at most three arrays an iteration
    assert large[2] < 11 * small[2]


def test_an_array_in_an_assertion_is_as_it_was_when_traced():
    wanted = np.array([1.0, 2.0], np.float32)

    @tf.function
    def f(x):
        tf.debugging.assert_equal(x, wanted)
        return x

    x = tf.constant([1.0, 2.0])
    f(x)
    wanted[0] = 7.0
    f(x)
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([7.0, 2.0]))


@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("default", [tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0]), 2.0])
def test_defaults_count_in_repeated_calls(default, given):
    captured, x = tf.constant(1.0), tf.constant([4.0, 8.0])

    @tf.function
    def of_none(y=default):
        return tf.broadcast_to(captured, [2]) + y

    @tf.function
    def of_one(x, y=default):
        return tf.broadcast_to(captured, [2]) + x * y

    function, arguments = (of_one, [x]) if given else (of_none, [])
    expected = 1 + (x if given else 1) * tf.convert_to_tensor(default)
    for _ in range(4):  # a call like one before takes the short way to its trace
        np.testing.assert_allclose(function(*arguments), tf.broadcast_to(expected, [2]))


def test_defaults_count_beside_ragged_arguments():
    rows, shift = tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.constant(1.0)
    function = tf.function(lambda x, y=shift: x.flat_values + y)
    for _ in range(4):
        np.testing.assert_allclose(function(rows), [2.0, 3.0, 4.0])


def test_functions_without_arguments_find_their_trace_at_once(monkeypatch):
    variable = tf.Variable(2.0)
    doubled = tf.function(lambda: 2.0 * variable)
    assert doubled() == 4.0
    monkeypatch.setattr(doubled, "_find", None)
    variable.assign(5.0)
    assert doubled() == 10.0


def kinds_of_arguments():
    x = tf.constant([[1.0, 2.0], [0.0, 4.0]]) + 1.0
    return {
        "tensor": ((x,), [x]),
        "by name": ((), [x]),
        "nest": (({"a": [x, (x,)]},), [x]),
        "ragged": ((tf.RaggedTensor.from_row_splits(x, [0, 1, 2]),), [x]),
        "sparse": ((tf.sparse.from_dense(x),), []),
        "variable": ((tf.Variable(x), x), [x]),
    }


@pytest.mark.parametrize("kind", [*kinds_of_arguments()])
def test_a_trace_does_not_keep_the_arguments_that_made_it(kind):
    """Else the first batch that a function saw would stay in memory as long as the function."""
    function = tf.function(
        lambda *args, **kwargs: [x * 2 for x in tf.nest.flatten(args, expand_composites=True)]
    )
    arguments, arrays = kinds_of_arguments()[kind]
    if kind == "sparse":
        arrays = [arguments[0].values]
    named = {"x": arrays[0]} if kind == "by name" else {}
    held = [weakref.ref(x._array) for x in arrays]
    first = tf.nest.flatten(function(*arguments, **named), expand_composites=True)
    again = tf.nest.flatten(function(*arguments, **named), expand_composites=True)
    assert all(np.array_equal(x, y) for x, y in zip(first, again))
    assert function.experimental_get_tracing_count() == 1
    concrete = function.get_concrete_function(*arguments, **named)
    if kind not in ("by name", "variable"):
        concrete(*arguments)
    del arguments, arrays, named, first, again
    gc.collect()
    assert [array() for array in held] == [None] * len(held)


def test_the_graph_of_a_function_tells_what_it_takes_and_gives():
    """As TensorFlow's FuncGraph, also while it is traced."""
    v, fixed = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    c = tf.constant([1.0, 2.0])
    during = []

    @tf.function(autograph=False)
    def f(x):
        fixed.assign_add(1.0)
        y = x["a"] * v + c
        graph = tf.compat.v1.get_default_graph()
        during.append((len(graph.captures), graph.outputs, graph.structured_outputs))
        return {"y": y, "none": None}

    concrete = f.get_concrete_function({"a": tf.TensorSpec([2], name="a")})
    graph = concrete.graph
    assert during == [(2, [], None)]
    assert graph.name == "f"
    assert [x.dtype for x in graph.inputs] == [tf.float32, tf.resource, tf.float32]
    assert graph.inputs == concrete.inputs and graph.inputs[1:] == graph.internal_captures
    assert graph.external_captures[0] is v.handle and graph.external_captures[1] is c
    assert graph.captures == list(zip(graph.external_captures, graph.internal_captures))
    assert [x.name for x in graph.outputs] == [graph.structured_outputs["y"].name]
    assert graph.structured_outputs["none"] is None
    assert [x is y for x, y in zip(graph.variables, (v, fixed))] == [True, True]
    assert [x is v for x in graph.trainable_variables] == [True]


def test_the_seed_of_a_functions_graph():
    """Recorded from TensorFlow 2.21: the global one, or that of the graph around."""

    def seed_inside():
        return tf.compat.v1.get_default_graph().seed

    def seeds():
        found = []

        @tf.function
        def outer(x):
            found.append(seed_inside())
            tf.function(lambda: found.append(seed_inside()))()
            return tf.cond(x > 0.0, lambda: found.append(seed_inside()) or x, lambda: x)

        found.append(outer.get_concrete_function(tf.TensorSpec([])).graph.seed)
        return found

    tf.random.set_seed(5)
    concrete = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([]))
    assert seeds() == [5, 5, 5, 5]
    tf.random.set_seed(6)
    assert concrete.graph.seed == 5
    with tf.Graph().as_default():
        assert seeds() == [None] * 4
        tf.compat.v1.set_random_seed(77)
        assert seeds() == [77] * 4


def test_a_trace_does_not_keep_the_graph_around():
    double = tf.function(lambda x: 2.0 * x)
    graph = tf.Graph()
    with graph.as_default():
        double(tf.constant(1.0))
        (trace,) = double.all_traces()
        assert trace.graph.outer_graph is graph
    seen = weakref.ref(graph)
    del graph
    gc.collect()
    assert seen() is None
    assert trace(tf.constant(2.0)).numpy() == 4.0
