"""Names of the kinds of specs, by which saved configurations mention them."""

from __future__ import annotations

from collections.abc import Callable

from talweg.api.export import look_up
from talweg.core.errors import value_error
from talweg.eager.extension import REGISTERED

NAMES = ("TensorSpec", "RaggedTensorSpec", "SparseTensorSpec", "TensorArraySpec", "NoneTensorSpec")


BY_CLASS: dict[type, str] = {}  # specs that libraries registered


def register(name: str) -> Callable[[type], type]:
    """Return a decorator that registers a class of specs; ValueError if the name is taken."""

    def decorate(cls: type) -> type:
        if name in REGISTERED and REGISTERED[name] is not cls:
            raise value_error("TW104", f"Name {name} has already been registered")
        REGISTERED[name], BY_CLASS[cls] = cls, name
        return cls

    return decorate


def get_name(cls: type) -> str:
    """Return the name of a class of specs; ValueError for others."""
    for name in NAMES:
        if look_up(name) is cls:
            return f"tf.{name}"
    for name, spec in REGISTERED.items():
        if spec is cls:
            return name
    raise value_error("TW104", f"TypeSpec {cls.__module__}.{cls.__name__} has not been registered.")


def lookup(name: str) -> type:
    """Return the class of specs that has a name; ValueError if none has."""
    if isinstance(name, str) and name.removeprefix("tf.") in NAMES and name.startswith("tf."):
        return look_up(name.removeprefix("tf."))
    if name in REGISTERED:
        return REGISTERED[name]
    raise value_error("TW104", f"No TypeSpec has been registered with name {name!r}")
