"""Columns that make numbers of ids: counts of them, and rows of a table that is learnt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.array.shapes import reshape
from talweg.api.array.shapes import shape as shape_of
from talweg.api.export import export, look_up
from talweg.core.dtypes import float32
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.feature_columns.column import DenseColumn, check_categorical

if TYPE_CHECKING:
    pass


class _Indicator(NamedTuple):
    categorical_column: Any


class IndicatorColumn(_Indicator, DenseColumn):
    """The counts of each id, or the sums of its weights."""

    @property
    def name(self) -> str:
        """The name of the ids."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict:
        """The parse specification of the ids."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of a row of counts."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(self, transformation_cache: object, state_manager: Any = None) -> Any:
        """Return the counts."""
        column = self.categorical_column
        ids, weights = column.get_sparse_tensors(transformation_cache, state_manager)
        dense = look_up("sparse.to_dense")(ids, -1)
        hot = look_up("one_hot")(dense, column.num_buckets, dtype=float32)
        if weights is not None:
            hot = hot * look_up("expand_dims")(look_up("sparse.to_dense")(weights), -1)
        return look_up("reduce_sum")(hot, axis=-2)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the counts of a batch."""
        return transformation_cache.get(self, state_manager)


class _Embedding(NamedTuple):
    categorical_column: Any
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: Any
    trainable: bool
    use_safe_embedding_lookup: bool


class EmbeddingColumn(_Embedding, DenseColumn):
    """Rows of a table by ids, put together for each example."""

    shared_name = ""

    @property
    def name(self) -> str:
        """The name of the ids."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> dict:
        """The parse specification of the ids."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """The size of a row."""
        return TensorShape([self.dimension])

    @property
    def table_shape(self) -> list[int]:
        """The shape of the table."""
        return [self.categorical_column.num_buckets, self.dimension]

    def create_state(self, state_manager: Any) -> None:
        """Have the table made."""
        self.categorical_column.create_state(state_manager)
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=self.table_shape,
            dtype=float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the ids."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the rows of a batch;
        `state_manager.get_variable(column, name)` gives the table.
        """
        table = state_manager.get_variable(self, "embedding_weights")
        return self.look_up_rows(table, transformation_cache, state_manager)

    def look_up_rows(
        self, table: Any, transformation_cache: Any, state_manager: object = None
    ) -> Any:
        """Return the rows of a batch, of this table."""
        column = self.categorical_column
        ids, weights = column.get_sparse_tensors(transformation_cache, state_manager)
        if self.ckpt_to_load_from is not None:
            raise value_error("TW104", "ckpt_to_load_from", "tf.train.Checkpoint for the table")
        find = look_up("nn.safe_embedding_lookup_sparse")
        rows = find(
            table,
            ids,
            sparse_weights=weights,
            combiner=self.combiner,
            max_norm=self.max_norm,
        )
        return reshape(rows, [shape_of(ids)[0], self.dimension]) if ids.shape.rank == 2 else rows


class SharedEmbeddingColumn(EmbeddingColumn):
    """An embedding whose table others have, too."""

    @property
    def name(self) -> str:
        """The name of the ids."""
        return f"{self.categorical_column.name}_shared_embedding"


def _check_embedding(dimension: int, ckpt: object, tensor: object, initializer: object) -> None:
    if dimension is None or dimension < 1:
        raise value_error("TW207", f"Invalid dimension {dimension}.", "at least 1")
    if (ckpt is None) is not (tensor is None):
        raise value_error("TW104", "one of ckpt_to_load_from and tensor_name_in_ckpt", "both")
    if initializer is not None and not callable(initializer):
        raise value_error("TW104", f"initializer {initializer!r}", "a callable")


def _draw_initial(initializer: object, dimension: int) -> Any:
    if initializer is not None:
        return initializer
    return look_up("compat.v1.truncated_normal_initializer")(0.0, 1 / math.sqrt(dimension))


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """Make a column that counts each id of a column in an example, or sums its weights.

    >>> import talweg as tf
    >>> ids = tf.feature_column.categorical_column_with_identity("word", 3)
    >>> tf.feature_column.indicator_column(ids).variable_shape
    TensorShape([1, 3])
    """
    check_categorical(categorical_column)
    return IndicatorColumn(categorical_column)


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: object = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """Return rows of a table by the ids of a column, put together by "mean", "sqrtn" or "sum".

    >>> import talweg as tf
    >>> ids = tf.feature_column.categorical_column_with_identity("word", 3)
    >>> tf.feature_column.embedding_column(ids, 8).variable_shape
    TensorShape([8])
    """
    check_categorical(categorical_column)
    _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    rest = ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup
    drawn = _draw_initial(initializer, dimension)
    return EmbeddingColumn(categorical_column, dimension, combiner, drawn, *rest)


@export("feature_column.shared_embeddings", "compat.v1.feature_column.shared_embedding_columns")
def shared_embeddings(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: object = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list:
    """Return embeddings of several columns with one table.

    ValueError for columns with different numbers of ids.

    >>> import talweg as tf
    >>> ids = [tf.feature_column.categorical_column_with_identity(name, 3) for name in "ab"]
    >>> [column.name for column in tf.feature_column.shared_embeddings(ids, 8)]
    ['a_shared_embedding', 'b_shared_embedding']
    """
    _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    for column in categorical_columns:
        check_categorical(column)
    if len({column.num_buckets for column in categorical_columns}) > 1:
        raise value_error("TW204", "columns with different numbers of buckets", "one number")
    rest = ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup
    drawn = _draw_initial(initializer, dimension)
    names = sorted([column.name for column in categorical_columns])
    shared = shared_embedding_collection_name or "_".join(names) + "_shared_embedding"
    embeddings = []
    for column in categorical_columns:
        made = SharedEmbeddingColumn(column, dimension, combiner, drawn, *rest)
        made.shared_name = shared
        embeddings.append(made)
    return embeddings
