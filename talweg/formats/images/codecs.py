"""Decoders of image files: the kind of the file decides, not the name of the function.

JPEG, GIF, WebP and PNG with 8 bits are read by Pillow, an optional package; `png.py` and
`bmp.py` do the rest.  Pillow uses the accurate cosine transform of JPEG; TensorFlow's
default is the fast one, which differs by a few levels of 255.
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from talweg.core.errors import UnimplementedError, compose, invalid
from talweg.formats.images import bmp, png

# How a file begins, and the function of tf.io for it.
_SIGNATURES = {b"\xff\xd8\xff": "jpeg", png.SIGNATURE: "png", b"GIF8": "gif", b"BM": "bmp"}
ANIMATED = ("gif", "webp")
_DAMAGE = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, struct.error),
)
RED, GREEN, BLUE = 9797, 19234, 3737  # of 2^15: the weights of a grey image, as libpng has them


def pillow() -> Any:
    """Import Pillow's module `Image`; UnimplementedError with the package to install."""
    try:
        from PIL import Image
    except ImportError as error:
        text = "files of images are read and written by Pillow, which is not there"
        hint = "pip install talweg[images]"
        raise UnimplementedError(None, None, compose("TW402", text, hint=hint)) from error
    return Image


def kind_of(contents: bytes) -> str:
    """Detect the format of an image by its first bytes; InvalidArgumentError for others."""
    if not contents:
        raise invalid("TW209", "Input is empty.")
    if contents[:4] == b"RIFF" and contents[8:12] == b"WEBP":
        return "webp"
    for signature, kind in _SIGNATURES.items():
        if contents.startswith(signature):
            return kind
    raise invalid(
        "TW209",
        "Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP required, "
        f"got bytes that begin with {contents[:8]!r}",
    )


def check_kind(kind: str, function: str) -> None:
    """Refuse formats that TensorFlow's function does not read."""
    if (kind == "bmp") != (function == "bmp") and function != "image":
        raise invalid(
            "TW209",
            f"Trying to decode {kind.upper()} format using decode_{function}. "
            f"Use `decode_{kind}` or `decode_image` instead.",
        )


def decode(
    contents: bytes,
    function: str,
    channels: int,
    dtype: str,
    animated: bool,
    ratio: int,
    truncated: bool,
) -> np.ndarray:
    """Decode the pixels of a file, [height, width, channels], or [frames, height, width,
    channels].

    function: the one of tf.io.decode_* that reads it; channels: 0 takes those of the file; dtype:
    "uint8", "uint16" or "float32" (from 0 to 1); animated: all frames, or the first.
    """
    kind = kind_of(contents)
    check_kind(kind, function)
    if kind == "bmp":
        return scale_pixels(with_channels(bmp.decode(contents, channels), channels), dtype, 256)
    if kind in ANIMATED:
        frames = _frames(contents, kind, channels)
        if kind == "gif" and function in ("png", "jpeg"):
            if len(frames) > 1:
                raise invalid(
                    "TW209",
                    f"Got {len(frames)} frames, but animated gifs can only be decoded by "
                    "tf.io.decode_gif or tf.io.decode_image",
                )
            frames = frames[0]
        elif not animated:
            frames = frames[0]
        return scale_pixels(frames, dtype, 256)
    if kind == "jpeg":
        pixels = scale_pixels(_jpeg(contents, channels, ratio, truncated), dtype, 256)
    else:
        pixels = scale_pixels(with_channels(_png(contents, dtype != "uint8"), channels), dtype, 257)
    return pixels[None] if function == "gif" else pixels


def scale_pixels(pixels: np.ndarray, dtype: str, factor: int) -> np.ndarray:
    """Scale pixels to uint8, to uint16 (8 bits times `factor`), or to float32 from 0 to 1."""
    wide = pixels.dtype == np.uint16
    if dtype == "float32":
        return (pixels / np.float32(65535 if wide else 255)).astype(np.float32)
    if dtype == "uint16":
        return pixels if wide else pixels.astype(np.uint16) * np.uint16(factor)
    return (pixels >> 8).astype(np.uint8) if wide else pixels


def with_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Convert pixels to 1, 3 or 4 channels; 0 leaves them."""
    own = pixels.shape[-1]
    if channels in (0, own):
        return pixels
    colours, alpha = pixels[..., : own - (own + 1) % 2], pixels[..., own - (own + 1) % 2 :]
    if channels == 1:
        return colours if colours.shape[-1] == 1 else _grey(colours)
    colours = np.broadcast_to(colours, (*pixels.shape[:-1], 3))
    if channels == 3:
        return np.ascontiguousarray(colours)
    if not alpha.shape[-1]:
        alpha = np.full((*pixels.shape[:-1], 1), np.iinfo(pixels.dtype).max, pixels.dtype)
    return np.concatenate([colours, alpha], -1)


def _grey(colours: np.ndarray) -> np.ndarray:
    """Convert three numbers to grey; rounded down with 8 bits, to the nearest with 16, as libpng
    does.
    """
    weighted = colours.astype(np.int64) @ np.array([RED, GREEN, BLUE])
    half = 1 << 14 if colours.dtype == np.uint16 else 0
    return ((weighted + half) >> 15).astype(colours.dtype)[..., None]


@contextlib.contextmanager
def refusing_damage(kind: str) -> Iterator[None]:
    """Raise InvalidArgumentError for Pillow's errors over damaged files and too large pictures."""
    bomb = pillow().DecompressionBombError
    try:
        yield
    except (*_DAMAGE, bomb) as error:
        raise invalid("TW209", f"Invalid {kind} data: {error or type(error).__name__}") from None


def _open(contents: bytes, kind: str) -> Any:
    with refusing_damage(f"{kind} (size {len(contents)})"):
        return pillow().open(io.BytesIO(contents))


def _load_pixels(image: Any, kind: str, mode: str) -> np.ndarray:
    """Return the pixels of an image of Pillow in a mode."""
    with refusing_damage(kind):
        found = np.asarray(image if image.mode == mode else image.convert(mode))
    return found if found.ndim == 3 else found[..., None]


def _png(contents: bytes, deep: bool) -> np.ndarray:
    if png.is_deep(contents):
        return png.decode(contents)
    image = _open(contents, "PNG")
    own = str(image.mode)
    mode = {"P": "RGB", "1": "L"}.get(own, own)
    if "transparency" in image.info and not mode.endswith("A"):
        mode += "A"
    return _load_pixels(image, "PNG", mode)


def _jpeg(contents: bytes, channels: int, ratio: int, truncated: bool) -> np.ndarray:
    if channels == 4:
        raise invalid("TW207", "JPEG does not support 4 channels")
    image = _open(contents, "JPEG")
    mode = {1: "L", 3: "RGB"}.get(channels) or ("L" if image.mode == "L" else "RGB")
    if ratio > 1 or mode != image.mode:
        width, height = image.size
        with refusing_damage("JPEG"):
            image.draft(mode, (max(1, width // ratio), max(1, height // ratio)))
    if truncated:
        return _recover_jpeg(image, mode)
    return _load_pixels(image, "JPEG", mode)


def _recover_jpeg(image: np.ndarray, mode: str) -> np.ndarray:
    """Return the pixels of a JPEG file whose end may be missing; what is missing is grey."""
    from PIL import ImageFile

    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        return _load_pixels(image, "JPEG", mode)
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def _frames(contents: bytes, kind: str, channels: int) -> np.ndarray:
    if kind == "gif" and channels not in (0, 3):
        raise invalid("TW207", f"channels must be 0 or 3 for GIF, got {channels}")
    image = _open(contents, kind.upper())
    mode = "RGBA" if kind == "webp" and (channels == 4 or image.mode == "RGBA") else "RGB"
    with refusing_damage(kind.upper()):
        count = getattr(image, "n_frames", 1)
        png.check_size(image.height, image.width, count)
        image.seek(0)
        first = _load_pixels(image, kind.upper(), mode)
        if count == 1:
            return with_channels(first[None], channels)
        frames = np.empty((count, *first.shape), first.dtype)
        frames[0] = first
        for number in range(1, count):
            image.seek(number)
            frame = _load_pixels(image, kind.upper(), mode)
            if frame.shape != first.shape:
                raise ValueError("its frames differ in size")
            frames[number] = frame
    return with_channels(frames, channels)


def jpeg_shape(contents: bytes) -> tuple[int, int, int]:
    """Read (height, width, channels) of a JPEG file, by its header alone."""
    place = 2
    if contents[:2] == b"\xff\xd8":
        while place + 9 < len(contents) and contents[place] == 0xFF:
            marker = contents[place + 1]
            if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
                height, width = (
                    int.from_bytes(contents[place + i : place + i + 2], "big") for i in (5, 7)
                )
                return height, width, contents[place + 9]
            place += 2 + int.from_bytes(contents[place + 2 : place + 4], "big")
    raise invalid("TW209", f"Invalid JPEG data, size {len(contents)}")


def jpeg(pixels: Any, quality: int, options: tuple) -> bytes:
    """Return a JPEG file of uint8 pixels [height, width, 1 or 3];
    the options are pairs for Pillow.
    """
    if pixels.shape[-1] not in (1, 3):
        raise invalid("TW204", f"image must have 1 or 3 channels, got {list(pixels.shape)}")
    if not pixels.size:
        raise invalid("TW204", f"an image has the shape {list(pixels.shape)}", "some pixels")
    given = np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    file = io.BytesIO()
    pillow().fromarray(given).save(file, "JPEG", quality=quality, **dict(options))
    return file.getvalue()
