"""`graph.report()` and `fn.report()`: the doctor's reports, found by the layers below."""

from __future__ import annotations

from typing import Any

from talweg.api.export import implement_hook
from talweg.doctor.findings import Report
from talweg.doctor.waste.reports import report_on_function, report_on_graph


@implement_hook("graph_report")
def graph_report(graph: Any, session: Any = None, loss: Any = None) -> Report:
    """For `tf.Graph.report`."""
    return report_on_graph(graph, session, loss)


@implement_hook("function_report")
def function_report(function: Any) -> Report:
    """For `tf.function(...).report`."""
    return report_on_function(function)
