"""Characters of encoded strings: decoded, encoded, cut apart, looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.sequences import range_ as range_
from talweg.api.array.shapes import reshape, shape, size
from talweg.api.export import export
from talweg.api.math.reductions import reduce_prod
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.api.strings.mapping import map_strings, rule_of, texts
from talweg.api.strings.splitting import as_vector, convert
from talweg.core.dtypes import int32, int64, string
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.kernels.strings import unicode as kernels
from talweg.kernels.strings.scripts import scripts_of
from talweg.prims.strings.mapping import Rule, text_map
from talweg.prims.strings.splitting import unicode_decode as decode
from talweg.prims.strings.splitting import unicode_encode as encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike


def _decode(x: object, encoding: str, policy: kernels.Policy, parts: bool) -> tuple[Any, Any]:
    """Decode characters, or with `parts` a string of each, and where they begin; a row for each
    string.
    """
    vector, place = as_vector(convert(x))
    splits, codes, offsets = decode(vector, encoding=encoding, policy=policy)
    if parts:
        kernels.check_encoding("unicode_split", encoding)
        ends = range_(size(codes, int64) + 1)
        keeping = kernels.Policy("replace", policy.replacement)
        codes = encode(codes, ends, encoding=encoding, policy=keeping)
    rows = RaggedTensor.from_row_splits(codes, splits, validate=False)
    starts = RaggedTensor.from_row_splits(offsets, splits, validate=False)
    return place(rows), place(starts)


@export("strings.unicode_decode")
def unicode_decode(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the characters of each string as int32, a RaggedTensor with one more axis; a scalar's
    vector.

    input_encoding: "UTF-8", "UTF-16-BE", "UTF-32-BE" or any that Python knows; errors: "replace"
    what is no character by `replacement_char`, "ignore" it, or "strict": InvalidArgumentError;
    replace_control_characters: whether those below 32 are replaced, too.

    >>> import talweg as tf
    >>> tf.strings.unicode_decode(["ab", "c"], "UTF-8").to_list()
    [[97, 98], [99]]
    """
    policy = kernels.Policy(errors, replacement_char, replace_control_characters)
    return _decode(input, input_encoding, policy, False)[0]


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Do what `tf.strings.unicode_decode` does, and at which byte each character begins, int64.

    >>> import talweg as tf
    >>> tf.strings.unicode_decode_with_offsets("aöb", "UTF-8")[1].numpy()
    array([0, 1, 3])
    """
    policy = kernels.Policy(errors, replacement_char, replace_control_characters)
    return _decode(input, input_encoding, policy, False)


@export("strings.unicode_split")
def unicode_split(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Tensor:
    """Return the characters of each string, a RaggedTensor with one more axis; of a scalar, a
    vector.

    input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE"; errors as in `tf.strings.unicode_decode`.

    >>> import talweg as tf
    >>> tf.strings.unicode_split("ab", "UTF-8").numpy()
    array([b'a', b'b'], dtype=object)
    """
    return _decode(input, input_encoding, kernels.Policy(errors, replacement_char), True)[0]


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Do what `tf.strings.unicode_split` does, and at which byte each character begins, int64.

    >>> import talweg as tf
    >>> tf.strings.unicode_split_with_offsets("aöb", "UTF-8")[1].numpy()
    array([0, 1, 3])
    """
    return _decode(input, input_encoding, kernels.Policy(errors, replacement_char), True)


@export("strings.unicode_encode")
def unicode_encode(
    input: TensorLike,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Tensor:
    """Return characters, int32, along the last axis as strings: [n] gives a scalar, ragged rows a
    vector.

    output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE"; errors: "replace" what is no character by
    `replacement_char`, "ignore" it, or "strict": InvalidArgumentError.  ValueError for scalars.

    >>> import talweg as tf
    >>> tf.strings.unicode_encode([[72, 105], [111, 107]], "UTF-8").numpy()
    array([b'Hi', b'ok'], dtype=object)
    """
    policy = kernels.Policy(errors, replacement_char)

    def rows(ragged: Any) -> Any:
        values, splits = ragged.values, ragged.row_splits
        return encode(values, splits, encoding=output_encoding, policy=policy)

    return _encode(convert(input), rows)


def _encode(x: TensorLike, rows: Callable[..., Any]) -> Any:
    if isinstance(x, RaggedTensor):
        if isinstance(x.values, RaggedTensor) or x.values.ndim > 1:
            return x.with_values(_encode(x.values, rows))
        return rows(x)
    if x.ndim == 0:
        raise value_error("TW203", "unicode_encode: input has rank 0", "at least a vector")
    sizes = shape(x, int64)
    count = reduce_prod(sizes[:-1])
    ends = range_(count + 1) * sizes[-1]
    found = rows(RaggedTensor.from_row_splits(reshape(x, [-1]), ends, validate=False))
    return reshape(found, sizes[:-1])


def _transcode(s: bytes, source: str, target: str, policy: kernels.Policy) -> bytes:
    return kernels.transcode(s, source, target, policy)


@export("strings.unicode_transcode")
def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Convert strings to another encoding, in the same shape.

    Encodings and errors as in `tf.strings.unicode_decode` and `tf.strings.unicode_encode`.

    >>> import talweg as tf
    >>> tf.strings.unicode_transcode("Hi", "UTF-8", "UTF-16-BE").numpy()
    b'\\x00H\\x00i'
    """
    x = texts(convert(input, string), "unicode_transcode")
    policy = kernels.Policy(errors, replacement_char, replace_control_characters)
    kernels.check_policy("unicode_transcode", policy)
    kernels.check_encoding("unicode_transcode", output_encoding)
    kernels.codec(input_encoding)
    rule = rule_of(
        _transcode,
        (input_encoding, output_encoding, policy),
        "UnicodeTranscode",
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    return map_strings(x, rule)


def _script(character: int) -> int:
    return int(scripts_of(np.array([character]))[0])


@export("strings.unicode_script")
def unicode_script(input: TensorLike, name: str | None = None) -> Any:
    """Return the number of the script of each character, an int32 (ICU's UScriptCode); -1 of no
    character.

    >>> import talweg as tf
    >>> tf.strings.unicode_script([ord("a"), ord("."), ord("я")]).numpy()
    array([25,  0,  8], dtype=int32)
    """
    x = convert(input) if not isinstance(input, (str, bytes)) else tensor(input, int32)
    if x.dtype is not int32:
        raise invalid("TW102", f"unicode_script: input has dtype {x.dtype.name}", "int32")
    rule = Rule(_script, int32, (), ("UnicodeScript", (), {}), whole=scripts_of)
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(text_map(x.flat_values, rule=rule))
    return text_map(x, rule=rule)
