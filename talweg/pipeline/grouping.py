"""The methods of `tf.data.Dataset` that put elements together: batches, windows, groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, int64
from talweg.core.errors import invalid, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor
from talweg.graph.symbol import Symbol
from talweg.pipeline import element
from talweg.pipeline.batching import Batch, BatchesInTurn, PaddedBatch, Unbatch
from talweg.pipeline.element import OfElement
from talweg.pipeline.making import integer
from talweg.pipeline.nesting import GroupByWindow, Window
from talweg.pipeline.reducing import SparseBatch, ToRagged
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike, WindowLike
    from talweg.pipeline.dataset import Dataset


def flag(value: bool) -> Any:
    """Return a truth value, or a tensor of a graph."""
    if isinstance(value, Tensor):
        return bool(value) if isinstance(value, EagerTensor) else value
    return bool(value)


class Grouping:
    """Datasets whose elements are several of another one."""

    of: Callable[..., Any]
    stage: Stage

    def batch(
        self,
        batch_size: TensorLike,
        drop_remainder: bool = False,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Put elements together, `batch_size` at a time, along a new first dimension.

        drop_remainder: leave out the last batch if it is smaller; then the size is static.
        InvalidArgumentError where shapes differ, when the batch is asked for.

        >>> import talweg as tf
        >>> [x.tolist() for x in tf.data.Dataset.range(5).batch(2).as_numpy_iterator()]
        [[0, 1], [2, 3], [4]]
        """
        count = integer(batch_size, "batch_size")
        return self.of(Batch(self.stage, count, flag(drop_remainder)), self)

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Sequence[Any] | Mapping[str, Any] | ShapeLike | None = None,
        padding_values: TensorLike | None = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements whose shapes may differ: each is filled up at its ends.

        padded_shapes: for each leaf the shape to fill up to; None or -1 in it, and no shapes at
        all, mean the largest of the batch.  padding_values: what to fill with; zeros and empty
        strings if not given.

        >>> import talweg as tf
        >>> rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
        >>> [x.tolist() for x in rows.padded_batch(3).as_numpy_iterator()]
        [[[1, 0, 0], [2, 2, 0], [3, 3, 3]]]
        """
        stage = PaddedBatch(
            self.stage,
            integer(batch_size, "batch_size"),
            padded_shapes,
            padding_values,
            drop_remainder,
        )
        return self.of(stage, self)

    def ragged_batch(
        self,
        batch_size: TensorLike,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = int64,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements whose shapes may differ: they become ragged tensors."""
        ragged = self.of(ToRagged(self.stage, row_splits_dtype), self)
        return ragged.batch(batch_size, drop_remainder)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return the rows of the elements, one after the other."""
        return self.of(Unbatch(self.stage), self)

    def rebatch(
        self, batch_size: TensorLike, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Return the rows of the elements in batches of another size, or of several sizes in turn.

        >>> import talweg as tf
        >>> batches = tf.data.Dataset.range(6).batch(4).rebatch([1, 2])
        >>> [x.tolist() for x in batches.as_numpy_iterator()]
        [[0], [1, 2], [3], [4, 5]]
        """
        sizes = np.asarray(batch_size) if not isinstance(batch_size, Symbol) else np.zeros(())
        if not sizes.ndim:
            return self.unbatch().batch(batch_size, drop_remainder)
        if sizes.ndim > 1 or not sizes.size:
            raise value_error(
                "TW104",
                f"rebatch: batch_size {batch_size!r} is neither a scalar nor a vector",
                "one size, or a list of sizes",
            )
        stage = BatchesInTurn(
            self.unbatch().stage, [int(size) for size in sizes], bool(drop_remainder)
        )
        return self.of(stage, self)

    def sparse_batch(
        self, batch_size: TensorLike, row_shape: ShapeLike, name: str | None = None
    ) -> Dataset:
        """Put tensors of different shapes together, `batch_size` at a time, as sparse tensors.

        row_shape: the shape of each row; None in it means the largest of the batch.
        """
        count = integer(batch_size, "batch_size")
        return self.of(SparseBatch(self.stage, count, row_shape), self)

    def window(
        self,
        size: TensorLike,
        shift: TensorLike | None = None,
        stride: WindowLike = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Make windows of `size` elements, each a dataset (for each leaf of the elements).

        shift: by how much the next window begins later (its size if not given); stride: take
        every so many-th element.

        >>> import talweg as tf
        >>> windows = tf.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
        >>> [[int(x) for x in window] for window in windows]
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        width = integer(size, "size")
        numbers = (
            width,
            width if shift is None else integer(shift, "shift"),
            integer(stride, "stride"),
        )
        for what, number in zip(("size", "shift", "stride"), numbers):
            if type(number) is int and number <= 0:
                raise invalid("TW207", f"Window {what} must be greater than zero.")
        make = type(self).spec_of_dataset  # type: ignore[attr-defined]
        layout = self.stage.layout
        spec = element.pack(layout.spec, [make(leaf) for leaf in layout.flat])
        return self.of(Window(self.stage, numbers, bool(drop_remainder), spec), self)

    def group_by_window(
        self,
        key_func: OfElement,
        reduce_func: Callable[..., Any],
        window_size: TensorLike | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Put elements into groups of equal key_func(element), an int64 scalar.

        A group of `window_size` (or window_size_func(key)) elements is given to
        reduce_func(key, dataset), whose elements follow.  ValueError unless exactly one of the
        sizes is given.
        """
        if (window_size is None) == (window_size_func is None):
            raise value_error(
                "TW104",
                "Either the `window_size` argument or the `window_size_func` argument "
                "must be specified, but not both."
                if window_size is not None
                else "Either the `window_size` argument or the `window_size_func` argument must be "
                "specified.",
            )
        if window_size is not None:
            fixed = convert_to_tensor(integer(window_size, "window_size"), int64)
            size: Any = lambda key: fixed  # noqa: E731
        else:
            own: Any = window_size_func
            size = lambda key: hooks.cast(convert_to_tensor(own(key)), int64)  # noqa: E731
        spec = type(self).spec_of_dataset(self.element_spec)  # type: ignore[attr-defined]
        return self.of(GroupByWindow(self.stage, key_func, reduce_func, size, spec), self)

    def bucket_by_sequence_length(
        self,
        element_length_func: OfElement,
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: Sequence[Any] | Mapping[str, Any] | ShapeLike | None = None,
        padding_values: TensorLike | None = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Make padded batches of elements of similar length.

        Bucket i holds lengths from bucket_boundaries[i - 1] up to below bucket_boundaries[i], and
        its batches have bucket_batch_sizes[i] elements, one more size than boundaries.
        """
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise value_error(
                "TW207",
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
                f"`len(bucket_boundaries)={len(bucket_boundaries)}`.",
            )
        limits = np.array(bucket_boundaries, np.int32)
        sizes = np.array(bucket_batch_sizes, np.int64)
        lowest = np.concatenate([[np.iinfo(np.int32).min], limits]).astype(np.int32)
        highest = np.concatenate([limits, [np.iinfo(np.int32).max]]).astype(np.int32)
        exported = hooks.look_up_export

        def bucket(*args: object) -> Any:
            length = hooks.cast(convert_to_tensor(element_length_func(*args)), int32)
            inside = exported("logical_and")(
                exported("less_equal")(lowest, length), exported("less")(length, highest)
            )
            return exported("reduce_min")(exported("where")(inside))

        def batch_size(key: object) -> Any:
            return exported("gather")(sizes, key)

        def reduce(key: object, group: Any) -> Any:
            count = batch_size(key)
            if no_padding:
                return group.batch(count, drop_remainder=drop_remainder)
            if not pad_to_bucket_boundary:
                return group.padded_batch(count, padded_shapes, padding_values, drop_remainder)
            ends = np.concatenate([limits.astype(np.int64) - 1, [-1]])  # -1: beyond all boundaries
            stage = PaddedBatch(
                group.stage,
                integer(count, "batch_size"),
                padded_shapes,
                padding_values,
                drop_remainder,
                integer(exported("gather")(ends, key), "boundary"),
            )
            return group.of(stage, group)

        return self.group_by_window(bucket, reduce, window_size_func=batch_size)
