"""Checkpoints: TensorFlow's bytes both ways, damaged and hostile files, whole-file writes."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import talweg as T
from talweg.compat_v1.train.checkpoints import CheckpointState, parse_state
from talweg.core.dtypes import float32, string
from talweg.formats.bundle.entries import HEADER, BundleEntry, write_entry, write_header
from talweg.formats.bundle.reader import Bundle
from talweg.formats.bundle.table import read_table, write_table
from talweg.formats.bundle.writer import write_bundle, write_file
from talweg.formats.checksum import _byte_table, crc32c, mask_checksum
from talweg.formats.wire import field, read_varint, write_varint

v1 = T.compat.v1
RECORDED = Path(__file__).parent / "checkpoints" / "tensorflow"
ERRORS = (
    T.errors.DataLossError,
    T.errors.InvalidArgumentError,
    T.errors.NotFoundError,
    T.errors.UnimplementedError,
)


# -- the format


def slow_checksum(data):
    """CRC-32C, a byte at a time."""
    register = 0xFFFFFFFF
    for byte in data:
        register = _byte_table()[(register ^ byte) & 0xFF] ^ (register >> 8)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 512, 513, 1000, 65537, 131077])
def test_checksum_in_lanes(size):
    """Lanes give what single bytes give, and pieces what the whole gives."""
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()
    assert crc32c(data) == slow_checksum(data)
    assert crc32c(data[size // 3 :], crc32c(data[: size // 3])) == crc32c(data)


def test_reads_what_tensorflow_wrote():
    """Every dtype, strings, scalars, empty tensors, shared prefixes of names."""
    bundle = Bundle(str(RECORDED))
    kinds = [name for name in bundle.entries if name.startswith("kind/")]
    assert len(kinds) == 15
    for name in kinds:
        if name != "kind/bfloat16":
            want = np.array([[1, 0], [3, 1]], name.removeprefix("kind/"))
            got = bundle.read(name)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
    assert bundle.read("kind/bfloat16").astype(float).tolist() == [1.5, 2.5]
    assert bundle.read("string").tolist() == [b"text", b"", b"and more\x00\xff"]
    assert bundle.read("scalar") == np.float32(3.5)
    assert bundle.read("empty").shape == (0, 3)
    np.testing.assert_array_equal(bundle.read("long"), np.arange(600, dtype=np.float32))
    assert bundle.read("layer/with/a/name_17/weights") == 17


def test_writes_what_tensorflow_wrote(tmp_path):
    """The same tensors are the same bytes: what we write, TensorFlow reads."""
    bundle = Bundle(str(RECORDED))
    write_bundle(str(tmp_path / "ours"), {name: bundle.read(name) for name in bundle.entries})
    for end in (".index", ".data-00000-of-00001"):
        ours = (tmp_path / f"ours{end}").read_bytes()
        assert ours == Path(f"{RECORDED}{end}").read_bytes()


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.binary(max_size=30), st.binary(max_size=60), max_size=60))
def test_tables_both_ways(entries):
    """A table gives back what was put into it."""
    table = write_table(sorted(entries.items()))
    assert read_table(table) == entries


def test_large_tables_have_several_blocks():
    """More than a block's worth of entries."""
    entries = [(b"name/%06d" % number, b"x" * 100) for number in range(8000)]
    table = write_table(entries)
    assert len(table) > 3 << 18
    assert read_table(table) == dict(entries)


# -- damaged and hostile files


def damaged(path, index, data):
    """A checkpoint of these bytes."""
    Path(f"{path}.index").write_bytes(index)
    Path(f"{path}.data-00000-of-00001").write_bytes(data)
    return str(path)


def recorded_bytes():
    """The bytes of the recorded checkpoint."""
    return [Path(f"{RECORDED}{end}").read_bytes() for end in (".index", ".data-00000-of-00001")]


def read_all(path):
    """Every tensor of a checkpoint."""
    bundle = Bundle(path)
    return {name: bundle.read(name) for name in bundle.entries}


def test_truncated_at_every_place(tmp_path):
    """A file that is cut off gives an error of the right class, wherever it is cut."""
    index, data = recorded_bytes()
    for size in [*range(0, len(index), 37), len(index) - 1]:
        with pytest.raises(ERRORS):
            read_all(damaged(tmp_path / "m", index[:size], data))
    for size in [0, 5, 100, len(data) - 1]:
        with pytest.raises(T.errors.DataLossError):
            read_all(damaged(tmp_path / "m", index, data[:size]))


def test_any_changed_byte_is_noticed(tmp_path):
    """A changed byte gives an error, or changes nothing."""
    index, data = recorded_bytes()
    whole = read_all(str(RECORDED))
    generator = np.random.default_rng(0)
    for place in generator.integers(0, len(index), 120):
        changed = bytearray(index)
        changed[place] ^= int(generator.integers(1, 256))
        try:
            found = read_all(damaged(tmp_path / "m", bytes(changed), data))
        except ERRORS:
            continue
        assert found.keys() == whole.keys()
    for place in generator.integers(0, len(data), 60):
        changed = bytearray(data)
        changed[place] ^= int(generator.integers(1, 256))
        with pytest.raises(T.errors.DataLossError):
            read_all(damaged(tmp_path / "m", index, bytes(changed)))


def forged(path, entries, data=b""):
    """A checkpoint with a right table of made-up messages."""
    rows = [(HEADER, write_header(1)), *sorted(entries.items())]
    return damaged(path, write_table(rows), data)


def shape_message(*sizes):
    """A TensorShapeProto."""
    return b"".join([field(2, field(1, size)) for size in sizes])


@pytest.mark.parametrize(
    "message",
    [
        field(1, 1) + field(2, shape_message(1 << 40)) + field(5, 1 << 42),
        field(1, 1) + field(2, shape_message(1 << 61, 1 << 61)) + field(5, 4),
        field(1, 1) + field(2, shape_message(0, 1 << 62, 1 << 62)),
        field(1, 1) + field(2, shape_message(-1)) + field(5, 4),
        field(1, 1) + field(2, shape_message(2)) + field(5, 4),
        field(1, 1) + field(2, shape_message(2)) + field(4, -8) + field(5, 8),
        field(1, 1) + field(2, shape_message(2)) + field(4, 1 << 62) + field(5, 8),
        field(1, 1) + field(2, shape_message(2)) + field(3, 7) + field(5, 8),
        field(1, 7) + field(2, shape_message(1 << 50)) + field(5, 10),
        field(1, 7) + field(2, shape_message(3)) + field(5, 10),
        field(1, 999) + field(5, 0),
        field(1, 21) + field(2, shape_message(1)) + field(5, 8),
        field(1, 1) + field(2, shape_message(*[1] * 100)) + field(5, 4),
        field(1, 1) + field(2, field(3, 1)) + field(5, 4),
        field(1, b"x") + field(5, 4),
        field(1, 1) + field(2, 5),
        b"\xff" * 30,
        b"\x0b\x0c",
    ],
)
def test_hostile_entries_take_no_memory(tmp_path, message):
    """Sizes that lie are found before memory is asked for."""
    path = forged(tmp_path / "m", {b"v": message}, b"12345678")
    tracemalloc.start()
    with pytest.raises(ERRORS):
        read_all(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


def test_string_lengths_that_lie(tmp_path):
    """A string tensor whose lengths do not add up, or overflow."""
    for sizes in ([1 << 40, 1], [(1 << 64) - 1, 2], [3]):
        data = b"".join(map(write_varint, sizes)).ljust(20, b"x")
        entry = BundleEntry(string, (len(sizes),), 0, 0, len(data), 0)
        with pytest.raises(T.errors.DataLossError):
            read_all(forged(tmp_path / "m", {b"v": write_entry(entry)}, data))


def test_keys_that_grow_without_end():
    """Shared prefixes cannot make a small table stand for an enormous one."""
    long = b"k" * 100_000
    block = write_varint(0) + write_varint(len(long)) + write_varint(0) + long
    for number in range(20_000):
        block += write_varint(100_000 + number) + write_varint(1) + write_varint(0) + b"z"
    block += (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
    table = write_table([(b"a", b"")])
    checksum = mask_checksum(crc32c(block + b"\0")).to_bytes(4, "little")
    key = b"\xff"
    names = write_varint(0) + write_varint(1)
    handle = write_varint(0) + write_varint(len(block))
    names += write_varint(len(handle)) + key + handle
    names += (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
    place = len(block) + 5
    index = names + b"\0" + mask_checksum(crc32c(names + b"\0")).to_bytes(4, "little")
    footer = (handle + write_varint(place) + write_varint(len(names))).ljust(40, b"\0")
    with pytest.raises(T.errors.DataLossError):
        read_table(block + b"\0" + checksum + index + footer + table[-8:])


def test_numbers_without_end():
    """A varint of more than 64 bits, or cut off."""
    for data in (b"\x80" * 20, b"\x80", b""):
        with pytest.raises(T.errors.DataLossError):
            read_varint(data, 0)


def test_big_endian_and_missing_headers(tmp_path):
    """What is not supported says so."""
    rows = [(HEADER, field(1, 1) + field(2, 1))]
    with pytest.raises(T.errors.UnimplementedError):
        Bundle(damaged(tmp_path / "m", write_table(rows), b""))
    with pytest.raises(T.errors.DataLossError):
        Bundle(damaged(tmp_path / "m", write_table([(b"v", b"")]), b""))


def test_nothing_is_written_by_reading(tmp_path):
    """Reading a damaged checkpoint leaves the folder as it was."""
    path = damaged(tmp_path / "m", b"rubbish" * 20, b"")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for call in (v1.train.list_variables, v1.train.load_checkpoint):
        with pytest.raises(ERRORS):
            call(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


# -- the file `checkpoint`


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), min_size=1), min_size=1))
def test_state_files_both_ways(paths):
    """Any path comes back from the text."""
    state = CheckpointState(paths[-1], paths, [float(i) for i in range(len(paths))], 2.5)
    assert parse_state(str(state)) == state


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        'model_checkpoint_path: "a',
        "model_checkpoint_path: 3",
        'other: "a"',
        "last_preserved_timestamp: x",
        'model_checkpoint_path: "a" "b"',
    ],
)
def test_damaged_state_files(text):
    """DataLossError, not a guess."""
    with pytest.raises(T.errors.DataLossError):
        parse_state(text)


def test_state_files_hold_relative_paths(tmp_path, monkeypatch):
    """Relative paths are kept relative to the folder, so that it can be moved."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("runs")
    with T.Graph().as_default(), v1.Session() as session:
        v = T.Variable(1.0, name="v")
        session.run(v.initializer)
        v1.train.Saver().save(session, "runs/model", global_step=4)
    assert 'model_checkpoint_path: "model-4"' in (tmp_path / "runs" / "checkpoint").read_text()
    os.rename("runs", "moved")
    assert v1.train.latest_checkpoint("moved") == os.path.join("moved", "model-4")


# -- whole files, whole restores


def test_files_are_written_whole(tmp_path):
    """What fails half-way leaves the old file, and nothing beside it."""
    path = tmp_path / "file"
    write_file(str(path), [b"old"])

    def parts():
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(str(path), parts())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def two_variables():
    """A graph's variables."""
    return T.Variable([1.0, 2.0], name="v"), T.Variable([3.0, 4.0], name="w")


def test_failed_saves_change_nothing(tmp_path):
    """An uninitialized variable stops the saving before anything is written."""
    with T.Graph().as_default(), v1.Session() as session:
        v, w = two_variables()
        saver = v1.train.Saver()
        session.run([v.initializer, w.initializer])
        path = saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
        with v1.Session() as other, pytest.raises(T.errors.FailedPreconditionError) as error:
            saver.save(other, path)
        assert "'v'" in str(error.value)
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_failed_restores_change_nothing(tmp_path):
    """All variables, or none: a missing, a misfitting or a damaged one stops the restoring."""
    with T.Graph().as_default(), v1.Session() as session:
        v, w = two_variables()
        session.run([v.initializer, w.initializer])
        part = v1.train.Saver([v]).save(session, str(tmp_path / "part"), write_meta_graph=False)
        whole = v1.train.Saver().save(session, str(tmp_path / "whole"), write_meta_graph=False)
        session.run([v.assign([7.0, 7.0]), w.assign([8.0, 8.0])])
        with pytest.raises(T.errors.NotFoundError) as error:
            v1.train.Saver().restore(session, part)
        assert "Key w not found" in str(error.value)
        data = Path(f"{whole}.data-00000-of-00001")
        data.write_bytes(data.read_bytes()[:-1] + b"\x7f")
        with pytest.raises(T.errors.DataLossError):
            v1.train.Saver().restore(session, whole)
        assert session.run([v, w])[0].tolist() == [7.0, 7.0]
    with T.Graph().as_default(), v1.Session() as session:
        v, w = T.Variable([5.0, 5.0], name="v"), T.Variable([1.0, 2.0, 3.0], name="w")
        session.run([v.initializer, w.initializer])
        write_bundle(str(tmp_path / "m"), {n: np.ones(2, np.float32) for n in "vw"})
        with pytest.raises(T.errors.InvalidArgumentError) as error:
            v1.train.Saver().restore(session, str(tmp_path / "m"))
        assert "shape" in str(error.value)
        assert session.run(v).tolist() == [5.0, 5.0]


def test_variables_of_eager_mode(tmp_path):
    """The saver of TensorFlow 1 works without graph and session."""
    v, w = two_variables()
    saver = v1.train.Saver([v, w])
    path = saver.save(None, str(tmp_path / "model"), global_step=T.constant(3))
    v.assign([0.0, 0.0])
    saver.restore(None, path)
    assert path.endswith("model-3")
    assert v.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError):
        v1.train.Saver()


def test_reshaped_values(tmp_path):
    """`reshape=True` takes values of another shape."""
    write_bundle(str(tmp_path / "m"), {"v": np.arange(4, dtype=np.float32)})
    with T.Graph().as_default(), v1.Session() as session:
        v = T.Variable(np.zeros((2, 2), np.float32), name="v")
        with pytest.raises(T.errors.InvalidArgumentError):
            v1.train.Saver().restore(session, str(tmp_path / "m"))
        v1.train.Saver(reshape=True).restore(session, str(tmp_path / "m"))
        assert session.run(v).tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_old_checkpoints_of_certain_hours_stay(tmp_path):
    """`keep_checkpoint_every_n_hours` keeps some of those that would go."""
    with T.Graph().as_default(), v1.Session() as session:
        v = T.Variable(1.0, name="v")
        session.run(v.initializer)
        saver = v1.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=0.0)
        paths = [
            saver.save(session, str(tmp_path / "m"), s, write_meta_graph=False) for s in range(3)
        ]
        assert all(map(v1.train.checkpoint_exists, paths))
        assert saver.last_checkpoints == paths[-1:]
        other = v1.train.Saver()
        other.recover_last_checkpoints([str(tmp_path / "gone"), *paths])
        assert other.last_checkpoints == paths


def test_only_own_files_are_removed(tmp_path):
    """Removing `model-1` leaves `model-10` and what merely looks alike."""
    for prefix in ("model-1", "model-10"):
        write_bundle(str(tmp_path / prefix), {"v": np.float32(1)})
    (tmp_path / "model-1.data-notes").write_text("mine")
    v1.train.remove_checkpoint(str(tmp_path / "model-1"))
    assert sorted(os.listdir(tmp_path)) == [
        "model-1.data-notes",
        "model-10.data-00000-of-00001",
        "model-10.index",
    ]


def test_saving_in_a_finalized_graph(tmp_path):
    """Saving and restoring add nothing to the graph."""
    with T.Graph().as_default() as graph, v1.Session() as session:
        v = T.Variable([1.0, 2.0], name="v")
        saver = v1.train.Saver()
        init = v1.global_variables_initializer()
        graph.finalize()
        session.run(init)
        before = graph.stats()["live"]
        path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        saver.restore(session, path)
        assert session.run(v).tolist() == [1.0, 2.0]
        assert graph.stats()["live"] == before


def test_entries_say_what_they_are():
    """The dtype of a bundle's entry is ours."""
    assert Bundle(str(RECORDED)).entry("scalar").dtype is float32
