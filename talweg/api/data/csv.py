"""tf.data.experimental.CsvDataset and make_csv_dataset."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.formats.delimited import Records
from talweg.pipeline.csv_files import Csv, CsvField, infer_dtype
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.file_datasets import paths_stage
from talweg.pipeline.files import matching
from talweg.pipeline.keeping import paths_of
from talweg.pipeline.parallel import AUTOTUNE
from talweg.pipeline.records import RecordReader

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike, TensorLike
    from talweg.core.dtypes import DType


@export("data.experimental.CsvDataset")
class CsvDataset(Dataset):
    """The records of CSV files, each a tuple of scalars (`tf.data.experimental.CsvDataset`).

    record_defaults: for each column a dtype, then no field may be empty, or a tensor, the value of
    empty fields.  select_cols, exclude_cols: which columns.  InvalidArgumentError, when a record is
    asked for, if it has another number of fields or one does not fit.

    >>> import pathlib, tempfile
    >>> import talweg as tf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.csv")
    >>> _ = path.write_text("1,a\\n2,b\\n")
    >>> list(tf.data.experimental.CsvDataset(path, [tf.int32, tf.string]).as_numpy_iterator())
    [(np.int32(1), b'a'), (np.int32(2), b'b')]
    """

    def __init__(
        self,
        filenames: object,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: TensorLike | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ):
        if select_cols is not None and exclude_cols is not None:
            raise value_error("TW104", "Either select_cols or exclude_cols should be empty")
        fields = [CsvField(default, True) for default in record_defaults]
        stage = Csv(
            paths_stage(filenames),
            fields,
            compression_type or "",
            header,
            field_delim,
            use_quote_delim,
            na_value,
            None if select_cols is None else list(select_cols),
            None if exclude_cols is None else list(exclude_cols),
        )
        super().__init__(stage)


@export("data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Any = None,
    column_defaults: Any = None,
    label_name: str | None = None,
    select_columns: Any = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Any:
    """Return batches of the columns of CSV files, as a dictionary by name; with a label, pairs.

    Names come from the first line (`header`) or column_names, dtypes from column_defaults or from
    the first num_rows_for_inference records.  Without end unless num_epochs is given.
    """
    paths = [path.decode() for path in matching(paths_of(file_pattern))]
    kind = compression_type or ""
    form = (kind, header, field_delim, use_quote_delim)
    wanted = 1 if column_defaults is not None else num_rows_for_inference
    told = column_names is not None and column_defaults is not None
    rows = [] if told else _first_rows(paths, *form, wanted)
    names = list(column_names) if column_names is not None else rows[0] if header else None
    if names is None:
        raise value_error("TW104", "Expected `column_names` or `header` arg.")
    if len(set(names)) != len(names):
        raise value_error("TW207", "Cannot have duplicate column names.")
    columns = _select_columns(names, select_columns)
    body = rows[1:] if header else rows
    defaults = column_defaults
    if defaults is None:
        defaults = _infer_defaults(body, names, columns, na_value)
    elif len(defaults) == len(names) != len(columns):
        defaults = [defaults[n] for n in columns]
    chosen = [names[n] for n in columns]
    if label_name is not None and label_name not in chosen:
        raise value_error("TW207", f"`label_name` provided must be one of the columns: {chosen}")

    selected = None if select_columns is None else columns
    layout = (header, field_delim, use_quote_delim, na_value, selected)

    def records(path: PathLike) -> Any:
        dataset = CsvDataset(path, defaults, kind, None, *layout)
        return dataset.ignore_errors() if ignore_errors else dataset

    dataset = Dataset.from_tensor_slices(paths)
    if shuffle:
        dataset = dataset.shuffle(len(paths), shuffle_seed)
    dataset = dataset.interleave(records, cycle_length=num_parallel_reads or 1)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(
        _naming(chosen, label_name)
    )
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _naming(names: list[str], label: str | None) -> Any:
    """Return the function that makes a dictionary of columns, and the label's column beside it."""

    def name_fields(*values: object) -> Any:
        features = OrderedDict(zip(names, values))
        if label is None:
            return features
        target = features.pop(label)
        return features, target

    return name_fields


def _select_columns(names: list[str], wanted: tuple[Any, ...]) -> list[int]:
    """Return the numbers of the columns to read, in order; ValueError for unknown ones."""
    if wanted is None:
        return list(range(len(names)))
    numbers = sorted(
        names.index(key) if isinstance(key, str) and key in names else key for key in wanted
    )
    if any(not isinstance(n, int) or not 0 <= n < len(names) for n in numbers):
        raise value_error("TW207", f"select_columns {wanted!r}", f"some of {names}")
    return [int(n) for n in numbers]


def _infer_defaults(rows: list, names: list, columns: list[int], missing: str) -> list:
    """Infer the default values of empty fields from the dtypes that the first records have."""
    if any([len(row) != len(names) for row in rows]):
        raise value_error(
            "TW204", "Problem inferring types: CSV row has different number of fields than expected"
        )
    return [_default(infer_dtype([row[n] for row in rows], missing)) for n in columns]


def _default(dtype: DType) -> np.ndarray:
    """Return a default of one value: zero, or an empty string."""
    return np.array([b""], object) if dtype.name == "string" else np.zeros(1, dtype.numpy_dtype)


def _first_rows(
    paths: list[str], kind: str, header: bool, delimiter: str, quotes: bool, count: int | None
) -> list[list[str]]:
    """Return the first line, and the records from which dtypes are found."""
    found: list[list[str]] = []
    for number, path in enumerate(paths):
        with RecordReader(path, kind) as file:
            rows = Records(file, delimiter, quotes)
            if header and number:
                next(rows, None)
            for row in rows:
                found.append([field.decode() for field in row])
                if count is not None and len(found) > count:
                    return found
    return found
