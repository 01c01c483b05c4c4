"""tf.math: complex numbers and their parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.math.operands import numeric
from talweg.core.dtypes import COMPLEX, FLOATING, float32, float64
from talweg.core.errors import type_error
from talweg.core.value import Tensor
from talweg.prims import arithmetic
from talweg.prims import complex as prims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("complex", "dtypes.complex")
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:  # noqa: A001
    """Return real + i imag, broadcast.

    real, imag: tensors both of float32 (complex64 results) or both of float64 (complex128);
    TypeError otherwise.

    >>> import talweg as tf
    >>> tf.complex([1.0, 2.0], [0.5, -1.0])
    <tf.Tensor: shape=(2,), dtype=complex64, numpy=array([1.+0.5j, 2.-1.j ], dtype=complex64)>
    """
    real, imag = tensor(real), tensor(imag)
    if real.dtype is not imag.dtype or real.dtype not in (float32, float64):
        raise type_error(
            "TW102",
            f"complex: real has dtype {real.dtype.name} and imag has dtype {imag.dtype.name}",
            "both float32 or both float64",
        )
    return prims.complex_(real, imag)


@export("math.real")
def real(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Return the real part; real numbers are their own.

    input: a tensor of numbers; TypeError for truth values and strings.

    >>> import talweg as tf
    >>> tf.math.real(tf.constant([1 + 2j, 3j]))
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([1., 0.])>
    """
    x = numeric(input, "real", "input")
    return prims.real(x) if x.dtype in COMPLEX else x


@export("math.imag")
def imag(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Return the imaginary part; zeros for real numbers.

    input: a tensor of numbers; TypeError for truth values and strings.

    >>> import talweg as tf
    >>> tf.math.imag(tf.constant([1 + 2j, 3j]))
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([2., 3.])>
    """
    x = numeric(input, "imag", "input")
    return prims.imag(x) if x.dtype in COMPLEX else arithmetic.zeros_of(x)


@export("math.conj")
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the complex conjugate; real numbers are their own.

    x: a tensor of numbers; TypeError for truth values and strings.

    >>> import talweg as tf
    >>> tf.math.conj(tf.constant([1 + 2j, 3j]))
    <tf.Tensor: shape=(2,), dtype=complex128, numpy=array([1.-2.j, 0.-3.j])>
    """
    x = numeric(x, "conj", "x")
    return prims.conj(x) if x.dtype in COMPLEX else x


@export("math.angle")
def angle(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Return the angle of a complex number in [-π, π]; π for negative real numbers, 0 for others.

    input: a tensor of floats or complex numbers; TypeError otherwise.

    >>> import talweg as tf
    >>> tf.math.angle(tf.constant([1 + 1j, -1 + 0j]))
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([0.78539816, 3.14159265])>
    """
    x = tensor(input)
    if x.dtype in COMPLEX:
        return prims.angle(x)
    if x.dtype not in FLOATING:
        raise type_error(
            "TW102", f"angle: input has dtype {x.dtype.name}", "floats or complex numbers"
        )
    zeros = arithmetic.zeros_of(x)
    return arithmetic.select(arithmetic.less(x, zeros), zeros + math.pi, zeros)
