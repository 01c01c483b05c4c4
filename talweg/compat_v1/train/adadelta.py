"""The Adadelta optimizer: steps as large as those before, relative to the gradients.

Zeiler, "ADADELTA: an adaptive learning rate method", 2012.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer
from talweg.prims.arithmetic import rsqrt, sqrt, square

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike


@export("compat.v1.train.AdadeltaOptimizer")
class AdadeltaOptimizer(FormulaOptimizer):
    """a = ρ a + (1 - ρ) g²; d = g √(u + ε) / √(a + ε); u = ρ u + (1 - ρ) d²; x -= learning_rate d.

    Slots: "accum" (a) and "accum_update" (u).

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     step = tf.train.AdadeltaOptimizer(1.0, 0.0, 1.0).minimize(x)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(session.run(x).round(4))
    2.2929
    """

    _settings = ("learning_rate", "rho", "epsilon")
    _slot_names = ("accum", "accum_update")

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any] = 0.001,
        rho: TensorLike = 0.95,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "accum", self._name)
            self._zeros_slot(variable, "accum_update", self._name)

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, rho, epsilon = (self._of(name, x.dtype) for name in self._settings)
        a = slots["accum"] * rho + square(g) * (1 - rho)
        change = sqrt(slots["accum_update"] + epsilon) * rsqrt(a + epsilon) * g
        u = slots["accum_update"] * rho + square(change) * (1 - rho)
        return rate * change, {"accum": a, "accum_update": u}
