"""tf.linalg: tridiagonal and banded matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.passing import identity
from talweg.api.debugging.assertions import assert_none_equal
from talweg.api.export import export
from talweg.api.linalg.operands import matching
from talweg.api.scopes import control_dependencies
from talweg.core.dims import differ, dims_differ, same
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.tensor import EagerTensor
from talweg.kernels.linalg import singular
from talweg.prims.arithmetic import zeros_of
from talweg.prims.complex import conj
from talweg.prims.layout import concat, reshape, strided_slice, transpose
from talweg.prims.linalg import matrix_functions, systems
from talweg.prims.linalg.diagonal import matrix_diag, matrix_diag_part

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _compact(diagonals: object, diagonals_format: str, function: str, pad: bool) -> Tensor:
    """Convert three diagonals in any of the formats to [..., 3, m]."""
    if diagonals_format == "compact":
        return tensor(diagonals)
    if diagonals_format == "matrix":
        return matrix_diag_part(tensor(diagonals), low=-1, high=1, align="LEFT_RIGHT")
    if diagonals_format != "sequence":
        raise value_error(
            "TW207",
            f"{function}: Unrecognized diagonals_format: {diagonals_format}",
            "'compact', 'sequence' or 'matrix'",
        )
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise value_error("TW207", f"{function}: a sequence of 3 diagonals is needed")
    upper, middle, lower = (tensor(d) for d in diagonals)
    size = middle.dims[-1]
    if pad and same(upper.dims[-1], size - 1):
        upper = _with_zero(upper, after=True)
    if pad and same(lower.dims[-1], size - 1):
        lower = _with_zero(lower, after=False)
    for argument, d in (("superdiagonal", upper), ("subdiagonal", lower)):
        if dims_differ(d.dims, middle.dims):
            raise invalid(
                "TW204", f"{function}: the {argument} has shape {d.dims}", f"shape {middle.dims}"
            )
    shape = (*middle.dims[:-1], 1, size)
    text = f"{function}: a diagonal beside the main one"
    others = [require_sizes(d, d.dims, middle.dims, text) for d in (upper, lower)]
    rows = [reshape(d, shape=shape) for d in (others[0], middle, others[1])]
    return concat(*rows, axis=len(shape) - 2)


def _with_zero(d: Tensor, after: bool) -> Tensor:
    lead = d.dims[:-1]
    if same(d.dims[-1], 0):
        return reshape(zeros_of(tensor([0] * 1, d.dtype)), shape=(*lead, 1))
    first = strided_slice(d, begin=(0,) * d.ndim, end=(*lead, 1), strides=(1,) * d.ndim)
    zero = zeros_of(first)
    return concat(*((d, zero) if after else (zero, d)), axis=d.ndim - 1)


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Return x with a x = rhs for tridiagonal a.   rhs [..., m] or [..., m, k], the result alike.

    diagonals: [..., 3, m] ("compact": superdiagonal, diagonal, subdiagonal; the last element of the
    first and the first of the last are not read), three tensors ("sequence"), or [..., m, m]
    ("matrix").  transpose_rhs, conjugate_rhs act on rhs beforehand.  Pivoting is always used; a
    singular matrix gives NaN.  ValueError for shapes that do not fit.

    >>> import talweg as tf
    >>> diagonals = [[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]]
    >>> tf.linalg.tridiagonal_solve(diagonals, [3.0, 3.0]).numpy().tolist()
    [1.0, 1.0]
    """
    if perturb_singular and not partial_pivoting:
        raise value_error("TW207", "partial_pivoting must be True if perturb_singular is.")
    d = _compact(diagonals, diagonals_format, "tridiagonal_solve", pad=True)
    b = tensor(rhs, hint=d.dtype)
    if b.ndim not in (d.ndim - 1, d.ndim):
        raise value_error(
            "TW203",
            f"tridiagonal_solve: rhs has rank {b.ndim}",
            f"rank {d.ndim - 1} or {d.ndim}, for diagonals of shape {d.dims}",
        )
    vector = b.ndim == d.ndim - 1
    if vector:
        b = reshape(b, shape=(*b.dims, 1))
    elif transpose_rhs:
        b = transpose(b, perm=(*range(b.ndim - 2), b.ndim - 1, b.ndim - 2))
    if conjugate_rhs and b.dtype.is_complex:
        b = conj(b)
    if differ(b.dims[-2], d.dims[-1]):
        raise value_error(
            "TW204",
            f"tridiagonal_solve: {d.dims[-1]} equations and right-hand sides of {b.dims[-2]} rows",
        )
    b = require_sizes(b, b.dims[-2:-1], d.dims[-1:], "tridiagonal_solve: rows of right-hand sides")
    z = matrix_functions.tridiagonal_solve(d, b)
    return reshape(z, shape=z.dims[:-1]) if vector else z


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: TensorLike, rhs: object, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Compute the product of a tridiagonal matrix and rhs [..., m, k]; diagonals as in
    tridiagonal_solve.

    InvalidArgumentError for shapes that do not fit.

    >>> import talweg as tf
    >>> d = [[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]]
    >>> tf.linalg.tridiagonal_matmul(d, [[1.0], [1.0]]).numpy().tolist()
    [[3.0], [3.0]]
    """
    d = _compact(diagonals, diagonals_format, "tridiagonal_matmul", pad=False)
    b = tensor(rhs, hint=d.dtype)
    if dims_differ((*d.dims[:-2], d.dims[-1]), b.dims[:-1]):
        raise invalid(
            "TW204",
            f"tridiagonal_matmul: diagonals have shape {d.dims} and rhs has shape {b.dims}",
            "shapes [..., 3, m] and [..., m, k]",
        )
    rows = (*d.dims[:-2], d.dims[-1])
    b = require_sizes(b, b.dims[:-1], rows, "tridiagonal_matmul: rows of rhs")
    return matrix_functions.tridiagonal_product(d, b)


@export("linalg.banded_triangular_solve")
def banded_triangular_solve(
    bands: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return x with a x = rhs (or aᴴ x = rhs) for triangular a with few diagonals.

    bands [..., k, m]: the main diagonal first and then the subdiagonals, right-aligned (lower); or
    the superdiagonals, left-aligned, and the main diagonal last.  rhs [..., m, n] -> [..., m, n],
    leading axes broadcast.  InvalidArgumentError for a zero on the main diagonal and shapes that
    do not fit.

    >>> import talweg as tf
    >>> tf.linalg.banded_triangular_solve([[2.0, 1.0], [0.0, 1.0]], [[2.0], [2.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    a, b = matching(bands, rhs)
    if a.ndim < 2 or b.ndim < 2 or differ(a.dims[-1], b.dims[-2]):
        raise invalid(
            "TW204",
            f"banded_triangular_solve: bands have shape {a.dims} and rhs has shape {b.dims}",
            "shapes [..., k, m] and [..., m, n]",
        )
    count, size = a.dims[-2:]
    if count > size:  # further diagonals are outside the matrix
        start = 0 if lower else count - size
        lead = a.dims[:-2]
        a = strided_slice(
            a,
            begin=(*(0,) * len(lead), start, 0),
            end=(*lead, start + size, size),
            strides=(1,) * a.ndim,
        )
        count = size
    if type(a) is not EagerTensor:
        main = a[..., 0 if lower else -1, :]
        check = assert_none_equal(main, zeros_of(main), message="banded_triangular_solve: singular")
        with control_dependencies([check]):
            a = identity(a)
    elif not a._array[..., 0 if lower else -1, :].all():
        raise singular("banded_triangular_solve")
    low, high = (1 - count, 0) if lower else (0, count - 1)
    if low == high:
        a = reshape(a, shape=(*a.dims[:-2], size))
    dense = matrix_diag(a, low=low, high=high, rows=size, columns=size, align="LEFT_RIGHT")
    return systems.triangular_solve(dense, b, lower=bool(lower), adjoint=bool(adjoint))
