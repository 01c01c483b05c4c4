"""The converted code of a function, independent of the converter."""

from __future__ import annotations

from types import CodeType, FunctionType


class Converted:
    """Converted code, as text and as a code object, which is made a function for each closure."""

    __slots__ = ("code", "name", "text")

    def __init__(self, text: str, code: CodeType, name: str):
        self.text, self.code, self.name = text, code, name

    def function(self, like: FunctionType, operators: object) -> FunctionType:
        """Return the converted function, with the closure, globals and defaults of `like`."""
        cells = dict(zip(like.__code__.co_freevars, like.__closure__ or ()))
        closure = tuple([cells[name] for name in self.code.co_freevars])
        made = FunctionType(self.code, like.__globals__, self.name, None, closure)(operators)
        made.__defaults__, made.__kwdefaults__ = like.__defaults__, like.__kwdefaults__
        made.__name__, made.__qualname__ = like.__name__, like.__qualname__
        made.__doc__ = like.__doc__
        return made
