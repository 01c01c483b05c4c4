"""tf.io.decode_csv: records of comma-separated values to a tensor for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.dtypes import string
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.pipeline.csv_files import CsvField
from talweg.prims.io import csv as prims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("io.decode_csv")
def decode_csv(
    records: TensorLike,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[Tensor]:
    """Return the columns of records, strings of any shape: a list of tensors of that shape.

    record_defaults: a tensor or list for each column, whose dtype is that of the column; its
    element stands in for an empty field, and an empty one says that there must be none.
    field_delim: one character.  na_value: what else is empty.  select_cols: the numbers of the
    columns wanted, in order.  InvalidArgumentError for records with other fields.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.io.decode_csv(["1,2.5", "3,"], [[0], [7.0]])]
    [[1, 3], [2.5, 7.0]]
    """
    if len(field_delim) != 1:
        raise invalid("TW207", f"field_delim {field_delim!r}", "one character")
    fields = [CsvField(default, False) for default in record_defaults]
    columns = None if select_cols is None else tuple([int(n) for n in select_cols])
    if columns is not None and (len(columns) != len(fields) or columns != (*sorted({*columns}),)):
        raise value_error(
            "TW205",
            f"select_cols {list(columns)} for {len(fields)} record_defaults",
            "as many numbers, in order",
        )
    form = (field_delim, bool(use_quote_delim), na_value, columns)
    defaults = [_default(field) for field in fields]
    return list(prims.decode_csv(tensor(records, string), *defaults, form=form))


@export("compat.v1.decode_csv", "compat.v1.io.decode_csv")
def decode_csv_v1(
    records: TensorLike,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Any]:
    """Call `tf.io.decode_csv`, with the arguments in the order of TensorFlow 1."""
    return decode_csv(records, record_defaults, field_delim, use_quote_delim, na_value, select_cols)


def _default(field: CsvField) -> Any:
    """Make a vector of the default of a CSV field; an empty one if the field has none."""
    given = [] if field.default is None else [field.default]
    found = np.empty(len(given), field.dtype.numpy_dtype)
    found[:] = given
    return convert_to_tensor(found, field.dtype)
