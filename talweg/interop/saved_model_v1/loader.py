"""tf.compat.v1.saved_model.load: a saved model into a session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.formats.bundle.reader import Bundle, index_file
from talweg.graph.attempts import attempt_on
from talweg.interop.graph_def import reading
from talweg.interop.graph_def.importing import variables_of
from talweg.interop.graph_def.messages import MetaGraphDef
from talweg.interop.graph_def.meta_graph import import_meta_graph
from talweg.interop.saved_model.constants import (
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from talweg.interop.saved_model.first_generation import (
    asset_files,
    choose_meta_graph,
    find_saved_names,
    initializer_of,
)
from talweg.interop.saved_model.messages import read_saved_model

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session


@export("compat.v1.saved_model.load", "compat.v1.saved_model.loader.load")
@as_it_is
def load(
    sess: Session,
    tags: object,
    export_dir: Any,
    import_scope: str | None = None,
    **saver_kwargs: object,
) -> Any:
    """Add the graph with exactly these tags to the graph of a session; its MetaGraphDef.

    Variables get their saved values in the session, and the graph is initialized.  OSError if there
    is no saved model, RuntimeError if no graph has the tags; errors leave the graph as it was.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     tf.saved_model.simple_save(session, folder, {"x": x}, {"y": tf.exp(x, name="y")})
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     meta_graph = tf.saved_model.load(session, ["serve"], folder)
    ...     float(session.run("y:0", {"x:0": 0.0}))
    1.0
    """
    folder = os.fspath(export_dir)
    meta_graph = choose_meta_graph(read_saved_model(folder), folder, tags)
    graph, prefix = sess.graph, f"{import_scope}/" if import_scope else ""
    with attempt_on(graph):
        with graph.as_default():
            import_meta_graph(_without_saver(meta_graph), import_scope=import_scope)
        _restore(sess, meta_graph, folder, prefix)
        operation = initializer_of(meta_graph)
        if operation is not None:
            feeds = {prefix + name: path for name, path in asset_files(meta_graph, folder).items()}
            sess.run(graph.get_operation_by_name(prefix + operation), feeds)
    return meta_graph


def _without_saver(meta_graph: Any) -> Any:
    """Return the graph without the functions by which TensorFlow 2 reads and writes files."""
    found = MetaGraphDef()
    found.CopyFrom(meta_graph)
    saver = found.saver_def
    names = {saver.save_tensor_name.partition(":")[0], saver.restore_op_name}
    kept = [
        node
        for node in meta_graph.graph_def.node
        if node.name not in names or not node.op.endswith("PartitionedCall")
    ]
    del found.graph_def.node[:]
    found.graph_def.node.extend(kept)
    return found


def _restore(session: Session, meta_graph: Any, folder: str, prefix: str) -> None:
    """Give the variables their saved values in a session."""
    path = os.path.join(folder, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
    if not os.path.exists(index_file(path)):
        return
    bundle = Bundle(path)
    functions = {part.signature.name: part for part in meta_graph.graph_def.library.function}
    names = find_saved_names(reading.items_of(meta_graph.graph_def, functions), functions)
    known: dict[str, Any] = dict(variables_of(session.graph))
    for (_, name), owner in session.graph.extras.get("imported_variables", {}).items():
        known.setdefault(name, owner)
    saved = [(v, names.get(own, own)) for own, v in _without(prefix, known)]
    values = [(v, bundle.read(key)) for v, key in saved if key in bundle.entries]
    for variable, value in values:  # all or none
        session.load(variable, value)


def _without(prefix: str, known: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name.removeprefix(prefix), variable) for name, variable in known.items()]
