"""EagerTensor: a tensor with a value, held as a NumPy array (a NumPy scalar for rank 0).

The value is never changed in place, so views may share memory freely.  Strings are object arrays of
`bytes`.  The arithmetic operators have a fast path here: both operands plain, of one dtype, and
nothing recording; everything else goes through hooks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import DType, integer_view, of_numpy
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.primitive import REGISTRY
from talweg.core.tracebacks import pass_out
from talweg.core.value import BINARY, Tensor, with_reflection
from talweg.eager.evaluate import evaluate
from talweg.eager.format import format_tensor, represent_tensor
from talweg.execute.call import run
from talweg.execute.eager_kernels import LARGE, MIDDLING, UNBOUNDED, heavy
from talweg.kernels.products import plain_product
from talweg.prims import arithmetic, contract  # noqa: F401 -- declare what the operators use

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

state = dispatch.state
context = dispatch.context
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"  # of what was put nowhere else
FIRST_GPU = DEVICE.replace("CPU", "GPU")  # of what a GPU has computed


class EagerTensor(Tensor):
    """A tensor with a value."""

    __slots__ = ("_array", "_device", "_resident")
    __module__ = "talweg"
    _array: Any
    _resident: Any  # what a device has of it (`eager/resident.py`); not set elsewhere
    _device: str  # where `tf.device` put it; not set elsewhere

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
        """The device of the value, as TensorFlow spells it."""
        try:
            return self._device
        except AttributeError:
            return DEVICE

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

    if TYPE_CHECKING:  # not at run time: NumPy and `hasattr` ask for much that is not there

        def __getattr__(self, name: str) -> Any: ...

    # -- out to Python and NumPy

    def _leave(self) -> Any:
        """Return the array; active recorders are told that the value leaves for NumPy or Python."""
        if state.busy:
            if state.observer is not None:
                state.observer.left(self)
            for recorder in context.recorders:
                recorder.note_exit(self)
        return integer_view(self._array)

    def numpy(self) -> Any:
        """Return a copy of the value:
        an array, a NumPy scalar for rank 0, `bytes` for a scalar string.
        """
        array = self._leave()
        if array.ndim == 0:
            return array[()]
        return array.copy()

    _numpy = numpy  # as libraries ask for it

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.asarray(self._leave())
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array if copy is False else array.copy()

    def __buffer__(self, flags: int) -> memoryview:
        array: Any = self.__array__(copy=False)
        return memoryview(array).toreadonly()  # Python 3.12 asks for it

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
                hint="x[0] for one element, x.numpy() for all, tf.round(x) and its like for each",
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

    def __iter__(self) -> Iterator[Any]:
        if self._array.ndim == 0:
            raise type_error("TW203", "Cannot iterate over a scalar tensor.", hint="tf.range(x)")
        return (self[position] for position in range(len(self._array)))

    def __reduce__(self):
        return wrap, (self._array,)

    def __copy__(self) -> EagerTensor:
        return wrap(self._array)

    def __deepcopy__(self, memo: dict) -> EagerTensor:
        return wrap(self._array.copy())

    # -- what TensorFlow's tensors also have

    def cpu(self) -> EagerTensor:
        """Return this tensor on the CPU, where it is already."""
        return self

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """Raise RuntimeError: there is no GPU."""
        raise RuntimeError("No GPU is available.")

    def eval(self, feed_dict: object = None, session: object = None) -> Any:
        """Raise NotImplementedError: eager tensors have values; use `numpy()`."""
        raise NotImplementedError("eval is not supported when eager execution is enabled.")

    def consumers(self) -> list:
        """Raise NotImplementedError: eager tensors do not know their users."""
        raise NotImplementedError("consumers not supported when eager execution is enabled.")

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> EagerTensor:
        return hooks.convert_to_tensor(self, dtype)


def wrap(array: object) -> EagerTensor:
    """Return an EagerTensor around `array` (a NumPy array or scalar), without a copy."""
    tensor = _new(EagerTensor)
    tensor._array = array
    return tensor


_new = object.__new__

FLOATS = frozenset(np.dtype(name) for name in ("f2", "f4", "f8", "c8", "c16"))
REALS = frozenset(np.dtype(name) for name in ("f2", "f4", "f8"))
NUMBERS = FLOATS | frozenset(np.dtype(kind + size) for kind in "iu" for size in "1248")
NO_PARAMS: dict = {}  # this very one: the operators below, called by whoever wrote them
_COMMON = np.dtype("f4")  # spares the most frequent dtype a look-up


def _hook_operator(operation: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: getattr(hooks, operation)(self, other)


def _fast(
    stem: str, operation: str, prim: Primitive, kernel: Any, dtypes: frozenset, most=UNBOUNDED
):
    """Return the operator and its reflection: straight to `kernel` for plain operands of one dtype.

    Recorders are shown the application as `dispatch.bind` would.  What is not plain, has as many
    elements as `most`, or fails, goes to the hook, which converts and reports.
    """
    general = with_reflection(operation, stem) if stem in BINARY else _hook_operator(operation)

    def operate(self: EagerTensor, other: Any) -> Any:
        x = self._array
        kind = type(other)
        dtype = x.dtype
        try:
            if kind is EagerTensor:
                y = other._array
                plain = y.dtype is dtype and (dtype is _COMMON or dtype in dtypes)
            elif kind is state.variable and context.base is None:
                other = other.value()
                y = other._array
                plain = y.dtype is dtype and dtype in dtypes
            else:
                y = other
                plain = dtype in FLOATS if kind is float else kind is int and dtype in dtypes
            if plain and x.size < most and (not state.busy or context.base is None):
                try:
                    result = _new(EagerTensor)
                    if x.size >= LARGE and _is_short(y, x, prim):
                        result._array = heavy.run(prim, [x, y], NO_PARAMS, run)
                    else:
                        result._array = run(kernel, x, y)
                except Exception:  # noqa: BLE001 -- the general path below reports it
                    pass
                else:
                    if state.busy:
                        _show(prim, (self, other), result)
                    return result
            return general(self, other)
        except Exception as error:
            pass_out(error)
            raise

    def apply_reflected(self: EagerTensor, other: float | np.ndarray) -> Any:
        x = self._array
        kind = type(other)
        dtype = x.dtype
        plain = dtype in FLOATS if kind is float else kind is int and dtype in dtypes
        try:
            if plain and x.size < most and (not state.busy or context.base is None):
                try:
                    result = _new(EagerTensor)
                    result._array = run(kernel, other, x)
                except Exception:  # noqa: BLE001 -- the general path below reports it
                    pass
                else:
                    if state.busy:
                        _show(prim, (other, self), result)
                    return result
            return getattr(hooks, operation)(other, self)
        except Exception as error:
            pass_out(error)
            raise

    return operate, apply_reflected


def _is_short(y: Any, x: np.ndarray, prim: Primitive) -> bool:
    """Return whether y is an array that is repeated for a large x."""
    return type(y) is np.ndarray and 1 < y.size < x.size and prim.elementwise


def _show(prim: Primitive, operands: tuple, result: EagerTensor) -> None:
    """Do for an application what `dispatch.bind` does after the kernel."""
    if context.device is not None:
        dispatch.put_on_device(result)
    if state.observer is not None:
        state.observer.applied(prim, operands, result, NO_PARAMS)
    for recorder in context.recorders:
        recorder.record(prim, operands, result, NO_PARAMS)


def _install_fast_operators() -> None:
    table = [
        ("add", "add", "add", operator.add, NUMBERS),
        ("sub", "subtract", "sub", operator.sub, NUMBERS),
        ("mul", "multiply", "mul", operator.mul, NUMBERS),
        ("truediv", "truediv", "div", operator.truediv, FLOATS),
        ("pow", "pow", "pow", operator.pow, FLOATS),
        ("matmul", "matmul", "matmul", plain_product, FLOATS - {np.dtype("f2")}),
    ]
    for stem, operation, name, kernel, dtypes in table:
        forward, reflected = _fast(stem, operation, REGISTRY[name], kernel, dtypes)
        setattr(EagerTensor, f"__{stem}__", forward)
        setattr(EagerTensor, f"__r{stem}__", reflected)
    for stem, name in (("floordiv", "floor_div"), ("mod", "mod")):
        prim = REGISTRY[name]
        integers = NUMBERS - FLOATS
        forward, reflected = _fast(stem, stem, prim, prim.numpy, integers, MIDDLING)
        setattr(EagerTensor, f"__{stem}__", forward)
        setattr(EagerTensor, f"__r{stem}__", reflected)
    for method, name, kernel in (
        ("lt", "less", operator.lt),
        ("gt", "greater", operator.gt),
        ("le", "less_equal", operator.le),
        ("ge", "greater_equal", operator.ge),
    ):
        forward, _ = _fast(method, name, REGISTRY[name], kernel, NUMBERS - FLOATS | REALS)
        setattr(EagerTensor, f"__{method}__", forward)


_install_fast_operators()


state.plain, state.evaluate = EagerTensor, evaluate


def array_of(value: object) -> Any:
    """Return the array of an eager tensor, or of a constant of a graph.

    NeedsStaticError for other tensors of a graph, InvalidArgumentError for what is no such tensor.
    """
    if type(value) is EagerTensor or hasattr(type(value), "_array"):
        return value._array
    raise invalid("TW104", f"{value!r} has no value here", "an eager tensor")
