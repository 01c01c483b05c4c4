"""Writers on a full disk: ResourceExhaustedError with the file and the bytes; what was there stays.

The kernel refuses what goes beyond a size of file (EFBIG), as a full disk does (ENOSPC).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource

import numpy as np
import pytest

import talweg as tf
from tests.faults.test_kills import WRITERS, values

SIZES = (0, 3, 100, 5000)


@contextlib.contextmanager
def full_at(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_loses_nothing(kind, size, tmp_path):
    write, read = WRITERS[kind]
    write(tmp_path, 1.0)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    try:
        with full_at(size):
            write(tmp_path, 2.0)
    except tf.errors.ResourceExhaustedError as error:
        assert str(tmp_path) in str(error)
        assert set(read(tmp_path)) == {1.0}
        assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before
    else:
        assert size == 5000 and set(read(tmp_path)) == {2.0}
    write(tmp_path, 3.0)
    assert set(read(tmp_path)) == {3.0}


def test_the_error_names_the_file_and_the_bytes(tmp_path):
    with full_at(1000), pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        tf.io.write_file(f"{tmp_path}/file", values(1.0).tobytes())
    assert f"{tmp_path}/file" in str(caught.value)
    assert "after 1000 bytes" in str(caught.value)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records(compression, tmp_path):
    path, data = f"{tmp_path}/records", [os.urandom(400) for _ in range(5)]
    with (
        pytest.raises(tf.errors.ResourceExhaustedError, match="records"),
        full_at(1000),
        tf.io.TFRecordWriter(path, compression) as writer,
    ):
        for record in data:
            writer.write(record)
            writer.flush()
    found = []
    with contextlib.suppress(tf.errors.DataLossError):
        found += tf.data.TFRecordDataset(path, compression).as_numpy_iterator()
    assert found == data[: len(found)] and len(found) >= (2 if not compression else 0)


def test_a_cache_is_made_anew(tmp_path):
    data = tf.data.Dataset.from_tensor_slices(np.arange(2000))
    with pytest.raises(tf.errors.ResourceExhaustedError), full_at(1000):
        list(data.cache(f"{tmp_path}/cache"))
    gc.collect()
    assert not os.listdir(tmp_path)
    assert len(list(data.cache(f"{tmp_path}/cache"))) == 2000


def test_summaries_that_nobody_closes_are_told_of(tmp_path, caplog, capfd):
    with full_at(200), caplog.at_level(logging.WARNING, "talweg"):
        writer = tf.summary.create_file_writer(str(tmp_path))
        with contextlib.suppress(tf.errors.ResourceExhaustedError), writer.as_default():
            for step in range(5):
                tf.summary.scalar("x", 1.0, step=step)
        del writer
        gc.collect()
    assert "summaries are lost" in caplog.text
    assert capfd.readouterr().err == ""
