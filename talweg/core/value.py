"""The attributes of every tensor-like value: operators, which are hooks, and IndexedSlices.

Subclasses: `EagerTensor` (has a value), symbolic tensors of a graph, `BatchTensor` (inside
`vectorized_map` and batched jacobians).  The derivative and batch rules are written with these
operators and with `dims`, so the same text serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType
from talweg.core.errors import value_error
from talweg.core.fallbacks import FALLBACKS, NOT_SUPPORTED, operator_falls_back
from talweg.core.habits import add_tensor_habits, refuse_items, without_habits
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape, shape_of_dims
from talweg.core.tracebacks import pass_out

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dims import Size

    class Operators:
        """The operators of tensors and variables, as type checkers see them."""

        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...
        def __bool__(self) -> bool: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def numpy(self) -> Any: ...
        def eval(self, feed_dict: object = None, session: object = None) -> Any: ...
        @property
        def device(self) -> str: ...
        @property
        def name(self) -> str: ...
        @property
        def op(self) -> Any: ...
        @property
        def graph(self) -> Any: ...
        def __add__(self, other: object) -> Tensor: ...
        def __radd__(self, other: object) -> Tensor: ...
        def __sub__(self, other: object) -> Tensor: ...
        def __rsub__(self, other: object) -> Tensor: ...
        def __mul__(self, other: object) -> Tensor: ...
        def __rmul__(self, other: object) -> Tensor: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __floordiv__(self, other: TensorLike) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
        def __mod__(self, other: TensorLike) -> Tensor: ...
        def __rmod__(self, other: TensorLike) -> Tensor: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __rpow__(self, other: TensorLike) -> Tensor: ...
        def __matmul__(self, other: TensorLike) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike) -> Tensor: ...
        def __and__(self, other: TensorLike) -> Tensor: ...
        def __rand__(self, other: TensorLike) -> Tensor: ...
        def __or__(self, other: TensorLike) -> Tensor: ...
        def __ror__(self, other: TensorLike) -> Tensor: ...
        def __xor__(self, other: object) -> Tensor: ...
        def __rxor__(self, other: TensorLike) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __lt__(self, other: TensorLike) -> Tensor: ...
        def __le__(self, other: object) -> Tensor: ...
        def __gt__(self, other: TensorLike) -> Tensor: ...
        def __ge__(self, other: TensorLike) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
        def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> Any: ...

else:

    class Operators:
        """Base of the classes that have Python's operators."""

        __slots__ = ()


class Tensor(Operators):
    """A multi-dimensional array of elements of one dtype (`tf.Tensor`)."""

    __slots__ = ("__dict__", "__weakref__")
    __array_priority__ = 100
    level = 0  # which interpreter takes the operand; see core/dispatch.py
    interpreter: Any = None

    @property
    def dims(self) -> tuple:
        """The dimensions as a tuple (what rules use)."""
        raise AssertionError("a subclass says its dimensions")

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        raise AssertionError("a subclass says its dtype")

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return shape_of_dims(self.dims)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def get_shape(self) -> TensorShape:
        """Return the static shape (the older spelling of `shape`)."""
        return self.shape

    def set_shape(self, shape: TensorShape) -> None:
        """Raise ValueError unless `shape` is compatible with this tensor's."""
        if not self.shape.is_compatible_with(shape):
            raise value_error(
                "TW204",
                f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}.",
            )

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __dir__(self) -> list[str]:
        return without_habits(list(super().__dir__()), type(self))

    def _repr_html_(self) -> str:
        return hooks.html_view(self)

    def ref(self) -> Reference:
        """Return a hashable stand-in for this very object."""
        return Reference(self)


class Reference:
    """A hashable, identity-compared reference to a tensor or variable; `deref` gives it back."""

    __slots__ = ("__weakref__", "_wrapped")

    def __init__(self, wrapped: object):
        self._wrapped = wrapped

    def deref(self) -> Any:
        """Return the object referred to."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __lt__(self, other: Reference) -> bool:
        """Order references, so that nests whose keys they are have one order."""
        if not isinstance(other, Reference):
            raise TypeError(f"a Reference has no order with {other!r}")
        return id(self._wrapped) < id(other._wrapped)

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


_CONVERTED = ("builtins", "numpy")  # what lies here is converted, or wrong
UNARY = {"__neg__": "negative", "__abs__": "abs", "__invert__": "invert"}
BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "truediv",
    "floordiv": "floordiv",
    "mod": "mod",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
COMPARISON = {
    "__lt__": "less",
    "__le__": "less_equal",
    "__gt__": "greater",
    "__ge__": "greater_equal",
    "__eq__": "equal_operator",
    "__ne__": "not_equal_operator",
    "__getitem__": "getitem",
}


OVERLOADABLE = frozenset(
    [*COMPARISON, *UNARY, *[f"__{r}{stem}__" for stem in BINARY for r in ("", "r")]]
)


def _unary(operation: str) -> Callable[[Any], Any]:
    def operate(self: Any) -> Any:
        try:
            return getattr(hooks, operation)(self)
        except Exception as error:
            if FALLBACKS:
                found = operator_falls_back(error, operation, self)
                if found is not NOT_SUPPORTED:
                    return found
            pass_out(error)
            raise

    return operate


def _forward(operation: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: TensorLike | None) -> Any:
        try:
            return getattr(hooks, operation)(self, other)
        except Exception as error:
            if FALLBACKS:
                found = operator_falls_back(error, operation, self, other)
                if found is not NOT_SUPPORTED:
                    return found
            pass_out(error)
            raise

    return operate


def with_reflection(operation: str, stem: str) -> Callable[[Any, Any], Any]:
    """Return the operator of a hook; of an operand that cannot be converted, its own reflection."""
    reflection = f"__r{stem}__"

    def apply(self: Any, other: Any) -> Any:
        try:
            return getattr(hooks, operation)(self, other)
        except Exception as error:
            if FALLBACKS:
                result = operator_falls_back(error, operation, self, other)
                if result is not NOT_SUPPORTED:
                    return result
            result = _reflection(error, reflection, self, other)
            if result is not NotImplemented:
                return result
            pass_out(error)
            raise

    return apply


def _reflection(error: Exception, method: str, x: object, other: object) -> Any:
    """Apply the operator of `other` where that of `x` failed; NotImplemented if it has none."""
    own = getattr(type(other), method, None)
    if own is None or isinstance(other, Tensor) or type(other).__module__ in _CONVERTED:
        return NotImplemented
    return own(other, x) if isinstance(error, (TypeError, ValueError)) else NotImplemented


def _make_reflected_operator(operation: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Size) -> Any:
        try:
            return getattr(hooks, operation)(other, self)
        except Exception as error:
            if FALLBACKS:
                found = operator_falls_back(error, operation, other, self)
                if found is not NOT_SUPPORTED:
                    return found
            pass_out(error)
            raise

    return operate


def add_operators(cls: type) -> None:
    """Give `cls` Python's operators, each of which calls a hook."""
    for method, operation in UNARY.items():
        setattr(cls, method, _unary(operation))
    for stem, operation in BINARY.items():
        setattr(cls, f"__{stem}__", with_reflection(operation, stem))
        setattr(cls, f"__r{stem}__", _make_reflected_operator(operation))
    for method, operation in COMPARISON.items():
        setattr(cls, method, _forward(operation))


add_operators(Tensor)


def _truth(self: Any) -> bool:
    """Return the truth value of an object of a library; subclasses of `Tensor` have their own."""
    found = hooks.convert_to_tensor(self)
    return True if found is self else bool(found)


_named: Any = Tensor  # names of Python 2 that libraries still ask for
_named.OVERLOADABLE_OPERATORS = OVERLOADABLE
_named.__div__, _named.__rdiv__ = Tensor.__truediv__, Tensor.__rtruediv__
_named.__bool__ = _named.__nonzero__ = _truth
add_tensor_habits(Tensor, refuse_items)


class IndexedSlices:
    """Some slices of a larger tensor, along its first axis: a sparse gradient.

    `values[i]` belongs at row `indices[i]`; rows named twice are summed, rows not named are zero.
    `values` has shape [n, ...], `indices` [n], `dense_shape` (optional) the shape of the whole.
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self) -> Any:
        """The slices, [n, ...]."""
        return self._values

    @property
    def indices(self) -> Any:
        """The row each slice belongs to, [n]."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole, an integer vector, or None."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def name(self) -> str:
        """The name of the values."""
        return getattr(self._values, "name", "")

    @property
    def device(self) -> str:
        """The device of the values."""
        return self._values.device

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole, as far as it is known."""
        if self._dense_shape is None:
            return TensorShape(None)
        shape = self._dense_shape
        if isinstance(shape, (tuple, list)):
            return TensorShape(shape)
        return hooks.shape_in_tensor(shape)

    def consumers(self) -> list:
        """Return operations that use it; none are kept."""
        return []

    def _flat_components(self) -> list:
        """Return the tensors it is made of."""
        whole = [self._values, self._indices, self._dense_shape]
        return [part for part in whole if part is not None]

    def _with_components(self, parts: list) -> IndexedSlices:
        """Return slices like these, of other tensors."""
        return IndexedSlices(*parts)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"

    def __repr__(self) -> str:
        return f"<{self}>"
