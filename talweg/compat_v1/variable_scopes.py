"""tf.compat.v1: variable scopes, `get_variable`, templates.

A variable scope prefixes the names of variables got with `get_variable` and enters a name scope for
operations.  The two part when a scope is entered again: variables keep their names, operations get
new ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.scopes import name_scope
from talweg.compat_v1.variable_store import (
    AUTO_REUSE,
    VariableScope,
    VariableStore,
    current_store,
    store,
)
from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.eager.graph_variable import outermost
from talweg.eager.variable import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from talweg.compat_v1.variables import VariableV1
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


@export("compat.v1.get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Return the variable scope in force.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("a"):
    ...     tf.get_variable_scope().name
    'a'
    """
    return store().scope


@export("compat.v1.get_variable")
@as_it_is
def get_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Any = None,
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
) -> VariableV1:
    """Return the variable `name` of the variable scope in force: a new one, or one that is shared.

    shape, dtype: of the variable (dtype: the scope's, float32, if None).  initializer: a function
    of shape and dtype, or of nothing if no shape is given, or a value, without a shape; None is the
    scope's, and if that is None Glorot's uniform numbers, or zeros for integers.  regularizer: a
    function whose result goes to the collection REGULARIZATION_LOSSES.  collections: where it is
    listed (global variables if None).  custom_getter: called as getter(getter, name, ...) instead.
    partitioner: a function of shape and dtype, of the number of parts along each axis; the result
    is then a list of variables that stands for a tensor.  caching_device and use_resource are
    accepted.

    ValueError if the variable is there and reuse is off, is not there and reuse is True, or is
    there with another shape or dtype, and for an initializer that does not fit.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer"):
    ...     tf.get_variable("w", [2, 3]).name
    'layer/w:0'
    """
    with at_root():
        return store().scope.get_variable(
            current_store(),
            name,
            shape,
            dtype,
            initializer,
            regularizer,
            None,
            trainable,
            collections,
            caching_device,
            partitioner,
            validate_shape,
            use_resource,
            custom_getter,
            constraint,
            synchronization,
            aggregation,
        )


@contextlib.contextmanager
def at_root() -> Iterator[None]:
    """Leave all name scopes: `get_variable` names by variable scope alone."""
    base = dispatch.context.base
    if base is None or base.building_function:
        with name_scope(""):
            yield
        return
    graphs = {id(graph): graph for graph in (base, outermost(base))}.values()
    before = [graph.scope for graph in graphs]
    for graph in graphs:
        graph.scope = ""
    try:
        yield
    finally:
        for graph, scope in zip(graphs, before):
            graph.scope = scope


@export("compat.v1.variable_scope")
class variable_scope:
    """A context whose variables have its name in front of theirs.

    name_or_scope: a name, put behind that of the scope around, or a `VariableScope`, entered again
    wherever that is; None takes `default_name`, made unique.  initializer, regularizer, dtype,
    constraint, custom_getter: defaults for the variables inside (a custom getter goes around those
    of outer scopes), partitioner; caching_device and use_resource are accepted.  reuse: True to get
    variables that are there, AUTO_REUSE to make those that are not, None as outside.
    auxiliary_name_scope: False to leave the names of operations alone.

    TypeError without a name; ValueError for another value of reuse, or reuse without a name.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("a"):
    ...         v = tf.get_variable("v", [1])
    ...     with tf.variable_scope("a", reuse=True):
    ...         tf.get_variable("v", [1]) is v
    True
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: TensorLike | None = None,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ):
        if name_or_scope is None and default_name is None:
            raise type_error("TW401", "If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise type_error(
                "TW104",
                f"variable_scope: name_or_scope is {name_or_scope!r}",
                "a string or a VariableScope",
            )
        if reuse not in (None, True, False, AUTO_REUSE):
            raise value_error(
                "TW401", f"The reuse parameter is {reuse!r}", "True, False, None or tf.AUTO_REUSE"
            )
        if name_or_scope is None and reuse:
            raise value_error("TW401", "reuse=True cannot be used without a name_or_scope")
        if not isinstance(auxiliary_name_scope, bool):
            raise type_error(
                "TW104",
                "The auxiliary_name_scope must be `True` or `False`, but get "
                f"{auxiliary_name_scope!r}",
            )
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._reuse = reuse or None
        self._options = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._named = auxiliary_name_scope
        self._entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> VariableScope:
        own = store()
        name: Any = self._name_or_scope
        is_default = False
        if name is None:
            name, is_default = self._default_name, True
        with contextlib.ExitStack() as stack:
            prefix = stack.enter_context(self._operation_names(name))
            if is_default:
                name = own.unique_scope(name)
            entered = pure_scope(own, name, self._reuse, prefix, self._options)
            found = stack.enter_context(entered)
            self._entered.append(stack.pop_all())
        return found

    def _operation_names(self, name: str) -> Any:
        """Return the name scope of the operations inside."""
        if not self._named:
            return _no_names()
        last = name.name.split("/")[-1] if isinstance(name, VariableScope) else name
        return operation_scope(last) if last else _no_names()

    def __exit__(self, *error: Any) -> Any:
        return self._entered.pop().__exit__(*error)


@contextlib.contextmanager
def _no_names() -> Iterator[str]:
    """Give the name scope in force."""
    base = dispatch.context.base
    yield "" if base is None else base.scope


@contextlib.contextmanager
def operation_scope(name: str) -> Iterator[str]:
    """Enter a name scope of the graph in force, or of eager variables."""
    base = dispatch.context.base
    scope = name_scope(name) if base is None else base.name_scope(name)
    with scope as prefix:
        yield prefix


@contextlib.contextmanager
def pure_scope(
    own: VariableStore,
    name_or_scope: Any,
    reuse: Any = None,
    prefix: str | None = None,
    options: dict | None = None,
) -> Iterator[VariableScope]:
    """Open a variable scope without a name scope."""
    before = own.scope
    again = isinstance(name_or_scope, VariableScope)
    if again:
        name, outer = name_or_scope.name, name_or_scope
        prefix = outer.original_name_scope
    else:
        name = f"{before.name}/{name_or_scope}" if before.name else name_or_scope
        outer = before
    scope = outer.derive(reuse or outer.reuse, name, prefix or f"{name}/", **(options or {}))
    own.open(name)
    opened = dict(own.opened)
    own.scope = scope
    try:
        yield scope
    finally:
        if again:
            own.opened = opened
        else:
            own.forget_inner(name)
        own.scope = before


@export("compat.v1.variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: TensorLike,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Callable[..., Any] | TensorLike | None = None,
    regularizer: Callable[..., Any] | None = None,
    caching_device: str | Callable[..., Any] | None = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Callable[..., Any] | None = None,
) -> Iterator[VariableScope]:
    """Call `variable_scope` with its first arguments in an older order.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_op_scope([], "a"):
    ...     tf.get_variable("v", [1]).name
    'a/v:0'
    """
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    ) as scope:
        yield scope
