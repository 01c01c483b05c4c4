"""Primitives that exist in graphs only: constants, inputs, order, reads and writes of variables.

Their kernels act on arrays like any other; where a variable's value comes from and goes to is
decided when a graph is made into a program (`passes/functionalize.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import as_dtype, bool_, int32, int64
from talweg.core.errors import invalid
from talweg.core.hooks import hooks
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.roles import Role, Trait
from talweg.graph.node import GRAPH, INPUT, READ, WRITE
from talweg.kernels.variable_updates import KINDS, ND_KINDS, UPDATES, write_slice

if TYPE_CHECKING:
    from talweg.core.dims import Size

ORDER = NoGradient("waiting for an operation has no derivative")
STATE = NoGradient("a variable's new value is state", "the gradient by the variable itself")


@primitive
class constant:
    """y = an array that is part of the graph."""

    operands = ""
    sizes = "constant"
    role = Role.CONSTANT
    tf_type = "Const"
    tf_attributes = "constant"
    effect = GRAPH
    no_gradient = NoGradient("a constant depends on nothing")
    batch = LOOP
    memory = "none"
    traits = {Trait.NO_ARITHMETIC}

    def infer(*, value):
        return Aval(value.array.shape, as_dtype(value.array.dtype))

    def numpy(*, value):
        return value.array


@primitive
class placeholder:
    """y = a value that is given when the graph runs."""

    operands = ""
    role = Role.PLACEHOLDER
    tf_attributes = "placeholder"
    effect = INPUT
    no_gradient = NoGradient("an input depends on nothing")
    batch = LOOP
    memory = "none"

    def infer(**params):
        raise AssertionError("placeholders are made with their shape and dtype")

    def numpy(**params):
        raise AssertionError("placeholders are fed")


@primitive
class placeholder_with_default:
    """y = x, unless another value is given when the graph runs."""

    operands = "x"
    role = Role.DEFAULTED
    tf_attributes = "placeholder"
    effect = INPUT
    memory = "view"

    def infer(x, *, shape):
        return Aval(shape, x.dtype)

    def numpy(x, *, shape):
        return x

    def transpose_x(g, x, *, shape):
        return g

    def batch(size, batched, x, *, shape):
        return x


@primitive
class item:
    """y = result number `index` of an operation with several results."""

    operands = "x"
    sizes = "item"
    role = Role.PROJECTION
    effect = GRAPH
    no_gradient = NoGradient("part of its operation")
    batch = LOOP
    memory = "view"
    traits = {Trait.PASSES_ON}

    def infer(x: list[Aval], *, index):
        return x[index]

    def numpy(x: tuple, *, index):
        return x[index]


@primitive
class after:
    """y = x, computed after the other operands."""

    operands = "x *controls"
    sizes = "same"
    role = Role.ORDER
    tf_type = "Identity"
    effect = GRAPH
    memory = "view"
    traits = {Trait.SAME_MEMORY}

    def infer(x, *controls):
        return x

    def numpy(x, *controls):
        return x

    def vjp(g, z, x, *controls):
        return [g, *[None] * len(controls)]

    def jvp(t, z, x, *controls):
        return t[0] if isinstance(t, tuple) else t

    def batch(size, batched, x, *controls):
        return x

    def expand(t, x, *controls):
        return x


@primitive
class group:
    """Nothing, after all operands (`tf.group`, `tf.no_op`)."""

    operands = "*controls"
    role = Role.GROUP
    tf_type = "NoOp"
    tf_name = "group_deps"
    effect = GRAPH
    no_gradient = ORDER
    batch = LOOP
    memory = "none"
    traits = {Trait.PASSES_ON}

    def infer(*controls):
        return Aval((), bool_)

    def numpy(*controls):
        return np.True_


@primitive
class shape_of:
    """y = the sizes of x along its axes."""

    operands = "x"
    sizes = "shape"
    tf_type = "Shape"
    tf_attributes = "shape_of"
    no_gradient = NoGradient("a size is an integer")
    memory = "none"
    samples = (Sample([2, 3], dtype_=int32), Sample([], dtype_=int64))

    def infer(x, *, dtype):
        return Aval((None if x.dims is None else len(x.dims),), dtype)

    def numpy(x, *, dtype):
        return np.array(x.shape, dtype.numpy_dtype)

    batch = LOOP


@primitive
class size_value:
    """y = a size (a polynomial of sizes) as a scalar."""

    operands = ""
    sizes = "size"
    role = Role.SIZE
    effect = GRAPH
    no_gradient = NoGradient("a size is an integer")
    batch = LOOP
    memory = "none"

    def infer(*, size, dtype):
        return Aval((), dtype)

    def numpy(*, size, dtype):
        return dtype.numpy_dtype.type(size)


def as_factor(size: Size, dtype: object):
    """Return a size as an int or, where it is symbolic, as a scalar tensor of `dtype`."""
    return size if type(size) is int else size_value(size=size, dtype=dtype)


@primitive
class ensure_dims:
    """y = x; InvalidArgumentError unless its shape fits `shape` (None: any size)."""

    operands = "x"
    sizes = "same"
    tf_type = "EnsureShape"
    memory = "view"
    traits = {Trait.SAME_MEMORY, Trait.REINDEXES}
    samples = (Sample([2, 3], shape=(2, None)), Sample([3], shape=(3,)))
    rejects = (Reject([2], shape=(3,), code="TW204"),)

    def infer(x, *, shape):
        if x.dims is None:
            return Aval(shape, x.dtype)
        if not x.shape.is_compatible_with(shape):
            raise invalid(
                "TW204", f"tensor of shape {x.shape} is not compatible with the shape {shape}"
            )
        dims = tuple([a if b is None else b for a, b in zip(x.dims, shape)])
        return Aval(dims, x.dtype)

    def numpy(x, *, shape):
        return x

    def transpose_x(g, x, *, shape):
        return g

    def batch(size, batched, x, *, shape):
        return ensure_dims(x, shape=(size, *shape))

    def expand(t, x, *, shape):
        fits = Aval(x.dims, x.dtype).shape.is_compatible_with(shape)
        return x if fits else NotImplemented


# -- variables


@primitive
class read_variable:
    """y = the value of a variable: the one at the start, or after `controls`."""

    operands = "*controls"
    role = Role.READ
    tf_type = "ReadVariableOp"
    tf_attributes = "read_variable"
    effect = READ
    no_gradient = ORDER
    batch = LOOP
    memory = "view"

    def infer(*controls, variable):
        raise AssertionError("reads are made with the variable's shape and dtype")

    def numpy(*controls, variable):
        raise AssertionError("the executor knows the value")


@primitive
class reread:
    """y = x, a variable's value after a write; its cotangent belongs to the variable.

    `start` is the value the variable had at the start, which stands for the variable.
    """

    operands = "x start"
    effect = GRAPH
    batch = LOOP
    memory = "view"
    traits = {Trait.SAME_MEMORY, Trait.PASSES_ON}

    def infer(x, start):
        return x

    def numpy(x, start):
        return x

    def vjp(g, z, x, start):
        return [None, g]

    def jvp(t: tuple, z, x, start):
        return t[1]


@primitive
class is_initialized:
    """y = whether a variable has a value."""

    operands = "*controls"
    role = Role.INITIALIZED
    tf_type = "VarIsInitializedOp"
    effect = READ
    no_gradient = ORDER
    batch = LOOP
    memory = "none"

    def infer(*controls, variable):
        return Aval((), bool_)

    def numpy(present, *, variable):
        return np.bool_(present)


@primitive
class read_or_initial:
    """y = the value of a variable if it has one, else `initial`."""

    operands = "initial *controls"
    role = Role.READ_OR_INITIAL
    effect = READ
    no_gradient = ORDER
    batch = LOOP
    memory = "view"

    def infer(initial, *controls, variable):
        return initial

    def numpy(present, initial, *controls, variable):
        return initial if present is None else present


UPDATE_TYPES = {
    "assign": "AssignVariableOp",
    "add": "AssignAddVariableOp",
    "sub": "AssignSubVariableOp",
    "count_up_to": "ResourceCountUpTo",
    "skip": "RngReadAndSkip",
    "slice": "ResourceStridedSliceAssign",
    "batch_update": "BatchScatterUpdate",
    **{f"scatter_{kind}": f"ResourceScatter{kind.title()}" for kind in KINDS},
    **{f"scatter_nd_{kind}": f"ResourceScatterNd{kind.title()}" for kind in ND_KINDS},
}


@primitive
class update_variable:
    """y = the new value of a variable, made of the present one and the operands by `rule`.

    For the rules in `FETCHING`, y is the value before.
    """

    operands = "*values"
    role = Role.WRITE
    tf_attributes = "update_variable"

    def tf_type(*values, variable, rule, strict=True, place=None):
        return UPDATE_TYPES[rule]

    effect = WRITE
    no_gradient = STATE
    batch = LOOP
    memory = "map"

    def infer(*values, variable, rule, strict=True, place=None):
        dims: Any = variable.shape._dims
        if rule == "assign" and values[0].dims is not None:
            given = values[0].dims
            if strict and dims is not None and len(dims) == len(given):
                dims = tuple([b if a is None else a for a, b in zip(dims, given)])
            else:
                dims = given
        return Aval(dims, variable.dtype)

    def numpy(present: np.ndarray, *values, variable, rule, strict=True, place=None):
        if place is not None:
            (value,) = values
            return write_slice(present, value, place)
        if rule in ("add", "sub") and present.shape != values[0].shape:
            raise invalid(
                "TW204",
                f"assign_{rule}: variable '{variable.name}' has shape {list(present.shape)}, the "
                f"value {list(values[0].shape)}",
                "equal shapes",
            )
        if rule == "assign" and strict and not variable.shape.is_compatible_with(values[0].shape):
            raise invalid(
                "TW204",
                f"cannot assign a value of shape {list(values[0].shape)} to variable "
                f"'{variable.name}' of shape {variable.shape}",
            )
        return UPDATES[rule](present, *values)

    def requires(t, present, *values, variable, rule, strict=True, place=None):
        if rule in ROW_RULES and len(values) == 2:
            t.require_below(values[0], present.dims[0])

    def scatter(s: Any, present, *values, variable, rule, strict=True, place=None):
        if rule not in ROW_RULES or place is not None:
            return None
        i, u = values
        lead = len(i.dims)
        if u.dims not in ((*i.dims, *present.dims[1:]), ()):
            return None

        def at(index: tuple):
            row = s.clamp(i(*index[:lead]), present.dims[0])
            update = u(*index) if u.dims else u()
            if rule == "scatter_sub":  # unsigned numbers have no negation, but they wrap
                update = 0 - update if update.dtype.is_unsigned else -update
            return (row, *index[lead:]), update, None

        over = (*i.dims, *present.dims[1:])
        return s.scatter(over, at, op=ROW_RULES[rule], start=present)

    call = "scatter"


# rules that combine rows: what a loop combines them with
ROW_RULES = {
    "scatter_add": "add",
    "scatter_sub": "add",
    "scatter_update": None,
    "scatter_mul": "mul",
}

hooks.after_p = after
hooks.constant_p = constant
hooks.item_p = item
hooks.placeholder_p = placeholder
hooks.read_variable_p = read_variable
hooks.reread_p = reread
