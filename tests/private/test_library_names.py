"""What libraries that stand on TensorFlow ask for: private names, and tf.__internal__."""

from __future__ import annotations

import importlib
import logging
import sys
import weakref

import pytest

import talweg as tf
from talweg.core import tracking
from talweg.private import contents, modules


@pytest.fixture(autouse=True)
def _alias():
    tf.as_tensorflow()


def test_every_place_of_the_table_is_there():
    for module, names in contents.CONTENTS.items():
        for name in names:
            assert modules.find_in(module, name) is not None, (module, name)
    for place in contents.MODULES.values():
        importlib.import_module(place)


def test_recorded_names_are_the_public_objects():
    names = modules.public_names()
    assert names["python.ops.array_ops"]["where"] == "compat.v1.where"
    found = importlib.import_module("tensorflow.python.ops.array_ops")
    assert found.where is tf.compat.v1.where and found.where_v2 is tf.where
    assert "where" in dir(found)
    from tensorflow.python.framework import dtypes, errors, ops

    assert ops.Graph is tf.Graph and dtypes.float32 is tf.float32
    assert errors.NotFoundError is tf.errors.NotFoundError
    count = sum(map(len, names.values()))
    assert count > 3000


def test_an_operation_by_its_name_in_python():
    from tensorflow.python.ops import gen_math_ops, gen_sparse_ops

    assert float(gen_math_ops.mul(2.0, 3.0)) == 6.0
    indices, values = gen_sparse_ops.sparse_reorder([[1], [0]], [1.0, 2.0], [2])
    assert indices.numpy().tolist() == [[0], [1]] and values.numpy().tolist() == [2.0, 1.0]
    assert modules.snake_case("CudnnRNNV3") == "cudnn_rnnv3"
    assert modules.snake_case("SparseMatMul") == "sparse_mat_mul"


def test_the_tables_that_an_exported_model_has():
    """Keras 2's `model.export` looks for them among what it was told to track."""
    from tensorflow.python.ops.lookup_ops import LookupInterface
    from tensorflow.python.trackable.resource import RestoredResource

    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    assert isinstance(table, LookupInterface) and issubclass(RestoredResource, LookupInterface)


def test_devices_as_old_programs_list_them():
    from tensorflow.python.client import device_lib

    names = [(x.name, x.device_type) for x in device_lib.list_local_devices()]
    assert names == [tuple(x) for x in tf.config.list_logical_devices()]
    assert ("/device:CPU:0", "CPU") in names


def test_a_name_that_is_not_there_warns_once(caplog):
    from tensorflow.python.framework import ops

    with caplog.at_level(logging.WARNING, logger="talweg"):
        for _ in range(2):
            with pytest.raises(ImportError, match="nothing_of_this_name"):
                exec("from tensorflow.python.framework.ops import nothing_of_this_name")
        with pytest.raises(AttributeError, match="TW402"):
            ops.nothing_of_this_name  # noqa: B018
    assert len([r for r in caplog.records if "nothing_of_this_name" in r.getMessage()]) == 1


class Symbolic:
    """What no function of tf accepts."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("no value")

    __add__ = tf.Tensor.__add__
    __radd__ = tf.Tensor.__radd__
    __getitem__ = tf.Tensor.__getitem__


@pytest.fixture
def asked():
    """The names of the functions that a dispatcher of symbolic values is asked for."""
    from tensorflow.python.util import tf_export

    from talweg.core.fallbacks import FALLBACKS

    found = []

    class Dispatcher(tf.__internal__.dispatch.GlobalOpDispatcher):
        def handle(self, op, args, kwargs):
            if any(isinstance(x, Symbolic) for x in tf.nest.flatten([args, kwargs])):
                found.append(tf_export.get_canonical_name_for_symbol(op))
                return "answer"
            return self.NOT_SUPPORTED

    before = list(FALLBACKS)
    Dispatcher().register()
    yield found
    FALLBACKS[:] = before


def test_a_global_dispatcher_answers_where_functions_fail(asked):
    x = Symbolic()
    results = [tf.reduce_mean(x), tf.nn.relu(x), x + 1.0, tf.constant(1.0) + x, x[0], tf.add(x, x)]
    assert results == ["answer"] * 6
    names = ["math.reduce_mean", "nn.relu", "__operators__.add", "__operators__.add"]
    assert asked == [*names, "__operators__.getitem", "math.add"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        tf.reshape([1, 2], [3])


def test_a_dispatcher_of_one_function():
    class Own(tf.__internal__.dispatch.OpDispatcher):
        def handle(self, args, kwargs):
            return "own" if isinstance(args[0], Symbolic) else self.NOT_SUPPORTED

    Own().register(tf.math.lbeta)
    assert tf.math.lbeta(Symbolic()) == "own"
    with pytest.raises((TypeError, ValueError)):
        tf.math.lbeta(object())


def test_structures_up_to_a_shallower_one():
    """As TensorFlow 2.21 says."""
    from tensorflow.python.util import nest

    assert nest.flatten_up_to([0, {"a": 0}], [[1, 2], {"a": (3, 4)}]) == [[1, 2], (3, 4)]
    assert nest.flatten_with_tuple_paths([1, {"x": 2}]) == [((0,), 1), ((1, "x"), 2)]
    assert nest.flatten_with_joined_string_paths({"b": [1, 2], "a": 3}) == [
        ("a", 3),
        ("b/0", 1),
        ("b/1", 2),
    ]
    wanted = nest.get_traverse_shallow_structure(
        lambda s: isinstance(s, (list, tuple)), [1, {"a": 2}, (3, [4])]
    )
    assert wanted == [False, False, (False, [False])]
    assert nest.list_to_tuple([1, [2, {"a": [3]}]]) == (1, (2, {"a": (3,)}))
    assert nest.flatten_up_to([0], (1,), check_types=False) == [1]
    for shallow, deep, error, text in (
        ([0, 0], [1], ValueError, "same sequence length"),
        ([0], 3, TypeError, "input must also be a sequence"),
        ({"a": 0}, {"b": 1}, ValueError, "not a subset"),
        ([0], (1,), TypeError, "same sequence type"),
    ):
        with pytest.raises(error, match=text):
            nest.flatten_up_to(shallow, deep)


def test_functions_can_be_decorated_until_they_are_traced():
    @tf.function
    def double(x):
        return 2 * x

    double._decorate(lambda inner: lambda x: inner(x) + 1)
    assert int(double(tf.constant(3))) == 7
    with pytest.raises(ValueError, match="after they have been traced"):
        double._decorate(lambda inner: inner)


def test_a_function_of_an_object_has_its_attributes():
    module = tf.Module(name="m")
    module.emb = tf.Variable([1.0])
    called = type("Called", (tf.Module,), {"__call__": lambda self, x: x * self.emb})()
    called.emb = module.emb
    assert tf.function(called).emb is module.emb
    with pytest.raises(AttributeError):
        tf.function(called).nothing  # noqa: B018


def test_name_scopes_hold_in_init_scope():
    with tf.name_scope("a"), tf.init_scope():
        assert tf.Variable(1.0, name="b").name == "a/b:0"
    made = []

    @tf.function
    def trace():
        with tf.name_scope("q"), tf.init_scope():
            made.append(tf.Variable(1.0, name="v"))
        return 1

    trace()
    assert made[0].name == "q/v:0"


def test_the_default_graph_of_a_function_is_its_own():
    @tf.function
    def total(x):
        assert tf.compat.v1.get_default_graph() is x.graph
        with tf.compat.v1.get_default_graph().as_default():
            return x + tf.reduce_sum(x)

    assert total(tf.ones(3)).numpy().tolist() == [4.0] * 3


def test_containers_of_layers():
    from tensorflow.python.trackable import data_structures

    wrap = tf.__internal__.tracking.wrap
    v, w = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    source = [v]
    wrapped = wrap(source)
    assert isinstance(wrapped, (list, data_structures.ListWrapper)) and wrapped == [v]
    wrapped.append(w)
    assert source[1] is w and wrapped.trainable_weights == [v] and wrapped.weights[1] is w
    named = wrap({"a": {"b": v}})
    assert named["a"].trainable_variables == [v] and isinstance(named, dict)
    assert wrap((v, 1)).weights == [v] and wrap(((),)) == ((),)
    assert wrap(data_structures.NoDependency(source)) is source


def test_a_checkpoint_does_not_keep_what_a_weak_reference_names(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(3.0)
    path = tf.train.Checkpoint(root=weakref.ref(module)).write(str(tmp_path / "c"))
    module.v.assign(0.0)
    tf.train.Checkpoint(root=module).read(path)
    assert float(module.v) == 3.0


def test_averages_and_weights():
    average = tf.__internal__.train.assign_moving_average
    v = tf.Variable([1.0, 2.0])
    average(v, [3.0, 4.0], 0.9, zero_debias=False)
    assert v.numpy().tolist() == pytest.approx([1.2, 2.2])
    unbiased = tf.Variable(0.0)
    assert [float(average(unbiased, x, 0.5)) for x in (4.0, 2.0)] == pytest.approx([4.0, 8 / 3])
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.__internal__.ops.broadcast_weights(tf.ones([3, 1]), tf.ones([2, 2]))


def test_objects_of_a_saved_model_into_those_there_are(tmp_path):
    saved = tf.Module()
    saved.part = tf.Module()
    saved.part.v = tf.Variable([1.0, 2.0])
    tf.saved_model.save(saved, str(tmp_path))
    here, root = tf.Variable([0.0, 0.0]), tf.Module()
    internal = tf.__internal__.saved_model
    found = internal.load_partial(
        str(tmp_path), {"root": (root, setattr), "root.part.v": (here, setattr)}
    )
    assert found["root"] is root and root.part.v is here and here.numpy().tolist() == [1.0, 2.0]
    assert internal.parse_saved_model(str(tmp_path)).meta_graphs[0].object_graph_def.nodes
    with pytest.raises(ValueError, match="no object"):
        internal.load_partial(str(tmp_path), ["root.other"])


def test_keras_two_is_asked_for_by_the_environment(monkeypatch):
    from talweg.api import tensorflow_alias

    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    monkeypatch.setattr(tensorflow_alias, "KERAS_TWO", "tf_keras_that_is_not_there")
    with pytest.raises(ImportError, match="tf_keras"):
        tensorflow_alias.keras_module()


def test_a_mean_of_rows_knows_the_inner_size_in_a_graph():
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, 4], tf.float32, ragged_rank=1)])
    def mean(x):
        found = tf.reduce_mean(x, axis=1)
        assert found.shape.as_list() == [None, 4]
        return found

    rows = tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(12.0), [3, 4]), [2, 1])
    assert mean(rows).numpy().tolist() == [[2, 3, 4, 5], [8, 9, 10, 11]]


def test_a_dtype_may_stand_between_tensors():
    @tf.function
    def cast(a=None, b=None, output_dtype=None, seed=None):
        return tf.cast(b, output_dtype)

    found = cast(a=None, b=tf.constant(2.7), output_dtype=tf.int32, seed=tf.constant([1, 2]))
    assert found.dtype is tf.int32 and int(found) == 2


class Interval(tf.__internal__.CompositeTensor):
    """A value of a library, by TensorFlow's private protocol."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    @property
    def _type_spec(self):
        return IntervalSpec(tf.TensorSpec(self.low.shape, self.low.dtype))


class IntervalSpec(tf.TypeSpec):
    def __init__(self, part):
        self._part = part

    @property
    def value_type(self):
        return Interval

    @property
    def _component_specs(self):
        return {"low": self._part, "high": self._part}

    def _to_components(self, value):
        return {"low": value.low, "high": value.high}

    def _from_components(self, components):
        return Interval(components["low"], components["high"])

    def _serialize(self):
        return (self._part,)


class Nothing(tf.__internal__.CompositeTensor):
    """A value without tensors, as TensorFlow Probability's bijectors may be."""

    @property
    def _type_spec(self):
        return NothingSpec()


class NothingSpec(tf.TypeSpec):
    value_type = Nothing
    _component_specs = ()

    def _to_components(self, value):
        return ()

    def _from_components(self, components):
        return Nothing()

    def _serialize(self):
        return ()


def test_values_of_libraries_are_variables_of_loops():
    @tf.function
    def grown(interval):
        def body(i, x, nothing):
            assert x.low.shape == (2,)  # a value of a library keeps its shapes
            return i + 1, Interval(x.low - 1.0, x.high + 1.0), nothing

        start = (0, interval, Nothing())
        _, interval, nothing = tf.while_loop(lambda i, *_: i < 3, body, start)
        assert type(nothing) is Nothing
        return interval

    grown_interval = grown(Interval(tf.zeros(2), tf.ones(2)))
    assert grown_interval.low.numpy().tolist() == [-3.0, -3.0]
    assert grown_interval.high.numpy().tolist() == [4.0, 4.0]


def test_values_of_libraries_that_are_made_of_tensors():
    interval = Interval(tf.constant(1.0), tf.constant(3.0))
    assert len(tf.nest.flatten(interval, expand_composites=True)) == 2

    @tf.function
    def widened(x):
        return Interval(x.low - 1.0, x.high + 1.0)

    found = widened(interval)
    assert type(found) is Interval and float(found.high) == 4.0
    assert widened.experimental_get_tracing_count() == 1
    widened(Interval(tf.constant(2.0), tf.constant(3.0)))
    assert widened.experimental_get_tracing_count() == 1


def test_the_derivative_of_a_gamma_number_broadcasts():
    found = tf.raw_ops.RandomGammaGrad(alpha=tf.constant(1.0), sample=tf.constant([2.0, 3.0]))
    assert found.numpy().tolist() == pytest.approx([1.6316915, 1.9379117], rel=1e-5)


def test_the_version_of_the_first_generation():
    import tensorflow.compat.v1 as v1

    assert v1.__version__ == tf.__version__ and tf.__git_version__ == tf.version.GIT_VERSION


def test_containers_with_state_become_trackable(monkeypatch):
    """As attributes of modules, once a library has imported the bridge to XLA."""
    monkeypatch.setattr(tracking, "WRAPPED", wrapped := set())
    monkeypatch.setattr(modules, "WRAPPED", wrapped)
    monkeypatch.delitem(sys.modules, "tensorflow.compiler.tf2xla.python.xla", raising=False)
    importlib.import_module("tensorflow.compiler.tf2xla.python.xla")
    from talweg.interop.checkpoint import data_structures

    module, layers = tf.Module(), [tf.Variable(1.0)]
    module.layers, module.named, module.pair = (
        layers,
        {"a": tf.Variable(2.0)},
        (tf.Variable(3.0), 4),
    )
    module.plain = [1, 2]
    assert type(module.layers) is data_structures.ListWrapper and type(module.plain) is list
    assert type(module.named) is data_structures._DictWrapper
    assert type(module.pair) is not tuple and isinstance(module.pair, tuple)
    layers.append(tf.Variable(5.0))  # seen by both
    assert len(module.layers) == 2 and [float(v) for v in module.layers] == [1, 5]
    module.layers.append(tf.Variable(6.0))
    assert len(layers) == 3 and module.layers == layers and layers[2] in module.layers
    assert len(module.variables) == 5
    assert type(module.named)(a=1) == {"a": 1}
    module.numbered = {1: tf.Variable(7.0)}
    with pytest.raises(ValueError, match="key 1 is no text"):
        tf.train.Checkpoint(module=module).write("never")
