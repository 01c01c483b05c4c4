"""Writing GraphDefs to files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.formats.files import make_folder, write_file
from talweg.interop.graph_def.messages import text_format

if TYPE_CHECKING:
    from talweg.graph.graph import Graph


@export(
    "io.write_graph", "compat.v1.io.write_graph", "compat.v1.train.write_graph", "train.write_graph"
)
@as_it_is
def write_graph(graph_or_graph_def: Graph, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph or GraphDef to the file `name` in the folder `logdir`; its path.

    The folder is made if need be; the file is written whole or not at all.  As text unless
    `as_text` is False.  OSError if it cannot be written.

    >>> import os, tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph, tempfile.TemporaryDirectory() as folder:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     path = tf.io.write_graph(graph, folder, "graph.pb", as_text=False)
    ...     os.path.basename(path), os.path.getsize(path) > 0
    ('graph.pb', True)
    """
    message = graph_or_graph_def
    if hasattr(message, "as_graph_def"):
        message = message.as_graph_def()
    path = os.path.join(os.fspath(logdir), name)
    write_message(message, path, as_text)
    return path


def write_message(message: Any, path: str, as_text: bool) -> None:
    """Write a message to a file, whole or not at all."""
    if as_text:
        data = text_format.MessageToString(message).encode()
    else:
        data = message.SerializeToString(deterministic=True)
    make_folder(os.path.dirname(path))
    write_file(path, [data])
