"""The Adam optimizer: momentum, divided by the root of a moving average of squares, both freed of
their bias.

Kingma and Ba, "Adam: a method for stochastic optimization", 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer
from talweg.compat_v1.train.optimizer import group_updates
from talweg.prims import indexing
from talweg.prims.arithmetic import cast, sqrt, square

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike
    from talweg.core.dtypes import DType
    from talweg.core.value import Tensor


@export("compat.v1.train.AdamOptimizer")
class AdamOptimizer(FormulaOptimizer):
    """m += (1 - β₁)(g - m); v += (1 - β₂)(g² - v); x -= α m / (√v + ε).

    α = learning_rate √(1 - β₂ᵗ) / (1 - β₁ᵗ) in step t.  Where a gradient has only some rows, m and
    v of all rows decay, and all rows move.  Slots: "m" and "v"; the powers of β₁ and β₂ are
    variables, too.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     step = tf.train.AdamOptimizer(0.5).minimize(x * x)
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(step)
    ...     print(f"{session.run(x):.4f}")
    2.5000
    """

    _settings = ("learning_rate", "beta1", "beta2", "epsilon")
    _slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any] = 0.001,
        beta1: TensorLike = 0.9,
        beta2: TensorLike = 0.999,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._epsilon = learning_rate, epsilon
        self._beta1, self._beta2 = beta1, beta2
        self._powers: tuple = ()

    def _create_slots(self, var_list: list) -> None:
        first = min(var_list, key=lambda variable: variable.name)
        self._powers = tuple(
            [
                self._create_non_slot_variable(self._call_if_callable(beta), name, first)
                for beta, name in ((self._beta1, "beta1_power"), (self._beta2, "beta2_power"))
            ]
        )
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _rate(self, dtype: DType) -> Any:
        """Return the learning rate of this step, freed of the bias of the averages."""
        power1, power2 = (cast(power.value(), dtype=dtype) for power in self._powers)
        return self._of("learning_rate", dtype) * sqrt(1 - power2) / (1 - power1)

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        _, beta1, beta2, epsilon = (self._of(name, x.dtype) for name in self._settings)
        m = slots["m"] + (g - slots["m"]) * (1 - beta1)
        v = slots["v"] + (square(g) - slots["v"]) * (1 - beta2)
        return m * self._rate(x.dtype) / (sqrt(v) + epsilon), {"m": m, "v": v}

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Any:
        rows = handle.dims[0]
        dense = indexing.scatter_rows(grad, indices, axis=0, batch_dims=0, rows=rows)
        return self._apply_dense(dense, handle)

    def _finish(self, update_ops: list, name_scope: str) -> Any:
        _, beta1, beta2, _ = self._settings
        updates = []
        for power, beta in zip(self._powers, (beta1, beta2)):
            updates.append(power.assign(power.value() * self._of(beta, power.dtype)))
        return group_updates([*update_ops, *updates])
