"""`graph.report()` and `fn.report()`: the doctor's reports, found by the layers below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import implement_hook
from talweg.doctor.findings import Report
from talweg.doctor.waste.reports import report_on_function, report_on_graph

if TYPE_CHECKING:
    from talweg.core.value import Tensor
    from talweg.graph.graph import Graph
    from talweg.trace.function import Function


@implement_hook("graph_report")
def graph_report(graph: Graph, session: object = None, loss: Tensor | None = None) -> Report:
    """Make the report of `tf.Graph.report`."""
    return report_on_graph(graph, session, loss)


@implement_hook("function_report")
def function_report(function: Function) -> Report:
    """Make the report of `tf.function(...).report`."""
    return report_on_function(function)
