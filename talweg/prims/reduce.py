"""Reductions.  `axes` is a sorted tuple of non-negative axes; `keepdims` keeps them with size 1.

`axes` is None for all axes of a tensor of a graph whose rank is not known.
"""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dims import same, same_dims
from talweg.core.dtypes import FLOATING, NUMERIC, REAL, bool_, float32, int32, int64, uint64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample, later
from talweg.core.value import Tensor
from talweg.kernels.sums import leading_sum, sums_leading
from talweg.prims.arithmetic import cast, equal, zeros_of
from talweg.prims.complex import conj
from talweg.prims.layout import (
    broadcast_to,
    inverse_permutation,
    pad,
    reshape,
    reverse,
    strided_slice,
    transpose,
)
from talweg.prims.state import as_factor
from talweg.prims.transcendental import exp

CHOICE = NoGradient(
    "an index is piecewise constant", "a weighted sum of positions, with tf.nn.softmax as weights"
)
LOGICAL = NoGradient("truth values have no derivative")

SAMPLES = (
    Sample([3], axes=(0,), keepdims=False),
    Sample([2, 3, 4], axes=(0, 2), keepdims=True),
    Sample([2, 3], axes=(), keepdims=False),
    Sample([], axes=(), keepdims=False),
)
EMPTY = Sample([0, 3], axes=(0,), keepdims=False)


def reduce_dims(dims, axes, keepdims):
    """Return the dimensions left after reducing over `axes`."""
    if axes is None:
        return ()
    if keepdims:
        return tuple(1 if i in axes else size for i, size in enumerate(dims))
    return tuple(size for i, size in enumerate(dims) if i not in axes)


def spread(g, x, axes):
    """Return `g`, a reduction's result, with the reduced axes of x back, at full size."""
    if axes is None:
        return broadcast_like(g, x)
    return broadcast_to(keep_axes(g, x, axes) if g.dims else g, shape=x.dims)


def keep_axes(g, x, axes):
    """Return `g`, a reduction's result, with the reduced axes of x back, at size 1."""
    if axes is None:
        return g
    shape = reduce_dims(x.dims, axes, True)
    return g if same_dims(g.dims, shape) else reshape(g, shape=shape)


def all_axes(x, axes):
    """Return `axes`, or all axes of x."""
    return tuple(range(len(x.dims))) if axes is None else axes


def count_of(x, axes, dtype):
    """Count the elements of x along `axes`: an int, or a scalar tensor of `dtype`."""
    if axes is None:
        sizes = later("shape_of")(x, dtype=int64)
        return cast(reduce_prod(sizes, axes=(0,), keepdims=False), dtype=dtype)
    return as_factor(math.prod([x.dims[axis] for axis in axes]), dtype)


def _infer(name, accepts, dtype=None):
    def infer(x, *, axes, keepdims):
        check_dtype(name, "input_tensor", x.dtype, accepts)
        return Aval(reduce_dims(x.dims, axes, keepdims), dtype or x.dtype)

    return infer


def _batch(name):
    def batch(size, batched, x, *, axes, keepdims):
        shifted = tuple(axis + 1 for axis in axes)
        return later(name)(x, axes=shifted, keepdims=keepdims)

    return batch


@primitive
class reduce_sum:
    """y = Σ x over axes."""

    operands = "x"
    tf_attributes = "reduction"
    infer = _infer("reduce_sum", NUMERIC)

    def numpy(x: np.ndarray, *, axes, keepdims):
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            return np.sum(x.astype(np.float32), axes, keepdims=keepdims).astype(x.dtype)
        if axes is not None and sums_leading(x, axes):
            return leading_sum(x, axes).reshape(reduce_dims(x.shape, axes, keepdims))
        return np.add.reduce(x, axes, x.dtype, keepdims=keepdims)

    def transpose_x(g, x, *, axes, keepdims):
        return spread(g, x, axes)

    fold = ("add", 0)
    batch = _batch("reduce_sum")
    memory = "reduce"
    samples = (*SAMPLES, EMPTY)
    rejects = (Reject(np.array([True]), axes=(0,), keepdims=False, code="TW102"),)


@primitive
class sum_like:
    """y = Σ g over the axes along which x was broadcast to the shape of g."""

    operands = "g x"
    no_gradient = {"x": NoGradient("only its shape is used")}

    def infer(g, x):
        return Aval(x.dims, g.dtype)

    def numpy(g, x):
        lead = g.ndim - x.ndim
        axes = tuple(i for i in range(g.ndim) if i < lead or x.shape[i - lead] == 1 != g.shape[i])
        return reduce_sum.numpy(g, axes=axes, keepdims=False).reshape(x.shape)

    def transpose_g(h, g, x):
        return broadcast_like(h, g)

    def expand(t, g, x):
        if g.dtype.is_bool:
            return NotImplemented
        lead = len(g.dims) - len(x.dims)
        sizes = list(zip(g.dims[lead:], x.dims))
        axes = [i + lead for i, (n, own) in enumerate(sizes) if own == 1 != n]
        total = t.reduce_sum(g, axes=(*range(lead), *axes), keepdims=False)
        return t.reshape(total, shape=x.dims)

    batch = LOOP
    memory = "reduce"
    samples = (Sample([2, 3], [3]), Sample([2, 3], [2, 1]), Sample([3], [3]), Sample([2], []))


@primitive
class broadcast_like:
    """y = x repeated to the shape of z."""

    operands = "x z"
    no_gradient = {"z": NoGradient("only its shape is used")}

    def infer(x, z):
        return Aval(z.dims, x.dtype)

    def numpy(x: np.ndarray, z):
        return np.broadcast_to(x, z.shape)

    def transpose_x(g, x, z):
        return sum_like(g, x)

    def expand(t, x, z):
        return t.broadcast_to(x, shape=z.dims)

    batch = LOOP
    memory = "view"
    samples = (Sample([3], [2, 3]), Sample([2, 1], [2, 3]), Sample([], [2]))


def widen(t, x):
    """Return `x`, 16-bit floats as float32, for `expand` rules."""
    return t.cast(x, dtype=float32) if x.dtype.is_floating and x.dtype.size == 2 else x


def narrow(t, x, dtype):
    """Return `x` as `dtype`, for `expand` rules."""
    return x if x.dtype is dtype else t.cast(x, dtype=dtype)


@primitive
class reduce_mean:
    """y = the mean of x over axes; integers are divided with the rest dropped, 0 / 0 is NaN."""

    operands = "x"
    tf_attributes = "reduction"
    infer = _infer("reduce_mean", NUMERIC)

    def numpy(x: np.ndarray, *, axes, keepdims):
        kind = x.dtype
        every = axes is None or len(axes) == x.ndim
        count = x.size if axes is None or every else math.prod([x.shape[axis] for axis in axes])
        if kind.kind in "iu":
            wide = np.add.reduce(x, axes, f"{kind.kind}8", keepdims=keepdims)
            return _integer_mean(wide, count).astype(kind)
        if kind.itemsize == 2:
            total = np.add.reduce(x.astype(np.float32), axes, keepdims=keepdims)
            return (total / count).astype(kind)
        return np.add.reduce(x, axes, kind, keepdims=keepdims) / count

    def transpose_x(g: Tensor, x, *, axes, keepdims):
        count = count_of(x, axes, g.dtype)
        if type(count) is int:
            return spread(g * (1 / count) if count else g, x, axes)
        return spread(g / count, x, axes)

    def expand(t, x, *, axes, keepdims):
        dtype, count = x.dtype, math.prod([x.dims[axis] for axis in all_axes(x, axes)])
        if dtype.is_integer:
            total = t.cast(x, dtype=uint64 if dtype.is_unsigned else int64)
            total = t.reduce_sum(total, axes=axes, keepdims=keepdims)
            return t.cast(t.truncate_div(total, count) if count else total, dtype=dtype)
        total = t.reduce_sum(widen(t, x), axes=axes, keepdims=keepdims)
        return narrow(t, t.div(total, count), dtype)

    batch = _batch("reduce_mean")
    memory = "reduce"
    samples = SAMPLES
    rejects = (Reject(np.array([True]), axes=(0,), keepdims=False, code="TW102"),)


def _integer_mean(total, count):
    """Return total / count toward zero; 0 for no elements."""
    if not count:
        return total
    return np.sign(total) * (np.abs(total) // total.dtype.type(count))


@primitive
class reduce_prod:
    """y = Π x over axes.   dy/dxᵢ = Πⱼ≠ᵢ xⱼ, exact where elements are zero."""

    operands = "x"
    tf_attributes = "reduction"
    infer = _infer("reduce_prod", NUMERIC)

    def numpy(x: np.ndarray, *, axes, keepdims):
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            product = np.multiply.reduce(x.astype(np.float32), axes, keepdims=keepdims)
            return product.astype(x.dtype)
        return np.multiply.reduce(x, axes, x.dtype, keepdims=keepdims)

    def vjp(g, y, x, *, axes, keepdims):
        axes = all_axes(x, axes)
        return keep_axes(g, x, axes) * products_of_others(conjugate(x), axes)

    def jvp(t, y, x, *, axes, keepdims):
        axes = all_axes(x, axes)
        return reduce_sum(products_of_others(x, axes) * t, axes=axes, keepdims=keepdims)

    fold = ("mul", 1)
    batch = _batch("reduce_prod")
    memory = "reduce"
    samples = (
        *SAMPLES,
        EMPTY,
        Sample(np.array([[0, 2, 3], [0, 0, 5]], np.float32), axes=(1,), keepdims=False),
    )
    rejects = (Reject(np.array([True]), axes=(0,), keepdims=False, code="TW102"),)


def conjugate(x):
    """Return the conjugate of complex numbers, real numbers as they are."""
    return conj(x) if x.dtype.is_complex else x


def products_of_others(x, axes):
    """Return Πⱼ≠ᵢ xⱼ over axes, in x's shape, without a division."""
    if not axes or any(same(size, 0) for size in x.dims):
        return x * 0 + 1 if x.dtype.is_differentiable else x
    left = tuple(axis for axis in range(len(x.dims)) if axis not in axes)
    perm = (*left, *axes)
    moved = transpose(x, perm=perm)
    rows = math.prod(x.dims[axis] for axis in left)
    length = math.prod(x.dims[axis] for axis in axes)
    flat = reshape(moved, shape=(rows, length))
    others = _others_in_rows(flat) if type(length) is int else _others_before_and_after(flat)
    return transpose(reshape(others, shape=moved.dims), perm=inverse_permutation(perm))


def _others_before_and_after(x):
    """Return Πⱼ≠ᵢ x[r, j] for rows of a length that is not known."""
    cumprod = later("cumprod")
    before = cumprod(x, axis=1, exclusive=True, reverse=False)
    return before * cumprod(x, axis=1, exclusive=True, reverse=True)


def _others_in_rows(x):
    """Return Πⱼ≠ᵢ x[r, j] by a tree:
    products of pairs upward, products of siblings downward. [m, n].
    """
    rows, length = x.dims
    size = 1 << (length - 1).bit_length()
    if size > length:
        first = reshape(slice_of(x, (0, 0), (1, 1)), shape=())
        x = pad(x, 1 + zeros_of(first), low=(0, 0), high=(0, size - length))
    levels = [x]
    while levels[-1].dims[1] > 1:
        half = levels[-1].dims[1] // 2
        pairs = reshape(levels[-1], shape=(rows, half, 2))
        left = slice_of(pairs, (0, 0, 0), (rows, half, 1))
        right = slice_of(pairs, (0, 0, 1), (rows, half, 2))
        levels.append(reshape(left * right, shape=(rows, half)))
    outer = 1 + zeros_of(levels.pop())
    for level in reversed(levels):
        half = level.dims[1] // 2
        siblings = reverse(reshape(level, shape=(rows, half, 2)), axes=(2,))
        outer = reshape(reshape(outer, shape=(rows, half, 1)) * siblings, shape=(rows, 2 * half))
    return slice_of(outer, (0, 0), (rows, length)) if size > length else outer


def slice_of(x, begin, end):
    """Return x[begin : end] along every axis."""
    return strided_slice(x, begin=begin, end=end, strides=(1,) * len(begin))


def _extreme(name, kernel, text):
    def numpy(x, *, axes, keepdims):
        start = limit(x.dtype, name)
        if x.size == 0:
            return np.full(reduce_dims(x.shape, axes, keepdims), start, x.dtype)
        return kernel.reduce(x, axes, keepdims=keepdims)

    def weights(y, x, axes):
        """Return 1/n at the n places where x takes the extreme value, 0 elsewhere."""
        axes = all_axes(x, axes)
        mask = cast(equal(x, keep_axes(y, x, axes)), dtype=x.dtype)
        return mask / reduce_sum(mask, axes=axes, keepdims=True)

    def vjp(g, y, x, *, axes, keepdims):
        return weights(y, x, axes) * keep_axes(g, x, axes)

    def jvp(t, y, x, *, axes, keepdims):
        return reduce_sum(weights(y, x, axes) * t, axes=axes, keepdims=keepdims)

    fields = {
        "__doc__": text,
        "operands": "x",
        "tf_attributes": "reduction",
        "infer": _infer(name, REAL),
        "numpy": numpy,
        "vjp": vjp,
        "jvp": jvp,
        "batch": _batch(name),
        "memory": "reduce",
        "fold": (
            "maximum" if name == "reduce_max" else "minimum",
            lambda dtype: limit(dtype.numpy_dtype, name),
        ),
        "kinks": {"x": "where n places take the value, each gets 1/n of the derivative"},
        "samples": SAMPLES,
        "rejects": (Reject(np.array([True]), axes=(0,), keepdims=False, code="TW102"),),
    }
    return primitive(type(name, (), fields))


def limit(dtype, name):
    """Return the maximum (minimum) of no elements: the lowest (highest) value of the dtype."""
    low = name == "reduce_max"
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if low else np.iinfo(dtype).max
    return -np.inf if low else np.inf


reduce_max = _extreme("reduce_max", np.maximum, "y = the largest element of x over axes.")
reduce_min = _extreme("reduce_min", np.minimum, "y = the smallest element of x over axes.")


def _logical(name, kernel, text):
    fields = {
        "__doc__": text,
        "operands": "x",
        "tf_attributes": "reduction",
        "infer": _infer(name, frozenset({bool_})),
        "numpy": lambda x, *, axes, keepdims: kernel.reduce(x, axes, keepdims=keepdims),
        "no_gradient": LOGICAL,
        "fold": ("and", True) if name == "reduce_all" else ("or", False),
        "batch": _batch(name),
        "memory": "reduce",
        "samples": (
            Sample(np.array([[True, False], [True, True]]), axes=(1,), keepdims=False),
            Sample(np.zeros((0, 2), bool), axes=(0,), keepdims=True),
        ),
        "rejects": (Reject([2], axes=(0,), keepdims=False, code="TW102"),),
    }
    return primitive(type(name, (), fields))


reduce_all = _logical("reduce_all", np.logical_and, "y = whether all of x over axes are true.")
reduce_any = _logical("reduce_any", np.logical_or, "y = whether some of x over axes is true.")


def _arg_extreme(name, kernel, which):
    def infer(x, *, axis, dtype):
        check_dtype(name, "input", x.dtype, REAL | {bool_})
        if same(x.dims[axis], 0):
            raise invalid(
                "TW209",
                f"{name}: reduction axis {axis} is empty in shape {x.dims}",
                "at least one element along the axis",
            )
        return Aval(x.dims[:axis] + x.dims[axis + 1 :], dtype)

    def numpy(x, *, axis, dtype):
        if x.size and x.dtype.kind not in "iub" and np.isnan(np.maximum.reduce(x, None)):
            worst = limit(x.dtype, "reduce_max" if name == "argmax" else "reduce_min")
            x = np.where(np.isnan(x), x.dtype.type(worst), x)
        return kernel(x, axis).astype(dtype.numpy_dtype)

    def batch(size, batched, x, *, axis, dtype):
        return later(name)(x, axis=axis + 1, dtype=dtype)

    def expand(t, x, *, axis, dtype):
        if x.dtype.is_bool:
            x = t.cast(x, dtype=int32)
        low, size = name == "argmax", x.dims[axis]
        if x.dtype.is_floating:
            x = t.select(t.is_nan(x), -math.inf if low else math.inf, x)
        best = (t.reduce_max if low else t.reduce_min)(x, axes=(axis,), keepdims=True)
        positions = t.counting(size, int32 if size <= int32.max else int64)
        positions = t.reshape(positions, shape=(size, *(1,) * (len(x.dims) - axis - 1)))
        positions = t.select(t.equal(x, best), positions, size - 1)
        return narrow(t, t.reduce_min(positions, axes=(axis,), keepdims=False), dtype)

    fields = {
        "__doc__": f"y = the first place of the {which} element along axis; NaN is passed over.",
        "operands": "x",
        "tf_type": f"Arg{name[3:].title()}",
        "tf_attributes": "arg_extreme",
        "infer": infer,
        "numpy": numpy,
        "no_gradient": CHOICE,
        "expand": expand,
        "batch": batch,
        "memory": "reduce",
        "samples": tuple([Sample(n, axis=len(n) - 1, dtype_=int64) for n in ([4], [2, 3], [0, 3])]),
        "rejects": (Reject([0], axis=0, dtype_=int64, code="TW209"),),
    }
    return primitive(type(name, (), fields))


argmax = _arg_extreme("argmax", np.argmax, "largest")
argmin = _arg_extreme("argmin", np.argmin, "smallest")


@primitive
class logsumexp:
    """y = ln Σ eˣ over axes, with the maximum m taken out: m + ln Σ eˣ⁻ᵐ.   dy/dx = eˣ⁻ʸ."""

    operands = "x"
    infer = _infer("reduce_logsumexp", FLOATING)

    def numpy(x: np.ndarray, *, axes, keepdims):
        if x.size == 0:
            return np.full(reduce_dims(x.shape, axes, keepdims), -np.inf, x.dtype)
        dtype = x.dtype
        if dtype.itemsize == 2:
            x = x.astype(np.float32)
        top = np.maximum.reduce(x, axes, keepdims=True)
        top = np.where(np.isfinite(top), top, x.dtype.type(0))
        total = np.log(np.add.reduce(np.exp(x - top), axes, keepdims=True)) + top
        if not keepdims:
            total = np.reshape(total, reduce_dims(x.shape, axes, False))
        return total.astype(dtype, copy=False)

    def vjp(g, y, x, *, axes, keepdims):
        return softmax_weights(y, x, axes) * keep_axes(g, x, axes)

    def jvp(t, y, x, *, axes, keepdims):
        return reduce_sum(softmax_weights(y, x, axes) * t, axes=axes, keepdims=keepdims)

    def expand(t, x, *, axes, keepdims):
        axes, dtype = all_axes(x, axes), x.dtype
        x = widen(t, x)
        top = t.reduce_max(x, axes=axes, keepdims=True)
        top = t.select(t.is_finite(top), top, t.zeros_of(top))
        total = t.reduce_sum(t.exp(t.sub(x, top)), axes=axes, keepdims=True)
        result = narrow(t, t.add(t.log(total), top), dtype)
        return t.reshape(result, shape=reduce_dims(x.dims, axes, keepdims))

    batch = _batch("logsumexp")
    memory = "reduce"
    samples = SAMPLES
    rejects = (Reject(np.ones(2, np.int32), axes=(0,), keepdims=False, code="TW102"),)


def softmax_weights(y, x, axes):
    """Return eˣ⁻ʸ, with y the log-sum-exp of x; NaN where both are infinite, as in TensorFlow."""
    return exp(x - keep_axes(y, x, axes))
