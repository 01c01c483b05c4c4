"""Functions of machine integers, written in Python, as LLVM text.

A function of this language is Python: assignments, `while`, `if`, `return`, arithmetic of 64-bit
integers that wraps around, and calls of each other; `return a, b` gives several.  Comparison is
signed, `>>`, `//` and `%` are unsigned, `a if c else b` computes both; `and` and `or` stop early in
the tests of `if` and `while` alone.  What Python masks with MASK
to have it wrap is the same number here, so that hashes are one text for both.

Words of the language, beside functions: `byte(s, k)`, `half(s, k)`, `word(s, k)` (1, 4 or 8 bytes
of the string s, little-endian) and `length(s)`; a string is the address of a `bytes` object.  What
else may be called is given as `outside`: a name to an address and the number of arguments; `names`
stand for functions and numbers that differ from module to module.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "lshr",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
}
_COMPARISONS = {
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
SIZE_AT = object.__basicsize__  # of a bytes object, and of its data
DATA_AT = bytes.__basicsize__ - 1
TYPE_AT = object.__basicsize__ - 8
_LOADS = {"load8": 8, "load16": 16, "load32": 32, "load64": 64}
_STORES = {"store8": 8, "store32": 32, "store64": 64}
INLINED = 60  # lines of a function that is put where it is called
_PARTS = {"byte": "load8", "half": "load32", "word": "load64"}


class NativeModule:
    """LLVM text of functions and of all that they call."""

    def __init__(
        self, outside: dict[str, tuple[int, int]] | None = None, names: dict | None = None
    ):
        self.outside, self.names = outside or {}, names or {}
        self.texts: dict[str, str] = {}

    def add(self, function: Callable[..., Any]) -> None:
        """Translate a function and its callees."""
        if function.__name__ not in self.texts:
            self.texts[function.__name__] = ""
            self.texts[function.__name__] = _Translation(self, function).text()

    def text(self) -> str:
        """Return the module."""
        return "\n".join(self.texts.values())


@cache
def tree_of(function: Callable[..., Any]) -> Any:
    """Return the definition of a function, parsed."""
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]


@cache
def results_of(function: Callable[..., Any]) -> int:
    """Return the number of values that a function returns."""
    for node in ast.walk(tree_of(function)):
        if isinstance(node, ast.Return):
            return len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1
    raise SyntaxError(f"{function.__name__} returns nothing")


def _kind(results: int) -> str:
    return "i64" if results == 1 else "{" + ", ".join(["i64"] * results) + "}"


class _Translation:
    """One function on its way to LLVM."""

    def __init__(self, module: NativeModule, function: Callable[..., Any]):
        self.module, self.scope = module, {**function.__globals__, **module.names}
        self.tree = tree_of(function)
        self.results = results_of(function)
        self.lines: list[str] = []
        self.names: list[str] = []
        self.count = 0

    def text(self) -> str:
        """Return the function as text:
        variables in memory, which LLVM's passes put into registers.
        """
        names = [argument.arg for argument in self.tree.args.args]
        for name in names:
            self._name(name)
            self.lines.append(f"store i64 %a.{name}, ptr %v.{name}")
        self._block(self.tree.body)
        self.lines.append("unreachable")
        given = ", ".join([f"i64 %a.{name}" for name in names])
        slots = [f"%v.{name} = alloca i64" for name in self.names]
        body = "\n  ".join([*slots, *self.lines])
        entry = self.tree.name.startswith("talweg_")
        linkage = "" if entry else "internal "
        inlined = "" if entry or len(self.lines) > INLINED else " alwaysinline"
        head = f"define {linkage}{_kind(self.results)} @{self.tree.name}({given}){inlined}"
        return f"{head} {{\n  {body}\n}}"

    def _name(self, name: str) -> None:
        if name not in self.names:
            self.names.append(name)

    def _new(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def _label(self) -> str:
        self.count += 1
        return f"l{self.count}"

    def _emit(self, text: str) -> str:
        name = self._new()
        self.lines.append(f"{name} = {text}")
        return name

    def _block(self, body: list) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: Any) -> None:
        if isinstance(node, ast.Assign):
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            value = ast.BinOp(ast.Name(node.target.id), node.op, node.value)
            self._assign(node.target, value)
        elif isinstance(node, ast.Return):
            self._return(node.value)
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.While):
            self._while(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            self._value(node.value)  # a call for its effect; a docstring is nothing

    def _assign(self, target: Any, value: object) -> None:
        if isinstance(target, ast.Name):
            self._store(target.id, self._value(value))
            return
        if isinstance(value, ast.Tuple):
            found = [self._value(part) for part in value.elts]
        else:
            whole, kind = self._value(value), _kind(len(target.elts))
            places = range(len(target.elts))
            found = [self._emit(f"extractvalue {kind} {whole}, {place}") for place in places]
        for part, own in zip(target.elts, found):
            self._store(part.id, own)

    def _store(self, name: str, value: str) -> None:
        self._name(name)
        self.lines.append(f"store i64 {value}, ptr %v.{name}")

    def _return(self, value: object) -> None:
        kind = _kind(self.results)
        if isinstance(value, ast.Tuple):
            whole = "undef"
            for place, part in enumerate(value.elts):
                own = self._value(part)
                whole = self._emit(f"insertvalue {kind} {whole}, i64 {own}, {place}")
        else:
            whole = self._value(value)
        self.lines += [f"ret {kind} {whole}", f"{self._label()}:"]

    def _if(self, node: Any) -> None:
        then, other, after = self._label(), self._label(), self._label()
        self._jump(node.test, then, other)
        self.lines.append(f"{then}:")
        self._block(node.body)
        self.lines += [f"br label %{after}", f"{other}:"]
        self._block(node.orelse)
        self.lines += [f"br label %{after}", f"{after}:"]

    def _while(self, node: Any) -> None:
        test, body, after = self._label(), self._label(), self._label()
        self.lines += [f"br label %{test}", f"{test}:"]
        self._jump(node.test, body, after)
        self.lines.append(f"{body}:")
        self._block(node.body)
        self.lines += [f"br label %{test}", f"{after}:"]

    def _jump(self, node: object, yes: str, no: str) -> None:
        """Go on at one of two labels; what `and` and `or` do not need is not computed."""
        if not isinstance(node, ast.BoolOp):
            self.lines.append(f"br i1 {self._truth(node)}, label %{yes}, label %{no}")
            return
        for part in node.values[:-1]:
            following = self._label()
            if isinstance(node.op, ast.And):
                self._jump(part, following, no)
            else:
                self._jump(part, yes, following)
            self.lines.append(f"{following}:")
        self._jump(node.values[-1], yes, no)

    def _truth(self, node: object) -> str:
        """Return a condition, one bit;
        `and` and `or` inside of an expression compute all their parts.
        """
        if isinstance(node, ast.BoolOp):
            word = "and" if isinstance(node.op, ast.And) else "or"
            truth = self._truth(node.values[0])
            for part in node.values[1:]:
                truth = self._emit(f"{word} i1 {truth}, {self._truth(part)}")
            return truth
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._emit(f"xor i1 {self._truth(node.operand)}, true")
        if isinstance(node, ast.Compare):
            truth, left = "", self._value(node.left)
            for operator, right in zip(node.ops, node.comparators):
                other = self._value(right)
                bit = self._emit(f"icmp {_COMPARISONS[type(operator)]} i64 {left}, {other}")
                truth = self._emit(f"and i1 {truth}, {bit}") if truth else bit
                left = other
            return truth
        return self._emit(f"icmp ne i64 {self._value(node)}, 0")

    def _value(self, node: Any) -> str:
        if isinstance(node, ast.Constant):
            constant: Any = node.value
            number = int(constant) & (1 << 64) - 1
            return str(number - (1 << 64) if number >> 63 else number)
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self._emit(f"load i64, ptr %v.{node.id}")
            return self._value(ast.Constant(self.scope[node.id]))
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left), self._value(node.right)
            return self._emit(f"{_BINARY[type(node.op)]} i64 {left}, {right}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._emit(f"sub i64 0, {self._value(node.operand)}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self._emit(f"xor i64 {self._value(node.operand)}, -1")
        if isinstance(node, ast.IfExp):
            bit = self._truth(node.test)
            first, second = self._value(node.body), self._value(node.orelse)
            return self._emit(f"select i1 {bit}, i64 {first}, i64 {second}")
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return self._emit(f"zext i1 {self._truth(node)} to i64")
        return self._call(node.func.id, [self._value(part) for part in node.args])

    def _call(self, name: str, given: list[str]) -> str:
        if name == "length":
            return self._load(64, self._emit(f"add i64 {given[0]}, {SIZE_AT}"))
        if name in _PARTS:
            sum_ = self._emit(f"add i64 {given[0]}, {given[1]}")
            return self._load(_LOADS[_PARTS[name]], self._emit(f"add i64 {sum_}, {DATA_AT}"))
        if name in _LOADS:
            return self._load(_LOADS[name], given[0])
        if name in _STORES:
            return self._emit_store(_STORES[name], *given)
        if name in _BUILT_IN:
            return _BUILT_IN[name](self, *given)
        operands = ", ".join([f"i64 {part}" for part in given])
        if name in self.module.outside:
            address, count = self.module.outside[name]
            if count != len(given):
                raise SyntaxError(f"{name} takes {count} arguments")
            pointer = self._emit(f"inttoptr i64 {address} to ptr")
            return self._emit(f"call i64 {pointer}({operands})")
        function = self.scope[name]
        self.module.add(function)
        kind = _kind(results_of(function))
        return self._emit(f"call {kind} @{function.__name__}({operands})")

    def _load(self, bits: int, place: str) -> str:
        pointer = self._emit(f"inttoptr i64 {place} to ptr")
        found = self._emit(f"load i{bits}, ptr {pointer}, align 1")
        return found if bits == 64 else self._emit(f"zext i{bits} {found} to i64")

    def _emit_store(self, bits: int, place: str, value: str) -> str:
        pointer = self._emit(f"inttoptr i64 {place} to ptr")
        short = value if bits == 64 else self._emit(f"trunc i64 {value} to i{bits}")
        self.lines.append(f"store i{bits} {short}, ptr {pointer}, align 1")
        return value

    # -- words that Python has no short form for

    def shift_product(self, x: str, y: str, places: str) -> str:
        """Return the product of two numbers in 128 bits, shifted right."""
        wide = [self._emit(f"zext i64 {part} to i128") for part in (x, y, places)]
        product = self._emit(f"mul i128 {wide[0]}, {wide[1]}")
        return self._emit(f"trunc i128 {self._emit(f'lshr i128 {product}, {wide[2]}')} to i64")

    def shift_rest(self, x: str, y: str, places: str) -> str:
        """Return the bits that `shift_product` drops, the highest first,
        in 64 bits; 1 for any below.
        """
        wide = [self._emit(f"zext i64 {part} to i128") for part in (x, y, places)]
        product = self._emit(f"mul i128 {wide[0]}, {wide[1]}")
        up = self._emit(f"sub i128 128, {wide[2]}")
        rest = self._emit(f"shl i128 {product}, {up}")
        high = self._emit(f"trunc i128 {self._emit(f'lshr i128 {rest}, 64')} to i64")
        low = self._emit(f"trunc i128 {rest} to i64")
        more = self._emit(f"icmp ne i64 {low}, 0")
        return self._emit(f"or i64 {high}, {self._emit(f'zext i1 {more} to i64')}")

    def float_bits(self, number: str) -> str:
        """Return the bits of a float64 that is a whole number."""
        return self._emit(f"bitcast double {self._emit(f'uitofp i64 {number} to double')} to i64")

    def add_floats(self, x: str, y: str) -> str:
        """Return the bits of the sum of two float64."""
        return self._of_floats("fadd", x, y)

    def multiply_floats(self, x: str, y: str) -> str:
        """Return the bits of the product of two float64."""
        return self._of_floats("fmul", x, y)

    def divide_floats(self, x: str, y: str) -> str:
        """Return the bits of the quotient of two float64."""
        return self._of_floats("fdiv", x, y)

    def _of_floats(self, word: str, x: str, y: str) -> str:
        given = [self._emit(f"bitcast i64 {part} to double") for part in (x, y)]
        found = self._emit(f"{word} double {given[0]}, {given[1]}")
        return self._emit(f"bitcast double {found} to i64")

    def float32_bits(self, x: str) -> str:
        """Return the bits of the float32 next to a float64."""
        value = self._emit(f"bitcast i64 {x} to double")
        short = self._emit(f"bitcast float {self._emit(f'fptrunc double {value} to float')} to i32")
        return self._emit(f"zext i32 {short} to i64")

    def scratch(self, size: str) -> str:
        """Return the address of memory that is there until the function returns."""
        return self._emit(f"ptrtoint ptr {self._emit(f'alloca i8, i64 {size}')} to i64")


_BUILT_IN: dict[str, Callable[..., str]] = {
    name: getattr(_Translation, name)
    for name in (
        "shift_product",
        "shift_rest",
        "float_bits",
        "add_floats",
        "multiply_floats",
        "divide_floats",
        "float32_bits",
        "scratch",
    )
}
