"""tf.compat.v1.layers: batch normalization.  Ioffe and Szegedy 2015.

While training the inputs are normalized by their own mean and variance, and moving averages of
these are kept, by operations in the collection UPDATE_OPS; otherwise by the moving averages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from talweg.api.array.shapes import reshape
from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.nn.normalization import batch_normalization as normalize
from talweg.api.nn.normalization import moments
from talweg.api.tensors import cast
from talweg.compat_v1.initializers import Ones, Zeros
from talweg.compat_v1.layers.base import Layer, require_size
from talweg.compat_v1.layers.core import static_truth
from talweg.core.dtypes import bfloat16, float16, float32
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.eager.convert import convert_to_tensor
from talweg.prims import arithmetic
from talweg.prims.arithmetic import select, zeros_of
from talweg.prims.state import shape_of

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike
    from talweg.core.dtypes import DType
    from talweg.core.value import Tensor

Function = Callable[[Any], Any] | None
ZEROS, ONES = Zeros(), Ones()


@export("compat.v1.layers.BatchNormalization")
class BatchNormalization(Layer):
    """gamma (x - mean) / √(variance + epsilon) + beta, along one axis or several.

    The arguments are those of `tf.compat.v1.layers.batch_normalization`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.BatchNormalization()
    ...     y = layer(tf.ones([2, 3]), training=True)
    ...     len(layer.trainable_weights), len(layer.non_trainable_weights), len(layer.updates)
    (2, 2, 2)
    """

    def __init__(
        self,
        axis: AxisLike = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: object = ZEROS,
        gamma_initializer: object = ONES,
        moving_mean_initializer: object = ZEROS,
        moving_variance_initializer: object = ONES,
        beta_regularizer: Function = None,
        gamma_regularizer: Function = None,
        beta_constraint: Function = None,
        gamma_constraint: Function = None,
        renorm: bool = False,
        renorm_clipping: Mapping[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable[..., Any] | None = None,
        name: str | None = None,
        **kwargs: object,
    ):
        super().__init__(trainable, name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise value_error(
                "TW402",
                "batch_normalization: renorm, virtual_batch_size and adjustment are not there",
            )
        self.axis, self.momentum, self.epsilon, self.fused = axis, momentum, epsilon, fused
        self.center, self.scale = center, scale
        self.beta_options = (beta_initializer, beta_regularizer, beta_constraint)
        self.gamma_options = (gamma_initializer, gamma_regularizer, gamma_constraint)
        self.moving_options = (moving_mean_initializer, moving_variance_initializer)
        self.axes: tuple[int, ...] = ()
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, input_shape: Any) -> None:
        """Make gamma, beta, moving_mean and moving_variance, each of the sizes of the axes."""
        rank = input_shape.rank
        if rank is None:
            raise value_error("TW203", f"{self.name}: Input has undefined rank.")
        given = self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]
        for axis in given:
            if not -rank <= axis < rank:
                raise value_error(
                    "TW202", f"{self.name}: Invalid axis: {axis} of shape {input_shape}"
                )
        self.axes = tuple([axis % rank for axis in given])
        if len(set(self.axes)) < len(self.axes):
            raise value_error("TW202", f"{self.name}: Duplicate axis: {self.axis}")
        shape = self._parameter_shape(input_shape)
        dtype = float32 if self.dtype in (None, float16, bfloat16) else self.dtype
        if self.scale:
            self.gamma = self._parameter("gamma", shape, dtype, self.gamma_options)
        if self.center:
            self.beta = self._parameter("beta", shape, dtype, self.beta_options)
        self.moving_mean, self.moving_variance = [
            self.add_weight(name, shape, dtype, initializer, trainable=False)
            for name, initializer in zip(("moving_mean", "moving_variance"), self.moving_options)
        ]
        self.built = True

    def _parameter_shape(self, input_shape: TensorShape) -> list:
        sizes = [require_size(input_shape, axis, self.name) for axis in self.axes]
        if len(self.axes) == 1:
            return sizes
        return [
            sizes[self.axes.index(n)] if n in self.axes else 1 for n in range(input_shape.rank or 0)
        ]

    def _parameter(self, name: str, shape: list, dtype: DType, options: tuple) -> Any:
        initializer, regularizer, constraint = options
        return self.add_weight(name, shape, dtype, initializer, regularizer, True, constraint)

    @property
    def _unbiased(self) -> bool:
        """Whether the moving variance of images is that of the population, as in TensorFlow."""
        return self.fused is not False

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Compute the outputs."""
        rank = inputs.shape.rank
        known = static_truth(training)
        mean, variance = self.moving_mean.value(), self.moving_variance.value()
        wide = inputs.dtype if self.dtype not in (float16, bfloat16) else float32
        if known is not False:
            over = [n for n in range(rank) if n not in self.axes]
            statistics = moments(cast(inputs, wide), over, keepdims=len(self.axes) > 1)
            kept = statistics[0], self._correct_variance(inputs, statistics[1], over)
            active = None if known else convert_to_tensor(training)
            self._keep(kept, active)
            if active is None:
                mean, variance = statistics
            else:
                mean = select(active, statistics[0], mean)
                variance = select(active, statistics[1], variance)
        parts = [mean, variance, self.beta, self.gamma]
        if len(self.axes) == 1 and self.axes[0] != rank - 1:
            sizes = [1] * rank
            sizes[self.axes[0]] = -1
            parts = [None if part is None else reshape(part, sizes) for part in parts]
        mean, variance, beta, gamma = parts
        normalized = normalize(cast(inputs, wide), mean, variance, beta, gamma, self.epsilon)
        return cast(normalized, inputs.dtype)

    def _correct_variance(self, inputs: TensorLike, variance: Tensor, over: list) -> Any:
        """Correct the variance for the moving one: n / (n - 1) times the variance, for images."""
        if inputs.shape.rank != 4 or self.axes not in ((1,), (3,)):
            return variance
        if not self._unbiased:
            return variance
        sizes = shape_of(inputs, dtype=variance.dtype)
        count = sizes[over[0]] * sizes[over[1]] * sizes[over[2]]
        return variance * (count / arithmetic.maximum(count - 1.0, 1.0))

    def _keep(self, values: tuple, active: Tensor | None) -> None:
        """Add the operations
        that move the averages towards `values`, if `active` (None: always).
        """
        for variable, value in zip((self.moving_mean, self.moving_variance), values):
            delta = (variable.value() - value) * (1.0 - self.momentum)
            if active is not None:
                delta = select(active, delta, zeros_of(delta))
            self.add_update(variable.assign_sub(delta, read_value=False))


@export("compat.v1.layers.batch_normalization")
@as_it_is
def batch_normalization(
    inputs: TensorLike,
    axis: AxisLike = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: object = ZEROS,
    gamma_initializer: object = ONES,
    moving_mean_initializer: object = ZEROS,
    moving_variance_initializer: object = ONES,
    beta_regularizer: Function = None,
    gamma_regularizer: Function = None,
    beta_constraint: Function = None,
    gamma_constraint: Function = None,
    training: bool | Tensor = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, Any] | None = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Callable[..., Any] | None = None,
) -> Any:
    """Return gamma (inputs - mean) / √(variance + epsilon) + beta.

    axis: the axis (or axes) that is not averaged over, the channels.  training: a bool or boolean
    tensor; True takes mean and variance of the inputs, False the moving averages, which are moved
    by 1 - momentum when the operations of the collection UPDATE_OPS are run.  center, scale:
    whether there are a beta and a gamma.  gamma, beta, moving_mean and moving_variance are
    variables in a scope called `name`, or "batch_normalization" with a number.  renorm,
    virtual_batch_size and adjustment are not there (ValueError).

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.batch_normalization(tf.ones([2, 3]), training=True)
    ...     len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    2
    """
    layer = BatchNormalization(
        axis,
        momentum,
        epsilon,
        center,
        scale,
        beta_initializer,
        gamma_initializer,
        moving_mean_initializer,
        moving_variance_initializer,
        beta_regularizer,
        gamma_regularizer,
        beta_constraint,
        gamma_constraint,
        renorm,
        renorm_clipping,
        renorm_momentum,
        fused,
        trainable,
        virtual_batch_size,
        adjustment,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs, training=training)
