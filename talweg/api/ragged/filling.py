"""tf.ragged_fill_empty_rows: empty rows of values with row ids get a default."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export, look_up


@export("ragged_fill_empty_rows", "compat.v1.ragged_fill_empty_rows")
def ragged_fill_empty_rows(
    value_rowids: Any, values: Any, nrows: Any, default_value: Any, name: str | None = None
) -> Any:
    """Return values [n] and their rows, with `default_value` in each of the `nrows` rows that has
    none.

    A namedtuple of output_value_rowids, output_values, empty_row_indicator [nrows] and
    reverse_index_map [n], which says where each value went.  InvalidArgumentError for a row that
    there is not.

    >>> import talweg as tf
    >>> found = tf.ragged_fill_empty_rows([0, 2], [1, 2], 3, 9)
    >>> found.output_values.numpy(), found.empty_row_indicator.numpy()
    (array([1, 9, 2], dtype=int32), array([False,  True, False]))
    """
    return look_up("raw_ops.RaggedFillEmptyRows")(
        value_rowids=value_rowids, values=values, nrows=nrows, default_value=default_value
    )


@export("ragged_fill_empty_rows_grad", "compat.v1.ragged_fill_empty_rows_grad")
def ragged_fill_empty_rows_grad(
    reverse_index_map: Any, grad_values: Any, name: str | None = None
) -> Any:
    """Compute the gradients of `tf.ragged_fill_empty_rows`: (of the values, of the default).

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.ragged_fill_empty_rows_grad([0, 2], [1.0, 2.0, 3.0])]
    [[1.0, 3.0], 2.0]
    """
    return look_up("raw_ops.RaggedFillEmptyRowsGrad")(
        reverse_index_map=reverse_index_map, grad_values=grad_values
    )
