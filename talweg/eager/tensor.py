"""EagerTensor: a tensor with a value, held as a NumPy array (a NumPy scalar for rank 0).

The value is never changed in place, so views may share memory freely.  Strings are object arrays of
`bytes`.  The arithmetic operators have a fast path here: both operands plain, of one dtype, and
nothing recording; everything else goes through `OPERATIONS`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import DType, of_numpy
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import OPERATIONS, Tensor
from talweg.eager.evaluate import run
from talweg.eager.format import format_tensor, represent_tensor

state = dispatch.state
context = dispatch.context


class EagerTensor(Tensor):
    """A tensor with a value."""

    __slots__ = ("_array",)
    __module__ = "talweg"
    _array: Any

    def __init__(self, array: Any):
        self._array = array

    # -- what it is

    @property
    def dims(self) -> tuple:
        return self._array.shape

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def dtype(self) -> DType:
        return of_numpy(self._array.dtype)

    @property
    def device(self) -> str:
        """Where the value is, as TensorFlow spells it."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    backing_device = device
    is_tensor_like = True

    @property
    def name(self) -> str:
        """Eager tensors have no name."""
        raise AttributeError("Tensor.name is undefined when eager execution is enabled.")

    @property
    def op(self) -> Any:
        """Eager tensors belong to no operation."""
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")

    @property
    def graph(self) -> Any:
        """Eager tensors belong to no graph."""
        raise AttributeError("Tensor.graph is undefined when eager execution is enabled.")

    @property
    def nbytes(self) -> int:
        """Bytes the elements take."""
        return self._array.nbytes

    def __repr__(self) -> str:
        return represent_tensor(self._array, self.dtype)

    def __str__(self) -> str:
        return format_tensor(self._array, self.dtype)

    def __format__(self, spec: str) -> str:
        return format(self._leave(), spec)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- out to Python and NumPy

    def _leave(self) -> Any:
        """The array; active recorders are told that the value leaves for NumPy or Python."""
        if state.busy:
            for recorder in context.recorders:
                recorder.note_exit(self)
        return self._array

    def numpy(self) -> Any:
        """A copy of the value: an array, a NumPy scalar for rank 0, `bytes` for a scalar string."""
        array = self._leave()
        if array.ndim == 0:
            return array[()]
        return array.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.asarray(self._leave())
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array if copy is False else array.copy()

    def __dlpack__(self, **options: Any) -> Any:
        return np.array(self._leave()).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple:
        return np.asarray(self._array).__dlpack_device__()

    def _scalar(self, kind: str) -> Any:
        array = self._leave()
        if array.ndim:
            raise type_error(
                "TW203",
                f"only 0-dimensional arrays can be converted to Python scalars, got a tensor of "
                f"shape {array.shape} for {kind}()",
            )
        return array[()]

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        return operator.index(self._scalar("index"))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._scalar("round"), digits)

    def __bool__(self) -> bool:
        array = self._leave()
        if array.size == 1:
            return bool(array)
        if array.size == 0:
            return False
        raise value_error(
            "TW203",
            f"The truth value of an array with more than one element is ambiguous (shape "
            f"{array.shape}).",
            hint="tf.reduce_any(x) or tf.reduce_all(x)",
        )

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise type_error("TW203", "Scalar tensor has no `len()`")
        return len(self._array)

    def __iter__(self) -> Iterator[EagerTensor]:
        if self._array.ndim == 0:
            raise type_error("TW203", "Cannot iterate over a scalar tensor.")
        return (self[position] for position in range(len(self._array)))

    def __contains__(self, value: Any) -> bool:
        raise type_error(
            "TW104", "`in` on a tensor is not allowed.", hint="tf.reduce_any(tf.equal(tensor, value))"
        )

    def __reduce__(self):
        return wrap, (self._array,)

    def __copy__(self) -> EagerTensor:
        return wrap(self._array)

    def __deepcopy__(self, memo: dict) -> EagerTensor:
        return wrap(self._array.copy())

    # -- what TensorFlow's tensors also have

    def cpu(self) -> EagerTensor:
        """This tensor on the CPU, where it is already."""
        return self

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """RuntimeError: there is no GPU."""
        raise RuntimeError("No GPU is available.")

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """NotImplementedError: eager tensors have values; use `numpy()`."""
        raise NotImplementedError("eval is not supported when eager execution is enabled.")

    def consumers(self) -> list:
        """NotImplementedError: eager tensors do not know who used them."""
        raise NotImplementedError("consumers not supported when eager execution is enabled.")

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> EagerTensor:
        return OPERATIONS["convert_to_tensor"](self, dtype)


def wrap(array: Any) -> EagerTensor:
    """An EagerTensor around `array` (a NumPy array or scalar), without a copy."""
    tensor = _new(EagerTensor)
    tensor._array = array
    return tensor


_new = object.__new__

FLOATS = frozenset(np.dtype(name) for name in ("f2", "f4", "f8", "c8", "c16"))
NUMBERS = FLOATS | frozenset(np.dtype(kind + size) for kind in "iu" for size in "1248")


def _fast(operation: str, kernel: Callable[..., Any], dtypes: frozenset, reflected: bool):
    """An operator: straight to `kernel` in the plain case, `OPERATIONS[operation]` otherwise."""

    def operate(self: EagerTensor, other: Any) -> Any:
        if not state.busy:
            x = self._array
            kind = type(other)
            dtype = x.dtype
            if kind is EagerTensor:
                y = other._array
                plain = y.dtype is dtype and dtype in dtypes
            elif kind is float:
                y, plain = other, dtype in FLOATS
            elif kind is int:
                y, plain = other, dtype in dtypes
            else:
                plain = False
            if plain:
                try:
                    result = _new(EagerTensor)
                    result._array = run(kernel, y, x) if reflected else run(kernel, x, y)
                    return result
                except Exception:  # noqa: BLE001 -- the general path reports it
                    pass
        if reflected:
            return OPERATIONS[operation](other, self)
        return OPERATIONS[operation](self, other)

    return operate


def _install_fast_operators() -> None:
    table = [
        ("add", "add", operator.add, NUMBERS),
        ("sub", "subtract", operator.sub, NUMBERS),
        ("mul", "multiply", operator.mul, NUMBERS),
        ("truediv", "truediv", operator.truediv, FLOATS),
    ]
    for stem, operation, kernel, dtypes in table:
        setattr(EagerTensor, f"__{stem}__", _fast(operation, kernel, dtypes, reflected=False))
        setattr(EagerTensor, f"__r{stem}__", _fast(operation, kernel, dtypes, reflected=True))
    for method, kernel in (("less", operator.lt), ("greater", operator.gt)):
        setattr(EagerTensor, f"__{method[0]}t__", _fast(method, kernel, NUMBERS, reflected=False))


_install_fast_operators()


def negate(self: EagerTensor) -> EagerTensor:
    """``-x``"""
    if not state.busy and self._array.dtype in FLOATS:
        return wrap(-self._array)
    return OPERATIONS["negative"](self)


EagerTensor.__neg__ = negate  # type: ignore[method-assign]
state.plain = EagerTensor


def array_of(value: Any) -> Any:
    """The array of an eager tensor; InvalidArgumentError if `value` has none (inside a trace)."""
    if type(value) is EagerTensor:
        return value._array
    raise invalid("TW104", f"{value!r} has no value here", "an eager tensor")
