"""tf.compat.v1.profiler: what it counts is what TensorFlow 2.21 counts for the same operations."""

import pytest

import talweg as tf

v1 = tf.compat.v1
Options = v1.profiler.ProfileOptionBuilder
# what TensorFlow's registry of float operations gave for these
COUNTS = {
    "Conv2D": (lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 4, 5]), 1, "SAME"), 2 * 72 * 5 * 36),
    "DepthwiseConv2dNative": (
        lambda x: tf.nn.depthwise_conv2d(x, tf.ones([3, 3, 4, 2]), [1, 1, 1, 1], "SAME"),
        10368,
    ),
    "Conv3D": (
        lambda x: tf.nn.conv3d(tf.ones([1, 4, 4, 4, 2]), tf.ones([2, 2, 2, 2, 3]), [1] * 5, "SAME"),
        6144,
    ),
    "BatchMatMulV2": (lambda x: tf.matmul(tf.ones([3, 2, 4]), tf.ones([3, 4, 5])), 240),
    "MaxPool": (lambda x: tf.nn.max_pool2d(x, 3, 1, "VALID"), 1152),
    "AvgPool": (lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), 288),
    "Rsqrt": (tf.math.rsqrt, 576),
    "SquaredDifference": (lambda x: tf.math.squared_difference(x, x + 1.0), 576),
    "ArgMax": (lambda x: tf.argmax(x, 1), 240),
    "Neg": (tf.negative, 288),
    "Equal": (lambda x: tf.equal(x, x + 1.0), 288),
    "Softmax": (tf.nn.softmax, 1440),
    "Mean": (tf.reduce_mean, 288),
    "Sum": (lambda x: tf.reduce_sum(x, 1), 240),
}


def quiet(options, **more):
    """The options without output."""
    return {**options, "output": "none", **more}


@pytest.mark.parametrize("kind", COUNTS)
def test_float_operations(kind):
    """An operation counts as much as in TensorFlow."""
    make, wanted = COUNTS[kind]
    with tf.Graph().as_default() as graph:
        kept = make(v1.placeholder(tf.float32, [2, 6, 6, 4]))
        node = v1.profiler.profile(graph, cmd="op", options=quiet(Options.float_operation()))
    assert kept is not None
    counts = {}
    while node.children:
        node = node.children[0]
        counts[node.name] = node.float_ops
    assert counts[kind] == wanted


@pytest.fixture(name="model")
def _model():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [8, 28, 28, 3])
        w = v1.get_variable("w", [3, 3, 3, 16])
        with v1.variable_scope("a"):
            b = v1.get_variable("b", [16])
            y = tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b)
        v1.get_variable("steps", [], trainable=False)
        yield graph, y


def test_parameters_by_scope(model):
    """Trainable variables are counted, by default, in the tree of scopes."""
    graph, _ = model
    options = quiet(Options.trainable_variables_parameter())
    tree = v1.profiler.profile(graph, options=options)
    assert (tree.name, tree.total_parameters) == ("_TFProfRoot", 448)
    assert [(n.name, n.parameters, n.total_parameters) for n in tree.children] == [
        ("a", 0, 16),
        ("w", 432, 432),
    ]
    assert tree.children[0].children[0].name == "a/b"
    every = v1.profiler.profile(graph, options=quiet(Options().build()))
    assert every.total_parameters == 449


def test_totals_of_what_is_hidden(model):
    """Totals leave out what is not shown only where that is asked for."""
    graph, _ = model
    builder = Options(Options.float_operation()).with_node_names(hide_name_regexes=["a/conv.*"])
    shown = v1.profiler.profile(graph, options=quiet(builder.build()))
    whole = v1.profiler.profile(
        graph, options=quiet(builder.account_displayed_op_only(False).build())
    )
    assert whole.total_float_ops - shown.total_float_ops == 5419008
    short = quiet(Options(Options.float_operation()).with_max_depth(0).build())
    assert v1.profiler.profile(graph, options=short).children == []


def test_output(model, capsys, tmp_path):
    """The report is printed, written, or neither; what is not written says so."""
    graph, _ = model
    options = Options(Options.float_operation())
    v1.profiler.profile(graph, cmd="op", options=options.build())
    assert "Conv2D (5,419,008/" in capsys.readouterr().out
    path = tmp_path / "report.txt"
    v1.profiler.profile(graph, options=options.with_file_output(str(path)).build())
    assert "a/" in path.read_text() and not capsys.readouterr().out
    with pytest.raises(tf.errors.UnimplementedError, match="timeline"):
        v1.profiler.profile(graph, options=options.with_timeline_output("x").build())
    with pytest.raises(tf.errors.UnimplementedError, match="code"):
        v1.profiler.profile(graph, cmd="code", options=quiet(options.build()))
    with pytest.raises(ValueError, match="cmd='x'"):
        v1.profiler.profile(graph, cmd="x", options=quiet(options.build()))


def test_times_and_advice(model):
    """The times of a run are those of its metadata; the most expensive types are named."""
    graph, y = model
    metadata = v1.RunMetadata()
    with v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        feed = {graph.get_operations()[0].outputs[0]: [[[[1.0] * 3] * 28] * 28] * 8}
        session.run(y, feed, options=options, run_metadata=metadata)
    profiler = v1.profiler.Profiler(graph)
    profiler.add_step(1, metadata)
    root = profiler.profile_operations(quiet(Options.time_and_memory()))
    assert root.total_exec_micros > 0
    report = profiler.advise({"ExpensiveOperationChecker": {}}).checkers
    assert "operation type" in report["ExpensiveOperationChecker"].reports[0]


def test_log_of_operations(model, tmp_path):
    """The log has the float operations and the trainable variables."""
    graph, _ = model
    v1.profiler.write_op_log(graph, str(tmp_path))
    message = (tmp_path / "tfprof_log").read_bytes()
    assert b"a/b" in message and b"_trainable_variables" in message and b"a/conv" in message
