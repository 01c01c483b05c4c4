"""tf.debugging: assertions about values.  Those about shapes and dtypes: `shapes.py`.

They run at once, return None, and let nothing else happen; in a graph they give an operation that
does so when it runs.  Each has a `message` that is put in front of the error's text.  Where it is
written into a file, an assertion tells its condition instead (`trace/host.py: requirements`).  The
switches at the end are kept and answer, no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array import sequences, shapes
from talweg.api.export import export
from talweg.api.math import comparison, reductions
from talweg.api.printing import first_elements
from talweg.core import dispatch, dtypes
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.tracebacks import Filtering
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.eager.tensor import EagerTensor, array_of
from talweg.graph.symbol import Symbol
from talweg.prims import checking
from talweg.trace.host import asserting, later, requirements

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def values_of(x: Tensor) -> np.ndarray:
    """Return all values of a tensor; inside `vectorized_map` those of the whole batch."""
    if type(x) is Symbol:
        return np.asarray(x._array)  # NeedsStaticError unless it is a constant
    while not isinstance(x, EagerTensor):
        x = x.inner  # type: ignore[attr-defined]
    return np.asarray(array_of(x))


def prefix(message: str | None, text: str) -> str:
    """Return the text of an error with the user's message in front."""
    return f"{message}\n{text}" if message else text


def sentence(message: str | None) -> str:
    """Return the message as TensorFlow's graphs show it in front of other data."""
    return f"{message}.  " if message else ""


def everywhere(condition: Tensor) -> Tensor:
    """Return whether a condition, of any rank, is true everywhere, for a graph that is written."""
    if condition.shape.rank is None:
        return reductions.reduce_all(condition, sequences.range_(shapes.rank(condition)))
    return reductions.reduce_all(condition) if condition.shape.rank else condition


def _some(array: np.ndarray, count: int) -> str:
    values = ", ".join(str(value) for value in array.reshape(-1)[:count].tolist())
    return f"[{values}{', ...' if array.size > count else ''}]"


def assert_true(condition: bool, text: str, expected: str = "") -> None:
    """Raise InvalidArgumentError with this text unless `condition`."""
    if not condition:
        raise invalid("TW207", text, expected)


# -- comparing two tensors


def _compare(
    function: str,
    sign: str,
    holds: Callable[[Any, Any], Any],
    x: object,
    y: object,
    message: str | None,
    summarize: int | None,
) -> None:
    """Raise InvalidArgumentError with the first failing elements unless `holds` everywhere."""
    x = tensor(x)
    y = tensor(y) if is_tensor_like(y) else tensor(y, hint=x.dtype)
    if x.dtype is not y.dtype:
        raise invalid(
            "TW102", f"{function}: x has dtype {x.dtype.name} and y has dtype {y.dtype.name}"
        )
    graph = requirements()
    if graph is not None:
        data = [] if message is None else [message]
        data.append(f"Condition x {sign} y did not hold element-wise:")
        data += [f"x ({graph.name_of(x)}) = ", x, f"y ({graph.name_of(y)}) = ", y]
        graph.add(everywhere(holds(x, y)), data, summarize)
        return
    verdict = values_of(holds(x, y))
    if verdict.all():
        return
    count = 3 if summarize is None or summarize < 0 else summarize
    left, right = values_of(x), values_of(y)
    lines = [f"{function}: assertion failed: Condition x {sign} y did not hold"]
    if left.shape == right.shape == verdict.shape and verdict.ndim:
        failing = np.argwhere(~verdict)
        at = tuple(failing[:count].T)
        lines.append(f"  at {failing[:count].tolist()}, {len(failing)} of {verdict.size} places")
        lines.append(f"  where x is {_some(left[at], count)}, y is {_some(right[at], count)}")
    lines.append(f"  x, of shape {left.shape}, starts with {_some(left, count)}")
    lines.append(f"  y, of shape {right.shape}, starts with {_some(right, count)}")
    raise invalid("TW207", prefix(message, "\n".join(lines)))


@export("debugging.assert_equal", "assert_equal")
@asserting
def assert_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless x = y everywhere, broadcast.

    x, y: tensors of one dtype.  summarize: how many elements the message shows (3).

    >>> import talweg as tf
    >>> tf.debugging.assert_equal([1, 2], tf.constant([1, 2]))
    """
    _compare("assert_equal", "==", comparison.equal, x, y, message, summarize)


@export("debugging.assert_none_equal")
@asserting
def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError if x = y anywhere, broadcast.

    x, y: tensors of one dtype.  summarize: how many elements the message shows (3).

    >>> import talweg as tf
    >>> tf.debugging.assert_none_equal([1, 2], 3)
    """
    _compare("assert_none_equal", "!=", comparison.not_equal, x, y, message, summarize)


@export("debugging.assert_less", "assert_less")
@asserting
def assert_less(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless x < y everywhere, broadcast.

    x, y: tensors of one real dtype.  summarize: how many elements the message shows (3).

    >>> import talweg as tf
    >>> tf.debugging.assert_less([1, 2], 3)
    """
    _compare("assert_less", "<", comparison.less, x, y, message, summarize)


@export("debugging.assert_less_equal")
@asserting
def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless x <= y everywhere, broadcast.

    x, y: tensors of one real dtype.  summarize: how many elements the message shows (3).

    >>> import talweg as tf
    >>> tf.debugging.assert_less_equal([1, 2], 2)
    """
    _compare("assert_less_equal", "<=", comparison.less_equal, x, y, message, summarize)


@export("debugging.assert_greater", "assert_greater")
@asserting
def assert_greater(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless x > y everywhere, broadcast.

    x, y: tensors of one real dtype.  summarize: how many elements the message shows (3).

    >>> import talweg as tf
    >>> tf.debugging.assert_greater([1, 2], 0)
    """
    _compare("assert_greater", ">", comparison.greater, x, y, message, summarize)


@export("debugging.assert_greater_equal")
@asserting
def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless x >= y everywhere, broadcast.

    x, y: tensors of one real dtype.  summarize: how many elements the message shows (3).

    >>> import talweg as tf
    >>> tf.debugging.assert_greater_equal([1, 2], 1)
    """
    _compare("assert_greater_equal", ">=", comparison.greater_equal, x, y, message, summarize)


@export("debugging.assert_near")
@asserting
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless |x - y| < atol + rtol |y| everywhere, broadcast.

    x, y: floats or complex numbers; y takes x's dtype.  rtol and atol are 10 times the spacing of
    the dtype at 1 if they are not given.  ValueError for integers and for dtypes that differ.
    Infinities are near nothing, and nothing is near with tolerances of 0, as in TensorFlow.

    >>> import talweg as tf
    >>> tf.debugging.assert_near(1.0, 1.0 + 1e-7)
    """
    x = tensor(x)
    y = tensor(y, x.dtype)
    if x.dtype not in dtypes.INEXACT:
        raise value_error("TW102", f"assert_near: x has dtype {x.dtype.name}", "floats")
    real = x.dtype.real_dtype
    spacing = 2.0**-7 if real is dtypes.bfloat16 else float(np.finfo(real.numpy_dtype).eps)
    relative, absolute = (
        tensor(10 * spacing if given is None else given, real) for given in (rtol, atol)
    )
    gap = abs(x - y)
    near = gap < absolute + relative * abs(y)
    graph = requirements()
    if graph is not None:
        text = f"x and y not equal to tolerance rtol = {relative}, atol = {absolute}"
        data = [sentence(message), text, f"x ({graph.name_of(x)}) = ", x]
        graph.add(everywhere(near), [*data, f"y ({graph.name_of(y)}) = ", y], summarize)
        return
    verdict = values_of(near)
    if not verdict.all():
        count = 3 if summarize is None or summarize < 0 else summarize
        left, right = values_of(x), values_of(y)
        text = (
            f"assert_near: x and y differ by up to {values_of(gap).max()}, at "
            f"{verdict.size - verdict.sum()} of {verdict.size} places by more than "
            f"rtol={values_of(relative)}, atol={values_of(absolute)} allow\n"
            f"  x, of shape {left.shape}, starts with {_some(left, count)}\n"
            f"  y, of shape {right.shape}, starts with {_some(right, count)}"
        )
        raise invalid("TW207", prefix(message, text))


# -- the sign of one tensor


def _check_sign(
    function: str,
    sign: str,
    holds: Callable[[Any, Any], Any],
    x: object,
    message: str | None,
    summarize: int | None,
) -> None:
    x = tensor(x)
    if x.dtype in (dtypes.string, dtypes.bool_):
        raise type_error("TW102", f"{function}: x has dtype {x.dtype.name}", "numbers")
    condition = holds(x, tensor(0, x.dtype))
    graph = requirements()
    if graph is not None:
        text = f"Condition x {sign} 0 did not hold element-wise:"
        data = [sentence(message), text, f"x ({graph.name_of(x)}) = ", x]
        graph.add(everywhere(condition), data, summarize)
        return
    verdict = values_of(condition)
    if not verdict.all():
        count = 3 if summarize is None or summarize < 0 else summarize
        values = values_of(x)
        text = (
            f"{function}: assertion failed: Condition x {sign} 0 did not hold at "
            f"{verdict.size - verdict.sum()} of {verdict.size} places, where x is "
            f"{_some(values[~verdict], count)}"
        )
        raise invalid("TW207", prefix(message, text))


@export("debugging.assert_positive")
@asserting
def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError unless x > 0 everywhere.  x: a tensor of real numbers.

    >>> import talweg as tf
    >>> tf.debugging.assert_positive([1.0, 2.0])
    """
    _check_sign("assert_positive", ">", comparison.greater, x, message, summarize)


@export("debugging.assert_negative")
@asserting
def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError unless x < 0 everywhere.  x: a tensor of real numbers.

    >>> import talweg as tf
    >>> tf.debugging.assert_negative([-1.0, -2.0])
    """
    _check_sign("assert_negative", "<", comparison.less, x, message, summarize)


@export("debugging.assert_non_negative")
@asserting
def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError unless x >= 0 everywhere.  x: a tensor of real numbers.

    >>> import talweg as tf
    >>> tf.debugging.assert_non_negative([0.0, 2.0])
    """
    _check_sign("assert_non_negative", ">=", comparison.greater_equal, x, message, summarize)


@export("debugging.assert_non_positive")
@asserting
def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError unless x <= 0 everywhere.  x: a tensor of real numbers.

    >>> import talweg as tf
    >>> tf.debugging.assert_non_positive([0.0, -2.0])
    """
    _check_sign("assert_non_positive", "<=", comparison.less_equal, x, message, summarize)


# -- finiteness, and any condition


@export("debugging.check_numerics")
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return `tensor` unchanged; InvalidArgumentError if an element is infinite or NaN.

    tensor: floats of any shape; its gradient is checked too.  TypeError if message is no string,
    InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.debugging.check_numerics([1.0, 2.0], "weights")
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
    """
    if not isinstance(message, (str, bytes)):
        raise type_error("TW104", f"check_numerics: message={message!r}", "a string")
    return checking.check_numerics(_as_tensor(tensor), message=message)


_as_tensor = tensor  # under a name that the argument `tensor` above does not hide


@export("debugging.assert_all_finite")
def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return `x` unchanged; InvalidArgumentError if an element is infinite or NaN.  x: floats.

    >>> import talweg as tf
    >>> tf.debugging.assert_all_finite([1.0, 2.0], "weights")
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
    """
    return check_numerics(x, message)


@export("debugging.Assert", "Assert")
def assert_(
    condition: TensorLike, data: TensorLike, summarize: int | None = None, name: str | None = None
) -> Any:
    """Raise InvalidArgumentError with `data` in its text unless `condition` is true.

    data: a list of tensors or values, of each of which `summarize` (3) elements are shown.
    TypeError if data is no list.

    >>> import talweg as tf
    >>> tf.debugging.Assert(tf.constant(2) > 1, ["never shown"])
    """
    if not isinstance(data, (list, tuple)):
        raise type_error("TW104", f"Assert: data={data!r}", "a list of tensors or values")
    if dispatch.context.base is None:
        return _assert_now(condition, data, summarize)
    condition = tensor(condition)
    if condition.dtype is not dtypes.bool_:
        text = f"Assert: in a graph the condition {condition!r} has dtype {condition.dtype.name}"
        raise type_error("TW102", text, "bool")
    return later(_assert_now, (condition, list(data), summarize), {}, "Assert", name)


def _assert_now(condition: object, data: Any, summarize: int | None) -> None:
    graph = requirements()
    if graph is not None:
        graph.add(everywhere(tensor(condition)), [tensor(item) for item in data], summarize)
        return
    holds = values_of(tensor(condition)).all() if is_tensor_like(condition) else bool(condition)
    if not holds:
        count = 3 if summarize is None else summarize
        shown = [f"[{first_elements(values_of(tensor(item)), count)}]" for item in data]
        raise invalid("TW207", f"Assert: assertion failed: {' '.join(shown)}")


# -- switches


class _DebugSwitches:
    """Holds the settings of the functions below."""

    log_device_placement = False


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Keep the flag for `get_log_device_placement`; nothing is logged, since everything is on the
    CPU.

    >>> import talweg as tf
    >>> tf.debugging.set_log_device_placement(False)
    """
    _DebugSwitches.log_device_placement = bool(enabled)


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Return the setting of `set_log_device_placement`; False at first.

    >>> import talweg as tf
    >>> tf.debugging.get_log_device_placement()
    False
    """
    return _DebugSwitches.log_device_placement


@export("debugging.enable_traceback_filtering")
def enable_traceback_filtering() -> None:
    """Leave talweg's frames out of tracebacks: they show the user's own lines.  So it is at first.

    >>> import talweg as tf
    >>> tf.debugging.enable_traceback_filtering()
    """
    Filtering.enabled = True


@export("debugging.disable_traceback_filtering")
def disable_traceback_filtering() -> None:
    """Leave tracebacks as Python makes them, with all of talweg's frames.

    >>> import talweg as tf
    >>> tf.debugging.disable_traceback_filtering()
    >>> tf.debugging.enable_traceback_filtering()
    """
    Filtering.enabled = False


@export("debugging.is_traceback_filtering_enabled")
def is_traceback_filtering_enabled() -> bool:
    """Return the setting of the two functions above; True at first.

    >>> import talweg as tf
    >>> tf.debugging.is_traceback_filtering_enabled()
    True
    """
    return Filtering.enabled
