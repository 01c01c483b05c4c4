"""Numbers as strings and back; hashes of strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.api.strings.mapping import map_strings, rule_of, texts
from talweg.core.dtypes import (
    DType,
    as_dtype,
    bool_,
    float32,
    float64,
    int32,
    int64,
    string,
    uint32,
    uint64,
)
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.kernels import fingerprints
from talweg.kernels.strings.native import StringKernel
from talweg.kernels.strings.numbers import format_of, reader

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike

DIGITS = 9  # behind the point that the kernel writes
_READABLE = (float32, float64, int32, int64, uint32, uint64)


class NumberWriter:
    """A function that writes numbers of a dtype as text."""

    def __init__(self, dtype: DType, *form: Any):
        self.key, self.write = (dtype, *form), format_of(dtype, *form)

    def __call__(self, value: TensorLike) -> bytes:
        return self.write(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is NumberWriter and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@export("strings.as_string", "as_string", "dtypes.as_string")
def as_string(
    input: object,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Convert numbers and truth values to text, in C's formats.

    precision: digits behind the point; `scientific` (%e) and `shortest` (%g) choose the form of
    floats; width: the least number of characters; fill: "0", "+", " " or "-" (to the left).
    InvalidArgumentError for what the dtype does not have, and for other fills.

    >>> import talweg as tf
    >>> tf.as_string([3, 25]).numpy()
    array([b'3', b'25'], dtype=object)
    >>> tf.as_string(3.14159, precision=2).numpy()
    b'3.14'
    """
    x = input if isinstance(input, (RaggedTensor, SparseTensor)) else tensor(input)
    if x.dtype.is_quantized:
        raise invalid("TW102", f"as_string: input has dtype {x.dtype.name}", "numbers or strings")
    rule = rule_of(
        NumberWriter(x.dtype, precision, scientific, shortest, width, fill),
        (),
        "AsString",
        kernel=_writing(x.dtype, precision, scientific or shortest or width >= 0 or fill != ""),
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
    )
    return map_strings(x, rule)


def _writing(dtype: DType, precision: int, formed: bool) -> StringKernel | None:
    """Return the kernel that writes numbers of a dtype in the plain form."""
    if formed or precision > DIGITS or dtype in (bool_, string, uint64):
        return None
    if dtype.is_floating:
        return StringKernel("write_float", (6 if precision < 0 else precision,), np.float64)
    return StringKernel("write_integer", (), np.int64) if dtype.is_integer else None


def _reading(dtype: DType) -> StringKernel:
    """Return the kernel that reads plain numbers of a dtype."""
    size = dtype.size
    if dtype.is_floating:
        return StringKernel("float_read", (size,))
    return StringKernel("integer_read", (int(dtype.min), min(int(dtype.max), 2**63 - 1), size))


class NumberReader:
    """A function that reads numbers of a dtype from text."""

    def __init__(self, dtype: DType):
        self.dtype, self.read = dtype, reader(dtype)

    def __call__(self, text: bytes) -> Any:
        return self.read(text)

    def __eq__(self, other: object) -> bool:
        return type(other) is NumberReader and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash(("reader", self.dtype))


@export("strings.to_number")
def to_number(input: TensorLike, out_type: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Return strings as numbers: float32, float64, int32, int64, uint32 or uint64, in the same
    shape.

    Blanks around a number do not count; floats may be hexadecimal, inf and nan, integers are
    decimal.  InvalidArgumentError for what is no number or not one of the dtype.

    >>> import talweg as tf
    >>> tf.strings.to_number(["3.5", " -2 "]).numpy()
    array([ 3.5, -2. ], dtype=float32)
    """
    dtype = as_dtype(out_type)
    if dtype not in _READABLE:
        known = ", ".join([kind.name for kind in _READABLE])
        raise invalid("TW102", f"to_number: out_type {dtype.name}", known)
    rule = rule_of(
        NumberReader(dtype), (), "StringToNumber", dtype, _reading(dtype), out_type=dtype
    )
    return map_strings(texts(input, "to_number"), rule)


@export("compat.v1.strings.to_number", "compat.v1.string_to_number")
def to_number_v1(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Do what `tf.strings.to_number` does; `input` is another name of string_tensor."""
    return to_number(_one_of(string_tensor, input), out_type)


def _one_of(string_tensor: object, other: object) -> Any:
    if string_tensor is not None and other is not None:
        raise value_error("TW104", "both 'string_tensor' and 'input' are given", "one of them")
    return other if string_tensor is None else string_tensor


def _bucket(s: bytes, count: int) -> int:
    return fingerprints.fingerprint(s) % count


def _plain_bucket(s: bytes, count: int) -> int:
    return fingerprints.murmur_hash(s) % count


def _hash_to_bucket(s: bytes, count: int, key: tuple) -> int:
    return fingerprints.siphash(s, *key) % count


_KERNELS = {
    "StringToHashBucket": "plain_bucket",
    "StringToHashBucketFast": "fast_bucket",
    "StringToHashBucketStrong": "strong_bucket",
}


def _hash_buckets(
    x: object, function: str, op: str, bucket: Callable[..., int], count: int, key: tuple = ()
) -> Any:
    """Hash each string to a bucket."""
    count = int(count)
    if count < 1:
        raise invalid("TW207", f"{function}: num_buckets is {count}", "at least 1")
    given = {"num_buckets": count, **({"key": list(key)} if key else {})}
    signed = [part - (1 << 64) if part >> 63 == 1 else part for part in key]
    kernel = StringKernel(_KERNELS[op], (count, *signed))
    rule = rule_of(bucket, (count, key) if key else (count,), op, int64, kernel, **given)
    return map_strings(texts(x, function), rule)


@export("strings.to_hash_bucket")
def to_hash_bucket(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Return a hash of each string modulo the number of buckets, int64: MurmurHash64A.

    >>> import talweg as tf
    >>> int(tf.strings.to_hash_bucket("TensorFlow", 3)) < 3
    True
    """
    op = "StringToHashBucket"
    return _hash_buckets(input, "to_hash_bucket", op, _plain_bucket, num_buckets)


@export("compat.v1.strings.to_hash_bucket", "compat.v1.string_to_hash_bucket")
def to_hash_bucket_v1(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Do what `tf.strings.to_hash_bucket` does; `input` is another name of string_tensor."""
    if num_buckets is None:
        raise type_error("TW104", "to_hash_bucket: num_buckets is missing", "an int")
    return to_hash_bucket(_one_of(string_tensor, input), num_buckets)


@export("strings.to_hash_bucket_fast")
def to_hash_bucket_fast(input: object, num_buckets: int, name: str | None = None) -> Tensor:
    """Return FarmHash of each string, modulo the number of buckets; int64.

    >>> import talweg as tf
    >>> int(tf.strings.to_hash_bucket_fast("TensorFlow", 3))
    2
    """
    op = "StringToHashBucketFast"
    return _hash_buckets(input, "to_hash_bucket_fast", op, _bucket, num_buckets)


@export("strings.to_hash_bucket_strong")
def to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: TensorLike, name: str | None = None
) -> Tensor:
    """Return SipHash of each string under a key of two numbers, modulo the number of buckets;
    int64.

    >>> import talweg as tf
    >>> int(tf.strings.to_hash_bucket_strong("TF", 3, [1, 2]))
    0
    """
    if not isinstance(key, (list, tuple)):
        raise type_error("TW104", f"to_hash_bucket_strong: key {key!r}", "a list of two integers")
    if len(key) != 2:
        raise invalid("TW207", f"to_hash_bucket_strong: key has {len(key)} parts", "two")
    numbers = tuple([int(part) for part in key])
    op = "StringToHashBucketStrong"
    return _hash_buckets(input, "to_hash_bucket_strong", op, _hash_to_bucket, num_buckets, numbers)
