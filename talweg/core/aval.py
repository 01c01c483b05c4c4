"""Abstract values: the facts about a tensor that are known before it has a value."""

from __future__ import annotations

from talweg.core.dtypes import DType
from talweg.core.shapes import TensorShape, static


class Aval:
    """Dimensions (a tuple of ints, None where unknown; None if the rank is unknown) and a dtype."""

    __slots__ = ("dims", "dtype")

    def __init__(self, dims: tuple | None, dtype: DType):
        self.dims, self.dtype = dims, dtype

    @property
    def ndim(self) -> int:
        """The rank, which must be known."""
        return len(self.dims)  # type: ignore[arg-type]

    @property
    def shape(self) -> TensorShape:
        """The dimensions as a TensorShape, None where one is symbolic."""
        return static(self.dims)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aval) and (self.dims, self.dtype) == (other.dims, other.dtype)

    def __hash__(self) -> int:
        return hash((self.dims, self.dtype))

    def __repr__(self) -> str:
        dims = (
            "?" if self.dims is None else ",".join("?" if d is None else str(d) for d in self.dims)
        )
        return f"{self.dtype.name}[{dims}]"
