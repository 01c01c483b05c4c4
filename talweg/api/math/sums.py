"""tf.math: sums of several tensors, and polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import require_sizes, tensor
from talweg.api.export import export
from talweg.core.dims import dims_differ
from talweg.core.dtypes import as_dtype, bool_
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.convert import is_tensor_like
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


def _terms(inputs: Any, function: str) -> list:
    if isinstance(inputs, IndexedSlices):
        inputs = [inputs]
    try:
        inputs = list(inputs)
    except TypeError:
        raise type_error("TW104", f"{function}: inputs must be a list, got {inputs!r}") from None
    if not inputs:
        raise value_error("TW207", f"{function}: inputs is empty", "at least one tensor")
    dtype = next((value.dtype for value in inputs if is_tensor_like(value)), None)
    terms = []
    for value in inputs:
        if isinstance(value, IndexedSlices):
            value = hooks.dense(value)
        terms.append(tensor(value, None if is_tensor_like(value) else dtype))
    return terms


@export("math.add_n", "add_n")
def add_n(inputs: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sum of tensors of one shape and one dtype; nothing is broadcast.

    inputs: a list of tensors or `IndexedSlices`.  ValueError for an empty list,
    InvalidArgumentError if shapes or dtypes differ.

    >>> import talweg as tf
    >>> tf.add_n([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 9., 12.], dtype=float32)>
    """
    terms = _terms(inputs, "add_n")
    first = terms[0]
    for n, term in enumerate(terms):
        if dims_differ(term.dims, first.dims):
            raise invalid(
                "TW204",
                f"add_n: inputs[{n}] has shape {term.dims} and inputs[0] has {first.dims}",
                "equal shapes",
            )
    if first.dtype is bool_:
        raise invalid("TW102", "add_n: inputs have dtype bool", "numbers")
    total = first if len(terms) > 1 else arithmetic.identity(first)
    for term in terms[1:]:
        term = require_sizes(term, term.dims, first.dims, "add_n: inputs of equal shapes")
        total = arithmetic.add(total, term)
    return total


@export("math.accumulate_n")
def accumulate_n(
    inputs: TensorLike,
    shape: ShapeLike | None = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the sum of tensors of one shape and one dtype, which may be stated beside them.

    inputs: a list of tensors.  ValueError for an empty list or shapes that differ, TypeError if
    `tensor_dtype` is not the tensors'.

    >>> import talweg as tf
    >>> tf.math.accumulate_n([[1, 2], [3, 4]])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 6], dtype=int32)>
    """
    if not isinstance(inputs, (list, tuple)):
        raise value_error("TW104", f"accumulate_n: inputs must be a list, got {inputs!r}")
    terms = _terms(inputs, "accumulate_n")
    wanted = terms[0].shape if shape is None else TensorShape(shape)
    for n, term in enumerate(terms):
        if not wanted.is_compatible_with(term.shape) or term.dtype is not terms[0].dtype:
            raise value_error(
                "TW204",
                f"accumulate_n: inputs[{n}] has shape {term.shape} and dtype {term.dtype.name}",
                f"shape {wanted} and dtype {terms[0].dtype.name}",
            )
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not terms[0].dtype:
        raise type_error(
            "TW102",
            f"accumulate_n: tensor_dtype is {as_dtype(tensor_dtype).name} but inputs have dtype "
            f"{terms[0].dtype.name}",
        )
    if shape is not None:
        sizes = [b if a is None else a for a, b in zip(wanted.as_tuple(), terms[0].dims)]
        terms[0] = require_sizes(terms[0], terms[0].dims, tuple(sizes), "accumulate_n: inputs")
    return add_n(terms)


@export("math.polyval")
def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the polynomial with these coefficients, highest power first, at x, by Horner's rule.

    coeffs: a list of tensors that broadcast against x; ValueError if it is no list.

    >>> import talweg as tf
    >>> tf.math.polyval([1.0, 2.0, 3.0], 2.0)
    <tf.Tensor: shape=(), dtype=float32, numpy=11.0>
    """
    if not isinstance(coeffs, list):
        raise value_error("TW104", f"polyval: coeffs must be a list, got {type(coeffs)}")
    x = tensor(x)
    if not coeffs:
        return arithmetic.zeros_of(x)
    total = tensor(coeffs[0])
    for coefficient in coeffs[1:]:
        total = arithmetic.add(tensor(coefficient), arithmetic.mul(total, x))
    return total
