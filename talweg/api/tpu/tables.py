"""tf.tpu.experimental.embedding: descriptions of tables of embeddings, features and training."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from typing import Any

from talweg.api.export import export, look_up
from talweg.core.dtypes import float32
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor

EMBEDDING = "tpu.experimental.embedding"
V1_EMBEDDING = f"compat.v1.{EMBEDDING}"
COMBINERS = ("mean", "sum", "sqrtn")


def export_description(name: str) -> Callable[[Any], Any]:
    """Give a class its names in both generations."""
    return export(f"{EMBEDDING}.{name}", f"{V1_EMBEDDING}.{name}")


@export("tpu.experimental.HardwareFeature", "compat.v1.tpu.experimental.HardwareFeature")
class HardwareFeature:
    """Describes the features of a TPU.

    tpu_hardware_feature_proto: how TensorFlow describes a TPU.

    >>> import talweg as tf
    >>> tf.tpu.experimental.HardwareFeature.EmbeddingFeature.V1.value
    'V1'
    """

    def __init__(self, tpu_hardware_feature_proto: Any):
        self.tpu_hardware_feature_proto = tpu_hardware_feature_proto

    class EmbeddingFeature(enum.Enum):
        """Names the ways of computing embeddings."""

        UNSUPPORTED = "UNSUPPORTED"
        V1 = "V1"
        V2 = "V2"


@export_description("QuantizationConfig")
@dataclass(frozen=True)
class QuantizationConfig:
    """Embeddings rounded to `num_buckets` values between `lower` and `upper`.

    >>> import talweg as tf
    >>> tf.tpu.experimental.embedding.QuantizationConfig(16, -1.0, 1.0).num_buckets
    16
    """

    num_buckets: int
    lower: float
    upper: float


class TableOptimizer:
    """Describes the training of a table; ValueError for clipping without accumulation of
    gradients.
    """

    clipvalue: Any
    use_gradient_accumulation: bool

    def __post_init__(self) -> None:
        given = self.clipvalue
        if given is not None and not self.use_gradient_accumulation:
            raise value_error(
                "TW104",
                "When `use_gradient_accumulation` is False, gradient clipping cannot be used and "
                f"`clipvalue` should be left as None, but got {given!r}",
            )
        bounds = given if isinstance(given, tuple) else (given and -given, given)
        self.clip_gradient_min, self.clip_gradient_max = bounds


COMMON = dict.fromkeys(
    (
        *("use_gradient_accumulation", "clip_weight_min", "clip_weight_max"),
        *("weight_decay_factor", "multiply_weight_decay_factor_by_learning_rate"),
        *("slot_variable_creation_fn", "clipvalue"),
    )
)
COMMON["use_gradient_accumulation"] = True  # type: ignore[assignment]


def table_optimizer(name: str, text: str, example: str, /, **own: Any) -> Any:
    """Make a class of table optimizers: settings of its own, in their order, among those that all
    have.

    `text` says how a table is trained; `example` is an expression and what it gives.
    """
    last = {key: own.pop(key) for key in list(own) if key in LAST}
    settings = {"learning_rate": 0.001, **own, **COMMON, **last}
    if name == "SGD":
        del settings["slot_variable_creation_fn"]
    settings["low_dimensional_packing_status"] = False
    members = [(key, Any, field(default=default)) for key, default in settings.items()]
    made = make_dataclass(name, members, bases=(TableOptimizer,), eq=False)
    expression, result = example.split(" -> ")
    lines = [">>> import talweg as tf", f">>> tf.{EMBEDDING}.{name}{expression}", result]
    made.__module__ = __name__
    made.__doc__ = "\n    ".join([f"A table trained by {text}.\n", *lines]) + "\n"
    return export_description(name)(made)


LAST = ("multiply_linear_by_learning_rate", "allow_zero_accumulator")  # of FTRL
SGD = table_optimizer(
    "SGD", "stochastic gradient descent", "(0.1).learning_rate -> 0.1", learning_rate=0.01
)
Adagrad = table_optimizer(
    "Adagrad",
    "Adagrad",
    "().initial_accumulator_value -> 0.1",
    initial_accumulator_value=0.1,
)
AdagradMomentum = table_optimizer(
    "AdagradMomentum",
    "Adagrad with momentum",
    "(momentum=0.9).momentum -> 0.9",
    momentum=0.0,
    use_nesterov=False,
    exponent=2,
    beta2=1,
    epsilon=1e-10,
)
Adam = table_optimizer(
    "Adam",
    "Adam",
    "().beta_1 -> 0.9",
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-07,
    lazy_adam=True,
    sum_inside_sqrt=True,
)
FTRL = table_optimizer(
    "FTRL",
    "FTRL",
    "().learning_rate_power -> -0.5",
    learning_rate_power=-0.5,
    l1_regularization_strength=0.0,
    l2_regularization_strength=0.0,
    beta=0.0,
    initial_accumulator_value=0.1,
    multiply_linear_by_learning_rate=False,
    allow_zero_accumulator=False,
)


@export_description("TableConfig")
class TableConfig:
    """A table [vocabulary_size, dim] of embeddings, and how several of a row become one.

    combiner: "mean", "sum", "sqrtn" or a `CustomCombiner`.  ValueError for sizes below 1, another
    combiner, and an initializer that cannot be called.

    >>> import talweg as tf
    >>> tf.tpu.experimental.embedding.TableConfig(5, 3, combiner="sum").dim
    3
    """

    def __init__(
        self,
        vocabulary_size: int,
        dim: int,
        initializer: Callable | None = None,
        optimizer: Any = None,
        combiner: Any = "mean",
        name: str | None = None,
        quantization_config: QuantizationConfig | None = None,
        layout: Any = None,
        dtype: Any = float32,
    ):
        for label, size in (("vocabulary_size", vocabulary_size), ("dim", dim)):
            if not isinstance(size, int) or size < 1:
                raise value_error("TW104", f"`{label}` must be an int and >= 1, but got {size!r}")
        if initializer is not None and not callable(initializer):
            raise value_error("TW104", f"`initializer` must be callable, but got {initializer!r}")
        if not isinstance(combiner, CustomCombiner) and combiner not in COMBINERS:
            raise value_error("TW104", f"`combiner` must be in {COMBINERS}, but got {combiner!r}")
        self.vocabulary_size, self.dim, self.combiner, self.name = (
            vocabulary_size,
            dim,
            combiner,
            name,
        )
        self.initializer = initializer or look_up("compat.v1.truncated_normal_initializer")(
            mean=0.0, stddev=dim**-0.5
        )
        self._shown = initializer
        self.optimizer, self.quantization_config = optimizer, quantization_config
        self.layout, self.dtype = layout, dtype

    def __repr__(self) -> str:
        return (
            f"TableConfig(vocabulary_size={self.vocabulary_size}, dim={self.dim}, "
            f"initializer={self._shown!r}, optimizer={self.optimizer!r}, "
            f"combiner={self.combiner!r}, name={self.name!r}, "
            f"quantization_config={self.quantization_config!r})"
        )


@export_description("FeatureConfig")
class FeatureConfig:
    """A feature that is looked up in a table; ValueError for a table of another class.

    max_sequence_length: 0 for a combined embedding; else so many embeddings one after another.

    >>> import talweg as tf
    >>> table = tf.tpu.experimental.embedding.TableConfig(5, 3)
    >>> tf.tpu.experimental.embedding.FeatureConfig(table, name="word").name
    'word'
    """

    def __init__(
        self,
        table: TableConfig,
        max_sequence_length: int = 0,
        validate_weights_and_indices: bool = True,
        output_shape: Any = None,
        name: str | None = None,
    ):
        if not isinstance(table, TableConfig):
            raise value_error(
                "TW104",
                f"`table` must be a tf.{EMBEDDING}.TableConfig, but got {type(table).__name__}",
            )
        self.table, self.max_sequence_length, self.name = table, max_sequence_length, name
        self.validate_weights_and_indices = validate_weights_and_indices
        if isinstance(output_shape, Tensor):
            output_shape = output_shape.numpy().tolist()
        self.output_shape = TensorShape(output_shape)

    def __repr__(self) -> str:
        return (
            f"FeatureConfig(table={self.table!r}, "
            f"max_sequence_length={self.max_sequence_length}, "
            f"validate_weights_and_indices={self.validate_weights_and_indices}, "
            f"output_shape={self.output_shape!r}, name={self.name!r})"
        )


@export_description("SparseCoreEmbeddingConfig")
@dataclass(frozen=True)
class SparseCoreEmbeddingConfig:
    """Configures the tables of a TPU's sparse cores.

    >>> import talweg as tf
    >>> tf.tpu.experimental.embedding.SparseCoreEmbeddingConfig().max_ids_per_chip_per_sample
    64
    """

    disable_table_stacking: bool = False
    max_ids_per_chip_per_sample: int = 64
    max_ids_per_table: dict[str, int] | None = None
    max_unique_ids_per_table: dict[str, int] | None = None
    allow_id_dropping: bool = False
    initialize_tables_on_host: bool = True
    enable_fast_table_initialization: bool = False


@export_description("RowIdInitializer")
class RowIdInitializer:
    """An initializer of tables: row i has i + offset everywhere.

    >>> import talweg as tf
    >>> tf.tpu.experimental.embedding.RowIdInitializer(3)([2, 2], tf.float32).numpy()
    array([[3., 3.],
           [4., 4.]], dtype=float32)
    """

    def __init__(self, offset: int = 0):
        self.offset = offset

    def __call__(self, shape: Any, dtype: Any) -> Tensor:
        rows = look_up("range")(self.offset, self.offset + shape[0], dtype=dtype)
        return look_up("broadcast_to")(rows[:, None], shape)


@export_description("CustomOptimizer")
class CustomOptimizer:
    """A table trained by a function of gradient, table, slots, learning rate and settings.

    custom_computation: gives the new table, and the new slots behind it.  slot_names,
    slot_initializers: what is kept beside the table, and how it begins; slot_dims: 1 or 2 for each.
    ValueError for lists of different lengths.  The function is kept; tables are trained on TPUs.

    >>> import talweg as tf
    >>> trained = tf.tpu.experimental.embedding.CustomOptimizer(
    ...     lambda gradient, table, slots, rate, settings: table - gradient * rate
    ... )
    >>> trained.learning_rate
    0.01
    """

    def __init__(
        self,
        custom_computation: Callable,
        learning_rate: Any = 0.01,
        slot_names: Any = None,
        slot_initializers: Any = None,
        hyperparameters: Any = None,
        slot_dims: Any = None,
    ):
        names, initializers = tuple(slot_names or ()), tuple(slot_initializers or ())
        dims = tuple(slot_dims or ())
        if len(names) != len(initializers):
            text = f"{len(names)} slot_names and {len(initializers)} slot_initializers"
            raise value_error("TW104", text, "an initializer for each slot")
        if dims and (len(dims) != len(names) or set(dims) - {1, 2}):
            raise value_error("TW104", f"slot_dims {list(dims)}", "1 or 2 for each slot")
        self.custom_computation, self.learning_rate = custom_computation, learning_rate
        self.hyperparameters = tuple(hyperparameters or ())
        self.slot_names, self.slot_initializers, self.slot_dims = names, initializers, dims


@export_description("CustomCombiner")
class CustomCombiner:
    """Combines a row of embeddings into one: a function of their number, of them, and of weights.

    max_valency: embeddings in a row, at most.  num_weights, initializer: weights that are trained
    with the learning rate `combiner_weights_learning_rate`; ValueError for weights without an
    initializer.  The function is kept; rows are combined by it on TPUs.

    >>> import talweg as tf
    >>> tf.tpu.experimental.embedding.CustomCombiner(
    ...     lambda valency, vectors: tf.reduce_sum(vectors, 0), max_valency=16
    ... ).max_valency
    16
    """

    def __init__(
        self,
        combiner_computation: Callable,
        max_valency: int,
        num_weights: int = 0,
        initializer: Callable | None = None,
        combiner_weights_learning_rate: Any = 0.01,
    ):
        if num_weights > 0 and initializer is None:
            raise value_error("TW104", f"num_weights={num_weights} without an `initializer`")
        self.combiner = f"custom_combiner_{hash(combiner_computation)}"
        self.combiner_computation, self.max_valency = combiner_computation, max_valency
        self.num_weights, self.initializer = num_weights, initializer
        self.combiner_weights_learning_rate = combiner_weights_learning_rate

    def __str__(self) -> str:
        return self.combiner
