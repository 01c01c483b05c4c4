"""The FTRL-Proximal optimizer: follow the regularized leader, which gives weights that are exactly
zero.

McMahan et al., "Ad click prediction: a view from the trenches", 2013.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer
from talweg.core.errors import value_error
from talweg.prims.arithmetic import maximum, minimum, neg, pow_, sqrt, square

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


@export("compat.v1.train.FtrlOptimizer")
class FtrlOptimizer(FormulaOptimizer):
    """n' = n + g²; z += g - x (n'^p - n^p) / learning_rate, where p = -learning_rate_power;
    x = (clip(z, -l1, l1) - z) / (n'^p / learning_rate + 2 l2).

    l1, l2: penalties, l2 raised by beta / (2 learning_rate).  Shrinkage adds 2 shrinkage x to the g
    that goes to z.  n starts at `initial_accumulator_value`.  Slots: "accum" (n) and "linear" (z).
    ValueError for negative penalties or a positive power.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(0.0)
    ...     step = tf.train.FtrlOptimizer(0.5, initial_accumulator_value=3.0).minimize(x)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(session.run(x))
    -0.25
    """

    _settings = ("learning_rate", "power", "l1", "l2", "shrinkage")
    _slot_names = ("accum", "linear")

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: TensorLike = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: TensorLike = 0.0,
        beta: float | None = None,
    ):
        super().__init__(use_locking, name)
        _check_sign("initial_accumulator_value", initial_accumulator_value, 1)
        _check_sign("learning_rate_power", learning_rate_power, -1)
        _check_sign("l1_regularization_strength", l1_regularization_strength, 1)
        _check_sign("l2_regularization_strength", l2_regularization_strength, 1)
        shrinkage = l2_shrinkage_regularization_strength
        _check_sign("l2_shrinkage_regularization_strength", shrinkage, 1)
        self._learning_rate, self._power = learning_rate, learning_rate_power
        self._initial = initial_accumulator_value
        self._l1, self._shrinkage = l1_regularization_strength, shrinkage
        self._l2 = l2_regularization_strength
        if beta:
            self._l2 = l2_regularization_strength + beta / (2.0 * learning_rate)
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._make_filled_slot(variable, self._initial, "accum", self._accum_name or self._name)
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _raise_to_power(self, n: Tensor) -> Any:
        """Raise n to the power of -learning_rate_power."""
        if isinstance(self._power, float) and self._power == -0.5:
            return sqrt(n)
        return pow_(n, neg(self._of("power", n.dtype)))

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, _, l1, l2, shrinkage = (self._of(name, x.dtype) for name in self._settings)
        n = slots["accum"] + square(g)
        raised = self._raise_to_power(n)
        shrunk = g
        if not isinstance(self._shrinkage, (int, float)) or self._shrinkage:
            shrunk = g + 2 * shrinkage * x
        z = slots["linear"] + shrunk - (raised - self._raise_to_power(slots["accum"])) / rate * x
        new = (maximum(minimum(z, l1), -l1) - z) / (raised / rate + 2 * l2)
        return x - new, {"accum": n, "linear": z}


def _check_sign(name: str, value: object, sign: int) -> None:
    """Raise ValueError for a number of the other sign."""
    if isinstance(value, (int, float)) and value * sign < 0:
        wanted = "positive or zero" if sign > 0 else "negative or zero"
        raise value_error("TW207", f"{name} {value} needs to be {wanted}")
