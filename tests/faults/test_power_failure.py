"""What stands on the disk when the power fails: bytes before names, names before the next step.

Only what `fsync` was called for is sure to be there.  So whatever gets a name has been brought to
the disk before, with all its bytes, and its folder is brought there after; what is deleted is
deleted after that.
"""

from __future__ import annotations

import os
import stat

import pytest

import talweg as tf
from talweg.formats import files
from tests.faults.test_kills import WRITERS

DURABLE = [
    kind for kind in WRITERS if kind != "file"
]  # `write_file` does not wait, as TensorFlow's


def of_handle(handle):
    return os.path.realpath(
        f"/proc/self/fd/{handle if isinstance(handle, int) else handle.fileno()}"
    )


@pytest.fixture
def log(monkeypatch):
    """(what, path, other path or size) of each call that brings to the disk or changes names."""
    found = []

    def watched(name, describe):
        original = getattr(os, name)

        def call(*args, **kwargs):
            entry = describe(*args)
            result = original(*args, **kwargs)
            found.append((name, *entry))
            return result

        monkeypatch.setattr(os, name, call)

    def real(path):
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

    watched("fsync", lambda handle: (of_handle(handle), os.fstat(handle).st_size))
    watched("replace", lambda source, target: (real(source), real(target)))
    watched("rename", lambda source, target: (real(source), real(target)))
    swap = files._swap

    def swapped(first, second):
        found.append(("rename", real(first), real(second)))
        return swap(first, second)

    monkeypatch.setattr(files, "_swap", swapped)
    return found


def inside(folder):
    """The files and folders that a name stands for."""
    yield folder
    if os.path.isdir(folder):
        for below, folders, names in os.walk(folder):
            yield from (os.path.join(below, name) for name in [*folders, *names])


@pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="no /proc: whose handle is not known"
)
@pytest.mark.parametrize("kind", DURABLE)
def test_bytes_are_on_the_disk_before_names_and_names_at_the_end(kind, log, tmp_path):
    write, read = WRITERS[kind]
    write(tmp_path, 1.0)
    del log[:]
    write(tmp_path, 2.0)
    named = [(place, entry) for place, entry in enumerate(log) if entry[0] != "fsync"]
    assert named
    for place, (_, source, target) in named:
        synced = {entry[1]: entry[2] for entry in log[:place] if entry[0] == "fsync"}
        if ".link" not in source:  # another name of a file that is there already
            assert source in synced, (source, synced)
        for path in inside(target):
            below = source + path[len(target) :]
            if os.path.isfile(path) and ".link" not in source:
                assert synced.get(below) == os.stat(path)[stat.ST_SIZE], path
        folder = os.path.dirname(target)
        assert any(e[:2] == ("fsync", folder) for e in log[place:]), target
    assert set(read(tmp_path)) == {2.0}


def test_the_index_of_a_checkpoint_gets_its_name_after_its_data_are_sure(log, tmp_path):
    for number in (1.0, 2.0, 3.0):
        del log[:]
        WRITERS["checkpoint"][0](tmp_path, number)
        kinds = [(e[0], os.path.basename(e[2] if e[0] != "fsync" else e[1])) for e in log]
        first = next(
            i for i, (what, name) in enumerate(kinds) if what == "replace" and "data" in name
        )
        index = next(
            i for i, (what, name) in enumerate(kinds) if what == "replace" and name == "ck.index"
        )
        assert first < index
        assert ("fsync", tmp_path.name) in kinds[first:index]


def test_saved_datasets_are_there_before_what_tells_of_them(log, tmp_path):
    tf.data.Dataset.range(9).save(f"{tmp_path}/data", shard_func=lambda x: x % 2)
    index = f"{tmp_path}/data/dataset_spec.json"
    place = next(i for i, e in enumerate(log) if e[0] == "replace" and e[2] == index)
    synced = {entry[1] for entry in log[:place]}
    (run,) = [path for path in (tmp_path / "data").iterdir() if path.is_dir()]
    assert {str(path) for path in (run, *run.rglob("*"))} <= synced


def test_records_and_caches(log, tmp_path):
    list(tf.data.Dataset.range(9).cache(f"{tmp_path}/cache"))
    data, index = f"{tmp_path}/cache.data-00000-of-00001", f"{tmp_path}/cache.index"
    place = next(i for i, e in enumerate(log) if e[0] == "replace" and e[2] == index)
    assert ("fsync", data, os.path.getsize(data)) in log[:place]
    assert str(tmp_path) in {entry[1] for entry in log[:place]}
