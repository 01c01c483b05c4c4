"""tf.tpu.experimental.embedding: tables of embeddings on the CPU, and their look-ups."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export, look_up
from talweg.api.tpu.tables import EMBEDDING, V1_EMBEDDING, FeatureConfig, TableConfig
from talweg.core.dtypes import int64
from talweg.core.errors import UnimplementedError, compose, value_error
from talweg.core.tracking import AutoTrackable
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.graph import structure


def _public(name: str) -> tuple[str, str]:
    return f"{EMBEDDING}.{name}", f"{V1_EMBEDDING}.{name}"


def _features_of(feature_config: Any) -> list[FeatureConfig]:
    return [x for x in structure.flatten(feature_config) if isinstance(x, FeatureConfig)]


@export(*_public("TPUEmbeddingForServing"))
class TPUEmbeddingForServing(AutoTrackable):
    """The tables of features as variables of this process, made when they are first asked for.

    feature_config: a FeatureConfig, or a nest of them; optimizer: kept, and not used.

    >>> import talweg as tf
    >>> embedding = tf.tpu.experimental.embedding
    >>> table = embedding.TableConfig(4, 2, initializer=tf.ones_initializer(), name="words")
    >>> tables = embedding.TPUEmbeddingForServing(embedding.FeatureConfig(table), None)
    >>> tables.embedding_lookup(tf.constant([1])).numpy()
    array([[1., 1.]], dtype=float32)
    """

    def __init__(
        self,
        feature_config: Any,
        optimizer: Any,
        experimental_sparsecore_restore_info: dict[str, Any] | None = None,
    ):
        self._feature_config, self._optimizer = feature_config, optimizer
        self._tables: list[TableConfig] = []
        for feature in _features_of(feature_config):
            if feature.table not in self._tables:
                self._tables.append(feature.table)
        for place, table in enumerate(self._tables):
            table.name = table.name or f"table_{place}"
        self._variables: dict[str, Any] = {}

    def build(self) -> None:
        """Make the variables of tables that have none."""
        for table in self._tables:
            if table.name not in self._variables:
                start = table.initializer([table.vocabulary_size, table.dim], dtype=table.dtype)
                variable = look_up("Variable")(start, name=table.name, dtype=table.dtype)
                self._variables[table.name] = {"parameters": variable}

    @property
    def variables(self) -> dict[str, Any]:
        """The variables, by table and "parameters"."""
        self.build()
        return self._variables

    @property
    def embedding_tables(self) -> dict[TableConfig, Any]:
        """The variable of each table."""
        return {table: self.variables[table.name]["parameters"] for table in self._tables}

    def embedding_lookup(self, features: Any, weights: Any = None) -> Any:
        """Return the embeddings of features; see `serving_embedding_lookup`."""
        tables = self.embedding_tables
        return serving_embedding_lookup(features, weights, tables, self._feature_config)

    __call__ = embedding_lookup


@export(*_public("serving_embedding_lookup"))
def serving_embedding_lookup(inputs: Any, weights: Any, tables: Any, feature_config: Any) -> Any:
    """Return embeddings of features, as they are computed on the CPU.

    inputs: a nest like `feature_config`: dense ids [...] give [..., dim]; sparse and ragged ones
    [batch, n] are combined to [batch, dim]; those of a sequence are [batch, its length, dim].
    weights: None or a nest with what each id weighs, of sparse and ragged ones alone; ValueError
    for weights elsewhere.

    >>> import talweg as tf
    >>> embedding = tf.tpu.experimental.embedding
    >>> table = embedding.TableConfig(3, 2, combiner="sum")
    >>> ids = tf.ragged.constant([[0, 2]], dtype=tf.int64)
    >>> rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> config = embedding.FeatureConfig(table)
    >>> embedding.serving_embedding_lookup(ids, None, {table: rows}, config).numpy()
    array([[6., 8.]], dtype=float32)
    """
    configs = structure.flatten(feature_config)
    ids = structure.flatten(inputs)
    each: list[Any] = [None] * len(ids)
    if weights is not None:
        each = structure.flatten(weights)
    embeddings = [_look_up(*parts, tables) for parts in zip(configs, ids, each)]
    return structure.pack(feature_config, embeddings)


def _look_up(config: FeatureConfig, ids: Any, weight: Any, tables: Any) -> Any:
    table = tables[config.table]
    if weight is not None and (isinstance(ids, Tensor) or config.max_sequence_length > 0):
        kind = "dense" if isinstance(ids, Tensor) else "a sequence"
        raise value_error("TW104", f"weights are given for {config.name}, a feature that is {kind}")
    if isinstance(ids, SparseTensor):
        return _of_sparse(config, ids, weight, table)
    if isinstance(ids, RaggedTensor):
        if config.max_sequence_length > 0:
            sizes = [None, config.max_sequence_length]
            return look_up("nn.embedding_lookup")(table, ids).to_tensor(
                shape=[*sizes, table.shape[1]]
            )
        weight = None if weight is None else weight.to_sparse()
        return _combine(config, ids.to_sparse(), weight, table)
    return look_up("nn.embedding_lookup")(table, ids)


def _of_sparse(config: FeatureConfig, ids: SparseTensor, weight: Any, table: Any) -> Any:
    if config.max_sequence_length > 0:
        ragged = look_up("RaggedTensor.from_sparse")(ids)
        return _look_up(config, ragged, None, {config.table: table})
    return _combine(config, ids, weight, table)


def _combine(config: FeatureConfig, ids: SparseTensor, weight: Any, table: Any) -> Any:
    indices = look_up("cast")(ids, int64)
    return look_up("nn.safe_embedding_lookup_sparse")(
        table, indices, sparse_weights=weight, combiner=config.table.combiner
    )


def _refuse(name: str) -> UnimplementedError:
    text = f"tf.{EMBEDDING}.{name} drives TPUs, and talweg computes on the CPU"
    instead = f"tf.{EMBEDDING}.TPUEmbeddingForServing"
    return UnimplementedError(None, None, compose("TW402", text, hint=instead))


@export(*_public("TPUEmbedding"))
class TPUEmbedding:
    """Tables on a TPU: making one raises UnimplementedError."""

    def __init__(
        self, feature_config: Any, optimizer: Any, pipeline_execution_with_tensor_core: bool = False
    ):
        raise _refuse("TPUEmbedding")


@export(*_public("TPUEmbeddingV0"))
class TPUEmbeddingV0:
    """Tables on an older TPU: making one raises UnimplementedError."""

    def __init__(self, feature_config: Any, optimizer: Any):
        raise _refuse("TPUEmbeddingV0")


@export(*_public("TPUEmbeddingV2"))
class TPUEmbeddingV2:
    """Tables on a TPU's sparse cores: making one raises UnimplementedError."""

    def __init__(
        self,
        feature_config: Any,
        optimizer: Any = None,
        pipeline_execution_with_tensor_core: bool = False,
        sparse_core_embedding_config: Any = None,
    ):
        raise _refuse("TPUEmbeddingV2")
