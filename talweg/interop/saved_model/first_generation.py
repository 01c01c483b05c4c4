"""Saved models of TensorFlow 1: a graph with signatures, as functions with variables.

Each signature becomes a trace of what its outputs need; variables are those of the graph, with the
values of the checkpoint.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from talweg.api.resources import Asset
from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec
from talweg.core.tracking import AutoTrackable
from talweg.eager.variable import Variable
from talweg.formats.bundle.reader import Bundle, index_file
from talweg.formats.wire import data_loss_error
from talweg.graph import structure
from talweg.interop.graph_def import reading
from talweg.interop.graph_def.building import GraphBuilder
from talweg.interop.graph_def.messages import DecodeError, VariableDef
from talweg.interop.graph_def.regions import Planner, Regions
from talweg.interop.graph_def.rules_tables import Tables
from talweg.interop.graph_def.scopes import ImportScope
from talweg.interop.graph_def.tensor_protos import make_ndarray
from talweg.interop.graph_def.values import tensor
from talweg.interop.saved_model.constants import (
    ASSETS_KEY,
    INIT_OP_SIGNATURE_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from talweg.interop.saved_model.messages import AssetFileDef, asset_path
from talweg.interop.saved_model.restored import Origin, RestoredSignature, number_leaves, plain_name
from talweg.interop.saved_model.reviving import tensor_of, zeros_like
from talweg.interop.saved_model.signatures import SignatureMap
from talweg.trace.concrete import TraceGraph
from talweg.trace.signature import Container

if TYPE_CHECKING:
    import numpy as np

    from talweg.interop.graph_def.reading import NodeRecord

VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
ASSIGNMENTS = ("Assign", "AssignVariableOp")
PASSING = ("Identity", "Cast")


class FirstGeneration(AutoTrackable):
    """A saved model of TensorFlow 1 as an object: its variables, signatures and `prune`.

    `signatures` and `variables`; `prune(feeds, fetches)` gives a function of any other part.
    """

    def __init__(self, graph: ImportedGraph):
        self.graph_def = graph.graph_def
        self._imported = graph
        self.variables = list(graph.variables.values())
        self.asset_paths = [asset.asset_path for asset in graph.assets.values()]
        self.signatures = SignatureMap({})

    def prune(self, feeds: Any, fetches: Any, name: str = "pruned") -> Any:
        """Return the function from tensors `feeds` to `fetches`, nests of names ("x:0")."""
        names = [_tensor_name(x) for x in structure.flatten(feeds)]
        labels = [text.partition(":")[0] for text in names]
        wanted = structure.map_leaves(_tensor_name, fetches)
        return self._imported.function(name, dict(zip(labels, names)), wanted, positional=True)


def _tensor_name(value: Any) -> str:
    text = getattr(value, "name", value)
    return text if ":" in text else f"{text}:0"


def load_first_generation(model: object, folder: str, tags: object) -> FirstGeneration:
    """Return the signatures of the meta graph with these tags; ValueError if several graphs fit."""
    meta_graph = choose_meta_graph(model, folder, tags)
    graph = ImportedGraph(meta_graph, folder)
    found = FirstGeneration(graph)
    graph.initialize()
    for key, signature in meta_graph.signature_def.items():
        if key == INIT_OP_SIGNATURE_KEY or not signature.outputs:
            continue
        feeds = {name: info.name for name, info in signature.inputs.items()}
        fetches = {name: info.name for name, info in signature.outputs.items()}
        if all(feeds.values()) and all(fetches.values()):
            found.signatures.functions[key] = LazySignature(graph, key, feeds, fetches)
    found.__dict__["tensorflow_version"] = meta_graph.meta_info_def.tensorflow_version
    return found


def choose_meta_graph(model: Any, folder: str, tags: Any) -> Any:
    """Choose the meta graph with exactly these tags; the only one if no tags are given."""
    wanted = {tags} if isinstance(tags, str) else tags
    if wanted is None:
        if len(model.meta_graphs) != 1:
            known = [list(part.meta_info_def.tags) for part in model.meta_graphs]
            raise value_error(
                "TW509",
                f"Importing a SavedModel with tf.saved_model.load requires a `tags=` "
                f"argument if there is more than one MetaGraph. Got `tags=None`, but there are "
                f"{len(known)} MetaGraphs in the SavedModel with tag sets: {known}. Pass a `tags=` "
                "argument to load this SavedModel.",
            )
        return model.meta_graphs[0]
    for meta_graph in model.meta_graphs:
        if set(meta_graph.meta_info_def.tags) == set(wanted):
            return meta_graph
    known = [sorted(part.meta_info_def.tags) for part in model.meta_graphs]
    raise RuntimeError(
        f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel, "
        f"which has {known} ({folder}).  [TW509]"
    )


def asset_files(meta_graph: Any, folder: str) -> dict[str, str]:
    """Return the files of a saved model by the names of the tensors that are their paths."""
    definitions = list(meta_graph.asset_file_def)
    if ASSETS_KEY in meta_graph.collection_def:
        for value in meta_graph.collection_def[ASSETS_KEY].any_list.value:
            try:
                definitions.append(AssetFileDef.FromString(value.value))
            except DecodeError as error:
                raise data_loss_error(f"{folder}: an asset of the model: {error}") from None
    return {part.tensor_info.name: asset_path(folder, part.filename) for part in definitions}


def initializer_of(meta_graph: Any) -> str | None:
    """Return the name of the operation that initializes a graph; None if there is none."""
    signatures = meta_graph.signature_def
    if INIT_OP_SIGNATURE_KEY in signatures:
        return signatures[INIT_OP_SIGNATURE_KEY].outputs[INIT_OP_SIGNATURE_KEY].name
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names = meta_graph.collection_def[key].node_list.value
            return names[0] if names else None
    return None


def find_saved_names(items: dict, functions: dict) -> dict[str, str]:
    """Return the name among the saved values of each variable that a graph restores."""
    found = {}
    for item in items.values():
        if item.op in ASSIGNMENTS and len(item.inputs) > 1:
            key = _find_restored_key(items, item.inputs[1])
            if key is not None:
                found[item.inputs[0][0]] = key
        elif item.op.endswith("PartitionedCall"):  # TensorFlow 2 restores in a function
            found.update(_find_restored_names(item, functions))
    return found


def _find_restored_names(item: NodeRecord, functions: dict) -> dict[str, str]:
    """Return the names of the variables that a function restores, which a node calls."""
    called = item.attributes["f"]
    message = functions.get(getattr(called, "name", called))
    if message is None or not any(node.op == "RestoreV2" for node in message.node_def):
        return {}
    inner = reading.FunctionRecord(message, functions)
    outside = dict(zip(inner.arguments, item.inputs))
    return {
        outside[name][0]: key
        for name, key in find_saved_names(inner.items, {}).items()
        if name in outside
    }


def _find_restored_key(items: dict, reference: tuple) -> str | None:
    """Return the name of the saved value that a tensor is; None if it is none."""
    source, number = reference
    while source in items and items[source].op in PASSING:
        source, number = items[source].inputs[0]
    restore = items.get(source)
    if restore is None or restore.op != "RestoreV2":
        return None
    names = items[restore.inputs[1][0]]
    if names.op != "Const":
        return None
    return make_ndarray(names.attributes["value"]).reshape(-1)[number].decode()


class LazySignature:
    """A signature whose trace is built when it is first asked for."""

    def __init__(self, graph: ImportedGraph, key: str, feeds: dict, fetches: dict):
        self.made: Any = None
        self.arguments = graph, key, feeds, fetches

    @property
    def trace(self) -> Any:
        """The trace."""
        if self.made is None:
            graph, key, feeds, fetches = self.arguments
            self.made = graph.function(f"signature_{key}", feeds, fetches)
        return self.made


class ImportedGraph:
    """A graph of TensorFlow 1 with variables, tables and files of its own."""

    def __init__(self, meta_graph: Any, folder: str):
        self.meta_graph, self.folder = meta_graph, folder
        self.graph_def = meta_graph.graph_def
        self.functions = {part.signature.name: part for part in self.graph_def.library.function}
        self.items = reading.items_of(self.graph_def, self.functions)
        self.regions = Regions(self.items)
        self.tables = Tables()
        self.assets = {name: Asset(path) for name, path in asset_files(meta_graph, folder).items()}
        self.variables: dict[str, Variable] = {}
        self._make_variables()

    # -- variables

    def _make_variables(self) -> None:
        prefix = os.path.join(self.folder, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
        bundle = Bundle(prefix) if os.path.exists(index_file(prefix)) else None
        keys = find_saved_names(self.items, self.functions)
        trainable = self._trainable()
        for item in self.items.values():
            if item.op not in VARIABLES:
                continue
            key = keys.get(item.name, item.name)
            value = None if bundle is None or key not in bundle.entries else bundle.read(key)
            self.variables[item.name] = self._variable(item, value, item.name in trainable)

    def _variable(self, item: NodeRecord, value: np.ndarray | None, trainable: bool) -> Variable:
        dtype, shape = item.attributes["dtype"], item.attributes["shape"]
        if value is None:  # set by an operation that initializes it, or never read
            value = zeros_like(shape, dtype)
        return Variable(tensor_of(value), trainable, name=item.name, dtype=dtype, shape=shape)

    def _trainable(self) -> set[str]:
        from_collection = self.meta_graph.collection_def["trainable_variables"].bytes_list.value
        found = set()
        for data in from_collection:
            definition = VariableDef()
            try:
                definition.ParseFromString(data)
            except DecodeError:
                continue
            found.add(definition.variable_name.partition(":")[0])
        return found

    # -- running parts

    def initialize(self) -> None:
        """Run the graph's initializer."""
        operation = initializer_of(self.meta_graph)
        if operation is not None:
            self.function("initialize", {}, [], (operation,))()

    def function(
        self,
        name: str,
        feeds: dict[str, str],
        fetches: dict[Any, Any] | list[Any],
        effects: tuple = (),
        positional: bool = False,
    ) -> Any:
        """Make a function from named tensors of the graph to a nest of others."""
        specs = {key: self._spec(text, key) for key, text in feeds.items()}
        flat: list[TensorSpec] = []
        signature = (tuple(specs.values()), {}) if positional else ((), specs)
        tree = Container([*signature], [number_leaves(part, flat) for part in signature])
        references = {spec.name: _reference(feeds[spec.name or ""]) for spec in flat}

        def run(symbols: list) -> list:
            mapped = {references[spec.name]: x for spec, x in zip(flat, symbols)}
            return self._run(
                mapped, [_reference(text) for text in structure.flatten(fetches)], effects
            )

        concrete = RestoredSignature(plain_name(name), TraceGraph(name), tree, flat)
        output = structure.map_leaves(lambda text: self._spec(text, None), fetches)
        concrete.trace_flat(run, [spec.name or "x" for spec in flat], output)
        concrete.structured_input_signature = signature
        return concrete

    def _run(self, mapped: dict, wanted: list, effects: tuple) -> list:
        builder = GraphBuilder(self.functions)
        builder.mapped = mapped
        builder.present = dict(self.variables)
        builder.tables = self.tables
        scope = ImportScope()
        for text, asset in self.assets.items():
            builder.mapped.setdefault(_reference(text), asset.asset_path)
        for (node, number), value in builder.mapped.items():
            scope.values[node, number] = value
            if self.items[node].output_count() == 1:
                scope.done[node] = value
        needed = [name for name, _ in wanted] + [_reference(text)[0] for text in effects]
        missing = [name for name in needed if name not in self.items]
        if missing:
            raise value_error("TW509", f"the graph has no {missing}")
        builder.region(Planner(self.regions), (), needed, scope)
        origin: Any = Origin("prune")
        return [tensor(builder.input(origin, reference, scope)) for reference in wanted]

    def _spec(self, text: str, name: str | None) -> TensorSpec:
        """Make the spec of a tensor of the graph."""
        node, number = _reference(text)
        item = self.items.get(node)
        if item is None:
            raise value_error("TW509", f"the graph has no tensor {text!r}")
        dtypes = [x for part in item.operation.outputs for x in part.dtypes(item.attributes)]
        shape = item.attributes.get("shape") if item.op.startswith("Placeholder") else None
        return TensorSpec(shape, dtypes[number], name)


def _reference(text: str) -> tuple[str, int]:
    name, _, number = text.removeprefix("^").partition(":")
    return name, int(number or 0)
