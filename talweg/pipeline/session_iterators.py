"""Iterators of graphs that sessions run (`tf.compat.v1.data`): made, begun, asked for elements.

Where an iterator is, belongs to the session: the same graph run by two sessions goes over the data
twice.  `dispatch.context.running` is the state of the session that runs in this thread.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import as_dtype, string
from talweg.core.errors import (
    FailedPreconditionError,
    NotFoundError,
    compose,
    type_error,
    value_error,
)
from talweg.core.roles import Role
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensorSpec
from talweg.graph.symbol import Symbol, constant_of
from talweg.pipeline import element
from talweg.pipeline.dataset import Dataset, read_leaf
from talweg.pipeline.effects import IteratorOperation, in_graph, run_effect, unwrap_variant
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.iterators import (
    Cursor,
    OwnedIterator,
    avals_of,
    element_in_graph,
    end_of_sequence,
)
from talweg.pipeline.run import Bound, End, unknowns
from talweg.prims.host import act

if TYPE_CHECKING:
    from talweg.graph.node import Node

_numbers = itertools.count()
FIXED = frozenset((Role.PLACEHOLDER, Role.DEFAULTED))


def session_state() -> dict:
    """Return the running session's state of its iterators; an error outside of sessions."""
    running = dispatch.context.running
    if running is None:
        raise FailedPreconditionError(
            None,
            None,
            compose(
                "TW503",
                "an iterator of a graph gives elements in a session only",
                hint="session.run(...)",
            ),
        )
    return running


class IteratorResource:
    """An iterator of a graph, which has a cursor in each session."""

    def __init__(self, layout: ElementLayout, stage: Any = None, unknown: Any = ()):
        self.layout, self.stage = layout, stage  # the stage of a one-shot iterator
        self.unknown = [id(leaf) for leaf in unknown]
        self.handle = f"iterator_{next(_numbers)}".encode()

    def start(self, state: dict, bound: Bound) -> None:
        """Begin at the first element."""
        state[self] = Cursor(bound.start(), self.layout)

    def cursor(self, state: dict, values: tuple) -> Cursor:
        """Return the session's position; FailedPreconditionError if it has not begun."""
        running = state.get(self)
        if running is None and self.stage is not None:
            self.start(state, Bound(self.stage, dict(zip(self.unknown, values)), {}))
            running = state[self]
        if running is None:
            raise FailedPreconditionError(
                None,
                None,
                compose(
                    "TW505",
                    "GetNext() failed because the iterator has not been initialized. "
                    "Ensure that you have run the initializer operation for this iterator "
                    "before getting the next element.",
                ),
            )
        return running


class Iterator(OwnedIterator):
    """An iterator of a graph (`tf.compat.v1.data.Iterator`).

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()
    ...     [int(session.run(element)) for _ in range(2)]
    [0, 1]
    """

    def __init__(
        self,
        resource: IteratorResource | None,
        layout: ElementLayout,
        handle: Tensor | None = None,
    ):
        self._layout, self._resource, self._handle = layout, resource, handle
        self._leaves: list = []
        self._initializer: Any = None
        self._cursor = self._variant = None

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return an iterator for datasets of this structure, which `make_initializer` begins."""
        layout = layout_of(output_types, output_shapes, output_classes)
        return Iterator(IteratorResource(layout), layout)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return the iterator that a string names (see `string_handle`), which may be fed."""
        layout = layout_of(output_types, output_shapes, output_classes)
        handle = string_handle
        if not isinstance(handle, Tensor):
            handle = element.convert_to_tensor(handle, string)
        return Iterator(None, layout, handle)

    @property
    def initializer(self) -> Any:
        """The operation that begins; ValueError for an iterator that has none."""
        if self._initializer is None:
            raise value_error(
                "TW503",
                "The iterator does not have an initializer. This means it was likely "
                "created using `tf.data.Dataset.make_one_shot_iterator()`. For an initializable "
                "iterator, use `tf.data.Dataset.make_initializable_iterator()` instead.",
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """Return the operation that begins with a dataset; TypeError for one of another
        structure."""
        own, other = self._layout, dataset.stage.layout
        if len(own.flat) != len(other.flat):
            raise type_error(
                "TW208", f"Expected elements {own.spec!r} but got dataset with {other.spec!r}."
            )
        for mine, leaf in zip(own.flat, other.flat):
            if getattr(mine, "dtype", None) is not getattr(leaf, "dtype", None):
                raise type_error(
                    "TW102",
                    f"Expected output types {legacy_types(own.spec)!r} but got dataset "
                    f"with output types {legacy_types(other.spec)!r}.",
                )
            if hasattr(mine, "shape") and not mine.shape.is_compatible_with(leaf.shape):
                raise type_error(
                    "TW204",
                    f"Expected output shapes compatible with {mine.shape} but got dataset "
                    f"with output shapes {leaf.shape}.",
                )
        return self._beginning(dataset, name)

    def _beginning(self, dataset: Any, name: str | None = None) -> Any:
        stage, resource = dataset.stage, self._resource
        found = unknowns(stage)
        ids = [id(leaf) for leaf in found]

        def begin(*arrays: object) -> None:
            values = {key: unwrap_variant(array) for key, array in zip(ids, arrays)}
            resource.start(session_state(), Bound(stage, values, {}))  # type: ignore[union-attr]

        call = IteratorOperation("MakeIterator", (), begin)
        operation = act(*[read_leaf(leaf) for leaf in found], call=call).op
        if name:
            operation.graph.label(operation.node, name)
        return operation

    def get_next(self, name: str | None = None) -> Any:
        """Return the tensors of the next element; running them at the end raises
        OutOfRangeError."""
        layout, resource = self._layout, self._resource
        operands = [read_leaf(leaf) for leaf in self._leaves]
        if resource is None:
            operands = [self._handle]

        def take(*values: object) -> tuple:
            state = session_state()
            own = resource
            if own is None:
                own, values = _find_iterator(state, values[0]), ()
            elif own.stage is not None:
                state.setdefault("iterators", {})[own.handle] = own
            try:
                return tuple(layout.parts(own.cursor(state, values).next()))
            except End:
                raise end_of_sequence() from None

        return element_in_graph(
            layout, run_effect("IteratorGetNext", avals_of(layout), take, *operands)
        )

    def string_handle(self, name: str | None = None) -> Any:
        """Return a string tensor whose value stands for this iterator, in the session."""
        if self._resource is None:
            return self._handle
        resource = self._resource
        operands = [read_leaf(leaf) for leaf in self._leaves]

        def register(*values: object) -> tuple:
            state = session_state()
            state.setdefault("iterators", {})[resource.handle] = resource
            if resource.stage is not None:
                resource.cursor(state, values)
            return (np.array(resource.handle, object),)

        return run_effect("IteratorToStringHandle", [Aval((), string)], register, *operands)[0]

    def _flat_components(self) -> list:
        raise type_error("TW501", "an iterator of a session cannot be passed to a function")

    @property
    def output_types(self) -> Any:
        """The dtypes of the elements."""
        return legacy_types(self._layout.spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the elements."""
        return legacy_shapes(self._layout.spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the elements."""
        return legacy_classes(self._layout.spec)


def _find_iterator(state: dict, handle: object) -> IteratorResource:
    """Return the iterator that a string stands for."""
    key = handle[()] if isinstance(handle, np.ndarray) else handle
    found = state.get("iterators", {}).get(key)
    if found is None:
        raise NotFoundError(
            None, None, compose("TW207", f"no iterator of this session has the handle {key!r}")
        )
    return found


def one_shot(dataset: Any) -> Any:
    """Return the iterator that begins by itself;
    ValueError if its dataset needs feeds or variables.
    """
    if not in_graph() or dispatch.context.base.building_function:
        return OwnedIterator(dataset)
    free = unknowns(dataset.stage)
    for leaf in free:
        name = getattr(leaf, "name", "")
        if type(leaf) is not Symbol:
            raise value_error(
                "TW501",
                f"Cannot capture a stateful node (name:{name}) by value.",
                hint="tf.compat.v1.data.make_initializable_iterator",
            )
        if leaf.node.prim.role in FIXED or constant_of(leaf.node) is None and _is_fed(leaf.node):
            raise value_error(
                "TW501",
                f"Cannot capture a placeholder (name:{name}) by value.",
                hint="tf.compat.v1.data.make_initializable_iterator",
            )
    layout = dataset.stage.layout
    made = Iterator(IteratorResource(layout, dataset.stage, free), layout)
    made._leaves = free
    return made


def _is_fed(node: Node) -> bool:
    """Return whether a value depends on a placeholder."""
    nodes: dict = {}
    _add_sources(node, nodes)
    return any([other.prim.role in FIXED for other in nodes])


def _add_sources(node: Node, nodes: dict) -> None:
    """Add a node and its dependencies."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if here not in nodes:
            nodes[here] = None
            waiting += here.inputs


def initializable(dataset: Any, shared_name: str | None = None) -> Any:
    """Return the iterator that an operation begins; eagerly an iterator that has begun."""
    if not in_graph() or dispatch.context.base.building_function:
        return OwnedIterator(dataset)
    layout = dataset.stage.layout
    made = Iterator(IteratorResource(layout), layout)
    made._initializer = made._beginning(dataset)
    return made


# -- the older way to say what elements are


def legacy_types(spec: object) -> Any:
    """Return the dtypes of a nest of specs."""
    return element.map_leaves(lambda leaf: getattr(leaf, "dtype", leaf), spec)


def legacy_shapes(spec: object) -> Any:
    """Return the shapes of a nest of specs."""
    return element.map_leaves(lambda leaf: getattr(leaf, "shape", leaf), spec)


def legacy_classes(spec: object) -> Any:
    """Return the classes of a nest of specs."""
    return element.map_leaves(lambda leaf: leaf.value_type, spec)


def layout_of(types: object, shapes: list[Any] | None, classes: object) -> ElementLayout:
    """Return the layout of dtypes, shapes (unknown if not given) and classes (tensors)."""
    types = element.map_leaves(as_dtype, types)
    flat = element.flatten(types)
    found = [None] * len(flat) if shapes is None else _flat_like(types, shapes)
    kinds = [None] * len(flat) if classes is None else element.flatten(classes)
    specs = [
        SparseTensorSpec(shape, dtype)
        if getattr(kind, "__name__", "") == "SparseTensor"
        else TensorSpec(shape, dtype)
        for dtype, shape, kind in zip(flat, [TensorShape(shape) for shape in found], kinds)
    ]
    return ElementLayout(element.pack(types, specs))


def _flat_like(types: object, shapes: list[Any]) -> list:
    if not element.is_nested(types):
        return [shapes]
    parts = zip(element.structure.children(types), element.structure.children(shapes))
    return [shape for part, own in parts for shape in _flat_like(part, own)]


class DatasetV1(Dataset):
    """`tf.compat.v1.data.Dataset`: a dataset with the methods of the first generation."""

    def make_one_shot_iterator(self) -> Any:
        """Return an iterator that begins by itself."""
        return one_shot(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator that its `initializer` begins."""
        return initializable(self, shared_name)

    @property
    def output_types(self) -> Any:
        """The dtypes of the elements."""
        return legacy_types(self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the elements."""
        return legacy_shapes(self.element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the elements."""
        return legacy_classes(self.element_spec)


DatasetV1.base = DatasetV1
