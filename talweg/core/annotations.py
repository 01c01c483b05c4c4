"""Annotations for the arguments of public functions: unions that type checkers read.

A value becomes a tensor by `convert_to_tensor` (`eager/convert.py`), which says what it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Protocol, TypeAlias

    import numpy as np

    from talweg.core.dtypes import DType
    from talweg.core.shapes import TensorShape
    from talweg.core.value import IndexedSlices, Operators

    class HasDType(Protocol):
        """Any value with a dtype: sparse and ragged tensors, variables, Keras's tensors."""

        @property
        def dtype(self) -> Any: ...

    class SupportsArray(Protocol):
        """Any value that NumPy takes as an array."""

        def __array__(self, *args: object) -> Any: ...

    class SupportsTensor(Protocol):
        """Any value with a method that makes a tensor of it."""

        def __tf_tensor__(self, *args: object) -> Any: ...

    class HasFields(Protocol):
        """The user's extension types, for which functions are dispatched."""

        extension_fields: Any

    _Objects: TypeAlias = HasDType | SupportsArray | SupportsTensor | HasFields
    _Arrays: TypeAlias = Operators | IndexedSlices | np.ndarray | np.generic | _Objects
    TensorLike: TypeAlias = _Arrays | complex | str | bytes | Sequence[Any] | Mapping[Any, Any]
    DTypeLike: TypeAlias = DType | np.dtype | type | str | int | HasDType
    ShapeLike: TypeAlias = TensorShape | _Arrays | int | Sequence[Any]
    AxisLike: TypeAlias = _Arrays | int | Sequence[Any]
    WindowLike: TypeAlias = _Arrays | int | str | Sequence[Any]
    PathLike: TypeAlias = str | bytes | os.PathLike[str]
    # What is called with so many arguments by position.  `Callable[..., Any]` would leave
    # the parameters of a lambda unknown, which strict type checkers report.
    PositionalFunction: TypeAlias = (
        Callable[[Any], Any]
        | Callable[[Any, Any], Any]
        | Callable[[Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[], Any]
    )
else:
    TensorLike = DTypeLike = ShapeLike = AxisLike = WindowLike = PathLike = Any
    PositionalFunction = Any
