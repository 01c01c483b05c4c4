"""The operations of tf.data among tf.raw_ops; `table.txt` calls them `datasets.*`.

A dataset is a variant tensor; its elements are tuples of tensors.  Functions among the arguments
are called with the components of an element, then with `other_arguments`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core.dtypes import int64
from talweg.core.errors import (
    invalid,
)
from talweg.raw.operands import (
    handle_content,
    integers_of,
    scalar_of,
)

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.annotations import ShapeLike, TensorLike, WindowLike


def dataset_of(handle: object) -> Any:
    """Return the dataset of a variant tensor, its elements as tuples."""
    bound = handle_content(handle)
    stage = getattr(bound, "stage", None)
    if stage is None:
        raise invalid("TW102", f"{handle!r} is no dataset", "a dataset's variant tensor")
    found = look_up("data.Dataset")(handle, stage.layout.spec)
    return found if type(stage.layout.spec) is tuple else found.map(_tuple)


def _tuple(*element: object) -> tuple:
    return tuple(look_up("nest.flatten")(element))


def variant_of(dataset: Any) -> Any:
    return dataset._variant_tensor


def python_of(x: object) -> Any:
    found = scalar_of(x)
    return found.decode() if isinstance(found, bytes) else found.item()


def tuples_of(function: Callable[..., Any], others: list) -> Callable[..., tuple]:
    """Return a function of an element's components; its results as a tuple."""

    def call(*components: object) -> tuple:
        found = function(*components, *others)
        return tuple(look_up("nest.flatten")(found))

    return call


def first_of_results(function: Callable[..., Any], others: list) -> Callable[..., Any]:
    return lambda *components: look_up("nest.flatten")(function(*components, *others))[0]


def datasets_of(function: Callable[..., Any], others: list) -> Callable[..., Any]:
    return lambda *components: dataset_of(first_of_results(function, others)(*components))


def seed_of(seed: TensorLike, seed2: int | None) -> Any:
    first, second = int(python_of(seed)), int(python_of(seed2))
    return None if first == second == 0 else (first * 31 + second) % (2**31)


def same(input_dataset: object) -> Any:
    """Return the dataset: what the operation says of it means nothing here."""
    return variant_of(dataset_of(input_dataset))


def take_or_repeat(method: str, input_dataset: object, count: int) -> Any:
    """Take some of the elements, or repeat all: `method` is that of `tf.data.Dataset`."""
    return variant_of(getattr(dataset_of(input_dataset), method)(int(python_of(count))))


def concatenate(input_dataset: object, another_dataset: object) -> Any:
    """Return the elements of two datasets, one after the other."""
    return variant_of(dataset_of(input_dataset).concatenate(dataset_of(another_dataset)))


def zip_datasets(input_datasets: list) -> Any:
    """Return the elements of several datasets side by side."""
    found = look_up("data.Dataset").zip(tuple([dataset_of(part) for part in input_datasets]))
    return variant_of(found.map(_tuple))


def shard(input_dataset: object, num_shards: int, index: int) -> Any:
    """Make a dataset of every n-th element."""
    return variant_of(
        dataset_of(input_dataset).shard(int(python_of(num_shards)), int(python_of(index)))
    )


def shuffle(
    input_dataset: object,
    buffer_size: object,
    seed: TensorLike | None = None,
    seed2: int | None = None,
    reshuffle_each_iteration: bool = True,
    count: int | None = None,
) -> Any:
    """Return the elements in random order, perhaps again and again."""
    own = None if seed is None else seed_of(seed, seed2)
    found = dataset_of(input_dataset).shuffle(
        int(python_of(buffer_size)), own, reshuffle_each_iteration=reshuffle_each_iteration
    )
    return variant_of(found if count is None else found.repeat(int(python_of(count))))


def shuffle_all(
    input_dataset: object, seed: TensorLike, seed2: int, reshuffle_each_iteration: bool
) -> Any:
    """Shuffle all elements."""
    dataset = dataset_of(input_dataset)
    size = max(int(dataset.cardinality()), 1)
    return variant_of(
        dataset.shuffle(
            size, seed_of(seed, seed2), reshuffle_each_iteration=reshuffle_each_iteration
        )
    )


def batch(input_dataset: object, batch_size: int, drop_remainder: bool | None = None) -> Any:
    """Stack elements."""
    drop = drop_remainder is not None and bool(scalar_of(drop_remainder))
    return variant_of(dataset_of(input_dataset).batch(int(python_of(batch_size)), drop))


def pad(
    input_dataset: object,
    batch_size: int,
    padded_shapes: list,
    padding_values: list,
    drop_remainder: bool | None = None,
) -> Any:
    """Fill elements up to one shape, and stack them."""
    drop = drop_remainder is not None and bool(scalar_of(drop_remainder))
    shapes = tuple([[None if n < 0 else n for n in integers_of(s)] for s in padded_shapes])
    values = tuple(padding_values)
    dataset = dataset_of(input_dataset)
    return variant_of(dataset.padded_batch(int(python_of(batch_size)), shapes, values, drop))


def map_dataset(input_dataset: Any, other_arguments: list, f: Callable[..., Any]) -> Any:
    """Return a function of each element."""
    return variant_of(dataset_of(input_dataset).map(tuples_of(f, other_arguments)))


def map_and_batch(
    input_dataset: Any,
    other_arguments: list,
    batch_size: int,
    drop_remainder: bool,
    f: Callable[..., Any],
) -> Any:
    """Return a function of each element, stacked."""
    mapped_one = dataset_of(input_dataset).map(tuples_of(f, other_arguments))
    return variant_of(mapped_one.batch(int(python_of(batch_size)), bool(scalar_of(drop_remainder))))


def flat_map(input_dataset: Any, other_arguments: list, f: Callable[..., Any]) -> Any:
    """Return the elements of the datasets that a function gives, one after the other."""
    return variant_of(dataset_of(input_dataset).flat_map(datasets_of(f, other_arguments)))


def interleave(
    input_dataset: object,
    other_arguments: list,
    cycle_length: object,
    block_length: object,
    f: Callable[..., Any],
) -> Any:
    """Return the elements of the datasets that a function gives, in turn."""
    function = datasets_of(f, other_arguments)
    cycle = max(int(python_of(cycle_length)), 1)
    dataset = dataset_of(input_dataset)
    return variant_of(dataset.interleave(function, cycle, int(python_of(block_length))))


def filter_dataset(
    input_dataset: object, other_arguments: list, predicate: Callable[..., Any]
) -> Any:
    """Return the elements for which a function is true."""
    return variant_of(
        dataset_of(input_dataset).filter(first_of_results(predicate, other_arguments))
    )


def filter_by_last(input_dataset: object) -> Any:
    """Return the elements whose last component is true, without it."""
    kept = dataset_of(input_dataset).filter(lambda *parts: parts[-1])
    return variant_of(kept.map(lambda *parts: parts[:-1]))


def take_while(input_dataset: object, other_arguments: list, predicate: Callable[..., Any]) -> Any:
    """Return the elements before the first for which a function is false."""
    return variant_of(
        dataset_of(input_dataset).take_while(first_of_results(predicate, other_arguments))
    )


def scan(
    input_dataset: object, initial_state: list, other_arguments: list, f: Callable[..., Any]
) -> Any:
    """Return a function of a state and each element, which gives the next state and an element."""
    count = len(initial_state)

    def step(state: tuple, *components: object) -> tuple:
        if len(components) == 1 and isinstance(components[0], tuple):
            components = components[0]
        found = look_up("nest.flatten")(f(*state, *components, *other_arguments))
        return tuple(found[:count]), tuple(found[count:])

    return variant_of(dataset_of(input_dataset).scan(tuple(initial_state), step))


def reduce_dataset(
    input_dataset: object, initial_state: list, other_arguments: list, f: Callable[..., Any]
) -> list:
    """Return the last state of a function of a state and each element."""

    def step(state: tuple, *components: object) -> tuple:
        if len(components) == 1 and isinstance(components[0], tuple):
            components = components[0]
        return tuple(look_up("nest.flatten")(f(*state, *components, *other_arguments)))

    return list(dataset_of(input_dataset).reduce(tuple(initial_state), step))


def group_by_window(
    input_dataset: object,
    key_func_other_arguments: list,
    reduce_func_other_arguments: list,
    window_size_func_other_arguments: list,
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size_func: Callable[..., Any],
) -> Any:
    """Group the elements with one key into a dataset each."""

    def reduce(key: object, window: tuple[Any, ...]) -> Any:
        dataset = reduce_func(key, variant_of(window), *reduce_func_other_arguments)
        return dataset_of(look_up("nest.flatten")(dataset)[0])

    return variant_of(
        dataset_of(input_dataset).group_by_window(
            first_of_results(key_func, key_func_other_arguments),
            reduce,
            window_size_func=first_of_results(window_size_func, window_size_func_other_arguments),
        )
    )


def cache(input_dataset: object, filename: str) -> Any:
    """Return the elements, kept."""
    return variant_of(dataset_of(input_dataset).cache(python_of(filename)))


def windows(
    input_dataset: object, size: int, shift: object, stride: WindowLike, drop_remainder: bool
) -> Any:
    """Make a dataset of datasets of some elements each."""
    sizes = [int(python_of(x)) for x in (size, shift, stride)]
    found = dataset_of(input_dataset).window(*sizes, bool(scalar_of(drop_remainder)))
    return variant_of(found.map(lambda *parts: tuple([variant_of(part) for part in parts])))


def sliding(
    input_dataset: object,
    window_size: object,
    window_shift: object,
    window_stride: object,
    drop_remainder: bool = True,
) -> Any:
    """Make a dataset of some elements each, stacked."""
    size, shift, stride = (int(python_of(x)) for x in (window_size, window_shift, window_stride))
    found = dataset_of(input_dataset).window(size, shift, stride, drop_remainder)
    zipped_windows = found.flat_map(
        lambda *parts: look_up("data.Dataset").zip(tuple(parts)).batch(size, drop_remainder)
    )
    return variant_of(zipped_windows)


def unbatch(input_dataset: object) -> Any:
    """Return the rows of elements."""
    return variant_of(dataset_of(input_dataset).unbatch())


def unique(input_dataset: object) -> Any:
    """Return the elements, each once."""
    found = dataset_of(input_dataset).map(lambda x: x).unique()
    return variant_of(found.map(lambda x: (x,)))


def rebatch(input_dataset: object, batch_sizes: object, drop_remainder: bool) -> Any:
    """Return the rows in batches of other sizes."""
    return variant_of(
        dataset_of(input_dataset).rebatch(integers_of(batch_sizes), bool(scalar_of(drop_remainder)))
    )


def rebatch_for(input_dataset: object, num_replicas: object) -> Any:
    """Cut each batch into one for each replica."""
    count = int(python_of(num_replicas))

    def cut(*parts: object) -> Any:
        size = -(-look_up("shape")(parts[0], int64)[0] // count)
        rows = look_up("data.Dataset").from_tensor_slices(parts)
        return rows.batch(size)

    return variant_of(dataset_of(input_dataset).flat_map(cut))


def batch_sparse(input_dataset: object, batch_size: int, row_shape: ShapeLike) -> Any:
    """Stack elements to one sparse tensor, in its parts."""
    sizes = [None if n < 0 else n for n in integers_of(row_shape)]
    dataset = dataset_of(input_dataset).map(lambda x: x)
    found = dataset.sparse_batch(int(python_of(batch_size)), sizes)
    return variant_of(found.map(lambda x: (x.indices, x.values, x.dense_shape)))


def forgiving(input_dataset: object, log_warning: bool) -> Any:
    """Return the elements that can be made."""
    return variant_of(dataset_of(input_dataset).ignore_errors(log_warning))


def choose_from(selector_input_dataset: object, data_input_datasets: list, stop: bool) -> Any:
    """Return an element of the dataset that a dataset of numbers names, again and again."""
    selector = dataset_of(selector_input_dataset).map(lambda x: x)
    datasets = [dataset_of(part) for part in data_input_datasets]
    choose = look_up("data.Dataset").choose_from_datasets
    return variant_of(choose(datasets, selector, stop))


def first_of(input_datasets: list) -> Any:
    """Return one of several datasets that mean the same."""
    return same(input_datasets[0])


def sample_from(input_datasets: list, weights: list) -> Any:
    """Sample elements of several datasets at random."""
    shares = [float(scalar_of(x)) for x in weights]
    datasets = [dataset_of(part) for part in input_datasets]
    return variant_of(look_up("data.Dataset").sample_from_datasets(datasets, shares))


def sample(input_dataset: object, rate: np.ndarray, seed: TensorLike, seed2: int) -> Any:
    """Sample some elements at random."""
    share, own = float(scalar_of(rate)), seed_of(seed, seed2)
    draw = look_up("random.uniform")
    return variant_of(dataset_of(input_dataset).filter(lambda *_: draw([], seed=own) < share))


def with_cardinality(input_dataset: object, cardinality: object) -> Any:
    """Return the elements, whose number is given."""
    check = look_up("data.experimental.assert_cardinality")(int(python_of(cardinality)))
    return variant_of(dataset_of(input_dataset).apply(check))
