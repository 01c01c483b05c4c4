"""tf.compat.v1.nn.rnn_cell: cells made of cells.

Gal and Ghahramani 2016 (variational dropout), He et al. 2016 (residuals).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.array.joining import concat
from talweg.api.array.slicing import getitem
from talweg.api.export import export
from talweg.api.math.rounding import floor
from talweg.api.nn.dropout import dropout_v1
from talweg.api.random.stateful import uniform
from talweg.compat_v1.graphs import device as on_device
from talweg.compat_v1.rnn.cells import LSTMStateTuple, RNNCell, check_cell
from talweg.compat_v1.variable_scopes import variable_scope
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.dtypes import DType


@export("compat.v1.nn.rnn_cell.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells one on top of the other: the output of each is the input of the next.

    state_is_tuple: whether the state is a tuple of states or all of them side by side.
    ValueError without cells, TypeError for what is no list of cells.

    >>> import talweg.compat.v1 as tf
    >>> cells = [tf.nn.rnn_cell.BasicRNNCell(n) for n in (3, 2)]
    >>> tf.nn.rnn_cell.MultiRNNCell(cells).state_size
    (3, 2)
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise value_error("TW401", "MultiRNNCell: Must specify at least one cell.")
        if not isinstance(cells, Sequence):
            raise type_error("TW104", f"MultiRNNCell: cells must be a list or tuple, got {cells!r}")
        if len({id(cell) for cell in cells}) < len(cells):
            raise value_error(
                "TW401", "MultiRNNCell: one cell is given twice", "a cell of its own for each layer"
            )
        for number, cell in enumerate(cells):
            check_cell(f"cells[{number}]", cell)
            if not state_is_tuple and structure.is_nested(cell.state_size):
                raise value_error(
                    "TW401",
                    "MultiRNNCell: Some cells return tuples of states, but "
                    f"the flag state_is_tuple is not set: {cell!r}",
                )
        self._cells, self._state_is_tuple = list(cells), state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of all states."""
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list:
        """The trained variables of all cells."""
        return [w for cell in self._cells for w in cell.trainable_weights]

    @property
    def non_trainable_weights(self) -> list:
        """The other variables of all cells."""
        return [w for cell in self._cells for w in cell.non_trainable_weights]

    def zero_state(self, batch_size: object, dtype: object) -> Any:
        """Make states of zeros."""
        if self._state_is_tuple:
            return tuple([cell.zero_state(batch_size, dtype) for cell in self._cells])
        return super().zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple:  # type: ignore[override]
        """Compute output and states."""
        found, start = [], 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    own = state[number]
                else:
                    own = getitem(state, (slice(None), slice(start, start + cell.state_size)))
                    start += cell.state_size
                inputs, following = cell(inputs, own)
                found.append(following)
        return inputs, tuple(found) if self._state_is_tuple else concat(found, 1)


class Wrapper(RNNCell):
    """A cell around another one, without variables or a scope of its own."""

    def __init__(self, cell: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self._check(cell)
        self._cell = cell

    def _check(self, cell: Any) -> None:
        check_cell("cell", cell)

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self._cell

    @property
    def state_size(self) -> Any:
        """The state size of the cell inside."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The output size of the cell inside."""
        return self._cell.output_size

    @property
    def trainable_weights(self) -> list:
        """The trainable weights of the cell inside."""
        return self._cell.trainable_weights

    @property
    def non_trainable_weights(self) -> list:
        """The other weights of the cell inside."""
        return self._cell.non_trainable_weights

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Make the zero state of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: TensorLike, state: TensorLike, scope: str | None = None) -> Any:
        """Output and state."""
        return self.around(inputs, state, scope)

    def around(self, inputs: Any, state: Any, scope: object) -> Any:
        """Call the cell inside; subclasses add steps before and after."""
        return self._inner(inputs, state, scope)

    def _inner(self, inputs: TensorLike, state: Any, scope: Any) -> Any:
        return self._cell(inputs, state, scope=scope)


def _not_memory(state: object) -> Any:
    """Flag the parts of a state that dropout may touch: all but the memory of an LSTM."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(False, True)
    if structure.is_nested(state):
        return structure.rebuild(state, [_not_memory(part) for part in structure.children(state)])
    return not hasattr(state, "stack")  # a TensorArray


@export("compat.v1.nn.rnn_cell.DropoutWrapper")
class DropoutWrapper(Wrapper):
    """A cell whose inputs, outputs or states are dropped at random and scaled.

    input_keep_prob, output_keep_prob, state_keep_prob: numbers of [0, 1] or scalar tensors.  seed:
    of all choices.  variational_recurrent: the same choices at every step; then dtype, and
    input_size if inputs are dropped, are needed.  dropout_state_filter_visitor: a function of a
    state that says (as a nest of bools) what may be dropped; by default all but an LSTM's memory.

    >>> import talweg.compat.v1 as tf
    >>> cell = tf.nn.rnn_cell.BasicRNNCell(3)
    >>> tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.5).output_size
    3
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Sequence[int] | int | None = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(cell, dtype=dtype, **kwargs)
        keep = {"input": input_keep_prob, "state": state_keep_prob, "output": output_keep_prob}
        for name, share in keep.items():
            if isinstance(share, (int, float)) and not 0 <= share <= 1:
                raise value_error(
                    "TW207", f"Parameter {name}_keep_prob is {share}", "a number of [0, 1]"
                )
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise type_error("TW104", "dropout_state_filter_visitor must be callable")
        self._keep, self._seed = keep, seed
        self._filter = dropout_state_filter_visitor or _not_memory
        self._noise: dict[str, list] = {}
        if variational_recurrent:
            if dtype is None:
                raise value_error(
                    "TW401", "When variational_recurrent=True, dtype must be provided"
                )
            self._draw(input_size, dtype)

    def _draw(self, input_size: object, dtype: DType) -> None:
        """Draw the choices for all steps."""
        sizes = {"state": self.state_size, "output": self.output_size}
        if self._drops("input"):
            if input_size is None:
                raise value_error(
                    "TW401",
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is "
                    "unknown, input_size must be provided",
                )
            sizes["input"] = input_size
        for kind, size in sizes.items():
            self._noise[kind] = [
                uniform(
                    [1, *as_shape(one).as_list()], dtype=dtype, seed=self._seed_of(kind, number)
                )
                for number, one in enumerate(structure.flatten(size))
            ]

    def _drops(self, kind: str) -> bool:
        share = self._keep[kind]
        return not isinstance(share, float) or share < 1

    def _seed_of(self, kind: str, place: int) -> int | None:
        """Return a seed for each use, from the one given."""
        if self._seed is None:
            return None
        text = f"{self._seed}{self._salt(kind)}_{place}".encode()
        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    @staticmethod
    def _salt(kind: str) -> str:
        return kind

    def _drop(self, values: object, kind: str, chosen: object = True) -> Any:
        """Return a nest with its chosen parts dropped."""
        share = self._keep[kind]
        flags = structure.flatten(chosen)
        leaves = structure.flatten(values)
        flags = flags * len(leaves) if len(flags) == 1 else flags
        found = []
        for place, (value, flag) in enumerate(zip(leaves, flags)):
            if flag and kind in self._noise:
                kept = floor(self._noise[kind][place] + share)
                value = value / share * kept
            elif flag:
                value = dropout_v1(value, keep_prob=share, seed=self._seed_of(kind, place))
            found.append(value)
        return structure.pack(values, found)

    def around(self, inputs: object, state: Any, scope: object) -> Any:
        """Compute output and state."""
        if self._drops("input"):
            inputs = self._drop(inputs, "input")
        output, following = super().around(inputs, state, scope)
        if self._drops("state"):
            following = self._drop(following, "state", self._filter(following))
        if self._drops("output"):
            output = self._drop(output, "output")
        return output, following


@export("compat.v1.nn.rnn_cell.ResidualWrapper")
class ResidualWrapper(Wrapper):
    """A cell whose inputs are added to its outputs, or residual_fn(inputs, outputs) in their place.

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3)).output_size
    3
    """

    def __init__(self, cell: Any, residual_fn: Callable[..., Any] | None = None, **kwargs: Any):
        super().__init__(cell, **kwargs)
        self._residual = residual_fn

    def around(self, inputs: object, state: Any, scope: object) -> Any:
        """Compute output and state; ValueError if inputs and outputs differ in shape."""
        outputs, following = super().around(inputs, state, scope)
        if self._residual is not None:
            return self._residual(inputs, outputs), following
        structure.assert_same(inputs, outputs)
        sums = []
        for x, y in zip(structure.flatten(inputs), structure.flatten(outputs)):
            if not x.shape.is_compatible_with(y.shape):
                raise value_error(
                    "TW204",
                    f"ResidualWrapper: inputs of shape {x.shape}, outputs of shape {y.shape}",
                )
            sums.append(x + y)
        return structure.pack(outputs, sums), following


@export("compat.v1.nn.rnn_cell.DeviceWrapper")
class DeviceWrapper(Wrapper):
    """A cell whose operations note a device.

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(3), "/cpu:0").output_size
    3
    """

    def __init__(self, cell: Any, device: object, **kwargs: Any):
        super().__init__(cell, **kwargs)
        self._device = device

    def around(self, inputs: object, state: Any, scope: object) -> Any:
        """Compute output and state."""
        with on_device(self._device):
            return super().around(inputs, state, scope)
