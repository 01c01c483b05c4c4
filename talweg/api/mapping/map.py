"""Functions applied along the first axis of nests of tensors: map_fn, scan, foldl, foldr.

In eager mode they are loops in Python (in graphs see `graphs.py`).  The elements are
taken apart by one `unstack` and put together by one `stack`, so a gradient through n elements costs
n, not n² as with an index an element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.creating import zeros
from talweg.api.array.joining import stack, unstack
from talweg.api.control import callable_or_error
from talweg.api.export import export, look_up
from talweg.api.mapping.extension_types import has_extensions, map_separately
from talweg.api.mapping.graphs import (
    MapOptions,
    flatten_elements,
    fold_in_graph,
    is_composite,
    is_symbolic,
    map_in_graph,
    scan_in_graph,
)
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import OutOfRangeError, compose, invalid, value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.spec import TensorSpec


class Elements:
    """A nest of tensors [n, ...], seen as n nests of the slices."""

    def __init__(self, function: str, elems: Any):
        self.structure, self.leaves = elems, flatten_elements(function, elems)
        sizes = [int(leaf.shape[0]) for leaf in self.leaves]
        if len(set(sizes)) > 1:
            raise value_error(
                "TW204", f"{function}: the first dimensions of elems are {sizes}", "equal sizes"
            )
        self.size = sizes[0]
        self._parts = [_slices(leaf, self.size) for leaf in self.leaves]

    def __getitem__(self, position: int) -> Any:
        return structure.pack(self.structure, [parts[position] for parts in self._parts])


def _stack_ragged(values: list, kind: Any) -> Any:
    """Stack rows to one ragged tensor, with row splits of the dtype that `kind` has."""
    dtype = kind.row_splits.dtype if hasattr(kind, "row_splits") else kind.row_splits_dtype
    return look_up("ragged.stack")(values).with_row_splits_dtype(dtype)


def _is_ragged(leaf: object) -> bool:
    return hasattr(leaf, "ragged_rank")


def _slices(leaf: Any, size: int) -> list:
    """Return the slices of a tensor, ragged or sparse tensor along its first axis."""
    if not is_composite(leaf):
        return unstack(leaf)
    if _is_ragged(leaf):
        return [leaf[position] for position in range(size)]
    dims = [int(length) for length in leaf.shape]
    rest = [0] * (len(dims) - 1)
    rows = [look_up("sparse.slice")(leaf, [i, *rest], [1, *dims[1:]]) for i in range(size)]
    return [look_up("sparse.reshape")(row, dims[1:]) for row in rows]


def stack_sparse(values: list) -> Any:
    spread = [look_up("sparse.expand_dims")(value, 0) for value in values]
    return look_up("sparse.concat")(0, spread)


def _gather(
    function: str, rows: list[list], wanted: list[tuple[DType, Any]], infer_shape: bool
) -> list:
    """Stack each leaf to one tensor; `rows` are the leaves of each step's result."""
    return [
        _stack(function, [row[position] for row in rows], dtype, shape, infer_shape)
        for position, (dtype, shape) in enumerate(wanted)
    ]


def _stack(
    function: str, values: list, dtype: DType, shape: TensorShape | None, infer_shape: bool
) -> Any:
    if not values:
        known = shape is not None and shape.is_fully_defined()
        return zeros([0, *shape.as_list()] if known else [0], dtype)
    parts = []
    for value in values:
        part = tensor(value, hint=dtype)
        if part.dtype is not dtype:
            raise invalid(
                "TW102",
                f"{function}: fn returned dtype {part.dtype.name}",
                f"{dtype.name}",
                "fn_output_signature" if function == "map_fn" else "",
            )
        wanted = shape if shape is not None else parts[0].shape if parts else part.shape
        if infer_shape and not part.shape.is_compatible_with(wanted):
            raise value_error(
                "TW204",
                f"{function}: fn returned shape {part.shape} after {wanted}",
                "equal shapes",
            )
        parts.append(part)
    return stack(parts)


@export("map_fn")
def map_fn(
    fn: Callable[[Any], Any],
    elems: object,
    dtype: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: object = None,
) -> Any:
    """Return `fn` applied to each slice of `elems` along the first axis, the results stacked.

    elems: a tensor [n, ...] or a nest of such.  fn_output_signature (or dtype): a nest of dtypes
    or TensorSpecs like fn's result, where it differs from elems.  ValueError if the first
    dimensions differ, the structure or the shapes of the results do; InvalidArgumentError if a
    dtype does.  `tf.vectorized_map` does the same in one sweep of batched operations.

    >>> import talweg as tf
    >>> tf.map_fn(lambda row: tf.reduce_sum(row), tf.constant([[1, 2], [3, 4]]))
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([3, 7], dtype=int32)>
    >>> tf.map_fn(lambda n: n / 2, tf.constant([1, 2]), fn_output_signature=tf.float64)
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([0.5, 1. ])>
    """
    fn = callable_or_error(fn, "map_fn", "fn")
    signature = fn_output_signature if fn_output_signature is not None else dtype
    if has_extensions(elems, signature):

        def on_tensors(
            fn: Callable[..., Any], elems: object, signature: DType | list[TensorSpec] | None
        ) -> Any:
            return map_fn(fn, elems, signature, infer_shape=infer_shape)

        return map_separately(on_tensors, fn, elems, signature)
    if is_symbolic(elems):
        return map_in_graph(fn, elems, signature, infer_shape, MapOptions(back_prop, swap_memory))
    elements = Elements("map_fn", elems)
    like = elems if signature is None else signature
    wanted = elements.leaves if signature is None else structure.flatten(signature)
    rows = []
    for position in range(elements.size):
        result = fn(elements[position])
        structure.assert_same(like, result)
        rows.append(structure.flatten(result))
    gathered = []
    for position, kind in enumerate(wanted):
        values = [row[position] for row in rows]
        if _is_ragged(kind):
            nothing = signature is None and not values
            gathered.append(kind if nothing else _stack_ragged(values, kind))
            continue
        if values and is_composite(values[0]):
            gathered.append(stack_sparse(values))
            continue
        is_class = isinstance(kind, type)  # np.float64, whose `shape` is not that of a result
        shape = None if signature is None or is_class else getattr(kind, "shape", None)
        shape = None if shape is None else TensorShape(shape)
        gathered.append(_stack("map_fn", values, as_dtype(kind), shape, infer_shape))
    return structure.pack(like, gathered)


def _start(function: str, elements: Elements, initializer: object, reverse: bool) -> tuple:
    """Return the first accumulator and the positions that are left."""
    positions = list(range(elements.size))
    if reverse:
        positions.reverse()
    if initializer is not None:
        return initializer, positions
    if not positions:
        text = f"{function}: elems is empty and there is no initializer"
        raise OutOfRangeError(None, None, compose("TW206", text, "elements, or an initializer"))
    return elements[positions[0]], positions[1:]


@export("scan")
def scan(
    fn: Callable[[Any, Any], Any],
    elems: TensorLike,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return all partial results of a fold, stacked: `a = fn(a, x)` for each slice x of `elems`.

    elems: a tensor [n, ...] or a nest of such; the first slice starts the fold if there is no
    initializer.  reverse: from the last slice, each result at its slice's place.  Returns a nest
    like the initializer's (or elems), of shapes [n, ...].  ValueError where structures or shapes
    differ, InvalidArgumentError where dtypes do, OutOfRangeError if there is nothing to start with.

    >>> import talweg as tf
    >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3]))
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 3, 6], dtype=int32)>
    >>> tf.scan(lambda total, x: total * x, tf.constant([1, 2, 3]), initializer=10, reverse=True)
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([60, 60, 30], dtype=int32)>
    """
    fn = callable_or_error(fn, "scan", "fn")
    if is_symbolic(elems, initializer):
        options = MapOptions(back_prop, swap_memory)
        return scan_in_graph(fn, elems, initializer, reverse, infer_shape, options)
    elements = Elements("scan", elems)
    state, positions = _start("scan", elements, initializer, reverse)
    first = [tensor(leaf) for leaf in structure.flatten(state)]
    like = state = structure.pack(state, first)
    rows = [] if initializer is not None else [first]
    for position in positions:
        state = fn(state, elements[position])
        structure.assert_same(like, state)
        rows.append(structure.flatten(state))
    if reverse:
        rows.reverse()
    wanted = [(leaf.dtype, leaf.shape if infer_shape else None) for leaf in first]
    return structure.pack(like, _gather("scan", rows, wanted, infer_shape))


def _fold(
    function: str,
    fn: Callable[..., Any],
    elems: object,
    initializer: object,
    reverse: bool,
    options: MapOptions,
) -> Any:
    fn = callable_or_error(fn, function, "fn")
    if is_symbolic(elems, initializer):
        return fold_in_graph(function, fn, elems, initializer, reverse, options)
    elements = Elements(function, elems)
    state, positions = _start(function, elements, initializer, reverse)
    like = state
    for position in positions:
        state = fn(state, elements[position])
        structure.assert_same(like, state)
    return structure.pack(like, [tensor(leaf) for leaf in structure.flatten(state)])


@export("foldl")
def foldl(
    fn: Callable[[Any, Any], Any],
    elems: TensorLike,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return `a = fn(a, x)` for each slice x of `elems`, from the first to the last; the last a.

    elems: a tensor [n, ...] or a nest of such; the first slice is the first a if there is no
    initializer.  ValueError or TypeError where structures differ, OutOfRangeError if there is
    nothing to start with.

    >>> import talweg as tf
    >>> tf.foldl(lambda a, x: 10 * a + x, tf.constant([1, 2, 3]))
    <tf.Tensor: shape=(), dtype=int32, numpy=123>
    """
    return _fold("foldl", fn, elems, initializer, False, MapOptions(back_prop, swap_memory))


@export("foldr")
def foldr(
    fn: Callable[[Any, Any], Any],
    elems: TensorLike,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return `a = fn(a, x)` for each slice x of `elems`, from the last to the first; the last a.

    elems: a tensor [n, ...] or a nest of such; the last slice is the first a if there is no
    initializer.  ValueError or TypeError where structures differ, OutOfRangeError if there is
    nothing to start with.

    >>> import talweg as tf
    >>> tf.foldr(lambda a, x: 10 * a + x, tf.constant([1, 2, 3]))
    <tf.Tensor: shape=(), dtype=int32, numpy=321>
    """
    return _fold("foldr", fn, elems, initializer, True, MapOptions(back_prop, swap_memory))
