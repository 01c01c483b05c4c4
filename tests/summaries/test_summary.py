"""tf.summary and compat.v1.summary: what the files hold, when it is written, what is refused."""

from __future__ import annotations

import gc
import importlib
import io
import json
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import talweg as tf
from talweg.formats.images import png
from tests.summaries.summary_programs import PROGRAMS, RECORD, events, files, run

v1 = tf.compat.v1
ROOT = Path(__file__).resolve().parents[2]
EXPECTED = json.loads(RECORD.read_text())


def steps(logdir):
    """(step, tag, value) of each scalar that was written."""
    return [
        (event.step, value.tag, np.frombuffer(value.tensor.tensor_content, np.float32)[0].item())
        for event in events(logdir)
        for value in event.summary.value
    ]


def assert_alike(found, expected, path=""):
    if isinstance(expected, list):
        assert len(found) == len(expected), path
        for place, pair in enumerate(zip(found, expected)):
            assert_alike(*pair, f"{path}[{place}]")
    elif isinstance(expected, dict):
        assert sorted(found) == sorted(expected), path
        for key in expected:
            assert_alike(found[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12, err_msg=path)
    else:
        assert found == expected, path


@pytest.mark.parametrize("name", PROGRAMS)
def test_files_hold_what_tensorflow_writes(name):
    assert_alike(run(tf, PROGRAMS[name]), EXPECTED[name])


# -- in functions


def test_each_call_writes_once_and_in_order(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)

    @tf.function
    def step(x, number):
        tf.summary.scalar("a", x, step=number)
        for i in tf.range(2):
            tf.summary.scalar("loop", tf.cast(i, tf.float32), step=number)
        if x > 1.0:
            tf.summary.scalar("branch", x, step=number)
        tf.summary.scalar("b", x, step=number)

    with writer.as_default():
        for number in (1, 2):
            step(tf.constant(float(number)), tf.constant(number, tf.int64))
    head = [(1, "a", 1), (1, "loop", 0), (1, "loop", 1), (1, "b", 1)]
    tail = [(2, "a", 2), (2, "loop", 0), (2, "loop", 1), (2, "branch", 2), (2, "b", 2)]
    assert steps(tmp_path) == head + tail


def test_paths_of_a_python_if_write_what_is_theirs(tmp_path):
    @tf.function(autograph=False)
    def step(x):
        tf.summary.scalar("before", x)
        y = x * 2.0 if x > 0.0 else x - 1.0
        tf.summary.scalar("after", y)
        return y

    with tf.summary.create_file_writer(tmp_path).as_default(step=1):
        assert [float(step(tf.constant(x))) for x in (1.0, -1.0)] == [2.0, -2.0]
    assert [x[1:] for x in steps(tmp_path)] == [
        ("before", 1.0),
        ("after", 2.0),
        ("before", -1.0),
        ("after", -2.0),
    ]


def test_summaries_in_a_gradient_and_its_loop(tmp_path):
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for i in tf.range(3):
                y = y * x
                tf.summary.scalar("y", y, step=tf.cast(i, tf.int64))
        return tape.gradient(y, x)

    with tf.summary.create_file_writer(tmp_path).as_default():
        assert float(slope(tf.constant(2.0))) == 32.0
    assert steps(tmp_path) == [(0, "y", 4.0), (1, "y", 8.0), (2, "y", 16.0)]


def test_unknown_shapes_are_checked_when_the_graph_runs(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def step(x):
        tf.summary.scalar("x", x, step=1)
        tf.summary.histogram("h", x, step=1)

    with tf.summary.create_file_writer(tmp_path).as_default():
        step(tf.constant(2.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank 0"):
            step(tf.constant([2.0]))


def test_a_function_flushes_and_closes(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)

    @tf.function
    def step(x):
        with writer.as_default(step=3):
            tf.summary.scalar("x", x)
        return len(steps(tmp_path))

    step(1.0)
    assert steps(tmp_path) == [(3, "x", 1.0)]

    @tf.function
    def close():
        writer.close()

    close()
    with pytest.raises(RuntimeError, match="already closed"):
        writer.as_default()
    with pytest.raises(tf.errors.NotFoundError):
        step(1.0)


def test_a_writer_made_in_a_function_is_made_once(tmp_path):
    @tf.function
    def step(x):
        with tf.summary.create_file_writer(tmp_path).as_default(step=1):
            tf.summary.scalar("x", x)

    step(tf.constant(1.0))
    step(tf.constant(2.0))
    assert len(files(tmp_path)) == 1 and len(steps(tmp_path)) == 2

    @tf.function
    def wrong(path):
        tf.summary.create_file_writer(path)

    with pytest.raises(ValueError, match="logdir"):
        wrong(tf.constant("path"))


def test_without_a_writer_in_the_trace_nothing_is_written(tmp_path):
    @tf.function
    def step(x):
        return tf.summary.scalar("x", x), tf.summary.should_record_summaries()

    assert [bool(x) for x in step(1.0)] == [False, False]
    with tf.summary.create_file_writer(tmp_path).as_default(step=1):
        assert [bool(x) for x in step(1.0)] == [False, False]
        assert [bool(x) for x in step(2.0)] == [True, True]
    assert steps(tmp_path) == [(1, "x", 2.0)]


# -- files


def test_records_are_whole_and_wait_in_a_queue(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path, max_queue=2, filename_suffix=".end")
    counts = []
    with writer.as_default():
        for number in range(6):
            tf.summary.scalar("x", number, step=number)
            counts.append(len(steps(tmp_path)))
        assert counts == [0, 0, 3, 3, 3, 6]
        tf.summary.scalar("x", 6, step=6)
        tf.summary.flush()
        assert len(steps(tmp_path)) == 7
        tf.summary.scalar("x", 7, step=7)
    assert len(steps(tmp_path)) == 8  # leaving the context flushes
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".end")
    first = files(tmp_path)[0][0]
    assert first.file_version == "brain.Event:2" and first.wall_time > 1e9


def test_time_flushes(tmp_path):
    with tf.summary.create_file_writer(tmp_path, flush_millis=0).as_default(step=1):
        tf.summary.scalar("x", 1.0)
        assert len(steps(tmp_path)) == 1


def test_what_waits_is_written_when_the_writer_goes(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    writer.set_as_default(step=1)
    tf.summary.scalar("x", 1.0)
    assert tf.summary.experimental.get_step() == 1 and steps(tmp_path) == []
    tf.summary.experimental.set_step(None)
    importlib.import_module("talweg.summaries.writers").state.writer = None
    del writer
    gc.collect()
    assert len(steps(tmp_path)) == 1
    code = (
        "import sys, talweg as tf; w = tf.summary.create_file_writer(sys.argv[1]); "
        "w.set_as_default(2); tf.summary.scalar('x', 2.0)"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT)
    assert sorted(steps(tmp_path)) == [(1, "x", 1.0), (2, "x", 2.0)]


def test_closed_writers(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default(step=1):
        tf.summary.scalar("x", 1.0)
        writer.close()
        writer.close()
        assert writer.flush() is None and tf.summary.flush() is None
        with pytest.raises(tf.errors.NotFoundError, match="is closed"):
            tf.summary.scalar("x", 1.0)
    for use in (writer.init, writer.as_default, writer.set_as_default):
        with pytest.raises(RuntimeError, match="already closed"):
            use()
    assert len(steps(tmp_path)) == 1


def test_threads_have_their_own_default(tmp_path):
    found = []
    with tf.summary.create_file_writer(tmp_path).as_default(step=1):
        thread = threading.Thread(
            target=lambda: found.append(bool(tf.summary.should_record_summaries()))
        )
        thread.start()
        thread.join()
    assert found == [False]


def test_graphs_are_written(tmp_path):
    with tf.Graph().as_default() as graph:
        y = tf.sqrt(v1.placeholder(tf.float32, name="x"))
    with tf.summary.create_file_writer(tmp_path).as_default():
        assert bool(tf.summary.graph(graph)) and bool(tf.summary.graph(graph.as_graph_def()))
    for event in events(tmp_path):
        assert [n.name for n in v1.GraphDef.FromString(event.graph_def).node] == ["x", y.op.name]
    with (
        pytest.raises(TypeError, match="graph"),
        tf.summary.create_file_writer(tmp_path).as_default(),
    ):
        tf.summary.graph(3)


# -- what is refused


def test_errors(tmp_path):
    assert not bool(tf.summary.scalar("no writer", 1.0))
    for call, error in [
        (lambda: tf.summary.scalar("x", [1.0], step=1), ValueError),
        (lambda: tf.summary.scalar("x", 1.0), ValueError),
        (lambda: tf.summary.scalar("x", "text", step=1), tf.errors.UnimplementedError),
        (lambda: tf.summary.scalar("x", 1.0, step=2.5), TypeError),
        (lambda: tf.summary.scalar("x", 1.0, step=tf.constant(1)), ValueError),
        (lambda: tf.summary.scalar(5, 1.0, step=1), TypeError),
        (lambda: tf.summary.text("x", 3, step=1), TypeError),
        (lambda: tf.summary.image("x", tf.zeros([2, 2, 3]), step=1), ValueError),
        (
            lambda: tf.summary.image("x", tf.zeros([1, 2, 2, 7]), step=1),
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda: tf.summary.image("x", tf.zeros([1, 0, 2, 1]), step=1),
            tf.errors.InvalidArgumentError,
        ),
        (lambda: tf.summary.image("x", [[[[True]]]], step=1), AttributeError),
        (lambda: tf.summary.image("x", tf.zeros([1, 1, 1, 1]), step=1, max_outputs=-1), ValueError),
        (lambda: tf.summary.audio("x", tf.zeros([1, 4]), 8000, step=1), ValueError),
        (lambda: tf.summary.audio("x", tf.zeros([1, 4, 1]), 8000, 1, encoding="mp3"), ValueError),
        (lambda: tf.summary.write(3, 1.0, step=1), TypeError),
        (
            lambda: tf.summary.experimental.write_raw_pb(b"\xff", step=1),
            tf.errors.InvalidArgumentError,
        ),
        (lambda: tf.summary.create_file_writer(None), ValueError),
        (lambda: tf.summary.create_file_writer(3), TypeError),
    ]:
        with tf.summary.create_file_writer(tmp_path).as_default(), pytest.raises(error):
            call()
    with tf.summary.create_file_writer(tmp_path).as_default(), tf.summary.record_if("x"):
        pytest.raises(TypeError, tf.summary.should_record_summaries)
    assert events(tmp_path) == []


def test_noop_writers_change_nothing(tmp_path):
    noop = tf.summary.create_noop_writer()
    assert isinstance(noop, tf.summary.SummaryWriter)
    with tf.summary.create_file_writer(tmp_path).as_default(step=4), noop.as_default(step=5):
        tf.summary.scalar("x", 1.0)
    assert steps(tmp_path) == [(4, "x", 1.0)]
    assert (noop.init(), noop.flush(), noop.close(), noop.set_as_default()) == (None,) * 4


def test_without_tensorboard_it_is_said_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['tensorboard'] = None; import talweg as tf\n"
        "tf.summary.scalar('x', 1.0, step=1)\n"
        "try: tf.summary.create_file_writer('x')\n"
        "except ImportError as error: print(error)\n"
        "try: tf.compat.v1.Summary\n"
        "except ImportError as error: print(error)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert found.count("pip install talweg[graphdef]") == 2


def test_png_of_every_kind_reads_back():
    random = np.random.RandomState(0)
    for channels in (1, 2, 3, 4):
        pixels = random.randint(0, 256, (5, 7, channels)).astype(np.uint8)
        found = np.asarray(Image.open(io.BytesIO(png.encode(pixels))))
        np.testing.assert_array_equal(found.reshape(pixels.shape), pixels)


# -- sessions


def test_operations_of_sessions():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])
        with v1.name_scope("scope"):
            a = v1.summary.scalar("my loss", x)
        b = v1.summary.scalar("a", x, family="f", collections=["mine"])
        c = v1.summary.histogram("a", x)
        d = v1.summary.histogram("a", x)
        assert [y.name for y in (a, b, c, d)] == ["scope/my_loss:0", "f/a:0", "a:0", "a_1:0"]
        assert [y.op.type for y in (a, c)] == ["ScalarSummary", "HistogramSummary"]
        merged = v1.summary.merge_all()
        assert (merged.name, merged.op.type) == ("Merge/MergeSummary:0", "MergeSummary")
        assert v1.summary.merge([a], name="both").name == "both/both:0"
        assert v1.summary.merge_all("nothing") is None
        assert [y.name for y in graph.get_collection("mine")] == ["f/a:0"]
        with v1.Session() as session:
            for scope, tags in (None, ["scope/my_loss", "a", "a_1"]), ("sc", ["scope/my_loss"]):
                data = session.run(v1.summary.merge_all(scope=scope), {x: 1.0})
                assert [value.tag for value in v1.Summary.FromString(data).value] == tags
            with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag"):
                session.run(v1.summary.merge([a, a]), {x: 1.0})
            for wrong, text in (np.nan, "Nan in summary"), (-np.inf, "Infinity in Histogram"):
                with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                    session.run(c, {x: wrong})
            vector = v1.placeholder_with_default([1.0], None)
            with pytest.raises(tf.errors.InvalidArgumentError, match="not the same shape"):
                session.run(v1.summary.scalar("vector", vector))
            with pytest.raises(tf.errors.InvalidArgumentError, match="4-D"):
                session.run(v1.summary.image("image", tf.zeros([1, 1, 1, 2])))


def test_what_operations_of_sessions_refuse():
    with tf.Graph().as_default():
        for call, error in [
            (lambda: v1.summary.merge([]), ValueError),
            (lambda: v1.summary.merge([tf.constant(1.0)]), TypeError),
            (lambda: v1.summary.scalar(3, 1.0), TypeError),
            (lambda: v1.summary.scalar("x", "text"), TypeError),
            (lambda: v1.summary.scalar("x", 1 + 2j), TypeError),
            (lambda: v1.summary.histogram("x", "text"), TypeError),
            (lambda: v1.summary.text("x", 1.0), ValueError),
            (lambda: v1.summary.image("x", tf.zeros([1, 1, 1, 1], tf.int32)), TypeError),
            (lambda: v1.summary.image("x", tf.zeros([1, 1, 1, 1]), max_outputs=0), ValueError),
            (lambda: v1.summary.FileWriter(None), TypeError),
            (v1.summary.initialize, RuntimeError),
        ]:
            with pytest.raises(error):
                call()
    for call in (lambda: v1.summary.merge([b""]), v1.summary.merge_all):
        pytest.raises(RuntimeError, call)
    pytest.raises(RuntimeError, v1.summary.FileWriter, "path")
    assert v1.summary.all_v2_summary_ops() is None and v1.summary.initialize() is None
    message = v1.Summary.FromString(v1.summary.scalar("x", 2.0).numpy())
    assert (message.value[0].tag, message.value[0].simple_value) == ("x", 2.0)


def test_file_writers(tmp_path):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        summary = session.run(v1.summary.text("x", tf.constant("y")))
        writer = v1.summary.FileWriter(str(tmp_path), graph)
        assert writer.get_logdir() == str(tmp_path)
        writer.add_summary(summary, 1)
        writer.add_summary(summary, np.int64(2))
        writer.add_meta_graph(v1.train.export_meta_graph(), 3)
        for call in (
            writer.add_graph,
            writer.add_summary,
            writer.add_event,
            writer.add_meta_graph,
            writer.add_session_log,
        ):
            pytest.raises(TypeError, call, 3)
        writer.add_run_metadata(v1.RunMetadata(), "tag")
        pytest.raises(ValueError, writer.add_run_metadata, v1.RunMetadata(), "tag")
        writer.flush()
        kinds = [event.WhichOneof("what") for event in events(tmp_path)]
        assert kinds == [
            "graph_def",
            "meta_graph_def",
            "summary",
            "summary",
            "meta_graph_def",
            "tagged_run_metadata",
        ]
        values = [event.summary.value[0] for event in events(tmp_path)[2:4]]
        assert [value.HasField("metadata") for value in values] == [True, False]
        writer.close()
        writer.close()
        with pytest.warns(UserWarning, match="closed FileWriter"):
            writer.add_summary(summary, 3)
        assert len(events(tmp_path)) == 6
        writer.reopen()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            writer.add_summary(summary, 4)
        writer.close()
        assert len(files(tmp_path)) == 2 and len(events(tmp_path)) == 7
        cache = v1.summary.FileWriterCache
        assert cache.get(str(tmp_path)) is cache.get(str(tmp_path))
        cache.clear()


def test_run_metadata_reach_the_file(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        metadata, x = v1.RunMetadata(), v1.placeholder_with_default(2.0, [])
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run(tf.sin(x), options=options, run_metadata=metadata)
        with v1.summary.FileWriter(str(tmp_path)) as writer:
            writer.add_run_metadata(metadata, "run", 1)
    from tensorboard.compat.proto.config_pb2 import RunMetadata

    found = RunMetadata.FromString(events(tmp_path)[0].tagged_run_metadata.run_metadata)
    assert "Sin" in [node.timeline_label for node in found.step_stats.dev_stats[0].node_stats]


def test_writers_of_sessions(tmp_path):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        writer = tf.summary.create_file_writer(tmp_path)
        with writer.as_default(step=1):
            summary = tf.summary.scalar("x", 2.0)
            with pytest.raises(tf.errors.NotFoundError, match="init"):
                session.run(summary)
            assert list(tmp_path.iterdir()) == []
            v1.summary.initialize(graph)
        close = writer.close()
        for _ in range(2):
            session.run(writer.init())
        assert session.run(summary) == True  # noqa: E712
        session.run(writer.flush())
        assert [event.WhichOneof("what") for event in events(tmp_path)] == ["graph_def", "summary"]
        session.run(close)
        pytest.raises(tf.errors.NotFoundError, session.run, close)
        pytest.raises(tf.errors.NotFoundError, session.run, summary)
        session.run(writer.init())
        assert session.run(v1.summary.all_v2_summary_ops()) == [True]
        session.run(writer.close())
        assert len(files(tmp_path)) == 2
    assert steps(tmp_path)[-1] == (1, "x", 2.0)


def test_a_graph_with_summaries_goes(tmp_path):
    before = len(gc.get_objects())
    del before
    with tf.Graph().as_default() as graph:
        writer = tf.summary.create_file_writer(tmp_path)
        with writer.as_default(step=1):
            tf.summary.scalar("x", tf.reduce_sum(v1.placeholder(tf.float32, [None])))
        v1.summary.scalar("y", 1.0)
        v1.summary.merge_all()
    gc.collect()
    gc.disable()
    try:
        table = __import__("weakref").ref(graph.table)
        del graph, writer
        assert table() is None
    finally:
        gc.enable()
