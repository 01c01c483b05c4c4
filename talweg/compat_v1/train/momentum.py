"""Gradient descent with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike


@export("compat.v1.train.MomentumOptimizer")
class MomentumOptimizer(FormulaOptimizer):
    """a = momentum a + g; x -= learning_rate a.

    With `use_nesterov`, x -= learning_rate (g + momentum a).  The settings are numbers, tensors or
    functions of nothing.  Slot: "momentum".

    Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep
    learning", 2013.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     step = tf.train.MomentumOptimizer(0.5, 0.5).minimize(x)
    ...     session.run(tf.global_variables_initializer())
    ...     for _ in range(2):
    ...         session.run(step)
    ...     print(session.run(x))
    1.75
    """

    _settings = ("learning_rate", "momentum")
    _slot_names = ("momentum",)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        momentum: TensorLike,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, momentum = self._of("learning_rate", x.dtype), self._of("momentum", x.dtype)
        a = slots["momentum"] * momentum + g
        change = g * rate + a * momentum * rate if self._use_nesterov else a * rate
        return change, {"momentum": a}
