"""tf.io: files as strings, and strings as numbers or other strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, string
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims.io import encoded

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


@export("io.read_file")
def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """Read a file as a scalar string; NotFoundError if there is none.

    >>> import pathlib, tempfile
    >>> import talweg as tf
    >>> path = str(pathlib.Path(tempfile.mkdtemp(), "folder", "file"))
    >>> tf.io.write_file(path, "text")
    >>> tf.io.read_file(path).numpy()
    b'text'
    """
    return encoded.read_file(tensor(filename, string))


@export("io.write_file")
def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Any:
    """Write a string to a file, which is made anew, with its folders; in graphs, an operation."""
    done = encoded.write_file(tensor(filename, string), tensor(contents, string))
    return None if dispatch.context.base is None else done.op


@export("io.matching_files")
def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Return the names of the files that fit a pattern, or any of some, in order."""
    return encoded.matching_files(tensor(pattern, string))


@export("io.match_filenames_once", "compat.v1.train.match_filenames_once")
def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Any:
    """Return a variable with the names of the files that fit a pattern, found when it is
    initialized.

    In a graph of TensorFlow 1 it is a local variable.

    >>> import talweg as tf
    >>> tf.io.match_filenames_once("/there/is/none*").numpy()
    array([], dtype=object)
    """
    if dispatch.context.base is None or dispatch.context.base.building_function:
        return look_up("Variable")(
            matching_files(pattern), trainable=False, name=name, dtype=string, shape=[None]
        )
    return look_up("compat.v1.Variable")(
        matching_files(pattern),
        trainable=False,
        collections=["local_variables"],
        validate_shape=False,
        name=name,
    )


_NUMBERS = (
    "float16",
    "float32",
    "float64",
    "int32",
    "uint16",
    "uint8",
    "int16",
    "int8",
    "int64",
    "complex64",
    "complex128",
    "bool",
    "bfloat16",
)


@export("io.decode_raw")
def decode_raw(
    input_bytes: TensorLike | None,
    out_type: DTypeLike | None,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the bytes of strings as numbers: [...] gives [..., n].

    All strings must be of one length; with fixed_length they are cut, or filled up with zeros, to
    so many bytes.

    >>> import talweg as tf
    >>> tf.io.decode_raw(b"\\x01\\x00\\x02\\x00", tf.uint16).numpy()
    array([1, 2], dtype=uint16)
    """
    dtype = as_dtype(out_type)
    if dtype.name not in _NUMBERS:
        raise invalid("TW102", f"decode_raw: out_type {dtype.name}", ", ".join(_NUMBERS))
    return encoded.decode_raw(
        tensor(input_bytes, string), dtype=dtype, little=bool(little_endian), length=fixed_length
    )


@export("compat.v1.decode_raw", "compat.v1.io.decode_raw")
def decode_raw_v1(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Any:
    """Do what `tf.io.decode_raw` does, without fixed_length."""
    return decode_raw(bytes if input_bytes is None else input_bytes, out_type, little_endian)


@export("io.encode_base64")
def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Return strings in base64, in the letters for addresses (- and _); `pad`: with = at the end.

    >>> import talweg as tf
    >>> tf.io.encode_base64(b"ab?>").numpy()
    b'YWI_Pg'
    """
    code = "EncodeBase64Padded" if pad else "EncodeBase64"
    return encoded.recoded(tensor(input, string), code=code)


@export("io.decode_base64")
def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Return strings that were in base64; InvalidArgumentError for what is not."""
    return encoded.recoded(tensor(input, string), code="DecodeBase64")


@export("io.decode_compressed")
def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """Return strings that were compressed: "ZLIB", "GZIP" or "" (as they are).

    DataLossError for strings that were not.
    """
    if compression_type not in ("", "NONE", "ZLIB", "GZIP"):
        raise invalid("TW207", f"compression_type {compression_type!r}", "ZLIB, GZIP or ''")
    code = "" if compression_type == "NONE" else compression_type
    return encoded.recoded(tensor(bytes, string), code=code)
