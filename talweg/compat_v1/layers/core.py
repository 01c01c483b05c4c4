"""tf.compat.v1.layers: dense, flatten, dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.array.passing import identity
from talweg.api.array.shapes import expand_dims, reshape, shape, transpose
from talweg.api.composite_ops import as_it_is
from talweg.api.control import cond
from talweg.api.export import export
from talweg.api.linalg.products import matmul, tensordot
from talweg.api.nn import dropout as nn_dropout
from talweg.compat_v1.initializers import Zeros
from talweg.compat_v1.layers.base import Layer, channel_axis, check_rank, require_size, with_bias
from talweg.core.errors import NeedsStaticError
from talweg.core.shapes import as_shape
from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.value import Tensor

Function = Callable[[Any], Any] | None
ZEROS = Zeros()


@export("compat.v1.layers.Dense")
class Dense(Layer):
    """activation(inputs kernel + bias).   inputs [..., n] -> [..., units]

    The arguments are those of `tf.compat.v1.layers.dense`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.Dense(2)
    ...     layer(tf.ones([1, 3])).shape.as_list(), [v.name for v in layer.weights]
    ([1, 2], ['dense/kernel:0', 'dense/bias:0'])
    """

    def __init__(
        self,
        units: int,
        activation: Function = None,
        use_bias: bool = True,
        kernel_initializer: object = None,
        bias_initializer: object = ZEROS,
        kernel_regularizer: Function = None,
        bias_regularizer: Function = None,
        activity_regularizer: Function = None,
        kernel_constraint: Function = None,
        bias_constraint: Function = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make kernel [n, units] and bias [units]."""
        check_rank(input_shape, 2, self.name, least=True)
        inputs = require_size(input_shape, -1, self.name)
        self.kernel = self.add_weight(
            "kernel",
            [inputs, self.units],
            None,
            self.kernel_initializer,
            self.kernel_regularizer,
            True,
            self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                None,
                self.bias_initializer,
                self.bias_regularizer,
                True,
                self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Return the outputs."""
        rank = inputs.shape.rank
        if rank is not None and rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
        else:
            outputs = matmul(inputs, self.kernel)
        if self.use_bias:
            outputs = with_bias(outputs, self.bias, -1)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Return the shape of the outputs for inputs of a shape."""
        return as_shape(input_shape)[:-1].concatenate(self.units)


@export("compat.v1.layers.dense")
@as_it_is
def dense(
    inputs: TensorLike,
    units: int,
    activation: Function = None,
    use_bias: bool = True,
    kernel_initializer: object = None,
    bias_initializer: object = ZEROS,
    kernel_regularizer: Function = None,
    bias_regularizer: Function = None,
    activity_regularizer: Function = None,
    kernel_constraint: Function = None,
    bias_constraint: Function = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
) -> Any:
    """Return activation(inputs kernel + bias).   inputs [..., n] -> [..., units]

    kernel [n, units] and bias [units] are variables in a scope called `name`, or "dense" with a
    number.  Initializers are functions of shape and dtype (None: the scope's); regularizers give
    losses for the collection REGULARIZATION_LOSSES; constraints are for optimizers.  reuse: True to
    share the variables of an earlier layer of the same name.  ValueError if n is unknown, or for a
    name that is taken.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.dense(tf.ones([4, 3]), 2).shape.as_list()
    [4, 2]
    """
    layer = Dense(
        units,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


@export("compat.v1.layers.Flatten")
class Flatten(Layer):
    """All axes but the first one as one.   inputs [batch, ...] -> [batch, n]

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.Flatten()(tf.ones([2, 3, 4])).shape.as_list()
    [2, 12]
    """

    def __init__(self, data_format: str = "channels_last", **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = data_format
        channel_axis(data_format, 3)

    def call(self, inputs: Any) -> Any:
        """Return the outputs."""
        rank = inputs.shape.rank
        if rank is None:
            return reshape(inputs, [shape(inputs)[0], -1])
        if rank == 1:
            return expand_dims(inputs, -1)
        if self.data_format == "channels_first" and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        dims = inputs.dims
        return reshape(inputs, [dims[0], math.prod(dims[1:])])


@export("compat.v1.layers.flatten")
@as_it_is
def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Make all axes but the first one to one.   inputs [batch, ...] -> [batch, n]

    data_format: with "channels_first" the channels are moved to the end first.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.flatten(tf.placeholder(tf.float32, [None, 2, 3])).shape.as_list()
    [None, 6]
    """
    return Flatten(data_format=data_format, name=name)(inputs)


def if_training(training: object, active: Callable[[], Any], passive: Callable[[], Any]) -> Any:
    """Call `active()` while training, else `passive()`; `training` is a bool or a boolean
    tensor.
    """
    known = static_truth(training)
    if known is None:
        return cond(convert_to_tensor(training), active, passive)
    return active() if known else passive()


def static_truth(training: object) -> bool | None:
    """Return a truth value that is known while the graph is built; None if it is not."""
    if not hasattr(training, "dtype") or not hasattr(training, "dims"):
        return bool(training)
    training = convert_to_tensor(training)
    if type(training) is Symbol:
        try:
            return bool(training._array)
        except NeedsStaticError:
            return None
    return bool(training)


@export("compat.v1.layers.Dropout")
class Dropout(Layer):
    """While training, elements set to 0 with probability `rate`, the others divided by 1 - rate.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.Dropout(0.5)(tf.ones([3]), training=True).shape.as_list()
    [3]
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: object = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Return the outputs."""

        def drop() -> Any:
            return nn_dropout.dropout(inputs, self.rate, self.noise_shape, self.seed)

        return if_training(training, drop, lambda: identity(inputs))


@export("compat.v1.layers.dropout")
@as_it_is
def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: object = None,
    seed: int | None = None,
    training: bool | Tensor = False,
    name: str | None = None,
) -> Any:
    """Set, while training, elements to 0 with probability `rate`, the others divided by 1 - rate.

    rate: a number or a scalar tensor.  noise_shape: the shape of the choices, which broadcasts to
    that of the inputs.  training: a bool or a boolean tensor.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     session.run(tf.layers.dropout(tf.ones([2])))
    array([1., 1.], dtype=float32)
    """
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)
