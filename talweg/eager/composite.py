"""SparseTensor: a tensor of which only some elements are kept; and its spec.

`values[k]` stands at `indices[k]`; every other element is zero.  It is no `tf.Tensor`: the
functions of `tf.sparse` take it, others refuse it.  Indices are int64 and not changed by any
gradient; derivatives flow through `values`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.dims import differ
from talweg.core.dtypes import DType, as_dtype, float32, int64
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape, unknown_shape
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.eager.convert import CONVERTERS, convert_to_tensor, unsupported_error_maker
from talweg.eager.tensor import EagerTensor, array_of
from talweg.graph.symbol import Symbol
from talweg.prims import indexing
from talweg.prims.state import ensure_dims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


class SparseTensor:
    """Some elements of a tensor, with their places (`tf.SparseTensor`).

    indices: int64, [n, rank]; values: [n]; dense_shape: int64, [rank].  ValueError where these
    shapes do not fit each other, or a size is negative.

    >>> import talweg as tf
    >>> x = tf.SparseTensor(indices=[[0, 1]], values=[5.0], dense_shape=[2, 2])
    >>> tf.sparse.to_dense(x).numpy()
    array([[0., 5.],
           [0., 0.]], dtype=float32)
    """

    __array_priority__ = 100

    def __init__(self, indices: object, values: Any, dense_shape: object):
        self._indices = _set_rank(convert_to_tensor(indices, int64), 2)
        self._values = _set_rank(convert_to_tensor(values), 1)
        self._dense_shape = _set_rank(convert_to_tensor(dense_shape, int64), 1)
        _check_ranks(self)
        rows, depth = self._indices.dims
        if differ(rows, self._values.dims[0]):
            raise value_error(
                "TW204",
                f"SparseTensor: {rows} indices (shape {self._indices.dims}) and "
                f"{self._values.dims[0]} values",
                "as many indices as values",
            )
        if differ(depth, self._dense_shape.dims[0]):
            raise value_error(
                "TW204",
                f"SparseTensor: indices of shape {self._indices.dims} have {depth} numbers each, "
                f"dense_shape {self._dense_shape.dims[0]}",
                "as many as there are dimensions",
            )
        self._shape = _infer_shape(self._dense_shape, depth)

    @property
    def indices(self) -> Any:
        """The places of the values, int64, [n, rank]."""
        return self._indices

    @property
    def values(self) -> Any:
        """The values, [n]."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole, an int64 vector."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole."""
        return self._shape

    def set_shape(self, shape: TensorShape) -> None:
        """Refine the static shape; ValueError unless it is compatible with the present one."""
        self._shape = self._shape.merge_with(shape)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return a SparseTensor of something
        that has its three parts; TypeError for other things.
        """
        value = sparse_tensor_value
        if not all(hasattr(value, name) for name in ("indices", "values", "dense_shape")):
            raise type_error("TW104", f"from_value: {value!r} is no sparse tensor value")
        return cls(value.indices, value.values, value.dense_shape)

    def with_values(self, new_values: Tensor) -> SparseTensor:
        """Replace the values at the same places; ValueError unless there are as many."""
        return self._with_shape(SparseTensor(self._indices, new_values, self._dense_shape))

    def _with_shape(self, other: SparseTensor) -> SparseTensor:
        other._shape = self._shape
        return other

    def narrow_indices(self) -> SparseTensor:
        """Return the tensor with indices that are known to have a number for each dimension."""
        depth, rank = self._indices.dims[1], self._dense_shape.dims[0]
        if type(depth) is int or type(rank) is not int:
            return self
        places = ensure_dims(self._indices, shape=(None, rank))
        return self._with_shape(SparseTensor(places, self._values, self._dense_shape))

    @property
    def op(self) -> Any:
        """The operation that makes the values; AttributeError outside of graphs."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph that it belongs to; AttributeError outside of graphs."""
        return self._values.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return its value in a session (the default one), a `compat.v1.SparseTensorValue`."""
        return hooks.evaluate_in_session(self, feed_dict, session)

    def consumers(self) -> list:
        """Return no operations: those that use it are not kept."""
        return []

    # -- as a nest

    def _flat_components(self) -> list:
        return [self._indices, self._values, self._dense_shape]

    def _with_components(self, parts: list) -> SparseTensor:
        return SparseTensor(*parts)

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self._shape, self.dtype)

    # -- arithmetic with numbers and dense tensors

    def __mul__(self, other: TensorLike) -> SparseTensor:
        return self._beside(hooks.multiply, other, "*")

    def __truediv__(self, other: TensorLike) -> SparseTensor:
        return self._beside(hooks.truediv, other, "/")

    def _beside(self, function: Callable[[Any, Any], Any], other: object, symbol: str) -> Any:
        """Return `function` of the values and the elements of `other`,
        which broadcasts to this shape.
        """
        if isinstance(other, SparseTensor):
            raise type_error(
                "TW104",
                f"{symbol} of two SparseTensors is not there",
                "a dense tensor",
                "tf.sparse.to_dense one of them",
            )
        dense = convert_to_tensor(other, dtype_hint=self.dtype)
        if dense.ndim:
            whole = hooks.broadcast_to(dense, self._dense_shape)
            dense = indexing.gather_nd(whole, self.narrow_indices().indices, sparse=False)
        return self.with_values(function(self._values, dense))

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return hooks.html_view(self)


def _set_rank(x: Any, rank: int) -> Any:
    """Return `x`, known to have this rank if a graph does not know its rank."""
    if type(x) is Symbol and x.node.aval.dims is None:
        return ensure_dims(x, shape=(None,) * rank)
    return x


def _infer_shape(dense_shape: object, depth: int) -> TensorShape:
    """Infer the static shape of the whole."""
    if type(dense_shape) is EagerTensor:
        return TensorShape(array_of(dense_shape).tolist())
    shape = hooks.shape_in_tensor(dense_shape)
    return unknown_shape(depth) if shape.rank is None and type(depth) is int else shape


def _check_ranks(x: SparseTensor) -> None:
    for name, rank in (("indices", 2), ("values", 1), ("dense_shape", 1)):
        part = getattr(x, name)
        if part.ndim != rank:
            raise value_error(
                "TW203",
                f"SparseTensor: {name} has shape {part.dims}: Shape must have rank {rank}",
                "indices [n, rank], values [n], dense_shape [rank]",
            )


class SparseTensorSpec(TypeSpec):
    """The shape and dtype of a SparseTensor (`tf.SparseTensorSpec`).

    >>> import talweg as tf
    >>> tf.SparseTensorSpec([3, None], tf.int32)
    SparseTensorSpec(TensorShape([3, None]), tf.int32)
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = float32):
        self._shape, self._dtype = TensorShape(shape), as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._dtype

    @property
    def rank(self) -> int | None:
        """The rank of the whole."""
        return self._shape.rank

    @property
    def value_type(self) -> type:
        """`tf.SparseTensor`."""
        return SparseTensor

    def _serialize(self) -> tuple:
        return self._shape, self._dtype

    def part_specs(self) -> list[TensorSpec]:
        """Return the specs of indices, values and shape."""
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], int64),
        ]

    def with_parts(self, parts: list) -> SparseTensor:
        """Return the value that consists of these tensors."""
        found = SparseTensor(*parts)
        found.set_shape(self._shape)
        return found

    def fit_shape(self, value: SparseTensor) -> SparseTensor:
        """Return `value`, of whose shape no more is known than this says."""
        found = SparseTensor(*value._flat_components())
        found._shape = self._shape
        return found

    def _of(self, value: object) -> SparseTensorSpec | None:
        return self.from_value(value) if isinstance(value, SparseTensor) else None

    @classmethod
    def from_value(cls, value: SparseTensor) -> SparseTensorSpec:
        """Return the spec of a value."""
        return cls(value.shape, value.dtype)


def no_conversion(value: SparseTensor, dtype: DType | None) -> Any:
    """Raise ValueError, in graphs TypeError: a composite does not become a tensor by itself."""
    raise unsupported_error_maker()(
        "TW101",
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
        "Tensor.",
        hint="tf.sparse.to_dense(x)" if isinstance(value, SparseTensor) else "x.to_tensor()",
    )


CONVERTERS.append((SparseTensor, no_conversion))
