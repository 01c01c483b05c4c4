"""The graph of a saved model: variables, constants and tables, and calls of its functions.

TensorFlow's object loader takes constants from it; its session loader, and servers, run it whole:
they restore variables, initialize tables, and then call signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, string
from talweg.graph.structure import flatten
from talweg.interop.graph_def.messages import NameAttrList
from talweg.interop.graph_def.tensor_protos import array_to_proto
from talweg.interop.graph_def.writing import Output, Writer, static_shape
from talweg.interop.saved_model.constants import (
    INIT_OP_SIGNATURE_KEY,
    MAIN_OP_KEY,
    PREDICT_METHOD_NAME,
)
from talweg.interop.saved_model.functions import Traces
from talweg.trace.concrete import ConcreteFunction

if TYPE_CHECKING:
    from talweg.eager.variable import Variable
    from talweg.interop.saved_model.tables import SavedTable


class OuterGraph:
    """Writes the nodes of a saved model's graph."""

    def __init__(self, meta_graph: Any):
        self.meta_graph = meta_graph
        self.writer = Writer(meta_graph.graph_def.node, False, shapes=False)
        self.waits: list[str] = []  # what initialization consists of

    # -- things

    def variable(self, variable: Variable) -> Output:
        """Return the resource of a variable."""
        name = self.writer.unique(_valid_name(variable._shared_name))
        given = {"dtype": variable.dtype, "shape": variable.shape, "shared_name": name}
        return self.writer.node("VarHandleOp", name, [], given)[0]

    def constant(self, tensor: Any) -> Output:
        """Return a tensor that functions capture."""
        array = np.asarray(tensor._array)
        given = {"value": array_to_proto(array, tensor.dtype), "dtype": tensor.dtype}
        return self.writer.node("Const", self.writer.unique("Const"), [], given)[0]

    def asset(self, number: int, filename: str) -> Output:
        """Return the path of a file: who loads the graph feeds it."""
        name = self.writer.unique("asset_path_initializer")
        given = {"dtype": string, "shape": static_shape(())}
        definition = self.meta_graph.asset_file_def.add()
        definition.tensor_info.name, definition.filename = f"{name}:0", filename
        return self.writer.node("Placeholder", name, [], given)[0]

    def table(self, table: SavedTable) -> Output:
        """Return the resource of a table."""
        op, given = table.creation()
        return self.writer.node(op, self.writer.unique("hash_table"), [], given)[0]

    # -- calls

    def call(self, function: str, inputs: list[Output], dtypes: list) -> list[Output]:
        """Return a call of a function of the library."""
        name = self.writer.unique("StatefulPartitionedCall")
        given = {"f": NameAttrList(name=function), "Tout": dtypes}
        return self.writer.node("StatefulPartitionedCall", name, [inputs], given)

    def initialize(self, function: str, inputs: list[Output]) -> None:
        """Have a function called before anything else is."""
        self.waits.append(self.call(function, inputs, [int32])[0].node)

    def finish_initialization(self, signature: bool = True) -> None:
        """Add the operation that initializes everything; as a signature, too, for object graphs."""
        if not self.waits:
            return
        name = self.writer.unique("init")
        self.writer.node("NoOp", name, [], {}, self.waits)
        self.meta_graph.collection_def[MAIN_OP_KEY].node_list.value.append(name)
        if not signature:
            return
        output = self.meta_graph.signature_def[INIT_OP_SIGNATURE_KEY].outputs[INIT_OP_SIGNATURE_KEY]
        output.name = name
        output.tensor_shape.unknown_rank = True

    def signature(
        self, key: str, trace: ConcreteFunction, traces: Traces, captured: list[Output]
    ) -> None:
        """Write a call of a signature's function, with placeholders for its arguments."""
        message = self.meta_graph.signature_def[key]
        message.method_name = PREDICT_METHOD_NAME
        inputs = []
        for name, spec in zip(trace._argument_names, trace.specs):
            label = self.writer.unique(_valid_name(f"{key}_{name}"))
            given = {"dtype": spec.dtype, "shape": spec.shape}
            output = self.writer.node("Placeholder", label, [], given)[0]
            inputs.append(output)
            _tensor_info(message.inputs[name], output, spec)
        results = trace.output_specs
        names, specs = sorted(results), flatten(results)
        outputs = self.call(
            traces.names[id(trace)], [*inputs, *captured], [spec.dtype for spec in specs]
        )
        for name, output, spec in zip(names, outputs, specs):
            _tensor_info(message.outputs[name], output, spec)

    # -- saving and restoring in sessions

    def saver(self, variables: dict[str, tuple], extra: dict[str, np.ndarray]) -> None:
        """Write operations that write and read the variables' files, as sessions use them.

        variables: key in the checkpoint -> (resource, dtype); extra: other tensors that are saved.
        """
        writer = self.writer
        given = {"dtype": string, "shape": static_shape(())}
        prefix = writer.node("Placeholder", writer.unique("saver_filename"), [], given)[0]
        names = [*variables, *extra]
        slices = np.full(len(names), b"", object)
        values = [
            writer.node(
                "ReadVariableOp",
                writer.unique(f"{handle.node}/Read/ReadVariableOp"),
                [handle],
                {"dtype": dtype},
            )[0]
            for handle, dtype in variables.values()
        ]
        values += [writer.constant(array, "save/Const") for array in extra.values()]
        texts = np.array([name.encode() for name in names], object)
        save = writer.unique("save/SaveV2")
        parts = [
            writer.constant(array, f"save/{label}")
            for array, label in ((texts, "tensor_names"), (slices, "shape_and_slices"))
        ]
        writer.node("SaveV2", save, [prefix, *parts, values], {})
        saved = writer.node(
            "Identity", writer.unique("save/control_dependency"), [prefix], {}, [save]
        )[0]
        self.meta_graph.saver_def.filename_tensor_name = f"{prefix.node}:0"
        self.meta_graph.saver_def.save_tensor_name = f"{saved.node}:0"
        self.meta_graph.saver_def.restore_op_name = self._restore(prefix, variables)
        self.meta_graph.saver_def.version = 2

    def _restore(self, prefix: Output, variables: dict[str, tuple]) -> str:
        writer = self.writer
        texts = np.array([name.encode() for name in variables], object)
        slices = np.full(len(variables), b"", object)
        waits = []
        if variables:
            parts = [
                writer.constant(array, f"restore/{label}")
                for array, label in ((texts, "tensor_names"), (slices, "shape_and_slices"))
            ]
            dtypes = [dtype for _, dtype in variables.values()]
            values = writer.node(
                "RestoreV2",
                writer.unique("restore/RestoreV2"),
                [prefix, *parts],
                {"dtypes": dtypes},
            )
            for (handle, dtype), value in zip(variables.values(), values):
                name = writer.unique("restore/AssignVariableOp")
                writer.node("AssignVariableOp", name, [handle, value], {"dtype": dtype})
                waits.append(name)
        name = writer.unique("restore_all")
        writer.node("NoOp", name, [], {}, waits)
        return name


def _tensor_info(message: Any, output: Output, spec: Any) -> None:
    message.name = f"{output.node}:{output.number}"
    message.dtype = spec.dtype.as_datatype_enum
    message.tensor_shape.CopyFrom(spec.shape.as_proto())


def _valid_name(name: str) -> str:
    """Return a name that a node can have."""
    text = "".join(c if c.isalnum() or c in "_.-/" else "_" for c in name)
    return text if text[:1].isalnum() else f"v{text}"
