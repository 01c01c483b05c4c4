"""tf.Module: an object with variables and submodules, found through its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from talweg.api.export import export
from talweg.api.scopes import name_scope
from talweg.core.errors import value_error
from talweg.core.habits import OF_MODULES, add_habits, without_habits
from talweg.core.hooks import hooks
from talweg.core.tracking import DEFERRED, UNTRACKED, AutoTrackable, catch_up
from talweg.eager.variable import Variable
from talweg.graph import structure
from talweg.trace.autograph.convert import adopt_function

_IDENTIFIER = re.compile(r"^[A-Za-z_]\w*$")


def snake_case(name: str) -> str:
    """Convert ``MyLayer2D`` to ``my_layer2d``."""
    found = re.sub(r"((?<=[a-z0-9])[A-Z]|(?<!^)[A-Z](?=[a-z]))", r"_\1", name)
    return found.lower().lstrip("_")


@export("Module")
class Module(AutoTrackable):
    """A container of variables, functions and other modules (`tf.Module`).

    `name`: a valid Python identifier (else ValueError); the class's name in snake case if None.

    >>> import talweg as tf
    >>> class Dense(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = tf.Variable([[1.0], [2.0]], name="w")
    ...     def __call__(self, x):
    ...         return x @ self.w
    >>> layer = Dense()
    >>> layer.name, len(layer.trainable_variables)
    ('dense', 1)
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset = frozenset(
        (
            *("_self_unconditional_checkpoint_dependencies", DEFERRED),
            *("_self_unconditional_dependency_names", UNTRACKED),
        )
    )  # what holds a module's parts a second time; libraries add to it

    def __init__(self, name: str | None = None):
        name = snake_case(type(self).__name__) if name is None else name
        if not isinstance(name, str) or not _IDENTIFIER.match(name):
            raise value_error(
                "TW207",
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name).",
            )
        self._name = name
        with name_scope(name) as entered:  # in a graph this numbers the second of a name
            self._scope_name = entered

    def __dir__(self) -> list[str]:
        return without_habits(list(super().__dir__()), type(self))

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def _repr_html_(self) -> str:
        return hooks.html_view(self)

    @property
    def name_scope(self) -> name_scope:
        """A scope in which names of variables begin with the module's."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of the module and its submodules, each once."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that tapes watch."""
        return tuple(self._flatten(predicate=lambda x: _is_variable(x) and x.trainable))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The other variables."""
        return tuple(self._flatten(predicate=lambda x: _is_variable(x) and not x.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules inside, at any depth."""
        return tuple(self._flatten(predicate=lambda x: isinstance(x, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: object = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Return the attributes' leaves for which `predicate` holds, by sorted attribute name."""
        return _walk(
            self, recursive, predicate or (lambda x: True), with_path, attribute_traversal_key
        )

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Make `method` enter the module's name scope.

        >>> import talweg as tf
        >>> class Layer(tf.Module):
        ...     @tf.Module.with_name_scope
        ...     def build(self):
        ...         return tf.Variable(1.0, name="w").name
        >>> Layer().build()
        'layer/w:0'
        """

        @functools.wraps(method)
        def call_in_scope(self: Module, *args: object, **kwargs: object) -> Any:
            with self.name_scope:
                return adopt_function(method)(self, *args, **kwargs)

        return call_in_scope


def _is_variable(value: object) -> bool:
    return isinstance(value, Variable)


def _walk(
    module: Module, recursive: bool, predicate: Callable[[Any], bool], with_path: bool, key: Any
) -> Iterator[Any]:
    catch_up()
    seen = {id(module)}  # each leaf is found once, but under all of its paths
    pending: list = [((), module, ())]
    while pending:
        path, current, around = pending.pop(0)
        deeper: list = []
        ignored = type(current)._TF_MODULE_IGNORED_PROPERTIES
        for name in sorted(vars(current), key=key):
            if name in ignored or name in Module._TF_MODULE_IGNORED_PROPERTIES:
                continue
            for inner_path, leaf in _leaves(vars(current)[name]):
                if not with_path and id(leaf) in seen:
                    continue
                seen.add(id(leaf))
                where = (*path, name, *inner_path)
                if predicate(leaf):
                    yield (where, leaf) if with_path else leaf
                if recursive and isinstance(leaf, Module) and id(leaf) not in around:
                    deeper.append((where, leaf, (*around, id(leaf))))
        pending = deeper + pending


def _leaves(value: object, place: tuple = ()) -> list:
    """Return the leaves of a nest, with their places; a module or variable is a leaf."""
    if isinstance(value, (Module, Variable)) or not structure.is_nested(value):
        return [(place, value)]
    if isinstance(value, dict):
        items: Any = sorted(value.items(), key=lambda item: str(item[0]))
    else:
        items = enumerate(structure.children(value))
    return [leaf for key, item in items for leaf in _leaves(item, (*place, key))]


add_habits(Module, OF_MODULES)
