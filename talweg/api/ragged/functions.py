"""tf.ragged: making ragged tensors, and functions of their values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integer, tensor
from talweg.api.export import export, graph_aware, look_up
from talweg.core.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.eager import partition, ragged_rows
from talweg.eager.ragged import RaggedTensor, RaggedTensorSpec
from talweg.eager.ragged_making import RaggedFactories
from talweg.eager.tensor import array_of, wrap
from talweg.graph.symbol import Symbol
from talweg.kernels.progression import allocate
from talweg.prims import layout

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike


export("RaggedTensor")(RaggedTensor)
export("RaggedTensorSpec")(RaggedTensorSpec)


IN_GRAPHS = (
    "row_lengths",
    "nested_row_lengths",
    "nrows",
    "row_starts",
    "row_limits",
    "value_rowids",
    "nested_value_rowids",
    "bounding_shape",
    "with_row_splits_dtype",
    "merge_dims",
    "to_tensor",
    "to_sparse",
    "__getitem__",
)


def _make_graph_aware() -> None:
    """Keep methods of RaggedTensor whole in graphs: they compute with splits as arrays."""
    for name in IN_GRAPHS:
        setattr(RaggedTensor, name, graph_aware(getattr(RaggedTensor, name)))
    for name, method in list(vars(RaggedFactories).items()):
        if name.startswith("from_"):
            setattr(RaggedFactories, name, classmethod(graph_aware(method.__func__)))


_make_graph_aware()
_to_tensor = RaggedTensor.to_tensor


def _shape_to_tensor(
    self: Any, default_value: Any = None, name: str | None = None, shape: Any = None
) -> Any:
    found = _to_tensor(self, default_value, name, shape)
    if shape is not None and type(found) is Symbol and not isinstance(shape, Tensor):
        if isinstance(shape, (list, tuple)):
            shape = [look_up("get_static_value")(x) if isinstance(x, Tensor) else x for x in shape]
        found.set_shape(shape)  # a graph that keeps the call whole does not know
    return found


RaggedTensor.to_tensor = functools.wraps(_to_tensor)(_shape_to_tensor)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _depths(value: Any) -> tuple[int | None, int]:
    """Compute the depth of the scalars (None if there is none) and that of the deepest list."""
    if not _is_list(value):
        return 0, 0
    scalar, deepest = None, 1
    for item in value:
        scalar_depth, depth = _depths(item)
        if scalar_depth is not None:
            if scalar is not None and scalar != scalar_depth + 1:
                raise value_error(
                    "TW208", "all scalar values must have the same nesting depth", "equal depths"
                )
            scalar = scalar_depth + 1
        deepest = max(deepest, depth + 1)
    if scalar is not None and scalar < deepest:
        raise value_error(
            "TW208", "all scalar values must have the same nesting depth", "equal depths"
        )
    return scalar, deepest


@export("ragged.constant")
def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> RaggedTensor:
    """Return nested lists, whose lengths may differ, as a ragged tensor.

    ragged_rank: how many dimensions are divided, by default all but one.  inner_shape: the shape of
    what is inside.  A list of scalars gives a tensor.  ValueError for scalars at different depths
    and for types that do not go together.

    >>> import talweg as tf
    >>> tf.ragged.constant([[1, 2], [], [3]])
    <tf.RaggedTensor [[1, 2], [], [3]]>
    """
    scalar, deepest = _depths(pylist)
    inner = (
        None
        if inner_shape is None
        else tuple(inner_shape)
        if hasattr(inner_shape, "__iter__")
        else (inner_shape,)
    )
    if ragged_rank is None:
        ragged_rank = max(deepest - 1 - len(inner or ()), 0)
    if scalar is not None and scalar <= ragged_rank and ragged_rank > 0:
        raise value_error(
            "TW207",
            f"pylist has scalar values depth {scalar}, but ragged_rank={ragged_rank} requires "
            f"scalar value depth greater than {ragged_rank}",
        )
    rows, nested = pylist, []
    if ragged_rank == 0:
        plain: Any = tensor(pylist, dtype)
        return plain
    for _ in range(ragged_rank):
        nested.append([len(row) for row in rows])
        rows = [item for row in rows for item in row]
    if inner is None and not rows and dtype is None:
        values = tensor([])
    else:
        values = tensor(rows, dtype)
    if inner is not None:
        values = layout.reshape(values, shape=(len(rows), *inner))
    splits_dtype = as_dtype(row_splits_dtype).numpy_dtype
    lengths = [np.asarray(level, splits_dtype) for level in nested]
    return RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)


@export("ragged.range")
def range_(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> RaggedTensor:
    """Return row i: starts[i], starts[i] + deltas[i], ... below limits[i]; from 0 if limits is
    None.

    >>> import talweg as tf
    >>> tf.ragged.range([2, 0, 3])
    <tf.RaggedTensor [[0, 1], [], [0, 1, 2]]>
    """
    if limits is None:
        starts, limits = 0, starts
    given = [tensor(x, dtype) for x in (starts, limits, deltas)]
    kind = as_dtype(dtype) if dtype is not None else _widest([x.dtype for x in given])
    kind = kind.numpy_dtype
    parts = [array_of(x).astype(kind) for x in given]
    sizes = {x.shape for x in parts if x.ndim}
    if len(sizes) > 1 or any(len(size) > 1 for size in sizes):
        raise invalid(
            "TW204", f"ragged.range: shapes {[x.shape for x in parts]}", "scalars or equal vectors"
        )
    columns = np.broadcast_arrays(*map(np.atleast_1d, parts))
    if np.any(columns[2] == 0):
        raise invalid("TW207", "ragged.range: Requires delta != 0")
    rows = allocate("ragged.range", _ranges, columns, kind)
    values = wrap(allocate("ragged.range", np.concatenate, [np.zeros(0, kind), *rows]))
    lengths = np.array([len(row) for row in rows], as_dtype(row_splits_dtype).numpy_dtype)
    return RaggedTensor.from_row_lengths(values, lengths)


def _ranges(columns: Any, kind: Any) -> list[np.ndarray]:
    return [np.arange(a, b, c).astype(kind) for a, b, c in zip(*columns)]


def _widest(kinds: list) -> DType:
    """Return the last of the dtypes of ranges that some argument has;
    TypeError for any other dtype.
    """
    order = (int32, int64, float32, float64)
    for kind in kinds:
        if kind not in order:
            raise type_error("TW102", f"ragged.range: dtype {kind.name}", "int32 to float64")
    return max(kinds, key=order.index)


@export("ragged.stack")
def stack(values: Any, axis: int = 0, name: str | None = None) -> RaggedTensor:
    """Return tensors or ragged tensors of one rank, along a new axis.

    A tensor where all are tensors and the axis is the last one.  ValueError for an empty list, for
    ranks that differ, or an axis out of range; InvalidArgumentError for rows that do not fit.

    >>> import talweg as tf
    >>> tf.ragged.stack([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    parts = [x if isinstance(x, RaggedTensor) else tensor(x) for x in values]
    if not parts:
        raise value_error("TW207", "ragged.stack: values is empty")
    ranks: set[Any] = {x.shape.rank if isinstance(x, RaggedTensor) else x.ndim for x in parts}
    if len(ranks) > 1:
        raise value_error("TW203", f"ragged.stack: the ranks {sorted(ranks)} differ", "one rank")
    rank = ranks.pop()
    along = axis + rank + 1 if axis < 0 else axis
    if not 0 <= along <= rank:
        raise value_error("TW202", f"ragged.stack: axis={axis} out of bounds for rank {rank}")
    return _stack(parts, along, rank)


def _stack(parts: list, axis: int, rank: int) -> Any:
    dense = not any(isinstance(x, RaggedTensor) for x in parts)
    if axis == rank and dense:
        return look_up("stack")(parts, axis)
    if axis > 1:
        rows = [x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x) for x in parts]
        splits = array_of(rows[0].row_splits)
        if any(not np.array_equal(array_of(x.row_splits), splits) for x in rows):
            raise invalid("TW204", "ragged.stack: the rows have different lengths")
        return rows[0].with_values(_stack([x.values for x in rows], axis - 1, rank - 1))
    joined = _join(parts, deep=rank > 1)
    counts = np.array([_rows_of(x) for x in parts], np.int32 if rank == 1 else np.int64)
    if axis == 0:
        return RaggedTensor._of(
            joined, wrap(partition.splits_of_lengths(counts).astype(counts.dtype))
        )
    if len(set(counts.tolist())) > 1:
        raise invalid("TW204", f"ragged.stack: {counts.tolist()} rows", "as many rows in each")
    order = np.arange(counts.sum()).reshape(len(parts), -1).T.reshape(-1)
    rows = ragged_rows.take(joined, order)
    return RaggedTensor._of(rows, wrap(np.arange(counts[0] + 1, dtype=np.int64) * len(parts)))


def _rows_of(x: Any) -> int:
    """Return the number of rows; NeedsStaticError in graphs that do not know it."""
    return len(array_of(x.row_splits)) - 1 if isinstance(x, RaggedTensor) else index(x.dims[0])


def _join(parts: list, deep: bool = False) -> Any:
    """Concatenate tensors or ragged tensors along the first axis.

    deep: with rows of their own, whatever their shapes.
    """
    dense = not deep and not any(isinstance(x, RaggedTensor) for x in parts)
    if dense and len({x.dims[1:] for x in parts}) == 1:
        return layout.concat(*parts, axis=0)
    ragged = [x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x) for x in parts]
    lengths = [np.diff(array_of(x.row_splits)) for x in ragged]
    values = _join([x.values for x in ragged])
    return RaggedTensor._of(values, wrap(partition.splits_of_lengths(np.concatenate(lengths))))


@export("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Return the elements of `data` where `mask` is true, row by row.

    mask: truth values; a matrix gives a ragged tensor.  ValueError where shapes do not fit.

    >>> import talweg as tf
    >>> tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
    <tf.RaggedTensor [[1], [3, 4]]>
    """
    data = data if isinstance(data, RaggedTensor) else tensor(data)
    mask = mask if isinstance(mask, RaggedTensor) else tensor(mask, bool_)
    rank = mask.shape.rank
    if rank == 0:
        raise value_error("TW203", "ragged.boolean_mask: mask is a scalar")
    if rank == 1:
        kept = array_of(mask)
        if data.shape.rank == 0:
            raise value_error("TW203", "ragged.boolean_mask: data is a scalar", "as many as mask")
        if kept.shape[0] != data.shape[0]:
            raise value_error("TW204", f"mask has {kept.shape[0]} elements, data {data.shape[0]}")
        return ragged_rows.take(data, np.flatnonzero(kept))
    data = data if isinstance(data, RaggedTensor) else RaggedTensor.from_tensor(data)
    mask = mask if isinstance(mask, RaggedTensor) else RaggedTensor.from_tensor(mask)
    splits = array_of(mask.row_splits)
    if not np.array_equal(splits, array_of(data.row_splits)):
        raise value_error("TW204", "ragged.boolean_mask: data and mask have different rows")
    values = boolean_mask(data.values, mask.values)
    if isinstance(mask.values, RaggedTensor):
        return data.with_values(values)
    counts = np.concatenate([[0], np.cumsum(array_of(mask.values))])
    return RaggedTensor._of(values, wrap(counts[splits].astype(splits.dtype)))


@export("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Return `op` of the flat values of the ragged arguments, with their rows.

    InvalidArgumentError where the rows of the ragged arguments differ.

    >>> import talweg as tf
    >>> tf.ragged.map_flat_values(tf.square, tf.ragged.constant([[1, 2], [3]]))
    <tf.RaggedTensor [[1, 4], [9]]>
    """
    return ragged_rows.map_flat(op, *args, **kwargs)


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(
    splits: Any, name: str | None = None, out_type: DTypeLike | None = None
) -> Tensor:
    """Return the row of each element, for rows divided by `splits`.

    >>> import talweg as tf
    >>> tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3]).numpy()
    array([0, 0, 2])
    """
    given = array_of(tensor(splits, hint=int64))
    if given.dtype not in (np.int32, np.int64):
        raise value_error("TW102", f"splits has dtype {given.dtype}", "int32 or int64")
    if given.ndim != 1 or not given.size:
        raise value_error("TW207", "splits must be a vector that is not empty")
    dtype = as_dtype(out_type).numpy_dtype if out_type is not None else given.dtype
    return wrap(partition.row_of_each(given).astype(dtype))


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any,
    num_segments: Any = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the row splits of elements in the rows `segment_ids`, in order.

    >>> import talweg as tf
    >>> tf.ragged.segment_ids_to_row_splits([0, 0, 2]).numpy()
    array([0, 2, 2, 3])
    """
    own = num_segments.dtype if isinstance(num_segments, Tensor) else int64
    rows = array_of(tensor(segment_ids, hint=own))
    if rows.dtype.kind != "i":
        raise type_error("TW102", f"segment_ids has dtype {rows.dtype}", "int32 or int64")
    if rows.ndim != 1:
        raise value_error("TW203", f"Shape {rows.shape} must have rank 1")
    if rows.size and rows.min() < 0:
        raise invalid("TW206", "segment_ids has negative numbers", "numbers of at least 0")
    counts = np.bincount(rows)
    if num_segments is not None:
        count = int(array_of(tensor(num_segments)))
        counts = np.concatenate([counts, np.zeros(max(0, count - len(counts)), np.int64)])[:count]
    dtype = as_dtype(out_type).numpy_dtype if out_type is not None else rows.dtype
    return wrap(partition.splits_of_lengths(counts).astype(dtype))


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """Collect in row i the parts of `data` with the number i in `partitions`; a RaggedTensor.

    partitions: integers in the shape of `data` (a tensor or a ragged one) or of its first axes.
    InvalidArgumentError for numbers outside [0, num_partitions), ValueError for other shapes.

    >>> import talweg as tf
    >>> tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 0, 1], 2)
    <tf.RaggedTensor [[b'b'], [b'a', b'c']]>
    """
    count = integer(num_partitions, "stack_dynamic_partitions", "num_partitions")
    numbers = tensor(partitions)
    own = array_of(numbers)
    if isinstance(data, RaggedTensor):
        if own.ndim != 1:
            raise value_error("TW203", f"partitions of rank {own.ndim}", "1 for ragged data")
        size = len(array_of(data.row_splits)) - 1
    else:
        data = tensor(data)
        given = tuple(data.dims[: own.ndim])
        if given != own.shape:
            raise value_error("TW204", f"Shapes {own.shape} and {given} are incompatible")
        data = look_up("reshape")(data, [-1, *data.dims[own.ndim :]])
        size = own.size
    flat = own.reshape(-1)
    if len(flat) != size:
        raise value_error("TW204", f"Shapes {own.shape} and ({size},) are incompatible")
    if flat.size and not 0 <= flat.min() <= flat.max() < count:
        raise invalid("TW206", f"partitions {flat.tolist()}", f"numbers from 0 to {count - 1}")
    order = np.argsort(flat, kind="stable")
    kind = data.row_splits.dtype.numpy_dtype if isinstance(data, RaggedTensor) else flat.dtype
    lengths = np.bincount(flat, minlength=count).astype(kind)
    return RaggedTensor.from_row_lengths(look_up("gather")(data, wrap(order)), lengths)
