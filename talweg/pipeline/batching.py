"""Stages that put elements together and take them apart: batch, padded_batch, unbatch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import InvalidArgumentError, compose, invalid, type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import NoneTensorSpec, TensorSpec
from talweg.eager.convert import convert_to_tensor
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.slices import (
    batch_spec,
    count_rows,
    row_of,
    row_spec,
    stack_arrays,
    stack_contents,
)
from talweg.pipeline.stage import INFINITE, Stage, as_numbers, whole

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.spec import TypeSpec
    from talweg.pipeline.stage import Rows


class Batch(Stage):
    """Elements, `count` at a time, along a new first dimension."""

    name = "_BatchDataset"

    def __init__(self, source: Any, count: int | None, drop_remainder: bool):
        check_known(count)
        known = count if type(count) is int and drop_remainder is True else None
        specs = [batch_spec(leaf, known) for leaf in source.layout.flat]
        super().__init__(ElementLayout(element.pack(source.layout.spec, specs)), source)
        self.count, self.drop_remainder = count, drop_remainder

    def leaves(self) -> list:
        """Return the size of a batch, and whether to drop the last one."""
        return [self.count, self.drop_remainder]

    def size(self, run: IterationRun) -> int:
        """Return the number of batches."""
        return batches(self.inputs[0].size(run), run.number(self.count), self._drops(run))

    def _drops(self, run: IterationRun) -> bool:
        return self.drop_remainder is True or bool(
            self.drop_remainder is not False and run.number(self.drop_remainder)
        )

    def start(self, run: IterationRun) -> Next:
        """Collect elements; whole batches of rows."""
        count, drops = run.number(self.count), self._drops(run)
        check_count(count)
        rows = self.inputs[0].rows(run)
        if rows is not None:
            return _batches_of_rows(rows, count, drops)
        return _collect_batches(self.inputs[0], run, repeat(count), drops)


def _collect_batches(source: Stage, run: IterationRun, sizes: Iterator[int], drops: bool) -> Next:
    """Return batches of these sizes, of the elements of a stage."""
    pull, specs = source.start(run), source.layout.flat
    ended = False

    def step() -> tuple:
        nonlocal ended
        elements: list = []
        count = next(sizes)
        try:
            while not ended and len(elements) < count:
                elements.append(pull())
        except End:
            ended = True
        if not elements or (drops and len(elements) < count):
            raise End
        return tuple(
            [
                stack_contents(list(items), spec, number)
                for number, (items, spec) in enumerate(zip(zip(*elements), specs))
            ]
        )

    return step


class BatchesInTurn(Stage):
    """Batches of several sizes, one after the other and again from the first."""

    name = "_RebatchDataset"

    def __init__(self, source: Any, sizes: list[int], drop_remainder: bool):
        for size in sizes:
            check_count(size)
        same = sizes[0] if drop_remainder and len(set(sizes)) == 1 else None
        specs = [batch_spec(leaf, same) for leaf in source.layout.flat]
        super().__init__(ElementLayout(element.pack(source.layout.spec, specs)), source)
        self.sizes, self.drop_remainder = sizes, drop_remainder

    def start(self, run: IterationRun) -> Next:
        """Collect elements."""
        return _collect_batches(self.inputs[0], run, cycle(self.sizes), self.drop_remainder)


def check_known(count: object) -> None:
    """Check a batch size that is known at once."""
    if type(count) is int:
        check_count(count)


def check_count(count: int) -> None:
    """Raise InvalidArgumentError for a batch size that is no positive number."""
    if count <= 0:
        raise InvalidArgumentError(
            None, None, compose("TW207", "Batch size must be greater than zero.")
        )


def batches(size: int, count: int, drops: bool) -> int:
    """Return the number of batches of `size` elements."""
    if size < 0:
        return size
    return size // count if drops else -(-size // count)


def _batches_of_rows(rows: Rows, count: int, drops: bool) -> Next:
    """Return batches taken from arrays."""
    rows.begin()
    order, take = rows.order, rows.take

    def step() -> tuple:
        numbers = whole(order, count)
        size = len(numbers)
        if not size or (drops and size < count):
            raise End
        try:
            return tuple(take(numbers))
        except Exception:  # of one of the rows, which says more about it
            elements = [rows.one(number) for number in as_numbers(numbers).tolist()]
        return tuple([stack_arrays(list(items), n) for n, items in enumerate(zip(*elements))])

    return step


class PaddedBatch(Stage):
    """Elements of different shapes, `count` at a time, filled up to a common shape."""

    name = "_PaddedBatchDataset"

    def __init__(
        self,
        source: Any,
        count: Any,
        shapes: object,
        values: object,
        drop_remainder: bool,
        fill: TensorLike | None = None,
    ):
        check_known(count)
        self.fill = fill  # the size for which unknown ones stand; None: the largest of a batch
        leaves = source.layout.flat
        self.paddings = _paddings(source.layout, values)
        self.shapes = _infer_padded_shapes(source.layout, shapes)
        known = count if type(count) is int and drop_remainder is True else None
        specs = [
            leaf
            if shape is None
            else TensorSpec(TensorShape([known]).concatenate(shape), leaf.dtype)
            for leaf, shape in zip(leaves, self.shapes)
        ]
        super().__init__(ElementLayout(element.pack(source.layout.spec, specs)), source)
        self.count, self.drop_remainder = count, bool(drop_remainder)

    def leaves(self) -> list:
        """Return the tensors of the stage: the size of a batch, and the padded sizes."""
        return [self.count, self.fill]

    def size(self, run: IterationRun) -> int:
        """Return the number of batches."""
        return batches(self.inputs[0].size(run), run.number(self.count), self.drop_remainder)

    def start(self, run: IterationRun) -> Next:
        """Collect elements and fill them up."""
        source, count = self.inputs[0].start(run), run.number(self.count)
        check_count(count)
        fill = None if self.fill is None else run.number(self.fill)
        if fill is not None and fill < 0:
            raise invalid(
                "TW207",
                "When pad_to_bucket_boundary=True, elements must have length < "
                "max(bucket_boundaries).",
            )
        ended = False

        def step() -> tuple:
            nonlocal ended
            elements: list = []
            try:
                while not ended and len(elements) < count:
                    elements.append(source())
            except End:
                ended = True
            if not elements or (self.drop_remainder and len(elements) < count):
                raise End
            columns = zip(zip(*elements), self.shapes, self.paddings)
            return tuple(
                [
                    None if shape is None else pad_arrays(items, shape, value, fill)
                    for items, shape, value in columns
                ]
            )

        return step


def pad_arrays(items: tuple, shape: TensorShape, value: object, fill: int | None) -> np.ndarray:
    """Return arrays in one, each filled up with `value` to the shape, or to the largest of them."""
    rank = items[0].ndim
    if shape.rank is not None and shape.rank != rank:
        raise invalid(
            "TW203",
            f"All elements in a batch must have the same rank as the padded shape for "
            f"component: expected rank {shape.rank} got element with rank {rank}",
        )
    wanted = [None] * rank if shape.rank is None else shape.as_list()
    largest = [max(sizes) for sizes in zip(*[item.shape for item in items])]
    target = [
        (size if fill is None else fill) if known is None else known
        for known, size in zip(wanted, largest)
    ]
    out = np.full((len(items), *target), value, items[0].dtype)
    for number, item in enumerate(items):
        if any([have > size for have, size in zip(item.shape, target)]):
            raise InvalidArgumentError(
                None,
                None,
                compose(
                    "TW204",
                    "Attempted to pad to a smaller size than the input element: shape "
                    f"{list(item.shape)} to {target}.",
                ),
            )
        out[(number, *[slice(size) for size in item.shape], ...)] = item  # ...: never as an object
    return out


def _infer_padded_shapes(layout: ElementLayout, shapes: object) -> list:
    """Return the shape to fill up to, of each leaf."""
    if shapes is None:
        for leaf in layout.flat:
            if isinstance(leaf, TensorSpec) and leaf.shape.rank is None:
                raise value_error(
                    "TW203",
                    "You must provide `padded_shapes` because a component of the dataset "
                    f"has unknown rank: {leaf!r}",
                )
        return [
            leaf.shape if isinstance(leaf, TensorSpec) else _only_none(leaf) for leaf in layout.flat
        ]
    padded_shapes = _shapes_like(layout.spec, shapes)
    for leaf, shape in zip(layout.flat, padded_shapes):
        _check_shape(leaf, shape)
    return padded_shapes


def _only_none(leaf: object) -> None:
    if isinstance(leaf, NoneTensorSpec):
        return
    raise type_error(
        "TW104",
        f"`padded_batch` is only supported for datasets that produce tensor elements but "
        f"the input dataset produces elements of {leaf!r}",
    )


def _shapes_like(spec: TypeSpec, shapes: object) -> list:
    """Return shapes in the structure of `spec`, flat; ValueError where structures differ."""
    if not element.is_nested(spec):
        if isinstance(spec, NoneTensorSpec):
            return [None]
        return [_shape(shapes)]
    parts = element.structure.children(spec)
    given = list(shapes) if isinstance(shapes, list) else element.structure.children(shapes)
    if len(parts) != len(given):
        raise value_error(
            "TW208", f"padded_shapes {shapes!r} does not have the structure of {spec!r}"
        )
    return [shape for part, own in zip(parts, given) for shape in _shapes_like(part, own)]


def _shape(value: object) -> TensorShape:
    if hasattr(value, "_array"):
        value = value._array.tolist()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        value = [None if size == -1 else size for size in value]
    return TensorShape(value)


def _check_shape(leaf: object, shape: Any) -> None:
    if shape is None or leaf.shape.rank is None or shape.rank is None:
        return
    if leaf.shape.rank != shape.rank:
        raise value_error(
            "TW203",
            f"The padded shape {shape} is not compatible with the shape {leaf.shape} of "
            "the corresponding input component.",
        )
    for wanted, size in zip(shape.as_list(), leaf.shape.as_list()):
        if wanted is not None and size is not None and wanted < size:
            raise value_error(
                "TW204",
                f"The padded shape {shape} is not compatible with the shape {leaf.shape} "
                "of the corresponding input component.",
            )


def _paddings(layout: ElementLayout, values: object) -> list:
    """Return the value that fills up each leaf."""
    if values is None or not element.is_nested(values):
        given = [values] * len(layout.flat)
    else:
        given = element.flatten(values)
        if len(given) != len(layout.flat):
            raise value_error(
                "TW208", f"padding_values {values!r} does not have the structure of {layout.spec!r}"
            )
    return [_padding(leaf, value) for leaf, value in zip(layout.flat, given)]


def _padding(leaf: object, value: object) -> Any:
    if not isinstance(leaf, TensorSpec):
        return None
    if value is None:
        if leaf.dtype.name == "string":
            return b""
        return leaf.dtype.numpy_dtype.type(0)
    own = getattr(value, "dtype", None)
    padding = convert_to_tensor(value, None if own is not None else leaf.dtype)
    if padding.dtype is not leaf.dtype:
        raise type_error(
            "TW102",
            f"Mismatched type between padding value {value!r} and input dataset's "
            f"component: {padding.dtype.name} vs. {leaf.dtype.name}",
        )
    if padding.ndim:
        raise value_error("TW203", f"padding_values must be scalars, got {value!r}")
    return padding._array[()]


class Unbatch(Stage):
    """The rows of elements."""

    name = "_UnbatchDataset"

    def __init__(self, source: Any):
        specs = [row_spec(leaf) for leaf in source.layout.flat]
        if not specs:
            raise value_error("TW208", "Cannot unbatch an input with no components.")
        super().__init__(ElementLayout(element.pack(source.layout.spec, specs)), source)

    def size(self, run: IterationRun) -> int:
        """Return the size, known where all elements have as many rows."""
        size = self.inputs[0].size(run)
        rows = [
            leaf.shape[0]
            for leaf in self.inputs[0].layout.flat
            if hasattr(leaf, "shape") and leaf.shape.rank
        ]
        known = [number for number in rows if number is not None]
        if size == INFINITE:
            return INFINITE
        return size * known[0] if known and size >= 0 else -2

    def start(self, run: IterationRun) -> Next:
        """Return row after row."""
        source = self.inputs[0].start(run)
        pickers: list = []
        row, count = 0, 0

        def step() -> tuple:
            nonlocal pickers, row, count
            while row >= count:
                flat = source()
                sizes = {count_rows(item) for item in flat if item is not None}
                if len(sizes) > 1:
                    raise InvalidArgumentError(
                        None,
                        None,
                        compose(
                            "TW204",
                            "Input element must have the same batch size in each "
                            f"component, got {sorted(sizes)}",
                        ),
                    )
                pickers, row, count = [row_of(item) for item in flat], 0, sizes.pop()
            row += 1
            return tuple([pick(row - 1) for pick in pickers])

        return step
