"""tf.nn: activations that are not already in tf.math."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import axis_argument, tensor
from talweg.api.export import export
from talweg.core.dtypes import float32
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.execute.compositions import as_one
from talweg.prims import arithmetic, layout
from talweg.prims.arithmetic import cast
from talweg.prims.nn import activations
from talweg.prims.transcendental import sigmoid

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


@export("nn.relu")
def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return max(features, 0), element by element; NaN stays NaN, the derivative at 0 is 0.

    features: a tensor of any real dtype.  InvalidArgumentError for bool, string and complex.

    >>> import talweg as tf
    >>> tf.nn.relu([-1.0, 0.0, 2.0]).numpy()
    array([0., 0., 2.], dtype=float32)
    """
    return activations.relu(tensor(features))


@export("nn.relu6")
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Return min(max(features, 0), 6), element by element; the derivative at 0 and at 6 is 0.

    features: a tensor of any real dtype.  InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.nn.relu6([-1.0, 2.0, 8.0]).numpy()
    array([0., 2., 6.], dtype=float32)
    """
    return activations.relu6(tensor(features))


@export("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> Tensor:
    """Return features where positive, alpha * features elsewhere; the derivative at 0 is alpha.

    features: a tensor of floats; integers are cast to float32.  alpha: a number, rounded to float32
    as in TensorFlow, or a scalar tensor.  InvalidArgumentError for bool, string and complex.

    >>> import talweg as tf
    >>> tf.nn.leaky_relu([-1.0, 2.0], alpha=0.5).numpy()
    array([-0.5,  2. ], dtype=float32)
    """
    x = tensor(features)
    if x.dtype.is_integer:
        x = cast(x, dtype=float32)
    alpha = 0.2 if alpha is None else alpha
    if isinstance(alpha, (int, float, np.number)):
        alpha = float(np.float32(alpha))
    else:
        alpha = cast(tensor(alpha), dtype=x.dtype)
    return activations.leaky_relu(x, alpha)


@export("nn.elu")
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return features where >= 0, exp(features) - 1 elsewhere.

    features: a tensor of floats.  InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.nn.elu([-1.0, 2.0]).numpy().round(4)
    array([-0.6321,  2.    ], dtype=float32)
    """
    return activations.elu(tensor(features))


@export("nn.selu")
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return s features where >= 0, s a (exp(features) - 1) elsewhere; s = 1.0507, a = 1.6733.

    Keeps mean 0 and variance 1 through layers (Klambauer et al. 2017).  features: a tensor of
    floats.  InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.nn.selu([-1.0, 2.0]).numpy().round(4)
    array([-1.1113,  2.1014], dtype=float32)
    """
    return activations.selu(tensor(features))


@export("nn.crelu")
def crelu(features: TensorLike, axis: AxisLike = -1, name: str | None = None) -> Tensor:
    """Return relu(features) and relu(-features), one after the other along `axis`, which doubles.

    features: a tensor of floats or signed integers, of rank 1 or more.  InvalidArgumentError for
    other dtypes or an axis out of range.

    >>> import talweg as tf
    >>> tf.nn.crelu([1.0, -2.0]).numpy()
    array([1., 0., 0., 2.], dtype=float32)
    """
    x = tensor(features)
    axis = axis_argument(axis, x.ndim, "crelu")
    return activations.relu(layout.concat(x, arithmetic.neg(x), axis=axis))


@export("nn.gelu")
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return features * Φ(features), Φ the distribution function of the standard normal.

    approximate: x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) instead (Hendrycks and Gimpel 2016).
    features: a tensor of floats.  ValueError for other dtypes.

    >>> import talweg as tf
    >>> tf.nn.gelu([-1.0, 2.0]).numpy().round(4)
    array([-0.1587,  1.9545], dtype=float32)
    """
    x = tensor(features)
    if not x.dtype.is_floating:
        raise value_error(
            "TW102", f"gelu: features has dtype {x.dtype.name}", "a floating-point dtype"
        )
    return activations.gelu_tanh(x) if approximate else activations.gelu(x)


@export("nn.silu", "nn.swish")
def silu(features: TensorLike, beta: TensorLike = 1.0) -> Tensor:
    """Return features * sigmoid(beta * features).

    features: a tensor of floats or complex numbers.  beta: a number or a tensor that broadcasts; it
    has a gradient too.  InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.nn.silu([-1.0, 2.0]).numpy().round(4)
    array([-0.2689,  1.7616], dtype=float32)
    """
    x = tensor(features)
    if isinstance(beta, (int, float)):
        return activations.silu(x) if beta == 1 else _scaled_silu(x, float(beta))
    return _scaled_silu(x, cast(tensor(beta), dtype=x.dtype))


@as_one
def _scaled_silu(x: Any, beta: Any) -> Any:
    return x * sigmoid(beta * x)


@export("nn.softmax", "math.softmax")
def softmax(logits: TensorLike, axis: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Return exp(logits) / sum(exp(logits)) along `axis`, the last by default, without overflow.

    logits: a tensor of floats, of rank 1 or more.  InvalidArgumentError for other dtypes, a scalar,
    or an axis out of range.

    >>> import talweg as tf
    >>> tf.nn.softmax([[0.0, 0.0], [0.0, 1.0]]).numpy().round(4)
    array([[0.5   , 0.5   ],
           [0.2689, 0.7311]], dtype=float32)
    """
    x = tensor(logits)
    return activations.softmax(
        x, axis=axis_argument(-1 if axis is None else axis, x.ndim, "softmax", by_value=True)
    )


@export("nn.log_softmax", "math.log_softmax")
def log_softmax(
    logits: TensorLike, axis: AxisLike | None = None, name: str | None = None
) -> Tensor:
    """Return logits - log(sum(exp(logits))) along `axis`, the last by default.

    logits: a tensor of floats, of rank 1 or more.  InvalidArgumentError for other dtypes, a scalar,
    or an axis out of range.

    >>> import talweg as tf
    >>> tf.nn.log_softmax([0.0, 1.0]).numpy().round(4)
    array([-1.3133, -0.3133], dtype=float32)
    """
    x = tensor(logits)
    axis = axis_argument(-1 if axis is None else axis, x.ndim, "log_softmax", by_value=True)
    return activations.log_softmax(x, axis=axis)
