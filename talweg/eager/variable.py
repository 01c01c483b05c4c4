"""Variable: a named tensor that can be assigned.

The value is replaced, never changed in place, so a tensor that was read keeps what it had.  Reading
the same value twice gives the same tensor, which is how tapes know the variable.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import dispatch, locking, scope
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.tracebacks import pass_out
from talweg.core.tracking import CATCHING_UP, catch_up
from talweg.core.value import Reference, Tensor
from talweg.eager.convert import CONVERTERS, convert_to_tensor
from talweg.eager.format import represent_variable
from talweg.eager.library_attributes import LibraryTrackable
from talweg.eager.resident import of_its_own
from talweg.eager.scatter import ScatterUpdates
from talweg.eager.taken import ReplaceableValue
from talweg.eager.tensor import DEVICE, EagerTensor, wrap
from talweg.eager.variable_copies import VariableAggregation, VariableSynchronization
from talweg.eager.variable_creators import ThroughCreators
from talweg.eager.variable_operators import add_variable_operators
from talweg.graph.handle import Handle
from talweg.prims.state import update_variable

_NUMBERS = itertools.count()
_handles = threading.Lock()  # no variable has two


class Variable(ReplaceableValue, ScatterUpdates, LibraryTrackable, metaclass=ThroughCreators):
    """Shared, persistent state (`tf.Variable`).

    `initial_value` is anything convertible, or a function of no arguments that gives it.  `shape`
    may leave dimensions unknown (`tf.TensorShape(None)`), so that later values may differ in them.

    >>> import talweg as tf
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> v.assign_add([1.0, 1.0]).numpy()
    array([2., 3.], dtype=float32)
    """

    __array_priority__ = 100
    through_creators = True
    number = 0  # its place in the order in which variables were made

    def __new__(cls: Any, *args: object, **kwargs: object) -> Variable:
        base = dispatch.context.base
        if cls is Variable:
            if dispatch.state.variable_maker is not None:
                found = dispatch.state.variable_maker(args, kwargs)
                if found is not None:
                    return found
            if base is not None:
                cls = hooks.variable_class(base)
            if dispatch.context.device is not None and cls is Variable:
                cls = hooks.placed_variable
        made = object.__new__(cls)
        made.number = next(_NUMBERS)
        return made

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: object = None,
        dtype: Any = None,
        import_scope: object = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: object = VariableSynchronization.AUTO,
        aggregation: object = VariableAggregation.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ):
        if initial_value is None:
            raise value_error(
                "TW401", "The `initial_value` argument of `tf.Variable` must be given."
            )
        if constraint is not None and not callable(constraint):
            raise value_error("TW401", "The `constraint` argument must be a callable.")
        base = dispatch.context.base
        if CATCHING_UP:
            catch_up()
        if base is not None:
            base.note_variable(name or "Variable")
        with dispatch.eagerly():
            if callable(initial_value) and not isinstance(initial_value, (Tensor, Variable)):
                initial_value = initial_value()
            if base is not None:
                if shape is None and getattr(initial_value, "level", 0):
                    shape = initial_value.shape  # what holds for every call
                initial_value = hooks.lift_initial_value(initial_value)
            dtype = None if dtype is None else as_dtype(dtype)
            tensor: Any = convert_to_tensor(initial_value, dtype=dtype)
        self._shape = tensor.shape if shape is None else TensorShape(shape)
        if not self._shape.is_compatible_with(tensor.shape):
            raise value_error(
                "TW204",
                f"The initial value's shape ({tensor.shape}) is not compatible with the explicitly "
                f"supplied `shape` argument ({self._shape}).",
            )
        self._tensor: Any = of_its_own(tensor)  # so that tapes can tell it
        self._dtype: DType = tensor.dtype
        self._trainable = (
            synchronization != VariableSynchronization.ON_READ if trainable is None else trainable
        )
        self._name = f"{scope.current.prefix}{name or 'Variable'}:0"
        self._constraint = constraint
        self._synchronization, self._aggregation = synchronization, aggregation
        self._handle: Any = None
        if dispatch.state.observer is not None:
            dispatch.state.observer.variable_made(self)
        if base is None and dispatch.state.busy:
            self._note_write(tensor)

    # -- what it is

    @property
    def name(self) -> str:
        """The name, with ``:0`` behind it."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape every value must be compatible with."""
        return self._shape

    @property
    def dims(self) -> tuple:
        """The dimensions of the present value; in a graph, those that every value has."""
        return self.handle_read().dims

    @property
    def ndim(self) -> int:
        """The rank of the present value."""
        return self.handle_read().ndim

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it by themselves."""
        return self._trainable

    @property
    def synchronization(self) -> Any:
        """As given; there is one copy."""
        return self._synchronization

    @property
    def aggregation(self) -> Any:
        """As given; there is one copy."""
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The function an optimizer applies after an update, or None."""
        return self._constraint

    @property
    def device(self) -> str:
        """The device of the value."""
        return DEVICE

    @property
    def handle(self) -> Handle:
        """The handle by which graphs know this variable."""
        if self._handle is None:
            with _handles:
                if self._handle is None:
                    self._handle = Handle(self, self._name, self._shape, self._dtype)
        return self._handle

    @property
    def _shared_name(self) -> str:
        return self._name.split(":")[0]

    @functools.cached_property
    def _unique_id(self) -> str:
        """A name no other variable has, for optimizers that keep what belongs to it."""
        return f"{self._shared_name}_{self.number}"

    def get_shape(self) -> TensorShape:
        """Return the shape (the older spelling)."""
        return self._shape

    def set_shape(self, shape: TensorShape) -> None:
        """Make the shape more specific; ValueError if it contradicts."""
        self._shape = self._shape.merge_with(shape)

    def ref(self) -> Reference:
        """Return a hashable stand-in for this very object."""
        return Reference(self)

    experimental_ref = ref  # the older spelling

    # -- reading

    def value(self) -> Any:
        """Return the present value; while a tape records, it is told of the reading."""
        tensor = self._tensor
        if tensor is None:
            tensor = self.present()
        if dispatch.state.busy:
            if dispatch.context.base is not None:
                tensor = dispatch.context.base.read_variable(self.handle)
            if dispatch.state.observer is not None:
                dispatch.state.observer.variable_read(self)
            for recorder in dispatch.context.recorders:
                recorder.note_read(self, tensor)
        return tensor

    read_value = value

    def handle_read(self) -> Any:
        """Return the present value, in a graph one of unknown size, without telling tapes."""
        if dispatch.context.base is None or self._shape.is_fully_defined():
            return self.present()
        return dispatch.context.base.read_variable(self.handle)

    def numpy(self) -> Any:
        """Return a copy of the value as an array or NumPy scalar."""
        return self.value().numpy()

    def eval(self, session: object = None) -> Any:
        """Return the value as an array (eager variables need no session)."""
        return self.numpy()

    @property
    def initializer(self) -> None:
        """None: eager variables have their values from the beginning."""
        return

    def initialized_value(self) -> Any:
        """Return the present value; eager variables are always initialized."""
        return self.value()

    def is_initialized(self, name: str | None = None) -> Any:
        """Return True: eager variables always are."""
        return convert_to_tensor(True)

    def sparse_read(self, indices: object, name: str | None = None) -> Any:
        """Return the rows named by `indices`."""
        return hooks.gather(self, indices)

    def gather_nd(self, indices: object, name: str | None = None) -> Any:
        """Return the slices named by `indices`."""
        return hooks.gather_nd(self, indices)

    def __getitem__(self, key: Any) -> Any:
        return hooks.variable_getitem(self, key)

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        return self.value().__array__(dtype)

    def __float__(self) -> float:
        return float(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __complex__(self) -> complex:
        return complex(self.value())

    def __index__(self) -> int:
        return self.value().__index__()

    def __bool__(self) -> bool:
        return bool(self.value())

    def __len__(self) -> int:
        return len(self.value())

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if spec else str(self)

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise type_error("TW203", "'Variable' object is not iterable: it is a scalar")
        return iter(self.value())

    # -- writing

    def _accept(self, value: object, what: str) -> Any:
        """Return `value` as a tensor of this variable's dtype, checked against its shape."""
        tensor = convert_to_tensor(value, dtype=self._dtype)
        self._check_assigned(tensor, what)
        return tensor

    def _check_assigned(self, tensor: Any, what: str = "assign to") -> None:
        if not self._shape.is_compatible_with(tensor.shape):
            raise value_error(
                "TW204",
                f"Cannot {what} variable '{self._name}' of shape {self._shape} with a value of "
                f"shape {tensor.shape}",
                f"a value of shape {self._shape}",
            )

    def _replace(self, array: np.generic | np.ndarray, adding: bool = False) -> None:
        self._tensor = wrap(array)
        if dispatch.state.observer is not None:
            dispatch.state.observer.variable_written(self, adding)

    def assign(
        self,
        value: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Set the value; ValueError if its shape does not fit.  Returns the variable."""
        try:
            if dispatch.context.base is not None:
                return self._trace_update("assign", value, read_value)
            tensor = self._accept(value, "assign to")
            made = of_its_own(tensor)
            if dispatch.state.busy:
                self._note_write(tensor)
            if self._held is None and self._group is None:
                vars(self)["_tensor"] = made
            else:
                with locking.holding(self):
                    self._tensor = made
            if dispatch.state.observer is not None:
                dispatch.state.observer.variable_written(self, False)
            return self if read_value else None
        except Exception as error:
            pass_out(error)
            raise

    def _note_write(self, tensor: object) -> None:
        """Tell recorders of a change, which no gradient follows."""
        dispatch.note_write()
        for recorder in dispatch.context.recorders:
            recorder.note_write(self, tensor)

    def _trace_update(self, rule: str, value: object, read_value: bool = True) -> Any:
        """Return a change of the variable inside a trace."""
        value = convert_to_tensor(value, dtype=self._dtype)
        if rule == "assign":
            self._check_assigned(value)
        self._update_in_trace(rule, value)
        return self if read_value else None

    def _update_in_trace(self, rule: str, *operands: object, **params: object) -> Any:
        """Change by one of the rules of `update_variable`, in a trace; return the variable."""
        hooks.update_variable(*operands, variable=self.handle, rule=rule, **params)
        return self

    def _update(self, delta: object, kernel: Callable[[Any, Any], Any], what: str) -> None:
        delta = convert_to_tensor(delta, dtype=self._dtype)
        if not self._dtype.is_numeric:
            raise invalid(
                "TW102", f"Cannot {what} variables of dtype {self._dtype.name}", "numbers"
            )
        present = self._tensor
        done = False
        if present is not None and self._held is None:
            made = self._compute_update(present, delta, kernel, what)
            own = vars(self)  # `_tensor` may be a property: no call between these lines
            if self._held is None and self._group is None and own["_tensor"] is present:
                own["_tensor"] = made
                done = True
        if not done:  # somebody holds it, or another thread was faster
            with locking.holding(self):
                self._tensor = self._compute_update(self.present(), delta, kernel, what)
        if dispatch.state.observer is not None:
            dispatch.state.observer.variable_written(self, True)

    def _compute_update(
        self, present: Any, delta: Any, kernel: Callable[[Any, Any], Any], what: str
    ) -> Any:
        if delta.dims != present.dims:
            raise invalid(
                "TW204",
                f"Cannot {what} variable '{self._name}' of shape {present.dims} and a value of "
                f"shape {delta.dims}",
                "a value of the variable's shape",
            )
        made = wrap(np.asarray(kernel(present._array, delta._array))[()])
        if dispatch.state.busy:
            self._note_write(delta)
        return made

    def assign_add(
        self,
        delta: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add `delta`.  Returns the variable."""
        try:
            if dispatch.context.base is not None:
                return self._trace_update("add", delta, read_value)
            self._update(delta, np.add, "add")
            return self if read_value else None
        except Exception as error:
            pass_out(error)
            raise

    def assign_sub(
        self,
        delta: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract `delta`.  Returns the variable."""
        try:
            if dispatch.context.base is not None:
                return self._trace_update("sub", delta, read_value)
            self._update(delta, np.subtract, "subtract")
            return self if read_value else None
        except Exception as error:
            pass_out(error)
            raise

    # -- identity, copies, printing

    def __eq__(self, other: object) -> Any:
        return hooks.equal_operator(self, other)

    def __ne__(self, other: object) -> Any:
        return hooks.not_equal_operator(self, other)

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def _serialize_to_tensors(self) -> dict:
        return {"VARIABLE_VALUE": self.value()}

    def _restore_from_tensors(self, restored_tensors: dict) -> Any:
        return self.assign(restored_tensors["VARIABLE_VALUE"])

    def __repr__(self) -> str:
        return represent_variable(self._name, self._shape, self._dtype, self.present()._array)

    __str__ = __repr__

    def __deepcopy__(self, memo: dict) -> Variable:
        copy = Variable(
            wrap(self.present()._array.copy()),
            trainable=self._trainable,
            name=self._shared_name,
            constraint=self._constraint,
            synchronization=self._synchronization,
            aggregation=self._aggregation,
            shape=self._shape,
        )
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        options = (self._trainable, True, None, self._shared_name)
        return Variable, (self.present(), *options)

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> Any:
        return _read(self, None if dtype is None else as_dtype(dtype))


def _read(variable: Variable, dtype: DType | None) -> EagerTensor:
    if dtype is not None and variable.dtype is not dtype:
        raise value_error(
            "TW102",
            f"Incompatible type conversion requested to type {dtype.name!r} for variable "
            f"'{variable.name}' of type {variable.dtype.name!r}",
        )
    return variable.value()


def variable_of(value: object) -> Any:
    """Return the variable a Keras variable stands for; other values as they are."""
    if getattr(type(value), "_should_act_as_resource_variable", False):
        return value.handle.variable
    return value


add_variable_operators(Variable)
CONVERTERS.append((Variable, _read))

dispatch.state.variable = Variable
hooks.update_variable = update_variable
