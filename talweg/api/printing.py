"""tf.print: tensors as TensorFlow's runtime prints them, `[0 1 2 ... 7 8 9]`."""

from __future__ import annotations

import logging
import pprint
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export
from talweg.core.dtypes import of_numpy
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.eager.variable import Variable
from talweg.graph import structure
from talweg.kernels.strings.numbers import format_of
from talweg.trace.host import acts_later, later

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


_DIGITS = {2: ("%.6g", "%.9g"), 4: ("%.6g", "%.9g"), 8: ("%.15g", "%.17g")}


def _float(value: Any) -> str:
    """Return the fewer digits if they give the number back, else the more."""
    short, long = _DIGITS[value.dtype.itemsize]
    number = float(value)
    text = short % number
    narrow = np.float64 if value.dtype.itemsize == 8 else np.float32
    if np.isfinite(number) and narrow(float(text)) != narrow(number):
        text = long % number
    return text


_ESCAPES = {ord(c): "\\" + letter for c, letter in zip("\n\r\t\"'\\", "nrt\"'\\")}
_ESCAPES |= {code: f"\\{code:03o}" for code in (*range(32), 127) if code not in _ESCAPES}


def element(value: Any, quoted: bool = False, errors: str = "backslashreplace") -> str:
    """Format one element of a tensor; quoted strings are escaped as in C.

    errors: what becomes of bytes that are not UTF-8, as for `bytes.decode`.
    """
    if isinstance(value, bytes):
        text = value.decode("utf-8", errors)
        return f'"{text.translate(_ESCAPES)}"' if quoted else text
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if value.dtype.kind == "c":
        return f"({_float(value.real)},{_float(value.imag)})"
    if value.dtype.kind in "iu":
        return str(value)
    if value.dtype.kind == "f":
        return _float(value)
    return _float(np.float32(value))


def array_text(array: Any, summarize: int, quoted: bool = False, errors: str = "") -> str:
    """Return an array in brackets, with `summarize` elements at either end of each axis.

    quoted: whether a scalar string is, too.
    """
    array = np.asarray(array)
    errors = errors or "backslashreplace"
    if array.ndim == 0:
        is_text = isinstance(array[()], bytes)
        hidden = summarize == 0 and (quoted or not is_text)
        return "..." if hidden else element(array[()], quoted, errors)
    return _format_nested(array, summarize, 1, errors)


def _format_nested(array: np.ndarray, summarize: int, depth: int, errors: str) -> str:
    size = len(array)
    places = list(range(size))
    if summarize >= 0 and size > 2 * summarize:
        places = [*places[:summarize], -1, *places[size - summarize :]]
    if array.ndim == 1:
        parts = ["..." if i < 0 else element(array[i], True, errors) for i in places]
        between = " "
    else:
        parts = [
            "..." if i < 0 else _format_nested(array[i], summarize, depth + 1, errors)
            for i in places
        ]
        between = "\n" * (array.ndim - 1) + " " * depth
    first = between if summarize == 0 and size else ""  # nothing stands before the dots
    return "[" + first + between.join(parts) + "]"


def first_elements(array: np.ndarray, count: int) -> str:
    """Return the first `count` elements of an array (-1: all), as Assert shows them."""
    if array.ndim == 0:
        return element(array[()]) if count else "..."
    count = array.size if count < 0 else count
    text, _ = _first(array, count)
    return text + "..." if array.ndim > 1 and count < array.size else text


def _first(array: np.ndarray, left: int) -> tuple[str, int]:
    """Return the first `left` elements as text, and how many of so many are not there."""
    if array.ndim == 1:
        shown = " ".join(map(element, array[:left]))
        return shown + "..." if left < len(array) else shown, max(left - len(array), 0)
    parts = []
    for item in array:
        if not left:
            break
        text, left = _first(item, left)
        parts.append(f"[{text}]")
    return "".join(parts), left


class _Place:
    """The place of a tensor's text in a structure: two characters, which no representation has."""

    def __init__(self, number: int):
        self.number = number

    def __repr__(self) -> str:
        return "\0" + chr(self.number)


def _text(value: TensorLike, summarize: int, quoted: bool = False) -> str | None:
    """Return a tensor as text; None for other values."""
    if isinstance(value, (Tensor, Variable)):
        return array_text(np.asarray(value.numpy()), summarize, quoted)
    if isinstance(value, SparseTensor):
        parts = ("indices", "values", "dense_shape")
        texts = [array_text(getattr(value, part).numpy(), summarize) for part in parts]
        return "'SparseTensor(indices={}, values={}, shape={})'".format(*texts)
    if isinstance(value, RaggedTensor):
        parts = [np.asarray(part.numpy()) for part in value._flat_components()]
        return rows_text(*parts, summarize=summarize)
    return None


def rows_text(
    values: np.ndarray, *splits: np.ndarray, summarize: int, errors: str = "backslashreplace"
) -> str:
    """Format the values and splits of a ragged tensor, the outermost first, as nested lists."""
    write = format_of(of_numpy(values.dtype), -1, False, False, -1, "")

    def format_value(value: Tensor) -> str:
        if isinstance(value, np.ndarray):
            return _format_list([format_value(part) for part in value], summarize)
        if isinstance(value, bytes):
            text = value.decode("utf-8", errors)
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return write(value).decode()

    rows = [format_value(part) for part in values]
    for ends in reversed(splits):
        rows = [_format_list(rows[start:end], summarize) for start, end in zip(ends, ends[1:])]
    return _format_list(rows, summarize)


def _format_list(parts: list[str], summarize: int) -> str:
    if 0 <= summarize < len(parts) / 2:
        parts = [*parts[:summarize], "...", *parts[len(parts) - summarize :]]
    return "[" + ", ".join(parts) + "]"


def describe(value: Any, summarize: int) -> str:
    """Format one argument of `tf.print`."""
    if isinstance(value, str):
        return value
    if not structure.is_nested(value):
        text = _text(value, summarize)
        return repr(value) if text is None else text
    leaves = structure.flatten(value)
    texts = [_text(leaf, summarize, quoted=True) for leaf in leaves]
    places = [_Place(i) if text is not None else leaves[i] for i, text in enumerate(texts)]
    shown = pprint.pformat(structure.pack(value, places))
    return re.sub("\0(.)", lambda found: str(texts[ord(found[1])]), shown, flags=re.DOTALL)


def _writer(stream: Any) -> Callable[[str], Any]:
    if stream is sys.stdout or stream is sys.stderr or stream is None:
        return (stream or sys.stderr).write
    if isinstance(stream, str) and stream.startswith("file://"):
        path = Path(stream[len("file://") :])

        def append(text: str) -> None:
            with path.open("a", encoding="utf-8") as file:
                file.write(text)

        return append
    for log in (logging.info, logging.warning, logging.error):
        if stream == log:
            return lambda text, log=log: log(text.rstrip("\n"))
    raise value_error(
        "TW207",
        f"print: output_stream={stream!r}",
        "sys.stdout, sys.stderr, a function of `logging`, or 'file://' and a path",
    )


@export("print")
def print_(*inputs: Any, **kwargs: Any) -> Any:
    """Print tensors and other values, to the standard error by default.

    In a graph it gives an operation that prints when it runs.

    output_stream: sys.stdout, sys.stderr, logging.info / warning / error, or "file://path".
    summarize=3: how many elements to print at either end of each axis, -1 for all.  sep=" ",
    end="\\n".  Nested structures are printed with their tensors.  ValueError for other keywords or
    streams.

    >>> import sys
    >>> import talweg as tf
    >>> tf.print("x:", tf.range(8), [tf.constant(0.5)], output_stream=sys.stdout)
    x: [0 1 2 ... 5 6 7] [0.5]
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    kwargs.pop("name", None)
    if kwargs:
        raise value_error("TW104", f"Unrecognized keyword arguments for tf.print: {kwargs}")
    write = _writer(stream)
    summarize = 3 if summarize is None else int(summarize)
    if acts_later(inputs):
        return later(_print_now, (write, summarize, sep, end, *inputs), {}, "PrintV2")
    return _print_now(write, summarize, sep, end, *inputs)


def _print_now(write: Any, summarize: int, sep: str, end: str, *inputs: object) -> None:
    write(sep.join(describe(value, summarize) for value in inputs) + end)
