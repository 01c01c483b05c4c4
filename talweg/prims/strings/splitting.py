"""Strings split into words, and the characters of encoded strings.

Words are given as TensorFlow's operations give them: the indices, values and dense shape of a
sparse matrix, a row for each string.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import int32, int64, string
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.strings import unicode
from talweg.kernels.strings.arrays import items
from talweg.kernels.strings.words import as_sparse, parts_of, words_of
from talweg.prims.strings.joining import texts

TEXT = NoGradient("strings have no derivative")
_REPLACE = unicode.Policy()


def _sparse(function, x, separator):
    check_dtype(function, "input", x.dtype, {string})
    check_dtype(function, "sep", separator.dtype, {string})
    if x.dims is not None and len(x.dims) != 1:
        raise invalid("TW203", f"{function}: input must be a vector, got shape {x.dims}", "[n]")
    return [Aval((None, 2), int64), Aval((None,), string), Aval((2,), int64)]


def _mark(separator: np.ndarray):
    if np.ndim(separator):
        raise invalid("TW203", f"sep must be a scalar, got shape {np.shape(separator)}", "a scalar")
    return items(separator)[0]


@primitive
class string_split:
    """Words between a separator; between blanks if it is empty.   x [n], sep [] -> a sparse matrix.

    `maxsplit` -1 or less is no limit.
    """

    operands = "x sep"
    tf_type = "StringSplitV2"
    multiple = True
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, sep, *, maxsplit):
        return _sparse("strings.split", x, sep)

    def numpy(x, sep, *, maxsplit):
        return as_sparse(words_of(x, _mark(sep), maxsplit))

    samples = (Sample(texts(b"a b", b"c"), np.array(b" ", object), maxsplit=-1, skip=("batch",)),)
    rejects = (Reject([], [], maxsplit=-1, code="TW102"),)


@primitive
class string_split_at:
    """Words between any of the bytes of `delimiter`; bytes, if that is empty.   As above."""

    operands = "x delimiter"
    tf_type = "StringSplit"
    multiple = True
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, delimiter, *, skip_empty):
        return _sparse("string_split", x, delimiter)

    def numpy(x, delimiter, *, skip_empty):
        return as_sparse(parts_of(x, _mark(delimiter), skip_empty))

    samples = (
        Sample(texts(b"a,b", b"c"), np.array(b",;", object), skip_empty=True, skip=("batch",)),
    )
    rejects = (Reject([], [], skip_empty=True, code="TW102"),)


@primitive
class unicode_decode:
    """Characters of strings: x [n] -> row splits [n + 1], characters, where each begins."""

    operands = "x"
    tf_type = "UnicodeDecodeWithOffsets"
    multiple = True
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, *, encoding, policy):
        check_dtype("unicode_decode", "input", x.dtype, {string})
        unicode.check_policy("unicode_decode", policy)
        rows = None if x.dims is None else x.dims[0] + 1
        return [Aval((rows,), int64), Aval((None,), int32), Aval((None,), int64)]

    def numpy(x, *, encoding, policy):
        characters, splits, places = unicode.decode_all(x, encoding, policy)
        return splits, characters, places

    samples = (Sample(texts(b"ab", b""), encoding="UTF-8", policy=_REPLACE, skip=("batch",)),)
    rejects = (Reject([], encoding="UTF-8", policy=_REPLACE, code="TW102"),)


@primitive
class unicode_encode:
    """Strings of rows of characters: codes [n], splits [rows + 1] -> [rows]."""

    operands = "codes splits"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(codes, splits, *, encoding, policy):
        check_dtype("unicode_encode", "input", codes.dtype, {int32})
        unicode.check_policy("unicode_encode", policy)
        unicode.check_encoding("unicode_encode", encoding)
        return Aval((splits.dims[0] - 1,), string)

    def numpy(codes: np.ndarray, splits, *, encoding, policy):
        return unicode.encode_all(codes, splits, encoding, policy)

    samples = (
        Sample(
            np.array([97, 98], np.int32),
            np.array([0, 2]),
            encoding="UTF-8",
            policy=_REPLACE,
            skip=("batch",),
        ),
    )
    rejects = (Reject([], [], encoding="UTF-8", policy=_REPLACE, code="TW102"),)
