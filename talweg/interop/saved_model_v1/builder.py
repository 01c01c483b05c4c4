"""tf.compat.v1.saved_model.Builder: a graph with the variables of a session, as a saved model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export, look_up
from talweg.core.dtypes import as_dtype, resource
from talweg.core.errors import value_error
from talweg.graph.symbol import constant_of
from talweg.interop.graph_def.bodies import all_nodes
from talweg.interop.graph_def.importing import variables_of
from talweg.interop.graph_def.messages import text_format
from talweg.interop.graph_def.meta_graph import export_meta_graph
from talweg.interop.graph_def.tables import creation, table_of
from talweg.interop.graph_def.writing import Output
from talweg.interop.saved_model.constants import ASSETS_KEY, SAVED_MODEL_SCHEMA_VERSION, SERVING
from talweg.interop.saved_model.graph import OuterGraph
from talweg.interop.saved_model.messages import AssetFileDef, SavedModel
from talweg.interop.saved_model.saving import write_folder
from talweg.interop.saved_model_v1.signatures import predict_signature_def

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.compat_v1.sessions.session import Session
    from talweg.core.annotations import PathLike
    from talweg.graph.graph import Graph


@export("compat.v1.saved_model.Builder", "compat.v1.saved_model.builder.SavedModelBuilder")
class Builder:
    """Collects graphs and writes them as a saved model; AssertionError if the folder is not empty.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", initializer=2.0)
    ...     session.run(v.initializer)
    ...     builder = tf.saved_model.Builder(folder)
    ...     builder.add_meta_graph_and_variables(session, ["serve"])
    ...     _ = builder.save()
    >>> tf.saved_model.contains_saved_model(folder)
    True
    """

    def __init__(self, export_dir: Any):
        self.folder = os.fspath(export_dir)
        if os.path.isdir(self.folder) and os.listdir(self.folder):
            raise AssertionError(
                "Export directory already exists, and isn't empty. Please choose a different "
                f"export directory, or delete all the contents of the specified directory: "
                f"{self.folder}  [TW509]"
            )
        self.model = SavedModel(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
        self.tensors: dict[str, Any] | None = None
        self.files: dict[str, str] = {}

    def add_meta_graph_and_variables(
        self,
        sess: Session,
        tags: Sequence[str],
        signature_def_map: dict[Any, Any] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: object = None,
        clear_devices: bool = False,
        main_op: object = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, and the values its variables have in a session."""
        if self.tensors is not None:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead.  [TW509]"
            )
        graph = sess.graph
        variables = variables_of(graph)
        symbols = {name: graph.reading(variable) for name, variable in variables.items()}
        self.tensors = {key: np.asarray(x) for key, x in sess.run(symbols).items()}
        self._add(
            graph,
            tags,
            signature_def_map,
            assets_collection,
            main_op or legacy_init_op,
            clear_devices,
        )

    def add_meta_graph(
        self,
        tags: Sequence[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: object = None,
        clear_devices: bool = False,
        main_op: object = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, for the variables that were added with the first one."""
        if self.tensors is None:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first.  [TW509]"
            )
        self._add(
            look_up("compat.v1.get_default_graph")(),
            tags,
            signature_def_map,
            assets_collection,
            main_op or legacy_init_op,
            clear_devices,
        )

    def _add(
        self, graph: Graph, tags: Any, signatures: Any, assets: Any, main_op: Any, clear: bool
    ) -> None:
        graph_def = graph.as_graph_def(include_captured=True)
        message = export_meta_graph(graph=graph, clear_devices=clear, graph_def=graph_def)
        message.meta_info_def.tags.extend([tags] if isinstance(tags, str) else list(tags))
        for key, signature in (signatures or {}).items():
            for info in (*signature.inputs.values(), *signature.outputs.values()):
                if not info.name:
                    raise AssertionError(
                        f"All TensorInfo protos used in the SignatureDefs must have the `name` "
                        f"field set: {info}  [TW509]"
                    )
            message.signature_def[key].CopyFrom(signature)
        self._note_assets(message, assets or ())
        outer = OuterGraph(message)
        outer.writer.taken = dict.fromkeys([node.name.lower() for node in message.graph_def.node])
        if main_op is not None:
            outer.waits.append(main_op if isinstance(main_op, str) else main_op.name)
        _fill_tables(outer, graph, message)
        outer.finish_initialization(signature=False)
        kinds = {node.name: node for node in message.graph_def.node}
        handles = {
            name: (Output(name, 0, name, resource), as_dtype(kinds[name].attr["dtype"].type))
            for name in variables_of(graph)
            if name in kinds
        }
        outer.saver(handles, {})
        self.model.meta_graphs.add().CopyFrom(message)

    def _note_assets(self, message: Any, assets: Any) -> None:
        """Have the files that constants name copied, and say which tensors these are."""
        for tensor in assets:
            content = constant_of(tensor.node)
            path = None if content is None else os.fsdecode(np.asarray(content.array).item())
            if path is None or not os.path.isfile(path):
                raise value_error("TW509", f"the asset {tensor.name} is no file: {path}")
            name = os.path.basename(path)
            self.files[name] = path
            definition = AssetFileDef(filename=name)
            definition.tensor_info.name = tensor.name
            if definition not in message.asset_file_def:
                message.asset_file_def.add().CopyFrom(definition)
                asset = message.collection_def[ASSETS_KEY].any_list.value.add()
                asset.type_url = "type.googleapis.com/tensorflow.AssetFileDef"
                asset.value = definition.SerializeToString()

    def save(self, as_text: bool = False) -> bytes:
        """Write all; the path of the file."""
        write_folder(self.folder, self.model, self.tensors, self.files)
        path = os.path.join(self.folder, "saved_model.pb")
        if as_text:
            text = text_format.MessageToString(self.model)
            os.unlink(path)
            path = os.path.join(self.folder, "saved_model.pbtxt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path.encode()


def _fill_tables(outer: OuterGraph, graph: Graph, message: Any) -> None:
    """Make operations that give the tables of a graph their contents, before anything else."""
    nodes = {
        node.attr["shared_name"].s.decode(): node.name
        for node in message.graph_def.node
        if node.op.endswith("TableV2")
    }
    seen = set()
    for node in all_nodes(list(graph.table.nodes.values())):
        for _, value in node.key[1]:
            table = table_of(value)
            name = None if table is None else nodes.get(creation(table)[1]["shared_name"])
            if table is not None and name is not None and name not in seen:
                seen.add(name)
                parts = [
                    outer.writer.constant(array, f"{name}/{label}")
                    for array, label in zip(table.contents(), ("keys", "values"))
                ]
                fill = outer.writer.unique(f"{name}/fill")
                handle = Output(name, 0, name, resource)
                outer.writer.node("LookupTableImportV2", fill, [handle, *parts], {})
                outer.waits.append(fill)


@export("compat.v1.saved_model.simple_save")
@as_it_is
def simple_save(
    session: Session,
    export_dir: PathLike,
    inputs: dict[Any, Any],
    outputs: dict[Any, Any],
    legacy_init_op: object = None,
) -> None:
    """Save the graph of a session with one signature, from dictionaries of tensors.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.placeholder(tf.float32, [])
    ...     tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x * 2.0})
    >>> float(tf.saved_model.load_v2(folder).signatures["serving_default"](x=3.0)["y"])
    6.0
    """
    signature = {"serving_default": predict_signature_def(inputs, outputs)}
    builder = Builder(export_dir)
    with session.graph.as_default():
        builder.add_meta_graph_and_variables(
            session,
            [SERVING],
            signature,
            main_op=legacy_init_op,
            assets_collection=session.graph.get_collection("asset_filepaths"),
        )
    builder.save()
