"""The part of a dataset that one of several workers reads: by file, or by element.

Each worker reads its own files where the dataset reads files; otherwise each reads everything and
keeps its own part of every batch.  `Together` lets all workers have as many elements: one that has
no more gets empty ones until all are at the end.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.errors import InvalidArgumentError, NotFoundError, compose
from talweg.core.spec import TensorSpec
from talweg.graph.subgraph import Body
from talweg.graph.walk import postorder
from talweg.pipeline.batch_size import compute_batch_size
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.files import Files
from talweg.pipeline.nesting import FlatMap, Interleave
from talweg.pipeline.options import AutoShardPolicy
from talweg.pipeline.order import Shard
from talweg.pipeline.replicas import Consecutive, Shared
from talweg.pipeline.run import End, IterationRun, Next, stages_of
from talweg.pipeline.stage import INFINITE, UNKNOWN, PassOn, Stage

HINT = -1  # tf.data.experimental.SHARD_HINT


class ShardOfFiles(Shard):
    """Every n-th of some files; InvalidArgumentError where there are fewer files than workers."""

    count: int
    index: int

    def start(self, run: IterationRun) -> Next:
        """Look first whether there is a file for each worker."""
        source, count, index = self.inputs[0].start(run), self.count, self.index
        first: list[tuple] = []
        seen = 0

        def look() -> None:
            try:
                while len(first) < count:
                    first.append(source())
            except End:
                raise _too_few(len(first), count) from None

        def step() -> tuple:
            nonlocal seen
            if not first:
                look()
            while True:
                flat = first[seen] if seen < count else source()
                seen += 1
                if (seen - 1) % count == index:
                    return flat

        return step

    def rows(self, run: IterationRun) -> None:
        """Return None: files are counted one by one."""
        return


def _too_few(files: int, workers: int) -> InvalidArgumentError:
    text = (
        f"Could not apply FILE based sharding: the dataset only has {files} file(s), which is not "
        f"enough for the required {workers} shards/workers."
    )
    hint = (
        "the auto sharding policy DATA or OFF: options.experimental_distribute.auto_shard_policy of"
        " `tf.data.Options()`"
    )
    return InvalidArgumentError(None, None, compose("TW207", text, hint=hint))


def of_worker(dataset: Dataset, workers: int, index: int, replicas: int) -> Dataset:
    """Return one worker's share of a dataset, for its replicas, as the policy says.

    NotFoundError where it asks for parts by file and the dataset reads none.
    """
    policy = dataset.options().experimental_distribute.auto_shard_policy
    stage: Stage | None = dataset.stage
    if policy == AutoShardPolicy.HINT:
        stage = _with_hints(dataset.stage, workers, index)
    elif policy in (AutoShardPolicy.AUTO, AutoShardPolicy.FILE):
        stage = by_files(dataset.stage, workers, index)
        if stage is None and policy == AutoShardPolicy.FILE:
            text = f"Found an unshardable source dataset: {dataset.stage.name} reads no files"
            hint = "the policy AUTO or DATA"
            raise NotFoundError(None, None, compose("TW207", text, hint=hint))
    elif policy == AutoShardPolicy.DATA:
        stage = None
    if stage is None:
        own = [index + workers * number for number in range(replicas)]
        return Dataset.of(Shared(dataset.stage, workers * replicas, own), dataset)
    return _own_batches(Dataset.of(stage, dataset), workers, index, replicas)


def _own_batches(dataset: Dataset, workers: int, index: int, replicas: int) -> Dataset:
    """Return a worker's batches in parts for all replicas,
    of which its own take so many each step.
    """
    count = workers * replicas
    size = int(compute_batch_size(dataset).numpy())
    start = index * replicas
    if size < count:  # unknown, or not enough for each
        first = start if size >= 0 else 0
        dataset = Dataset.of(InParts(dataset.stage, count, first), dataset)
    else:
        sizes = [size // count + (number < size % count) for number in range(count)]
        dataset = dataset.rebatch(sizes[start:] + sizes[:start])
    if replicas == 1:
        return dataset
    return Dataset.of(Consecutive(dataset.stage, replicas), dataset)


class InParts(Stage):
    """The parts of each batch, one after the other, from number `first` on and round."""

    name = "_LegacyRebatchDataset"

    def __init__(self, source: Stage, count: int, first: int):
        super().__init__(Shared(source, count, [0]).layout, source)
        self.count, self.first = count, first

    def start(self, run: IterationRun) -> Next:
        """Divide batch after batch."""
        pull = Shared(self.inputs[0], self.count).start(run)
        waiting: list[tuple] = []

        def step() -> tuple:
            if not waiting:
                parts = list(zip(*pull()))
                waiting.extend(parts[self.first :] + parts[: self.first])
            return waiting.pop(0)

        return step


def by_files(stage: Stage, workers: int, index: int) -> Stage | None:
    """Return a pipeline that reads every n-th file;
    None if it reads none, or something else as well.
    """
    if isinstance(stage, Files) or (isinstance(stage, (FlatMap, Interleave)) and _opens(stage)):
        return _upon(stage, [ShardOfFiles(stage.inputs[0], workers, index)])
    inputs = [by_files(source, workers, index) for source in stage.inputs]
    if not inputs or any([source is None for source in inputs]):
        return None
    return _upon(stage, inputs)


def _upon(stage: Stage, inputs: list) -> Stage:
    """Rebuild the stage upon other inputs."""
    found = copy.copy(stage)
    found.inputs, found.kept = tuple(inputs), {}
    return found


def _opens(stage: FlatMap | Interleave) -> bool:
    """Return whether the datasets that a function makes of elements read files."""
    return _reads(stage.function.body)


def _reads(body: Body) -> bool:
    nodes: dict = {}
    postorder([*body.outputs, *body.effects], nodes)
    for node in nodes:
        made = getattr(getattr(node.params.get("call"), "call", None), "stage", None)
        if made is not None and any([isinstance(one, Files) for one in stages_of(made)]):
            return True
        if any([isinstance(value, Body) and _reads(value) for value in node.params.values()]):
            return True
    return False


def _with_hints(stage: Stage, workers: int, index: int) -> Stage:
    """Return a pipeline whose shards by SHARD_HINT are this worker's."""
    inputs = [_with_hints(source, workers, index) for source in stage.inputs]
    found = _upon(stage, inputs) if inputs else stage
    if isinstance(found, Shard) and found.count == HINT:
        found.count, found.index = workers, index
    return found


class Together(PassOn):
    """The elements of a worker, as many as the worker has that has most.

    `agree` says to all workers whether this one has an element, and gives whether any has; `fail`
    tells them of an error.
    """

    name = "_TogetherDataset"
    waits = True

    def __init__(
        self,
        source: Stage,
        agree: Callable[[bool], bool],
        fail: Callable[[BaseException], None],
    ):
        super().__init__(source)
        self._agree, self._fail = agree, fail

    def size(self, run: IterationRun) -> int:
        """Return the size of its input if all workers read the same; others may have more."""
        size = self.inputs[0].size(run)
        return size if size == INFINITE or isinstance(self.inputs[0], Shared) else UNKNOWN

    def rows(self, run: IterationRun) -> None:
        """Return None: elements are agreed on one by one."""
        return

    def start(self, run: IterationRun) -> Next:
        """Empty elements after the last one, until nobody has any."""
        source, agree = self.inputs[0].start(run), self._agree
        if self.size(run) == INFINITE:
            return source
        layout = self.layout
        over = ended = False

        def step() -> tuple:
            nonlocal over, ended
            if over:
                raise End
            flat: Any = None
            try:
                flat = None if ended else source()
            except End:
                ended = True
            except Exception as error:
                self._fail(error)
                raise
            if not agree(flat is not None):
                over = True
                raise End
            return flat if flat is not None else tuple([nothing(spec) for spec in layout.flat])

        return step


def nothing(spec: Any) -> Any:
    """Return a leaf of an element without rows."""
    if hasattr(spec, "specs"):  # of several replicas
        return tuple([nothing(part) for part in spec.specs])
    if isinstance(spec, TensorSpec):
        sizes = [] if spec.shape.rank is None else spec.shape.as_list()
        zero = b"" if spec.dtype.name == "string" else 0
        return np.full([size or 0 for size in sizes], zero, spec.dtype.numpy_dtype)
    text = f"workers have different numbers of batches, and {spec!r} has no empty value"
    raise InvalidArgumentError(
        None, None, compose("TW207", text, hint="as many batches on each worker, or dense tensors")
    )
