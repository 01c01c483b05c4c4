"""map_fn, scan and the folds in graphs: loops over lists of the slices, of any number.

The slices are elements of a list, so the gradient of a loop over n of them costs n; results are
written to TensorArrays, so sizes that are symbolic stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.export import look_up
from talweg.api.lists.tensor_array import TensorArray
from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dims import differ
from talweg.core.dtypes import int32
from talweg.core.errors import invalid, value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import TypeSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.prims import arithmetic, state
from talweg.prims.control import keep_fixed_dims
from talweg.prims.lists import elements, parts
from talweg.trace import control
from talweg.transform.batch import BatchTensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dims import Size
    from talweg.graph.function_graph import FunctionGraph


def is_symbolic(*nests: object) -> bool:
    """Return whether a loop over these nests is to be traced."""
    if dispatch.state.in_graph is None:
        return False
    leaves = [x for nest in nests for x in structure.flatten(nest, composites=True)]
    return control.builds_graph(*leaves)


def is_composite(value: object) -> bool:
    """Return whether a leaf is a ragged or sparse tensor, or another composite."""
    return structure.kind_of(value) == structure.COMPOSITE


def flatten_elements(function: str, elems: object) -> list:
    """Return the leaves of `elems`,
    tensors of rank 1 or more and composites; ValueError for others.
    """
    leaves = structure.flatten(elems)
    if not leaves:
        raise value_error("TW207", f"{function}: elems={elems!r} has no tensors", "at least one")
    leaves = [leaf if is_composite(leaf) else tensor(leaf) for leaf in leaves]
    for leaf in leaves:
        if leaf.shape.rank == 0:
            wanted = "tensors of rank 1 or more"
            raise value_error("TW203", f"{function}: elems has a scalar, {leaf!r}", wanted)
    return leaves


class Slices:
    """A nest of tensors [n, ...], seen as n nests of the slices."""

    def __init__(self, function: str, elems: Any):
        self.structure, self.leaves = elems, flatten_elements(function, elems)
        self._require_equal_sizes(function)
        self.size = _size_of(self.leaves[0])
        self.lists = [
            None if is_composite(leaf) else elements.list_from(leaf) for leaf in self.leaves
        ]

    def _require_equal_sizes(self, function: str) -> None:
        """Raise ValueError for dense leaves of other sizes than the first; the run looks again."""
        dense = [leaf for leaf in self.leaves if not is_composite(leaf)]
        if len(dense) < 2:
            return
        held = [None if leaf.shape.rank else _size_of(leaf) for leaf in dense]  # till compared
        sizes = [
            leaf.dims[0] if count is None else integer(count, function, "elems")
            for leaf, count in zip(dense, held)
        ]
        if any(differ(size, sizes[0]) for size in sizes):
            raise value_error(
                "TW204", f"{function}: the first dimensions of elems are {sizes}", "equal sizes"
            )
        text = f"{function}: the first dimensions of elems are not equal"
        checked = [require_sizes(x, (n,), (sizes[0],), text) for x, n in zip(dense, sizes)]
        self.leaves = [leaf if is_composite(leaf) else checked.pop(0) for leaf in self.leaves]

    def __getitem__(self, index: TensorLike) -> Any:
        parts = [_part(leaf, values, index) for leaf, values in zip(self.leaves, self.lists)]
        return structure.pack(self.structure, parts)


def _size_of(leaf: object) -> Any:
    """Return the first dimension as an int32 tensor."""
    if hasattr(leaf, "ragged_rank"):
        return arithmetic.cast(leaf.nrows(), dtype=int32)
    if is_composite(leaf):
        return arithmetic.cast(leaf.dense_shape[0], dtype=int32)
    if leaf.shape.rank and leaf.shape[0] is not None:
        return convert_to_tensor(leaf.shape[0], int32)
    return state.shape_of(leaf, dtype=int32)[0]


def _part(leaf: Tensor, values: Tensor | None, index: TensorLike | None) -> Any:
    """Take one slice of a leaf."""
    if values is None:
        return _part_of_composite(leaf, index)
    base = dispatch.context.base
    aval = Aval(None, leaf.dtype)
    if leaf.shape.rank is not None:
        aval = Aval(tuple([_inside(base, size) for size in leaf.dims[1:]]), leaf.dtype)
    params = {"dims": keep_fixed_dims(aval), "dtype": leaf.dtype}
    if base is None or type(values) is BatchTensor or type(index) is BatchTensor:
        return elements.list_get(values, index, **params)
    nodes = base.nodes_of((values, index))
    slice_symbols = base.apply(elements.list_get, tuple(params.items()), nodes, aval)
    for recorder in dispatch.context.recorders:
        recorder.record(elements.list_get, (values, index), slice_symbols, params)
    return slice_symbols


def _inside(base: FunctionGraph, size: Size) -> Any:
    return base.size_inside(size) if hasattr(base, "size_inside") else size


def _part_of_composite(leaf: Any, index: object) -> Any:
    if hasattr(leaf, "ragged_rank"):
        return leaf[index]
    sizes = leaf.dense_shape
    first = convert_to_tensor([1], sizes.dtype)
    start = look_up("concat")(
        [
            look_up("reshape")(arithmetic.cast(index, dtype=sizes.dtype), [1]),
            arithmetic.zeros_of(sizes[1:]),
        ],
        0,
    )
    row = look_up("sparse.slice")(leaf, start, look_up("concat")([first, sizes[1:]], 0))
    return look_up("sparse.reshape")(row, sizes[1:])


# -- what is collected


class TensorRows:
    """Results of one leaf, one for each iteration, in TensorArrays."""

    def __init__(self, function: str, size: object, dtype: Any, shape: Any, infer: bool):
        self.function, self.dtype = function, dtype
        element_shape = None if shape is None else TensorShape(shape)
        self.arrays = [TensorArray(dtype, size, infer_shape=infer, element_shape=element_shape)]

    def write(self, arrays: list, index: Any, value: Tensor) -> list:
        """Return the arrays with one more result."""
        value = tensor(value, hint=self.dtype)
        if value.dtype is not self.dtype:
            raise invalid(
                "TW102",
                f"{self.function}: fn returned dtype {value.dtype.name}",
                f"{self.dtype.name}",
                "fn_output_signature" if self.function == "map_fn" else "",
            )
        return [arrays[0].write(index, value)]

    def result(self, arrays: list) -> Any:
        """Return all results."""
        return arrays[0].stack()


class RaggedRows:
    """Results of one leaf that are ragged, or of different sizes: flat values and row lengths."""

    def __init__(self, size: object, spec: Any):
        self.rank = spec.ragged_rank - 1  # of the results; that of all together is one more
        self.dtype, self.splits_dtype = spec.dtype, spec.row_splits_dtype
        self.arrays = [TensorArray(self.dtype, size, infer_shape=False)]
        for _ in range(self.rank):
            self.arrays.append(TensorArray(self.splits_dtype, size, infer_shape=False))

    def write(self, arrays: list, index: Any, value: Tensor) -> list:
        """Return the arrays with one more result."""
        if not hasattr(value, "ragged_rank"):
            return [arrays[0].write(index, tensor(value, hint=self.dtype)), *arrays[1:]]
        lengths = value.nested_row_lengths()
        found = [arrays[0].write(index, value.flat_values)]
        return [*found, *[a.write(index, n) for a, n in zip(arrays[1:], lengths)]]

    def result(self, arrays: list) -> Any:
        """Return all results as one ragged tensor."""
        outer = parts.list_lengths(arrays[1 if self.rank else 0].flow)
        lengths = [arithmetic.cast(outer, dtype=self.splits_dtype)]
        lengths.extend([array.concat() for array in arrays[1:]])
        make = look_up("RaggedTensor").from_nested_row_lengths
        return make(arrays[0].concat(), lengths, validate=False)


class MapOptions(NamedTuple):
    """Options of the loop: whether gradients go through, and with checkpoints to save memory."""

    back_prop: bool
    checkpoint: bool


def run_loop(
    size: Tensor, start: int, first: TensorLike, step: Callable, options: MapOptions
) -> Any:
    """Run `state = step(i, state)` for i from `start` up to `size`."""
    _, found = control.while_loop(
        lambda i, _: arithmetic.less(i, size),
        lambda i, state: (arithmetic.add(i, 1), step(i, state)),
        (convert_to_tensor(start, int32), first),
        back_prop=options.back_prop,
        checkpoint=options.checkpoint,
        at_most=control.known_size(size) if options.checkpoint else None,
    )
    return found


def map_in_graph(
    fn: Callable[[Any], Any],
    elems: object,
    signature: object,
    infer_shape: bool,
    options: MapOptions,
) -> Any:
    """Compute `map_fn` in a graph."""
    slices = Slices("map_fn", elems)
    like = elems if signature is None else signature
    wanted = slices.leaves if signature is None else structure.flatten(signature)
    rows = [_rows_for(kind, slices.size, signature is not None, infer_shape) for kind in wanted]

    def step(i: Tensor, arrays: list) -> list:
        result = fn(slices[i])
        structure.assert_same(like, result)
        parts = structure.flatten(result)
        return [row.write(own, i, part) for row, own, part in zip(rows, arrays, parts)]

    stacks = run_loop(slices.size, 0, [row.arrays for row in rows], step, options)
    return structure.pack(like, [row.result(own) for row, own in zip(rows, stacks)])


def _rows_for(kind: Any, size: Tensor, told: bool, infer: bool) -> Any:
    """Make the rows that collect results of a kind (a tensor, a dtype, a spec)."""
    if hasattr(kind, "ragged_rank"):
        spec = kind if isinstance(kind, TypeSpec) else kind._type_spec
        if told or not isinstance(kind, TypeSpec):
            return RaggedRows(size, _one_more(spec) if isinstance(kind, TypeSpec) else spec)
    has_shape = told and not isinstance(kind, (Tensor, type))  # np.float64 is a class with `shape`
    shape = getattr(kind, "shape", None) if has_shape else None
    return TensorRows("map_fn", size, look_up("as_dtype")(kind), shape, infer)


def _one_more(spec: Any) -> Any:
    """Return the spec of ragged results together: one more ragged dimension than each has."""
    shape = TensorShape(None) if spec.shape.rank is None else TensorShape([None, *spec.shape])
    return type(spec)(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)


class FoldLoop:
    """Base of scan and the folds: accumulators, and the order of the slices."""

    def __init__(
        self,
        function: str,
        fn: Callable[..., Any],
        elems: object,
        initializer: object,
        reverse: bool,
    ):
        self.fn, self.reverse = fn, reverse
        self.slices = Slices(function, elems)
        self.start = 0 if initializer is not None else 1
        first = self.slices[self.place(0)] if initializer is None else initializer
        self.leaves = [tensor(leaf) for leaf in structure.flatten(first)]
        self.first = structure.pack(first, self.leaves)

    def place(self, i: TensorLike) -> Any:
        """Return the number of the slice that is number `i` in the order of the fold."""
        i = convert_to_tensor(i, int32)
        if not self.reverse:
            return i
        return arithmetic.sub(arithmetic.sub(self.slices.size, 1), i)

    def step(self, i: TensorLike, state: TensorLike) -> Any:
        """Return the accumulators after slice number `i`."""
        found = self.fn(state, self.slices[self.place(i)])
        structure.assert_same(self.first, found)
        parts = structure.flatten(found)
        parts = [tensor(x, hint=leaf.dtype) for x, leaf in zip(parts, self.leaves)]
        return structure.pack(self.first, parts)


def fold_in_graph(
    function: str,
    fn: Callable[..., Any],
    elems: object,
    initializer: object,
    reverse: bool,
    options: MapOptions,
) -> Any:
    """Compute `foldl` and `foldr` in a graph."""
    fold = FoldLoop(function, fn, elems, initializer, reverse)
    return run_loop(fold.slices.size, fold.start, fold.first, fold.step, options)


def scan_in_graph(
    fn: Callable[..., Any],
    elems: TensorLike,
    initializer: object,
    reverse: bool,
    infer_shape: bool,
    options: MapOptions,
) -> Any:
    """Compute `scan` in a graph."""
    fold = FoldLoop("scan", fn, elems, initializer, reverse)
    arrays = [
        TensorArray(
            leaf.dtype,
            fold.slices.size,
            infer_shape=infer_shape,
            element_shape=leaf.shape if infer_shape else None,
        )
        for leaf in fold.leaves
    ]
    if fold.start:
        arrays = [a.write(fold.place(0), leaf) for a, leaf in zip(arrays, fold.leaves)]

    def step(i: Tensor, variables: tuple) -> tuple:
        state, own = variables
        state = fold.step(i, state)
        parts = structure.flatten(state)
        return state, [a.write(fold.place(i), part) for a, part in zip(own, parts)]

    _, stacks = run_loop(fold.slices.size, fold.start, (fold.first, arrays), step, options)
    return structure.pack(fold.first, [array.stack() for array in stacks])
