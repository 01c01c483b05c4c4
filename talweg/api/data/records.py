"""Datasets of files, and tf.io.TFRecordWriter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import FailedPreconditionError, compose, type_error
from talweg.pipeline import file_datasets as classes
from talweg.pipeline.files import os
from talweg.pipeline.keeping import path_of
from talweg.pipeline.records import RecordFile, records_in
from talweg.pipeline.run import End

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike

export("data.TextLineDataset")(classes.TextLineDataset)
export("data.TFRecordDataset")(classes.TFRecordDataset)
export("data.FixedLengthRecordDataset")(classes.FixedLengthRecordDataset)
export("compat.v1.data.TextLineDataset")(classes.TextLineDatasetV1)
export("compat.v1.data.TFRecordDataset")(classes.TFRecordDatasetV1)
export("compat.v1.data.FixedLengthRecordDataset")(classes.FixedLengthRecordDatasetV1)


@export("io.TFRecordOptions", "compat.v1.io.TFRecordOptions", "compat.v1.python_io.TFRecordOptions")
class TFRecordOptions:
    """Describes the compression of a file of records ("", "GZIP", "ZLIB") and its level."""

    compression_type_map = {1: "ZLIB", 2: "GZIP", 0: ""}

    def __init__(
        self,
        compression_type: object = None,
        flush_mode: Any = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: Any = None,
        mem_level: int | None = None,
        compression_strategy: Any = None,
    ):
        self.compression_type = self.get_compression_type_string(compression_type)
        self.compression_level = -1 if compression_level is None else compression_level

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Convert a name, a number (0, 1 = ZLIB, 2 = GZIP) or options to '', 'GZIP' or 'ZLIB'."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        names = {1: "ZLIB", 2: "GZIP", 0: ""}
        return names[options] if options in names else str(options)


@export("io.TFRecordWriter", "compat.v1.io.TFRecordWriter", "compat.v1.python_io.TFRecordWriter")
class TFRecordWriter:
    """Writes bytes as records of a TFRecord file, which is made anew.

    options: TFRecordOptions, or the kind of compression.  NotFoundError if the folder is not there.

    >>> import pathlib, tempfile
    >>> import talweg as tf
    >>> path = str(pathlib.Path(tempfile.mkdtemp(), "two.tfrecord"))
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"a")
    ...     writer.write(b"b")
    >>> list(tf.data.TFRecordDataset(path).as_numpy_iterator())
    [b'a', b'b']
    """

    def __init__(self, path: Any, options: Any = None):
        kind = TFRecordOptions.get_compression_type_string(options)
        level = options.compression_level if isinstance(options, TFRecordOptions) else -1
        self._file: RecordFile | None = RecordFile(path_of(path), kind, level)

    def _open(self) -> RecordFile:
        if self._file is None:
            raise FailedPreconditionError(
                None, None, compose("TW209", "Writer not initialized or previously closed")
            )
        return self._file

    def write(self, record: str | bytes) -> None:
        """Write one more record; TypeError for anything but bytes."""
        if isinstance(record, str):
            record = record.encode()
        if hasattr(record, "numpy"):
            record = record.numpy()
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise type_error("TW104", f"write: a record is bytes, got {type(record)}")
        self._open().write(bytes(record))

    def flush(self) -> None:
        """Let everything be in the file."""
        self._open().flush()

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


@export("data.experimental.TFRecordWriter")
class DatasetWriter:
    """Writes the elements of a dataset of string scalars to a TFRecord file."""

    def __init__(self, filename: PathLike, compression_type: object = None):
        self._path = path_of(filename)
        self._kind = TFRecordOptions.get_compression_type_string(compression_type)

    def write(self, dataset: Any) -> None:
        """Write all elements; TypeError for elements of another kind."""
        spec = dataset.element_spec
        if getattr(getattr(spec, "dtype", None), "name", "") != "string" or spec.shape.rank:
            raise type_error("TW102", f"`dataset` must produce scalar `DT_STRING`, not {spec!r}")
        step = dataset.bind().start()
        with TFRecordWriter(self._path, self._kind) as writer:
            while True:
                try:
                    (record,) = step()
                except End:
                    return
                writer.write(record[()])


@export("compat.v1.io.tf_record_iterator", "compat.v1.python_io.tf_record_iterator")
def tf_record_iterator(path: PathLike, options: object = None) -> Iterator[bytes]:
    """Return the records of a TFRecord file.

    >>> import pathlib, tempfile
    >>> import talweg.compat.v1 as tf
    >>> path = str(pathlib.Path(tempfile.mkdtemp(), "one.tfrecord"))
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"a")
    >>> list(tf.python_io.tf_record_iterator(path))
    [b'a']
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    return records_in(os.fsdecode(path), kind)
