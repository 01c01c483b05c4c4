"""Operations that are kept whole in a graph, to be carried out when sizes and values are known.

Where a function of the API needs a rank, a size or a value that a graph does not know, the call
itself becomes a node.  When the graph runs, the function is called with tensors that have values;
its derivative is the same, of the function's pullback.  `sizes` are the parameters of a primitive
whose rule is kept whole, so that sizes among them are filled in.
"""

from __future__ import annotations

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.hooks import hooks
from talweg.graph.node import GRAPH


@primitive
class whole:
    """z = call(operands), a function of the API that runs eagerly when the graph runs."""

    operands = "*operands"
    multiple = True
    effect = GRAPH
    batch = LOOP
    memory = "host"

    def tf_type(*operands, call, avals, sizes=()):
        return getattr(call, "tf_type", "Whole")

    def infer(*operands, call, avals, sizes=()):
        return tuple([Aval(dims, dtype) for dims, dtype in avals])

    def numpy(*operands, call, avals, sizes=()):
        return call.arrays(operands, sizes)

    def vjp(g: tuple, z, *operands, call, avals, sizes=()):
        return hooks.whole_vjp(g, z, operands, call, sizes)

    def jvp(t: tuple, z, *operands, call, avals, sizes=()):
        return hooks.whole_jvp(t, z, operands, call, sizes)
