"""tf.random.stateless_gamma and relatives: distributions whose parameters are tensors.

`shape` is the whole shape of the result; the (broadcast) shape of the parameters must be its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.random.arguments import (
    check_dtype,
    parameter,
    sample_shape,
    scalar_integer,
    shape_of,
)
from talweg.api.random.stateless import stream_of
from talweg.core import shapes
from talweg.core.dims import same_dims
from talweg.core.dtypes import DType, as_dtype, float32, int32, int64
from talweg.core.value import Tensor
from talweg.prims.arithmetic import cast, maximum
from talweg.prims.layout import broadcast_to
from talweg.prims.random import distributions
from talweg.prims.random import streams as prims

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

COUNTS = (int32, int64)


def broadcast_dims(*tensors: Tensor) -> tuple:
    """Return the shape tensors broadcast to; InvalidArgumentError if there is none."""
    return shapes.broadcast_dims("random numbers", *[t.dims for t in tensors])


def gamma_parameters(alpha: Any, beta: Any, dtype: DType) -> tuple[Tensor, Tensor | None]:
    """Broadcast α against β, of the result's dtype."""
    alpha = parameter(alpha, dtype)
    if beta is None:
        return alpha, None
    beta = parameter(beta, dtype)
    dims = broadcast_dims(alpha, beta)
    return (alpha if same_dims(alpha.dims, dims) else broadcast_to(alpha, shape=dims)), beta


def gamma_of_stream(stream: Tensor, alpha: Tensor, beta: Tensor | None, shape: tuple) -> Tensor:
    """Draw gamma numbers of rate β, no smaller than the smallest normal number."""
    dtype = alpha.dtype
    drawn = distributions.random_gamma(stream, alpha, shape=shape)
    tiny = tensor(np.finfo(dtype.numpy_dtype).tiny)
    return maximum(drawn if beta is None else drawn / beta, tiny)


@export("random.stateless_gamma", "compat.v1.random.stateless_gamma")
def stateless_gamma(
    shape: ShapeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return Gamma numbers of shape parameter `alpha` and rate `beta` (1 if None).

    seed: two integers.  dtype: float16, float32 or float64, to which the parameters are converted.
    The result is differentiable by both parameters (Figurnov, Mohamed and Mnih 2018).  NaN for
    alpha < 0; InvalidArgumentError if `shape` does not end in the shape of the parameters.

    >>> import talweg as tf
    >>> tf.random.stateless_gamma([2, 2], seed=[12, 34], alpha=[0.5, 3.0]).shape
    TensorShape([2, 2])
    """
    dtype = as_dtype(dtype)
    dims = shape_of(shape, "stateless_gamma")
    alpha, beta = gamma_parameters(alpha, beta, dtype)
    stream, _ = stream_of(seed, "auto_select")
    samples, shapes = sample_shape(dims, alpha)
    return gamma_of_stream(stream, shapes, beta, samples)


@export("random.stateless_poisson", "compat.v1.random.stateless_poisson")
def stateless_poisson(
    shape: ShapeLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Return Poisson numbers of mean `lam`.

    seed: two integers.  dtype: int32, int64, float16, float32 or float64.
    InvalidArgumentError if `shape` does not end in lam's shape.

    >>> import talweg as tf
    >>> tf.random.stateless_poisson([8], seed=[12, 34], lam=3.0).dtype
    tf.int32
    """
    dtype = as_dtype(dtype)
    dims = shape_of(shape, "stateless_poisson")
    lam = tensor(lam)
    stream, _ = old_stream(seed)
    samples, lam = sample_shape(dims, lam)
    return distributions.random_poisson(stream, lam, shape=samples, dtype=dtype)


def old_stream(seed: object) -> tuple[Tensor, int]:
    """Return the stream of the functions that know no algorithm but Philox."""
    return stream_of(seed, "philox")


@export("random.stateless_binomial", "compat.v1.random.stateless_binomial")
def stateless_binomial(
    shape: ShapeLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Draw the number of `counts` trials that succeed, each with probability `probs`.

    seed: two integers.  counts, probs: of one float dtype; they broadcast.  output_dtype: int32,
    int64, float16, float32 or float64.  Probabilities outside [0, 1] count as the nearer bound.
    InvalidArgumentError if `shape` does not end in the parameters' broadcast shape.

    >>> import talweg as tf
    >>> tf.random.stateless_binomial([6], seed=[1, 2], counts=10.0, probs=[1.0]).numpy()
    Traceback (most recent call last):
        ...
    talweg.core.errors.InvalidArgumentError: Shape passed in must end with broadcasted shape: ...
    >>> tf.random.stateless_binomial([6], seed=[1, 2], counts=10.0, probs=1.0).numpy()
    array([10, 10, 10, 10, 10, 10], dtype=int32)
    """
    dims = shape_of(shape, "stateless_binomial")
    counts, probs = binomial_parameters(counts, probs)
    broadcast_dims(counts, probs)
    stream, _ = old_stream(seed)
    samples, counts = sample_shape(dims, counts, probs)
    dtype = as_dtype(output_dtype)
    return distributions.random_binomial(stream, counts, probs, shape=samples, dtype=dtype)


def binomial_parameters(counts: object, probs: Any) -> tuple[Tensor, Tensor]:
    """Return counts and probabilities of one float dtype;
    integer counts take the probabilities' dtype.
    """
    probs = tensor(probs, hint=getattr(counts, "dtype", None))
    probs = cast(probs, dtype=float32) if probs.dtype.is_integer else probs
    counts = tensor(counts, hint=probs.dtype)
    return (cast(counts, dtype=probs.dtype) if counts.dtype.is_integer else counts), probs


@export(
    "random.stateless_parameterized_truncated_normal",
    "compat.v1.random.stateless_parameterized_truncated_normal",
)
def stateless_parameterized_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Tensor:
    """Return normal numbers within [minvals, maxvals].

    seed: two integers.  The four parameters have one dtype (float16, float32, float64) and
    broadcast; one bound may be infinite.  The result is differentiable by all of them, the bounds
    being fixed while the mean and deviation move (TensorFlow's derivatives by these two leave that
    out).  InvalidArgumentError for stddevs <= 0, minvals >= maxvals, or a `shape` that does not end
    in the parameters' broadcast shape.

    >>> import talweg as tf
    >>> x = tf.random.stateless_parameterized_truncated_normal([1000], [1, 2], minvals=1.0)
    >>> bool(tf.reduce_all(x >= 1.0) & tf.reduce_all(x <= 2.0))
    True
    """
    dims = shape_of(shape, "stateless_parameterized_truncated_normal")
    parameters = [tensor(value) for value in (means, stddevs, minvals, maxvals)]
    broadcast_dims(*parameters)
    stream, _ = old_stream(seed)
    samples, mean = sample_shape(dims, *parameters)
    return distributions.random_bounded_normal(stream, mean, *parameters[1:], shape=samples)


@export("random.stateless_categorical", "compat.v1.random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Return `num_samples` classes a row, drawn with softmax(logits).   [m, k] -> [m, num_samples]

    seed: two integers.  dtype: int32 or int64.  InvalidArgumentError if logits is no matrix.

    >>> import talweg as tf
    >>> tf.random.stateless_categorical([[0.5, 0.5]], 10, seed=[1, 2]).shape
    TensorShape([1, 10])
    """
    stream, _ = old_stream(seed)
    return classes_of_stream(stream, logits, num_samples, dtype)


@export("compat.v1.random.stateless_multinomial")
def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Call `tf.random.stateless_categorical`, which had this name first.

    >>> import talweg as tf
    >>> tf.compat.v1.random.stateless_multinomial([[0.5, 0.5]], 10, seed=[1, 2]).shape
    TensorShape([1, 10])
    """
    return stateless_categorical(logits, num_samples, seed, output_dtype)


def classes_of_stream(stream: Tensor, logits: object, num_samples: object, dtype: object) -> Tensor:
    """Draw `num_samples` classes a row from a stream."""
    dtype = check_dtype(dtype, COUNTS)
    size = scalar_integer(num_samples, "categorical", "num_samples")
    return prims.random_classes(stream, tensor(logits), size=size, dtype=dtype)
