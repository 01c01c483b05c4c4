"""tf.vectorized_map where batching does not go: the function of one slice after the other.

So it is done where slices give tensors of different shapes, where the function asks for the Python
value of a tensor, where a rank is unknown, and where elements are ragged or sparse.  In eager mode
it is a loop in Python; in a graph one loop, whatever the number of slices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.joining import stack
from talweg.api.export import look_up
from talweg.api.lists.tensor_array import TensorArray
from talweg.api.mapping.graphs import (
    MapOptions,
    RaggedRows,
    Slices,
    TensorRows,
    is_symbolic,
    run_loop,
)
from talweg.api.mapping.map import Elements, stack_sparse
from talweg.core.aval import Aval
from talweg.core.dtypes import int32, int64
from talweg.core.shapes import TensorShape
from talweg.core.value import IndexedSlices
from talweg.graph import structure
from talweg.graph.operation import Operation
from talweg.prims.lists import parts
from talweg.trace.bodies import trace_loop
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor

FUNCTION = "vectorized_map"
NO_TENSOR = (type(None), Operation)


def in_tensors(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `fn`: variables in its result become values, and slices dense gradients."""

    def value_of(leaf: object) -> Any:
        if isinstance(leaf, IndexedSlices):
            return densify(leaf)
        return leaf.value() if hasattr(leaf, "handle_read") else leaf

    return lambda elements: structure.map_leaves(value_of, fn(elements))


def map_one_by_one(fn: Callable[[Any], Any], elems: TensorLike) -> Any:
    """Call `fn` with each slice of `elems` (a nest), and put the results together.

    InvalidArgumentError if results that are tensors have different shapes.
    """
    if not is_symbolic(elems):
        elements = Elements(FUNCTION, elems)
        if elements.size:
            return _together([fn(elements[place]) for place in range(elements.size)])
    return _in_graph(fn, elems)


def _together(results: list) -> Any:
    """Put the results of all slices, of which there are some, together."""
    for result in results[1:]:
        structure.assert_same(results[0], result)
    columns = zip(*[structure.flatten(result) for result in results])
    return structure.pack(results[0], [_join(list(column)) for column in columns])


def _join(values: list) -> Any:
    if isinstance(values[0], NO_TENSOR):
        return None
    if hasattr(values[0], "ragged_rank"):
        return look_up("ragged.stack")(values)
    if hasattr(values[0], "dense_shape"):
        return stack_sparse(values)
    return stack([tensor(value) for value in values])


# -- in graphs


def _in_graph(fn: Callable[[Any], Any], elems: TensorLike) -> Any:
    slices = Slices(FUNCTION, elems)
    results: list = []

    def trial(variables: list) -> list:
        results[:] = [fn(slices[variables[0]])]
        return []

    trace_loop(trial, [Aval((), int32)])
    template = results[0]
    rows = [_rows_for(leaf, slices.size) for leaf in structure.flatten(template)]

    def step(i: Tensor, arrays: list) -> list:
        result = fn(slices[i])
        structure.assert_same(template, result)
        leaves = structure.flatten(result)
        return [row.write(own, i, leaf) for row, own, leaf in zip(rows, arrays, leaves)]

    first = [row.arrays for row in rows]
    stacks = run_loop(slices.size, 0, first, step, MapOptions(True, False))
    return structure.pack(template, [row.result(own) for row, own in zip(rows, stacks)])


def _rows_for(leaf: object, size: object) -> Any:
    """Make the rows that collect results like `leaf`."""
    if isinstance(leaf, NO_TENSOR):
        return NoRows()
    if hasattr(leaf, "ragged_rank"):
        spec = leaf._type_spec
        dims = None if spec.shape.rank is None else [None, *spec.shape]
        more = type(spec)(
            TensorShape(dims), spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype
        )
        return RaggedRows(size, more)
    if hasattr(leaf, "dense_shape"):
        return SparseRows(size, leaf.dtype)
    return TensorRows(FUNCTION, size, tensor(leaf).dtype, None, True)


class NoRows:
    """Results that are no tensors."""

    arrays: tuple = ()

    def write(self, arrays: list, index: TensorLike, value: Tensor) -> list:
        """Write nothing."""
        return []

    def result(self, arrays: list) -> None:
        """Return None, the result of functions that return no tensor."""
        return


class SparseRows:
    """Results of one leaf that are sparse: indices, values and sizes of each."""

    def __init__(self, size: object, dtype: Any):
        self.arrays = [TensorArray(kind, size, infer_shape=False) for kind in (int64, dtype, int64)]

    def write(self, arrays: list, index: TensorLike, value: Tensor) -> list:
        """Return the arrays with one more result."""
        own = value.indices, value.values, value.dense_shape
        return [array.write(index, part) for array, part in zip(arrays, own)]

    def result(self, arrays: list) -> Any:
        """Return all results as one sparse tensor, as large as the largest."""
        indices, values, shapes = arrays
        counts = parts.list_lengths(values.flow)
        numbers = look_up("repeat")(look_up("range")(look_up("size")(counts, int64)), counts)
        rank = look_up("shape")(shapes.stack(), int64)
        found = look_up("concat")([look_up("expand_dims")(numbers, 1), indices.concat()], 1)
        sizes = look_up("concat")([rank[:1], look_up("reduce_max")(shapes.stack(), 0)], 0)
        return look_up("SparseTensor")(found, values.concat(), sizes)
