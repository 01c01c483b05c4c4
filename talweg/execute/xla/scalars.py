"""Scalar functions of `lower/ir/scalars.py` over whole arrays, by JAX.

XLA simplifies as if numbers were real: (x + c) - c becomes x.  Where a rule needs what is rounded
on the way, `exact` keeps it from that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from talweg.core.dtypes import DType, bool_
from talweg.execute.xla.engine import jax, lax
from talweg.execute.xla.engine import numpy as jnp
from talweg.kernels.random.philox import KEY_STEPS, MULTIPLIERS, ROUNDS


def compute_dtype(dtype: DType) -> np.dtype:
    """Return the dtype to compute in: 32 bits for 16-bit floats, rounded once."""
    if dtype.is_floating and dtype.size < 4:
        return np.dtype(np.float32)
    return dtype.numpy_dtype


def exact(x: Any) -> Any:
    """Round `x` to its dtype before further operations."""
    return lax.optimization_barrier(x)


def _together(function: Callable[..., Any]) -> Callable[..., Any]:
    """Apply a function of lax to operands broadcast to one shape."""
    return lambda *operands: function(*jnp.broadcast_arrays(*operands))


def _shift_right(x: Any, places: Any) -> Any:
    x, places = jnp.broadcast_arrays(x, places)
    signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    shift = lax.shift_right_arithmetic if signed else lax.shift_right_logical
    return shift(x, places)


def _divide_integers(divide: Callable[..., Any], x: Any, y: Any) -> Any:
    """Divide integers, 0 by zero."""
    none = y == 0
    return jnp.where(none, jnp.zeros_like(x), divide(x, jnp.where(none, jnp.ones_like(y), y)))


def _sub(x: Any, y: Any) -> Any:
    return x - y


def _block(low: Any, high: Any, key: Any, block: Any) -> tuple:
    """Compute the four words of a block of Philox 4x32-10; see `kernels/random/philox.py`."""
    u64, u32 = jnp.uint64, jnp.uint32
    start, high, key, block = [jnp.asarray(v).astype(u64) for v in (low, high, key, block)]
    low = start + block
    high = high + (low < start).astype(u64)

    def upper(v: Any) -> Any:
        return (v >> u64(32)).astype(u32)

    a, b, c, d = low.astype(u32), upper(low), high.astype(u32), upper(high)
    first, second = key.astype(u32), upper(key)
    for _ in range(ROUNDS):
        p, q = a.astype(u64) * u64(MULTIPLIERS[0]), c.astype(u64) * u64(MULTIPLIERS[1])
        a, b, c, d = upper(q) ^ b ^ first, q.astype(u32), upper(p) ^ d ^ second, p.astype(u32)
        first, second = first + u32(KEY_STEPS[0]), second + u32(KEY_STEPS[1])
    return a, b, c, d


def _philox32(low: Any, high: Any, key: Any, block: Any, word: Any) -> Any:
    a, b, c, d = _block(low, high, key, block)
    return jnp.where(word == 0, a, jnp.where(word == 1, b, jnp.where(word == 2, c, d)))


def _philox64(low: Any, high: Any, key: Any, block: Any, word: Any) -> Any:
    a, b, c, d = [v.astype(jnp.uint64) for v in _block(low, high, key, block)]
    half = jnp.uint64(32)
    return jnp.where(word == 0, a | b << half, c | d << half)


SCALARS: dict[str, Callable[..., Any]] = {
    "add": jnp.add,
    "sub": _sub,
    "mul": jnp.multiply,
    "div": jnp.true_divide,
    "floor_div": partial(_divide_integers, jnp.floor_divide),
    "remainder": partial(_divide_integers, jnp.remainder),
    "fmod": _together(lax.rem),
    "fma": lambda x, y, z: x * y + z,
    "neg": jnp.negative,
    "abs": jnp.abs,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "copysign": jnp.copysign,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "trunc": jnp.trunc,
    "rint": jnp.rint,
    "sqrt": jnp.sqrt,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor,
    "not": jnp.invert,
    "shift_left": _together(lax.shift_left),
    "shift_right": _shift_right,
    "exp": jnp.exp,
    "exp_below": jnp.exp,
    "expm1": jnp.expm1,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": jnp.tan,
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "tanh": jnp.tanh,
    "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh,
    "atanh": jnp.arctanh,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "pow": _together(lax.pow),
    "equal": jnp.equal,
    "not_equal": jnp.not_equal,
    "less": jnp.less,
    "less_equal": jnp.less_equal,
    "greater": jnp.greater,
    "greater_equal": jnp.greater_equal,
    "logical_and": jnp.logical_and,
    "logical_or": jnp.logical_or,
    "logical_not": jnp.logical_not,
    "is_nan": jnp.isnan,
    "is_inf": jnp.isinf,
    "is_finite": jnp.isfinite,
    "philox32": _philox32,
    "philox64": _philox64,
    "select": jnp.where,
}


def cast(x: Any, source: DType, target: DType) -> Any:
    """Convert as the loop language does: float to integer saturates, NaN becomes 0."""
    if target is bool_:
        return x != 0
    if source.is_complex and not target.is_complex:
        x = jnp.real(x)
    kind = target.numpy_dtype
    if not (source.is_floating and target.is_integer):
        return x.astype(compute_dtype(target))
    limits = np.iinfo(kind)
    bottom, top = float(limits.min), float(int(limits.max) + 1)
    inside = (x > bottom) & (x < top)
    found = jnp.where(inside, x, 0).astype(kind)
    found = jnp.where(x <= bottom, limits.min, jnp.where(x >= top, limits.max, found))
    return found.astype(kind)
