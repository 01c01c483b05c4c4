"""Identities: identity, stop_gradient, bitcast; static values; and the test whether a value is a
tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.dtypes import NUMERIC, QUANTIZED, as_dtype
from talweg.core.errors import NeedsStaticError, invalid, type_error
from talweg.core.value import IndexedSlices, Operators, Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import is_tensor_like
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import EagerTensor
from talweg.graph import structure
from talweg.graph.contents import elements
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import arithmetic, joining, layout

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.graph.node import Node


@export("identity")
def identity(input: object, name: str | None = None) -> Tensor:
    """Return a new tensor with the value of `input`; gradients flow through.

    >>> import talweg as tf
    >>> x = tf.constant([1.0])
    >>> y = tf.identity(x)
    >>> y.numpy(), y is x
    (array([1.], dtype=float32), False)
    """
    if isinstance(input, IndexedSlices):
        values = identity(input.values)
        return IndexedSlices(values, input.indices, input.dense_shape)  # type: ignore
    if structure.kind_of(input) == structure.COMPOSITE:
        return structure.map_leaves(identity, input, composites=True)
    x = tensor(input)
    return arithmetic.identity(x) if x.dtype in NUMERIC else layout.reshape(x, shape=x.dims)


@export("identity_n")
def identity_n(input: TensorLike, name: str | None = None) -> list[Tensor]:
    """Return new tensors with the values of those in the list `input`.

    InvalidArgumentError for an empty list, TypeError if it is no list.

    >>> import talweg as tf
    >>> [float(x) for x in tf.identity_n([1, 2.0])]
    [1.0, 2.0]
    """
    if not isinstance(input, (list, tuple, Tensor)):
        raise type_error("TW104", f"identity_n: input must be a list of tensors, got {input!r}")
    found = [identity(item) for item in input]
    if not found:
        raise invalid("TW207", "identity_n: input is an empty list", "at least one tensor")
    return found


@export("stop_gradient")
def stop_gradient(input: object, name: str | None = None) -> Tensor:
    """Return `input`, a tensor, a ragged or a sparse one, as a constant as far as derivatives go.

    >>> import talweg as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * tf.stop_gradient(x)
    >>> float(tape.gradient(y, x))
    3.0
    """
    if structure.kind_of(input) == structure.COMPOSITE:
        return structure.map_leaves(stop_gradient, input, composites=True)
    return arithmetic.stop_gradient(tensor(input))


@export("guarantee_const")
def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Return `input`, said never to change; nothing is made of that here.

    >>> import talweg as tf
    >>> tf.guarantee_const([1]).numpy()
    array([1], dtype=int32)
    """
    return identity(input)


@export("bitcast")
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Return the bytes of `input` read as the dtype `type`.

    A narrower type adds a last axis, a wider one uses up a last axis of the fitting size
    (InvalidArgumentError otherwise, and for bool and string).

    >>> import talweg as tf
    >>> int(tf.bitcast(1.0, tf.int32))
    1065353216
    """
    x, dtype = tensor(input), as_dtype(type)
    for found, argument in ((x.dtype, "input"), (dtype, "type")):
        if found not in NUMERIC | QUANTIZED:
            raise invalid("TW102", f"bitcast: {argument} has dtype {found.name}", "a number type")
    return joining.bitcast(x, dtype=dtype)


@export("is_tensor")
def is_tensor(x: TensorLike) -> bool:
    """Return whether `x` is a tensor, a variable, or another thing that is used as one.

    Other libraries' classes say so by an attribute `is_tensor_like`.

    >>> import talweg as tf
    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor([1])
    (True, False)
    """
    if isinstance(x, (Operators, IndexedSlices, SparseTensor, RaggedTensor)):
        return True
    return hasattr(x, "is_tensor_like")


@export("is_symbolic_tensor")
def is_symbolic_tensor(tensor: TensorLike) -> bool:
    """Return whether `tensor` stands for a value that is not there yet.

    >>> import talweg as tf
    >>> tf.is_symbolic_tensor(tf.constant(1))
    False
    """
    return isinstance(tensor, Tensor) and not isinstance(tensor, EagerTensor)


def _find_content(node: Node, partial: bool) -> Any:
    """Find the value of a graph's node as far as it is known while the graph is built."""
    content = constant_of(node)
    if content is not None:
        return content.array
    if not node.aval.dtype.is_integer:
        return _find_derived(node)
    try:
        contents = elements(node)
    except NeedsStaticError:
        return None
    known = [type(n) is int for n in contents.reshape(-1)]
    if all(known):
        return contents.astype(node.aval.dtype.numpy_dtype)
    if not partial or not any(known):
        return None
    result = np.full(contents.shape, None, object)
    result.reshape(-1)[:] = [n if type(n) is int else None for n in contents.reshape(-1)]
    return result


def _find_derived(node: Node) -> Any:
    """Find whether two known values are equal, or a known value in another dtype: libraries choose
    by these while they build a graph.
    """
    if node.prim not in (arithmetic.equal, arithmetic.not_equal, arithmetic.cast):
        return None
    values = [_find_content(operand, False) for operand in node.operands]
    if any(value is None for value in values):
        return None
    if node.prim is arithmetic.cast:
        return values[0].astype(node.aval.dtype.numpy_dtype)
    return np.asarray((np.equal if node.prim is arithmetic.equal else np.not_equal)(*values))


@export("get_static_value")
def get_static_value(tensor: object, partial: bool = False) -> Any:
    """Return the value of `tensor` as an array if it is known without computing, else None.

    >>> import talweg as tf
    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    if type(tensor) is Symbol:
        return _find_content(tensor.node, partial)
    return None if is_tensor_like(tensor) else tensor
