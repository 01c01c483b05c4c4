"""The datasets of numbers, tensors and files among tf.raw_ops: `sources.*` in `table.txt`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import look_up
from talweg.core.errors import (
    OutOfRangeError,
)
from talweg.core.spec import TensorSpec
from talweg.raw.datasets import python_of, seed_of, variant_of
from talweg.raw.operands import (
    integers_of,
    numbers_of,
    of_array,
    scalar_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import ShapeLike, TensorLike


def numbers(start: int, stop: int, step: object, output_types: list) -> Any:
    """Return numbers of a range."""
    bounds = [int(python_of(x)) for x in (start, stop, step)]
    source = look_up("data.Dataset").range(*bounds, output_type=output_types[0])
    return variant_of(source.map(lambda x: (x,)))


def whole(components: list) -> Any:
    """Return one element."""
    return variant_of(look_up("data.Dataset").from_tensors(tuple(components)))


def slices(components: list) -> Any:
    """Return the slices of tensors."""
    return variant_of(look_up("data.Dataset").from_tensor_slices(tuple(components)))


def list_elements(tensors: list, output_types: list) -> Any:
    """Make a dataset of elements one after the other."""
    count = len(output_types)
    rows = [tuple(tensors[i : i + count]) for i in range(0, len(tensors), count)]
    found = look_up("data.Dataset").from_tensors(rows[0])
    for row in rows[1:]:
        found = found.concatenate(look_up("data.Dataset").from_tensors(row))
    return variant_of(found)


def random_numbers(seed: TensorLike, seed2: int) -> Any:
    """Make a dataset of random numbers without end."""
    source = look_up("data.Dataset").random(seed_of(seed, seed2))
    return variant_of(source.map(lambda x: (x,)))


def sparse_slices(indices: np.ndarray, values: object, dense_shape: ShapeLike) -> Any:
    """Return the rows of a sparse tensor, each as its parts."""
    sparse = look_up("SparseTensor")(indices, values, dense_shape)
    source = look_up("data.Dataset").from_tensor_slices(sparse)
    return variant_of(source.map(lambda x: (x.indices, x.values, x.dense_shape)))


def generate(
    init_func_other_args: list,
    next_func_other_args: list,
    finalize_func_other_args: list,
    init_func: Callable[..., Any],
    next_func: Callable[..., Any],
    finalize_func: Callable[..., Any],
    output_types: list,
    output_shapes: list,
) -> Any:
    """Make a dataset of a function of a state, called until it raises OutOfRangeError."""

    def generator() -> Any:
        state = list(look_up("nest.flatten")(init_func(*init_func_other_args)))
        try:
            while True:
                results = next_func(*state, *next_func_other_args)
                yield tuple(look_up("nest.flatten")(results))
        except OutOfRangeError:
            finalize_func(*state, *finalize_func_other_args)

    signature = tuple([TensorSpec(s, t) for s, t in zip(output_shapes, output_types)])
    make = look_up("data.Dataset").from_generator
    return variant_of(make(generator, output_signature=signature))


def _names(x: object) -> list[str]:
    return [name.decode() for name in numbers_of(x).reshape(-1)]


def text_lines(filenames: object, compression_type: str, buffer_size: object) -> Any:
    """Return the lines of files."""
    kind = python_of(compression_type)
    source = look_up("data.TextLineDataset")(_names(filenames), kind or None)
    return variant_of(source.map(lambda x: (x,)))


def tfrecords(
    filenames: object, compression_type: str, buffer_size: object, byte_offsets: object = None
) -> Any:
    """Return the records of TFRecord files."""
    kind = python_of(compression_type)
    source = look_up("data.TFRecordDataset")(_names(filenames), kind or None)
    return variant_of(source.map(lambda x: (x,)))


def read_fixed_length_records(
    filenames: object,
    header_bytes: int,
    record_bytes: int,
    footer_bytes: int,
    buffer_size: object,
    compression_type: str | None = None,
) -> Any:
    """Return the records of files whose records have one length."""
    kind = None if compression_type is None else python_of(compression_type) or None
    sizes = [int(python_of(x)) for x in (record_bytes, header_bytes, footer_bytes)]
    make = look_up("data.FixedLengthRecordDataset")
    source = make(_names(filenames), *sizes, compression_type=kind)
    return variant_of(source.map(lambda x: (x,)))


def matching_files(patterns: object) -> Any:
    """Return the names of files that fit patterns."""
    names = sorted(look_up("io.gfile.glob")(_names(patterns)))
    return slices([of_array(np.array([name.encode() for name in names], object))])


def sql(driver_name: object, data_source_name: object, query: object, output_types: list) -> Any:
    """Return the rows that a query finds in a database."""
    make = look_up("data.experimental.SqlDataset")
    return variant_of(
        make(
            python_of(driver_name),
            python_of(data_source_name),
            python_of(query),
            tuple(output_types),
        )
    )


def csv(
    filenames: object,
    compression_type: str,
    buffer_size: object,
    header: bool,
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: object,
    record_defaults: list,
    exclude_cols: object = None,
) -> Any:
    """Read the rows of CSV files."""
    columns = integers_of(select_cols)
    defaults = [x.dtype if not x.dims or not x.dims[0] else x[0] for x in record_defaults]
    make = look_up("data.experimental.CsvDataset")
    return variant_of(
        make(
            _names(filenames),
            defaults,
            python_of(compression_type) or None,
            None,
            bool(scalar_of(header)),
            python_of(field_delim),
            bool(scalar_of(use_quote_delim)),
            python_of(na_value),
            columns or None,
        )
    )
