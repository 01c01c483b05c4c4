"""Measures of images: signal-to-noise ratio, structural similarity, total variation.

Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error visibility to structural
similarity" (2004); Wang, Simoncelli, Bovik, "Multi-scale structural similarity for image quality
assessment" (2003).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.creating import zeros_like
from talweg.api.array.joining import concat, stack, tile
from talweg.api.array.rearranging import pad
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.image.dtypes import convert_image_dtype
from talweg.api.image.operands import image_tensor, sizes
from talweg.api.math.exponential import log
from talweg.api.math.reductions import reduce_mean, reduce_prod, reduce_sum
from talweg.api.nn.activation import relu
from talweg.api.nn.convolution import depthwise_conv2d
from talweg.api.nn.pooling import avg_pool
from talweg.api.tensors import cast
from talweg.core.dims import below, dims_differ
from talweg.core.dtypes import float32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.execute.compositions import as_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

ROWS, COLUMNS, CHANNELS = -3, -2, -1
SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # weights of Wang et al. (2003)


@export("image.psnr")
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Return peak signal to noise ratio of images in decibels: 10 log10(max_val^2 / mean((a -
    b)^2)).

    a, b [..., height, width, channels] of one shape; max_val: the range of the numbers.

    >>> import talweg as tf
    >>> x = tf.zeros([2, 2, 1])
    >>> tf.image.psnr(x, x + 0.1, max_val=1.0).numpy().round(3)
    np.float32(20.0)
    """
    first, second, largest = _as_floats(a, b, max_val)
    squares = (first - second) ** 2
    if not first.shape[-3:].is_compatible_with(second.shape[-3:]):
        raise value_error("TW204", f"Shapes {first.shape} and {second.shape} are incompatible")
    if second.shape.rank is not None:
        shapes = "psnr: shapes of a and b are incompatible"
        squares = require_sizes(squares, first.dims[-3:], second.dims[-3:], shapes)
    error = reduce_mean(squares, [ROWS, COLUMNS, CHANNELS])
    return 20 * log(largest) / math.log(10) - 10 / math.log(10) * log(error)


def _as_floats(a: object, b: object, max_val: object) -> tuple[Any, Any, Any]:
    """Convert two images and their range to float32."""
    first, second = image_tensor(a, "a", most=None), tensor(b)
    largest = convert_image_dtype(cast(max_val, first.dtype), float32)
    return convert_image_dtype(first, float32), convert_image_dtype(second, float32), largest


@export("image.ssim")
@as_one(least=1)
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Return structural similarity of images [..., height, width, channels], 1 for equal ones.

    Means, variances and covariances are taken under a Gaussian window of filter_size.
    return_index_map: the similarity at each place, not their mean.  ValueError for different
    shapes, InvalidArgumentError for images smaller than the window.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(256.0), [16, 16, 1])
    >>> tf.image.ssim(x, x, max_val=255).numpy()
    np.float32(1.0)
    """
    first, second, largest = _as_floats(img1, img2, max_val)
    window = _Window(filter_size, filter_sigma, k1, k2)
    luminance, structure = window.compare(first, second, largest)
    similarity = luminance * structure
    if return_index_map:
        return reduce_mean(similarity, [CHANNELS])
    return reduce_mean(reduce_mean(similarity, [ROWS, COLUMNS]), [-1])


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[Any] = SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return structural similarity at several scales, each half as fine as the one before.

    power_factors: the weights of the scales, finest first.  Errors as in `tf.image.ssim`; images
    must be larger than the window at every scale.
    """
    first, second, largest = _as_floats(img1, img2, max_val)
    window = _Window(filter_size, filter_sigma, k1, k2)
    powers = [float(power) for power in power_factors]
    parts = []
    for scale in range(len(powers)):
        if scale:
            first, second = _halve(first), _halve(second)
        luminance, structure = window.compare(first, second, largest)
        last = scale == len(powers) - 1
        similarity = luminance * structure if last else structure
        parts.append(relu(reduce_mean(similarity, [ROWS, COLUMNS])))
    factors = stack(parts, axis=-1) ** convert_to_tensor(np.array(powers, np.float32))
    return reduce_mean(reduce_prod(factors, [-1]), [-1])


def _halve(x: Tensor) -> Any:
    """Average blocks of 2x2; an odd row or column is taken twice."""
    flat = reshape(x, [-1, *sizes(x)[-3:]])
    odd = [size % 2 for size in sizes(flat)[1:3]]
    if not all(type(more) is int and more == 0 for more in odd):
        flat = pad(flat, [[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]], mode="SYMMETRIC")
    pooled = avg_pool(flat, 2, 2, "VALID")
    return reshape(pooled, [*sizes(x)[:-3], *sizes(pooled)[1:]])


class _Window:
    """A Gaussian window, under which images are compared."""

    def __init__(self, size: int, sigma: float, k1: float, k2: float):
        self.size, self.k1, self.k2 = int(size), k1, k2
        places = np.arange(self.size, dtype=np.float64) - (self.size - 1) / 2
        weights = np.exp(-0.5 * (places / sigma) ** 2)
        window = np.outer(weights, weights)
        self.weights = (window / window.sum()).astype(np.float32)

    def mean(self, x: Tensor) -> Any:
        """Average under the window, at each place where it is inside."""
        height, width, channels = x.dims[-3:]
        if below(height, self.size) or below(width, self.size):
            raise invalid(
                "TW204",
                f"ssim: images of {height} by {width} are smaller than the window, "
                f"filter_size {self.size}",
            )
        weights = convert_to_tensor(self.weights[:, :, None, None])
        filters = tile(weights, [1, 1, channels, 1])
        flat = reshape(x, [-1, *sizes(x)[-3:]])
        found = depthwise_conv2d(flat, filters, [1, 1, 1, 1], "VALID")
        return reshape(found, [*sizes(x)[:-3], *sizes(found)[1:]])

    def compare(self, x: Tensor, y: Tensor, largest: Any) -> tuple[Any, Any]:
        """Compare means under the window, and contrast with structure."""
        batches = zip(x.dims[-4::-1], y.dims[-4::-1])
        if dims_differ(x.dims[-3:], y.dims[-3:]) or any(
            type(n) is int and type(m) is int and n != m and 1 not in (n, m) for n, m in batches
        ):
            raise value_error("TW204", f"Shapes {x.dims} and {y.dims} are incompatible")
        x = require_sizes(x, x.dims[-3:], y.dims[-3:], "ssim: shapes of images are incompatible")
        small, smaller = (self.k1 * largest) ** 2, (self.k2 * largest) ** 2
        mean_x, mean_y = self.mean(x), self.mean(y)
        product, squares = mean_x * mean_y * 2.0, mean_x**2 + mean_y**2
        covariance = self.mean(x * y) * 2.0 - product
        variances = self.mean(x**2 + y**2) - squares
        likeness = (product + small) / (squares + small)
        return likeness, (covariance + smaller) / (variances + smaller)


@export("image.total_variation")
@as_one
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sum of the absolute differences of neighbours; one number for each image of a
    batch.

    ValueError for a rank other than 3 or 4.

    >>> import talweg as tf
    >>> tf.image.total_variation([[[0.0], [2.0]], [[5.0], [2.0]]]).numpy()
    np.float32(10.0)
    """
    x = tensor(images)
    if x.ndim not in (3, 4):
        raise value_error("TW203", f"'images' of shape {x.dims}", "either 3 or 4 dimensions")
    down = abs(x[..., 1:, :, :] - x[..., :-1, :, :])
    right = abs(x[..., :, 1:, :] - x[..., :, :-1, :])
    axes = [ROWS, COLUMNS, CHANNELS]
    return reduce_sum(down, axes) + reduce_sum(right, axes)


@export("image.image_gradients")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Return differences to the row below and to the column on the right; 0 in the last one.

    image [batch, height, width, channels]; ValueError for another rank.

    >>> import talweg as tf
    >>> down, right = tf.image.image_gradients(tf.reshape(tf.range(4.0), [1, 2, 2, 1]))
    >>> down[0, :, :, 0].numpy().tolist(), right[0, :, :, 0].numpy().tolist()
    ([[2.0, 2.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]])
    """
    x = tensor(image)
    if x.ndim != 4:
        raise value_error(
            "TW203", f"image_gradients expects [batch, height, width, channels], not {x.dims}"
        )
    down = x[:, 1:] - x[:, :-1]
    right = x[:, :, 1:] - x[:, :, :-1]
    return (
        concat([down, zeros_like(x[:, :1])], 1),
        concat([right, zeros_like(x[:, :, :1])], 2),
    )
