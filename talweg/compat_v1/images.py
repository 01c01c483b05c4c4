"""tf.compat.v1.image: resizing as TensorFlow 1 did it, over the operations of tf.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.adapters import adapt
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

_SIZES = "images, size, align_corners=False, name=None, half_pixel_centers=False"
adapt("image.resize_bilinear", "raw_ops.ResizeBilinear", _SIZES)
adapt("image.resize_bicubic", "raw_ops.ResizeBicubic", _SIZES)
adapt("image.resize_nearest_neighbor", "raw_ops.ResizeNearestNeighbor", _SIZES)
adapt("image.resize_area", "raw_ops.ResizeArea", "images, size, align_corners=False, name=None")
adapt(
    "image.crop_and_resize",
    "image.crop_and_resize",
    "image, boxes, box_ind=None, crop_size=None, method='bilinear', extrapolation_value=0, "
    "name=None, box_indices=None",
    "box_ind=box_indices",
)
adapt(
    "image.extract_glimpse",
    "raw_ops.ExtractGlimpse",
    "input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None",
)
for _kind in ("avg", "max"):
    adapt(
        f"nn.fractional_{_kind}_pool",
        f"nn.fractional_{_kind}_pool",
        "value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, "
        "seed=0, seed2=0, name=None",
        "deterministic=- seed2=-",
    )
adapt(
    "nn.conv3d_backprop_filter nn.conv3d_backprop_filter_v2",
    "raw_ops.Conv3DBackpropFilterV2",
    "input, filter_sizes, out_backprop, strides, padding, data_format='NDHWC', "
    "dilations=[1, 1, 1, 1, 1], name=None",
)


@export("compat.v1.image.ResizeMethod")
class ResizeMethod:
    """Numbers of the methods of resizing images."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = ("bilinear", "nearest_neighbor", "bicubic", "area")


@export("compat.v1.image.resize", "compat.v1.image.resize_images")
def resize_images(
    images: TensorLike,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Return images [height, width, channels] or a batch of them with `size` rows and columns.

    method: a number of `ResizeMethod`, or its name.  Pixels lie at their corners, not at their
    centres as in `tf.image.resize`.  ValueError for another method or rank.

    >>> import talweg.compat.v1 as tf
    >>> tf.image.resize_images([[[0.0], [4.0]]], [1, 4])[0, :, 0].numpy().tolist()
    [0.0, 2.0, 4.0, 4.0]
    """
    x = look_up("convert_to_tensor")(images)
    if x.shape.rank not in (3, 4):
        raise value_error("TW203", f"'images' of shape {x.shape}", "either 3 or 4 dimensions")
    if isinstance(method, str):
        method = {"nearest": 1}.get(method, _METHODS.index(method) if method in _METHODS else -1)
    if method not in range(len(_METHODS)):
        raise value_error("TW207", f"Resize method is not implemented: {method}")
    single = x.shape.rank == 3
    x = look_up("expand_dims")(x, 0) if single else x
    if preserve_aspect_ratio:
        return _like_v2(x, size, method, single)
    function = look_up(f"compat.v1.image.resize_{_METHODS[method]}")
    y = function(x, size, align_corners)
    return look_up("squeeze")(y, [0]) if single else y


def _like_v2(x: object, size: int, method: int, single: bool) -> Any:
    name = ("bilinear", "nearest", "bicubic", "area")[method]
    y = look_up("image.resize")(x, size, name, preserve_aspect_ratio=True)
    return look_up("squeeze")(y, [0]) if single else y


@export("compat.v1.image.resize_image_with_pad")
def resize_image_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Return an image resized without distortion, zeros around it."""
    name = ("bilinear", "nearest", "bicubic", "area")[method]
    return look_up("image.resize_with_pad")(image, target_height, target_width, name)


@export("compat.v1.image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Any:
    """Return images with frames around boxes."""
    return look_up("image.draw_bounding_boxes")(images, boxes, colors)


@export("compat.v1.image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike | None = None,
    area_range: TensorLike | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Return a random box that covers enough of one of the given ones."""
    return look_up("image.sample_distorted_bounding_box")(
        image_size,
        bounding_boxes,
        seed or seed2 or 0,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )
