"""The rules of products, solutions, adjoints, inverses and Cholesky factors, by class.

The result is of the simplest class that holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.api.tensors import convert_to_tensor
from talweg.linear_operators.blocks import (
    LinearOperatorBlockDiag,
    LinearOperatorBlockLowerTriangular,
)
from talweg.linear_operators.circulant import _Circulant
from talweg.linear_operators.combined import (
    LinearOperatorAdjoint,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorKronecker,
)
from talweg.linear_operators.dense import (
    LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular,
)
from talweg.linear_operators.diagonal import LinearOperatorDiag, conj
from talweg.linear_operators.hints import of_commuting_product, of_product, same
from talweg.linear_operators.identities import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from talweg.linear_operators.operator import LinearOperator, rule
from talweg.linear_operators.structured import (
    LinearOperatorHouseholder,
    LinearOperatorPermutation,
)

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


# -- products


@rule("matmul", LinearOperator, LinearOperator)
def _composition(a: object, b: LinearOperatorDiag) -> Any:
    return LinearOperatorComposition([a, b], **of_product(a, b))


@rule("matmul", LinearOperatorIdentity, LinearOperator)
def _identity_first(a: object, b: object) -> Any:
    return b


@rule("matmul", LinearOperator, LinearOperatorIdentity)
def _identity_second(a: object, b: object) -> Any:
    return a


@rule("matmul", LinearOperatorIdentity, LinearOperatorIdentity)
def _identities(a: object, b: object) -> Any:
    return a


@rule("matmul", LinearOperatorZeros, LinearOperator)
@rule("matmul", LinearOperator, LinearOperatorZeros)
def _zeros(a: TensorLike, b: TensorLike) -> Any:
    if not a.is_square or not b.is_square:
        return LinearOperatorComposition([a, b], **of_product(a, b))
    return a if isinstance(a, LinearOperatorZeros) else b


@rule("matmul", LinearOperatorZeros, LinearOperatorIdentity)
@rule("matmul", LinearOperatorIdentity, LinearOperatorZeros)
@rule("matmul", LinearOperatorZeros, LinearOperatorZeros)
def _only_zeros(a: object, b: object) -> Any:
    return a if isinstance(a, LinearOperatorZeros) else b


@rule("matmul", LinearOperatorDiag, LinearOperatorDiag)
def _diagonals(a: TensorLike, b: TensorLike) -> Any:
    return LinearOperatorDiag(
        convert_to_tensor(a.diag) * convert_to_tensor(b.diag),
        **_real(of_commuting_product(a, b), a),
    )


def _real(hints: dict[str, Any], operator: Any) -> dict[str, Any]:
    """Return hints of a diagonal operator: a real one is self-adjoint, whatever followed."""
    if not operator.dtype.is_complex:
        hints["is_self_adjoint"] = True
    return hints


@rule("matmul", LinearOperatorScaledIdentity, LinearOperatorScaledIdentity)
def _multiply_scaled(a: TensorLike, b: TensorLike) -> Any:
    product = convert_to_tensor(a.multiplier) * convert_to_tensor(b.multiplier)
    return LinearOperatorScaledIdentity(a.num_rows, product, **_real(of_commuting_product(a, b), a))


@rule("matmul", LinearOperatorDiag, LinearOperatorScaledIdentity)
@rule("matmul", LinearOperatorScaledIdentity, LinearOperatorDiag)
def _multiply_scaled_diagonal(a: TensorLike, b: TensorLike) -> Any:
    diagonal, scaled = (a, b) if isinstance(a, LinearOperatorDiag) else (b, a)
    product = convert_to_tensor(diagonal.diag) * scaled._number(1)
    return LinearOperatorDiag(product, **_real(of_commuting_product(a, b), a))


@rule("matmul", LinearOperatorDiag, LinearOperatorLowerTriangular)
def _rows_scaled(a: TensorLike, b: TensorLike) -> Any:
    return LinearOperatorLowerTriangular(
        convert_to_tensor(a.diag)[..., None] * b.to_dense(),
        is_non_singular=of_product(a, b)["is_non_singular"],
    )


@rule("matmul", LinearOperatorLowerTriangular, LinearOperatorDiag)
def _columns_scaled(a: TensorLike, b: TensorLike) -> Any:
    return LinearOperatorLowerTriangular(
        a.to_dense() * convert_to_tensor(b.diag)[..., None, :],
        is_non_singular=of_product(a, b)["is_non_singular"],
    )


@rule("matmul", _Circulant, _Circulant)
def _circulants(a: Any, b: Any) -> Any:
    if type(a) is not type(b) or a.dtype is not b.dtype:
        return _composition(a, b)
    product = convert_to_tensor(a.spectrum) * convert_to_tensor(b.spectrum)
    hints = of_commuting_product(a, b)
    if not product.dtype.is_complex:
        hints["is_self_adjoint"] = True
    return type(a)(product, a.dtype, **hints)


@rule("matmul", LinearOperatorBlockDiag, LinearOperatorBlockDiag)
def _blocks(a: TensorLike, b: TensorLike) -> Any:
    pairs = list(zip(a.operators, b.operators))
    fit = len(a.operators) == len(b.operators) and all(
        x.domain_dimension is not None and x.domain_dimension == y.range_dimension for x, y in pairs
    )
    if not fit:
        return _composition(a, b)
    return LinearOperatorBlockDiag([x @ y for x, y in pairs], **of_product(a, b))


@rule("matmul", LinearOperatorKronecker, LinearOperatorKronecker)
def _kroneckers(a: TensorLike, b: TensorLike) -> Any:
    pairs = list(zip(a.operators, b.operators))
    fit = len(a.operators) == len(b.operators) and all(
        x.domain_dimension is not None and x.domain_dimension == y.range_dimension for x, y in pairs
    )
    if not fit:
        return _composition(a, b)
    return LinearOperatorKronecker([x @ y for x, y in pairs], **of_product(a, b))


# -- solutions


@rule("solve", LinearOperator, LinearOperator)
def _inverse_times(a: TensorLike, b: object) -> Any:
    inverse = a if isinstance(a, LinearOperatorIdentity) else a.inverse()
    return inverse.matmul(b)


# -- adjoints


@rule("adjoint", LinearOperator)
def _adjoint(a: LinearOperatorFullMatrix) -> Any:
    return LinearOperatorAdjoint(a, **same(a))


@rule("adjoint", LinearOperatorAdjoint)
def _adjoint_of_adjoint(a: TensorLike) -> Any:
    return a.operator


@rule("adjoint", LinearOperatorIdentity)
@rule("adjoint", LinearOperatorHouseholder)
def _self_adjoint(a: object) -> Any:
    return a


@rule("adjoint", LinearOperatorDiag)
def _adjoint_diagonal(a: TensorLike) -> Any:
    return LinearOperatorDiag(conj(convert_to_tensor(a.diag)), **same(a))


@rule("adjoint", LinearOperatorScaledIdentity)
def _adjoint_scaled(a: TensorLike) -> Any:
    return LinearOperatorScaledIdentity(
        a.num_rows, conj(convert_to_tensor(a.multiplier)), **same(a)
    )


@rule("adjoint", _Circulant)
def _adjoint_circulant(a: Any) -> Any:
    return type(a)(conj(convert_to_tensor(a.spectrum)), a.dtype, **same(a))


@rule("adjoint", LinearOperatorBlockDiag)
def _adjoint_blocks(a: TensorLike) -> Any:
    return LinearOperatorBlockDiag([o.adjoint() for o in a.operators], **same(a))


@rule("adjoint", LinearOperatorKronecker)
def _adjoint_kronecker(a: TensorLike) -> Any:
    return LinearOperatorKronecker([o.adjoint() for o in a.operators], **same(a))


@rule("adjoint", LinearOperatorPermutation)
def _adjoint_permutation(a: TensorLike) -> Any:
    return LinearOperatorPermutation(a._places(inverse=True), a.dtype, **same(a))


# -- inverses


@rule("inverse", LinearOperator)
def _inverse(a: LinearOperatorFullMatrix) -> Any:
    return LinearOperatorInversion(a, **_invert(a))


def _invert(a: object) -> dict[str, Any]:
    return {**same(a), "is_non_singular": True, "is_square": True}


@rule("inverse", LinearOperatorInversion)
def _inverse_of_inverse(a: TensorLike) -> Any:
    return a.operator


@rule("inverse", LinearOperatorIdentity)
@rule("inverse", LinearOperatorHouseholder)
def _self_inverse(a: object) -> Any:
    return a


@rule("inverse", LinearOperatorDiag)
def _inverse_diagonal(a: LinearOperatorDiag) -> Any:
    return LinearOperatorDiag(1 / convert_to_tensor(a.diag), **_invert(a))


@rule("inverse", LinearOperatorScaledIdentity)
def _inverse_scaled(a: TensorLike) -> Any:
    return LinearOperatorScaledIdentity(
        a.num_rows, 1 / convert_to_tensor(a.multiplier), **_invert(a)
    )


@rule("inverse", _Circulant)
def _inverse_circulant(a: Any) -> Any:
    return type(a)(1 / convert_to_tensor(a.spectrum), a.dtype, **_invert(a))


@rule("inverse", LinearOperatorBlockDiag)
def _inverse_blocks(a: TensorLike) -> Any:
    return LinearOperatorBlockDiag([o.inverse() for o in a.operators], **_invert(a))


@rule("inverse", LinearOperatorKronecker)
def _inverse_kronecker(a: TensorLike) -> Any:
    return LinearOperatorKronecker([o.inverse() for o in a.operators], **_invert(a))


@rule("inverse", LinearOperatorPermutation)
def _inverse_permutation(a: TensorLike) -> Any:
    return LinearOperatorPermutation(a._places(inverse=True), a.dtype, **_invert(a))


@rule("inverse", LinearOperatorBlockLowerTriangular)
def _inverse_triangular_blocks(a: TensorLike) -> Any:
    if len(a.operators) == 1:
        return LinearOperatorBlockLowerTriangular([[a.operators[0][0].inverse()]], **_invert(a))
    count = len(a.operators)
    blocks: list[list[Any]] = []
    for row_number in range(count):
        own = a.operators[row_number][-1].inverse()
        row = []
        for column in range(row_number):
            terms = [
                a.operators[row_number][n].matmul(blocks[n][column]).to_dense()
                for n in range(column, row_number)
            ]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            row.append(LinearOperatorFullMatrix(-own.matmul(total)))
        blocks.append([*row, own])
    return LinearOperatorBlockLowerTriangular(blocks, **_invert(a))


# -- Cholesky factors


@rule("cholesky", LinearOperator)
def _cholesky(a: TensorLike) -> Any:
    return LinearOperatorLowerTriangular(
        look_up("linalg.cholesky")(a.to_dense()),
        is_non_singular=True,
        is_self_adjoint=False,
        is_square=True,
    )


@rule("cholesky", LinearOperatorIdentity)
def _cholesky_identity(a: TensorLike) -> Any:
    return LinearOperatorIdentity(a.num_rows, batch_shape=a.batch_shape_arg, dtype=a.dtype)


@rule("cholesky", LinearOperatorDiag)
def _cholesky_diagonal(a: TensorLike) -> Any:
    return LinearOperatorDiag(
        look_up("sqrt")(convert_to_tensor(a.diag)),
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
    )


@rule("cholesky", LinearOperatorScaledIdentity)
def _cholesky_scaled(a: TensorLike) -> Any:
    return LinearOperatorScaledIdentity(
        a.num_rows, look_up("sqrt")(convert_to_tensor(a.multiplier)), **_invert(a)
    )


@rule("cholesky", LinearOperatorBlockDiag)
def _cholesky_blocks(a: TensorLike) -> Any:
    return LinearOperatorBlockDiag(
        [o.cholesky() for o in a.operators], is_non_singular=True, is_square=True
    )


@rule("cholesky", LinearOperatorKronecker)
def _cholesky_kronecker(a: TensorLike) -> Any:
    return LinearOperatorKronecker(
        [o.cholesky() for o in a.operators], is_non_singular=True, is_square=True
    )
