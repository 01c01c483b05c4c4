"""Discrete Fourier and cosine transforms, frames of a signal and their sum.  All linear.

The cotangent of a linear map F is Fᴴ z̄: an unscaled transform of opposite sign for the complex
transforms, and for the real ones the same half-spectrum transforms with the inner frequencies, each
of which stands for two, weighted by 2 or 1/2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dims import Dim, below, differ, largest, same, smallest
from talweg.core.dtypes import COMPLEX, complex64, complex128, float32, float64
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample, later
from talweg.core.value import Tensor
from talweg.kernels.fourier import transform
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

REALS = frozenset((float32, float64))
HALF = {float32: complex64, float64: complex128}


def _inner(count: int, length: int):
    """Return which of the first places of a half spectrum stand
    for a pair of frequencies: start, stop.
    """
    return 1, min(count, (length + 1) // 2)


def half_size(length: int):
    """Count the places of the half spectrum of `length` numbers: length // 2 + 1, or 0 for none."""
    return smallest(length // 2 + 1, length)


def as_real(size: int, dtype: DType):
    """Return a size as a factor for real tensors of `dtype`."""
    return float(size) if type(size) is int else as_factor(size, dtype)


@primitive
class fft:
    """z_k = Σ_j x_j exp(∓2πi jk/n) along `axes`: minus, or plus and divided by n if `inverse`.

    Fᴴ is n times the inverse, and the inverse's adjoint F / n.
    """

    operands = "x"

    def tf_type(x, *, axes, inverse):
        return f"{'I' if inverse else ''}FFT{f'{len(axes)}D' if len(axes) > 1 else ''}"

    def infer(x, *, axes, inverse):
        check_dtype("ifft" if inverse else "fft", "input", x.dtype, COMPLEX)
        return x

    def numpy(x: np.ndarray, *, axes, inverse):
        if not x.size:
            return x.copy()
        return transform("ifftn" if inverse else "fftn", x, axes=axes)

    def transpose_x(g, x, *, axes, inverse):
        size = math.prod(x.dims[axis] for axis in axes)
        back = fft(g, axes=axes, inverse=not inverse)
        if type(size) is Dim:
            count = as_factor(size, g.dtype)
            return back / count if inverse else back * count
        return back if not size else back * (1 / size if inverse else float(size))

    def batch(size, batched, x, *, axes, inverse):
        return fft(x, axes=tuple(axis + 1 for axis in axes), inverse=inverse)

    memory = "library"

    def xla(j, x, *, axes, inverse):
        transform = j.numpy.fft.ifftn if inverse else j.numpy.fft.fftn
        return transform(x, axes=axes) if x.size and len(axes) <= 3 else NotImplemented

    samples = (
        Sample([4], dtype=complex64, axes=(0,), inverse=False),
        Sample([2, 3, 5], dtype=complex64, axes=(0, 2), inverse=False),
        Sample([2, 3], dtype=complex64, axes=(0, 1), inverse=True),
        Sample([0, 2], dtype=complex64, axes=(0,), inverse=True),
    )
    rejects = (Reject([3], axes=(0,), inverse=False, code="TW102"),)


@primitive
class rfft:
    """z_k = c_k Σ_j x_j exp(-2πi jk/n) for k = 0..n/2, along `axis`, of real x.

    c_k is 2 for 0 < k < n/2 if `doubled`, else 1.
    """

    operands = "x"
    tf_type = "RFFT"

    def infer(x, *, axis, doubled):
        check_dtype("rfft", "input_tensor", x.dtype, REALS)
        dims = list(x.dims)
        dims[axis] = half_size(dims[axis])
        return Aval(tuple(dims), HALF[x.dtype])

    def numpy(x: np.ndarray, *, axis, doubled):
        dtype = np.result_type(x.dtype, np.complex64)
        if not x.shape[axis] or not x.size:
            dims = list(x.shape)
            dims[axis] = dims[axis] // 2 + 1 if dims[axis] else 0
            return np.zeros(dims, dtype)
        z = transform("rfft", x, axis=axis)
        if doubled:
            np.moveaxis(z, axis, -1)[..., slice(*_inner(z.shape[axis], x.shape[axis]))] *= 2
        return z

    def transpose_x(g, x, *, axis, doubled):
        length = x.dims[axis]
        return irfft(g, axis=axis, length=length, halved=not doubled) * as_real(
            length, g.dtype.real_dtype
        )

    def batch(size, batched, x, *, axis, doubled):
        return rfft(x, axis=axis + 1, doubled=doubled)

    memory = "library"
    samples = (
        Sample([4], axis=0, doubled=False),
        Sample([5, 2], axis=0, doubled=False),
        Sample([2, 5], axis=1, doubled=True),
        Sample([2, 1], axis=1, doubled=False),
        Sample([6], axis=0, doubled=True),
    )
    rejects = (Reject([3], dtype=complex64, axis=0, doubled=False, code="TW102"),)


@primitive
class irfft:
    """z_j = (1/n) Σ_k c_k x_k exp(2πi jk/n), real, from the first n/2 + 1 places of a spectrum.

    Places 0 < k < n/2 count twice (once for -k), or once if `halved`; imaginary parts at k = 0 and
    k = n/2 are ignored.  n = `length`.
    """

    operands = "x"
    tf_type = "IRFFT"

    def infer(x, *, axis, length, halved):
        check_dtype("irfft", "input_tensor", x.dtype, COMPLEX)
        if below(length, 0):
            raise invalid("TW205", f"irfft: length={length}", "at least 0")
        wanted = half_size(length)
        if differ(x.dims[axis], wanted):
            raise invalid(
                "TW204",
                f"irfft: axis {axis} has size {x.dims[axis]} for length {length}",
                f"size {wanted}",
            )
        dims = list(x.dims)
        dims[axis] = length
        return Aval(tuple(dims), x.dtype.real_dtype)

    def numpy(x: np.ndarray, *, axis, length, halved):
        dtype = np.zeros((), x.dtype).real.dtype
        if not length or not x.size:
            dims = list(x.shape)
            dims[axis] = length
            return np.zeros(dims, dtype)
        if halved:
            x = x.copy()
            np.moveaxis(x, axis, -1)[..., slice(*_inner(x.shape[axis], length))] *= 0.5
        return transform("irfft", x, n=length, axis=axis)

    def transpose_x(g: Tensor, x, *, axis, length, halved):
        if type(length) is Dim:
            return rfft(g / as_factor(length, g.dtype), axis=axis, doubled=not halved)
        if not length:
            return x
        return rfft(g, axis=axis, doubled=not halved) * (1 / length)

    def batch(size, batched, x, *, axis, length, halved):
        return irfft(x, axis=axis + 1, length=length, halved=halved)

    memory = "library"
    samples = (
        Sample([3], dtype=complex64, axis=0, length=4, halved=False),
        Sample([3, 2], dtype=complex64, axis=0, length=5, halved=False),
        Sample([2, 3], dtype=complex64, axis=1, length=5, halved=True),
        Sample([1], dtype=complex64, axis=0, length=1, halved=False),
    )
    rejects = (Reject([3], dtype=complex64, axis=0, length=8, halved=False, code="TW204"),)


def _edges(x, factor: object, last: bool):
    """Return x with its first (and last) place along the last axis scaled."""
    x = x.copy()
    x[..., 0] *= factor
    if last:
        x[..., -1] *= factor
    return x


@primitive
class dct:
    """The discrete cosine transform of one of the four kinds along the last axis, of n places.

    I: y_k = x_0 + (-1)^k x_(n-1) + 2 Σ x_j cos(πjk/(n-1)).   II: y_k = 2 Σ x_j cos(πk(2j+1)/2n).
    III: y_k = x_0 + 2 Σ x_j cos(πj(2k+1)/2n).   IV: y_k = 2 Σ x_j cos(π(2k+1)(2j+1)/4n).
    `ortho` makes II, III and IV orthogonal.  If `turned` it is the transposed matrix.
    """

    operands = "x"

    def infer(x, *, kind, ortho, turned):
        check_dtype("dct", "input", x.dtype, REALS)
        return x

    def numpy(x: np.ndarray, *, kind, ortho, turned):
        if not x.size:
            return x.copy()
        if kind == 4 or ortho:
            kind = 5 - kind if turned and kind != 4 else kind
            return transform("dct", x, type=kind, norm="ortho" if ortho else None)
        if not turned:
            return transform("dct", x, type=kind)
        if kind == 1:
            return _edges(transform("dct", _edges(x, 2, True), type=1), 0.5, True)
        if kind == 2:
            return transform("dct", _edges(x, 2, False), type=3)
        return _edges(transform("dct", x, type=2), 0.5, False)

    def transpose_x(g, x, *, kind, ortho, turned):
        return dct(g, kind=kind, ortho=ortho, turned=not turned)

    def batch(size, batched, x, *, kind, ortho, turned):
        return dct(x, kind=kind, ortho=ortho, turned=turned)

    memory = "library"
    samples = (
        *(
            Sample([2, 5], kind=k, ortho=o, turned=t)
            for k, o in (
                (1, False),
                (2, False),
                (3, False),
                (4, False),
                (2, True),
                (3, True),
                (4, True),
            )
            for t in (False, True)
        ),
    )
    rejects = (Reject([3], dtype=complex64, kind=2, ortho=False, turned=False, code="TW102"),)


def frame_count(size: int, length: int, step: int):
    """Count the whole frames of `length`, `step` apart, that fit into `size` places."""
    return largest(0, 1 + (size - length) // step)


@primitive
class frame:
    """z[..., i, j] = x[..., i step + j]: frames.   x [..., n] -> [..., frames, length]."""

    operands = "x"

    def infer(x, *, length, step):
        return Aval((*x.dims[:-1], frame_count(x.dims[-1], length, step), length), x.dtype)

    def numpy(x: np.ndarray, *, length, step):
        count = frame_count(x.shape[-1], length, step)
        if not count or not length:
            return np.zeros((*x.shape[:-1], count, length), x.dtype)
        windows = np.lib.stride_tricks.sliding_window_view(x, length, -1)
        return windows[..., : (count - 1) * step + 1 : step, :]

    def transpose_x(g, x, *, length, step):
        return overlap_add(g, step=step, size=x.dims[-1])

    def batch(size, batched, x, *, length, step):
        return frame(x, length=length, step=step)

    def loops(s, index, x, *, length, step):
        *lead, number, place = index
        return x(*lead, number * step + place)

    memory = "window"
    samples = (
        Sample([10], length=3, step=2),
        Sample([2, 7], length=4, step=4),
        Sample([2, 7], length=2, step=5),
        Sample([3], length=5, step=1),
    )


@primitive
class overlap_add:
    """z[..., i step + j] += x[..., i, j]: the sum of overlapping frames, in `size` places."""

    operands = "x"

    def infer(x, *, step, size):
        return Aval((*x.dims[:-2], size), x.dtype)

    def numpy(x: np.ndarray, *, step, size):
        count, length = x.shape[-2:]
        result = np.zeros((*x.shape[:-2], size), x.dtype)
        if length <= count:  # one addition for each place within a frame
            for place in range(length):
                stop = place + (count - 1) * step + 1
                result[..., place:stop:step] += x[..., place]
        else:
            for position in range(count):
                start = position * step
                result[..., start : start + length] += x[..., position, :]
        return result

    def transpose_x(g, x, *, step, size):
        count, length = x.dims[-2:]
        return _first(frame(g, length=length, step=step), count)

    def batch(size_, batched, x, *, step, size):
        return overlap_add(x, step=step, size=size)

    def expand(t, x, *, step, size):
        *lead, count, length = x.dims
        pieces = -(-length // step)  # frames that lie over one place
        if not x.size or not size or pieces > 8 or x.dtype.is_bool:
            return NotImplemented
        zero, zeros = t.array(np.zeros((), x.dtype.numpy_dtype)), (0,) * len(lead)
        ends = {"low": (*zeros, 0, 0), "high": (*zeros, 0, pieces * step - length)}
        x, total = t.pad(x, zero, **ends), None
        for k in range(pieces):
            part = t.strided_slice(
                x,
                begin=(*zeros, 0, k * step),
                end=(*lead, count, (k + 1) * step),
                strides=(1,) * len(x.dims),
            )
            part = t.pad(part, zero, low=(*zeros, k, 0), high=(*zeros, pieces - 1 - k, 0))
            total = part if total is None else t.add(total, part)
        whole = (count + pieces - 1) * step
        total = t.reshape(total, shape=(*lead, whole))
        if whole < size:
            total = t.pad(total, zero, low=(*zeros, 0), high=(*zeros, size - whole))
        ones = (1,) * len(total.dims)
        return t.strided_slice(total, begin=(*zeros, 0), end=(*lead, size), strides=ones)

    memory = "window"
    samples = (
        Sample([4, 3], step=2, size=10),
        Sample([2, 2, 5], step=1, size=6),
        Sample([2, 3], step=4, size=7),
    )


def _first(frames, count: object):
    """Return the first `count` frames; a longer signal has more."""
    return (
        frames
        if same(frames.dims[-2], count)
        else later("strided_slice")(
            frames,
            begin=(0,) * len(frames.dims),
            end=(*frames.dims[:-2], count, frames.dims[-1]),
            strides=(1,) * len(frames.dims),
        )
    )
