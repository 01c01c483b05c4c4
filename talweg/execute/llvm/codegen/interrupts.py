"""Safepoints: compiled code polls for signals there, and leaves (`runtime/interrupts.py`).

Until a program writes its first variable it may be given up at any time.  So up to there, thread 0
counts what is done, in the compiler's own estimate of operations and bytes: between kernels, in
each turn of a repeat, and in the long loops of a kernel.  Where that is more than `OFTEN` it calls
`talweg_poll`.  Variables are written by the last kernels, which do not take long; from the first of
them on nothing is asked, so a program that was given up has changed none.
"""

from __future__ import annotations

from typing import Any

from talweg.execute.llvm.codegen.builder import IRValue
from talweg.execute.llvm.runtime.structures import fill_offsets
from talweg.lower.ir.cost import cost
from talweg.lower.ir.loops import Buffer, For, Host, If, Kernel, Repeat
from talweg.lower.ir.visitors import all_statements, buffers_written, root_of

OFTEN = 20_000_000  # operations and bytes: from one millisecond to fifty
LOOP = 50_000  # so many between two looks at the count in a loop

LEAVE = """
; count what was done; whether to leave
define internal i1 @talweg_leave(ptr %context, i64 %thread, i64 %effort) #0 {
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %count, label %look
count:
  %work.at = getelementptr i8, ptr %context, i64 $context.work$
  %before = load i64, ptr %work.at, align 8
  %now = add i64 %before, %effort
  %much = icmp ugt i64 %now, $OFTEN
  %kept = select i1 %much, i64 0, i64 %now
  store i64 %kept, ptr %work.at, align 8
  br i1 %much, label %ask, label %look
ask:
  call void @talweg_poll(ptr %context, i64 %now)
  br label %look
look:
  %failed = load atomic i32, ptr %context acquire, align 4
  %leave = icmp ne i32 %failed, 0
  ret i1 %leave
}
"""


def leave_text() -> str:
    """Return the function that safepoints call."""
    return fill_offsets(LEAVE).replace("$OFTEN", str(OFTEN))


def turns_between(each: float) -> int:
    """Return the number of loop turns between polls, a power of two."""
    turns = 1
    while turns * each < LOOP and turns < LOOP:
        turns *= 2
    return turns


def writes_state(block: Any) -> bool:
    """Return whether a block writes a variable."""
    kind = type(block)
    if kind is Kernel:
        return any(
            [
                _is_state(thing)
                for one in all_statements(block.body)
                for thing in buffers_written(one)
            ]
        )
    if kind is Host:
        return any(map(_is_state, block.outputs))
    inner = [block.body] if kind is Repeat else block.bodies if kind is If else []
    return any([writes_state(one) for blocks in inner for one in blocks])


def _is_state(thing: Any) -> bool:
    return type(thing) is Buffer and root_of(thing).kind == "state"


# -- in kernels


def leave_if(emitter: Any, flag: str) -> None:
    """Emit a return from a kernel where a flag holds."""
    code = emitter.code
    number = code.fresh()
    code.line(f"br i1 {flag}, label %leave, label %stay{number}")
    code.scopes[-1].lines.append(f"stay{number}:")
    emitter.leaves = True


def ask(emitter: Any, counter: IRValue, each: float) -> None:
    """Emit a safepoint in a loop: count the turns' cost, and leave for a signal."""
    code = emitter.code
    number, lines = code.fresh(), code.scopes[-1].lines
    turns = turns_between(each)
    if turns > 1:
        code.line(f"%ask{number} = and i64 {counter.text}, {turns - 1}")
        code.line(f"%due{number} = icmp eq i64 %ask{number}, 0")
        code.line(f"br i1 %due{number}, label %look{number}, label %on{number}")
        lines.append(f"look{number}:")
    given = f"ptr %context, i64 %thread, i64 {int(turns * each)}"
    code.line(f"%leave{number} = call i1 @talweg_leave({given})")
    leave_if(emitter, f"%leave{number}")
    if turns > 1:
        code.line(f"br label %on{number}")
        lines.append(f"on{number}:")


def each_turn(emitter: Any, loop: For) -> float:
    """Return the cost of a turn of a loop with a safepoint, else 0."""
    if not emitter.asks:
        return 0.0
    found = cost(Kernel("loop", [loop]))
    effort = found.flops + found.bytes_moved
    if effort > OFTEN:
        return effort / loop.axis.extent
    emitter.effort += effort
    return 0.0
