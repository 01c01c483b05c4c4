"""The RMSProp optimizer: gradients divided by the root of a moving average of their squares.

Tieleman and Hinton, "Lecture 6.5: RMSProp", 2012; centered: Graves, "Generating sequences with
recurrent neural networks", 2013.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer
from talweg.prims.arithmetic import sqrt, square

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike


@export("compat.v1.train.RMSPropOptimizer")
class RMSPropOptimizer(FormulaOptimizer):
    """s += (1 - decay)(g² - s); m = momentum m + learning_rate g / √(s + ε); x -= m.

    With `centered` the square of a moving average of g is taken off s under the root.  s starts at
    1.  Slots: "rms", "momentum", and "mg" if centered.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     step = tf.train.RMSPropOptimizer(0.5).minimize(x)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(session.run(x))
    2.5
    """

    _settings = ("learning_rate", "decay", "momentum", "epsilon")

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        decay: TensorLike = 0.9,
        momentum: TensorLike = 0.0,
        epsilon: TensorLike = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay = learning_rate, decay
        self._momentum, self._epsilon, self._centered = momentum, epsilon, centered
        self._slot_names = ("rms", "mg", "momentum") if centered else ("rms", "momentum")

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._make_filled_slot(variable, 1, "rms", self._name)
            for name in self._slot_names[1:]:
                self._zeros_slot(variable, name, self._name)

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, decay, momentum, epsilon = (self._of(name, x.dtype) for name in self._settings)
        s = slots["rms"]
        s = s + (square(g) - s) * (1 - decay)
        new = {"rms": s}
        if self._centered:
            mean = slots["mg"]
            new["mg"] = mean = mean + (g - mean) * (1 - decay)
            s = s - square(mean)
        new["momentum"] = m = slots["momentum"] * momentum + rate * g / sqrt(s + epsilon)
        return m, new
