"""CSV files: records of typed fields, and what the types of columns are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from talweg.core.dtypes import DType, as_dtype, string
from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.kernels import delimited
from talweg.pipeline.element import Layout
from talweg.pipeline.files import text
from talweg.pipeline.records import opened
from talweg.pipeline.run import Next, Run
from talweg.pipeline.stage import Stage

KINDS = ("int32", "int64", "float32", "float64", "string")


class Field:
    """A column: its dtype, and what stands for an empty field (None: it must not be empty)."""

    def __init__(self, default: Any):
        if isinstance(default, (DType, type, str)) and not isinstance(default, Tensor):
            self.dtype, self.default = as_dtype(default), None
        else:
            found = convert_to_tensor(default)
            array = np.asarray(found._array).reshape(-1)
            self.dtype = found.dtype
            self.default = array[0] if array.size else None
        if self.dtype.name not in KINDS:
            raise value_error(
                "TW102", f"record_defaults: dtype {self.dtype.name}", f"one of {', '.join(KINDS)}"
            )

    def parse(self, data: str, number: int, missing: str) -> Any:
        """The value of a field; InvalidArgumentError for what is none."""
        found = delimited.value(data, self.dtype, self.default, number, missing)
        return text(found) if self.dtype is string else found


class Csv(Stage):
    """The records of CSV files, a tuple of scalars each."""

    name = "CsvDatasetV2"

    def __init__(
        self, paths: Stage, fields: list[Field], compression: str, header: bool, delimiter: str,
        quotes: bool, missing: str, columns: list[int] | None, excluded: list[int] | None,
    ):  # fmt: skip
        super().__init__(Layout(tuple([TensorSpec((), f.dtype) for f in fields])), paths)
        self.fields, self.compression, self.header = fields, compression, header
        self.delimiter, self.quotes, self.missing = delimiter, quotes, missing
        self.columns, self.excluded = columns, excluded

    def start(self, run: Run) -> Next:
        """File after file."""
        paths = self.inputs[0].start(run)
        rows: Any = iter(())

        def step() -> tuple:
            nonlocal rows
            while True:
                for row in rows:
                    return self._record(row)
                rows = self._rows(paths()[0][()].decode())

        return step

    def _rows(self, path: str) -> Iterator[list[str]]:
        with opened(path, self.compression) as file:
            source = io.TextIOWrapper(file, "utf-8", newline="")
            rows = delimited.rows_of(source, self.delimiter, self.quotes)
            if self.header:
                next(rows, None)
            yield from rows

    def _record(self, row: list[str]) -> tuple:
        places = self.columns
        if places is None:
            left_out = self.excluded or ()
            places = [n for n in range(len(row)) if n not in left_out]
            if len(places) != len(self.fields):
                raise delimited.wrong(
                    f"Expect {len(self.fields)} fields but have {len(places)} in record"
                )
        if places and max(places) >= len(row):
            raise delimited.wrong(f"Expect {len(self.fields)} fields but have {len(row)} in record")
        pairs = enumerate(zip(self.fields, places))
        return tuple([field.parse(row[n], number, self.missing) for number, (field, n) in pairs])


def inferred(values: list[str], missing: str) -> DType:
    """The narrowest of int32, int64, float32, float64 and string that all values fit."""
    given = [value for value in values if value not in ("", missing)]
    return as_dtype(KINDS[max([_kind(value) for value in given], default=0)])


def _kind(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        pass
    else:
        if -(2**31) <= number < 2**31:
            return 0
        return 1 if -(2**63) <= number < 2**63 else 4
    try:
        real = float(value)
    except ValueError:
        return 4
    return 2 if np.isnan(real) or np.isinf(real) or abs(real) < np.finfo(np.float32).max else 3
