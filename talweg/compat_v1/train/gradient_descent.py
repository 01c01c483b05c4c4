"""Gradient descent, plain and proximal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.formula import FormulaOptimizer
from talweg.core.dtypes import complex64, complex128
from talweg.core.value import IndexedSlices
from talweg.prims.arithmetic import abs_, maximum, sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


@export("compat.v1.train.GradientDescentOptimizer")
class GradientDescentOptimizer(FormulaOptimizer):
    """x -= learning_rate * g.

    learning_rate: a number, a tensor, or a function of nothing.  Rows of a sparse gradient that are
    named twice are subtracted twice.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     step = tf.train.GradientDescentOptimizer(0.5).minimize(x * x)
    ...     session.run(x.initializer)
    ...     session.run(step)
    ...     print(session.run(x))
    0.0
    """

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        use_locking: bool = False,
        name: str = "GradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _valid_dtypes(self) -> set:
        return super()._valid_dtypes() | {complex64, complex128}

    def _change(self, g: Any, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return self._of("learning_rate", x.dtype) * g, {}

    def _resource_apply_sparse_duplicate_indices(
        self, grad: TensorLike, handle: Any, indices: TensorLike
    ) -> Any:
        change = self._of("learning_rate", handle.dtype) * grad
        return handle.scatter_sub(IndexedSlices(change, indices))


def shrunk(x: Tensor, by: Tensor) -> Any:
    """Move x towards 0 by `by`, at most to 0: the proximal operator of `by` times |x|."""
    return sign(x) * maximum(abs_(x) - by, 0)


@export("compat.v1.train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(FormulaOptimizer):
    """Gradient descent, then the proximal operator of the penalties l1 |x| + l2 x² / 2.

    Duchi and Singer, "Efficient online and batch learning using forward backward splitting", 2009.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.Variable(3.0)
    ...     optimizer = tf.train.ProximalGradientDescentOptimizer(0.25, 2.0)
    ...     step = optimizer.minimize(x * x)
    ...     session.run(x.initializer)
    ...     session.run(step)
    ...     print(session.run(x))
    1.0
    """

    _settings = ("learning_rate", "l1", "l2")

    def __init__(
        self,
        learning_rate: TensorLike | Callable[..., Any],
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _change(self, g: object, x: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        rate, l1, l2 = (self._of(name, x.dtype) for name in self._settings)
        return x - shrunk(x - rate * g, rate * l1) / (1 + rate * l2), {}
