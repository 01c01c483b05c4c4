"""Files of images: tf.io.decode_png, decode_jpeg, ..., encode_png, encode_jpeg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.operands import integer_vector
from talweg.api.export import export
from talweg.api.image.dtypes import convert_image_dtype
from talweg.core.dtypes import as_dtype, float32, int32, int64, string, uint8, uint16
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.prims import dynamic
from talweg.prims.io import encoded

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.dtypes import DType


def _pixels(
    contents: object,
    function: str,
    channels: int | None,
    dtype: DType = uint8,
    animated: bool = True,
    ratio: int = 1,
    truncated: bool = False,
) -> Any:
    channels = 0 if channels is None else int(channels)
    return encoded.decode_image(
        tensor(contents, string),
        function=function,
        channels=channels,
        dtype=as_dtype(dtype),
        animated=animated,
        ratio=int(ratio),
        truncated=truncated,
    )


@export("io.decode_png", "image.decode_png")
def decode_png(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = uint8, name: str | None = None
) -> Tensor:
    """Return the pixels of a PNG file, [height, width, channels], uint8 or uint16.

    contents: the file, a scalar string.  channels: 1, 3 or 4; 0 takes those of the file.  JPEG
    files and GIF files with one frame are read, too.  InvalidArgumentError for what is no image.

    >>> import talweg as tf
    >>> file = tf.io.encode_png(tf.constant([[[0], [7]]], tf.uint8))
    >>> tf.io.decode_png(file)[..., 0].numpy()
    array([[0, 7]], dtype=uint8)
    """
    dtype = as_dtype(dtype)
    if dtype not in (uint8, uint16):
        raise invalid("TW102", f"decode_png: dtype {dtype.name}", "uint8 or uint16")
    return _pixels(contents, "png", channels, dtype)


@export("io.decode_jpeg", "image.decode_jpeg")
def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the pixels of a JPEG file, uint8 [height, width, channels].

    ratio: 1, 2, 4 or 8 times fewer rows and columns.  try_recover_truncated: read a file whose end
    is missing.  Numbers are those of dct_method "INTEGER_ACCURATE"; TensorFlow's default is the
    fast method, which differs by a few levels.  PNG files are read, too.
    """
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise invalid(
            "TW207", f"dct_method {dct_method!r}", "one of '', 'INTEGER_FAST', 'INTEGER_ACCURATE'"
        )
    return _pixels(contents, "jpeg", channels, uint8, True, ratio, try_recover_truncated)


@export("io.decode_and_crop_jpeg", "image.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return a part of a JPEG file: crop_window is [first row, first column, rows, columns]."""
    image = decode_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
    )
    window = integer_vector(crop_window, "decode_and_crop_jpeg", "crop_window")
    if len(window) != 4:
        raise invalid("TW205", f"crop_window has {len(window)} elements", "4")
    row, column, rows, columns = window
    return dynamic.block(image, begin=(row, column, 0), shape=(rows, columns, -1))


@export("io.decode_gif", "image.decode_gif")
def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Return the frames of a GIF file, uint8 [frames, height, width, 3]."""
    return _pixels(contents, "gif", 0)


@export("io.decode_bmp", "image.decode_bmp")
def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """Return the pixels of a BMP file without compression, uint8 [height, width, channels]."""
    return _pixels(contents, "bmp", channels)


@export("io.decode_webp", "image.decode_webp")
def decode_webp(
    contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """Return the frames of a WebP file, [frames, height, width, channels]."""
    return _pixels(contents, "webp", channels, dtype)


@export("io.decode_image", "image.decode_image")
def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Return the pixels of a BMP, GIF, JPEG, PNG or WebP file, [height, width, channels].

    dtype: uint8, uint16, or any that `tf.image.convert_image_dtype` gives; float32 goes from 0 to
    1.  expand_animations: GIF and WebP files give [frames, height, width, channels]; False gives
    their first frame, and a known rank in graphs.

    >>> import talweg as tf
    >>> file = tf.io.encode_png(tf.constant([[[51]]], tf.uint8))
    >>> tf.io.decode_image(file, dtype=tf.float32).numpy()
    array([[[0.2]]], dtype=float32)
    """
    dtype = as_dtype(dtype)
    own = dtype if dtype in (uint8, uint16, float32) else uint16
    pixels = _pixels(contents, "image", channels, own, bool(expand_animations))
    return convert_image_dtype(pixels, dtype)


@export("io.extract_jpeg_shape", "image.extract_jpeg_shape")
def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = int32, name: str | None = None
) -> Tensor:
    """Return [height, width, channels] of a JPEG file, of which only the header is read."""
    dtype = as_dtype(output_type)
    if dtype not in (int32, int64):
        raise invalid("TW102", f"output_type {dtype.name}", "int32 or int64")
    return encoded.jpeg_shape(tensor(contents, string), dtype=dtype)


@export("io.is_jpeg", "image.is_jpeg")
def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Return whether strings begin as JPEG files do.

    >>> import talweg as tf
    >>> tf.io.is_jpeg([b"\\xff\\xd8\\xff", b"x"]).numpy()
    array([ True, False])
    """
    return encoded.begins_with(tensor(contents, string), beginning=b"\xff\xd8\xff")


@export("io.encode_png", "image.encode_png")
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Return PNG files of images [..., height, width, 1 to 4], uint8 or uint16: strings [...].

    compression: from 0 (none) to 9 (most); -1 leaves the choice.
    """
    x = tensor(image)
    if not -1 <= int(compression) <= 9:
        raise invalid("TW207", f"compression should be in [-1,9], got {compression}")
    return encoded.encode_png(x, compression=int(compression))


_FORMATS = {"": 0, "grayscale": 1, "rgb": 3}
_UNITS = {"in": 1.0, "cm": 2.54}


@export("io.encode_jpeg", "image.encode_jpeg")
def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Return a JPEG file of a uint8 image [height, width, 1 or 3], a scalar string.

    quality: from 0 to 100.  format: "grayscale" or "rgb" demands as many channels.
    """
    if format not in _FORMATS or density_unit not in _UNITS:
        raise invalid("TW207", f"format {format!r}, density_unit {density_unit!r}")
    density = [round(value * _UNITS[density_unit]) for value in (x_density, y_density)]
    options = [
        ("progressive", bool(progressive)),
        ("optimize", bool(optimize_size)),
        ("subsampling", 2 if chroma_downsampling else 0),
        ("dpi", tuple(density)),
    ]
    if xmp_metadata:
        text = xmp_metadata.encode() if isinstance(xmp_metadata, str) else xmp_metadata
        options.append(("xmp", text))
    return encoded.encode_jpeg(
        tensor(image), tensor(quality, int32), channels=_FORMATS[format], options=tuple(options)
    )


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """Return an image as it is after it went through a JPEG file of this quality.

    image: [height, width, 1 or 3], floats from 0 to 1 or integers; dtype and shape are kept.
    """
    x = tensor(image)
    if x.ndim != 3:
        raise value_error("TW203", f"adjust_jpeg_quality: image has shape {x.dims}", "rank 3")
    pixels = convert_image_dtype(x, uint8, saturate=True)
    plain = (("subsampling", 2),)
    quality = tensor(jpeg_quality, int32)
    file = encoded.encode_jpeg(pixels, quality, channels=0, options=plain)
    decoded = decode_jpeg(file, x.dims[-1] if type(x.dims[-1]) is int else 0, dct_method=dct_method)
    decoded.set_shape(x.shape)
    return convert_image_dtype(decoded, x.dtype, saturate=True)
