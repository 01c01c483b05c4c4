"""SessionManager, Supervisor, SyncReplicasOptimizer and replica_device_setter, as TensorFlow's."""

import os
import threading

import pytest

import talweg.compat.v1 as tf

PS = {"ps": ["a:1", "b:1", "c:1"], "worker": ["d:1"]}


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


# -- devices; what is noted is TensorFlow's


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"ps_tasks": 2}, ["ps/task:0", "ps/task:1", "worker", "ps/task:0", "ps/task:5"]),
        (
            {"ps_tasks": 2, "worker_device": "/job:worker/task:3"},
            ["ps/task:0", "ps/task:1", "worker/task:3", "ps/task:0", "ps/task:5"],
        ),
        ({"cluster": PS}, ["ps/task:0", "ps/task:1", "worker", "ps/task:2", "ps/task:5"]),
        (
            {"ps_tasks": 3, "ps_strategy": lambda op: 1},
            ["ps/task:1", "ps/task:1", "worker", "ps/task:1", "ps/task:5"],
        ),
    ],
)
def test_devices_in_turn(options, wanted):
    with tf.device(tf.train.replica_device_setter(**options)):
        a, b = tf.get_variable("a", []), tf.get_variable("b", [])
        total, d = a + b, tf.get_variable("d", [])
        with tf.device("/task:5"):
            f = tf.get_variable("f", [])
    assert [x.device for x in (a, b, total, d, f)] == [f"/job:{device}" for device in wanted]


def test_no_parameter_servers():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["d:1"]}) is None
    with pytest.raises(TypeError):
        tf.train.replica_device_setter(ps_tasks=2, ps_strategy=3)
    setter = tf.train.replica_device_setter(ps_tasks=2, merge_devices=False)
    with tf.device(setter), tf.device("/task:5"):
        assert tf.get_variable("f", []).device == "/task:5"


# -- sessions


def test_session_manager(tmp_path):
    tf.Variable(1.0, name="v")
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.05)
    init, saver, folder = tf.global_variables_initializer(), tf.train.Saver(), str(tmp_path)
    assert manager.recover_session("", saver=saver, checkpoint_dir=folder)[1] is False
    session = manager.prepare_session("", init_op=init, saver=saver, checkpoint_dir=folder)
    saver.save(session, folder + "/m")
    restored, whether = manager.recover_session("", saver=saver, checkpoint_dir=folder)
    assert (whether, restored.run("v:0")) == (True, 1.0)
    with pytest.raises(tf.errors.DeadlineExceededError):
        manager.wait_for_session("", max_wait_secs=0.1)
    with pytest.raises(RuntimeError, match="no init_op or init_fn"):
        manager.prepare_session("")
    with pytest.raises(RuntimeError, match="did not make model ready"):
        manager.prepare_session("", init_fn=lambda session: None)


def test_supervisor_saves_and_goes_on(tmp_path):
    step, v = tf.train.get_or_create_global_step(), tf.Variable(1.0)
    tf.summary.scalar("v", v)
    train = tf.group(step.assign_add(1), v.assign_add(2.0))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with supervisor.managed_session() as session:
        for _ in range(3):
            session.run(train)
        supervisor.saver.save(session, supervisor.save_path, global_step=step)
    assert supervisor.ShouldStop()
    kinds = {name.split(".")[0] for name in os.listdir(tmp_path)}
    assert kinds == {"checkpoint", "events", "graph", "model"}
    with supervisor.PrepareSession(start_standard_services=False) as session:
        assert session.run([step, v]) == [3, 7.0]


def test_errors_of_supervised_programs():
    tf.Variable(1.0)
    supervisor = tf.train.Supervisor()
    with pytest.raises(ValueError, match="mine"), supervisor.managed_session():
        raise ValueError("mine")
    with supervisor.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "the end")


def test_without_initialization():
    tf.Variable(1.0)
    supervisor = tf.train.Supervisor(init_op=None)
    wanted = pytest.raises(RuntimeError, match="did not make model ready")
    with wanted, supervisor.managed_session():
        pass


def test_basic_train_loop():
    v, seen = tf.Variable(1.0), []
    supervisor = tf.train.Supervisor()

    def step(session, a, b=0):
        seen.append((float(session.run(v)), a, b))
        if len(seen) == 2:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, step, args=(1,), kwargs={"b": 2})
    assert seen == [(1.0, 1, 2)] * 2


# -- replicas


def _descent(replicas):
    step, v, x = (
        tf.train.get_or_create_global_step(),
        tf.Variable([1.0, 2.0]),
        tf.placeholder("float"),
    )
    inner = tf.train.GradientDescentOptimizer(0.1)
    sync = tf.train.SyncReplicasOptimizer(inner, replicas)
    train = sync.minimize(tf.reduce_sum(v * x), global_step=step)
    return sync, train, step, v, x


def test_one_replica():
    sync, train, step, v, x = _descent(1)
    hook = sync.make_session_run_hook(is_chief=True, num_tokens=0)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            session.run(train, {x: 1.0})
        values = session.run([step, v])
    assert values[0] == 3
    assert values[1] == pytest.approx([0.7, 1.7])


def test_two_replicas_are_averaged():
    """Each step takes the mean of 1 and 3."""
    sync, train, step, v, x = _descent(2)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(sync.chief_init_op)
        apply = sync.get_chief_queue_runner().enqueue_ops
        runs = [(apply, {}), (train, {x: 1.0}), (train, {x: 3.0})]
        threads = [threading.Thread(target=session.run, args=run, daemon=True) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert session.run(step) == 1
        assert session.run(v) == pytest.approx([0.8, 1.8])


def test_what_sync_replicas_refuses():
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2)
    for call in (sync.get_chief_queue_runner, sync.get_init_tokens_op):
        with pytest.raises(ValueError, match="after apply_gradients"):
            call()
    with pytest.raises(ValueError, match="at least one variable"):
        sync.apply_gradients([])
    with pytest.raises(ValueError, match="Global step is required"):
        sync.minimize(tf.Variable(1.0) * 2.0)
