"""Classes of the user's own that say what a trace of their values is for."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

TraceType = tf.types.experimental.TraceType


class Fruit:
    def __init__(self, kind, weight=1):
        self.kind, self.weight = kind, weight

    def __tf_tracing_type__(self, context):
        return FruitType(self.kind)


class FruitType(TraceType):
    def __init__(self, kind):
        self.kind = kind

    def is_subtype_of(self, other):
        return isinstance(other, FruitType) and other.kind in (self.kind, "any")

    def most_specific_common_supertype(self, others):
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context):
        return Fruit(self.kind)

    def __eq__(self, other):
        return isinstance(other, FruitType) and self.kind == other.kind

    def __hash__(self):
        return hash(self.kind)


class Pair:
    def __init__(self, x, note):
        self.x, self.note = x, note

    def __tf_tracing_type__(self, context):
        return PairType(tf.TensorSpec(self.x.shape, self.x.dtype), self.note)


class PairType(TraceType):
    def __init__(self, spec, note):
        self.spec, self.note = spec, note

    def is_subtype_of(self, other):
        return self == other

    def most_specific_common_supertype(self, others):
        return None

    def placeholder_value(self, placeholder_context):
        return Pair(self.spec.placeholder_value(placeholder_context), self.note)

    def to_tensors(self, value):
        return [value.x]

    def flatten(self):
        return [self.spec]

    def __eq__(self, other):
        return isinstance(other, PairType) and (self.spec, self.note) == (other.spec, other.note)

    def __hash__(self):
        return hash((self.spec, self.note))


def test_equal_types_share_a_trace():
    traces = []

    @tf.function
    def f(fruit):
        traces.append(fruit.kind)
        return 1.0 if fruit.kind == "apple" else 2.0

    assert [float(f(Fruit(kind))) for kind in ("apple", "apple", "pear")] == [1.0, 1.0, 2.0]
    assert traces == ["apple", "pear"]


def test_a_subtype_is_served_by_the_trace_for_its_supertype():
    traces = []

    @tf.function
    def f(fruit):
        traces.append(fruit.kind)
        return 1.0

    f(Fruit("any"))
    f(Fruit("plum"))
    assert traces == ["any"]


def test_tensors_of_a_type_are_inputs():
    traces = []

    @tf.function
    def f(pair):
        traces.append(pair.note)
        return pair.x * 2.0 if pair.note == "double" else pair.x

    for value in (1.0, 2.0):
        np.testing.assert_allclose(f(Pair(tf.constant([value]), "double")), [2 * value])
    np.testing.assert_allclose(f(Pair(tf.constant([3.0]), "once")), [3.0])
    assert traces == ["double", "once"]
    x = tf.constant([3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(Pair(x, "double"))
    np.testing.assert_allclose(tape.gradient(y, x), [2.0])


def test_specs_are_trace_types():
    spec = tf.TensorSpec([2], tf.float32)
    assert isinstance(spec, TraceType) and spec.flatten() == [spec]
    assert spec.cast([1.0, 2.0], None).dtype == tf.float32
    assert isinstance(tf.TensorShape([1]), tf.types.experimental.SupportsTracingProtocol)
    with pytest.raises(TypeError):
        spec.cast([1.0], None)
    with pytest.raises(TypeError):
        TraceType()


def test_kinds_of_callables():
    function = tf.function(lambda x: x)
    concrete = function.get_concrete_function(tf.TensorSpec([]))
    for made in (function, concrete):
        assert isinstance(made, tf.types.experimental.Callable)
    assert isinstance(concrete.function_type, tf.types.experimental.FunctionType)
    assert not isinstance(concrete, tf.types.experimental.AtomicFunction)


def test_operators_of_other_sizes_have_other_traces():
    size = tf.function(lambda operator: operator.shape[-1])
    for n in (2, 3, 2, 3):
        assert int(size(tf.linalg.LinearOperatorDiag(tf.ones([n])))) == n
