"""The state of one pass over a dataset, and datasets bound to the values that they were made of.

A pipeline may use tensors of a graph (sizes, captured tensors); `Bound` is one together with their
values, which is what a dataset is when a graph runs.  `Run` is one iterator's view of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import variant
from talweg.core.errors import compose
from talweg.core.spec import TensorSpec
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.structured import Variables, Variant
from talweg.eager.tensor import EagerTensor
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.pipeline.stage import Stage

VARIANT_SPEC = TensorSpec((), variant)


class End(Exception):  # noqa: N818 -- no error
    """There are no more elements."""


Next = Callable[[], tuple]  # gives the next element in its flat form, or raises End


class Streams(Variables):
    """The state of functions in a pipeline: eager variables, and random streams of its own.

    So each iterator draws the same numbers from an operation with a seed, as TensorFlow's do.
    """


class IterationRun:
    """One iterator's pass: values of graph tensors, random streams, what datasets keep."""

    __slots__ = ("kept", "state", "values")

    def __init__(self, values: dict, kept: dict | None, state: Streams | bool | None = None):
        self.values, self.kept = values, kept
        self.state = Streams() if state is None else state

    def array(self, tensor: Any) -> Any:
        """Return the array (or other content) of a tensor that the pipeline uses."""
        if type(tensor) is EagerTensor:
            array = tensor._array
        elif type(tensor) is Handle:
            array = self.values.get(id(tensor))
            return tensor.variable.value()._array if array is None else array
        else:
            array = self.values.get(id(tensor), _MISSING)
            if array is _MISSING:
                raise TypeError(
                    compose(
                        "TW502",
                        f"this dataset uses {tensor!r}, a tensor of a graph, and has no value here",
                        "an iterator made in the graph (tf.compat.v1.data.make_one_shot_iterator), "
                        "or in the function that makes the dataset",
                    )
                )
        return array.value if type(array) is Variant else array

    def number(self, value: object) -> int:
        """Return an integer argument, which may be a tensor."""
        return value if type(value) is int else int(self.array(value))

    def within(self, bound: Bound) -> IterationRun:
        """Return the pass over a dataset that this one has met."""
        return IterationRun(bound.values, bound.kept, self.state)

    def keep(self, owner: Any, make: Callable[[], Any]) -> Any:
        """Return the state that a stage keeps from one iterator to the next; made on first use."""
        store = owner.kept if self.kept is None else self.kept
        key = 0 if self.kept is None else id(owner)
        if key not in store:
            store.setdefault(key, make())  # another thread may have been faster
        return store[key]


_MISSING = object()


class Bound:
    """A dataset with the values of the graph tensors that it uses."""

    __slots__ = ("kept", "stage", "values")

    def __init__(self, stage: Any, values: dict, kept: dict | None):
        self.stage, self.values, self.kept = stage, values, kept

    def start(self, run: IterationRun | None = None) -> Next:
        """Begin; return a function that gives element after element."""
        inner = IterationRun(self.values, self.kept) if run is None else run.within(self)
        return self.stage.start(inner)

    def size(self) -> int:
        """Return the number of elements, INFINITE or UNKNOWN."""
        return self.stage.size(IterationRun(self.values, self.kept, False))


def bind(stage: object) -> Bound:
    """Return a dataset that uses no graph tensors."""
    return Bound(stage, {}, None)


def unknowns(stage: Stage) -> list:
    """Return the graph tensors, and variables of graphs, that a pipeline uses."""
    found: dict[int, Any] = {}
    for here in stages_of(stage):
        for leaf in here.leaves():
            if type(leaf) is Symbol or (type(leaf) is Handle and _of_graph(leaf)):
                found.setdefault(id(leaf), leaf)
    return list(found.values())


def needs_restart(stage: Stage) -> bool:
    """Return whether a pipeline has a state that begins whenever the graph it was made in runs."""
    return any([here.remembers and here.in_graph for here in stages_of(stage)])


def stages_of(stage: Stage) -> list:
    """Return a stage and all that its elements come from, each once."""
    seen: dict[int, Any] = {}
    waiting = [stage]
    while waiting:
        here = waiting.pop()
        if id(here) not in seen:
            seen[id(here)] = here
            waiting += here.inputs
            waiting += [leaf.stage for leaf in here.leaves() if hasattr(leaf, "stage")]
    return list(seen.values())


def _of_graph(handle: Handle) -> bool:
    return isinstance(handle.owner(), GraphVariable)
