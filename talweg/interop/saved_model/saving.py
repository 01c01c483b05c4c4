"""tf.saved_model.save: an object with its functions and state as a folder."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np

from talweg.api.export import export
from talweg.api.resources import TrackableResource
from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.core.tracking import Trackable, catch_up
from talweg.eager.variable import Variable
from talweg.formats.bundle.writer import write_bundle
from talweg.formats.files import partial_folder
from talweg.interop.checkpoint import object_graph
from talweg.interop.checkpoint.checkpoint import describe
from talweg.interop.checkpoint.initial_values import ByIdentity, paths_of
from talweg.interop.checkpoint.object_walk import Survey
from talweg.interop.graph_def.messages import PRODUCER
from talweg.interop.graph_def.meta_graph import TENSORFLOW
from talweg.interop.saved_model.constants import (
    ASSETS_DIRECTORY,
    FINGERPRINT_FILENAME,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_SCHEMA_VERSION,
    SERVING,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from talweg.interop.saved_model.fingerprint import fingerprint_of
from talweg.interop.saved_model.functions import Traces
from talweg.interop.saved_model.graph import OuterGraph
from talweg.interop.saved_model.messages import SavedModel
from talweg.interop.saved_model.objects import ObjectWriter
from talweg.interop.saved_model.options import SaveOptions
from talweg.interop.saved_model.signatures import SignatureMap, canonical, default_signature
from talweg.interop.saved_model.surveying import children, functions_of, survey

DEFAULT_SIGNATURE = "_default_save_signature"  # under this name Keras 2 has a model's own


@export("saved_model.save", "compat.v1.saved_model.save", "compat.v1.saved_model.experimental.save")
def save(obj: object, export_dir: Any, signatures: Any = None, options: Any = None) -> None:
    """Write an object, its variables and its `tf.function`s to a folder TensorFlow reads, too.

    obj: a `tf.Module`, a Keras model, or anything else with trackable attributes.  Functions are
    saved as they were traced, those with an input signature in any case.  signatures: a function
    with an input signature, a concrete function, or a dictionary of these, for servers; without
    it, the only function with an input signature is the default one.

    The folder is complete when it appears; what was there before stays if saving fails.
    ValueError for objects without state, AssertionError for variables that functions use and that
    no attribute leads to, or inside a function; UnimplementedError for what has no form in
    TensorFlow.

    >>> import tempfile
    >>> import talweg as tf
    >>> class Scale(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = tf.Variable(3.0)
    ...     @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    ...     def __call__(self, x):
    ...         return x * self.factor
    >>> folder = tempfile.mkdtemp() + "/scale"
    >>> tf.saved_model.save(Scale(), folder)
    >>> tf.saved_model.load(folder)([1.0, 2.0]).numpy()
    array([3., 6.], dtype=float32)
    """
    options = SaveOptions() if options is None else options
    if dispatch.context.base is not None and getattr(dispatch.context.base, "outer", 0) != 0:
        raise AssertionError(
            "`tf.saved_model.save` is not supported inside a traced @tf.function. Move the call to "
            "the outer eagerly-executed context.  [TW509]"
        )
    if not isinstance(obj, Trackable):
        raise value_error(
            "TW509",
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of "
            f"the `Trackable` class, for export. Got {obj} with type {type(obj)}.",
        )
    with dispatch.eagerly():
        catch_up()
        _write(obj, os.fspath(export_dir), signatures, options)


def save_and_return_nodes(
    obj: object,
    export_dir: Any,
    signatures: Any = None,
    options: Any = None,
    experimental_skip_checkpoint: bool = False,
) -> tuple[list, ByIdentity]:
    """Save; return the objects that were saved, and the names that lead to each."""
    options = SaveOptions() if options is None else options
    with dispatch.eagerly():
        catch_up()
        found = _write(obj, os.fspath(export_dir), signatures, options)
    return found.objects, paths_of(found)


def _write(obj: object, folder: str, signatures: Any, options: SaveOptions) -> Survey:
    cache: dict = {}
    if signatures is None:
        own = children(obj, cache).get(DEFAULT_SIGNATURE)
        signatures = default_signature(functions_of(obj)) if own is None else own
    named = SignatureMap(canonical(signatures))
    reached = survey(obj, named, cache)
    model = SavedModel(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
    meta_graph = model.meta_graphs.add()
    _note_versions(meta_graph, options)
    objects = ObjectWriter(meta_graph.object_graph_def, reached, options.function_aliases)
    traces = Traces(meta_graph.graph_def, objects.traces())
    graph = OuterGraph(meta_graph)
    files = objects.write(graph, traces)
    for name, trace in named.items():
        graph.signature(name, trace, traces, objects.find_captured_outputs(trace, traces))
    graph.finish_initialization()
    nodes, tensors = _values(reached)
    message = np.array(object_graph.encode(nodes), object)
    if not options.experimental_skip_saver:
        resources = {}
        for node, part in zip(nodes, reached.objects):
            if isinstance(part, Variable):
                resources[node.attributes[0].key] = (objects.outputs[id(part)], part.dtype)
        rest = {key: tensors[key] for key in tensors if key not in resources}
        graph.saver(resources, {**rest, object_graph.KEY: message})
    tensors[object_graph.KEY] = message
    write_folder(folder, model, tensors, files)
    return reached


def _values(found: Survey) -> tuple[list, dict[str, Any]]:
    """Collect the values of the objects for a checkpoint; tables are saved otherwise."""
    nodes, tensors = describe(found, None)
    for node, obj in zip(nodes, found.objects):
        if isinstance(obj, TrackableResource):
            for attribute in node.attributes:
                for key in [key for key in tensors if key.startswith(attribute.key)]:
                    del tensors[key]
            node.attributes.clear()
    return nodes, tensors


def _note_versions(meta_graph: Any, options: Any) -> None:
    info = meta_graph.meta_info_def
    extra = options.extra_tags or ()
    info.tags.extend(dict.fromkeys([SERVING, *([extra] if isinstance(extra, str) else extra)]))
    info.tensorflow_version = TENSORFLOW
    info.stripped_default_attrs = False
    meta_graph.graph_def.versions.producer = PRODUCER


def write_folder(
    folder: str, model: Any, tensors: dict[str, Any] | None, files: dict[str, str]
) -> None:
    """Write a saved model as a whole; what else a folder of that name holds stays.

    files: name among the assets -> path of the file that is copied.
    """
    with partial_folder(folder) as part:
        os.makedirs(os.path.join(part, ASSETS_DIRECTORY))
        os.makedirs(os.path.join(part, VARIABLES_DIRECTORY))
        for name, source in files.items():
            shutil.copyfile(source, os.path.join(part, ASSETS_DIRECTORY, name))
        if tensors is not None:
            write_bundle(os.path.join(part, VARIABLES_DIRECTORY, VARIABLES_FILENAME), tensors)
        data = model.SerializeToString(deterministic=True)
        for name, content in (
            (FINGERPRINT_FILENAME, fingerprint_of(model, data)),
            (SAVED_MODEL_FILENAME_PB, data),
        ):
            with open(os.path.join(part, name), "wb") as file:
                file.write(content)
