"""Stages that make elements for several replicas: shared out, or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import NoneTensorSpec, TensorSpec, TypeSpec
from talweg.eager.replicated import PerReplicaSpec
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.slices import batch_spec, row_of, row_spec, stack_contents
from talweg.pipeline.stage import Stage


class Shared(Stage):
    """Batches, each divided among `count` replicas: as even as can be, the first ones first.

    chosen: which of the parts are given; one alone is no `PerReplica`.
    """

    name = "_RebatchDataset"

    def __init__(self, source: Stage, count: int, chosen: Sequence[int] | None = None):
        specs = [_derive_part_spec(leaf, count) for leaf in source.layout.flat]
        self.count, self.chosen = count, range(count) if chosen is None else chosen
        given = len(self.chosen)
        super().__init__(
            _layout(source.layout, specs, given)
            if given > 1
            else ElementLayout(element.pack(source.layout.spec, specs)),
            source,
        )

    def size(self, run: IterationRun) -> int:
        """Return the number of batches."""
        return self.inputs[0].size(run)

    def start(self, run: IterationRun) -> Next:
        """Divide each batch."""
        source, count, chosen = self.inputs[0].start(run), self.count, self.chosen
        specs = self.inputs[0].layout.flat

        def step() -> tuple:
            flat = source()
            every = [_divide_batch(item, spec, count) for item, spec in zip(flat, specs)]
            if len(chosen) == 1:
                return tuple([parts[chosen[0]] for parts in every])
            return tuple([tuple([parts[number] for number in chosen]) for parts in every])

        return step


class Consecutive(Stage):
    """Elements, `count` at a time, one for each replica; at the end, batches may be empty."""

    name = "_MultiDeviceIteratorDataset"

    def __init__(self, source: Stage, count: int):
        super().__init__(_layout(source.layout, source.layout.flat, count), source)
        self.count = count
        shapes = [getattr(leaf, "shape", None) for leaf in source.layout.flat]
        self.may_be_empty = bool(shapes) and all(
            [shape is not None and shape.rank and shape.as_list()[0] is None for shape in shapes]
        )

    def size(self, run: IterationRun) -> int:
        """Return the number of elements for all replicas."""
        size = self.inputs[0].size(run)
        if size < 0:
            return size
        return -(-size // self.count) if self.may_be_empty else size // self.count

    def start(self, run: IterationRun) -> Next:
        """Take an element for each replica."""
        source, count = self.inputs[0].start(run), self.count
        specs = self.inputs[0].layout.flat
        ended = False

        def step() -> tuple:
            nonlocal ended
            elements: list = []
            try:
                while not ended and len(elements) < count:
                    elements.append(source())
            except End:
                ended = True
            if not elements or (len(elements) < count and not self.may_be_empty):
                raise End
            while len(elements) < count:
                empty = [_part(item, spec, 0, 0) for item, spec in zip(elements[0], specs)]
                elements.append(tuple(empty))
            return tuple(zip(*elements))

        return step


def _layout(layout: ElementLayout, specs: list, count: int) -> ElementLayout:
    return ElementLayout(
        element.pack(layout.spec, [PerReplicaSpec(*[spec] * count) for spec in specs])
    )


def _derive_part_spec(spec: TypeSpec, count: int) -> TypeSpec:
    """Return the spec of a replica's part; ValueError for what has no batches."""
    if isinstance(spec, NoneTensorSpec):
        return spec
    shape = getattr(spec, "shape", TensorShape(None))
    if shape.rank == 0:
        raise value_error(
            "TW203",
            "the elements of the dataset are scalars, which cannot be shared out among replicas",
            "batches",
            "dataset.batch(global_batch_size)",
        )
    size = None if shape.rank is None else shape.as_list()[0]
    own = size // count if size is not None and not size % count else None
    return spec if shape.rank is None else batch_spec(row_spec(spec), own)


def _divide_batch(item: np.ndarray, spec: TypeSpec, count: int) -> tuple:
    """Return the parts of a batch:
    as many rows each as the largest part needs, until none are left.
    """
    if item is None:
        return (None,) * count
    rows = _rows(item)
    each = -(-rows // count)
    limits = [min(rows, each * number) for number in range(count + 1)]
    return tuple([_part(item, spec, *pair) for pair in zip(limits, limits[1:])])


def _rows(item: np.ndarray) -> int:
    if isinstance(item, np.ndarray):
        return len(item)
    if hasattr(item, "nrows"):
        return int(item.nrows())
    return int(item.dense_shape[0])


def _part(item: np.ndarray, spec: TypeSpec, start: int, stop: int) -> Any:
    """Return rows of a batch."""
    if item is None or type(spec) is TensorSpec:
        return item if item is None else item[start:stop]
    take: Callable[[int], Any] = row_of(item)
    if stop > start:
        return stack_contents([take(place) for place in range(start, stop)], row_spec(spec), 0)
    return _empty(item)


def _empty(item: Any) -> Any:
    """Return no rows of a sparse or ragged tensor."""
    if hasattr(item, "nrows"):
        return item[:0]
    parts = [part._array for part in item._flat_components()]
    shape = np.concatenate([[0], parts[2][1:]]).astype(np.int64)
    empty = [parts[0][:0], parts[1][:0], shape]
    return item._with_components([element.wrap(part) for part in empty])
