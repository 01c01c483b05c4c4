"""Windows: views of buffers that begin at a computed position, such as the row of a trip.

While blocks are built a `Window` is a buffer like others.  Then `resolve_windows` puts the whole
buffers in their place, with the start of the window in every index.  NumPy kernels, which take
whole buffers, get copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.dtypes import DType, float32, float64
from talweg.lower.fusion.inline import is_plain
from talweg.lower.fusion.loop_nests import plain_loops
from talweg.lower.ir.index import Axis, Element, Index
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
    Pointer,
    Repeat,
    Store,
    Tile,
    Update,
    When,
    load,
)

New = Callable[[str, DType, tuple, str], Buffer]


class BufferWindow(Buffer):
    """The view of `whole` from `start` on."""

    __slots__ = ("start", "whole")

    def __init__(self, whole: Buffer, start: Index, shape: tuple):
        super().__init__(f"{whole.name}_part", whole.dtype, shape, "window")
        if isinstance(whole, BufferWindow):
            start, whole = start + whole.start, whole.whole
        self.whole, self.start = whole, start


def resolve_windows(blocks: list, new: New) -> list:
    """Replace windows in blocks by indices into their buffers."""
    rewritten: list[Any] = []
    for block in blocks:
        if type(block) is Kernel:
            block.body = _Resolver().body(block.body)
            rewritten.append(block)
        elif type(block) is Host:
            rewritten += _host(block, new)
        elif type(block) is Repeat:
            block.body = resolve_windows(block.body, new)
            assert not isinstance(block.flag, BufferWindow)
            rewritten.append(block)
        elif type(block) in (Grow, Fill):
            rewritten.append(block)
        elif type(block) is If:
            block.bodies = [resolve_windows(body, new) for body in block.bodies]
            if isinstance(block.choice, BufferWindow):
                buffer = new("choice", block.choice.dtype, (), "temporary")
                rewritten += copy_buffer(block.choice, buffer, new)
                block.choice = buffer
            rewritten.append(block)
    return rewritten


def _host(host: Host, new: New) -> list:
    """Return a host call with copies of windows."""
    before: list[Any] = []
    after: list[Any] = []
    inputs, outputs = list(host.inputs), list(host.outputs)
    for buffers, copies in ((inputs, before), (outputs, after)):
        for place, buffer in enumerate(buffers):
            if isinstance(buffer, BufferWindow):
                buffers[place] = new("part", buffer.dtype, buffer.shape, "temporary")
                part = buffers[place]
                source, target = (buffer, part) if copies is before else (part, buffer)
                copies += copy_buffer(source, target, new)
    host.inputs, host.outputs = tuple(inputs), tuple(outputs)
    return [*before, host, *after]


def copy_buffer(source: Buffer, target: Buffer, new: New) -> list:
    """Return the blocks that copy one buffer or window to another of its size."""
    source, target = _numbers(source, new), _numbers(target, new)
    axis = Axis("i", source.size)
    body = [Store(target, axis, load(source, axis))]
    return [Kernel("copy", _Resolver().body(plain_loops([axis], body)), ("copy",))]


def _numbers(buffer: Buffer, new: New) -> Buffer:
    """Return a buffer or window of numbers that loops can compute with: complex ones as pairs."""
    if is_plain(buffer.dtype):
        return buffer
    if isinstance(buffer, BufferWindow):
        whole = _numbers(buffer.whole, new)
        return BufferWindow(whole, buffer.start * 2, (*buffer.shape, 2))
    dtype = float32 if buffer.dtype.size == 8 else float64
    found = new("pairs", dtype, (*buffer.shape, 2), buffer.kind)
    found.part = buffer
    return found


class _Resolver:
    """The resolver of windows in the statements of one kernel."""

    def __init__(self) -> None:
        self.made: dict[int, Expr] = {}
        self.kept: list[Expr] = []  # so that no other expression gets the id of one in `made`

    def body(self, body: list) -> list:
        """Resolve windows in a list of statements."""
        return [self.statement(statement) for statement in body]

    def statement(self, statement: Any) -> Any:
        """Resolve windows in a statement; tiles stay the same objects."""
        kind = type(statement)
        if kind is For:
            return For(statement.axis, self.body(statement.body), statement.kind)
        if kind is Store:
            buffer, index = self.place(statement.buffer, statement.index)
            return Store(buffer, index, self.value(statement.value), statement.op)
        if kind is Tile:
            statement.start = self.value(statement.start)
        elif kind is Update:
            places = [self.index(index) for index in statement.indices]
            return Update(statement.tile, places, self.value(statement.value), statement.op)
        elif kind is When:
            inner = self.body(statement.body), self.body(statement.otherwise)
            return When(self.value(statement.condition), *inner)
        elif kind is Call:
            arguments = [self.argument(argument) for argument in statement.arguments]
            buffers = [
                [getattr(b, "whole", b) for b in side]
                for side in (statement.reads, statement.writes)
            ]
            return Call(statement.routine, arguments, *buffers)
        return statement

    def argument(self, argument: Index | Expr | Pointer) -> Any:
        """Resolve windows in an argument of a routine."""
        if type(argument) is Pointer:
            return Pointer(*self.place(argument.buffer, argument.index))
        return self.value(argument) if type(argument) is Expr else self.index(Index.of(argument))

    def place(self, buffer: Buffer, index: Index) -> tuple[Buffer, Index]:
        """Resolve the element of a buffer or window."""
        if isinstance(buffer, BufferWindow):
            buffer, index = buffer.whole, index + buffer.start
        return buffer, self.index(index)

    def index(self, index: Index) -> Index:
        """Resolve windows in the parts of an index that are computed from data."""
        if all(type(atom) is Axis for atom, _ in index.terms):
            return index
        found = Index(index.constant)
        for atom, factor in index.terms:
            if type(atom) is Element:
                found = found + Index(0, ((Element(self.value(atom.value)), 1),)) * factor
            elif type(atom) is Axis:
                found = found + Index.of(atom) * factor
            else:
                inner = self.index(atom.index)
                divided = inner // atom.divisor if atom.key[0] == "//" else inner % atom.divisor
                found = found + divided * factor
        return found

    def value(self, expr: Expr) -> Expr:
        """Resolve windows in an expression; shared parts stay shared."""
        found = self.made.get(id(expr))
        if found is None:
            found = self.made[id(expr)] = self._resolve(expr)
            self.kept.append(expr)
        return found

    def _resolve(self, expr: Expr) -> Expr:
        args = tuple([self.value(arg) for arg in expr.args])
        data = expr.data
        if expr.op == "load":
            data = self.place(*data)
        elif expr.op == "index":
            data = self.index(data)
        elif expr.op == "read":
            data = (data[0], tuple([self.index(index) for index in data[1]]))
        same = data is expr.data or data == expr.data
        if same and all(a is b for a, b in zip(args, expr.args)):
            return expr
        return Expr(expr.op, args, expr.dtype, data)
