"""Base of distributions: shapes, samples, probabilities, and divergences between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, export_value, look_up
from talweg.core.dtypes import int32
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


@export("compat.v1.distributions.ReparameterizationType")
class ReparameterizationType:
    """Whether samples are differentiable functions of the parameters."""

    def __init__(self, rep_type: str):
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


FULLY = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT = ReparameterizationType("NOT_REPARAMETERIZED")
export_value(FULLY, "compat.v1.distributions.FULLY_REPARAMETERIZED")
export_value(NOT, "compat.v1.distributions.NOT_REPARAMETERIZED")


def op(name: str, *args: object, **kwargs: object) -> Any:
    """Return a public function, called."""
    return look_up(name)(*args, **kwargs)


def number(x: Any, dtype: DTypeLike | None = None) -> Any:
    """Return a parameter as a tensor."""
    return look_up("convert_to_tensor")(x, dtype)


def _is_list(shape: ShapeLike) -> bool:
    """Return whether a shape is a list, not a tensor."""
    return isinstance(shape, list)


@export("compat.v1.distributions.Distribution")
class Distribution:
    """A probability distribution, or a batch of them: subclasses have `_log_prob`, `_mean` ...

    An event is one draw; a batch has distributions of several parameters.

    >>> import talweg.compat.v1 as tf
    >>> normal = tf.distributions.Normal(loc=0.0, scale=[1.0, 2.0])
    >>> normal.batch_shape, normal.sample(3, seed=1).shape
    (TensorShape([2]), TensorShape([3, 2]))
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: Any = None,
        graph_parents: Any = None,
        name: str | None = None,
    ):
        self._dtype, self._type = dtype, reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._parameters, self._name = dict(parameters or {}), name or type(self).__name__

    dtype = property(lambda self: self._dtype, doc="The dtype of samples.")
    name = property(lambda self: self._name, doc="The name.")
    parameters = property(lambda self: dict(self._parameters), doc="The arguments.")
    validate_args = property(lambda self: self._validate_args, doc="Whether they are checked.")
    allow_nan_stats = property(lambda self: self._allow_nan_stats, doc="Whether NaN may come.")
    reparameterization_type = property(lambda self: self._type, doc="Of samples.")

    def _alike(self) -> list:
        """Return tensors whose shapes broadcast to that of the batch."""
        raise NotImplementedError

    def _classes(self) -> Any:
        """Return a tensor whose last axis is that of one draw; None if a draw is a number."""
        return None

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the parameters, as far as it is known."""
        first, *others = [TensorShape(x.shape) for x in self._alike()]
        for shape in others:
            first = op("broadcast_static_shape", first, shape)
        return first

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw, as far as it is known."""
        classes = self._classes()
        return TensorShape([] if classes is None else [classes.shape[-1]])

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """Return the shape of the parameters, int32."""
        return number(self._sizes(), int32)

    def _sizes(self) -> Any:
        """Return the shape of the batch as a list where it is known, else as a tensor."""
        if self.batch_shape.is_fully_defined():
            return self.batch_shape.as_list()
        first, *others = [op("shape", x) for x in self._alike()]
        for shape in others:
            first = op("broadcast_dynamic_shape", first, shape)
        return first

    def _dims(self, shape: Any, *rest: object) -> Any:
        """Return a shape before those of the batch and of `rest`;
        a list if all of them are known.
        """
        parts = [shape, self._sizes(), list(rest)]
        if all(map(_is_list, parts)):
            return [size for part in parts for size in part]
        return op("concat", [number(part, int32) for part in parts], 0)

    def _spread(self, x: TensorLike) -> Any:
        """Broadcast x to the shape of the batch, or more of it."""
        return x + op("zeros", self._sizes(), x.dtype)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """Return the shape of one draw, int32."""
        if self.event_shape.is_fully_defined():
            return op("constant", self.event_shape.as_list(), int32)
        return op("shape", self._classes())[-1:]

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Return whether one draw is a number."""
        return op("constant", self.event_shape.rank == 0)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Return whether it is one distribution."""
        if self.batch_shape.rank is None:
            return op("equal", op("size", self.batch_shape_tensor()), 0)
        return op("constant", self.batch_shape.rank == 0)

    def copy(self, **override: object) -> Any:
        """Return the same distribution with other arguments."""
        return type(self)(**{**self._parameters, **override})

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str = "sample") -> Any:
        """Draw samples of shape sample_shape + batch_shape + event_shape."""
        if isinstance(sample_shape, Tensor):
            known = op("get_static_value", sample_shape)
            if known is None:
                return self._sample(op("reshape", op("cast", sample_shape, int32), [-1]), seed)
            sample_shape = known.reshape(-1).tolist()
        shape = sample_shape if isinstance(sample_shape, (list, tuple)) else [sample_shape]
        return self._sample([n if isinstance(n, Tensor) else int(n) for n in shape], seed)

    def _sample(self, shape: ShapeLike, seed: Any) -> Any:
        raise NotImplementedError(f"sample is not implemented for {type(self).__name__}")

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Any:
        """Return the logarithm of the density, or of the probability."""
        return self._log_prob(number(value, self._dtype))

    def prob(self, value: TensorLike, name: str = "prob") -> Any:
        """Return the density, or the probability."""
        return op("exp", self.log_prob(value))

    def cdf(self, value: TensorLike, name: str = "cdf") -> Any:
        """Compute the probability of values up to `value`."""
        return self._cdf(number(value, self._dtype))

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Any:
        """Return the logarithm of `cdf`."""
        return op("math.log", self.cdf(value))

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Any:
        """Compute the probability of values above `value`."""
        return 1.0 - self.cdf(value)

    def log_survival_function(self, value: TensorLike, name: str = "log_survival_function") -> Any:
        """Return the logarithm of `survival_function`."""
        return op("math.log1p", -self.cdf(value))

    def quantile(self, value: TensorLike, name: str = "quantile") -> Any:
        """Return the value below which this probability lies."""
        return self._quantile(number(value, self._dtype))

    def mean(self, name: str = "mean") -> Any:
        """Return the mean."""
        return self._mean()

    def mode(self, name: str = "mode") -> Any:
        """Return the most likely value."""
        return self._mode()

    def variance(self, name: str = "variance") -> Any:
        """Return the variance of each component."""
        return self._variance()

    def stddev(self, name: str = "stddev") -> Any:
        """Return the standard deviation of each component."""
        return op("sqrt", self._variance())

    def entropy(self, name: str = "entropy") -> Any:
        """Return the entropy in nats."""
        return self._entropy()

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        """Return the Kullback-Leibler divergence from this one to another."""
        return kl_divergence(self, other)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        """Return the cross entropy of this one and another."""
        return kl_divergence(self, other) + self.entropy()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            text = f"{name[1:]} is not implemented for {type(self).__name__}"

            def absent(*_: object) -> Any:
                raise NotImplementedError(f"{text}  [TW402]")

            return absent
        raise AttributeError(name)

    def __repr__(self) -> str:
        return (
            f"<tf.distributions.{type(self).__name__} '{self._name}' batch_shape="
            f"{self.batch_shape} event_shape={self.event_shape} dtype={self._dtype.name}>"
        )


DIVERGENCES: dict[tuple, Any] = {}


@export("compat.v1.distributions.RegisterKL")
class RegisterKL:
    """A decorator for the divergence of two classes; ValueError if they have one."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Any) -> Any:
        if self._key in DIVERGENCES:
            names = ", ".join(cls.__name__ for cls in self._key)
            raise value_error("TW104", f"KL({names}) has already been registered")
        DIVERGENCES[self._key] = kl_fn
        return kl_fn


@export("compat.v1.distributions.kl_divergence")
def kl_divergence(
    distribution_a: Any,
    distribution_b: Any,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Any:
    """Compute the Kullback-Leibler divergence; NotImplementedError if nobody registered one.

    >>> import talweg.compat.v1 as tf
    >>> d = tf.distributions
    >>> round(float(d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))), 4)
    0.5
    """
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in DIVERGENCES:
                return DIVERGENCES[a, b](distribution_a, distribution_b)
    raise NotImplementedError(
        f"No KL(distribution_a || distribution_b) registered for {type(distribution_a).__name__} "
        f"and {type(distribution_b).__name__}  [TW402]"
    )
