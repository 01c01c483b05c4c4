"""Sorting along the last axis.

NaN counts as the largest value.  Equal elements keep their order in both directions, which decides
where the derivative of tied values goes: to the element that comes first.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LEADING, check_dtype, primitive
from talweg.core.dims import below
from talweg.core.dtypes import REAL, int16, int32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels import sorting
from talweg.kernels.abandoned_calls import count_per_element, make_interruptible
from talweg.prims.indexing import gather, scatter_rows

KINKS = {"x": "of tied elements the first takes the first place, and the derivative"}


def _check(name, x):
    check_dtype(name, "values", x.dtype, REAL)
    if x.ndim == 0:
        raise invalid("TW203", f"{name}: input is a scalar", "a rank of at least 1")


@primitive
class argsort:
    """z = the places of the elements of x, smallest first (largest first if `descending`)."""

    operands = "x"

    def infer(x, *, descending):
        _check("argsort", x)
        return Aval(x.dims, int32)

    @make_interruptible(count_per_element(sorting.COST))
    def numpy(x: np.ndarray, *, descending):
        return sorting.stable_order(x, descending).astype(np.int32)

    no_gradient = NoGradient("places are integers", "tf.sort for the values")
    batch = LEADING
    memory = "library"

    def xla(j, x, *, descending):
        return j.numpy.argsort(x, stable=True, descending=descending)

    samples = (
        Sample([5], descending=False),
        Sample(np.array([[3.0, 1, 3], [1, 1, 2]]), descending=True),
        Sample([2, 0], descending=True),
    )
    rejects = (
        Reject([], descending=False, code="TW203"),
        Reject(np.array([1j]), descending=False, code="TW102"),
    )


@primitive
class sort:
    """z = the elements of x, smallest first (largest first if `descending`)."""

    operands = "x"

    def infer(x, *, descending):
        _check("sort", x)
        return x

    @make_interruptible(count_per_element(sorting.COST))
    def numpy(x: np.ndarray, *, descending):
        if x.dtype.kind == "V":
            return np.take_along_axis(x, sorting.stable_order(x, descending), -1)
        result = np.sort(x, -1)
        return result[..., ::-1] if descending else result

    def vjp(g, z, x, *, descending):
        last = len(x.dims) - 1
        places = argsort(x, descending=descending)
        return scatter_rows(g, places, axis=last, batch_dims=last, rows=x.dims[-1])

    def jvp(t, z, x, *, descending):
        last = len(x.dims) - 1
        return gather(t, argsort(x, descending=descending), axis=last, batch_dims=last)

    batch = LEADING
    memory = "library"

    def xla(j, x, *, descending):
        return j.numpy.sort(x, stable=True, descending=descending)

    kinks = KINKS
    samples = (
        Sample([5], descending=False),
        Sample([2, 4], descending=True),
        Sample([0], descending=False),
    )
    rejects = (
        Reject([], descending=False, code="TW203"),
        Reject(np.array([1j]), descending=False, code="TW102"),
    )


@primitive
class top_k:
    """The k largest elements of x along its last axis, largest first, and their places.

    Values z[..., j] = x[..., i[..., j]].  With `smallest` the k smallest, smallest first.
    """

    operands = "x"
    tf_type = "TopKV2"
    tf_attributes = "top_k"
    multiple = True

    def infer(x, *, k, smallest, dtype):
        _check("top_k", x)
        if below(k, 0):
            raise invalid("TW207", f"top_k: need k >= 0, got {k}")
        if below(x.dims[-1], k):
            raise invalid(
                "TW204", f"top_k: input must have at least k columns, had {x.dims[-1]}, needed {k}"
            )
        if dtype not in {int16, int32, int64}:
            raise invalid("TW102", f"top_k: index_type is {dtype.name}", "int16, int32 or int64")
        dims = (*x.dims[:-1], k)
        return [Aval(dims, x.dtype), Aval(dims, dtype)]

    @make_interruptible(count_per_element(sorting.COST))
    def numpy(x: np.ndarray, *, k, smallest, dtype):
        if k == 1 and not smallest and x.dtype.kind != "V":
            places = np.argmax(x, -1)[..., None]  # NaN counts as the largest here too
        else:
            places = sorting.first_places(x, k, not smallest)
        return sorting.take_in_rows(x, places), places.astype(dtype.numpy_dtype)

    def vjp(g: tuple, z, x, *, k, smallest, dtype):
        last = len(x.dims) - 1
        return scatter_rows(g[0], z[1], axis=last, batch_dims=last, rows=x.dims[-1])

    def jvp(t, z, x, *, k, smallest, dtype):
        last = len(x.dims) - 1
        return gather(t, z[1], axis=last, batch_dims=last), None

    batch = LEADING
    memory = "library"

    def xla(j, x, *, k, smallest, dtype):
        order = j.numpy.argsort(x, stable=True, descending=not smallest)[..., :k]
        return j.numpy.take_along_axis(x, order, -1), order

    kinks = KINKS
    samples = (
        Sample([5], k=2, smallest=False, dtype_=int32),
        Sample([2, 4], k=4, smallest=True, dtype_=int64),
        Sample([2, 3], k=0, smallest=False, dtype_=int16),
    )
    rejects = (
        Reject([3], k=4, smallest=False, dtype_=int32, code="TW204"),
        Reject([3], k=-1, smallest=False, dtype_=int32, code="TW207"),
        Reject([], k=0, smallest=False, dtype_=int32, code="TW203"),
    )
