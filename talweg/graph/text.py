"""Printer and parser of bodies as text.

One line an operation, in an order of execution; `%4` is the fourth value, `%4.1` in a parameter the
size of its axis 1, `%4[0]` element 0 of its value.  Bodies among parameters stand before the body
that uses them::

    body main(%0: float32[?, 3], %1: float32[3]) {
      %2 = mul(%0, %1)
      %3 = reduce_sum(%2) {axes=(1,), keepdims=False}
      return %3
    }

`parse(to_text(body))` is a body that does the same.  Parsing evaluates literals, nothing else.
"""

from __future__ import annotations

import ast
import base64
import re
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dims import Atom, Dim, function, of_atom
from talweg.core.dtypes import BY_NAME, DType
from talweg.core.errors import value_error
from talweg.core.primitive import REGISTRY
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.handle import Handle
from talweg.graph.node import GRAPH, INPUT, READ, Content, Node
from talweg.graph.subgraph import Body

# -- to text


def to_text(body: Body, name: str = "main", to_parse: bool = True) -> str:
    """Print a body, and the bodies it uses, as text.

    Python functions among parameters have no text that could be read back: ValueError, or, without
    `to_parse`, `python('their kind')`.
    """
    writer = _BodyPrinter(to_parse)
    writer.body(body, _SIGNS.sub("_", name))  # that of a lambda is no word
    return "\n".join(writer.lines) + "\n"


_SIGNS = re.compile(r"[^A-Za-z0-9_]")


class _BodyPrinter:
    def __init__(self, to_parse: bool) -> None:
        self.to_parse = to_parse
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.used = {"main"}
        self.kept: list[Body] = []

    def body(self, body: Body, name: str) -> None:
        number = {node: i for i, node in enumerate(_number_it(body))}
        rows = []
        for node in number:
            if node not in body.inputs:
                rows.append(f"  %{number[node]} = {self.operation(node, number)}")
        inputs = ", ".join(f"%{number[n]}: {type_text(n.aval)}" for n in body.inputs)
        results = ", ".join(f"%{number[n]}" for n in body.outputs)
        self.lines.append(f"body {name}({inputs}) {{")
        self.lines += rows
        self.lines += [f"  return {results}", "}"]

    def operation(self, node: Node, number: dict) -> str:
        operands = ", ".join(f"%{number[source]}" for source in node.operands)
        params = ", ".join(f"{k}={self.value(v, number)}" for k, v in node.key[1])
        text = f"{node.prim.name}({operands})"
        if params:
            text += f" {{{params}}}"
        if node.prim.effect in (READ, INPUT):
            text += f" : {type_text(node.aval)}"
        controls = node.table.controls.get(node, ())
        if controls:
            text += f" after {', '.join(f'%{number[c]}' for c in controls if c in number)}"
        return text

    def value(self, value: object, number: dict) -> str:
        if type(value) is Dim:
            return f"size({size_text(value, number)!r})"
        if type(value) is tuple:
            inner = ", ".join(self.value(item, number) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, DType):
            return f"dtype({value.name!r})"
        if isinstance(value, Content):
            return array_text(value.array)
        if isinstance(value, np.ndarray):
            return array_text(value)
        if isinstance(value, Handle):
            shape = value.shape.as_list() if value.shape.rank is not None else None
            return f"variable({value.name!r}, {value.dtype.name!r}, {shape!r})"
        if isinstance(value, Body):
            return f"body({self.name_nested(value)!r})"
        if isinstance(value, Node):
            return f"inner({value.prim.name!r})"
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return f"number({value!r})" if value in _UNUSUAL or value != value else repr(value)
        if isinstance(value, np.generic):
            return array_text(np.asarray(value))
        if not self.to_parse:
            return f"python({getattr(value, 'tf_type', type(value).__name__)!r})"
        raise value_error("TW501", f"a parameter of type {type(value).__name__} has no text form")

    def name_nested(self, body: Body) -> str:
        name = self.names.get(id(body))
        if name is None:
            name = plain = _SIGNS.sub("_", body.name)
            number = 0
            while name in self.used:
                number += 1
                name = f"{plain}_{number}"
            self.used.add(name)
            self.names[id(body)] = name
            self.kept.append(body)
            self.body(body, name)
        return name


_UNUSUAL = (float("inf"), float("-inf"))


def _number_it(body: Body) -> list[Node]:
    own = set(body.inputs)
    return [*body.inputs, *[node for node in body.nodes if node not in own]]


def type_text(aval: Any) -> str:
    """Print an abstract value: ``float32[?, 3]``; ``float32[*]`` where the rank is unknown."""
    if type(aval) is tuple:
        return f"({', '.join(map(type_text, aval))})"
    if aval.dims is None:
        return f"{aval.dtype.name}[*]"
    sizes = ", ".join("?" if type(d) is Dim or d is None else str(d) for d in aval.dims)
    return f"{aval.dtype.name}[{sizes}]"


def array_text(array: np.ndarray) -> str:
    """Print an array as a call that `parse` understands."""
    if array.dtype == object:
        return f"strings({list(array.shape)}, {array.reshape(-1).tolist()!r})"
    if array.size <= 8 and array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        values = array.reshape(-1).tolist()
        if all(v == v and abs(v) != float("inf") for v in values):
            return f"array({array.dtype.name!r}, {list(array.shape)}, {values!r})"
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return f"array({array.dtype.name!r}, {list(array.shape)}, {data!r})"


def size_text(size: Dim, number: dict) -> str:
    """Print a symbolic size in terms of values' sizes."""
    parts = []
    for atoms, factor in size.terms:
        parts.append("*".join([str(factor), *[_atom_text(atom, number) for atom in atoms]]))
    return "+".join([*parts, str(size.constant)])


def _atom_text(atom: Atom, number: dict) -> str:
    if atom.arguments:
        inner = ";".join(size_text(a, number) if type(a) is Dim else str(a) for a in atom.arguments)
        return f"{atom.kind}({inner})"
    place = number.get(atom.source)
    if place is None:
        raise value_error("TW501", f"the size {atom!r} belongs to no value of the body")
    return f"%{place}.{atom.place}" if atom.kind == "size" else f"%{place}[{atom.place}]"


# -- from text

_HEADER = re.compile(r"^body (\w+)\((.*)\) \{$")
_INPUT = re.compile(r"%(\d+): (\w+)\[([^\]]*)\]")
_LINE = re.compile(
    r"^%(\d+) = (\w+)\(([^)]*)\)(?: \{(.*)\})?(?: : (\w+)\[([^\]]*)\])?"
    r"(?: after ([%\d, ]+))?$"
)


def parse(text: str, variables: dict | None = None) -> Body:
    """Parse a text to its last body; `variables` gives those it uses, by name.

    ValueError, with the line, for what is not in the language.
    """
    reader = _BodyParser(variables or {})
    last: Body | None = None
    lines = text.splitlines()
    line = 0
    while line < len(lines):
        if not lines[line].strip():
            line += 1
            continue
        line, last = reader.body(lines, line)
    if last is None:
        raise value_error("TW501", "there is no body in the text")
    return last


class _BodyParser:
    def __init__(self, variables: dict):
        self.variables = variables
        self.bodies: dict[str, Body] = {}

    def body(self, lines: list[str], line_number: int) -> tuple[int, Body]:
        header = _HEADER.match(lines[line_number].strip())
        if header is None:
            raise _bad(line_number, lines[line_number])
        graph = FunctionGraph(header[1])
        values: dict[int, Node] = {}
        for number, dtype, sizes in _INPUT.findall(header[2]):
            values[int(number)] = graph.add_input(_aval(dtype, sizes)).node
        inputs = tuple(values.values())
        line_number += 1
        while line_number < len(lines) and not lines[line_number].strip().startswith("return"):
            try:
                self.operation(graph, values, lines[line_number].strip())
            except (KeyError, SyntaxError, IndexError, TypeError) as error:
                raise _bad(line_number, lines[line_number], str(error)) from None
            line_number += 1
        if line_number + 1 >= len(lines) or lines[line_number + 1].strip() != "}":
            raise _bad(line_number, lines[-1], "no return, or no closing brace")
        results = re.findall(r"%(\d+)", lines[line_number])
        outputs = tuple([values[int(number)] for number in results])
        body = Body(header[1], inputs, outputs, graph.find_forced())
        self.bodies[header[1]] = body
        return line_number + 2, body

    def operation(self, graph: FunctionGraph, values: dict, line: str) -> None:
        match = _LINE.match(line)
        if match is None:
            raise SyntaxError("not an operation")
        number, name, operands, params, dtype, sizes, controls = match.groups()
        prim = REGISTRY[name]
        nodes = tuple([values[int(n)] for n in re.findall(r"%(\d+)", operands)])
        items = tuple(self.params(params or "", values, graph))
        aval = None if dtype is None else _aval(dtype, sizes)
        node = graph.table.intern(prim, items, nodes, aval)
        if controls:
            graph.tie(node, tuple([values[int(n)] for n in re.findall(r"%(\d+)", controls)]))
        if node.serial is not None and prim.effect not in (READ, INPUT, GRAPH):
            graph.effects.append(node)
        node.holders += 1
        values[int(number)] = node

    def params(self, text: str, values: dict, graph: FunctionGraph) -> list:
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        return [(keyword.arg, self.literal(keyword.value, values)) for keyword in call.keywords]

    def literal(self, tree: Any, values: dict) -> Any:
        if isinstance(tree, ast.Tuple):
            return tuple([self.literal(item, values) for item in tree.elts])
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            arguments = [
                ast.literal_eval(argument) if tree.func.id != "number" else _number(argument)
                for argument in tree.args
            ]
            return self.call(tree.func.id, arguments, values)
        return ast.literal_eval(tree)

    def call(self, name: str, arguments: list, values: dict) -> Any:
        if name == "number":
            return arguments[0]
        if name == "dtype":
            return BY_NAME[arguments[0]]
        if name == "array":
            return Content(_array(*arguments))
        if name == "strings":
            array = np.empty(len(arguments[1]), object)
            array[:] = arguments[1]
            return Content(array.reshape(arguments[0]))
        if name == "body":
            return self.bodies[arguments[0]]
        if name == "size":
            return _size(arguments[0], values)
        if name == "variable":
            return self.variables[arguments[0]].handle
        raise SyntaxError(f"{name!r} is unknown")


def _number(tree: Any) -> Any:
    text = ast.unparse(tree)
    return {"inf": float("inf"), "-inf": float("-inf")}.get(text, float("nan"))


def _array(dtype: str, shape: list, data: bytes) -> np.ndarray:
    kind = BY_NAME[dtype].numpy_dtype
    if isinstance(data, str):
        raw = base64.b64decode(data)
        wanted = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if len(raw) != wanted:
            raise SyntaxError(f"{len(raw)} bytes of data for an array of {wanted}")
        return np.frombuffer(raw, kind).reshape(shape)
    return np.array(data, kind).reshape(shape)


def _aval(dtype: str, sizes: str) -> Aval:
    if sizes == "*":
        return Aval(None, BY_NAME[dtype])
    dims = tuple([None if s.strip() == "?" else int(s) for s in sizes.split(",") if s.strip()])
    return Aval(dims, BY_NAME[dtype])


def _size(text: str, values: dict) -> Any:
    """Parse a size; atoms are looked up among the values' own sizes."""
    total: Any = 0
    for term in _split(text, "+"):
        product: Any = 1
        for factor in _split(term, "*"):
            product = _factor(factor, values) * product
        total = product + total
    return total


def _factor(text: str, values: dict) -> Any:
    found = re.match(r"^%(\d+)\.(\d+)$", text)
    if found:
        node, axis = values[int(found[1])], int(found[2])
        return node.aval.dims[axis]
    found = re.match(r"^%(\d+)\[(\d+)\]$", text)
    if found:
        return of_atom(Atom("value", values[int(found[1])], int(found[2])))
    found = re.match(r"^(\w+)\((.*)\)$", text)
    if found:
        arguments = tuple([_size(part, values) for part in _split(found[2], ";")])
        return function(found[1], *arguments)
    return int(text)


def _split(text: str, sign: str) -> list[str]:
    """Split a text at each `sign` that stands outside of parentheses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == sign and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _bad(place: int, line: str, why: str = "") -> Exception:
    return value_error("TW501", f"line {place + 1} of the graph's text: {line.strip()!r} {why}")
