"""tf.compat.v1.app and flags: how programs of TensorFlow 1 begin.

Flags are absl's (the package `absl-py`, which Keras and TensorBoard bring); what TensorFlow 1 adds
is that they are read from the command line when one is first asked for, and older names of
arguments.
"""

from __future__ import annotations

import functools
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, export_lazily
from talweg.core.errors import compose

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.lower.ir.loops import Buffer

RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def absl(name: str) -> Any:
    """Return a module of absl; ImportError that says what to install."""
    try:
        return import_module(f"absl.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "absl":
            raise
        raise ImportError(
            compose(
                "TW402",
                "tf.app and tf.flags are absl's, which is not installed",
                hint="pip install absl-py",
            ),
            name="absl",
        ) from None


class FlagValues:
    """Reads absl's flags, `FLAGS`, from the command line when one is first asked for."""

    def _values(self) -> Any:
        values = absl("flags").FLAGS
        if not values.is_parsed():
            values(sys.argv, known_only=True)
        return values

    def __getattr__(self, name: str) -> Any:
        if name == "__dict__":
            raise AttributeError(name)
        return getattr(absl("flags").FLAGS if name.startswith("__") else self._values(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._values(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._values(), name)

    def __dir__(self) -> list[str]:
        return dir(absl("flags").FLAGS)

    def __getitem__(self, name: str) -> Any:
        return absl("flags").FLAGS[name]

    def __setitem__(self, name: str, flag: Buffer) -> None:
        absl("flags").FLAGS[name] = flag

    def __len__(self) -> int:
        return len(absl("flags").FLAGS)

    def __iter__(self) -> Any:
        return iter(absl("flags").FLAGS)

    def __contains__(self, name: str) -> bool:
        return name in absl("flags").FLAGS

    def __call__(self, *arguments: object, **named: object) -> Any:
        return absl("flags").FLAGS(*arguments, **named)


class Flags(ModuleType):
    """Extends absl's module of flags by `FLAGS`; it is `tf.flags`."""

    def __init__(self) -> None:
        super().__init__("tensorflow.flags", "Flags of the command line, absl's.")
        self.FLAGS = FlagValues()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(absl("flags"), name)
        return older_names(value) if name.startswith("DEFINE_") else value

    def __dir__(self) -> list[str]:
        return dir(absl("flags"))


def older_names(define: Callable[..., Any]) -> Any:
    """Return a function that defines a flag, which takes the older names of its arguments, too."""

    @functools.wraps(define)
    def call(*arguments: object, **named: object) -> Any:
        given = {RENAMED.get(name, name): value for name, value in named.items()}
        return define(*arguments, **given)

    return call


FLAGS = Flags()
export_lazily(lambda: FLAGS, "compat.v1.flags", "compat.v1.app.flags")


@export("compat.v1.app.run")
def run(main: Any = None, argv: Any = None) -> None:
    """Read the flags, call `main` (that of the program if not given) with the rest of the command
    line, and exit with its result.
    """
    main = main or sys.modules["__main__"].main
    absl("app").run(main, argv, flags_parser=_parse)


def _parse(arguments: list[str]) -> list[str]:
    return absl("flags").FLAGS(arguments, known_only=True)
