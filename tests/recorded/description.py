"""What a case gave, as a tree of plain values that can be written down and compared.

A description is JSON, with NumPy arrays at some leaves: None, bool, int, float, str and list stand
for themselves; everything else is a one-kind dictionary such as `{"tensor": array}`,
`{"tuple": [...]}`, `{"dtype": "float32"}`, `{"raises": "ValueError", "message": ...}`.
`encode` makes pure JSON of it, `decode` undoes that.
"""

import builtins
import re

import numpy as np

_INCIDENTAL = re.compile(r"\{\{function_node [^}]*\}\} ?| at 0x[0-9a-f]+| ?Traceback.*$|/\S+\.py")
ARRAY_KINDS = ("tensor", "variable", "array", "scalar")


def run(case, tf, namespace):
    """Evaluate a case in a copy of the namespace; describe its value or its exception."""
    names = dict(namespace)
    before, last = case.code()
    try:
        exec(before, names)
        return describe(eval(last, names), tf)
    except Exception as error:  # every exception is an answer
        return {
            "raises": _public_class(error, tf),
            "message": _first_lines(error),
            "classes": [kind.__name__ for kind in type(error).__mro__[:-2]],
        }


def describe(value, tf):
    """The description of a value, whichever module made it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value if type(value) in (type(None), bool, int, str) else _named(value)
    for kind, members in _COMPOSITES:
        if _is(value, tf, kind):
            return {kind: {name: describe(get(value), tf) for name, get in members}}
    for matches, form in _FORMS:
        if matches(value, tf):
            return form(value, tf)
    return {"object": type(value).__name__}


def _is(value, tf, name):
    """Whether the value is an instance of a class that this module may lack."""
    kind = getattr(tf, name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _named(value):
    """Subclasses of Python's scalars (enumerations, NumPy's float64): by class name."""
    return {"object": type(value).__name__}


def _array(kind):
    """The form of something with a `numpy()`: its array."""
    return lambda value, tf: {kind: np.asarray(value.numpy())}


def _shape(value, tf):
    return {"TensorShape": "unknown" if value.rank is None else value.as_list()}


def _namedtuple(value, tf):
    fields = [[name, describe(getattr(value, name), tf)] for name in value._fields]
    return {"namedtuple": type(value).__name__, "fields": fields}


def _mapping(value, tf):
    pairs = [[describe(k, tf), describe(v, tf)] for k, v in value.items()]
    return {"dict": pairs, "class": type(value).__name__}


def _spec(value, tf):
    name = type(value).__name__
    return {
        name: {
            "shape": describe(value.shape, tf),
            "dtype": describe(value.dtype, tf),
            "name": getattr(value, "name", None),
        }
    }


_COMPOSITES = (
    (
        "IndexedSlices",
        (
            ("values", lambda s: s.values),
            ("indices", lambda s: s.indices),
            ("dense_shape", lambda s: s.dense_shape),
        ),
    ),
    (
        "SparseTensor",
        (
            ("indices", lambda s: s.indices),
            ("values", lambda s: s.values),
            ("dense_shape", lambda s: s.dense_shape),
        ),
    ),
    (
        "RaggedTensor",
        (
            ("flat_values", lambda r: r.flat_values),
            ("row_splits", lambda r: list(r.nested_row_splits)),
        ),
    ),
)

_FORMS = (
    (lambda v, tf: _is(v, tf, "Variable"), _array("variable")),
    (lambda v, tf: _is(v, tf, "Tensor"), _array("tensor")),
    (lambda v, tf: isinstance(v, np.ndarray), lambda v, tf: {"array": v}),
    (lambda v, tf: isinstance(v, np.generic), lambda v, tf: {"scalar": np.asarray(v)}),
    (lambda v, tf: type(v) is float, lambda v, tf: v),
    (lambda v, tf: type(v) is complex, lambda v, tf: {"complex": [v.real, v.imag]}),
    (lambda v, tf: type(v) is bytes, lambda v, tf: {"bytes": text_of(v)}),
    (lambda v, tf: isinstance(v, list), lambda v, tf: [describe(part, tf) for part in v]),
    (lambda v, tf: hasattr(v, "_fields") and isinstance(v, tuple), _namedtuple),
    (lambda v, tf: isinstance(v, tuple), lambda v, tf: {"tuple": [describe(p, tf) for p in v]}),
    (lambda v, tf: isinstance(v, dict), _mapping),
    (lambda v, tf: _is(v, tf, "DType"), lambda v, tf: {"dtype": v.name}),
    (lambda v, tf: isinstance(v, np.dtype), lambda v, tf: {"numpy dtype": v.name}),
    (lambda v, tf: _is(v, tf, "TensorShape"), _shape),
    (lambda v, tf: _is(v, tf, "TensorSpec"), _spec),
    (lambda v, tf: isinstance(v, type), lambda v, tf: {"class": v.__name__}),
)


def _public_class(error, tf):
    """The name of the nearest public class: a built-in one, TensorFlow's or NumPy's."""
    errors = getattr(tf, "errors", None)
    for kind in type(error).__mro__:
        public = getattr(builtins, kind.__name__, None) or getattr(errors, kind.__name__, None)
        if public is kind:
            return kind.__name__
    return type(error).__name__


def _first_lines(error, limit=160):
    """The message, on one line and not too long; for people only, never compared."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # an exception that cannot print itself still has a class
        text = ""
    text = _INCIDENTAL.sub("", text)
    return text if len(text) <= limit else text[:limit] + "..."


def text_of(value):
    """Bytes as text that survives JSON."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def encode(tree, numbers=True):
    """A description as pure JSON, if wished without the numbers in arrays."""
    if isinstance(tree, list):
        return [encode(part, numbers) for part in tree]
    if isinstance(tree, float):
        return _encode_float(tree)
    if not isinstance(tree, dict):
        return tree
    for kind in ARRAY_KINDS:
        if kind in tree:
            array = tree[kind]
            return {
                kind: dtype_name(array),
                "shape": list(array.shape),
                "values": _encode_numbers(array) if numbers else "any",
            }
    return {key: encode(value, numbers) for key, value in tree.items() if key != "classes"}


def dtype_name(array):
    """TensorFlow's name for the dtype of an array."""
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _encode_numbers(array):
    """The elements in order, each as short as its dtype allows."""
    flat = array.reshape(-1)
    kind = flat.dtype.kind
    if kind in "OSU":
        return [text_of(value) for value in flat]
    if kind in "biu":
        return flat.tolist()
    if kind == "c":
        part = np.float32 if flat.dtype == np.complex64 else np.float64
        pairs = flat.view(part).reshape(-1, 2)
        return [_encode_numbers(pair) for pair in pairs]
    if kind == "f" and flat.dtype.itemsize > 1:  # ml_dtypes prints no float8
        return [_encode_float(float(text)) for text in flat.astype(str)]
    return [_encode_float(float(str(value))) for value in flat.astype(np.float32)]


def _encode_float(value):
    """A float as JSON has it; the ones JSON has not, as text."""
    return value if np.isfinite(value) else {"float": str(value)}


def decode(tree):
    """The description that `encode` wrote."""
    if isinstance(tree, list):
        return [decode(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "float" in tree:
        return float(tree["float"])
    for kind in ARRAY_KINDS:
        if kind in tree:
            return {kind: _decode_array(tree[kind], tree["shape"], decode(tree["values"]))}
    return {key: decode(value) for key, value in tree.items()}


def _decode_array(dtype, shape, values):
    if isinstance(values, str):
        return np.zeros(shape, object if dtype == "string" else _numpy_dtype(dtype))
    if dtype == "string":
        return np.array(values, dtype=object).reshape(shape)
    if dtype.startswith("complex"):
        values = [complex(*pair) for pair in values]
    return np.array(values, dtype=_numpy_dtype(dtype)).reshape(shape)


def _numpy_dtype(name):
    """NumPy's dtype, with the small floats and integers that ml_dtypes adds."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
