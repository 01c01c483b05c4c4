"""RaggedTensor: a tensor whose rows differ in length; and its spec.

It is a tensor of values (or again a ragged tensor) and the splits that divide these into rows.
Splits are integers without derivatives, kept as tensors and computed with as arrays; derivatives
flow through the flat values.  It is no `tf.Tensor`.  Indexing and operators: `ragged_rows.py`;
the `from_...` methods: `ragged_making.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import DType, as_dtype, float32, int32, int64, string
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager import partition
from talweg.eager.composite import SparseTensor, no_conversion
from talweg.eager.convert import CONVERTERS, convert_to_tensor
from talweg.eager.ragged_making import RaggedFactories
from talweg.eager.tensor import array_of, wrap
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import arithmetic, indexing, layout, sequences

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike


_SECRET = object()


_APPEARED: list[bool] = []  # whether functions look for ragged tensors


def make_tensor(array: np.ndarray) -> Any:
    """Return a tensor of an array; a constant of the graph in force."""
    base = dispatch.context.base
    return wrap(array) if base is None else base.constant(array)


class RaggedTensor(RaggedFactories):
    """A tensor with rows of different lengths (`tf.RaggedTensor`).

    Made by `tf.ragged.constant` and by the `from_...` methods.

    >>> import talweg as tf
    >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1])
    <tf.RaggedTensor [[1, 2], [], [3]]>
    """

    __array_priority__ = 100

    def __init__(
        self, values: Any, row_partition: object, internal: object = False, uniform: Any = None
    ):
        if internal is not _SECRET:
            raise value_error(
                "TW104",
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())",
            )
        self._values, self._row_splits, self._uniform = values, row_partition, uniform
        if not _APPEARED:
            _APPEARED.append(True)
            hooks.enable_ragged_dispatch()

    @classmethod
    def _of(cls, values: Any, splits: Any, uniform: object = None) -> RaggedTensor:
        """Return a ragged tensor of values and valid splits (an array or a tensor)."""
        tensor = make_tensor(splits) if isinstance(splits, np.ndarray) else splits
        return cls(values, tensor, _SECRET, uniform)

    # -- what it is

    @property
    def values(self) -> Any:
        """The rows, one after the other: a tensor or a ragged tensor."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The innermost values, a tensor."""
        values = self._values
        return values.flat_values if isinstance(values, RaggedTensor) else values

    @property
    def row_splits(self) -> Any:
        """The splits between rows, [n + 1]."""
        return self._row_splits

    @property
    def nested_row_splits(self) -> tuple:
        """The splits of every ragged dimension, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of divided dimensions."""
        return len(self.nested_row_splits)

    @property
    def uniform_row_length(self) -> Any:
        """The length that all rows have by construction, or None."""
        return None if self._uniform is None else self._integers(np.int64(self._uniform))

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, None where rows differ."""
        rows = self._row_splits.shape[0]
        rows = None if rows is None else rows - 1
        inner = self._values.shape[1:]
        return TensorShape(None if inner.rank is None else [rows, self._uniform, *inner])

    def get_shape(self) -> TensorShape:
        """Return the shape, None where rows differ."""
        return self.shape

    def set_shape(self, shape: TensorShape) -> None:
        """Raise ValueError unless `shape` is compatible with this one's."""
        self.shape.assert_is_compatible_with(shape)

    @property
    def _splits(self) -> np.ndarray:
        return array_of(self._row_splits)

    def _integers(self, array: Any) -> Any:
        """Return a tensor of the dtype of the splits."""
        return make_tensor(np.asarray(array).astype(self._row_splits.dtype.numpy_dtype)[()])

    # -- sizes

    def nrows(self, out_type: object = None, name: str | None = None) -> Any:
        """Return the number of rows."""
        return _as(self._integers(len(self._splits) - 1), out_type)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the length of each row; of each row of an inner dimension, as a ragged tensor."""
        if axis == 0:
            return self.nrows()
        if axis < 0:
            axis += self.shape.rank or 0
        if axis == 1:
            return self._integers(np.diff(self._splits))
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        size = self._values.dims[axis - 1]
        return self.with_values(self._integers(np.full(self._values.dims[: axis - 1], size)))

    def nested_row_lengths(self, name: str | None = None) -> tuple:
        """Return the row lengths of every ragged dimension, outermost first."""
        return tuple(wrap(np.diff(array_of(splits))) for splits in self.nested_row_splits)

    def row_starts(self, name: str | None = None) -> Any:
        """Return the start of each row in `values`."""
        return self._integers(self._splits[:-1])

    def row_limits(self, name: str | None = None) -> Any:
        """Return the end of each row in `values`."""
        return self._integers(self._splits[1:])

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the row each of `values` is in."""
        splits = self._row_splits
        if type(splits) is Symbol and constant_of(splits.node) is None:
            rows = sequences.repeated(splits[1:] - splits[:-1], size=splits.dims[0] - 1)
            return arithmetic.cast(rows, dtype=splits.dtype)
        return self._integers(partition.row_of_each(self._splits))

    def nested_value_rowids(self, name: str | None = None) -> tuple:
        """Return the row ids of every ragged dimension, outermost first."""
        inner = self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()
        return (self.value_rowids(), *inner)

    def bounding_shape(
        self, axis: int | None = None, name: str | None = None, out_type: object = None
    ) -> Any:
        """Return the shape of the smallest tensor that holds all rows, or some of its sizes."""
        sizes = np.array(self._bounds())
        if axis is not None:
            sizes = sizes[np.asarray(axis)]
        return _as(self._integers(sizes), out_type)

    def _bounds(self) -> list[int]:
        lengths = np.diff(self._splits)
        longest = self._uniform if self._uniform is not None else int(lengths.max(initial=0))
        values = self._values
        inner = values._bounds() if isinstance(values, RaggedTensor) else list(values.dims)
        return [len(lengths), longest, *inner[1:]]

    # -- parts exchanged

    def with_values(self, new_values: object) -> RaggedTensor:
        """Replace the values under the same splits; ValueError unless there are as many."""
        if not isinstance(new_values, RaggedTensor):
            new_values = convert_to_tensor(new_values)
        given = new_values.shape[0] if new_values.shape.rank else None
        symbolic = type(self._row_splits) is Symbol and constant_of(self._row_splits.node) is None
        count = given if symbolic else int(self._splits[-1])
        scalar = new_values.shape.rank == 0 and not symbolic
        if scalar or given is not None and given != count:
            raise value_error(
                "TW204", f"with_values: Shapes ({count},) and {new_values.shape} are incompatible"
            )
        return RaggedTensor(new_values, self._row_splits, _SECRET, self._uniform)

    def with_flat_values(self, new_values: object) -> RaggedTensor:
        """Return a tensor of the same splits over other innermost values."""
        values = self._values
        if isinstance(values, RaggedTensor):
            return self.with_values(values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: DType) -> RaggedTensor:
        """Return the tensor with splits of another dtype, int32 or int64."""
        dtype = _splits_dtype(as_dtype(dtype))
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(dtype)
        splits = wrap(self._splits.astype(dtype.numpy_dtype))
        return RaggedTensor(values, splits, _SECRET, self._uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Return the tensor with the dimensions from outer_axis to inner_axis made one."""
        rank = self.shape.rank or 0
        outer = outer_axis + rank if outer_axis < 0 else outer_axis
        inner = inner_axis + rank if inner_axis < 0 else inner_axis
        if not 0 <= outer <= inner < rank:
            raise value_error(
                "TW202", f"merge_dims: axes {outer_axis} and {inner_axis} for rank {rank}"
            )
        result: Any = self
        for _ in range(inner - outer):
            result = _merge_axes(result, outer)
        return result

    def consumers(self) -> list:
        """Return no operations: those that use it are not kept."""
        return []

    # -- as other things

    def to_list(self) -> list[Any]:
        """Return nested lists of Python values."""
        inner = self._values.to_list() if isinstance(self._values, RaggedTensor) else None
        inner = self._values.numpy().tolist() if inner is None else inner
        return [inner[a:b] for a, b in zip(self._splits[:-1], self._splits[1:])]

    def numpy(self) -> np.ndarray:
        """Return an array of the rows: of arrays where they differ in length."""
        inner = self._values.numpy()
        rows = [inner[a:b] for a, b in zip(self._splits[:-1], self._splits[1:])]
        if not rows:
            return np.zeros((0, 0), inner.dtype)
        if len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        result = np.empty(len(rows), object)
        result[:] = rows
        return result

    def to_tensor(
        self,
        default_value: object = None,
        name: str | None = None,
        shape: TensorShape | None = None,
    ) -> Any:
        """Return a tensor of all rows, filled up with `default_value` (zero, or an empty string).

        shape: sizes to cut or fill up to, None (in a tensor -1) for as many as are needed.
        """
        flat = self.flat_values
        bounds = self._bounds()
        if shape is not None:
            wanted = TensorShape(_sizes_of(shape)).with_rank(len(bounds)).as_list()
            bounds = [old if new is None else new for old, new in zip(bounds, wanted)]
        if default_value is None:
            zero = b"" if flat.dtype is string else 0
            default_value = wrap(np.asarray(zero, flat.dtype.numpy_dtype))
        default = convert_to_tensor(default_value, flat.dtype)
        default = layout.broadcast_to(default, shape=(1, *flat.dims[1:]))
        least = np.int32 if flat.dims[0] < 1 << 31 else np.int64
        places = self._places(np.arange(flat.dims[0], dtype=least), bounds, flat.dims[0])
        padded = layout.concat(flat, default, axis=0)
        return indexing.gather(padded, wrap(places), axis=0, batch_dims=0)

    def _places(self, flat: np.ndarray, bounds: list[int], missing: int = -1) -> np.ndarray:
        """Return each place's number among the flat values; `missing` where there is none."""
        values = self._values
        if isinstance(values, RaggedTensor):
            rows = values._splits.shape[0] - 1
            flat = values._places(flat, [rows, *bounds[2:]], missing)
        return partition.pad_rows(self._splits, flat, bounds[0], bounds[1], missing)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return the values with their places."""
        bounds = self._bounds()
        flat = self.flat_values
        depth = self.ragged_rank + 1
        places = self._places(np.arange(flat.dims[0]), bounds)
        indices = np.argwhere(places >= 0)
        inner = flat.dims[1:]
        if inner:
            tail = np.argwhere(np.ones(inner, bool))
            indices = np.concatenate(
                [np.repeat(indices, len(tail), 0), np.tile(tail, (len(indices), 1))], axis=1
            )
        values = layout.reshape(flat, shape=(int(np.prod(flat.dims)),))
        whole = [*bounds[:depth], *inner]
        return SparseTensor(wrap(indices), values, wrap(np.array(whole, np.int64)))

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self._splits) - 1))  # type: ignore[index]

    # -- as a nest

    def _flat_components(self) -> list:
        return [self.flat_values, *self.nested_row_splits]

    def _with_components(self, parts: list) -> RaggedTensor:
        values = parts[0]
        for splits in reversed(parts[1:]):
            values = RaggedTensor(values, splits, _SECRET)
        return values

    def _with_gradient(self, g: tuple[Any, ...]) -> RaggedTensor:
        """Return a gradient of the flat values, in this tensor's rows (called by tapes)."""
        return self.with_flat_values(g)

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    # -- as an object

    def __bool__(self) -> bool:
        raise type_error("TW104", "RaggedTensor may not be used as a boolean.")

    def __hash__(self) -> int:
        if type(self.flat_values) is Symbol:
            return id(self)  # a key of what is fed to a graph
        raise type_error("TW104", "RaggedTensor is unhashable.")

    def __repr__(self) -> str:
        if type(self.flat_values) is Symbol:
            return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"
        with np.printoptions(formatter={"all": _text}):
            return f"<tf.RaggedTensor {_text(self.numpy())}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return hooks.html_view(self)


def _merge_axes(x: Any, axis: int) -> Any:
    """Return `x` with the dimensions `axis` and `axis + 1` made one."""
    if not isinstance(x, RaggedTensor):
        dims = x.dims
        size = dims[axis] * dims[axis + 1]
        return layout.reshape(x, shape=(*dims[:axis], size, *dims[axis + 2 :]))
    values = x.values
    if axis == 0:
        return values
    if axis > 1:
        return x.with_values(_merge_axes(values, axis - 1))
    if isinstance(values, RaggedTensor):
        return x._of(values.values, x._integers(array_of(values.row_splits)[x._splits]))
    return x._of(_merge_axes(values, 0), x._integers(x._splits * values.dims[1]))


def _text(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)
    return np.array2string(value, separator=", ") if value.size else repr(value.tolist())


def _as(tensor: object, dtype: object) -> Any:
    """Return `tensor` as an array of another dtype, if one is given."""
    return tensor if dtype is None else wrap(array_of(tensor).astype(as_dtype(dtype).numpy_dtype))


def _splits_dtype(dtype: DType) -> DType:
    if dtype not in (int32, int64):
        raise value_error("TW102", f"row_splits must have dtype int32 or int64, got {dtype.name}")
    return dtype


class RaggedTensorSpec(TypeSpec):
    """The shape, dtype and splits of a RaggedTensor (`tf.RaggedTensorSpec`).

    ValueError if neither ragged_rank nor a shape of known rank is given.

    >>> import talweg as tf
    >>> tf.RaggedTensorSpec([3, None], tf.int32)
    RaggedTensorSpec(TensorShape([3, None]), tf.int32, 1, tf.int64)
    """

    __slots__ = ("_parts",)

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DType = int64,
        flat_values_spec: Any = None,
    ):
        shape = TensorShape(shape)
        if ragged_rank is None:
            if shape.rank is None:
                raise value_error("TW207", "Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = shape.rank - 1
        if flat_values_spec is not None:
            dtype = flat_values_spec.dtype
        parts = (shape, as_dtype(dtype), ragged_rank, as_dtype(row_splits_dtype))
        self._parts: tuple[Any, ...] = parts

    @property
    def shape(self) -> TensorShape:
        """The shape, None where rows differ."""
        return self._parts[0]

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._parts[1]

    @property
    def ragged_rank(self) -> int:
        """The number of divided dimensions."""
        return self._parts[2]

    @property
    def row_splits_dtype(self) -> DType:
        """The type of the splits."""
        return self._parts[3]

    @property
    def flat_values_spec(self) -> None:
        """The spec of flat values that are no tensors: None, all are tensors."""
        return None

    @property
    def value_type(self) -> type:
        """`tf.RaggedTensor`."""
        return RaggedTensor

    def _serialize(self) -> tuple:
        return self._parts

    def part_specs(self) -> list[TensorSpec]:
        """Return the specs of the flat values and of the splits, outermost first."""
        shape, dtype, depth, splits = self._parts
        if depth <= 0:
            return [TensorSpec(shape, dtype)]
        inner = None if shape.rank is None else [None, *shape.as_list()[depth + 1 :]]
        count = None if shape.rank is None else shape.as_list()[0]
        first = None if count is None else count + 1
        rows = [TensorSpec([first if n == 0 else None], splits) for n in range(depth)]
        return [TensorSpec(inner, dtype), *rows]

    def with_parts(self, parts: list) -> Any:
        """Return the value that consists of these tensors."""
        return RaggedTensor._with_components(cast(Any, None), parts)

    def _of(self, value: object) -> RaggedTensorSpec | None:
        return self.from_value(value) if isinstance(value, RaggedTensor) else None

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """Return the spec of a value."""
        return value._type_spec


def _sizes_of(shape: ShapeLike) -> Any:
    """Return a shape in which tensors have become numbers;
    -1 in a tensor is a size not asked for.
    """
    if isinstance(shape, Tensor):
        return [None if n < 0 else int(n) for n in array_of(shape).reshape(-1)]
    if isinstance(shape, (list, tuple)):
        return [int(array_of(n)) if isinstance(n, Tensor) else n for n in shape]
    return shape


CONVERTERS.append((RaggedTensor, no_conversion))
