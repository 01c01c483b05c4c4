"""Host calls with effects: functions that Python runs whenever the graph runs.

`later` keeps a call as an operation without a result.  `asserting` makes an assertion of values one
in graphs; what a graph knows is checked at once, as TensorFlow does.

A file has no Python: there an assertion is a condition, computed by other operations, and tensors
that are shown unless it holds.  `requirements_of` finds them by running the assertion in a graph of
its own, where it tells its condition to `requirements` and looks at no value.  So the condition
costs nothing in a graph that is not written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.errors import InvalidArgumentError, NeedsStaticError, OpError
from talweg.core.value import Tensor
from talweg.eager.tensor import wrap
from talweg.graph import structure
from talweg.graph.subgraph import Body
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims.host import act
from talweg.prims.state import group
from talweg.trace.bodies import BodyGraph
from talweg.trace.opaque_calls import Hole, Parts
from talweg.transform.batch import BatchTensor


class Later:
    """A deferred call: a function with its arguments, tensors left out."""

    def __init__(self, function: Callable[..., Any], args: tuple, kwargs: dict, tf_type: str):
        self.function, self.tf_type = function, tf_type
        self.operands: list = []
        self.args = structure.map_leaves(self._leave_out, args)
        self.kwargs = structure.map_leaves(self._leave_out, kwargs)

    def _leave_out(self, leaf: object) -> Any:
        if structure.kind_of(leaf) == structure.COMPOSITE:
            return Parts(leaf, [self._leave_out(part) for part in leaf._flat_components()])
        if isinstance(leaf, Tensor):
            self.operands.append(leaf)
        elif hasattr(leaf, "handle_read"):
            self.operands.append(leaf.value())
        else:  # an array as it is now: the caller may go on to change it
            return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
        return Hole(len(self.operands) - 1)

    def take_operands(self) -> list:
        """Take the tensors out, which belong to the graph."""
        operands, self.operands = self.operands, []
        return operands

    def fill(self, tensors: list) -> tuple:
        """Return the arguments with these tensors filled in."""

        def fill(leaf: object) -> Any:
            if type(leaf) is Parts:
                return leaf.fill(tensors)
            return tensors[leaf.number] if type(leaf) is Hole else leaf

        return structure.map_leaves(fill, self.args), structure.map_leaves(fill, self.kwargs)

    def __call__(self, *arrays: object) -> Any:
        """Call the function; assertions of shapes fail as operations do."""
        args, kwargs = self.fill([wrap(array) for array in arrays])
        context = dispatch.context
        before = context.base, context.recorders
        context.base, context.recorders = None, ()
        try:
            return self.function(*args, **kwargs)
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(None, None, str(error)) from None
        finally:
            context.base, context.recorders = before

    def __repr__(self) -> str:
        return f"<{self.tf_type}>"


def acts_later(*given: object) -> bool:
    """Return whether the arguments are symbolic, or batch tensors."""
    context = dispatch.context
    if context.base is not None or not context.batch_level:
        return context.base is not None
    leaves = structure.flatten(given, composites=True)
    return any([type(leaf) is BatchTensor for leaf in leaves])


def later(
    function: Callable[..., Any],
    args: tuple,
    kwargs: dict,
    tf_type: str,
    name: str | None = None,
) -> Any:
    """Build an operation that calls `function` with the arguments' values when it runs."""
    call = Later(function, args, kwargs, tf_type)
    return _set_name(_operation_of(act(*call.take_operands(), call=call)), name)


def _operation_of(done: Any) -> Any:
    """Return the operation of a function's result, if it is one of a graph."""
    while type(done) is BatchTensor:
        done = done.inner
    return done.op if type(done) is Symbol else None


def nothing() -> Any:
    """Build an operation that does nothing (`tf.no_op`)."""
    return group().op


def asserting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function`, an eager assertion; in a graph it gives an operation.

    The assertion is carried out at once where all values are known, or where the shapes that it
    looks at are; an error is then raised as it is.
    """

    @functools.wraps(function)
    def check(*args: Any, **kwargs: Any) -> Any:
        if not acts_later(args, kwargs):
            return function(*args, **kwargs)
        name = kwargs.pop("name", None)
        call = Later(function, args, kwargs, "Assert")
        operands = call.take_operands()
        known = [_constant_value(operand) for operand in operands]
        try:
            if all(value is not None for value in known):
                _eagerly(function, call, known)
                return _set_name(nothing(), name)
            if getattr(function, "of_shapes", False):
                function(*args, **kwargs)
                return _set_name(nothing(), name)
        except NeedsStaticError:
            pass
        except OpError as error:
            error.talweg_by_value = True  # type: ignore[attr-defined]
            raise
        return _set_name(_operation_of(act(*operands, call=call)), name)

    return check


def _eagerly(function: Callable[..., Any], call: Later, arrays: list) -> None:
    """Call it now, with its own errors."""
    args, kwargs = call.fill([wrap(array) for array in arrays])
    context = dispatch.context
    before, context.base = context.base, None
    try:
        function(*args, **kwargs)
    finally:
        context.base = before


def _constant_value(operand: Any) -> Any:
    """Return the value of a constant; None if only a run of the graph tells."""
    if type(operand) is Symbol:
        content = constant_of(operand.node)
        return None if content is None else content.array
    return operand._array if type(operand) is dispatch.state.plain else None


def _set_name(operation: Any, name: str | None) -> Any:
    if name and operation is not None:
        operation.graph.label(operation.node, name)
    return operation


# -- assertions that are written


class Requirement(NamedTuple):
    """What an assertion requires: `data` is shown unless `condition` is true everywhere."""

    condition: Any
    data: list
    summarize: int | None


class RequirementGraph(BodyGraph):
    """The graph in which an assertion tells what it requires.

    names: what its operands are called in the graph that is written.
    """

    def __init__(self, name: str, names: list[str]):
        super().__init__(name)
        self.scope, self.names = f"{name}/", names
        self.requirements: list[Requirement] = []

    def add(self, condition: Any, data: list, summarize: int | None = None) -> None:
        """Add a requirement, unless it compares constants (a known rank, say) and is met."""
        node = condition.node
        known = [_constant_value(self.symbol(x)) for x in node.operands]
        if node.prim.effect is None and all(value is not None for value in known):
            with dispatch.eagerly():
                if node.prim(*map(wrap, known), **node.params)._array.all():
                    return
        self.requirements.append(Requirement(condition, data, summarize))

    def name_of(self, x: Any) -> str:
        """Return the name of a tensor, by which the text of the error calls it."""
        return self.names[self.input_nodes.index(x.node)] if x.node in self.input_nodes else x.name


def requirements() -> RequirementGraph | None:
    """Return the graph that asks an assertion for what it requires, None where it is to check."""
    base = dispatch.context.base
    return base if isinstance(base, RequirementGraph) else None


def requirements_of(
    call: Later, operands: list[Aval], name: str, names: list[str]
) -> tuple[list[tuple[int, int | None]], Body]:
    """Return what an assertion called `name` requires, as a body of its operands.

    For each requirement the number of its tensors and `summarize`; the results of the body are the
    conditions, each followed by its data.
    """
    with dispatch.eagerly():
        graph = RequirementGraph(name, names)
        inputs = [graph.add_input(aval) for aval in operands]

        def tell() -> list:
            args, kwargs = call.fill(inputs)
            graph.requirements = []
            call.function(*args, **kwargs)
            return [x for condition, data, _ in graph.requirements for x in (condition, *data)]

        graph.run(tell)
        counts = [(1 + len(data), summarize) for _, data, summarize in graph.requirements]
        graph.requirements = []
        return counts, graph.body([])


def of_shapes(function: Callable[..., Any]) -> Any:
    """Mark an assertion of shapes and dtypes, which a graph may know."""
    function.of_shapes = True
    return function
