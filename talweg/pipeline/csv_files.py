"""CSV files are records of typed fields; the types of their columns are inferred here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import DType, as_dtype, string
from talweg.core.errors import invalid
from talweg.core.spec import TensorSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.formats import delimited
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.files import text
from talweg.pipeline.records import RecordReader
from talweg.pipeline.run import IterationRun, Next
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

KINDS = ("int32", "int64", "float32", "float64", "string")


class CsvField:
    """A column: its dtype, and what stands for an empty field (None: it must not be empty).

    With `dtypes`, what names a dtype means it, as in TensorFlow: "int32", and 1, which is float32.
    """

    def __init__(self, default: TensorLike, dtypes: bool):
        named = None if not dtypes or isinstance(default, Tensor) else _find_named_dtype(default)
        if named is not None:
            self.dtype, self.default = named, None
        else:
            tensor = convert_to_tensor(default)
            array = np.asarray(tensor._array)
            self.dtype = tensor.dtype
            if array.ndim > 1 or array.size > 1:
                raise invalid(
                    "TW203", f"record_defaults: {default!r}", "a scalar, or a vector of at most one"
                )
            self.default = array.reshape(-1)[0] if array.size else None
        if self.dtype.name not in KINDS:
            raise invalid(
                "TW102", f"record_defaults: dtype {self.dtype.name}", f"one of {', '.join(KINDS)}"
            )

    def parse(self, data: bytes, number: int, missing: bytes) -> Any:
        """Parse the text of a field; InvalidArgumentError for text that is no such value."""
        found = delimited.value(data, self.dtype, self.default, number, missing)
        return text(found) if self.dtype is string else found


def _find_named_dtype(default: object) -> DType | None:
    """Return the dtype that something names; None if it is a value."""
    if not isinstance(default, (DType, np.dtype, type, str, int)):
        return None
    try:
        found = as_dtype(default)
    except TypeError:
        return None
    return found if found.name in KINDS else None


class Csv(Stage):
    """The records of CSV files, a tuple of scalars each."""

    name = "CsvDatasetV2"

    def __init__(
        self,
        paths: Stage,
        fields: list[CsvField],
        compression: str,
        header: bool,
        delimiter: str,
        quotes: bool,
        missing: str,
        columns: list[int] | None,
        excluded: list[int] | None,
    ):
        super().__init__(ElementLayout(tuple([TensorSpec((), f.dtype) for f in fields])), paths)
        self.fields, self.compression, self.header = fields, compression, header
        self.delimiter, self.quotes, self.missing = delimiter, quotes, missing.encode()
        self.columns, self.excluded = columns, excluded

    def start(self, run: IterationRun) -> Next:
        """Return file after file."""
        paths = self.inputs[0].start(run)
        records: Any = iter(())
        file: Any = None

        def step() -> tuple:
            nonlocal records, file
            while True:
                for row in records:
                    return self._record(row)
                if file is not None:
                    file.close()
                file = RecordReader(paths()[0][()].decode(), self.compression)
                records = delimited.Records(file, self.delimiter, self.quotes)
                if self.header:
                    next(records, None)

        return step

    def _record(self, row: list[bytes]) -> tuple:
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


def infer_dtype(values: list[str], missing: str) -> DType:
    """Return the narrowest of int32, int64, float32, float64 and string that all values fit."""
    given = [value for value in values if value not in ("", missing)]
    return as_dtype(KINDS[max([_kind(value) for value in given], default=4)])


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
