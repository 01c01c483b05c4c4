"""Parallel repeats: loops whose trips are shared between threads, as whole trips.

This is privatization (Allen and Kennedy 2001, "Optimizing Compilers for Modern Architectures").

Trips that write rows of their own, and read nothing that another one wrote, may run in any order.
Then each thread takes whole trips: it waits for nobody within them, and what a trip keeps stays in
the cache of one core.  Attention does so for its heads (`passes/optimize/strip_mining.py`), and
`tf.map_fn` for its elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from talweg.lower.ir.loops import Buffer, Kernel, Repeat
from talweg.lower.ir.visitors import all_statements, buffers_written, root_of
from talweg.passes.specialize.program import Equation

EVEN = 4  # trips for each thread from which on it matters little if they are no multiple of them
PRIVATE_BYTES = 32 << 20  # of all that a trip keeps, of which every thread has a copy
NO_LOOPS = {"requires", "xla"}  # what a declaration says of other things


def can_share_trips(trips: int, threads: int) -> bool:
    """Return whether this many trips keep the threads busy."""
    return threads > 1 and (trips >= EVEN * threads or (trips > 0 and trips % threads == 0))


def has_loops(equation: Equation) -> bool:
    """Return whether an operation may become loops, and calls neither NumPy nor Python."""
    prim, body = equation.prim, equation.params.get("body")
    if prim.effect is not None or not prim.lowering.keys() - NO_LOOPS:
        return False
    if body is None:
        return True
    return getattr(body, "flag", body) is None and all(map(has_loops, body.static.equations))


def make_private(blocks: list, shared: set[Buffer]) -> bool:
    """Give each thread its own of the buffers that a trip writes; whether that can be done.

    shared: the buffers of which each trip writes its own part.
    """
    kernels = list(_kernels(blocks))
    if None in kernels:
        return False
    own: dict[Buffer, None] = {}
    for kernel in kernels:
        assert kernel is not None
        for statement in all_statements(kernel.body):
            for buffer in buffers_written(statement):
                if isinstance(buffer, Buffer) and root_of(buffer) not in shared:
                    own[root_of(buffer)] = None
    own = {buffer: None for buffer in own if buffer.kind != "scratch"}
    if any(buffer.kind != "temporary" for buffer in own):
        return False
    if sum(buffer.nbytes for buffer in own) > PRIVATE_BYTES:
        return False
    for buffer in own:
        buffer.kind = "private"
    return True


def _kernels(blocks: list) -> Iterator[Kernel | None]:
    """Yield the kernels of a trip, and None for what only all threads can do together."""
    for block in blocks:
        if type(block) is Repeat and block.flag is None:
            yield from _kernels(block.body)
        else:
            yield block if type(block) is Kernel else None
