"""Stages that elements come from: tensors, their slices, ranges, generators, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import as_dtype
from talweg.core.errors import InvalidArgumentError, OpError, UnknownError, compose, value_error
from talweg.core.spec import NoneTensorSpec, TensorSpec
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.order import Seeds, draws
from talweg.pipeline.parallel import check_wanted
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.slices import count_rows, row_of, row_spec, static_count
from talweg.pipeline.stage import (
    INFINITE,
    Rows,
    Stage,
    counting,
    rows_of_arrays,
    start_rows,
)

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.spec import TypeSpec


class Tensors(Stage):
    """A dataset of one element."""

    name = "_TensorDataset"

    def __init__(self, value: TensorLike):
        self.value = element.convert_element(value)
        super().__init__(ElementLayout(element.specs_of(self.value)))
        self.flat_leaves = element.flatten(self.value)

    def leaves(self) -> list:
        """Return the tensors."""
        return _tensors_in(self.flat_leaves)

    def size(self, run: IterationRun) -> int:
        """Return one."""
        return 1

    def start(self, run: IterationRun) -> Next:
        """Run once."""
        given = False

        def step() -> tuple:
            nonlocal given
            if given:
                raise End
            given = True
            return tuple([resolve_leaf(run, leaf) for leaf in self.flat_leaves])

        return step


def _tensors_in(leaves: list) -> list:
    return [
        part
        for leaf in leaves
        if leaf is not None
        for part in (leaf._flat_components() if hasattr(leaf, "_flat_components") else [leaf])
    ]


def resolve_leaf(run: IterationRun, leaf: object) -> Any:
    """Return the content of a leaf, for this pass."""
    if type(leaf) is EagerTensor:
        return run.array(leaf)
    if leaf is None:
        return None
    if hasattr(leaf, "stage"):
        return leaf.bind_in(run)
    if hasattr(leaf, "_flat_components"):
        parts = leaf._flat_components()
        if all([type(part) is EagerTensor for part in parts]):
            return leaf
        return leaf._with_components([element.wrap(run.array(part)) for part in parts])
    return run.array(leaf)


class TensorSlices(Stage):
    """The slices of tensors along their first dimension."""

    name = "_TensorSliceDataset"
    moves_rows = True

    def __init__(self, value: TensorLike):
        self.value = element.convert_element(value)
        self.flat_leaves = element.flatten(self.value)
        if not self.flat_leaves:
            raise value_error(
                "TW208",
                "Invalid `tensors`. `tensors` should not be empty, and have at least one component",
            )
        specs = [row_spec(element.spec_of(leaf)) for leaf in self.flat_leaves]
        super().__init__(ElementLayout(element.pack(self.value, specs)))
        self.known = self._find_length()

    def _find_length(self) -> int | None:
        """Return the common number of slices; ValueError where two differ."""
        sizes = [static_count(leaf) for leaf in self.flat_leaves]
        known = [size for size in sizes if size is not None]
        if len(set(known)) > 1:
            raise value_error(
                "TW204",
                f"Dimensions {known[0]} and "
                f"{next(size for size in known if size != known[0])} are not compatible: "
                "from_tensor_slices of tensors with different numbers of slices",
                "equal first dimensions",
            )
        return known[0] if known else None

    def leaves(self) -> list:
        """Return the tensors."""
        return _tensors_in(self.flat_leaves)

    def _contents(self, run: IterationRun) -> list:
        return [resolve_leaf(run, leaf) for leaf in self.flat_leaves]

    def size(self, run: IterationRun) -> int:
        """Return the first dimension."""
        if self.known is not None:
            return self.known
        return self._length(self._contents(run))

    def _length(self, contents: list) -> int:
        sizes = {count_rows(item) for item in contents if item is not None}
        if len(sizes) > 1:
            raise InvalidArgumentError(
                None,
                None,
                compose("TW204", f"from_tensor_slices: first dimensions differ: {sorted(sizes)}"),
            )
        return sizes.pop() if sizes else 0

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the rows of the arrays."""
        if not self.layout.plain:
            return None
        arrays = self._contents(run)
        size = self._length(arrays)
        return Rows(*rows_of_arrays(arrays), counting(0, size), size)

    def start(self, run: IterationRun) -> Next:
        """Slice after slice."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        contents = self._contents(run)
        pickers = [row_of(item) for item in contents]
        size = self._length(contents)
        row = -1

        def step() -> tuple:
            nonlocal row
            row += 1
            if row >= size:
                raise End
            return tuple([pick(row) for pick in pickers])

        return step


class Range(Stage):
    """Numbers from `start` up to `stop`, `step` apart."""

    name = "_RangeDataset"
    moves_rows = True

    def __init__(self, start: Any, stop: Any, step: Any, dtype: Any):
        super().__init__(ElementLayout(TensorSpec((), dtype)))
        self.start_at, self.stop, self.step, self.dtype = start, stop, step, dtype.numpy_dtype

    def leaves(self) -> list:
        """Return the three numbers."""
        return [self.start_at, self.stop, self.step]

    def _numbers(self, run: IterationRun) -> range:
        start, stop, step = [run.number(x) for x in (self.start_at, self.stop, self.step)]
        if not step:
            raise InvalidArgumentError(None, None, compose("TW207", "step must be non-zero."))
        return range(start, stop, step)

    def size(self, run: IterationRun) -> int:
        """Return the number of elements."""
        return len(self._numbers(run))

    def rows(self, run: IterationRun) -> Rows:
        """Return the numbers, computed."""
        numbers, make = self._numbers(run), self.dtype.type
        start, step, dtype = numbers.start, numbers.step, self.dtype

        def take(places: np.ndarray | range) -> list:
            if type(places) is range:
                places = np.arange(places.start, places.stop)
            return [(places * step + start).astype(dtype)]

        one = lambda place: (make(start + place * step),)  # noqa: E731
        return Rows(take, one, counting(0, len(numbers)), len(numbers))


class CountingSource(Stage):
    """start, start + step, ... for ever."""

    name = "_ScanDataset"

    def __init__(self, start: Any, step: Any, dtype: Any):
        super().__init__(ElementLayout(TensorSpec((), dtype)))
        self.first = np.asarray(start, dtype.numpy_dtype)[()]
        self.by = np.asarray(step, dtype.numpy_dtype)[()]

    def size(self, run: IterationRun) -> int:
        """Return an infinite size."""
        return INFINITE

    def start(self, run: IterationRun) -> Next:
        """Start counting from the first number."""
        now, by = self.first, self.by

        def step() -> tuple:
            nonlocal now
            found, now = now, now + by
            return (found,)

        return step


class RandomNumbers(Stage):
    """32-bit random numbers, as int64, for ever."""

    name = "_RandomDataset"
    remembers = True

    def __init__(self, seeds: tuple, rerandomize: bool):
        super().__init__(ElementLayout(TensorSpec((), as_dtype("int64"))))
        self.seeds, self.rerandomize = seeds, rerandomize

    def size(self, run: IterationRun) -> int:
        """Return an infinite size."""
        return INFINITE

    def start(self, run: IterationRun) -> Next:
        """Draw from the stream of the seeds; with `rerandomize`, of the next two seeds of that."""
        seeds = self.seeds
        if self.rerandomize:
            seeds = run.keep(self, lambda: Seeds(*seeds)).next()
        elif seeds == (0, 0):
            seeds = run.keep(self, lambda: Seeds(0, 0).next())
        numbers = draws(*seeds)
        return lambda: (np.int64(next(numbers)),)


class FromGenerator(Stage):
    """The source stage of the elements that a Python generator yields."""

    name = "_FlatMapDataset"
    waits = True

    def __init__(self, generator: Callable[..., Any], args: tuple, layout: ElementLayout):
        super().__init__(layout)
        self.generator, self.args = generator, tuple([element.as_leaf(arg) for arg in args])

    def leaves(self) -> list:
        """Return the arguments."""
        return list(self.args)

    def start(self, run: IterationRun) -> Next:
        """Call it, and take element after element."""
        source: Any = None
        take = taker(self.layout)

        def step() -> tuple:
            nonlocal source
            if source is None:
                args = [_argument(run.array(arg)) for arg in self.args]
                source = _begin(self.generator, args)
            check_wanted()
            try:
                value = _outside(next, source)
            except StopIteration:
                source = iter(())
                raise End from None
            except OpError:
                raise
            except Exception as error:
                raise as_operation_error(error) from error
            return take(value)

        return step


def _argument(array: np.ndarray) -> Any:
    return array[()] if getattr(array, "ndim", 1) == 0 else np.array(array)


def _outside(function: Callable[..., Any], *args: object) -> Any:
    """Return a call of user's code, outside of any graph."""
    context = dispatch.context
    before = context.base, context.recorders
    context.base, context.recorders = None, ()
    try:
        return function(*args)
    finally:
        context.base, context.recorders = before


def _begin(generator: Callable[..., Any], args: list) -> Iterator:
    try:
        return iter(_outside(generator, *args))
    except OpError:
        raise
    except Exception as error:
        raise as_operation_error(error) from error


def as_operation_error(error: Exception) -> OpError:
    """Return the error of an operation for one that user's code raised."""
    kind = InvalidArgumentError if isinstance(error, (TypeError, ValueError)) else UnknownError
    return kind(None, None, compose("TW209", f"{type(error).__name__}: {error}"))


def taker(layout: ElementLayout) -> Callable[[Any], tuple]:
    """Make the function that flattens yielded elements; InvalidArgumentError for misfits."""
    specs = layout.flat
    if not element.is_nested(layout.spec):
        (only,) = specs
        return lambda value: (_take_leaf(value, only),)

    def take(value: tuple[np.ndarray, ...]) -> tuple:
        if isinstance(value, list) and isinstance(layout.spec, tuple):
            value = tuple(value)
        leaves = element.flatten(value)
        if len(leaves) != len(specs) or not element.is_nested(value):
            raise InvalidArgumentError(
                None,
                None,
                compose(
                    "TW208",
                    "TypeError: `generator` yielded an element that did not match the "
                    f"expected structure. The expected structure was {layout.spec!r}, but the "
                    f"yielded element was {value!r}.",
                ),
            )
        return tuple([_take_leaf(leaf, spec) for leaf, spec in zip(leaves, specs)])

    return take


def _take_leaf(value: float | np.ndarray, spec: TypeSpec) -> Any:
    """Return a yielded leaf as content of this spec."""
    if type(spec) is not TensorSpec:
        if isinstance(spec, NoneTensorSpec):
            return None
        leaf = element.as_leaf(value)
        if not spec.is_compatible_with(leaf):
            raise _make_unexpected_error("not compatible with the expected spec", spec, value)
        return element.content_of(leaf)
    dtype = spec.dtype
    try:
        if isinstance(value, np.ndarray) and value.dtype == dtype.numpy_dtype:
            array: Any = np.array(value) if dtype.name != "string" else value
        elif isinstance(value, (np.ndarray, np.generic)) and dtype.name != "string":
            array = value.astype(dtype.numpy_dtype)
        else:
            array = convert_to_tensor(value, dtype)._array
    except (TypeError, ValueError):
        raise _make_unexpected_error(
            "could not be converted to the expected type", dtype.name, value
        ) from None
    if not spec.shape.is_compatible_with(array.shape):
        raise InvalidArgumentError(
            None,
            None,
            compose(
                "TW204",
                f"TypeError: `generator` yielded an element of shape {array.shape} "
                f"where an element of shape {spec.shape} was expected.",
            ),
        )
    return array


def _make_unexpected_error(happened: str, expected: object, value: object) -> Exception:
    text = (
        f"TypeError: `generator` yielded an element that {happened}. The expected type was "
        f"{expected}, but the yielded element was {value!r}."
    )
    return InvalidArgumentError(None, None, compose("TW102", text))
