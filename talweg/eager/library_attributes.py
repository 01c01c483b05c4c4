"""Attributes of variables that are private in TensorFlow, and that libraries ask for."""

from __future__ import annotations

from typing import Any

from talweg.core import dispatch
from talweg.core.errors import compose
from talweg.core.hooks import hooks
from talweg.core.tracking import Trackable


class LibraryTrackable(Trackable):
    """The private attributes that Keras 2 and other libraries expect of a variable."""

    __slots__ = ()
    _save_slice_info = None
    _in_graph_mode = False  # its values are its own; those of a session's variables are not

    @property
    def _type_spec(self) -> Any:
        """The spec of a variable: shape, dtype and trainability."""
        return hooks.look_up_export("type_spec_from_value")(self)

    @property
    def op(self) -> Any:
        """The operation that reads it in a graph; None while operations run at once.

        That is what TensorFlow's assignments give, which return the variable here.
        """
        if dispatch.context.base is None:
            return None
        return hooks.convert_to_tensor(self).op

    @property
    def _graph_key(self) -> str:
        """The key by which optimizers group variables: one group outside of graphs."""
        return getattr(dispatch.context.base, "_graph_key", "eager")

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Raise RuntimeError: only variables of graphs are written as messages."""
        text = "Variable.to_proto is not supported when eager execution is enabled."
        raise RuntimeError(compose("TW402", text, hint="a variable of a tf.Graph"))

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return the saved parts of the variable, by name."""
        return {"VARIABLE_VALUE": self}
