"""Shape inference of opaque calls by trials with made-up values.

The call is tried with small operands of the right dtypes, of every rank where the rank is not
known; what the results of the trials have in common is what a graph knows of them.
"""

from __future__ import annotations

import inspect
import itertools
import math
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.errors import NeedsStaticError
from talweg.eager.tensor import EagerTensor, wrap
from talweg.graph import structure

RANKS = (2, 1, 0, 3, 4, 5)  # tried for an operand of unknown rank
FILLS = (1, 0, None)  # what made-up operands hold; None: 0, 1, 2, ...
LARGEST = 16  # of sizes that are tried because they were given
COMBINED = 3  # operands of which every combination of ranks is tried
SIZES = (2, 1, 4, 3)  # what stands for an unknown dimension in a trial
ONES = (1, 1)
COUNTS = (1, 3)  # of elements that an integer vector is tried with besides


def find_dims(value: object) -> tuple | None:
    """Return the dimensions of a tensor, None if its rank is unknown."""
    return value.dims if type(value) is EagerTensor else value.aval.dims


def probe(call: Any, operands: list, composites: list, error: Any) -> list[Aval]:
    """Infer the results' abstract values from calls with made-up values."""
    unknown = [i for i, x in enumerate(operands) if find_dims(x) is None]
    context = dispatch.context
    before = context.base, context.recorders
    context.base, context.recorders = None, ()
    try:
        equal = [[rank] * len(operands) for rank in (RANKS if unknown else (0,))]
        avals, fit = _try_ranks(call, operands, composites, equal)
        if fit < 2 and len(unknown) > 1:  # they have to be of different ranks, or may be
            avals, _ = _try_ranks(call, operands, composites, _mix_ranks(unknown, len(operands)))
        if avals is None and len(operands) <= COMBINED:
            ranks = [trial for trial in _mix_ranks(unknown, len(operands)) if max(trial) < 3]
            fills = list(itertools.product(FILLS, repeat=len(operands)))
            avals, _ = _try_ranks(call, operands, composites, ranks, fills)
        if avals is not None and not unknown:
            avals = _ranks_by_counts(call, operands, composites, avals)
    finally:
        context.base, context.recorders = before
    if avals is None:
        raise error
    varied = len(unknown) > COMBINED or any(map(_counts_axes, operands))
    return [Aval(None, aval.dtype) for aval in avals] if unknown and varied else avals


def _ranks_by_counts(call: Any, operands: list, composites: list, found: list) -> list:
    """Remove the ranks from `found` that depend on the length of an integer vector.

    Such a vector may have an element for each axis of a result, as the batch shape of `eye` has.
    """
    for place, x in enumerate(operands):
        if type(x) is EagerTensor or not _counts_axes(x) or len(find_dims(x) or ()) != 1:
            continue
        for count, fill in itertools.product(COUNTS, FILLS):
            trial = [*operands[:place], _make_up(x, 1, fill, count), *operands[place + 1 :]]
            others, _ = _try_ranks(call, trial, composites, [[0] * len(operands)])
            if others is not None and len(others) == len(found):
                found = [a if a == b else Aval(None, a.dtype) for a, b in zip(found, others)]
    return found


def _counts_axes(x: Any) -> bool:
    """Return whether an operand may have one element for each axis of another."""
    dims = find_dims(x)
    return x.dtype.is_integer and (dims is None or any(type(size) is not int for size in dims))


def _mix_ranks(unknown: list[int], count: int) -> list[list[int]]:
    """Return ranks for all operands, in combinations of the `unknown` ones."""
    found = []
    ways = itertools.product(RANKS if len(unknown) <= COMBINED else RANKS[:4], repeat=len(unknown))
    for ranks in itertools.islice(ways, len(RANKS) ** COMBINED):
        trial = [0] * count
        for place, rank in zip(unknown, ranks):
            trial[place] = rank
        found.append(trial)
    return found


def _sizes(call: Any) -> tuple:
    """Return sizes for unknown dimensions of numbers, and of integers that may count axes.

    Numbers that were given or are defaults may be some, as that of parts, or a window's.
    """
    defaults = getattr(inspect.unwrap(getattr(call, "function", probe)), "__defaults__", None)
    given = [*structure.flatten(call.args), *structure.flatten(call.kwargs), *(defaults or ())]
    some = sorted({n for n in given if type(n) is int and 0 < n <= LARGEST})
    sizes = (*SIZES, *[n for n in some if n not in SIZES])
    return (*[(n, n) for n in sizes], (4, 2))


def _try_ranks(
    call: Any, operands: list, composites: list, ranks: list, fills: list | None = None
) -> tuple:
    """Return the common facts of results of trials with values of these ranks.

    None if none fits; and how many of the ranks do.
    """
    common: list | None = None
    fit = set()
    fitting = (0, 0)  # the sizes that fit
    fills = [(fill,) * len(operands) for fill in FILLS] if fills is None else fills
    for size, trial_ranks, filled in itertools.product(_sizes(call), ranks, fills):
        known = size != ONES or tuple(trial_ranks) in fit or len(ranks) == 1
        if common is not None and size != fitting and known:
            continue  # other sizes are for what the first does not fit: squeeze, or broadcasting
        kinds = zip(operands, trial_ranks, filled)
        trial = [_make_up(x, rank, fill, size[x.dtype.is_integer]) for x, rank, fill in kinds]
        for parts in composites:
            parts.make_fit(trial, operands)
        try:
            results = call.eager(trial)
        except NeedsStaticError:
            if common is None:
                raise
            continue
        except Exception:  # noqa: BLE001, S112 -- these made-up values do not fit
            continue
        avals = [Aval((None,) * len(x.dims), x.dtype) for x in results]
        fit.add(tuple(trial_ranks))
        if common is None:
            common, fitting = avals, size
        elif len(common) != len(avals):
            raise NeedsStaticError("how many results there are follows from a rank")
        else:
            common = [a if a == b else Aval(None, a.dtype) for a, b in zip(common, avals)]
    return common, len(fit)


def _make_up(x: Any, rank: int, fill: int | None, unknown: int) -> Any:
    if type(x) is EagerTensor:
        return x
    dims = find_dims(x)
    shape = (
        (unknown,) * rank
        if dims is None
        else tuple([size if type(size) is int else unknown for size in dims])
    )
    if x.dtype.name == "string":
        return wrap(np.full(shape, b"", object))
    if fill is None:
        return wrap(np.arange(math.prod(shape)).reshape(shape).astype(x.dtype.numpy_dtype)[()])
    return wrap(np.full(shape, fill, x.dtype.numpy_dtype)[()])
