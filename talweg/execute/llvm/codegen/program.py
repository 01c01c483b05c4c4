"""Code generation of a loop program: the function @run, which calls a function per kernel.

    void @run(ptr %buffers, i64 %thread, i64 %threads, ptr %context)

All threads run it at once.  Each kernel is a function of its own with a `noalias` parameter for
each buffer, which tells LLVM that stores to one leave loads of the others as they are.  Kernels
that do the same with other buffers (those of equal layers, say) are one function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.execute.llvm.codegen import interrupts
from talweg.execute.llvm.codegen.kernel import KernelEmitter
from talweg.execute.llvm.codegen.stacks import Stacks
from talweg.lower.buffer_assignment import round_up
from talweg.lower.ir.index import Axis
from talweg.lower.ir.loops import (
    OF_THREADS,
    Buffer,
    Fill,
    For,
    Grow,
    Host,
    If,
    Kernel,
    LoopProgram,
    Repeat,
    stacks,
)
from talweg.lower.ir.printer import kernel_key
from talweg.lower.ir.visitors import root_of

TURN = 100.0  # what a turn of a repeat takes besides its kernels
MODULE_TEXT = 50_000  # characters of kernels with which a module is full
LONG_RUN = 100_000  # characters of @run, above which it is made without optimization
QUICK = "; only calls of kernels\n"  # how a module begins that is (`link/jit.py`)
ALL_THREADS = "i64 %thread, i64 %threads"  # this thread's number, and of how many
ONE_THREAD = "i64 0, i64 1"
DECLARATIONS = """declare void @talweg_barrier(ptr, i64, i64)
declare i64 @talweg_next(ptr, i64)
declare i32 @talweg_host(ptr, i64)
declare void @talweg_poll(ptr, i64)
declare ptr @talweg_move(ptr, ptr, i64)
declare ptr @talweg_set(ptr, i32, i64)"""
WAIT = """
; wait for the others; whether to leave
define internal i1 @talweg_wait(ptr %context, i64 %thread, i64 %threads) #0 {
  %many = icmp ugt i64 %threads, 1
  br i1 %many, label %yes, label %no
yes:
  call void @talweg_barrier(ptr %context, i64 %thread, i64 %threads)
  br label %no
no:
  %failed = load atomic i32, ptr %context acquire, align 4
  %leave = icmp ne i32 %failed, 0
  ret i1 %leave
}
"""
NEXT = """
; the first iteration of the next piece for this thread: of the first one, if it is alone
define internal i64 @talweg_piece(ptr %context, i64 %threads, i64 %loop, i64 %size) alwaysinline {
  %many = icmp ugt i64 %threads, 1
  br i1 %many, label %yes, label %no
yes:
  %number = call i64 @talweg_next(ptr %context, i64 %loop)
  %first = mul i64 %number, %size
  ret i64 %first
no:
  ret i64 0
}

; the iteration after %last
define internal i64 @talweg_turn(ptr %context, i64 %threads, i64 %loop, i64 %size, i64 %last)
    alwaysinline {
  %next = add nuw nsw i64 %last, 1
  %many = icmp ugt i64 %threads, 1
  %place = urem i64 %next, %size
  %ends = icmp eq i64 %place, 0
  %other = and i1 %many, %ends
  br i1 %other, label %yes, label %no
yes:
  %number = call i64 @talweg_next(ptr %context, i64 %loop)
  %first = mul i64 %number, %size
  ret i64 %first
no:
  ret i64 %next
}
"""


def emit(program: LoopProgram, vector_bytes: int = 32, library: Any = None) -> str:
    """Emit one module; `vector_bytes` is 16 for SSE and NEON, 32 for AVX2, 64 for AVX-512.

    library: gives the symbols of mathematical functions (`vector_math.Library`).
    """
    found: list[str] = []
    ProgramEmitter(program, vector_bytes, library).modules(found.append, float("inf"))
    return found[0]


def emit_modules(
    program: LoopProgram, vector_bytes: int, library: Any, add: Callable[[str], None]
) -> None:
    """Emit modules one by one to `add`, so that compilation overlaps.

    The last one has @run, which calls the kernels in all of them.
    """
    ProgramEmitter(program, vector_bytes, library).modules(add, MODULE_TEXT)


class ProgramEmitter:
    """The emitter of blocks."""

    def __init__(self, program: LoopProgram, vector_bytes: int, library: Any):
        self.program, self.vector_bytes, self.library = program, vector_bytes, library
        self.numbers = {buffer: number for number, buffer in enumerate(program.buffers)}
        self.functions: dict[str, str] = {}  # the name of each text, without its name
        self.emitted: dict[str, tuple] = {}  # `kernel_key` -> what `kernel_function` needs
        self.share: dict[str, str] = {}  # those that are in no module yet
        self.declarations: list[str] = []  # of those that are
        self.add: Any = None  # what takes modules
        self.full: float = 0  # from how many characters on one is full
        self.lines: list[str] = []
        self.counters: list[str] = []  # of the repeats, made when @run begins
        self.turns: dict[Axis, str] = {}  # of the repeats around
        self.declared: dict[str, str] = {}
        self.count = self.hosts = 0
        self.places = [self.numbers[stack] for stack in stacks(program)]
        self.pending = False  # thread 0 has run something the others have not waited for
        self.asks = True  # whether it may be given up for a signal: no variable was written
        self.asked = False  # whether it may be since the threads last waited
        self.effort = 0.0  # of kernels since that was last counted
        self.alone = False  # within a parallel repeat, each thread runs kernels as if it were alone

    @property
    def stacks(self) -> Stacks:
        """The emitter of stacks' code, made on demand to avoid a reference cycle."""
        return Stacks(self, self.places)

    def modules(self, add: Callable[[str], None], full: float) -> None:
        """Emit the program in modules, each of which goes to `add`."""
        self.add, self.full = add, full
        self.blocks(self.program.blocks)
        self.wait()
        self.stacks.give_back()
        run = self.run()
        is_long = len(run) > LONG_RUN and full != float("inf")
        if is_long and self.share:
            self.cut()
        linkage = "" if self.declarations else "internal "
        text = self.module(self.share, linkage, [*self.declarations, run])
        add(QUICK + text if is_long else text)
        self.add = None

    def cut(self) -> None:
        """End a module, whose functions others call."""
        self.declarations += [
            f"declare void @{name}{text.partition(' #0 {')[0]}" for text, name in self.share.items()
        ]
        self.add(self.module(self.share, "", []))
        self.share = {}

    def function(self, text: str) -> str:
        """Return the name of the function with a text, emitted now or later."""
        name = self.functions.get(text)
        if name is None:
            if sum(map(len, self.share)) >= self.full:
                self.cut()
            name = self.functions[text] = self.share[text] = f"kernel{len(self.functions)}"
        return name

    def run(self) -> str:
        """Emit the function @run."""
        body, counters = "\n".join(self.lines), "\n".join(self.counters)
        head = "define void @run(ptr %buffers, i64 %thread, i64 %threads, ptr %context) {\nentry:\n"
        first = "  %first = icmp eq i64 %thread, 0"
        return f"{head}{first}\n{counters}\n{body}\n  ret void\nleave:\n  ret void\n}}"

    def module(self, functions: dict[str, str], linkage: str, more: list[str]) -> str:
        """Return the text of a module of some kernels, and of more text."""
        texts = [*functions, *more]
        parts = [
            DECLARATIONS,
            *self.declared.values(),
            *[f"define {linkage}void @{name}{text}" for text, name in functions.items()],
            WAIT,
            NEXT if any("@talweg_piece" in text for text in texts) else "",
            interrupts.leave_text() if any("@talweg_leave" in text for text in texts) else "",
            *more,
            "attributes #0 = { noinline nounwind }",
            self.library.text() if self.library is not None else "",
        ]
        return "\n".join(parts)

    def fresh(self) -> int:
        """Return a new number."""
        self.count += 1
        return self.count

    def line(self, text: str) -> None:
        """Emit an instruction of @run."""
        self.lines.append("  " + text)

    def wait(self) -> None:
        """Emit a barrier, if statements ran since the last one."""
        if self.pending:
            self.barrier()

    def barrier(self, threads: str = ALL_THREADS) -> None:
        """Emit a barrier of all threads, or of one alone, which leave there if asked to."""
        number = self.fresh()
        self.line(f"%w{number} = call i1 @talweg_wait(ptr %context, {threads})")
        self.leave_if(f"%w{number}")
        self.pending = self.asked = False

    def leave_if(self, flag: str) -> None:
        """Emit a return where a flag holds."""
        number = self.fresh()
        self.line(f"br i1 {flag}, label %leave, label %stay{number}")
        self.lines.append(f"stay{number}:")

    def ask(self) -> None:
        """Emit a safepoint: count the work since the last one, handle signals, and leave."""
        if self.asks and self.effort:
            number, given = self.fresh(), f"ptr %context, i64 %thread, i64 {int(self.effort) + 1}"
            self.line(f"%l{number} = call i1 @talweg_leave({given})")
            self.leave_if(f"%l{number}")
            self.asked = True
            self.effort = 0.0

    def blocks(self, blocks: list) -> None:
        """Emit blocks in order."""
        for block in blocks:
            if self.asks and interrupts.writes_state(block):
                if self.asked:
                    self.barrier()
                self.asks = False
            kind = type(block)
            if kind is Kernel:
                self.kernel(block)
            elif kind is Host:
                self.host()
            elif kind is Grow:
                self.stacks.grow(block)
            elif kind is Fill:
                self.stacks.fill(block)
            elif kind is Repeat:
                self.repeat(block)
            elif kind is If:
                self.choose(block)
            else:
                raise TypeError(f"not a block: {block!r}")

    # ---------------------------------------------------------------- blocks

    def kernel(self, kernel: Kernel) -> None:
        """Emit a call of the kernel's function, by thread 0 only if nothing is parallel."""
        if self.alone:
            self.kernel_alone(kernel)
            return
        parallel = any(type(part) is For and part.kind == "parallel" for part in kernel.body)
        if parallel:
            self.wait()
        name, buffers, asked, effort = self.kernel_function(kernel)
        self.effort += effort
        number = self.fresh()
        if not parallel:
            self.line(f"br i1 %first, label %only{number}, label %done{number}")
            self.lines.append(f"only{number}:")
        self.call_kernel(name, buffers, ALL_THREADS)
        if not parallel:
            self.line(f"br label %done{number}")
            self.lines.append(f"done{number}:")
        self.pending = True
        if self.effort > interrupts.OFTEN:
            self.ask()
        if parallel or asked or self.asked:
            self.barrier()

    def kernel_alone(self, kernel: Kernel) -> None:
        """Emit a call of a kernel that runs all its iterations in this thread."""
        name, buffers, _, effort = self.kernel_function(kernel)
        self.effort += effort
        self.call_kernel(name, buffers, ONE_THREAD)
        self.barrier(ONE_THREAD)  # leaves if the kernel was given up

    def call_kernel(self, name: str, buffers: list[Buffer], threads: str) -> None:
        """Emit the call of a kernel's function; `threads`: this thread's number, and how many."""
        arguments = [threads, "ptr %context"]
        arguments += [f"i64 {turn}" for turn in self.turns.values()]
        arguments += [f"ptr {self.pointer(buffer)}" for buffer in buffers]
        self.line(f"call void @{name}({', '.join(arguments)})")

    def kernel_function(self, kernel: Kernel) -> tuple[str, list[Buffer], bool, float]:
        """Return a kernel's function, its arguments, whether it may leave, and its effort.

        Of kernels that do the same with other buffers only the first is emitted: that takes twenty
        times as long as the key by which the others are recognized.
        """
        key, met = kernel_key(kernel, list(self.turns))
        kernel.key = None  # nobody else will ask, and the program stays
        key = f"{key}\n{self.asks}"
        known = self.emitted.get(key)
        if known is None:
            emitter = KernelEmitter(self.library, self.declared, self.vector_bytes)
            text, buffers = emitter.function(kernel, list(self.turns), self.asks)
            order = [met.index(buffer) for buffer in buffers]
            asked, effort = "@talweg_leave" in text, emitter.effort
            emitter.forget()
            known = self.emitted[key] = self.function(text), order, asked, effort
        name, order, asked, effort = known
        return name, [met[position] for position in order], asked, effort

    def pointer(self, buffer: Buffer) -> str:
        """Return the start of a buffer (for private and scratch ones: this thread's)."""
        number = self.fresh()
        place = f"getelementptr ptr, ptr %buffers, i64 {self.numbers[buffer]}"
        self.line(f"%a{number} = {place}")
        self.line(f"%p{number} = load ptr, ptr %a{number}, align 8")
        whole = root_of(buffer)
        if whole.kind not in OF_THREADS:
            return f"%p{number}"
        size = round_up(whole.nbytes)
        self.line(f"%o{number} = mul i64 %thread, {size}")
        self.line(f"%s{number} = getelementptr i8, ptr %p{number}, i64 %o{number}")
        return f"%s{number}"

    def host(self) -> None:
        """Emit a host call by thread 0; all leave if it fails."""
        host = self.hosts
        self.hosts += 1
        self.call_host(host)

    def call_host(self, host: int) -> None:
        """Emit a call of Python by thread 0 with a number; all leave if it fails."""
        number = self.fresh()
        self.line(f"br i1 %first, label %only{number}, label %done{number}")
        self.lines.append(f"only{number}:")
        self.line(f"%r{number} = call i32 @talweg_host(ptr %context, i64 {host})")
        self.line(f"br label %done{number}")
        self.lines.append(f"done{number}:")
        self.barrier()

    def value(self, buffer: Buffer, kind: str) -> str:
        """Load the one element of a buffer, the same for all threads."""
        self.wait()
        number = self.fresh()
        pointer = self.pointer(buffer)
        self.line(f"%x{number} = load {kind}, ptr {pointer}, align {buffer.dtype.size}")
        self.barrier()  # its memory may be written to next
        return f"%x{number}"

    def repeat(self, block: Repeat) -> None:
        """Emit a loop of blocks, whose turns every thread counts."""
        if block.parallel:
            self.parallel_repeat(block)
            return
        again = not self.alone and block.flag is None and leaves_pending(block.body)
        if not again:
            self.wait()
        number = self.fresh()
        counter, turn = f"%c{number}", f"%i{number}"
        self.counters.append(f"  {counter} = alloca i64, align 8")
        self.line(f"store i64 0, ptr {counter}, align 8")
        self.line(f"br label %test{number}")
        self.lines.append(f"test{number}:")
        self.pending = again
        self.line(f"{turn} = load i64, ptr {counter}, align 8")
        self.line(f"%m{number} = icmp ult i64 {turn}, {block.axis.extent}")
        self.line(f"br i1 %m{number}, label %next{number}, label %after{number}")
        self.lines.append(f"next{number}:")
        if block.flag is not None:
            flag = self.value(block.flag, "i8")
            self.line(f"%t{number} = icmp ne i8 {flag}, 0")
            self.line(f"br i1 %t{number}, label %body{number}, label %after{number}")
            self.lines.append(f"body{number}:")
        before, self.effort = self.effort, TURN
        self.turns[block.axis] = turn
        self.blocks(block.body)
        del self.turns[block.axis]
        self.ask()
        self.effort = before
        if not again:
            self.wait()
        self.line(f"%n{number} = add i64 {turn}, 1")
        self.line(f"store i64 %n{number}, ptr {counter}, align 8")
        self.line(f"br label %test{number}")
        self.lines.append(f"after{number}:")
        self.pending = again

    def parallel_repeat(self, block: Repeat) -> None:
        """Emit a loop whose turns are dealt out: each goes to the thread that is free."""
        self.barrier()  # also to have the number of the next turn be 0
        number = self.fresh()
        counter, turn = f"%c{number}", f"%i{number}"
        given = "ptr %context, i64 %threads, i64 0, i64 1"
        self.counters.append(f"  {counter} = alloca i64, align 8")
        self.line(f"%b{number} = call i64 @talweg_piece({given})")
        self.line(f"store i64 %b{number}, ptr {counter}, align 8")
        self.line(f"br label %test{number}")
        self.lines.append(f"test{number}:")
        self.line(f"{turn} = load i64, ptr {counter}, align 8")
        self.line(f"%m{number} = icmp ult i64 {turn}, {block.axis.extent}")
        self.line(f"br i1 %m{number}, label %body{number}, label %after{number}")
        self.lines.append(f"body{number}:")
        before, self.effort, self.alone = self.effort, TURN, True
        self.turns[block.axis] = turn
        self.blocks(block.body)
        del self.turns[block.axis]
        self.ask()
        self.effort, self.alone = before, False
        self.line(f"%n{number} = call i64 @talweg_turn({given}, i64 {turn})")
        self.line(f"store i64 %n{number}, ptr {counter}, align 8")
        self.line(f"br label %test{number}")
        self.lines.append(f"after{number}:")
        self.barrier()

    def choose(self, block: If) -> None:
        """Emit the branch over several lists of blocks."""
        choice = self.value(block.choice, "i32")
        number, last = self.fresh(), len(block.bodies) - 1
        cases = " ".join([f"i32 {case}, label %case{number}_{case}" for case in range(last)])
        self.line(f"switch i32 {choice}, label %case{number}_{last} [{cases}]")
        asked = self.asked
        for case, body in enumerate(block.bodies):
            self.lines.append(f"case{number}_{case}:")
            self.blocks(body)
            self.wait()
            asked = asked or self.asked
            self.line(f"br label %after{number}")
        self.asked = asked
        self.lines.append(f"after{number}:")


def leaves_pending(blocks: list) -> bool:
    """Return whether thread 0 may be ahead of the others after the last of these blocks."""
    if not blocks:
        return False
    last = blocks[-1]
    if type(last) is Repeat:
        return not last.parallel and last.flag is None and leaves_pending(last.body)
    if type(last) is Kernel:
        return not any(type(part) is For and part.kind == "parallel" for part in last.body)
    return False
