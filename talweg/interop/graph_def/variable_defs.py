"""Variables of graphs as VariableDef messages, and the variables that such messages name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import implement_hook
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.partitions import SaveSliceInfo
from talweg.core.errors import type_error, value_error
from talweg.interop.graph_def.messages import VariableDef

if TYPE_CHECKING:
    from talweg.eager.graph_variable import GraphVariable


@implement_hook("variable_to_proto")
def to_proto(variable: GraphVariable, export_scope: str | None) -> Any:
    """Return a variable as a VariableDef,
    its names without `export_scope`; None if it is not in that.
    """
    if export_scope and not variable.name.startswith(f"{export_scope}/"):
        return None
    strip = len(export_scope) + 1 if export_scope else 0
    message = message_of(variable)
    message.initial_value_name = variable.initial_value.name
    message.snapshot_name = f"{variable.name.partition(':')[0]}/Read/ReadVariableOp:0"
    for field in ("variable_name", "initializer_name", "initial_value_name", "snapshot_name"):
        text = getattr(message, field)
        if strip and text.startswith(f"{export_scope}/"):
            setattr(message, field, text[strip:])
    return message


def message_of(variable: GraphVariable) -> Any:
    """Write a variable's VariableDef without the names of tensors."""
    message = VariableDef()
    message.variable_name, message.is_resource = variable.name, True
    message.initializer_name = variable.initializer.name
    message.trainable = bool(variable.trainable)
    info = variable._save_slice_info
    if info is not None:
        message.save_slice_info_def.full_name = info.full_name
        for field in ("full_shape", "var_offset", "var_shape"):
            getattr(message.save_slice_info_def, field).extend(getattr(info, field))
    return message


def slice_of(message: Any, prefix: str = "") -> SaveSliceInfo | None:
    """Read a VariableDef's part of a whole; None if it has none."""
    if not message.HasField("save_slice_info_def"):
        return None
    found = message.save_slice_info_def
    sizes = [list(part) for part in (found.full_shape, found.var_offset, found.var_shape)]
    return SaveSliceInfo(f"{prefix}{found.full_name}", *sizes)


@implement_hook("variable_from_proto")
def from_proto(message: Any, import_scope: str | None) -> Any:
    """Find the variable of the default graph that a VariableDef names.

    TypeError for what is no VariableDef, KeyError for names that the graph does not have.
    """
    kind = getattr(getattr(message, "DESCRIPTOR", None), "full_name", "")
    if not kind.endswith(".VariableDef"):
        raise type_error("TW104", f"variable_def={message!r}", "a VariableDef message")
    prefix = f"{import_scope}/" if import_scope else ""
    initializer = default_graph().get_operation_by_name(f"{prefix}{message.initializer_name}")
    handle = initializer.node.params.get("variable")
    if handle is None:
        raise value_error(
            "TW401", f"'{initializer.name}' initializes no variable", "the name of an initializer"
        )
    return handle.variable
