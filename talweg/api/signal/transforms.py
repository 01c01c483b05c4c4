"""tf.signal: Fourier and cosine transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import axes_argument, axis_argument, integers, require_sizes, tensor
from talweg.api.export import export
from talweg.core.dims import Dim, Size, below, largest, same, smallest
from talweg.core.dtypes import COMPLEX, complex64, float32, float64
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.prims import fourier
from talweg.prims.arithmetic import cast
from talweg.prims.layout import concat, pad, strided_slice
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike

REALS = (float32, float64)


# -- complex transforms of the last one, two or three axes


def _complex_transform(input: object, rank: int, inverse: bool, function: str) -> Tensor:
    x = tensor(input, hint=None if isinstance(input, (list, tuple, complex)) else complex64)
    if x.dtype not in COMPLEX and x is not input:
        x = tensor(input, hint=complex64)
    if x.dtype not in COMPLEX:
        raise invalid(
            "TW102",
            f"{function}: input has dtype {x.dtype.name}",
            "complex64 or complex128",
            f"tf.signal.r{function} for real input" if not inverse else "tf.cast(x, tf.complex64)",
        )
    if x.ndim < rank:
        raise invalid(
            "TW203", f"{function}: input has shape {x.dims}", f"a rank of at least {rank}"
        )
    return fourier.fft(x, axes=tuple(range(x.ndim - rank, x.ndim)), inverse=inverse)


@export("signal.fft")
def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return z_k = Σ_j x_j exp(-2πi jk/n) along the last axis, of a complex tensor of any rank
    above 0.

    InvalidArgumentError for real tensors and scalars.

    >>> import talweg as tf
    >>> tf.signal.fft([1.0, 2.0]).numpy().tolist()
    [(3+0j), (-1+0j)]
    """
    return _complex_transform(input, 1, False, "fft")


@export("signal.ifft")
def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return x_j = (1/n) Σ_k z_k exp(2πi jk/n) along the last axis: the inverse of `tf.signal.fft`.

    >>> import talweg as tf
    >>> tf.signal.ifft([3.0, -1.0]).numpy().tolist()
    [(1+0j), (2+0j)]
    """
    return _complex_transform(input, 1, True, "ifft")


@export("signal.fft2d")
def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Fourier transform along the last two axes; see `tf.signal.fft`.

    >>> import talweg as tf
    >>> tf.signal.fft2d([[1.0, 2.0], [3.0, 4.0]]).numpy().tolist()
    [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    return _complex_transform(input, 2, False, "fft2d")


@export("signal.ifft2d")
def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse of `tf.signal.fft2d`.

    >>> import talweg as tf
    >>> tf.signal.ifft2d([[4.0, 0.0], [0.0, 0.0]]).numpy().tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return _complex_transform(input, 2, True, "ifft2d")


@export("signal.fft3d")
def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Fourier transform along the last three axes; see `tf.signal.fft`.

    >>> import talweg as tf
    >>> tf.signal.fft3d([[[1.0, 2.0]]]).numpy().tolist()
    [[[(3+0j), (-1+0j)]]]
    """
    return _complex_transform(input, 3, False, "fft3d")


@export("signal.ifft3d")
def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse of `tf.signal.fft3d`.

    >>> import talweg as tf
    >>> tf.signal.ifft3d([[[3.0, -1.0]]]).numpy().tolist()
    [[[(1+0j), (2+0j)]]]
    """
    return _complex_transform(input, 3, True, "ifft3d")


# -- real transforms


def resize_axis(x: Tensor, axis: int, size: Size, value: object = 0) -> Tensor:
    """Cut off `axis` of `x` at the end, or fill it up with `value`."""
    own = x.dims[axis]
    if same(own, size):
        return x
    if type(own) is Dim or type(size) is Dim:
        x = require_sizes(x, (smallest(size, 0),), (0,), "a length of at least 0")
        kept = smallest(own, size)
        return _fill(_cut(x, axis, kept), axis, size - kept, value)
    if own > size:
        return _cut(x, axis, size)
    return _fill(x, axis, size - own, value)


def _cut(x: Tensor, axis: int, size: Size) -> Tensor:
    end = tuple(size if i == axis else n for i, n in enumerate(x.dims))
    return strided_slice(x, begin=(0,) * x.ndim, end=end, strides=(1,) * x.ndim)


def _fill(x: Tensor, axis: int, more: Size, value: object) -> Tensor:
    high = tuple(more if i == axis else 0 for i in range(x.ndim))
    return pad(x, tensor(value, x.dtype), low=(0,) * x.ndim, high=high)


def _check_rank(x: Tensor, rank: int) -> None:
    if x.ndim < rank:
        raise value_error("TW203", f"Shape {x.dims} must have rank at least {rank}")


def _lengths(value: object, rank: int, function: str) -> tuple | None:
    if value is None:
        return None
    if isinstance(value, int) or getattr(value, "ndim", 1) == 0:
        raise type_error("TW104", f"{function}: fft_length={value!r}", f"a vector of {rank}")
    lengths = integers(value, function, "fft_length")
    if len(lengths) != rank or any(below(n, 0) for n in lengths):
        raise invalid(
            "TW205", f"{function}: fft_length={list(lengths)}", f"{rank} lengths of at least 0"
        )
    return lengths


def _real_forward(input: object, fft_length: TensorLike | None, rank: int, function: str) -> Tensor:
    x = tensor(input, hint=float32)
    if x.dtype not in REALS:
        raise value_error(
            "TW102", f"RFFT requires tf.float32 or tf.float64 inputs, got: {x.dtype.name}"
        )
    _check_rank(x, rank)
    lengths = _lengths(fft_length, rank, function)
    axes = tuple(range(x.ndim - rank, x.ndim))
    return _rfftn(x, axes, lengths or tuple(x.dims[axis] for axis in axes))


def _rfftn(x: Tensor, axes: tuple, lengths: tuple) -> Tensor:
    for axis, length in zip(axes, lengths):
        x = resize_axis(x, axis, length)
    z = fourier.rfft(x, axis=axes[-1], doubled=False)
    return z if len(axes) == 1 else fourier.fft(z, axes=axes[:-1], inverse=False)


def _real_backward(
    input: object, fft_length: TensorLike | None, rank: int, function: str
) -> Tensor:
    x = tensor(input, hint=complex64)
    if x.dtype not in COMPLEX:
        raise value_error(
            "TW102", f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {x.dtype.name}"
        )
    _check_rank(x, rank)
    lengths = _lengths(fft_length, rank, function)
    axes = tuple(range(x.ndim - rank, x.ndim))
    return _irfftn(x, axes, lengths or _natural_lengths(x, axes))


def _natural_lengths(x: Tensor, axes: tuple) -> tuple[int, ...]:
    sizes = [x.dims[axis] for axis in axes]
    return (*sizes[:-1], largest(0, 2 * (sizes[-1] - 1)))


def _irfftn(x: Tensor, axes: tuple[int, ...], lengths: tuple[Any, ...]) -> Tensor:
    last = lengths[-1]
    sizes = (*lengths[:-1], fourier.half_size(last))
    for axis, size in zip(axes, sizes):
        x = resize_axis(x, axis, size)
    *others, final = axes
    if others:
        x = fourier.fft(x, axes=tuple(others), inverse=True)
    return fourier.irfft(x, axis=final, length=last, halved=False)


@export("signal.rfft")
def rfft(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the first n/2 + 1 frequencies of the Fourier transform of real numbers along the last
    axis.

    input_tensor: float32 or float64, [..., n]; fft_length: [m] cuts or fill it up to length m
    first. ValueError for other dtypes and scalars; InvalidArgumentError for a wrong fft_length.

    >>> import talweg as tf
    >>> tf.signal.rfft([1.0, 2.0, 3.0, 4.0]).numpy().tolist()
    [(10+0j), (-2+2j), (-2+0j)]
    """
    return _real_forward(input_tensor, fft_length, 1, "rfft")


@export("signal.irfft")
def irfft(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Compute the inverse of `tf.signal.rfft`, of length fft_length = [m], 2 (n - 1) by default.

    input_tensor: complex, [..., n].  ValueError for real numbers and scalars.

    >>> import talweg as tf
    >>> tf.signal.irfft(tf.signal.rfft([1.0, 2.0, 3.0, 4.0])).numpy().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return _real_backward(input_tensor, fft_length, 1, "irfft")


@export("signal.rfft2d")
def rfft2d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Call `tf.signal.rfft` along the last axis, then `tf.signal.fft` along the one before.

    >>> import talweg as tf
    >>> tf.signal.rfft2d([[1.0, 2.0], [3.0, 4.0]]).numpy().tolist()
    [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    return _real_forward(input_tensor, fft_length, 2, "rfft2d")


@export("signal.irfft2d")
def irfft2d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Compute the inverse of `tf.signal.rfft2d`.

    >>> import talweg as tf
    >>> tf.signal.irfft2d(tf.signal.rfft2d([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _real_backward(input_tensor, fft_length, 2, "irfft2d")


@export("signal.rfft3d")
def rfft3d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Call `tf.signal.rfft` along the last axis, then `tf.signal.fft` along the two before.

    >>> import talweg as tf
    >>> tf.signal.rfft3d([[[1.0, 2.0]]]).numpy().tolist()
    [[[(3+0j), (-1+0j)]]]
    """
    return _real_forward(input_tensor, fft_length, 3, "rfft3d")


@export("signal.irfft3d")
def irfft3d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Compute the inverse of `tf.signal.rfft3d`.

    >>> import talweg as tf
    >>> tf.signal.irfft3d(tf.signal.rfft3d([[[1.0, 2.0]]])).numpy().tolist()
    [[[1.0, 2.0]]]
    """
    return _real_backward(input_tensor, fft_length, 3, "irfft3d")


# -- along chosen axes


def _axes_and_lengths(x: Tensor, fft_length: object, axes: object, function: str) -> tuple:
    given = range(x.ndim) if axes is None else integers(axes, function, "axes")
    found = tuple(axis_argument(axis, x.ndim, function, "axes") for axis in given)
    if axes is None and fft_length is not None:
        found = found[x.ndim - len(integers(fft_length, function, "fft_length")) :]
    if len(set(found)) < len(found) or not found:
        raise invalid("TW202", f"{function}: axes={axes!r}", "different axes, at least one")
    return found, _lengths(fft_length, len(found), function)


def _scale(z: Tensor, norm: str | None, size: int, inverse: bool, function: str) -> Tensor:
    if norm not in (None, "backward", "ortho", "forward"):
        raise value_error(
            "TW207", f"{function}: norm={norm!r}", "'backward', 'ortho', 'forward' or None"
        )
    if norm in (None, "backward") or same(size, 0):
        return z
    if type(size) is Dim:
        number = as_factor(size, z.dtype.real_dtype)
        number = number**0.5 if norm == "ortho" else number
        number = number if number.dtype is z.dtype else cast(number, dtype=z.dtype)
        return z * number if inverse else z / number
    factor = math.sqrt(size) if norm == "ortho" else float(size)
    return z * factor if inverse else z * (1 / factor)


def _complex_nd(
    x: object, fft_length: object, axes: object, norm: str | None, inverse: bool
) -> Tensor:
    function = "ifftnd" if inverse else "fftnd"
    x = tensor(x, hint=complex64)
    found, lengths = _axes_and_lengths(x, fft_length, axes, function)
    for axis, length in zip(found, lengths or ()):
        x = resize_axis(x, axis, length)
    size = math.prod(x.dims[axis] for axis in found)
    z = fourier.fft(x, axes=found, inverse=inverse)
    return _scale(z, norm, size, inverse, function)


@export("signal.fftnd")
def fftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the Fourier transform along `axes` (all by default), cut or filled up to `fft_length`
    first.

    norm: "backward" (or None) scales the inverse, "forward" this transform, "ortho" both by the
    root.

    >>> import talweg as tf
    >>> tf.signal.fftnd([[1.0, 2.0], [3.0, 4.0]], axes=[0]).numpy().tolist()
    [[(4+0j), (6+0j)], [(-2+0j), (-2+0j)]]
    """
    return _complex_nd(input_tensor, fft_length, axes, norm, False)


@export("signal.ifftnd")
def ifftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the inverse of `tf.signal.fftnd`.

    >>> import talweg as tf
    >>> tf.signal.ifftnd([[4.0, 6.0], [-2.0, -2.0]], axes=[0]).numpy().tolist()
    [[(1+0j), (2+0j)], [(3+0j), (4+0j)]]
    """
    return _complex_nd(input_tensor, fft_length, axes, norm, True)


@export("signal.rfftnd")
def rfftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `tf.signal.rfft` along the last of `axes`, `tf.signal.fft` along the others; as fftnd.

    >>> import talweg as tf
    >>> tf.signal.rfftnd([[1.0, 2.0], [3.0, 4.0]], axes=[1]).numpy().tolist()
    [[(3+0j), (-1+0j)], [(7+0j), (-1+0j)]]
    """
    x = tensor(input_tensor, hint=float32)
    along, lengths = _axes_and_lengths(x, fft_length, axes, "rfftnd")
    lengths = lengths or tuple(x.dims[axis] for axis in along)
    return _scale(_rfftn(x, along, lengths), norm, math.prod(lengths), False, "rfftnd")


@export("signal.irfftnd")
def irfftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the inverse of `tf.signal.rfftnd`.

    >>> import talweg as tf
    >>> tf.signal.irfftnd(tf.signal.rfftnd([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    x = tensor(input_tensor, hint=complex64)
    along, lengths = _axes_and_lengths(x, fft_length, axes, "irfftnd")
    lengths = lengths or _natural_lengths(x, along)
    return _scale(_irfftn(x, along, lengths), norm, math.prod(lengths), True, "irfftnd")


# -- shifts


def _roll(x: Tensor, axis: int, first: int) -> Tensor:
    """Move place `first` of `axis` to the front."""
    if same(first, 0):
        return x
    begin = tuple(first if i == axis else 0 for i in range(x.ndim))
    end = tuple(first if i == axis else n for i, n in enumerate(x.dims))
    ones = (1,) * x.ndim
    back = strided_slice(x, begin=begin, end=x.dims, strides=ones)
    return concat(back, strided_slice(x, begin=(0,) * x.ndim, end=end, strides=ones), axis=axis)


@export("signal.fftshift")
def fftshift(x: TensorLike, axes: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Return the zero frequency moved from the front to the middle, along `axes` (all by default).

    >>> import talweg as tf
    >>> tf.signal.fftshift([0, 1, 2, -2, -1]).numpy().tolist()
    [-2, -1, 0, 1, 2]
    """
    x = tensor(x)
    for axis in axes_argument(axes, x.ndim, "fftshift", "axes"):
        x = _roll(x, axis, (x.dims[axis] + 1) // 2)
    return x


@export("signal.ifftshift")
def ifftshift(x: TensorLike, axes: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Compute the inverse of `tf.signal.fftshift`.

    >>> import talweg as tf
    >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).numpy().tolist()
    [0, 1, 2, -2, -1]
    """
    x = tensor(x)
    for axis in axes_argument(axes, x.ndim, "ifftshift", "axes"):
        x = _roll(x, axis, x.dims[axis] // 2)
    return x
