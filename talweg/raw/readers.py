"""The readers of files among tf.raw_ops; `table.txt` calls them `readers.*`.

A reader takes names of files from a queue and gives their records, one after the other.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from talweg.api.export import look_up
from talweg.core.dtypes import int64
from talweg.core.errors import OutOfRangeError, compose, invalid
from talweg.pipeline.queues import QueueResource
from talweg.pipeline.records import RecordReader
from talweg.raw.operands import get_shared_handle, handle_of, of_array, scalar_of, thing_of

Record = tuple[bytes, bytes]


class ReaderCell:
    """A reader: what it is reading, and how far it is."""

    def __init__(self, records: Callable[[bytes], Iterator[Record]]):
        self.records = records
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.work: bytes = b""
        self.current: Iterator[Record] | None = None
        self.produced = self.completed = self.within = 0

    def next(self, queue: QueueResource) -> Record:
        """Read the next record, of the next file where one ends."""
        with self.lock:
            while True:
                records = self.current
                if records is None:
                    self.work = bytes(queue.buffer.dequeue(1)[0][0][()])
                    self.current = records = self.records(self.work)
                    self.within = 0
                record = next(records, None)
                if record is not None:
                    self.produced += 1
                    self.within += 1
                    return record
                self.current = None
                self.completed += 1


def _lines(skip: int) -> Any:
    def records(path: bytes) -> Iterator[Record]:
        with RecordReader(os.fsdecode(path), "") as file:
            for number, line in enumerate(file, 1):
                if number > skip:
                    yield b"%s:%d" % (path, number), line.rstrip(b"\n").rstrip(b"\r")

    return records


def _content(path: bytes) -> bytes:
    with RecordReader(os.fsdecode(path), "") as file:
        return file.read()


def _whole(path: bytes) -> Iterator[Record]:
    yield path, _content(path)


def _itself(path: bytes) -> Iterator[Record]:
    yield path, path


def _of_length(size: int, header: int, footer: int, hop: int) -> Any:
    def records(path: bytes) -> Iterator[Record]:
        content = _content(path)
        stop = len(content) - footer
        for number, start in enumerate(range(header, stop - size + 1, hop or size)):
            yield b"%s:%d" % (path, number), content[start : start + size]

    return records


def _tfrecords(compression: str) -> Any:
    def records(path: bytes) -> Iterator[Record]:
        options = compression or ""
        dataset = look_up("data.TFRecordDataset")(os.fsdecode(path), compression_type=options)
        for number, record in enumerate(dataset.as_numpy_iterator()):
            yield b"%s:%d" % (path, number), record

    return records


def _make_reader(records: Callable[..., Any], container: str, name: str) -> Any:
    return get_shared_handle("reader", container, name, lambda: handle_of(ReaderCell(records)))


def lines(skip_header_lines: int, container: str, shared_name: str) -> Any:
    """Return the handle of a reader of lines."""
    return _make_reader(_lines(skip_header_lines), container, shared_name)


def whole_files(container: str, shared_name: str) -> Any:
    """Return the handle of a reader of whole files."""
    return _make_reader(_whole, container, shared_name)


def names(container: str, shared_name: str) -> Any:
    """Return the handle of a reader that gives the names themselves."""
    return _make_reader(_itself, container, shared_name)


def of_length(
    record_bytes: int,
    header_bytes: int,
    footer_bytes: int,
    hop_bytes: int,
    container: str,
    shared_name: str,
    encoding: str = "",
) -> Any:
    """Return the handle of a reader of records of one length."""
    records = _of_length(record_bytes, header_bytes, footer_bytes, hop_bytes)
    return _make_reader(records, container, shared_name)


def tfrecords(container: str, shared_name: str, compression_type: str) -> Any:
    """Return the handle of a reader of TFRecord files."""
    return _make_reader(_tfrecords(compression_type), container, shared_name)


def _parts(reader: object, queue: object) -> tuple[ReaderCell, QueueResource]:
    return thing_of(reader, ReaderCell, "Reader"), thing_of(queue, QueueResource, "Reader")


def read(reader_handle: object, queue_handle: object) -> tuple:
    """Read the next (key, record)."""
    reader, queue = _parts(reader_handle, queue_handle)
    return tuple([of_array(np.array(part, object)) for part in reader.next(queue)])


def read_up_to(reader_handle: object, queue_handle: object, num_records: object) -> tuple:
    """Read the next (keys, records), as many as one file has at most."""
    reader, queue = _parts(reader_handle, queue_handle)
    found: list[Record] = []
    with reader.lock:
        while len(found) < int(scalar_of(num_records)):
            if found and reader.current is None:
                break
            try:
                found.append(reader.next(queue))
            except OutOfRangeError:
                if not found:
                    raise
                break
    return tuple([of_array(np.array(part, object)) for part in zip(*found)])


def records_produced(reader_handle: object) -> Any:
    """Return the number of records read."""
    return of_array(thing_of(reader_handle, ReaderCell, "Reader").produced, int64)


def files_completed(reader_handle: object) -> Any:
    """Return the number of files read."""
    return of_array(thing_of(reader_handle, ReaderCell, "Reader").completed, int64)


def reset(reader_handle: object) -> None:
    """Begin anew."""
    thing_of(reader_handle, ReaderCell, "Reader").reset()


def state(reader_handle: object) -> Any:
    """Return the state of the reader, as bytes."""
    reader = thing_of(reader_handle, ReaderCell, "Reader")
    within = reader.within if reader.current is not None else -1
    numbers = struct.pack("<qqq", reader.produced, reader.completed, within)
    return of_array(np.array(numbers + reader.work, object))


def restore(reader_handle: object, state: tuple[Any, ...]) -> None:
    """Go to where a reader was; InvalidArgumentError for other bytes."""
    reader, content = thing_of(reader_handle, ReaderCell, "Reader"), bytes(scalar_of(state))
    if len(content) < 24:
        raise invalid("TW506", "Could not parse reader state")
    produced, completed, within = struct.unpack("<qqq", content[:24])
    reader.reset()
    reader.produced, reader.completed, reader.work = produced, completed, content[24:]
    if within >= 0:
        reader.current, reader.within = reader.records(reader.work), within
        for _ in range(within):
            next(reader.current, None)


def no_lmdb(container: str, shared_name: str) -> Any:
    """Raise UnimplementedError: there is no LMDB here."""
    raise NotImplementedError(compose("TW402", "LMDBReader", hint="tf.data with an LMDB package"))
