"""tf.data.Dataset: what users hold of a pipeline, its iterators and its spec.

A dataset is a `Stage` with methods.  Methods that make datasets of nothing are in `making.py`,
those that make one of another in `transforming.py`, `grouping.py`, `combining.py`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from opcode import opmap
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import int64, variant
from talweg.core.errors import (
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    compose,
    type_error,
)
from talweg.core.habits import OF_DATASETS, add_habits, without_habits
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.spec import TypeSpec
from talweg.eager.structured import Variant
from talweg.eager.tensor import EagerTensor, wrap
from talweg.graph.handle import Handle
from talweg.pipeline import element
from talweg.pipeline.combining import Combining
from talweg.pipeline.effects import (
    in_graph,
    in_session_graph,
    leaves_of,
    run_effect,
    unwrap_variant,
)
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.grouping import Grouping
from talweg.pipeline.iterators import NumpyIterator, OwnedIterator
from talweg.pipeline.keeping import Keeping
from talweg.pipeline.making import Making
from talweg.pipeline.mapping import DataFunction, trace_reduction
from talweg.pipeline.nesting import Given
from talweg.pipeline.options import Options
from talweg.pipeline.run import (
    VARIANT_SPEC,
    Bound,
    End,
    IterationRun,
    bind,
    needs_restart,
    unknowns,
)
from talweg.pipeline.stage import Stage
from talweg.pipeline.transforming import Transforming
from talweg.prims.host import host_call  # noqa: F401 -- declares the operation

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.value import Tensor


class DatasetV2:
    """The class name by which libraries recognise a dataset, as in TensorFlow."""


class MakingDataset:
    """The operation that makes a dataset when a graph runs, of the tensors that `stage` uses."""

    def __init__(self, stage: Stage, ids: list[int]):
        self.stage, self._ids = stage, ids

    def __call__(self, *arrays: object) -> tuple:
        return (Variant(Bound(self.stage, dict(zip(self._ids, arrays)), {})),)


class Dataset(DatasetV2, Making, Transforming, Grouping, Combining, Keeping):
    """A pipeline of elements (`tf.data.Dataset`): made by `from_tensor_slices` and its like.

    Iterating computes the elements, one after the other, each time anew.

    >>> import talweg as tf
    >>> dataset = tf.data.Dataset.range(5).map(lambda x: x * x).batch(2)
    >>> [batch.tolist() for batch in dataset.as_numpy_iterator()]
    [[0, 1], [4, 9], [16]]
    """

    base: Any = None  # the class of what methods make

    def __dir__(self) -> list[str]:
        return without_habits(list(super().__dir__()), type(self))

    def __init__(self, variant_tensor: object = None, element_spec: Any = None):
        if isinstance(variant_tensor, Stage):
            self.stage: Stage = variant_tensor
        elif element_spec is None:
            raise type_error(
                "TW104",
                f"Dataset has no elements of its own, got {variant_tensor!r}",
                hint="tf.data.Dataset.from_tensor_slices(x)",
            )
        else:
            self.stage = Given(variant_tensor, ElementLayout(element_spec))
        self._options: Any = None
        self._tensor: Any = None

    @classmethod
    def of(cls, stage: Stage, *sources: object) -> Any:
        """Return the dataset of a stage, with the options of those it is made of."""
        found = cls.base(stage)
        options = [source._options for source in sources if source._options is not None]
        for other in options:
            found._options = other if found._options is None else found._options.merge(other)
        return found

    # -- what it is

    @property
    def element_spec(self) -> Any:
        """The structure of the elements, with a `tf.TypeSpec` for each leaf."""
        return self.stage.layout.spec

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)

    def bind(self) -> Bound:
        """Return the pipeline with all values it needs; TypeError if it uses tensors of a graph."""
        return bind(self.stage)

    def bind_in(self, run: IterationRun) -> Bound:
        """Return the pipeline as part of another one."""
        found = unknowns(self.stage)
        if not found:
            return bind(self.stage)
        return Bound(self.stage, run.values, {} if run.kept is None else run.kept)

    def cardinality(self) -> Any:
        """Return the number of elements, an int64 scalar: -1 if there is no end, -2 if nobody
        knows."""
        if in_session_graph() or (in_graph() and unknowns(self.stage)):
            call = lambda bound: (np.int64(unwrap_variant(bound).size()),)  # noqa: E731
            return run_effect("DatasetCardinality", [Aval((), int64)], call, self._variant_tensor)[
                0
            ]
        with dispatch.eagerly():
            return wrap(np.int64(self.bind().size()))

    def options(self) -> Options:
        """Return the options, those of its inputs included."""
        return Options() if self._options is None else Options().merge(self._options)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return the dataset with options, which take the place of those set before."""
        if not isinstance(options, Options):
            raise type_error("TW104", f"with_options: {options!r} is no tf.data.Options")
        found = type(self).of(self.stage)
        found._options = self.options().merge(options)
        return found

    def __repr__(self) -> str:
        return f"<{self.stage.name} element_spec={self.element_spec!r}>"

    def _repr_html_(self) -> str:
        return hooks.html_view(self)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        if in_graph():
            raise TypeError(
                compose(
                    "TW104",
                    "`tf.data.Dataset` only supports `len` in eager mode",
                    hint="tf.data.Dataset.cardinality()",
                )
            )
        size = self.bind().size()
        if size < 0:
            why = "infinite" if size == -1 else "unknown"
            hint = (
                "for unknown ones: dataset.reduce(0, lambda n, _: n + 1), which reads all elements"
            )
            raise TypeError(compose("TW104", f"The dataset length is {why}.", hint=hint))
        return size

    # -- iterating

    def __iter__(self) -> OwnedIterator:
        base = dispatch.context.base
        if base is not None and not base.building_function:
            raise RuntimeError(
                compose(
                    "TW501",
                    "`tf.data.Dataset` only supports Python-style iteration in eager "
                    "mode or within tf.function.",
                    hint="tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()",
                )
            )
        if base is not None and _is_loop(sys._getframe(1)):
            raise OperatorNotAllowedInGraphError(
                compose(
                    "TW104",
                    "a Python loop over a dataset would not end: nobody knows the "
                    "number of elements while a function is traced",
                    "a loop that AutoGraph converts",
                    "tf.function(..., autograph=True) of your own function, or dataset.reduce",
                )
            )
        return OwnedIterator(self)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator whose elements are NumPy arrays.

        >>> import talweg as tf
        >>> list(tf.data.Dataset.range(3).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(2)]
        """
        if in_graph():
            raise RuntimeError(
                compose("TW501", "as_numpy_iterator() is not supported while tracing functions")
            )
        for leaf in self.stage.layout.flat:
            if not hasattr(leaf, "dtype") and not isinstance(leaf, element.NoneTensorSpec):
                raise type_error(
                    "TW104", f"as_numpy_iterator() is not supported for elements of {leaf!r}"
                )
        return NumpyIterator(self)

    def reduce(
        self,
        initial_state: TensorLike,
        reduce_func: Callable[[Any, Any], Any],
        name: str | None = None,
    ) -> Any:
        """Return the last state: reduce_func(state, element) is the next one, from the first
        element on.

        The state is a nest of tensors whose structure and dtypes stay.

        >>> import talweg as tf
        >>> tf.data.Dataset.range(5).reduce(np.int64(0), lambda state, x: state + x).numpy()
        np.int64(10)
        """
        first, function = trace_reduction(
            initial_state, reduce_func, self.stage.layout, "Dataset.reduce()", gives_element=False
        )
        leaves = element.flatten(first)
        if not in_graph():
            flat = tuple([element.content_of(leaf) for leaf in leaves])
            run = IterationRun({}, None)
            return function.layout.value(_reduce(self.bind(), flat, function, run))
        return self._reduce_in_graph(leaves, function)

    def _reduce_in_graph(self, leaves: list, function: DataFunction) -> Any:
        captured = [read_leaf(leaf) for leaf in function.leaves()]
        ids = [id(leaf) for leaf in function.leaves()]
        layout, count = function.layout, len(leaves)

        def call(bound: Bound, *arrays: object) -> tuple:
            values = dict(zip(ids, arrays[count:]))
            run = IterationRun(values, None)
            flat = tuple([unwrap_variant(array) for array in arrays[:count]])
            return tuple(layout.parts(_reduce(unwrap_variant(bound), flat, function, run)))

        from_graph = run_effect(
            "ReduceDataset",
            _avals(layout),
            call,
            self._variant_tensor,
            *leaves,
            *captured,
            source=(leaves_of(self.stage), function.leaves()),
        )
        return element.pack(layout.spec, list(from_graph))

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element; InvalidArgumentError if there is none, or more than one."""
        layout = self.stage.layout
        if not in_graph():
            return layout.value(_single(self.bind()))
        call = lambda bound: tuple(layout.parts(_single(unwrap_variant(bound))))  # noqa: E731
        found = run_effect(
            "DatasetToSingleElement",
            _avals(layout),
            call,
            self._variant_tensor,
            source=(leaves_of(self.stage),),
        )
        return _together(layout, found)

    def trace_steps(self) -> tuple:
        """Return, for a loop in a graph, what says whether there is an element, and what takes
        it."""
        return OwnedIterator(self).trace_steps()

    # -- as one tensor

    @property
    def _variant_tensor(self) -> Any:
        """The tensor that stands for it; in a graph an operation, if it uses tensors of that."""
        free = unknowns(self.stage)
        is_op = in_session_graph() or (in_graph() and needs_restart(self.stage))
        if not free and not is_op:
            if self._tensor is None:
                self._tensor = EagerTensor(Variant(bind(self.stage)))
            return self._tensor
        if isinstance(self.stage, Given):
            return self.stage.tensor
        if self._tensor is not None and _is_seen(self._tensor):
            return self._tensor
        ids, stage = [id(leaf) for leaf in free], self.stage

        operands = [read_leaf(leaf) for leaf in free]
        name, make = stage.name.lstrip("_"), MakingDataset(stage, ids)
        (self._tensor,) = run_effect(name, [Aval((), variant)], make, *operands)
        return self._tensor

    @property
    def trace_key(self) -> Any:
        """Return the key that tells traces of functions with dataset arguments apart."""
        return self.stage.layout.key

    def _flat_components(self) -> list:
        return [self._variant_tensor]

    def _with_components(self, parts: list) -> Dataset:
        return dataset_of(parts[0], self.stage.layout, self.base)

    def __tf_tracing_type__(self, context: Any) -> Any:
        return DatasetSpec(self.element_spec)


for part in (Making, Transforming, Grouping, Combining, Keeping):
    for method in filter(inspect.isfunction, vars(part).values()):  # as Python's errors name them
        method.__qualname__ = f"Dataset.{method.__name__}"
add_habits(Dataset, OF_DATASETS)


def _is_loop(frame: Any) -> bool:
    """Return whether a frame is at the beginning of a `for`, and not at a call of `iter`."""
    return frame.f_code.co_code[frame.f_lasti] == opmap["GET_ITER"]


def _is_seen(tensor: Any) -> bool:
    """Return whether a tensor of a graph can be used here:
    it is of this graph, or one around it.
    """
    graph = dispatch.context.base
    if graph is None or getattr(graph, "closed", False):
        return True
    while graph is not None and graph.table is not tensor.node.table:
        graph = getattr(graph, "outer", None)
    return graph is not None


def read_leaf(leaf: Tensor) -> Any:
    """Return a leaf of a pipeline as an operand: variables are read."""
    return leaf.variable.value() if type(leaf) is Handle else leaf


def _avals(layout: ElementLayout) -> list:
    return [
        Aval(None if spec.shape.rank is None else spec.shape.as_tuple(), spec.dtype)
        for leaf in layout.flat
        for spec in element.part_specs(leaf)
    ]


def _together(layout: ElementLayout, tensors: tuple) -> Any:
    remaining, leaves = list(tensors), []
    for spec in layout.flat:
        count = len(element.part_specs(spec))
        leaves.append(element.composite(spec, remaining[:count]))
        del remaining[:count]
    return element.pack(layout.spec, leaves)


def _reduce(bound: Bound, state: tuple, function: DataFunction, run: IterationRun) -> tuple:
    """Return the last state of a reduction."""
    step, call = bound.start(), function.run_several(run)
    while True:
        try:
            flat = step()
        except End:
            return state
        state = call(state, flat)


def _single(bound: Bound) -> tuple:
    step = bound.start()
    try:
        found = step()
    except End:
        raise _not_single("Dataset was empty.") from None
    try:
        step()
    except End:
        return found
    raise _not_single("Dataset had more than one element.")


def _not_single(text: str) -> Exception:
    return InvalidArgumentError(None, None, compose("TW207", text))


def dataset_of(tensor: object, layout: ElementLayout, cls: type = Dataset) -> Any:
    """Return the dataset that a tensor stands for."""
    if type(tensor) is EagerTensor:
        bound = unwrap_variant(tensor._array)
        if not bound.values:
            return cls(bound.stage)
    return cls(Given(tensor, layout))


class DatasetSpec(TypeSpec):
    """The spec of a dataset: that of its elements (`tf.data.DatasetSpec`).

    >>> import talweg as tf
    >>> tf.data.DatasetSpec(tf.TensorSpec([], tf.int64)).element_spec
    TensorSpec(shape=(), dtype=tf.int64, name=None)
    """

    __slots__ = ("_dataset_shape", "_element_spec", "_layout")
    variant_spec = VARIANT_SPEC

    def __init__(self, element_spec: object, dataset_shape: ShapeLike = ()):
        self._element_spec, self._dataset_shape = element_spec, TensorShape(dataset_shape)
        self._layout: Any = None

    @property
    def element_spec(self) -> Any:
        """The specs of the elements."""
        return self._element_spec

    @property
    def dataset_layout(self) -> ElementLayout:
        """The layout of the elements."""
        if self._layout is None:
            self._layout = ElementLayout(self._element_spec)
        return self._layout

    @property
    def value_type(self) -> type:
        """`tf.data.Dataset`."""
        return Dataset

    def _serialize(self) -> tuple:
        return self._element_spec, self._dataset_shape

    def _of(self, value: object) -> DatasetSpec | None:
        return DatasetSpec(value.element_spec) if isinstance(value, Dataset) else None

    def from_variant(self, tensor: TensorLike) -> Dataset:
        """Return the dataset that a tensor stands for."""
        return dataset_of(tensor, self.dataset_layout)

    def from_content(self, content: Bound) -> Dataset:
        """Return the dataset of an element."""
        if not content.values:
            return Dataset(content.stage)
        return dataset_of(EagerTensor(Variant(content)), self.dataset_layout)

    @staticmethod
    def from_value(value: Dataset) -> DatasetSpec:
        """Return the spec of a dataset."""
        return DatasetSpec(value.element_spec)


Dataset.spec_of_dataset = DatasetSpec  # type: ignore[attr-defined]
Dataset.base = Dataset
