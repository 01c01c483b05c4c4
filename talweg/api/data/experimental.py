"""tf.data.experimental: functions for `dataset.apply`, and names that moved into Dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, export_value
from talweg.core.dtypes import int64
from talweg.core.errors import OutOfRangeError, compose, invalid, type_error
from talweg.core.value import Tensor
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.keeping import path_of
from talweg.pipeline.mapping import AssertCardinality
from talweg.pipeline.reducing import GroupByReducer, PadTo, Reducer, list_stage
from talweg.pipeline.sql import SqlRows

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, PathLike, ShapeLike, TensorLike

Applied = Callable[[Any], Any]
export("data.experimental.Reducer")(Reducer)
export_value(-1, "data.experimental.SHARD_HINT")


@export("data.experimental.Counter")
def counter(start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = int64) -> Any:
    """Call `tf.data.Dataset.counter`."""
    return Dataset.counter(start, step, dtype)


@export("data.experimental.RandomDataset")
def random_dataset(
    seed: TensorLike | None = None,
    rerandomize_each_iteration: bool | None = None,
    name: str | None = None,
) -> Any:
    """Call `tf.data.Dataset.random`."""
    return Dataset.random(seed, rerandomize_each_iteration)


@export("data.experimental.cardinality")
def cardinality(dataset: Any) -> Any:
    """Call `dataset.cardinality()`."""
    return dataset.cardinality()


@export("data.experimental.get_single_element")
def get_single_element(dataset: Any) -> Any:
    """Call `dataset.get_single_element()`."""
    return dataset.get_single_element()


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the element spec of a dataset or iterator; TypeError for other things."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise type_error(
            "TW104",
            "Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a "
            f"`tf.data.Dataset` or tf.data.Iterator object, but got {type(dataset_or_iterator)}.",
        ) from None


@export("data.experimental.get_next_as_optional")
def get_next_as_optional(iterator: Any) -> Any:
    """Return the next element as an Optional, which is empty at the end."""
    return iterator.get_next_as_optional()


@export("data.experimental.at")
def at(dataset: Any, index: Any) -> Tensor:
    """Return element number `index`; OutOfRangeError if there are not as many.

    >>> import talweg as tf
    >>> int(tf.data.experimental.at(tf.data.Dataset.range(5), 2))
    2
    """
    place = int(index)
    for found in dataset.skip(place).take(1) if place >= 0 else ():
        return found
    text = compose("TW206", f"Index out of range [0, {int(dataset.cardinality())}):{place}")
    raise OutOfRangeError(None, None, text)


@export("data.experimental.from_list")
def from_list(elements: TensorLike, name: str | None = None) -> Any:
    """Return a dataset of the elements of a Python list.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.data.experimental.from_list([[1], [2, 3]])]
    [[1], [2, 3]]
    """
    return Dataset.of(list_stage(elements))


@export("data.experimental.to_variant")
def to_variant(dataset: Any) -> Any:
    """Return the tensor that stands for a dataset."""
    return dataset._variant_tensor


@export("data.experimental.from_variant")
def from_variant(variant: TensorLike, structure: object) -> Any:
    """Return the dataset that a tensor stands for, with elements of this spec."""
    return Dataset(variant, structure)


@export("data.experimental.save")
def save(
    dataset: Any,
    path: PathLike,
    compression: Any = None,
    shard_func: Any = None,
    checkpoint_args: Any = None,
) -> None:
    """Call `dataset.save`."""
    dataset.save(path, compression, shard_func)


@export("data.experimental.load")
def load(
    path: PathLike,
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[..., Any] | None = None,
) -> Any:
    """Call `tf.data.Dataset.load`."""
    return Dataset.load(path, element_spec, compression, reader_func)


@export("data.experimental.sample_from_datasets")
def sample_from_datasets(
    datasets: Any,
    weights: TensorLike | None = None,
    seed: TensorLike | None = None,
    stop_on_empty_dataset: bool = False,
) -> Any:
    """Call `tf.data.Dataset.sample_from_datasets`."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@export("data.experimental.choose_from_datasets")
def choose_from_datasets(
    datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False
) -> Any:
    """Call `tf.data.Dataset.choose_from_datasets`, and go on when a dataset has ended."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@export("data.experimental.enable_debug_mode")
def enable_debug_mode() -> None:
    """Do nothing: functions of datasets stay traced, and errors say where they come from."""


# -- for `dataset.apply`


@export("data.experimental.assert_cardinality")
def assert_cardinality(expected_cardinality: Any) -> Applied:
    """Say how many elements there are; FailedPreconditionError while iterating if it is wrong.

    >>> import talweg as tf
    >>> odd = tf.data.Dataset.range(5).filter(lambda x: x % 2 == 1)
    >>> int(odd.apply(tf.data.experimental.assert_cardinality(2)).cardinality())
    2
    """
    count = int(expected_cardinality)
    return lambda dataset: dataset.of(AssertCardinality(dataset.stage, count), dataset)


@export("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Sequence[Any] | Mapping[str, Any] | ShapeLike | None = None,
    padding_values: TensorLike | None = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Applied:
    """Call `dataset.bucket_by_sequence_length` with these arguments."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


@export("data.experimental.dense_to_ragged_batch")
def dense_to_ragged_batch(
    batch_size: TensorLike, drop_remainder: bool = False, row_splits_dtype: DTypeLike = int64
) -> Applied:
    """Make a transformation that calls `dataset.ragged_batch`."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


@export("data.experimental.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: TensorLike, row_shape: ShapeLike) -> Applied:
    """Make a transformation that calls `dataset.sparse_batch`."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


@export("data.experimental.enumerate_dataset")
def enumerate_dataset(start: TensorLike = 0) -> Applied:
    """Make a transformation that calls `dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


@export("data.experimental.group_by_reducer")
def group_by_reducer(key_func: Callable[..., Any], reducer: Any) -> Applied:
    """Return one element for each key: the reduction of the elements with this key, keys in order.

    >>> import talweg as tf
    >>> count = tf.data.experimental.Reducer(
    ...     lambda key: tf.constant(0), lambda state, x: state + 1, lambda state: state)
    >>> parity = tf.data.experimental.group_by_reducer(lambda x: x % 2, count)
    >>> [int(x) for x in tf.data.Dataset.range(5).apply(parity)]
    [3, 2]
    """
    return lambda dataset: dataset.of(GroupByReducer(dataset.stage, key_func, reducer), dataset)


@export("data.experimental.group_by_window")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: TensorLike | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Applied:
    """Make a transformation that calls `dataset.group_by_window`."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


@export("data.experimental.ignore_errors")
def ignore_errors(log_warning: bool = False) -> Applied:
    """Make a transformation that calls `dataset.ignore_errors`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


@export(
    "data.experimental.map_and_batch",
    "compat.v1.data.experimental.map_and_batch",
    "compat.v1.data.experimental.map_and_batch_with_legacy_function",
)
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: TensorLike | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: TensorLike | None = None,
) -> Applied:
    """Make a transformation that calls `dataset.map(map_func).batch(batch_size)`."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


@export("data.experimental.pad_to_cardinality")
def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> Applied:
    """Return dictionaries with one more key, true; then zeros with false, up to a number of
    elements."""
    return lambda dataset: dataset.of(PadTo(dataset.stage, int(cardinality), mask_key), dataset)


@export("data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> Applied:
    """Make a transformation that calls `dataset.interleave`."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


@export("data.experimental.prefetch_to_device")
def prefetch_to_device(device: object, buffer_size: TensorLike | None = None) -> Applied:
    """Make a transformation that calls `dataset.prefetch`; there is one device."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


@export("data.experimental.copy_to_device")
def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Applied:
    """Return the dataset itself; there is one device."""
    return lambda dataset: dataset


@export("data.experimental.rejection_resample")
def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: TensorLike | None = None,
) -> Applied:
    """Make a transformation that calls `dataset.rejection_resample`."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


@export("data.experimental.SqlDataset")
class SqlDataset(Dataset):
    """The rows of a query to an SQLite database, a tuple of scalars each.

    driver_name: "sqlite".  data_source_name: the path of the database.

    >>> import pathlib, sqlite3, tempfile
    >>> import talweg as tf
    >>> path = str(pathlib.Path(tempfile.mkdtemp(), "data.db"))
    >>> with sqlite3.connect(path) as connection:
    ...     _ = connection.execute("create table t (n integer, s text)")
    ...     _ = connection.execute("insert into t values (1, 'a'), (2, 'b')")
    >>> rows = tf.data.experimental.SqlDataset(
    ...     "sqlite", path, "select n, s from t order by n", (tf.int64, tf.string))
    >>> list(rows.as_numpy_iterator())
    [(np.int64(1), b'a'), (np.int64(2), b'b')]
    """

    def __init__(
        self,
        driver_name: Any,
        data_source_name: Any,
        query: Any,
        output_types: Any,
    ):
        if driver_name != "sqlite":
            raise invalid("TW207", f"The database type {driver_name!r} is not supported", "sqlite")
        super().__init__(SqlRows(path_of(data_source_name), query, output_types))


@export("data.experimental.scan")
def scan(initial_state: TensorLike, scan_func: Callable[..., Any]) -> Applied:
    """Make a transformation that calls `dataset.scan`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


@export("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: TensorLike | None = None
) -> Applied:
    """Call `dataset.shuffle(buffer_size, seed).repeat(count)`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@export("data.experimental.snapshot")
def snapshot(
    path: PathLike,
    compression: str = "AUTO",
    reader_func: Callable[..., Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
) -> Applied:
    """Make a transformation that calls `dataset.snapshot`."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


@export("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Applied:
    """Make a transformation that calls `dataset.take_while`."""
    return lambda dataset: dataset.take_while(predicate)


@export("data.experimental.unbatch")
def unbatch() -> Applied:
    """Make a transformation that calls `dataset.unbatch`."""
    return lambda dataset: dataset.unbatch()


@export("data.experimental.unique")
def unique() -> Applied:
    """Make a transformation that calls `dataset.unique`."""
    return lambda dataset: dataset.unique()
