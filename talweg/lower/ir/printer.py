"""Printer of loop programs as text.

Buffers first, then blocks.  Brackets hold indices; `{x}` in an index is a number computed from
data, `int64[i0*8]` an index as a number, `int64(x)` a cast, `1.5:float32` a constant, `&x0[8]` the
place of an element, `(x0[i0] if c else y)` a guarded load.  A part that is used again in the same
list, or in one within, has a name (t0, t1, ...) and is computed where that stands::

    program softmax
      x0: input float32[6, 8]
      y1: output float32[6]
    kernel k0:  # reduce_sum, exp
      for i0 in 6 parallel:
        tile a: float32[] = 0.0:float32
        for k0 in 8 vector:
          a[] add= x0[i0*8 + k0]
        t0 = exp(a[])
        y1[i0] = mul(t0, t0)

`parse(text)` is a program of which `to_text` is that text again.  Contents of constants, and the
functions of host calls, have no text.  With `names=False` what only people read is left out, so
programs that do the same on the same buffers have one text: a key for what was compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import BY_NAME, DType
from talweg.core.errors import InternalError
from talweg.lower.ir.index import Axis, Index, Quotient, Remainder
from talweg.lower.ir.loops import (
    Buffer,
    Call,
    Expr,
    Fill,
    For,
    Grow,
    Host,
    If,
    Kernel,
    LoopProgram,
    Pointer,
    Repeat,
    Store,
    Tile,
    Update,
    When,
)
from talweg.lower.ir.parser import KEYWORDS, parse
from talweg.lower.ir.visitors import root_of

if TYPE_CHECKING:
    import numpy as np

__all__ = ["kernel_key", "parse", "to_text"]

_LONGEST = 64  # a part longer than this many characters gets a name
_INLINE = frozenset(("const", "index"))  # parts that never get one
_RESERVED = KEYWORDS | set(BY_NAME)
_SHARED = re.compile(r"t\d+")


def to_text(program: LoopProgram, names: bool = True) -> str:
    """Print a program; `names`: with the operations that kernels are made of."""
    writer = _ProgramPrinter(program, names)
    writer.blocks(program.blocks, "")
    return "\n".join(writer.lines) + "\n"


def kernel_key(kernel: Kernel, turns: Sequence[Axis]) -> tuple[str, list[Buffer]]:
    """Return a text of a kernel and its buffers in the order of that text.

    Kernels that do the same with other buffers have one text: buffers are numbered as they are met,
    and described behind it.  `turns` are the axes of the repeats around.  The kernel keeps it:
    nobody changes a kernel whose key was asked for, but one may stand in several places.
    """
    around = tuple(turns)
    if kernel.key is None or kernel.key[0] != around:
        writer = _KernelKeyPrinter(turns)
        writer.blocks([kernel], "")
        text = "\n".join([*writer.lines, *writer.describe_buffers()])
        kernel.key = around, text, writer.known.buffers
    _, text, buffers = kernel.key
    return text, buffers


class _Part:
    """An expression in a list of statements: its text is `form % operands`.

    `row` is the statement that needs it first, before which a name of it stands; `uses` are those
    by other parts and by statements, of that list and of lists within.
    """

    __slots__ = ("expr", "form", "operands", "row", "text", "uses")

    def __init__(self, expr: Expr, form: str, operands: list[_Part], row: int):
        self.expr, self.form, self.operands, self.row = expr, form, operands, row
        self.uses, self.text = 0, ""


class _ProgramPrinter:
    def __init__(self, program: LoopProgram, names: bool):
        self.names = names
        self.lines = [f"program {plain(program.name) if names else 'p'}"]
        self.taken: set[str] = set()
        self.known: dict[Any, str] = {}  # buffers, and the axes and tiles in scope
        for number, buffer in enumerate(program.buffers):
            self.known[buffer] = self._new_name(buffer.name if names else f"b{number}")
        for buffer in program.buffers:
            place = f" in {self.known[buffer.part]}" if buffer.part is not None else ""
            if place or buffer.offset:
                place += f" at {buffer.offset}"
            kind = f"{buffer.kind} {type_text(buffer.dtype, buffer.shape)}"
            self.lines.append(f"  {self.known[buffer]}: {kind}{place}")

    def _new_name(self, name: str) -> str:
        """Return the name, or a similar one that is free in the scope."""
        name = plain(name)
        if name in _RESERVED:
            name += "_"
        found, number = name, 0
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found

    def enter(self, thing: Axis | Tile) -> str:
        """Return the name of an axis or tile, in scope from here on."""
        name = plain(thing.name) if self.names else "i" if type(thing) is Axis else "r"
        name = self._new_name(f"{name}_" if _SHARED.fullmatch(name) else name)
        self.known[thing] = name
        return name

    def leave(self, thing: Axis | Tile) -> None:
        """Remove an axis or tile from the scope."""
        self.taken.discard(self.known.pop(thing))

    def blocks(self, blocks: list, indent: str) -> None:
        inner = indent + "    "
        for block in blocks:
            if type(block) is Kernel:
                self.lines.append(f"{indent}kernel {self._heading(block)}")
                self.lines += _KernelWriter(self).write(block, indent + "  ")
            elif type(block) is Host:
                inputs, outputs = self._list(block.inputs), self._list(block.outputs)
                name = plain(block.name) if self.names else "h"
                self.lines.append(f"{indent}host {name}({inputs}) -> {outputs}")
            elif type(block) is Grow:
                row = self._place(block.row)
                self.lines.append(f"{indent}grow {self.known[block.buffer]}[{row}]")
            elif type(block) is Fill:
                self.lines.append(f"{indent}fill {self._fill(block)}")
            elif type(block) is Repeat:
                name = self.enter(block.axis)
                flag = f" while {self.known[block.flag]}" if block.flag is not None else ""
                kind = " parallel" if block.parallel else ""
                self.lines.append(f"{indent}repeat {name} in {block.axis.extent}{kind}{flag}:")
                self.blocks(block.body, indent + "  ")
                self.leave(block.axis)
            elif type(block) is If:
                self.lines.append(f"{indent}if {self.known[block.choice]}:")
                for number, body in enumerate(block.bodies):
                    self.lines.append(f"{indent}  case {number}:")
                    self.blocks(body, inner)
            else:
                raise InternalError(None, None, f"{type(block).__name__} is no block")

    def _fill(self, block: Fill) -> str:
        """Print stack[start] from source rows count."""
        text = f"{self.known[block.buffer]}[{self._place(block.start)}]"
        if block.source is not None:
            text += f" from {self.known[block.source]}"
        return text if block.rows is None else f"{text} rows [{self._place(block.rows)}]"

    def _place(self, index: Index) -> str:
        """Print an index outside of kernels."""
        writer, parts = _KernelWriter(self), []
        form = writer.index(index, parts)
        for part in writer.parts:
            part.text = part.form % tuple([operand.text for operand in part.operands])
        return form % tuple([part.text for part in parts])

    def _list(self, buffers: Iterable) -> str:
        return ", ".join([self.known[buffer] for buffer in buffers])

    def _heading(self, kernel: Kernel) -> str:
        if not self.names:
            return "k:"
        name = f"{plain(kernel.name)}:"
        if not (kernel.names or kernel.reason):
            return name
        made = ", ".join([re.sub(r"[,|\s]+", "_", name) for name in kernel.names])
        return f"{name}  # {made} | {' '.join(kernel.reason.split())}".rstrip(" |")


class _BufferNumbers(dict):
    """Names of axes and tiles in scope, and of buffers, which are numbered as they are met."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: list[Buffer] = []

    def __missing__(self, thing: Any) -> str:
        if type(thing) is not Buffer:
            raise KeyError(thing)
        name = self[thing] = f"b{len(self.buffers)}"
        self.buffers.append(thing)
        return name

    def get(self, thing: Any, default: Any = None) -> Any:
        return self[thing] if type(thing) is Buffer else super().get(thing, default)


class _KernelKeyPrinter(_ProgramPrinter):
    known: _BufferNumbers

    def __init__(self, turns: Sequence[Axis]):
        self.names, self.lines, self.taken = False, [], set()
        self.known = _BufferNumbers()
        for axis in turns:
            self.lines.append(f"repeat {self.enter(axis)} in {axis.extent}:")

    def describe_buffers(self) -> list[str]:
        """Return what machine code depends on: kinds, sizes, and which share memory."""
        numbers: dict[Buffer, int] = {}
        return [
            f"{each.kind} {type_text(each.dtype, each.shape)} "
            f"in {numbers.setdefault(root_of(each), len(numbers))}"
            for each in self.known.buffers
        ]


class _KernelWriter:
    """The printer of one kernel: it finds shared parts first, then names them."""

    def __init__(self, writer: _ProgramPrinter):
        self.taken, self.known, self.list_of = writer.taken, writer.known, writer._list
        self._enter, self._leave = writer.enter, writer.leave
        self.rows: list[tuple] = []  # indent, form, parts
        self.parts: list[_Part] = []  # operands first
        self.part_of: dict[int, _Part] = {}  # by expression, of lists that are being written
        self.log: list[int] = []  # the keys of `part_of` in the order in which they came

    def write(self, kernel: Kernel, indent: str) -> list[str]:
        self.body(kernel.body, indent)
        for _, _, parts in self.rows:
            for part in parts:
                part.uses += 1
        for part in self.parts:
            for operand in part.operands:
                operand.uses += 1
        definitions = self._name_parts()
        lines = []
        for number, (indent, form, parts) in enumerate(self.rows):
            for line in definitions.get(number, ()):
                lines.append(indent + line)
            lines.append(indent + form % tuple([part.text for part in parts]))
        return lines

    def _name_parts(self) -> dict[int, list[str]]:
        """Build the texts of all parts, with definitions before each statement."""
        definitions: dict[int, list[str]] = {}
        count = 0
        for part in self.parts:
            text = part.form % tuple([operand.text for operand in part.operands])
            if (part.uses > 1 or len(text) > _LONGEST) and part.expr.op not in _INLINE:
                while f"t{count}" in self.taken:
                    count += 1
                name, count = f"t{count}", count + 1
                definitions.setdefault(part.row, []).append(f"{name} = {text}")
                text = name
            part.text = text
        return definitions

    # -- statements

    def body(self, body: list, indent: str) -> None:
        tiles, mark = [], len(self.log)
        for statement in body:
            write = _STATEMENTS.get(type(statement))
            if write is None:
                raise InternalError(None, None, f"{type(statement).__name__} is no statement")
            write(self, statement, indent)
            if type(statement) is Tile:
                tiles.append(statement)
        for tile in tiles:
            self._leave(tile)
        for key in self.log[mark:]:
            del self.part_of[key]
        del self.log[mark:]

    def row(self, indent: str, form: str, parts: Sequence[_Part] = ()) -> None:
        """Add a line of text; parts new in it have this row's number already."""
        self.rows.append((indent, form, parts))

    def _name(self, thing: Axis | Buffer | Tile) -> str:
        found = self.known.get(thing)
        if found is None:
            raise InternalError(None, None, f"{thing.name} is used where it is not known")
        return found

    def loop(self, loop: For, indent: str) -> None:
        name = self._enter(loop.axis)
        kind = "" if loop.kind == "serial" else f" {loop.kind}"
        self.row(indent, f"for {name} in {loop.axis.extent}{kind}:")
        self.body(loop.body, indent + "  ")
        self._leave(loop.axis)

    def tile(self, tile: Tile, indent: str) -> None:
        parts = [self.part(tile.start)]
        form = f"tile {self._enter(tile)}: {type_text(tile.dtype, tile.dims)} = %s"
        self.row(indent, form, parts)

    def update(self, update: Update, indent: str) -> None:
        parts: list[_Part] = []
        target = self._tile_at(update.tile, update.indices, parts)
        parts.append(self.part(update.value))
        self.row(indent, f"{target} {update.op or ''}= %s", parts)

    def store(self, store: Store, indent: str) -> None:
        parts: list[_Part] = []
        index = self.index(store.index, parts)
        parts.append(self.part(store.value))
        self.row(indent, f"{self._name(store.buffer)}[{index}] {store.op or ''}= %s", parts)

    def when(self, when: When, indent: str) -> None:
        self.row(indent, "when %s:", [self.part(when.condition)])
        self.body(when.body, indent + "  ")
        if when.otherwise:
            self.row(indent, "otherwise:")
            self.body(when.otherwise, indent + "  ")

    def call(self, call: Call, indent: str) -> None:
        parts: list[_Part] = []
        texts = []
        for argument in call.arguments:
            if type(argument) is Pointer:
                index = self.index(argument.index, parts)
                texts.append(f"&{self._name(argument.buffer)}[{index}]")
            elif type(argument) is Expr:
                parts.append(self.part(argument))
                texts.append("%s")
            else:
                texts.append(f"[{self.index(Index.of(argument), parts)}]")
        ends = f"reads {self.list_of(call.reads)} writes {self.list_of(call.writes)}"
        self.row(indent, f"call {call.routine}({', '.join(texts)}) {ends}".rstrip(), parts)

    # -- expressions

    def part(self, expr: Expr) -> _Part:
        """Return the part of an expression at this position, after its operands."""
        part_of = self.part_of
        known = part_of.get(id(expr))
        if known is not None:
            return known
        stack = [(expr, False)]
        while stack:
            top, ready = stack.pop()
            if id(top) in part_of:
                continue
            if ready or not (operands := top.children()):
                self._make(top)
            else:
                stack.append((top, True))
                stack += [(operand, False) for operand in reversed(operands)]
        return part_of[id(expr)]

    def _make(self, expr: Expr) -> None:
        part_of, op = self.part_of, expr.op
        operands = [part_of[id(operand)] for operand in expr.args]
        if op == "const":
            form = constant_text(expr.data, expr.dtype)
        elif op == "load":
            buffer, index = expr.data
            inside: list[_Part] = []
            form = f"{self._name(buffer)}[{self.index(index, inside)}]"
            if operands:
                form = f"({form} if %s else %s)"
            operands = inside + operands
        elif op == "read":
            tile, indices = expr.data
            form = self._tile_at(tile, indices, operands)
        elif op == "index":
            form = f"{expr.dtype.name}[{self.index(expr.data, operands)}]"
        elif op == "cast":
            form = f"{expr.dtype.name}(%s)"
        elif op == "bits":
            form = f"bits {expr.dtype.name}(%s)"
        else:
            form = f"{op}({', '.join(['%s'] * len(operands))})"
        part = part_of[id(expr)] = _Part(expr, form, operands, len(self.rows))
        self.log.append(id(expr))
        self.parts.append(part)

    def _tile_at(self, tile: Tile, indices: tuple, parts: list) -> str:
        places = ", ".join([self.index(index, parts) for index in indices])
        return f"{self._name(tile)}[{places}]"

    def index(self, index: Index, parts: list) -> str:
        """Print an index; its parts computed from data are added to `parts`."""
        text = ""
        for atom, factor in index.terms:
            size = abs(factor)
            term = self._atom(atom, parts) if size == 1 else f"{self._atom(atom, parts)}*{size}"
            if text:
                text += f" - {term}" if factor < 0 else f" + {term}"
            else:
                text = f"-{term}" if factor < 0 else term
        if not text:
            return str(index.constant)
        if index.constant:
            sign = "-" if index.constant < 0 else "+"
            return f"{text} {sign} {abs(index.constant)}"
        return text

    def _atom(self, atom: Any, parts: list) -> str:
        if type(atom) is Axis:
            return self._name(atom)
        if type(atom) is Quotient:
            return f"{self._inner(atom.index, parts)}//{atom.divisor}"
        if type(atom) is Remainder:
            return f"{self._inner(atom.index, parts)}%%{atom.divisor}"
        parts.append(self.part(atom.value))
        return "{%s}"

    def _inner(self, index: Index, parts: list) -> str:
        text = self.index(index, parts)
        simple = not index.constant and len(index.terms) == 1 and index.terms[0][1] == 1
        return text if simple and type(index.terms[0][0]) is Axis else f"({text})"


_STATEMENTS: dict[type, Any] = {
    For: _KernelWriter.loop,
    Tile: _KernelWriter.tile,
    Update: _KernelWriter.update,
    Store: _KernelWriter.store,
    When: _KernelWriter.when,
    Call: _KernelWriter.call,
}


def plain(name: str) -> str:
    """Return a name of letters, digits and underscores."""
    if name.isidentifier() and name.isascii():
        return name
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return name if name and not name[0].isdigit() else f"_{name}"


def type_text(dtype: DType, shape: tuple) -> str:
    """Print a type: float32[2, 3]."""
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


def constant_text(value: float | np.generic, dtype: DType) -> str:
    """Print a constant, floats in full."""
    if dtype.is_bool:
        return "true" if value else "false"
    kind = float if dtype.is_floating else complex if dtype.is_complex else int
    return f"{kind(value)!r}:{dtype.name}"
