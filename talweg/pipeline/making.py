"""The methods of `tf.data.Dataset` that make datasets of tensors, generators, numbers and files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import as_dtype, int64
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager import randomness
from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.source import (
    CountingSource,
    FromGenerator,
    RandomNumbers,
    Range,
    Tensors,
    TensorSlices,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.dtypes import DType
    from talweg.pipeline.dataset import Dataset


def integer(value: Any, argument: str) -> Any:
    """Return an integer argument: an int, or a tensor of a graph."""
    if type(value) is int or type(value) is Symbol:
        return value
    if isinstance(value, Tensor) or hasattr(value, "__index__"):
        if isinstance(value, bool):
            raise type_error("TW104", f"{argument} must be an integer, got {value!r}")
        try:
            return value.__index__()
        except TypeError:
            pass
    if hasattr(type(value), "handle_read"):
        return integer(value.value(), argument)
    if value is None or isinstance(value, (str, bytes, float)):
        raise type_error("TW104", f"{argument} must be an integer, got {value!r}")
    return integer(convert_to_tensor(value, int64), argument)


def seeds_of(seed: object) -> tuple[int, int]:
    """Return the two seeds of a stage with an own seed, or None."""
    return randomness.get_seed(None if seed is None else integer(seed, "seed"))


class Making:
    """Datasets of nothing but arguments."""

    of: Callable[..., Any]

    @classmethod
    def from_tensors(cls, tensors: TensorLike, name: str | None = None) -> Dataset:
        """Return a dataset with one element.

        >>> import talweg as tf
        >>> [x.tolist() for x in tf.data.Dataset.from_tensors([1, 2]).as_numpy_iterator()]
        [[1, 2]]
        """
        return cls.of(Tensors(tensors))

    @classmethod
    def from_tensor_slices(cls, tensors: TensorLike, name: str | None = None) -> Dataset:
        """Return the slices of tensors along their first dimension, which must be equal.

        ValueError for scalars and where first dimensions differ.

        >>> import talweg as tf
        >>> list(tf.data.Dataset.from_tensor_slices({"a": [1, 2]}).as_numpy_iterator())
        [{'a': np.int32(1)}, {'a': np.int32(2)}]
        """
        return cls.of(TensorSlices(tensors))

    @classmethod
    def range(cls, *args: object, **kwargs: object) -> Dataset:
        """Make the numbers of range(stop), range(start, stop) or range(start, stop, step) as int64
        scalars.

        output_type: another dtype.  ValueError for other numbers of arguments.
        """
        dtype = as_dtype(kwargs.pop("output_type", None) or int64)
        kwargs.pop("name", None)
        if kwargs or not 1 <= len(args) <= 3:
            raise value_error(
                "TW104",
                f"Invalid `args`. The length of `args` should be between 1 and 3 but was "
                f"{len(args)}."
                if not kwargs
                else f"range: unknown arguments {sorted(kwargs)}",
            )
        numbers = [integer(x, "range") for x in args]
        start, stop, step = {1: (0, *numbers, 1), 2: (*numbers, 1)}.get(len(args), tuple(numbers))
        return cls.of(Range(start, stop, step, dtype))

    @classmethod
    def counter(
        cls,
        start: TensorLike = 0,
        step: TensorLike = 1,
        dtype: DTypeLike = int64,
        name: str | None = None,
    ) -> Any:
        """Count start, start + step, ... without end."""
        return cls.of(CountingSource(start, step, as_dtype(dtype)))

    @classmethod
    def random(
        cls,
        seed: TensorLike | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Draw random 32-bit numbers as int64, without end; the same in each pass if there is a
        seed."""
        return cls.of(RandomNumbers(seeds_of(seed), bool(rerandomize_each_iteration)))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a dataset of the elements that `generator(*args)` yields; args arrive as arrays.

        output_signature: a nest of specs; or output_types and perhaps output_shapes.  An element
        that does not fit raises InvalidArgumentError when it is asked for.

        >>> import talweg as tf
        >>> def squares(count):
        ...     for i in range(count):
        ...         yield i * i
        >>> list(tf.data.Dataset.from_generator(
        ...     squares, args=[3], output_signature=tf.TensorSpec([], tf.int32)
        ... ).as_numpy_iterator())
        [np.int32(0), np.int32(1), np.int32(4)]
        """
        if not callable(generator):
            raise type_error("TW104", "`generator` must be a Python callable.")
        given = [
            output_types is not None or output_shapes is not None,
            output_signature is not None,
        ]
        if all(given):
            raise type_error(
                "TW104",
                "The `output_types` and `output_shapes` arguments can not be used "
                "together with the `output_signature` argument.",
            )
        if not any(given):
            raise type_error(
                "TW104",
                "To create a `Dataset` from a generator you need to either provide the "
                "`output_signature` argument or the `output_types` and `output_shapes` arguments.",
            )
        if output_signature is None:
            output_signature = _signature(output_types, output_shapes)
        for leaf in element.flatten(output_signature):
            if not isinstance(leaf, TypeSpec):
                raise type_error(
                    "TW104",
                    f"`output_signature` must contain objects that are subclass of "
                    f"`tf.TypeSpec` but found {type(leaf)} which is not.",
                )
        return cls.of(FromGenerator(generator, tuple(args or ()), ElementLayout(output_signature)))


def _signature(types: Any, shapes: Any) -> Any:
    """Return specs of dtypes and shapes."""
    if types is None:
        raise type_error("TW104", "output_types must be given with output_shapes")
    types = _as_tuples(types)
    flat = [as_dtype(leaf) for leaf in element.flatten(types)]
    if shapes is None:
        found = [TensorShape(None)] * len(flat)
    else:
        found = _shapes(types, shapes)
    return element.pack(types, [TensorSpec(s, t) for s, t in zip(found, flat)])


def _as_tuples(types: DType) -> Any:
    return tuple([_as_tuples(part) for part in types]) if isinstance(types, list) else types


def _shapes(types: DType, shapes: object) -> list:
    """Return the shapes that stand where the dtypes do."""
    if not element.is_nested(types):
        return [TensorShape(shapes)]
    parts = element.structure.children(types)
    own = element.structure.children(shapes)
    if len(parts) != len(own):
        raise value_error("TW208", f"output_shapes {shapes!r} do not fit output_types {types!r}")
    return [shape for part, other in zip(parts, own) for shape in _shapes(part, other)]
