"""tf.raw_ops of strings whose results are the parts of sparse or ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.strings.joining import string_format
from talweg.core.dtypes import string
from talweg.kernels.strings.unicode import Policy
from talweg.prims.strings import joining, splitting

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


def ngrams(
    data: Tensor,
    data_splits: Tensor,
    separator: str,
    ngram_widths: list[Any],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> tuple:
    """Make n-grams and their splits."""
    return joining.string_ngrams(
        tensor(data, string),
        tensor(data_splits),
        widths=tuple([int(width) for width in ngram_widths]),
        separator=separator,
        pads=(left_pad, right_pad),
        padding=int(pad_width),
        preserve_short=bool(preserve_short_sequences),
    )


def split(input: Tensor, delimiter: Tensor, skip_empty: bool) -> tuple:
    """Split strings at any of the bytes of a delimiter: indices, values and dense shape."""
    x, mark = tensor(input, string), tensor(delimiter, string)
    return splitting.string_split_at(x, mark, skip_empty=bool(skip_empty))


def split_at_separator(input: Tensor, sep: Tensor, maxsplit: int) -> tuple:
    """Split strings at a separator: indices, values and dense shape of the words."""
    return splitting.string_split(tensor(input, string), tensor(sep, string), maxsplit=maxsplit)


def decode(
    input: TensorLike,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> tuple:
    """Decode strings: row splits, characters and where each begins."""
    policy = Policy(errors, replacement_char, bool(replace_control_characters))
    return splitting.unicode_decode(tensor(input, string), encoding=input_encoding, policy=policy)


def decode_without_offsets(
    input: list[Any],
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> tuple:
    """Decode strings: row splits and characters."""
    given = (input, input_encoding, errors, replacement_char, replace_control_characters)
    return tuple(decode(*given))[:2]


def encode(
    input_values: Tensor,
    input_splits: Tensor,
    output_encoding: str,
    errors: str,
    replacement_char: int,
) -> Any:
    """Return the strings of rows of characters."""
    values, splits = tensor(input_values), tensor(input_splits)
    policy = Policy(errors, replacement_char)
    return splitting.unicode_encode(values, splits, encoding=output_encoding, policy=policy)


def format_text(inputs: list[Tensor], template: str, placeholder: str, summarize: int) -> Any:
    """Return the template with each input in place of a placeholder."""
    return string_format(template, [tensor(x) for x in inputs], placeholder, summarize)
