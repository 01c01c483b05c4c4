"""What `assign` and the like return in a graph: a variable behind its update, as in TensorFlow."""

import pytest

import talweg
import talweg.compat.v1 as tf


@pytest.fixture
def session():
    """A session of a new graph."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def resource(session, value=1.0, **options):
    """A variable that has its first value."""
    v = tf.Variable(value, name="v", **options)
    session.run(v.initializer)
    return v


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.assign([3.0, 4.0]),
        lambda v: v.assign_add([2.0, 2.0]),
        lambda v: tf.assign_sub(v, [-2.0, -2.0]),
        lambda v: tf.scatter_update(v, [0, 1], [3.0, 4.0]),
        lambda v: tf.scatter_nd_add(v, [[0], [1]], [2.0, 2.0]),
        lambda v: v.scatter_add(talweg.IndexedSlices([2.0, 2.0], [0, 1])),
        lambda v: v[:].assign([3.0, 4.0]),
    ],
)
def test_an_update_of_a_resource_variable_is_a_variable(session, change):
    v = resource(session, [1.0, 2.0])
    changed = change(v)
    assert isinstance(changed, talweg.Variable)
    assert not isinstance(changed, (talweg.Tensor, tf.Variable))
    assert changed.initializer is None and changed.trainable and changed.handle is v.handle
    assert session.run(changed.op) is None
    session.run(v.initializer)
    assert session.run(changed).tolist() == [3.0, 4.0]
    session.run(v.initializer)
    assert session.run(changed * 2.0).tolist() == [6.0, 8.0]
    assert [each.name for each in tf.global_variables()] == ["v:0"]


def test_its_printed_form_is_the_operations(session):
    changed = resource(session).assign_add(2.0)
    assert repr(changed) == "<tf.Variable 'AssignAddVariableOp' shape=() dtype=float32>"
    assert changed.name == changed.op.name == "AssignAddVariableOp"


@pytest.mark.parametrize("options", [{"use_resource": False}, {"read_value": False}])
def test_reference_variables_give_tensors_and_unread_updates_operations(session, options):
    v = resource(session, use_resource=options.get("use_resource"))
    changed = v.assign_add(2.0, read_value=options.get("read_value", True))
    assert type(changed) is (tf.Operation if "read_value" in options else type(v * 2.0))


def test_disabled_resource_variables_give_tensors(session):
    tf.disable_resource_variables()
    try:
        v, w = tf.Variable(1.0), tf.get_variable("w", [])
    finally:
        tf.enable_resource_variables()
    assert tf.is_tensor(v.assign(2.0)) and not isinstance(v.assign(2.0), talweg.Variable)
    assert not isinstance(tf.assign(w, 2.0), talweg.Variable)
    assert isinstance(tf.Variable(1.0).assign(2.0), talweg.Variable)


def test_updates_in_a_chain_come_one_after_the_other(session):
    v = resource(session)
    chained = v.assign(3.0).assign_add(4.0).assign_sub(5.0)
    assert session.run(chained) == 2.0
    assert session.run(tf.assign_add(tf.assign(v, 10.0), 1.0)) == 11.0
    assert session.run(v) == 11.0


def test_a_read_of_it_waits_for_the_update(session):
    v = resource(session)
    first = v.assign_add(1.0)
    assert session.run(first.read_value()) == 2.0
    assert session.run(first.value()) == 3.0
    with tf.control_dependencies([first]):
        behind = tf.constant(5.0)
    assert session.run(behind) == 5.0 and session.run(v) == 4.0
    session.run(tf.group(first, v.assign_add(1.0)))
    assert session.run(v) == 6.0


def test_gradients_go_through_it_to_the_variable(session):
    v = resource(session)
    changed = v.assign_add(1.0)
    assert session.run(tf.gradients(changed * changed, [v])) == [4.0]


def test_a_finalized_graph_runs_it(session):
    v = resource(session)
    changed = v.assign_add(1.0)
    tf.get_default_graph().finalize()
    assert session.run([changed, changed]) == [2.0, 2.0]


def test_what_it_has_of_the_variable_and_what_it_has_not(session):
    v = resource(session)
    changed = v.assign(3.0)
    assert changed.initial_value is v.initial_value
    assert changed.to_proto() == v.to_proto()
    assert session.run(changed.initialized_value()) == 3.0
    with pytest.raises(TypeError, match="var_list has .*AssignVariableOp.* no initializer"):
        tf.variables_initializer([v, changed])
    with pytest.raises(ValueError, match="AssignVariableOp.*of shape .*2"):
        changed.assign([1.0, 2.0])


def test_dropped_updates_leave_no_nodes(session):
    v, graph = resource(session), tf.get_default_graph()
    before = len(graph.get_operations())
    for number in range(20):
        session.run(v.assign(float(number)).assign_add(1.0) * 2.0)
    assert len(graph.get_operations()) <= before + 2
