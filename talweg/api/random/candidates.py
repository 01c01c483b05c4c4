"""tf.random.uniform_candidate_sampler and relatives: classes for sampled losses.

Each returns three tensors: the classes drawn [num_sampled], the expected counts of `true_classes`
[batch, num_true], and the expected counts of the classes drawn.  With `unique` no class is drawn
twice, and an expected count is the chance of being drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.arguments import integer, tensor
from talweg.api.export import export
from talweg.core.dtypes import int64
from talweg.core.errors import invalid
from talweg.eager import randomness
from talweg.eager.tensor import wrap
from talweg.prims.random.candidates import random_candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike


class Candidates(NamedTuple):
    """The result of a candidate sampler."""

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


def _names(name: str) -> tuple[str, ...]:
    spaces = ("random", "nn", "compat.v1.random", "compat.v1.nn")
    return tuple(f"{space}.{name}_candidate_sampler" for space in spaces)


def _sample(
    kind: str,
    true_classes: object,
    num_true: object,
    num_sampled: object,
    unique: object,
    range_max: object,
    seed: Any,
    weights: tuple = (),
) -> Candidates:
    function = f"{kind}_candidate_sampler"
    numbers = {
        "num_true": num_true,
        "num_sampled": num_sampled,
        "range_max": range_max,
    }
    numbers = {name: integer(value, function, name) for name, value in numbers.items()}
    if numbers["range_max"] < 1:
        raise invalid("TW207", f"{function}: range_max={range_max}", "at least 1")
    return Candidates(
        *random_candidates(
            tensor(true_classes, hint=int64),
            kind=kind,
            unique=bool(unique),
            weights=weights,
            seeds=randomness.get_seed(seed),
            **numbers,
        )
    )


@export(*_names("uniform"))
def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: TensorLike,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return classes of [0, range_max), each as likely as the others.

    true_classes: int64 [batch, num_true].  InvalidArgumentError for another shape, classes out of
    range, or more unique classes than there are.

    >>> import talweg as tf
    >>> drawn = tf.random.uniform_candidate_sampler([[1, 2]], 2, 5, True, 5)
    >>> sorted(drawn.sampled_candidates.numpy().tolist())
    [0, 1, 2, 3, 4]
    """
    return _sample("uniform", true_classes, num_true, num_sampled, unique, range_max, seed)


@export(*_names("log_uniform"))
def log_uniform_candidate_sampler(
    true_classes: object,
    num_true: int,
    num_sampled: object,
    unique: TensorLike,
    range_max: object,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return classes of [0, range_max) with P(k) = log((k + 2) / (k + 1)) / log(range_max + 1).

    That suits classes in the order of their frequency.  Arguments as `uniform_candidate_sampler`.

    >>> import talweg as tf
    >>> tf.random.log_uniform_candidate_sampler([[0]], 1, 3, False, 100).sampled_candidates.shape
    TensorShape([3])
    """
    return _sample("log_uniform", true_classes, num_true, num_sampled, unique, range_max, seed)


@export(*_names("learned_unigram"))
def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: TensorLike,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return classes of [0, range_max) by how often they have been among `true_classes` before.

    Calls with the same arguments and seeds share their counts; all counts start with 1.
    Arguments as `uniform_candidate_sampler`.

    >>> import talweg as tf
    >>> tf.random.learned_unigram_candidate_sampler([[0]], 1, 3, False, 9).sampled_candidates.shape
    TensorShape([3])
    """
    return _sample("learned", true_classes, num_true, num_sampled, unique, range_max, seed)


@export(*_names("fixed_unigram"))
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: TensorLike,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[Any] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return classes of [0, range_max) by given weights, raised to the power `distortion`.

    vocab_file: a file with one class a line, the weight after the last comma; or `unigrams`, the
    weights themselves.  num_reserved_ids: classes in front that are never drawn.  Of several shards
    this one draws the classes k with k mod num_shards = shard.  Other arguments as
    `uniform_candidate_sampler`.  InvalidArgumentError also unless exactly one source of weights is
    given.

    >>> import talweg as tf
    >>> drawn = tf.random.fixed_unigram_candidate_sampler(
    ...     [[0]], 1, 3, False, 2, unigrams=[0.0, 1.0])
    >>> drawn.sampled_candidates.numpy()
    array([1, 1, 1])
    """
    if bool(vocab_file) == bool(len(unigrams)):
        text = "fixed_unigram_candidate_sampler: Must provide either vocab_file or unigrams"
        raise invalid("TW207", text, "exactly one of them")
    if num_shards < 1:
        raise invalid("TW207", f"fixed_unigram_candidate_sampler: num_shards={num_shards}")
    weights = _weights_of_file(vocab_file) if vocab_file else [float(w) for w in unigrams]
    weights = [0.0] * num_reserved_ids + [np.float32(w) ** np.float32(distortion) for w in weights]
    if num_shards != 1:
        weights = [w for k, w in enumerate(weights) if k % num_shards == shard]
    if len(weights) != range_max:
        text = f"fixed_unigram_candidate_sampler: range_max is {range_max}, but there are"
        raise invalid("TW207", f"{text} {len(weights)} classes")
    return _sample(
        "fixed",
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        seed,
        tuple(float(w) for w in weights),
    )


def _weights_of_file(path: str) -> list[float]:
    lines = Path(path).read_text().splitlines()
    return [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]


@export(*_names("all"))
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: TensorLike,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return all classes 0 ... num_sampled - 1, in order, each expected once.

    >>> import talweg as tf
    >>> tf.random.all_candidate_sampler([[0]], 1, 3, True).sampled_candidates.numpy()
    array([0, 1, 2])
    """
    size = integer(num_sampled, "all_candidate_sampler", "num_sampled")
    classes = tensor(true_classes, hint=int64)
    ones = wrap(np.ones(classes.dims, np.float32))
    return Candidates(wrap(np.arange(size)), ones, wrap(np.ones(size, np.float32)))
