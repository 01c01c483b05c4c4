"""What is known of the elements of small integer tensors: numbers, sizes, or symbols for them.

`tf.reshape(x, [tf.shape(x)[0], -1])` uses elements of a tensor as sizes.  The elements are followed
through the few operations that such code is made of; where that ends, an element becomes a size of
its own (an atom of kind "value"), whose number is taken when the graph runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.dims import Atom, Dim, of_atom
from talweg.core.errors import NeedsStaticError
from talweg.graph.node import Node

LIMIT = 64  # elements followed


def elements(node: Node) -> np.ndarray:
    """The elements of an integer tensor of known shape, an object array of ints and sizes.

    NeedsStaticError if the shape is not known.
    """
    dims = node.aval.dims
    if dims is None or any(type(size) is Dim for size in dims) or len(dims) > 1:
        raise NeedsStaticError(
            f"the number of sizes in {node!r} is not known while the graph is built"
        )
    memory = node.table.contents
    found = memory.get(node)
    if found is None:
        found = _followed(node)
        if found is None or found.shape != dims:
            found = np.empty(dims, object)
            for place in range(found.size):
                found.reshape(-1)[place] = of_atom(Atom("value", node, place))
            node.table.symbolic = True
        memory[node] = found
    return found


def element(node: Node, place: int) -> Any:
    """One element, counted in row-major order."""
    return elements(node).reshape(-1)[place]


def _followed(node: Node) -> Any:
    """The elements, if the operation is one of those that are followed; else None."""
    rule = _RULES.get(node.prim.name)
    if rule is None:
        return None
    try:
        return rule(node, node.params)
    except NeedsStaticError:
        return None


def _constant(node: Node, params: dict) -> Any:
    array = params["value"].array
    if array.size > LIMIT or array.dtype.kind not in "iu":
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
    return elements(node.operands[place])


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
    return np.concatenate([elements(operand) for operand in node.operands], params["axis"])


def _combine(apply: Any) -> Any:
    def rule(node: Node, params: dict) -> Any:
        if not node.aval.dtype.is_integer:
            return None
        left, right = np.broadcast_arrays(_operand(node), _operand(node, 1))
        found = np.empty(left.shape, object)
        pairs = zip(left.reshape(-1), right.reshape(-1))
        found.reshape(-1)[:] = [apply(a, b) for a, b in pairs]
        return found

    return rule


def _product(node: Node, params: dict) -> Any:
    total: Any = 1
    for size in _operand(node):
        total = total * size
    found = np.empty((), object)
    found[()] = total
    return found.reshape((1,)) if params["keepdims"] else found


_RULES: dict[str, Any] = {
    "constant": _constant,
    "shape_of": _shape_of,
    "size_value": _size_value,
    "cast": _same,
    "identity": _same,
    "reshape": _reshape,
    "strided_slice": _slice,
    "concat": _concat,
    "add": _combine(lambda a, b: a + b),
    "sub": _combine(lambda a, b: a - b),
    "mul": _combine(lambda a, b: a * b),
    "floor_div": _combine(lambda a, b: a // b),
    "reduce_prod": _product,
}
