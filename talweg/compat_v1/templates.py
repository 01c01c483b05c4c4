"""tf.compat.v1.make_template: functions that share their variables from call to call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.variable_scopes import pure_scope, variable_scope
from talweg.compat_v1.variable_store import AUTO_REUSE, VariableScope, VariableStore, store
from talweg.compat_v1.variables import in_a_graph
from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.eager.graph_variable import outermost
from talweg.graph.collections import TRAINABLE_VARIABLES


class Template:
    """A function whose variables are made at the first call and shared by all later ones.

    In a graph they are the graph's; eagerly the template keeps them itself.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ):
        if name is None:
            raise value_error("TW401", "make_template: name_ is None", "a name")
        if unique_name is not None and not in_a_graph():
            raise value_error(
                "TW401", f"make_template: unique_name_={unique_name!r} outside of a graph", "None"
            )
        self._name, self._function, self._unique = name, function, unique_name
        self._getter, self._called = custom_getter, False
        self._scope: VariableScope | None = None
        self._kept: dict[str, Any] | None = None  # by name, where no graph keeps them
        if create_scope_now:
            own = store()
            options = {"custom_getter": custom_getter}
            scope = unique_name or own.unique_scope(name)
            with pure_scope(own, scope, options=options) as self._scope:
                pass

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return the function's result, with its variables shared.

        ValueError where a later call makes trainable variables, or in a graph others.
        """
        eager = not in_a_graph()
        if self._scope is None:
            scope = variable_scope(self._unique, self._name, custom_getter=self._getter)
        else:
            reuse = True if self._called and not eager else AUTO_REUSE
            scope = variable_scope(self._scope, reuse=reuse)
        with self._keeping(store()) if eager else contextlib.nullcontext(), scope as entered:
            self._scope = self._scope or entered
            before = self._count_trainable()
            result = self._function(*args, **kwargs)
            made = self._count_trainable() - before
            if self._called and made:
                raise value_error(
                    "TW401",
                    f"the template {self._name!r} made {made} trainable variables in a later call",
                    "calls that use the variables of the first one",
                )
            self._called = True
            return result

    @contextlib.contextmanager
    def _keeping(self, own: VariableStore) -> Iterator[None]:
        """Let a store keep the variables here, unless an outer template has it keep them."""
        before = own.variables, own.keeps
        if self._kept is None:
            self._kept = own.variables if own.keeps else {}
        own.variables, own.keeps = self._kept, True
        try:
            yield
        finally:
            own.variables, own.keeps = before

    def _count_trainable(self) -> int:
        graph = outermost(dispatch.context.base)
        if in_a_graph() and graph is not None:
            return len(graph.get_collection(TRAINABLE_VARIABLES))
        return len(self.trainable_variables)

    def _own(self) -> list:
        """Return the variables that are kept here, by name."""
        start = "" if self._scope is None else f"{self._scope.name}/"
        kept = self._kept or {}
        return [kept[name] for name in sorted(kept) if name.startswith(start)]

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The prefix of the names of its variables; None before the first call."""
        if self._scope is None:
            return None
        return f"{self._scope.name}/" if self._scope.name else ""

    @property
    def variables(self) -> list:
        """The template's global and local variables."""
        return [*self.global_variables, *self.local_variables]

    @property
    def trainable_variables(self) -> list:
        """The template's trainable variables."""
        if self._kept is not None:
            return [variable for variable in self._own() if variable.trainable]
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def non_trainable_variables(self) -> list:
        """The template's other variables."""
        trainable = {id(variable) for variable in self.trainable_variables}
        return [variable for variable in self.variables if id(variable) not in trainable]

    @property
    def global_variables(self) -> list:
        """The template's global variables."""
        if self._kept is not None:
            return self._own()
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def local_variables(self) -> list:
        """The template's local variables; none where no graph keeps them."""
        if self._kept is not None:
            return []
        return [] if self._scope is None else self._scope.local_variables()

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables


@export("compat.v1.make_template")
@as_it_is
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: object,
) -> Template:
    """Return a function like `func_` (with `kwargs` given) whose variables are shared by all its
    calls.

    They are made at the first call, in a scope named after `name_`, which is made unique, or of the
    name `unique_name_`, in graphs only.  ValueError if a later call asks for new ones, without a
    name, and for a unique name outside of graphs.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     scaled = tf.make_template("scale", lambda x: x * tf.get_variable("w", []))
    ...     y, z = scaled(1.0), scaled(2.0)
    ...     [v.name for v in tf.global_variables()]
    ['scale/w:0']
    """
    function = (lambda *args, **more: func_(*args, **{**kwargs, **more})) if kwargs else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)
