"""Files that somebody made to do harm: names that lead elsewhere, sizes that are lies, devices.

Each is an attack that once succeeded: it left its folder, took memory that the file does not have,
or ended in an error of another class.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import logging
import os
import resource
import struct
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import talweg as tf
from talweg.formats.images import png
from talweg.interop.saved_model.messages import SavedModel
from talweg.pipeline.records import record_of

v1 = tf.compat.v1
e = tf.errors
LEAVING = ["../../secret", "/etc/hostname", "../assets/words", "..", ".", "", "a/../../b", "a\0b"]


@contextlib.contextmanager
def limited(most):
    """Python's own memory (arrays and bytes, too) grows by less than `most` bytes meanwhile."""
    gc.collect()
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def model_with_an_asset(folder):
    (folder / "words").write_text("a\nb\n")
    module = tf.Module()
    module.asset = tf.saved_model.Asset(f"{folder}/words")
    tf.saved_model.save(module, f"{folder}/model")
    return folder / "model" / "saved_model.pb"


@pytest.mark.parametrize("name", LEAVING)
def test_assets_never_lie_outside_of_their_folder(name, tmp_path):
    path = model_with_an_asset(tmp_path)
    message = SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].asset_file_def[0].filename = name
    path.write_bytes(message.SerializeToString())
    with pytest.raises(e.DataLossError, match="asset"):
        tf.saved_model.load(str(path.parent))


def first_generation(folder):
    (folder / "words").write_text("a\n")
    with tf.Graph().as_default(), v1.Session() as session:
        path = tf.constant(f"{folder}/words", name="path")
        v1.add_to_collection("asset_filepaths", path)
        builder = v1.saved_model.Builder(f"{folder}/model")
        assets = v1.get_collection("asset_filepaths")
        builder.add_meta_graph_and_variables(
            session, ["serve"], assets_collection=assets, main_op=tf.group(name="start")
        )
        builder.save()
    return folder / "model" / "saved_model.pb"


def test_assets_of_the_first_generation(tmp_path):
    path = first_generation(tmp_path)
    whole = path.read_bytes()

    def load(name):
        message = SavedModel.FromString(whole)
        graph = message.meta_graphs[0]
        graph.collection_def.pop("saved_model_assets", None)
        for definition in graph.asset_file_def:
            definition.filename = name
        path.write_bytes(message.SerializeToString())
        with tf.Graph().as_default(), v1.Session() as session:
            v1.saved_model.load(session, ["serve"], str(path.parent))

    load("words")
    for name in ("../words", "/etc/hostname"):
        with pytest.raises(e.DataLossError, match="asset"):
            load(name)
        with pytest.raises(e.DataLossError, match="asset"):
            tf.saved_model.load(str(path.parent))


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices")
def test_files_that_are_devices_are_not_read_for_ever(tmp_path):
    os.symlink("/dev/zero", tmp_path / "saved_model.pb")
    with pytest.raises(e.FailedPreconditionError, match="saved_model.pb"):
        tf.saved_model.load(str(tmp_path))
    os.symlink("/dev/zero", tmp_path / "fingerprint.pb")
    with pytest.raises(e.FailedPreconditionError, match="fingerprint.pb"):
        tf.saved_model.experimental.read_fingerprint(str(tmp_path))
    os.symlink("/dev/zero", tmp_path / "ck.index")
    with pytest.raises(e.DataLossError, match="ck.index"):
        tf.train.list_variables(f"{tmp_path}/ck")
    with pytest.raises(e.FailedPreconditionError, match="zero"):
        v1.train.import_meta_graph("/dev/zero")


NESTED = 'node { attr { key: "a" value { %s %s } } }' % (
    'func { attr { key: "a" value { ' * 2000,
    "} } }" * 2000,
)


def test_text_that_is_nested_deeply(tmp_path):
    (tmp_path / "saved_model.pbtxt").write_text(f"meta_graphs {{ graph_def {{ {NESTED} }} }}")
    with pytest.raises(OSError, match="saved_model.pbtxt"):
        tf.saved_model.load(str(tmp_path))
    (tmp_path / "g.meta").write_text(f"graph_def {{ {NESTED} }}")
    with pytest.raises(OSError, match=r"g\.meta"):
        v1.train.import_meta_graph(f"{tmp_path}/g.meta")
    with pytest.raises(OSError, match="nobody"):
        v1.train.import_meta_graph(f"{tmp_path}/nobody")


def test_a_long_line_of_a_state_file_takes_its_own_size(tmp_path):
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{"a" * 1_000_000}"')
    with limited(20_000_000):
        assert tf.train.latest_checkpoint(str(tmp_path)) is None


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_counts_of_saved_datasets_that_no_file_holds(compression, tmp_path):
    tf.data.Dataset.range(5).save(str(tmp_path), compression or None)
    path = tmp_path / "dataset_spec.json"
    whole = json.loads(path.read_text())
    assert len(list(tf.data.Dataset.load(str(tmp_path), compression=compression or None))) == 5
    path.write_text(json.dumps({**whole, "count": 10**18}))
    with pytest.raises(e.DataLossError, match="count"):
        list(tf.data.Dataset.load(str(tmp_path), compression=compression or None))
    path.write_text(json.dumps({**whole, "shards": list(range(10_000))}))
    with pytest.raises(e.NotFoundError, match="00000001.shard"):
        list(tf.data.Dataset.load(str(tmp_path), compression=compression or None))


HEADS = [b"{}", b"[", b"5", b"[" * 5000, b'[["int64",[],8],["int64",[],0]]', b'[["variant",[],8]]']
HEADS += [
    b'[["int64",[1000000000000],8]]',
    b'[["string",[],[99999999999]]]',
    b'[["int64",[],null]]',
]


@pytest.mark.parametrize("head", HEADS)
def test_elements_of_saved_datasets_that_are_made_up(head, tmp_path):
    tf.data.Dataset.range(1).save(str(tmp_path))
    (path,) = tmp_path.rglob("*.snapshot")
    path.write_bytes(record_of(struct.pack("<I", len(head)) + head + bytes(8)))
    with pytest.raises(e.DataLossError, match="element"):
        [element.numpy() for element in tf.data.Dataset.load(str(tmp_path))]
    assert tf.as_dtype(np.dtype(object)) == tf.string  # a name in a file once changed that


@pytest.mark.parametrize("kind", ["float32", "string"])
@pytest.mark.parametrize("rank", [65, 300])
def test_tensors_of_more_dimensions_than_arrays_have(rank, kind):
    message = tf.make_tensor_proto(np.zeros([1], "float32") if kind == "float32" else ["x"])
    for _ in range(rank - 1):
        message.tensor_shape.dim.add().size = 1
    with pytest.raises(e.InvalidArgumentError, match="parse tensor"):
        tf.io.parse_tensor(message.SerializeToString(), tf.as_dtype(kind))


def test_records_take_their_own_size(tmp_path):
    """A record is neither kept twice, nor believed."""
    size = 1 << 23
    packed = zlib.compress(record_of(bytes(size)))
    (tmp_path / "r").write_bytes(packed)
    (tmp_path / "cut").write_bytes(zlib.compress(record_of(bytes(size))[:-9]))
    next(tf.data.Dataset.range(1).as_numpy_iterator())
    with limited(2.6 * size):
        (record,) = tf.data.TFRecordDataset(f"{tmp_path}/r", "ZLIB").as_numpy_iterator()
    assert len(record) == size
    with limited(1.9 * size), pytest.raises(e.DataLossError, match="cut"):
        list(tf.data.TFRecordDataset(f"{tmp_path}/cut", "ZLIB"))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_pictures_that_say_they_are_large():
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 16, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1 << 24)))
    with limited(1 << 22), pytest.raises(e.InvalidArgumentError, match="pixels"):
        tf.io.decode_png(b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b""), 0, tf.uint16)


def test_animations_that_unpack_to_very_much(monkeypatch):
    monkeypatch.setattr(png, "MOST", 1 << 22)
    frames = [Image.new("L", (300, 300), 255 * number) for number in range(2)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:] + frames * 29, disposal=2)
    with limited(1 << 23), pytest.raises(e.InvalidArgumentError, match="60 x 300 x 300 pixels"):
        tf.io.decode_gif(file.getvalue())


READERS = {
    "TextLineReader": {},
    "WholeFileReader": {},
    "TFRecordReader": {},
    "FixedLengthRecordReader": {"record_bytes": 4},
}


@pytest.mark.parametrize("kind", READERS)
def test_readers_of_the_first_generation(kind, tmp_path):
    cases = {f"{tmp_path}/no": e.NotFoundError, str(tmp_path): e.FailedPreconditionError}
    for name, error in {**cases, "a\0b": e.InvalidArgumentError}.items():
        with tf.Graph().as_default(), v1.Session() as session:
            queue = v1.FIFOQueue(9, tf.string)
            read = getattr(v1, kind)(**READERS[kind]).read(queue)
            session.run(queue.enqueue(name))
            with pytest.raises(error):
                session.run(read)


def test_names_with_a_zero_byte(tmp_path):
    gfile, name = tf.io.gfile, f"{tmp_path}/a\0b"
    uses = {
        **{
            each: getattr(gfile, each) for each in ("mkdir", "makedirs", "remove", "rmtree", "stat")
        },
        "copy": lambda path: gfile.copy(path, f"{tmp_path}/c"),
        "copy to": lambda path: gfile.copy(__file__, path),
        "rename": lambda path: gfile.rename(path, f"{tmp_path}/c"),
        "read": lambda path: gfile.GFile(path).read(),
        "write": lambda path: gfile.GFile(path, "w").write("x"),
    }
    for what, use in uses.items():
        with pytest.raises(e.InvalidArgumentError, match="zero byte"):
            use(name)
        assert not os.listdir(tmp_path), what
    assert not gfile.exists(name) and not gfile.isdir(name)


def opened(path):
    with tf.io.gfile.GFile(path, "w") as file:
        file.write("x" * 100_000)


def records(compression):
    def write(path):
        with tf.io.TFRecordWriter(path, compression) as writer:
            for _ in range(9):
                writer.write(os.urandom(30_000))

    return write


FULL = {
    "gfile": opened,
    "copy": lambda path: tf.io.gfile.copy(__file__, path, overwrite=True),
    "write_file": lambda path: tf.io.write_file(path, "x" * 100_000),
    "write_graph": lambda path: tf.io.write_graph(tf.Graph(), *os.path.split(path)),
    **{f"records {kind}": records(kind) for kind in ("", "GZIP", "ZLIB")},
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize("kind", FULL)
def test_a_device_that_is_full(kind, tmp_path):
    with pytest.raises(e.ResourceExhaustedError, match="/dev/full"):
        FULL[kind]("/dev/full")
    for part in ("ck.data-00000-of-00001", "ck.index"):
        os.symlink("/dev/full", tmp_path / part)
        with pytest.raises(e.ResourceExhaustedError, match="/dev/full"):
            tf.train.Checkpoint(a=tf.Variable(1.0)).write(f"{tmp_path}/ck")
        (tmp_path / part).unlink()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_what_nobody_closed_is_told_of(caplog, capfd):
    with caplog.at_level(logging.WARNING, "talweg"):
        file = tf.io.gfile.GFile("/dev/full", "w")
        file.write("x")
        del file
        gc.collect()
    assert "/dev/full last is lost" in caplog.text and capfd.readouterr().err == ""


def test_links_that_lead_to_themselves(tmp_path):
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    for use in (tf.io.read_file, lambda path: tf.io.write_file(path, "x")):
        with pytest.raises(e.UnknownError, match="loop"):
            use(f"{tmp_path}/loop")
    assert os.path.islink(tmp_path / "loop")


def test_too_many_open_files(tmp_path):
    (tmp_path / "f").write_text("x")
    uses = [
        lambda: tf.io.read_file(f"{tmp_path}/f"),
        lambda: tf.io.write_file(f"{tmp_path}/g", "x"),
        lambda: list(tf.data.TFRecordDataset(f"{tmp_path}/f")),
        lambda: tf.train.Checkpoint(a=tf.Variable(1.0)).write(f"{tmp_path}/ck"),
        lambda: tf.train.list_variables(f"{tmp_path}/ck"),
    ]
    for use in uses:
        with contextlib.suppress(e.DataLossError):
            use()  # and what it loads is there
    before, held = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 512), before[1]))
    try:
        with pytest.raises(OSError) as error:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        assert error.value.errno == errno.EMFILE
        for use in uses:
            with pytest.raises(e.ResourceExhaustedError, match=str(tmp_path)):
                use()
    finally:
        for handle in held:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("kind", ["ZLIB", "GZIP"])
@pytest.mark.parametrize("place", [9, 20, 170])
def test_records_of_wrong_checksums_in_streams_that_are_whole(place, kind, tmp_path):
    data = bytearray(record_of(b"abc" * 50) * 3)
    data[place] ^= 1
    (tmp_path / "r").write_bytes(zlib.compress(data, wbits=31 if kind == "GZIP" else 15))
    with pytest.raises(e.DataLossError, match="corrupted record"):
        list(tf.data.TFRecordDataset(f"{tmp_path}/r", kind))


def test_patterns_of_names_take_linear_time(tmp_path):
    (tmp_path / ("a" * 200)).write_text("")
    pattern = f"{tmp_path}/{'*a' * 30}*b"
    assert not tf.io.gfile.glob(pattern) and not tf.io.matching_files(pattern).shape[0]


def test_a_file_is_the_first_thing_that_a_program_reads(tmp_path):
    (tmp_path / "f").write_text("x")
    program = (
        f"import talweg as tf; assert tf.io.read_file({str(tmp_path / 'f')!r}).numpy() == b'x'"
    )
    root = str(Path(tf.__file__).parent.parent)
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)
