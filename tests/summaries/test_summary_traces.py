"""tf.summary.trace_on and graph: what TensorBoard's own code makes of the graphs in the files."""

from __future__ import annotations

import logging

import pytest

import talweg as tf
from talweg.core import dispatch
from talweg.core.observer import Observer
from tests.summaries.summary_programs import events

v1 = tf.compat.v1


@pytest.fixture
def warnings_of(caplog):
    caplog.set_level(logging.WARNING, logger="talweg")
    yield lambda: [record.message for record in caplog.records]
    tf.summary.trace_off()


def shown(logdir):
    """What the graph plugin of TensorBoard lists, and a function that gives a graph it serves."""
    from google.protobuf import text_format
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.context import RequestContext
    from tensorboard.plugins.base_plugin import TBContext
    from tensorboard.plugins.graph.graphs_plugin import GraphsPlugin

    files = plugin_event_multiplexer.EventMultiplexer()
    files.AddRunsFromDirectory(str(logdir))
    files.Reload()
    provider = data_provider.MultiplexerDataProvider(files, str(logdir))
    plugin = GraphsPlugin(TBContext(logdir=str(logdir), data_provider=provider))

    def graph(run, tag=None, conceptual=False):
        text, kind = plugin.graph_impl(RequestContext(), run, tag, conceptual, "")
        assert kind == "text/x-protobuf"
        return text_format.Parse(text, GraphDef())

    return plugin.info_impl(RequestContext(), ""), graph


def step_function():
    w = tf.Variable(tf.ones([4, 3]), name="w")

    @tf.function
    def dense(x):
        with tf.name_scope("dense"):
            return tf.tanh(tf.matmul(x, w))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape, tf.name_scope("loss"):
            loss = tf.reduce_sum(dense(x))
        w.assign_sub(tape.gradient(loss, w))
        return loss

    return step


def test_graphs_of_functions(tmp_path):
    step = step_function()
    graph = step.get_concrete_function(tf.TensorSpec([None, 4])).graph
    with tf.summary.create_file_writer(tmp_path).as_default():
        assert bool(tf.summary.graph(graph))
    listed, served = shown(tmp_path)
    assert listed == {".": {"run": ".", "tags": {}, "run_graph": True}}
    message = served(".")
    names = [node.name for node in message.node]
    assert {"w", "w/Read/ReadVariableOp", "loss/Sum"} <= set(names)
    assert any(name.startswith("gradient_tape/loss/Sum/") for name in names)
    inner = [node.name for function in message.library.function for node in function.node_def]
    assert "dense/MatMul" in inner
    shapes = {node.name: node.attr["_output_shapes"].list.shape for node in message.node}
    assert [size.size for size in shapes["w/Read/ReadVariableOp"][0].dim] == [4, 3]
    assert all(
        shapes[name]
        or message.node[place].op.startswith(("Assign", "NoOp"))
        or "/size" in name
        or name.endswith(("shape", "Const"))
        for place, name in enumerate(names)
    )


def test_graphs_of_sessions(tmp_path):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        with v1.variable_scope("layer"):
            y = tf.matmul(x, v1.get_variable("w", [2, 2]))
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(y))
        v1.summary.FileWriter(str(tmp_path), graph).close()
    _, served = shown(tmp_path)
    names = {node.name.partition("/")[0] for node in served(".").node}
    assert {"x", "layer", "gradients", "Adam"} <= names
    assert any(node.name.startswith("gradients/layer/MatMul_grad/") for node in served(".").node)


def test_traces(tmp_path, warnings_of):
    step, double = step_function(), tf.function(lambda x: x * 2.0)
    double(tf.constant(1.0))
    tf.summary.trace_on(graph=True, profiler=False)
    tf.summary.trace_on()
    for _ in range(3):
        double(step(tf.ones([5, 4])))
    with tf.summary.create_file_writer(tmp_path).as_default(step=7), tf.name_scope("outer"):
        tf.summary.trace_export("my trace")
    assert warnings_of() == ["Trace already enabled"]
    (event,) = events(tmp_path)
    assert (event.step, event.summary.value[0].tag) == (7, "outer/my trace")
    listed, served = shown(tmp_path)
    assert listed["."]["tags"]["outer/my trace"] == {
        "tag": "outer/my trace",
        "conceptual_graph": False,
        "op_graph": True,
        "profile": False,
    }
    names = [node.name for node in served(".", "outer/my trace").node]
    assert any("gradient_tape/loss/Sum" in name for name in names)
    assert sum(name.endswith("w") for name in names) == 1  # each function once
    assert dispatch.state.observer is None


def test_what_traces_refuse(tmp_path, warnings_of):
    with tf.summary.create_file_writer(tmp_path).as_default():
        with pytest.raises(ValueError, match="Must enable trace before export"):
            tf.summary.trace_export("t", step=0)
        tf.summary.trace_off()
        tf.summary.trace_on()
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.trace_export("t")
        with tf.summary.record_if(False):
            tf.summary.trace_export("t", step=0)
        with pytest.raises(ValueError, match="Must enable trace"):
            tf.summary.trace_export("t", step=0)

        @tf.function
        def inside():
            tf.summary.trace_on()
            tf.summary.trace_export("t", step=0)

        inside()
        tf.summary.trace_on(graph=False, profiler=True)
        tf.summary.trace_export("nothing", step=1)
    found = warnings_of()
    assert found[:2] == [
        "Cannot enable trace inside a tf.function or a graph.",
        "Cannot export trace inside a tf.function or a graph.",
    ]
    assert len(found) == 3 and "talweg profile" in found[2]
    (event,) = events(tmp_path)
    assert event.summary.value[0].metadata.plugin_data.plugin_name == "graph_run_metadata"


def test_traces_and_other_observers():
    class Other(Observer):
        told = 0

        def function_called(self, concrete):
            self.told += 1

    other, double = Other(), tf.function(lambda x: x * 2.0)
    double(tf.constant(1.0))
    busy = dispatch.state.busy
    with dispatch.observe(other):
        tf.summary.trace_on()
        double(tf.constant(1.0))
        tf.summary.trace_off()
        assert dispatch.state.observer is other and other.told == 1
    tf.summary.trace_on()
    with dispatch.observe(other):
        tf.summary.trace_off()  # not in the order in which they came
    assert dispatch.state.busy == busy
    dispatch.state.observer = None
    with tf.summary.create_noop_writer().as_default():
        tf.summary.trace_on()
        tf.summary.trace_export("nowhere", step=0)


def test_hooks_of_sessions(tmp_path):
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        v1.summary.scalar("loss", tf.cast(step, tf.float32))
        train = step.assign_add(1)
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), save_summaries_steps=2, log_step_count_steps=3
        ) as session:
            for _ in range(6):
                session.run(train)
    v1.summary.FileWriterCache.clear()
    for path in tmp_path.iterdir():
        if not path.name.startswith("events"):
            path.unlink()
    found = events(tmp_path)
    kinds = [event.WhichOneof("what") for event in found]
    graph = ["graph_def", "meta_graph_def"]
    assert kinds[:6] == [*graph, *graph, "session_log", "session_log"]  # a checkpoint, the start
    values = [(event.step, value.tag) for event in found for value in event.summary.value]
    assert [pair for pair in values if pair[1] == "loss"] == [(1, "loss"), (3, "loss"), (5, "loss")]
    assert (4, "global_step/sec") in values
    with pytest.raises(ValueError, match="scaffold or summary_op"):
        v1.train.SummarySaverHook(save_steps=1)


def test_summaries_in_meta_graphs(tmp_path):
    path = str(tmp_path / "graph")
    values = [0.0, 0.25, 0.5, 0.75] * 3
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [12], name="x")
        with tf.name_scope("scope"):
            v1.summary.scalar("s", tf.reduce_sum(x))
        v1.summary.histogram("h", x)
        v1.summary.image("i", tf.reshape(x, [1, 2, 2, 3]), max_outputs=2)
        v1.summary.audio("a", tf.reshape(x, [1, 12]), 8000.0, max_outputs=1)
        v1.summary.tensor_summary("t", x, summary_description="d")
        merged = v1.summary.merge_all()
        with v1.Session() as session:
            expected = session.run(merged, {x: values})
        v1.train.export_meta_graph(path)
    kinds = {node.name: node.op for node in graph.as_graph_def().node}
    assert (kinds["scope/s"], kinds["i"], kinds[merged.op.name]) == (
        "ScalarSummary",
        "ImageSummary",
        "MergeSummary",
    )
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.train.import_meta_graph(path)
        assert graph.get_operation_by_name("h").type == "HistogramSummary"
        assert session.run(merged.name, {"x:0": values}) == expected
        again = v1.Summary.FromString(session.run(v1.summary.merge_all(), {"x:0": values}))
        assert [value.tag for value in again.value] == ["scope/s", "h", "i/image/0", "a/audio", "t"]


def test_several_tags_at_once():
    message = v1.GraphDef()
    for name, data in ("tags", [b"a", b"b"]), ("values", [1.0, 2.0]):
        node = message.node.add(name=name, op="Const")
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(data))
        node.attr["dtype"].type = node.attr["value"].tensor.dtype
    node = message.node.add(name="s", op="ScalarSummary", input=["tags", "values"])
    node.attr["T"].type = 1
    with tf.Graph().as_default(), v1.Session() as session:
        (s,) = tf.graph_util.import_graph_def(message, return_elements=["s:0"], name="")
        found = v1.Summary.FromString(session.run(s))
    assert [(value.tag, value.simple_value) for value in found.value] == [("a", 1.0), ("b", 2.0)]


def test_the_graph_of_the_seeds_has_nothing_twice(tmp_path):
    """Seeds 0 and 4: no second `ones`, initializer, sum or array is in what TensorBoard shows."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        w, b = v1.get_variable("weights", [1]), v1.get_variable("bias", [1])
        for _ in range(3):
            session.run(v1.global_variables_initializer())
            loss = tf.reduce_mean(tf.square(w * tf.constant([1.0, 2.0]) + b - 1.0))
            kept = tf.gradients(loss, [w, b])
            assert float(session.run(tf.reduce_sum([[1.0] * 100] * 100))) == 1e4
        v1.summary.FileWriter(str(tmp_path), graph).close()
    assert len(kept) == 2
    _, served = shown(tmp_path)
    nodes = served(".").node
    made = [(node.op, *node.input) for node in nodes if node.op not in ("Const", "VarHandleOp")]
    assert len(made) == len(set(made))
    assert not any("ones" in node.name for node in nodes)
    assert sum(node.ByteSize() for node in nodes) < 20_000
