"""Seeds of reverse sweeps: the cotangents of targets that a tape begins with."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.eager.tensor import EagerTensor, wrap
from talweg.prims.arithmetic import zeros_of

SCOPE = ("gradient_tape/", "/")  # of what a tape makes in a graph, as in TensorFlow


def ones_of(tensor: object) -> Any:
    """Return a seed: ones of the tensor's shape and dtype."""
    if type(tensor) is EagerTensor:
        array = tensor._array
        return wrap(array.dtype.type(1) if array.ndim == 0 else np.ones(array.shape, array.dtype))
    graph = dispatch.context.base
    if graph is None:
        return zeros_of(tensor) + 1
    with graph.derivatives_in(*SCOPE):
        return zeros_of(tensor) + 1
