"""Static analysis of a pipeline: the size of its batches, where its stages tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.eager.tensor import EagerTensor, array_of, wrap
from talweg.graph import structure
from talweg.pipeline.batching import Batch, PaddedBatch
from talweg.pipeline.mapping import AssertCardinality, Filter, UniqueElements
from talweg.pipeline.nesting import Zip
from talweg.pipeline.order import Concatenate
from talweg.pipeline.stage import PassOn, Stage

if TYPE_CHECKING:
    from talweg.pipeline.dataset import Dataset

UNKNOWN = -1


def compute_batch_size(dataset: Dataset) -> Any:
    """Return the size of a dataset's batches, an int64 scalar; -1 if it is not known.

    ValueError for elements without dimensions.
    """
    specs = structure.flatten(dataset.element_spec)
    shapes = [getattr(spec, "shape", TensorShape(None)) for spec in specs]
    if any(shape.rank == 0 for shape in shapes):
        raise value_error("TW203", f"elements of {dataset!r} are not batched", "batches")
    sizes = {None if shape.rank is None else shape.as_list()[0] for shape in shapes}
    known = sizes.pop() if len(sizes) == 1 else None
    return wrap(np.int64(_of_stage(dataset.stage) if known is None else known))


def _of_stage(stage: Stage) -> int:
    if isinstance(stage, (Batch, PaddedBatch)):
        count = stage.count
        if isinstance(count, EagerTensor):
            count = int(array_of(count))
        return count if type(count) is int else UNKNOWN
    if isinstance(stage, (PassOn, Filter, UniqueElements, AssertCardinality)):
        return _of_stage(stage.inputs[0])
    if isinstance(stage, (Zip, Concatenate)):
        sizes = {_of_stage(part) for part in stage.inputs}
        return sizes.pop() if len(sizes) == 1 else UNKNOWN
    return UNKNOWN
