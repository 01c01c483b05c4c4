"""Extension types go where tensors go; what TensorFlow says of fields holds here."""

import copy
import pickle
import typing

import numpy as np
import pytest

import talweg as tf


class Masked(tf.experimental.ExtensionType):
    """Some values, of which only those with a true mask count."""

    values: tf.Tensor
    mask: tf.Tensor

    def __validate__(self):
        self.values.shape.assert_is_compatible_with(self.mask.shape)

    def filled(self, default):
        return tf.where(self.mask, self.values, default)


class Rows(tf.experimental.BatchableExtensionType):
    """Values with a number that all rows share."""

    values: tf.Tensor
    weight: tf.Tensor
    unit: int = 2


class Settings(tf.experimental.ExtensionType):
    """Fields of all plain kinds."""

    numbers: tuple[int, ...]
    pair: tuple[tf.Tensor, int]
    named: typing.Mapping[str, tf.Tensor]
    either: int | None | tf.RaggedTensor
    shape: tf.TensorShape = tf.TensorShape([1])
    dtype: tf.DType = tf.float32


def masked():
    return Masked([1.0, 2.0, 3.0], [True, False, True])


def rows():
    return Rows([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])


def test_how_it_is_shown():
    assert repr(Masked(1, True)) == (
        "Masked(values=<tf.Tensor: shape=(), dtype=int32, numpy=1>, "
        "mask=<tf.Tensor: shape=(), dtype=bool, numpy=True>)"
    )
    assert repr(tf.type_spec_from_value(masked())) == (
        "Masked.Spec(values=TensorSpec(shape=(3,), dtype=tf.float32, name=None), "
        "mask=TensorSpec(shape=(3,), dtype=tf.bool, name=None))"
    )


def test_fields_are_converted():
    made = Settings([1, 2], ([1.0], 2), {"a": 1.0}, None, shape=[2, 3], dtype="int32")
    assert made.numbers == (1, 2) and made.pair[0].shape == (1,)
    assert made.named["a"].dtype is tf.float32 and made.shape == tf.TensorShape([2, 3])
    assert made.dtype is tf.int32
    assert len(tf.nest.flatten(made, expand_composites=True)) == 2
    with pytest.raises(TypeError, match="does not support item assignment"):
        made.named["a"] = 3  # type: ignore[index]


@pytest.mark.parametrize(
    "given, text",
    [
        (
            lambda: Settings([1, "a"], (1.0, 2), {}, None),
            r"numbers\[1\]: expected 'int', got 'str'",
        ),
        (lambda: Settings(3, (1.0, 2), {}, None), "numbers: expected tuple, got 'int'"),
        (lambda: Settings([], (1.0,), {}, None), "pair: expected tuple with length 2"),
        (
            lambda: Settings([], (1.0, 2), {1: 2.0}, None),
            r"named\[<key>\]: expected 'str', got 'int'",
        ),
        (lambda: Settings([], (1.0, 2), {}, "a"), r"either: expected .*(Union|\|).*, got 'str'"),
        (lambda: Settings([], (1.0, 2), {}, None, shape="a"), "shape: expected 'tf.TensorShape'"),
        (lambda: Masked(1.0, object()), "mask: expected a Tensor, got 'object'"),
        (
            lambda: Masked(tf.ragged.constant([[1]]), 1),
            "values: expected a Tensor, got 'RaggedTensor'",
        ),
        (lambda: Masked(1.0), "missing a required argument: 'mask'"),
        (lambda: Masked(1.0, True, 3), "too many positional arguments"),
        (lambda: Masked(1.0, True, z=3), "unexpected keyword argument 'z'"),
        (lambda: Masked.Spec(tf.TensorSpec([1]), 3), "mask: expected a TensorSpec, got 'int'"),
    ],
)
def test_what_does_not_fit(given, text):
    with pytest.raises(TypeError, match=text):
        given()


@pytest.mark.parametrize("annotation", [list, list[int], typing.Any, np.ndarray, complex])
def test_annotations_that_are_none(annotation):
    with pytest.raises(TypeError, match="In field 'x': Unsupported type annotation"):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"x": annotation}})


def test_names_and_defaults():
    with pytest.raises(ValueError, match="Field 'Spec' is reserved"):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"Spec": int}})
    with pytest.raises(TypeError, match="default value for x: expected 'int', got 'str'"):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"x": int}, "x": "a"})
    with pytest.raises(AssertionError, match="abstract base class"):
        tf.experimental.ExtensionType()


def test_values_do_not_change():
    value = masked()
    for change in (
        lambda: setattr(value, "values", 3),
        lambda: delattr(value, "mask"),
        lambda: setattr(value, "other", 3),
    ):
        with pytest.raises(AttributeError, match="Cannot mutate attribute"):
            change()
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)
    with pytest.raises(ValueError, match="incompatible"):
        Masked([1.0], [True, False])


def test_equality():
    assert bool(masked() == masked()) and not bool(masked() != masked())
    assert not bool(masked() == Masked([1.0, 2.0, 4.0], [True, False, True]))
    assert (masked() == Masked([1.0], [True])) is False and (masked() == 3) is False
    assert bool(copy.deepcopy(masked()) == masked())


def test_a_constructor_of_its_own():
    class Counted(tf.experimental.ExtensionType):
        x: tf.Tensor
        n: int

        def __init__(self, x, forget=False):
            self.x = x
            if not forget:
                self.n = len(x)

    assert Counted([1, 2]).n == 2 and Counted([1, 2]).x.dtype is tf.int32
    with pytest.raises(ValueError, match="Missing required fields: {'n'}"):
        Counted([1], forget=True)


def test_specs():
    spec = Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool))
    assert spec.is_compatible_with(masked()) and spec.value_type is Masked
    own = tf.type_spec_from_value(masked())
    assert own.is_subtype_of(spec) and not spec.is_subtype_of(own)
    other = tf.type_spec_from_value(Masked([1.0], [True]))
    assert own.most_specific_common_supertype([other]) == spec
    assert hash(pickle.loads(pickle.dumps(spec))) == hash(spec)
    assert tf.nest.flatten(spec, expand_composites=True) == [spec.values, spec.mask]


def test_nests():
    flat = tf.nest.flatten(masked(), expand_composites=True)
    assert [x.dtype for x in flat] == [tf.float32, tf.bool] and len(tf.nest.flatten(masked())) == 1
    cut = tf.nest.map_structure(lambda x: x[:1], masked(), expand_composites=True)
    assert isinstance(cut, Masked) and cut.values.shape == (1,)
    assert isinstance(tf.identity(masked()), Masked)


def test_traced_functions():
    traces = []

    @tf.function
    def double(x, unit):
        traces.append(unit.unit)
        return Masked(x.values * 2.0, x.mask), unit.weight * unit.unit

    for unit in (2, 2, 3):
        found, weight = double(masked(), Rows([1.0], [2.0], unit))
        np.testing.assert_array_equal(found.values, [2.0, 4.0, 6.0])
        assert float(weight[0]) == 2.0 * unit
    assert traces == [2, 3]  # a Python field is part of what a trace is for
    spec = Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool))
    signed = tf.function(lambda x: x.filled(0.0), input_signature=[spec])
    np.testing.assert_array_equal(signed(masked()), [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(signed(Masked([1.0], [False])), [0.0])
    assert signed.get_concrete_function().structured_input_signature == ((spec,), {})
    with pytest.raises(TypeError):
        signed(Masked([1], [False]))


def test_control_flow():
    @tf.function
    def run(x):
        if x.values[0] > 0.0:
            result = x
        else:
            result = Masked(-x.values, x.mask)
        for _ in tf.range(3):
            result = Masked(result.values + 1.0, result.mask)
        return result

    np.testing.assert_array_equal(run(Masked([-1.0], [True])).values, [4.0])
    found = tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, Masked(x.values + 1.0, x.mask)), [0, masked()]
    )[1]
    np.testing.assert_array_equal(found.values, [4.0, 5.0, 6.0])


def test_gradients():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Masked(x, [True, False, True]).filled(0.0) ** 2
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 0.0, 6.0])


def test_datasets():
    data = tf.data.Dataset.from_tensors(masked())
    assert data.element_spec == tf.type_spec_from_value(masked())
    (only,) = data
    assert isinstance(only, Masked)
    with pytest.raises(ValueError, match="BatchableExtensionType"):
        data.batch(2)
    sliced = tf.data.Dataset.from_tensor_slices((rows(), [1, 2]))
    assert [float(row.weight) for row, _ in sliced] == [5.0, 6.0]
    (batch,) = sliced.batch(2)
    assert batch[0].unit == 2 and batch[0].values.shape == (2, 2)
    changed = sliced.map(lambda row, n: Rows(row.values + 1.0, row.weight))
    assert [row.values.numpy().tolist() for row in changed] == [[2.0, 3.0], [4.0, 5.0]]
    unbatched = tf.data.Dataset.from_tensors(rows()).unbatch()
    assert [float(row.weight) for row in unbatched] == [5.0, 6.0]


def test_functions_over_rows():
    sums = tf.map_fn(lambda row: tf.reduce_sum(row.values), rows(), fn_output_signature=tf.float32)
    np.testing.assert_array_equal(sums, [3.0, 7.0])
    doubled = tf.map_fn(lambda row: Rows(row.values * 2.0, row.weight), rows())
    assert doubled.unit == 2 and doubled.values.numpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]
    spec = Rows.Spec(tf.TensorSpec([]), tf.TensorSpec([], tf.bool), 2)
    made = tf.map_fn(
        lambda x: Rows(x * 2.0, x > 0.0), tf.constant([1.0, -1.0]), fn_output_signature=spec
    )
    assert made.weight.numpy().tolist() == [True, False]
    traced = tf.function(
        lambda x: tf.map_fn(lambda row: row.values * row.weight, x, fn_output_signature=tf.float32)
    )
    assert traced(rows()).numpy().tolist() == [[5.0, 10.0], [18.0, 24.0]]
    assert tf.vectorized_map(lambda row: row.values * row.weight, rows()).shape == (2, 2)


def test_an_encoding_of_its_own():
    class Encoder(tf.experimental.ExtensionTypeBatchEncoder):
        def batch(self, spec, batch_size):
            return Shared.Spec(tf.TensorSpec([batch_size, *spec.values.shape]), spec.all)

        def unbatch(self, spec):
            return Shared.Spec(tf.TensorSpec(spec.values.shape[1:]), spec.all)

        def encode(self, spec, value, minimum_rank=0):
            whole = value.all
            return [value.values, tf.repeat(whole, len(value.values)) if minimum_rank else whole]

        def encoding_specs(self, spec):
            return [spec.values, spec.all]

        def decode(self, spec, encoded_value):
            values, whole = encoded_value
            return Shared(values, whole[0] if whole.shape.rank else whole)

    class Shared(tf.experimental.BatchableExtensionType):
        values: tf.Tensor
        all: tf.Tensor
        __batch_encoder__ = Encoder()

    data = tf.data.Dataset.from_tensor_slices(Shared([1.0, 2.0], 5.0))
    assert [float(row.all) for row in data] == [5.0, 5.0]
    (batch,) = data.batch(2)
    assert batch.values.numpy().tolist() == [1.0, 2.0] and float(batch.all) == 5.0


def test_dispatch():
    add = tf.experimental.dispatch_for_api(tf.add, {"x": Masked, "y": Masked})(
        lambda x, y: Masked(x.values + y.values, x.mask & y.mask)
    )
    assert tf.add(masked(), masked()).values.numpy().tolist() == [2.0, 4.0, 6.0]
    assert tf.function(tf.add)(masked(), masked()).values.numpy().tolist() == [2.0, 4.0, 6.0]
    assert float(tf.add(1.0, 2.0)) == 3.0
    tf.experimental.unregister_dispatch_for(add)
    with pytest.raises(ValueError, match="unsupported type"):
        tf.add(masked(), masked())
    with pytest.raises(ValueError, match="was not registered"):
        tf.experimental.unregister_dispatch_for(add)

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def each(api, x):
        return Masked(api(x.values), x.mask)

    try:
        assert tf.nn.relu(Masked([-1.0, 2.0], [True, True])).values.numpy().tolist() == [0.0, 2.0]
        assert tf.cast(masked(), tf.int32).values.dtype is tf.int32
        assert tf.clip_by_value(masked(), 0.0, 1.0).values.numpy().tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(ValueError, match="has already been registered"):
            tf.experimental.dispatch_for_unary_elementwise_apis(Masked)(each)
    finally:
        tf.experimental.unregister_dispatch_for(each)
    with pytest.raises(ValueError, match="does not support dispatch"):
        tf.experimental.dispatch_for_api(print)
    with pytest.raises(ValueError, match="at least one signature"):
        tf.experimental.dispatch_for_api(tf.add)(lambda x, y: x)


class NamedMask(tf.experimental.ExtensionType):
    __name__ = "tests.NamedMask"
    values: tf.Tensor
    mask: tf.Tensor


def test_types_that_files_know_by_a_name_are_saved(tmp_path):
    """TensorFlow loads the file, and talweg TensorFlow's, tried with both."""
    spec = NamedMask.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool))
    module = tf.Module()
    module.double = tf.function(
        lambda x: NamedMask(x.values * 2.0, tf.logical_not(x.mask)), input_signature=[spec]
    )
    tf.saved_model.save(module, str(tmp_path))
    assert b"tests.NamedMask.Spec" in (tmp_path / "saved_model.pb").read_bytes()
    loaded = tf.saved_model.load(str(tmp_path))
    found = loaded.double(NamedMask([1.0, 2.0], [True, False]))
    assert type(found) is NamedMask
    assert found.values.numpy().tolist() == [2, 4] and found.mask.numpy().tolist() == [False, True]
