"""tf.nn: cross entropies and other losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import axis_argument, require_sizes, tensor
from talweg.api.export import export
from talweg.core.declare import check_dtype
from talweg.core.dims import dims_differ, same_dims
from talweg.core.dtypes import FLOATING, float32, float64
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import broadcast_dims
from talweg.core.value import Tensor
from talweg.prims import arithmetic, layout
from talweg.prims.arithmetic import cast
from talweg.prims.guarded import div_no_nan
from talweg.prims.nn import cross_entropy
from talweg.prims.reduce import reduce_sum
from talweg.prims.state import as_factor
from talweg.prims.transcendental import exp, log, softplus

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


def precise(x: Tensor) -> Any:
    """Convert 16-bit floats to float32."""
    return cast(x, dtype=float32) if x.dtype.is_floating and x.dtype.size == 2 else x


def _back(x: Tensor, dtype: object) -> Any:
    return x if x.dtype is dtype else cast(x, dtype=dtype)


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: object, logits: object, axis: AxisLike = -1, name: str | None = None
) -> Tensor:
    """Return -sum(labels * log_softmax(logits)) along `axis`: the cross entropy of two
    distributions.

    labels: distributions, [..., c], cast to the dtype of logits.  logits: floats, [..., c].  The
    result, [...], has the dtype of logits.  Both have gradients; that of logits,
    softmax(logits) - labels, supposes that labels sum to 1.  InvalidArgumentError for other dtypes,
    shapes that do not match, or an axis out of range.

    >>> import talweg as tf
    >>> tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[1.0, 2.0]]).numpy().round(4)
    array([0.3133], dtype=float32)
    """
    function = "softmax_cross_entropy_with_logits"
    x = tensor(logits)
    dtype = x.dtype
    check_dtype(function, "logits", dtype, FLOATING)
    x = precise(x)
    target = tensor(labels)
    target = target if target.dtype is x.dtype else cast(target, dtype=x.dtype)
    position = axis_argument(axis, x.ndim, function)
    if position != x.ndim - 1:
        perm = (*(i for i in range(x.ndim) if i != position), position)
        x = layout.transpose(x, perm=perm)
        target = layout.transpose(target, perm=perm)
    if not dims_differ(target.dims, x.dims):
        return _back(cross_entropy.softmax_cross_entropy(target, x), dtype)
    flat = [layout.reshape(v, shape=_flat(v.dims)) for v in (target, x)]
    dims = broadcast_dims(function, *(v.dims for v in flat))
    flat = [v if same_dims(v.dims, dims) else layout.broadcast_to(v, shape=dims) for v in flat]
    result = cross_entropy.softmax_cross_entropy(*flat)
    return _back(layout.reshape(result, shape=x.dims[:-1]), dtype)


def _flat(dims: tuple) -> tuple:
    """Return the dimensions as two: all but the last, and the last."""
    return (math.prod(dims[:-1]), *(dims[-1:] or (1,)))


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: object, name: str | None = None
) -> Tensor:
    """Compute -log_softmax(logits)[label], the cross entropy where one class is right.

    labels: int32 or int64 class numbers, [...].  logits: floats, [..., c].  The result, [...], has
    the dtype of logits.  ValueError where ranks or shapes do not match; InvalidArgumentError for
    other dtypes or a label outside [0, c).

    >>> import talweg as tf
    >>> tf.nn.sparse_softmax_cross_entropy_with_logits([1], [[1.0, 2.0]]).numpy().round(4)
    array([0.3133], dtype=float32)
    """
    function = "sparse_softmax_cross_entropy_with_logits"
    _both(labels, logits, function)
    y, x = tensor(labels), tensor(logits)
    if x.ndim == 0:
        raise value_error("TW203", f"{function}: logits cannot be a scalar", "shape [..., classes]")
    if y.ndim != x.ndim - 1:
        raise value_error(
            "TW203",
            f"{function}: labels have rank {y.ndim} (shape {y.dims}), logits rank {x.ndim} (shape "
            f"{x.dims})",
            "labels of one rank less than logits",
            "tf.nn.softmax_cross_entropy_with_logits for labels that are distributions",
        )
    if dims_differ(y.dims, x.dims[:-1]):
        raise value_error(
            "TW204",
            f"{function}: labels have shape {y.dims}, logits {x.dims}",
            "the shape of logits without its last dimension",
        )
    return _back(cross_entropy.sparse_softmax_cross_entropy(y, precise(x)), x.dtype)


def _both(labels: object, logits: object, function: str) -> None:
    if labels is None or logits is None:
        raise value_error("TW207", f"{function}: both labels and logits must be given")


def _of_shape(y: Tensor, x: Tensor, function: str, names: str) -> Any:
    """Return `y`, which must have the shape of x."""
    if dims_differ(x.dims, y.dims):
        raise value_error(
            "TW204", f"{function}: {names} have the shapes {x.dims} and {y.dims}", "one shape"
        )
    return require_sizes(y, y.dims, x.dims, f"{function}: {names}")


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return max(x, 0) - x labels + log(1 + exp(-|x|)), x = logits: for independent classes.

    labels, logits: floats of one shape and dtype, which the result has too.  ValueError where the
    shapes differ or one is missing, InvalidArgumentError where the dtypes do.

    >>> import talweg as tf
    >>> tf.nn.sigmoid_cross_entropy_with_logits([0.0, 1.0], [1.0, 1.0]).numpy().round(4)
    array([1.3133, 0.3133], dtype=float32)
    """
    function = "sigmoid_cross_entropy_with_logits"
    _both(labels, logits, function)
    x, y = tensor(logits), tensor(labels)
    y = _of_shape(y, x, function, "logits and labels")
    return cross_entropy.sigmoid_cross_entropy(y, x)


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Return -(pos_weight labels log σ(x) + (1 - labels) log(1 - σ(x))), x = logits.

    labels, logits: floats of one shape and dtype.  pos_weight: a number, or a tensor that
    broadcasts.  ValueError where the shapes differ, InvalidArgumentError where the dtypes do.

    >>> import talweg as tf
    >>> tf.nn.weighted_cross_entropy_with_logits([0.0, 1.0], [1.0, 1.0], 2.0).numpy().round(4)
    array([1.3133, 0.6265], dtype=float32)
    """
    x, y = tensor(logits), tensor(labels)
    y = _of_shape(y, x, "weighted_cross_entropy_with_logits", "logits and labels")
    if not isinstance(pos_weight, (int, float)):
        pos_weight = tensor(pos_weight, hint=x.dtype)
    weight = 1 + (pos_weight - 1) * y
    return (1 - y) * x + weight * softplus(arithmetic.neg(x))


@export("nn.log_poisson_loss")
def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return exp(c) - t c, c = log_input, t = targets: the negative log-likelihood of a Poisson
    variable.

    compute_full_loss: add Stirling's t log t - t + log(2 π t) / 2 where t > 1.  targets,
    log_input: floats of one shape and dtype.  ValueError where the shapes differ.

    >>> import talweg as tf
    >>> tf.nn.log_poisson_loss([1.0, 3.0], [0.0, 1.0]).numpy().round(4)
    array([ 1.    , -0.2817], dtype=float32)
    """
    c, t = tensor(log_input), tensor(targets)
    t = _of_shape(t, c, "log_poisson_loss", "log_input and targets")
    result = exp(c) - c * t
    if not compute_full_loss:
        return result
    small = arithmetic.logical_and(arithmetic.greater_equal(t, 0), arithmetic.less_equal(t, 1))
    safe = arithmetic.select(small, arithmetic.one_like(t), t)
    stirling = t * log(safe) - t + 0.5 * log((2 * math.pi) * safe)
    return result + arithmetic.select(small, arithmetic.zeros_of(t), stirling)


@export("nn.l2_loss")
def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Return sum(t²) / 2, a scalar.

    t: a tensor of floats, of any shape.  InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.nn.l2_loss([1.0, 2.0]).numpy()
    np.float32(2.5)
    """
    x = tensor(t)
    check_dtype("l2_loss", "t", x.dtype, FLOATING)
    return 0.5 * reduce_sum(arithmetic.square(x), axes=tuple(range(x.ndim)), keepdims=False)


@export("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> Tensor:
    """Return sum(per_example_loss * sample_weight) / global_batch_size, a scalar.

    per_example_loss: [b, ...].  sample_weight: what broadcasts to it.  global_batch_size: b by
    default.  The result has the dtype of the loss, float64 for
    integers.

    >>> import talweg as tf
    >>> tf.nn.compute_average_loss([1.0, 2.0, 3.0], global_batch_size=4).numpy()
    np.float32(1.5)
    """
    x = tensor(per_example_loss)
    dtype = x.dtype
    if not x.ndim:
        raise value_error(
            "TW203",
            "compute_average_loss: per_example_loss is one number",
            "a loss for each example: reduction='none' where it is made",
        )
    if global_batch_size is not None and tensor(global_batch_size).dtype.is_floating:
        raise type_error(
            "TW102", f"compute_average_loss: global_batch_size={global_batch_size}", "an integer"
        )
    x = precise(x if dtype.is_floating else cast(x, dtype=float64))
    if sample_weight is not None:
        x = x * cast(tensor(sample_weight), dtype=x.dtype)
    if global_batch_size is None:
        global_batch_size = as_factor(x.dims[0], x.dtype)
    size = cast(tensor(global_batch_size), dtype=x.dtype)
    total = reduce_sum(x, axes=tuple(range(x.ndim)), keepdims=False)
    return _back(div_no_nan(total, size), dtype if dtype.is_floating else x.dtype)


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Return sum(regularization_loss) over the number of replicas, which is 1.

    >>> import talweg as tf
    >>> tf.nn.scale_regularization_loss([1.0, 2.0]).numpy()
    np.float32(3.0)
    """
    x = tensor(regularization_loss)
    x = cast(x, dtype=float64) if x.dtype.is_integer else x
    return reduce_sum(x, axes=tuple(range(x.ndim)), keepdims=False)
