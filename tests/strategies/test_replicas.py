"""What TensorFlow does not do, or does not show: replicas as threads, one at a time."""

from __future__ import annotations

import gc
import json
import threading
import weakref

import pytest

import talweg as tf
from talweg.core import dispatch
from talweg.trace.options import options


def replicas(count=2):
    return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])


def number():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def values(found):
    return [float(value) for value in found.values]


def test_strategies_of_any_size_work_in_one_process():
    totals = []
    for count in (2, 5, 3):
        context = tf.distribute.get_replica_context
        found = replicas(count).run(lambda: context().all_reduce("SUM", number()))
        totals.append(values(found))
    assert totals == [[1.0] * 2, [10.0] * 5, [3.0] * 3]


@pytest.mark.parametrize("where", ["first", "last", "merge", "after"])
def test_an_error_ends_all_replicas(where):
    strategy, ended = replicas(3), []

    def replica():
        context = tf.distribute.get_replica_context()
        me = int(context.replica_id_in_sync_group)
        try:
            if (where, me) in (("first", 0), ("last", 2)):
                raise KeyError("here")

            def merge(strategy):
                if where == "merge":
                    raise KeyError("here")

            context.merge_call(merge)
            if where == "after" and me == 1:
                raise KeyError("here")
        finally:
            ended.append(me)

    before = threading.active_count()
    with pytest.raises(KeyError, match="here"):
        strategy.run(replica)
    assert threading.active_count() == before
    assert sorted(ended) == ([0] if where == "first" else [0, 1, 2])
    assert strategy.run(lambda: number()).values[2].numpy() == 2.0
    assert not options.replicated and dispatch.context.replica is None


def test_replicas_that_do_not_meet_say_so():
    strategy = replicas()

    def replica():
        if float(number()):
            tf.distribute.get_replica_context().merge_call(lambda strategy: None)

    with pytest.raises(RuntimeError, match="different number of replica_context"):
        strategy.run(replica)


def test_each_replica_has_its_own_scopes():
    strategy, names = replicas(), []

    @tf.function
    def step():
        def replica():
            with tf.name_scope("outer"):
                context = tf.distribute.get_replica_context()
                context.merge_call(lambda strategy: names.append("merge"))
                with tf.name_scope("inner"):
                    names.append(tf.add(number(), 1.0, name="sum").name.rsplit("/", 1)[0])
            return number()

        return strategy.run(replica)

    step()
    assert names == ["merge", "outer/inner", "outer_1/inner"]


def test_what_is_in_force_is_in_force_in_replicas(tmp_path):
    strategy = replicas()
    with tf.summary.create_file_writer(str(tmp_path)).as_default(step=3):
        assert strategy.run(lambda: int(tf.summary.experimental.get_step())) == 3

    @tf.function(autograph=False)
    def plain(x):
        return strategy.run(lambda y: y + number(), (x,))

    assert values(plain(tf.constant(1.0))) == [1.0, 2.0]


def test_a_function_is_traced_once_for_each_replica_and_keeps_its_other_traces():
    strategy, traces = replicas(), []

    @tf.function
    def double(x):
        traces.append(dispatch.context.replica)
        return x * 2.0

    x = tf.constant(1.0)
    double(x)
    for _ in range(3):
        strategy.run(lambda: double(x))
    double(x)
    assert len(traces) == 3 and traces[0] is None


def test_one_tensor_of_a_graph_is_still_each_replicas_own():
    strategy = replicas()

    @tf.function
    def step():
        return strategy.reduce("SUM", strategy.run(lambda: tf.constant(2.0)), axis=None)

    assert float(step()) == 4.0  # equal nodes are one node, and yet there are two replicas


def mirrored(strategy):
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
    strategy.run(lambda: v.assign_add([1.0, 1.0]))
    return v


def test_a_mirrored_variable_goes_without_the_collector():
    strategy = replicas()
    gc.collect()
    gc.disable()
    try:
        parts = [weakref.ref(part) for part in mirrored(strategy).values]
        assert [part() for part in parts] == [None, None]
    finally:
        gc.enable()


def test_slices_of_mirrored_variables_are_written_everywhere():
    strategy = replicas()
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
    v[0].assign(5.0)  # TensorFlow writes only the first part
    assert [part.numpy().tolist() for part in v.values] == [[5.0, 2.0]] * 2


def test_devices_that_cannot_be():
    with pytest.raises(ValueError, match="GPU:0"):
        tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    with pytest.raises(ValueError, match="duplicates"):
        tf.distribute.MirroredStrategy(["CPU:0", "cpu:0"])
    with pytest.raises(ValueError, match="list of device names"):
        tf.distribute.MirroredStrategy("CPU:0")


def test_with_one_replica_nothing_is_wrapped():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        v = tf.Variable(1.0)
    assert type(v) is tf.Variable
    assert float(strategy.run(lambda: v + 1.0)) == 2.0
    assert threading.active_count() == len(threading.enumerate())


def test_a_gradient_outside_of_replicas_explains_itself():
    strategy = replicas()
    with strategy.scope():
        v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = strategy.reduce("SUM", strategy.run(lambda: v * v), axis=None)
    assert tape.gradient(loss, v) is None
    assert "TW3" in str(tape.explain(loss, v))


def test_generators_give_each_replica_numbers_of_its_own():
    strategy = replicas(3)
    with strategy.scope():
        made = tf.random.Generator.from_seed(3)
    first = strategy.run(lambda: made.normal([4])).values
    second = tf.function(lambda: strategy.run(lambda: made.normal([4])))().values
    rows = [part.numpy().tolist() for part in (*first, *second)]
    assert len({tuple(row) for row in rows}) == 6
    states = [part.numpy().tolist() for part in made.state.values]
    assert states == [[3 + 8 * 256, 0, 0]] * 3


def test_a_cluster_of_one_worker_is_this_process(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["one:1"]}}))
    assert tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1


def test_values_that_stand_for_arguments_of_a_trace_are_their_own_specs():
    """Replicas in turn are traced for specs when a step of theirs calls Python."""
    specs = [tf.TensorSpec([2]), tf.TensorSpec([3])]
    values = tf.types.experimental.distributed.PerReplica(specs)
    assert list(values._type_spec.specs) == specs
