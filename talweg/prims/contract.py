"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive, suggest_cast
from talweg.core.dims import differ, same, same_dims
from talweg.core.dtypes import NUMERIC, int8, int16
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample
from talweg.core.shapes import broadcast_dims
from talweg.kernels.products import matrix_product
from talweg.prims.complex import conj
from talweg.prims.indexing import in_float32
from talweg.prims.layout import reshape, transpose
from talweg.prims.reduce import reduce_sum, sum_like

FACTORS = NUMERIC - {int8, int16}  # TensorFlow multiplies matrices of these


def adjoint(x):
    """Return the conjugate transpose of the last two axes."""
    rank = len(x.dims)
    turned = transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))
    return conj(turned) if x.dtype.is_complex else turned


def sum_to(g, x):
    """Return `g` summed over the batch axes along which `x` was broadcast."""
    dims = x.dims
    if same_dims(g.dims, dims):
        return g
    lead = len(g.dims) - len(dims)
    pairs = list(zip(dims, g.dims[lead:]))
    if not all(type(a) is int or same(a, b) for a, b in pairs):
        return sum_like(g, x)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, (a, b) in enumerate(pairs) if same(a, 1) and not same(b, 1)
    )
    return reshape(reduce_sum(g, axes=axes, keepdims=False), shape=dims)


def _way_round(a: tuple, b: tuple) -> str:
    """Choose the order in which two matrices of these sizes can be multiplied, if there is one."""
    if not differ(a[-1], b[-1]):
        return "tf.matmul(a, b, transpose_b=True)"
    if not differ(a[-2], b[-2]):
        return "tf.matmul(a, b, transpose_a=True)"
    return "" if differ(a[-2], b[-1]) else "tf.matmul(b, a)"


@primitive
class matmul:
    """z = x y.   x [..., m, k], y [..., k, n] -> z [..., m, n], batch axes broadcast.

    x̄ = z̄ yᴴ,  ȳ = xᴴ z̄.   Giles 2008, "Collected matrix derivative results", 2.2.2.
    """

    operands = "x y"
    tf_attributes = "matmul"

    def tf_type(x, y):
        return "MatMul" if x.dims is None or len(x.dims) == 2 else "BatchMatMulV2"

    tf_name = "MatMul"

    def infer(x, y):
        if x.dtype is not y.dtype or x.dtype not in FACTORS:
            check_dtype("matmul", "a", x.dtype, FACTORS)
            if y.dtype is not x.dtype:
                raise invalid(
                    "TW102",
                    f"matmul: b has dtype {y.dtype.name} but a has dtype {x.dtype.name}",
                    "operands of one dtype",
                    suggest_cast("a", x.dtype, "b", y.dtype)
                    + ("; NumPy's arrays are float64 unless made with dtype=np.float32")
                    * ("float64" in (x.dtype.name, y.dtype.name)),
                )
        if x.dims is None or y.dims is None:
            return Aval(None, x.dtype)
        if x.ndim < 2 or y.ndim < 2:
            raise invalid(
                "TW203",
                f"matmul: a has shape {x.dims} and b has shape {y.dims}",
                "ranks of at least 2",
                "tf.linalg.matvec for a matrix and a vector, tf.tensordot for two vectors",
            )
        if differ(x.dims[-1], y.dims[-2]):
            raise invalid(
                "TW204",
                f"matmul: Matrix size-incompatible: a has shape {x.dims} and b has shape {y.dims}",
                f"the last dimension of a ({x.dims[-1]}) equal to the last but one of b "
                f"({y.dims[-2]})",
                _way_round(x.dims, y.dims),
            )
        batch = x.dims[:-2]
        if not same_dims(batch, y.dims[:-2]):
            batch = broadcast_dims("matmul", batch, y.dims[:-2])
        return Aval((*batch, x.dims[-2], y.dims[-1]), x.dtype)

    numpy = matrix_product

    def transpose_x(g, x, y):
        return sum_to(matmul(g, adjoint(y)), x)

    def transpose_y(g, x, y):
        if len(y.dims) == 2 < len(x.dims):  # one product of tall matrices, not a sum of products
            rows = math.prod(x.dims[:-1])
            x, g = reshape(x, shape=(rows, x.dims[-1])), reshape(g, shape=(rows, g.dims[-1]))
        return sum_to(matmul(adjoint(x), g), y)

    def batch(size, batched, x, y):
        rank = max(len(x.dims) - batched[0], len(y.dims) - batched[1])
        return matmul(*(_align_batch(size, v, b, rank) for v, b in zip((x, y), batched)))

    def expand(t, x, y):
        return in_float32(t, "matmul", (x, y), 0, {})

    memory = "library"
    call = "matmul"
    xla = "matmul"
    samples = (
        Sample([3, 4], [4, 2]),
        Sample([2, 3, 4], [2, 4, 1]),
        Sample([2, 3, 4], [4, 2]),
        Sample([3, 0], [0, 2]),
    )
    rejects = (
        Reject([3, 4], [3, 4], code="TW204"),
        Reject([3], [3], code="TW203"),
        Reject([3, 4], np.ones((4, 2), np.int32), code="TW102"),
    )


def _align_batch(size, x, batched: int, rank):
    """Return `x` with its batch axis in front of `rank` axes, so that batch axes broadcast."""
    if not batched:
        return x
    return reshape(x, shape=(size, *(1,) * (rank - len(x.dims) + 1), *x.dims[1:]))
