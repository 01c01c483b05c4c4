"""Manifests of compiled programs on disk: buffers, positions, variables.

A process that finds the manifest of a program under the program's text (`passes/fingerprint.py`)
has its code without lowering it again, or loading what does.  The key tells all that passes and
lowering look at, and which versions of them.  What is kept is numbers and names, as JSON, and the
elements of constants; programs that call Python, or have large constants, are not kept.
"""

from __future__ import annotations

import functools
import json
import os
import struct
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.core import settings
from talweg.core.aval import Aval
from talweg.core.dtypes import BY_NAME
from talweg.core.errors import InternalError
from talweg.core.version import stamps
from talweg.execute import cache
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import execution_context
from talweg.execute.llvm.runtime.executable import Executable, ProgramRecord
from talweg.execute.llvm.runtime.thread_pool import thread_count
from talweg.graph.node import Node
from talweg.lower.buffer_assignment import PLACED, BufferAssignment
from talweg.lower.ir.loops import KINDS, OF_THREADS, Buffer, LoopProgram
from talweg.lower.lowered import Lowered
from talweg.passes.fingerprint import UnprintableError, text_of
from talweg.passes.functionalize import Program
from talweg.passes.specialize.program import demands

if TYPE_CHECKING:
    from talweg.execute.interpret import Missing
    from talweg.passes.fallback.host_steps import Hosts
    from talweg.passes.specialize.side_outputs import SideOutputs

LARGEST = 1 << 20  # bytes of constants
_PACKAGES = ("core", "graph", "kernels", "prims", "passes", "lower", "execute", "execute/llvm")


class Manifest(NamedTuple):
    """The result of compiling a program, without its code."""

    lowered: Lowered
    executable: Executable
    streams: list  # (operation, seeds, blocks) of the last inputs
    drawn: list  # operations of which the last outputs tell how many blocks were taken
    exports: SideOutputs | None = None
    hosts: Hosts | None = None


def key_of(program: Program, avals: list, state: Any, same: dict) -> bytes | None:
    """Return the cache key of a program, for arguments of these kinds; None if uncacheable."""
    if cache.current() is None or not all([type(aval) is Aval for aval in avals]):
        return None
    try:
        text = text_of(program)
    except UnprintableError:
        return None
    starts = list(program.starts)
    values = [None if type(x) is Node else _kind(state.get(x)) for x in starts]
    aliases = {place: starts.index(variable) for place, variable in same.items()}
    kinds = [(aval.dims, aval.dtype.name) for aval in avals]
    chosen = (thread_count(), settings.winograd.get(), demands.finite)
    return f"manifest\n{_fingerprint()}\n{chosen}\n{kinds}\n{values}\n{aliases}\n{text}".encode()


def _kind(array: Missing | np.generic | np.ndarray) -> tuple | None:
    shape = getattr(array, "shape", None)  # of NumPy's arrays, and a device's
    return None if shape is None else (tuple(shape), array.dtype.name)  # type: ignore[union-attr]


def _fingerprint() -> str:
    """Return the fingerprint of all compilation inputs besides the program."""
    return f"{code.fingerprint()} {_versions()}"


@functools.cache
def _versions() -> str:
    """Return the versions of the modules and libraries that compile programs."""
    root = os.path.dirname(os.path.dirname(__file__))
    own = [stamps(os.path.join(root, package)) for package in _PACKAGES]
    return f"{sys.version} {np.__version__} {own}"


# -- to the disk


def keep(key: bytes | None, program: Program, made: Manifest) -> None:
    """Store the manifest of a program, if it is cacheable."""
    hosts = made.hosts is not None or made.exports is not None
    if key is None or hosts or execution_context.hosts(made.lowered.program.blocks):
        return
    constants = [
        buffer
        for buffer in made.lowered.program.buffers
        if buffer.kind == "constant" and buffer.part is None
    ]
    if sum([buffer.nbytes for buffer in constants]) > LARGEST:
        return
    try:
        about = json.dumps(_about(program, made)).encode()
    except TypeError:  # seeds of another kind
        return
    elements = [np.ascontiguousarray(b.content, b.dtype.numpy_dtype).tobytes() for b in constants]
    cache.put(key, b"".join([struct.pack("<Q", len(about)), about, *elements]))


def _about(program: Program, made: Manifest) -> dict:
    """Serialize all but the constants."""
    lowered, executable = made.lowered, made.executable
    buffers = lowered.program.buffers
    number: dict[Any, int] = {buffer: position for position, buffer in enumerate(buffers)}
    start = {variable: position for position, variable in enumerate(program.starts)}
    known = executable.known
    return {
        "name": lowered.program.name,
        "code": executable.key,
        "buffers": [
            [
                b.name,
                b.dtype.name,
                b.shape,
                b.kind,
                b.offset,
                None if b.part is None else number[b.part],
            ]
            for b in buffers
        ],
        "inputs": [number[buffer] for buffer in lowered.inputs],
        "outputs": [number[buffer] for buffer in lowered.outputs],
        "states": [
            (start[variable], number[b], written) for variable, b, written in lowered.states
        ],
        "guard": lowered.guard,
        "streams": [(start[operation], *rest) for operation, *rest in made.streams],
        "drawn": [start[operation] for operation in made.drawn],
        "known": known[:-1],
        "plan": known.plan[:-1],
        "offsets": [(number[buffer], offset) for buffer, offset in known.plan.offsets.items()],
    }


# -- from the disk


# What reading a damaged manifest raises: whatever its numbers and names are.
DAMAGED = (
    ArithmeticError,
    AttributeError,
    InternalError,
    LookupError,
    MemoryError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


def load(key: bytes | None, program: Program, avals: list, same: dict) -> Manifest | None:
    """Load the manifest of an earlier compilation; None if there is none, or no code.

    So it is if what was kept makes no sense: then it is made again.
    """
    content = None if key is None else cache.get(key)
    if content is None:
        return None
    taken = [aval for place, aval in enumerate(avals) if place not in same]
    try:
        return _read(content, program, taken)
    except DAMAGED:
        return None


def _read(content: bytes, program: Program, taken: list) -> Manifest:
    """Parse a manifest; MissingError without its code, one of `DAMAGED` if it is damaged."""
    (size,) = struct.unpack_from("<Q", content)
    if size > len(content) - 8:
        raise ValueError("a manifest that is cut short")
    about = json.loads(content[8 : 8 + size])
    starts = list(program.starts)
    lowered = Lowered(LoopProgram(about["name"]))
    buffers = lowered.program.buffers = _buffers(about["buffers"], content, 8 + size)
    lowered.inputs = [buffers[number] for number in about["inputs"]]
    lowered.outputs = [buffers[number] for number in about["outputs"]]
    lowered.states = [(starts[v], buffers[b], written) for v, b, written in about["states"]]
    lowered.guard = about["guard"]
    routines, releases, threads, waits = about["known"]
    nbytes, peak, planned = about["plan"]
    offsets = {buffers[number]: offset for number, offset in about["offsets"]}
    plan = BufferAssignment(nbytes, peak, planned, offsets)
    known = ProgramRecord(tuple(routines), releases, threads, waits, plan)
    _check(lowered, known, taken)
    executable = executable_of(lowered, about["code"], known)
    streams = [(starts[v], _tuples(seeds), blocks) for v, seeds, blocks in about["streams"]]
    return Manifest(lowered, executable, streams, [starts[v] for v in about["drawn"]])


def _check(lowered: Lowered, known: ProgramRecord, taken: list) -> None:
    """Check the buffers' declared sizes; ValueError if impossible.

    taken: the kinds of the arguments that are passed.
    """
    buffers, plan = lowered.program.buffers, known.plan
    sound = len(lowered.inputs) >= len(taken) and plan.nbytes >= 0
    sound &= known.threads in (1, thread_count()) and known.threads <= plan.threads
    for buffer, aval in zip(lowered.inputs, taken):
        sound &= buffer.shape == aval.dims and buffer.dtype is aval.dtype
    for buffer in buffers:
        whole, lies, depth = buffer, 0, 0
        while whole.part is not None and depth < len(buffers):
            lies, whole, depth = lies + whole.offset, whole.part, depth + 1
        sound &= whole.part is None and lies >= 0 and lies + buffer.nbytes <= whole.nbytes
        sound &= min(buffer.shape, default=0) >= 0 and buffer.kind in KINDS
        if whole.kind in PLACED and whole is buffer:
            start, copies = plan.offsets[whole], plan.threads if whole.kind in OF_THREADS else 1
            sound &= start == 0 or 0 < start <= plan.nbytes - whole.nbytes * copies
    if not sound:
        raise ValueError("a manifest of buffers that cannot be")


def executable_of(lowered: Lowered, key: str, known: ProgramRecord | None = None) -> Executable:
    """Return the machine code; variables that are only read are inputs to it."""
    read = [buffer for _, buffer, written in lowered.states if not written]
    return Executable(
        lowered.program,
        inputs=[*lowered.inputs, *read],
        states=[buffer for _, buffer, written in lowered.states if written],
        outputs=lowered.outputs,
        key=key,
        known=known,
    )


def _buffers(rows: list, content: bytes, at: int) -> list[Buffer]:
    """Return the buffers; the elements of constants stand in `content` from `at` on."""
    buffers = []
    for name, dtype, shape, kind, offset, part in rows:
        buffer = Buffer(name, BY_NAME[dtype], tuple(shape), kind)
        buffer.offset = offset
        if kind == "constant" and part is None:
            count = buffer.size
            elements = np.frombuffer(content, buffer.dtype.numpy_dtype, count, at)
            buffer.content, at = elements.reshape(buffer.shape), at + buffer.nbytes
        buffers.append(buffer)
    for buffer, row in zip(buffers, rows):
        buffer.part = None if row[-1] is None else buffers[row[-1]]
    return buffers


def _tuples(value: int | list) -> Any:
    """Convert lists back to tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
