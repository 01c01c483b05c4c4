"""tf.compat.v1: readers of files, accumulators of gradients, over the operations of tf.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.core.dtypes import as_dtype, int64
from talweg.core.shapes import TensorShape
from talweg.core.value import IndexedSlices
from talweg.eager.convert import convert_to_tensor

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.value import Tensor


def _operation(op: str, /, **arguments: object) -> Any:
    return look_up(f"raw_ops.{op}")(**arguments)


@export("compat.v1.ReaderBase")
class ReaderBase:
    """Gives the records of files whose names it takes from a queue.

    >>> import tempfile, pathlib
    >>> import talweg.compat.v1 as tf
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
    >>> _ = path.write_text("a\\nb\\n")
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     names = tf.queue.FIFOQueue(2, tf.string)
    ...     session.run([names.enqueue(str(path))])
    ...     key, value = tf.TextLineReader().read(names)
    ...     session.run(value), session.run(value)
    [None]
    (b'a', b'b')
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False):
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    @property
    def reader_ref(self) -> Any:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether its state can be saved."""
        return self._supports_serialize

    def _queue(self, queue: object) -> Any:
        return getattr(queue, "queue_ref", queue)

    def read(self, queue: object, name: str | None = None) -> tuple:
        """Return (key, record) that come next; OutOfRangeError where the queue is closed and
        empty.
        """
        found = _operation(
            "ReaderReadV2",
            reader_handle=self._reader_ref,
            queue_handle=self._queue(queue),
            name=name,
        )
        for x in found:
            if hasattr(x, "set_shape"):
                x.set_shape([])
        return tuple(found)

    def read_up_to(self, queue: Any, num_records: TensorLike, name: str | None = None) -> tuple:
        """Return (keys, records), at most so many."""
        found = _operation(
            "ReaderReadUpToV2",
            reader_handle=self._reader_ref,
            queue_handle=self._queue(queue),
            num_records=convert_to_tensor(num_records, int64),
            name=name,
        )
        for x in found:
            if hasattr(x, "set_shape"):
                x.set_shape([None])
        return tuple(found)

    def num_records_produced(self, name: str | None = None) -> Any:
        """Return the number of records read, int64."""
        return _operation("ReaderNumRecordsProducedV2", reader_handle=self._reader_ref)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Return the number of files read, int64."""
        return _operation("ReaderNumWorkUnitsCompletedV2", reader_handle=self._reader_ref)

    def serialize_state(self, name: str | None = None) -> Any:
        """Return the state of the reader as a string."""
        return _operation("ReaderSerializeStateV2", reader_handle=self._reader_ref)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Any:
        """Go to where it was."""
        return _operation("ReaderRestoreStateV2", reader_handle=self._reader_ref, state=state)

    def reset(self, name: str | None = None) -> Any:
        """Begin anew."""
        return _operation("ReaderResetV2", reader_handle=self._reader_ref)


@export("compat.v1.WholeFileReader")
class WholeFileReader(ReaderBase):
    """Gives (name, contents) of each file."""

    def __init__(self, name: str | None = None):
        super().__init__(_operation("WholeFileReaderV2"), supports_serialize=True)


@export("compat.v1.TextLineReader")
class TextLineReader(ReaderBase):
    """Gives (name and number, line) of each line; the first lines of each file may be skipped."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None):
        super().__init__(_operation("TextLineReaderV2", skip_header_lines=skip_header_lines or 0))


@export("compat.v1.FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Gives the records of files whose records have one length, in bytes."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ):
        handle = _operation(
            "FixedLengthRecordReaderV2",
            record_bytes=record_bytes,
            header_bytes=header_bytes or 0,
            footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0,
            encoding=encoding or "",
        )
        super().__init__(handle)


@export("compat.v1.TFRecordReader")
class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files."""

    def __init__(self, name: str | None = None, options: Any = None):
        kind = look_up("io.TFRecordOptions").get_compression_type_string(options) if options else ""
        super().__init__(_operation("TFRecordReaderV2", compression_type=kind))


@export("compat.v1.LMDBReader")
class LMDBReader(ReaderBase):
    """Raises NotImplementedError: there is no LMDB here."""

    def __init__(self, name: str | None = None, options: Any = None):
        super().__init__(_operation("LMDBReader"))


@export("compat.v1.IdentityReader")
class IdentityReader(ReaderBase):
    """Gives the names themselves, as keys and as records."""

    def __init__(self, name: str | None = None):
        super().__init__(_operation("IdentityReaderV2"), supports_serialize=True)


# -- accumulators


@export("compat.v1.ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """Gradients, summed until they are taken; those of older steps are left out."""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor):
        self._dtype, self._shape = as_dtype(dtype), TensorShape(shape)
        self._accumulator_ref = accumulator_ref

    @property
    def accumulator_ref(self) -> Any:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name."""
        return "conditional_accumulator"

    @property
    def dtype(self) -> Any:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Any:
        """Return the number of gradients added, int32."""
        return _operation("AccumulatorNumAccumulated", handle=self._accumulator_ref)

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Any:
        """Say which step it is."""
        return _operation(
            "AccumulatorSetGlobalStep",
            handle=self._accumulator_ref,
            new_global_step=convert_to_tensor(new_global_step, int64),
        )


@export("compat.v1.ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Dense gradients, whose mean (or sum) is taken when there are enough.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     gradients = tf.ConditionalAccumulator(tf.float32, shape=[2])
    ...     for row in ([1.0, 2.0], [3.0, 6.0]):
    ...         session.run(gradients.apply_grad(row))
    ...     session.run(gradients.take_grad(2)).tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ):
        handle = _operation(
            "ResourceConditionalAccumulator",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(
        self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None
    ) -> Any:
        """Add a gradient, unless it is of an older step."""
        return _operation(
            "ResourceAccumulatorApplyGradient",
            handle=self._accumulator_ref,
            local_step=convert_to_tensor(local_step, int64),
            gradient=convert_to_tensor(grad, self._dtype),
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """Return the mean (or sum) of the gradients, once there are enough."""
        found = _operation(
            "ResourceAccumulatorTakeGradient",
            handle=self._accumulator_ref,
            num_required=num_required,
            dtype=self._dtype,
        )
        if hasattr(found, "set_shape"):
            found.set_shape(self._shape)
        return found


@export("compat.v1.SparseConditionalAccumulator", "compat.v1.sparse.SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Gradients of some rows, whose means (or sums) are taken when there are enough."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ):
        handle = _operation(
            "SparseConditionalAccumulator",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: Any, local_step: TensorLike = 0, name: str | None = None
    ) -> Any:
        """Add `tf.IndexedSlices`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: ShapeLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Any:
        """Add rows of a gradient, unless they are of an older step."""
        return _operation(
            "SparseAccumulatorApplyGradient",
            handle=self._accumulator_ref,
            local_step=convert_to_tensor(local_step, int64),
            gradient_indices=look_up("cast")(grad_indices, int64),
            gradient_values=convert_to_tensor(grad_values, self._dtype),
            gradient_shape=convert_to_tensor([] if grad_shape is None else grad_shape, int64),
            has_known_shape=grad_shape is not None,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> tuple:
        """Return (indices, values, shape) once there are enough."""
        found = _operation(
            "SparseAccumulatorTakeGradient",
            handle=self._accumulator_ref,
            num_required=num_required,
            dtype=self._dtype,
        )
        return tuple(found)

    def take_indexed_slices_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """Return the same as `tf.IndexedSlices`."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
