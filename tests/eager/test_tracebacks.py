"""Tracebacks show the user's own lines; what users do by habit says what to write instead."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import talweg as tf
from talweg.core.provenance import ROOT, describe

x = tf.ones([2, 3])
PAIRS = tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [3, 4]))


def own_frames(error):
    """How many frames of talweg a traceback has, and its text."""
    frames = traceback.extract_tb(error.__traceback__)
    text = "".join(traceback.format_exception(error))
    return sum(frame.filename.startswith(ROOT) for frame in frames), text


def multiply(a):
    return tf.matmul(a, a)


def assign_wrongly():
    tf.Variable([1.0, 2.0]).assign([1.0, 2.0, 3.0])


def iterate_wrongly():
    for _ in tf.data.Dataset.range(3).map(lambda n: tf.reshape(n, [2])):
        pass


def differentiate_wrongly():
    with tf.GradientTape() as tape:
        pass
    tape.gradient("y", x)


def gradient_of_a_number():
    with tf.GradientTape() as tape:
        loss = float(tf.reduce_sum(x))
    tape.gradient(loss, x)


def run_wrongly():
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        session.run(v1.placeholder(tf.float32))


@pytest.mark.parametrize(
    "program",
    [
        lambda: multiply(x),
        lambda: tf.function(multiply)(x),
        lambda: x @ x,
        lambda: x + tf.ones([7]),
        lambda: tf.Variable(x) + tf.ones([7]),
        lambda: tf.function(lambda a: a + tf.ones([7]))(x),
        lambda: x[0, 0, 0],
        lambda: x["a"],
        lambda: tf.reduce_sum(x, dim=0),
        lambda: tf.stack([x, tf.ones([7])]),
        assign_wrongly,
        iterate_wrongly,
        differentiate_wrongly,
        run_wrongly,
        lambda: tf.data.Dataset.range(3).map(lambda n: tf.reshape(n, [2])),
        lambda: tf.ragged.constant([[1], [2, 3]]) + tf.ones([7]),
        lambda: tf.map_fn(lambda row: tf.reshape(row, [7]), x),
        lambda: tf.no_such_name,
        lambda: tf.Variable(),
        lambda: tf.Variable(1.0, trainabel=False),
        lambda: tf.TensorSpec(["a"]),
        lambda: tf.TensorShape(["a"]),
        lambda: PAIRS.map(lambda a: a),
        lambda: tf.data.Dataset.from_tensor_slices((tf.ones([2]), tf.ones([3]))),
        tf.function(lambda: tf.gather(x, tf.constant([9]) + tf.cast(x[0, 0], tf.int32))),
    ],
)
def test_a_traceback_has_hardly_a_frame_of_ours(program):
    with pytest.raises(Exception) as caught:
        program()
    count, text = own_frames(caught.value)
    assert count <= 2, text
    assert "During handling" not in text and "direct cause" not in text


def test_users_functions_inside_stay():
    def inner(row):
        return tf.reshape(row, [7])  # INNER

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.map_fn(inner, x)
    assert "INNER" in own_frames(caught.value)[1]


def test_an_error_of_the_users_own_stays_the_context():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        try:
            raise KeyError("his own")
        except KeyError:
            multiply(x)
    text = own_frames(caught.value)[1]
    assert "his own" in text and "During handling" in text


def test_the_switch():
    assert tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            multiply(x)
        assert own_frames(caught.value)[0] > 3
        assert not tf.debugging.is_traceback_filtering_enabled()
    finally:
        tf.debugging.enable_traceback_filtering()


def test_a_fault_of_ours_keeps_the_innermost_frame(monkeypatch):
    def fault(*args, **kwargs):
        raise RuntimeError("a fault")

    monkeypatch.setattr("talweg.api.array.joining.integer_scalar", fault)
    with pytest.raises(RuntimeError) as caught:
        tf.concat([x, x], 0)
    assert "in fault" in own_frames(caught.value)[1]


def test_a_script_shows_its_own_lines(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent("""
        import talweg as tf

        def step(x):
            return tf.matmul(x, x)

        step(tf.ones([2, 3]))
        """)
    )
    found = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.count('File "') == 2 and ROOT not in found.stderr
    assert found.stderr.startswith("Traceback")


@pytest.mark.parametrize(
    "habit, cure",
    [
        (lambda x: x.T, "tf.transpose(x)"),
        (lambda x: x.sum(), "tf.reduce_sum(x"),
        (lambda x: x.reshape(6), "tf.reshape(x, shape)"),
        (lambda x: x.backward(), "tf.GradientTape()"),
        (lambda x: x.detach(), "tf.stop_gradient(x)"),
        (lambda x: x.item(), "x.numpy()"),
        (lambda x: x.size, "tf.size(x)"),
        (lambda x: x.astype("int32"), "tf.cast(x"),
        (lambda x: x.to("cuda"), "tf.cast(x, dtype)"),
        (lambda x: x.at[0].set(1.0), "tf.tensor_scatter_nd_update"),
    ],
)
@pytest.mark.parametrize("kind", ["tensor", "variable", "graph"])
def test_attributes_of_others(habit, cure, kind):
    with pytest.raises(AttributeError) as caught:
        if kind == "graph":
            tf.function(habit)(x)
        else:
            habit(x if kind == "tensor" else tf.Variable(x))
    assert cure in str(caught.value) and "[TW104]" in str(caught.value)
    assert kind == "graph" or own_frames(caught.value)[0] == 0


def test_habits_are_not_there_for_who_looks():
    v = tf.Variable(x)
    for name in ("T", "sum", "item", "backward", "size"):
        assert not hasattr(x, name) and not hasattr(v, name)
        assert name not in dir(x) and name not in dir(v)
    assert "shape" in dir(x) and "assign_add" in dir(v)


def test_a_package_that_is_not_there_is_told_shortly(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    messages = import_module("talweg.summaries.events").messages
    messages.cache_clear()
    try:
        with pytest.raises(ImportError, match=r"pip install talweg\[graphdef\]") as caught:
            tf.summary.create_file_writer("/tmp/never")
    finally:
        messages.cache_clear()
    count, text = own_frames(caught.value)
    assert count <= 2 and "direct cause" not in text, text


def test_items_are_not_assigned():
    v = tf.Variable(x)
    with pytest.raises(TypeError, match="tensor_scatter_nd_update"):
        x[0] = 1.0
    with pytest.raises(TypeError, match=r"v\[index\].assign\(value\)"):
        v[0] = 1.0
    v[0].assign([5.0, 5.0, 5.0])
    np.testing.assert_array_equal(v[0], [5.0, 5.0, 5.0])


@pytest.mark.parametrize(
    "program, cure",
    [
        (lambda: tf.reduce_sum(x, dim=0), "axis="),
        (lambda: tf.transpose(x, axes=[1, 0]), "perm="),
        (lambda: tf.reduce_sum(x, keep_dims=True), "keepdims="),
        (lambda: tf.concat(0, [x, x]), "tf.concat(values, 0)"),
        (lambda: tf.matmul(np.ones([3, 3]), tf.ones([3, 3])), "dtype=np.float32"),
        (lambda: tf.constant("a") + 1, "tf.strings.as_string(y)"),
        (lambda: tf.zeros([2.5, 3]), "zeros: shape is [2.5, 3]"),
        (lambda: tf.cast("3", tf.int32), "tf.strings.to_number"),
        (lambda: tf.function(lambda a: a.numpy())(x), "tf.print"),
        (lambda: tf.function(lambda a: a + tf.Variable(1.0))(x), "__init__"),
        (lambda: x * None, "tape.explain"),
        (lambda: tf.matmull, "tf.matmul"),
        (lambda: tf.Session, "tf.compat.v1.Session"),
        (lambda: tf.sum, "use tf.reduce_sum"),
        (lambda: tf.tensor, "use tf.constant"),
        (lambda: tf.log, "TensorFlow 2 has tf.math.log"),
        (lambda: tf.to_float, "TensorFlow 2 has tf.cast(x, tf.float32)"),
        (lambda: tf.train.AdamOptimizer, "TensorFlow 2 has tf.keras.optimizers.Adam"),
        (lambda: tf.global_variables_initializer, "TensorFlow 2 needs none"),
        (lambda: tf.nn.Linear, "use tf.keras.layers.Dense"),
        (lambda: x.append(1), "tf.stack"),
        (lambda: tf.tpu.experimental.Topology, "TPUs"),
        (lambda: tf.utils.data.DataLoader, "tf.data.Dataset"),
        (lambda: tf.cuda.is_available(), "tf.config.list_physical_devices"),
        (lambda: tf.nn.CrossEntropyLoss(), "tf.keras.losses.SparseCategoricalCrossentropy"),
        (lambda: tf.nn.functional.relu, "use tf.nn"),
        (lambda: tf.device("cuda:0"), "'/GPU:0'"),
        (lambda: x[[0, 1, 0]], "tf.gather"),
        (lambda: x.__delitem__(0), "tf.boolean_mask"),
        (lambda: tf.Variable(1.0, trainabel=False), "trainable="),
        (lambda: tf.nn.dropout(x, keep_prob=0.5), "rate=1 - keep_prob"),
        (lambda: tf.sqrt(4), "tf.cast(x, tf.float32)"),
        (lambda: tf.nn.softmax([1, 2]), "tf.cast(logits, tf.float32)"),
        (lambda: tf.constant([1.5], dtype=tf.int32), "tf.cast(value, tf.int32)"),
        (lambda: tf.constant([[1, 2], [3]]), "tf.ragged.constant"),
        (lambda: tf.transpose(x, 1, 0), "perm=[...]"),
        (lambda: float(x), "x.numpy()"),
        (lambda: tf.image.resize(tf.ones([4, 4, 3]), [2, 2], "cubicc"), "'bicubic'"),
        (lambda: tf.clip_by_norm([1.0], "a"), "clip_norm has dtype string"),
        (lambda: tf.lookup.StaticHashTable({"a": 1}, -1), "KeyValueTensorInitializer"),
        (lambda: PAIRS.map(lambda a: a), "elements are tuples of 2"),
        (lambda: PAIRS.filter(lambda: True), "a function of 2 arguments"),
        (lambda: PAIRS.shuffle(), "Dataset.shuffle()"),
        (lambda: PAIRS.make_one_shot_iterator(), "iter(dataset)"),
        (lambda: PAIRS.output_shapes, "dataset.element_spec"),
        (lambda: tf.data.Dataset([1, 2]), "from_tensor_slices"),
        (lambda: len(PAIRS.filter(lambda a, b: True)), "dataset.reduce"),
        (lambda: tf.config.list_physical_devices("TPU")[0], "if gpus:"),
        (lambda: tf.where([1.0], 1, 2), "value > 0"),
        (lambda: tf.where([True], 1, 2.5), "1.0 for 1"),
        (lambda: tf.constant([1, 2]) * 0.5, "tf.cast(x, tf.float32) for a tensor"),
        (lambda: tf.constant(1) + tf.constant(1.0), "try: tf.cast(x, tf.float32)"),
        (lambda: tf.constant(1.0) + tf.constant(1), "try: tf.cast(y, tf.float32)"),
        (lambda: tf.constant(1) == tf.constant(1.0), "try: tf.cast(x, tf.float32)"),
        (lambda: tf.constant([[1]]) @ tf.constant([[1.0]]), "try: tf.cast(a, tf.float32)"),
        (lambda: (tf.Variable(1.0) - 0.1).assign(2.0), "v.assign_sub(0.1)"),
        (lambda: list(tf.constant(3)), "tf.range(x)"),
        (lambda: tf.random.seed(1), "tf.random.set_seed"),
        (lambda: tf.one_hot([0.0, 1.0], 3), "tf.cast(indices, tf.int32)"),
        (lambda: tf.strings.split(5), "tf.strings.as_string(value)"),
        (lambda: tf.constant([None, 1.0]), "float('nan')"),
        (lambda: PAIRS.batch(2, drop_last=True), "drop_remainder="),
        (lambda: PAIRS.append(1), "dataset.concatenate"),
        (lambda: tf.image.resize(tf.ones([2, 2, 3]), 4), "[height, width]"),
        (lambda: gradient_of_a_number(), "tf.reduce_sum, not np.sum"),
        (lambda: x._unique_id, "zip(gradients, variables)"),
    ],
)
def test_cures(program, cure):
    kinds = (TypeError, ValueError, AttributeError, LookupError, tf.errors.OpError)
    with pytest.raises(kinds) as caught:
        program()
    assert cure in str(caught.value)


def test_datasets_are_no_sequences_and_no_iterators():
    """A cure is no reason for operators: NumPy and `isinstance` ask the class for them."""
    for name in ("__getitem__", "__next__", "numpy"):
        assert not hasattr(PAIRS, name) and name not in dir(PAIRS)
    assert np.array(PAIRS).shape == () and not isinstance(PAIRS, Iterator)
    devices = tf.config.list_physical_devices()
    assert devices == [devices[0]] and devices[:1] == devices and isinstance(devices, list)


def test_long_lines_are_cut():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(x, x) + tf.matmul(x, x) + tf.matmul(x, x) + tf.matmul(x, x) + tf.matmul(x, x)
    place = next(line for line in str(caught.value).splitlines() if "at:" in line)
    assert place.endswith(" ...") or place.split("  [")[0].endswith(" ...")


def test_cells_are_named_as_notebooks_name_them():
    shell = import_module("IPython.core.interactiveshell").InteractiveShell.instance()
    code = "import talweg as tf\nfrom talweg.core.provenance import user_origin\n"
    shell.run_cell(code + "found = user_origin()", store_history=True)
    number = shell.execution_count - 1
    assert describe(shell.user_ns["found"]).startswith(f"Cell In[{number}], line 3")


@pytest.mark.parametrize(
    "program, cure",
    [
        (lambda: tf.Module().state_dict(), "tf.train.Checkpoint"),
        (lambda: tf.Module().parameters(), "module.trainable_variables"),
        (lambda: tf.Module().zero_grad(), "each tape starts"),
        (lambda: tf.explain_gradients(x * 2.0, x), "tape.explain"),
    ],
)
def test_what_users_of_pytorch_try_next(program, cure):
    with pytest.raises((TypeError, AttributeError, RuntimeError)) as caught:
        program()
    count, text = own_frames(caught.value)
    assert cure in str(caught.value) and count <= 1, text


def test_a_module_may_have_such_attributes_of_its_own():
    class Model(tf.Module):
        def parameters(self):
            return [1]

    module = tf.Module()
    assert Model().parameters() == [1]
    assert not hasattr(module, "state_dict") and "state_dict" not in dir(module)
    module.state_dict = 3
    assert module.state_dict == 3
