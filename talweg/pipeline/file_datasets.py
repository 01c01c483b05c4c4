"""The classes of datasets of files: `tf.data.TextLineDataset` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import string
from talweg.core.errors import type_error
from talweg.core.hooks import hooks
from talweg.graph.symbol import Symbol
from talweg.pipeline import element, files
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.making import integer
from talweg.pipeline.session_iterators import DatasetV1
from talweg.pipeline.source import TensorSlices
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike


def paths_stage(filenames: object) -> Stage:
    """Return filenames (one, several, a string tensor, or a dataset of them) as a stage."""
    if isinstance(filenames, Dataset):
        spec: Any = filenames.element_spec
        if getattr(spec, "dtype", None) is not string:
            raise type_error(
                "TW102",
                f"The `filenames` argument must contain `tf.string` elements. Got {spec!r}.",
            )
        return filenames.stage
    if hasattr(filenames, "__fspath__"):
        filenames = filenames.__fspath__()
    if isinstance(filenames, (list, tuple)):
        filenames = [
            part.__fspath__() if hasattr(part, "__fspath__") else part for part in filenames
        ]
    names = element.as_leaf(filenames if len(_as_list(filenames)) else _nothing())
    if names.dtype is not string:
        raise type_error(
            "TW102",
            f"The `filenames` argument must contain `tf.string` elements. Got "
            f"`{names.dtype!r}` elements.",
        )
    if type(names) is not Symbol and not names.ndim:
        names = element.wrap(names._array.reshape(1))
    elif type(names) is Symbol:
        names = hooks.look_up_export("reshape")(names, [-1])
    return TensorSlices(names)


def _as_list(filenames: object) -> Any:
    return filenames if isinstance(filenames, (list, tuple)) else [filenames]


def _nothing() -> Any:
    return element.np.empty((0,), object)


def _kind(compression: Any) -> str:
    if compression is None:
        return ""
    return files.os.fsdecode(compression.numpy() if hasattr(compression, "numpy") else compression)


class FileDataset(Dataset):
    """A dataset of the records that files hold."""

    def _read(
        self,
        name: str,
        filenames: object,
        reader: Callable[..., Any],
        compression: object,
        parallel: object,
    ) -> None:
        count = None if parallel is None else integer(parallel, "num_parallel_reads")
        stage = files.Files(name, paths_stage(filenames), reader, _kind(compression), count)
        Dataset.__init__(self, stage)


class TextLineDataset(FileDataset):
    r"""The lines of text files, without their ends (`tf.data.TextLineDataset`).

    filenames: one, several, or a dataset of them.  compression_type: "GZIP" or "ZLIB".
    num_parallel_reads: how many files are read in turn.

    >>> import pathlib, tempfile
    >>> import talweg as tf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lines.txt")
    >>> _ = path.write_text("one\ntwo\n")
    >>> list(tf.data.TextLineDataset(path).as_numpy_iterator())
    [b'one', b'two']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: object = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ):
        self._read(
            "TextLineDatasetV2", filenames, files.lines, compression_type, num_parallel_reads
        )


class TFRecordDataset(FileDataset):
    """The records of TFRecord files (`tf.data.TFRecordDataset`), as string scalars.

    DataLossError for a damaged record, NotFoundError for a file that is not there.
    """

    def __init__(
        self,
        filenames: object,
        compression_type: object = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ):
        self._read(
            "TFRecordDatasetV2",
            filenames,
            files.whole_records,
            compression_type,
            num_parallel_reads,
        )


class FixedLengthRecordDataset(FileDataset):
    """Records of `record_bytes` bytes each (`tf.data.FixedLengthRecordDataset`).

    header_bytes, footer_bytes: what to leave out at the ends of each file.  InvalidArgumentError if
    a file holds no whole number of records.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: TensorLike | None = None,
        compression_type: object = None,
        num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ):
        sizes = [integer(n or 0, "bytes") for n in (record_bytes, header_bytes, footer_bytes)]
        self._read(
            "FixedLengthRecordDatasetV2",
            filenames,
            files.make_fixed_reader(*sizes),
            compression_type,
            num_parallel_reads,
        )


class TextLineDatasetV1(TextLineDataset, DatasetV1):
    """`tf.compat.v1.data.TextLineDataset`."""

    base = DatasetV1


class TFRecordDatasetV1(TFRecordDataset, DatasetV1):
    """`tf.compat.v1.data.TFRecordDataset`."""

    base = DatasetV1


class FixedLengthRecordDatasetV1(FixedLengthRecordDataset, DatasetV1):
    """`tf.compat.v1.data.FixedLengthRecordDataset`."""

    base = DatasetV1
