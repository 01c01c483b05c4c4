"""Parser of loop programs in the textual form of `printer.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from talweg.core.dtypes import BY_NAME, DType, bool_
from talweg.core.errors import value_error
from talweg.lower.ir.index import Axis, Element, Index, Quotient, Remainder
from talweg.lower.ir.loops import (
    COMBINE,
    KINDS,
    LOOPS,
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
from talweg.lower.ir.scalars import SCALARS

_WORDS = (
    "program kernel host grow fill from rows repeat while if case for in tile when "
    "otherwise call reads writes true false bits at else nan inf select"
)
KEYWORDS = frozenset(_WORDS.split()) | set(SCALARS) | set(LOOPS) | set(KINDS)
_TOKEN = re.compile(
    r"\s*(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|\d+|[A-Za-z_]\w*|//|->|[-+*%()\[\]{},:=&.])"
)
_COMPLEX = re.compile(r"\s*(\([^()]*\)|[-+.\dinfa]*j):(complex\d+)")


def parse(text: str) -> LoopProgram:
    """Parse the text of a program; ValueError where it is ill-formed."""
    return _ProgramParser(text).program()


class _Tokens:
    """The tokens of one line."""

    def __init__(self, line: str):
        self.line, self.at = line, 0
        self._ahead: str | None = None

    def peek(self) -> str:
        """Return the next token, "" at the end."""
        if self._ahead is None:
            found = _TOKEN.match(self.line, self.at)
            if found is None:
                if self.line[self.at :].strip():
                    raise self.wrong("a token")
                return ""
            token, self._end = found[1], found.end()
            self._ahead = token
            return token
        return self._ahead

    def next(self) -> str:
        token = self.peek()
        if self._ahead is not None:
            self.at, self._ahead = self._end, None
        return token

    def take(self, token: str) -> bool:
        """Return whether the next token is this one; it is consumed then."""
        if self.peek() == token:
            self.next()
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.wrong(repr(token))

    def number(self) -> int:
        """Parse a whole number, perhaps negative."""
        sign = -1 if self.take("-") else 1
        token = self.next()
        if not token.isdigit():
            raise self.wrong("a number")
        return sign * int(token)

    def match(self, pattern: re.Pattern) -> re.Match | None:
        """Match a pattern at this position of the text and consume the match."""
        found = pattern.match(self.line, self.at)
        if found is not None:
            self.at, self._ahead = found.end(), None
        return found

    def several(self, one: Callable[[], Any], end: str) -> list:
        """Parse a list with commas, up to `end`, which is consumed."""
        found: list = []
        while not self.take(end):
            if found:
                self.expect(",")
            found.append(one())
        return found

    def wrong(self, expected: str) -> ValueError:
        place = f"{self.line!r}, column {self.at + 1}"
        return value_error("TW207", f"This is no loop program: {place}.", expected)


class _ProgramParser:
    def __init__(self, text: str):
        self.lines: list[tuple[int, str]] = []
        for line in text.splitlines():
            stripped = line.lstrip(" ")
            if stripped:
                self.lines.append((len(line) - len(stripped), stripped))
        self.at = 0
        self.known: dict[str, Any] = {}  # buffers, axes, tiles and shared parts in scope

    def ahead(self, indent: int) -> bool:
        """Return whether the next line belongs to a body of this indentation."""
        return self.at < len(self.lines) and self.lines[self.at][0] >= indent

    def line(self) -> str:
        found = self.lines[self.at][1]
        self.at += 1
        return found

    def find(self, tokens: _Tokens, kind: type) -> Any:
        found = self.known.get(tokens.next())
        if type(found) is not kind:
            raise tokens.wrong(f"a known {kind.__name__.lower()}")
        return found

    # -- buffers and blocks

    def program(self) -> LoopProgram:
        tokens = _Tokens(self.line() if self.lines else "")
        tokens.expect("program")
        program = LoopProgram(tokens.next())
        parts = []
        while self.ahead(2):
            tokens = _Tokens(self.line())
            name = tokens.next()
            tokens.expect(":")
            kind = tokens.next()
            if kind not in KINDS:
                raise tokens.wrong(f"one of {', '.join(KINDS)}")
            buffer = Buffer(name, *self.type(tokens), kind)
            if tokens.take("in"):
                parts.append((buffer, tokens.next()))
            if tokens.take("at"):
                buffer.offset = tokens.number()
            self.known[name] = buffer
            program.buffers.append(buffer)
        for buffer, whole_name in parts:
            buffer.part = self.known[whole_name]
        program.blocks = self.blocks(0)
        return program

    def type(self, tokens: _Tokens) -> tuple[DType, tuple]:
        dtype = self.dtype(tokens)
        tokens.expect("[")
        return dtype, tuple(tokens.several(tokens.number, "]"))

    def dtype(self, tokens: _Tokens) -> DType:
        found = BY_NAME.get(tokens.next())
        if found is None:
            raise tokens.wrong("a dtype")
        return found

    def blocks(self, indent: int) -> list:
        blocks = []
        while self.ahead(indent):
            line = self.line()
            line, _, comment = line.partition("#")
            tokens = _Tokens(line)
            word = tokens.next()
            if word == "kernel":
                blocks.append(self.kernel(tokens, comment, indent + 2))
            elif word == "host":
                blocks.append(self.host(tokens))
            elif word == "grow":
                blocks.append(Grow(self.find(tokens, Buffer), self.parse_index(tokens)))
            elif word == "fill":
                blocks.append(self.fill(tokens))
            elif word == "repeat":
                blocks.append(self.repeat(tokens, indent + 2))
            elif word == "if":
                choice, bodies = self.find(tokens, Buffer), []
                while self.ahead(indent + 2):
                    self.header("case", indent + 2)
                    bodies.append(self.blocks(indent + 4))
                blocks.append(If(choice, bodies))
            else:
                raise tokens.wrong("a block")
        return blocks

    def fill(self, tokens: _Tokens) -> Fill:
        buffer, start = self.find(tokens, Buffer), self.parse_index(tokens)
        source = self.find(tokens, Buffer) if tokens.take("from") else None
        return Fill(
            buffer, source, start, self.parse_index(tokens) if tokens.take("rows") else None
        )

    def parse_index(self, tokens: _Tokens) -> Index:
        """Parse an index in brackets."""
        tokens.expect("[")
        (found,) = tokens.several(lambda: self.index(tokens), "]")
        return found

    def repeat(self, tokens: _Tokens, indent: int) -> Repeat:
        name = tokens.next()
        tokens.expect("in")
        axis, parallel = Axis(name, tokens.number()), bool(tokens.take("parallel"))
        flag = self.find(tokens, Buffer) if tokens.take("while") else None
        known = dict(self.known)
        self.known[name] = axis
        body = self.blocks(indent)
        self.known = known
        return Repeat(axis, body, flag, parallel)

    def header(self, word: str, indent: int) -> None:
        tokens = _Tokens(self.line() if self.ahead(indent) else "")
        tokens.expect(word)

    def host(self, tokens: _Tokens) -> Host:
        name = tokens.next()
        tokens.expect("(")
        inputs = tokens.several(lambda: self.find(tokens, Buffer), ")")
        tokens.expect("->")
        outputs = tokens.several(lambda: self.find(tokens, Buffer), "")
        return Host(name, None, inputs, outputs)

    def kernel(self, tokens: _Tokens, comment: str, indent: int) -> Kernel:
        names, _, reason = comment.partition(" |")
        names = [name.strip() for name in names.split(",") if name.strip()]
        known = dict(self.known)
        kernel = Kernel(tokens.next(), [], names, reason.strip())
        kernel.body = self.body(indent)
        self.known = known
        return kernel

    # -- statements

    def body(self, indent: int) -> list:
        statements = []
        shadowed = dict(self.known)
        while self.ahead(indent):
            tokens = _Tokens(self.line())
            word = tokens.next()
            if word == "for":
                statements.append(self.loop(tokens, indent + 2))
            elif word == "tile":
                statements.append(self.tile(tokens))
            elif word == "when":
                condition = self.expression(tokens)
                statements.append(When(condition, self.body(indent + 2)))
            elif word == "otherwise":
                statements[-1].otherwise = self.body(indent + 2)
            elif word == "call":
                statements.append(self.call(tokens))
            else:
                self.assignment(word, tokens, statements)
            if tokens.peek() not in ("", ":"):
                raise tokens.wrong("the end of the line")
        self.known = shadowed
        return statements

    def loop(self, tokens: _Tokens, indent: int) -> For:
        name = tokens.next()
        tokens.expect("in")
        axis = Axis(name, tokens.number())
        kind = tokens.next()
        if kind == ":":
            kind = "serial"
        elif kind not in LOOPS:
            raise tokens.wrong(f"one of {', '.join(LOOPS)}")
        before = self.known.get(name)
        self.known[name] = axis
        body = self.body(indent)
        if before is None:
            del self.known[name]
        else:
            self.known[name] = before
        return For(axis, body, kind)

    def tile(self, tokens: _Tokens) -> Tile:
        name = tokens.next()
        tokens.expect(":")
        dtype, dims = self.type(tokens)
        tokens.expect("=")
        self.known[name] = made = Tile(name, dtype, dims, self.expression(tokens))
        return made

    def assignment(self, word: str, tokens: _Tokens, statements: list) -> None:
        """Parse a store, an update, or the name of a shared part."""
        if tokens.take("="):
            self.known[word] = self.expression(tokens)
            return
        target = self.known.get(word)
        tokens.expect("[")
        indices = tokens.several(lambda: self.index(tokens), "]")
        op = tokens.next()
        if op in COMBINE:
            tokens.expect("=")
        elif op != "=":
            raise tokens.wrong("= or an operation to combine with")
        op = None if op == "=" else op
        value = self.expression(tokens)
        if type(target) is Tile:
            statements.append(Update(target, indices, value, op))
        elif type(target) is Buffer:
            statements.append(Store(target, indices[0], value, op))
        else:
            raise tokens.wrong("a known buffer or tile")

    def call(self, tokens: _Tokens) -> Call:
        routine = tokens.next()
        tokens.expect("(")
        arguments = tokens.several(lambda: self.argument(tokens), ")")
        tokens.expect("reads")
        buffers: list[list] = [[], []]
        for found, end in zip(buffers, ("writes", "")):
            while not tokens.take(end):
                found.append(self.find(tokens, Buffer))
                tokens.take(",")
        return Call(routine, arguments, *buffers)

    def argument(self, tokens: _Tokens) -> Any:
        if tokens.take("["):
            index = self.index(tokens)
            tokens.expect("]")
            return index
        if tokens.take("&"):
            buffer = self.find(tokens, Buffer)
            tokens.expect("[")
            (index,) = tokens.several(lambda: self.index(tokens), "]")
            return Pointer(buffer, index)
        return self.expression(tokens)

    # -- expressions

    def expression(self, tokens: _Tokens) -> Expr:
        complex_value = tokens.match(_COMPLEX)
        if complex_value:
            return Expr("const", (), BY_NAME[complex_value[2]], complex(complex_value[1]))
        word = tokens.next()
        if word == "(":
            return self.parse_guarded(tokens)
        if word in ("true", "false"):
            return Expr("const", (), bool_, word == "true")
        if word == "-" or word in ("nan", "inf") or word[:1].isdigit():
            return self.constant(word, tokens)
        if word == "bits":
            dtype = self.dtype(tokens)
            tokens.expect("(")
            return Expr("bits", self.operands(tokens), dtype)
        after = tokens.next() if tokens.peek() in ("(", "[") else ""
        if word in BY_NAME and after == "(":
            return Expr("cast", self.operands(tokens), BY_NAME[word])
        if word in BY_NAME and after == "[":
            (index,) = tokens.several(lambda: self.index(tokens), "]")
            return Expr("index", (), BY_NAME[word], index)
        if after == "(":
            return self.parse_application(word, tokens)
        known = self.known.get(word)
        if after == "[" and type(known) in (Tile, Buffer):
            indices = tuple(tokens.several(lambda: self.index(tokens), "]"))
            data = (known, indices) if type(known) is Tile else (known, indices[0])
            return Expr("read" if type(known) is Tile else "load", (), known.dtype, data)
        if after or type(known) is not Expr:
            raise tokens.wrong("an expression")
        return known

    def parse_guarded(self, tokens: _Tokens) -> Expr:
        load = self.expression(tokens)
        tokens.expect("if")
        guard = self.expression(tokens)
        tokens.expect("else")
        other = self.expression(tokens)
        tokens.expect(")")
        return Expr("load", (guard, other), load.dtype, load.data)

    def constant(self, word: str, tokens: _Tokens) -> Expr:
        if word == "-":
            word += tokens.next()
        tokens.expect(":")
        dtype = self.dtype(tokens)
        return Expr("const", (), dtype, float(word) if dtype.is_floating else int(word))

    def operands(self, tokens: _Tokens) -> tuple:
        return tuple(tokens.several(lambda: self.expression(tokens), ")"))

    def parse_application(self, name: str, tokens: _Tokens) -> Expr:
        operands = self.operands(tokens)
        if name == "select":
            return Expr(name, operands, operands[1].dtype)
        if name not in SCALARS:
            raise tokens.wrong(f"a scalar function, not {name}")
        return Expr(name, operands, SCALARS[name].dtype(operands[0].dtype))

    def index(self, tokens: _Tokens) -> Index:
        constant, terms = 0, []
        sign = -1 if tokens.take("-") else 1
        while True:
            if tokens.peek().isdigit():
                constant += sign * int(tokens.next())
            else:
                atom, factor = self.term(tokens)
                terms.append((atom, sign * factor))
            if tokens.take("+"):
                sign = 1
            elif tokens.take("-"):
                sign = -1
            else:
                return Index(constant, tuple(terms))

    def term(self, tokens: _Tokens) -> tuple[Any, int]:
        if tokens.take("("):
            atom: Any = self.index(tokens)
            tokens.expect(")")
        elif tokens.take("{"):
            atom = Element(self.expression(tokens))
            tokens.expect("}")
        else:
            atom = self.find(tokens, Axis)
        if tokens.peek() in ("//", "%"):
            kind = Quotient if tokens.next() == "//" else Remainder
            inner = atom if type(atom) is Index else Index(0, ((atom, 1),))
            atom = kind(inner, tokens.number())
        if type(atom) is Index:
            raise tokens.wrong("// or %")
        return atom, tokens.number() if tokens.take("*") else 1
