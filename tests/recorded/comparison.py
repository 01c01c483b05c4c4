"""Whether two descriptions agree; the first difference in words where they do not.

Integers, booleans, text, kinds, dtypes, shapes and structure are compared exactly, floating-point
numbers within the tolerance of their dtype. NaN equals NaN; the sign of zero is ignored.
"""

import math

import numpy as np

from .description import ARRAY_KINDS, dtype_name, text_of

TOLERANCES = {  # dtype: (relative, absolute)
    "float64": (1e-9, 1e-10),
    "complex128": (1e-9, 1e-10),
    "float32": (1e-5, 1e-6),
    "complex64": (1e-5, 1e-6),
    "float16": (2e-3, 2e-4),
    "bfloat16": (1.6e-2, 1e-3),
}


def difference(got, wanted, flags, path="value"):
    """What is different, in words, or None."""
    if isinstance(wanted, dict):
        return _dict_difference(got, wanted, flags, path)
    if isinstance(wanted, list):
        return _list_difference(got, wanted, flags, path)
    if type(got) is not type(wanted):
        return f"{path}: got {got!r}, wanted {wanted!r}"
    if isinstance(wanted, float):
        same = "loose" in flags or _close(np.float64(got), np.float64(wanted), "float64", flags)
        return None if same else f"{path}: got {got!r}, wanted {wanted!r}"
    return None if got == wanted else f"{path}:\n  got    {got!r}\n  wanted {wanted!r}"


def _dict_difference(got, wanted, flags, path):
    if "raises" in wanted:
        return _error_difference(got, wanted, flags, path)
    if not isinstance(got, dict) or _kind(got) != _kind(wanted):
        return f"{path}: got {summary(got)}, wanted {summary(wanted)}"
    for kind in ARRAY_KINDS:
        if kind in wanted:
            return _array_difference(got[kind], wanted[kind], flags, path)
    for key, value in wanted.items():
        if key == "namedtuple":
            continue
        found = difference(got.get(key), value, flags, f"{path}.{key}")
        if found:
            return found
    return None


def _kind(tree):
    """What kind of thing this describes."""
    return next(iter(tree), None)


def _list_difference(got, wanted, flags, path):
    if not isinstance(got, list) or len(got) != len(wanted):
        return f"{path}: got {summary(got)}, wanted {summary(wanted)}"
    for index, (one, other) in enumerate(zip(got, wanted)):
        found = difference(one, other, flags, f"{path}[{index}]")
        if found:
            return found
    return None


def _error_difference(got, wanted, flags, path):
    if not (isinstance(got, dict) and "raises" in got):
        return f"{path}: got {summary(got)}, wanted {summary(wanted)}"
    if "any-error" in flags or wanted["raises"] in got["classes"]:
        return None
    return f"{path}: got {summary(got)}, wanted {summary(wanted)}"


def _array_difference(got, wanted, flags, path):
    dtypes = [dtype_name(array) for array in (got, wanted)]
    if dtypes[0] != dtypes[1]:
        return f"{path}: got dtype {dtypes[0]}, wanted {dtypes[1]}"
    if got.shape != wanted.shape:
        return f"{path}: got shape {list(got.shape)}, wanted {list(wanted.shape)}"
    if "loose" in flags or not _differing(got, wanted, dtypes[0], flags):
        return None
    return f"{path} ({dtypes[0]}):\n  got    {_short(got)}\n  wanted {_short(wanted)}"


def _differing(got, wanted, dtype, flags):
    """Whether any element differs by more than its tolerance."""
    if dtype == "string":
        return [text_of(v) for v in got.reshape(-1)] != [text_of(v) for v in wanted.reshape(-1)]
    if dtype not in TOLERANCES:
        return not np.array_equal(got, wanted)
    if dtype in ("float16", "bfloat16"):
        got, wanted = got.astype(np.float32), wanted.astype(np.float32)
    return not _close(got, wanted, dtype, flags)


def _close(got, wanted, dtype, flags):
    """Within tolerance everywhere; infinities and NaN in the same places."""
    relative, absolute = TOLERANCES[dtype]
    relative = max(relative, flags.get("rtol", 0.0))
    absolute = max(absolute, flags.get("atol", 0.0))
    with np.errstate(all="ignore"):
        if np.iscomplexobj(wanted):
            return _close_complex(got, wanted, relative, absolute)
        return np.allclose(got, wanted, rtol=relative, atol=absolute, equal_nan=True)


def _close_complex(got, wanted, relative, absolute):
    """Complex numbers by distance where finite, part by part where not."""
    finite = np.isfinite(wanted)
    near = np.abs(got - wanted) <= absolute + relative * np.abs(wanted)
    parts = np.ones_like(finite)
    for part in (np.real, np.imag):
        parts = parts & np.isclose(part(got), part(wanted), relative, absolute, equal_nan=True)
    return bool(np.all(np.where(finite, near, parts)))


def _short(array, limit=300):
    """An array on one line."""
    text = " ".join(str(array.reshape(-1).tolist()).split())
    text = text if len(text) <= limit else text[:limit] + " ..."
    return f"{text} shape {list(array.shape)}"


def summary(tree, limit=300):
    """A description for a message."""
    if isinstance(tree, dict) and "raises" in tree:
        return f"{tree['raises']}({tree.get('message', '')!r})"
    if isinstance(tree, dict) and _kind(tree) in ARRAY_KINDS:
        kind = _kind(tree)
        return f"{kind} {dtype_name(tree[kind])} {_short(tree[kind])}"
    if isinstance(tree, float) and math.isnan(tree):
        return "nan"
    text = repr(tree)
    return text if len(text) <= limit else text[:limit] + " ..."
