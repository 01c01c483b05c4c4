"""Pictures of saved graphs: GraphDef messages (of any TensorFlow), event files, talweg's own text.

A GraphDef is drawn as it stands; whether talweg has its operations does not matter.  Reading one
needs the package `tensorboard` (talweg[graphdef]).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talweg.command.drawing.model import SMALL, DrawnItem, Group, Picture, of_body
from talweg.formats.wire import read_fields
from talweg.graph.text import parse

if TYPE_CHECKING:
    from talweg.graph.node import Node


KINDS = {
    "Placeholder": "input",
    "PlaceholderWithDefault": "input",
    "Const": "constant",
    "VariableV2": "variable",
    "VarHandleOp": "variable",
    "Variable": "variable",
    "Arg": "input",
}
EFFECTS = ("Assign", "Print", "Assert", "Save", "Restore", "WriteFile")


def is_saved(path: str) -> bool:
    """Return whether a file is a saved graph, by its name."""
    name = Path(path).name
    return name.endswith((".pb", ".pbtxt", ".meta", ".txt")) or ".tfevents." in name


def pictures_of(path: str) -> list[Picture]:
    """Return the pictures of a saved graph and of the functions in it;
    ValueError if it cannot be read.
    """
    name = Path(path).name
    if name.endswith(".txt"):
        return [of_body(parse(Path(path).read_text()), name)]
    message = read(path)
    found = [of_message(message, name)]
    return found + [of_function(each) for each in message.library.function]


def read(path: str) -> Any:
    """Return the GraphDef in a file; ValueError if there is none."""
    name = Path(path).name
    try:
        if ".tfevents." in name:
            return _of_events(path)
        if name.endswith(".pbtxt"):
            message = import_module("tensorboard.compat.proto.graph_pb2").GraphDef()
            return import_module("google.protobuf.text_format").Parse(
                Path(path).read_text(), message
            )
        data = Path(path).read_bytes()
        if name.endswith(".meta"):
            meta = import_module("tensorboard.compat.proto.meta_graph_pb2").MetaGraphDef()
            meta.ParseFromString(data)
            return meta.graph_def
        return _parse_graph(data)
    except ImportError:
        raise ValueError(
            f"reading {name} needs tensorboard: pip install 'talweg[graphdef]'"
        ) from None
    except Exception as error:  # noqa: BLE001 -- protobuf's errors have no common public class
        raise ValueError(f"{name} holds no graph: {error}") from None


def _parse_graph(data: bytes) -> Any:
    """Return a GraphDef, or that of a SavedModel's first part."""
    message = import_module("tensorboard.compat.proto.graph_pb2").GraphDef()
    try:
        message.ParseFromString(data)
        if message.node and all(node.op for node in message.node):
            return message
    except Exception:  # noqa: BLE001, S110 -- it may be a SavedModel
        pass
    fields = import_module("tensorboard.compat.proto.meta_graph_pb2").MetaGraphDef()
    fields.ParseFromString(_first_part(data))
    if not fields.graph_def.node:
        raise ValueError("neither a GraphDef nor a SavedModel")
    return fields.graph_def


def _first_part(data: bytes) -> bytes:
    """Return the bytes of field 2 of a message: the meta graph of a SavedModel."""
    return next((part for number, part in read_fields(data) if number == 2), b"")


def _of_events(path: str) -> Any:
    """Return the last graph in an event file."""
    loader = import_module("tensorboard.backend.event_processing.event_file_loader")
    message = import_module("tensorboard.compat.proto.graph_pb2").GraphDef()
    found = False
    for event in loader.LegacyEventFileLoader(path).Load():
        if event.graph_def:
            message.ParseFromString(event.graph_def)
            found = True
    if not found:
        raise ValueError("none of its events is one")
    return message


def of_message(message: Any, title: str) -> Picture:
    """Return the picture of a GraphDef."""
    return _draw(message.node, title)


def of_function(function: Any) -> Picture:
    """Return the picture of a function of a graph's library."""
    return _draw(
        function.node_def,
        function.signature.name,
        [argument.name for argument in function.signature.input_arg],
    )


def _draw(nodes: Any, title: str, arguments: Any = ()) -> Picture:
    root = Group(title, "function")
    picture, scopes, items = Picture(title, root), {}, {}
    small = {node.name: text for node in nodes if (text := _literal(node))}
    for name in arguments:
        items[name] = picture.add(DrawnItem(name, "input", "", name), root)
    for node in nodes:
        if node.name not in small:
            items[node.name] = picture.add(_item(node, small), _scope(node.name, root, scopes))
    for node in nodes:
        for text in node.input if node.name in items else ():
            source = items.get(text.lstrip("^").split(":")[0])
            if source is not None:
                flows = "control" if text.startswith("^") else source.shape
                picture.join(source, items[node.name], flows)
    used = {source for source, _ in picture.edges}
    for item in picture.items:
        item.is_result = item not in used and item.kind in ("operation", "effect")
    return picture


def _scope(name: str, group: Group, scopes: dict) -> Group:
    for part in name.split("/")[:-1]:
        key = (group, part)
        if key not in scopes:
            scopes[key] = Group(part, "scope", group)
            group.members.append(scopes[key])
        group = scopes[key]
    return group


def _item(node: Node, small: dict[str, str]) -> DrawnItem:
    kind = KINDS.get(node.op) or ("effect" if node.op.startswith(EFFECTS) else "operation")
    texts = [small.get(text.split(":")[0], "") for text in node.input if not text.startswith("^")]
    label = node.op
    if any(texts) and len(texts) <= 4:
        label += f"({', '.join(text or '·' for text in texts)})"
    if kind in ("input", "variable"):
        label = node.name.rpartition("/")[2]
    details = "\n".join(
        f"{key} = {' '.join(str(value).split())[:70]}"
        for key, value in sorted(node.attr.items())
        if key != "value"
    )
    return DrawnItem(label, kind, _shape(node), node.name, "", details)


def _shape(node: Node) -> str:
    shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
    if not shapes and "shape" in node.attr:
        shapes = [node.attr["shape"].shape]
    texts = []
    for shape in shapes[:3]:
        sizes = ", ".join("?" if size.size < 0 else str(size.size) for size in shape.dim)
        texts.append("[*]" if shape.unknown_rank else f"[{sizes}]")
    return ", ".join(texts)


def _literal(node: Node) -> str:
    """Return a small constant as text; "" for other nodes."""
    if node.op != "Const" or "value" not in node.attr:
        return ""
    tensor = node.attr["value"].tensor
    size = 1
    for part in tensor.tensor_shape.dim:
        size *= part.size
    if size > SMALL:
        return ""
    try:
        array = import_module("tensorboard.util.tensor_util").make_ndarray(tensor)
    except Exception:  # noqa: BLE001 -- a kind of number it does not know
        return ""
    if array.dtype.kind in "OS":
        texts = [
            each if isinstance(each, str) else bytes(each).decode("latin-1")
            for each in array.reshape(-1)
        ]
        shown = ", ".join(texts)
        return repr(shown) if shown.isprintable() and len(shown) <= 12 else "'…'"
    value = array.tolist()
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace(" ", "")[:24]
