"""Modules become code in memory, from several threads at once, and go when their owner does."""

from __future__ import annotations

import ctypes
import gc
import platform
import resource
import sys
import threading
from collections.abc import Callable

import pytest

from talweg.core import settings
from talweg.execute.llvm.link import code, jit

ADD = """
define i32 @run(i32 %x) {{
  %y = add i32 %x, {number}
  ret i32 %y
}}
"""
LOOP = """
define void @run(ptr %x) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at = getelementptr float, ptr %x, i64 %i
  %v = load <8 x float>, ptr %at, align 4
  %w = fmul <8 x float> %v, splat (float {number}.0)
  store <8 x float> %w, ptr %at, align 4
  %next = add i64 %i, 8
  %more = icmp ult i64 %next, 1024
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@pytest.fixture(autouse=True)
def no_cache():
    with settings.cache("off"):
        yield


def call(made: code.LoadedCode, *arguments: int) -> int:
    kinds = [ctypes.c_int32] * len(arguments)
    return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(made.addresses["run"])(*arguments)


def test_it_runs():
    assert call(code.compile_module(ADD.format(number=3)), 4) == 7


def test_symbols_and_functions_of_the_c_library():
    seen = []
    callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(lambda x: seen.append(x) or x * 2)
    text = """
declare i32 @ours(i32)
declare double @fmod(double, double)
define i32 @run(i32 %x) {
  %y = call i32 @ours(i32 %x)
  %z = sitofp i32 %y to double
  %w = call double @fmod(double %z, double 10.0)
  %v = fptosi double %w to i32
  ret i32 %v
}"""
    made = code.compile_module(text, {"ours": ctypes.cast(callback, ctypes.c_void_p).value or 0})
    assert call(made, 17) == 4 and seen == [17]


def test_what_is_not_there_is_an_error():
    text = "declare void @nowhere()\ndefine void @run() {\n  call void @nowhere()\n  ret void\n}"
    with pytest.raises(RuntimeError, match="nowhere"):
        code.compile_module(text)
    with pytest.raises(RuntimeError):
        code.compile_module("define void @run() {\n  nonsense\n}")


def test_one_module_does_not_see_another():
    codes = [code.compile_module(ADD.format(number=n)) for n in range(5)]
    assert [call(made, 10) for made in codes] == [10, 11, 12, 13, 14]


def test_several_exports():
    text = "define i32 @one() {\n  ret i32 1\n}\ndefine i32 @two() {\n  ret i32 2\n}"
    made = code.compile_module(text, exports=("one", "two"))
    results = [ctypes.CFUNCTYPE(ctypes.c_int32)(made.addresses[n])() for n in ("one", "two")]
    assert results == [1, 2]


def test_constants_are_near_the_code():
    found = jit.assembly(LOOP.format(number=7))
    assert "movabs" not in found
    assert "%rip" in found or platform.machine() != "x86_64"


def test_the_loop_vectorizer_is_off():
    text = LOOP.format(number=7).replace("<8 x float>", "float").replace("splat (float 7.0)", "7.0")
    assert "x float>" not in jit.optimize_module(text.replace("i64 %i, 8", "i64 %i, 1"))


def test_threads_may_compile_at_the_same_time():
    failures = []

    def work(start: int) -> None:
        for number in range(start, start + 12):
            made = code.compile_module(ADD.format(number=number))
            if call(made, 1) != number + 1:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def most_memory() -> int:
    """The most kilobytes of memory that were in use at any time."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most


def growth(work: Callable[[int], None], count: int) -> int:
    """Kilobytes of memory that `work(count)` leaves behind, the least of three times.

    Memory grows in steps (pages, of 2 MB on some machines); what is lost, is lost each time.
    """
    found = []
    for _ in range(3):
        before = most_memory()
        work(count)
        found.append(most_memory() - before)
    return min(found)


def test_compiling_again_and_again_leaves_no_memory_behind():
    def compile_some(count: int) -> None:
        for number in range(count):
            code.compile_module(ADD.format(number=number))
        gc.collect()

    with settings.cache("off"):
        compile_some(130)  # two linkers have come and gone
        assert growth(compile_some, 130) < 195  # a kilobyte and a half for each


def test_code_loaded_again_and_again_leaves_no_memory_behind():
    (made,) = jit.compile_texts([LOOP.format(number=2)])
    kept = code.LoadedCode(made, {})

    def load_some(count: int) -> None:
        for _ in range(count):
            code.LoadedCode(made, {})

    load_some(300)
    assert growth(load_some, 500) < 341
    array = (ctypes.c_float * 1024)(*([1.5] * 1024))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kept.addresses["run"])(ctypes.addressof(array))
    assert array[0] == array[1023] == 3.0


def test_closing_twice_is_harmless():
    made = code.compile_module(ADD.format(number=1))
    made.close()
    made.close()


@pytest.fixture
def cores(monkeypatch):
    """Sets how many cores `jit` takes the machine to have."""
    return lambda count: monkeypatch.setattr(jit.thread_pool, "available_cores", lambda: count)


def idle():
    """Whether nobody compiles: no thread is left over, and the lock is free."""
    taken: list[bool] = []

    def look():
        taken.append(jit.lock.acquire(blocking=False))
        if taken[0]:
            jit.lock.release()

    looker = threading.Thread(target=look)
    looker.start()
    looker.join()
    return taken == [True] and not [t for t in threading.enumerate() if t.name == jit.HELPER]


def test_code_does_not_depend_on_how_many_threads_make_it(cores):
    texts = [LOOP.format(number=number) for number in range(7)]
    alone = [jit.compile_texts([text])[0] for text in texts]
    for count in (1, 2, 4):
        cores(count)
        assert jit.compile_texts(texts) == alone
        assert code.object_files(lambda add: [add(text) for text in texts]) == alone
    assert idle()


def test_a_module_is_compiled_while_the_next_is_made(cores):
    cores(2)
    compiled = threading.Event()
    crew = jit.CompileWorkers()
    made, crew._compile = crew._compile, lambda *given: (made(*given), compiled.set())[0]
    with crew:
        crew.add(0, LOOP.format(number=0))
        assert not crew.helpers  # there may be no more than one
        crew.add(1, LOOP.format(number=1))
        assert compiled.wait(60) and 0 in crew.found
        assert sorted(crew.finish()) == [0, 1]
    assert idle()


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_what_cannot_be_compiled_is_told_by_the_caller(cores, wrong):
    cores(3)
    texts = [LOOP.format(number=number) for number in range(3)]
    texts[wrong] = "define void @run() {"
    with pytest.raises(RuntimeError, match="more instructions"):
        jit.compile_texts(texts)
    assert idle()


def test_an_error_between_modules_ends_the_helpers(cores):
    cores(3)

    def give(add):
        for number in range(5):
            add(LOOP.format(number=number))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        code.object_files(give)
    assert idle()


def test_without_threads_the_caller_does_it_all(cores, monkeypatch):
    cores(3)

    def start(thread):
        raise RuntimeError("can't start new thread")

    texts = [LOOP.format(number=number) for number in range(4)]
    wanted = jit.compile_texts(texts)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert jit.compile_texts(texts) == wanted


def test_a_builder_of_passes_is_not_used_for_ever():
    """LLVM's keeps something of each run, which makes the next one longer."""
    used = [jit.target().passes() for _ in range(3 * jit.RUNS)]
    assert max(map(used.count, used)) <= jit.RUNS
