"""Iterators and optionals among tf.raw_ops: `iterators.*` in `table.txt`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import look_up
from talweg.core.dtypes import int64, uint64
from talweg.core.errors import (
    FailedPreconditionError,
    OutOfRangeError,
    UnimplementedError,
    compose,
    invalid,
)
from talweg.core.spec import TensorSpec
from talweg.raw.datasets import dataset_of, python_of, variant_of
from talweg.raw.operands import (
    handle_content,
    handle_of,
    of_array,
    scalar_of,
    thing_of,
)

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike
    from talweg.graph.handle import Handle


def cardinality(input_dataset: object) -> Any:
    """Return the number of elements; -1 if there is no end, -2 if nobody knows."""
    return dataset_of(input_dataset).cardinality()


def fingerprint(input_dataset: object) -> Any:
    """Return a number that stands for a dataset."""
    return of_array(np.uint64(hash(handle_content(input_dataset)) & 0xFFFFFFFFFFFFFFFF), uint64)


def single(dataset: object) -> list:
    """Return the only element."""
    return list(dataset_of(dataset).get_single_element())


def at(dataset: object, index: int) -> list:
    """Return the element of a number."""
    return list(look_up("data.experimental.at")(dataset_of(dataset), int(python_of(index))))


def write_records(input_dataset: object, filename: str, compression_type: str) -> None:
    """Write strings to a TFRecord file."""
    make = look_up("io.TFRecordWriter")
    with make(python_of(filename), python_of(compression_type) or None) as writer:
        for record in dataset_of(input_dataset):
            writer.write(record[0].numpy())


def save_dataset(input_dataset: object, path: PathLike) -> None:
    """Write a dataset into a folder."""
    dataset_of(input_dataset).save(python_of(path))


def load_dataset(path: PathLike, output_types: list, output_shapes: list, compression: str) -> Any:
    """Return the dataset of a folder."""
    spec = tuple([TensorSpec(s, t) for s, t in zip(output_shapes, output_types)])
    load = look_up("data.Dataset").load
    return variant_of(load(python_of(path), spec, compression=compression or None))


def map_rows(arguments: list, captured_inputs: list, f: Callable[..., Any]) -> list:
    """Return a function of the rows of tensors, stacked."""
    rows = [f(*[x[i] for x in arguments], *captured_inputs) for i in range(arguments[0].dims[0])]
    flat = [look_up("nest.flatten")(row) for row in rows]
    return [look_up("stack")(list(parts)) for parts in zip(*flat)]


# -- iterators


class IteratorCell:
    """An iterator, once it has a dataset."""

    def __init__(self) -> None:
        self.iterator: Any = None


def iterator() -> Any:
    """Return the handle of an iterator."""
    return handle_of(IteratorCell())


def iterator_and_deleter() -> tuple:
    """Make the handle of an iterator, and that of its deleter."""
    return iterator(), handle_of(None)


def start(dataset: Any, iterator: Any) -> None:
    """Begin with the first element of a dataset."""
    thing_of(iterator, IteratorCell, "MakeIterator").iterator = iter(dataset_of(dataset))


def one_shot(dataset_factory: Any, container: str, shared_name: str) -> Any:
    """Return the handle of an iterator over the dataset that a function gives."""
    found = iterator()
    start(look_up("nest.flatten")(dataset_factory())[0], found)
    return found


def _iterator(handle: object) -> Any:
    found = thing_of(handle, IteratorCell, "IteratorGetNext").iterator
    if found is None:
        text = "the iterator has not been initialized"
        raise FailedPreconditionError(None, None, compose("TW401", text))
    return found


def next_element(iterator: object) -> list:
    """Return the next element; OutOfRangeError at the end."""
    found = next(_iterator(iterator), None)
    if found is None:
        raise OutOfRangeError(None, None, compose("TW206", "End of sequence"))
    return list(found)


def next_optional(iterator: object) -> Any:
    """Return the next element, or nothing at the end."""
    found = next(_iterator(iterator), None)
    return handle_of(OptionalCell(None if found is None else list(found)))


def delete_iterator(handle: Handle, deleter: object) -> None:
    """Forget an iterator."""
    thing_of(handle, IteratorCell, "DeleteIterator").iterator = None


_by_name: dict[bytes, Any] = {}


def iterator_name(resource_handle: object) -> Any:
    """Return a name of an iterator."""
    name = b"iterator_%d" % id(handle_content(resource_handle))
    _by_name[name] = resource_handle
    return of_array(np.array(name, object))


def iterator_of_name(string_handle: object) -> Any:
    """Return the iterator of a name."""
    found = _by_name.get(scalar_of(string_handle))
    if found is None:
        raise invalid("TW104", f"no iterator has the name {scalar_of(string_handle)!r}")
    return found


def iterator_device(resource: object) -> Any:
    """Return the name of the device of an iterator."""
    return look_up("constant")("/job:localhost/replica:0/task:0/device:CPU:0")


# -- optionals


class OptionalCell:
    """Tensors, or nothing."""

    def __init__(self, components: list | None):
        self.components = components


def optional(components: list) -> Any:
    """Make an optional with tensors."""
    return handle_of(OptionalCell(list(components)))


def no_optional() -> Any:
    """Make an optional without a value."""
    return handle_of(OptionalCell(None))


def has_value(optional: object) -> Any:
    """Return whether there is something."""
    return of_array(np.bool_(thing_of(optional, OptionalCell, "Optional").components is not None))


def value(optional: Any) -> list:
    """Return the value of an optional; InvalidArgumentError for none."""
    found = thing_of(optional, OptionalCell, "OptionalGetValue").components
    if found is None:
        raise invalid("TW401", "The given optional does not have a value.")
    return found


# -- handles that mean nothing here


def dummy() -> Any:
    """Return a handle of nothing."""
    return handle_of(None)


def dummy_pair() -> tuple:
    """Make two handles of nothing, the second for a deleter."""
    return handle_of(None), handle_of(None)


def forget(handle: Handle, deleter: object) -> None:
    """Do nothing."""


def no_lmdb(filenames: object) -> Any:
    """Raise UnimplementedError: there is no LMDB here."""
    raise UnimplementedError(None, None, compose("TW402", "LMDBDataset", hint="an LMDB package"))


def compress_element(components: list) -> Any:
    """Pack tensors into one value."""
    return handle_of(OptionalCell(list(components)))


def batch_count(input_dataset: object) -> Any:
    """Return the first size of a dataset's stacked elements; -1 if it varies."""
    spec = handle_content(input_dataset).stage.layout.flat[0]
    size = spec.shape.as_list()[0] if spec.shape.rank else None
    return of_array(-1 if size is None else size, int64)
