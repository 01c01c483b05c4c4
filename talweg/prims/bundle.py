"""Primitives of imported graphs only: several tensors as one result, lists cut short."""

from __future__ import annotations

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import variant
from talweg.core.errors import invalid
from talweg.graph.node import GRAPH
from talweg.kernels.variants import List
from talweg.prims.lists.elements import list_size


@primitive
class bundle:
    """zₖ = xₖ: an operation with these results (`IdentityN`)."""

    operands = "*values"
    multiple = True
    effect = GRAPH
    batch = LOOP
    memory = "view"
    tf_type = "IdentityN"

    def infer(*values):
        return tuple(values)

    def numpy(*values):
        return values

    def vjp(g: tuple, z, *values):
        return list(g)

    def jvp(t: tuple, z, *values):
        return tuple(t)


@primitive
class list_resize:
    """y = the first `size` elements of a list, then elements that were not written."""

    operands = "values size"
    tf_type = "TensorListResize"
    effect = GRAPH
    batch = LOOP
    memory = "map"

    def infer(values, size):
        return Aval((), variant)

    def numpy(values, size):
        if int(size) < 0:
            raise invalid("TW205", f"a list cannot have {int(size)} elements", "at least 0")
        found = values.values()[: int(size)]
        return List.of([*found, *[None] * (int(size) - len(found))])

    def vjp(g, z, values, size):
        return [list_resize(g, list_size(values)), None]

    def jvp(t: tuple, z, values, size):
        return None if t[0] is None else list_resize(t[0], size)
