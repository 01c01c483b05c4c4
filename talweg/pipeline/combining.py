"""The methods of `tf.data.Dataset` that make one dataset of several, given or made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.cores import usable_cores
from talweg.core.dtypes import int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.eager.convert import convert_to_tensor
from talweg.pipeline import element
from talweg.pipeline.batching import Batch
from talweg.pipeline.element import ElementLayout, OfElement
from talweg.pipeline.making import integer, seeds_of
from talweg.pipeline.mapping import Map
from talweg.pipeline.nesting import Choose, FlatMap, Interleave, Zip, merge_specs
from talweg.pipeline.order import Concatenate
from talweg.pipeline.resampling import resample
from talweg.pipeline.source import RandomNumbers
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.pipeline.dataset import Dataset


AUTOTUNE = -1


def default_cycle(num_parallel_calls: Any) -> int:
    """Return the number of datasets that TensorFlow interleaves on this machine by default."""
    cpus = usable_cores()
    if num_parallel_calls is None:
        return cpus
    calls = integer(num_parallel_calls, "num_parallel_calls")
    return -(-cpus // 3) if type(calls) is not int or calls == AUTOTUNE else min(calls, cpus)


class Combining:
    """Datasets with the elements of several others."""

    of: Callable[..., Any]
    stage: Stage

    @classmethod
    def zip(cls, *args: object, datasets: Any = None, name: str | None = None) -> Dataset:
        """Zip elements of several datasets together, until the first of them ends.

        Takes the datasets as arguments, or one nest of them, whose structure the elements have.

        >>> import talweg as tf
        >>> a, b = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9)
        >>> [(int(x), int(y)) for x, y in tf.data.Dataset.zip(a, b)]
        [(0, 5), (1, 6)]
        """
        if not args and datasets is None:
            raise type_error("TW104", "Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise type_error("TW104", "Both `*args` and `datasets` cannot be set.")
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        for leaf in element.flatten(nest):
            if isinstance(leaf, list):
                raise type_error(
                    "TW104",
                    "Invalid input to `zip`. Inputs are expected to be (nested) "
                    "structures of `tf.data.Dataset` objects. Python `list` is not supported and "
                    "you should use `tuple` instead.",
                )
            if not hasattr(leaf, "stage"):
                raise type_error(
                    "TW104",
                    "Invalid input to `zip`. Inputs are expected to be (nested) "
                    f"structures of `tf.data.Dataset` objects but encountered object of type "
                    f"{type(leaf)}.",
                )
        return cls.of(Zip(nest), *element.flatten(nest))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return the elements, then those of another dataset; TypeError where their structures
        differ."""
        spec = merge_specs(
            self.stage.layout.spec,
            dataset.stage.layout.spec,
            "Incompatible types of input datasets:",
        )
        return self.of(Concatenate(ElementLayout(spec), self.stage, dataset.stage), self, dataset)

    def flat_map(self, map_func: OfElement, name: str | None = None) -> Dataset:
        """Return the elements of the datasets map_func(element), one dataset after the other.

        >>> import talweg as tf
        >>> pairs = tf.data.Dataset.range(1, 4).flat_map(lambda x: tf.data.Dataset.range(x))
        >>> [int(x) for x in pairs]
        [0, 0, 1, 0, 1, 2]
        """
        return self.of(FlatMap(self.stage, map_func), self)

    def interleave(
        self,
        map_func: OfElement,
        cycle_length: object = None,
        block_length: TensorLike | None = None,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements of the datasets map_func(element), `block_length` of each in turn.

        cycle_length: how many datasets are open at a time.  Without it the number is TensorFlow's,
        which depends on the machine: all CPUs that the process may use; with num_parallel_calls no
        more than that, and a third of them where it is AUTOTUNE.  Give it where the order matters.
        With it, the order does not depend on num_parallel_calls.
        """
        cycle = AUTOTUNE if cycle_length is None else integer(cycle_length, "cycle_length")
        if (type(cycle) is int and cycle < 1 and cycle != -1) or block_length == 0:
            raise invalid("TW207", "cycle_length and block_length must be greater than zero.")
        block = 1 if block_length is None else integer(block_length, "block_length")
        if type(cycle) is int and cycle == AUTOTUNE:
            cycle = default_cycle(num_parallel_calls)
        return self.of(Interleave(self.stage, map_func, cycle, block), self)

    @classmethod
    def choose_from_datasets(
        cls, datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Take, at each step, an element of datasets[choice],
        choice being int64 scalars of a dataset.
        """
        if not datasets:
            raise value_error("TW104", "Invalid `datasets`. `datasets` should not be empty.")
        spec = choice_dataset.element_spec
        if getattr(spec, "dtype", None) is not int64 or spec.shape.rank != 0:
            raise type_error(
                "TW102",
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar "
                f"`tf.int64` tensors but are {spec!r}.",
            )
        stages = [dataset.stage for dataset in datasets]
        return cls.of(Choose(choice_dataset.stage, stages, stop_on_empty_dataset), *datasets)

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Any,
        weights: TensorLike | None = None,
        seed: TensorLike | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Take at each step an element of one of the datasets, chosen at random by `weights`.

        weights: a probability for each dataset, or a dataset of such vectors; equal if not given.
        """
        if not datasets:
            raise value_error("TW104", "Invalid `datasets`. `datasets` should not be empty.")
        exported = hooks.look_up_export
        if not hasattr(weights, "stage"):
            datasets, weights = _check_weights(datasets, weights)
            if len(datasets) == 1:
                return datasets[0]
        numbers = RandomNumbers(seeds_of(seed), bool(rerandomize_each_iteration))
        pairs = Batch(numbers, 2, False)

        def choice(logits: object, seed_pair: object) -> Any:
            classes = exported("random.stateless_categorical")(logits, 1, seed_pair, dtype=int64)
            return exported("squeeze")(classes, [0, 1])

        if hasattr(weights, "stage"):
            logits = Map(weights.stage, lambda p: (exported("math.log")(p)[None],))
            both = Zip((cls.of(logits), cls.of(pairs)))
            chosen = Map(both, lambda p, s: choice(p[0], s))
        else:
            chosen = Map(pairs, lambda s: choice(weights, s))
        stages = [dataset.stage for dataset in datasets]
        return cls.of(Choose(chosen, stages, stop_on_empty_dataset), *datasets)

    def rejection_resample(
        self,
        class_func: OfElement,
        target_dist: TensorLike,
        initial_dist: TensorLike | None = None,
        seed: TensorLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return pairs of class and element, with classes in the proportions of target_dist.

        Elements are left out at random.  class_func(element): an int32 scalar.  initial_dist: the
        proportions in the data, which are counted if not given.
        """
        return resample(self, class_func, target_dist, initial_dist, seed)


def _check_weights(datasets: Any, weights: object) -> tuple[list, Any]:
    """Return the datasets that can be chosen, and their logits; ValueError for a wrong number."""
    datasets = list(datasets)
    if weights is None:
        return datasets, convert_to_tensor([[1.0] * len(datasets)])
    probabilities = convert_to_tensor(weights)
    if probabilities.dims != (len(datasets),):
        raise value_error(
            "TW204",
            "Invalid `weights`. The shape of `weights` should be compatible with "
            f"`[len(datasets)]` but is {probabilities.dims}.",
        )
    values = probabilities.numpy()
    kept = [number for number, value in enumerate(values) if value > 0]
    if not kept:
        return datasets[:1], None
    logarithm = hooks.look_up_export("math.log")
    return [datasets[number] for number in kept], logarithm(convert_to_tensor(values[kept]))[None]
