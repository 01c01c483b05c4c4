"""Static programs: equations over values of known shape, one after the other.

`specializer.py` makes them of functionalized programs: every size is a number, calls are put in
place, what only depends on shapes or is small and constant is computed.  Histories become what they
stand for: they exist while that runs, not later.  Where that cannot be done a `SpecializationError`
says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dtypes import DType, of_numpy, uint64
from talweg.core.errors import OpError
from talweg.core.primitive import REGISTRY, Primitive
from talweg.core.roles import Trait
from talweg.passes.faults import fault
from talweg.passes.reasons import Reason, SpecializationError
from talweg.passes.specialize.stack_primitives import is_endless
from talweg.prims import arithmetic, layout, state
from talweg.prims.collective import relayout
from talweg.prims.sequences import counting

if TYPE_CHECKING:
    from talweg.graph.node import Node

FOLDED = 4096  # elements of a result that is computed beforehand


class Demands:
    """Requirements on programs specialized from now on; `finite`: every result is finite."""

    finite = False


demands = Demands()


class DeclinedError(Exception):
    """A run-time check failed, so that the interpreter has to run the whole program."""


KINDS = frozenset(
    (
        "bool",
        "bfloat16",
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
    )
)


class Value:
    """An array of the program at run time: sizes, dtype, and `content` if it is constant."""

    __slots__ = ("content", "dims", "dtype", "maker")

    def __init__(self, dims: tuple, dtype: DType, content: Any = None):
        if dtype.name not in KINDS:
            raise SpecializationError(Reason.DTYPE, dtype.name)
        self.dims, self.dtype, self.content = dims, dtype, content
        self.maker: Equation | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.dims)

    def __repr__(self) -> str:
        text = f"{self.dtype.name}[{','.join(map(str, self.dims))}]"
        return text if self.content is None else f"constant {text}"


class Equation:
    """An application of a primitive: outputs = prim(inputs, params)."""

    __slots__ = ("inputs", "node", "outputs", "params", "prim")

    def __init__(self, prim: Primitive, inputs: Sequence[Value], params: dict, node: Any = None):
        self.prim, self.params, self.node = prim, params, node
        self.inputs: tuple[Value, ...] = tuple(inputs)
        self.outputs: tuple[Value, ...] = ()

    @property
    def output(self) -> Value:
        """The only result."""
        (value,) = self.outputs
        return value

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.prim.name}{self.inputs}"


class StaticProgram:
    """Equations from values to values; `states` are (variable, value before, value after)."""

    __slots__ = (
        "bounds",
        "drawn",
        "endless",
        "equations",
        "exports",
        "guards",
        "hosts",
        "inners",
        "inputs",
        "known",
        "lengths",
        "made",
        "outputs",
        "states",
        "streams",
    )

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.equations: list[Equation] = []
        self.outputs: list[Value] = []
        self.states: list[tuple[Any, Value, Value]] = []  # after is before where nothing is written
        self.streams: list[tuple] = []  # (operation, seeds, blocks if known) of the last inputs
        self.known: dict[tuple, Any] = {}  # results of equal equations: each is made once
        self.guards: list[Value] = []  # all true, or the program fails: the interpreter says why
        self.bounds: dict[Value, tuple[int, int]] = {}  # what integers are known to be between
        self.endless = False  # whether stacks may be as long as a run makes them
        self.drawn: list = []  # operations of which the last outputs tell how many blocks
        self.exports: Any = None  # what takes results of unknown length; see side_outputs.py
        self.hosts: Any = None  # what the interpreter runs, if anything; see fallback/host_steps.py
        self.inners: list[
            StaticProgram
        ] = []  # made for bodies of loops and branches, trials included
        self.made: list[Value] = []  # all results, of equations, too, that are there no more
        self.lengths: dict[Value, Value] = {}  # results of unknown length -> how many rows

    def numbers(self, value: Value) -> Any:
        """Return the values of an integer over the trips of the loop around, if known."""
        content = value.content
        return content.reshape(-1) if content is not None and content.size == 1 else None

    def limits(self, value: Value) -> tuple[int, int] | None:
        """Return the smallest and largest possible value of an integer, if known."""
        numbers = self.numbers(value)
        if numbers is not None:
            return int(numbers.min()), int(numbers.max())
        found, maker = self.bounds.get(value), value.maker
        if found is None and maker is not None and Trait.KEEPS_LIMITS in maker.prim.traits:
            return self.limits(maker.inputs[0])
        if found is None and maker is not None and maker.prim in (arithmetic.add, arithmetic.sub):
            first, second = [self.limits(x) for x in maker.inputs]
            if first is not None and second is not None:
                low, high = second if maker.prim is arithmetic.add else (-second[1], -second[0])
                found = first[0] + low, first[1] + high
        return found

    def within(self, what: str) -> bool:
        """Return whether this is the body of a loop with that property; see `BodyProgram`."""
        return False

    def uses(self) -> dict[Value, int]:
        """Count the uses of each value; results and new states count as two more."""
        found: dict[Value, int] = {}
        for equation in self.equations:
            for x in equation.inputs:
                found[x] = found.get(x, 0) + 1
        for value in [*self.outputs, *self.guards, *[after for _, _, after in self.states]]:
            found[value] = found.get(value, 0) + 2
        return found

    def rewrite(self, rule: Callable[[Equation], Value | None]) -> None:
        """Replace each equation for which `rule` returns another one."""
        equations, self.equations = self.equations, []
        renamed: dict[Value, Value] = {}
        for equation in equations:
            equation.inputs = tuple([renamed.get(x, x) for x in equation.inputs])
            found = rule(equation)
            if found is None:
                self.equations.append(equation)
            else:
                renamed[equation.output] = found
        self.rename(renamed)

    def rename(self, renamed: dict[Value, Value]) -> None:
        """Substitute values in results, guards and new states."""
        self.outputs = [renamed.get(x, x) for x in self.outputs]
        self.guards = [renamed.get(x, x) for x in self.guards]
        self.states = [(v, b, renamed.get(a, a)) for v, b, a in self.states]

    def stream(self, operation: Node, seeds: tuple) -> Value:
        """Return the initial state of a random operation's stream."""
        found = self.known.get(("stream", operation))
        if found is None:
            found = self.known["stream", operation] = Value((3,), uint64)
            self.inputs.append(found)
            self.streams.append((operation, seeds, None))
        return found

    def forget(self) -> None:
        """Break the reference cycles between values and equations, those of bodies too."""
        for inner in self.inners:
            inner.forget()
        self.inners = []
        for equation in self.equations:
            self.made += equation.outputs
        for value in self.made:
            value.maker = None
        self.made = []
        self.equations = []
        if self.hosts is not None:
            self.hosts.forget()

    def apply(self, prim: Primitive, inputs: Sequence, params: dict, node: Any = None) -> Any:
        """Append an equation and return its result(s), or constants."""
        if prim.effect is None and not prim.multiple:
            if params.get("axes") == () and "fold" in prim.lowering:
                return inputs[0]  # nothing is reduced
            known = _fold_constant(prim, inputs, params)
            if known is not None:
                return known
        if "requires" in prim.lowering or "expand" in prim.lowering:
            infer_result(prim, inputs, params)  # which refuses what it would refuse by itself
            known = self._expand(prim, inputs, params, node)
            if known is not NotImplemented:
                return known
        if params.get("keepdims") and "fold" in prim.lowering:  # equal to the one without
            some = self.apply(prim, inputs, {**params, "keepdims": False}, node)
            dims = prim.infer(Aval(inputs[0].dims, inputs[0].dtype), **params).dims
            return self.apply(layout.reshape, [some], {"shape": dims}, node)
        key = (prim, *inputs, *params.items()) if prim.effect is None else None
        known = None if key is None else self.known.get(key)
        if known is not None:
            return known
        result = self._new(prim, inputs, params, node)
        if key is not None:
            self.known[key] = result
        if demands.finite and makes_values(prim):
            for value in result if prim.multiple else (result,):
                if value.dtype.is_floating or value.dtype.is_complex:
                    Expansion(self, node).require_finite(value)
        return result

    def _expand(self, prim: Primitive, inputs: Sequence, params: dict, node: object) -> Any:
        """Return the results by the `requires` and `expand` rules of an operation.

        They may not apply another one that does not: that is their fault.
        """
        requires, expand = prim.lowering.get("requires"), prim.lowering.get("expand")
        try:
            if requires is not None:
                requires(Expansion(self, node), *inputs, **params)
            if expand is not None:
                return expand(Expansion(self, node), *inputs, **params)
        except SpecializationError as error:
            if error.reason is Reason.OPERANDS and any(map(is_endless, inputs)):
                raise SpecializationError(Reason.STACK_USED) from error
            if error.reason is Reason.OPERANDS:
                raise fault(f"the recipe of {prim.name}", error) from error
            raise
        return NotImplemented

    def _new(self, prim: Primitive, inputs: Sequence, params: dict, node: object) -> Any:
        if Trait.STACK_OPERATION not in prim.traits and any(map(is_endless, inputs)):
            raise SpecializationError(Reason.STACK_USED)
        equation = Equation(prim, inputs, params, node)
        known = infer_result(prim, inputs, params)
        avals = known if prim.multiple else (known,)
        for aval in avals:
            if aval.dims is None or not all(type(size) is int for size in aval.dims):
                raise SpecializationError(Reason.SHAPE_OF_RESULT, prim.name)
        equation.outputs = tuple([Value(aval.dims, aval.dtype) for aval in avals])
        if Trait.STACK_OPERATION not in prim.traits and any(map(is_endless, equation.outputs)):
            raise SpecializationError(Reason.STACK_MADE)
        for value in equation.outputs:
            value.maker = equation
        self.made += equation.outputs
        self.equations.append(equation)
        return equation.outputs if prim.multiple else equation.output


def infer_result(prim: Primitive, inputs: Sequence, params: dict) -> Any:
    """Infer a primitive's result; SpecializationError where its rule refuses."""
    try:
        return prim.infer(*[Aval(x.dims, x.dtype) for x in inputs], **params)
    except OpError as error:
        raise SpecializationError(Reason.OPERANDS, prim.name, str(error)) from error


def makes_values(prim: Primitive) -> bool:
    """Return whether a primitive can give numbers that are not among its operands."""
    return prim.memory not in ("view", "gather", "none") and prim is not arithmetic.select


class Expansion:
    """The handler of `expand` and `requires` rules: `t.exp(x)` appends that primitive.

    A Python number beside values takes the dtype of the last of them.
    """

    __slots__ = ("_node", "_static")

    def __init__(self, static: StaticProgram, node: Any):
        self._static, self._node = static, node

    def __getattr__(self, name: str) -> Any:
        return partial(self.apply, REGISTRY[name])

    def apply(self, prim: Primitive, *operands: object, **params: Any) -> Any:
        """Append a primitive and return its result."""
        dtype = next((x.dtype for x in reversed(operands) if isinstance(x, Value)), None)
        inputs = [x if isinstance(x, Value) else self._number(x, dtype) for x in operands]
        return self._static.apply(prim, inputs, params, self._node)

    def _number(self, number: Any, dtype: DType | None) -> Value:
        """Return a constant, the same one for equal numbers."""
        key = ("number", repr(number), dtype)
        known = self._static.known
        if key not in known:
            known[key] = constant(np.asarray(number, dtype.numpy_dtype))
        return known[key]

    def require(self, condition: Value) -> None:
        """Make the program fail unless all elements of `condition` are true."""
        if condition not in self._static.guards:
            self._static.guards.append(condition)

    def require_finite(self, value: Value) -> None:
        """Make the program fail unless all elements of `value` are finite."""
        for part in (self.real(value), self.imag(value)) if value.dtype.is_complex else (value,):
            self.require(self.is_finite(part))

    def require_below(self, x: Value, size: int) -> None:
        """Make the program fail unless all elements of the integers `x` are in [0, size)."""
        while x.maker is not None and x.maker.prim is layout.reshape:
            x = x.maker.inputs[0]
        inside = self.greater_equal(x, 0)
        if size <= x.dtype.max:
            inside = self.logical_and(inside, self.less(x, size))
        self.require(inside)

    def counting(self, size: int, dtype: DType) -> Value:
        """Return 0, 1, ..., size - 1."""
        return self.apply(counting, size=size, dtype=dtype)

    def array(self, content: np.generic | np.ndarray) -> Value:
        """Return a constant."""
        return constant(content)


def constant(array: np.generic | np.ndarray) -> Value:
    """Return a constant value."""
    array = np.asarray(array)
    return Value(array.shape, of_numpy(array.dtype), array)


def _fold_constant(prim: Primitive, inputs: Sequence, params: dict) -> Value | None:
    """Evaluate an equation if its result is small and known (constant folding)."""
    if prim is state.shape_of and not is_endless(inputs[0]):
        return constant(np.array(inputs[0].dims, params["dtype"].numpy_dtype))
    if prim is arithmetic.zeros_of:
        (x,) = inputs
        zero = Value(x.dims, x.dtype, np.zeros((), x.dtype.numpy_dtype))
        return zero if x.dtype.is_numeric or x.dtype.is_bool else None
    if not inputs or any(x.content is None for x in inputs):
        return None
    if all(x.content.ndim == 0 for x in inputs) and (
        prim.elementwise or Trait.KEEPS_UNIFORMITY in prim.traits
    ):
        return _fill_result(prim, inputs, params)
    if any(x.content.shape != x.dims for x in inputs):
        return None
    arrays = [x.content for x in inputs]
    placed = prim.memory == "host" or prim is relayout
    if placed or max([array.size for array in arrays]) > FOLDED:
        return None
    known = infer_result(prim, inputs, params)
    sizes = known.dims
    if sizes is None or not all(type(s) is int for s in sizes) or math.prod(sizes) > FOLDED:
        return None
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(prim.numpy(*arrays, **params))
    except OpError:  # the interpreter will raise it
        return None
    return Value(result.shape, known.dtype, result)


def _fill_result(prim: Primitive, inputs: Sequence, params: dict) -> Value | None:
    """Return a constant with one number in all of its elements."""
    known = infer_result(prim, inputs, params)
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
