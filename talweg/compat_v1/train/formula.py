"""Optimizers that are one formula: the step of a variable, given gradient and slots.

The formula sees tensors: the whole variable and its slots for a gradient that is a tensor, their
rows for one that is rows.  Each slot becomes one update in the graph, the variable another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.compat_v1.train.optimizer import Optimizer, together
from talweg.core.value import IndexedSlices
from talweg.prims import arithmetic, indexing

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dtypes import DType


class FormulaOptimizer(Optimizer):
    """Base of optimizers with a formula.

    `_settings` names attributes that hold numbers, tensors or functions; in the formula they are
    `self._of(name, dtype)`.
    """

    _settings: tuple[str, ...] = ("learning_rate",)
    _slot_names: tuple[str, ...] = ()

    def _prepare(self) -> None:
        self._ready = {
            name: tensor(self._call_if_callable(getattr(self, f"_{name}")))
            for name in self._settings
        }

    def _of(self, name: str, dtype: DType) -> Any:
        """Return a setting as a scalar of the variable's dtype."""
        value = self._ready[name]
        return value if value.dtype is dtype else arithmetic.cast(value, dtype=dtype)

    def _change(self, g: object, x: object, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Compute the step to subtract from `x`, and the new values of the slots that change."""
        raise NotImplementedError(f"{type(self).__name__} implements no _change")

    def _own(self, var: object) -> dict[str, Any]:
        return {name: self.get_slot(var, name) for name in self._slot_names}

    def _apply_dense(self, grad: TensorLike, var: Any) -> Any:
        own = self._own(var)
        change, new = self._change(
            grad, var.value(), {name: slot.value() for name, slot in own.items()}
        )
        updates = [own[name].assign(value) for name, value in new.items()]
        return together([*updates, var.assign_sub(change)])

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        own, indices = self._own(var), grad.indices

        def rows(variable: Any) -> Any:
            return indexing.gather(variable.value(), indices, axis=0, batch_dims=0)

        x = rows(var)
        change, new = self._change(grad.values, x, {n: rows(slot) for n, slot in own.items()})
        updates = [
            own[name].scatter_update(IndexedSlices(value, indices)) for name, value in new.items()
        ]
        return together([*updates, var.scatter_update(IndexedSlices(x - change, indices))])
