"""The formulas of convolution and pooling as plain loops, and random geometries to try them on.

Written from the formulas alone: nothing here is shared with `talweg.kernels`.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Geometry:
    """One window problem: everything but the arrays."""

    batch: int
    sizes: tuple
    channels: int  # per group
    results: int  # output channels per group
    window: tuple
    strides: tuple
    padding: tuple
    dilation: tuple
    groups: int

    @property
    def outputs(self):
        found = []
        for axis in range(len(self.sizes)):
            size = self.sizes[axis]
            extent = (self.window[axis] - 1) * self.dilation[axis] + 1
            rest = size + sum(self.padding[axis]) - extent
            found.append(rest // self.strides[axis] + 1 if rest >= 0 else 0)
        return tuple(found)

    @property
    def input_shape(self):
        return (self.batch, *self.sizes, self.channels * self.groups)

    @property
    def filter_shape(self):
        return (*self.window, self.channels, self.results * self.groups)

    @property
    def output_shape(self):
        return (self.batch, *self.outputs, self.results * self.groups)

    @property
    def pooled_shape(self):
        return (self.batch, *self.outputs, self.channels * self.groups)

    @property
    def pooling(self):
        return self.window, self.strides, self.padding, self.dilation

    @property
    def convolution(self):
        return self.strides, self.padding, self.dilation, self.groups

    def reads(self):
        """Every (output position, tap, input position) that meets inside the input."""
        for o in product(*map(range, self.outputs)):
            for k in product(*map(range, self.window)):
                place = []
                for axis, (oi, ki) in enumerate(zip(o, k, strict=True)):
                    at = oi * self.strides[axis] + ki * self.dilation[axis]
                    at -= self.padding[axis][0]
                    if not 0 <= at < self.sizes[axis]:
                        break
                    place.append(at)
                else:
                    yield o, k, tuple(place)


@st.composite
def geometries(draw):
    """Odd shapes: empty batches, axes of length 1, strides beyond the window, uneven padding."""
    ndim = draw(st.integers(1, 3))

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(ndim))

    top = {1: 9, 2: 6, 3: 4}[ndim]
    window = each(1, 3)
    return Geometry(
        batch=draw(st.integers(0, 3)),
        sizes=each(1, top),
        channels=draw(st.sampled_from([1, 1, 2, 5])),
        results=draw(st.integers(1, 3)),
        window=window,
        strides=each(1, 4),
        padding=tuple((draw(st.integers(0, taps)), draw(st.integers(0, taps))) for taps in window),
        dilation=each(1, 3),
        groups=draw(st.sampled_from([1, 1, 2, 3])),
    )


def convolution(geometry, x, w):
    y = np.zeros(geometry.output_shape)
    depth, count = geometry.channels, geometry.results
    for o, k, i in geometry.reads():
        for group in range(geometry.groups):
            read = slice(group * depth, (group + 1) * depth)
            write = slice(group * count, (group + 1) * count)
            y[(slice(None), *o, write)] += x[(slice(None), *i, read)] @ w[(*k, slice(None), write)]
    return y


def windows(geometry):
    """{output position: [(tap, input position), ...]} in scan order."""
    found = {o: [] for o in product(*map(range, geometry.outputs))}
    for o, k, i in geometry.reads():
        found[o].append((k, i))
    return found


def average(geometry, x):
    y = np.zeros(geometry.pooled_shape)
    for o, reads in windows(geometry).items():
        for _, i in reads:
            y[(slice(None), *o)] += x[(slice(None), *i)] / len(reads)
    return y


def maxima(geometry, x):
    """The maxima and the input positions of the first of them: an array of tuples or None."""
    y = np.full(geometry.pooled_shape, -np.inf)
    where = np.full(geometry.pooled_shape, None, dtype=object)
    for o, reads in windows(geometry).items():
        for n, c in product(range(geometry.batch), range(geometry.pooled_shape[-1])):
            for _, i in reads:
                value, best = x[(n, *i, c)], y[(n, *o, c)]
                better = value > best or (np.isnan(value) and not np.isnan(best))
                if where[(n, *o, c)] is None or better:
                    y[(n, *o, c)] = value
                    where[(n, *o, c)] = (n, *i, c)
    return y, where


def patches(geometry, x):
    shape = (*geometry.pooled_shape[:-1], *geometry.window, geometry.pooled_shape[-1])
    found = np.zeros(shape)
    for o, k, i in geometry.reads():
        found[(slice(None), *o, *k)] = x[(slice(None), *i)]
    depth = int(np.prod(geometry.window)) * geometry.pooled_shape[-1]
    return found.reshape(*geometry.pooled_shape[:-1], depth)
