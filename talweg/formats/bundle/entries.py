"""The messages of a checkpoint's index: the header, and an entry for each tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import OpError, UnimplementedError, compose
from talweg.formats.bundle.slices import Extents, read_extents, write_extents
from talweg.formats.wire import data_loss_error, field, four_bytes, read_fields, to_signed

HEADER = b""  # the key of the header
MOST_AXES = 64  # what NumPy allows
MOST_ELEMENTS = 1 << 58


@dataclass(frozen=True)
class BundleEntry:
    """Describes a stored tensor: its dtype, shape, and the place of its bytes."""

    dtype: DType
    dims: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    slices: tuple[Extents, ...] = ()


def unimplemented_error(text: str, expected: str = "") -> OpError:
    """Return the error of a kind of checkpoint that is not supported; the caller raises it."""
    return UnimplementedError(None, None, compose("TW507", text, expected))


def read_header(message: bytes) -> int:
    """Read the number of data files."""
    shards, order, oldest = 0, 0, 0
    for number, value in read_fields(message):
        if number == 1:
            shards = to_signed(_integer(value))
        elif number == 2:
            order = value
        elif number == 3 and isinstance(value, bytes):
            oldest = max([v for n, v in read_fields(value) if n == 2] or [0])
    if not 0 <= shards <= 99999:
        raise data_loss_error(f"the checkpoint has {shards} data files")
    if order != 0:
        raise unimplemented_error("the checkpoint's bytes are in big-endian order", "little-endian")
    if oldest > 1:
        raise unimplemented_error(f"the checkpoint needs a reader of version {oldest}", "version 1")
    return shards


def write_header(shards: int) -> bytes:
    """Return the header of a checkpoint with so many data files."""
    return field(1, shards) + field(3, field(1, 1))


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise data_loss_error("a field of the checkpoint has the wrong type")
    return value


def read_entry(message: bytes) -> BundleEntry:
    """Read an entry; DataLossError if it contradicts itself."""
    kind = shard = offset = size = checksum = 0
    dims: tuple[int, ...] = ()
    slices: list[Extents] = []
    for number, value in read_fields(message):
        if number == 1:
            kind = _integer(value)
        elif number == 2:
            dims = _read_shape(value)
        elif number == 3:
            shard = to_signed(_integer(value))
        elif number == 4:
            offset = to_signed(_integer(value))
        elif number == 5:
            size = to_signed(_integer(value))
        elif number == 6:
            checksum = _integer(value)
        elif number == 7:
            slices.append(read_extents(value))
    if offset < 0 or size < 0 or shard < 0:
        raise data_loss_error("a tensor of the checkpoint has a negative place or size")
    try:
        dtype = as_dtype(kind)
    except TypeError:
        raise data_loss_error(f"a tensor of the checkpoint has the dtype number {kind}") from None
    entry = BundleEntry(dtype, dims, shard, offset, size, checksum, tuple(slices))
    if not slices:
        _check_size(entry)
    return entry


def _check_size(entry: BundleEntry) -> None:
    """Check that a tensor has as many bytes as its shape says,
    a string at least the byte of its length.
    """
    dtype, count = entry.dtype, math.prod(entry.dims)
    if dtype.name == "string":
        fits = count <= entry.size
    elif not dtype.is_numpy_compatible or dtype.is_quantized:
        return  # refused when it is read
    else:
        fits = count * dtype.numpy_dtype.itemsize == entry.size
    if not fits:
        raise data_loss_error(
            f"a tensor of shape {entry.dims} and dtype {dtype.name} has {entry.size} bytes"
        )


def _read_shape(message: object) -> tuple[int, ...]:
    if not isinstance(message, bytes):
        raise data_loss_error("a shape of the checkpoint is no message")
    dims = []
    for number, value in read_fields(message):
        if number == 2:
            if not isinstance(value, bytes):
                raise data_loss_error("a size of the checkpoint is no message")
            sizes = [to_signed(_integer(v)) for n, v in read_fields(value) if n == 1]
            dims.append(sizes[-1] if sizes else 0)
        elif number == 3 and value:
            raise data_loss_error("a tensor of the checkpoint has an unknown rank")
    if len(dims) > MOST_AXES or min(dims, default=0) < 0 or _too_many(dims):
        raise data_loss_error(f"a tensor of the checkpoint has the shape {dims[:MOST_AXES]}")
    return tuple(dims)


def _too_many(dims: list[int]) -> bool:
    return math.prod([size for size in dims if size]) > MOST_ELEMENTS


def write_entry(entry: BundleEntry) -> bytes:
    """Return the message of an entry; what is zero is left out, as in TensorFlow."""
    shape = b"".join([field(2, field(1, size) if size else b"") for size in entry.dims])
    parts = [field(1, entry.dtype.as_datatype_enum), field(2, shape)]
    parts += [field(3, entry.shard)] if entry.shard else []
    parts += [field(4, entry.offset)] if entry.offset else []
    parts += [field(5, entry.size)] if entry.size else []
    parts += [four_bytes(6, entry.checksum)] if entry.checksum else []
    parts += [field(7, write_extents(extents)) for extents in entry.slices]
    return b"".join(parts)


def numpy_type(dtype: DType) -> np.dtype:
    """Return the NumPy dtype of numbers in a data file."""
    if not dtype.is_numpy_compatible or dtype.is_quantized or dtype.name == "string":
        raise unimplemented_error(f"tensors of dtype {dtype.name} cannot be read from a checkpoint")
    return dtype.numpy_dtype
