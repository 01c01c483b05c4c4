"""Saved models with values of libraries: specs that they register, names, wrapped tuples."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.api.names.spec import register


@register("tests.IntervalSpec")
class IntervalSpec(tf.TypeSpec):
    """A spec by TensorFlow's private protocol, with dictionaries in what determines it."""

    value_type = property(lambda self: Interval)

    def __init__(self, specs, label):
        self.specs, self.label = specs, label

    def _serialize(self):
        return self.specs, self.label

    @property
    def _component_specs(self):
        return self.specs

    def _to_components(self, value):
        return {"low": value.low, "high": value.high}

    def _from_components(self, parts):
        return Interval(parts["low"], parts["high"], self.label)

    def __hash__(self):
        return hash(self.label)


class Interval(tf.__internal__.CompositeTensor):
    """A value of a library: two tensors and a text."""

    def __init__(self, low, high, label="x"):
        self.low, self.high = tf.convert_to_tensor(low), tf.convert_to_tensor(high)
        self.label = label

    @property
    def _type_spec(self):
        specs = {"low": tf.TensorSpec.from_tensor(self.low)}
        return IntervalSpec(specs | {"high": tf.TensorSpec.from_tensor(self.high)}, self.label)


def saved(module, tmp_path, **options):
    folder = str(tmp_path / "model")
    tf.saved_model.save(module, folder, **options)
    return folder, tf.saved_model.load(folder)


def test_registered_specs_are_saved(tmp_path):
    module = tf.Module()
    module.around = tf.function(
        lambda x: {"a": Interval(x - 1, x + 1, "around")},
        input_signature=[tf.TensorSpec([None], tf.float32)],
    )
    module.width = tf.function(lambda interval: interval.high - interval.low)
    module.width.get_concrete_function(Interval([1.0], [2.0]))
    _, loaded = saved(module, tmp_path)
    interval = loaded.around([1.0, 2.0])["a"]
    assert type(interval) is Interval and interval.label == "around"
    np.testing.assert_array_equal(interval.high, [2, 3])
    np.testing.assert_array_equal(loaded.width(Interval([1.0], [4.0])), [3])


def test_specs_are_compatible_part_by_part():
    wide = IntervalSpec({"low": tf.TensorSpec([None]), "high": tf.TensorSpec([])}, "x")
    assert wide.is_compatible_with(
        IntervalSpec({"low": tf.TensorSpec([2]), "high": tf.TensorSpec([])}, "x")
    )
    for specs, label in (
        ({"low": tf.TensorSpec([2, 2]), "high": tf.TensorSpec([])}, "x"),
        ({"low": tf.TensorSpec([2], tf.int32), "high": tf.TensorSpec([])}, "x"),
        ({"low": tf.TensorSpec([2])}, "x"),
        ({"low": tf.TensorSpec([2]), "high": tf.TensorSpec([])}, "y"),
    ):
        assert not wide.is_compatible_with(IntervalSpec(specs, label))


def test_names_of_signatures_that_are_no_parameters(tmp_path):
    function = tf.function(lambda *args: {"y": args[0] + 2 * args[1]})
    specs = [tf.TensorSpec([2], name="0/step"), tf.TensorSpec([2], name="x-y")]
    module = tf.Module()
    _, loaded = saved(module, tmp_path, signatures=function.get_concrete_function(*specs))
    signature = loaded.signatures["serving_default"]
    assert set(signature.structured_input_signature[1]) == {"arg_0_step", "x_y"}
    assert "arg_0_step" in str(signature)
    one, two = tf.constant([1.0, 1.0]), tf.constant([2.0, 2.0])
    for names in (("0/step", "x-y"), ("arg_0_step", "x_y")):
        np.testing.assert_array_equal(signature(**dict(zip(names, (one, two))))["y"], [5, 5])
    with pytest.raises(TypeError, match="0/step"):
        signature(step=one, x_y=two)


def test_the_seed_of_the_graph_that_loads(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([])])
    folder, _ = saved(module, tmp_path, signatures={"f": module.f})
    with tf1.Graph().as_default(), tf1.Session():
        tf1.set_random_seed(7)
        assert tf.saved_model.load(folder).signatures["f"].graph.seed == 7
    tf.random.set_seed(5)
    assert tf.saved_model.load(folder).signatures["f"].graph.seed == 5


def test_wrapped_tuples_are_nests_like_plain_ones():
    module = tf.Module()
    module.state = ({"a": ((), [1, 2])},)
    tf.nest.assert_same_structure(module.state, ({"a": ((), [3, 4])},))
    tf.nest.assert_same_structure(({"a": ((), [3, 4])},), module.state)
    with pytest.raises(TypeError, match="different types"):
        tf.nest.assert_same_structure(module.state, [{"a": ((), [3, 4])}])
