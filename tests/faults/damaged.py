"""Damaged files: for every format a whole one, how it is read, and what may come of a damaged one.

`FORMATS` has, by name, a maker of the bytes and a reader of them.  A reader may give a value or
raise one of `RIGHT`; everything else, and what takes too much time or memory, is a fault.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import talweg as tf
from talweg.core import settings
from talweg.execute import cache
from talweg.execute.llvm.link import code
from talweg.trace.autograph.cache import get_or_make
from talweg.trace.autograph.converted_code import Converted

v1 = tf.compat.v1
PIXELS = np.arange(300, dtype=np.uint8).reshape(10, 10, 3)
SIZES = (0, 1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
RIGHT = (
    tf.errors.InvalidArgumentError,
    tf.errors.DataLossError,
    tf.errors.ResourceExhaustedError,
    tf.errors.UnimplementedError,
    tf.errors.OutOfRangeError,
)


class Format(NamedTuple):
    """A format: `make(folder)` gives the whole bytes, `read(data, folder)` reads some."""

    make: Callable[[Path], bytes]
    read: Callable[[bytes, Path], Any]
    right: tuple[type[Exception], ...] = RIGHT


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to four places changed, cut out, doubled or filled with a large size."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not found:
            return b"x"
        kind, place = rng.randrange(7), rng.randrange(len(found))
        if kind == 0:
            found[place] = rng.randrange(256)
        elif kind == 1:
            found[place] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del found[place : place + rng.randint(1, 8)]
        elif kind == 3:
            del found[place:]
        elif kind == 4:
            found[place:place] = rng.randbytes(rng.randint(1, 8))
        elif kind == 5:
            size = struct.pack("<Q", rng.choice(SIZES))[: rng.choice((4, 8))]
            found[place : place + len(size)] = size
        else:
            other = rng.randrange(len(found))
            found[place:place] = found[other : other + rng.randint(1, 20)]
    return bytes(found)


def feature(*values: Any) -> Any:
    """A feature of these values."""
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(_: Path) -> bytes:
    features = {"a": feature(1, 2, 3), "b": feature(1.0, 2.0), "c": feature(b"x", b"yy")}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def sequence(_: Path) -> bytes:
    steps = tf.train.FeatureList(feature=[feature(1.0, 2.0)] * 3)
    message = tf.train.SequenceExample(
        context=tf.train.Features(feature={"a": feature(1)}),
        feature_lists=tf.train.FeatureLists(feature_list={"l": steps}),
    )
    return message.SerializeToString()


EXAMPLE = {
    "a": tf.io.VarLenFeature(tf.int64),
    "b": tf.io.FixedLenFeature([2], tf.float32),
    "c": tf.io.RaggedFeature(tf.string),
}
CONTEXT = {"a": tf.io.FixedLenFeature([], tf.int64)}
STEPS = {"l": tf.io.FixedLenSequenceFeature([2], tf.float32)}


def picture(kind: str, **options: Any) -> Callable[[Path], bytes]:
    """A maker of pictures by Pillow."""

    def make(_: Path) -> bytes:
        file = io.BytesIO()
        Image.fromarray(PIXELS).save(file, kind, **options)
        return file.getvalue()

    return make


def in_file(name: str, read: Callable[[str], Any]) -> Callable[[bytes, Path], Any]:
    """A reader of bytes by way of a file."""

    def reader(data: bytes, folder: Path) -> Any:
        path = folder / name
        path.write_bytes(data)
        return read(str(path))

    return reader


def records(compression: str) -> Format:
    """Files of records."""

    def make(folder: Path) -> bytes:
        path = f"{folder}/whole"
        with tf.io.TFRecordWriter(path, compression) as writer:
            for size in (0, 5, 300):
                writer.write(b"abc" * size)
        return Path(path).read_bytes()

    def read(path: str) -> Any:
        return list(tf.data.TFRecordDataset(path, compression).as_numpy_iterator())

    return Format(make, in_file("records", read))


def checkpoint(part: str, most: int = 0) -> Format:
    """One of the files of a checkpoint; `most` bytes in each data file where that is given."""

    def make(folder: Path) -> bytes:
        variables = {"a": tf.Variable([1.0, 2.0]), "b": tf.Variable(["x", "yy"])}
        policy = tf.train.experimental.MaxShardSizePolicy(most) if most else None
        options = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
        tf.train.Checkpoint(**variables).write(f"{folder}/ck", options)
        return (folder / part).read_bytes()

    def read(data: bytes, folder: Path) -> Any:
        path = folder / part
        path.write_bytes(data)
        for name, _ in tf.train.list_variables(f"{folder}/ck"):
            tf.train.load_variable(f"{folder}/ck", name)
        a, b = tf.Variable([0.0, 0.0]), tf.Variable(["", ""])
        tf.train.Checkpoint(a=a, b=b).read(f"{folder}/ck")

    return Format(make, read, (*RIGHT, tf.errors.NotFoundError, ValueError))


def saved_dataset(name: str) -> Format:
    """A file of a saved dataset."""

    def path_in(folder: Path) -> Path:
        (path,) = (folder / "data").rglob(name)
        return path

    def make(folder: Path) -> bytes:
        tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])).save(f"{folder}/data")
        return path_in(folder).read_bytes()

    def read(data: bytes, folder: Path) -> Any:
        path_in(folder).write_bytes(data)
        return list(tf.data.Dataset.load(f"{folder}/data").as_numpy_iterator())

    return Format(make, read, (*RIGHT, tf.errors.NotFoundError))


def dataset_cache(name: str) -> Format:
    """A file of a dataset's cache."""

    def cached(folder: Path) -> Any:
        return tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"])).cache(f"{folder}/cache")

    def make(folder: Path) -> bytes:
        list(cached(folder))
        return (folder / name).read_bytes()

    def read(data: bytes, folder: Path) -> Any:
        (folder / name).write_bytes(data)
        return list(cached(folder).as_numpy_iterator())

    return Format(make, read)


def events(folder: Path) -> bytes:
    with tf.summary.create_file_writer(str(folder / "logs")).as_default():
        for step in range(3):
            tf.summary.scalar("x", step / 2, step=step)
            tf.summary.text("y", "some text", step=step)
    (path,) = (folder / "logs").iterdir()
    return path.read_bytes()


def graph_def(_: Path) -> bytes:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        v1.identity(tf.nn.softmax(x @ tf.constant([[1.0], [2.0]])) + 1.0, name="y")
    return graph.as_graph_def().SerializeToString()


def import_graph(data: bytes, _: Path) -> Any:
    message = v1.GraphDef()
    try:
        message.ParseFromString(data)
    except Exception as error:  # protobuf's own
        raise tf.errors.DataLossError(None, None, "no message") from error
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.graph_util.import_graph_def(message, name="")
        y = graph.get_tensor_by_name("y:0")
        return session.run(y, {graph.get_tensor_by_name("x:0"): [[1.0, 2.0]]})


def saved_model(folder: Path) -> bytes:
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0])
    module.f = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec([2])])
    tf.saved_model.save(module, f"{folder}/model")
    return (folder / "model" / "saved_model.pb").read_bytes()


def load_model(data: bytes, folder: Path) -> Any:
    (folder / "model" / "saved_model.pb").write_bytes(data)
    loaded = tf.saved_model.load(f"{folder}/model")
    return loaded.f(tf.constant([1.0, 2.0])) if hasattr(loaded, "f") else None


def state(folder: Path) -> bytes:
    tf.train.CheckpointManager(tf.train.Checkpoint(), str(folder), 2).save()
    return (folder / "checkpoint").read_bytes()


def meta_graph(folder: Path) -> bytes:
    with tf.Graph().as_default():
        v = v1.get_variable("v", initializer=[1.0, 2.0])
        v1.identity(v * v1.placeholder(tf.float32, [2], "x"), name="y")
        v1.train.Saver()
        v1.train.export_meta_graph(f"{folder}/whole.meta")
    return (folder / "whole.meta").read_bytes()


def import_meta_graph(path: str) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(path)
        variables = [v for v in v1.global_variables() if isinstance(v, v1.Variable)]
        session.run(v1.variables_initializer(variables))


def _entry(use: Callable[[], Any]) -> Callable[[Path], bytes]:
    """A maker of an entry of the compile cache, as `use` writes it."""

    def make(folder: Path) -> bytes:
        (folder / "cache").mkdir(mode=0o700)
        with settings.cache(str(folder / "cache")):
            use()
        (path,) = (folder / "cache").iterdir()
        return path.read_bytes()

    return make


def _read_entry(use: Callable[[], Any]) -> Callable[[bytes, Path], Any]:
    """A reader of entries: whatever is there, what `use` gives is right."""

    def read(data: bytes, folder: Path) -> Any:
        for path in (folder / "cache").iterdir():
            path.write_bytes(data)
        with settings.cache(str(folder / "cache")):
            return use()

    return read


_MODULE = "define i32 @run() {\n  ret i32 41\n}\n"


def _look_up_code() -> None:
    """What is damaged is not there: it is compiled anew (`tests/execute/test_cache.py`)."""
    found = cache.get(code.key(_MODULE))
    assert found is None or found == code.object_file(_MODULE)


_CONVERTED = Converted("def f(): ...", compile("def f(): ...", "f", "exec"), "f")


def _convert() -> None:
    found = get_or_make(text, "probe", lambda: _CONVERTED)
    assert (found.text, found.name) == ("def f(): ...", "f")


def text(found: bytes) -> Callable[[Path], bytes]:
    return lambda _: found


def read_vocabulary(path: str) -> Any:
    """A table of words and numbers."""
    rows = tf.lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1)
    return tf.lookup.StaticHashTable(rows, -1).lookup(tf.constant(["a", "b"]))


def database(folder: Path) -> bytes:
    with contextlib.closing(sqlite3.connect(folder / "whole.sqlite")) as connection:
        connection.execute("create table t (a integer, b text)")
        connection.executemany("insert into t values (?, ?)", [(i, f"row {i}") for i in range(9)])
        connection.commit()
    return (folder / "whole.sqlite").read_bytes()


def read_database(path: str) -> Any:
    return list(
        tf.data.experimental.SqlDataset("sqlite", path, "select a, b from t", (tf.int64, tf.string))
    )


TENSORS = {"numbers": [[1.0, 2.0], [3.0, 4.0]], "strings": ["ab", "c"]}

FORMATS = {
    "example": Format(example, lambda d, _: tf.io.parse_single_example(d, EXAMPLE)),
    "examples": Format(example, lambda d, _: tf.io.parse_example([d, d], EXAMPLE)),
    "sequence example": Format(
        sequence, lambda d, _: tf.io.parse_single_sequence_example(d, CONTEXT, STEPS)
    ),
    "png": Format(picture("PNG"), lambda d, _: tf.io.decode_png(d)),
    "png, 16 bits": Format(
        lambda _: tf.io.encode_png(PIXELS.astype(np.uint16) * 99).numpy(),
        lambda d, _: tf.io.decode_png(d, dtype=tf.uint16),
    ),
    "jpeg": Format(picture("JPEG"), lambda d, _: tf.io.decode_jpeg(d)),
    "jpeg, recovered": Format(
        picture("JPEG"), lambda d, _: tf.io.decode_jpeg(d, try_recover_truncated=True)
    ),
    "gif": Format(
        picture("GIF", save_all=True, append_images=[Image.fromarray(PIXELS[::-1])]),
        lambda d, _: tf.io.decode_gif(d),
    ),
    "webp": Format(picture("WEBP"), lambda d, _: tf.io.decode_image(d)),
    "bmp": Format(picture("BMP"), lambda d, _: tf.io.decode_bmp(d)),
    "wav": Format(
        lambda _: tf.audio.encode_wav(np.zeros([25, 2], "float32"), 8000).numpy(),
        lambda d, _: tf.audio.decode_wav(d),
    ),
    "serialized numbers": Format(
        lambda _: tf.io.serialize_tensor(TENSORS["numbers"]).numpy(),
        lambda d, _: tf.io.parse_tensor(d, tf.float32),
    ),
    "serialized strings": Format(
        lambda _: tf.io.serialize_tensor(TENSORS["strings"]).numpy(),
        lambda d, _: tf.io.parse_tensor(d, tf.string),
    ),
    "csv": Format(text(b'1,2.5,"ab,""c",x'), lambda d, _: tf.io.decode_csv(d, [1, 1.0, "", ""])),
    "csv file": Format(
        text(b'1,2.5,"ab,""c"\n' * 3),
        in_file("c.csv", lambda path: list(tf.data.experimental.CsvDataset(path, [1, 1.0, ""]))),
    ),
    "compressed": Format(
        lambda _: zlib.compress(b"abc" * 50), lambda d, _: tf.io.decode_compressed(d, "ZLIB")
    ),
    "base64": Format(text(b"abcdabcd"), lambda d, _: tf.io.decode_base64(d)),
    "records": records(""),
    "records, GZIP": records("GZIP"),
    "records, ZLIB": records("ZLIB"),
    "checkpoint index": checkpoint("ck.index"),
    "checkpoint data": checkpoint("ck.data-00000-of-00001"),
    "sharded checkpoint's index": checkpoint("ck.index", 8),
    "sharded checkpoint's data": checkpoint("ck.data-00000-of-00003", 8),
    "checkpoint state": Format(
        state,
        in_file("checkpoint", lambda path: tf.train.latest_checkpoint(Path(path).parent)),
        (*RIGHT, ValueError),
    ),
    "saved dataset": saved_dataset("*.snapshot"),
    "saved dataset's spec": saved_dataset("dataset_spec.json"),
    "dataset cache": dataset_cache("cache.data-00000-of-00001"),
    "dataset cache's index": dataset_cache("cache.index"),
    "event file": Format(
        events, in_file("events", lambda path: list(v1.train.summary_iterator(path)))
    ),
    "GraphDef": Format(
        graph_def, import_graph, (*RIGHT, tf.errors.NotFoundError, ValueError, KeyError, TypeError)
    ),
    "meta graph": Format(
        meta_graph,
        in_file("graph.meta", import_meta_graph),
        (*RIGHT, tf.errors.NotFoundError, tf.errors.FailedPreconditionError, OSError)
        + (ValueError, KeyError, TypeError),
    ),
    "vocabulary": Format(
        text(b"a\t1\nb\t2\n\xc3\xa4\t3\n"),
        in_file("vocabulary", read_vocabulary),
        (*RIGHT, tf.errors.FailedPreconditionError),
    ),
    "lines": Format(
        lambda _: gzip.compress(b"abc\ndef\r\n" * 9),
        in_file("lines", lambda path: list(tf.data.TextLineDataset(path, "GZIP"))),
    ),
    "records of a length": Format(
        text(b"headabcdefgh"),
        in_file("fixed", lambda path: list(tf.data.FixedLengthRecordDataset(path, 4, 4))),
    ),
    "JSON example": Format(
        text(b'{"features": {"feature": {"a": {"int64List": {"value": ["1", "2"]}}}}}'),
        lambda d, _: tf.io.decode_json_example(d),
    ),
    "SQLite": Format(
        database,
        in_file("sqlite", read_database),
        (*RIGHT, tf.errors.UnknownError),  # which TensorFlow has for no such table
    ),
    "compile cache": Format(_entry(lambda: code.object_file(_MODULE)), _read_entry(_look_up_code)),
    "converted function": Format(_entry(_convert), _read_entry(_convert)),
    "SavedModel": Format(
        saved_model,
        load_model,
        (*RIGHT, OSError, ValueError, KeyError, TypeError, tf.errors.NotFoundError),
    ),
}
