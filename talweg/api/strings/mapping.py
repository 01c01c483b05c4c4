"""Functions of each string alone: case, replacement, parts, hashes, numbers as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.dtypes import DType, int32, int64, string
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.kernels import fingerprints
from talweg.prims.strings import Rule, characters, check_unit, part, substring, text_map


def mapped(x: Any, rule: Rule) -> Any:
    """`rule` on the elements of a tensor, or of the values of a sparse or ragged one."""
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(text_map(tensor(x.flat_values), rule=rule))
    if isinstance(x, SparseTensor):
        return x.with_values(text_map(x.values, rule=rule))
    return text_map(tensor(x), rule=rule)


def _rule(
    apply: Callable[..., Any], arguments: tuple, op: str, dtype: DType = string, **attributes: Any
) -> Rule:
    """A rule that TensorFlow has as an operation of this type."""
    return Rule(apply, dtype, arguments, (op, (), attributes))


def _texts(x: Any, function: str) -> Any:
    x = x if isinstance(x, (Tensor, RaggedTensor, SparseTensor)) else tensor(x, string)
    if x.dtype is not string:
        raise invalid("TW102", f"{function}: input has dtype {x.dtype.name}", "string")
    return x


def _lower(s: bytes, encoding: str) -> bytes:
    return s.decode(errors="replace").lower().encode() if encoding else s.lower()


def _upper(s: bytes, encoding: str) -> bytes:
    return s.decode(errors="replace").upper().encode() if encoding else s.upper()


def _check_encoding(encoding: str) -> None:
    if encoding not in ("", "utf-8"):
        raise invalid("TW207", f"encoding {encoding!r}", "'' or 'utf-8'")


@export("strings.lower")
def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """In small letters: those of ASCII, or of Unicode with encoding "utf-8".

    >>> import talweg as tf
    >>> tf.strings.lower(["Ab"]).numpy()
    array([b'ab'], dtype=object)
    """
    _check_encoding(encoding)
    rule = _rule(_lower, (encoding,), "StringLower", encoding=encoding)
    return mapped(_texts(input, "lower"), rule)


@export("strings.upper")
def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """In capitals: those of ASCII, or of Unicode with encoding "utf-8".

    >>> import talweg as tf
    >>> tf.strings.upper("ab").numpy()
    b'AB'
    """
    _check_encoding(encoding)
    rule = _rule(_upper, (encoding,), "StringUpper", encoding=encoding)
    return mapped(_texts(input, "upper"), rule)


@export("strings.strip")
def strip(input: Any, name: str | None = None) -> Any:
    """Without the blanks at both ends.

    >>> import talweg as tf
    >>> tf.strings.strip(" a ").numpy()
    b'a'
    """
    return mapped(_texts(input, "strip"), _rule(bytes.strip, (), "StringStrip"))


def _replaced(s: bytes, pattern: str, rewrite: str, count: int) -> bytes:
    return re.sub(pattern.encode(), rewrite.encode(), s, count=count)


@export("strings.regex_replace")
def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Any:
    r"""Every match of `pattern` (or the first) replaced; ``\1`` in `rewrite` is a group.

    >>> import talweg as tf
    >>> tf.strings.regex_replace("a1b2", "[0-9]", "_").numpy()
    b'a_b_'
    """
    arguments = (pattern, rewrite, 0 if replace_global else 1)
    rule = _rule(
        _replaced,
        arguments,
        "StaticRegexReplace",
        pattern=pattern,
        rewrite=rewrite,
        replace_global=replace_global,
    )
    return mapped(_texts(input, "regex_replace"), rule)


def _matches(s: bytes, pattern: str) -> bool:
    return re.fullmatch(pattern.encode(), s) is not None


@export("strings.length")
def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """The number of bytes, or of characters with unit "UTF8_CHAR".

    >>> import talweg as tf
    >>> int(tf.strings.length("abc"))
    3
    """
    check_unit("length", unit)
    measure = len if unit == "BYTE" else _characters
    return mapped(_texts(input, "length"), _rule(measure, (), "StringLength", int32, unit=unit))


def _characters(s: bytes) -> int:
    return len(characters(s))


@export("strings.substr")
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """`len` bytes (or characters with unit "UTF8_CHAR") from `pos` on, which may be negative.

    pos, len: integers of one shape, broadcast with the strings.  InvalidArgumentError for a `pos`
    outside the string.

    >>> import talweg as tf
    >>> tf.strings.substr("hello", 1, 3).numpy()
    b'ell'
    """
    check_unit("substr", unit)
    if isinstance(pos, int) and isinstance(len, int):
        form = ("Substr", (np.int32(pos), np.int32(len)), {"unit": unit})
        rule = Rule(part, string, (int(pos), int(len), unit), form)
        return mapped(_texts(input, "substr"), rule)
    start, size = tensor(pos), tensor(len)
    for number in (start, size):
        if number.dtype not in (int32, int64) or number.dtype is not start.dtype:
            raise invalid(
                "TW102",
                f"substr: pos {start.dtype.name}, len {size.dtype.name}",
                "both int32 or both int64",
            )
    return substring(_texts(input, "substr"), start, size, unit=unit)


def _bucket(s: bytes, count: int) -> int:
    return fingerprints.fingerprint(s) % count


def _keyed_bucket(s: bytes, count: int, key: tuple) -> int:
    return fingerprints.keyed(s, key) % count


def _check_buckets(count: int) -> None:
    if count < 1:
        raise invalid("TW207", f"num_buckets is {count}", "at least 1")


@export("strings.to_hash_bucket_fast")
def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """FarmHash of each string, modulo the number of buckets; int64.

    >>> import talweg as tf
    >>> int(tf.strings.to_hash_bucket_fast("TensorFlow", 3))
    2
    """
    _check_buckets(num_buckets)
    count = int(num_buckets)
    rule = _rule(_bucket, (count,), "StringToHashBucketFast", int64, num_buckets=count)
    return mapped(_texts(input, "to_hash_bucket_fast"), rule)


@export("strings.to_hash_bucket_strong")
def to_hash_bucket_strong(input: Any, num_buckets: int, key: Any, name: str | None = None) -> Any:
    """SipHash of each string under a key of two numbers, modulo the number of buckets; int64.

    >>> import talweg as tf
    >>> int(tf.strings.to_hash_bucket_strong("TF", 3, [1, 2]))
    0
    """
    _check_buckets(num_buckets)
    count, numbers = int(num_buckets), tuple([int(part) for part in key])
    rule = _rule(
        _keyed_bucket,
        (count, numbers),
        "StringToHashBucketStrong",
        int64,
        num_buckets=count,
        key=list(numbers),
    )
    return mapped(_texts(input, "to_hash_bucket_strong"), rule)


def _as_text(value: Any, form: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return (form % value).encode()


@export("strings.as_string", "as_string", "dtypes.as_string")
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Numbers and truth values as text.

    precision: digits behind the point; `scientific` and `shortest` choose the form of floats;
    width and fill pad.

    >>> import talweg as tf
    >>> tf.as_string([3, 25]).numpy()
    array([b'3', b'25'], dtype=object)
    """
    x = input if isinstance(input, (RaggedTensor, SparseTensor)) else tensor(input)
    letter = "d" if x.dtype.is_integer else "e" if scientific else "g" if shortest else "f"
    width_text = f"{fill}{width}" if width >= 0 else ""
    digits = f".{precision}" if precision >= 0 else ""
    rule = _rule(
        _as_text,
        (f"%{width_text}{digits}{letter}",),
        "AsString",
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
    )
    return mapped(x, rule)
