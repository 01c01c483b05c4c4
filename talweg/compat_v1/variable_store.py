"""Shared variables of a graph, by name, and the variable scope in force.

A `VariableScope` hands names and defaults down; the `Store` makes or finds the variable of a full
name.  Outside of graphs there is a store per thread that knows scopes but keeps no variable: there
every `get_variable` makes one.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, export_value
from talweg.compat_v1 import initializers
from talweg.compat_v1.modes import is_resource
from talweg.compat_v1.partitions import PartitionedVariable, make_parts, partitions_of
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, float32, string
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.core.provenance import describe
from talweg.core.shapes import as_shape
from talweg.core.thread_context import carry_context
from talweg.eager.convert import convert_to_tensor
from talweg.eager.graph_variable import lift, outermost, variable_class
from talweg.eager.variable import Variable, VariableAggregation, VariableSynchronization
from talweg.graph.collections import GLOBAL_VARIABLES, TRAINABLE_VARIABLES

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


LOCAL_VARIABLES, REGULARIZATION_LOSSES = "local_variables", "regularization_losses"


class ReuseMode(enum.Enum):
    """Names the values of `reuse` besides True, False and None."""

    AUTO_REUSE = 1


AUTO_REUSE = export_value(ReuseMode.AUTO_REUSE, "compat.v1.AUTO_REUSE")


@export("compat.v1.no_regularizer")
def no_regularizer(_: Any) -> None:
    """Add no loss: a regularizer for variables of a scope that has another one.

    >>> import talweg.compat.v1 as tf
    >>> tf.no_regularizer(1.0)
    """
    return


class VariableStore:
    """The variables of a graph that `get_variable` made, and the scope in force."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.opened: dict[str, int] = {}  # how often each scope was entered
        self.scope = VariableScope(False)
        self.keeps = False  # whether variables are kept that belong to no graph

    def open(self, name: str) -> None:
        """Note that the scope `name` was entered."""
        self.opened[name] = self.opened.get(name, 0) + 1

    def forget_inner(self, name: str) -> None:
        """Count the scopes inside `name` from the start again."""
        for inner in self.opened:
            if not name or inner.startswith(f"{name}/"):
                self.opened[inner] = 0

    def unique_scope(self, prefix: str) -> str:
        """Number `prefix` if the present scope has had a scope of this name."""
        outer = f"{self.scope.name}/" if self.scope.name else ""
        name, number = prefix, 0
        while self.opened.get(outer + name, 0):
            number += 1
            name = f"{prefix}_{number}"
        return name

    def get(
        self, name: str, custom_getter: Callable[..., Any] | None = None, **options: Any
    ) -> Any:
        """Return the variable of the full name `name`, through `custom_getter` if there is one."""
        if custom_getter is None:
            return self._find_or_make(name, **options)
        if not callable(custom_getter):
            raise value_error("TW104", f"custom_getter is not callable: {custom_getter!r}")
        return custom_getter(getter=self._find_or_make, name=name, **options)

    def _find_or_make(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        if initializer is not None and not callable(initializer) and shape is not None:
            raise value_error(
                "TW401",
                f"variable '{name}': If initializer is a constant, do not specify shape.",
            )
        dtype, shape = as_dtype(dtype), as_shape(shape)
        variable = self.variables.get(name, self.partitioned.get(name))
        if variable is None and partitioner is not None and shape.rank != 0:
            options = {
                "regularizer": regularizer,
                "trainable": trainable,
                "collections": collections,
                "use_resource": use_resource,
                "constraint": constraint,
                "synchronization": synchronization,
                "aggregation": aggregation,
            }
            return self._in_parts(name, shape, dtype, initializer, reuse, partitioner, options)
        if variable is not None:
            return _check_shared(variable, name, shape, dtype, reuse)
        if reuse is True:
            raise value_error(
                "TW401",
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?",
            )
        value, kind = first_value(name, shape, dtype, initializer)
        options: dict[str, Any] = {"collections": collections}
        options["use_resource"] = is_resource(use_resource)
        base = dispatch.context.base
        eager = base is None or variable_class(base) is Variable
        made = Variable(
            value,
            trainable=trainable,
            validate_shape=validate_shape,
            name=name,
            dtype=kind,
            constraint=constraint,
            synchronization=synchronization,
            aggregation=aggregation,
            **({} if eager else options),
        )
        if not eager or self.keeps:
            self.variables[name] = made
        if regularizer:
            _regularize(made, name, regularizer)
        return made

    def _in_parts(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        initializer: Any,
        reuse: Any,
        partitioner: Callable[..., Any] | None,
        options: dict,
    ) -> PartitionedVariable:
        """Find or make the variable in parts of this name."""
        if initializer is not None and not callable(initializer):
            initializer = convert_to_tensor(initializer)
            dtype, shape = initializer.dtype, as_shape(initializer.dims)
        partitions = partitions_of(partitioner, name, shape, dtype)

        def get(part: str, own: list, first: object) -> Any:
            size = own if first is None or callable(first) else None
            return self._find_or_make(f"{name}/{part}", size, dtype, first, reuse=reuse, **options)

        made = make_parts(name, shape, dtype, partitions, initializer, get)
        if all(part.name.split(":")[0] in self.variables for part in made):
            self.partitioned[name] = made
        return made


def _check_shared(
    variable: object, name: str, shape: ShapeLike, dtype: DTypeLike, reuse: Any
) -> Any:
    """Return the existing variable; ValueError if it may not be shared, or is another kind."""
    if reuse is False or reuse is None:
        raise value_error(
            "TW401",
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at {_where(variable)}",
        )
    if not shape.is_compatible_with(variable.shape):
        raise value_error(
            "TW204",
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{variable.shape}.",
        )
    if dtype is not variable.dtype:
        raise value_error(
            "TW102",
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{variable.dtype.name}.",
        )
    return variable


def _where(variable: Any) -> str:
    node = getattr(variable, "_initializer", None)
    return describe(node.origin) if node is not None else "an unknown place"


def first_value(name: str, shape: Any, dtype: Any, initializer: Any) -> tuple[Any, Any]:
    """Convert an initializer to a first value and dtype; ValueError if that cannot be told."""
    if initializer is None:
        initializer = default_initializer(name, dtype)
    elif not callable(initializer):
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if not shape.is_fully_defined():
        if shape.rank is None and _needs_nothing(initializer):
            return initializer, None
        raise value_error(
            "TW205",
            f"The initializer passed is not valid for variable '{name}' of shape {shape}",
            "a callable with no arguments, and no shape; or a fully defined shape",
        )
    extra = {"partition_info": None} if _names(initializer, "partition_info") else {}
    return functools.partial(initializer, shape.as_list(), dtype=dtype, **extra), dtype


def default_initializer(name: str, dtype: DTypeLike) -> Any:
    """Return the initializer of a variable for which none was given."""
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype is string:
        return initializers.Zeros()
    raise value_error("TW401", f"An initializer for variable {name} of {dtype!r} is required")


def _needs_nothing(function: Callable[..., Any]) -> bool:
    """Return whether a function can be called without arguments."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a builtin does not say
        return True
    return True


def _regularize(variable: Any, name: str, regularizer: Callable[[Any], Any]) -> None:
    graph = outermost(dispatch.context.base)
    if graph is None:
        return
    with lift(graph), graph.name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(REGULARIZATION_LOSSES, convert_to_tensor(loss))


class _OutsideGraphs(threading.local):
    """The store of a thread for when no graph is in force."""

    store: Any = None
    lent: Any = None  # what `with_variable_store` has in place of it


_outside = carry_context(_OutsideGraphs())


def store() -> VariableStore:
    """Return the store of the graph in force."""
    graph = outermost(dispatch.context.base)
    if graph is None or graph.building_function:
        if _outside.store is None:
            _outside.store = VariableStore()
        return _outside.store
    found = graph.extras.get("variable_store")
    if found is None:
        found = graph.extras["variable_store"] = VariableStore()
    return found


def current_store() -> Any:
    """Return the store that variables are got from: that of `with_variable_store`, or `store()`."""
    return store() if _outside.lent is None else _outside.lent


@contextlib.contextmanager
def with_variable_store(own: Any) -> Iterator[None]:
    """Get the block's variables from `own`, as Keras 2 keeps those of a layer."""
    before, scope = _outside.lent, store().scope
    _outside.lent = own
    try:
        yield
    finally:
        _outside.lent = before
        store().scope = scope


def wrap_getter(getter: Any, inner: Any) -> Any:
    """Return a custom getter around another one, that of the scope around."""
    if getter is None:
        return inner
    if inner is None:
        return getter

    outer = getter

    def get_variable_through(getter: Any, *args: object, **kwargs: object) -> Any:
        return outer(functools.partial(inner, getter), *args, **kwargs)

    return get_variable_through


HANDED_DOWN = (
    "initializer",
    "regularizer",
    "caching_device",
    "partitioner",
    "custom_getter",
    "dtype",
    "use_resource",
    "constraint",
)


@export("compat.v1.VariableScope")
class VariableScope:
    """Holds the name and the defaults for the variables made in a scope.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("a") as scope:
    ...     scope.name, scope.reuse
    ('a', False)
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ):
        self.reuse, self.name = reuse, name
        self.initializer, self.regularizer = initializer, regularizer
        self.caching_device, self.partitioner = caching_device, partitioner
        self.custom_getter, self.original_name_scope = custom_getter, name_scope
        self.dtype, self.use_resource, self.constraint = dtype, use_resource, constraint

    def derive(self, reuse: Any, name: str, name_scope: str, **options: object) -> VariableScope:
        """Return a scope with these defaults, other than those given."""
        own = {key: getattr(self, key) for key in HANDED_DOWN}
        own.update({key: value for key, value in options.items() if value is not None})
        own["custom_getter"] = wrap_getter(options.get("custom_getter"), self.custom_getter)
        return VariableScope(reuse, name, name_scope=name_scope, **own)

    def reuse_variables(self) -> None:
        """Reuse variables from here on: they are found, and none is made."""
        self.reuse = True

    def set_initializer(self, initializer: Callable[..., Any] | TensorLike) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Set the default dtype."""
        self.dtype = dtype

    def set_use_resource(self, use_resource: bool) -> None:
        """Keep the setting: every variable is a resource."""
        self.use_resource = use_resource

    def set_regularizer(self, regularizer: Callable[..., Any]) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: str | Callable[..., Any]) -> None:
        """Keep the setting: there is one device."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Callable[..., Any]) -> None:
        """Set the function that says in how many parts variables are."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any]) -> None:
        """Set the function that variables are got through."""
        self.custom_getter = custom_getter

    def get_collection(self, name: str) -> list:
        """Return the members of a collection whose names begin with this scope's."""
        scope = f"{self.name}/" if self.name else ""
        return hooks.default_graph().get_collection(name, scope)

    def trainable_variables(self) -> list:
        """Return the trainable variables of this scope."""
        return self.get_collection(TRAINABLE_VARIABLES)

    def global_variables(self) -> list:
        """Return the global variables of this scope."""
        return self.get_collection(GLOBAL_VARIABLES)

    def local_variables(self) -> list:
        """Return the local variables of this scope."""
        return self.get_collection(LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Callable[..., Any] | None = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Find the variable `name` of this scope, or make it if it may; see `tf.get_variable`."""
        _check_dtype(name, dtype, initializer)
        getter = self.custom_getter if custom_getter is None else custom_getter
        options = {
            "shape": shape,
            "dtype": self.dtype if dtype is None else dtype,
            "initializer": self.initializer if initializer is None else initializer,
            "regularizer": self.regularizer if regularizer is None else regularizer,
            "reuse": self.reuse if reuse is None else reuse,
            "trainable": trainable,
            "collections": collections,
            "caching_device": self.caching_device if caching_device is None else caching_device,
            "partitioner": self.partitioner if partitioner is None else partitioner,
            "validate_shape": validate_shape,
            "use_resource": self.use_resource if use_resource is None else use_resource,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        constraint = self.constraint if constraint is None else constraint
        if getter is None or _takes(getter, "constraint"):
            options["constraint"] = constraint
        if options["initializer"] is not None and not callable(options["initializer"]):
            options["dtype"] = convert_to_tensor(options["initializer"]).dtype
        full_name = f"{self.name}/{name}" if self.name else name
        if isinstance(var_store, VariableStore):
            return var_store.get(full_name, getter, **options)
        return var_store.get_variable(full_name, custom_getter=getter, **options)


def _check_dtype(name: str, dtype: Any, initializer: Any) -> None:
    if dtype is None or initializer is None or callable(initializer):
        return
    found = convert_to_tensor(initializer).dtype
    if found is not as_dtype(dtype):
        raise value_error(
            "TW102",
            f"variable '{name}': Initializer type '{found.name}' and explicit dtype "
            f"'{as_dtype(dtype).name}' don't match.",
        )


def _names(function: Any, argument: str) -> bool:
    """Return whether a function has an argument of this name."""
    try:
        return argument in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _takes(function: Any, argument: str) -> bool:
    """Return whether a function has an argument of this name, or takes any."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
