"""tf.compat.v1.layers: conv2d and relatives, the functions that make a layer and call it once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.initializers import Zeros
from talweg.compat_v1.layers import convolution

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike, WindowLike

Function = Callable[[Any], Any] | None
ZEROS = Zeros()


def _forward(layer: type, arguments: dict) -> Any:
    """Make a layer of the arguments of its function, and call it."""
    inputs, reuse = arguments.pop("inputs"), arguments.pop("reuse")
    made = layer(**arguments, _scope=arguments["name"], _reuse=reuse)
    return made(inputs)


@export("compat.v1.layers.conv1d")
@as_it_is
def conv1d(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: WindowLike = 1,
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
    """Compute a convolution of sequences.   [batch, steps, channels] -> [batch, steps', filters]

    The arguments mean what they mean for `tf.compat.v1.layers.conv2d`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.conv1d(tf.ones([1, 6, 2]), 3, 3).shape.as_list()
    [1, 4, 3]
    """
    return _forward(convolution.Conv1D, locals())


@export("compat.v1.layers.conv2d")
@as_it_is
def conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: WindowLike = (1, 1),
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
    """Compute a convolution of images.   [batch, rows, columns, channels] -> [batch, r, c, filters]

    kernel [*kernel_size, channels, filters] and bias [filters] are variables in a scope called
    `name`, or "conv2d" with a number.  kernel_size, strides, dilation_rate: one integer or one for
    each axis.  padding: "valid" or "same".  data_format: "channels_last" or "channels_first".
    The rest is as in `tf.compat.v1.layers.dense`.  ValueError if the channels are unknown.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.conv2d(tf.ones([1, 5, 5, 2]), 3, 3, padding="same").shape.as_list()
    [1, 5, 5, 3]
    """
    return _forward(convolution.Conv2D, locals())


@export("compat.v1.layers.conv3d")
@as_it_is
def conv3d(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: WindowLike = (1, 1, 1),
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
    """Return a convolution of volumes.   [batch, d, h, w, channels] -> [batch, d', h', w', filters]

    The arguments mean what they mean for `tf.compat.v1.layers.conv2d`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.conv3d(tf.ones([1, 3, 3, 3, 1]), 2, 2).shape.as_list()
    [1, 2, 2, 2, 2]
    """
    return _forward(convolution.Conv3D, locals())


@export("compat.v1.layers.conv2d_transpose")
@as_it_is
def conv2d_transpose(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
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
    """Compute the transpose of a convolution of images: an axis of n becomes n stride, or a little
    more.

    kernel [*kernel_size, filters, channels]; the arguments mean what they mean for `conv2d`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.conv2d_transpose(tf.ones([1, 3, 3, 2]), 4, 3, 2, "same").shape.as_list()
    [1, 6, 6, 4]
    """
    return _forward(convolution.Conv2DTranspose, locals())


@export("compat.v1.layers.conv3d_transpose")
@as_it_is
def conv3d_transpose(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
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
    """Compute the transpose of a convolution of volumes; see
    `tf.compat.v1.layers.conv2d_transpose`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.conv3d_transpose(tf.ones([1, 2, 2, 2, 1]), 3, 2, 2).shape.as_list()
    [1, 4, 4, 4, 3]
    """
    return _forward(convolution.Conv3DTranspose, locals())


@export("compat.v1.layers.separable_conv1d")
@as_it_is
def separable_conv1d(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: WindowLike = 1,
    depth_multiplier: int = 1,
    activation: Function = None,
    use_bias: bool = True,
    depthwise_initializer: object = None,
    pointwise_initializer: object = None,
    bias_initializer: object = ZEROS,
    depthwise_regularizer: Function = None,
    pointwise_regularizer: Function = None,
    bias_regularizer: Function = None,
    activity_regularizer: Function = None,
    depthwise_constraint: Function = None,
    pointwise_constraint: Function = None,
    bias_constraint: Function = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
) -> Any:
    """Compute a convolution of each channel of sequences by itself, then one of all channels.

    The arguments mean what they mean for `tf.compat.v1.layers.separable_conv2d`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.separable_conv1d(tf.ones([1, 6, 2]), 3, 3).shape.as_list()
    [1, 4, 3]
    """
    return _forward(convolution.SeparableConv1D, locals())


@export("compat.v1.layers.separable_conv2d")
@as_it_is
def separable_conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: WindowLike,
    strides: WindowLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: WindowLike = (1, 1),
    depth_multiplier: int = 1,
    activation: Function = None,
    use_bias: bool = True,
    depthwise_initializer: object = None,
    pointwise_initializer: object = None,
    bias_initializer: object = ZEROS,
    depthwise_regularizer: Function = None,
    pointwise_regularizer: Function = None,
    bias_regularizer: Function = None,
    activity_regularizer: Function = None,
    depthwise_constraint: Function = None,
    pointwise_constraint: Function = None,
    bias_constraint: Function = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
) -> Any:
    """Compute a convolution of each channel of images by itself, then one of all channels at each
    place.

    depthwise_kernel [*kernel_size, channels, depth_multiplier], pointwise_kernel [1, 1, channels
    depth_multiplier, filters] and bias [filters] are variables in a scope called `name`, or
    "separable_conv2d" with a number.  The rest is as in `tf.compat.v1.layers.conv2d`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.layers.separable_conv2d(tf.ones([1, 5, 5, 2]), 3, 3).shape.as_list()
    [1, 3, 3, 3]
    """
    return _forward(convolution.SeparableConv2D, locals())
