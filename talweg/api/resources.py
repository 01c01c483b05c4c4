"""Resources outside of graphs that functions use: lookup tables, assets of a saved model."""

from __future__ import annotations

import os
from typing import Any

from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.tracking import AutoTrackable, Trackable
from talweg.eager.convert import convert_to_tensor


@export(
    "saved_model.experimental.TrackableResource",
    "compat.v1.saved_model.experimental.TrackableResource",
)
class TrackableResource(AutoTrackable):
    """An object that functions use and that is no variable, such as a lookup table.

    >>> import talweg as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(["a"], [1])
    >>> table = tf.lookup.StaticHashTable(words, 0)
    >>> isinstance(table, tf.saved_model.experimental.TrackableResource)
    True
    """

    @property
    def resource_handle(self) -> Any:
        """The resource: it is its own handle."""
        return self


@export("saved_model.Asset", "compat.v1.saved_model.Asset")
class Asset(Trackable):
    """A file that is saved along with the object that has it as an attribute.

    path: the file.  Functions use `asset_path`, a tensor, which is the path of the copy in a saved
    model that was loaded.

    >>> import tempfile
    >>> import talweg as tf
    >>> file = tempfile.NamedTemporaryFile()
    >>> tf.saved_model.Asset(file.name).asset_path.dtype
    tf.string
    """

    def __init__(self, path: Any):
        with dispatch.eagerly():
            text = os.fspath(path) if isinstance(path, os.PathLike) else path
            self._path = convert_to_tensor(text)

    @property
    def asset_path(self) -> Any:
        """The path, a tensor of strings; in a function, what is there when it is called."""
        base = dispatch.context.base
        return self._path if base is None else base.bring_in(self._path)
