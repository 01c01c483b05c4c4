"""Iterators over datasets, eager and in graphs, and Optional, which holds an element or none.

In eager execution an iterator holds a `Cursor`.  In a graph it is a tensor that stands for a cursor
when the graph runs; taking an element is an operation with an effect, so it happens once, in the
order of the program.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from talweg.core.aval import Aval
from talweg.core.dtypes import bool_, variant
from talweg.core.errors import InvalidArgumentError, OutOfRangeError, compose, value_error
from talweg.core.forks import ancestry
from talweg.core.spec import TypeSpec
from talweg.core.tracebacks import pass_out
from talweg.core.tracking import Trackable
from talweg.core.transfers import fetch
from talweg.eager.structured import Variant
from talweg.eager.tensor import EagerTensor, wrap
from talweg.pipeline import element
from talweg.pipeline.effects import in_graph, leaves_of, run_effect, unwrap_variant
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.run import VARIANT_SPEC, End, Next

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.pipeline.run import Bound


class Cursor:
    """A place in a dataset, for one user or several threads."""

    __slots__ = ("__weakref__", "_ahead", "_generation", "_own_lock", "_step", "layout", "taken")

    def __init__(self, step: Next, layout: ElementLayout):
        self._step, self.layout = step, layout
        self._ahead: list = []
        self._own_lock = threading.RLock()
        self._generation = ancestry.generation
        self.taken = 0  # elements given so far

    @property
    def _lock(self) -> Any:
        """Its lock, which is free in a forked child."""
        if self._generation != ancestry.generation:
            self._own_lock, self._generation = threading.RLock(), ancestry.generation
        return self._own_lock

    def next(self) -> tuple:
        """Return the next element; raises End."""
        with self._lock:
            if self._ahead:
                flat = self._ahead.pop()
            else:
                flat = self._step()
            self.taken += 1
            return flat

    def go_to(self, step: Next, taken: int) -> None:
        """Begin again with `step`, and pass over the elements that were `taken`."""
        with self._lock:
            self._step, self._ahead, self.taken = step, [], 0
            try:
                while self.taken < taken:
                    self.next()
            except End:
                self.taken = taken

    def more(self) -> bool:
        """Return whether there is a next element, which is kept for `next`."""
        with self._lock:
            if not self._ahead:
                try:
                    self._ahead.append(self._step())
                except End:
                    return False
            return True


# -- operations of graphs


def avals_of(layout: ElementLayout) -> list[Aval]:
    """Return the abstract values of an element's tensors."""
    specs = [part for leaf in layout.flat for part in element.part_specs(leaf)]
    return [
        Aval(None if spec.shape.rank is None else spec.shape.as_tuple(), spec.dtype)
        for spec in specs
    ]


def element_in_graph(layout: ElementLayout, tensors: tuple) -> Any:
    """Return an element of the tensors it consists of."""
    remaining, leaves = list(tensors), []
    for spec in layout.flat:
        count = len(element.part_specs(spec))
        leaves.append(element.composite(spec, remaining[:count]))
        del remaining[:count]
    return element.pack(layout.spec, leaves)


def end_of_sequence() -> Exception:
    """Return the error of `get_next` at the end."""
    return OutOfRangeError(None, None, compose("TW209", "End of sequence"))


class Iterator(Trackable):
    """An iterator over a dataset (`tf.data.Iterator`): `iter(dataset)` makes it.

    `next(iterator)` raises StopIteration at the end, `get_next()` OutOfRangeError.

    >>> import talweg as tf
    >>> iterator = iter(tf.data.Dataset.range(2))
    >>> [int(next(iterator)), int(iterator.get_next())]
    [0, 1]
    """

    def __init__(
        self,
        dataset: Any = None,
        components: Sequence[Any] | TensorLike | None = None,
        element_spec: Any = None,
    ):
        self._variant: Any = None
        self._key: tuple | None = None
        self._dataset: Any = None
        if dataset is None:
            self._layout = ElementLayout(element_spec)
            self._take_variant(components[0] if isinstance(components, list) else components)
            return
        self._layout = dataset.stage.layout
        self._cursor: Any = None
        self._dataset = dataset
        if in_graph():
            layout = self._layout

            def begin(bound: Bound) -> tuple:
                return (Variant(Cursor(unwrap_variant(bound).start(), layout)),)

            (self._variant,) = run_effect(
                "AnonymousIteratorV3", [Aval((), variant)], begin, dataset._variant_tensor
            )
        else:
            self._cursor = Cursor(dataset.bind().start(), self._layout)

    def _take_variant(self, tensor: object) -> None:
        self._cursor = unwrap_variant(tensor._array) if type(tensor) is EagerTensor else None
        self._variant = None if self._cursor is not None else tensor

    @property
    def element_spec(self) -> Any:
        """The specs of the elements."""
        return self._layout.spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self._layout.spec)

    # -- as a nest of one variant tensor, so that functions take it as an argument

    @property
    def trace_key(self) -> Any:
        """Return the key that tells traces with iterator arguments apart."""
        return self._layout.key

    @property
    def iterator_tensor(self) -> Any:
        """The tensor that stands for it."""
        if self._variant is None:
            self._variant = EagerTensor(Variant(self._cursor))
        return self._variant

    def _flat_components(self) -> list:
        return [self.iterator_tensor]

    def _with_components(self, parts: list) -> Iterator:
        found = object.__new__(type(self))
        found._layout, found._key, found._cursor = self._layout, None, None
        found._dataset = self._dataset
        found._take_variant(parts[0])
        return found

    # -- elements

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        if self._cursor is None or in_graph():
            return self.get_next()
        try:
            return self._layout.value(self._cursor.next())
        except End:
            raise StopIteration from None
        except Exception as error:
            pass_out(error)
            raise

    def _used(self) -> tuple:
        """Return what its dataset uses, where that is known, for `run_effect`."""
        return () if self._dataset is None else (leaves_of(self._dataset.stage),)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element; OutOfRangeError at the end."""
        if self._cursor is not None and not in_graph():
            try:
                return self._layout.value(self._cursor.next())
            except End:
                raise end_of_sequence() from None
        layout = self._layout

        def take(cursor: Variant | Cursor) -> tuple:
            try:
                return tuple(layout.parts(unwrap_variant(cursor).next()))
            except End:
                raise end_of_sequence() from None

        avals = avals_of(layout)
        tensors = run_effect(
            "IteratorGetNext", avals, take, self.iterator_tensor, source=self._used()
        )
        return element_in_graph(layout, tensors)

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an `Optional`, which is empty at the end."""
        if self._cursor is not None and not in_graph():
            flat = None
            if self._cursor.more():
                flat = self._cursor.next()
            return Optional(self._layout, flat)

        def take(cursor: Cursor) -> tuple:
            cursor = unwrap_variant(cursor)
            flat = cursor.next() if cursor.more() else None
            return (Variant(Optional(cursor.layout, flat)),)

        (tensor,) = run_effect(
            "IteratorGetNextAsOptional",
            [Aval((), variant)],
            take,
            self.iterator_tensor,
            source=self._used(),
        )
        return OptionalSpec(self._layout.spec).from_variant(tensor)

    def trace_steps(self) -> tuple:
        """Return, for a loop in a graph, what says whether there is an element, and what takes
        it."""

        def more() -> Any:
            call = lambda cursor: (wrap(unwrap_variant(cursor).more())._array,)  # noqa: E731
            return run_effect(
                "IteratorHasNext",
                [Aval((), bool_)],
                call,
                self.iterator_tensor,
                source=self._used(),
            )[0]

        return more, self.get_next

    # -- checkpoints: a place is the number of elements taken

    def _serialize_to_tensors(self) -> dict:
        if self._cursor is None or self._dataset is None:
            return {}
        return {"_ITERATOR": wrap(element.np.int64(self._cursor.taken))}

    def _restore_from_tensors(self, restored_tensors: dict) -> None:
        self._cursor.go_to(self._dataset.bind().start(), int(restored_tensors["_ITERATOR"]))

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>"


class OwnedIterator(Iterator):
    """The iterators of eager execution and functions."""


class NumpyIterator:
    """An iterator whose elements are arrays (`tf.data.NumpyIterator`)."""

    __slots__ = ("__weakref__", "_cursor", "_layout")

    def __init__(self, dataset: Any):
        self._layout = dataset.stage.layout
        self._cursor = Cursor(dataset.bind().start(), self._layout)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self._layout.numpy(self._cursor.next())
        except End:
            raise StopIteration from None
        except Exception as error:
            pass_out(error)
            raise

    next = __next__


class IteratorSpec(TypeSpec):
    """The spec of an iterator: that of its elements (`tf.data.IteratorSpec`).

    >>> import talweg as tf
    >>> tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))
    IteratorSpec(TensorSpec(shape=(), dtype=tf.int64, name=None))
    """

    __slots__ = ("_element_spec",)
    variant_spec = VARIANT_SPEC

    def __init__(self, element_spec: object):
        self._element_spec = element_spec

    @property
    def element_spec(self) -> Any:
        """The specs of the elements."""
        return self._element_spec

    @property
    def value_type(self) -> type:
        """`OwnedIterator`."""
        return OwnedIterator

    def _serialize(self) -> tuple:
        return (self._element_spec,)

    def _of(self, value: object) -> IteratorSpec | None:
        return self.from_value(value) if isinstance(value, Iterator) else None

    def from_variant(self, tensor: TensorLike) -> Iterator:
        """Return the iterator that a tensor stands for."""
        return OwnedIterator(components=tensor, element_spec=self._element_spec)

    @staticmethod
    def from_value(value: Iterator) -> IteratorSpec:
        """Return the spec of an iterator."""
        return IteratorSpec(value.element_spec)


class Optional:
    """An element, or none (`tf.experimental.Optional`)."""

    def __init__(
        self, layout: ElementLayout | None, flat: tuple | None, tensor: TensorLike | None = None
    ):
        self._given_layout, self._flat, self._variant = layout, flat, tensor

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return one without an element, which would have this spec; None if nobody knows it
        yet."""
        return Optional(None if element_spec is None else ElementLayout(element_spec), None)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return one with an element."""
        value = element.convert_element(value)
        layout = ElementLayout(element.specs_of(value))
        leaves = element.flatten(value)
        if in_graph():
            parts = [
                part
                for leaf in leaves
                if leaf is not None
                for part in (
                    leaf._flat_components() if hasattr(leaf, "_flat_components") else [leaf]
                )
            ]

            def make(*arrays: object) -> tuple:
                if not layout.plain:
                    arrays = tuple(map(fetch, arrays))
                return (Variant(Optional(layout, layout.whole(list(arrays)))),)

            make.takes_near = True  # type: ignore[attr-defined]
            (tensor,) = run_effect("OptionalFromValue", [Aval((), variant)], make, *parts)
            return Optional(layout, None, tensor)
        return Optional(layout, tuple([element.content_of(leaf) for leaf in leaves]))

    @property
    def _layout(self) -> ElementLayout:
        if self._given_layout is None:
            raise value_error(
                "TW104", "The element of this Optional is not known: it was made by empty(None)"
            )
        return self._given_layout

    @property
    def element_spec(self) -> Any:
        """The spec of the element; None for that of `empty(None)`."""
        return None if self._given_layout is None else self._given_layout.spec

    def _set_element_spec(self, spec: dict[Any, Any]) -> None:
        self._given_layout = None if spec is None else ElementLayout(spec)

    # Keras's trainer makes one by `empty(None)` and says later, while a loop is traced, what it is.
    _element_spec = property(lambda self: self.element_spec, _set_element_spec)

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self.element_spec)

    @property
    def trace_key(self) -> Any:
        """Return the key that tells traces with optional arguments apart."""
        return None if self._given_layout is None else self._given_layout.key

    def _flat_components(self) -> list:
        return [EagerTensor(Variant(self)) if self._variant is None else self._variant]

    def _with_components(self, parts: list) -> Optional:
        return OptionalSpec(self.element_spec).from_variant(parts[0])

    def has_value(self, name: str | None = None) -> Any:
        """Return whether there is an element, a bool tensor."""
        if self._variant is None:
            return wrap(element.np.bool_(self._flat is not None))

        def call(variant: Any) -> tuple:
            return (element.np.bool_(unwrap_variant(variant)._flat is not None),)

        return run_effect("OptionalHasValue", [Aval((), bool_)], call, self._variant)[0]

    def get_value(self, name: str | None = None) -> Any:
        """Return the element; InvalidArgumentError if there is none."""
        if self._variant is None:
            flat = self._require(near=True)
            if any([hasattr(array, "devices") for array in flat]):
                return self._layout.value_near(flat)
            return self._layout.value(flat)
        layout = self._layout
        call = lambda found: tuple(layout.parts(unwrap_variant(found)._require()))  # noqa: E731
        tensors = run_effect("OptionalGetValue", avals_of(layout), call, self._variant)
        return element_in_graph(layout, tensors)

    def _require(self, near: bool = False) -> tuple:
        """Return the element; `near`: with the arrays that a device has."""
        if self._flat is None:
            raise InvalidArgumentError(
                None, None, compose("TW209", "The given optional does not have a value.")
            )
        if not near:
            self._flat = tuple(map(fetch, self._flat))
        return self._flat

    def numpy_elements(self) -> Any:
        """Return itself, as `as_numpy_iterator` gives it."""
        return self

    def __repr__(self) -> str:
        return f"tf.experimental.Optional(element_spec={self.element_spec!r})"


class OptionalSpec(TypeSpec):
    """The spec of an Optional (`tf.OptionalSpec`)."""

    __slots__ = ("_element_spec",)
    variant_spec = VARIANT_SPEC

    def __init__(self, element_spec: object):
        self._element_spec = element_spec

    @property
    def value_type(self) -> type:
        """`tf.experimental.Optional`."""
        return Optional

    def _serialize(self) -> tuple:
        return (self._element_spec,)

    def _of(self, value: object) -> OptionalSpec | None:
        return self.from_value(value) if isinstance(value, Optional) else None

    def from_variant(self, tensor: TensorLike) -> Optional:
        """Return the Optional that a tensor stands for."""
        if type(tensor) is EagerTensor:
            return unwrap_variant(tensor._array)
        spec = self._element_spec
        return Optional(None if spec is None else ElementLayout(spec), None, tensor)

    def from_content(self, content: Any) -> Optional:
        """Return itself."""
        return content

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Return the spec of an Optional."""
        return OptionalSpec(value.element_spec)
