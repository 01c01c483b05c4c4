"""Stages of less common kinds: reducers of groups, lists, sparse batches, padding to a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import as_dtype, bool_, int64
from talweg.core.errors import InvalidArgumentError, compose, type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec
from talweg.eager.composite import SparseTensor, SparseTensorSpec
from talweg.eager.ragged import RaggedTensor, RaggedTensorSpec
from talweg.eager.tensor import wrap
from talweg.pipeline import element
from talweg.pipeline.batching import batches, check_count
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.function import DataFunction
from talweg.pipeline.nesting import Listed, merge_specs
from talweg.pipeline.run import End, IterationRun, Next, bind
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.spec import TypeSpec

KEY = ElementLayout(TensorSpec((), int64))


class Reducer:
    """The three functions that reduce a group: first state of a key, next state, result."""

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ):
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


class GroupByReducer(Stage):
    """One element for each key: the reduction of the elements that have it, keys in order."""

    name = "_GroupByReducerDataset"

    def __init__(self, source: Any, key: Callable[..., Any], reducer: Reducer):
        what = "group_by_reducer()"
        self.key = DataFunction(key, [source.layout], what)
        self.init = DataFunction(reducer.init_func, [KEY], what)
        state = self.init.layout
        self.reduce = DataFunction(reducer.reduce_func, [state, source.layout], what)
        self.finalize = DataFunction(reducer.finalize_func, [state], what)
        super().__init__(self.finalize.layout, source)

    def leaves(self) -> list:
        """Return the tensors that the functions captured."""
        functions = (self.key, self.init, self.reduce, self.finalize)
        return [leaf for function in functions for leaf in function.leaves()]

    def start(self, run: IterationRun) -> Next:
        """Reduce all, then give the results."""
        results: Any = None

        def step() -> tuple:
            nonlocal results
            if results is None:
                results = iter(self._results(run))
            for flat in results:
                return flat
            raise End

        return step

    def _results(self, run: IterationRun) -> list:
        source, key = self.inputs[0].start(run), self.key.run_with(run)
        init, reduce = self.init.run_with(run), self.reduce.run_several(run)
        states: dict[int, tuple] = {}
        while True:
            try:
                flat = source()
            except End:
                break
            which = int(key(flat)[0])
            if which not in states:
                states[which] = init((np.int64(which),))
            states[which] = reduce(states[which], flat)
        finalize = self.finalize.run_with(run)
        return [finalize(states[which]) for which in sorted(states)]


def list_stage(elements: object) -> Listed:
    """Return the stage of a Python list of elements;
    ValueError for none, TypeError if they differ.
    """
    if not isinstance(elements, list):
        raise type_error("TW104", f"`elements` must be a list, got {type(elements)}")
    if not elements:
        raise value_error("TW104", "Invalid `elements`. `elements` should not be empty.")
    values = [element.convert_element(value) for value in elements]
    spec = element.specs_of(values[0])
    for value in values[1:]:
        spec = merge_specs(spec, element.specs_of(value), "from_list: elements of specs")
    listed_stage = Listed(
        ElementLayout(spec),
        [tuple([element.content_of(leaf) for leaf in element.flatten(v)]) for v in values],
    )
    listed_stage.name = "_ListDataset"
    return listed_stage


class SparseBatch(Stage):
    """Tensors of different shapes, `count` at a time, as a sparse tensor."""

    name = "_DenseToSparseBatchDataset"

    def __init__(self, source: Any, count: TensorLike | None, row_shape: ShapeLike):
        spec = source.layout.spec
        if not isinstance(spec, TensorSpec):
            raise type_error("TW104", f"sparse_batch: elements must be tensors, are {spec!r}")
        self.row_shape = TensorShape(row_shape)
        super().__init__(
            ElementLayout(
                SparseTensorSpec(TensorShape([None]).concatenate(self.row_shape), spec.dtype)
            ),
            source,
        )
        self.count = count

    def leaves(self) -> list:
        """Return the size of a batch."""
        return [self.count]

    def size(self, run: IterationRun) -> int:
        """Return the number of batches."""
        return batches(self.inputs[0].size(run), run.number(self.count), False)

    def start(self, run: IterationRun) -> Next:
        """Collect elements and note where they are."""
        source, count = self.inputs[0].start(run), run.number(self.count)
        check_count(count)
        ended = False

        def step() -> tuple:
            nonlocal ended
            rows: list = []
            try:
                while not ended and len(rows) < count:
                    rows.append(np.asarray(source()[0]))
            except End:
                ended = True
            if not rows:
                raise End
            return (self._together(rows),)

        return step

    def _together(self, arrays: list) -> SparseTensor:
        wanted = self.row_shape.as_list()
        largest = [max(sizes) for sizes in zip(*[array.shape for array in arrays])]
        shape = [have if size is None else size for size, have in zip(wanted, largest)]
        if len(wanted) != arrays[0].ndim or any([h > s for h, s in zip(largest, shape)]):
            raise InvalidArgumentError(
                None,
                None,
                compose(
                    "TW204",
                    f"sparse_batch: elements of shapes up to {largest} do not fit "
                    f"row_shape {wanted}",
                ),
            )
        places = [
            np.concatenate(
                [np.full((array.size, 1), n), np.indices(array.shape).reshape(array.ndim, -1).T],
                axis=1,
            )
            for n, array in enumerate(arrays)
        ]
        return SparseTensor(
            wrap(np.concatenate(places).astype(np.int64)),
            wrap(np.concatenate([array.reshape(-1) for array in arrays])),
            wrap(np.array([len(arrays), *shape], np.int64)),
        )


class ToRagged(Stage):
    """Tensors whose shapes are not known as ragged tensors, to be batched."""

    name = "_MapDataset"

    def __init__(self, source: Any, splits_dtype: DTypeLike):
        self.flags = [
            isinstance(leaf, TensorSpec) and not leaf.shape.is_fully_defined()
            for leaf in source.layout.flat
        ]
        self.dtype = as_dtype(splits_dtype)
        specs = [
            _make_ragged_spec(leaf, self.dtype) if flag else leaf
            for leaf, flag in zip(source.layout.flat, self.flags)
        ]
        super().__init__(ElementLayout(element.pack(source.layout.spec, specs)), source)

    def size(self, run: IterationRun) -> int:
        """Return the size of its input."""
        return self.inputs[0].size(run)

    def start(self, run: IterationRun) -> Next:
        """Divide all but the last dimension."""
        source, flags = self.inputs[0].start(run), self.flags

        def split_rows(array: np.ndarray) -> Any:
            if array.ndim < 2:
                return array
            return RaggedTensor.from_tensor(
                wrap(array), ragged_rank=array.ndim - 1, row_splits_dtype=self.dtype
            )

        return lambda: tuple(
            [split_rows(item) if flag else item for item, flag in zip(source(), flags)]
        )


def _make_ragged_spec(leaf: object, splits_dtype: Any) -> RaggedTensorSpec:
    if leaf.shape.rank is None:
        raise value_error("TW203", f"ragged_batch: the rank of {leaf!r} must be known")
    return RaggedTensorSpec(leaf.shape, leaf.dtype, leaf.shape.rank - 1, splits_dtype)


class PadTo(Stage):
    """The elements with a mark, then zeros without it, up to a number of elements."""

    name = "_ConcatenateDataset"

    def __init__(self, source: Any, count: int, mask_key: str):
        spec = source.layout.spec
        if not isinstance(spec, dict):
            raise value_error(
                "TW104",
                "`tf.data.experimental.pad_to_cardinality` requires its input dataset to "
                "be a dictionary.",
            )
        if bind(source).size() < 0:
            raise value_error(
                "TW104",
                "`tf.data.experimental.pad_to_cardinality` requires its input dataset to "
                "have a known, finite number of elements",
            )
        for leaf in source.layout.flat:
            _check_fillable(leaf)
        super().__init__(ElementLayout({**spec, mask_key: TensorSpec((), bool_)}), source)
        self.count = count
        self.place = len(element.flatten({k: spec[k] for k in spec if k < mask_key}))

    def size(self, run: IterationRun) -> int:
        """Return the number asked for."""
        return self.count

    def start(self, run: IterationRun) -> Next:
        """Fill up at the end."""
        source, given, ended, flag_at = self.inputs[0].start(run), 0, False, self.place
        specs = self.inputs[0].layout.flat
        zeros = [_zeros(spec) for spec in specs]

        def step() -> tuple:
            nonlocal given, ended
            flat: Any = None
            if not ended:
                try:
                    flat = source()
                except End:
                    ended = True
            if flat is None and given >= self.count:
                raise End
            given += 1
            filled = zeros if flat is None else list(flat)
            return (*filled[:flag_at], np.bool_(flat is not None), *filled[flag_at:])

        return step


def _check_fillable(leaf: object) -> None:
    """Check that zeros can be made: the shape must be known."""
    if isinstance(leaf, TensorSpec) and leaf.shape.is_fully_defined():
        return
    make = type_error if isinstance(leaf, SparseTensorSpec) else value_error
    raise make("TW104", f"`tf.data.experimental.pad_to_cardinality` cannot make zeros like {leaf}")


def _zeros(spec: TypeSpec) -> Any:
    sizes = [0 if size is None else size for size in (spec.shape.as_tuple() or ())]
    if spec.dtype.name == "string":
        return np.full(sizes, b"", object)
    return np.zeros(sizes, spec.dtype.numpy_dtype)[()]
