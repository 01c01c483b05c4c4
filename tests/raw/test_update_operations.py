"""Raw operations that update variables return operations in graphs, as TensorFlow's do."""

import inspect

import numpy as np
import pytest

import talweg as tf

V1 = tf.compat.v1
NUMBERS = """lr alpha delta l1 l2 momentum rho epsilon beta1 beta2 beta1_power beta2_power lr_power
logbase sign_decay beta l2_shrinkage"""
SLOTS = """accum m v vhat ms mom mg linear accum_update gradient_accumulator
gradient_squared_accumulator"""
NAMES = [
    name
    for name in dir(tf.raw_ops)
    if name.startswith(("ResourceApply", "ResourceSparseApply", "ResourceScatter"))
    or (name.startswith("Assign") and name.endswith("VariableOp"))
]


def arguments(name, make):
    """Arguments of an update, and the variables that `make` makes for them."""
    given, variables = {}, []
    for parameter in inspect.signature(getattr(tf.raw_ops, name)).parameters:
        if parameter in ("var", "resource", "ref", *SLOTS.split()):
            variables.append(make([0.5, 0.25]))
            given[parameter] = variables[-1].handle
        elif parameter in ("grad", "updates", "value"):
            given[parameter] = tf.constant([0.1, 0.2])
        elif parameter == "indices":
            given[parameter] = tf.constant([[0], [1]] if "Nd" in name else [0, 1])
        elif parameter in NUMBERS.split():
            given[parameter] = tf.constant(0.5)
        elif parameter == "global_step":
            given[parameter] = tf.constant(1, tf.int64)
    return given, variables


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_to_wait_for(name):
    """Keras 2's old optimizers group what these return: it was None in functions."""
    call = getattr(tf.raw_ops, name)
    given, made = arguments(name, tf.Variable)
    assert call(**given) is None
    wanted = made[0].numpy()
    given, made = arguments(name, tf.Variable)

    @tf.function(autograph=False)
    def update():
        operation = call(**given)
        assert isinstance(operation, tf.Operation)
        with tf.control_dependencies([tf.group(operation)]):
            return made[0].read_value()

    np.testing.assert_array_equal(update(), wanted)


@pytest.mark.parametrize("name", NAMES)
def test_sessions_run_it(name):
    """The updates of ResourceScatterNd... and slices were lost: nothing was there to run."""
    given, made = arguments(name, tf.Variable)
    getattr(tf.raw_ops, name)(**given)
    wanted = made[0].numpy()
    with tf.Graph().as_default(), V1.Session() as session:
        given, made = arguments(name, lambda value: V1.Variable(value, use_resource=True))
        operation = getattr(tf.raw_ops, name)(**given)
        session.run(V1.global_variables_initializer())
        session.run(operation)
        np.testing.assert_array_equal(session.run(made[0]), wanted)


def test_slices():
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function(autograph=False)
    def overwrite():
        operation = tf.raw_ops.ResourceStridedSliceAssign(
            ref=v.handle, begin=[0], end=[2], strides=[1], value=[9.0, 8.0]
        )
        with tf.control_dependencies([operation]):
            return v.read_value()

    assert overwrite().numpy().tolist() == [9.0, 8.0, 3.0]
    with tf.Graph().as_default(), V1.Session() as session:
        w = V1.Variable([1.0, 2.0, 3.0], use_resource=True)
        operation = tf.raw_ops.ResourceStridedSliceAssign(
            ref=w.handle, begin=[1], end=[2], strides=[1], value=[9.0]
        )
        session.run(V1.global_variables_initializer())
        session.run(operation)
        assert session.run(w).tolist() == [1.0, 9.0, 3.0]


@pytest.mark.parametrize("name", ["PrintV2", "Assert"])
def test_other_effects(name, capfd):
    @tf.function(autograph=False)
    def act():
        if name == "PrintV2":
            operation = tf.raw_ops.PrintV2(input="hello")
        else:
            operation = tf.raw_ops.Assert(condition=tf.constant(True), data=[tf.constant(1.0)])
        assert isinstance(operation, tf.Operation)
        with tf.control_dependencies([operation]):
            return tf.constant(1.0) + 1.0

    assert act().numpy() == 2.0


def test_proximal_descent_of_rows():
    """Recorded from TensorFlow 2.21."""
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    tf.raw_ops.ResourceSparseApplyProximalGradientDescent(
        var=v.handle, alpha=0.5, l1=0.1, l2=0.2, grad=[[0.1, 0.2], [0.3, 0.4]], indices=[2, 0]
    )
    wanted = [[0.72727275, 1.590909], [3.0, 4.0], [4.454545, 5.3181815]]
    np.testing.assert_allclose(v, wanted, rtol=1e-6)
