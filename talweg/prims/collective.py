"""Collective operations: what all replicas of a program compute together.

A program of replicas is traced once; each device runs it on values of its own.  Kernels here say
what comes out where all replicas have the same, which is what a constant is.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dtypes import NUMERIC
from talweg.core.primitive import Reject, Sample


@primitive
class all_reduce:
    """z = the sum of the x of all `count` replicas, in each of them.  It is its own transpose."""

    operands = "x"
    tf_type = "CollectiveReduceV2"
    tf_name = "CollectiveReduce"

    def infer(x, *, count):
        check_dtype("all_reduce", "x", x.dtype, NUMERIC)
        return Aval(x.dims, x.dtype)

    def numpy(x: np.ndarray, *, count):
        return np.multiply(x, count, dtype=x.dtype)

    def transpose_x(g, x, *, count):
        return all_reduce(g, count=count)

    def batch(size, batched, x, *, count):
        return all_reduce(x, count=count)

    memory = "library"

    def xla(j, x, *, count):
        return j.all_reduce(x, count)

    samples = (Sample([2, 3], count=4), Sample([3], count=1), Sample([0, 2], count=2))
    rejects = (Reject(np.array([True]), count=2, code="TW102"),)


@primitive
class relayout:
    """y = x, shared out among the devices of a mesh as `layout` says (its text; None: anyhow)."""

    operands = "x"
    tf_type = "Relayout"

    def infer(x, *, layout):
        return Aval(x.dims, x.dtype)

    def numpy(x: np.ndarray, *, layout):
        return x

    def transpose_x(g, x, *, layout):
        return relayout(g, layout=layout)

    def batch(size, batched, x, *, layout):
        return relayout(x, layout=None)

    def loops(s, index, x, *, layout):
        return x(*index)

    memory = "library"

    def xla(j, x, *, layout):
        return j.relayout(x, layout)

    samples = (Sample([2, 3], layout=None), Sample([], layout=None), Sample([0, 2], layout=None))
