"""tf.compat.v1: functions that v2 has not, or that do something else there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api import scopes
from talweg.api.arguments import tensor
from talweg.api.array import creating, scattering
from talweg.api.export import export, look_up
from talweg.api.printing import array_text
from talweg.core import dispatch
from talweg.core.dtypes import int32
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.prims.arithmetic import stop_gradient
from talweg.trace.host import later

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike


@export("compat.v1.constant")
def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a constant tensor; `tf.constant`, in whose shape the last element is repeated.

    verify_shape: TypeError unless `value` has the shape already.

    >>> import talweg.compat.v1 as tf
    >>> tf.constant(7, shape=[2]).numpy()
    array([7, 7], dtype=int32)
    """
    named = {} if name == "Const" else {"name": name}  # a name that was asked for keeps its node
    if shape is None:
        return look_up("constant")(value, dtype, **named)
    array = np.asarray(tensor(value, dtype)._array)
    wanted = tuple(look_up("TensorShape")(shape).as_list())
    if verify_shape and array.shape != wanted:
        raise TypeError(f"Expected Tensor's shape: {wanted}, got {array.shape}.  [TW204]")
    count = int(np.prod(wanted))
    flat = array.reshape(-1)
    if flat.size > count:
        raise value_error(
            "TW204", f"Too many elements provided. Needed at most {count}, but received {flat.size}"
        )
    if flat.size == 0 and count:
        raise value_error("TW204", f"no elements to fill the shape {wanted} with")
    filled = np.concatenate([flat, np.repeat(flat[-1:], count - flat.size)]).reshape(wanted)
    return look_up("constant")(filled, dtype, **named)


@export("compat.v1.div")
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y as Python 2 has it: rounded down for integers.

    >>> import talweg.compat.v1 as tf
    >>> int(tf.div(7, 2)), float(tf.div(7.0, 2.0))
    (3, 3.5)
    """
    x = tensor(x)
    y = tensor(y, x.dtype) if not hasattr(y, "dtype") else tensor(y)
    return getattr(hooks, "floordiv" if x.dtype.is_integer else "truediv")(x, y)


@export("compat.v1.tuple")
def tuple_(tensors: TensorLike, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Return `tensors` as a list; in a graph each of them is there when all are.

    >>> import talweg.compat.v1 as tf
    >>> tf.tuple([1, 2])
    [1, 2]
    """
    return scopes.tuple_(tensors, control_inputs)


@export("compat.v1.batch_gather")
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Return rows of `params` by `indices`, whose axes but the last one are axes of a batch.

    >>> import talweg.compat.v1 as tf
    >>> tf.batch_gather([[1, 2], [3, 4]], [[1], [0]]).numpy()
    array([[2],
           [3]], dtype=int32)
    """
    indices = tensor(indices)
    return look_up("gather")(tensor(params), indices, batch_dims=indices.shape.rank - 1)


@export("compat.v1.clip_by_average_norm")
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """Return `t`, scaled down so that its norm divided by its number of elements is at most
    `clip_norm`.

    >>> import talweg.compat.v1 as tf
    >>> tf.clip_by_average_norm([3.0, 4.0], 1.0).numpy()
    array([1.2, 1.6], dtype=float32)
    """
    t = tensor(t)
    count = look_up("cast")(look_up("size")(t), t.dtype)
    mean_norm = look_up("linalg.norm")(t) / count
    return t * clip_norm / look_up("maximum")(mean_norm, clip_norm)


@export("compat.v1.sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: ShapeLike,
    sparse_values: Any,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a tensor with values at some places and `default_value` elsewhere.

    sparse_indices: a scalar, a vector, or [n, rank]; sparse_values: a scalar or [n].

    >>> import talweg.compat.v1 as tf
    >>> tf.sparse_to_dense([1, 3], [4], 5.0).numpy()
    array([0., 5., 0., 5.], dtype=float32)
    """
    values, indices = tensor(sparse_values), tensor(sparse_indices)
    shape = tensor(output_shape)
    rank = indices.shape.rank
    if rank == 0:
        indices = look_up("reshape")(indices, [1, 1])
    elif rank == 1:
        indices = look_up("reshape")(indices, [-1, 1])
    if values.shape.rank == 0:
        values = creating.fill(look_up("shape")(indices)[:1], values)
    base = creating.fill(shape, tensor(default_value, values.dtype))
    return scattering.tensor_scatter_nd_update(base, indices, values)


@export("compat.v1.setdiff1d")
def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: Any = int32, name: str | None = None
) -> Any:
    """Return the elements of the vector `x` that are not in `y`, and their places: (out, idx).

    >>> import talweg.compat.v1 as tf
    >>> tf.setdiff1d([1, 2, 3], [2])[0].numpy()
    array([1, 3], dtype=int32)
    """
    x = tensor(x)
    return look_up("raw_ops.ListDiff")(x=x, y=tensor(y, x.dtype), out_idx=index_dtype)


@export("compat.v1.nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: AxisLike | None = None,
) -> Tensor:
    """Compute the cross entropy of softmax(logits) and `labels`, which get no gradient.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.nn.softmax_cross_entropy_with_logits([1.0, 0.0], [0.0, 0.0])) < 0.6932
    True
    """
    if labels is None or logits is None:
        raise value_error(
            "TW104",
            "softmax_cross_entropy_with_logits: labels and logits are needed",
            "labels=..., logits=...",
        )
    function = look_up("nn.softmax_cross_entropy_with_logits")
    logits = tensor(logits)
    fixed = stop_gradient(tensor(labels, logits.dtype))
    return function(labels=fixed, logits=logits, axis=dim if axis is None else axis)


@export("compat.v1.nn.fused_batch_norm")
def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `x` normalized over all axes but the channels: (y, mean, variance).

    is_training: by the batch's own mean and variance, else by those given.  ValueError if they are
    not given then.

    >>> import talweg.compat.v1 as tf
    >>> y, mean, variance = tf.nn.fused_batch_norm(tf.ones([1, 2, 2, 1]), [1.0], [0.0])
    >>> mean.numpy()
    array([1.], dtype=float32)
    """
    scale = tensor(scale)
    if not is_training and (mean is None or variance is None):
        raise value_error(
            "TW104", "Both `mean` and `variance` must be non-None when `is_training` is `False`."
        )
    given = [look_up("zeros_like")(scale) if part is None else part for part in (mean, variance)]
    return tuple(
        look_up("raw_ops.FusedBatchNormV3")(
            x=tensor(x),
            scale=scale,
            offset=tensor(offset),
            mean=tensor(given[0]),
            variance=tensor(given[1]),
            epsilon=max(epsilon, 1.001e-5),
            exponential_avg_factor=exponential_avg_factor,
            data_format=data_format,
            is_training=is_training,
        )[:3]
    )


@export("compat.v1.nn.relu_layer")
def relu_layer(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Return relu(x weights + biases).

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.relu_layer([[1.0]], [[2.0]], [-3.0]).numpy()
    array([[0.]], dtype=float32)
    """
    return look_up("nn.relu")(xw_plus_b(x, weights, biases))


@export("compat.v1.nn.xw_plus_b")
def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Return x weights + biases.

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.xw_plus_b([[1.0]], [[2.0]], [-3.0]).numpy()
    array([[-1.]], dtype=float32)
    """
    return look_up("nn.bias_add")(look_up("matmul")(x, weights), biases)


@export("compat.v1.space_to_batch", "compat.v1.nn.space_to_batch")
def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Return blocks of space as rows of the batch; `block_size` is for both axes of a picture."""
    block = [block_size, block_size] if block_shape is None else block_shape
    return look_up("space_to_batch")(input, block, paddings)


@export("compat.v1.batch_to_space")
def batch_to_space(
    input: TensorLike,
    crops: Any,
    block_size: Any,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Return the opposite of `space_to_batch`."""
    block = [block_size, block_size] if block_shape is None else block_shape
    return look_up("batch_to_space")(input, block, crops)


@export("compat.v1.verify_tensor_all_finite", "compat.v1.debugging.assert_all_finite")
def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: Any = None,
) -> Tensor:
    """Return the tensor; InvalidArgumentError with the message if an element is not finite.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.verify_tensor_all_finite(1.0, "not finite"))
    1.0
    """
    value, text = (x if t is None else t), (message if msg is None else msg)
    return look_up("debugging.check_numerics")(value, text)


# -- printing


class _Printer:
    """Prints the tensors of a `tf.Print` when it runs."""

    def __init__(self, message: Any, first_n: Any, summarize: Any):
        self.message = message or ""
        self.left = first_n if first_n is not None and first_n >= 0 else None
        self.summarize = 3 if summarize is None else summarize

    def __call__(self, *values: object) -> None:
        if self.left is not None:
            if self.left <= 0:
                return
            self.left -= 1
        texts = [_bracket(value.numpy(), self.summarize) for value in values]
        sys.stderr.write(f"{self.message}{''.join(texts)}\n")


def _bracket(value: TensorLike, summarize: int) -> str:
    array = np.asarray(value)
    flat = array.reshape(-1)
    shown = array_text(flat[:summarize] if summarize >= 0 else flat, -1)
    return shown[:-1] + "...]" if 0 <= summarize < flat.size else shown


@export("compat.v1.Print")
def print_(
    input_: Any,
    data: Any,
    message: Any = None,
    first_n: Any = None,
    summarize: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_`, with `data` printed to the standard error whenever it is computed.

    data: a list of tensors, of each of which `summarize` (3) elements are shown.  first_n: how
    often to print at most.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     session.run(tf.Print(tf.constant([1.0]), [], first_n=0))
    array([1.], dtype=float32)
    """
    value = tensor(input_)
    printer = _Printer(message, first_n, summarize)
    tensors = [tensor(item) for item in data]
    graph = dispatch.context.base
    if graph is None:
        printer(*tensors)
        return value
    with graph.control_dependencies([later(printer, tuple(tensors), {}, "Print")]):
        return look_up("identity")(value)
