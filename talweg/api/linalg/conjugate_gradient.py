"""Equations of self-adjoint, positive definite operators, solved by conjugate gradients.

Hestenes and Stiefel 1952; with a preconditioner as in Saad 2003, algorithm 9.1.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.api.tensors import convert_to_tensor
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor
    from talweg.execute.llvm.vector_math.builder import VectorValue

CGState = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def _dot(x: Tensor, y: Tensor) -> Any:
    """Return the inner products of vectors, [...]."""
    left = look_up("math.conj")(x) if x.dtype.is_complex else x
    return look_up("reduce_sum")(left * y, axis=-1)


@export("linalg.experimental.conjugate_gradient")
def conjugate_gradient(
    operator: Any,
    rhs: TensorLike,
    preconditioner: Any = None,
    x: TensorLike | None = None,
    tol: float = 1e-05,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Return x with A x = rhs for vectors [..., n], by at most min(max_iter, n) steps.

    operator, preconditioner: linear operators that are said to be self-adjoint and positive
    definite (ValueError otherwise); the latter is near to the inverse of the former.  x: where to
    begin.  It ends when the residual is at most `tol` times that of the beginning.  Returns (number
    of steps, x, residual, direction, residual by preconditioned residual).

    >>> import talweg as tf
    >>> operator = tf.linalg.LinearOperatorDiag([1.0, 4.0], is_positive_definite=True)
    >>> tf.linalg.experimental.conjugate_gradient(operator, [1.0, 2.0]).x.numpy().round(4).tolist()
    [1.0, 0.5]
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise value_error("TW207", "operator is not known to be self-adjoint, positive definite")
    known = preconditioner is None or (
        preconditioner.is_self_adjoint and preconditioner.is_positive_definite is not False
    )
    if not known:
        raise value_error("TW207", "preconditioner is not known to be self-adjoint")
    rhs = convert_to_tensor(rhs, operator.dtype)

    def precondition(r: Any) -> Any:
        return r if preconditioner is None else preconditioner.matvec(r)

    if x is None:
        x, r = look_up("zeros_like")(rhs), rhs
    else:
        x = convert_to_tensor(x, operator.dtype)
        r = rhs - operator.matvec(x)
    p = precondition(r)
    state = CGState(convert_to_tensor(0), x, r, p, _dot(r, p))
    length = look_up("norm")
    limit = tol * length(r, axis=-1)
    most = look_up("minimum")(max_iter, operator.domain_dimension_tensor())

    def goes_on(i: object, x: Tensor, r: VectorValue, p: tuple[Any, ...], gamma: object) -> Any:
        left = look_up("reduce_any")(length(r, axis=-1) > limit)
        return look_up("logical_and")(i < most, left)

    def step(i: Any, x: Tensor, r: Any, p: Any, gamma: Any) -> CGState:
        z = operator.matvec(p)
        alpha = gamma / _dot(p, z)
        x = x + alpha[..., None] * p
        r = r - alpha[..., None] * z
        q = precondition(r)
        later = _dot(r, q)
        p = q + (later / gamma)[..., None] * p
        return CGState(i + 1, x, r, p, later)

    return CGState(*look_up("while_loop")(goes_on, step, tuple(state)))
