"""The Adagrad optimizer: step sizes fall with the squares of past gradients; its dual and proximal
kin.

Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic
optimization", 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer
from talweg.compat_v1.train.gradient_descent import shrunk
from talweg.core.errors import value_error
from talweg.prims.arithmetic import cast, rsqrt, sqrt, square

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike


@export("compat.v1.train.AdagradOptimizer")
class AdagradOptimizer(FormulaOptimizer):
    """a += g²; x -= learning_rate g / √a.

    a starts at `initial_accumulator_value`, which must be positive (ValueError).  Slot:
    "accumulator".

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     step = tf.train.AdagradOptimizer(0.5, 3.0).minimize(x)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(session.run(x))
    2.75
    """

    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ):
        _check_positive(initial_accumulator_value, "initial_accumulator_value")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._make_filled_slot(variable, self._initial, "accumulator", self._name)

    def _change(self, g: Any, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        a = slots["accumulator"] + square(g)
        return self._of("learning_rate", x.dtype) * g * rsqrt(a), {"accumulator": a}


def _check_positive(value: float, name: str) -> None:
    if value <= 0.0:
        raise value_error("TW207", f"{name} must be positive: {value}")


@export("compat.v1.train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(FormulaOptimizer):
    """Adagrad, then the proximal operator of the penalties l1 |x| + l2 x² / 2.

    Slot: "accumulator", which starts at the positive `initial_accumulator_value`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     optimizer = tf.train.ProximalAdagradOptimizer(0.5, 3.0, 1.0)
    ...     step = optimizer.minimize(x)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(session.run(x))
    2.5
    """

    _settings = ("learning_rate", "l1", "l2")
    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ):
        _check_positive(initial_accumulator_value, "initial_accumulator_value")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._make_filled_slot(variable, self._initial, "accumulator", self._name)

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, l1, l2 = (self._of(name, x.dtype) for name in self._settings)
        a = slots["accumulator"] + square(g)
        rates = rate * rsqrt(a)
        moved = shrunk(x - g * rates, rates * l1) / (1 + rates * l2)
        return x - moved, {"accumulator": a}


@export("compat.v1.train.AdagradDAOptimizer")
class AdagradDAOptimizer(FormulaOptimizer):
    """Adagrad by dual averaging: x from the sums of all gradients and of their squares.

    global_step: a variable that counts the steps.  Rows that no gradient names keep their old
    penalty.  Slots: "gradient_accumulator" and "gradient_squared_accumulator".

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     count = tf.train.get_or_create_global_step()
    ...     optimizer = tf.train.AdagradDAOptimizer(0.5, count, 3.0)
    ...     step = optimizer.minimize(x, global_step=count)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(session.run(x))
    -0.25
    """

    _settings = ("learning_rate", "l1", "l2")
    _slot_names = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        global_step: TensorLike,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ):
        initial = initial_gradient_squared_accumulator_value
        _check_positive(initial, "initial_gradient_squared_accumulator_value")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._global_step = global_step

    def _create_slots(self, var_list: list) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "gradient_accumulator", self._name)
            self._make_filled_slot(
                variable, self._initial, "gradient_squared_accumulator", self._name
            )

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, l1, l2 = (self._of(name, x.dtype) for name in self._settings)
        steps = cast(tensor(self._global_step) + 1, dtype=x.dtype)
        total = slots["gradient_accumulator"] + g
        squares = slots["gradient_squared_accumulator"] + square(g)
        moved = -rate * shrunk(total, l1 * steps) / (l2 * steps * rate + sqrt(squares))
        new = {"gradient_accumulator": total, "gradient_squared_accumulator": squares}
        return x - moved, new
