"""tf.compat.v1: functions of TensorFlow 2 with the arguments of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.export import export, look_up
from talweg.core.dtypes import as_dtype, string

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike, WindowLike


quint8, qint32 = as_dtype("quint8"), as_dtype("qint32")


@export("compat.v1.autograph.to_graph")
def to_graph(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Callable[..., Any]:
    """Call `tf.autograph.to_graph`; facts about arguments are not needed."""
    return look_up("autograph.to_graph")(entity, recursive, experimental_optional_features)


@export("compat.v1.autograph.to_code")
def to_code(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Call `tf.autograph.to_code`; facts about arguments are not needed."""
    return look_up("autograph.to_code")(entity, recursive, experimental_optional_features)


@export("compat.v1.quantize_v2")
def quantize_v2(
    input: TensorLike,  # noqa: A002
    min_range: Any,
    max_range: Any,
    T: Any,  # noqa: N803
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """Call `tf.quantization.quantize`, with the arguments in the order of TensorFlow 1."""
    return look_up("quantization.quantize")(
        input,
        min_range,
        max_range,
        T,
        mode,
        round_mode,
        name,
        narrow_range,
        axis,
        ensure_minimum_range,
    )


@export("compat.v1.feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> Any:
    """Call `tf.feature_column.categorical_column_with_vocabulary_file`, with fewer arguments."""
    return look_up("feature_column.categorical_column_with_vocabulary_file")(
        key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    )


@export("compat.v1.train.VocabInfo")
class VocabInfo(NamedTuple):
    """Describes how a variable of one vocabulary is to be restored for another.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.VocabInfo("new.txt", 3, 0, "old.txt").old_vocab_size
    -1
    """

    new_vocab: Any
    new_vocab_size: Any
    num_oov_buckets: Any
    old_vocab: Any
    old_vocab_size: Any = -1
    backup_initializer: Any = None
    axis: Any = 0


@export("compat.v1.nn.quantized_avg_pool")
def quantized_avg_pool(
    input: TensorLike,  # noqa: A002
    min_input: Any,
    max_input: Any,
    ksize: WindowLike,
    strides: WindowLike,
    padding: str,
    name: str | None = None,
) -> Any:
    """Compute means of windows of quantized numbers, and their range, as
    `tf.raw_ops.QuantizedAvgPool`.
    """
    return look_up("raw_ops.QuantizedAvgPool")(
        input=input,
        min_input=min_input,
        max_input=max_input,
        ksize=ksize,
        strides=strides,
        padding=padding,
    )


@export("compat.v1.nn.quantized_max_pool")
def quantized_max_pool(
    input: TensorLike,  # noqa: A002
    min_input: Any,
    max_input: Any,
    ksize: WindowLike,
    strides: WindowLike,
    padding: str,
    name: str | None = None,
) -> Any:
    """Compute the largest of windows of quantized numbers, and their range, as
    `tf.raw_ops.QuantizedMaxPool`.
    """
    return look_up("raw_ops.QuantizedMaxPool")(
        input=input,
        min_input=min_input,
        max_input=max_input,
        ksize=ksize,
        strides=strides,
        padding=padding,
    )


@export("compat.v1.nn.quantized_relu_x")
def quantized_relu_x(
    features: TensorLike,
    max_value: Any,
    min_features: Any,
    max_features: Any,
    out_type: DTypeLike = quint8,
    name: str | None = None,
) -> Any:
    """Clip quantized numbers to [0, max_value], with their range, as
    `tf.raw_ops.QuantizedReluX`.
    """
    return look_up("raw_ops.QuantizedReluX")(
        features=features,
        max_value=max_value,
        min_features=min_features,
        max_features=max_features,
        out_type=out_type,
    )


@export("compat.v1.nn.quantized_conv2d")
def quantized_conv2d(
    input: TensorLike,  # noqa: A002
    filter: TensorLike,  # noqa: A002
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: WindowLike,
    padding: str,
    out_type: DTypeLike = qint32,
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """Convolve quantized images, qint32, with the range, as `tf.raw_ops.QuantizedConv2D`."""
    return look_up("raw_ops.QuantizedConv2D")(
        input=input,
        filter=filter,
        min_input=min_input,
        max_input=max_input,
        min_filter=min_filter,
        max_filter=max_filter,
        strides=strides,
        padding=padding,
        out_type=out_type,
        dilations=list(dilations),
    )
