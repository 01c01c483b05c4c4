"""Writers killed, or without room, at each system call in turn: the old or the new is whole."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import cache
from tests.faults import system_calls, test_kills
from tests.faults.test_kills import VALUES, values

pytestmark = pytest.mark.skipif(not system_calls.WORKS, reason="calls are traced on Linux, x86-64")
v1 = tf.compat.v1


def sharded(path, number):
    options = tf.train.CheckpointOptions(
        experimental_sharding_callback=tf.train.experimental.MaxShardSizePolicy(VALUES)
    )
    tf.train.Checkpoint(a=tf.Variable(values(number))).write(f"{path}/ck", options)


def read_sharded(path):
    a = tf.Variable(values(0.0))
    tf.train.Checkpoint(a=a).read(f"{path}/ck").assert_consumed()
    return [*np.unique(a.numpy())]


def other_shards(path, number):
    """In one file, in two and more, in turn."""
    (sharded if number % 2 else test_kills.checkpoint)(path, number)


def read_other_shards(path):
    try:
        return test_kills.read_checkpoint(path)
    except AssertionError:  # it has no `b`
        return read_sharded(path)


def meta_graph(path, number):
    with tf.Graph().as_default():
        tf.constant(values(number)[:99] * (np.arange(99) % 2), name="a")
        v1.train.export_meta_graph(f"{path}/graph.meta")


def read_meta_graph(path):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.train.import_meta_graph(f"{path}/graph.meta")
        return [session.run(graph.get_tensor_by_name("a:0")).max()]


def simple_save(path, number):
    """A SavedModel of the first generation, built anew in the place of an older one's."""
    module = tf.Module()
    module.f = tf.function(lambda x: x * values(number), input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(module, f"{path}/model")


def read_simple_save(path):
    return [*np.unique(tf.saved_model.load(f"{path}/model").f(1.0).numpy())]


def sharded_saver(path, number):
    with tf.Graph().as_default(), v1.Session() as session:
        a = v1.get_variable("a", initializer=values(number))
        session.run(a.initializer)
        v1.train.Saver([a], sharded=True, max_to_keep=1).save(session, f"{path}/model", 1)


def of_a_mesh(path, number):
    dtensor = tf.experimental.dtensor
    mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    dtensor.name_based_save(mesh, f"{path}/ck", {"a": values(number), "b": number})


def read_of_a_mesh(path):
    reader = tf.train.load_checkpoint(f"{path}/ck")
    return [*np.unique(reader.get_tensor("a")), reader.get_tensor("b")]


WRITERS = {
    **test_kills.WRITERS,
    "sharded saver": (sharded_saver, test_kills.read_saver),
    "checkpoint of a mesh": (of_a_mesh, read_of_a_mesh),
    "sharded checkpoint": (sharded, read_sharded),
    "checkpoints of other numbers of files": (other_shards, read_other_shards),
    "meta graph": (meta_graph, read_meta_graph),
    "saved function": (simple_save, read_simple_save),
}


FAILS = system_calls.WRITES.values()


def litter(path):
    return [p for p in path.rglob(".*") if p.name.endswith(".part")]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_writer_that_is_killed_before_a_call_leaves_the_old_or_the_new(kind, tmp_path):
    """What is left of all those that were killed is swept up by the one that comes to its end."""
    write, read = WRITERS[kind]
    number, seen, step = 1.0, [], 0
    write(tmp_path, number)
    while True:
        traced = system_calls.Traced(lambda: write(tmp_path, number + 1), tmp_path)
        status = traced.run(step)
        found = set(read(tmp_path))
        assert found in ({number}, {number + 1}), (step, traced.calls)
        if status == 0:
            assert found == {number + 1}
            break
        assert status < 0, (step, traced.calls)
        seen.append(found == {number})
        (number,) = found
        step += 1
    assert not litter(tmp_path), traced.calls
    assert len(seen) >= 4 and True in seen and "write" in traced.calls


@pytest.mark.parametrize("kind", WRITERS)
def test_a_writer_whose_disk_is_full_from_a_call_on_leaves_the_old_or_the_new(kind, tmp_path):
    write, read = WRITERS[kind]
    number, step = 1.0, 0
    write(tmp_path, number)
    while True:
        traced = system_calls.Traced(lambda: write(tmp_path, number + 1), tmp_path)
        status = traced.run(step, fails=True)
        found = set(read(tmp_path))
        assert status in (0, 2), (step, traced.calls)
        assert found in ({number + 1}, {number} if status == 2 else {number + 1}), traced.calls
        assert not litter(tmp_path)
        if step >= len(traced.calls):
            assert status == 0
            break
        (number,) = found
        writes = [k for k, call in enumerate(traced.calls) if k >= step and call in FAILS]
        step = writes[0] + 1 if writes else len(traced.calls)


def test_killed_caches_are_made_again(tmp_path):
    path, step = str(tmp_path / "cache"), 0

    def write():
        list(tf.data.Dataset.from_tensor_slices(values(2.0)[:500]).cache(path))

    while True:
        status = system_calls.Traced(write, tmp_path).run(step)
        kept = tf.data.Dataset.from_tensor_slices(values(3.0)[:500]).cache(path)
        whole = (tmp_path / "cache.index").exists()
        assert set(kept.as_numpy_iterator()) == ({2.0} if whole else {3.0})
        for part in tmp_path.iterdir():
            part.unlink()
        if status == 0:
            break
        step += 1
    assert step > 4


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_killed_records_are_a_beginning(kind, tmp_path):
    path, step = str(tmp_path / "records"), 0
    data = [np.random.default_rng(i).bytes(300) for i in range(12)]

    def write():
        with tf.io.TFRecordWriter(path, kind) as writer:
            for record in data:
                writer.write(record)
                writer.flush()

    while True:
        status = system_calls.Traced(write, tmp_path).run(step)
        found = []
        with contextlib.suppress(tf.errors.DataLossError, tf.errors.NotFoundError):
            found += tf.data.TFRecordDataset(path, kind).as_numpy_iterator()
        assert found == data[: len(found)]
        if status == 0:
            break
        assert kind or len(found) >= step - 1  # after its creation, a record a call
        step += 1
    assert len(found) == 12 and step >= 12


def test_killed_summaries_are_a_beginning(tmp_path):
    step = 0

    def write():
        with tf.summary.create_file_writer(str(tmp_path)).as_default() as writer:
            for number in range(12):
                tf.summary.scalar("x", 0.5, step=number)
                writer.flush()

    while True:
        status = system_calls.Traced(write, tmp_path).run(step)
        steps = []
        for path in tmp_path.iterdir():
            with contextlib.suppress(tf.errors.DataLossError):
                for event in v1.train.summary_iterator(str(path)):
                    steps += [event.step] if event.summary.value else []
            path.unlink()
        assert steps == list(range(len(steps)))
        if status == 0:
            break
        step += 1
    assert len(steps) == 12 and step >= 12


def test_killed_compile_caches_are_whole_or_made_anew(tmp_path):
    folder, step = tmp_path / "cache", 0
    folder.mkdir(mode=0o700)
    x = tf.constant([1.0, 2.0])

    def call():
        with settings.executor("llvm"), settings.cache(str(folder)):
            return tf.function(lambda y: tf.sin(y) * 2.0 + tf.cos(y))(x)

    while True:
        status = system_calls.Traced(call, folder).run(step)
        np.testing.assert_allclose(call(), np.sin(x) * 2 + np.cos(x), rtol=1e-6)
        for part in folder.iterdir():
            part.unlink()
        if status == 0:
            break
        step += 1
    assert step >= 3


def one_record(path):
    with tf.io.TFRecordWriter(f"{path}/records") as writer:
        for number in range(3):
            writer.write(bytes([number]) * 9)
            writer.flush()


def read_records(path):
    with contextlib.suppress(tf.errors.DataLossError):
        for number, record in enumerate(tf.data.TFRecordDataset(f"{path}/records")):
            assert record.numpy() == bytes([number]) * 9


def one_summary(path):
    with tf.summary.create_file_writer(str(path)).as_default() as writer:
        for number in range(3):
            tf.summary.scalar("x", 0.5, step=number)
            writer.flush()


def read_summaries(path):
    steps = []
    with contextlib.suppress(tf.errors.DataLossError):
        for event in v1.train.summary_iterator(str(next(path.iterdir()))):
            steps += [event.step] if event.summary.value else []
    assert steps == list(range(len(steps)))


def one_cache(path):
    list(tf.data.Dataset.from_tensor_slices(values(2.0)[:99]).cache(f"{path}/cache"))


def read_cache(path):
    kept = tf.data.Dataset.from_tensor_slices(values(3.0)[:99]).cache(f"{path}/cache")
    assert set(kept.as_numpy_iterator()) in ({2.0}, {3.0})


def one_entry(path):
    with settings.cache(str(path)):
        if not cache.put(b"key", b"code" * 99):
            raise tf.errors.ResourceExhaustedError(None, None, "it is not kept, without a word")


def read_entry(path):
    with settings.cache(str(path)):
        assert cache.get(b"key") in (None, b"code" * 99)


STREAMS = {
    "records": (one_record, read_records),
    "summaries": (one_summary, read_summaries),
    "cache of a dataset": (one_cache, read_cache),
    "compile cache": (one_entry, read_entry),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_whose_disk_is_full_from_a_call_on_is_a_beginning(kind, tmp_path):
    (write, read), step, failed = STREAMS[kind], 0, 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir(mode=0o700)
        write(folder)  # what it loads is there
        for path in folder.iterdir():
            path.unlink()
        traced = system_calls.Traced(lambda at=folder: write(at), folder)
        status = traced.run(step, fails=True)
        assert status in (0, 2), traced.calls
        read(folder)
        failed += status == 2
        if step >= len(traced.calls):
            assert status == 0 and failed
            break
        step += 1
