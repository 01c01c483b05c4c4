"""One small program for every cause of an absent gradient: the code, the line, the remedy.

The line that is to be named ends in the comment HERE.
"""

from __future__ import annotations

import json
import linecache

import numpy as np
import pytest

import talweg as tf


def check(found, code, remedy="", line="HERE", kind=None):
    """`found` is this cause, names the line and says what to write."""
    assert found.code == code, str(found)
    assert not found.connected
    if line:
        assert found.lines and line in found.lines[0].source, str(found)
    assert remedy in found.remedy, found.remedy
    assert code in str(found) and code in found.in_a_line()
    assert kind is None or found.kind == kind
    assert found.svg().startswith("<svg") and found._repr_html_().count("<div") >= 1


# -- the source was not watched


def test_a_constant_is_not_watched():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW310", "tape.watch(x)")


def test_a_variable_that_is_not_trainable():
    scale = tf.Variable(2.0, trainable=False, name="scale")
    with tf.GradientTape() as tape:
        y = scale * 3.0  # HERE
    assert tape.gradient(y, scale) is None
    check(tape.explain(y, scale), "TW311", "tape.watch(scale)")


def test_a_tape_that_watches_no_variables():
    w = tf.Variable(2.0, name="w")
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = w * 3.0  # HERE
    assert tape.gradient(y, w) is None
    check(tape.explain(y, w), "TW312", "tape.watch(w)")


def test_watched_after_use():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW313", "first")


def test_never_used():
    w, b = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="b")
    with tf.GradientTape() as tape:  # HERE
        loss = b * 2.0
    assert tape.gradient(loss, w) is None
    check(tape.explain(loss, w), "TW314", "leave it out")


def test_used_for_something_else():
    w, b = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="b")
    with tf.GradientTape() as tape:
        unused = tf.square(w)  # HERE
        loss = b * 2.0
    assert tape.gradient(loss, w) is None
    found = tape.explain(loss, w)
    check(found, "TW315", "leave it out")
    assert "computed from b" in found.verdict and [s.name for s in found.path] == ["square"]
    del unused


def test_a_constant_as_target():
    w = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = tf.constant(2.0)  # HERE
    check(tape.explain(loss, w), "TW315")


# -- outside the tape


def test_before_the_tape():
    """The third seed's program."""
    x = tf.Variable(3.0)
    y = x**2 + 2 * x + 1  # HERE
    with tf.GradientTape() as tape:
        z = y
    assert tape.gradient(z, x) is None
    check(tape.explain(z, x), "TW316", "inside")


def test_an_intermediate_value_from_before_the_tape():
    w = tf.Variable(3.0)
    prediction = tf.tanh(w * 2.0)  # HERE
    with tf.GradientTape() as tape:
        loss = tf.square(prediction - 1.0)
    assert tape.gradient(loss, w) is None
    found = tape.explain(loss, w)
    check(found, "TW316", "inside")
    assert "prediction" in found.verdict


def test_after_the_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    loss = tf.sqrt(y)  # HERE
    assert tape.gradient(loss, x) is None
    check(tape.explain(loss, x), "TW317", "move this line")


def test_outside_where_the_text_does_not_tell():
    def computed(x):
        return [x * x]

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        tf.square(x)
    check(tape.explain(computed(x)[0], x), "TW317", line="")


def test_while_recording_was_stopped():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape, tape.stop_recording():
        y = x * x  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW318", "stop_recording")


def test_an_intermediate_value_while_recording_was_stopped():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            y = x * x  # HERE
        z = y * 2.0
    assert tape.gradient(z, x) is None
    check(tape.explain(z, x), "TW318", "stop_recording")


def test_reset():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW319", "reset before")


# -- out of the tape's sight


@pytest.mark.parametrize(
    "leave",
    [
        lambda y: tf.constant(y.numpy()),
        lambda y: tf.constant(np.sin(y)),
        lambda y: tf.constant(float(y)),
        lambda y: tf.constant(np.asarray(y) * 2.0),
    ],
    ids=["numpy", "function", "float", "asarray"],
)
def test_left_through_numpy(leave):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        print(y.numpy())  # does no harm
        z = leave(y)  # the lambda is the line
    assert tape.gradient(z, x) is None
    found = tape.explain(z, x)
    check(found, "TW320", "tensor operations", line="lambda y")
    assert [step.name for step in found.path] == ["mul"]


def test_a_numpy_value_used_beside_other_variables():
    x, b = tf.Variable(3.0), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        factor = np.exp(x)  # HERE
        loss = b * factor
    assert tape.gradient(loss, x) is None
    check(tape.explain(loss, x), "TW320")


def test_numpy_function():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.numpy_function(np.sin, [x], tf.float32)  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW321", "tf.py_function")


def test_numpy_function_in_a_traced_function():
    x = tf.Variable(3.0)

    @tf.function
    def f():
        return tf.numpy_function(np.sin, [x * 2.0], tf.float32)  # HERE

    with tf.GradientTape() as tape:
        y = f()
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW321", "tf.py_function")


def test_numpy_inside_py_function():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.py_function(lambda v: np.sin(v.numpy()), [x], tf.float32)  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW320")


# -- operations on the path


def test_a_cast_to_integers():
    x = tf.Variable(3.5)
    with tf.GradientTape() as tape:
        y = tf.cast(tf.cast(x * 2.0, tf.int32), tf.float32) * 2.0  # HERE
    assert tape.gradient(y, x) is None
    found = tape.explain(y, x)
    check(found, "TW322", "straight-through")
    assert found.breaking.value == "int32[]" and found.breaking.code == "tf.cast(x * 2.0, tf.int32)"
    assert [s.name for s in found.path] == ["mul"]
    assert [s.name for s in found.beyond] == ["cast", "mul"]


def test_a_float_index():
    x, table = tf.Variable(1.2), tf.constant([1.0, 2.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.gather(table, tf.cast(x, tf.int32))  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW322")


def test_truth_values_on_the_path():
    x = tf.Variable([1.2, -1.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.cast(tf.cast(x, tf.bool), tf.float32))  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW322", "weigh both sides")


def test_an_integer_source():
    n = tf.Variable(3)  # HERE
    with tf.GradientTape() as tape:
        y = tf.cast(n, tf.float32) * 2.0
    assert tape.gradient(y, n) is None
    check(tape.explain(y, n), "TW323", "tf.Variable(3.0)")


@pytest.mark.parametrize(
    "operation, remedy",
    [
        (tf.round, "straight-through"),
        (tf.floor, "straight-through"),
        (tf.math.ceil, "straight-through"),
        (lambda x: tf.cast(tf.argmax(x), tf.float32), "tf.nn.softmax"),
        (lambda x: tf.cast(x > 0.5, tf.float32), "tf.sigmoid"),
        (lambda x: tf.cast(tf.equal(x, 0.5), tf.float32), "tf.exp"),
        (lambda x: x // 2.0, "tf.math.divide"),
        (lambda x: tf.cast(tf.argsort(x), tf.float32), "tf.sort"),
        (lambda x: tf.cast(tf.math.is_nan(x), tf.float32), ""),
        (lambda x: tf.cast(tf.searchsorted([0.0, 1.0], x), tf.float32), "sigmoid"),
    ],
)
def test_operations_without_a_derivative(operation, remedy):
    x = tf.Variable([0.2, 0.9])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(operation(x * 1.0) * 2.0)
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW324", remedy, line="")


def test_the_condition_only_chooses():
    x, a, b = tf.Variable(0.7), tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = tf.where(tf.cast(x, tf.bool), a, b)
    check(tape.explain(y, x), "TW322", line="")
    with tf.GradientTape() as tape:
        y = tf.where(x > 0.5, a, b)  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW324", "tf.sigmoid")


def test_python_if_on_a_tensor_only_chooses():
    x = tf.Variable(0.7)
    with tf.GradientTape() as tape:
        if x > 0.5:  # HERE
            y = tf.constant(1.0)
        else:
            y = tf.constant(2.0)
    assert tape.gradient(y, x) is None
    found = tape.explain(y, x)
    check(found, "TW325", "tf.sigmoid")


def test_class_numbers_only_choose():
    logits, labels = tf.constant([[1.0, 2.0]]), tf.Variable([0.0])
    with tf.GradientTape() as tape:
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), logits)
    check(tape.explain(loss, labels), "TW322", line="")


def test_sampling():
    logits = tf.Variable([[0.1, 0.9]])
    with tf.GradientTape() as tape:
        sample = tf.random.categorical(logits, 1)  # HERE
        y = tf.cast(sample, tf.float32)
    assert tape.gradient(y, logits) is None
    check(tape.explain(y, logits), "TW326", "Gumbel")


def test_poisson_sampling():
    rate = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.random.stateless_poisson([], [1, 2], rate, tf.float32)  # HERE
    assert tape.gradient(y, rate) is None
    check(tape.explain(y, rate), "TW326", "score-function")


def test_stop_gradient():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.stop_gradient(x * x) * 3.0  # HERE
    assert tape.gradient(y, x) is None
    found = tape.explain(y, x)
    check(found, "TW327", "leave tf.stop_gradient out")
    assert [s.name for s in found.path] == ["mul"] and [s.name for s in found.beyond] == ["mul"]


# -- variables


def test_assigned_inside_the_tape():
    w, v = tf.Variable(2.0, name="w"), tf.Variable(0.0, name="v")
    with tf.GradientTape() as tape:
        v.assign(w * 3.0)  # HERE
        loss = v * v
    assert tape.gradient(loss, w) is None
    found = tape.explain(loss, w)
    check(found, "TW328", "new = f(w)")
    assert "v:0" in found.verdict and [s.name for s in found.path] == ["mul"]


def test_assigned_in_a_traced_function():
    w, v = tf.Variable(2.0, name="w"), tf.Variable(0.0, name="v")

    @tf.function
    def step():
        v.assign_add(w * 3.0)  # HERE
        return w

    with tf.GradientTape() as tape:
        step()
        loss = v * v
    assert tape.gradient(loss, w) is None
    check(tape.explain(loss, w), "TW328")


def test_a_variable_replaced_by_a_tensor():
    w = tf.Variable(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = w * w
        gradient = tape.gradient(loss, w)
        if gradient is not None:
            w = w - 0.1 * gradient  # HERE
    check(tape.explain(loss, w), "TW329", "w.assign_sub")


def test_a_tensor_replaced_after_use():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        x = x + 1.0  # HERE
        z = y * 2.0
    assert tape.gradient(z, x) is None
    check(tape.explain(z, x), "TW329", "another name", line="HERE")


def test_two_variables_of_one_name():
    first, second = tf.Variable(1.0, name="kernel"), tf.Variable(1.0, name="kernel")
    with tf.GradientTape() as tape:
        loss = first * 2.0
    assert tape.gradient(loss, second) is None
    found = tape.explain(loss, second)
    check(found, "TW334", "a name of its own", line="")


# -- the tape


def test_tape_used_up():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:  # HERE
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError):
        tape.gradient(y, x)
    check(tape.explain(y, x), "TW330", "persistent=True")


def test_tape_never_entered():
    x = tf.Variable(2.0)
    tape = tf.GradientTape()
    check(tape.explain(x * x, x), "TW331", "with tf.GradientTape()", line="")


# -- what was asked for


def test_a_branch_not_taken():
    w, b, flag = tf.Variable(2.0), tf.Variable(1.0), False
    with tf.GradientTape() as tape:
        y = b * 2.0
        if flag:
            y = y * w  # HERE
    assert tape.gradient(y, w) is None
    check(tape.explain(y, w), "TW332", "ZERO")


def test_a_function_not_called():
    w, b = tf.Variable(2.0), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.cond(b < 0.0, lambda: w * 2.0, lambda: b * 2.0)  # HERE
    assert tape.gradient(y, w) is None
    check(tape.explain(y, w), "TW332")


def test_a_custom_gradient_that_gave_none():
    @tf.custom_gradient
    def clipped(x):
        def grad(upstream):
            return None

        return tf.minimum(x, 1.0), grad

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = clipped(x * 2.0) * 3.0  # HERE
    assert tape.gradient(y, x) is None
    found = tape.explain(y, x)
    check(found, "TW333", "def grad(upstream)")
    assert "clipped" in found.verdict


def test_the_target_is_a_number():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = float(x * x)  # HERE
    check(tape.explain(y, x), "TW335", "keep the tensor")
    with pytest.raises(TypeError, match="float"):
        tape.gradient(y, x)


def test_the_source_is_an_array():
    x = np.array([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x)
    check(tape.explain(y, x), "TW336", "tape.watch(x)", line="")


def test_target_and_source_exchanged():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(x, y) is None
    check(tape.explain(x, y), "TW337", "tape.gradient(y, x)", line="")


# -- no cause at all


def test_connected():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.square(tf.sin(x))
    found = tape.explain(y, x)
    assert found.connected and found.code == ""
    assert [step.name for step in found.path] == ["sin", "square"]
    assert float(tape.gradient(y, x)) != 0.0


# -- what a demanding user tries next


def test_a_second_derivative_that_is_zero():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = 3.0 * x
        first = inner.gradient(y, x)  # HERE
    assert outer.gradient(first, x) is None
    found = outer.explain(first, x)
    check(found, "TW315", "ZERO")
    assert "linear" in found.verdict


def test_a_first_derivative_taken_outside_the_outer_tape():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x**3
    first = inner.gradient(y, x)  # HERE
    assert outer.gradient(first, x) is None
    check(outer.explain(first, x), "TW317")


class Model:
    def __init__(self):
        self.w = tf.Variable(1.0)

    def step(self):
        with tf.GradientTape() as tape:
            loss = self.w * self.w
        gradient = tape.gradient(loss, self.w)
        if gradient is None:
            return tape.explain(loss, self.w)
        self.w = self.w - 0.1 * gradient  # HERE
        return None


def test_an_attribute_replaced_by_a_tensor():
    model = Model()
    assert model.step() is None
    check(model.step(), "TW329", "self.w.assign_sub")


def test_in_a_traced_function():
    @tf.function
    def step(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.round(a * 2.0)  # HERE
        return tape.gradient(y, a, unconnected_gradients="error")

    with pytest.raises(ValueError, match="TW324") as caught:
        step(tf.constant(1.0))
    assert "HERE" in str(caught.value)


def test_a_branch_of_a_traced_function_that_does_not_lead_on():
    """The gradient is zero, not None, as in TensorFlow; the answer says when."""
    w, b = tf.Variable(2.0, name="w"), tf.Variable(1.0, name="b")

    @tf.function
    def f(x):
        y = x * b
        if tf.reduce_sum(x) > 0.0:  # HERE
            y = y + 1.0
        else:
            y = y * w
        return y

    with tf.GradientTape(persistent=True) as tape:
        y = f(tf.constant(1.0))
    assert float(tape.gradient(y, w)) == 0.0
    found = tape.explain(y, w)
    assert found.connected and "HERE" in found.notes[0] and "zero" in found.notes[0]
    assert not tape.explain(y, b).notes


def test_all_branches_of_a_traced_function_are_blocked():
    @tf.function
    def f(x):
        y = x * 2.0
        if tf.reduce_sum(y) > 0.0:
            y = tf.floor(y)  # HERE
        else:
            y = tf.math.ceil(y)
        return y * 3.0

    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = f(x)
    found = tape.explain(y, x)
    check(found, "TW324", "straight-through", line="HERE")
    assert [step.name for step in found.path] == ["call", "mul", "branch"]


def test_several_sources_and_targets():
    w, b = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="b")
    with tf.GradientTape() as tape:
        first = tf.round(w)  # HERE
        second = b * 1.0
    found = tape.explain([first, second], {"b": b, "w": [w]})
    assert [each.code for each in found] == ["", "TW324"]
    assert "1 of 2 sources have a gradient: b" in str(found)
    check(found.absent[0], "TW324")


def test_two_breaks_are_both_named():
    x = tf.Variable([0.3, 0.9])
    with tf.GradientTape() as tape:
        y = tf.round(x) + tf.stop_gradient(x)  # HERE
    assert tape.gradient(y, x) is None
    found = tape.explain(y, x)
    check(found, "TW324")
    assert "stop_gradient breaks another path" in found.notes[0]


def test_jacobian_explains_too():
    x = tf.Variable([0.3, 0.9])
    with tf.GradientTape() as tape:
        y = tf.round(x)  # HERE
    with pytest.raises(ValueError, match="TW324") as caught:
        tape.jacobian(y, x, unconnected_gradients="error")
    assert "HERE" in str(caught.value)


def test_asked_before_the_gradient_a_custom_gradient_is_tried():
    @tf.custom_gradient
    def f(x):
        return x * 2.0, lambda upstream: None

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x)  # HERE
    check(tape.explain(y, x), "TW333")
    assert tape.gradient(y, x) is None


def test_another_cell_of_a_notebook():
    """Cells are compiled apart; their text is in linecache under names of its own."""
    cells = [
        "x = tf.Variable(3.0)\ny = x**2\n",
        "with tf.GradientTape() as tape:\n    z = y\n",
        "gradient = tape.gradient(z, x)\nfound = tape.explain(z, x)\n",
    ]
    names = {"tf": tf}
    for number, text in enumerate(cells):
        file = f"/tmp/ipykernel_1/{number}.py"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), names)
    assert names["gradient"] is None
    check(names["found"], "TW317", line="")


def test_as_json_and_without_source_text():
    text = "with tf.GradientTape() as tape:\n    y = tf.round(x)\nfound = tape.explain(y, x)"
    names = {"tf": tf, "x": tf.Variable(1.5)}
    exec(compile(text, "<nowhere>", "exec"), names)
    found = names["found"]
    assert found.code == "TW324" and "<nowhere>" in str(found)
    told = json.loads(json.dumps(found.as_dict()))
    assert told["code"] == "TW324" and told["path"][0]["role"] == "break"


def test_the_answer_stays_after_the_next_tape():
    x = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        y = tf.round(x)  # HERE
    assert tape.gradient(y, x) is None
    with tf.GradientTape() as later:
        z = x * x
    assert later.gradient(z, x) is not None
    check(tape.explain(y, x), "TW324")


def test_a_tape_entered_again_forgets():
    x = tf.Variable(1.5)
    tape = tf.GradientTape()
    with tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 3.0
    with tape:
        y = x * x * x
    assert float(tape.gradient(y, x)) == 6.75


def test_a_metric_beside_the_path_is_not_the_cause():
    w, b = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="b")
    metric = tf.Variable(0.0, trainable=False)
    with tf.GradientTape() as tape:
        y = w * 2.0  # HERE
        metric.assign_add(y)
        shown = float(y)
        history = [y.numpy(), shown]
        loss = b * 2.0
    assert tape.gradient(loss, w) is None and history
    check(tape.explain(loss, w), "TW315")


def test_a_name_that_is_only_asked_for_its_shape():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.cast(tf.size(v), tf.float32) * 2.0  # HERE
    assert tape.gradient(y, v) is None
    check(tape.explain(y, v), "TW314", "value of v")


def test_places_of_the_largest():
    v = tf.Variable([1.0, 3.0, 2.0])
    with tf.GradientTape() as tape:
        _, places = tf.math.top_k(v, 2)  # HERE
        y = tf.reduce_sum(tf.cast(places, tf.float32))
    check(tape.explain(y, v), "TW322", "tf.math.top_k")


def test_a_ragged_source():
    rows = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        y = tf.reduce_sum(tf.round(rows.flat_values))  # HERE
    found = tape.explain(y, rows)
    check(found, "TW324")
    assert found.source == "rows"


def test_through_a_dataset():
    w = tf.Variable(2.0)
    data = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * w)  # HERE
    for x in data:
        with tf.GradientTape() as tape:
            loss = tf.square(x)
        assert tape.gradient(loss, w) is None
        check(tape.explain(loss, w), "TW338")


def test_a_hundred_sources_print_one_cause():
    variables = [tf.Variable(float(n), name=f"v{n}") for n in range(100)]
    with tf.GradientTape() as tape:
        total = tf.add_n(variables)
        loss = tf.round(total)
    text = str(tape.explain(loss, variables))
    assert text.count("TW324") == 2 and "and 87 more" in text and len(text) < 2000


class Network(tf.Module):
    def __init__(self):
        self.kernel = tf.Variable(tf.ones([2, 2]), name="kernel")
        self.scale = tf.Variable(1.0, name="scale")
        self.scaled = False

    def __call__(self, x):
        x = tf.tanh(x @ self.kernel)
        if self.scaled:
            x = x * self.scale  # HERE
        return x


def test_a_branch_not_taken_inside_a_model():
    network = Network()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(tf.ones([1, 2])))
    gradients = tape.gradient(loss, network.trainable_variables)
    assert [gradient is None for gradient in gradients] == [False, True]
    for variable, gradient in zip(network.trainable_variables, gradients):
        if gradient is None:
            check(tape.explain(loss, variable), "TW332")


def test_a_variable_made_of_a_tensor_inside_the_tape():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        state = tf.Variable(w * 2.0, name="state")  # HERE
        y = tf.reduce_sum(state * state)
    assert tape.gradient(y, w) is None
    check(tape.explain(y, w), "TW328")


def test_one_line_in_a_loop_is_named_once():
    w = tf.Variable(1.2)
    with tf.GradientTape() as tape:
        parts = [tf.round(w) * float(n) for n in range(3)]  # HERE
        y = tf.add_n(parts)
    assert tape.gradient(y, w) is None
    found = tape.explain(y, w)
    check(found, "TW324")
    assert found.notes == ()


def test_a_value_from_before_that_is_not_in_the_target_is_not_the_cause():
    w, b = tf.Variable(2.0), tf.Variable(1.0)
    other = w * 3.0
    with tf.GradientTape() as tape:
        y = b * 2.0
        shown = other.shape
    assert tape.gradient(y, w) is None and shown is not None
    check(tape.explain(y, w), "TW314", line="")


def test_a_tensor_computed_in_steps_before_the_tape_is_not_rebound():
    x = tf.constant(1.0)
    x = x + 1.0
    with tf.GradientTape() as tape:
        y = x * x  # HERE
    assert tape.gradient(y, x) is None
    check(tape.explain(y, x), "TW310")


def test_a_number_read_beside_the_path_is_not_the_cause():
    w, b = tf.Variable(2.0), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        hidden = w * 2.0
        accuracy = float(hidden)
        y = tf.stop_gradient(hidden) * b  # HERE
    assert tape.gradient(y, w) is None and accuracy
    check(tape.explain(y, w), "TW327")


def test_numbers_collected_in_a_list():
    w = tf.Variable(2.0)
    losses, history = [], []
    with tf.GradientTape() as tape:
        for factor in (1.0, 2.0):
            part = w * factor
            history.append(float(part))
            losses.append(part.numpy())  # HERE
        loss = tf.reduce_mean(losses)
    assert tape.gradient(loss, w) is None and history
    check(tape.explain(loss, w), "TW320")
