"""Programs that write summaries, for TensorFlow and talweg alike, and what their files hold.

``python tests/summaries/summary_programs.py`` runs them with TensorFlow (it needs
tensorflow, tensorboard and Pillow) and writes `summaries.json`, with
which `test_summary.py` compares.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

RECORD = Path(__file__).with_name("summaries.json")
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def files(logdir):
    """The events of each file in a directory, as messages."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    paths = sorted(path for path in Path(logdir).iterdir() if path.is_file())
    return [
        [Event.FromString(data) for data in RawEventFileLoader(str(path)).Load()] for path in paths
    ]


def events(logdir):
    """The events of all files of a directory, but the first of each."""
    return [event for file in files(logdir) for event in file[1:]]


def pixels(data):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(data))).tolist()


def plain(value):
    """A value of a tensor: images as pixels, sounds as digits, other bytes as text."""
    if isinstance(value, complex):
        return [value.real, value.imag]
    if not isinstance(value, bytes):
        return value
    if value.startswith(b"\x89PNG"):
        return {"pixels": pixels(value)}
    return {"sound": value.hex()} if value.startswith(b"RIFF") else value.decode()


def described(value):
    """One value of a Summary as plain data."""
    from tensorboard.util import tensor_util

    found = {"tag": value.tag, "kind": value.WhichOneof("value")}
    if value.HasField("metadata"):
        plugin = value.metadata.plugin_data
        found["metadata"] = [
            plugin.plugin_name,
            plugin.content.hex(),
            value.metadata.summary_description,
            value.metadata.display_name,
        ]
    if found["kind"] == "tensor":
        array = tensor_util.make_ndarray(value.tensor)
        found["dtype"], found["shape"] = str(array.dtype), list(array.shape)
        found["values"] = [plain(x) for x in array.ravel().tolist()]
    elif found["kind"] == "simple_value":
        found["values"] = [value.simple_value]
    elif found["kind"] == "histo":
        histo = value.histo
        found["values"] = [histo.min, histo.max, histo.num, histo.sum, histo.sum_squares]
        found["buckets"] = [list(histo.bucket_limit), list(histo.bucket)]
    elif found["kind"] == "image":
        image = value.image
        found["values"] = [image.height, image.width, image.colorspace]
        found["pixels"] = pixels(image.encoded_image_string)
    elif found["kind"] == "audio":
        audio = value.audio
        found["values"] = [audio.sample_rate, audio.num_channels, audio.length_frames]
        found["sound"] = audio.encoded_audio_string.hex()
    return found


def run(tf, function):
    """What a program writes, as plain data: (step, kind of event, values) of each event."""
    with tempfile.TemporaryDirectory() as logdir:
        function(tf, logdir)
        return [
            [event.step, event.WhichOneof("what"), [described(x) for x in event.summary.value]]
            for event in events(logdir)
        ]


# -- programs


@program
def scalars(tf, logdir):
    writer = tf.summary.create_file_writer(logdir)
    with writer.as_default():
        tf.summary.scalar("loss", 0.25, step=1)
        tf.summary.scalar("count", 7, step=2, description="how *many*")
        tf.summary.scalar("wide", tf.constant(1.1, tf.float64), step=np.int64(3))
        tf.summary.scalar("truth", True, step=tf.constant(4, tf.int64))
        tf.summary.scalar("complex", 1 + 2j, step=tf.Variable(5, dtype=tf.int64))
        tf.summary.scalar("", 1.0, step=-1)
        with tf.name_scope("outer"), tf.name_scope("inner"):
            tf.summary.scalar("a b&c", float("nan"), step=6)
    with writer.as_default(step=10):
        tf.summary.scalar("loss", float("inf"))
        with writer.as_default(step=11):
            tf.summary.scalar("loss", 2.0)
        tf.summary.scalar("loss", 3.0)
        tf.summary.experimental.set_step(12)
        tf.summary.scalar("loss", 4.0)
    writer.close()


@program
def texts(tf, logdir):
    with tf.summary.create_file_writer(logdir).as_default(step=1):
        tf.summary.text("one", "hello **there**")
        tf.summary.text("table", [["a", "b"], ["c", "d"]], description="letters")
        tf.summary.text("none", tf.constant([], tf.string))


@program
def histograms(tf, logdir):
    data = np.random.RandomState(0).randn(7, 11)
    with tf.summary.create_file_writer(logdir).as_default(step=1):
        tf.summary.histogram("doubles", data, buckets=5)
        tf.summary.histogram("floats", data.astype(np.float32), description="default buckets")
        tf.summary.histogram("ints", np.arange(10), buckets=4)
        tf.summary.histogram("equal", [2.0, 2.0], buckets=3)
        tf.summary.histogram("nothing", tf.constant([], tf.float32), buckets=2)
        tf.summary.histogram("no buckets", [1.0, 2.0], buckets=0)
        tf.summary.histogram("one", 3.0, buckets=1)
        tf.summary.histogram("truth", [True, False, True], buckets=2)


@program
def images(tf, logdir):
    random = np.random.RandomState(1)
    with tf.summary.create_file_writer(logdir).as_default(step=1):
        tf.summary.image("colour", random.rand(2, 4, 3, 3).astype(np.float32))
        tf.summary.image("grey", random.randint(0, 255, (5, 2, 3, 1)).astype(np.uint8))
        tf.summary.image("most", np.zeros((4, 1, 1, 4), np.uint8), max_outputs=1)
        tf.summary.image("none", np.zeros((0, 5, 6, 3), np.float32))
        values = np.array([-1, 0, 0.3, 0.5, 0.998, 0.999, 2, np.nan, np.inf], np.float32)
        tf.summary.image("floats", values.reshape(1, 1, 9, 1))
        for kind in ("float64", "float16"):
            tf.summary.image(kind, np.linspace(0, 1, 9).astype(kind).reshape(1, 3, 3, 1))
        for kind in ("uint16", "int32", "int64", "int16", "int8"):
            most = np.iinfo(kind).max
            tf.summary.image(kind, np.array([0, most // 3, most], kind).reshape(1, 1, 3, 1))


@program
def sounds(tf, logdir):
    waves = np.sin(np.arange(40)).reshape(2, 10, 2).astype(np.float32) * 1.2
    with tf.summary.create_file_writer(logdir).as_default(step=1):
        tf.summary.audio("stereo", waves, 8000)
        tf.summary.audio("most", waves[:, :, :1], 44100, max_outputs=1, encoding="wav")


@program
def tensors(tf, logdir):
    metadata = tf.compat.v1.SummaryMetadata(summary_description="d", display_name="n")
    with tf.summary.create_file_writer(logdir).as_default(step=3):
        tf.summary.write("ints", tf.constant([[1, 2]]))
        tf.summary.write("strings", ["a", "b"], metadata=metadata)
        tf.summary.write("truths", lambda: tf.constant([True, False]), step=0)
        tf.summary.write("complex", [1 + 2j], metadata=metadata.SerializeToString())
        tf.summary.write("unused", tf.zeros([0, 3]))
        raw = tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag="r", simple_value=2.0)])
        tf.summary.experimental.write_raw_pb(raw.SerializeToString())


@program
def functions(tf, logdir):
    writer = tf.summary.create_file_writer(logdir)
    number = tf.Variable(5, dtype=tf.int64)

    @tf.function
    def step(x):
        tf.summary.scalar("before", x)
        x = x * 2.0
        with tf.name_scope("scope"):
            tf.summary.histogram("values", tf.stack([x, x + 1.0]), buckets=2)
        tf.summary.text("note", tf.where(x > 2.0, ["big"], ["small"]))
        number.assign_add(1)
        tf.summary.scalar("after", x)
        tf.summary.image("image", tf.fill([1, 2, 2, 1], x / 8.0))
        return x

    with writer.as_default(step=number):
        step(tf.constant(1.0))
        step(tf.constant(2.0))
    step(tf.constant(3.0))  # the writer of the trace goes on
    writer.close()


@program
def conditions(tf, logdir):
    writer = tf.summary.create_file_writer(logdir)

    @tf.function
    def step(x, wanted):
        with tf.summary.record_if(wanted):
            tf.summary.scalar("sometimes", x, step=1)
            with tf.summary.record_if(True):
                tf.summary.scalar("always", x, step=1)
        with tf.summary.record_if(False):
            tf.summary.scalar("never", x, step=1)
        with tf.summary.record_if(lambda: x > 1.0):
            tf.summary.histogram("greater", x, step=2, buckets=1)

    with writer.as_default():
        for value, wanted in ((1.0, True), (2.0, False), (3.0, True)):
            step(tf.constant(value), tf.constant(wanted))
        with tf.summary.record_if(lambda: tf.summary.experimental.get_step() % 2 == 0):
            for number in range(4):
                tf.summary.experimental.set_step(number)
                tf.summary.scalar("even", number)
    tf.summary.experimental.set_step(None)


@program
def nested_functions(tf, logdir):
    writer = tf.summary.create_file_writer(logdir)

    @tf.function
    def inner(x):
        tf.summary.scalar("inner", x, step=1)
        return x * x

    @tf.function
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            tf.summary.scalar("first", x, step=1)
            with tf.name_scope("scope"):
                y = inner(x)
            tf.summary.scalar("second", y, step=1)
        gradient = tape.gradient(y, x)
        with writer.as_default(step=2):
            tf.summary.scalar("gradient", gradient)
        return gradient

    with writer.as_default():
        outer(tf.constant(3.0))


@program
def sessions(tf, logdir):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None])
        with v1.name_scope("scope"):
            v1.summary.scalar("my loss", tf.reduce_sum(x))
        v1.summary.scalar("my loss", tf.reduce_max(x), family="family")
        v1.summary.histogram("values", x)
        v1.summary.histogram("values", tf.constant([0.0, 1e-30, -1e30, 3e5, -7.0, 3e5]))
        v1.summary.text("a note", tf.constant(["n"]))
        v1.summary.tensor_summary("tensor", x, summary_description="d", display_name="n")
        v1.summary.audio("audio", tf.reshape(x, [1, -1]), 8000.0, max_outputs=1)
        merged = v1.summary.merge_all()
        with v1.summary.FileWriter(logdir) as writer:
            for number in range(3):
                summary = session.run(merged, {x: np.linspace(-1, number, 5)})
                writer.add_summary(summary, number)
            value = v1.Summary.Value(tag="made", simple_value=1.5)
            writer.add_summary(v1.Summary(value=[value]))
            writer.add_session_log(v1.SessionLog(status=v1.SessionLog.START), 4)
            writer.add_run_metadata(v1.RunMetadata(), "run", 5)
            writer.add_event(v1.Event(step=6))


@program
def session_images(tf, logdir):
    v1 = tf.compat.v1
    random = np.random.RandomState(2)
    with tf.Graph().as_default(), v1.Session() as session:
        for name, data in {
            "positive": random.rand(2, 2, 3, 3),
            "negative": random.randn(1, 2, 3, 1),
            "bytes": random.randint(0, 255, (3, 2, 2, 4)).astype(np.uint8),
            "zeros": np.zeros((1, 1, 2, 1)),
            "bad": np.array([1.0, 0.3, np.nan, -np.inf, 0.5, 0.2]).reshape(1, 1, 2, 3),
            "half": random.rand(1, 1, 4, 1).astype(np.float16),
        }.items():
            kind = np.float32 if data.dtype == np.float64 and name != "zeros" else data.dtype
            v1.summary.image(name, tf.constant(data.astype(kind)), max_outputs=2)
        v1.summary.image("single", tf.ones([2, 1, 1, 1]), max_outputs=1)
        with v1.summary.FileWriter(logdir) as writer:
            writer.add_summary(session.run(v1.summary.merge_all()), 1)


@program
def writers_in_sessions(tf, logdir):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        writer = tf.summary.create_file_writer(logdir)
        number = v1.placeholder(tf.int64, [])
        with writer.as_default(step=number):
            one = tf.summary.scalar("one", x)
            tf.summary.scalar("two", x + 1.0)
            with tf.summary.record_if(x > 1.0):
                maybe = tf.summary.scalar("maybe", x)
        session.run(writer.init())
        session.run(one, {x: 1.0, number: 1})
        session.run(v1.summary.all_v2_summary_ops()[1], {x: 2.0, number: 2})
        for value in (0.0, 2.0):
            session.run(maybe, {x: value, number: 3})
        session.run(writer.close())


@program
def summaries_of_sessions_in_eager_mode(tf, logdir):
    v1 = tf.compat.v1
    with tf.summary.create_file_writer(logdir).as_default(step=1):
        v1.summary.scalar("loss", 1)
        v1.summary.histogram("values", [1.0, 2.0, 4.0], family="f")
        v1.summary.text("a note", tf.constant("text"))


def main() -> None:
    tf = importlib.import_module("tensorflow")
    record = {name: run(tf, function) for name, function in PROGRAMS.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in record.items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(record)} programs", file=sys.stderr)


if __name__ == "__main__":
    main()
