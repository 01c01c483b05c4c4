"""The methods of `tf.data.Dataset` that write elements to files, read them back, and find files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.pipeline import files, saved
from talweg.pipeline.making import seeds_of
from talweg.pipeline.order import Shuffle
from talweg.pipeline.run import bind
from talweg.pipeline.source import Tensors, TensorSlices
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike, TensorLike
    from talweg.pipeline.dataset import Dataset
    from talweg.pipeline.run import IterationRun


def path_of(value: Any) -> str:
    """Return a path from text, bytes, a path object or a string tensor."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    return os.fsdecode(value)


def paths_of(value: object) -> list[str]:
    """Return paths from one of them, a list, or a string tensor."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        value = value.reshape(-1).tolist()
    return [path_of(item) for item in (value if isinstance(value, (list, tuple)) else [value])]


class Keeping:
    """Datasets and files."""

    of: Callable[..., Any]
    stage: Stage

    def file_cache(self, path: str) -> Stage:
        """Return the stage that keeps the elements in files."""
        return saved.FileCache(self.stage, path)

    @classmethod
    def list_files(
        cls,
        file_pattern: PathLike | TensorLike,
        shuffle: bool | None = None,
        seed: TensorLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the paths of all files that match a pattern, or one of several, as string scalars.

        In random order unless shuffle=False.  InvalidArgumentError if there is none.
        """
        paths = files.matching(paths_of(file_pattern))
        stage: Stage = TensorSlices(np.array(paths, object))
        if shuffle or shuffle is None:
            stage = Shuffle(stage, max(1, len(paths)), seeds_of(seed), True)
        return cls.of(stage)

    def save(
        self,
        path: PathLike,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write all elements into a folder, from which `load` reads them.

        compression: None or "GZIP".  shard_func(element): an int64 scalar, the number of the part
        that an element goes to.
        """
        layout = self.stage.layout
        saved.save(
            bind(self.stage),
            layout,
            path_of(path),
            saved.kind_of_compression(compression),
            saved.shard_function(shard_func, layout),
        )

    @classmethod
    def load(
        cls,
        path: PathLike,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Any], Any] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Return the elements that `save` wrote, an element of each part in turn.

        reader_func: makes the dataset of a dataset of parts, each a dataset.  NotFoundError if
        nothing was saved there.
        """
        path = path_of(path)
        description = saved.about(path)
        layout = saved.load_layout(description, element_spec)
        if reader_func is None:
            return cls.of(saved.Saved(path, description, layout, description["shards"]))
        parts = [saved.Saved(path, description, layout, [shard]) for shard in description["shards"]]
        return reader_func(cls.of(_Parts([cls.of(part) for part in parts])))

    def snapshot(
        self,
        path: PathLike,
        compression: str | None = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements, written into a folder the first time and read from it ever after.

        A later program that finds the folder reads it, too, and computes nothing.
        """
        kind = saved.kind_of_compression(compression)
        shard = saved.shard_function(shard_func, self.stage.layout)
        return self.of(saved.Snapshot(self.stage, path_of(path), kind, shard), self)


class _Parts(Tensors):
    """Datasets as elements."""

    def __init__(self, datasets: list):
        super().__init__(datasets[0])
        self.datasets = datasets

    def size(self, run: IterationRun) -> int:
        """Return the number of elements."""
        return len(self.datasets)

    def start(self, run: IterationRun) -> Any:
        """Return one after the other."""
        remaining = iter([dataset.bind_in(run) for dataset in self.datasets])

        def step() -> tuple:
            for bound in remaining:
                return (bound,)
            raise files.End

        return step
