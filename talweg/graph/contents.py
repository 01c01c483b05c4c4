"""Element-wise value analysis of small integer tensors: numbers, sizes, or symbols for them.

`tf.reshape(x, [tf.shape(x)[0], -1])` uses elements of a tensor as sizes.  The elements are followed
through the few operations that such code is made of; where that ends, an element becomes a size of
its own (an atom of kind "value"), whose number is taken when the graph runs.

Following ends, too, where it would tell less than it costs: at tensors longer than a shape, and at
elements made of many values, such as the largest number of a tensor.  So what is kept of an element
is bounded, and the work is linear in the operations, which are visited in a loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.core.dim_walks import atoms_of
from talweg.core.dims import HEAVY, Atom, Dim, bounds, largest, of_atom, smallest, weight
from talweg.core.errors import NeedsStaticError
from talweg.core.primitive import Primitive
from talweg.core.roles import Role, Trait
from talweg.graph.node import Node

LIMIT = 64  # elements followed
MOST = 1024  # elements of which each may be a symbol
LARGE = 2**24  # a factor by which the size of an axis may become too large for int32
VALUES = 8  # that an element may be made of


def elements(node: Node) -> np.ndarray:
    """Return the elements of an integer tensor of known shape, an object array of ints and sizes.

    NeedsStaticError if the shape is not known.
    """
    memory = node.table.contents
    known = memory.get(node)
    if known is not None:
        return known
    pending = [node]
    while pending:
        last = pending[-1]
        missing = [] if last in memory else [s for s in _sources(last) if s not in memory]
        if missing:
            pending += missing
        else:
            pending.pop()
            if last not in memory:
                memory[last] = _find_elements(last)
    return memory[node]


def element(node: Node, place: int) -> Any:
    """Return one element, counted in row-major order."""
    return elements(node).reshape(-1)[place]


def _length(node: Node) -> float:
    """Return the number of elements, infinity if it is unknown."""
    aval = node.aval
    if type(aval) is tuple or aval.dims is None or any([type(size) is Dim for size in aval.dims]):
        return math.inf
    return math.prod(aval.dims)


def _sources(node: Node) -> tuple:
    """Return the nodes whose elements determine those of `node`; none if it is not analysed."""
    if _rule_of(node.prim) is None or node.prim.sizes in _ENDS or _length(node) > LIMIT:
        return ()
    sources = node.operands
    if node.prim.role is Role.PROJECTION:
        if Trait.GIVES_PARTS not in sources[0].prim.traits:
            return ()
        sources = sources[0].operands
    return tuple([s for s in sources if _length(s) <= LIMIT and s.aval.dtype.is_integer])


def _find_elements(node: Node) -> np.ndarray:
    """Compute the elements of `node` from those of its sources, with symbols for unknown ones."""
    length, dims = _length(node), node.aval.dims
    if length > MOST:
        raise NeedsStaticError(
            f"the number of sizes in {node!r} is not known while the graph is built"
        )
    followed = _follow(node) if length <= LIMIT else None
    if followed is None or followed.shape != dims:
        followed = np.full(dims, None, object)
    else:
        followed = np.array(followed, object)  # a rule may give a part of what another node has
    flat = followed.reshape(-1)
    for position, size in enumerate(flat):
        if size is None or _costs_more(node, size):
            flat[position] = of_atom(Atom("value", node, position))
            node.table.symbolic = True
    return followed


def _costs_more(node: Node, size: Any) -> bool:
    """Return whether a size is too long an expression, or wraps round in the tensor's dtype."""
    limits = np.iinfo(node.aval.dtype.numpy_dtype)
    numbers = [size.constant, *[f for _, f in size.terms]] if type(size) is Dim else [size]
    if not all([limits.min <= number <= limits.max for number in numbers]):
        return True
    if type(size) is not Dim or weight(size) > HEAVY:
        return type(size) is Dim
    return len(_values([size])) > VALUES or _may_wrap(size, limits)


def _may_wrap(size: Dim, limits: Any) -> bool:
    """Return whether values may make a sum or product too large for the tensor's dtype.

    TensorFlow's integers wrap round then, which polynomials do not know.  Sizes of axes are taken
    to fit, unless a large number multiplies them; so is one value with what is small beside it, as
    in `x[i : i + 2]`: where that wraps, it is no place, and no size, before and after.
    """
    large = [factor for _, factor in size.terms if abs(factor) >= LARGE]
    if large or abs(size.constant) >= LARGE:
        return True
    valued = [(atoms, f) for atoms, f in size.terms if _values([of_atom(a) for a in atoms])]
    if not valued or len(valued) == 1 == len(valued[0][0]) and abs(valued[0][1]) == 1:
        return False
    low, high = bounds(size)
    return low is None or high is None or low < limits.min or high > limits.max


def _values(sizes: list[Dim] | np.ndarray) -> set:
    return {atom for atom in atoms_of(list(sizes)) if atom.kind == "value"}


def _follow(node: Node) -> Any:
    """Compute the elements by the primitive's rule; None if there is none or it fails."""
    rule = _rule_of(node.prim)
    if rule is None:
        return None
    try:
        found = rule(node, node.params)
        return None if found is None else np.asarray(found, object)
    except (NeedsStaticError, ZeroDivisionError, IndexError):
        return None


def _elements_of(node: Node) -> np.ndarray:
    """Return the elements of an operand; NeedsStaticError if they are not analysed."""
    found = node.table.contents.get(node)
    if found is None:
        raise NeedsStaticError(f"the elements of {node!r} are not followed")
    return found


def _constant(node: Node, params: dict) -> Any:
    array = params["value"].array
    if array.dtype.kind not in "iu":
        return None
    found = np.empty(array.shape, object)
    found.reshape(-1)[:] = [int(x) for x in array.reshape(-1)]
    return found


def _shape_of(node: Node, params: dict) -> Any:
    dims = node.operands[0].aval.dims
    if dims is None:
        return None
    found = np.empty(len(dims), object)
    found[:] = dims
    return found


def _size_value(node: Node, params: dict) -> Any:
    found = np.empty((), object)
    found[()] = params["size"]
    return found


def _operand(node: Node, place: int = 0) -> np.ndarray:
    return _elements_of(node.operands[place])


def _same(node: Node, params: dict) -> Any:
    return _operand(node) if node.operands[0].aval.dtype.is_integer else None


def _reshape(node: Node, params: dict) -> Any:
    if any(type(size) is Dim for size in params["shape"]):
        return None
    return _operand(node).reshape(params["shape"])


def _slice(node: Node, params: dict) -> Any:
    bounds = zip(params["begin"], params["end"], params["strides"])
    return _operand(node)[tuple([slice(b, None if e < 0 else e, s) for b, e, s in bounds])]


def _concat(node: Node, params: dict) -> Any:
    return np.concatenate([_elements_of(operand) for operand in node.operands], params["axis"])


def _combine(apply: Any) -> Any:
    def rule(node: Node, params: dict) -> Any:
        if not node.aval.dtype.is_integer:
            return None
        return _each(apply, _operand(node), _operand(node, 1))

    return rule


def _remainder(a: Dim, b: int) -> Any:
    """Compute a % b; NeedsStaticError for a product, which may have wrapped round before."""
    found = a % b
    if type(found) is Dim and type(a) is Dim and any([len(atoms) > 1 for atoms, _ in a.terms]):
        raise NeedsStaticError("a product may be too large for its dtype")
    return found


def _negative(node: Node, params: dict) -> Any:
    return -_operand(node) if node.aval.dtype.is_integer else None


def _fold(apply: Any, start: Any) -> Any:
    """Make the rule of a reduction along axes; `start` None: of the largest or smallest element.

    The largest of values, or a sum of many, is better known as one value.
    """

    def rule(node: Node, params: dict) -> Any:
        if not node.aval.dtype.is_integer:
            return None
        known = _operand(node)
        if len(_values(known.reshape(-1))) > (0 if start is None else VALUES):
            return None
        for axis in sorted(params["axes"], reverse=True):
            rows = np.moveaxis(known, axis, 0)
            total = np.full(rows.shape[1:], start, object) if start is not None else rows[0]
            for row in rows if start is not None else rows[1:]:
                total = _each(apply, total, row)
            known = np.expand_dims(total, axis) if params["keepdims"] else total
        return known

    return rule


def _each(apply: Any, left: object, right: object) -> np.ndarray:
    left, right = np.broadcast_arrays(np.asarray(left, object), np.asarray(right, object))
    found = np.empty(left.shape, object)
    found.reshape(-1)[:] = [apply(a, b) for a, b in zip(left.reshape(-1), right.reshape(-1))]
    return found


def _stack(node: Node, params: dict) -> Any:
    return np.stack([_elements_of(operand) for operand in node.operands], params["axis"])


def _item(node: Node, params: dict) -> Any:
    source = node.operands[0]  # which only takes parts of an array, of whatever elements
    return source.prim.numpy(_operand(source), **source.params)[params["index"]]


def _slice_by(node: Node, params: dict) -> Any:
    if any(type(n) is Dim for part in params["key"] if type(part) is tuple for n in part):
        return None
    key = [slice(*part) if type(part) is tuple else int(part) for part in params["key"]]
    return _operand(node)[(*key, ...)]


def _gather(node: Node, params: dict) -> Any:
    places = _operand(node, 1)
    if any(type(place) is Dim for place in places.reshape(-1)) or params.get("batch_dims"):
        return None
    return np.take(_operand(node), places.astype(np.int64), params.get("axis", 0))


def _reverse(node: Node, params: dict) -> Any:
    return np.flip(_operand(node), params["axes"])


def _transpose(node: Node, params: dict) -> Any:
    return _operand(node).transpose(params["perm"])


def _broadcast(node: Node, params: dict) -> Any:
    return np.broadcast_to(_operand(node), params["shape"])


_ENDS = frozenset(("constant", "shape", "size"))  # ways that look at no operand's elements
_WAYS: dict[str, Any] = {  # by the field `sizes` of declarations
    "constant": _constant,
    "shape": _shape_of,
    "size": _size_value,
    "same": _same,
    "reshape": _reshape,
    "strided_slice": _slice,
    "concat": _concat,
    "floor_div": _combine(lambda a, b: a // b),
    "mod": _combine(_remainder),
    "stack": _stack,
    "item": _item,
    "slice_by": _slice_by,
    "gather": _gather,
    "reverse": _reverse,
    "transpose": _transpose,
    "broadcast": _broadcast,
}
_SCALARS: dict[
    str, Any
] = {  # by the scalar function that declarations name (`lower/ir/scalars.py`)
    "add": _combine(lambda a, b: a + b),
    "sub": _combine(lambda a, b: a - b),
    "mul": _combine(lambda a, b: a * b),
    "maximum": _combine(largest),
    "minimum": _combine(smallest),
    "neg": _negative,
}
_FOLDS: dict[str, Any] = {  # by the operation of `fold` rules
    "mul": _fold(lambda a, b: a * b, 1),
    "add": _fold(lambda a, b: a + b, 0),
    "maximum": _fold(largest, None),
    "minimum": _fold(smallest, None),
}


def _rule_of(prim: Primitive) -> Any:
    """Return the rule of a primitive's elements, None if its declaration names none."""
    if prim.sizes:
        return _WAYS[prim.sizes]
    if prim.elementwise:
        scalar = prim.lowering["scalar"]
        return _SCALARS.get(scalar) if type(scalar) is str else None
    fold = prim.lowering.get("fold")
    return None if fold is None else _FOLDS.get(fold[0])
