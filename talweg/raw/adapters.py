"""Operations that no public function does as it stands; `table.txt` calls them `own.*`.  Gradients
are in `gradients.py`.
"""

from __future__ import annotations

import math
import string
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integers, tensor
from talweg.api.array import counting, gathering, rearranging, scattering, shapes, sorting
from talweg.api.array.creating import zeros
from talweg.api.export import look_up
from talweg.api.linalg import banded, decompositions, diagonals, products
from talweg.api.linalg import einsum as sums
from talweg.api.math import comparison
from talweg.api.nn import loss, normalization
from talweg.api.tensors import cast
from talweg.core import dtypes
from talweg.core.errors import InvalidArgumentError, invalid, value_error
from talweg.eager.custom import custom_gradient
from talweg.eager.operators import matching_tensors
from talweg.eager.tensor import array_of, wrap
from talweg.prims import arithmetic, layout, rounding, special
from talweg.prims.nn import activations
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.value import Tensor


# -- arithmetic, comparison, bits


def div(x: Tensor, y: Tensor) -> Any:
    """Compute x / y; integers are rounded toward zero."""
    x, y = matching_tensors(x, y)
    return (rounding.truncate_div if x.dtype in dtypes.INTEGER else arithmetic.div)(x, y)


def igamma_grad_a(a: Tensor, x: Tensor) -> Any:
    """Return the derivative of the lower incomplete gamma function by a."""
    a, x = matching_tensors(a, x)
    a, x = a + arithmetic.zero_like(x), x + arithmetic.zero_like(a)
    return special.igamma_by_a(a, x, order=1)


def approximate_equal(x: Tensor, y: Tensor, tolerance: float) -> Any:
    """Test |x - y| < tolerance, for equal shapes."""
    x, y = matching_tensors(x, y)
    if x.dims != y.dims:
        raise invalid(
            "TW204", f"ApproximateEqual: x has shape {x.dims}, y {y.dims}", "equal shapes"
        )
    return comparison.less(arithmetic.abs_(x - y), tensor(tolerance, x.dtype))


def equal(x: Tensor, y: Tensor, strict: bool) -> Any:
    """Test x = y; False for shapes that do not broadcast, if that is no error."""
    try:
        return comparison.equal(x, y)
    except InvalidArgumentError:
        if strict or tensor(x).dtype is not tensor(y).dtype:
            raise
        return wrap(np.bool_(False))


def not_equal(x: Tensor, y: Tensor, strict: bool) -> Any:
    """Test x ≠ y; True for shapes that do not broadcast, if that is no error."""
    return comparison.logical_not(equal(x, y, strict))


def population_count(x: Tensor) -> Any:
    """Return the number of bits that are 1 in each integer, uint8."""
    x = tensor(x)
    if x.dtype not in dtypes.INTEGER:
        raise invalid("TW102", f"PopulationCount: x has dtype {x.dtype.name}", "integers")
    array = np.asarray(array_of(x))
    return wrap(np.bitwise_count(array.view(f"u{array.dtype.itemsize}")).astype(np.uint8))


def to_bool(input: Tensor) -> Any:
    """Return whether a scalar is not zero (or not empty text), or a tensor has elements."""
    x = tensor(input)
    if x.ndim:
        return wrap(np.bool_(bool(np.prod(x.dims))))
    if x.dtype is dtypes.string:
        return wrap(np.bool_(bool(array_of(x)[()])))
    return cast(x, dtypes.bool_)


def prevent_gradient(input: Tensor, message: str) -> Any:
    """Return `input`, through which no gradient may be asked: LookupError."""

    @custom_gradient
    def identity(x: Tensor) -> tuple:
        def refuse(g: Tensor) -> Any:
            raise LookupError(f"Gradient explicitly disabled. Reason: {message!r}")

        return layout.reshape(x, shape=x.dims), refuse

    return identity(tensor(input))


# -- counting, sorting, searching


def bincount(arr: Any, size: Any, weights: Tensor) -> Any:
    """Count each number below `size`, or sum its weights."""
    return dense_bincount(shapes.reshape(arr, [-1]), size, weights, False)


def dense_bincount(input: Tensor, size: Any, weights: Tensor, binary_output: bool) -> Any:
    """Compute `bincount` of a vector, or of each row of a matrix."""
    x, weights = tensor(input), tensor(weights)
    options: dict[str, Any] = {"minlength": size, "maxlength": size, "dtype": weights.dtype}
    if x.ndim == 2:
        options["axis"] = -1
    given = None if 0 in weights.dims else layout.reshape(weights, shape=x.dims)
    return counting.bincount(x, given, binary_output=binary_output, **options)


def bucketize(input: Tensor, boundaries: Any) -> Any:
    """Return the number of boundaries at or below each element, int32."""
    edges = np.asarray(list(boundaries), dtype=np.float32)
    if (np.diff(edges) < 0).any():
        raise invalid("TW207", f"Bucketize: boundaries={list(boundaries)} are not sorted")
    x = tensor(input)
    if x.dtype not in (dtypes.float32, dtypes.float64):
        x = cast(x, dtypes.float64)  # which holds every boundary, and the numbers beside them
    flat = shapes.reshape(x, [-1])
    found = sorting.searchsorted(edges.astype(x.dtype.numpy_dtype), flat, side="right")
    return shapes.reshape(found, shapes.shape(x))


def list_diff(x: Tensor, y: Tensor, out_idx: DTypeLike) -> tuple:
    """Return (the elements of the vector x that are not in y, their places in x)."""
    x, y = matching_tensors(x, y)
    keep = np.flatnonzero(~np.isin(array_of(x), array_of(y)))
    places = wrap(keep.astype(dtypes.as_dtype(out_idx).numpy_dtype))
    return gathering.gather(x, places), places


def nth_element(input: Tensor, n: Any, reverse: bool) -> Any:
    """Return the n-th smallest (or largest) element of each row."""
    x, place = tensor(input), integers(n, "NthElement", "n")[0]
    if not x.ndim or not 0 <= place < x.dims[-1]:
        raise invalid("TW206", f"NthElement: n={place} for rows of shape {x.dims[-1:]}")
    ordered = sorting.sort(x, direction="DESCENDING" if reverse else "ASCENDING")
    return gathering.gather(ordered, place, axis=-1)


# -- shapes and rearrangement


def batch_to_space(input: Tensor, crops: Any, block_size: int) -> Any:
    """Compute `tf.batch_to_space` with square blocks of the axes 1 and 2."""
    return rearranging.batch_to_space(input, [block_size, block_size], crops)


def space_to_batch(input: Tensor, paddings: Any, block_size: int) -> Any:
    """Compute `tf.space_to_batch` with square blocks of the axes 1 and 2."""
    return rearranging.space_to_batch(input, [block_size, block_size], paddings)


def broadcast_gradient_args(s0: Any, s1: Any) -> tuple:
    """Return the axes over which a gradient is summed back to the shapes s0 and s1."""
    first, second = (integers(s, "BroadcastGradientArgs", "s") for s in (s0, s1))
    rank = max(len(first), len(second))
    left, right = ((1,) * (rank - len(s)) + tuple(s) for s in (first, second))
    dtype = tensor(s0).dtype.numpy_dtype
    axes: list[list[int]] = [[], []]
    for axis, (a, b) in enumerate(zip(left, right)):
        if a != b and 1 not in (a, b):
            raise invalid("TW201", f"BroadcastGradientArgs: {first} and {second} do not broadcast")
        if a == 1 and first != second:
            axes[0].append(axis)
        if b == 1 and first != second:
            axes[1].append(axis)
    return tuple(wrap(np.array(found, dtype=dtype)) for found in axes)


def concat_offset(concat_dim: Any, shape: Any) -> list:
    """Compute the offset of each of the tensors of these shapes in their concatenation."""
    axis = integers(concat_dim, "ConcatOffset", "concat_dim")[0]
    parts = [np.asarray(array_of(tensor(part))) for part in shape]
    first = parts[0]
    if first.ndim != 1 or any(dims.shape != first.shape for dims in parts):
        shapes_ = [list(dims.shape) for dims in parts]
        raise invalid("TW204", f"ConcatOffset: shapes have shapes {shapes_}", "vectors of one size")
    if not -first.size <= axis < first.size:
        raise invalid("TW203", f"ConcatOffset: concat_dim={axis} for rank {first.size}")
    others = [np.delete(dims, axis).tolist() for dims in parts]
    if any(dims != others[0] for dims in others):
        raise invalid(
            "TW204",
            f"ConcatOffset: shapes {[dims.tolist() for dims in parts]} differ along other axes "
            f"than {axis}",
        )
    offset, offsets = 0, []
    for dims in parts:
        begin = np.zeros_like(dims)
        begin[axis] = offset
        offset += dims[axis]
        offsets.append(wrap(begin))
    return offsets


def _places(function: str, source: str, target: str) -> list[int]:
    if sorted(source) != sorted(target):
        raise invalid("TW207", f"{function}: src_format={source!r}, dst_format={target!r}")
    return [source.index(letter) for letter in target]


def data_format_dim_map(x: Tensor, src_format: str, dst_format: str) -> Any:
    """Map each axis of the one layout to its place in the other."""
    x = tensor(x)
    _places("DataFormatDimMap", src_format, dst_format)
    table = np.array([dst_format.index(letter) for letter in src_format], x.dtype.numpy_dtype)
    axes = np.asarray(array_of(x))
    if ((axes < -table.size) | (axes >= table.size)).any():
        raise invalid("TW206", f"DataFormatDimMap: x={axes.tolist()} for {table.size} axes")
    return wrap(table[axes])


def data_format_permute(x: Tensor, src_format: str, dst_format: str) -> Any:
    """Return a vector of one entry per axis (or a matrix of one row)
    in the order of another layout.
    """
    x = tensor(x)
    places = _places("DataFormatVecPermute", src_format, dst_format)
    if x.dims[0] == len(places) - 2:  # without the batch and channel axes
        letters = [letter for letter in src_format if letter not in "NC"]
        places = [letters.index(letter) for letter in dst_format if letter not in "NC"]
    return gathering.gather(x, places)


def inplace_update(x: Tensor, i: Any, v: Any) -> Any:
    """Return a copy of x with the rows i replaced by v."""
    x, rows = tensor(x), np.asarray(array_of(tensor(i))).reshape(-1, 1)
    return scattering.tensor_scatter_nd_update(x, rows, v)


def inplace_add(x: Tensor, i: Any, v: Any) -> Any:
    """Return a copy of x with v added to the rows i."""
    x, rows = tensor(x), np.asarray(array_of(tensor(i))).reshape(-1, 1)
    return scattering.tensor_scatter_nd_add(x, rows, v)


def inplace_sub(x: Tensor, i: Any, v: Any) -> Any:
    """Return a copy of x with v subtracted from the rows i."""
    x, rows = tensor(x), np.asarray(array_of(tensor(i))).reshape(-1, 1)
    return scattering.tensor_scatter_nd_sub(x, rows, v)


def reverse_flags(tensor: Tensor, dims: Any) -> Any:
    """Compute `tf.reverse` along the axes whose flag is true."""
    flags = np.asarray(dims.numpy() if hasattr(dims, "numpy") else dims, dtype=bool)
    return rearranging.reverse(tensor, np.flatnonzero(flags).tolist())


def squeeze(input: TensorLike, axis: Any) -> Any:
    """Compute `tf.squeeze`; no axes mean all of size 1."""
    return shapes.squeeze(input, list(axis) or None)


# -- linear algebra


def matmul(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Any:
    """Return the product of two matrices; InvalidArgumentError for any other rank."""
    a, b = matching_tensors(a, b)
    for x, name in ((a, "a"), (b, "b")):
        if x.ndim != 2:
            raise invalid("TW203", f"MatMul: {name} has shape {x.dims}", "rank 2")
    return products.matmul(a, b, transpose_a, transpose_b)


def batch_matmul(
    x: Tensor, y: Tensor, adj_x: bool, adj_y: bool, dtype: DTypeLike | None = None
) -> Any:
    """Return the products of matrices, each replaced by its adjoint if asked."""
    return products.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, output_type=dtype)


def einsum(inputs: Tensor, equation: str) -> Any:
    """Compute `tf.einsum` of listed operands; a label twice in the result gives a diagonal."""
    given, _, result = equation.replace(" ", "").partition("->")
    free = iter(sorted(set(string.ascii_letters) - set(equation)))
    operands, labels = list(inputs), ""
    for label in result:
        if label in labels and label != ".":
            place = next(n for n, part in enumerate(given.split(",")) if label in part)
            size = tensor(inputs[place]).dims[given.split(",")[place].index(label)]
            operands.append(look_up("eye")(size, dtype=tensor(inputs[0]).dtype))
            other = next(free)
            given, label = f"{given},{label}{other}", other
        labels += label
    return sums.einsum(f"{given}->{labels}" if "->" in equation else equation, *operands)


def _nothing(dtype: DTypeLike) -> Any:
    return zeros([0], dtype)


def svd(input: Tensor, compute_uv: bool, full_matrices: bool) -> tuple:
    """Compute (s, u, v); u and v are empty if they are not computed."""
    if compute_uv:
        return decompositions.svd(input, full_matrices)
    s = decompositions.svd(input, full_matrices, False)
    dtype = tensor(input).dtype
    return s, _nothing(dtype), _nothing(dtype)


def self_adjoint_eig(input: Tensor, compute_v: bool) -> tuple:
    """Compute (eigenvalues, in the dtype of the input; eigenvectors, empty if they are not
    computed).
    """
    x = tensor(input)
    if compute_v:
        e, v = decompositions.eigh(x)
    else:
        e, v = decompositions.eigvalsh(x), _nothing(x.dtype)
    return cast(e, x.dtype), v


def eig(input: Tensor, compute_v: bool, dtype: DTypeLike) -> tuple:
    """Compute (eigenvalues, eigenvectors, which are empty if they are not computed), in a complex
    dtype.
    """
    if compute_v:
        e, v = decompositions.eig(input)
        return cast(e, dtype), cast(v, dtype)
    return cast(decompositions.eigvals(input), dtype), _nothing(dtype)


def diag(diagonal: Any, k: Any, rows: Any, columns: Any, padding_value: Any, align: str) -> Any:
    """Compute `tf.linalg.diag`."""
    return diagonals.diag(
        diagonal, k=k, num_rows=rows, num_cols=columns, padding_value=padding_value, align=align
    )


def diag_part(input: Tensor, k: Any, padding_value: Any, align: str) -> Any:
    """Compute `tf.linalg.diag_part`."""
    return diagonals.diag_part(input, k=k, padding_value=padding_value, align=align)


def set_diag(input: Tensor, diagonal: Any, k: Any, align: str) -> Any:
    """Compute `tf.linalg.set_diag`."""
    return diagonals.set_diag(input, diagonal, k=k, align=align)


def tridiagonal_matmul(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Tensor) -> Any:
    """Return the product of a tridiagonal matrix;
    each diagonal is [..., 1, m], as in TensorFlow.
    """
    lines = [
        layout.reshape(x, shape=(*x.dims[:-2], x.dims[-1]))
        for x in map(tensor, (superdiag, maindiag, subdiag))
    ]
    return banded.tridiagonal_matmul(lines, rhs, "sequence")


def tridiagonal_solve(diagonals: Any, rhs: Tensor, partial_pivoting: bool) -> Any:
    """Compute `tf.linalg.tridiagonal_solve` with compact diagonals [..., 3, m]."""
    return banded.tridiagonal_solve(diagonals, rhs, partial_pivoting=partial_pivoting)


# -- networks


def batch_norm(
    x: Tensor,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float,
    factor: float,
    data_format: str,
    training: bool,
    reserves: int,
) -> tuple:
    """Batch normalisation of [b, ..., c] (or [b, c, ...]) and its moments.

    In training the moments are those of x, and the running ones move by `factor`, whose variance is
    the unbiased one; else they are given.
    """
    given_x = tensor(x)
    x = loss.precise(given_x)
    axes, spread = channel_axes(x, data_format)
    given = [tensor(value, hint=dtypes.float32) for value in (mean, variance)]
    if training:
        center, width = normalization.moments(x, axes)
        running = [
            center,
            width * _bessel_factor(math.prod([x.dims[axis] for axis in axes]), x.dtype),
        ]
        if factor != 1:
            running = [old * (1 - factor) + new * factor for old, new in zip(given, running)]
    else:
        (center, width), running = given, given
    parts = [layout.reshape(tensor(part), shape=spread) for part in (center, width, offset, scale)]
    center_, width_, offset_, scale_ = parts
    y = normalization.batch_normalization(x, center_, width_, offset_, scale_, epsilon)
    rest = [center, width, tensor(0.0)][:reserves]
    return (arithmetic.cast(y, dtype=given_x.dtype), *running, *rest)


def channel_axes(x: Tensor, data_format: str) -> tuple[list, tuple]:
    """Return (the axes of x that are no channels, the shape in which numbers of channels lie along
    x).
    """
    channel = 1 if data_format.startswith("NC") else x.ndim - 1
    axes = [axis for axis in range(x.ndim) if axis != channel]
    return axes, tuple(size if axis == channel else 1 for axis, size in enumerate(x.dims))


def _bessel_factor(count: Any, dtype: DTypeLike) -> Any:
    """Compute Bessel's correction of a sample's variance, count / (count - 1); 1 for one
    number.
    """
    if type(count) is int:
        return count / max(count - 1, 1)
    count = as_factor(count, dtype)
    return count / arithmetic.maximum(count - 1.0, 1.0)


def softmax_cross_entropy(features: Tensor, labels: Tensor) -> tuple:
    """Compute (cross entropy of each row, softmax(features) - labels)."""
    features, labels = matching_tensors(features, labels)
    if features.shape.rank not in (None, 2) or labels.shape.rank not in (None, 2):
        raise invalid(
            "TW203",
            f"logits and labels have shapes {features.shape} and {labels.shape}",
            "[batch, classes]",
        )
    gap = activations.softmax(features, axis=features.ndim - 1) - labels
    return loss.softmax_cross_entropy_with_logits(labels, features), gap


def sparse_softmax_cross_entropy(features: Tensor, labels: Tensor) -> tuple:
    """Compute (cross entropy of each row, softmax(features) - one_hot(labels))."""
    features, labels = tensor(features), tensor(labels)
    if features.shape.rank not in (None, 2):
        raise invalid("TW203", f"logits must be 2-D, but got shape {features.shape}")
    values = loss.sparse_softmax_cross_entropy_with_logits(labels, features)
    one_hot = look_up("one_hot")(labels, features.dims[-1], dtype=features.dtype)
    return values, activations.softmax(features, axis=features.ndim - 1) - one_hot


def search_rows(sorted_inputs: Any, values: Tensor, side: str, out_type: DTypeLike) -> Any:
    """Compute `tf.searchsorted` in the rows of a matrix."""
    x, v = tensor(sorted_inputs), tensor(values)
    if x.shape.rank not in (None, 2) or v.shape.rank not in (None, 2):
        raise invalid(
            "TW203",
            f"sorted_inputs and values have shapes {x.shape} and {v.shape}",
            "two matrices with as many rows",
        )
    return sorting.searchsorted(x, v, side, out_type)


# -- random numbers


def stateless(kind: str, shape: ShapeLike, seed: Any, dtype: DTypeLike) -> Any:
    """Compute `tf.random.stateless_<kind>` with standard parameters."""
    return look_up(f"random.stateless_{kind}")(shape, seed, dtype=dtype)


def stateless_integers(shape: ShapeLike, seed: Any, minval: Any, maxval: Any) -> Any:
    """Draw integers from minval up to, not including, maxval."""
    low, high = matching_tensors(minval, maxval)
    if low.dtype not in dtypes.INTEGER:
        raise value_error("TW102", f"minval has dtype {low.dtype.name}", "integers")
    return look_up("random.stateless_uniform")(shape, seed, low, high, low.dtype)


def stateless_gamma(shape: ShapeLike, seed: Any, alpha: Any) -> Any:
    """Compute `tf.random.stateless_gamma` in alpha's dtype."""
    alpha = tensor(alpha)
    return look_up("random.stateless_gamma")(shape, seed, alpha, dtype=alpha.dtype)
