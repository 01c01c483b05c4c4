"""Writing checkpoints: each file appears whole, under a name of its own, or not at all.

The data go first and the table last, and a table tells the checksum of every tensor.  A table also
tells in how many files the data are, and so do their names: where a checkpoint is overwritten, the
new data stand beside the old ones, as the first of two files, until the new table has its name, and
get the usual name after that.  So whoever reads, after whatever end of the writing process, finds
the old checkpoint or the new one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from talweg.core.dtypes import of_numpy
from talweg.core.errors import OpError
from talweg.formats.bundle.entries import HEADER, BundleEntry, numpy_type, write_entry, write_header
from talweg.formats.bundle.reader import Bundle, data_file, index_file, pack_sizes
from talweg.formats.bundle.slices import read_spec, slice_key
from talweg.formats.bundle.table import write_table
from talweg.formats.checksum import crc32c, mask_checksum
from talweg.formats.files import SUFFIX, sync_folder, write_file
from talweg.formats.wire import write_varint


class Piece(NamedTuple):
    """A tensor in a data file, or the slice of one: `spec` says which ("" is all of it)."""

    name: str
    value: Any
    spec: str = ""


def write_bundle(
    prefix: str, tensors: Mapping[str, Any], parts: Sequence[Sequence[Piece]] | None = None
) -> None:
    """Write named arrays (strings: arrays of bytes objects) as the checkpoint `prefix`.

    parts: what goes into each data file, where that is not all into one.
    """
    parts = parts or [[Piece(name, tensors[name]) for name in sorted(tensors)]]
    before, count = _shards(prefix), len(parts)
    shards = count + 1 if before == count else count
    entries: dict[bytes, BundleEntry] = {}
    for shard, pieces in enumerate(parts):
        write_file(data_file(prefix, shard, shards), _content_of(pieces, shard, entries))
    rows = [(key, write_entry(entries[key])) for key in sorted(entries)]
    write_file(index_file(prefix), [write_table([(HEADER, write_header(shards)), *rows])])
    if shards == 2 and count == 1:
        if not _link(data_file(prefix, 0, 2), data_file(prefix, 0, 1)):
            return
        write_file(index_file(prefix), [write_table([(HEADER, write_header(1)), *rows])])
        before = 2
    for shard in range(before if before > 1 or shards != 1 else 0):
        with contextlib.suppress(OSError):
            os.unlink(data_file(prefix, shard, before))


def _content_of(
    pieces: Sequence[Piece], shard: int, entries: dict[bytes, BundleEntry]
) -> Iterator[Any]:
    """Yield the bytes of a data file, one tensor at a time; their entries are noted."""
    offset = 0
    for name, value, spec in pieces:
        array: Any = np.asarray(value)
        dtype = of_numpy(array.dtype)
        if dtype.name == "string":
            data, checksum = string_bytes(array)
        else:
            numpy_type(dtype)
            order = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else None
            array = np.ascontiguousarray(array, order).reshape(array.shape)
            data = memoryview(array.reshape(-1).view(np.uint8))
            checksum = crc32c(data)
        key, size = name.encode("utf-8"), len(data)
        if spec:
            dims, extents = read_spec(spec)
            whole = entries.get(key, BundleEntry(dtype, dims, 0, 0, 0, 0))
            entries[key] = replace(whole, slices=(*whole.slices, extents))
            key = slice_key(name, extents)
        entries[key] = BundleEntry(dtype, array.shape, shard, offset, size, mask_checksum(checksum))
        offset += size
        yield data


def _shards(prefix: str) -> int:
    """Return the number of data files of the checkpoint there is;
    0 if there is none that can be read.
    """
    try:
        return Bundle(prefix).shards
    except OpError:
        return 0


def _link(path: str, name: str) -> bool:
    """Give a file another name, at once, whatever has it now; whether the system can do that."""
    folder, base = os.path.split(name)
    temporary = os.path.join(folder, f".{base}.link{SUFFIX}")
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        os.link(path, temporary)
        os.replace(temporary, name)
    except OSError:
        return False
    sync_folder(folder or ".")
    return True


def string_bytes(array: np.ndarray) -> tuple[bytes, int]:
    """Encode strings as they are stored (lengths, a checksum of these, all bytes), and their
    checksum.
    """
    items = [item.encode() if isinstance(item, str) else bytes(item) for item in array.flat]
    sizes = [len(item) for item in items]
    checksum = crc32c(pack_sizes(sizes))
    rest = mask_checksum(checksum).to_bytes(4, "little") + b"".join(items)
    return b"".join(map(write_varint, sizes)) + rest, crc32c(rest, checksum)
