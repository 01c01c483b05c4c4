"""Rules of steps of optimizers, by the formulas of `raw/optimizers.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.interop.graph_def.rules_state import change
from talweg.interop.graph_def.values import ResourceEdge, base, rule
from talweg.prims.state import group
from talweg.raw.optimizers import FORMULAS, PREFIXES, new_values

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord


@rule(*[f"{prefix}{name}" for name in FORMULAS for prefix in PREFIXES])
def apply_optimizer(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return a step of an optimizer: the variable and its slots get their new values together."""
    given = [x.read() if isinstance(x, ResourceEdge) else x for x in inputs]
    places, values = new_values(item.op, given, item.attributes)
    pairs = list(zip(inputs, values))
    if places is None:
        updated = [change(part, "assign", value) for part, value in pairs]
    else:
        updated = [change(part, "scatter_update", places, value) for part, value in pairs]
    return _together(item, inputs, updated)


def _together(item: NodeRecord, inputs: list, updated: list) -> Any:
    """Join all updates into one operation, or the variable where it is a reference."""
    if item.op.startswith("Resource"):
        return group(*updated).op if not hasattr(base(), "outer") else None
    graph = base()
    with graph.control_dependencies(updated[1:]):
        return [ResourceEdge(inputs[0].handle, True, look_up("identity")(updated[0]))]
