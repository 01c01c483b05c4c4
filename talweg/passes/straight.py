"""Programs for known shapes: equations over values, one after the other.

`specialize` takes a functionalized `Program` and what its inputs and variables are (shapes and
dtypes), and gives a `Straight` program: every size is a number, calls are put in place, what only
depends on shapes or is small and constant is computed.  Histories become what they stand for: they
exist while this runs, not later.  Where that cannot be done a `NotStraightError` says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dims import Atom, Dim, evaluate
from talweg.core.dtypes import DType, of_numpy, uint64, variant
from talweg.core.errors import OpError
from talweg.core.primitive import Primitive, later
from talweg.graph.node import Node
from talweg.kernels.variants import History
from talweg.passes.functionalize import Program, Step, program_of
from talweg.prims.sequences import counting

FOLDED = 4096  # elements of a result that is computed beforehand


class NotStraightError(Exception):
    """Why a program cannot be made straight: sizes that depend on values, say."""


KINDS = frozenset(
    ("bool", "bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
     "uint8", "uint16", "uint32", "uint64", "complex64", "complex128")
)  # fmt: skip


class Value:
    """An array the program has at some time: sizes, dtype, and `content` if it is a constant."""

    __slots__ = ("content", "dims", "dtype", "maker")

    def __init__(self, dims: tuple, dtype: DType, content: Any = None):
        if dtype.name not in KINDS:
            raise NotStraightError(f"values of dtype {dtype.name} are not compiled")
        self.dims, self.dtype, self.content = dims, dtype, content
        self.maker: Equation | None = None

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.dims)

    def __repr__(self) -> str:
        text = f"{self.dtype.name}[{','.join(map(str, self.dims))}]"
        return text if self.content is None else f"constant {text}"


class Equation:
    """outputs = prim(inputs, params)."""

    __slots__ = ("inputs", "node", "outputs", "params", "prim")

    def __init__(self, prim: Primitive, inputs: Sequence, params: dict, node: Any = None):
        self.prim, self.inputs, self.params, self.node = prim, tuple(inputs), params, node
        self.outputs: tuple[Value, ...] = ()

    @property
    def output(self) -> Value:
        """The only result."""
        (value,) = self.outputs
        return value

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.prim.name}{self.inputs}"


class Straight:
    """Values in, equations, values out; `states` are (variable, value before, value after)."""

    __slots__ = (
        "bounds", "equations", "guards", "inputs", "known", "outputs", "states", "streams",
    )  # fmt: skip

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.equations: list[Equation] = []
        self.outputs: list[Value] = []
        self.states: list[tuple[Any, Value, Value]] = []  # after is before where nothing is written
        self.streams: list[tuple] = []  # (operation, seeds, blocks) of the last inputs
        self.known: dict[tuple, Any] = {}  # results of equal equations: each is made once
        self.guards: list[Value] = []  # all true, or the program fails: the interpreter says why
        self.bounds: dict[Value, tuple[int, int]] = {}  # what integers are known to be between

    def numbers(self, value: Value) -> Any:
        """The numbers that an integer is in the trips of a loop around, if they are known."""
        content = value.content
        return content.reshape(-1) if content is not None and content.size == 1 else None

    def limits(self, value: Value) -> tuple[int, int] | None:
        """The smallest and largest number that an integer can be, if they are known."""
        numbers = self.numbers(value)
        if numbers is not None:
            return int(numbers.min()), int(numbers.max())
        found, maker = self.bounds.get(value), value.maker
        if found is None and maker is not None and maker.prim.name in _KEEP_LIMITS:
            return self.limits(maker.inputs[0])
        if found is None and maker is not None and maker.prim.name in ("add", "sub"):
            first, second = [self.limits(x) for x in maker.inputs]
            if first is not None and second is not None:
                low, high = second if maker.prim.name == "add" else (-second[1], -second[0])
                found = first[0] + low, first[1] + high
        return found

    def rename(self, renamed: dict[Value, Value]) -> None:
        """Let results, guards and new values of variables be what has taken their place."""
        self.outputs = [renamed.get(x, x) for x in self.outputs]
        self.guards = [renamed.get(x, x) for x in self.guards]
        self.states = [(v, b, renamed.get(a, a)) for v, b, a in self.states]

    def draw(self, operation: Any, seeds: Any, blocks: int) -> Value:
        """The state of a random stream, from which `blocks` blocks are taken."""
        value = Value((3,), uint64)
        self.inputs.append(value)
        self.streams.append((operation, seeds, blocks))
        return value

    def forget(self) -> None:
        """Take the values and equations, which refer to each other, apart."""
        for equation in self.equations:
            for value in equation.outputs:
                value.maker = None
        self.equations = []

    def apply(self, prim: Primitive, inputs: Sequence, params: dict, node: Any = None) -> Any:
        """The result(s) of an equation at the end of the program, or constants."""
        if prim.effect is None and not prim.multiple:
            if params.get("axes") == () and "fold" in prim.lowering:
                return inputs[0]  # nothing is reduced
            found = _folded(prim, inputs, params)
            if found is not None:
                return found
        requires = prim.lowering.get("requires")
        if requires is not None:
            requires(Expansion(self, node), *inputs, **params)
        expand = prim.lowering.get("expand")
        if expand is not None:
            inferred(prim, inputs, params)  # which refuses what it would refuse by itself
            found = expand(Expansion(self, node), *inputs, **params)
            if found is not NotImplemented:
                return found
        if params.get("keepdims") and "fold" in prim.lowering:  # equal to the one without
            some = self.apply(prim, inputs, {**params, "keepdims": False}, node)
            dims = prim.infer(Aval(inputs[0].dims, inputs[0].dtype), **params).dims
            return self.apply(later("reshape"), [some], {"shape": dims}, node)
        key = (prim, *inputs, *params.items()) if prim.effect is None else None
        found = self.known.get(key)
        if found is not None:
            return found
        result = self._new(prim, inputs, params, node)
        if key is not None:
            self.known[key] = result
        return result

    def _new(self, prim: Primitive, inputs: Sequence, params: dict, node: Any) -> Any:
        equation = Equation(prim, inputs, params, node)
        known = inferred(prim, inputs, params)
        avals = known if prim.multiple else (known,)
        for aval in avals:
            if aval.dims is None or not all(type(size) is int for size in aval.dims):
                raise NotStraightError(f"the shape of the result of {prim.name} depends on values")
        equation.outputs = tuple([Value(aval.dims, aval.dtype) for aval in avals])
        for value in equation.outputs:
            value.maker = equation
        self.equations.append(equation)
        return equation.outputs if prim.multiple else equation.output


def inferred(prim: Primitive, inputs: Sequence, params: dict) -> Any:
    """What `infer` says; a NotStraightError where it refuses, for the interpreter to raise."""
    try:
        return prim.infer(*[Aval(x.dims, x.dtype) for x in inputs], **params)
    except OpError as error:
        raise NotStraightError(f"{prim.name} refuses its operands: {error}") from error


_KEEP_LIMITS = frozenset(("row", "reshape", "cast"))


class Expansion:
    """What `expand` and `requires` rules are written with: `t.exp(x)` applies that primitive.

    A Python number beside values takes the dtype of the last of them.
    """

    __slots__ = ("_node", "_straight")

    def __init__(self, straight: Straight, node: Any):
        self._straight, self._node = straight, node

    def __getattr__(self, name: str) -> Any:
        return partial(self.apply, later(name))

    def apply(self, prim: Primitive, *operands: Any, **params: Any) -> Any:
        """The result of a primitive."""
        dtype = next((x.dtype for x in reversed(operands) if isinstance(x, Value)), None)
        inputs = [x if isinstance(x, Value) else self._number(x, dtype) for x in operands]
        return self._straight.apply(prim, inputs, params, self._node)

    def _number(self, number: Any, dtype: Any) -> Value:
        """A constant, the same one for equal numbers."""
        key = ("number", repr(number), dtype)
        known = self._straight.known
        if key not in known:
            known[key] = constant(np.asarray(number, dtype.numpy_dtype))
        return known[key]

    def require(self, condition: Value) -> None:
        """The program fails unless all elements of `condition` are true."""
        if condition not in self._straight.guards:
            self._straight.guards.append(condition)

    def require_below(self, x: Value, size: int) -> None:
        """The program fails unless all elements of the integers `x` are in [0, size)."""
        while x.maker is not None and x.maker.prim.name == "reshape":
            x = x.maker.inputs[0]
        inside = self.greater_equal(x, 0)
        if size <= x.dtype.max:
            inside = self.logical_and(inside, self.less(x, size))
        self.require(inside)

    def counting(self, size: int, dtype: DType) -> Value:
        """0, 1, ..., size - 1."""
        return self.apply(counting, size=size, dtype=dtype)

    def array(self, content: Any) -> Value:
        """A constant."""
        return constant(content)


def constant(array: Any) -> Value:
    """A constant value."""
    array = np.asarray(array)
    return Value(array.shape, of_numpy(array.dtype), array)


def _folded(prim: Primitive, inputs: Sequence, params: dict) -> Value | None:
    """The result if it is small and known."""
    if prim.name == "shape_of":
        return constant(np.array(inputs[0].dims, params["dtype"].numpy_dtype))
    if prim.name == "zeros_of":
        (x,) = inputs
        zero = Value(x.dims, x.dtype, np.zeros((), x.dtype.numpy_dtype))
        return zero if x.dtype.is_numeric or x.dtype.is_bool else None
    if not inputs or any(x.content is None for x in inputs):
        return None
    if all(x.content.ndim == 0 for x in inputs) and (prim.elementwise or prim.name in _SPREAD):
        return _filled(prim, inputs, params)
    if any(x.content.shape != x.dims for x in inputs):
        return None
    arrays = [x.content for x in inputs]
    if max([array.size for array in arrays]) > FOLDED or prim.memory == "host":
        return None
    known = inferred(prim, inputs, params)
    sizes = known.dims
    if sizes is None or not all(type(s) is int for s in sizes) or math.prod(sizes) > FOLDED:
        return None
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(prim.numpy(*arrays, **params))
    except OpError:  # the interpreter will raise it
        return None
    return Value(result.shape, known.dtype, result)


_SPREAD = frozenset(("broadcast_to", "reshape", "transpose"))


def _filled(prim: Primitive, inputs: Sequence, params: dict) -> Value | None:
    """A result of which all elements are one number."""
    known = inferred(prim, inputs, params)
    if known.dims is None or not all(type(size) is int for size in known.dims):
        return None
    if not prim.elementwise:
        return Value(known.dims, known.dtype, inputs[0].content)
    try:
        with np.errstate(all="ignore"):
            number = np.asarray(prim.numpy(*[x.content for x in inputs], **params))
    except OpError:  # the interpreter will raise it
        return None
    return Value(known.dims, known.dtype, number.astype(known.dtype.numpy_dtype))


def specialize(
    program: Program, arguments: Sequence[Aval], states: dict, same: dict | None = None
) -> Straight:
    """The straight program for arguments of these kinds; `states`: variable -> Aval.

    `same` tells which arguments are the values that variables have: they are no inputs then.
    """
    straight = Straight()
    maker = _Specializer(straight, program)
    before = {}
    for variable, slot in program.starts.items():
        if type(variable) is Node:  # a random stream
            continue
        aval = states.get(variable)
        if aval is None:
            name = getattr(variable, "name", variable)
            raise NotStraightError(f"the variable {name} has no value")
        before[variable] = maker.values[slot] = Value(aval.dims, aval.dtype)
    for place, (slot, aval) in enumerate(zip(program.inputs, arguments)):
        if same and place in same:
            maker.values[slot] = before[same[place]]
            continue
        value = maker.values[slot] = Value(aval.dims, aval.dtype)
        straight.inputs.append(value)
    maker.run()
    straight.outputs = [maker.plain(slot) for slot in program.outputs]
    for variable, value in before.items():
        after = program.writes.get(variable)
        if after is not None and maker.plain(after).dims != value.dims:
            raise NotStraightError("a variable gets another shape")
        straight.states.append((variable, value, value if after is None else maker.plain(after)))
    return straight


class _Specializer:
    """Runs the steps of a program on values."""

    def __init__(self, straight: Straight, program: Program):
        self.straight, self.program = straight, program
        self.values: dict[int, Any] = {}
        for slot, array in program.constants:
            self.values[slot] = constant(array)

    def plain(self, slot: int) -> Value:
        """The value in a slot, which must be an array."""
        value = self.values[slot]
        if type(value) is not Value:
            raise NotStraightError("a result is a list or a history")
        return value

    def run(self) -> None:
        """All steps."""
        for step in self.program.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """One step."""
        params = step.params
        if step.dynamic:
            try:
                params = {key: self._filled(value) for key, value in params.items()}
            except NotStraightError:
                moving = MOVING.get(step.prim.name)
                if moving is None:
                    raise
                self.values[step.out] = moving(self, step)
                return
        if step.kind == "body":
            self._body(step, params)
        elif step.kind == "stream":
            self._stream(step, params)
        elif step.kind == "state":
            self.values[step.out] = self._state(step, params)
        else:
            self.values[step.out] = self._plain(step, params)

    def _filled(self, value: Any) -> Any:
        if type(value) is Dim:
            return evaluate(value, self._size)
        if type(value) is tuple:
            return tuple([self._filled(item) for item in value])
        return value

    def _size(self, atom: Atom) -> int:
        slot, kind, place = self.program.places[atom]
        value = self.plain(slot)
        if kind == "size":
            return value.dims[place]
        if value.content is None:
            raise NotStraightError("a size depends on a value")
        array = np.broadcast_to(value.content, value.dims)
        return int(array.reshape(-1)[place])

    def _plain(self, step: Step, params: dict) -> Any:
        prim, inputs = step.prim, [self.values.get(slot) for slot in step.inputs]
        special = _SPECIAL.get(prim.name)
        if special is not None:
            return special(inputs, params)
        way = WAYS.get(prim.name)
        if way is not None:
            found = way(self, step, params)
            if found is not NotImplemented:
                return found
        if not all(type(x) is Value for x in inputs) or any(x.dtype is variant for x in inputs):
            raise NotStraightError(f"{prim.name} works on lists or histories")
        return self.straight.apply(prim, inputs, params, step.node)

    def _state(self, step: Step, params: dict) -> Any:
        name = step.prim.name
        inputs = [None if slot < 0 else self.plain(slot) for slot in step.inputs]
        if name == "is_initialized":
            return constant(np.bool_(True))
        if name == "read_or_initial":
            return inputs[0]
        rule, place = params["rule"], params.get("place")
        if place is None and rule == "assign":
            return _checked_assignment(inputs[-1], params)
        first, *rest = inputs
        if place is None and rule in ("add", "sub") and first.dims == rest[0].dims:
            return self.straight.apply(later(rule), [first, *rest], {}, step.node)
        dims = None if first is None else first.dims
        if dims is None:
            raise NotStraightError("the shape of a variable's new value is not known")
        requires = step.prim.lowering.get("requires")
        if requires is not None:
            requires(Expansion(self.straight, step.node), first, *rest, **params)
        equation = Equation(step.prim, [first, *rest], params, step.node)
        equation.outputs = (Value(dims, first.dtype),)
        equation.output.maker = equation
        self.straight.equations.append(equation)
        return equation.output

    def _stream(self, step: Step, params: dict) -> None:
        ((operation, _, _),) = step.states
        draw = self.straight.draw
        self.values[step.out] = draw(operation, params["seeds"], params["blocks"])

    def _body(self, step: Step, params: dict) -> None:
        """A call is put in place; branches and loops stay what they are."""
        way = WAYS.get(step.prim.name)
        if way is not None:
            self.values[step.out] = way(self, step, params)
            return
        body = params["body"]
        inner = ()
        if step.prim.name == "call":
            inner = body.everything() if step.everything else body.requested()
            inner = inner if step.remembers or step.everything else ()
        program = program_of(body, inner, step.everything)
        part = _Specializer(self.straight, program)
        for slot, source in zip(program.inputs, step.inputs):
            part.values[slot] = self.values[source]
        for variable, before, _ in step.states:
            if variable in program.starts and type(variable) is not Node:
                part.values[program.starts[variable]] = self.values[before]
        part.run()
        for variable, before, after in step.states:
            if after != before and type(variable) is not Node:
                self.values[after] = part.values[program.writes[variable]]
        count = len(body.outputs)
        results = [part.values[slot] for slot in program.outputs]
        history = History(1, dict(zip(inner, results[count:])))
        self.values[step.out] = (*results[:count], history)


def _checked_assignment(value: Value, params: dict) -> Value:
    shape = params["variable"].shape
    if params.get("strict", True) and not shape.is_compatible_with(value.dims):
        raise NotStraightError("a value of another shape is assigned to a variable")
    return value


def _item(inputs: list, params: dict) -> Any:
    return inputs[0][params["index"]]


def _with_rule(inputs: list, params: dict) -> Any:
    return tuple(inputs[: params["count"]])


def _inner_value(inputs: list, params: dict) -> Any:
    return inputs[0].values.get(params["inner"])


def _first(inputs: list, params: dict) -> Any:
    return inputs[0]


def _group(inputs: list, params: dict) -> Any:
    return constant(np.True_)


def _history_of(inputs: list, params: dict) -> Any:
    return History(0, {params["inner"]: inputs[0]})


def _size_value(inputs: list, params: dict) -> Any:
    return constant(np.asarray(params["size"], params["dtype"].numpy_dtype))


WAYS: dict[str, Callable[[_Specializer, Step, dict], Any]] = {}  # lists, loops: see control.py
MOVING: dict[str, Callable[[_Specializer, Step], Any]] = {}  # where sizes depend on values

_SPECIAL = {
    "item": _item,
    "with_rule": _with_rule,
    "inner_value": _inner_value,
    "history_of": _history_of,
    "reread": _first,
    "stop_gradient": _first,
    "identity": _first,
    "group": _group,
    "size_value": _size_value,
}
