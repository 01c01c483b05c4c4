"""Host calls with results and derivatives: functions in Python and NumPy as operations.

A function of NumPy arrays has no derivative.  One of tensors runs under a tape, which travels
through the run as one more result; the cotangents are taken from it, so the function itself is
called once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import variant
from talweg.core.errors import InvalidArgumentError, compose
from talweg.core.hooks import hooks
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tape import GradientTape
from talweg.eager.tensor import wrap
from talweg.kernels.variants import unwrap_element
from talweg.prims.arithmetic import zeros_of
from talweg.prims.host import act, host_call, taped_call, taped_pull
from talweg.trace.synchronization import find_used_by, synchronized
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.dtypes import DType


class Outside:
    """The eager context of a host call from a running graph."""

    def __enter__(self) -> None:
        context = dispatch.context
        self.before = context.base, context.recorders
        context.base, context.recorders = None, ()

    def __exit__(self, *error: object) -> None:
        dispatch.context.base, dispatch.context.recorders = self.before


class NumpyCall:
    """A host call on arrays; its results must have the dtypes announced."""

    may_wait = True

    def __init__(self, function: Callable[..., Any], dtypes: list, tf_type: str, wrapped: Any):
        self.function, self.dtypes, self.tf_type, self.wrapped = function, dtypes, tf_type, wrapped
        self.avals = tuple([Aval(None, dtype) for dtype in dtypes])

    def __call__(self, *arrays: object) -> tuple:
        with Outside():
            found = self.wrapped(self.function, [np.array(array) for array in arrays])
        results = _as_list(found)
        self._check_count(results)
        return tuple([self._array(*pair) for pair in zip(results, self.dtypes)])

    def _check_count(self, results: list) -> None:
        if len(results) != len(self.dtypes):
            raise _mismatch(
                f"{_name(self.function)} returns {len(results)} values, but expects to see "
                f"{len(self.dtypes)} values."
            )

    def _array(self, value: np.generic | np.ndarray, dtype: DType) -> Any:
        if dtype is variant:
            return unwrap_element(value)
        if dtype.name == "string":
            array = np.asarray(convert_to_tensor(value, dtype)._array)
        else:
            array = np.asarray(value)
        if array.dtype != dtype.numpy_dtype:
            raise _mismatch(
                f"a value returned by {_name(self.function)} has dtype {array.dtype}, but expects "
                f"{dtype.name}"
            )
        return array


class TapedCall:
    """A host call on tensors; the last result is the tape that recorded the call."""

    may_wait = True

    def __init__(self, function: Callable[..., Any], dtypes: list):
        self.function, self.dtypes = function, dtypes
        avals = [Aval(None, dtype) for dtype in dtypes]
        self.avals = (*avals, Aval((), variant))

    def __call__(self, *arrays: object) -> tuple:
        with Outside():
            operands = [wrap(array) for array in arrays]
            with GradientTape(persistent=True) as tape:
                tape.watch([x for x in operands if x.dtype.is_differentiable])
                results = self.function(*operands)
        record = np.empty((), object)
        record[()] = (tape, operands, results)
        return (*[result._array for result in results], record)


class HostPullback:
    """The pullback of a host call: cotangents of the wanted operands, from its tape."""

    def __init__(self, given: tuple, wanted: tuple):
        self.given, self.wanted = given, wanted

    def __call__(self, record: Any, *cotangents: object) -> tuple:
        with Outside():
            tape, operands, results = record[()]
            sources = [operands[i] for i in self.wanted]
            targets = [results[i] for i in self.given]
            found = tape.gradient(targets, sources, [wrap(g) for g in cotangents])
            dense = [zeros_of(x) if g is None else densify(g) for g, x in zip(found, sources)]
            return tuple([g._array for g in dense])


def numpy_call(
    function: Callable[..., Any],
    operands: list,
    dtypes: list,
    several: bool,
    tf_type: str,
    wrapped: Callable[..., Any],
) -> Any:
    """Build the operation that calls `function` on arrays, through `wrapped` for errors."""
    call = NumpyCall(function, dtypes, tf_type, wrapped)
    with synchronized(find_used_by(function)):
        if not dtypes:
            return act(*operands, call=call).op
        results = host_call(*operands, call=call)
    return list(results) if several else results[0]


def python_call(
    function: Callable[..., Any], operands: list, dtypes: list, users: Callable[..., Any]
) -> Any:
    """Build the operation that calls `function`, which calls the user's, on tensors."""
    with synchronized(find_used_by(users)):
        if not dtypes:
            return act(*operands, call=HostAction(function)).op
        return list(taped_call(*operands, call=TapedCall(function, dtypes))[:-1])


class HostAction:
    """A host call on tensors without a result."""

    tf_type = "EagerPyFunc"
    may_wait = True

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __call__(self, *arrays: object) -> None:
        with Outside():
            self.function(*[wrap(array) for array in arrays])


def taped_call_vjp(g: tuple, z: tuple, operands: tuple, call: TapedCall) -> list:
    """Compute cotangents of the operands of a Python function."""
    given = tuple([i for i, part in enumerate(g[:-1]) if part is not None])
    wanted = tuple([i for i, x in enumerate(operands) if x.dtype.is_differentiable])
    if not given or not wanted:
        return [None] * len(operands)
    avals = tuple([operands[i].aval for i in wanted])
    pull = HostPullback(given, wanted)
    found = taped_pull(z[-1], *[densify(g[i]) for i in given], pull=pull, avals=avals)
    parts = iter(found)
    return [next(parts) if i in wanted else None for i in range(len(operands))]


def taped_call_jvp(t: tuple, z: tuple, operands: tuple, call: TapedCall) -> Any:
    """Raise NotImplementedError: a taped call has a reverse derivative only."""
    text = "tf.py_function has no forward derivative"
    raise NotImplementedError(compose("TW402", text, hint="reverse mode: tf.gradients"))


def _as_list(results: np.generic | np.ndarray) -> list:
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def _mismatch(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, compose("TW204", text))


hooks.taped_call_vjp = taped_call_vjp
hooks.taped_call_jvp = taped_call_jvp
