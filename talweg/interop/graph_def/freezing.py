"""Functions whose variables are constants: `tensorflow.python.framework.convert_to_constants`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import look_up
from talweg.interop.graph_def.exporting import write_with_handles
from talweg.interop.graph_def.importing import import_graph_def
from talweg.interop.graph_def.utilities import freeze

if TYPE_CHECKING:
    from talweg.trace.concrete import ConcreteFunction


def convert_variables_to_constants_v2(
    func: ConcreteFunction, lower_control_flow: bool = True, aggressive_inlining: bool = False
) -> Any:
    """Freeze a concrete function: its variables become constants.

    Its graph has no calls; branches and loops stay functions, whatever `lower_control_flow` says.
    """
    message, handles = write_with_handles(func.graph)
    known = {v.handle: v for v in func.variables}
    values = {name: np.asarray(known[handle].numpy()) for name, handle in handles.items()}
    frozen = freeze(message, values)
    wrap = look_up("compat.v1.wrap_function")
    whole = wrap(lambda: import_graph_def(frozen, name=""), [])
    captured = {id(inside) for _, inside in func.graph.captured.values()}
    inputs = [func.graph.symbol(x).name for x in func.body.inputs if id(x) not in captured]
    return whole.prune(inputs, [x.name for x in func.outputs])
