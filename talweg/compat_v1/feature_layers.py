"""tf.compat.v1.feature_column.input_layer and linear_model: layers of columns, with variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.variable_scopes import get_variable, get_variable_scope, variable_scope
from talweg.core.errors import value_error
from talweg.feature_columns.column import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    FeatureTransformationCache,
)
from talweg.feature_columns.embedding import EmbeddingColumn

if TYPE_CHECKING:
    pass


class _Variables:
    """The variables of columns, each made when it is first asked for."""

    def __init__(self, trainable: bool, collections: Sequence[str]):
        self.trainable, self.collections = trainable, list(collections or [])
        self.outer = get_variable_scope()  # where shared tables are
        self.made: list = []

    def get(self, name: str, shape: list, initializer: Any, trainable: bool = True) -> Any:
        """Return a variable of the scope in force."""
        own = ["variables", *self.collections] if self.collections else None
        may = self.trainable and trainable
        if own is not None and may:
            own.append("trainable_variables")
        found = get_variable(name, shape, initializer=initializer, trainable=may, collections=own)
        self.made.append(found)
        return found


def _columns(feature_columns: Any, allowed: tuple, features: dict[Any, Any]) -> list:
    """Sort the columns by their names; ValueError for other objects, or names there twice."""
    if not isinstance(features, dict):
        raise value_error("TW104", f"features is {type(features).__name__}", "a dictionary")
    single = isinstance(feature_columns, FeatureColumn)
    columns = [feature_columns] if single else list(feature_columns)
    for column in columns:
        if not isinstance(column, allowed):
            raise value_error(
                "TW104",
                f"Items of feature_columns must be dense or categorical as needed: {column!r}",
                "an indicator_column or embedding_column of ids",
            )
    if not columns:
        raise value_error("TW207", "feature_columns is empty", "columns")
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise value_error("TW207", f"Duplicate feature column name found for columns: {names}")
    return sorted(columns, key=lambda column: column.name)


def _rows(column: Any, cache: Any, variables: _Variables) -> Any:
    """Return the numbers of a dense column; an embedding's table is a variable."""
    if not isinstance(column, EmbeddingColumn):
        return column.get_dense_tensor(cache, None)
    name, shape = "embedding_weights", column.table_shape
    if column.shared_name:
        again = look_up("compat.v1.AUTO_REUSE")
        with variable_scope(variables.outer, reuse=again, auxiliary_name_scope=False):
            shared = f"{column.shared_name}/{name}"
            table = variables.get(shared, shape, column.initializer, column.trainable)
    else:
        table = variables.get(name, shape, column.initializer, column.trainable)
    return column.look_up_rows(table, cache)


@export("compat.v1.feature_column.input_layer")
def input_layer(
    features: dict,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict | None = None,
    cols_to_output_tensors: dict | None = None,
) -> Any:
    """Return the numbers of dense columns side by side, [batch, n], in the order of their names.

    Tables of embeddings are variables `input_layer/<name>/embedding_weights`.  cols_to_vars and
    cols_to_output_tensors: dictionaries to be filled.  ValueError for columns that give ids.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     age = tf.feature_column.numeric_column("age")
    ...     session.run(tf.feature_column.input_layer({"age": [[3.0]]}, [age]))
    array([[3.]], dtype=float32)
    """
    columns = _columns(feature_columns, (DenseColumn,), features)
    cache, outputs = FeatureTransformationCache(features), []
    with variable_scope(None, default_name="input_layer"):
        for column in columns:
            variables = _Variables(trainable, weight_collections)
            with variable_scope(None, default_name=column.name.replace(":", "_")):
                numbers = _rows(column, cache, variables)
                size = column.variable_shape.num_elements()
                outputs.append(look_up("reshape")(numbers, [-1, size]))
            if cols_to_vars is not None:
                cols_to_vars[column] = variables.made
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = outputs[-1]
    return look_up("concat")(outputs, axis=1)


@export("compat.v1.feature_column.linear_model")
def linear_model(
    features: dict,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict | None = None,
) -> Any:
    """Add the contributions of the columns and a bias: [batch, units].

    Weights are variables `linear_model/<name>/weights`, a row for each id or number, zeros at
    first; the bias is `linear_model/bias_weights`.  sparse_combiner: how the rows of the ids of an
    example are put together.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     age = tf.feature_column.numeric_column("age")
    ...     found = tf.feature_column.linear_model({"age": [[3.0]]}, [age])
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(found)
    array([[0.]], dtype=float32)
    """
    columns = _columns(feature_columns, (DenseColumn, CategoricalColumn), features)
    cache, zeros = FeatureTransformationCache(features), look_up("zeros_initializer")()
    total: Any = None
    with variable_scope(None, default_name="linear_model"):
        for column in columns:
            variables = _Variables(trainable, weight_collections)
            with variable_scope(None, default_name=column.name.replace(":", "_")):
                weighted = _weight_column(column, cache, variables, units, sparse_combiner, zeros)
            total = weighted if total is None else total + weighted
            if cols_to_vars is not None:
                cols_to_vars[column] = variables.made
        variables = _Variables(trainable, weight_collections)
        bias = variables.get("bias_weights", [units], zeros)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return look_up("nn.bias_add")(total, bias)


def _weight_column(
    column: Any, cache: object, variables: _Variables, units: int, combiner: str, zeros: object
) -> Any:
    """Compute the contribution of a column to a linear model."""
    if isinstance(column, CategoricalColumn):
        ids, weights = column.get_sparse_tensors(cache)
        table = variables.get("weights", [column.num_buckets, units], zeros)
        find = look_up("nn.safe_embedding_lookup_sparse")
        found = find(table, ids, sparse_weights=weights, combiner=combiner)
        return look_up("reshape")(found, [-1, units])
    rows = _rows(column, cache, variables)
    size = column.variable_shape.num_elements()
    table = variables.get("weights", [size, units], zeros)
    return look_up("matmul")(look_up("reshape")(rows, [-1, size]), table)
