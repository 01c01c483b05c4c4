"""tf.linalg: Cholesky, QR, LU, singular values, eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.arguments import integers, require_sizes, tensor
from talweg.api.export import export
from talweg.core.dims import below, dims_differ, smallest
from talweg.core.dtypes import as_dtype, int32, int64
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.tensor import array_of
from talweg.prims.arithmetic import cast
from talweg.prims.complex import conj
from talweg.prims.contract import adjoint, matmul
from talweg.prims.layout import concat, strided_slice
from talweg.prims.linalg import factorizations, spectral, systems
from talweg.prims.linalg.diagonal import matrix_diag

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


class Qr(NamedTuple):
    q: Tensor
    r: Tensor


class Lu(NamedTuple):
    lu: Tensor
    p: Tensor


def columns(x: Tensor, start: int, stop: int) -> Tensor:
    """Return x[..., start:stop]."""
    lead = x.dims[:-1]
    return strided_slice(
        x, begin=(*(0,) * len(lead), start), end=(*lead, stop), strides=(1,) * x.ndim
    )


@export("linalg.cholesky")
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the lower triangular factors l with l lᴴ = input, for positive definite [..., m, m].

    Only the lower triangle is read; a matrix that is not positive definite gives NaN.
    InvalidArgumentError for matrices that are not square, and for integers.

    >>> import talweg as tf
    >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy().tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    return systems.cholesky(tensor(input))


@export("linalg.qr")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Return (q, r): input = q r with orthonormal columns in q and upper triangular r.

    [..., m, n] -> q [..., m, min(m, n)], r [..., min(m, n), n]; q [..., m, m] and r [..., m, n]
    with full_matrices.  InvalidArgumentError for a rank below 2 and for integers.

    >>> import talweg as tf
    >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> abs(r.numpy()).round(3).tolist()
    [[5.0, 2.200000047683716], [0.0, 0.4000000059604645]]
    """
    x = tensor(input)
    if x.ndim < 2 or type(x.dims[-1]) is type(x.dims[-2]) is int and x.dims[-2] >= x.dims[-1]:
        return Qr(*factorizations.qr(x, full=bool(full_matrices)))
    if full_matrices and not below(x.dims[-2], x.dims[-1] + 1):
        return Qr(*factorizations.qr(x, full=True))
    rows = smallest(x.dims[-2], x.dims[-1])  # a wide matrix: its first square part decides q
    q, r = factorizations.qr(columns(x, 0, rows), full=False)
    rest = matmul(adjoint(q), columns(x, rows, x.dims[-1]))
    return Qr(q, concat(r, rest, axis=x.ndim - 1))


@export("linalg.lu")
def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> Lu:
    """Return (lu, p): input[p] = l u, with l - 1 below the diagonal of lu and u in its upper
    triangle.

    [..., m, m] -> lu [..., m, m], p [..., m] of output_idx_type (int32 or int64).
    InvalidArgumentError for matrices that are not square or not invertible, and for integers.

    >>> import talweg as tf
    >>> tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]]).p.numpy().tolist()
    [1, 0]
    """
    dtype = as_dtype(output_idx_type)
    if dtype not in (int32, int64):
        raise invalid("TW102", f"lu: output_idx_type={dtype.name}", "int32 or int64")
    packed, order = factorizations.lu(tensor(input))
    return Lu(packed, order if dtype is int32 else cast(order, dtype=dtype))


@export("linalg.svd")
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Return (s, u, v): tensor = u diag(s) vᴴ, s descending; only s without compute_uv.

    [..., m, n] -> s [..., k], u [..., m, k], v [..., n, k] with k = min(m, n); u and v are square
    with full_matrices.  InvalidArgumentError for a rank below 2 and for integers.

    >>> import talweg as tf
    >>> tf.linalg.svd([[0.0, 2.0], [3.0, 0.0]], compute_uv=False).numpy().tolist()
    [3.0, 2.0]
    """
    x = _convert(tensor)
    if not compute_uv:
        return spectral.singular_values(x)
    return spectral.svd(x, full=bool(full_matrices))


_convert = tensor


@export("linalg.eigh")
def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return (w, v): eigenvalues, ascending, and orthonormal eigenvectors of Hermitian [..., m, m].

    Only the lower triangle is read.  w [..., m] has the dtype of the input.  InvalidArgumentError
    for matrices that are not square, for integers, and for NaN.

    >>> import talweg as tf
    >>> tf.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])[0].numpy().round(5).tolist()
    [1.0, 3.0]
    """
    x = _convert(tensor)
    w, v = spectral.eigh(x)
    return _as(w, x.dtype), v


@export("linalg.eigvalsh")
def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Compute the eigenvalues of Hermitian [..., m, m], ascending, [..., m]; see `tf.linalg.eigh`.

    >>> import talweg as tf
    >>> tf.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).numpy().round(5).tolist()
    [1.0, 3.0]
    """
    x = _convert(tensor)
    return _as(spectral.eigvalsh(x), x.dtype)


def _as(x: Tensor, dtype: object) -> Tensor:
    return x if x.dtype is dtype else cast(x, dtype=dtype)


@export("linalg.eig", "eig")
def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return (w, v): complex eigenvalues, in no order, and eigenvectors of length 1 of [..., m, m].

    InvalidArgumentError for matrices that are not square, for integers, and for NaN.

    >>> import talweg as tf
    >>> tf.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])[0].numpy().tolist()
    [1j, -1j]
    """
    return spectral.eig(_convert(tensor))


@export("linalg.eigvals", "eigvals")
def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the complex eigenvalues of [..., m, m], in no order, [..., m]; see `tf.linalg.eig`.

    >>> import talweg as tf
    >>> tf.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]]).numpy().tolist()
    [1j, -1j]
    """
    return spectral.eig(_convert(tensor))[0]


@export("linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: TensorLike | None = None,
    tol: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Return eigenvalues (and vectors) of Hermitian tridiagonal matrices, ascending.

    alpha [..., n]: the diagonal; beta [..., n - 1]: the superdiagonal.  select: "a" all, "i" those
    with index select_range[0] to select_range[1], "v" those in the interval select_range.  tol is
    accepted: all are computed to full accuracy.  ValueError for another select,
    InvalidArgumentError for shapes that do not fit or an empty range.

    >>> import talweg as tf
    >>> tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy().round(5).tolist()
    [1.0, 3.0]
    """
    alpha = tensor(alpha)
    beta = tensor(beta, hint=alpha.dtype)
    if select not in ("a", "i", "v"):
        raise value_error("TW207", f"eigh_tridiagonal: select={select!r}", "'a', 'i' or 'v'")
    size = alpha.dims[-1] if alpha.ndim else 0
    fits = not alpha.ndim or not dims_differ(beta.dims, (*alpha.dims[:-1], size - 1))
    if not alpha.ndim or not fits or beta.dtype != alpha.dtype:
        raise invalid(
            "TW204",
            f"eigh_tridiagonal: alpha has shape {alpha.dims} and beta has shape {beta.dims}",
            "one dtype, and one element less in beta",
        )
    beta = require_sizes(beta, beta.dims, (*alpha.dims[:-1], size - 1), "eigh_tridiagonal: beta")
    lower = conj(beta) if beta.dtype.is_complex else beta
    params = {"rows": size, "columns": size, "align": "RIGHT_LEFT"}
    x = matrix_diag(alpha, low=0, high=0, **params) + matrix_diag(lower, low=-1, high=-1, **params)
    if eigvals_only:
        w, v = spectral.eigvalsh(x), None
    else:
        w, v = spectral.eigh(x)
    start, stop = _select_range(w, select, select_range)
    if (start, stop) != (0, size):
        w, v = columns(w, start, stop), None if v is None else columns(v, start, stop)
    return w if v is None else (w, v)


def _select_range(w: Tensor, select: str, given: Any) -> tuple[int, int]:
    """Return the first and the last of the eigenvalues to compute."""
    if select == "a":
        return 0, w.dims[-1]
    if given is None:
        raise TypeError(str(value_error("TW104", "eigh_tridiagonal: select_range is None")))
    low, high = given
    if low > high:
        raise invalid("TW207", f"eigh_tridiagonal: select_range={given!r} is empty")
    if select == "i":
        low, high = integers(given, "eigh_tridiagonal", "select_range")
        return max(low, 0), min(high + 1, w.dims[-1])
    values = array_of(w)
    return int((values <= low).sum()), int((values <= high).sum())
