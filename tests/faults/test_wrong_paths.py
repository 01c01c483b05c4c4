"""Paths that cannot be read or written: TensorFlow's error class, with the path."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile

import pytest

import talweg as tf

v1 = tf.compat.v1
e = tf.errors


def checkpoint(path):
    tf.train.Checkpoint(a=tf.Variable(1.0)).write(path)


def managed(path):
    tf.train.CheckpointManager(tf.train.Checkpoint(a=tf.Variable(1.0)), path, 2).save()


def saved_model(path):
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(module, path)


def records(path):
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"x")


def summaries(path):
    with tf.summary.create_file_writer(path).as_default():
        tf.summary.scalar("x", 1.0, step=0)


def file(path):
    with tf.io.gfile.GFile(path, "w") as found:
        found.write("x")


WRITERS = {
    "checkpoint": checkpoint,
    "manager": managed,
    "saved model": saved_model,
    "records": records,
    "summaries": summaries,
    "dataset": lambda path: tf.data.Dataset.range(3).save(path),
    "cache": lambda path: list(tf.data.Dataset.range(3).cache(path)),
    "write_file": lambda path: tf.io.write_file(path, b"x"),
    "write_graph": lambda path: tf.io.write_graph(tf.Graph(), path, "g.pb", as_text=False),
    "gfile": file,
}
READERS = {
    "records": lambda path: list(tf.data.TFRecordDataset(path)),
    "ZLIB": lambda path: list(tf.data.TFRecordDataset(path, "ZLIB")),
    "lines": lambda path: list(tf.data.TextLineDataset(path)),
    "fixed": lambda path: list(tf.data.FixedLengthRecordDataset(path, 3)),
    "csv": lambda path: list(tf.data.experimental.CsvDataset(path, [1.0])),
    "read_file": tf.io.read_file,
    "events": lambda path: list(v1.train.summary_iterator(path)),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_writers(kind, tmp_path):
    (tmp_path / "file").write_text("x")
    write = WRITERS[kind]
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(e.FailedPreconditionError, match="file"):
        write(f"{tmp_path}/file/x")
    with pytest.raises(e.NotFoundError, match="/proc/x"):
        write("/proc/x/y" if kind in ("checkpoint", "cache", "records", "gfile") else "/proc/x")
    with pytest.raises(e.InvalidArgumentError, match="nnnn"):
        write(f"{tmp_path}/{'n' * 300}")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("kind", READERS)
def test_readers(kind, tmp_path):
    read = READERS[kind]
    (tmp_path / "file").write_text("x")
    with pytest.raises(e.FailedPreconditionError, match=str(tmp_path)):
        read(str(tmp_path))
    with pytest.raises(e.FailedPreconditionError, match="file/x"):
        read(f"{tmp_path}/file/x")
    with pytest.raises(e.NotFoundError, match="nobody"):
        read(f"{tmp_path}/nobody")
    with pytest.raises(e.InvalidArgumentError, match="nnnn"):
        read(f"{tmp_path}/{'n' * 300}")


@pytest.mark.parametrize("read", ["read", "restore"])
def test_checkpoints_that_are_not_there(read, tmp_path):
    (tmp_path / "file").write_text("x")
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1.0))
    for name in ("nobody", "file/x", "n" * 300):
        with pytest.raises(e.NotFoundError, match=name[:30]):
            getattr(checkpoint, read)(f"{tmp_path}/{name}")
        with pytest.raises(e.NotFoundError, match=name[:30]):
            tf.train.list_variables(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", "../x"),
        ("run", "/etc"),
        ("run", ".."),
        ("run", ""),
        ("shards", [-1]),
        ("count", 2**70),
        ("compression", "X"),
        ("spec", {"x": 1}),
    ],
)
def test_specs_of_datasets_that_are_made_up(field, value, tmp_path):
    tf.data.Dataset.range(3).save(str(tmp_path))
    path = tmp_path / "dataset_spec.json"
    if not path.exists():
        pytest.fail("the format has changed: what stands in it is to be tested anew")
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(e.DataLossError, match=field):
        list(tf.data.Dataset.load(str(tmp_path)))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"spec": {}, "count": 3}', '{"count": 3}'])
def test_indices_of_caches_that_are_damaged(text, tmp_path):
    list(tf.data.Dataset.range(3).cache(f"{tmp_path}/c"))
    (tmp_path / "c.index").write_text(text)
    with pytest.raises(e.DataLossError, match="c.index"):
        list(tf.data.Dataset.range(3).cache(f"{tmp_path}/c"))


def test_caches_that_have_lost_elements(tmp_path):
    list(tf.data.Dataset.range(3).cache(f"{tmp_path}/c"))
    data = tmp_path / "c.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[: -len(data.read_bytes()) // 3])
    with pytest.raises(e.DataLossError, match="2 elements of 3"):
        list(tf.data.Dataset.range(3).cache(f"{tmp_path}/c"))


@pytest.mark.parametrize("name", ["n" * 255, "\u00e4" * 127, "a\nb", "-x", "sp ace", "\U0001f600"])
def test_names_that_a_file_may_have(name, tmp_path):
    path = f"{tmp_path}/{name}"
    for data in (b"x", b"yy"):
        tf.io.write_file(path, data)
        assert tf.io.read_file(path).numpy() == data
    assert os.listdir(tmp_path) == [name]
    if len(name) < 99:
        checkpoint(f"{path}.c")
        tf.train.Checkpoint(a=tf.Variable(0.0)).read(f"{path}.c").assert_consumed()


def test_garbage_instead_of_compressed_records(tmp_path):
    (tmp_path / "z").write_bytes(b"garbage" * 9)
    for compression in ("ZLIB", "GZIP"):
        with pytest.raises(e.DataLossError, match="z"):
            list(tf.data.TFRecordDataset(f"{tmp_path}/z", compression))


def test_saved_models_whose_objects_are_not_there(tmp_path):
    from talweg.interop.saved_model.messages import SavedModel

    saved_model(str(tmp_path / "model"))
    path = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].object_graph_def.nodes[0].children[0].node_id = 99
    path.write_bytes(message.SerializeToString())
    with pytest.raises(e.DataLossError, match="object 99"):
        tf.saved_model.load(str(tmp_path / "model"))


def test_saved_models_whose_values_are_not_there(tmp_path):
    saved_model(str(tmp_path / "model"))
    checkpoint_of_nothing = tf.train.Checkpoint(other=tf.Variable(1.0))
    checkpoint_of_nothing.write(str(tmp_path / "model" / "variables" / "variables"))
    with pytest.raises((e.DataLossError, e.NotFoundError), match="model"):
        tf.saved_model.load(str(tmp_path / "model"))


def refuse(use, name):
    """What was wrong with how a process that is not root, who may all, is refused something."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setgid(12345)
                os.setuid(12345)
            use()
            told = "nothing was raised"
        except e.PermissionDeniedError as error:
            told = "" if name in str(error) else f"it names no file: {error}"
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode()[:2000])
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as file:
        return file.read()


@pytest.mark.parametrize("kind", WRITERS)
def test_folders_that_are_read_only(kind, tmp_path):
    write = WRITERS[kind]
    write(str(tmp_path / "first"))  # and what it loads is there
    with tempfile.TemporaryDirectory() as above:
        folder = os.path.join(above, "shut")
        os.mkdir(folder)
        os.chmod(above, 0o755)
        os.chmod(folder, 0o555)
        assert refuse(lambda: write(f"{folder}/new"), "shut") == ""
        assert not os.listdir(folder)
        os.chmod(folder, 0o755)


@pytest.mark.parametrize("kind", READERS)
def test_files_that_may_not_be_read(kind, tmp_path):
    path = tmp_path / "shut"
    path.write_text("x")
    read = READERS[kind]
    with contextlib.suppress(e.OpError):
        read(str(path))  # and what it loads is there
    path.chmod(0)
    assert refuse(lambda: read(str(path)), "shut") == ""
