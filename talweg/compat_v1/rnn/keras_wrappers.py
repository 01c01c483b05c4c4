"""tf.nn.RNNCell...Wrapper: cells around cells of Keras, or of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.rnn.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper, Wrapper
from talweg.core.errors import type_error

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


class CellOutsideScopes(Wrapper):
    """A cell around one that has `call(inputs, states)`, as Keras's cells have, and no scopes."""

    def _check(self, cell: Any) -> None:
        lacking = [
            name for name in ("state_size", "output_size", "call") if not hasattr(cell, name)
        ]
        if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
            lacking.append("get_initial_state")
        if lacking:
            raise type_error(
                "TW104", f"The argument 'cell' ({cell!r}) is not an RNNCell: {lacking} missing"
            )

    @property
    def cell(self) -> Any:
        """The cell inside."""
        return self._cell

    def call(self, inputs: Any, state: Any, **more: object) -> Any:  # type: ignore[override]
        """Compute output and state."""
        return self.around(inputs, state, None)

    def _inner(self, inputs: TensorLike, state: Any, scope: Any) -> Any:
        return self._cell(inputs, state)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Return a state of zeros, as the cell inside gives it."""
        if batch_size is None and inputs is not None:
            batch_size = inputs.shape[0]
        if not hasattr(self._cell, "get_initial_state"):
            return self._cell.zero_state(batch_size, dtype)
        return self._cell.get_initial_state(batch_size=batch_size)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return a state of zeros."""
        if hasattr(self._cell, "zero_state"):
            return self._cell.zero_state(batch_size, dtype)
        return self.get_initial_state(batch_size=batch_size, dtype=dtype)


@export("nn.RNNCellDropoutWrapper")
class RNNCellDropoutWrapper(CellOutsideScopes, DropoutWrapper):
    """A cell whose inputs, outputs or states are dropped at random and scaled.

    cell: a cell of `tf.keras.layers`, or an object with state_size, output_size, call and
    get_initial_state.  input_keep_prob, output_keep_prob, state_keep_prob: numbers of [0, 1];
    variational_recurrent (with dtype, input_size): the same choices at every step; seed;
    dropout_state_filter_visitor: what of a state may be dropped.  TypeError for what is no cell,
    ValueError for other numbers.

    >>> import talweg as tf
    >>> class Sum:
    ...     state_size = output_size = 2
    ...     def call(self, inputs, states):
    ...         return inputs + states, inputs + states
    ...     __call__ = call
    ...     def get_initial_state(self, batch_size):
    ...         return tf.zeros([batch_size, 2])
    >>> cell = tf.nn.RNNCellDropoutWrapper(Sum(), output_keep_prob=0.5)
    >>> output, state = cell(tf.ones([1, 2]), tf.ones([1, 2]))
    >>> state.numpy()
    array([[2., 2.]], dtype=float32)
    """


@export("nn.RNNCellResidualWrapper")
class RNNCellResidualWrapper(CellOutsideScopes, ResidualWrapper):
    """A cell whose inputs are added to its outputs, or residual_fn(inputs, outputs) in their place.

    cell: as for `tf.nn.RNNCellDropoutWrapper`.  ValueError if inputs and outputs differ in shape.

    >>> import talweg as tf
    >>> class Last:
    ...     state_size = output_size = 2
    ...     def call(self, inputs, states):
    ...         return states, inputs
    ...     __call__ = call
    ...     def get_initial_state(self, batch_size):
    ...         return tf.zeros([batch_size, 2])
    >>> cell = tf.nn.RNNCellResidualWrapper(Last())
    >>> cell(tf.ones([1, 2]), tf.ones([1, 2]))[0].numpy()
    array([[2., 2.]], dtype=float32)
    """


@export("nn.RNNCellDeviceWrapper")
class RNNCellDeviceWrapper(CellOutsideScopes, DeviceWrapper):
    """A cell whose operations note a device.

    cell: as for `tf.nn.RNNCellDropoutWrapper`; device: the name of a device.

    >>> import talweg as tf
    >>> class Last:
    ...     state_size = output_size = 2
    ...     def call(self, inputs, states):
    ...         return states, inputs
    ...     __call__ = call
    ...     def get_initial_state(self, batch_size):
    ...         return tf.zeros([batch_size, 2])
    >>> tf.nn.RNNCellDeviceWrapper(Last(), "/cpu:0").output_size
    2
    """
