"""tf.math.sobol_sample: points that fill a cube evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.arguments import integer, tensor
from talweg.api.export import export
from talweg.core.dtypes import as_dtype, float32, float64
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.tensor import wrap

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike


@export("math.sobol_sample")
def sobol_sample(
    dim: AxisLike,
    num_results: TensorLike,
    skip: TensorLike = 0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return points [num_results, dim] of the Sobol sequence in [0, 1), the origin left out.

    skip: how many more points to leave out.  dtype: float32 or float64.  InvalidArgumentError for a
    `dim` or `num_results` below 1, a negative `skip`, or another dtype.  Joe and Kuo 2008,
    "Constructing Sobol sequences with better two-dimensional projections" (SciPy's directions).

    >>> import talweg as tf
    >>> tf.math.sobol_sample(2, 3)
    <tf.Tensor: shape=(3, 2), dtype=float32, numpy=
    array([[0.5 , 0.5 ],
           [0.75, 0.25],
           [0.25, 0.75]], dtype=float32)>
    """
    dtype = as_dtype(dtype)
    if dtype not in (float32, float64):
        raise invalid("TW102", f"sobol_sample: dtype is {dtype.name}", "float32 or float64")
    numbers = {}
    for argument, value, least in (
        ("dim", dim, 1),
        ("num_results", num_results, 1),
        ("skip", skip, 0),
    ):
        numbers[argument] = integer(tensor(value), "sobol_sample", argument)
        if numbers[argument] < least:
            raise invalid(
                "TW207", f"sobol_sample: {argument}={numbers[argument]}", f"at least {least}"
            )
    from scipy.stats import qmc

    sequence = qmc.Sobol(numbers["dim"], scramble=False)
    sequence.fast_forward(numbers["skip"] + 1)
    return wrap(sequence.random(numbers["num_results"]).astype(dtype.numpy_dtype))
