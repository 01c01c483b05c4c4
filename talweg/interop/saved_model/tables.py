"""Lookup tables in saved models: functions that make them, and that fill them with their contents.

A mutable table is written with what it holds, as a static one is; what it holds is part of the
graph, not of the variables' files.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.lookup.tables import Table
from talweg.core.dtypes import int32, resource
from talweg.core.spec import TensorSpec
from talweg.eager.tensor import wrap
from talweg.interop.graph_def.bodies import note_results
from talweg.interop.graph_def.tables import creation
from talweg.interop.graph_def.writing import Output, Writer
from talweg.interop.saved_model.graph import OuterGraph
from talweg.interop.saved_model.parameters import function_spec
from talweg.interop.saved_model.structured_values import encode_value

CREATE, INITIALIZE, DESTROY = "_create_resource", "_initialize", "_destroy_resource"


class SavedTable:
    """A table that is being saved."""

    def __init__(self, table: Table):
        self.table = table

    def creation(self) -> tuple[str, dict]:
        """Describe the creation of a table: (the operation that makes it, its attributes)."""
        return creation(self.table)

    def write_functions(self, objects: Any, graph: OuterGraph, number: int) -> None:
        """Write the table's functions, as children of the object `number`."""
        handle = objects.outputs[id(self.table)]
        keys, values = [wrap(array) for array in self.table.contents()]
        outputs = [graph.constant(x) for x in (keys, values)]
        bound = [number, *[objects.add_constant(output) for output in outputs]]
        names = {part: f"__inference_{part}_{number}" for part in (CREATE, INITIALIZE, DESTROY)}
        library = graph.meta_graph.graph_def.library
        self._creator(library.function.add(), names[CREATE])
        _initializer(library.function.add(), names[INITIALIZE], keys, values)
        _destroyer(library.function.add(), names[DESTROY])
        for part, name in names.items():
            result = TensorSpec([], resource if part == CREATE else int32, "unknown")
            made = objects.message.concrete_functions[name]
            made.bound_inputs.extend(bound if part == INITIALIZE else [])
            made.canonicalized_input_signature.CopyFrom(encode_value(((), {})))
            made.output_signature.CopyFrom(encode_value(result))
            node = objects.message.nodes.add()
            node.function.concrete_functions.append(name)
            function_spec(node.function.function_spec, None, ())
            child = len(objects.message.nodes) - 1
            objects.message.nodes[number].children.add(node_id=child, local_name=part)
        graph.initialize(names[INITIALIZE], [handle, *outputs])

    def _creator(self, message: Any, name: str) -> None:
        message.signature.name = name
        writer = Writer(message.node_def, True)
        op, given = self.creation()
        note_results(message, writer.node(op, "table", [], given), [])
        message.signature.is_stateful = True


def _initializer(message: Any, name: str, keys: Any, values: Any) -> None:
    message.signature.name = name
    inputs = []
    for label, dtype in (("table", resource), ("keys", keys.dtype), ("values", values.dtype)):
        part = message.signature.input_arg.add()
        part.name, part.type = label, dtype.as_datatype_enum
        inputs.append(Output(label, 0, label, dtype))
    writer = Writer(message.node_def, True)
    writer.node("LookupTableImportV2", "fill", inputs, {})
    note_results(message, [writer.constant(np.int32(1), "done")], ["fill"])


def _destroyer(message: Any, name: str) -> None:
    message.signature.name = name
    writer = Writer(message.node_def, True)
    note_results(message, [writer.constant(np.int32(1), "done")], [])


def wrap_table(obj: object) -> SavedTable | None:
    """Return a table to save; None if an object is none."""
    return SavedTable(obj) if isinstance(obj, Table) else None
