"""Functions of TensorFlow 1 that are functions of v2 with other arguments: `adapt`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection
from typing import Any

from talweg.api.export import ORIGINS, export, look_up
from talweg.core import dtypes
from talweg.core.errors import value_error

DROPPED = "-"


def adapt(
    names: str, target: str, parameters: str, renamed: str = "", **fixed: object
) -> Callable[..., Any]:
    """Export the function `target` of v2 under `names` of compat.v1, with these parameters.

    parameters: as in a `def`.  renamed: ``old=new`` for what v2 calls otherwise, ``old=-`` for what
    is accepted and ignored.  fixed: arguments of v2 that v1 does not have.  Two old names of one
    argument: ValueError if both are given.
    """
    signature = inspect.signature(eval(f"lambda {parameters}: 0", dict(vars(dtypes))))  # noqa: S307
    new_names = dict(pair.split("=") for pair in renamed.split())
    required = {p.name for p in signature.parameters.values() if p.default is p.empty}

    def call(*args: object, **kwargs: object) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{call.__name__}() {error}") from None
        bound.apply_defaults()
        given = translate_arguments(call.__name__, bound.arguments, new_names, required)
        return look_up(target)(**given, **fixed)

    first = names.split()[0]
    call.__name__ = call.__qualname__ = first.rpartition(".")[2]
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = _documentation(target, new_names)
    call.__module__ = sys._getframe(1).f_globals["__name__"]
    public = [f"compat.v1.{name}" for name in names.split()]
    exported = export(*public)(call)
    ORIGINS.update(dict.fromkeys(public, str(call.__module__)))  # not this module, which only helps
    return exported


def translate_arguments(
    function: str, given: dict, new_names: dict, required: Collection[str] = ()
) -> dict:
    """Rename arguments to those of v2; those that are None are left out, unless `required`."""
    translated: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for name, value in given.items():
        new = new_names.get(name, name)
        if (value is None and name not in required) or new == DROPPED:
            continue
        if new in translated:
            raise value_error(
                "TW104", f"{function}: cannot specify both {name!r} and {sources[new]!r}"
            )
        translated[new], sources[new] = value, name
    return translated


def _documentation(target: str, new_names: dict) -> str:
    lines = [f"Call `tf.{target}` with the arguments of TensorFlow 1."]
    renamed = [f"`{old}` is `{new}`" for old, new in new_names.items() if new != DROPPED]
    ignored = [f"`{old}`" for old, new in new_names.items() if new == DROPPED]
    if renamed:
        lines.append(f"\n    In tf.{target.rpartition('.')[2]}: {', '.join(renamed)}.")
    if ignored:
        lines.append(f"\n    Accepted and without effect: {', '.join(ignored)}.")
    return "\n".join(lines)
