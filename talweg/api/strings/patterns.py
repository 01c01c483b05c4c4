"""Regular expressions: replacement and complete matches, in time linear in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.api.strings.mapping import map_strings, rule_of, texts
from talweg.core.dtypes import bool_, string
from talweg.core.value import Tensor
from talweg.kernels.strings import regex
from talweg.prims.strings import patterns

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _encode(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _replace(s: bytes, pattern: bytes, rewrite: regex.Rewrite, everywhere: bool) -> bytes:
    return regex.compile_pattern(pattern).replace(s, rewrite, everywhere)


@export("strings.regex_replace", "compat.v1.regex_replace")
def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Replace every match of `pattern` (or the first); ``\1`` in `rewrite` is a group.

    pattern and rewrite: scalar strings, in RE2's syntax.  The time is linear in the text for any
    pattern.  InvalidArgumentError for what is no pattern.

    >>> import talweg as tf
    >>> tf.strings.regex_replace("a1b2", "[0-9]", "_").numpy()
    b'a_b_'
    """
    x = texts(input, "regex_replace")
    if not isinstance(pattern, (str, bytes)) or not isinstance(rewrite, (str, bytes)):
        operands = tensor(pattern, string), tensor(rewrite, string)
        if isinstance(x, RaggedTensor):
            replaced = patterns.regex_replace(
                x.flat_values, *operands, replace_global=bool(replace_global)
            )
            return x.with_flat_values(replaced)  # type: ignore
        return patterns.regex_replace(x, *operands, replace_global=bool(replace_global))
    written, everywhere = regex.Rewrite(_encode(rewrite)), bool(replace_global)
    kernel = regex.compile_pattern(_encode(pattern)).replacement_kernel(written, everywhere)
    rule = rule_of(
        _replace,
        (_encode(pattern), written, everywhere),
        "StaticRegexReplace",
        kernel=kernel,
        pattern=pattern,
        rewrite=rewrite,
        replace_global=replace_global,
    )
    return map_strings(x, rule)


def _matches(s: bytes, pattern: bytes) -> bool:
    return regex.compile_pattern(pattern).matches(s)


@export("strings.regex_full_match")
def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Return whether all of each string is a match of `pattern`, a scalar string; bool.

    The time is linear in the text for any pattern.  InvalidArgumentError for what is no pattern.

    >>> import talweg as tf
    >>> tf.strings.regex_full_match(["ab1", "abc"], "[a-z]+").numpy()
    array([False,  True])
    """
    x = texts(input, "regex_full_match")
    if not isinstance(pattern, (str, bytes)):
        operand = tensor(pattern, string)
        if isinstance(x, RaggedTensor):
            matches = patterns.regex_full_match(x.flat_values, operand)
            return x.with_flat_values(matches)  # type: ignore
        return patterns.regex_full_match(x, operand)
    kernel = regex.compile_pattern(_encode(pattern)).match_kernel()
    rule = rule_of(
        _matches, (_encode(pattern),), "StaticRegexFullMatch", bool_, kernel, pattern=pattern
    )
    return map_strings(x, rule)
