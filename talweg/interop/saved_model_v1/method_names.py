"""The names of methods in the signatures of a saved model, changed in its file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.formats.files import write_file
from talweg.interop.graph_def.messages import text_format
from talweg.interop.saved_model.constants import (
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
)
from talweg.interop.saved_model.loading import parse_saved_model


@export("compat.v1.saved_model.signature_def_utils.MethodNameUpdater")
class MethodNameUpdater:
    """Changes `method_name` in signatures of the saved model in a folder.

    OSError where there is none.  Nothing is written before `save`.
    """

    def __init__(self, export_dir: str):
        self._export_dir = export_dir
        self._saved_model: Any = parse_saved_model(export_dir)

    def replace_method_name(
        self, signature_key: str, method_name: str, tags: str | Sequence[str] | None = None
    ) -> None:
        """Name the method of the signatures with this key, in all graphs or in that of `tags`.

        ValueError for an empty key or name, a graph that there is not, or no such signature.
        """
        if not signature_key:
            raise value_error("TW104", "`signature_key` must be defined.")
        if not method_name:
            raise value_error("TW104", "`method_name` must be defined.")
        wanted = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
        graphs = [
            graph
            for graph in self._saved_model.meta_graphs
            if wanted is None or set(graph.meta_info_def.tags) == wanted
        ]
        if not graphs:
            raise value_error("TW509", f"no graph of the saved model has the tags {tags}")
        for graph in graphs:
            if signature_key not in graph.signature_def:
                own = sorted(graph.signature_def)
                raise value_error("TW509", f"no signature is called {signature_key!r}", f"{own}")
        for graph in graphs:
            graph.signature_def[signature_key].method_name = method_name

    def save(self, new_export_dir: str | None = None) -> None:
        """Write the file of the model, into a new folder if one is given.

        A new folder gets this file alone, not the variables.
        """
        folder = new_export_dir or self._export_dir
        os.makedirs(folder, exist_ok=True)
        text = os.path.join(self._export_dir, SAVED_MODEL_FILENAME_PBTXT)
        binary = os.path.join(self._export_dir, SAVED_MODEL_FILENAME_PB)
        if os.path.exists(text) and not os.path.exists(binary):
            content = text_format.MessageToString(self._saved_model).encode()
            write_file(os.path.join(folder, SAVED_MODEL_FILENAME_PBTXT), [content])
        else:
            content = self._saved_model.SerializeToString(deterministic=True)
            write_file(os.path.join(folder, SAVED_MODEL_FILENAME_PB), [content])
