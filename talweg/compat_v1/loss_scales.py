"""tf.compat.v1.mixed_precision: losses scaled up, so that small gradients survive in 16 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.train.optimizer import Optimizer
from talweg.core.dtypes import float32, int64
from talweg.core.errors import value_error
from talweg.core.value import IndexedSlices

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

SPACES = ("mixed_precision", "mixed_precision.experimental", "train.experimental")


def _names(name: str, *spaces: str) -> list[str]:
    return [f"compat.v1.{space}.{name}" for space in spaces or SPACES]


@export(*_names("LossScale"))
class LossScale:
    """A number by which a loss is multiplied; subclasses say how it changes."""

    def __call__(self) -> Any:
        """Return the number, a float32 scalar."""
        raise NotImplementedError

    def update(self, grads: TensorLike) -> tuple:
        """Return (the operation that changes the number, whether the gradients may be used)."""
        raise NotImplementedError


@export(*_names("FixedLossScale"))
class FixedLossScale(LossScale):
    """A number that does not change; ValueError below 1.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.mixed_precision.FixedLossScale(8.0)())
    8.0
    """

    def __init__(self, loss_scale_value: float):
        if loss_scale_value < 1:
            raise value_error("TW207", f"loss_scale_value is {loss_scale_value}", "at least 1")
        self._value = float(loss_scale_value)

    def __call__(self) -> Any:
        """Return the number, a float32 scalar."""
        return look_up("constant")(self._value, float32)

    def update(self, grads: TensorLike) -> tuple:
        """Return (nothing, True)."""
        return look_up("no_op")(), True

    def get_config(self) -> dict:
        """Return the arguments."""
        return {"loss_scale_value": self._value}


def _all_finite(grads: object) -> Any:
    flat = [g for g in look_up("nest.flatten")(grads) if g is not None]
    values = [g.values if isinstance(g, IndexedSlices) else g for g in flat]
    finite = [look_up("reduce_all")(look_up("math.is_finite")(g)) for g in values]
    return look_up("reduce_all")(look_up("stack")(finite)) if finite else look_up("constant")(True)


@export(*_names("DynamicLossScale"))
class DynamicLossScale(LossScale):
    """A number that grows while gradients are finite, and shrinks when they are not.

    initial_loss_scale: where it begins.  increment_period: after how many steps with finite
    gradients it is multiplied by `multiplier`; it is divided at once when one is not finite.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ):
        self._config = initial_loss_scale, increment_period, multiplier
        make = look_up("compat.v1.Variable")
        self._scale = make(float(initial_loss_scale), trainable=False, dtype=float32)
        self._good_steps = make(0, trainable=False, dtype=int64)

    initial_loss_scale = property(lambda self: self._config[0], doc="Where it begins.")
    increment_period = property(lambda self: self._config[1], doc="How many steps it takes.")
    multiplier = property(lambda self: self._config[2], doc="By how much it changes.")

    def __call__(self) -> Any:
        """Return the number, a float32 scalar."""
        return self._scale.read_value()

    def update(self, grads: TensorLike) -> tuple:
        """Return (the operation that changes the number, whether all gradients are finite)."""
        finite = _all_finite(grads)
        where, cast = look_up("where"), look_up("cast")
        scale, steps = self._scale.read_value(), self._good_steps.read_value()
        due = look_up("logical_and")(finite, look_up("greater_equal")(steps + 1, self._config[1]))
        larger = where(due, scale * self._config[2], scale)
        smaller = look_up("maximum")(scale / self._config[2], 1.0)
        new_steps = where(look_up("logical_and")(finite, look_up("logical_not")(due)), steps + 1, 0)
        changed = [
            self._scale.assign(where(finite, larger, smaller)),
            self._good_steps.assign(cast(new_steps, int64)),
        ]
        return look_up("group")(*changed), finite

    def get_config(self) -> dict:
        """Return the arguments."""
        names = ("initial_loss_scale", "increment_period", "multiplier")
        return dict(zip(names, self._config))


def _scale_of(loss_scale: Any) -> LossScale:
    if isinstance(loss_scale, LossScale):
        return loss_scale
    return DynamicLossScale() if loss_scale == "dynamic" else FixedLossScale(loss_scale)


@export(*_names("MixedPrecisionLossScaleOptimizer", "mixed_precision", "train.experimental"))
class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer whose loss is scaled up, and whose gradients are scaled back.

    Steps whose gradients are not finite change nothing but the scale.  ValueError for what is no
    optimizer.
    """

    def __init__(self, opt: Any, loss_scale: LossScale | float | str):
        if not isinstance(opt, Optimizer):
            raise value_error("TW104", f'"opt" must be an instance of Optimizer, but got: {opt!r}')
        super().__init__(False, f"{type(self).__name__}_{opt.get_name()}")
        self._optimizer, self._loss_scale = opt, _scale_of(loss_scale)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list:
        """Compute (gradient, variable) pairs, of the loss itself."""
        scale = self._loss_scale()
        scaled = (
            (lambda: loss() * look_up("cast")(scale, loss().dtype))
            if callable(loss)
            else loss * look_up("cast")(scale, loss.dtype)
        )
        pairs = self._optimizer.compute_gradients(
            scaled,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        return [(None if g is None else self._unscale(g, scale), v) for g, v in pairs]

    def _unscale(self, g: Any, scale: bool) -> Any:
        factor = 1.0 / scale
        if isinstance(g, IndexedSlices):
            values = g.values * look_up("cast")(factor, g.values.dtype)
            return IndexedSlices(values, g.indices, g.dense_shape)
        return g * look_up("cast")(factor, g.dtype)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return a step, if all gradients are finite."""
        pairs = list(grads_and_vars)
        update, finite = self._loss_scale.update([g for g, _ in pairs])
        if finite is True:
            return self._optimizer.apply_gradients(pairs, global_step, name)
        step = lambda: self._optimizer.apply_gradients(pairs, global_step, name)  # noqa: E731
        applied = look_up("compat.v1.cond")(finite, step, look_up("no_op"))
        return look_up("group")(applied, update)

    def variables(self) -> list:
        """Return the variables of the optimizer."""
        return self._optimizer.variables()


@export(*_names("enable_mixed_precision_graph_rewrite", "mixed_precision", "train.experimental"))
def enable_mixed_precision_graph_rewrite(
    opt: Any, loss_scale: LossScale | float | str = "dynamic"
) -> Any:
    """Return the optimizer with a scaled loss; no operation is computed in 16 bits: CPUs gain
    nothing.
    """
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


@export(*_names("disable_mixed_precision_graph_rewrite", "mixed_precision", "train.experimental"))
def disable_mixed_precision_graph_rewrite() -> None:
    """Do nothing: no graph is rewritten."""
