"""Rejection: elements passed over at random, so that classes come in the proportions asked for.

An element of class c is accepted with a probability in proportion to target[c] / initial[c], less
the smallest of these ratios; with the smallest ratio as its probability an element is taken from
the data as it is, so that no more is rejected than need be.  Proportions that are not given are
counted while the data comes, 32 elements at a time, beginning with 10 of each class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.dtypes import float32, int64
from talweg.core.hooks import hooks
from talweg.eager.convert import convert_to_tensor

COUNTED, FIRST = 32, 10  # elements counted at a time; how many of each class are assumed before


def find_public(name: str) -> Callable[..., Any]:
    """Return a public function."""
    return hooks.look_up_export(name)


def acceptance(initial: Any, target: Any) -> tuple[Any, Any]:
    """Return the probability to accept each class, and that of taking the data as it is."""
    tiny = np.finfo(initial.dtype.numpy_dtype).tiny
    ratios = find_public("where")(
        initial > tiny, target / find_public("maximum")(initial, tiny), target * 0.0
    )
    most, least = find_public("reduce_max")(ratios), find_public("reduce_min")(ratios)
    return (ratios - least) / (most - least), least


def count_classes(classes: Any, number: int) -> Any:
    """Return a dataset of the proportions of classes, as they are known when an element comes."""

    def update(seen: Any, found: Any) -> tuple[Any, Any]:
        one_hot = find_public("one_hot")(found, number, dtype=int64)
        seen = seen + find_public("reduce_sum")(one_hot, 0)
        proportions = find_public("cast")(seen / find_public("reduce_sum")(seen), float32)
        return seen, find_public("tile")(proportions[None], [COUNTED, 1])

    first = np.full([number], FIRST, np.int64)
    return classes.batch(COUNTED).scan(first, update).unbatch()


def resample(dataset: Any, class_func: Any, target: Any, initial: object, seed: object) -> Any:
    """Return pairs of class and element, in the proportions of `target`."""
    target = convert_to_tensor(target)
    make = type(dataset)

    def class_of(data: object) -> Any:
        return class_func(*data) if isinstance(data, tuple) else class_func(data)

    def mark_class(*data: object) -> tuple[Any, Any]:
        element = data[0] if len(data) == 1 else data
        return class_func(*data), element

    if initial is None:
        proportions = count_classes(dataset.map(class_func), target.dims[0])
        both = proportions.map(lambda p: acceptance(p, target))
    else:
        both = make.from_tensors(acceptance(convert_to_tensor(initial), target)).repeat()
    chances = make.zip((both.map(lambda accept, rest: accept), dataset)).map(
        lambda accept, data: (class_of(data), find_public("gather")(accept, class_of(data)), data)
    )
    accepted = chances.filter(
        lambda which, chance, data: find_public("random.uniform")([], seed=seed) < chance
    )
    accepted = accepted.map(lambda which, chance, data: (which, data)).prefetch(3)
    weights = both.map(lambda accept, rest: find_public("stack")([rest, 1.0 - rest]))
    return make.sample_from_datasets(
        [dataset.map(mark_class), accepted], weights, seed, stop_on_empty_dataset=True
    )
