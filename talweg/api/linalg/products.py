"""tf.matmul, tf.linalg.matvec and tf.tensordot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integers, require_sizes, tensor
from talweg.api.export import export
from talweg.api.linalg.contraction import MOST_PROGRAMS, ContractionProgram, program_of
from talweg.api.linalg.operands import pair
from talweg.core import dispatch
from talweg.core.dims import differ
from talweg.core.dtypes import as_dtype, bfloat16, float32, int8, int16, uint8
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.tensor import EagerTensor, wrap
from talweg.eager.variable import Variable
from talweg.execute.call import run
from talweg.prims.arithmetic import cast
from talweg.prims.contract import adjoint
from talweg.prims.contract import matmul as product
from talweg.prims.layout import reshape, transpose

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike

_STATE = dispatch.state
_PROGRAMS: dict[tuple, ContractionProgram] = {}  # of tensordot, by axes, shapes and dtypes
_FAST = frozenset(np.dtype(name) for name in ("f4", "f8", "c8", "c16"))


@export("matmul", "linalg.matmul")
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the product of the matrices in the last two axes of a and b.

    a [..., m, k], b [..., k, n] -> [..., m, n]; leading axes broadcast.  a, b: one numeric dtype.
    transpose_a, adjoint_a, ...: multiply with the (conjugate) transpose.  output_type: the dtype to
    multiply in.  a_is_sparse, b_is_sparse, grad_a, grad_b change nothing about the value.

    InvalidArgumentError for ranks below 2, sizes or dtypes that do not fit; ValueError for both a
    transpose and an adjoint of one operand.

    >>> import talweg as tf
    >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
    <tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[11.]], dtype=float32)>
    """
    if type(a) is Variable:
        a = a.value()
    if type(b) is Variable:
        b = b.value()
    if (
        type(a) is EagerTensor
        and type(b) is EagerTensor
        and not (adjoint_a or adjoint_b or output_type or a_is_sparse or b_is_sparse)
        and not _STATE.meshes
    ):
        x, y = a._array, b._array
        if not (transpose_a or transpose_b):
            if x.dtype is y.dtype and x.dtype in _FAST:
                return a @ b
        elif x.dtype is y.dtype and x.ndim == 2 == y.ndim and x.dtype in _FAST and not _STATE.busy:
            try:
                return wrap(run((x.T if transpose_a else x).dot, y.T if transpose_b else y))
            except Exception:  # noqa: BLE001 -- the general path reports it
                pass
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        which = "a" if transpose_a and adjoint_a else "b"
        raise value_error(
            "TW207", f"matmul: only one of transpose_{which} and adjoint_{which} can be True"
        )
    a, b = pair(a, b)
    if a_is_sparse or b_is_sparse:
        a, b = _dense_pair(a, b)
    if output_type is None:
        _refuse_narrow(a, b)
    else:
        a, b = (_as(x, as_dtype(output_type)) for x in (a, b))
    return product(
        _transpose(a, transpose_a, adjoint_a, "a"), _transpose(b, transpose_b, adjoint_b, "b")
    )


def _refuse_narrow(a: Tensor, b: Tensor) -> None:
    for name, x in (("a", a), ("b", b)):
        if x.dtype in (int8, int16):
            raise invalid(
                "TW102",
                f"matmul: {name} has dtype {x.dtype.name}, in which sums would overflow",
                "int32, int64 or a wider dtype",
                "tf.matmul(a, b, output_type=tf.int32)",
            )


def _dense_pair(a: Tensor, b: Tensor) -> tuple:
    """Convert mixed float32 and bfloat16 matrices, where one is said to be sparse, to one
    dtype.
    """
    if not {a.dtype, b.dtype} <= {float32, bfloat16}:
        return a, b
    for name, x in (("a", a), ("b", b)):
        if x.ndim != 2:
            raise invalid(
                "TW203", f"matmul: {name} has shape {x.dims} and one operand is sparse", "matrices"
            )
    return _as(a, float32), _as(b, float32)


def _as(x: Tensor, dtype: object) -> Tensor:
    return x if x.dtype is dtype else cast(x, dtype=dtype)


def _transpose(x: Tensor, transposed: bool, adjointed: bool, argument: str) -> Tensor:
    if not (transposed or adjointed):
        return x
    rank = x.ndim
    if rank < 2:
        raise invalid("TW203", f"matmul: {argument} has shape {x.dims}", "a rank of at least 2")
    if adjointed:
        return adjoint(x)
    return transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


@export("linalg.matvec")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the product of the matrices a [..., m, k] and the vectors b [..., k] -> [..., m].

    Leading axes broadcast; flags and errors as for `tf.matmul`.

    >>> import talweg as tf
    >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy().tolist()
    [3.0, 7.0]
    """
    a, b = pair(a, b)
    if not b.ndim:
        raise invalid("TW203", "matvec: b has shape ()", "a rank of at least 1")
    columns = reshape(b, shape=(*b.dims, 1))
    z = matmul(a, columns, transpose_a, False, adjoint_a, False, a_is_sparse, b_is_sparse)
    return reshape(z, shape=z.dims[:-1])


@export("tensordot", "linalg.tensordot")
def tensordot(a: object, b: TensorLike, axes: AxisLike, name: str | None = None) -> Tensor:
    """Compute the sum of products of a and b over pairs of axes.

    axes: an int n: the last n axes of a with the first n of b; or a pair: the axes of a and those
    of b.  The result has the other axes of a, then those of b.  ValueError for axes that do not
    exist or do not pair up; InvalidArgumentError for sizes or dtypes that differ.

    >>> import talweg as tf
    >>> tf.tensordot([[1.0, 2.0], [3.0, 4.0]], [10.0, 1.0], axes=1).numpy().tolist()
    [12.0, 34.0]
    """
    a, b = pair(a, b)
    key = None
    if type(axes) is int and type(a) is EagerTensor is type(b):
        key = (axes, a._array.shape, b._array.shape, a._array.dtype, b._array.dtype)
        known = _PROGRAMS.get(key)
        if known is not None:
            return known.run([a, b])
    if a.dtype is not b.dtype:
        raise invalid(
            "TW102",
            f"tensordot: a has dtype {a.dtype.name} and b has dtype {b.dtype.name}",
            "operands of one dtype",
            f"tf.cast(b, tf.{a.dtype.name})",
        )
    if a.dtype in (int8, int16, uint8):
        _refuse_narrow(a, b)
    first, second = _pair_axes(axes, a, b)
    sizes = [[x.dims[axis] for axis in own] for x, own in ((a, first), (b, second))]
    if any(map(differ, *sizes)):
        raise invalid(
            "TW204",
            f"tensordot: Matrix size-incompatible: axes {first} of a with shape {a.dims} and axes "
            f"{second} of b with shape {b.dims}",
            "axes of equal sizes",
        )
    a = require_sizes(a, tuple(sizes[0]), tuple(sizes[1]), "tensordot: Matrix size-incompatible")
    left = [f"a{i}" for i in range(a.ndim)]
    right = [f"b{i}" for i in range(b.ndim)]
    for i, j in zip(first, second):
        right[j] = left[i]
    shared = {left[i] for i in first}
    output = tuple(label for label in (*left, *right) if label not in shared)
    program = program_of((tuple(left), tuple(right)), (a.dims, b.dims), output, False)
    if key is not None and len(_PROGRAMS) < MOST_PROGRAMS:
        _PROGRAMS[key] = program
    return program.run([a, b])


def _pair_axes(axes: Any, a: Tensor, b: Tensor) -> tuple[list, list]:
    if isinstance(axes, (Tensor, Variable, np.ndarray)):
        axes = tensor(axes)._array.tolist()
    if isinstance(axes, (bool, int, np.integer)):
        return _count_of_axes(int(axes), a, b)
    if isinstance(axes, str) or not hasattr(axes, "__len__"):
        kind = value_error if axes is None else type_error
        raise kind("TW104", f"tensordot: axes={axes!r}", "an integer, or a pair of lists of axes")
    if len(axes) != 2:
        raise value_error(
            "TW207", f"tensordot: axes={axes!r}", "an integer, or a pair of lists of axes"
        )
    first, second = (list(integers(own, "tensordot", "axes")) for own in axes)
    if len(first) != len(second):
        raise value_error(
            "TW208",
            f"tensordot: axes={axes!r} names {len(first)} axes of a and {len(second)} of b",
            "as many of each",
        )
    return _from_front(first, a, "a"), _from_front(second, b, "b")


def _count_of_axes(count: int, a: Tensor, b: Tensor) -> tuple[list, list]:
    if count < 0:
        raise value_error("TW207", f"tensordot: axes={count}", "a number of at least 0")
    if count > min(a.ndim, b.ndim):
        raise value_error(
            "TW202",
            f"tensordot: axes={count} for a of shape {a.dims} and b of shape {b.dims}",
            "at most as many as either has",
        )
    return list(range(a.ndim - count, a.ndim)), list(range(count))


def _from_front(axes: list, x: Tensor, argument: str) -> list:
    found = []
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            error = value_error(
                "TW202", f"tensordot: axis {axis} of {argument}, which has shape {x.dims}"
            )
            raise IndexError(str(error))
        found.append(axis % x.ndim)
    if len(set(found)) < len(found):
        raise value_error("TW202", f"tensordot: axes={axes} of {argument} names an axis twice")
    return found
