"""Files as strings, and strings that hold images, sound or numbers.

Reading and writing act on the world, in the order in which they were asked for; the rest are
functions of their operands.  Strings are `bytes` in arrays of objects.
"""

from __future__ import annotations

import base64
import binascii
import glob
import math
import os
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import DType, bool_, float32, int32, string, uint8, uint16
from talweg.core.errors import DataLossError, NotFoundError, compose, invalid
from talweg.core.primitive import NoGradient, Sample
from talweg.core.system_errors import from_system
from talweg.formats import files, wav
from talweg.formats.images import codecs, png
from talweg.prims.host import HOST

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = NoGradient("files and strings have no derivative")
PIXELS = NoGradient("pixels of files are integers")


def text(data: bytes) -> np.ndarray:
    """Return bytes as a scalar string."""
    found = np.empty((), object)
    found[()] = data
    return found


def data_of(x: Any) -> bytes:
    """Return the bytes of a scalar string."""
    return x if isinstance(x, bytes) else x[()]


def each(function: Callable, x):
    """Return the function of each string of an array, as an array of objects."""
    found = np.empty(np.shape(x), object)
    found.reshape(-1)[:] = [function(data) for data in np.asarray(x, object).reshape(-1).tolist()]
    return found


def check_scalar(function, x):
    """Raise InvalidArgumentError for a value that is no scalar string."""
    check_dtype(function, "contents", x.dtype, {string})
    if x.dims is not None and x.dims:
        raise invalid("TW203", f"{function}: `contents` must be scalar but got shape{list(x.dims)}")


def _sample(data, *more, skip=("batch",), **params):
    """Return a sample with a string; the check of batching cannot stack those."""
    return Sample(text(data), *more, skip=skip, **params)


ONE_PIXEL = png.encode(np.full([1, 1, 3], 7, np.uint8))

# -- files


@primitive
class read_file:
    """y = what stands in the file x."""

    operands = "filename"
    effect = HOST
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(filename):
        check_scalar("ReadFile", filename)
        return Aval((), string)

    def numpy(filename):
        try:
            with open(data_of(filename), "rb") as file:
                return text(file.read())
        except OSError as error:
            raise from_system(error) from None
        except ValueError as error:  # a zero byte in the name
            name = data_of(filename)
            raise NotFoundError(None, None, compose("TW209", f"{name!r}: {error}")) from None


@primitive
class write_file:
    """Nothing, after `contents` was written to the file, whose folders are made if need be."""

    operands = "filename contents"
    effect = HOST
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(filename, contents):
        check_scalar("WriteFile", filename)
        check_scalar("WriteFile", contents)
        return Aval((), bool_)

    def numpy(filename, contents):
        path = data_of(filename)
        files.make_folder(os.path.dirname(path))
        files.write_file(os.fsdecode(path), [data_of(contents)], durable=False)
        return np.True_


@primitive
class matching_files:
    """y = the names of the files that fit any of the patterns x, in order."""

    operands = "pattern"
    effect = HOST
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(pattern):
        check_dtype("MatchingFiles", "pattern", pattern.dtype, {string})
        return Aval((None,), string)

    def numpy(pattern):
        patterns = np.asarray(pattern, object).reshape(-1).tolist()
        names = sorted({name for each_pattern in patterns for name in glob.glob(each_pattern)})
        found = np.empty(len(names), object)
        found[:] = names
        return found


# -- images

_FUNCTIONS = {
    "png": "DecodePng",
    "jpeg": "DecodeJpeg",
    "gif": "DecodeGif",
    "bmp": "DecodeBmp",
    "image": "DecodeImage",
    "webp": "DecodeWebP",
}


@primitive
class decode_image:
    """y = the pixels of the file x.   x [] -> y [height, width, channels], or with frames."""

    operands = "contents"
    no_gradient = PIXELS
    batch = LOOP
    memory = "host"

    samples = (
        _sample(
            ONE_PIXEL,
            function="png",
            channels=1,
            dtype_=uint8,
            animated=True,
            ratio=1,
            truncated=False,
        ),
    )

    def tf_type(contents, *, function, **params):
        return _FUNCTIONS[function]

    def infer(contents, *, function, channels, dtype, animated, ratio, truncated):
        check_scalar(_FUNCTIONS[function], contents)
        if channels not in (0, 1, 3, 4):
            raise invalid("TW207", f"`channels` must be 0, 1, 3 or 4 but got {channels}")
        if ratio not in (1, 2, 4, 8):
            raise invalid("TW207", f"ratio must be 1, 2, 4, or 8, got {ratio}")
        if function == "image" and animated:
            return Aval(None, dtype)
        dims = (None, None, channels or None)
        if function in ("gif", "webp"):
            dims = (None, None, None, channels or (3 if function == "gif" else None))
        return Aval(dims, dtype)

    def numpy(contents, *, function, channels, dtype, animated, ratio, truncated):
        return codecs.decode(
            data_of(contents), function, channels, dtype.name, animated, ratio, truncated
        )


@primitive
class jpeg_shape:
    """y = (height, width, channels) of a JPEG file, by its header."""

    operands = "contents"
    tf_type = "ExtractJpegShape"
    no_gradient = PIXELS
    batch = LOOP
    memory = "host"

    samples = (_sample(b"\xff\xd8\xff\xc0\0\x0b\x08\0\x02\0\x03\x01\0", dtype_=int32),)

    def infer(contents, *, dtype):
        check_scalar("ExtractJpegShape", contents)
        return Aval((3,), dtype)

    def numpy(contents, *, dtype):
        return np.array(codecs.jpeg_shape(data_of(contents)), dtype.numpy_dtype)


@primitive
class begins_with:
    """y = whether the strings x begin with some bytes."""

    operands = "x"
    tf_type = "Substr"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    samples = (_sample(b"ab", beginning=b"a"),)

    def infer(x, *, beginning):
        check_dtype("is_jpeg", "contents", x.dtype, {string})
        return Aval(x.dims, bool_)

    def numpy(x, *, beginning):
        return each(lambda data: data.startswith(beginning), x).astype(bool)


def _encodings(x, encode: Callable):
    """Return the encodings of images [..., height, width, channels]."""
    flat = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])
    found = np.empty(len(flat), object)
    found[:] = [encode(image) for image in flat]
    return found.reshape(x.shape[:-3])


@primitive
class encode_png:
    """y = PNG files.   x [..., height, width, channels] -> y [...]."""

    operands = "image"
    no_gradient = PIXELS
    batch = LOOP
    memory = "host"

    samples = (Sample(np.ones([2, 1, 3], np.uint8), compression=-1, skip=("batch",)),)

    def infer(image, *, compression):
        check_dtype("EncodePng", "image", image.dtype, {uint8, uint16})
        if image.dims is None:
            return Aval(None, string)
        if image.ndim < 3:
            raise invalid("TW203", f"images must be at least rank 3{list(image.dims)}")
        return Aval(image.dims[:-3], string)

    def numpy(image, *, compression):
        return _encodings(image, lambda pixels: png.encode(pixels, compression))


@primitive
class encode_jpeg:
    """y = a JPEG file.   x [height, width, channels], quality [] -> y []."""

    operands = "image quality"
    no_gradient = PIXELS
    batch = LOOP
    memory = "host"

    samples = (
        Sample(np.ones([2, 2, 3], np.uint8), np.int32(90), channels=0, options=(), skip=("batch",)),
    )

    def infer(image, quality, *, channels, options):
        check_dtype("EncodeJpeg", "image", image.dtype, {uint8})
        if image.dims is not None and image.ndim != 3:
            raise invalid("TW203", f"image must be 3-dimensional{list(image.dims)}")
        return Aval((), string)

    def numpy(image, quality, *, channels, options):
        if not 0 <= int(quality) <= 100:
            raise invalid("TW207", f"quality must be in [0,100], got {int(quality)}")
        if channels and image.shape[-1] != channels:
            raise invalid(
                "TW204", f"the format expects {channels} channels, got {list(image.shape)}"
            )
        return text(codecs.jpeg(image, int(quality), options))


# -- sound


@primitive
class decode_wav:
    """(samples [length, channels] from -1 to 1, samples a second) of a WAV file."""

    operands = "contents"
    multiple = True
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    samples = (_sample(wav.encode(np.ones([3, 1], np.float32), 8000), channels=-1, length=-1),)

    def infer(contents, *, channels, length):
        check_scalar("DecodeWav", contents)
        for name, value in (("desired_channels", channels), ("desired_samples", length)):
            if value < -1 or (value == 0 and name == "desired_channels"):
                raise invalid("TW207", f"{name} must be >= -1, got {value}")
        dims = (None if length < 0 else length, None if channels < 0 else channels)
        return [Aval(dims, float32), Aval((), int32)]

    def numpy(contents, *, channels, length):
        samples, rate = wav.decode(data_of(contents), channels, length)
        return samples, np.uint32(rate).astype(np.int32)  # wraps, as TensorFlow does


@primitive
class encode_wav:
    """y = a WAV file with 16 bits of x.   x [length, channels], rate [] -> y []."""

    operands = "audio sample_rate"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    samples = (Sample([3, 1], np.int32(8000), skip=("batch",)),)

    def infer(audio, sample_rate):
        check_dtype("EncodeWav", "audio", audio.dtype, {float32})
        if audio.dims is not None and audio.ndim != 2:
            raise invalid("TW203", f"audio must be 2-dimensional{list(audio.dims)}")
        if sample_rate.dims:
            raise invalid("TW203", f"sample_rate must be a scalar, got {list(sample_rate.dims)}")
        return Aval((), string)

    def numpy(audio, sample_rate):
        if int(sample_rate) <= 0:
            raise invalid("TW207", f"sample_rate must be in (0, 2^32), got: {int(sample_rate)}")
        return text(wav.encode(audio, int(sample_rate)))


# -- numbers and other codes


@primitive
class decode_raw:
    """y = the bytes of x as numbers.   x [...] -> y [..., n]; all strings as long as the first.

    With `length` they are cut, or filled up with zeros, to as many bytes.
    """

    operands = "x"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    samples = (_sample(b"abcd", dtype_=uint16, little=False, length=None),)

    def tf_type(x, *, length, **params):
        return "DecodeRaw" if length is None else "DecodePaddedRaw"

    def infer(x, *, dtype: DType, little, length):
        check_dtype("decode_raw", "input_bytes", x.dtype, {string})
        size = dtype.size
        if length is not None and (length <= 0 or length % size):
            raise invalid(
                "TW207",
                f"fixed_length ({length}) must be a positive multiple of the size of out_type "
                f"({size})",
            )
        if x.dims is None:
            return Aval(None, dtype)
        return Aval((*x.dims, None if length is None else length // size), dtype)

    def numpy(x, *, dtype, little, length):
        array = np.asarray(x, object)
        strings = array.reshape(-1).tolist()
        if length is not None:
            strings = [data[:length].ljust(length, b"\0") for data in strings]
        count = len(strings[0]) if strings else 0
        for element, data in enumerate(strings):
            if len(data) != count:
                raise invalid(
                    "TW204",
                    "DecodeRaw requires input strings to all be the same size, but element "
                    f"{element} has size {len(data)} != {count}",
                )
        kind = dtype.numpy_dtype
        if count % kind.itemsize:
            raise invalid(
                "TW204",
                f"Input to DecodeRaw has length {count} that is not a multiple of "
                f"{kind.itemsize}, the size of {dtype.name}",
            )
        numbers = np.frombuffer(b"".join(strings), kind)
        numbers = numbers.copy() if little else numbers.byteswap()
        return numbers.reshape(*array.shape, count // kind.itemsize)


def _from_base64(data: bytes):
    stripped = data.rstrip(b"=")
    if len(stripped) % 4 == 1:
        raise invalid("TW209", "Base64 string length cannot be 1 modulo 4.")
    if any(letter in b"+/" for letter in stripped):
        raise invalid("TW209", "Invalid character found in base64.")
    try:
        padded = stripped + b"=" * (-len(stripped) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except binascii.Error:
        raise invalid("TW209", "Invalid character found in base64.") from None


def _to_base64(data: bytes):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


_CODES = {
    "DecodeBase64": _from_base64,
    "EncodeBase64": _to_base64,
    "EncodeBase64Padded": base64.urlsafe_b64encode,
    "": bytes,
    "ZLIB": lambda data: zlib.decompress(data) if data else b"",
    "GZIP": lambda data: zlib.decompress(data, 31) if data else b"",
}


@primitive
class recoded:
    """y = the strings x in another code: base64, or not compressed any more."""

    operands = "x"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    samples = (_sample(b"abcd", code="EncodeBase64"),)

    def tf_type(x, *, code):
        return code.removesuffix("Padded") if "Base64" in code else "DecodeCompressed"

    def infer(x, *, code):
        check_dtype("decode", "input", x.dtype, {string})
        return Aval(x.dims, string)

    def numpy(x, *, code):
        try:
            return each(_CODES[code], x)
        except zlib.error as error:
            raise DataLossError(None, None, compose("TW209", f"inflate() failed: {error}"))
