"""tf.io.decode_proto and encode_proto: fields of protocol buffer messages, by a description.

The description is a file with a FileDescriptorSet, "bytes://" and such a set, or "local://" for
messages that Python has loaded.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export, look_up
from talweg.api.host import numpy_function
from talweg.api.strings.mapping import map_strings, texts
from talweg.core.dtypes import DType, as_dtype, int32, string
from talweg.core.errors import DataLossError, compose, invalid
from talweg.core.system_errors import from_system
from talweg.eager.convert import convert_to_tensor
from talweg.prims.strings.mapping import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

_LOCAL, _BYTES = b"local://", b"bytes://"
_KINDS = {  # of fields, by protobuf's numbers: the dtypes that they can be read as, the usual first
    1: ("float64",),
    2: ("float32", "float64"),
    3: ("int64",),
    4: ("uint64",),
    5: ("int32",),
    6: ("uint64",),
    7: ("uint32", "uint64"),
    8: ("bool",),
    9: ("string",),
    11: ("string",),
    12: ("string",),
    13: ("uint32", "uint64"),
    14: ("int32",),
    15: ("int32",),
    16: ("int64",),
    17: ("int32",),
    18: ("int64",),
}


@lru_cache(32)
def _message_class(message_type: str, source: bytes) -> Any:
    """Find the class of messages of a type; InvalidArgumentError without one."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        from google.protobuf.message import DecodeError
    except ImportError as error:
        text = "messages by a description need the package protobuf: pip install talweg[graphdef]"
        raise ImportError(text) from error

    if source in (b"", _LOCAL):
        pool = descriptor_pool.Default()
    else:
        pool, files = descriptor_pool.DescriptorPool(), descriptor_pb2.FileDescriptorSet()
        try:
            data = source[len(_BYTES) :] if source.startswith(_BYTES) else _read(source)
            files.ParseFromString(data)
            for file in files.file:
                pool.Add(file)
        except (DecodeError, TypeError) as error:
            raise invalid("TW207", f"descriptor_source is no FileDescriptorSet: {error}") from None
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(message_type))
    except KeyError:
        text = f"No descriptor found for message type {message_type}"
        raise invalid("TW207", text, "a type that descriptor_source describes") from None


def _read(source: bytes) -> bytes:
    try:
        return Path(source.decode()).read_bytes()
    except OSError as error:
        raise from_system(error) from None


def _field(message: type[Any], name: str) -> Any:
    found = message.DESCRIPTOR.fields_by_name.get(name)
    if found is None:
        text = f"Unknown field: {name} in message type {message.DESCRIPTOR.full_name}"
        raise invalid("TW207", text, "a field of the message")
    return found


def is_repeated(field: Any) -> bool:
    """Return whether a field has a list of values."""
    own = getattr(field, "is_repeated", None)  # which protobuf has since 6.31
    return field.label == field.LABEL_REPEATED if own is None else own


def _source(descriptor_source: Any) -> bytes:
    return descriptor_source.encode() if isinstance(descriptor_source, str) else descriptor_source


@export("io.decode_proto")
def decode_proto(
    bytes: TensorLike,
    message_type: str,
    field_names: Any,
    output_types: Any,
    descriptor_source: Any = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> tuple:
    """Return fields of messages: (sizes [..., fields], a list of values [..., most] for each
    field).

    bytes: serialized messages of any shape.  output_types: a dtype for each field; of messages and
    texts tf.string.  sizes: how many values each message has of a field; the others are defaults.
    descriptor_source: a file with a FileDescriptorSet, b"bytes://" and such a set, or "local://"
    for messages that Python has loaded.  InvalidArgumentError for fields and types
    that there are not, DataLossError for what is no message.

    >>> import talweg as tf
    >>> record = tf.train.Example().SerializeToString()  # loads the messages
    >>> from google.protobuf import duration_pb2
    >>> text = duration_pb2.Duration(seconds=5).SerializeToString()
    >>> sizes, (seconds,) = tf.io.decode_proto(
    ...     [text], "google.protobuf.Duration", ["seconds"], [tf.int64])
    >>> sizes.numpy(), seconds.numpy()
    (array([[1]], dtype=int32), array([[5]]))
    """
    names, kinds = list(field_names), [as_dtype(kind) for kind in output_types]
    if len(names) != len(kinds):
        raise invalid("TW204", f"{len(names)} field_names and {len(kinds)} output_types", "as many")
    if message_format not in ("binary", "text"):
        raise invalid("TW207", f"message_format {message_format!r}", "'binary' or 'text'")
    message = _message_class(message_type, _source(descriptor_source))
    fields = [_field(message, field) for field in names]
    for field, kind in zip(fields, kinds):
        if kind.name not in _KINDS.get(field.type, ()):
            allowed = " or ".join(_KINDS.get(field.type, ()))
            raise invalid("TW102", f"Unexpected output type for {field.name}: {kind.name}", allowed)

    def kernel(data: np.ndarray) -> list:
        return _decode(data, message, fields, kinds, message_format)

    x = tensor(bytes, string)
    sizes_and_values = numpy_function(kernel, [x], [int32, *kinds])
    dims = [size if isinstance(size, int) else None for size in (x.dims or ())]
    sizes = (
        ensure_shape(sizes_and_values[0], [*dims, len(names)])
        if x.dims is not None
        else sizes_and_values[0]
    )
    return sizes, list(sizes_and_values[1:])


def _decode(data: np.ndarray, message: type[Any], fields: list, kinds: list, form: str) -> list:
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    data, rows = np.asarray(data, object), []
    for text in data.reshape(-1).tolist():
        parsed = message()
        try:
            if form == "text":
                text_format.Parse(text, parsed)
            else:
                parsed.ParseFromString(text)
        except (DecodeError, text_format.ParseError, ValueError, RecursionError) as error:
            reason = compose("TW207", f"Unable to parse message {message.DESCRIPTOR.full_name}")
            raise DataLossError(None, None, f"{reason}: {error}") from None
        rows.append([_values(parsed, field) for field in fields])
    sizes = np.array([[len(own) for own in row] for row in rows], np.int32)
    results = [sizes.reshape(*data.shape, len(fields))]
    for column, (field, kind) in enumerate(zip(fields, kinds)):
        own = [row[column] for row in rows]
        results.append(_fill(own, field, kind).reshape(*data.shape, -1))
    return results


def _values(message: str, field: Any) -> list:
    value = getattr(message, field.name)
    if is_repeated(field):
        found = list(value)
    elif field.has_presence:
        found = [value] if message.HasField(field.name) else []
    else:
        found = [value] if value != field.default_value else []
    if field.message_type is not None:
        return [part.SerializeToString() for part in found]
    return [part.encode() if isinstance(part, str) else part for part in found]


def _fill(rows: list, field: Any, kind: DType) -> np.ndarray:
    longest = max(map(len, rows), default=0) if is_repeated(field) else 1
    default = b"" if kind is string else field.default_value if not is_repeated(field) else 0
    default = default.encode() if isinstance(default, str) else default
    found = np.empty((len(rows), longest), kind.numpy_dtype)
    found[:] = default if default is not None else 0
    for row, own in zip(found, rows):
        row[: len(own)] = own
    return found


@export("io.encode_proto")
def encode_proto(
    sizes: Sequence[Any],
    values: Sequence[Any],
    field_names: Any,
    message_type: str,
    descriptor_source: Any = "local://",
    name: str | None = None,
) -> Any:
    """Encode fields as messages, strings: the inverse of `tf.io.decode_proto`.

    sizes [..., fields]: how many of the values [..., most] of each field are put into each message.
    InvalidArgumentError for fields that there are not, and for shapes that do not fit.

    >>> import talweg as tf
    >>> from google.protobuf import duration_pb2
    >>> text = tf.io.encode_proto(
    ...     [[1]], [tf.constant([[5]], tf.int64)], ["seconds"], "google.protobuf.Duration")
    >>> duration_pb2.Duration.FromString(text.numpy()[0]).seconds
    5
    """
    names = list(field_names)
    message = _message_class(message_type, _source(descriptor_source))
    fields = [_field(message, field) for field in names]
    if len(values) != len(fields):
        raise invalid("TW204", f"{len(fields)} field_names and {len(values)} values", "as many")
    operands = [tensor(sizes, int32), *map(convert_to_tensor, values)]
    for field, value in zip(fields, operands[1:]):
        if value.dtype.name not in _KINDS.get(field.type, ()):
            text = f"Incompatible type for field {field.name}: {value.dtype.name}"
            raise invalid("TW102", text, " or ".join(_KINDS.get(field.type, ())))

    def kernel(counts: np.ndarray, *columns: np.ndarray) -> np.ndarray:
        return _encode(counts, columns, message, fields)

    return numpy_function(kernel, operands, string)


def _encode(counts: np.ndarray, columns: tuple, message: type[Any], fields: list) -> np.ndarray:
    shape = counts.shape[:-1]
    if counts.shape[-1] != len(fields) or any(x.shape[:-1] != shape for x in columns):
        raise invalid("TW204", f"sizes {counts.shape}, values {[x.shape for x in columns]}")
    flat = counts.reshape(-1, len(fields))
    rows = [np.asarray(x).reshape(len(flat), -1) for x in columns]
    found = np.empty(len(flat), object)
    for place, own in enumerate(flat.tolist()):
        made = message()
        for field, column, count in zip(fields, rows, own):
            _put(made, field, column[place, :count].tolist())
        found[place] = made.SerializeToString(deterministic=True)
    return found.reshape(shape)


def _put(made: Any, field: Any, values: list) -> None:
    if field.message_type is not None:
        for value in values:
            target = getattr(made, field.name)
            part = target.add() if is_repeated(field) else target
            part.MergeFromString(value)
        return
    plain = [v.decode() if field.type == field.TYPE_STRING else v for v in values]
    if is_repeated(field):
        getattr(made, field.name).extend(plain)
    elif plain:
        setattr(made, field.name, plain[-1])  # as a reader takes the last


def _from_json(text: bytes) -> bytes:
    example = look_up("train.Example")  # without protobuf its error says what to install
    from google.protobuf import json_format

    try:
        found = json_format.Parse(text, example())
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise invalid("TW207", f"Error while parsing JSON: {error}", "an Example in JSON") from None
    return found.SerializeToString(deterministic=True)


@export("io.decode_json_example", "compat.v1.decode_json_example")
def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Any:
    """Return examples in JSON as the strings of their messages, in the same shape.

    InvalidArgumentError for what is no Example.

    >>> import talweg as tf
    >>> tf.io.decode_json_example("{}").numpy()
    b''
    """
    x = texts(json_examples, "decode_json_example")
    return map_strings(x, Rule(_from_json, string, (), ("DecodeJSONExample", (), {})))
