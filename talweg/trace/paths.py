"""Python's `if` on a symbolic tensor outside of AutoGraph: every path is traced.

When the value of a tensor is asked for while a function is traced, the rest of the function goes on
in a body of its own, with the answer True; later the function is run again from its start with the
answer False.  Until the question both runs do the same, so they give the same nodes (effects are
not made twice but met again); there the two bodies are joined in a `branch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.dtypes import bool_, int32
from talweg.core.errors import OperatorNotAllowedInGraphError, compose
from talweg.core.hooks import hooks
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic
from talweg.trace.bodies import BodyGraph, apply_branch
from talweg.trace.control import check_same

LIMIT = 64  # paths traced for one function


class Question:
    """One branch point: the tensor, and the graph in which its truth was asked for."""

    def __init__(self, symbol: Symbol, graph: FunctionGraph):
        self.symbol, self.graph = symbol, graph


class Paths:
    """The tracer of a function of no arguments along every path."""

    def __init__(self, root: FunctionGraph, function: Callable[[], Any], flatten: Callable):
        self.root, self.function, self.flatten = root, function, flatten
        self.answers: list[bool] = []
        self.asked = self.runs = 0
        self.questions: list[Question] = []
        self.current: FunctionGraph = root
        self._graphs: dict[tuple, PathGraph] = {}

    def trace(self) -> tuple[list, Any]:
        """Trace all paths; their joined results, and the structure of the result."""
        pending: list[list[bool]] = [[]]
        ends: list[tuple[list[bool], FunctionGraph, list, Any, list]] = []
        while pending:
            self.answers = pending.pop()
            prefix = len(self.answers)
            graph, results, template, questions = self._run()
            ends.append((list(self.answers), graph, results, template, questions))
            for place in range(len(self.answers) - 1, prefix - 1, -1):
                pending.append([*self.answers[:place], False])
            if len(ends) + len(pending) > LIMIT:
                raise self._too_many()
        return self._join(ends, 0)

    def _too_many(self) -> Exception:
        return OperatorNotAllowedInGraphError(
            compose(
                "TW104",
                f"the function {self.root.function_name!r} asks for the Python value of symbolic "
                f"tensors on more than {LIMIT} paths",
                "a bounded number of `if`s on tensors",
                "tf.while_loop or tf.cond, or let AutoGraph convert the function",
            )
        )

    def _run(self) -> tuple:
        self.asked, self.current, self.questions = 0, self.root, []
        before = dispatch.context.base
        if self.runs:
            for graph in (self.root, *self._graphs.values()):
                graph.start_run()
        self.runs += 1
        try:
            dispatch.context.base = self.root
            answer = self.function()
            results = self.flatten(answer, self.current)
            return self.current, results, answer, list(self.questions)
        finally:
            dispatch.context.base = before

    def ask(self, symbol: Symbol) -> bool:
        """Return the answer on this path; later operations go into the body of that answer."""
        depth, self.asked = self.asked, self.asked + 1
        if depth >= LIMIT:
            raise self._too_many()
        if depth == len(self.answers):
            self.answers.append(True)
        answer = self.answers[depth]
        key = tuple(self.answers[: depth + 1])
        graph = self._graphs.get(key)
        if graph is None:
            with self.current.as_default():
                graph = self._graphs[key] = PathGraph(f"path_{len(self._graphs)}", self)
        self.questions.append(Question(symbol, self.current))
        self.current = graph
        dispatch.context.base = graph
        return answer

    def _join(self, ends: list, depth: int) -> tuple[list, Any]:
        if len(ends) == 1 and len(ends[0][0]) == depth:
            return ends[0][2], ends[0][3]
        question = ends[0][4][depth]
        sides = []
        for answer in (True, False):
            side = [end for end in ends if end[0][depth] is answer]
            graph = self._graphs[(*ends[0][0][:depth], answer)]
            with graph.as_default():
                results, template = self._join(side, depth + 1)
            graph.results = [None if x is None else graph.own(x) for x in results]
            sides.append((graph, template))
        with question.graph.as_default():
            symbol = question.symbol
            if symbol.dtype is not bool_:
                symbol = arithmetic.not_equal(symbol, arithmetic.zeros_of(symbol))
            index = arithmetic.cast(arithmetic.logical_not(symbol), dtype=int32)
            check_same("if", sides[0][1], sides[1][1], sides[0][0], sides[1][0], 1)
            absent = [x is None for x in sides[0][0].results]
            outputs = iter(apply_branch(index, [graph for graph, _ in sides])[:-1])
            return [None if missing else next(outputs) for missing in absent], sides[0][1]


class PathGraph(BodyGraph):
    """The body of one answer's continuation."""

    def __init__(self, name: str, paths: Paths):
        super().__init__(name)
        self.paths = paths


def trace_paths(graph: BodyGraph, function: Callable[[], list]) -> list:
    """Trace `function` in `graph` along every path and return its results."""
    paths = Paths(graph, function, lambda found, place: found)
    before, graph.paths = graph.paths, paths
    try:
        return paths.trace()[0]
    finally:
        graph.paths = before


hooks.trace_paths = trace_paths
