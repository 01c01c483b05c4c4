"""tf.train.experimental.PythonState: state of Python in a checkpoint."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from talweg.api.export import export
from talweg.core.tracking import Trackable


@export("train.experimental.PythonState", "compat.v1.train.experimental.PythonState")
class PythonState(Trackable, metaclass=abc.ABCMeta):
    """State in Python that `tf.train.Checkpoint` saves: a class writes and reads a text.

    >>> import tempfile
    >>> import talweg as tf
    >>> class Note(tf.train.experimental.PythonState):
    ...     text = ""
    ...     def serialize(self):
    ...         return self.text
    ...     def deserialize(self, string_value):
    ...         self.text = string_value.decode()
    >>> note = Note()
    >>> note.text = "day one"
    >>> checkpoint = tf.train.Checkpoint(note=note)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = checkpoint.save(folder + "/c")
    ...     note.text = "day two"
    ...     status = checkpoint.restore(path)
    >>> note.text
    'day one'
    """

    @abc.abstractmethod
    def serialize(self) -> str | bytes:
        """Return the state, as a text or bytes."""

    @abc.abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Take a state that `serialize` wrote."""

    def _serialize_to_tensors(self) -> dict[str, Any]:
        found = self.serialize()
        text = found.encode() if isinstance(found, str) else bytes(found)
        return {"py_state": np.array(text, object)}

    def _restore_from_tensors(self, restored_tensors: dict) -> None:
        self.deserialize(restored_tensors["py_state"].numpy())
