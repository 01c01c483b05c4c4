"""Modules that are imported when they are first used, because they are slow or need LLVM."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A module that is imported when an attribute of it is first asked for.

    Type checkers are given the module itself:

        if TYPE_CHECKING:
            from talweg.execute import compiled
        else:
            compiled = LazyModule("talweg.execute.compiled")

    A test reads both, and the layers hold for both.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
