"""Writing checkpoints: each file appears whole, under a name of its own, or not at all.

The data go first and the table last, and a table tells the checksum of every tensor: a reader finds
the old checkpoint, the new one, or, where power failed between the two names, an error.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from talweg.core.dtypes import of_numpy
from talweg.formats.bundle.entries import HEADER, BundleEntry, numpy_type, write_entry, write_header
from talweg.formats.bundle.reader import data_file, index_file, packed_sizes
from talweg.formats.bundle.table import write_table
from talweg.formats.bundle.wire import write_varint
from talweg.formats.checksum import crc32c, masked


def write_file(path: str, parts: Iterable[Any]) -> None:
    """Write a file as a whole: to another name beside it, then renamed once it is on the disk."""
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _umask() -> int:
    """The permissions that new files of this process go without."""
    present = os.umask(0o022)
    os.umask(present)
    return present


def _sync_folder(folder: str) -> None:
    """Have the folder's new entry on the disk, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def write_bundle(prefix: str, tensors: Mapping[str, Any]) -> None:
    """Write named arrays (strings: arrays of bytes objects) as the checkpoint `prefix`."""
    entries: dict[bytes, BundleEntry] = {}

    def parts() -> Iterator[Any]:
        offset = 0
        for name in sorted(tensors):
            array: Any = np.asarray(tensors[name])
            dtype = of_numpy(array.dtype)
            if dtype.name == "string":
                data, checksum = _string_bytes(array)
            else:
                numpy_type(dtype)
                order = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else None
                array = np.ascontiguousarray(array, order).reshape(array.shape)
                data = memoryview(array.reshape(-1).view(np.uint8))
                checksum = crc32c(data)
            size = len(data)
            entries[name.encode("utf-8")] = BundleEntry(
                dtype, array.shape, 0, offset, size, masked(checksum)
            )
            offset += size
            yield data

    write_file(data_file(prefix, 0, 1), parts())
    rows = [(HEADER, write_header())]
    rows += [(key, write_entry(entries[key])) for key in sorted(entries)]
    write_file(index_file(prefix), [write_table(rows)])


def _string_bytes(array: np.ndarray) -> tuple[bytes, int]:
    items = [item.encode() if isinstance(item, str) else bytes(item) for item in array.flat]
    sizes = [len(item) for item in items]
    checksum = crc32c(packed_sizes(sizes))
    rest = masked(checksum).to_bytes(4, "little") + b"".join(items)
    return b"".join(map(write_varint, sizes)) + rest, crc32c(rest, checksum)
