"""`tensorflow.python.util.tf_export`: decorators that give libraries' objects public names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from talweg.api.export import EXPORTS, look_up

CANONICAL = Path(__file__).with_name("canonical_names.txt")
TENSORFLOW, KERAS = "tensorflow", "keras"
_names: dict[tuple[str, str], Any] = {}  # (api, name) -> what a library has under it


class api_export:  # noqa: N801
    """A decorator that notes the names of a function or class in an API."""

    def __init__(
        self,
        *args: str,
        api_name: str = TENSORFLOW,
        v1: Any = None,
        allow_multiple_exports: bool = True,
    ):
        self._names, self._api = args, api_name
        self._v1 = args if v1 is None else tuple(v1)

    def __call__(self, func: Callable[..., Any]) -> Any:
        for name in self._names:
            _names[self._api, name] = func
        for name in self._v1:
            _names[self._api, f"compat.v1.{name}"] = func
        found = self._names or self._v1
        if found:
            known = func.__dict__.get("_talweg_api_names", {})
            known = {**known, self._api: (found[0], bool(self._names))}
            func._talweg_api_names = known
            if self._api == KERAS:
                func._keras_api_names, func._keras_api_names_v1 = self._names, self._v1
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Note a value that cannot be decorated."""
        value = getattr(import_module(module_name), name, None)
        for own in self._names:
            _names[self._api, own] = value


class tf_export(api_export):  # noqa: N801
    """The names that TensorFlow has something under."""

    def __init__(self, *args: str, **kwargs: Any):
        super().__init__(*args, api_name=TENSORFLOW, **kwargs)


class keras_export(api_export):  # noqa: N801
    """The names that Keras has something under."""

    def __init__(self, *args: str, **kwargs: Any):
        super().__init__(*args, api_name=KERAS, **kwargs)


@cache
def _canonical() -> frozenset[str]:
    return frozenset(CANONICAL.read_text("utf-8").split())


def _public_names(symbol: Any) -> list[str]:
    """Return the names of one of talweg's objects."""
    return [name for name, value in EXPORTS.items() if value is symbol]


@cache
def _canonical_name(symbol: Any) -> tuple[str, bool] | None:
    names = sorted(_public_names(symbol), key=lambda name: (name.startswith("compat."), name))
    if not names:
        return None
    found = next((name for name in names if name in _canonical()), names[0])
    return found.removeprefix("compat.v1."), not found.startswith("compat.v1.")


def get_canonical_name_for_symbol(
    symbol: Any, api_name: str = TENSORFLOW, add_prefix_to_v1_names: bool = False
) -> str | None:
    """Return the first of the public names of a function or class; None if it has none."""
    try:
        known = vars(symbol).get("_talweg_api_names", {}).get(api_name)
    except TypeError:
        known = None
    if known is None and api_name == TENSORFLOW:
        try:
            known = _canonical_name(symbol)
        except TypeError:  # not hashable
            return None
    if known is None:
        return None
    name, is_v2 = known
    return name if is_v2 or not add_prefix_to_v1_names else f"compat.v1.{name}"


def get_symbol_from_name(name: str) -> Any:
    """Find the object of a public name, of TensorFlow or of a library; None if there is none."""
    for api in (TENSORFLOW, KERAS):
        if (api, name) in _names:
            return _names[api, name]
    if name.startswith(f"{KERAS}."):
        return None
    try:
        found = look_up(name)
    except (AttributeError, ImportError):
        return None
    return None if isinstance(found, ModuleType) else found


def kwarg_only(f: Callable[..., Any]) -> Any:
    """Wrap `f` so that it refuses arguments without names."""

    def call(**kwargs: object) -> Any:
        return f(**kwargs)

    call.__name__, call.__doc__ = f.__name__, f.__doc__
    return call
