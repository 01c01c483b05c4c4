"""A tensor with updates scattered into it: z = x, changed at the places that indices name.

x [..., r], i [k, depth], u [k, r]: each i[k] names a slice of x, which is combined with u[k].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.declare import primitive
from talweg.core.dtypes import REAL, int64
from talweg.core.errors import invalid
from talweg.core.hooks import hooks
from talweg.core.primitive import Reject, Sample
from talweg.prims.arithmetic import cast, equal, zeros_of
from talweg.prims.indexing import (
    PLACES,
    POSITIONS,
    check_updates,
    gather_nd,
    in_float32,
    nd_places,
    nd_updates,
    require_places,
    scatter_into,
    sum_of,
)
from talweg.prims.layout import batch_to_front, broadcast_to, reshape
from talweg.prims.sequences import counting

if TYPE_CHECKING:
    from collections.abc import Callable


def _batch_scatter(prim: Callable):
    def batch(size: int, batched: tuple, x, i, u):
        x, i, u = (batch_to_front(size, v, b) for v, b in zip((x, i, u), batched))
        return prim()(x, nd_places(x.dims, i), u)

    return batch


def _scatter(kind: str, text: str, **rules: object):
    """Return a primitive z = x with updates u combined into the places i."""
    name = f"scatter_{kind}"

    def infer(x, i, u):
        if x.dtype is not u.dtype:
            raise invalid(
                "TW102",
                f"{name}: updates has dtype {u.dtype.name} and tensor has dtype {x.dtype.name}",
                "one dtype",
            )
        if "vjp" in rules and x.dtype not in REAL:
            raise invalid("TW102", f"{name}: tensor has dtype {x.dtype.name}", "real numbers")
        check_updates(name, x.dims, i, u)
        return x

    def requires(t, x, i, u: object):
        require_places(t, i, x.dims)

    def expand(t: object, x: object, i: object, u: object):
        if kind != "add":
            return NotImplemented
        return in_float32(t, name, (x, i, u), 0, {})

    def scatter(s, x, i, u):
        op = sum_of(x) if kind == "add" else {"update": None}.get(kind, f"f{kind}")
        return s.scatter(u.dims, nd_updates(s, i, u, x.dims), op=op, start=x)

    fields = {
        "__doc__": text,
        "tf_type": f"TensorScatter{kind.title()}",
        "operands": "x i u",
        "infer": infer,
        "numpy": lambda x, i, u: scatter_into(name, kind, np.asarray(x), i, u),
        "no_gradient": {"i": POSITIONS},
        "requires": requires,
        "expand": expand,
        "scatter": scatter,
        "call": "scatter",
        "batch": _batch_scatter(lambda: SCATTERS[kind]),
        "memory": "scatter",
        "samples": (
            Sample([2, 3], PLACES, [2]),
            Sample([3, 2], np.array([[1], [0]]), [2, 2]),
            Sample([3], np.zeros((0, 1), np.int32), [0]),
            Sample([3], np.array([[1], [0], [1]]), [3]),
        ),
        "rejects": (
            Reject([3], np.array([[3]]), [1], code="TW206"),
            Reject([3], np.array([[1]]), [2], code="TW204"),
            Reject([3], np.array([[1]]), np.ones(1, np.int32), code="TW102"),
        ),
        **rules,
    }
    return primitive(type(name, (), fields))


scatter_add = _scatter(
    "add",
    "z = x, with z[i[k], r] += u[k, r].",
    linear="x u",
    transpose_x=lambda g, x, i, u: g,
    transpose_u=lambda g, x, i, u: gather_nd(g, i, sparse=False),
)


def _last_writers(i: np.ndarray, dims: Sequence[Any]):
    """Return 1 for each index that no later index equals, else 0: whose update stays."""
    order = reshape(counting(size=math.prod(i.dims[:-1]), dtype=int64), shape=i.dims[:-1])
    zero = hooks.convert_to_tensor(np.int64(0))
    blank = broadcast_to(zero, shape=dims[: i.dims[-1]])
    return equal(gather_nd(scatter_update(blank, i, order), i, sparse=False), order)


def _update_cotangent(g, x, i, u):
    found = gather_nd(g, i, sparse=False)
    stays = cast(_last_writers(i, x.dims), dtype=g.dtype)
    return found * reshape(stays, shape=(*i.dims[:-1], *(1,) * (len(u.dims) - len(i.dims) + 1)))


scatter_update = _scatter(
    "update",
    "z = x, with z[i[k], r] = u[k, r]; of equal indices the last counts.",
    linear="x u",
    transpose_x=lambda g, x, i, u: scatter_update(g, i, zeros_of(u)),
    transpose_u=_update_cotangent,
)


def _shares(z, x, i, u):
    """Return which of x and u attain the extreme z, as 0 or 1,
    and 1 / how many do at each place.
    """
    own = cast(equal(x, z), dtype=x.dtype)
    given = cast(equal(u, gather_nd(z, i, sparse=False)), dtype=x.dtype)
    return own, given, 1 / scatter_add(own, i, given)


def _extreme_vjp(g: object, z: object, x: object, i: object, u: object):
    own, given, share = _shares(z, x, i, u)
    g = g * share
    return own * g, None, given * gather_nd(g, i, sparse=False)


def _extreme_jvp(t: tuple, z: object, x: object, i: object, u: object):
    own, given, share = _shares(z, x, i, u)
    return scatter_add(own * t[0], i, given * t[2]) * share


def _extreme(kind: str, word: str):
    return _scatter(
        kind,
        f"z = x, with z[i[k], r] the {word} of what it was and u[k, r].",
        vjp=_extreme_vjp,
        jvp=_extreme_jvp,
        no_gradient={},
        kinks={"x": "where n values take the extreme, each gets 1/n of the derivative"},
    )


scatter_max = _extreme("max", "larger")
scatter_min = _extreme("min", "smaller")
SCATTERS = {"add": scatter_add, "update": scatter_update, "max": scatter_max, "min": scatter_min}
