"""Distributions of classes, of counts of classes, and of probabilities of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.distributions.base import FULLY, NOT, Distribution, RegisterKL, number, op
from talweg.core.dtypes import as_dtype, int32, int64
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike


def _pair(logits: Any, probs: Any) -> tuple:
    """Compute (the logarithms, the probabilities); ValueError unless one of them is given."""
    if (logits is None) == (probs is None):
        raise value_error("TW104", "Must pass probs or logits, but not both.")
    if logits is not None:
        logits = number(logits)
        return logits, op("nn.softmax", logits)
    probs = number(probs)
    return op("math.log", probs), probs


def _size_of(x: Any) -> Any:
    """Return the size of the last axis: a number where it is known, else a tensor."""
    known = x.shape[-1]
    return op("shape", x)[-1] if known is None else known


@export("compat.v1.distributions.Categorical")
class Categorical(Distribution):
    """Classes 0, 1, ... with probabilities `probs`, or softmax of `logits`."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ):
        given = {"logits": logits, "probs": probs, "dtype": dtype}
        super().__init__(as_dtype(dtype), NOT, validate_args, allow_nan_stats, given, name=name)
        self.logits, self.probs = _pair(logits, probs)

    @property
    def event_size(self) -> Any:
        """The number of classes."""
        return number(_size_of(self.probs), int32)

    def _alike(self) -> list:
        return [self.probs[..., 0]]

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        flat = op("reshape", self.logits, [-1, _size_of(self.probs)])
        count = op("reduce_prod", number(shape, int32))
        drawn = op("random.categorical", flat, count, int64, seed)
        drawn = op("reshape", op("transpose", drawn), self._dims(shape))
        return op("cast", drawn, self._dtype)

    def _log_prob(self, x: TensorLike) -> Any:
        labels = op("cast", x, int32)
        labels = labels + op("zeros_like", self.probs[..., 0], int32)
        logits = self.logits + op("zeros_like", labels, self.logits.dtype)[..., None]
        return -op("nn.sparse_softmax_cross_entropy_with_logits", labels=labels, logits=logits)

    def _mode(self) -> Any:
        return op("cast", op("argmax", self.logits, -1), self._dtype)

    def _entropy(self) -> Any:
        return -op("reduce_sum", op("nn.log_softmax", self.logits) * self.probs, -1)


@RegisterKL(Categorical, Categorical)
def _of_categoricals(a: TensorLike, b: TensorLike) -> Any:
    difference = op("nn.log_softmax", a.logits) - op("nn.log_softmax", b.logits)
    return op("reduce_sum", op("nn.softmax", a.logits) * difference, -1)


def _choices(total: Any, counts: Any) -> Any:
    """Return the logarithm of the number of ways to have these counts."""
    parts = op("reduce_sum", op("math.lgamma", counts + 1.0), -1)
    return op("math.lgamma", total + 1.0) - parts


@export("compat.v1.distributions.Multinomial")
class Multinomial(Distribution):
    """Distributes the counts of each class in `total_count` draws."""

    def __init__(
        self,
        total_count: Any,
        logits: TensorLike | None = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ):
        given = {"total_count": total_count, "logits": logits, "probs": probs}
        self.logits, self.probs = _pair(logits, probs)
        self.total_count = number(total_count, self.probs.dtype)
        dtype = self.probs.dtype
        super().__init__(dtype, NOT, validate_args, allow_nan_stats, given, name=name)

    def _alike(self) -> list:
        return [self.total_count, self.probs[..., 0]]

    def _classes(self) -> Any:
        return self.probs

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        count = op("cast", op("reduce_max", self.total_count), int32)
        draws = op("concat", [[count], number(shape, int32)], 0)
        drawn = Categorical(logits=self.logits).sample(draws, seed)
        hot = op("one_hot", drawn, _size_of(self.probs), dtype=self._dtype)
        before = op("cast", op("range", count), self._dtype)
        ones = op("ones", [op("rank", hot) - 1], int32)
        rows = op("reshape", before, op("concat", [[count], ones], 0))
        return op(
            "reduce_sum", hot * op("cast", rows < self.total_count[..., None], self._dtype), 0
        )

    def _log_prob(self, counts: Any) -> Any:
        own = op("reduce_sum", counts * op("nn.log_softmax", self.logits), -1)
        return own + _choices(self.total_count, counts)

    def _mean(self) -> Any:
        return self.probs * self.total_count[..., None]

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)


class _OfConcentration(Distribution):
    def _keep(self, concentration: Any) -> None:
        self.concentration = number(concentration)
        self.total_concentration = op("reduce_sum", self.concentration, -1)
        self._dtype = self.concentration.dtype

    def _classes(self) -> Any:
        return self.concentration

    def _probabilities(self, shape: ShapeLike, seed: Any) -> Any:
        drawn = op("random.gamma", shape, self.concentration, None, self._dtype, seed)
        return drawn / op("reduce_sum", drawn, -1, keepdims=True)


@export("compat.v1.distributions.Dirichlet")
class Dirichlet(_OfConcentration):
    """Probabilities of classes, which sum to 1."""

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ):
        given = {"concentration": concentration}
        super().__init__(None, FULLY, validate_args, allow_nan_stats, given, name=name)
        self._keep(concentration)

    def _alike(self) -> list:
        return [self.total_concentration]

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        return self._probabilities(shape, seed)

    def _log_prob(self, x: TensorLike) -> Any:
        own = op("reduce_sum", op("math.xlogy", self.concentration - 1.0, x), -1)
        return own - op("math.lbeta", self.concentration)

    def _mean(self) -> Any:
        return self.concentration / self.total_concentration[..., None]

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration[..., None])


@export("compat.v1.distributions.DirichletMultinomial")
class DirichletMultinomial(_OfConcentration):
    """Distributes the counts of each class, whose probabilities are drawn first."""

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ):
        given = {"total_count": total_count, "concentration": concentration}
        super().__init__(None, NOT, validate_args, allow_nan_stats, given, name=name)
        self._keep(concentration)
        self.total_count = number(total_count, self._dtype)

    def _alike(self) -> list:
        return [self.total_count, self.total_concentration]

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        probs = self._probabilities(shape, seed)
        return Multinomial(self.total_count, probs=probs).sample([], seed)

    def _log_prob(self, counts: Any) -> Any:
        own = op("math.lbeta", self.concentration + counts) - op("math.lbeta", self.concentration)
        return own + _choices(self.total_count, counts)

    def _mean(self) -> Any:
        share = self.concentration / self.total_concentration[..., None]
        return self.total_count[..., None] * share
