"""The user's functions in pipelines: traced once, when the stage is made, and run on arrays.

A function gets the element as arguments (a tuple is unpacked) and may give any nest; a list of
results is a tuple.  What it captures is looked up once an iterator, variables every time.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.long_runs import PendingUpdate
from talweg.eager.structured import Variant
from talweg.execute import choice, executor, interpret
from talweg.graph.handle import Handle
from talweg.graph.subgraph import Body
from talweg.graph.walk import postorder
from talweg.passes.functionalize import program_of
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.parallel import check_wanted
from talweg.pipeline.run import IterationRun
from talweg.pipeline.vectorized import Vectorized
from talweg.trace.concrete import ConcreteFunction, TraceGraph
from talweg.trace.signature import ArgumentPlace, Container

if TYPE_CHECKING:
    from talweg.passes.functionalize import Program

TRIALS, LONG = 8, 5e-5  # calls that are timed, and the seconds a call may take
_UNKNOWN: Any = object()


class DataFunction:
    """A traced function of flat elements (`run_with`), with the layout of its results.

    `layouts` are those of its arguments; a tuple is unpacked into arguments if it is alone.
    """

    def __init__(self, function: Callable[..., Any], layouts: list[ElementLayout], what: str):
        if not callable(function):
            raise value_error(
                "TW104",
                f"{what}: Argument `func` must be a callable. Received func={function!r} "
                f"(of type {type(function)})",
            )
        self.layouts, self.what, self.function = layouts, what, function
        self.name = getattr(function, "__name__", type(function).__name__)
        specs = [
            part for layout in layouts for leaf in layout.flat for part in element.part_specs(leaf)
        ]
        places = [ArgumentPlace(number) for number in range(len(specs))]
        tree = Container([(), {}], [Container((None,) * len(specs), places), Container({}, [])])
        self._result: Any = None
        graph = TraceGraph(self.name)
        graph.may_make_variables = True
        self.concrete = ConcreteFunction(self.name, graph, tree, specs)
        called = hooks.autograph_converted(function)
        outer = dispatch.context.base
        try:
            self.concrete.trace(
                lambda *tensors: self._trace(called, list(tensors)),
                [f"args_{number}" for number in range(len(specs))],
            )
        except BaseException:
            dispatch.context.base = outer
            raise
        self.layout = ElementLayout(self._result)
        self.body = self.concrete.body
        self.waits = _waits(self.body)  # whether it calls Python, which may wait for the world
        del self._result
        self._vectorized: Any = _UNKNOWN

    def _trace(self, function: Callable[..., Any], tensors: list) -> list:
        """Return the function's results as a flat list of tensors; remembers their specs."""
        arguments = []
        for layout in self.layouts:
            leaves = []
            for spec in layout.flat:
                count = len(element.part_specs(spec))
                leaves.append(element.composite(spec, tensors[:count]))
                del tensors[:count]
            arguments.append(element.pack(layout.spec, leaves))
        if len(arguments) == 1 and type(arguments[0]) is tuple:
            arguments = list(arguments[0])
        self._check_count(arguments)
        result = function(*arguments)
        if isinstance(result, list):
            result = tuple(result)
        leaves = [_result_leaf(leaf, self.what) for leaf in element.flatten(result)]
        self._result = element.pack(result, [element.spec_of(leaf) for leaf in leaves])
        return [part for leaf in leaves for part in _parts(leaf)]

    def _check_count(self, arguments: list) -> None:
        """Raise TypeError unless the function can be called with the parts of an element."""
        with contextlib.suppress(ValueError):  # a function of C has no signature
            try:
                inspect.signature(self.function).bind(*arguments)
            except TypeError as error:
                count = len(arguments)
                parts = "one value" if count == 1 else f"tuples of {count}"
                raise type_error(
                    "TW104",
                    f"{self.what}: {self.name} cannot take an element: {error}",
                    f"a function of {count} argument{'s' * (count != 1)}: elements are {parts}",
                ) from None

    @property
    def vectorized(self) -> Vectorized | None:
        """The function for stacks of rows, if there is one."""
        if self._vectorized is _UNKNOWN:
            plain = self.layout.plain and all([layout.plain for layout in self.layouts])
            self._vectorized = Vectorized.of(self.concrete) if plain else None
        return self._vectorized

    def leaves(self) -> list:
        """Return the captured tensors and variables."""
        return self.concrete._outside

    def arrays_with(self, run: IterationRun) -> Callable[[list], list]:
        """Return the function on arrays, for one iterator."""
        execute = _executing(program_of(self.body), run.state)
        if program_of(self.body).changes:
            return self._changing(run, execute)
        captured = self.concrete._outside
        if any([type(value) is Handle for value in captured]):
            return lambda arrays: execute(arrays + [_content(run, value) for value in captured])
        fixed = [_content(run, value) for value in captured]
        if not fixed:
            return execute
        return lambda arrays: execute(arrays + fixed)

    def _changing(self, run: IterationRun, execute: Callable) -> Callable[[list], list]:
        """Return the function on arrays, which changes variables."""
        captured, program = self.concrete._outside, program_of(self.body)

        def call(arrays: list) -> list:
            with PendingUpdate(program, program.changes, run.state) as state:
                return execute(arrays + [_content(run, value) for value in captured], state)

        return call

    def run_with(self, run: IterationRun) -> Callable[[tuple], tuple]:
        """Return the function on flat elements, for one iterator."""
        execute = self.arrays_with(run)
        inside, layout = self.layouts[0], self.layout
        if inside.plain and layout.plain:
            return lambda flat: tuple(execute(list(flat)))
        return lambda flat: layout.whole(execute(inside.parts(flat)))

    def run_several(self, run: IterationRun) -> Callable[..., tuple]:
        """Return the function of several flat elements, for one iterator."""
        execute, layouts, layout = self.arrays_with(run), self.layouts, self.layout

        def call(*flats: tuple) -> tuple:
            arrays = [part for own, flat in zip(layouts, flats) for part in own.parts(flat)]
            return layout.whole(execute(arrays))

        return call


def _executing(program: Program, state: object) -> Callable[..., list]:
    """Choose a program's executor: the interpreter while that takes little time for an element.

    For small elements it is faster than machine code, which has to be entered.
    """
    calls, seconds = 0, 0.0
    execute: Any = interpret.run

    def run(arrays: list, state: Any = state) -> list:
        nonlocal calls, seconds, execute
        check_wanted()
        if calls >= TRIALS:
            return execute(program, arrays, state)
        calls += 1
        start = time.perf_counter()
        result = interpret.run(program, arrays, state)
        seconds += time.perf_counter() - start
        if calls == TRIALS and seconds > TRIALS * LONG:
            execute = executor.run
        return result

    return run if choice.chosen.value != "xla" else partial(choice.on_host, run)


def _waits(body: Body) -> bool:
    """Return whether a body, or one inside it, calls functions of the host."""
    nodes: dict = {}
    postorder([*body.outputs, *body.effects], nodes)
    for node in nodes:
        if node.prim.effect == "host":
            return True
        inner = [value for value in node.params.values() if isinstance(value, Body)]
        inner += [
            part
            for value in node.params.values()
            if isinstance(value, tuple)
            for part in value
            if isinstance(part, Body)
        ]
        if any([_waits(own) for own in inner]):
            return True
    return False


def _content(run: IterationRun, value: object) -> Any:
    """Return the value of a captured tensor, as programs take it."""
    found = run.array(value)
    return found if hasattr(found, "dtype") and hasattr(found, "shape") else Variant(found)


def _result_leaf(leaf: object, what: str) -> Any:
    """Return a leaf of a result as a tensor, composite or None."""
    if leaf is None or isinstance(leaf, Tensor):
        return leaf
    if hasattr(type(leaf), "handle_read"):
        return leaf.value()
    if hasattr(leaf, "_type_spec"):
        return leaf
    if hasattr(leaf, "node") and not hasattr(leaf, "dtype"):  # an operation
        return None
    try:
        return convert_to_tensor(leaf)
    except (TypeError, ValueError):
        raise type_error(
            "TW104",
            f"Unsupported return value from function passed to {what}: {leaf!r}",
            "tensors, datasets, None, or nests of these",
        ) from None


def _parts(leaf: object) -> list:
    """Return the tensors that a leaf of a result consists of."""
    if leaf is None:
        return []
    if isinstance(leaf, Tensor):
        return [leaf]
    return list(leaf._flat_components())
