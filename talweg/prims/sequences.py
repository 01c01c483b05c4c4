"""Sequences of places and numbers whose length may be known only when a graph runs."""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dims import below, differ
from talweg.core.dtypes import int32, int64, of_numpy
from talweg.core.errors import OpError, invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.progression import allocate, progression

COUNTS = NoGradient("positions are integers")


@primitive
class counting:
    """y = 0, 1, ..., size - 1."""

    operands = ""
    tf_type = "Range"

    def infer(*, size, dtype):
        if below(size, 0):
            raise invalid("TW207", f"range: requires start <= limit: 0/{size}")
        return Aval((size,), dtype)

    def numpy(*, size, dtype):
        if size < 0:
            raise invalid("TW207", f"range: requires start <= limit: 0/{size}")
        return allocate("range", np.arange, size).astype(dtype.numpy_dtype)

    def loops(s, index, *, size, dtype):
        return s.cast(s.index(index[0]), dtype)

    no_gradient = NoGradient("a sequence depends on nothing")
    batch = LOOP
    memory = "none"

    def xla(j, *, size, dtype):
        return j.numpy.arange(size, dtype=dtype.numpy_dtype)

    samples = (Sample(size=3, dtype_=int32), Sample(size=0, dtype_=int64))


@primitive
class repeated:
    """y = 0, ..., size - 1, each as often as `counts` says: a scalar, a single one, or [size]."""

    operands = "counts"

    def infer(counts, *, size):
        if (
            len(counts.dims) > 1
            or differ(math.prod(counts.dims), 1)
            and differ(math.prod(counts.dims), size)
        ):
            raise invalid("TW204", f"repeat: repeats has shape {counts.dims}", f"[{size}]")
        return Aval((None,), int64)

    def numpy(counts: np.ndarray, *, size):
        return np.repeat(np.arange(size), np.maximum(counts, 0))

    no_gradient = COUNTS
    batch = LOOP
    memory = "library"
    samples = (Sample(np.array([2, 0, 1]), size=3), Sample(np.array(2, np.int32), size=2))
    rejects = (Reject(np.array([2, 0]), size=3, code="TW204"),)


@primitive
class reversed_places:
    """y[b, j] = counts[b] - 1 - j for j < counts[b], else j.   counts [b] -> y [b, size]."""

    operands = "counts"

    def infer(counts, *, size):
        return Aval((*counts.dims, size), counts.dtype)

    def numpy(counts: np.ndarray, *, size):
        if counts.size and (counts.min() < 0 or counts.max() > size):
            raise invalid(
                "TW207",
                f"reverse_sequence: seq_lengths={counts.tolist()}",
                f"lengths from 0 to {size}",
            )
        steps = np.arange(size, dtype=counts.dtype)[None, :]
        last = counts[:, None] - 1
        return np.where(steps <= last, last - steps, steps)

    def requires(t, counts, *, size):
        t.require_below(counts, size + 1)

    def loops(s, index, counts, *, size):
        last = counts(*index[:-1]) - 1
        step = s.index(index[-1], counts.dtype)
        return s.select(s.less_equal(step, last), last - step, step)

    no_gradient = COUNTS
    batch = LOOP
    memory = "map"
    samples = (Sample(np.array([2, 0, 3]), size=3),)
    rejects = (Reject(np.array([4]), size=3, code="TW207"),)


@primitive
class mirrored_places:
    """y = edge + low - 1, ..., edge, 0, ..., size - 1, size - 1 - edge, ...: `high` of the last."""

    operands = ""

    def infer(*, low, size, high, edge):
        if below(size - edge, low) or below(size - edge, high):
            raise invalid("TW207", f"pad: paddings {low}, {high} are too large for size {size}")
        if below(low, 0) or below(high, 0):
            raise invalid("TW207", f"pad: paddings {low}, {high}", "numbers of at least 0")
        return Aval((low + size + high,), int64)

    def numpy(*, low, size, high, edge):
        before = np.arange(low)[::-1] + edge
        return np.concatenate([before, np.arange(size), size - 1 - edge - np.arange(high)])

    def expand(t, **params):
        return t.array(mirrored_places.numpy(**params))

    no_gradient = NoGradient("positions depend on nothing")
    batch = LOOP
    memory = "map"
    samples = (Sample(low=2, size=3, high=1, edge=1), Sample(low=0, size=2, high=2, edge=0))
    rejects = (Reject(low=3, size=3, high=0, edge=1, code="TW207"),)


@primitive
class sequence:
    """y = start, start + delta, ... before `limit`; scalars of one dtype.

    `count`: how many there are, None if that is not known.
    """

    operands = "start limit delta"
    tf_type = "Range"
    tf_name = "range"

    def infer(start, limit, delta, *, count):
        for part, name in ((start, "start"), (limit, "limit"), (delta, "delta")):
            if part.dims:
                raise invalid("TW203", f"range: {name} has shape {part.dims}", "a scalar")
            if part.dtype is not start.dtype:
                raise invalid("TW102", f"range: {name} is {part.dtype.name}", "one dtype")
        return Aval((count,), start.dtype)

    def numpy(start: np.ndarray, limit, delta, *, count):
        start, limit, delta = (np.reshape(n, ())[()] for n in (start, limit, delta))
        return progression(start, limit, delta, of_numpy(start.dtype))

    def expand(t, start, limit, delta, *, count):
        contents = [x.content for x in (start, limit, delta)]
        if any(content is None for content in contents):
            return NotImplemented
        try:
            return t.array(sequence.numpy(*contents, count=count))
        except OpError:
            return NotImplemented

    no_gradient = NoGradient("the numbers of a range are counted, not computed", "tf.linspace")
    batch = LOOP
    memory = "none"
    samples = (
        Sample(np.array(2), np.array(9), np.array(3), count=None),
        Sample(np.array(1.0), np.array(0.0), np.array(-0.25), count=4),
    )
    rejects = (
        Reject(np.array(2), np.array(9), np.array(0), count=None, code="TW207"),
        Reject(np.array([2]), np.array(9), np.array(1), count=None, code="TW203"),
    )
