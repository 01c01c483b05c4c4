"""tf.math: gamma, error, zeta and Bessel functions, and the integrals of tf.math.special."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import require_sizes, tensor
from talweg.api.export import export
from talweg.api.math.operands import elementwise, keeping_zeros, matching_tensors
from talweg.core.declare import check_dtype
from talweg.core.dims import dims_differ
from talweg.core.dtypes import INEXACT
from talweg.core.errors import invalid, type_error
from talweg.core.value import Tensor
from talweg.eager.operators import matching_list
from talweg.prims import reduce, special

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

# -- gamma and zeta


def _wide(first: Tensor, second: Tensor, function: str, argument: str) -> tuple[Any, Any]:
    """Return the operands;
    InvalidArgumentError for floats of 16 bits, which TensorFlow refuses here.
    """
    check_dtype(function, argument, first.dtype, special.WIDE)
    return first, second


@export("math.lgamma")
def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ln |Γ(x)|; infinite at 0, -1, -2, ...

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.lgamma([0.5, 5.0]).numpy().round(4)
    array([0.5724, 3.1781], dtype=float32)
    """
    return elementwise(special.lgamma, x)


@export("math.digamma")
def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ψ(x), the derivative of ln Γ(x); NaN at 0, -1, -2, ...

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.digamma([0.5, 5.0]).numpy().round(4)
    array([-1.9635,  1.5061], dtype=float32)
    """
    return elementwise(special.digamma, x)


@export("math.polygamma")
def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return ψ⁽ᵃ⁾(x), the derivative of order a of the digamma function; NaN for other than whole
    a >= 0.

    a, x: tensors of one dtype, float32 or float64, broadcast; InvalidArgumentError otherwise.
    There is no derivative by a.

    >>> import talweg as tf
    >>> tf.math.polygamma([0.0, 1.0], [2.0, 2.0]).numpy().round(4)
    array([0.4228, 0.6449], dtype=float32)
    """
    return special.polygamma(*_wide(*matching_tensors(a, x), "polygamma", "a"))


@export("math.zeta")
def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Return ζ(x, q) = Σₖ₌₀ (q + k)⁻ˣ, the Hurwitz zeta function.

    x, q: tensors of one dtype, float32 or float64, broadcast; InvalidArgumentError otherwise.
    There is no derivative by x.

    >>> import talweg as tf
    >>> tf.math.zeta([2.0, 4.0], 1.0).numpy().round(4)
    array([1.6449, 1.0823], dtype=float32)
    """
    return special.zeta(*_wide(*matching_tensors(x, q), "zeta", "x"))


@export("math.igamma")
def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return P(a, x), the lower incomplete gamma function, regularised: from 0 at x = 0 to 1.

    a, x: tensors of one float dtype, broadcast; InvalidArgumentError otherwise.  NaN for a <= 0 or
    x < 0.

    >>> import talweg as tf
    >>> tf.math.igamma([1.0, 2.0], 1.0).numpy().round(4)
    array([0.6321, 0.2642], dtype=float32)
    """
    return special.igamma(*matching_tensors(a, x))


@export("math.igammac")
def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return Q(a, x) = 1 - P(a, x), the upper incomplete gamma function, regularised.

    a, x: tensors of one float dtype, broadcast; InvalidArgumentError otherwise.  NaN for a <= 0 or
    x < 0.

    >>> import talweg as tf
    >>> tf.math.igammac([1.0, 2.0], 1.0).numpy().round(4)
    array([0.3679, 0.7358], dtype=float32)
    """
    return special.igammac(*matching_tensors(a, x))


@export("math.betainc")
def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return Iₓ(a, b), the incomplete beta function, regularised: from 0 at x = 0 to 1 at x = 1.

    a, b, x: tensors of one dtype, float32 or float64, of one shape or scalars; InvalidArgumentError
    otherwise.  There is no derivative by a and b.

    >>> import talweg as tf
    >>> tf.math.betainc(2.0, 3.0, [0.0, 0.5, 1.0])
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0.    , 0.6875, 1.    ], dtype=float32)>
    """
    operands = matching_list([a, b, x])
    shapes = [operand.dims for operand in operands if operand.dims]
    if any(dims_differ(dims, shapes[0]) for dims in shapes):
        raise invalid(
            "TW204",
            f"betainc: a, b and x have shapes {', '.join(str(v.dims) for v in operands)}",
            "one shape, or scalars",
        )
    return special.betainc(
        *[
            require_sizes(operand, operand.dims, shapes[0], "betainc: one shape, or scalars")
            if operand.dims
            else operand
            for operand in operands
        ]
    )


@export("math.lbeta")
def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ln |B(x)| = Σ ln |Γ(xᵢ)| - ln |Γ(Σ xᵢ)| over the last axis.

    x [..., n]: a tensor of floats -> [...].  InvalidArgumentError for a scalar or another dtype.

    >>> import talweg as tf
    >>> round(float(tf.math.lbeta([1.0, 2.0, 3.0])), 4)
    -4.0943
    """
    x = tensor(x)
    if not x.dims:
        raise invalid("TW203", "lbeta: x is a scalar", "rank at least 1")
    last = (len(x.dims) - 1,)
    logs = reduce.reduce_sum(special.lgamma(x), axes=last, keepdims=False)
    return logs - special.lgamma(reduce.reduce_sum(x, axes=last, keepdims=False))


# -- error functions


@export("math.erf")
def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the error function, 2/√π ∫₀ˣ e^(-t²) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.erf([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8427], dtype=float32)
    """
    return keeping_zeros(special.erf, x)


@export("math.erfc")
def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 - erf(x), accurate for large x.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.erfc([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.1573], dtype=float32)
    """
    return elementwise(special.erfc, x)


@export("math.erfinv")
def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the number whose error function is x; infinite at -1 and 1, NaN beyond.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.erfinv([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.4769], dtype=float32)
    """
    return elementwise(special.erfinv, x)


@export("math.erfcinv")
def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the number whose complementary error function is x; infinite at 0 and 2, NaN beyond.

    x: a tensor of floats; TypeError or InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.erfcinv([0.5, 1.0]).numpy().round(4)
    array([ 0.4769, -0.    ], dtype=float32)
    """
    x = tensor(x)
    if x.dtype not in INEXACT:
        raise type_error("TW102", f"erfcinv: x has dtype {x.dtype.name}", "floats")
    return special.erfcinv(x)


@export("math.ndtri")
def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the quantile of the standard normal distribution; infinite at 0 and 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.ndtri([0.5, 0.975]).numpy().round(4)
    array([0.  , 1.96], dtype=float32)
    """
    return elementwise(special.ndtri, x)
