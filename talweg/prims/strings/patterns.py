"""Regular expressions that are tensors (`kernels/strings/regex.py`)."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import bool_, string
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.strings.arrays import each, items
from talweg.kernels.strings.regex import Rewrite, compile_pattern
from talweg.prims.strings.joining import texts

TEXT = NoGradient("strings have no derivative")


def _scalar(function: str, name: str, x: Aval):
    check_dtype(function, name, x.dtype, {string})
    if x.dims:
        raise invalid("TW203", f"{function}: {name} has shape {x.dims}", "a scalar")


@primitive
class regex_replace:
    """z[i] = x[i] with each match of the pattern, or the first, replaced by the rewrite."""

    operands = "x pattern rewrite"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, pattern, rewrite, *, replace_global):
        check_dtype("regex_replace", "input", x.dtype, {string})
        _scalar("regex_replace", "pattern", pattern)
        _scalar("regex_replace", "rewrite", rewrite)
        return x

    def numpy(x, pattern, rewrite, *, replace_global):
        found, written = compile_pattern(items(pattern)[0]), Rewrite(items(rewrite)[0])
        return each(lambda text: found.replace(text, written, replace_global), x)

    samples = (
        Sample(
            texts(b"a1", b"b"),
            np.array(b"[0-9]", object),
            np.array(b"#", object),
            replace_global=True,
            skip=("batch",),
        ),
    )
    rejects = (Reject([], [], [], replace_global=True, code="TW102"),)


@primitive
class regex_full_match:
    """z[i] = whether all of x[i] is a match of the pattern."""

    operands = "x pattern"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, pattern):
        check_dtype("regex_full_match", "input", x.dtype, {string})
        _scalar("regex_full_match", "pattern", pattern)
        return Aval(x.dims, bool_)

    def numpy(x: np.ndarray, pattern):
        matches = compile_pattern(items(pattern)[0]).matches
        return np.array([matches(text) for text in items(x)], bool).reshape(np.shape(x))

    samples = (Sample(texts(b"a1", b"b"), np.array(b"[a-z]", object), skip=("batch",)),)
    rejects = (Reject([], [], code="TW102"),)
