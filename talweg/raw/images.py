"""The operations on images among tf.raw_ops; `table.txt` calls them `images.*`.

Those that resize are products with a matrix of weights for each axis, so that their gradients are
products with its transpose.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.gathering import gather
from talweg.api.array.joining import concat
from talweg.api.array.shapes import reshape, transpose
from talweg.api.export import look_up
from talweg.api.image import weights
from talweg.api.linalg.einsum import einsum
from talweg.api.math.reductions import reduce_mean
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype, float32, int32
from talweg.core.errors import invalid
from talweg.raw.gradients import pullback
from talweg.raw.operands import integers_of, numbers_of, of_array, scalar_of

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike
    from talweg.core.value import Tensor


def adjust_contrast(images: Tensor, contrast_factor: Any, min_value: Any, max_value: Any) -> Any:
    """Compute (x - mean) factor + mean, clipped to an interval, float32."""
    x = cast(images, float32)
    mean = reduce_mean(x, [-3, -2], keepdims=True)
    return look_up("clip_by_value")((x - mean) * contrast_factor + mean, min_value, max_value)


# -- resizing


def _places(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Compute the coordinates of new pixels among the old ones."""
    scale = np.float32((old - 1) / (new - 1) if align_corners and new > 1 else old / new)
    steps = np.arange(new, dtype=np.float32)
    if half_pixel_centers:
        return (steps + np.float32(0.5)) * scale - np.float32(0.5)
    return steps * scale


def _check_size(size: Any, align_corners: bool, half_pixel_centers: bool) -> list[int]:
    if align_corners and half_pixel_centers:
        raise invalid("TW207", "If half_pixel_centers is True, align_corners must be False")
    numbers = integers_of(size)
    if len(numbers) != 2 or min(numbers) <= 0:
        raise invalid("TW205", f"size is {numbers}", "two positive numbers")
    return numbers


def _linear_weights(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    places = _places(old, new, align, half)
    whole = np.floor(places)
    lower = np.maximum(whole.astype(int), 0)
    upper = np.clip(np.ceil(places).astype(int), 0, old - 1)
    found = np.zeros((new, old), np.float32)
    part = (places - whole).astype(np.float32)
    np.add.at(found, (np.arange(new), np.minimum(lower, old - 1)), 1 - part)
    np.add.at(found, (np.arange(new), upper), part)
    return found


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Compute Keys' kernel at distances below 2."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _cubic_weights(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    places = _places(old, new, align, half)
    whole = np.floor(places)
    part = np.rint((places - whole) * 1024) / 1024  # TensorFlow looks its cubic up in a table
    found = np.zeros((new, old), np.float32)
    for step in range(-1, 3):
        share = _cubic(np.abs(step - part), -0.5 if half else -0.75).astype(np.float32)
        place = whole.astype(int) + step
        if half:
            share = np.where((place < 0) | (place >= old), np.float32(0), share)
        np.add.at(found, (np.arange(new), np.clip(place, 0, old - 1)), share)
    total = found.sum(1, keepdims=True)
    return found / np.where(half & (np.abs(total) > 1e-10), total, np.float32(1))


def _area_weights(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    first = np.arange(new)[:, None] * scale
    places = np.arange(old)[None, :]
    covered = np.minimum(first + scale, places + 1.0) - np.maximum(first, places)
    covered = np.maximum(covered, 0.0)
    return (covered / covered.sum(1, keepdims=True)).astype(np.float32)


def _static(x: Tensor, axis: int) -> int:
    """Return the size of an axis; NeedsStaticError where a graph does not know it."""
    return operator.index(x.dims[axis])


def _weight(x: Tensor, rows: np.ndarray, columns: np.ndarray) -> Any:
    x = cast(x, float32) if x.dtype.name != "float64" else x
    dtype = x.dtype
    x = einsum("rh,bhwc->brwc", of_array(rows, dtype), x)
    return einsum("sw,bhwc->bhsc", of_array(columns, dtype), x)


_WEIGHTS = {"bilinear": _linear_weights, "bicubic": _cubic_weights, "area": _area_weights}


def _resize(x: Tensor, new: list[int], method: str, align: bool, half: bool) -> Any:
    if x.ndim != 4:
        raise invalid("TW203", f"images have shape {x.dims}", "rank 4")
    make = _WEIGHTS[method]
    rows, columns = (make(_static(x, i + 1), new[i], align, half) for i in (0, 1))
    return _weight(x, rows, columns)


def resize_bilinear(
    images: Tensor, size: Any, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """Resize images by linear interpolation, float32."""
    new = _check_size(size, align_corners, half_pixel_centers)
    return cast(_resize(images, new, "bilinear", align_corners, half_pixel_centers), float32)


def resize_bicubic(images: Tensor, size: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Resize images by Keys' cubic interpolation, float32."""
    new = _check_size(size, align_corners, half_pixel_centers)
    return cast(_resize(images, new, "bicubic", align_corners, half_pixel_centers), float32)


def resize_area(images: Tensor, size: Any, align_corners: bool) -> Any:
    """Resize images; each pixel is the mean of the area that it covers, float32."""
    new = _check_size(size, align_corners, False)
    return cast(_resize(images, new, "area", align_corners, False), float32)


def _nearest(old: int, new: int, align: bool, half: bool) -> np.ndarray:
    scale = np.float32((old - 1) / (new - 1) if align and new > 1 else old / new)
    places = (np.arange(new, dtype=np.float32) + np.float32(0.5 if half else 0)) * scale
    whole = np.floor(places + np.float32(0.5)) if align else np.floor(places)
    return np.clip(whole.astype(np.int32), 0, old - 1)


def resize_nearest(images: Tensor, size: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Resize images; each pixel is the copy of one."""
    new = _check_size(size, align_corners, half_pixel_centers)
    x = images
    for axis in (1, 2):
        places = _nearest(_static(x, axis), new[axis - 1], align_corners, half_pixel_centers)
        x = gather(x, of_array(places), axis=axis)
    return x


def resize_bilinear_grad(
    grads: Tensor, original_image: Any, align_corners: bool, half: bool
) -> Any:
    """Return the gradient of `resize_bilinear` for its images."""
    new = list(grads.dims[1:3])
    f = lambda x: _resize(x, new, "bilinear", align_corners, half)  # noqa: E731
    x = cast(original_image, grads.dtype)
    return cast(pullback(f, x, grads), original_image.dtype)


def resize_bicubic_grad(grads: Tensor, original_image: Any, align_corners: bool, half: bool) -> Any:
    """Return the gradient of `resize_bicubic` for its images."""
    new = list(grads.dims[1:3])
    f = lambda x: _resize(x, new, "bicubic", align_corners, half)  # noqa: E731
    x = cast(original_image, grads.dtype)
    return cast(pullback(f, x, grads), original_image.dtype)


def resize_nearest_grad(grads: Tensor, size: Any, align_corners: bool, half: bool) -> Any:
    """Return the gradient of `resize_nearest` for images of `size`."""
    height, width = integers_of(size)
    new = of_array(np.array(grads.dims[1:3]), int32)
    x = look_up("zeros")([grads.dims[0], height, width, grads.dims[3]], grads.dtype)
    return pullback(lambda x: resize_nearest(x, new, align_corners, half), x, grads)


def _make_translated_weights(
    old: int, new: int, scale: float, shift: float, kernel_type: str, antialias: bool
) -> np.ndarray:
    """Return the weights of an axis that is scaled, then shifted."""
    kernel, radius = _KERNELS[kernel_type]
    inverse = np.float32(1.0 / scale)
    width = max(float(inverse), 1.0) if antialias else 1.0
    centre = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * inverse - shift * inverse
    inside = (centre >= 0) & (centre <= old)
    places = np.arange(old) + 0.5
    found = kernel(np.abs(places - centre[:, None]) / width)
    found = np.where(np.abs(places - centre[:, None]) <= radius * width, found, 0.0)
    total = found.sum(1, keepdims=True)
    found = np.where(np.abs(total) > 1e-10, found / np.where(total == 0, 1, total), found)
    return np.where(inside[:, None], found, 0.0).astype(np.float32)


_KERNELS: dict[str, Any] = {
    **weights.KERNELS,
    "lanczos1": (weights.lanczos(1.0), 1.0),
    "box": (lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0)), 1.0),
    "triangle": (weights.triangle, 1.0),
    "keyscubic": (weights.keys_cubic, 2.0),
}


def _move(images: Tensor, new: list, scale: Any, translation: Any, kind: str, anti: bool) -> Any:
    scales, shifts = numbers_of(scale), numbers_of(translation)
    rows, columns = (
        _make_translated_weights(_static(images, i + 1), new[i], scales[i], shifts[i], kind, anti)
        for i in (0, 1)
    )
    return _weight(images, rows, columns)


def scale_and_translate(
    images: Tensor, size: Any, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Any:
    """Scale and shift images into images of `size`, float32."""
    if kernel_type not in _KERNELS:
        raise invalid("TW207", f"Unrecognized kernel type: {kernel_type}", f"of {[*_KERNELS]}")
    return cast(
        _move(images, integers_of(size), scale, translation, kernel_type, antialias), float32
    )


def scale_and_translate_grad(
    grads: Tensor,
    original_image: Any,
    scale: Any,
    translation: Any,
    kernel_type: str,
    antialias: bool,
) -> Any:
    """Return the gradient of `scale_and_translate` for its images."""
    new = list(grads.dims[1:3])
    f = lambda x: _move(x, new, scale, translation, kernel_type, antialias)  # noqa: E731
    return pullback(f, original_image, grads)


def crop_grad_boxes(grads: Tensor, image: Tensor, boxes: Tensor, box_ind: Any, method: str) -> Any:
    """Return the gradient of `tf.image.crop_and_resize` for its boxes."""
    crop = look_up("image.crop_and_resize")
    size = list(grads.dims[1:3])
    image = cast(image, float32)
    return pullback(lambda b: crop(image, b, box_ind, size, method), boxes, grads)


def crop_grad_image(
    grads: Tensor, boxes: Tensor, box_ind: Any, image_size: Any, T: Any, method: str
) -> Any:
    """Return the gradient of `tf.image.crop_and_resize` for its images, of shape `image_size`."""
    crop = look_up("image.crop_and_resize")
    size = list(grads.dims[1:3])
    x = look_up("zeros")(integers_of(image_size), float32)
    return cast(pullback(lambda x: crop(x, boxes, box_ind, size, method), x, grads), as_dtype(T))


# -- boxes


def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any = None,
) -> Any:
    """Return the boxes that remain, best first; those that overlap better ones go."""
    low = -np.inf if score_threshold is None else score_threshold
    function = look_up("image.non_max_suppression")
    return function(boxes, scores, max_output_size, iou_threshold, low)


def non_max_suppression_v4(
    boxes: Tensor,
    scores: Tensor,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    pad_to_max_output_size: bool,
) -> tuple:
    """Select (the boxes that remain, their number); perhaps filled up with zeros."""
    found = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
    count = look_up("shape")(found)[0]
    if pad_to_max_output_size:
        found = look_up("pad")(found, [[0, max_output_size - count]])
    return found, count


def non_max_suppression_v5(
    boxes: Tensor,
    scores: Tensor,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    soft_nms_sigma: Any,
    pad_to_max_output_size: bool,
) -> tuple:
    """Select (the boxes that remain, their scores, their number); scores of overlapping boxes
    shrink.
    """
    function = look_up("image.non_max_suppression_with_scores")
    chosen, left = function(
        boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma
    )
    count = look_up("shape")(chosen)[0]
    if pad_to_max_output_size:
        rest = [[0, max_output_size - count]]
        chosen, left = look_up("pad")(chosen, rest), look_up("pad")(left, rest)
    return chosen, left, count


def sample_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int,
    seed2: int,
    min_object_covered: Any,
    aspect_ratio_range: Any,
    area_range: Any,
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> tuple:
    """Draw a random box that covers enough of one of the given ones."""
    function = look_up("image.sample_distorted_bounding_box")
    return function(
        image_size,
        bounding_boxes,
        seed or seed2,
        min_object_covered,
        list(aspect_ratio_range),
        list(area_range),
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


def draw_boxes(images: Tensor, boxes: Tensor) -> Any:
    """Draw frames around boxes in images, in colours of their own."""
    return look_up("image.draw_bounding_boxes")(images, boxes, None)


def extract_glimpse(
    input: Tensor,
    size: Any,
    offsets: Any,
    centered: bool,
    normalized: bool,
    uniform_noise: bool,
    noise: str,
) -> Any:
    """Extract windows of images around places, noise outside of the images."""
    function = look_up("image.extract_glimpse")
    return function(input, size, offsets, centered, normalized, noise)


def encode_jpeg_of_quality(images: Tensor, quality: Any) -> Any:
    """Return an image as JPEG, of a quality that is a tensor."""
    return look_up("io.encode_jpeg")(images, quality=int(scalar_of(quality)))


def transform(
    images: Tensor, transforms: Any, output_shape: ShapeLike, interpolation: str, fill_mode: str
) -> Any:
    """Transform images by projective maps, 0 outside."""
    return look_up("raw_ops.ImageProjectiveTransformV3")(
        images=images,
        transforms=transforms,
        output_shape=output_shape,
        fill_value=0.0,
        interpolation=interpolation,
        fill_mode=fill_mode,
    )


def pad_and_convolve(
    input: Tensor, paddings: Any, filter: Tensor, mode: str, strides: Sequence[int], padding: str
) -> Any:
    """Convolve images padded by reflection."""
    x = look_up("pad")(input, paddings, mode)
    return look_up("nn.conv2d")(x, filter, strides, padding)


def resize_and_convolve(
    input: Tensor,
    size: Any,
    paddings: Any,
    filter: Tensor,
    mode: str,
    strides: Sequence[int],
    padding: str,
    resize_align_corners: bool,
) -> Any:
    """Convolve images that are resized, then padded by reflection."""
    x = resize_bilinear(input, size, resize_align_corners, False)
    return pad_and_convolve(x, paddings, filter, mode, strides, padding)


# -- pooling by a fraction


def fractional_pool_grad(
    value: Tensor, g: Tensor, rows: Any, columns: Any, overlapping: bool, mean: bool
) -> Any:
    """Compute the gradient of fractional pooling, whose windows begin at the given borders."""

    def pool(x: Tensor) -> Any:
        parts = []
        for axis, borders in ((1, integers_of(rows)), (2, integers_of(columns))):
            size = x.dims[axis]
            order = [axis, *(i for i in range(4) if i != axis)]
            y = transpose(x, order)
            parts = []
            for begin, end in zip(borders[:-1], borders[1:]):
                stop = min(end + overlapping, size)
                reduce = look_up("reduce_mean" if mean else "reduce_max")
                parts.append(reduce(y[begin:stop], 0, keepdims=True))
            back = [order.index(i) for i in range(4)]
            x = transpose(concat(parts, 0), back)
        return x

    return pullback(pool, value, g)


def fractional_max_pool_grad(
    orig_input: Tensor,
    orig_output: Tensor,
    out_backprop: Tensor,
    row_pooling_sequence: Any,
    col_pooling_sequence: Any,
    overlapping: bool,
) -> Any:
    """Return the gradient of `tf.nn.fractional_max_pool`."""
    return fractional_pool_grad(
        orig_input, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping, False
    )


def fractional_avg_pool_grad(
    orig_input_tensor_shape: Any,
    out_backprop: Tensor,
    row_pooling_sequence: Any,
    col_pooling_sequence: Any,
    overlapping: bool,
) -> Any:
    """Return the gradient of `tf.nn.fractional_avg_pool`."""
    x = look_up("zeros")(integers_of(orig_input_tensor_shape), out_backprop.dtype)
    return fractional_pool_grad(
        x, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping, True
    )


def max_pool_grad_with_argmax(
    input: Tensor,
    grad: Tensor,
    argmax: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    include_batch_in_index: bool,
) -> Any:
    """Sum the gradients at the places from which the largest elements came."""
    batch, inner = input.dims[0], int(np.prod(input.dims[1:]))
    g, places = reshape(grad, [batch, -1]), cast(reshape(argmax, [batch, -1]), int32)
    if not include_batch_in_index:
        places = places + of_array(np.arange(batch)[:, None] * inner, int32)
    total = look_up("math.unsorted_segment_sum")(g, places, batch * inner)
    return reshape(total, input.dims)


def max_pool_grad_grad_with_argmax(
    input: Tensor,
    grad: Tensor,
    argmax: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    include_batch_in_index: bool,
) -> Any:
    """Return the gradients of the places from which the largest elements came."""
    batch, inner = input.dims[0], int(np.prod(input.dims[1:]))
    places = cast(reshape(argmax, [batch, -1]), int32)
    if not include_batch_in_index:
        places = places + of_array(np.arange(batch)[:, None] * inner, int32)
    return reshape(gather(reshape(grad, [-1]), places), argmax.dims)
