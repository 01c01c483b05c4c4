"""tf.nn.isotonic_regression: the nearest monotonic sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.arguments import axis_argument, tensor
from talweg.api.export import export
from talweg.core.dtypes import float32, float64
from talweg.core.value import Tensor
from talweg.eager.tensor import array_of, wrap
from talweg.prims import layout, segment
from talweg.prims.arithmetic import cast, neg

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


class IsotonicRegression(NamedTuple):
    output: Tensor
    segments: Tensor


def _pools(row: np.ndarray) -> list[int]:
    """Compute the lengths of the runs that are averaged so that a row does not rise.

    Pool adjacent violators: Best and Chakravarti 1990, "Active set algorithms for isotonic
    regression".
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in row.tolist():
        mean, size = value, 1
        while means and means[-1] < mean:
            before, count = means.pop(), sizes.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        means.append(mean)
        sizes.append(size)
    return sizes


@export("nn.isotonic_regression")
def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: AxisLike = -1
) -> tuple[Any, ...]:
    """Return the monotonic sequence nearest to `inputs` in squares along `axis`, and its runs.

    inputs: real numbers; integers are computed in floats.  decreasing=False: rising sequences.
    Returns (output, segments): segments number the runs of equal values, from 0, int32.  The
    gradient averages over each run.

    >>> import talweg as tf
    >>> tf.nn.isotonic_regression([1.0, 3.0, 2.0, 1.0])[0].numpy()
    array([2., 2., 2., 1.], dtype=float32)
    """
    x = tensor(inputs)
    if not x.dtype.is_floating:
        x = cast(x, dtype=float64 if x.dtype.size >= 4 else float32)
    axis = axis_argument(axis, x.ndim, "isotonic_regression")
    last = x.ndim - 1
    perm = (*(i for i in range(x.ndim) if i != axis), axis)
    turned = x if axis == last else layout.transpose(x, perm=perm)
    signed = turned if decreasing else neg(turned)
    output, segments = _regress(signed)
    output = output if decreasing else neg(output)
    if axis != last:
        back = layout.inverse_permutation(perm)
        output = layout.transpose(output, perm=back)
        segments = np.ascontiguousarray(np.transpose(segments, back))
    regression = IsotonicRegression(output, wrap(segments))
    return regression if decreasing else tuple(regression)


def _regress(x: Tensor) -> tuple[Any, np.ndarray]:
    """Return the nearest sequences that do not rise, along the last axis, and their runs."""
    rows = array_of(x).reshape(-1, x.dims[-1]) if x.dims[-1] else np.zeros((0, 0))
    sizes = [_pools(row.astype(np.float64)) for row in rows]
    flat = np.array([size for row in sizes for size in row], np.int64)
    runs = np.repeat(np.arange(len(flat)), flat)
    local = [number for row in sizes for number in np.repeat(np.arange(len(row)), row)]
    segments = np.array(local, np.int32).reshape(x.dims)
    ids = wrap(runs)
    sums = segment.segment_sum(layout.reshape(x, shape=(runs.size,)), ids, count=len(flat))
    means = sums / wrap(flat.astype(x.dtype.numpy_dtype))
    return layout.reshape(segment.segment_rows(means, ids), shape=x.dims), segments
