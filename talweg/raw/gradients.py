"""The gradients among tf.raw_ops; `table.txt` calls them `grad.*`.

Those of functions y = f(x) are written by their formulas, those of larger functions are the
pullback of the function itself, so that they can be differentiated again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array import rearranging, slicing
from talweg.api.array.creating import zeros
from talweg.api.export import look_up
from talweg.api.linalg import decompositions, products
from talweg.api.math import comparison
from talweg.api.nn import normalization
from talweg.api.nn.loss import precise
from talweg.core.errors import invalid
from talweg.eager.operators import matching_tensors
from talweg.eager.tape import GradientTape
from talweg.eager.tensor import array_of
from talweg.prims import arithmetic, layout, transcendental
from talweg.prims import reduce as reductions
from talweg.prims.state import as_factor
from talweg.raw import adapters

if TYPE_CHECKING:
    from talweg.core.annotations import WindowLike
    from talweg.core.value import IndexedSlices, Tensor


def pullback(function: Callable[[Any], Any], x: object, g: Tensor) -> Any:
    """Compute gᵀ ∂function/∂x at x; zeros where function does not depend on x."""
    with GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, output_gradients=g, unconnected_gradients="zero")


def tanh_grad(y: object, dy: object) -> Any:
    """Compute dy (1 - y²), with y = tanh x."""
    y, dy = matching_tensors(y, dy)
    return dy * (1 - arithmetic.square(y))


def sigmoid_grad(y: object, dy: object) -> Any:
    """Compute dy y (1 - y), with y = σ(x)."""
    y, dy = matching_tensors(y, dy)
    return dy * y * (1 - y)


def sqrt_grad(y: Tensor, dy: object) -> Any:
    """Compute dy / (2 y), with y = √x."""
    y, dy = matching_tensors(y, dy)
    return dy * 0.5 / y


def rsqrt_grad(y: Tensor, dy: object) -> Any:
    """Compute -dy y³ / 2, with y = 1/√x."""
    y, dy = matching_tensors(y, dy)
    return dy * -0.5 * y * y * y


def reciprocal_grad(y: object, dy: object) -> Any:
    """Compute -dy y², with y = 1/x."""
    y, dy = matching_tensors(y, dy)
    return -dy * y * y


def _gate(gradients: object, condition: object) -> Any:
    """Return the gradients where a condition holds, 0 elsewhere."""
    return arithmetic.select(condition, gradients, arithmetic.zero_like(gradients))


def relu_grad(gradients: object, features: object) -> Any:
    """Return the gradients where features > 0."""
    g, x = matching_tensors(gradients, features)
    return _gate(g, x > 0)


def relu6_grad(gradients: object, features: object) -> Any:
    """Return the gradients where 0 < features < 6."""
    g, x = matching_tensors(gradients, features)
    return _gate(g, comparison.logical_and(x > 0, x < 6))


def leaky_relu_grad(gradients: object, features: object, alpha: float) -> Any:
    """Return the gradients, times alpha where features <= 0."""
    g, x = matching_tensors(gradients, features)
    return arithmetic.select(x > 0, g, g * alpha)


def elu_grad(gradients: object, outputs: object) -> Any:
    """Compute g (y + 1) where y = elu(x) < 0, g elsewhere."""
    g, y = matching_tensors(gradients, outputs)
    return arithmetic.select(y < 0, g * (y + 1), g)


SELU_SCALE, SELU_SCALE_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123


def selu_grad(gradients: object, outputs: object) -> Any:
    """Compute g (y + λα) where y = selu(x) < 0, λ g elsewhere."""
    g, y = matching_tensors(gradients, outputs)
    return arithmetic.select(y < 0, g * (y + SELU_SCALE_ALPHA), g * SELU_SCALE)


def softplus_grad(gradients: object, features: object) -> Any:
    """Compute g σ(x)."""
    g, x = matching_tensors(gradients, features)
    return g * transcendental.sigmoid(x)


def softsign_grad(gradients: object, features: object) -> Any:
    """Compute g / (1 + |x|)²."""
    g, x = matching_tensors(gradients, features)
    return g / arithmetic.square(1 + arithmetic.abs_(x))


def bias_add_grad(out_backprop: object, data_format: str) -> Any:
    """Return the sum over all axes but that of the channels."""
    g = tensor(out_backprop)
    if g.ndim < 2:
        raise invalid("TW203", f"BiasAddGrad: out_backprop has shape {g.dims}", "rank 2 or more")
    channel = 1 if data_format == "NCHW" else g.ndim - 1
    axes = tuple(axis for axis in range(g.ndim) if axis != channel)
    return reductions.reduce_sum(g, axes=axes, keepdims=False)


def lrn_grad(g: Tensor, x: object, radius: int, bias: float, alpha: float, beta: float) -> Any:
    """Return the pullback of `tf.nn.local_response_normalization`."""
    normalize = normalization.local_response_normalization
    return pullback(lambda x: normalize(x, radius, bias, alpha, beta), tensor(x), tensor(g))


def _dilate(x: Tensor, w: Tensor, strides: WindowLike, rates: WindowLike, padding: str) -> Any:
    return look_up("raw_ops.Dilation2D")(
        input=x, filter=w, strides=strides, rates=rates, padding=padding
    )


def dilation_input_grad(
    x: Tensor, w: Tensor, g: Tensor, strides: WindowLike, rates: WindowLike, padding: str
) -> Any:
    """Return the pullback of `tf.raw_ops.Dilation2D` to its input."""
    return pullback(lambda x: _dilate(x, w, strides, rates, padding), tensor(x), tensor(g))


def dilation_filter_grad(
    x: Tensor, w: Tensor, g: Tensor, strides: WindowLike, rates: WindowLike, padding: str
) -> Any:
    """Return the pullback of `tf.raw_ops.Dilation2D` to its filter."""
    return pullback(lambda w: _dilate(x, w, strides, rates, padding), tensor(w), tensor(g))


def mirror_pad_grad(input: object, paddings: object, mode: str) -> Any:
    """Compute the pullback of a mirroring `tf.pad`: repeated elements are added where they came
    from.

    `tf.raw_ops` has it for integers, too, through which no gradient flows.
    """
    g = tensor(input)
    pairs = np.asarray(array_of(tensor(paddings))).astype(object)  # sums of any size
    if pairs.shape != (g.ndim, 2):
        raise invalid(
            "TW204",
            f"MirrorPadGrad: paddings have shape {pairs.shape}, input {g.dims}",
            f"paddings of shape {(g.ndim, 2)}",
        )
    once = 1 if mode == "REFLECT" else 0
    dims = [size - int(pair.sum()) for size, pair in zip(g.dims, pairs)]
    if any(min(pair) < 0 or max(pair) > size - once for size, pair in zip(dims, pairs)):
        raise invalid(
            "TW207",
            f"MirrorPadGrad: paddings {pairs.tolist()} of an input that becomes {dims}",
            "what mirroring can repeat",
        )
    for axis, (size, (before, after)) in enumerate(zip(dims, pairs)):
        g = _fold_ends(g, axis, size, int(before), int(after), once)
    return g


def _fold_ends(g: Tensor, axis: int, size: int, before: int, after: int, once: int) -> Any:
    """Fold the ends of an axis, of which the edge is not repeated if `once`, into its middle."""

    def part(begin: int, count: int) -> Any:
        begins, counts = [0] * g.ndim, list(g.dims)
        begins[axis], counts[axis] = begin, count
        return slicing.slice_(g, begins, counts)

    def pad_end(end: Any, count: int, begin: int) -> Any:
        pairs = [[0, 0] for _ in range(g.ndim)]
        pairs[axis] = [begin, size - begin - count]
        return rearranging.pad(rearranging.reverse(end, [axis]), pairs)

    middle = part(before, size)
    if before:
        middle = middle + pad_end(part(0, before), before, once)
    if after:
        middle = middle + pad_end(part(before + size, after), after, size - once - after)
    return middle


def strided_slice_grad(
    shape: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor,
    dy: Tensor,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    """Compute the pullback of `tf.strided_slice`, which is linear: dy in its places, zeros
    elsewhere.
    """
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    g = tensor(dy)

    def cut(x: Tensor) -> Any:
        return slicing.strided_slice(x, begin, end, strides, *masks)

    return pullback(cut, zeros(shape, g.dtype), g)


def cholesky_grad(l: object, grad: IndexedSlices) -> Any:
    """Return the gradient of the Cholesky factor by the matrix, from the factor."""
    l = tensor(l)
    a = products.matmul(l, l, adjoint_b=True)
    return pullback(decompositions.cholesky, a, tensor(grad))


def batch_norm_grad(
    g: Tensor,
    x: Tensor,
    scale: float,
    mean: bool,
    variance: object,
    epsilon: float,
    data_format: str,
    training: bool,
) -> tuple:
    """Compute the pullback of batch normalisation to x, scale and offset; two zeros of no meaning.

    In training the moments are those of x; else they are given.
    """
    given = tensor(x)
    x, g = precise(given), precise(tensor(g))
    axes, spread = adapters.channel_axes(x, data_format)
    moments = normalization.moments(x, axes) if training else (tensor(mean), tensor(variance))
    center, width, scale = [
        layout.reshape(tensor(part), shape=spread) for part in (*moments, scale)
    ]
    factor = arithmetic.rsqrt(width + epsilon)
    normal = (x - center) * factor
    by_offset = reductions.reduce_sum(g, axes=tuple(axes), keepdims=False)
    by_scale = reductions.reduce_sum(g * normal, axes=tuple(axes), keepdims=False)
    if training:
        count = as_factor(math.prod([x.dims[axis] for axis in axes]), x.dtype)
        sums = [layout.reshape(part, shape=spread) / count for part in (by_offset, by_scale)]
        g = g - sums[0] - normal * sums[1]
    by_x = arithmetic.cast(g * scale * factor, dtype=given.dtype)
    zero = look_up("zeros")((), x.dtype)
    return by_x, by_scale, by_offset, zero, zero
