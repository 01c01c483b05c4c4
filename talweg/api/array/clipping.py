"""Clipping: values and norms kept within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import axes_argument, require_sizes, tensor
from talweg.api.array.operands import dims_or_none
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.core.dims import dims_differ
from talweg.core.dtypes import INEXACT
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.operators import matching_list
from talweg.execute.compositions import as_one
from talweg.prims import arithmetic, joining, reduce

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


def _values(x: object) -> Any:
    """Return the values of IndexedSlices, or a tensor."""
    return tensor(x.values if isinstance(x, IndexedSlices) else x)


def _like(x: object, values: object) -> Any:
    """Put `values` in the form of x."""
    if isinstance(x, IndexedSlices):
        return IndexedSlices(values, x.indices, x.dense_shape)
    return values


def _of_shape(function: str, x: Tensor, result: Any) -> Any:
    """Return `result`, which must have the shape of x."""
    if dims_differ(x.dims, result.dims):
        raise value_error(
            "TW204",
            f"{function}: shapes {x.dims} and {result.dims} are incompatible",
            "bounds that broadcast to the shape of t",
        )
    return require_sizes(result, result.dims, x.dims, f"{function}: bounds change the shape of t")


@export("clip_by_value")
@as_one
def clip_by_value(
    t: object, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Clip the elements of `t` to the range from `clip_value_min` to `clip_value_max`.

    t: real numbers, or IndexedSlices of them; the bounds have its dtype and broadcast to its shape
    (ValueError otherwise).  NaN stays.  At a bound the derivative goes to t.

    >>> import talweg as tf
    >>> tf.clip_by_value([-1.0, 0.5, 3.0], 0.0, 1.0).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    given = t.values if isinstance(t, IndexedSlices) else t
    x, high = matching_list((given, clip_value_max))
    below = _of_shape("clip_by_value", x, arithmetic.minimum(x, high))
    result = arithmetic.maximum(below, matching_list((below, clip_value_min))[1])
    return _like(t, _of_shape("clip_by_value", x, result))


@export("clip_by_norm")
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike | None = None, name: str | None = None
) -> Tensor:
    """Return `t` scaled down so that its Euclidean norm over `axes` is at most `clip_norm`.

    t: floats, or IndexedSlices; axes: all by default.  Result t clip_norm / max(norm, clip_norm).

    >>> import talweg as tf
    >>> tf.clip_by_norm([3.0, 4.0], 2.5).numpy()
    array([1.5, 2. ], dtype=float32)
    """
    x = _values(t)
    if x.dtype not in INEXACT:
        raise invalid("TW102", f"clip_by_norm: t has dtype {x.dtype.name}", "floats")
    bound = tensor(clip_norm, hint=x.dtype)
    if not (bound.dtype.is_floating or bound.dtype.is_integer):
        raise type_error(
            "TW102", f"clip_by_norm: clip_norm has dtype {bound.dtype.name}", "a real number"
        )
    bound = bound if bound.dtype is x.dtype else arithmetic.cast(bound, dtype=x.dtype)
    bound = arithmetic.maximum(bound, arithmetic.zeros_of(bound))
    chosen = axes_argument(axes, len(x.dims), "clip_by_norm", "axes")
    total = reduce.reduce_sum(x * x, axes=chosen, keepdims=True)
    zero = arithmetic.zeros_of(total)
    positive = arithmetic.greater(total, zero)
    root = arithmetic.sqrt(arithmetic.select(positive, total, arithmetic.one_like(total)))
    norm = arithmetic.select(positive, root, total)  # no infinite derivative at a norm of 0
    scaled = _of_shape("clip_by_norm", x, arithmetic.mul(x, bound))
    return _like(t, arithmetic.div(scaled, arithmetic.maximum(norm, bound)))


def _check_list(t_list: TensorLike, function: str) -> list:
    if isinstance(t_list, str) or not isinstance(t_list, (list, tuple)):
        raise type_error(
            "TW104",
            f"{function}: `t_list` should be a sequence of tensors, got {type(t_list).__name__}",
        )
    return list(t_list)


@export("linalg.global_norm")
def global_norm(t_list: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Euclidean norm of all elements of all tensors in `t_list`; None entries are
    passed over.

    √ Σ x², a scalar.  TypeError unless `t_list` is a list or tuple.

    >>> import talweg as tf
    >>> float(tf.linalg.global_norm([[3.0], [4.0]]))
    5.0
    """
    squares = []
    for t in _check_list(t_list, "global_norm"):
        if t is not None:
            x = _values(t)
            if not x.dtype.is_floating:
                raise invalid("TW102", f"global_norm: dtype {x.dtype.name} in t_list", "floats")
            x = reshape(x, [-1]) if dims_or_none(x) is None else x
            axes = tuple(range(len(x.dims)))
            squares.append(reduce.reduce_sum(arithmetic.square(x), axes=axes, keepdims=False))
    if not squares:
        return convert_to_tensor(0.0)
    total = reduce.reduce_sum(joining.stack(*squares, axis=0), axes=(0,), keepdims=False)
    return arithmetic.sqrt(total)


@export("clip_by_global_norm")
def clip_by_global_norm(
    t_list: TensorLike,
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """Return (list, norm): all tensors of `t_list` scaled down together to a global norm of
    `clip_norm`.

    Each becomes t clip_norm / max(norm, clip_norm); IndexedSlices and None keep their form.  The
    norm is `use_norm` if given.  An infinite norm makes everything NaN.  TypeError unless `t_list`
    is a list or tuple.

    >>> import talweg as tf
    >>> clipped, norm = tf.clip_by_global_norm([[3.0], [4.0]], 1.0)
    >>> clipped[1].numpy(), float(norm)
    (array([0.8], dtype=float32), 5.0)
    """
    given = _check_list(t_list, "clip_by_global_norm")
    norm = global_norm(given) if use_norm is None else tensor(use_norm)
    bound = matching_list((norm, clip_norm))[1]
    scale = bound * arithmetic.minimum(1.0 / norm, 1.0 / bound)
    scale = scale + (norm - norm)  # NaN for a norm that is not finite
    clipped = [None if t is None else _like(t, _values(t) * scale) for t in given]
    return clipped, norm
