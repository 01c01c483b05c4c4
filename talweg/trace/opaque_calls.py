"""Opaque calls: API functions as single nodes of a graph until sizes are known; names.

`call_in_graph` is what every exported function goes through while a graph is in force.  If the
function raises `NeedsStaticError`, the call becomes one node (`prims/opaque.py`); what is known of
its results is found by calling it with made-up values of the right ranks and dtypes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.errors import NO_VALUE, InvalidArgumentError, NeedsStaticError
from talweg.core.hooks import hooks
from talweg.core.roles import Role
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.forward import ForwardAccumulator
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tape import GradientTape
from talweg.eager.tensor import EagerTensor, wrap
from talweg.graph import structure
from talweg.graph.node import Content, graph_error
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.prims.arithmetic import zeros_of
from talweg.prims.opaque import whole
from talweg.trace.trial_calls import find_dims, probe
from talweg.transform.batch import BatchTensor
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive


class Hole:
    """A marker for an operand in the arguments of a call."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hole) and self.number == other.number

    def __hash__(self) -> int:
        return hash(("hole", self.number))

    def __repr__(self) -> str:
        return f"<operand {self.number}>"


class Parts:
    """A marker for a composite (a sparse or ragged tensor, slices) in the arguments of a call."""

    __slots__ = ("holes", "kind", "spec")

    def __init__(self, composite: Any, holes: list[Hole]):
        self.kind, self.holes = type(composite), holes
        # Made-up parts of these have other shapes than their spec; others follow from theirs.
        plain = isinstance(composite, (SparseTensor, RaggedTensor, IndexedSlices))
        self.spec = None if plain else getattr(composite, "_type_spec", None)

    def fill(self, tensors: Any) -> Any:
        """Build the composite from tensors."""
        parts = [tensors[hole.number] for hole in self.holes]
        if self.spec is None:
            return self.kind._with_components(None, parts)
        return self.spec.with_parts(parts)

    def make_fit(self, tensors: list, operands: list) -> None:
        """Give made-up parts of `operands` values with which they form a valid composite."""
        numbers = [hole.number for hole in self.holes]
        parts = [tensors[number]._array for number in numbers]
        if issubclass(self.kind, SparseTensor):
            rows, rank = parts[0].shape
            side = max(2, math.ceil(rows ** (1 / rank)) + 1) if rank else 2  # whole, it stays small
            places = np.unravel_index(np.arange(rows), [side] * rank) if rank else ()
            indices = np.array(places, np.int64).reshape(rank, rows).T
            parts[0], parts[2] = indices, np.full(rank, side, np.int64)
        elif issubclass(self.kind, IndexedSlices):
            parts[0] = values = np.atleast_1d(parts[0])
            parts[1] = np.zeros(len(values), parts[1].dtype)
            parts[2:] = [np.array(values.shape, shape.dtype) for shape in parts[2:]]
        else:  # values, then splits, the outermost first
            parts[0] = np.atleast_1d(parts[0])
            count = len(parts[0])
            for level in range(len(parts) - 1, 0, -1):
                rows = np.size(parts[level]) - 1  # of equal length: padded, they stay small
                dims = find_dims(operands[numbers[level]])
                if dims is None or type(dims[0]) is not int:  # as many as other made-up sizes
                    rows += 1
                splits = np.arange(rows + 1) * count // max(rows, 1)
                parts[level], count = splits.astype(parts[level].dtype), rows
        for number, array in zip(numbers, parts):
            tensors[number] = wrap(array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and (self.kind, self.holes) == (other.kind, other.holes)

    def __hash__(self) -> int:
        return hash((self.kind, *self.holes))


class SliceBounds:
    """A marker for a slice with tensors among its bounds, in the arguments of a call."""

    __slots__ = ("bounds",)

    def __init__(self, bounds: tuple):
        self.bounds = bounds

    def fill(self, tensors: Any) -> slice:
        """Return the slice with tensors filled in."""
        return slice(*[tensors[x.number] if type(x) is Hole else x for x in self.bounds])

    def __eq__(self, other: object) -> bool:
        return type(other) is SliceBounds and self.bounds == other.bounds

    def __hash__(self) -> int:
        return hash(("bounds", *self.bounds))


class OpaqueCall:
    """A function with its arguments, tensors left out."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: dict):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.template: Any = None  # the structure of the result, once it is known
        self._key: tuple | None = None

    def eager(self, tensors: Any, sizes: tuple = ()) -> list:
        """Compute the results, flat, for eager operands."""

        def fill(leaf: object) -> Any:
            if type(leaf) in (Parts, SliceBounds):
                return leaf.fill(tensors)
            return tensors[leaf.number] if type(leaf) is Hole else leaf

        args = structure.map_leaves(fill, self.args)
        kwargs = structure.map_leaves(fill, self.kwargs)
        result = self.function(*args, **kwargs)
        if self.template is None:
            self.template = result
        return [convert_to_tensor(x) for x in structure.flatten(result, composites=True)]

    def arrays(self, operands: tuple, sizes: tuple = ()) -> tuple:
        """Compute the results as arrays, for operands as arrays."""
        context = dispatch.context
        before = context.base, context.recorders
        context.base, context.recorders = None, ()
        try:
            found = self.eager([wrap(array) for array in operands], sizes)
            return tuple([x._array for x in found])
        finally:
            context.base, context.recorders = before

    def key(self) -> tuple:
        """Return the key by which two calls are equal."""
        if self._key is None:
            self._key = self.function, _freeze(self.args), _freeze(self.kwargs)
        return self._key

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return self is other or self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"<call of {getattr(self.function, '__name__', self.function)}>"


def _freeze(value: object) -> Any:
    """Return `value` as part of a key that tells apart Python's equal values (1, True)."""
    if isinstance(value, dict):
        return tuple([(key, _freeze(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_freeze, value))
    kind = type(value)
    try:
        if isinstance(value, (np.ndarray, np.generic, float, complex)):  # 0.0 is not -0.0
            return kind, Content(value)
        hash(value)
    except TypeError:
        return kind, id(value)  # no other thing has it while the call holds this one
    return kind, value  # True is not 1


class OpaquePullback:
    """The pullback of a call: operands, cotangents of results, to cotangents of operands."""

    def __init__(self, call: Any, count: int, given: tuple, wanted: tuple):
        self.call, self.count, self.given, self.wanted = call, count, given, wanted

    def eager(self, tensors: Any, sizes: tuple = ()) -> list:
        """Compute the cotangents of the wanted operands."""
        operands = list(tensors[: self.count])
        sources = [operands[i] for i in self.wanted]
        with GradientTape() as tape:
            tape.watch(sources)
            results = self.call.eager(operands, sizes)
        targets = [results[i] for i in self.given]
        found = tape.gradient(targets, sources, output_gradients=list(tensors[self.count :]))
        return [zeros_of(x) if g is None else densify(g) for g, x in zip(found, sources)]

    arrays = OpaqueCall.arrays

    def __eq__(self, other: object) -> bool:
        return type(other) is OpaquePullback and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.call, self.count, self.given, self.wanted))


class OpaquePushforward:
    """The pushforward of a call: operands, tangents of some, to tangents of results."""

    def __init__(self, call: Any, count: int, given: tuple, results: tuple):
        self.call, self.count, self.given, self.results = call, count, given, results

    def eager(self, tensors: Any, sizes: tuple = ()) -> list:
        """Compute the tangents of the wanted results."""
        operands = list(tensors[: self.count])
        primals = [operands[i] for i in self.given]
        with ForwardAccumulator(primals, list(tensors[self.count :])) as accumulator:
            found = self.call.eager(operands, sizes)
        tangents = [accumulator.jvp(found[i]) for i in self.results]
        return [zeros_of(found[i]) if t is None else t for i, t in zip(self.results, tangents)]

    arrays = OpaqueCall.arrays

    def __eq__(self, other: object) -> bool:
        return type(other) is OpaquePushforward and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.call, self.count, self.given, self.results))


def whole_vjp(g: tuple, z: tuple, operands: tuple, call: Any, sizes: tuple) -> list:
    """Compute cotangents of a call's operands."""
    given = tuple([i for i, part in enumerate(g) if part is not None])
    wanted = tuple([i for i, x in enumerate(operands) if x.dtype.is_differentiable])
    if not wanted:
        return [None] * len(operands)
    pull = OpaquePullback(call, len(operands), given, wanted)
    avals = tuple([(find_dims(operands[i]), operands[i].dtype) for i in wanted])
    found = iter(
        whole(*operands, *[densify(g[i]) for i in given], call=pull, avals=avals, sizes=sizes)
    )
    return [next(found) if i in wanted else None for i in range(len(operands))]


def whole_jvp(t: tuple, z: tuple, operands: tuple, call: Any, sizes: tuple) -> tuple:
    """Compute tangents of a call's results."""
    tangents = t if isinstance(t, tuple) else (t,)
    given = tuple([i for i, part in enumerate(tangents) if part is not None])
    results = tuple([i for i, part in enumerate(z) if part.dtype.is_differentiable])
    if not results:  # of argmax, for one
        return (None,) * len(z)
    push = OpaquePushforward(call, len(operands), given, results)
    avals = tuple([(find_dims(z[i]), z[i].dtype) for i in results])
    found = iter(
        whole(*operands, *[tangents[i] for i in given], call=push, avals=avals, sizes=sizes)
    )
    return tuple([next(found) if i in results else None for i in range(len(z))])


class Apply:
    """A primitive as an opaque call; its parameters come as `sizes`."""

    def __init__(self, prim: Any):
        self.prim = prim

    def eager(self, tensors: Any, sizes: tuple = ()) -> list:
        """Compute the result(s)."""
        found = self.prim(*tensors, **dict(sizes))
        return list(found) if self.prim.multiple else [found]

    def __eq__(self, other: object) -> bool:
        return type(other) is Apply and self.prim is other.prim

    def __hash__(self) -> int:
        return hash(("apply", self.prim))


def vjp_whole(prim: Primitive, g: Any, z: Any, operands: tuple, params: dict) -> list:
    """Compute cotangents of a primitive whose rule needs sizes that the graph does not know."""
    cotangents, results = (g, z) if prim.multiple else ((g,), (z,))
    return whole_vjp(cotangents, results, operands, Apply(prim), tuple(params.items()))


def call_in_graph(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Call a function of the API while a graph may be in force."""
    base = dispatch.context.base
    try:
        result = function(*args, **kwargs)
    except NeedsStaticError as error:
        result = _keep_whole(function, args, kwargs, error)
    except NO_VALUE as error:
        if not hasattr(error, "needs_value"):
            raise
        result = _keep_whole(function, args, kwargs, error)
    except InvalidArgumentError as error:
        if base is None:
            raise
        raise graph_error(error) from None
    if base is not None:
        if not base.building_function:
            result = _in_graph(base, result)
        name = kwargs.get("name") or _find_name_by_position(function, args)
        if name and isinstance(name, str) and not hasattr(function, "name_of_scope"):
            label(result, name)
    return result


def _find_name_by_position(function: Callable[..., Any], args: tuple) -> Any:
    """Return the argument `name` where it is positional (`tf.identity(x, "y")`), or None."""
    place = _find_place_of_name(getattr(function, "__func__", function))
    return args[place] if place is not None and place < len(args) else None


@cache
def _find_place_of_name(function: Callable[..., Any]) -> int | None:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    found = parameters.get("name")
    if found is None or found.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        return None
    return list(parameters).index("name")


def use_name_as_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Use the argument `name` of a function as the scope of operations it makes."""
    function.name_of_scope = True  # type: ignore[attr-defined]
    return function


def _in_graph(graph: Any, result: Any) -> Any:
    """Return the result of constant folding as constants of the graph."""
    if type(result) is EagerTensor:
        return graph.bring_in(result)
    if isinstance(result, (list, tuple)) and any(type(x) is EagerTensor for x in result):
        parts = [graph.bring_in(x) if type(x) is EagerTensor else x for x in result]
        return structure.rebuild(result, parts)
    return result


def label(result: Any, name: str) -> None:
    """Name the results of a call."""
    leaves = [
        x
        for x in structure.flatten(result, composites=True)
        if type(x) is Symbol or type(x) is Operation
    ]
    if leaves:
        node = leaves[0].node
        node = node.inputs[0] if node.prim.role is Role.PROJECTION else node
        graph = leaves[0].graph
        if node.table is graph.table and node.prim.role not in (Role.PLACEHOLDER, Role.READ):
            graph.label(node, name)


class LeftOut:
    """The arguments of a call with holes for its operands and composites.

    A class and no closure: a function that calls itself is a cycle, which would keep the graph.
    """

    __slots__ = ("composites", "error", "operands")

    def __init__(self, error: Any):
        self.error = error  # that is raised for what cannot be left out
        self.operands: list = []
        self.composites: list[Parts] = []

    def leave_out(self, leaf: object) -> Any:
        """Replace a leaf of the arguments by its marker."""
        if structure.kind_of(leaf) == structure.COMPOSITE:
            holes = [self._hole(convert_to_tensor(x)) for x in leaf._flat_components()]
            self.composites.append(Parts(leaf, holes))
            return self.composites[-1]
        if isinstance(leaf, Tensor):
            return self._hole(leaf)
        if hasattr(leaf, "handle_read"):
            return self._hole(leaf.value())
        if isinstance(leaf, np.ndarray):
            return _own(leaf)
        if isinstance(leaf, slice):
            bounds = tuple([self.leave_out(x) for x in (leaf.start, leaf.stop, leaf.step)])
            return SliceBounds(bounds) if any(type(x) is Hole for x in bounds) else leaf
        if callable(leaf) and not isinstance(leaf, type):
            raise self.error  # what a function given as an argument does is not known
        return leaf

    def _hole(self, operand: Any) -> Hole:
        self.operands.append(operand)
        return Hole(len(self.operands) - 1)


def _keep_whole(function: Callable[..., Any], args: tuple, kwargs: dict, error: Any) -> Any:
    left = LeftOut(error)
    options = {key: value for key, value in kwargs.items() if key != "name"}
    args = structure.map_leaves(left.leave_out, tuple(args))
    options = structure.map_leaves(left.leave_out, options)
    if not any(type(x) in (Symbol, BatchTensor) for x in left.operands):
        raise error
    call = OpaqueCall(function, args, options)
    trial = _lenient(call)
    avals = probe(trial, left.operands, left.composites, error)
    call.template = trial.template
    if getattr(error, "rank_varies", False):
        avals = [Aval(None, aval.dtype) for aval in avals]
    results = whole(*left.operands, call=call, avals=tuple([(a.dims, a.dtype) for a in avals]))
    return structure.pack(call.template, list(results), composites=True)


def _lenient(call: OpaqueCall) -> OpaqueCall:
    """Return the call without validation of its arguments, if it has such an option."""
    code = getattr(inspect.unwrap(call.function), "__code__", None)
    if "validate" not in getattr(code, "co_varnames", ()):
        return call
    return OpaqueCall(call.function, call.args, {**call.kwargs, "validate": False})


def _own(array: np.ndarray) -> np.ndarray:
    """Copy an array that the caller may change before the graph runs."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


hooks.whole_vjp = whole_vjp
hooks.whole_jvp = whole_jvp
hooks.vjp_whole = vjp_whole

dispatch.state.in_graph = call_in_graph
