"""tf.compat.v1.nn.rnn_cell: one step of a recurrent network, from inputs and a state to the next.

Elman 1990 (basic), Hochreiter and Schmidhuber 1997 (LSTM), Gers and Schmidhuber 2000 (peepholes),
Sak et al. 2014 (projection), Cho et al. 2014 (GRU).
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.array.clipping import clip_by_value
from talweg.api.array.creating import zeros
from talweg.api.array.joining import concat, split
from talweg.api.export import export
from talweg.api.linalg.products import matmul
from talweg.api.math.exponential import sigmoid
from talweg.api.math.trigonometry import tanh
from talweg.api.nn.activation import relu
from talweg.compat_v1.initializers import Constant, Zeros
from talweg.compat_v1.layers.base import Layer, require_size
from talweg.compat_v1.variable_scopes import get_variable_scope, variable_scope
from talweg.core.dtypes import as_dtype
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.dims import Size

ACTIVATIONS = {"tanh": tanh, "sigmoid": sigmoid, "relu": relu, "linear": lambda x: x}


def activation_of(activation: Any, default: Callable[[Any], Any] = tanh) -> Callable[[Any], Any]:
    """Return a function from itself, its name, or None for the default."""
    if activation is None:
        return default
    return ACTIVATIONS[activation] if isinstance(activation, str) else activation


def check_cell(name: str, cell: object) -> None:
    """Raise TypeError unless `cell` is like an RNNCell."""
    wanted = ("output_size", "state_size", "zero_state", "__call__")
    missing = [attribute for attribute in wanted if not hasattr(type(cell), attribute)]
    if missing:
        raise type_error(
            "TW104",
            f"The argument {name!r} ({cell!r}) is not an RNNCell: {', '.join(missing)} missing",
        )


def zeros_of_size(size: LSTMStateTuple | int, batch_size: Size, dtype: object) -> Any:
    """Make zeros [batch_size, *size] for each size of a nest; dtype: one, or a nest of them.

    In a graph each is a node of its own: programs feed the last state of a batch in its place.
    """

    def make(size: int, dtype: Any) -> Any:
        state = zeros([batch_size, *as_shape(size).as_list()], dtype)
        return state.graph.set_apart(state) if type(state) is Symbol else state

    sizes = structure.flatten(size)
    dtypes = structure.flatten(dtype) if structure.is_nested(dtype) else [dtype] * len(sizes)
    return structure.pack(size, [make(*pair) for pair in zip(sizes, dtypes)])


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell: what it remembers, c, and what it put out last, h."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The dtype of both; TypeError if they differ."""
        if self.c.dtype != self.h.dtype:
            raise type_error(
                "TW102", f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}"
            )
        return self.c.dtype


export("compat.v1.nn.rnn_cell.LSTMStateTuple")(LSTMStateTuple)


@export("compat.v1.nn.rnn_cell.RNNCell")
class RNNCell(Layer):
    """One step of a recurrent network (`tf.compat.v1.nn.rnn_cell.RNNCell`).

    Subclasses say `state_size` and `output_size` and compute `call(inputs, state)`, which gives the
    output and the next state.

    >>> import talweg.compat.v1 as tf
    >>> class Sum(tf.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 2
    ...     def call(self, inputs, state):
    ...         return state + inputs, state + inputs
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     outputs, _ = tf.nn.dynamic_rnn(Sum(), tf.ones([1, 3, 2]), dtype=tf.float32)
    ...     session.run(outputs[0, -1])
    array([3., 3.], dtype=float32)
    """

    _outer: Any = None

    @property
    def state_size(self) -> Any:
        """The size of the state: an int, a shape, or a nest of these."""
        raise NotImplementedError("an RNNCell says its state_size")

    @property
    def output_size(self) -> Any:
        """The size of the output: an int or a shape."""
        raise NotImplementedError("an RNNCell says its output_size")

    def __call__(  # type: ignore[override]
        self, inputs: object, state: TensorLike, scope: str | None = None
    ) -> Any:
        """Return the output and the next state.   inputs [batch, n], state [batch, ...]"""
        with self._surroundings(scope) as found:
            return super().__call__(inputs, state, scope=found)

    @contextlib.contextmanager
    def _surroundings(self, scope: str | None) -> Iterator[Any]:
        """Enter the scope that the variables are in:
        the one given, or the one of the first call.
        """
        if scope is not None:
            with variable_scope(scope) as found:
                yield found
            return
        if self._outer is None:
            self._outer = get_variable_scope()
        with variable_scope(self._outer, auxiliary_name_scope=False):
            yield None

    def zero_state(self, batch_size: object, dtype: object) -> Any:
        """Return a state of zeros, of the structure of `state_size`.   [batch_size, ...]"""
        return zeros_of_size(self.state_size, batch_size, dtype)

    def get_initial_state(
        self,
        inputs: TensorLike | None = None,
        batch_size: TensorLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """Make the `zero_state` for the batch size and dtype of inputs; ValueError without
        either.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs)
            batch_size, dtype = inputs.dims[0], inputs.dtype if dtype is None else dtype
        if batch_size is None or dtype is None:
            raise value_error("TW401", "get_initial_state: batch_size and dtype must be given")
        return self.zero_state(batch_size, dtype)


class LayerCell(RNNCell):
    """A cell that makes its variables like a layer: in a scope named after it."""

    def __init__(self, reuse: Any, name: str | None, dtype: Any, activation: Any, **kwargs: Any):
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kwargs)
        self._activation = activation_of(activation)

    def __call__(
        self,
        inputs: object,
        state: TensorLike,
        scope: str | None = None,
        *args: object,
        **kwargs: object,
    ) -> Any:
        """Return the output and the next state."""
        if "training" in kwargs and not self._takes_training():
            del kwargs["training"]
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _takes_training(self) -> bool:
        """Return whether `call` has a use for `training`, which layers around it pass to all."""
        parameters = inspect.signature(self.call).parameters.values()
        return any(p.name == "training" or p.kind is p.VAR_KEYWORD for p in parameters)


def depth_of(shape: object, cell: LayerCell) -> int:
    """Return the last size of the inputs; ValueError if it is unknown."""
    return require_size(as_shape(shape), -1, cell.name)


@export("compat.v1.nn.rnn_cell.BasicRNNCell")
class BasicRNNCell(LayerCell):
    """h' = activation([x, h] kernel + bias); the output is the state.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.BasicRNNCell(3)
    ...     output, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    ...     output.shape.as_list(), [v.name for v in cell.weights]
    ([2, 3], ['basic_rnn_cell/kernel:0', 'basic_rnn_cell/bias:0'])
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(reuse, name, dtype, activation, **kwargs)
        self._num_units = num_units
        self._kernel: Any = None
        self._bias: Any = None

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, input_shape: ShapeLike) -> None:
        """Make kernel [n + units, units] and bias."""
        units = self._num_units
        self._kernel = self.add_weight("kernel", [depth_of(input_shape, self) + units, units])
        self._bias = self.add_weight("bias", [units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, state: TensorLike) -> tuple:  # type: ignore[override]
        """Compute output and state."""
        output = self._activation(matmul(concat([inputs, state], 1), self._kernel) + self._bias)
        return output, output


@export("compat.v1.nn.rnn_cell.GRUCell")
class GRUCell(LayerCell):
    """h' = u h + (1 - u) c: an update gate u between the state and a candidate c.

    r, u = σ([x, h] gates/kernel + gates/bias); c = activation([x, r h] candidate/kernel + bias).

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.GRUCell(3)
    ...     cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))[0].shape.as_list()
    [2, 3]
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: object = None,
        kernel_initializer: object = None,
        bias_initializer: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(reuse, name, dtype, activation, **kwargs)
        self._num_units = num_units
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self._gates: list = []
        self._candidate: list = []

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, input_shape: ShapeLike) -> None:
        """Make kernels and biases of gates and candidate."""
        units, kernel, bias = self._num_units, self._kernel_initializer, self._bias_initializer
        rows = depth_of(input_shape, self) + units
        ones, nothing = Constant(1.0), Zeros()
        self._gates = [
            self.add_weight("gates/kernel", [rows, 2 * units], initializer=kernel),
            self.add_weight("gates/bias", [2 * units], initializer=ones if bias is None else bias),
        ]
        self._candidate = [
            self.add_weight("candidate/kernel", [rows, units], initializer=kernel),
            self.add_weight(
                "candidate/bias", [units], initializer=nothing if bias is None else bias
            ),
        ]
        self.built = True

    def call(self, inputs: Any, state: TensorLike) -> tuple:  # type: ignore[override]
        """Compute output and state."""
        kernel, bias = self._gates
        gates = sigmoid(matmul(concat([inputs, state], 1), kernel) + bias)
        reset, update = split(gates, 2, 1)
        kernel, bias = self._candidate
        candidate = self._activation(matmul(concat([inputs, reset * state], 1), kernel) + bias)
        output = update * state + (1 - update) * candidate
        return output, output


@export("compat.v1.nn.rnn_cell.BasicLSTMCell")
class BasicLSTMCell(LayerCell):
    """c' = c σ(f + forget_bias) + σ(i) a(j); h' = a(c') σ(o); i, j, f, o = [x, h] kernel + bias.

    state_is_tuple: whether the state is an `LSTMStateTuple` or c and h side by side.

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.rnn_cell.BasicLSTMCell(3).state_size
    LSTMStateTuple(c=3, h=3)
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(reuse, name, dtype, activation, **kwargs)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._state_is_tuple = state_is_tuple
        self._kernel: Any = None
        self._bias: Any = None

    @property
    def state_size(self) -> Any:
        """The sizes of c and h."""
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, input_shape: ShapeLike) -> None:
        """Make kernel [n + units, 4 units] and bias."""
        units = self._num_units
        self._kernel = self.add_weight("kernel", [depth_of(input_shape, self) + units, 4 * units])
        self._bias = self.add_weight("bias", [4 * units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple:  # type: ignore[override]
        """Compute output and state."""
        c, h = state if self._state_is_tuple else split(state, 2, 1)
        sums = matmul(concat([inputs, h], 1), self._kernel) + self._bias
        i, j, f, o = split(sums, 4, 1)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


@export("compat.v1.nn.rnn_cell.LSTMCell")
class LSTMCell(LayerCell):
    """An LSTM with peepholes, limits and a projection, each if asked for.

    use_peepholes: gates see the memory.  cell_clip: the memory stays within ± this.  num_proj: the
    output is projected to this size, and stays within ± proj_clip.  initializer: of the kernels.
    num_unit_shards and num_proj_shards are accepted.

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.rnn_cell.LSTMCell(4, num_proj=3).state_size
    LSTMStateTuple(c=4, h=3)
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: object = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(reuse, name, dtype, activation, **kwargs)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer, self._num_proj = initializer, num_proj
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._kernel: Any = None
        self._bias: Any = None
        self._peepholes: list = []
        self._projection: Any = None

    @property
    def state_size(self) -> Any:
        """The sizes of c and h."""
        units, outputs = self._num_units, self.output_size
        return LSTMStateTuple(units, outputs) if self._state_is_tuple else units + outputs

    @property
    def output_size(self) -> int:
        """The number of units, or the size of the projection."""
        return self._num_proj or self._num_units

    def build(self, input_shape: ShapeLike) -> None:
        """Make the kernel, the bias, the peepholes and the projection."""
        units = self._num_units
        rows = depth_of(input_shape, self) + self.output_size
        self._kernel = self.add_weight("kernel", [rows, 4 * units], initializer=self._initializer)
        self._bias = self.add_weight("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            self._peepholes = [
                self.add_weight(f"w_{gate}_diag", [units], initializer=self._initializer)
                for gate in "fio"
            ]
        if self._num_proj is not None:
            self._projection = self.add_weight(
                "projection/kernel", [units, self._num_proj], initializer=self._initializer
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple:  # type: ignore[override]
        """Compute output and state."""
        c, h = state if self._state_is_tuple else split(state, [self._num_units, -1], 1)
        sums = matmul(concat([inputs, h], 1), self._kernel) + self._bias
        i, j, f, o = split(sums, 4, 1)
        f = f + self._forget_bias
        if self._use_peepholes:
            forget, enter, leave = self._peepholes
            f, i = f + forget * c, i + enter * c
        c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + leave * c
        h = sigmoid(o) * self._activation(c)
        if self._projection is not None:
            h = matmul(h, self._projection)
            if self._proj_clip is not None:
                h = clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


def state_dtype(dtype: DTypeLike | None, state: object) -> Any:
    """Return the dtype asked for, or that of a state."""
    return as_dtype(dtype) if dtype is not None else structure.flatten(state)[0].dtype
