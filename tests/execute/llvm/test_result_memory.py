"""Memory of large results: aligned, the user's own, used again when an array is gone, bounded."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

from talweg.core import settings
from talweg.core.dtypes import float32
from talweg.execute import compilation
from talweg.execute.donation import is_writable
from talweg.execute.llvm.codegen import prefetch
from talweg.execute.llvm.runtime import dispatch, result_memory
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Buffer, For, Kernel, LoopProgram, Store, load
from talweg.prims import arithmetic

MEGABYTE = 1 << 20


def new(nbytes: int) -> np.ndarray:
    return result_memory.empty((nbytes,), np.uint8, dispatch.set_handler())


def statistics() -> dict[str, int]:
    gc.collect()
    return result_memory.statistics()


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    result_memory.forget()
    yield
    result_memory.forget()
    assert result_memory.statistics()["kept"] == 0


def doubling(size: int) -> LoopProgram:
    """y = x + x."""
    program = LoopProgram("doubling")
    x = program.buffer("x", float32, (size,), "input")
    y = program.buffer("y", float32, (size,), "output")
    axis = Axis("i", size)
    body = [For(axis, [Store(y, axis, load(x, axis) + load(x, axis))], "vector")]
    program.blocks = [Kernel("double", body)]
    return program


@pytest.mark.parametrize("nbytes", [1, 1000, MEGABYTE - 1, MEGABYTE, 5 * MEGABYTE + 3])
def test_arrays_are_like_others(nbytes):
    array = new(nbytes)
    array[...] = 7
    assert is_writable(array)
    assert nbytes < MEGABYTE or array.ctypes.data % result_memory.ALIGNMENT == 0
    assert np.array_equal(pickle.loads(pickle.dumps(array)), array)
    array.resize((2 * nbytes,), refcheck=False)
    assert (array[:nbytes] == 7).all()
    assert array.size == 2 * nbytes
    array[...] = 8
    array.resize((max(1, nbytes // 2),), refcheck=False)
    assert (array == 8).all()
    assert np._core.multiarray.get_handler_name(np.empty(3)) != "talweg"


def test_what_is_gone_is_used_again():
    first = new(3 * MEGABYTE)
    at = first.ctypes.data
    first[...] = 1
    view = first[10:20]
    del first
    assert statistics()["kept"] == 0  # the view has it
    second = new(3 * MEGABYTE)
    second[...] = 2
    assert (view == 1).all()
    del view
    assert statistics()["blocks"] == 1
    third = new(3 * MEGABYTE - 100)
    assert third.ctypes.data == at
    assert statistics()["kept"] == 0
    del second, third
    before = statistics()
    other = new(9 * MEGABYTE)  # not in a block of another size
    assert statistics()["made"] == before["made"] + 1
    del other


def test_little_is_kept():
    arrays = [new(20 * MEGABYTE) for _ in range(20)]
    assert statistics()["kept"] == 0
    arrays.clear()
    found = statistics()
    assert 200 * MEGABYTE < found["kept"] <= result_memory.KEPT_BYTES
    arrays = [new(MEGABYTE) for _ in range(3 * result_memory.KEPT_BLOCKS)]
    arrays.clear()
    found = statistics()
    assert found["blocks"] == result_memory.KEPT_BLOCKS
    assert found["kept"] < 20 * MEGABYTE  # the large ones were the oldest
    del arrays
    new(result_memory.KEPT_BYTES + MEGABYTE)
    assert statistics()["kept"] < 20 * MEGABYTE


def test_more_than_there_is():
    kept = new(MEGABYTE)
    del kept
    with pytest.raises(MemoryError):
        new(1 << 46)
    assert statistics()["kept"] == 0  # given back before giving up
    assert np._core.multiarray.get_handler_name(np.empty(3)) != "talweg"


@pytest.mark.parametrize("native", [True, False])
def test_results_stay_as_they_are(native):
    size = MEGABYTE
    executable = Executable(doubling(size), threads=2, native=native)
    held = []
    for turn in range(12):
        x = np.full(size, turn, np.float32)
        (y,) = executable([x])
        assert (y == 2 * turn).all()
        assert y.ctypes.data % result_memory.ALIGNMENT == 0
        assert is_writable(y)
        if turn % 3 == 0:
            held.append((turn, y, y[5:9]))
        y = None
    for turn, y, part in held:
        assert (y == 2 * turn).all()
        assert (part == 2 * turn).all()


def test_memory_does_not_grow_and_goes_with_the_program():
    executable = Executable(doubling(MEGABYTE), threads=1)
    x = np.ones(MEGABYTE, np.float32)
    y = executable([x])
    made = statistics()["made"]
    for _ in range(50):
        y = executable([x])  # the one before is alive meanwhile
    assert statistics()["made"] == made + 1
    del y
    assert statistics()["blocks"] == 2
    gone = weakref.ref(executable)
    del executable
    gc.collect()
    assert gone() is None
    assert statistics()["blocks"] == 0


def test_small_results_are_numpys_own():
    (y,) = Executable(doubling(100), threads=1)([np.ones(100, np.float32)])
    assert np._core.multiarray.get_handler_name(y) != "talweg"


def test_several_threads():
    executable = Executable(doubling(MEGABYTE), threads=1)
    wrong = []

    def work(number: int) -> None:
        x = np.full(MEGABYTE, number, np.float32)
        for _ in range(15):
            (y,) = executable([x])
            if not (y == 2 * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert statistics()["kept"] <= result_memory.KEPT_BYTES


@pytest.mark.parametrize("shape", [(4, 3), (4, 5), (3, 2), (12, 1), (6, 4)])
def test_results_past_the_caches_in_vectors_of_any_width(shape, monkeypatch):
    """Twelve floats are no power of two: LLVM refused that alignment."""
    monkeypatch.setattr(prefetch, "STREAMED_BYTES", MEGABYTE)  # smaller results are not aligned
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50_000, *shape)).astype(np.float32)
    y = rng.normal(size=shape).astype(np.float32)
    with settings.cache("off"):
        product = compilation.alone(arithmetic.mul, [x, y], {}, 1)
    assert product is not False
    np.testing.assert_array_equal(product([x, y], [])[0], x * y)


def test_parts_of_lines_go_through_the_caches():
    """Past them, each part would be a trip to memory of its own."""
    row, column = Axis("i", 1 << 20), Axis("j", 8)
    loop = For(column, [], "vector")
    buffer = Buffer("z", float32, (1 << 20, 16), "output")
    for step, streamed in [(8, True), (16, False)]:
        index = Index.of(row) * step + Index.of(column)
        assert prefetch.is_streamed(buffer, index, loop, 8) == streamed
    long = Axis("j", 16)
    index = Index.of(row) * 32 + Index.of(long)
    assert prefetch.is_streamed(buffer, index, For(long, [], "vector"), 16)
