"""Small things that the tests of Sonnet, Keras 2 and TensorFlow Recommenders ask of TensorFlow."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as tf1


def test_strategies_unwrap_values_and_take_global_batches():
    for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy()):
        assert strategy.unwrap(3) == (3,)
        assert strategy.extended._global_batch_size


def test_references_have_an_order():
    references = [tf.Variable(float(n)).ref() for n in range(5)]
    ordered = sorted(references)
    assert sorted(reversed(references)) == ordered and set(ordered) == set(references)
    with pytest.raises(TypeError):
        references[0] < 3  # noqa: B015


def test_truth_values_are_axes():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for axis in (True, np.True_, [True], (False, True)):
        axes = tuple(map(int, np.atleast_1d(axis)))
        np.testing.assert_allclose(tf.reduce_sum(x, axis), x.sum(axes))
    np.testing.assert_allclose(tf.nn.moments(x, [False, True])[0], x.mean())
    np.testing.assert_allclose(tf.cumsum(x, True), x.cumsum(1))
    assert tf.argmax(x, True).shape == (2,)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reduce_sum(x, tf.constant(True))


def test_a_functions_spec_says_its_parameters():
    function = tf.function(lambda a, b=2, *rest, c=3, **more: a)
    spec = function.function_spec
    assert spec.arg_names == ["a", "b"] and spec.default_values == {"b": 2, "c": 3}
    assert spec.fullargspec == inspect.FullArgSpec(
        ["a", "b"], "rest", "more", (2,), ["c"], {"c": 3}, {}
    )

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None)])
        def call(self, x, training=False):
            return x

    spec = Model().call.function_spec
    assert spec.arg_names == ["x", "training"] and len(spec.input_signature) == 1


def test_the_python_function_of_a_method_takes_what_the_method_takes():
    """Keras 2 wraps it for a saved model, and looks whether it takes `training`."""

    class Model(tf.Module):
        @tf.function
        def call(self, x):
            return x + 1.0

    model, decorator = Model(), tf.__internal__.decorator
    inner = model.call.python_function
    assert str(inspect.signature(inner)) == "(x)"
    wrapped = decorator.make_decorator(inner, lambda *args, **kwargs: inner(*args, **kwargs))
    assert float(tf.function(wrapped).get_concrete_function(tf.TensorSpec([]))(1.0)) == 2.0
    decorators, target = decorator.unwrap(model.call)
    assert inspect.ismethod(target) and target.__func__ is Model.call.python_function
    assert inspect.getfullargspec(target).args == ["self", "x"]
    assert decorators[-1].decorator_name == "class_method_to_instance_method"


def test_operations_for_gpus_are_traced():
    """Sonnet and Keras 2 trace each layer for GPUs, too; only running it is an error."""
    given = {"input": tf.ones([7, 2, 3]), "params": tf.ones([5])}
    given.update({name: tf.ones([1, 2, 4]) for name in ("input_h", "input_c")})

    def run(operation, **more):
        outputs = operation(**given, **more)
        assert [x.shape.as_list() for x in outputs[:3]] == [[None, None, 4], [1, 2, 4], [1, 2, 4]]
        return outputs

    raw = tf.raw_ops
    lengths = {"sequence_lengths": [7, 7]}
    for operation, more in ((raw.CudnnRNN, {}), (raw.CudnnRNNV2, {}), (raw.CudnnRNNV3, lengths)):
        trace = tf.function(run).get_concrete_function(operation, **more)
        assert len(trace.outputs) == (4 if operation is raw.CudnnRNN else 5)
        for call in (trace, lambda op=operation, kw=more: op(**given, **kw)):
            with pytest.raises(tf.errors.UnimplementedError, match="needs a GPU"):
                call()


def test_a_bound_function_is_a_traced_function():
    class Model(tf.Module):
        @tf.function
        def call(self):
            return 1

    assert isinstance(Model().call, tf.types.experimental.PolymorphicFunction)
    assert isinstance(Model().call, type(tf.function(lambda: 1)))


def test_a_graph_numbers_the_scopes_of_modules():
    def scopes():
        outer = tf.Module("badger")
        with outer.name_scope:
            return outer.name_scope.name, tf.Module("badger").name_scope.name

    assert scopes() == scopes() == ("badger/", "badger/badger/")
    with tf.Graph().as_default():
        assert scopes() == ("badger/", "badger/badger/")
        assert scopes() == ("badger_1/", "badger_1/badger/")


def test_sizes_in_lists_may_be_floats_of_a_graph():
    @tf.function
    def make(n):
        return (
            tf.tile([[1.0]], [n, 2]),
            tf.ones([n, 2]),
            tf.zeros([n, 2]),
            tf.fill([n, 2], 1.0),
            tf.broadcast_to(1.0, [n, 2]),
        )

    for result in make(tf.constant(3.0)):
        assert result.shape == (3, 2)


def test_operations_know_what_waits_for_them():
    with tf.Graph().as_default():
        first, x = tf1.no_op("first"), tf1.placeholder(tf.float32, [])
        with tf.control_dependencies([first]):
            second = x + 1.0
        assert first._control_outputs == [second.op] and second.op._control_outputs == []


def test_a_step_of_an_optimizer_is_an_operation_in_a_function():
    variable = tf.Variable([1.0, 2.0])
    found = []

    @tf.function
    def step():
        made = tf.raw_ops.ResourceApplyGradientDescent(
            var=variable.handle, alpha=1.0, delta=[1.0, 1.0]
        )
        found.append(made)
        with tf.control_dependencies([tf.group([made])]):
            return variable.read_value()

    np.testing.assert_allclose(step(), [0.0, 1.0])
    assert isinstance(found[0], tf.Operation)
    eager = tf.raw_ops.ResourceApplyGradientDescent(
        var=variable.handle, alpha=1.0, delta=[1.0, 1.0]
    )
    assert eager is None


def test_the_seed_set_in_a_graph_is_that_of_the_graph():
    tf.random.set_seed(1)
    first = tf.random.normal([2])
    tf.random.set_seed(1)

    @tf.function
    def draw():
        tf.random.set_seed(5)
        return tf.random.normal([2])

    draw()
    np.testing.assert_array_equal(tf.random.normal([2]), first)
    with tf.Graph().as_default() as graph:
        tf.random.set_seed(5)
        assert graph.seed == 5
        tf1.set_random_seed(6)
        assert graph.seed == 6


def test_specs_of_ragged_tensors_have_flat_values_that_are_tensors():
    assert tf.RaggedTensorSpec([None, None], tf.int32).flat_values_spec is None


def test_a_concatenation_has_its_axis_as_the_last_input():
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        x, other = tf.constant([[1.0], [2.0]]), tf.constant([[3.0], [4.0]])

        @tf.RegisterGradient("DoubledConcat")
        def doubled(op, grad):
            assert session.run(op.inputs[-1]) == 1 and len(op.inputs) == 3
            return [*[2 * g for g in tf1.gradients(op.outputs, list(op.inputs[:-1]), grad)], None]

        with graph.gradient_override_map({"ConcatV2": "DoubledConcat"}):
            y = tf.concat([x, other], 1)
        np.testing.assert_array_equal(session.run(tf1.gradients(y, x)[0]), [[2.0], [2.0]])


def test_a_test_can_be_set_up_again_inside_a_graph():
    class Twice(tf.test.TestCase):
        def runTest(self):
            with tf1.Graph().as_default() as graph:
                self.setUp()  # as TensorFlow Datasets does
                assert tf1.get_default_graph() is graph

    outcome = Twice().run()
    assert outcome is not None and outcome.wasSuccessful(), outcome
