"""Writers that are killed at every step: what was there before is whole, or the new is.

A forked process writes something a second time and is killed before its n-th call that changes the
file system (as Python's audit events tell of them), for every n, and at sizes of the files that it
writes, by the kernel's limit.  The next write sweeps up what it left.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Callable

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
SIZES = (0, 1, 100, 4096, 20_000)  # of a file at which its writer is killed
VALUES = 6000  # float32: six pages


def run_killed(write: Callable[[], None], step: int | None, size: int | None = None) -> bool:
    """Whether `write` came to its end in a process that is killed at a step or a size."""
    child = os.fork()
    if not child:
        done = 0

        def kill(event: str, arguments: tuple) -> None:
            nonlocal done
            opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
            if event in CHANGES or opens:
                if done == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                done += 1

        try:
            if size is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            sys.addaudithook(kill)
            write()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the writer raised"
    return not os.WIFSIGNALED(status)


def values(number: float) -> np.ndarray:
    return np.full(VALUES, number, "float32")


def checkpoint(path, number):
    tf.train.Checkpoint(a=tf.Variable(values(number)), b=tf.Variable(number)).write(f"{path}/ck")


def read_checkpoint(path):
    a, b = tf.Variable(values(0.0)), tf.Variable(0.0)
    tf.train.Checkpoint(a=a, b=b).read(f"{path}/ck").assert_consumed()
    return [*np.unique(a.numpy()), b.numpy()]


def managed(path, number):
    kept = tf.train.Checkpoint(a=tf.Variable(values(number)))
    tf.train.CheckpointManager(kept, str(path), max_to_keep=1).save(int(number))


def read_managed(path):
    a = tf.Variable(values(0.0))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(a=a), str(path), max_to_keep=1)
    assert manager.restore_or_initialize() is not None
    return [*np.unique(a.numpy())]


def saver(path, number):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("a", initializer=values(number))
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, f"{path}/model")


def read_saver(path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        a = v1.get_variable("a", [VALUES])
        v1.train.Saver().restore(session, v1.train.latest_checkpoint(str(path)))
        return [*np.unique(session.run(a))]


def saved_model(path, number):
    module = tf.Module()
    module.a = tf.Variable(values(number))
    tf.saved_model.save(module, f"{path}/model")


def read_saved_model(path):
    return [*np.unique(tf.saved_model.load(f"{path}/model").a.numpy())]


def dataset(path, number):
    tf.data.Dataset.from_tensor_slices(values(number)[:500]).save(f"{path}/data")


def read_dataset(path):
    return [*np.unique(list(tf.data.Dataset.load(f"{path}/data").as_numpy_iterator()))]


def graph(path, number):
    with tf.Graph().as_default() as made:
        tf.constant(values(number)[:99] * (np.arange(99) % 2), name="a")
    tf.io.write_graph(made, str(path), "graph.pb", as_text=False)


def read_graph(path):
    message = tf.compat.v1.GraphDef.FromString((path / "graph.pb").read_bytes())
    (node,) = [node for node in message.node if node.name == "a"]
    return [tf.make_ndarray(node.attr["value"].tensor).max()]


def file(path, number):
    tf.io.write_file(f"{path}/file", values(number).tobytes())


def read_file(path):
    return [*np.unique(tf.io.decode_raw(tf.io.read_file(f"{path}/file"), tf.float32))]


WRITERS = {
    "checkpoint": (checkpoint, read_checkpoint),
    "manager": (managed, read_managed),
    "saver": (saver, read_saver),
    "saved model": (saved_model, read_saved_model),
    "dataset": (dataset, read_dataset),
    "graph": (graph, read_graph),
    "file": (file, read_file),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_killed_writer_leaves_the_old_or_the_new(kind, tmp_path):
    write, read = WRITERS[kind]
    seen, number, killed = set(), 1.0, 0
    write(tmp_path, number)
    for step, size in [*((n, None) for n in range(200)), *((None, size) for size in SIZES)]:
        done = run_killed(lambda: write(tmp_path, number + 1), step, size)
        found = set(read(tmp_path))
        assert found in ({number}, {number + 1}), (step, size)
        assert not done or found == {number + 1}
        seen.add(found == {number})
        killed += not done
        number += 1
        write(tmp_path, number)  # and so the next begins with the old one, without litter
        assert set(read(tmp_path)) == {number}
        assert not [p for p in tmp_path.rglob(".*") if p.name.endswith(".part")], (step, size)
        if done and size is None:
            break
    assert killed >= 3 and True in seen, "nobody was killed"


def test_a_killed_cache_is_made_again(tmp_path):
    path = str(tmp_path / "cache")

    def write():
        list(tf.data.Dataset.from_tensor_slices(values(2.0)[:500]).cache(path))

    for step in range(50):
        done = run_killed(write, step)
        kept = tf.data.Dataset.from_tensor_slices(values(3.0)[:500]).cache(path)
        whole = (tmp_path / "cache.index").exists()
        assert set(kept.as_numpy_iterator()) == ({2.0} if whole else {3.0})
        if done:
            assert step > 2
            return
        for part in tmp_path.iterdir():
            part.unlink()
    raise AssertionError("never came to an end")


def test_saved_models_keep_what_else_is_in_their_folder(tmp_path):
    saved_model(tmp_path, 1.0)
    (tmp_path / "model" / "mine").write_text("mine")
    (tmp_path / "model" / "below").mkdir()
    (tmp_path / "model" / "below" / "too").write_text("mine")
    saved_model(tmp_path, 2.0)
    assert read_saved_model(tmp_path) == [2.0]
    assert (tmp_path / "model" / "mine").read_text() == "mine"
    assert (tmp_path / "model" / "below" / "too").read_text() == "mine"
    assert os.listdir(tmp_path) == ["model"]


def test_two_writers_at_once_leave_one_of_both(tmp_path):
    checkpoint(tmp_path, 1.0)
    children = []
    for number in (2.0, 3.0, 4.0):
        child = os.fork()
        if not child:
            try:
                for _ in range(5):
                    file(tmp_path, number)
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert read_file(tmp_path) in ([2.0], [3.0], [4.0])
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_killed_records_are_a_beginning(kind, tmp_path):
    path, data = str(tmp_path / "records"), [os.urandom(300) for _ in range(60)]

    def write():
        with tf.io.TFRecordWriter(path, kind) as writer:
            for record in data:
                writer.write(record)
                writer.flush()

    for size in (*SIZES, 7777, 12_345):
        assert not run_killed(write, None, size) or size >= 20_000
        found = []
        with contextlib.suppress(tf.errors.DataLossError):
            found += tf.data.TFRecordDataset(path, kind).as_numpy_iterator()
        assert found == data[: len(found)]
        assert kind or len(found) >= min(60, size // 316)


def test_killed_summaries_are_a_beginning(tmp_path):
    def write():
        with tf.summary.create_file_writer(str(tmp_path)).as_default() as writer:
            for step in range(100):
                tf.summary.text("text", str(step) * 50, step=step)
                writer.flush()

    for size in (100, 1000, 4096, 10_000):
        run_killed(write, None, size)
        (path,) = tmp_path.iterdir()
        steps = []
        with contextlib.suppress(tf.errors.DataLossError):
            for event in tf.compat.v1.train.summary_iterator(str(path)):
                steps += [event.step] if event.summary.value else []
        assert steps == list(range(len(steps))) and (size < 1000 or steps)
        path.unlink()


def test_a_killed_compile_cache_is_whole_or_made_anew(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    x = tf.constant([1.0, 2.0])

    def write():
        with settings.executor("llvm"), settings.cache(str(folder)):
            tf.function(lambda y: tf.sin(y) * 2.0 + tf.cos(y))(x)

    for step in range(50):
        done = run_killed(write, step)
        with settings.executor("llvm"), settings.cache(str(folder)):
            found = tf.function(lambda y: tf.sin(y) * 2.0 + tf.cos(y))(x)
        np.testing.assert_allclose(found, np.sin(x) * 2 + np.cos(x), rtol=1e-6)
        if done:
            assert step > 1
            return
        for part in folder.iterdir():
            part.unlink()
    raise AssertionError("never came to an end")
