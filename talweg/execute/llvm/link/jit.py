"""LLVM IR to machine code: `compile_texts` optimizes modules and emits object files.

Importing this loads LLVM, which takes 50 MB; `code.py` does so when something must be compiled.

The small code model is asked for: constants are operands of instructions.  It wants the sections of
an object near each other: `elf.py` sees to it, and JITLink, which links where that cannot (a block
of memory for each object; calls to anything else go through a table).  An LLJIT never forgets the
name of a library (10 kB each), so `_Linker` starts a new one after a while, and the old one goes
with its last library.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from talweg.core import forks
from talweg.core.room import check_room
from talweg.execute.background import background
from talweg.execute.llvm import halves, processor
from talweg.execute.llvm.codegen.program import QUICK
from talweg.execute.llvm.runtime import thread_pool
from talweg.execute.llvm.runtime.matrix_tiles import request_tiles

LIBRARIES_FOR_EACH_LINKER = 64
MOST_THREADS = 8  # that compile at the same time
RUNS = 79  # of passes with one builder: as many callbacks as LLVM's list of them holds then
HELPER = "talweg compiles"  # the name of such a thread

lock = threading.RLock()  # held while LLVM works: llvmlite's own would stay taken in a child
forks.around(lock)


class _Target:
    """The target processor as LLVM sees it."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.triple = llvm.get_process_triple()
        able = llvm.get_host_cpu_features()
        chosen = processor.choose_processor(
            llvm.get_host_cpu_name(), self.triple, able, able.flatten()
        )
        self.cpu, self.features, self.vector_bytes, self.has_halves = chosen[:4]
        self.matrix_tiles, self.rounds_bfloat16 = chosen.matrix_tiles, chosen.rounds_bfloat16
        self.machine = self.make()
        self.quick_machine = self.make(opt=0)
        self.data_layout = str(self.machine.target_data)
        self.helpers: list[llvm.TargetMachine] = []  # for modules beside the first
        self._passes, self._runs = None, 0

    def make(self, opt: int = 2) -> llvm.TargetMachine:
        """Make a target machine."""
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt, reloc="pic", codemodel="small", jit=True
        )

    def machines(self, count: int) -> list[llvm.TargetMachine]:
        """Return the target machines, one for each module compiled concurrently."""
        while len(self.helpers) + 1 < count:
            self.helpers.append(self.make())
        return [self.machine, *self.helpers[: count - 1]]

    def passes(self) -> llvm.PassBuilder:
        """Return the pass manager, renewed after `RUNS` runs.

        Each run leaves its callbacks in the builder, so that the next takes 2 microseconds longer,
        and llvmlite 0.50 never deletes a builder's callbacks: 1,472 bytes and 32 for each run.
        """
        builder = self._passes
        if builder is None or self._runs >= RUNS:
            options = llvm.create_pipeline_tuning_options()
            builder = self._passes = llvm.create_pass_builder(self.machine, options)
            self._runs = 0
        self._runs += 1
        return builder


_targets: dict[str, _Target] = {}


def target() -> _Target:
    """Return the settings' target; LLVM is initialized on first use."""
    name = processor.name()
    found = _targets.get(name)
    if found is None:
        with lock:
            found = _targets.get(name)
            if found is None:
                found = _targets[name] = _Target()
    return found


def vector_bytes() -> int:
    """Return the width of vectors in bytes."""
    return target().vector_bytes


def rounds_bfloat16() -> bool:
    """Return whether the processor has an instruction that rounds to bfloat16."""
    return target().rounds_bfloat16


def matrix_tiles() -> bool:
    """Return whether code may use matrix registers: the processor has them, and grants them."""
    return target().matrix_tiles and request_tiles()


def fingerprint() -> str:
    """Return the fingerprint of this LLVM and of its target."""
    found = target()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{llvmlite.__version__} {version} {found.triple} {found.cpu} {found.features}"


# Loops are emitted as they shall be: O2 makes them no faster (its unrolling does, by 3% where
# there is next to nothing in them), and takes three times as long; combining instructions takes a
# tenth more, and is done again when they are chosen.
ROOM = 64  # bytes that compiling a character of text takes at most, about
PASSES = ["always_inliner", "simplify_cfg", "global_dead_code_eliminate"]


def optimize(module: llvm.ModuleRef, made_for: _Target | None = None) -> None:
    """Run the passes."""
    passes = llvm.create_new_module_pass_manager()
    try:
        for name in PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, (made_for or target()).passes())
    finally:  # llvmlite 0.50 leaves it to nobody: its class inherits the wrong `_dispose`
        llvm.NewPassManager._dispose(passes)
        passes.detach()


def parse(text: str, made_for: _Target | None = None) -> llvm.ModuleRef:
    """Parse a module in a context of its own, for a target, the current one by default.

    MemoryError where there is little room: LLVM would end the process.
    """
    check_room(ROOM * len(text))
    found = made_for or target()
    if not found.has_halves and halves.TYPE in text:
        text += halves.TEXT
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = found.triple, found.data_layout
    return module


def _make_from_module(text: str, make: Callable[[llvm.ModuleRef], Any]) -> Any:
    """Return `make` of the optimized module, which is released with the lock."""

    def work() -> Any:
        module = parse(text)
        optimize(module)
        return make(module)

    with lock:
        return work()


def compile_texts(texts: Sequence[str], quick: bool = False) -> list[bytes]:
    """Return the object file of each module."""
    with CompileWorkers(quick) as workers:
        for number, text in enumerate(texts):
            workers.add(number, text)
        found = workers.finish()
    return [found[number] for number in range(len(texts))]


class CompileWorkers:
    """The worker threads that compile modules: `add` queues, `finish` returns them by number.

    All but the last module are for helpers, who work on one while the next is made; `finish` helps
    them.  LLVM spends seven eighths of its time on instructions, at which several can be.  `quick`:
    modules whose speed does not matter.
    """

    def __init__(self, quick: bool = False):
        self.quick, self.target = quick, target()
        self.last: tuple[int, str] | None = None
        self.waiting: SimpleQueue = SimpleQueue()
        self.texts: dict[int, str] = {}
        self.found: dict[int, bytes] = {}
        self.helpers: list[threading.Thread] = []

    def __enter__(self) -> CompileWorkers:
        lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Empty):  # left by an error
            while True:
                self.waiting.get_nowait()
        for _helper in self.helpers:
            self.waiting.put(None)
        for helper in self.helpers:
            helper.join()
        lock.release()

    def add(self, number: int, text: str) -> None:
        """Add a module."""
        background.check()
        if self.last is not None:
            self.waiting.put(self.last)
            self._help()
        self.texts[number] = text
        self.last = number, text

    def _help(self) -> None:
        """Start another worker, if there are cores for more."""
        count = len(self.helpers) + 1
        cores = thread_pool.available_cores() - background.has_company()  # one is the program's
        if count < min(cores, MOST_THREADS):
            machine = self.target.machines(count + 1)[count]
            helper = threading.Thread(target=self._work, args=(machine,), name=HELPER)
            with contextlib.suppress(RuntimeError):  # there may be no more threads
                helper.start()
                self.helpers.append(helper)

    def _work(self, machine: llvm.TargetMachine) -> None:
        """Compile queued modules, up to a None."""
        while (task := self.waiting.get()) is not None:
            with contextlib.suppress(Exception):  # `finish` tries again, and raises it
                self.found[task[0]] = self._compile(task[1], machine)

    def _compile(self, text: str, machine: llvm.TargetMachine) -> bytes:
        module = parse(text, self.target)
        optimize(module, self.target)
        return _emit_object(machine, module)

    def finish(self) -> dict[int, bytes]:
        """Return the object files, when all are done."""
        machine = self.target.quick_machine if self.quick else self.target.machine
        if self.last is not None and self.last[1].startswith(QUICK):
            number, text = self.last
            self.found[number] = self._compile(text, self.target.quick_machine)
        elif self.last is not None:
            self.waiting.put(self.last)
        with contextlib.suppress(Empty):
            while True:
                number, text = self.waiting.get_nowait()
                background.check()
                self.found[number] = self._compile(text, machine)
        for _helper in self.helpers:
            self.waiting.put(None)
        for helper in self.helpers:
            helper.join()
        self.helpers = []
        for number, text in self.texts.items():
            if number not in self.found:
                self.found[number] = self._compile(text, machine)
        return self.found


def _emit_object(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """Emit a module's object without the interpreter's lock, which llvmlite would hold.

    LLVM itself wants that only for calls that share a context or a machine.
    """
    with llvm.ffi.OutputString() as problem:
        made = _emit_function()(machine, module, 1, problem)
        if not made:
            raise RuntimeError(str(problem))
    library = llvm.ffi.lib
    start, size = library.LLVMPY_GetBufferStart(made), library.LLVMPY_GetBufferSize(made)
    try:
        return ctypes.string_at(start, size)
    finally:
        library.LLVMPY_DisposeMemoryBuffer(made)


@functools.cache
def _emit_function() -> Any:
    guarded = llvm.ffi.lib.LLVMPY_TargetMachineEmitToMemory
    free = ctypes.CDLL(llvm.ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
    free.argtypes, free.restype = guarded.argtypes, guarded.restype
    return free


def optimize_module(text: str) -> str:
    """Return a module after the passes, for display."""
    return _make_from_module(text, str)


def assembly(text: str) -> str:
    """Return the instructions of a module, for display."""
    return _make_from_module(text, target().machine.emit_assembly)


class _Linker:
    """A linker for some libraries; it lives as long as the last of them."""

    current: _Linker | None = None

    def __init__(self) -> None:
        machine = target().make()
        self.jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
        self.count = 0

    @staticmethod
    def take() -> _Linker:
        """Return a linker with room for one more library."""
        found = _Linker.current
        if found is None or found.count == LIBRARIES_FOR_EACH_LINKER:
            found = _Linker.current = _Linker()
        found.count += 1
        return found


class Linked:
    """Object files linked by LLVM, where `elf.py` does not support them."""

    def __init__(self, objects: Sequence[bytes], symbols: Mapping[str, int], exports: tuple):
        self._library: llvm.ResourceTracker | None = None
        self._linker: _Linker | None = None
        with lock:
            self._linker = _Linker.take()
            builder = llvm.JITLibraryBuilder().add_current_process()
            for each in objects:
                builder.add_object_img(each)
            for name, address in symbols.items():
                builder.import_symbol(name, address)
            for name in exports:
                builder.export_symbol(name)
            self._library = builder.link(self._linker.jit, f"talweg{self._linker.count}")
        self.addresses = {name: self._library[name] for name in exports}

    def close(self) -> None:
        """Free the memory; no thread may execute it."""
        with lock:
            if self._library is not None:
                self._library.close()
            self._library = self._linker = None

    def __del__(self, shutting_down: Callable = llvm.common._is_shutting_down) -> None:
        if not shutting_down():
            self.close()
