"""Distributions of single numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.distributions.base import FULLY, NOT, Distribution, RegisterKL, number, op
from talweg.core.dtypes import as_dtype, int32
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike


class _OfTwo(Distribution):
    """A distribution with two parameters that broadcast."""

    def _keep(self, first: object, second: object) -> None:
        self._a = number(first)
        self._b = number(second, self._a.dtype)
        self._dtype = self._a.dtype

    def _alike(self) -> list:
        return [self._a, self._b]


@export("compat.v1.distributions.Normal")
class Normal(_OfTwo):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> import talweg.compat.v1 as tf
    >>> round(float(tf.distributions.Normal(0.0, 1.0).log_prob(0.0)), 4)
    -0.9189
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ):
        given = {"loc": loc, "scale": scale}
        super().__init__(None, FULLY, validate_args, allow_nan_stats, given, name=name)
        self._keep(loc, scale)

    loc = property(lambda self: self._a, doc="The mean.")
    scale = property(lambda self: self._b, doc="The standard deviation.")

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        drawn = op("random.normal", self._dims(shape), dtype=self._dtype, seed=seed)
        return drawn * self._b + self._a

    def _log_prob(self, x: Any) -> Any:
        z = (x - self._a) / self._b
        return -0.5 * z * z - (0.5 * math.log(2 * math.pi) + op("math.log", self._b))

    def _cdf(self, x: TensorLike) -> Any:
        return 0.5 * op("math.erfc", (self._a - x) / self._b * math.sqrt(0.5))

    def _quantile(self, p: Any) -> Any:
        return self._a + self._b * op("math.ndtri", p)

    def _mean(self) -> Any:
        return self._spread(self._a)

    _mode = _mean

    def _variance(self) -> Any:
        return op("square", self._spread(self._b))

    def stddev(self, name: str = "stddev") -> Any:
        """Return the standard deviation."""
        return self._spread(self._b)

    def _entropy(self) -> Any:
        return self._spread(0.5 * math.log(2 * math.pi * math.e) + op("math.log", self._b))


@RegisterKL(Normal, Normal)
def _of_normals(a: TensorLike, b: TensorLike) -> Any:
    ratio = op("square", a.scale / b.scale)
    distance = op("square", (a.loc - b.loc) / b.scale)
    return 0.5 * (distance + ratio - 1.0 - op("math.log", ratio))


@export("compat.v1.distributions.Laplace")
class Laplace(_OfTwo):
    """The Laplace distribution: exponential on both sides of `loc`."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ):
        given = {"loc": loc, "scale": scale}
        super().__init__(None, FULLY, validate_args, allow_nan_stats, given, name=name)
        self._keep(loc, scale)

    loc = property(lambda self: self._a, doc="The middle.")
    scale = property(lambda self: self._b, doc="The scale.")

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        u = op("random.uniform", self._dims(shape), -1.0, 1.0, self._dtype, seed)
        return self._a - self._b * op("sign", u) * op("math.log1p", -op("abs", u))

    def _log_prob(self, x: Any) -> Any:
        return -op("abs", (x - self._a) / self._b) - math.log(2) - op("math.log", self._b)

    def _cdf(self, x: TensorLike) -> Any:
        z = (x - self._a) / self._b
        return 0.5 + 0.5 * op("sign", z) * (1.0 - op("exp", -op("abs", z)))

    def _mean(self) -> Any:
        return self._spread(self._a)

    _mode = _mean

    def _variance(self) -> Any:
        return 2.0 * op("square", self._spread(self._b))

    def _entropy(self) -> Any:
        return self._spread(math.log(2) + 1.0 + op("math.log", self._b))


@export("compat.v1.distributions.Uniform")
class Uniform(_OfTwo):
    """Numbers between `low` and `high`, all alike."""

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ):
        given = {"low": low, "high": high}
        super().__init__(None, FULLY, validate_args, allow_nan_stats, given, name=name)
        self._keep(low, high)

    low = property(lambda self: self._a, doc="The lower bound.")
    high = property(lambda self: self._b, doc="The upper bound.")

    def range(self, name: str = "range") -> Any:
        """Return high - low."""
        return self._b - self._a

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        drawn = op("random.uniform", self._dims(shape), dtype=self._dtype, seed=seed)
        return self._a + drawn * (self._b - self._a)

    def _log_prob(self, x: Any) -> Any:
        return op("math.log", self._prob(x))

    def _prob(self, x: TensorLike) -> Any:
        inside = op("logical_and", x >= self._a, x < self._b)
        width = self._b - self._a + op("zeros_like", x)
        return op("where", inside, 1.0 / width, op("zeros_like", width))

    def prob(self, value: TensorLike, name: str = "prob") -> Any:
        """Return the density."""
        return self._prob(number(value, self._dtype))

    def _cdf(self, x: TensorLike) -> Any:
        return op("clip_by_value", (x - self._a) / (self._b - self._a), 0.0, 1.0)

    def _mean(self) -> Any:
        return (self._a + self._b) / 2.0

    def _variance(self) -> Any:
        return op("square", self._b - self._a) / 12.0

    def _entropy(self) -> Any:
        return op("math.log", self._b - self._a)


@export("compat.v1.distributions.Gamma")
class Gamma(_OfTwo):
    """The gamma distribution of shape `concentration` and rate `rate`."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ):
        given = {"concentration": concentration, "rate": rate}
        super().__init__(None, FULLY, validate_args, allow_nan_stats, given, name=name)
        self._keep(concentration, rate)

    concentration = property(lambda self: self._a, doc="The shape.")
    rate = property(lambda self: self._b, doc="The rate.")

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        return op("random.gamma", shape, self._spread(self._a), self._b, self._dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        a, b = self._a, self._b
        normal = op("math.lgamma", a) - a * op("math.log", b)
        return op("math.xlogy", a - 1.0, x) - b * x - normal

    def _cdf(self, x: TensorLike) -> Any:
        return op("math.igamma", self._spread(self._a), self._b * x)

    def _mean(self) -> Any:
        return self._a / self._b

    def _mode(self) -> Any:
        mode = (self._a - 1.0) / self._b
        return op(
            "where", self._spread(self._a) > 1.0, mode, op("fill", op("shape", mode), math.nan)
        )

    def _variance(self) -> Any:
        return self._a / op("square", self._b)

    def _entropy(self) -> Any:
        a = self._a
        rest = op("math.lgamma", a) + (1.0 - a) * op("math.digamma", a)
        return a - op("math.log", self._b) + rest


@RegisterKL(Gamma, Gamma)
def _of_gammas(p: Any, q: Any) -> Any:
    a, b, c, d = p.concentration, p.rate, q.concentration, q.rate
    first = (a - c) * op("math.digamma", a) + op("math.lgamma", c) - op("math.lgamma", a)
    return first + c * op("math.log", b) - c * op("math.log", d) + a * (d / b - 1.0)


@export("compat.v1.distributions.Exponential")
class Exponential(Gamma):
    """The exponential distribution of a rate."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ):
        rate = number(rate)
        super().__init__(op("ones_like", rate), rate, validate_args, allow_nan_stats, name)
        self._parameters = {"rate": rate}

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        u = op("random.uniform", self._dims(shape), dtype=self._dtype, seed=seed)
        return -op("math.log1p", -u) / self._b


@export("compat.v1.distributions.Beta")
class Beta(_OfTwo):
    """The beta distribution on (0, 1)."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ):
        given = {"concentration1": concentration1, "concentration0": concentration0}
        super().__init__(None, FULLY, validate_args, allow_nan_stats, given, name=name)
        self._keep(concentration1, concentration0)

    concentration1 = property(lambda self: self._a, doc="The weight of 1.")
    concentration0 = property(lambda self: self._b, doc="The weight of 0.")
    total_concentration = property(lambda self: self._a + self._b, doc="Both.")

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        seeds = (None, None) if seed is None else (seed, seed + 1)
        x, y = (
            op("random.gamma", shape, self._spread(c), None, self._dtype, s)
            for c, s in zip((self._a, self._b), seeds)
        )
        return x / (x + y)

    def _normal(self) -> Any:
        lgamma = lambda x: op("math.lgamma", x)  # noqa: E731
        return lgamma(self._a) + lgamma(self._b) - lgamma(self._a + self._b)

    def _log_prob(self, x: Any) -> Any:
        near = op("math.xlogy", self._a - 1.0, x)
        return near + (self._b - 1.0) * op("math.log1p", -x) - self._normal()

    def _cdf(self, x: TensorLike) -> Any:
        return op("math.betainc", self._spread(self._a), self._spread(self._b), self._spread(x))

    def _mean(self) -> Any:
        return self._a / (self._a + self._b)

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._a + self._b)

    def _entropy(self) -> Any:
        digamma = lambda x: op("math.digamma", x)  # noqa: E731
        a, b = self._a, self._b
        rest = (a + b - 2.0) * digamma(a + b)
        return self._normal() - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + rest


@export("compat.v1.distributions.StudentT")
class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom, moved and scaled."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ):
        given = {"df": df, "loc": loc, "scale": scale}
        self.df = number(df)
        self.loc, self.scale = number(loc, self.df.dtype), number(scale, self.df.dtype)
        super().__init__(self.df.dtype, FULLY, validate_args, allow_nan_stats, given, name=name)

    def _alike(self) -> list:
        return [self.df, self.loc, self.scale]

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        normal = op("random.normal", self._dims(shape), dtype=self._dtype, seed=seed)
        df = self._spread(self.df)
        more = None if seed is None else seed + 1
        gamma = op("random.gamma", shape, 0.5 * df, 0.5, self._dtype, more)
        return self.loc + self.scale * normal / op("sqrt", gamma / df)

    def _log_prob(self, x: Any) -> Any:
        z, df = (x - self.loc) / self.scale, self.df
        lgamma = lambda x: op("math.lgamma", x)  # noqa: E731
        normal = op("math.log", op("abs", self.scale)) + 0.5 * op("math.log", df)
        normal = normal + 0.5 * math.log(math.pi) + lgamma(0.5 * df) - lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * op("math.log1p", z * z / df) - normal

    def _mean(self) -> Any:
        mean = self._spread(self.loc)
        return op("where", self.df > 1.0, mean, op("fill", op("shape", mean), math.nan))

    def _mode(self) -> Any:
        return op("identity", self.loc)

    def _variance(self) -> Any:
        wide = op("square", self.scale) * self.df / (self.df - 2.0)
        return op("where", self.df > 2.0, wide, op("fill", op("shape", wide), math.inf))


@export("compat.v1.distributions.Bernoulli")
class Bernoulli(Distribution):
    """1 with probability `probs` (or sigmoid of `logits`), else 0; ValueError without either."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ):
        if (logits is None) == (probs is None):
            raise value_error("TW104", "Must pass probs or logits, but not both.")
        given = {"logits": logits, "probs": probs, "dtype": dtype}
        super().__init__(as_dtype(dtype), NOT, validate_args, allow_nan_stats, given, name=name)
        if logits is not None:
            self.logits = number(logits)
            self.probs = op("sigmoid", self.logits)
        else:
            self.probs = number(probs)
            self.logits = op("math.log", self.probs) - op("math.log1p", -self.probs)

    def _alike(self) -> list:
        return [self.probs]

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        drawn = op("random.uniform", self._dims(shape), dtype=self.probs.dtype, seed=seed)
        return op("cast", drawn < self.probs, self._dtype)

    def _log_prob(self, x: Any) -> Any:
        x = op("cast", x, self.logits.dtype)
        logits = self.logits + op("zeros_like", x)
        labels = x + op("zeros_like", logits)
        return -op("nn.sigmoid_cross_entropy_with_logits", labels=labels, logits=logits)

    def _mean(self) -> Any:
        return op("identity", self.probs)

    def _mode(self) -> Any:
        return op("cast", self.probs > 0.5, self._dtype)

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _entropy(self) -> Any:
        return op("math.softplus", -self.logits) + self.logits * (1.0 - self.probs)


@RegisterKL(Bernoulli, Bernoulli)
def _of_bernoullis(a: TensorLike, b: TensorLike) -> Any:
    softplus = lambda x: op("math.softplus", x)  # noqa: E731
    yes = a.probs * (softplus(-b.logits) - softplus(-a.logits))
    return yes + (1.0 - a.probs) * (softplus(b.logits) - softplus(a.logits))
