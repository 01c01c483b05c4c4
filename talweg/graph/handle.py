"""Handle: a variable as graphs know it, a parameter of the nodes that read or write it."""

from __future__ import annotations

import weakref
from typing import Any

from talweg.core.dtypes import DType
from talweg.core.errors import FailedPreconditionError, compose
from talweg.core.shapes import TensorShape


class Handle:
    """The name, shape and dtype of a variable, compared by identity.

    It does not keep the variable.
    """

    __slots__ = ("__weakref__", "dtype", "name", "owner", "shape", "updated")

    def __init__(self, owner: object, name: str, shape: TensorShape, dtype: DType):
        self.owner = weakref.ref(owner)  # gives the variable; None if it is gone
        self.name, self.shape, self.dtype = name, shape, dtype
        self.updated = False  # whether a graph writes it, other than to initialize it

    @property
    def variable(self) -> Any:
        """The variable; FailedPreconditionError if it is gone."""
        found = self.owner()
        if found is None:
            text = f"the variable '{self.name}' that a function uses does not exist any more"
            raise FailedPreconditionError(None, None, compose("TW401", text))
        return found

    @property
    def handle(self) -> Handle:
        """The handle itself, as TensorFlow's variables have it."""
        return self

    def __repr__(self) -> str:
        return f"<variable {self.name}>"
