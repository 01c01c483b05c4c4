"""Conversion of `while` and `for`: Python loops, or graph loops where a tensor decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.graph import structure
from talweg.prims import arithmetic
from talweg.trace.autograph.branches import stage_if, trace
from talweg.trace.autograph.first_values import must_have_run
from talweg.trace.autograph.items import Appended
from talweg.trace.autograph.logic import and_
from talweg.trace.autograph.loop_variable_specs import GrownError
from talweg.trace.autograph.loop_variables import LoopVariables, TracedLoop
from talweg.trace.autograph.steps import IterationSteps, as_count, steps_of
from talweg.trace.autograph.values import Undefined, condition_of, is_symbolic

if TYPE_CHECKING:
    from talweg.graph.symbol import Symbol

Thunk = Callable[[], Any]
UNROLLED = 10_000  # how often a Python loop may go on after a tensor decides about its end


def while_stmt(
    test: Thunk,
    body: Thunk,
    get_state: Callable[[], tuple],
    set_state: Callable[[tuple], None],
    symbol_names: tuple[str, ...],
    opts: dict,
) -> None:
    """Run or trace a `while`: in Python as long as its test is a Python value."""
    if dispatch.context.base is None:
        while condition_of(test()):
            body()
        return
    while True:
        test_value = _test_aside(test)
        if is_symbolic(test_value):
            break
        if not test_value:
            return
        body()
    loop = TracedLoop(get_state, set_state, symbol_names, opts)
    limit = opts.get("maximum_iterations")
    if limit is None:
        run(loop, test, body)
        return
    _trace_counted_loop(loop, as_count(limit), test, lambda index: body())


def _test_aside(test: Thunk) -> Any:
    """Evaluate the test; if the result is a tensor, its nodes are removed from the graph."""
    graph, found = trace(lambda: [condition_of(test())], "test")
    if graph.effects and not is_symbolic(found[0]):
        return condition_of(test())
    return found[0]


def for_stmt(
    iter_: Any,
    extra_test: Thunk | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], tuple],
    set_state: Callable[[tuple], None],
    symbol_names: tuple[str, ...],
    opts: dict,
) -> None:
    """Run or trace a `for`; `extra_test` is false after a `break` or `return`."""
    if hasattr(iter_, "trace_steps") and dispatch.context.base is not None:
        _while_more(iter_, extra_test, body, get_state, set_state, symbol_names, opts)
        return
    steps = steps_of(iter_)
    if steps is None:
        _python_for(iter_, extra_test, body, get_state, set_state, symbol_names)
        return
    length = as_count(steps.length)
    limit = opts.get("maximum_iterations")
    if limit is not None:
        length = arithmetic.minimum(length, as_count(limit))
    loop = TracedLoop(get_state, set_state, symbol_names, opts)
    _trace_counted_loop(loop, length, extra_test, lambda index: body(steps.item(index)))


def _while_more(
    source: Any,
    extra_test: Thunk | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], tuple],
    set_state: Callable[[tuple], None],
    names: tuple[str, ...],
    opts: dict,
) -> None:
    """Trace a loop over a dataset, which runs as long as that has elements."""
    more, take = source.trace_steps()
    test = more if extra_test is None else lambda: and_(extra_test, more)
    limit = opts.get("maximum_iterations")
    if limit is None:
        run(TracedLoop(get_state, set_state, names, opts, take), test, body)
        return
    loop = TracedLoop(get_state, set_state, names, opts)
    _trace_counted_loop(loop, as_count(limit), test, lambda index: body(take()))


def _trace_counted_loop(
    loop: TracedLoop, length: Symbol, test: Thunk | None, body: Callable[[Any], Any]
) -> None:
    """Trace a loop of at most `length` iterations, whose body gets their number."""
    count: list = [0]
    get_state, set_state = loop.get_state, loop.set_state

    def set_all(values: tuple) -> None:
        set_state(values[:-1])
        count[0] = values[-1]

    def within() -> Any:
        return arithmetic.less(as_count(count[0]), length)

    def step() -> None:
        iteration = as_count(count[0])
        body(iteration)
        count[0] = arithmetic.add(iteration, 1)

    counted = TracedLoop(
        lambda: (*get_state(), count[0]),
        set_all,
        (*loop.names, "the number of iterations"),
        loop.options,
    )
    run(counted, within if test is None else lambda: and_(within, test), step)


def run(loop: TracedLoop, test: Thunk, body: Callable[..., Any], peeled: bool = False) -> None:
    """Trace a loop of the graph.

    A name that is None before the loop and a tensor after one iteration is None in the first
    iteration only, which is then traced by itself.
    """
    try:
        _run(loop, test, body, peeled)
    except GrownError as grown:
        # a list that the body appends to becomes an array, and the loop is traced again
        values = list(loop.get_state())
        place = loop.names.index(grown.name)
        values[place] = Appended.of(values[place], grown.value)
        loop.set_state(tuple(values))
        run(loop, test, body, peeled)


def _run(loop: TracedLoop, test: Thunk, body: Callable[..., Any], peeled: bool) -> None:
    carried = LoopVariables(loop, body)
    if carried.first_is_different and not peeled:

        def first_and_rest() -> None:
            body(*([] if loop.take is None else [loop.take()]))
            run(loop, test, body, peeled=True)

        runs = condition_of(test())
        stage_if(
            runs,
            (first_and_rest, lambda: None),
            loop.get_state,
            loop.set_state,
            loop.names,
            len(loop.names),
            fill=True,
        )
        loop.set_state(
            tuple(
                [
                    _guard_first_value(name, after, runs)
                    if isinstance(before, Undefined)
                    else after
                    for name, before, after in zip(loop.names, carried.initial, loop.get_state())
                ]
            )
        )
        return
    carried.trace(test, body)


def _guard_first_value(name: str, value: object, runs: object) -> Any:
    """Check a name first assigned by a loop where it is used."""

    def check_leaf(leaf: object) -> Any:
        return must_have_run(name, leaf, runs) if is_symbolic(leaf) else leaf

    return structure.map_leaves(check_leaf, value, composites=True)


def _python_for(
    values: Iterable,
    extra_test: Thunk | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], tuple],
    set_state: Callable[[tuple], None],
    names: tuple[str, ...],
) -> None:
    """Run a loop over a Python iterable; steps become branches once a tensor decides."""
    if extra_test is None:
        for value in values:
            body(value)
        return
    branches = 0
    if isinstance(values, IterationSteps):
        values = iter(values)
    goes_on = condition_of(extra_test())
    if not is_symbolic(goes_on) and not goes_on:
        return
    for value in values:
        if is_symbolic(goes_on):
            branches += 1
            if branches > UNROLLED:
                raise value_error(
                    "TW207",
                    f"a Python loop of more than {UNROLLED} iterations ends by a tensor",
                    "an iterable that ends, or a loop over tensors",
                    "for i in tf.range(n): ..., or while condition: ...",
                )
            stage_if(
                goes_on,
                (lambda value=value: body(value), lambda: None),
                get_state,
                set_state,
                names,
                len(names),
                fill=True,
            )
        else:
            body(value)
        goes_on = condition_of(extra_test())
        if not is_symbolic(goes_on) and not goes_on:
            return
