"""Calling compiled programs: arrays of every kind, states, host calls, errors, threads, memory."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from talweg.core import settings
from talweg.core.dtypes import bfloat16, bool_, float32, float64, int32
from talweg.core.errors import InternalError, ResourceExhaustedError
from talweg.execute.llvm.codegen import program as emit
from talweg.execute.llvm.link import code, elf, generate, jit
from talweg.execute.llvm.runtime import dispatch
from talweg.execute.llvm.runtime import executable as module
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    Buffer,
    Expr,
    For,
    Host,
    If,
    Kernel,
    LoopProgram,
    Repeat,
    Store,
    const,
    load,
    number,
)


def elementwise(result: Buffer, *operands: Buffer, kind: str = "vector") -> Kernel:
    """result = the sum of the operands, element by element; operands of one element go to all."""
    axis = Axis("i", result.size)
    values = [load(x, axis if x.size != 1 or result.size == 1 else 0) for x in operands]
    total = values[0]
    for value in values[1:]:
        total = total + value
    return Kernel("sum", [For(axis, [Store(result, axis, total)], kind)])


def addition(shape: tuple = (2, 3), dtype: Any = float32) -> LoopProgram:
    program = LoopProgram("addition")
    x, y = [program.buffer("x", dtype, shape, "input") for _ in range(2)]
    program.blocks = [elementwise(program.buffer("z", dtype, shape, "output"), x, y)]
    return program


def counter(size: int = 5) -> LoopProgram:
    """state += x; y = state, as it is then."""
    program = LoopProgram("counter")
    x = program.buffer("x", float64, (size,), "input")
    state = program.buffer("v", float64, (size,), "state")
    y = program.buffer("y", float64, (size,), "output")
    program.blocks = [elementwise(state, state, x), elementwise(y, state)]
    return program


@pytest.fixture(params=[True, False], ids=["native", "python"])
def native(request):
    """Whether calls go through the native entry."""
    assert dispatch.works()
    return request.param


X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Derived(np.ndarray):
    """A subclass of ndarray."""


ARRAYS = {
    "plain": X,
    "columns": np.asfortranarray(X),
    "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
    "every other": np.repeat(X, 2, axis=1)[:, ::2],
    "not aligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
    "other bytes": X.astype(">f4"),
    "broadcast": np.broadcast_to(X[:1], (2, 3)),
    "derived": X.view(Derived),
    "read only": np.frombuffer(X.tobytes(), np.float32).reshape(2, 3),
}


@pytest.mark.parametrize("which", ARRAYS)
def test_inputs_of_every_kind(which, native):
    executable = Executable(addition(), native=native)
    array = ARRAYS[which]
    before = array.copy()
    for _ in range(2):
        (z,) = executable([array, X])
        assert type(z) is np.ndarray and z.dtype == np.float32 and z.shape == (2, 3)
        assert z.flags.writeable and z.flags.owndata
        np.testing.assert_array_equal(z, array + X)
    np.testing.assert_array_equal(array, before)


def test_scalars(native):
    executable = Executable(addition(()), native=native)
    for x in (np.float32(2), np.array(2, np.float32), 2.0, 2):
        (z,) = executable([x, np.float32(3)])
        assert type(z) is np.ndarray and z.shape == () and z == 5


@pytest.mark.parametrize("dtype", [float32, float64, bfloat16, int32, bool_], ids=str)
def test_numpy_scalars_are_read_by_the_native_function(dtype, monkeypatch):
    program = addition((), dtype)
    if dtype is bool_:
        program.blocks = [Kernel("or", [Store(program.buffers[2], 0, load(program.buffers[0], 0))])]
    execute = Executable(program)
    one = dtype.numpy_dtype.type(1)
    execute([one, one])  # makes a frame
    monkeypatch.setattr(Executable, "_run_slowly", None)
    for other in (one, np.asarray(one)):
        (result,) = execute([one, other])
        assert type(result) is np.ndarray
        assert result == np.bool_(1) if dtype is bool_ else float(result) == 2.0


def test_scalars_of_other_dtypes_are_not():
    execute = Executable(addition(()))
    execute([np.float32(1), np.float32(1)])
    assert execute.enter([np.int32(1), np.float32(1)], []) is None
    with pytest.raises(InternalError):
        execute([np.int32(1), np.float32(1)])


@pytest.mark.parametrize(
    "dtype, array",
    [
        (bfloat16, np.array([1, 2.5, -3], ml_dtypes.bfloat16)),
        (int32, np.array([1, 2, -3], np.int32)),
        (float64, np.array([1, 2, -3], np.float64)),
    ],
)
def test_dtypes(dtype, array, native):
    executable = Executable(addition((3,), dtype), native=native)
    (z,) = executable([array, array])
    assert z.dtype == array.dtype
    np.testing.assert_array_equal(z, array + array)


def test_bools(native):
    program = LoopProgram("not")
    x = program.buffer("x", bool_, (4,), "input")
    y = program.buffer("y", bool_, (4,), "output")
    axis = Axis("i", 4)
    value = Expr("logical_not", (load(x, axis),), bool_)
    program.blocks = [Kernel("not", [For(axis, [Store(y, axis, value)])])]
    x = np.array([True, False, False, True])
    (y,) = Executable(program, native=native)([x])
    assert y.dtype == np.bool_
    np.testing.assert_array_equal(y, ~x)


def test_empty_arrays(native):
    executable = Executable(addition((3, 0)), native=native)
    x = np.empty((3, 0), np.float32)
    assert executable([x, x])[0].shape == (3, 0)


@pytest.mark.parametrize(
    "wrong",
    [X.astype(np.float64), X.astype(np.int32), X.T, X[:1], X.reshape(6), np.float32(1), "text"],
    ids=lambda x: f"{getattr(x, 'dtype', '')}{np.shape(x)}",
)
def test_arguments_that_do_not_fit(wrong, native):
    executable = Executable(addition(), native=native)
    for arguments in ([wrong, X], [X, wrong]):
        with pytest.raises(InternalError, match="instead of float32"):
            executable(arguments)
    for arguments in ([X], [X, X, X], []):
        with pytest.raises(InternalError, match=f"given {len(arguments)} inputs, and has 2"):
            executable(arguments)
    np.testing.assert_array_equal(executable([X, X])[0], X + X)


def test_the_native_function_declines_what_it_does_not_know():
    executable = Executable(addition())
    executable([X, X])
    for arguments in ((), ([X, X],), ([X, X], [], []), ((X, X), []), ([X, X], None), (3, [])):
        assert executable.enter(*arguments) is None
    assert type(executable.enter([X, X], [])) is list


def test_arguments_in_a_tuple(native):
    (z,) = Executable(addition(), native=native)((X, X), ())
    np.testing.assert_array_equal(z, X + X)


def test_states_are_written_in_place(native):
    executable = Executable(counter(), native=native)
    state, x = np.zeros(5), np.arange(5.0)
    results = [executable([x], [state])[0] for _ in range(3)]
    np.testing.assert_array_equal(state, 3 * x)
    for times, result in enumerate(results, 1):
        np.testing.assert_array_equal(result, times * x)


def test_states_that_are_not_plain_are_written_too(native):
    executable = Executable(counter(), native=native)
    wide, x = np.zeros((5, 2)), np.arange(5.0)
    executable([x], [wide[:, 1]])
    np.testing.assert_array_equal(wide, np.stack([np.zeros(5), x], 1))
    swapped = np.zeros(5, ">f8")
    executable([x], [swapped])
    np.testing.assert_array_equal(swapped, x)
    fixed = np.zeros(5)
    fixed.flags.writeable = False
    for wrong in (fixed, 3.0, [1.0] * 5):
        with pytest.raises(InternalError, match="instead of"):
            executable([x], [wrong])


def test_an_input_may_share_memory_with_a_state(native):
    """What is read is what was there at the call."""
    program = LoopProgram("shared")
    x = program.buffer("x", float64, (5,), "input")
    state = program.buffer("v", float64, (5,), "state")
    y = program.buffer("y", float64, (5,), "output")
    program.blocks = [elementwise(state, state, x), elementwise(y, x)]
    executable = Executable(program, native=native)
    array = np.arange(8.0)
    (found,) = executable([array[1:6]], [array[2:7]])
    np.testing.assert_array_equal(found, np.arange(1.0, 6.0))
    np.testing.assert_array_equal(array, [0, 1, 3, 5, 7, 9, 11, 7])


def test_orders_of_arguments(native):
    program = LoopProgram("orders")
    a, b = [program.buffer("x", float64, (2,), "input") for _ in range(2)]
    v = program.buffer("v", float64, (2,), "state")
    y, z = [program.buffer("y", float64, (2,), "output") for _ in range(2)]
    program.blocks = [elementwise(y, a), elementwise(z, b), elementwise(v, v, b)]
    executable = Executable(program, inputs=[b], states=[v, a], outputs=[z, y], native=native)
    state = np.ones(2)
    fixed = np.full(2, 7.0)
    fixed.flags.writeable = False  # it is only read
    found = executable([np.full(2, 5.0)], [state, fixed])
    assert [array[0] for array in found] == [5, 7] and state[0] == 6


def test_parts_of_arguments(native):
    """Buffers within inputs, outputs, states, constants and temporaries, and within parts."""
    program = LoopProgram("parts")
    x = program.buffer("x", int32, (4,), "input")
    v = program.buffer("v", int32, (4,), "state")
    t = program.buffer("t", int32, (8,))
    c = program.buffer("c", int32, (4,), "constant")
    c.content = np.arange(10, 14, dtype=np.int32)
    y = program.buffer("y", int32, (4,), "output")

    def part(whole: Buffer, start: int, size: int) -> Buffer:
        made = program.buffer("p", int32, (size,), whole.kind)
        made.part, made.offset = whole, 4 * start
        return made

    inner = part(part(t, 2, 4), 1, 2)
    program.blocks = [
        elementwise(inner, part(x, 2, 2), part(c, 1, 2)),
        elementwise(part(v, 0, 2), inner),
        elementwise(part(y, 2, 2), part(v, 0, 2), inner),
        elementwise(part(y, 0, 2), part(part(x, 1, 3), 1, 2)),
    ]
    executable = Executable(program, native=native)
    state = np.array([0, 0, 8, 9], np.int32)
    for _ in range(2):
        (found,) = executable([np.array([1, 2, 3, 4], np.int32)], [state])
        np.testing.assert_array_equal(state, [14, 16, 8, 9])
        np.testing.assert_array_equal(found, [3, 4, 28, 32])


@pytest.mark.parametrize("content", [np.float32(3), np.arange(6, dtype=np.float32)[::-1]])
def test_constants(content, native):
    program = LoopProgram("constant")
    size = np.size(content)
    c = program.buffer("c", float32, np.shape(content), "constant")
    c.content = content
    x = program.buffer("x", float32, (6,), "input")
    program.blocks = [elementwise(program.buffer("y", float32, (6,), "output"), x, c)]
    found = Executable(program, native=native)([np.ones(6, np.float32)])[0]
    np.testing.assert_array_equal(
        found, 1 + np.broadcast_to(content, (6,)) if size == 1 else 1 + content
    )


def hosted(function: Any, size: int = 4, threads: int | None = None, native: bool = True):
    """v += 1; t = function(x); y = t + x."""
    program = LoopProgram("hosted")
    x = program.buffer("x", float32, (size,), "input")
    v = program.buffer("v", float32, (), "state")
    y = program.buffer("y", float32, (size,), "output")
    t = program.buffer("t", float32, (size,))
    step = Kernel("step", [Store(v, 0, load(v, 0) + 1)])
    last = elementwise(y, t, x, kind="parallel")
    program.blocks = [step, Host("function", function, (x,), (t,)), last]
    return Executable(program, threads=threads, native=native)


@pytest.mark.parametrize("threads", [1, 2])
def test_host_calls(threads, native):
    executable = hosted(lambda x: x * 10, threads=threads, native=native)
    state, x = np.zeros((), np.float32), np.arange(4, dtype=np.float32)
    for _ in range(10):
        np.testing.assert_array_equal(executable([x], [state])[0], 11 * x)
    assert state == 10


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_host_call_raises(threads, native):
    class OwnError(Exception):
        pass

    raises = [True]

    def function(x):
        if raises[0]:
            raise OwnError("no")
        return x

    executable = hosted(function, threads=threads, native=native)
    state, x = np.zeros((), np.float32), np.arange(4, dtype=np.float32)
    for times in (1, 2, 3):
        with pytest.raises(OwnError, match="no"):
            executable([x], [state])
        assert state == times  # what was written before is kept
    assert len(executable.contexts) == 1
    raises[0] = False
    np.testing.assert_array_equal(executable([x], [state])[0], 2 * x)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_any_error_of_a_host_call(error, native):
    def function(x):
        raise error

    executable = hosted(function, native=native)
    expected = ResourceExhaustedError if error is MemoryError else error
    with pytest.raises(expected):
        executable([X[0, :1].repeat(4)], [np.zeros((), np.float32)])


def test_wrong_results_of_a_host_call(native):
    state = np.zeros((), np.float32)
    for function in (lambda x: x[:2], lambda x: (x, x), lambda x: ()):
        with pytest.raises(InternalError, match="function"):
            hosted(function, native=native)([np.ones(4, np.float32)], [state])


def test_a_host_call_may_keep_and_change_what_it_is_given(native):
    kept = []

    def function(x):
        kept.append(x)
        x += 1
        return x

    executable = hosted(function, native=native)
    x = np.arange(4, dtype=np.float32)
    for _ in range(3):
        executable([x], [np.zeros((), np.float32)])
    np.testing.assert_array_equal(x, np.arange(4))
    np.testing.assert_array_equal(kept, [x + 1] * 3)


def test_a_host_call_may_run_the_same_program(native):
    found = []

    def function(x):
        if len(found) < 3:
            found.append(x[0])
            return executable([x + 1], [np.zeros((), np.float32)])[0]
        return x

    executable = hosted(function, threads=2, native=native)
    (y,) = executable([np.zeros(4, np.float32)], [np.zeros((), np.float32)])
    assert found == [0, 1, 2] and (y == 3 + 3 + 2 + 1).all()


def test_host_calls_in_loops_and_branches_have_numbers(native):
    seen: list[str] = []

    def host(name: str) -> Host:
        return Host(name, lambda x: seen.append(name) or x, (x,), (t,))

    program = LoopProgram("numbers")
    x = program.buffer("x", int32, (1,), "input")
    y = program.buffer("y", int32, (1,), "output")
    t, count, flag = [program.buffer("t", d, (1,)) for d in (int32, int32, bool_)]
    less = Expr("less", (load(count, 0), const(2, int32)), bool_)
    test = Kernel("test", [Store(flag, 0, less)])
    up = Kernel("up", [Store(count, 0, load(count, 0) + 1)])
    inside = [host("c"), If(count, [[host("d")], [host("e")]])]
    program.blocks = [
        Kernel("start", [Store(count, 0, const(0, int32))]),
        host("a"),
        host("b"),
        test,
        Repeat(Axis("r", 1 << 20), [*inside, up, host("b"), test], flag),
        host("f"),
        elementwise(y, t),
    ]
    executable = Executable(program, threads=2, native=native)
    assert executable([np.array([5], np.int32)])[0][0] == 5
    assert "".join(seen) == "abcdbcebf"


def test_temporaries_stay_but_results_are_new(native):
    executable = Executable(addition(), native=native)
    first, second = executable([X, X])[0], executable([X, 2 * X])[0]
    assert not np.may_share_memory(first, second)
    np.testing.assert_array_equal(first, 2 * X)
    assert len(executable.contexts) == 1


def long_program(size: int = 200_000, rounds: int = 5) -> LoopProgram:
    program = LoopProgram("long")
    before = program.buffer("x", float32, (size,), "input")
    for _ in range(rounds):
        after = program.buffer("t", float32, (size,))
        program.blocks.append(elementwise(after, before, before))
        before = after
    result = program.buffer("y", float32, (size,), "output")
    program.blocks.append(elementwise(result, before))
    return program


def test_several_python_threads(native):
    executable = Executable(long_program(), native=native)
    assert executable.releases
    failures = []

    def work(value: int) -> None:
        x = np.full(200_000, value, np.float32)
        for _ in range(15):
            (y,) = executable([x])
            if not (y == 32 * value).all():
                failures.append(value)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures and len(executable.contexts) <= 4


def test_arguments_live_as_long_as_the_run():
    """Another thread may drop them from the list while the program runs without the GIL."""
    executable = Executable(long_program(300_000, 20))
    stop = threading.Event()
    arguments = [np.ones(300_000, np.float32)]

    def disturb() -> None:
        while not stop.is_set():
            arguments[0] = np.ones(300_000, np.float32)

    worker = threading.Thread(target=disturb)
    worker.start()
    try:
        for _ in range(20):
            assert (executable(arguments)[0] == 2.0**20).all()
    finally:
        stop.set()
        worker.join()


def test_small_programs_keep_the_gil_and_have_one_thread():
    small, large = Executable(addition()), Executable(long_program())
    assert not small.releases and small.threads == 1 and large.releases


def parallel_program(size: int) -> LoopProgram:
    program = LoopProgram("parallel")
    x = program.buffer("x", float32, (size,), "input")
    program.blocks = [
        elementwise(program.buffer("y", float32, (size,), "output"), x, x, kind="parallel")
    ]
    return program


def test_how_many_threads():
    with settings.threads(3):
        assert Executable(parallel_program(500_000)).threads == 3
        assert Executable(parallel_program(100)).threads == 1
        assert Executable(long_program()).threads == 1  # nothing to share

        def chosen(size: int, rounds: int) -> int:
            program = parallel_program(size)
            program.blocks = [Repeat(Axis("r", rounds), program.blocks)]
            return module._effort(program, None)[1]

        assert chosen(20_000, 50) == 3
        assert chosen(100, 5000) == 1  # more barriers than work
    with settings.threads(1):
        assert Executable(parallel_program(500_000)).threads == 1


def test_not_enough_memory(native):
    huge = addition((1 << 44,))
    executable = Executable(huge, native=native)
    one = np.broadcast_to(np.float32(1), (1 << 44,))
    with pytest.raises(ResourceExhaustedError, match="not enough memory"):
        executable([one, one])
    state = LoopProgram("temporary")
    x = state.buffer("x", float32, (1,), "input")
    v = state.buffer("v", float32, (1,), "state")
    t = state.buffer("t", float32, (1 << 44,))
    y = state.buffer("y", float32, (1,), "output")
    state.blocks = [elementwise(v, v, x), elementwise(t, x), elementwise(y, t, x)]
    held = np.zeros(1, np.float32)
    with pytest.raises(ResourceExhaustedError):
        Executable(state, native=native)([np.ones(1, np.float32)], [held])
    assert held[0] == 0  # nothing was written


def test_a_plan_outlives_another_one_of_the_same_buffers():
    """Profiling plans a program's buffers again, for one thread: later frames must not mind."""
    program = LoopProgram("scratch")
    for _ in range(2):
        program.buffer("s", float32, (5,), "scratch")
    x = program.buffer("x", float32, (1,), "input")
    y = program.buffer("y", float32, (1,), "output")
    stores, value = [], load(x, 0)
    for scratch in program.buffers[:2]:
        stores.append(Store(scratch, 0, value))
        value = value + load(scratch, 0)
    program.blocks = [Kernel("k", [*stores, Store(y, 0, value)])]
    executable = Executable(program, threads=4)
    one = np.ones(1, np.float32)
    executable([one])
    Executable(program, threads=1)([one])
    executable._add_frame()
    first, second = [frame.table - frame.arena.ctypes.data for frame in executable.contexts]
    assert first[:2].tolist() == second[:2].tolist()
    assert abs(first[0] - first[1]) == 4 * 64


def test_results_that_do_not_fit_in_memory_leave_no_mark():
    program = LoopProgram("results")
    x = program.buffer("x", float32, (1,), "input")
    v = program.buffer("v", float32, (1,), "state")
    y = program.buffer("y", float32, (1 << 44,), "output")
    program.blocks = [elementwise(v, v, x), elementwise(y, x)]
    executable, held = Executable(program), np.zeros(1, np.float32)
    for _ in range(3):
        with pytest.raises(ResourceExhaustedError):
            executable([np.ones(1, np.float32)], [held])
    assert held[0] == 0 and len(executable.contexts) <= 1


def test_everything_goes_with_the_executable(native):
    executable = Executable(long_program(), native=native)
    x = np.ones(200_000, np.float32)
    executable([x])
    frame = executable.contexts[0]
    gone = [weakref.ref(thing) for thing in (executable, frame, frame.arena, executable.code)]
    gc.disable()
    try:
        del executable, frame
        assert [ref() for ref in gone] == [None] * 4  # at once: there is no circle
    finally:
        gc.enable()


def test_errors_leave_no_circle():
    def function(x):
        raise ValueError("no")

    executable = hosted(function)
    with pytest.raises(ValueError):
        executable([np.ones(4, np.float32)], [np.zeros((), np.float32)])
    gone = weakref.ref(executable)
    gc.collect()
    del executable
    assert gone() is None


def test_references_are_counted_right():
    import sys

    executable = Executable(long_program(30_000))
    small = Executable(addition())
    x, big = X.copy(), np.ones(30_000, np.float32)
    counts = [sys.getrefcount(thing) for thing in (x, big, x.dtype, None, False)]
    for _ in range(50):
        small([x, x])
        executable([big])
        small.enter([x], [])  # declined
    after = [sys.getrefcount(thing) for thing in (x, big, x.dtype, None, False)]
    assert all(abs(b - a) < 20 for a, b in zip(counts, after))


def test_a_key_saves_emission(tmp_path, monkeypatch):
    with settings.cache(str(tmp_path / "cache")):
        first = Executable(addition(), key="addition of (2, 3)")
        for name in ("parse", "optimize", "CompileWorkers"):
            monkeypatch.setattr(jit, name, None)
        monkeypatch.setattr(emit, "emit_modules", None)
        second = Executable(addition(), key="addition of (2, 3)")
        for executable in (first, second):
            np.testing.assert_array_equal(executable([X, X])[0], 2 * X)
        with pytest.raises(TypeError):
            Executable(addition(), key="another")


@pytest.mark.parametrize("linker", ["ours", "LLVM's"])
def test_modules_compiled_at_the_same_time(linker, tmp_path, monkeypatch):
    """Kernels are in several modules, @run calls them all; they are kept as one."""
    monkeypatch.setattr(emit, "MODULE_TEXT", 1)
    monkeypatch.setattr(jit.thread_pool, "available_cores", lambda: 3)
    if linker == "LLVM's":
        monkeypatch.setattr(elf, "works", lambda: False)
    program = LoopProgram("several")
    before = program.buffer("x", float32, (2, 3), "input")
    for size in range(1, 6):  # kernels that are not the same
        kind = "output" if size == 5 else "temporary"
        after = program.buffer(f"t{size}", float32, (2, 3), kind)
        i = Axis("i", 6)
        value = load(before, i) * const(float(size), float32)
        program.blocks.append(Kernel("k", [For(i, [Store(after, i, value)], "parallel")]))
        before = after
    texts: list[str] = []
    emit.emit_modules(program, 32, None, texts.append)
    assert [text.count("define void @kernel") for text in texts] == [1] * 5
    assert ["@run" in text for text in texts] == [False] * 4 + [True]
    with settings.cache(str(tmp_path / "cache")):
        first = Executable(program, key="several")
        for name in ("parse", "optimize", "CompileWorkers"):
            monkeypatch.setattr(jit, name, None)
        second = Executable(program, key="several")
        for executable in (first, second):
            np.testing.assert_array_equal(executable([X])[0], 120 * X)


def test_what_is_joined_comes_apart_again():
    for objects in ([b"one"], [b"one", b"", b"three" * 100]):
        assert code.split_objects(code.join_objects(objects)) == objects


def test_the_module_is_there_to_look_at():
    assert "define void @run" in generate.module_text(addition())


def test_where_arrays_are_not_as_expected(monkeypatch):
    """On a Python whose objects begin otherwise, calls are made by Python."""
    monkeypatch.setattr(dispatch, "works", lambda: False)
    executable = Executable(addition())
    assert not executable.native
    np.testing.assert_array_equal(executable([X, X])[0], 2 * X)


def test_indices_as_numbers_beyond_32_bits():
    program = LoopProgram("far")
    y = program.buffer("y", float64, (3,), "output")
    axis = Axis("i", 3)
    value = number(Index.of(axis) * (1 << 40), float64)
    program.blocks = [Kernel("far", [For(axis, [Store(y, axis, value)])])]
    np.testing.assert_array_equal(Executable(program)([])[0], np.arange(3) * 2.0**40)
