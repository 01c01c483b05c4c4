"""tf.saved_model.load: the object that a folder was saved from, with its functions and state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.variables import in_a_graph
from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.eager.graph_variable import outermost
from talweg.interop.saved_model.first_generation import load_first_generation
from talweg.interop.saved_model.messages import read_saved_model
from talweg.interop.saved_model.options import LoadOptions
from talweg.interop.saved_model.reviving import Reviver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import PathLike


@export("saved_model.load", "compat.v1.saved_model.load_v2")
def load(
    export_dir: PathLike, tags: Sequence[str] | None = None, options: LoadOptions | None = None
) -> Any:
    """Return the object that `tf.saved_model.save` wrote, here or in TensorFlow.

    Its attributes are there by name, variables with their values; its functions run the traces
    that were saved, and have gradients; `signatures` has the signatures.  tags: which of several
    graphs to take, if there are several.  A saved model of TensorFlow 1 has signatures, `variables`
    and `prune`.  In a graph of TensorFlow 1 the variables belong to that graph, and their
    initializers give them the saved values.

    OSError if there is no saved model, ValueError for tags that it does not have, AssertionError
    for values that are missing.

    >>> import tempfile
    >>> import talweg as tf
    >>> module = tf.Module()
    >>> module.v = tf.Variable(2.0)
    >>> module.times = tf.function(lambda x: x * module.v, [tf.TensorSpec([], tf.float32)])
    >>> folder = tempfile.mkdtemp() + "/times"
    >>> tf.saved_model.save(module, folder)
    >>> loaded = tf.saved_model.load(folder)
    >>> with tf.GradientTape() as tape:
    ...     y = loaded.times(3.0)
    >>> float(tape.gradient(y, loaded.v))
    3.0
    """
    folder = os.fspath(export_dir)
    folder = folder.decode() if isinstance(folder, bytes) else folder
    options = LoadOptions() if options is None else options
    graph = outermost(dispatch.context.base) if in_a_graph() else None
    with dispatch.eagerly():
        model = read_saved_model(folder)
        if len(model.meta_graphs) == 1 and model.meta_graphs[0].HasField("object_graph_def"):
            meta_graph = model.meta_graphs[0]
            _check_tags(tags, meta_graph, folder)
            return Reviver(meta_graph, folder, options, graph=graph).root()
        return load_first_generation(model, folder, tags)


@export("__internal__.saved_model.parse_saved_model")
def parse_saved_model(export_dir: Any) -> Any:
    """Return the message of a saved model; OSError if there is none in the folder."""
    return read_saved_model(os.fspath(export_dir))


@export("__internal__.saved_model.load_partial")
def load_partial(
    export_dir: Any, filters: Any, tags: Any = None, options: Any = None
) -> dict[str, Any]:
    """Return objects of a saved model by the paths that lead to them ("root.layer").

    filters: paths; as a dictionary, with the object that the program has already and what gives it
    its children, or None.  Objects that are there get their saved values.
    """
    folder = os.fspath(export_dir)
    options = LoadOptions() if options is None else options
    with dispatch.eagerly():
        meta_graph = read_saved_model(folder).meta_graphs[0]
        _check_tags(tags, meta_graph, folder)
        numbers = _numbers(meta_graph.object_graph_def.nodes, filters)
        given = {
            numbers[path]: number
            for path, number in (filters.items() if isinstance(filters, dict) else ())
            if number is not None
        }
        reviver = Reviver(meta_graph, folder, options, given)
        reviver.root()
        return {path: reviver.made[numbers[path]] for path in filters}


def _numbers(nodes: Any, paths: Any) -> dict[str, int]:
    """Find the numbers of the objects that paths lead to; ValueError for a path that leads
    nowhere.
    """
    below = [{child.local_name: child.node_id for child in node.children} for node in nodes]
    numbers = {}
    for path in paths:
        places = {(0, path.removeprefix("root").removeprefix("."))}  # names may contain dots
        while places and not any(rest == "" for _, rest in places):
            places = {
                (number, rest[len(name) :].removeprefix("."))
                for number_of_object, rest in places
                for name, number in below[number_of_object].items()
                if rest == name or rest.startswith(f"{name}.")
            }
        ends = [number_of_object for number_of_object, rest in places if rest == ""]
        if not ends:
            raise value_error("TW509", f"no object of the saved model is at {path!r}")
        numbers[path] = ends[0]
    return numbers


def _check_tags(tags: Any, meta_graph: Any, folder: str) -> None:
    known = list(meta_graph.meta_info_def.tags)
    wanted = [tags] if isinstance(tags, str) else tags
    if wanted is not None and set(wanted) != set(known):
        raise value_error(
            "TW509",
            f"Got an incompatible argument to `tags`: {tags}. The SavedModel at {folder} "
            f"has one MetaGraph with tags {known}. You may omit the argument, pass 'None', or pass "
            "matching tags.",
        )
