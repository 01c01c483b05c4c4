"""tf.compat.v1.layers: the convolutions, forward, transposed and separable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.array.shapes import expand_dims, squeeze, transpose
from talweg.api.export import export
from talweg.api.nn import convolution as nn
from talweg.api.nn import transposed
from talweg.compat_v1.initializers import Zeros
from talweg.compat_v1.layers.base import (
    Layer,
    channel_axis,
    check_rank,
    numbers,
    require_size,
    with_bias,
)
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, WindowLike
    from talweg.core.value import Tensor

Function = Callable[[Any], Any] | None
ZEROS = Zeros()


def to_last(x: Any) -> Any:
    """Return the channels from axis 1 to the end."""
    return transpose(x, [0, *range(2, x.shape.rank), 1])


def to_first(x: Any) -> Any:
    """Return the channels from the end to axis 1."""
    rank = x.shape.rank
    return transpose(x, [0, rank - 1, *range(1, rank - 1)])


def padding_name(padding: str) -> str:
    """Convert the name of a padding to "VALID" or "SAME"; ValueError for another name."""
    if not isinstance(padding, str) or padding.upper() not in ("VALID", "SAME"):
        raise value_error("TW207", f"The `padding` argument is {padding!r}", '"valid" or "same"')
    return padding.upper()


class Convolution(Layer):
    """Base of the convolutions: sizes, a bias, an activation, the axis of channels."""

    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: object,
        strides: object = 1,
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
        **kwargs: Any,
    ):
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = numbers(kernel_size, self.rank, "kernel_size")
        self.strides = numbers(strides, self.rank, "strides")
        self.dilation_rate = numbers(dilation_rate, self.rank, "dilation_rate")
        self.padding, self.data_format = padding_name(padding).lower(), data_format
        channel_axis(data_format, self.rank + 2)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None

    def channels(self, input_shape: Any) -> int:
        """Return the number of channels of the inputs; ValueError if that or the rank does not
        fit.
        """
        check_rank(input_shape, self.rank + 2, self.name)
        return require_size(input_shape, channel_axis(self.data_format, self.rank + 2), self.name)

    def add_bias(self) -> None:
        """Make the variable "bias", one number for each filter."""
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                None,
                self.bias_initializer,
                self.bias_regularizer,
                True,
                self.bias_constraint,
            )

    def build(self, input_shape: ShapeLike) -> None:
        """Make kernel [*kernel_size, channels, filters] and bias [filters]."""
        shape = [*self.kernel_size, self.channels(input_shape), self.filters]
        self.kernel = self.add_weight(
            "kernel",
            shape,
            None,
            self.kernel_initializer,
            self.kernel_regularizer,
            True,
            self.kernel_constraint,
        )
        self.add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Return the outputs."""
        first = self.data_format == "channels_first"
        outputs = self.convolve(to_last(inputs) if first else inputs)
        if self.use_bias:
            outputs = with_bias(outputs, self.bias, -1)
        outputs = to_first(outputs) if first else outputs
        return outputs if self.activation is None else self.activation(outputs)

    def convolve(self, inputs: Tensor) -> Any:
        """Return the convolution itself, of inputs whose channels come last."""
        return nn.convolution(
            inputs, self.kernel, self.strides, self.padding.upper(), None, self.dilation_rate
        )


@export("compat.v1.layers.Conv1D")
class Conv1D(Convolution):
    """A convolution of sequences [batch, steps, channels]; see `tf.compat.v1.layers.conv1d`."""

    rank = 1


@export("compat.v1.layers.Conv2D")
class Conv2D(Convolution):
    """A convolution of images [batch, rows, columns, channels]; see `layers.conv2d`."""

    rank = 2


@export("compat.v1.layers.Conv3D")
class Conv3D(Convolution):
    """A convolution of volumes [batch, d, h, w, channels]; see `tf.compat.v1.layers.conv3d`."""

    rank = 3


def compute_transposed_size(size: int, kernel: int, stride: int, padding: str) -> Any:
    """Return the length of an axis after a transposed convolution."""
    return size * stride + (max(kernel - stride, 0) if padding == "valid" else 0)


class Transposed(Convolution):
    """A transposed convolution: kernel [*kernel_size, filters, channels]."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        *args: Any,
        **kwargs: Any,
    ):
        super().__init__(filters, kernel_size, strides, padding, data_format, 1, *args, **kwargs)

    def build(self, input_shape: ShapeLike) -> None:
        """Make kernel and bias."""
        shape = [*self.kernel_size, self.filters, self.channels(input_shape)]
        self.kernel = self.add_weight(
            "kernel",
            shape,
            None,
            self.kernel_initializer,
            self.kernel_regularizer,
            True,
            self.kernel_constraint,
        )
        self.add_bias()
        self.built = True

    def convolve(self, inputs: Any) -> Any:
        """Return the transposed convolution itself."""
        dims = inputs.dims
        sizes = [
            compute_transposed_size(size, kernel, stride, self.padding)
            for size, kernel, stride in zip(dims[1:], self.kernel_size, self.strides)
        ]
        return transposed.conv_transpose(
            inputs,
            self.kernel,
            [dims[0], *sizes, self.filters],
            self.strides,
            self.padding.upper(),
        )


@export("compat.v1.layers.Conv2DTranspose")
class Conv2DTranspose(Transposed):
    """A transposed convolution of images; see `tf.compat.v1.layers.conv2d_transpose`."""

    rank = 2


@export("compat.v1.layers.Conv3DTranspose")
class Conv3DTranspose(Transposed):
    """A transposed convolution of volumes; see `tf.compat.v1.layers.conv3d_transpose`."""

    rank = 3


class Separable(Convolution):
    """A convolution of each channel by itself, then one of all channels at each place."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
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
        **kwargs: Any,
    ):
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self.pointwise = (pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Make both kernels and the bias."""
        channels = self.channels(input_shape)
        parts = {
            "depthwise_kernel": (
                [*self.kernel_size, channels, self.depth_multiplier],
                self.depthwise,
            ),
            "pointwise_kernel": (
                [*[1] * self.rank, channels * self.depth_multiplier, self.filters],
                self.pointwise,
            ),
        }
        for name, (shape, (initializer, regularizer, constraint)) in parts.items():
            made = self.add_weight(name, shape, None, initializer, regularizer, True, constraint)
            setattr(self, name, made)
        self.add_bias()
        self.built = True

    def convolve(self, inputs: object) -> Any:
        """Convolve depthwise, then pointwise; sequences are images of one row."""
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        strides, dilation = self.strides, self.dilation_rate
        if self.rank == 1:
            inputs = expand_dims(inputs, 1)
            depthwise, pointwise = expand_dims(depthwise, 0), expand_dims(pointwise, 0)
            strides, dilation = strides * 2, (1, *dilation)
        outputs = nn.separable_conv2d(
            inputs, depthwise, pointwise, (1, *strides, 1), self.padding.upper(), None, dilation
        )
        return squeeze(outputs, [1]) if self.rank == 1 else outputs


@export("compat.v1.layers.SeparableConv1D")
class SeparableConv1D(Separable):
    """A separable convolution of sequences; see `tf.compat.v1.layers.separable_conv1d`."""

    rank = 1


@export("compat.v1.layers.SeparableConv2D")
class SeparableConv2D(Separable):
    """A separable convolution of images; see `tf.compat.v1.layers.separable_conv2d`."""

    rank = 2
