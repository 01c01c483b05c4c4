"""tf.io.serialize_tensor and parse_tensor: a tensor as the bytes of a TensorProto.

The few words of the wire format that this takes are written and read here, so that it needs no
other package.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.api.arguments import tensor as as_tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export, look_up
from talweg.api.host import numpy_function
from talweg.core import dispatch
from talweg.core.dtypes import DType, as_dtype, string
from talweg.core.errors import DataLossError, invalid
from talweg.core.value import Tensor
from talweg.formats import wire

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike

DTYPE, SHAPE, CONTENT, TEXT = 1, 2, 4, 8  # numbers of fields


@export("io.serialize_tensor")
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor as a scalar string that `tf.io.parse_tensor` reads, TensorFlow's too.

    >>> import talweg as tf
    >>> text = tf.io.serialize_tensor(tf.constant([1.0, 2.0]))
    >>> tf.io.parse_tensor(text, tf.float32).numpy()
    array([1., 2.], dtype=float32)
    """
    x = as_tensor(tensor)
    if dispatch.context.base is None:
        return as_tensor(as_message(np.asarray(x._array), x.dtype))
    dtype = x.dtype
    found = numpy_function(lambda array: np.array(as_message(array, dtype), object), [x], string)
    return ensure_shape(found, [])


@export("io.parse_tensor")
def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Return the tensor of a scalar string made by `tf.io.serialize_tensor`, which must be of
    `out_type`.

    InvalidArgumentError if it is of another dtype, or no tensor.

    >>> import talweg as tf
    >>> tf.io.parse_tensor(tf.io.serialize_tensor(["a", "b"]), tf.string).numpy()
    array([b'a', b'b'], dtype=object)
    """
    x, dtype = as_tensor(serialized, string), as_dtype(out_type)
    if dispatch.context.base is None:
        return as_tensor(parse(np.asarray(x._array), dtype), dtype)
    return numpy_function(lambda text: parse(text, dtype), [x], dtype)


def as_message(array: np.ndarray, dtype: DType) -> bytes:
    """Return the message of an array: numbers as one run of bytes, texts one by one."""
    sizes = b"".join([wire.field(2, wire.field(1, size) if size else b"") for size in array.shape])
    head = wire.field(DTYPE, dtype.as_datatype_enum) + wire.field(SHAPE, sizes)
    if dtype is string:
        texts = [x.encode() if isinstance(x, str) else bytes(x) for x in array.reshape(-1)]
        return head + b"".join([wire.field(TEXT, text) for text in texts])
    data = np.ascontiguousarray(array).tobytes()
    return head + (wire.field(CONTENT, data) if data else b"")


def text_content(array: np.ndarray) -> bytes:
    """Return the message of an array of strings as one run: their lengths, then their bytes."""
    texts = array.reshape(-1).tolist()
    sizes = b"".join([wire.write_varint(len(text)) for text in texts])
    shape = b"".join([wire.field(2, wire.field(1, size) if size else b"") for size in array.shape])
    head = wire.field(DTYPE, string.as_datatype_enum) + wire.field(SHAPE, shape)
    return head + (wire.field(CONTENT, sizes + b"".join(texts)) if texts else b"")


def _texts_of(content: bytes, count: int) -> list[bytes]:
    """Return the strings of such a run."""
    sizes, place = [], 0
    try:
        for _ in range(count):
            size, place = wire.read_varint(content, place)
            sizes.append(size)
    except (DataLossError, IndexError):
        raise invalid("TW207", "Cannot parse tensor from proto: lengths of texts") from None
    if place + sum(sizes) != len(content):
        raise invalid("TW207", "Cannot parse tensor from proto: texts of other lengths")
    ends = place + np.cumsum([0, *sizes])
    return [content[start:end] for start, end in zip(ends, ends[1:])]


def parse(text: np.ndarray, dtype: DType) -> np.ndarray:
    """Parse a message to an array; InvalidArgumentError if it is none, or of another dtype."""
    if np.ndim(text):
        raise invalid(
            "TW203", f"Expected `serialized` to be a scalar, got shape: {list(np.shape(text))}"
        )
    data = np.asarray(text).item()
    try:
        fields = list(wire.read_fields(data))
        given, dims = _head(fields)
    except (DataLossError, TypeError, ValueError):
        raise invalid("TW207", "Could not parse `serialized` as TensorProto") from None
    if given is not dtype:
        raise invalid(
            "TW102", f"Type mismatch between parsed tensor ({given.name}) and dtype ({dtype.name})"
        )
    count = math.prod(dims)
    if dtype is string:
        texts = [v for number, v in fields if number == TEXT and isinstance(v, bytes)]
        content = b"".join([v for n, v in fields if n == CONTENT and isinstance(v, bytes)])
        if content and not texts and count <= len(content):
            texts = _texts_of(content, count)
        if len(texts) != count:
            raise invalid(
                "TW207", f"Cannot parse tensor from proto: {len(texts)} texts for {count} elements"
            )
        strings = np.empty(count, object)
        strings[:] = texts
        return _reshape(strings, dims)
    content = b"".join([v for n, v in fields if n == CONTENT and isinstance(v, bytes)])
    kind = dtype.numpy_dtype
    if len(content) == count * kind.itemsize:
        return _reshape(np.frombuffer(content, kind), dims).copy()
    return _parse_message(data, count)


def _reshape(array: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    try:
        return array.reshape(dims)
    except ValueError as error:  # more dimensions than NumPy has
        raise invalid("TW207", f"Cannot parse tensor from proto: {error}") from None


def _head(fields: list) -> tuple[DType, tuple[int, ...]]:
    """Return the dtype and shape that a message says."""
    dtype, dims = 0, []
    for number, value in fields:
        if number == DTYPE:
            dtype = value
        elif number == SHAPE:
            for part, size in wire.read_fields(value):
                if part == 2:
                    dims.append(next((n for key, n in wire.read_fields(size) if key == 1), 0))
    if any(size >> 62 for size in dims):
        raise ValueError
    return as_dtype(dtype), tuple(dims)


def _parse_message(data: bytes, count: int) -> np.ndarray:
    """Return the array of a message that holds its numbers
    in other ways, which its definition tells.
    """
    try:
        return look_up("make_ndarray")(look_up("compat.v1.TensorProto").FromString(data))
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001 -- DecodeError is protobuf's, which may be missing
        raise invalid("TW207", f"Cannot parse tensor from proto: {error}") from None
