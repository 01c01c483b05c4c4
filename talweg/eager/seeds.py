"""Seeds of reverse sweeps: the cotangents of targets that a tape begins with."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.eager.resident import nearest, resident
from talweg.eager.tensor import EagerTensor, wrap
from talweg.execute import choice
from talweg.kernels.broadcasting import spread
from talweg.prims.arithmetic import zeros_of

_one_on_device = lru_cache(lambda kind: choice.put(kind.type(1)))
SPREAD = 1 << 15  # elements from which one number with strides of 0 takes less time than an array
SCOPE = ("gradient_tape/", "/")  # of what a tape makes in a graph, as in TensorFlow


def ones_of(tensor: object) -> Any:
    """Return a seed: ones of the tensor's shape and dtype."""
    if type(tensor) is EagerTensor:
        dims, kind = tensor.dims, tensor.dtype.numpy_dtype  # of a device's tensor no fetch
        if not dims and hasattr(nearest(tensor), "devices"):
            return resident(_one_on_device(kind))
        if not dims:
            return wrap(kind.type(1))
        if math.prod(dims) < SPREAD:
            return wrap(np.ones(dims, kind))
        return wrap(spread(kind.type(1), dims))
    graph = dispatch.context.base
    if graph is None:
        return zeros_of(tensor) + 1
    with graph.derivatives_in(*SCOPE):
        return zeros_of(tensor) + 1
