"""Colours as brightness and two differences (YIQ, YUV), which are linear in red, green and blue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.joining import tile
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export
from talweg.api.linalg.products import tensordot
from talweg.core.dims import differ
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

# Rows: red, green, blue; columns: brightness (ITU-R BT.601) and the two differences.  The way back
# is not the exact inverse for YIQ, in which TensorFlow's numbers have 4 digits in common with it.
YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _mix(images: object, matrix: list) -> Any:
    """Multiply each colour [..., 3] by a matrix."""
    x = tensor(images)
    return tensordot(x, convert_to_tensor(matrix, x.dtype), [[x.ndim - 1], [0]])


@export("image.rgb_to_yiq")
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Convert colours [..., 3] from red, green and blue to YIQ.

    >>> import talweg as tf
    >>> tf.image.rgb_to_yiq([[1.0, 1.0, 1.0]]).numpy().round(3)[0, 0]
    np.float32(1.0)
    """
    return _mix(images, YIQ)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Convert colours [..., 3] from YIQ to red, green and blue.

    >>> import talweg as tf
    >>> tf.image.yiq_to_rgb([[0.5, 0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.5, 0.5]]
    """
    return _mix(images, FROM_YIQ)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Convert colours [..., 3] from red, green and blue to YUV.

    >>> import talweg as tf
    >>> tf.image.rgb_to_yuv([[1.0, 1.0, 1.0]]).numpy().round(3)[0, 0]
    np.float32(1.0)
    """
    return _mix(images, YUV)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Convert colours [..., 3] from YUV to red, green and blue.

    >>> import talweg as tf
    >>> tf.image.yuv_to_rgb([[0.5, 0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.5, 0.5]]
    """
    return _mix(images, FROM_YUV)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Return grey images [..., 1] with three equal channels; ValueError for more than one channel.

    >>> import talweg as tf
    >>> tf.image.grayscale_to_rgb([[[7]]]).numpy().tolist()
    [[[7, 7, 7]]]
    """
    x = tensor(images)
    if not x.ndim or differ(x.dims[-1], 1):
        raise value_error(
            "TW204", f"Last dimension of a grayscale image should be size 1, got shape {x.dims}"
        )
    x = ensure_shape(x, [*[None] * (x.ndim - 1), 1])
    return tile(x, [*[1] * (x.ndim - 1), 3])
