"""Calls of NumPy kernels: checked operands, quiet floating point, classified failures.

Kernels run in a private `contextvars` context in which NumPy reports no floating-point conditions:
1/0 is inf here, without a warning, whatever the user has set for NumPy.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy, variant
from talweg.core.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    compose,
    free_frames,
    invalid,
    is_coded,
    lacks_memory,
)
from talweg.core.tracebacks import is_expected
from talweg.kernels.progression import explain_refused_size
from talweg.kernels.variants import is_variant, on_elements

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

_quiet = contextvars.Context()
_quiet.run(np.seterr, all="ignore")
run = _quiet.run


def run_anywhere(kernel: Callable[..., Any], *arrays: object, **params: object) -> Any:
    """Run a kernel like `run`, also while another thread is inside it."""
    with np.errstate(all="ignore"):
        return kernel(*arrays, **params)


def quiet(kernel: Callable[..., Any], *arrays: object, **params: object) -> Any:
    """Run a pure function of arrays without NumPy's floating-point warnings."""
    try:
        return run(kernel, *arrays, **params)
    except RuntimeError as error:
        if "cannot enter context" not in str(error):
            raise
        return run_anywhere(kernel, *arrays, **params)


_PYTHON_NUMBERS = frozenset((int, float, complex, bool))


def avals_of(arrays: list) -> list[Aval]:
    """Return the abstract values of all operands; a Python number takes the first array's dtype."""
    try:
        return [Aval(array.shape, of_numpy(array.dtype)) for array in arrays]
    except AttributeError:
        dtypes = [of_numpy(array.dtype) for array in arrays if hasattr(array, "dtype")]
        dtype = dtypes[0] if dtypes else variant
        return [
            Aval((), dtype)
            if type(array) in _PYTHON_NUMBERS
            else Aval(array.shape, of_numpy(array.dtype))
            if hasattr(array, "dtype")
            else Aval((), variant)
            for array in arrays
        ]


def is_plain(prim: Primitive, arrays: list) -> bool:
    """Return whether all operands of an elementwise primitive have one dtype that it accepts.

    Such a dtype is noted in `prim.known`.
    """
    dtype = None
    for array in arrays:
        if type(array) in _PYTHON_NUMBERS:
            continue
        if dtype is None:
            dtype = array.dtype
        elif array.dtype is not dtype:
            return False
    if dtype is None or of_numpy(dtype) not in prim.accepts:  # type: ignore[operator]
        return False
    prim.known.add(dtype)
    return True


def check(prim: Primitive, arrays: list, params: dict) -> None:
    """Run `infer`, which raises for bad operands; cached by shapes and dtypes."""
    try:
        if len(arrays) == 1:
            (x,) = arrays
            key: tuple = (x.shape, x.dtype, *params.items())
        elif len(arrays) == 2:
            x, y = arrays
            key = (x.shape, x.dtype, y.shape, y.dtype, *params.items())
        else:
            key = (*[(array.shape, array.dtype) for array in arrays], *params.items())
        if key in prim.known:
            return
    except (TypeError, AttributeError):  # an unhashable parameter, a Python number
        _infer(prim, arrays, params)
        return
    _infer(prim, arrays, params)
    if len(prim.known) >= KNOWN_LIMIT:
        prim.known.clear()
    prim.known.add(key)


def _infer(prim: Primitive, arrays: list, params: dict) -> Any:
    """Run a primitive's `infer`; InvalidArgumentError for results of a negative size."""
    found = prim.infer(*avals_of(arrays), **params)
    for aval in found if prim.multiple else (found,):
        for size in aval.dims or ():
            if type(size) is int and size < 0:
                text = f"{prim.name}: the result would have the shape {aval.dims}"
                raise invalid("TW205", text, "sizes of at least 0")
    return found


KNOWN_LIMIT = 1024  # operand signatures remembered for a primitive


def sort_out(prim: Primitive, arrays: list, params: dict, error: Exception) -> Any:
    """Classify a kernel's failure: another thread, a bad operand, no memory, or a fault."""
    free_frames(error)
    try:
        if any(map(is_variant, arrays)) and not isinstance(error, OpError):
            return on_elements(prim.numpy)(*arrays, **params)
        if isinstance(error, RuntimeError) and "cannot enter context" in str(error):
            return run_anywhere(prim.numpy, *arrays, **params)
        if isinstance(error, OpError):
            raise error
        if isinstance(error, ImportError) and is_expected(error):  # it says what to install
            raise error
        if is_coded(error):  # a function of the API, called now, refused what it was given
            raise InvalidArgumentError(None, None, str(error)) from None
        if lacks_memory(error):
            text = compose("TW209", f"{prim.name}: not enough memory: {error}")
            raise ResourceExhaustedError(None, None, text) from None
        inferred = _infer(prim, arrays, params)
        refused = explain_refused_size(
            prim.name, error, () if prim.multiple else (inferred.dims or ())
        )
        if refused is not None:
            raise refused from None
        described = ", ".join(repr(aval) for aval in avals_of(arrays))
        text = compose("TW209", f"{prim.name}({described}) failed: {type(error).__name__}: {error}")
        raise InternalError(None, None, text) from error
    finally:
        del error  # its traceback holds this frame: no circle
