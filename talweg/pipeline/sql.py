"""Rows of an SQLite database as elements."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import as_dtype
from talweg.core.errors import DataLossError, InvalidArgumentError, UnknownError, compose
from talweg.core.spec import TensorSpec
from talweg.eager.convert import convert_to_tensor
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

ERRORS = {11: DataLossError, 26: InvalidArgumentError}  # by SQLite's codes: malformed, no database


class SqlRows(Stage):
    """The rows of a query, a tuple of scalars each."""

    name = "SqlDatasetV2"
    waits = True

    def __init__(self, path: str, query: str, types: Any):
        self.dtypes = [as_dtype(dtype) for dtype in types]
        super().__init__(ElementLayout(tuple([TensorSpec((), dtype) for dtype in self.dtypes])))
        self.path, self.query = path, query

    def start(self, run: IterationRun) -> Next:
        """Ask the database, then give row after row."""
        rows: Any = None

        def step() -> tuple:
            nonlocal rows
            try:
                if rows is None:
                    connection = sqlite3.connect(self.path, check_same_thread=False)
                    connection.text_factory = bytes  # whatever they are, as TensorFlow gives them
                    rows = connection.execute(self.query)
                row = rows.fetchone()
            except UnicodeDecodeError as error:  # of what SQLite says of it
                text = compose("TW209", f"{self.path!r} is malformed: {error}")
                raise DataLossError(None, None, text) from None
            except sqlite3.Error as error:
                text = compose("TW209", f"the query {self.query!r} failed: {error}")
                kind = ERRORS.get(getattr(error, "sqlite_errorcode", 0), UnknownError)
                raise kind(None, None, f"{text}, in {self.path!r}") from None
            if row is None:
                raise End
            return self._element(row)

        return step

    def _element(self, row: tuple) -> tuple:
        if len(row) != len(self.dtypes):
            text = f"The number of columns in output_types is {len(self.dtypes)}, the query gives "
            raise InvalidArgumentError(None, None, compose("TW204", f"{text}{len(row)}"))
        return tuple([_content(value, dtype) for value, dtype in zip(row, self.dtypes)])


def _content(value: Any, dtype: DType) -> Any:
    if dtype.name == "string":
        value = value if isinstance(value, (str, bytes)) else "" if value is None else str(value)
    elif value is None:
        value = 0
    elif dtype.is_integer:
        value = int(value)
    return convert_to_tensor(value, dtype)._array
