"""Detects saved models, which needs none of their messages."""

from __future__ import annotations

import os
from typing import Any

from talweg.api.export import export
from talweg.interop.saved_model.constants import SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT


@export(
    "saved_model.contains_saved_model",
    "compat.v1.saved_model.contains_saved_model",
    "compat.v1.saved_model.maybe_saved_model_directory",
    "compat.v1.saved_model.loader.maybe_saved_model_directory",
)
def contains_saved_model(export_dir: Any) -> bool:
    """Return whether a folder holds a saved model.

    >>> import talweg as tf
    >>> tf.saved_model.contains_saved_model("no such folder")
    False
    """
    folder = os.fspath(export_dir)
    return any(
        os.path.isfile(os.path.join(folder, name))
        for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)
    )
