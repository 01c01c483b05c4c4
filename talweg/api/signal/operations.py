"""The Fourier transforms that TensorFlow has outside of tf.signal, with axes that must be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import export
from talweg.api.signal import transforms
from talweg.core.dtypes import as_dtype, complex64, float32
from talweg.core.errors import invalid
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike


@export("fftnd")
def fftnd(
    input: TensorLike, fft_length: TensorLike, axes: AxisLike, name: str | None = None
) -> Tensor:  # noqa: A002
    """Call `tf.signal.fftnd` with lengths and axes.

    >>> import talweg as tf
    >>> tf.fftnd(tf.ones([2], tf.complex64), [2], [0]).numpy().tolist()
    [(2+0j), 0j]
    """
    return transforms.fftnd(input, fft_length, axes)


@export("ifftnd")
def ifftnd(
    input: TensorLike, fft_length: TensorLike, axes: AxisLike, name: str | None = None
) -> Tensor:  # noqa: A002
    """Call `tf.signal.ifftnd` with lengths and axes.

    >>> import talweg as tf
    >>> tf.ifftnd(tf.constant([2, 0], tf.complex64), [2], [0]).numpy().tolist()
    [(1+0j), (1+0j)]
    """
    return transforms.ifftnd(input, fft_length, axes)


@export("rfftnd")
def rfftnd(
    input: TensorLike,  # noqa: A002
    fft_length: TensorLike,
    axes: AxisLike,
    Tcomplex: DTypeLike = complex64,  # noqa: N803
    name: str | None = None,
) -> Tensor:
    """Call `tf.signal.rfftnd` with lengths and axes; InvalidArgumentError for a Tcomplex that
    does not fit the input.

    >>> import talweg as tf
    >>> tf.rfftnd(tf.ones([2]), [2], [0]).numpy().tolist()
    [(2+0j), 0j]
    """
    transformed = transforms.rfftnd(input, fft_length, axes)
    if transformed.dtype is not as_dtype(Tcomplex):
        raise invalid(
            "TW102",
            f"rfftnd: Tcomplex is {as_dtype(Tcomplex).name}, the result {transformed.dtype.name}",
        )
    return transformed


@export("irfftnd")
def irfftnd(
    input: TensorLike,  # noqa: A002
    fft_length: TensorLike,
    axes: AxisLike,
    Treal: DTypeLike = float32,  # noqa: N803
    name: str | None = None,
) -> Tensor:
    """Call `tf.signal.irfftnd` with lengths and axes; InvalidArgumentError for a Treal that
    does not fit the input.

    >>> import talweg as tf
    >>> tf.irfftnd(tf.constant([2, 0], tf.complex64), [2], [0]).numpy().tolist()
    [1.0, 1.0]
    """
    transformed = transforms.irfftnd(input, fft_length, axes)
    if transformed.dtype is not as_dtype(Treal):
        raise invalid(
            "TW102",
            f"irfftnd: Treal is {as_dtype(Treal).name}, the result {transformed.dtype.name}",
        )
    return transformed
