"""Functions of each string alone: case, blanks, lengths, parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.core.dtypes import DType, int32, int64, string
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.variable import Variable
from talweg.kernels.strings.native import StringKernel
from talweg.prims.strings.mapping import (
    ArrayKernel,
    Rule,
    characters,
    check_unit,
    part,
    substring,
    text_map,
)

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def map_strings(x: TensorLike, rule: Rule) -> Any:
    """Apply `rule` to the elements of a tensor, or of the values of a sparse or ragged one."""
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(text_map(tensor(x.flat_values), rule=rule))
    if isinstance(x, SparseTensor):
        return x.with_values(text_map(x.values, rule=rule))
    return text_map(tensor(x), rule=rule)


def rule_of(
    apply: Callable[..., Any],
    arguments: tuple,
    op: str,
    dtype: DType = string,
    kernel: ArrayKernel | None = None,
    **attributes: object,
) -> Rule:
    """Return a rule that TensorFlow has as an operation of this type."""
    return Rule(apply, dtype, arguments, (op, (), attributes), kernel=kernel)


def texts(x: Any, function: str) -> Any:
    """Return a tensor of strings, dense, sparse or ragged;
    InvalidArgumentError for another dtype.
    """
    x = x if isinstance(x, (Tensor, RaggedTensor, SparseTensor)) else tensor(x, string)
    if x.dtype is not string:
        raise invalid("TW102", f"{function}: input has dtype {x.dtype.name}", "string")
    return x


def _lower(s: bytes, encoding: str) -> bytes:
    return s.decode(errors="replace").lower().encode() if encoding else s.lower()


def _upper(s: bytes, encoding: str) -> bytes:
    return s.decode(errors="replace").upper().encode() if encoding else s.upper()


_STRIP = rule_of(bytes.strip, (), "StringStrip", kernel=StringKernel("strip"))


def _check_encoding(encoding: str) -> None:
    if encoding not in ("", "utf-8"):
        raise invalid("TW207", f"encoding {encoding!r}", "'' or 'utf-8'")


@export("strings.lower")
def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert to small letters: those of ASCII, or of Unicode with encoding "utf-8".

    >>> import talweg as tf
    >>> tf.strings.lower(["Ab"]).numpy()
    array([b'ab'], dtype=object)
    """
    _check_encoding(encoding)
    kernel = None if encoding else StringKernel("change_case", (ord("A"), ord("Z")))
    rule = rule_of(_lower, (encoding,), "StringLower", kernel=kernel, encoding=encoding)
    return map_strings(texts(input, "lower"), rule)


@export("strings.upper")
def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert to capitals: those of ASCII, or of Unicode with encoding "utf-8".

    >>> import talweg as tf
    >>> tf.strings.upper("ab").numpy()
    b'AB'
    """
    _check_encoding(encoding)
    kernel = None if encoding else StringKernel("change_case", (ord("a"), ord("z")))
    rule = rule_of(_upper, (encoding,), "StringUpper", kernel=kernel, encoding=encoding)
    return map_strings(texts(input, "upper"), rule)


@export("strings.strip")
def strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Strip the blanks at both ends.

    >>> import talweg as tf
    >>> tf.strings.strip(" a ").numpy()
    b'a'
    """
    return map_strings(texts(input, "strip"), _STRIP)


@export("compat.v1.strings.length")
def length_v1(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Do what `tf.strings.length` does."""
    return length(input, unit)


@export("strings.length")
def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Return the number of bytes, or of characters with unit "UTF8_CHAR".

    >>> import talweg as tf
    >>> int(tf.strings.length("abc"))
    3
    """
    check_unit("length", unit)
    in_bytes = unit == "BYTE"
    measure = len if in_bytes else _characters
    kernel = StringKernel("count_bytes" if in_bytes else "count_characters")
    rule = rule_of(measure, (), "StringLength", int32, kernel, unit=unit)
    return map_strings(texts(input, "length"), rule)


def _characters(s: bytes) -> int:
    return len(characters(s))


@export("compat.v1.strings.substr", "compat.v1.substr")
def substr_v1(
    input: TensorLike, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """Do what `tf.strings.substr` does."""
    return substr(input, pos, len, unit)


@export("strings.substr")
def substr(
    input: TensorLike, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """Return `len` bytes (or characters with unit "UTF8_CHAR") from `pos` on, which may be
    negative.

    pos, len: integers of one shape, broadcast with the strings.  InvalidArgumentError for a `pos`
    outside the string.

    >>> import talweg as tf
    >>> tf.strings.substr("hello", 1, 3).numpy()
    b'ell'
    """
    check_unit("substr", unit)
    if isinstance(pos, int) and isinstance(len, int):
        form = ("Substr", (np.int32(pos), np.int32(len)), {"unit": unit})
        kernel = StringKernel(f"take_{'bytes' if unit == 'BYTE' else 'characters'}", (pos, len))
        rule = Rule(part, string, (int(pos), int(len), unit), form, kernel=kernel)
        return map_strings(texts(input, "substr"), rule)
    kind = next((each.dtype for each in (pos, len) if isinstance(each, (Tensor, Variable))), None)
    start, size = tensor(pos, hint=kind), tensor(len, hint=kind)
    for number in (start, size):
        if number.dtype not in (int32, int64) or number.dtype is not start.dtype:
            raise invalid(
                "TW102",
                f"substr: pos {start.dtype.name}, len {size.dtype.name}",
                "both int32 or both int64",
            )
    return substring(texts(input, "substr"), start, size, unit=unit)
