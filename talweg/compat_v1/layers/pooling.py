"""tf.compat.v1.layers: the largest element or the mean of windows that slide over the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.nn.pooling import pool
from talweg.compat_v1.layers.base import Layer, channel_axis, check_rank, numbers
from talweg.compat_v1.layers.convolution import padding_name, to_first, to_last

if TYPE_CHECKING:
    from talweg.core.annotations import WindowLike


class PoolingLayer(Layer):
    """Base of the pooling layers."""

    rank, kind = 2, "MAX"

    def __init__(
        self,
        pool_size: WindowLike,
        strides: WindowLike,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        self.pool_size = numbers(pool_size, self.rank, "pool_size")
        self.strides = numbers(pool_size if strides is None else strides, self.rank, "strides")
        self.padding, self.data_format = padding_name(padding).lower(), data_format
        channel_axis(data_format, self.rank + 2)

    def call(self, inputs: Any) -> Any:
        """Return the outputs."""
        check_rank(inputs.shape, self.rank + 2, self.name)
        first = self.data_format == "channels_first"
        outputs = pool(
            to_last(inputs) if first else inputs,
            self.pool_size,
            self.kind,
            self.strides,
            self.padding.upper(),
        )
        return to_first(outputs) if first else outputs


@export("compat.v1.layers.MaxPooling1D")
class MaxPooling1D(PoolingLayer):
    """The largest element of each window of sequences [batch, steps, channels]."""

    rank, kind = 1, "MAX"


@export("compat.v1.layers.MaxPooling2D")
class MaxPooling2D(PoolingLayer):
    """The largest element of each window of images [batch, rows, columns, channels]."""

    rank, kind = 2, "MAX"


@export("compat.v1.layers.MaxPooling3D")
class MaxPooling3D(PoolingLayer):
    """The largest element of each window of volumes [batch, d, h, w, channels]."""

    rank, kind = 3, "MAX"


@export("compat.v1.layers.AveragePooling1D")
class AveragePooling1D(PoolingLayer):
    """The mean of each window of sequences [batch, steps, channels]."""

    rank, kind = 1, "AVG"


@export("compat.v1.layers.AveragePooling2D")
class AveragePooling2D(PoolingLayer):
    """The mean of each window of images [batch, rows, columns, channels]."""

    rank, kind = 2, "AVG"


@export("compat.v1.layers.AveragePooling3D")
class AveragePooling3D(PoolingLayer):
    """The mean of each window of volumes [batch, d, h, w, channels]."""

    rank, kind = 3, "AVG"


def _function(layer: type, name: str, sizes: str) -> Any:
    what = "largest element" if layer.kind == "MAX" else "mean"  # type: ignore[attr-defined]

    def pooling(
        inputs: list[Any],
        pool_size: WindowLike,
        strides: WindowLike,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Any:
        return layer(pool_size, strides, padding, data_format, name)(inputs)

    pooling.__name__ = pooling.__qualname__ = name
    pooling.__doc__ = f"""Return the {what} of each window of inputs {sizes}.

    pool_size, strides: one integer or one for each axis.  padding: "valid" or "same", which leaves
    out what is beyond the edge.  data_format: "channels_last" or "channels_first".

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.ones([1, {"4, " * layer.rank}2])
    ...     tf.layers.{name}(x, 2, 2).shape.as_list()
    [1, {"2, " * layer.rank}2]
    """  # type: ignore[attr-defined]
    return export(f"compat.v1.layers.{name}")(as_it_is(pooling))


_SIZES = (
    "[batch, steps, channels]",
    "[batch, rows, columns, channels]",
    "[batch, d, h, w, channels]",
)
max_pooling1d = _function(MaxPooling1D, "max_pooling1d", _SIZES[0])
max_pooling2d = _function(MaxPooling2D, "max_pooling2d", _SIZES[1])
max_pooling3d = _function(MaxPooling3D, "max_pooling3d", _SIZES[2])
average_pooling1d = _function(AveragePooling1D, "average_pooling1d", _SIZES[0])
average_pooling2d = _function(AveragePooling2D, "average_pooling2d", _SIZES[1])
average_pooling3d = _function(AveragePooling3D, "average_pooling3d", _SIZES[2])
