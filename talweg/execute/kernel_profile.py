"""The profile of a compiled program: the time of each kernel beside the roofline.

The program is compiled once more with a look at the processor's clock after each block.  What a
kernel could take at best follows from its operations and bytes (`lower/ir/cost.py`) and from what
this machine does at best, which is measured: multiplications a second in registers and products,
bytes a second from memory (Williams, Waterman and Patterson 2009, "Roofline").
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.core.dtypes import int64
from talweg.core.provenance import describe
from talweg.execute.compilation import alone
from talweg.execute.compiled import CALLED, Compiled
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.ir.cost import Cost, of_blocks
from talweg.lower.ir.loops import Call, Host, Kernel, LoopProgram, Pointer
from talweg.prims import contract

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.lower.ir.loops import If


class KernelTime(NamedTuple):
    """The profile of one block: name, operations, cost, seconds, roofline, and origin."""

    name: str
    operations: str
    cost: Cost
    seconds: float
    best: float
    line: str


class Roof(NamedTuple):
    """The roofline of one thread of this machine: its peak rates."""

    flops: float
    bytes_moved: float


@functools.cache
def roof() -> Roof:
    """Measure the roofline: a product of matrices in cache, and the copy of a large array.

    The product is our own, for NumPy's would have help from other threads.
    """
    x = np.ones((512, 512), np.float32)
    run = alone(contract.matmul, [x, x], {}, threads=1)
    product = _best(lambda: run([x, x], []))
    big = np.ones(1 << 24, np.float32)
    target = np.empty_like(big)
    copy = _best(lambda: np.copyto(target, big))
    return Roof(2 * 512**3 / product, 2 * big.nbytes / copy)


def _best(function: Callable) -> float:
    found = float("inf")
    for _ in range(10):
        start = time.thread_time()
        function()
        found = min(found, time.thread_time() - start)
    return found


def profile(
    compiled: Compiled, arguments: list, state: dict, repeats: int = 20
) -> list[KernelTime]:
    """Measure the time of each block of a compiled program on one thread; the least of some runs.

    Variables are left as they are.
    """
    lowered = compiled.lowered
    program, clock = time_blocks(lowered.program)
    read = [buffer for _, buffer, written in lowered.states if not written]
    executable = Executable(
        program,
        inputs=[*lowered.inputs, *read],
        states=[buffer for _, buffer, written in lowered.states if written],
        outputs=[*lowered.outputs, clock],
        threads=1,
    )
    inputs, written = compiled.operands(arguments, state)
    ticks, scale = None, 0.0
    for _ in range(repeats):
        states = [np.array(array) for array in written]
        with compiled.keeping(arguments, state):
            start = time.perf_counter()
            *_, counters = executable(inputs, states)
            seconds = time.perf_counter() - start
        spent = np.diff(counters)
        # of the same run: what others took of this core meanwhile is in both
        scale = seconds / max(1, int(spent.sum()))
        ticks = spent if ticks is None else np.minimum(ticks, spent)
    assert ticks is not None
    return [
        _time_of(block, float(count) * scale) for block, count in zip(lowered.program.blocks, ticks)
    ]


def time_blocks(program: LoopProgram) -> tuple[LoopProgram, Any]:
    """Insert clock reads before the first block and after each; the program and their buffer."""
    found = LoopProgram(program.name)
    found.buffers = list(program.buffers)
    clock = found.buffer("clock", int64, (len(program.blocks) + 1,), "output")
    blocks: list[Any] = []
    for number, block in enumerate([None, *program.blocks]):
        if block is not None:
            blocks.append(block)
        call = Call("clock", [Pointer(clock, number)], (), (clock,))
        blocks.append(Kernel(f"clock{number}", [call], ("clock",)))
    found.blocks = blocks
    return found, clock


def _time_of(block: Host | If | Kernel, seconds: float) -> KernelTime:
    cost, best = of_blocks([block]), roof()
    least = max(cost.flops / best.flops, cost.bytes_moved / best.bytes_moved)
    node = getattr(block, "node", None)
    line = describe(node.origin) if node is not None and node.origin is not None else ""
    if isinstance(block, Host):
        return KernelTime("host", block.name, cost, seconds, least, line)
    names = getattr(block, "names", (type(block).__name__.lower(),))
    name = getattr(block, "name", type(block).__name__.lower())
    return KernelTime(name, " ".join(names), cost, seconds, least, line)


def report() -> str:
    """Return the profiles of all programs called while the setting `profile` was on."""
    return text_of(profiles())


def profiles() -> list[tuple[str, list[KernelTime]]]:
    """Return the programs with the times of their kernels."""
    return [(each.name, profile(each, *each.last)) for each in CALLED if each.last is not None]


def text_of(programs: list[tuple[str, list[KernelTime]]]) -> str:
    """Print profiles as text."""
    found = [f"{name}\n{table(times)}" for name, times in programs]
    return "\n\n".join(found) or "nothing was compiled"


def table(times: list[KernelTime]) -> str:
    """Print the profile, the longest kernel first."""
    total = sum([each.seconds for each in times]) or 1.0
    lines = [f"{'ms':>9} {'part':>5} {'of best':>7} {'Mflop':>9} {'MB':>8}  kernel"]
    for each in sorted(times, key=lambda item: -item.seconds):
        share = each.best / each.seconds if each.seconds else 1.0
        best = f"{share:.0%}" if share <= 1.05 else "caches"  # faster than memory: none was read
        lines.append(
            f"{each.seconds * 1e3:9.3f} {each.seconds / total:5.0%} {best:>7} "
            f"{each.cost.flops / 1e6:9.2f} {each.cost.bytes_moved / 1e6:8.2f}  "
            f"{each.name}: {each.operations[:60]}  {each.line}"
        )
    lines.append(f"{total * 1e3:9.3f}  in all")
    return "\n".join(lines)
