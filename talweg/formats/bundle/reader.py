"""Reading checkpoints: every size is checked against the files before memory is asked for."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from talweg.core.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    compose,
)
from talweg.formats.bundle.entries import (
    HEADER,
    BundleEntry,
    numpy_type,
    read_entry,
    read_header,
)
from talweg.formats.bundle.slices import places_of, slice_key
from talweg.formats.bundle.table import read_table
from talweg.formats.checksum import crc32c, mask_checksum
from talweg.formats.files import read_file
from talweg.formats.wire import data_loss_error, read_varint


def not_found(text: str, hint: str = "") -> OpError:
    """Return the error of something that is not there; the caller raises it."""
    return NotFoundError(None, None, compose("TW507", text, hint=hint))


def index_file(prefix: str) -> str:
    """Return the file with the entries of a checkpoint."""
    return f"{prefix}.index"


def data_file(prefix: str, shard: int, shards: int) -> str:
    """Name one of the files with the bytes of a checkpoint."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


class Bundle:
    """The tensors of the checkpoint `prefix`; NotFoundError, DataLossError if there is no such.

    Entries are read at once, tensors when they are asked for.
    """

    def __init__(self, prefix: str):
        self.prefix = prefix
        table = read_table(_content(prefix))
        if HEADER not in table:
            raise data_loss_error(f"the checkpoint {prefix} has no header")
        self.shards = read_header(table.pop(HEADER))
        self.entries: dict[str, BundleEntry] = {}
        self._slices: dict[bytes, bytes] = {}
        for key, message in table.items():
            if key[0] == 0:
                self._slices[key] = message
                continue
            try:
                name = key.decode("utf-8")
            except UnicodeDecodeError:
                raise data_loss_error(f"the checkpoint {prefix} has the key {key!r}") from None
            self.entries[name] = read_entry(message)

    def entry(self, name: str) -> BundleEntry:
        """Return the entry of a tensor; NotFoundError if there is none."""
        found = self.entries.get(name)
        if found is None:
            raise not_found(f"Key {name} not found in checkpoint {self.prefix}")
        return found

    def read(self, name: str) -> np.ndarray:
        """Return the value of a tensor."""
        entry = self.entry(name)
        return self._assemble(name, entry) if entry.slices else self._read(name, entry)

    def _assemble(self, name: str, entry: BundleEntry) -> np.ndarray:
        """Assemble a tensor that was stored in slices; DataLossError where one lacks."""
        whole = np.empty(entry.dims, self._kind(name, entry))
        covered = np.zeros(entry.dims, bool)
        for extents, part_slice in zip(entry.slices, places_of(name, entry.dims, entry.slices)):
            part = self._slices.get(slice_key(name, extents))
            if part is None:
                raise data_loss_error(f"the checkpoint lacks a slice of {name}")
            array = self._read(name, read_entry(part))
            if array.dtype != whole.dtype or array.shape != whole[part_slice].shape:
                raise data_loss_error(f"a slice of {name} has the shape {array.shape}")
            whole[part_slice] = array
            covered[part_slice] = True
        if not covered.all():
            raise data_loss_error(f"the slices of {name} do not make up the shape {entry.dims}")
        return whole

    def _kind(self, name: str, entry: BundleEntry) -> Any:
        """Return the dtype of a tensor in slices,
        once it is known that their files can hold so much.
        """
        text = entry.dtype.name == "string"
        kind = np.dtype(object) if text else numpy_type(entry.dtype)
        held = sum(os.path.getsize(path) for path in self._data_files() if os.path.exists(path))
        if math.prod(entry.dims) * (1 if text else kind.itemsize) > held:
            raise data_loss_error(f"{name} is larger than the data files of the checkpoint")
        return kind

    def _data_files(self) -> list[str]:
        return [data_file(self.prefix, shard, self.shards) for shard in range(self.shards)]

    def _read(self, name: str, entry: BundleEntry) -> np.ndarray:
        if entry.shard >= self.shards:
            raise data_loss_error(f"{name} is in data file {entry.shard} of {self.shards}")
        path = data_file(self.prefix, entry.shard, self.shards)
        try:
            with open(path, "rb") as file:
                available = os.fstat(file.fileno()).st_size - entry.offset
                if entry.size > available:
                    raise data_loss_error(f"{name} lies outside {path}: the file is cut off")
                file.seek(entry.offset)
                if entry.dtype.name == "string":
                    return _strings(name, entry, file.read(entry.size))
                return _numbers(name, entry, file)
        except FileNotFoundError:
            raise not_found(f"the data file {path} does not exist") from None
        except PermissionError:
            raise _forbidden(path) from None


def _forbidden(path: str) -> OpError:
    return PermissionDeniedError(None, None, compose("TW507", f"{path} may not be read"))


def _content(prefix: str) -> bytes:
    path = index_file(prefix)
    try:
        return read_file(path)
    except FailedPreconditionError:
        if os.path.exists(path):
            raise data_loss_error(f"{path} is a folder or a device") from None
    except (NotFoundError, InvalidArgumentError):
        pass  # no file has that name
    raise not_found(
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
        f"{prefix}",
        "the path that saver.save returned, or tf.train.latest_checkpoint(folder)",
    )


def _check_sum(name: str, entry: BundleEntry, checksum: int) -> None:
    if mask_checksum(checksum) != entry.checksum:
        raise data_loss_error(
            f"Checksum does not match for {name}: stored {entry.checksum}, of the bytes read "
            f"{mask_checksum(checksum)}"
        )


def _numbers(name: str, entry: BundleEntry, file: Any) -> np.ndarray:
    dtype = numpy_type(entry.dtype)
    buffer: Any = np.empty(entry.size, np.uint8)
    if file.readinto(memoryview(buffer)) != entry.size:
        raise data_loss_error(f"{name} could not be read whole")
    _check_sum(name, entry, crc32c(buffer))
    if dtype == np.bool_ and buffer.size and buffer.max() > 1:
        raise data_loss_error(f"{name} holds bytes that are neither true nor false")
    return buffer.view(dtype).reshape(entry.dims)


def _strings(name: str, entry: BundleEntry, data: bytes) -> np.ndarray:
    """Parse strings: their lengths, a checksum of these, then all bytes."""
    if len(data) != entry.size:
        raise data_loss_error(f"{name} could not be read whole")
    count = math.prod(entry.dims)
    sizes, at = [], 0
    for _ in range(count):
        size, at = read_varint(data, at)
        sizes.append(size)
    checksum = crc32c(pack_sizes(sizes))
    stored = data[at : at + 4]
    if at + 4 + sum(sizes) != len(data) or mask_checksum(checksum) != int.from_bytes(
        stored, "little"
    ):
        raise data_loss_error(f"the lengths of the strings of {name} are damaged")
    _check_sum(name, entry, crc32c(data[at:], checksum))
    at += 4
    result = np.empty(count, object)
    for position, size in enumerate(sizes):
        result[position] = data[at : at + size]
        at += size
    return result.reshape(entry.dims)


def pack_sizes(sizes: list[int]) -> bytes:
    """Return the lengths of strings as they are summed:
    four bytes each, eight where that is too few.
    """
    return b"".join([size.to_bytes(4 if size < 1 << 32 else 8, "little") for size in sizes])
