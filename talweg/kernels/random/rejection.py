"""Gamma, Poisson and binomial numbers by rejection, for whole vectors at a time.

Every value has blocks of its own (`RESERVED`, or fewer where that is known to do), so its demand
for random numbers disturbs no other.  A vector of values is drawn by repeating one step for those
that are not settled.  All arithmetic is in double precision, in TensorFlow's order, with NumPy's
functions; the one library function that differs, log Γ, only takes part in a comparison, so a
value would differ from TensorFlow's if two numbers agreed to 15 digits.

Uniform and normal numbers come in pairs, of which the second is used first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.kernels.native import philox as native
from talweg.kernels.random.normal import box_muller_float64
from talweg.kernels.random.philox import (
    RESERVED,
    Stream,
    blocks_at,
    round_key_words,
    to_float64,
)

_CHUNK = 1 << 15  # values drawn at once
_FEW = 10.0  # mean up to which events are counted one by one
_INVERSION_ROOM = 42  # blocks set aside for a binomial number counted by gaps


class _Pairs:
    """Numbers of one distribution for many values, each from that value's own blocks."""

    def __init__(self, transform: Callable, stream: Stream, place: np.ndarray):
        self.transform, self.stream, self.place = transform, stream, place
        self.numbers = np.empty((len(place), 2))
        self.left = np.zeros(len(place), np.int8)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the next number of each of `rows`."""
        empty = rows[self.left[rows] == 0]
        if len(empty):
            place = self.place[empty]
            self.numbers[empty] = self.transform(blocks_at(self.stream, place))
            self.place[empty] = place + np.uint64(1)
            self.left[empty] = 2
        left = self.left[rows] - 1
        self.left[rows] = left
        return self.numbers[rows, left]

    def take_first(self) -> np.ndarray:
        """Return the first number of each value."""
        self.numbers = self.transform(blocks_at(self.stream, self.place))
        self.place += np.uint64(1)
        self.left.fill(1)
        return self.numbers[:, 1]

    def put_back(self, rows: np.ndarray) -> None:
        """Undo what was taken first for these values."""
        self.place[rows] -= np.uint64(1)
        self.left[rows] = 0


def _each(draw: Callable, stream: Stream, *parameters: np.ndarray) -> np.ndarray:
    """Return `draw(stream, numbers of the values, parameters)` in pieces, joined."""
    size = len(parameters[0])
    found = np.empty(size)
    for start in range(0, size, _CHUNK):
        stop = min(start + _CHUNK, size)
        number = np.arange(start, stop, dtype=np.uint64)
        found[start:stop] = draw(stream, number, *(p[start:stop] for p in parameters))
    return found


def _places(number: np.ndarray, room: int = RESERVED) -> np.ndarray:
    return number * np.uint64(room)


# -- gamma


def gamma(stream: Stream, alpha: np.ndarray) -> np.ndarray:
    """Return one number of the gamma distribution of shape α, scale 1, for each of `alpha` (float64
    [n]).

    Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26, 2000: with
    d = α - 1/3 and v = (1 + x / (3 √d))³, x normal, d v is accepted if
    log u < x²/2 + d (1 - v + log v).  For α < 1 a number of shape α + 1 is multiplied by u^(1/α).
    α = 1 is an exponential number.  NaN where α is negative or not a number.
    """
    return _each(_gamma, stream, alpha)


def _gamma(stream: Stream, number: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    blocks = _places(number)
    uniform = _Pairs(to_float64, stream, blocks)
    normal = _Pairs(box_muller_float64, stream, blocks)  # one place: a value's blocks serve both
    gammas = np.full(len(alpha), np.nan)
    exponential = np.flatnonzero(alpha == 1)
    if len(exponential):
        gammas[exponential] = -np.log1p(-uniform.take(exponential))
    small = alpha < 1
    d = alpha + np.where(small, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / np.sqrt(d)
    rows = np.flatnonzero((alpha >= 0) & (alpha != 1))
    if len(rows) == len(alpha):  # most numbers are settled at once
        x = normal.take_first()
        v = 1 + c * x
        absent = np.flatnonzero(~(v > 0))
        v = v * v * v
        u = uniform.take_first()
        uniform.put_back(absent)
        taken = _accepts_gamma(u, x, d, v)
        taken[absent] = False
        np.multiply(d, v, out=gammas, where=taken)
        rows = rows[~taken]
    while len(rows):
        x = normal.take(rows)
        v = 1 + c[rows] * x
        positive = v > 0
        tried, x, v = rows[positive], x[positive], v[positive]
        v = v * v * v
        taken = _accepts_gamma(uniform.take(tried), x, d[tried], v)
        gammas[tried[taken]] = d[tried[taken]] * v[taken]
        positive[positive] = taken
        rows = rows[~positive]
    small = np.flatnonzero(small & (alpha >= 0))
    if len(small):
        gammas[small] *= uniform.take(small) ** (1 / alpha[small])
    return gammas


def _accepts_gamma(u: np.ndarray, x: np.ndarray, d: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return which numbers d v are accepted; logarithms are taken where the squeeze leaves it open.

    Where v is not positive the answer means nothing.
    """
    x2 = x * x
    taken = u < 1 - 0.0331 * x2 * x2
    left = np.flatnonzero(~taken)
    u, x, d, v = u[left], x[left], d[left], v[left]
    taken[left] = np.log(u) < 0.5 * x * x + d * (1 - v + np.log(v))
    return taken


# -- Poisson


def poisson(stream: Stream, rate: np.ndarray, largest: float = np.inf) -> np.ndarray:
    """Return one Poisson number for each of `rate` (float32 or float64 [n]), as float64.

    Up to a rate of 10 the uniform numbers whose product stays above exp(-rate) are counted (Knuth,
    "The art of computer programming", vol. 2, 3.4.1); above, Hörmann, "The transformed rejection
    method for generating Poisson random variables", 1993, algorithm PTRS.  Numbers above `largest`
    are not given.  A negative rate gives 0, an infinite one infinity, NaN gives NaN.
    """
    return _each(lambda *a: _poisson(*a, largest=largest), stream, rate)


def _poisson(stream: Stream, number: np.ndarray, rate: np.ndarray, largest: float) -> np.ndarray:
    valid = np.isfinite(rate) & (rate >= 0)
    found = np.where(rate < 0, 0.0, rate)
    few = np.flatnonzero(valid & (rate < _FEW))
    many = np.flatnonzero(valid & (rate >= _FEW))
    place = _places(number)
    if len(few):
        found[few] = _count_products(stream, place[few], rate[few])
    if len(many):
        (mean,) = _shared(rate[many].astype(np.float64))
        hat = _PoissonHat(mean, largest)
        found[many] = _transformed_rejection(stream, place[many], hat)
    return found


def _count_products(stream: Stream, blocks: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Count the numbers before the product falls to the bound, a pair of them at a time."""
    bound = np.exp(-rate.astype(np.float64))
    keys = round_key_words(stream.key)
    counted = native.count_products(stream.counter, keys, blocks, bound)
    if counted is not None:
        return counted
    product = np.ones(len(rate))
    counts = np.zeros(len(rate))
    rows, count = np.arange(len(rate)), 0
    while len(rows):
        pair = to_float64(blocks_at(stream, blocks))
        first = product * pair[:, 1]
        product = first * pair[:, 0]
        above = first > bound
        counts[rows] = count + above
        going = np.flatnonzero(above & (product > bound))
        rows, product, bound = rows[going], product[going], bound[going]
        blocks, count = blocks[going] + np.uint64(1), count + 2
    return counts


class _PoissonHat:
    """The quantities of PTRS for a vector of rates."""

    def __init__(self, rate: np.ndarray, largest: float):
        self.rate, self.log_rate, self.largest = rate, np.log(rate), largest
        self.centre = rate
        self.shift = 0.43
        self.b = 0.931 + 2.53 * np.sqrt(rate)
        self.a = -0.059 + 0.02483 * self.b
        self.scale = 1.1239 + 1.1328 / (self.b - 3.4)
        self.squeeze = 0.9277 - 3.6224 / (self.b - 2)

    def outside(self, rows: Any, k: np.ndarray, us: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return which candidates are refused at once."""
        return (k < 0) | (k > self.largest) | ((us < 0.013) & (v > us))

    def log_density(self, rows: Any, k: np.ndarray) -> np.ndarray:
        """Return log of rateᵏ exp(-rate) / k!"""
        from scipy.special import gammaln

        return -self.rate[rows] + k * self.log_rate[rows] - gammaln(k + 1)


# -- binomial


def binomial(stream: Stream, count: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return one binomial number for each of `count`, `probability` ([n], of one dtype), as
    float64.

    For a mean below 10 geometric gaps between successes are summed until they exceed the count
    (Devroye, "Non-uniform random variate generation", 1986, X.4); above, Hörmann, "The generation
    of binomial random variates", 1993, algorithm BTRS.  A probability above 1/2 is replaced by its
    complement.  A negative count is taken as 0, probabilities outside [0, 1] as the nearer bound;
    NaN gives NaN.
    """
    return _each(_binomial, stream, count, probability)


def _binomial(
    stream: Stream, number: np.ndarray, count: np.ndarray, probability: np.ndarray
) -> np.ndarray:
    counts = np.zeros(len(count))
    counts[np.isnan(count) | np.isnan(probability)] = np.nan
    mirrored = probability > 0.5
    p = np.where(mirrored, 1 - probability, probability)
    mean = (count * p).astype(np.float64)  # rounded to the parameters' dtype, as TensorFlow does
    count, p = count.astype(np.float64), p.astype(np.float64)
    proper = (count > 0) & np.isfinite(count) & (p > 0)
    few = np.flatnonzero(proper & (mean < _FEW))
    many = np.flatnonzero(proper & (mean >= _FEW))
    if len(few):
        blocks = _places(number[few], _INVERSION_ROOM)
        counts[few] = _count_gaps(stream, blocks, count[few], p[few])
    if len(many):
        hat = _BinomialHat(*_shared(count[many], p[many]))
        counts[many] = _transformed_rejection(stream, _places(number[many]), hat)
    return np.where(mirrored, np.maximum(count, 0) - counts, counts)


def _count_gaps(stream: Stream, place: np.ndarray, count: np.ndarray, p: np.ndarray) -> np.ndarray:
    total = np.zeros(len(count))
    successes = np.zeros(len(count))
    rate = np.log1p(-p)
    uniform = _Pairs(to_float64, stream, place)
    rows = np.arange(len(count))
    while len(rows):
        total[rows] += np.ceil(np.log(uniform.take(rows)) / rate[rows])
        rows = rows[total[rows] <= count[rows]]
        successes[rows] += 1
    return successes


class _BinomialHat:
    """The quantities of BTRS for vectors of counts and probabilities."""

    def __init__(self, count: np.ndarray, p: np.ndarray):
        deviation = np.sqrt(count * p * (1 - p))
        self.count, self.odds = count, p / (1 - p)
        self.b = 1.15 + 2.53 * deviation
        self.a = -0.0873 + 0.0248 * self.b + 0.01 * p
        self.centre = count * p
        self.shift = 0.5
        self.squeeze = 0.92 - 4.2 / self.b
        self.scale = (2.83 + 5.1 / self.b) * deviation
        self.mode = np.floor((count + 1) * p)

    def outside(self, rows: Any, k: np.ndarray, us: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return which candidates are refused at once."""
        return (k < 0) | (k > self.count[rows])

    def log_density(self, rows: Any, k: np.ndarray) -> np.ndarray:
        """Return log of the probability of k over that of the mode."""
        n, m, r = self.count[rows], self.mode[rows], self.odds[rows]
        return (
            (m + 0.5) * np.log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * np.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * np.log(r * (n - k + 1) / (k + 1))
            + _stirling_rest(m)
            + _stirling_rest(n - m)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )


_RESTS = np.array(
    [
        0.0810614667953272,
        0.0413406959554092,
        0.0276779256849983,
        0.02079067210376509,
        0.0166446911898211,
        0.0138761288230707,
        0.0118967099458917,
        0.0104112652619720,
        0.00925546218271273,
        0.00833056343336287,
    ]
)


def _stirling_rest(k: np.ndarray) -> np.ndarray:
    """Return log k! less Stirling's (k + 1/2) log(k + 1) - (k + 1) + log √2π."""
    next_ = k + 1
    square = next_ * next_
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next_
    return np.where(k <= 9, _RESTS[np.clip(k, 0, 9).astype(np.intp)], series)


# -- the step both transformed rejections share


def _shared(*parameters: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the parameters of all values; just one of each if the values have the same."""
    same = all((parameter == parameter[0]).all() for parameter in parameters)
    return tuple([parameter[:1] for parameter in parameters]) if same else parameters


def _transformed_rejection(
    stream: Stream, blocks: np.ndarray, hat: _BinomialHat | _PoissonHat
) -> np.ndarray:
    """k = ⌊(2a / us + b) u + centre + shift⌋ with u, v uniform, us = 1/2 - |u|, till accepted."""
    counts = np.empty(len(blocks))
    all_: Any = slice(None)
    one = len(hat.b) == 1
    left, rows = np.arange(len(blocks)), all_  # rows: views of the whole at first, no copies
    while len(left):
        own = all_ if one else rows
        pair = to_float64(blocks_at(stream, blocks[rows]))
        blocks[rows] += np.uint64(1)
        u, v = pair[:, 1] - 0.5, pair[:, 0]
        us = 0.5 - np.abs(u)
        k = np.floor((2 * hat.a[own] / us + hat.b[own]) * u + hat.centre[own] + hat.shift)
        taken = (us >= 0.07) & (v <= hat.squeeze[own])
        open_ = np.flatnonzero(~taken & ~hat.outside(own, k, us, v))
        if len(open_):
            own = all_ if one else left[open_]
            us, v = us[open_], v[open_]
            height = np.log(v * hat.scale[own] / (hat.a[own] / (us * us) + hat.b[own]))
            taken[open_] = height <= _log_density(hat, own, k[open_])
        counts[rows] = k
        left = rows = left[~taken]
    return counts


def _log_density(hat: _BinomialHat | _PoissonHat, own: Any, k: np.ndarray) -> np.ndarray:
    """Return the hat's logarithms, each once if one density has few different counts."""
    low = k.min()
    span = k.max() - low + 1
    if len(hat.b) > 1 or span >= len(k):
        return hat.log_density(own, k)
    return hat.log_density(own, low + np.arange(span))[(k - low).astype(np.intp)]
