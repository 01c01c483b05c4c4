"""Records of comma-separated values (`formats/delimited.py`)."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import of_numpy, string
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.formats import delimited


@primitive
class decode_csv:
    """The columns of records, each of their shape.

    defaults: a vector for each column, of its dtype, with what stands in for an empty field, or
    empty.  form: (delimiter, quotes, what else is empty, the numbers of the columns or None).
    """

    operands = "records *defaults"
    tf_type = "DecodeCSV"
    multiple = True
    no_gradient = NoGradient("text has no derivative")
    batch = LOOP
    memory = "library"

    def infer(records, *defaults, form):
        check_dtype("decode_csv", "records", records.dtype, {string})
        return [Aval(records.dims, default.dtype) for default in defaults]

    def numpy(records: np.ndarray, *defaults, form):
        delimiter, quotes, missing, columns = form
        delimiter, missing = delimiter.encode(), missing.encode()
        data = np.asarray(records, object).reshape(-1).tolist()
        own = [default[0] if default.size else None for default in defaults]
        filled_columns = [np.empty(len(data), default.dtype) for default in defaults]
        kinds = [of_numpy(default.dtype) for default in defaults]
        for row_number, record in enumerate(data):
            row = delimited.fields_of(record, delimiter, quotes)
            if columns is not None and columns and columns[-1] < len(row):
                row = [row[column] for column in columns]
            if len(row) != len(defaults):
                raise delimited.wrong(
                    f"Expect {len(defaults)} fields but have {len(row)} in record {row_number}"
                )
            for number, (field, kind, default) in enumerate(zip(row, kinds, own)):
                filled_columns[number][row_number] = delimited.value(
                    field, kind, default, number, missing
                )
        return tuple([column.reshape(np.shape(records)) for column in filled_columns])

    samples = (
        Sample(
            np.array([b"1,2.5", b",3"], object),
            np.array([7], np.int32),
            np.array([0.5], np.float32),
            form=(",", True, "", None),
            skip=("batch",),
        ),
    )
    rejects = (Reject([], form=(",", True, "", None), code="TW102"),)
