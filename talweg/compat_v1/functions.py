"""tf.compat.v1: functions whose arguments have other names, or another order, in v2."""

from __future__ import annotations

from talweg.compat_v1.adapters import adapt
from talweg.core.dtypes import BY_NAME

# -- reductions

_REDUCED = (
    "input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None"
)
_AXES = "reduction_indices=axis keep_dims=keepdims"

for _name in ("sum", "mean", "prod", "max", "min", "all", "any", "logsumexp"):
    adapt(f"reduce_{_name} math.reduce_{_name}", f"reduce_{_name}", _REDUCED, _AXES)

adapt(
    "count_nonzero math.count_nonzero",
    "math.count_nonzero",
    "input_tensor=None, axis=None, keepdims=None, dtype=int64, name=None, reduction_indices=None, "
    "keep_dims=None, input=None",
    f"{_AXES} input_tensor=input",
)
_EXTREME = "input, axis=None, name=None, dimension=None, output_type=int64"
adapt("argmax math.argmax", "argmax", _EXTREME, "dimension=axis")
adapt("argmin math.argmin", "argmin", _EXTREME, "dimension=axis")
adapt("arg_max", "argmax", "input, dimension, output_type=int64, name=None", "dimension=axis")
adapt("arg_min", "argmin", "input, dimension, output_type=int64, name=None", "dimension=axis")
adapt(
    "norm linalg.norm",
    "norm",
    "tensor, ord='euclidean', axis=None, keepdims=None, name=None, keep_dims=None",
    "keep_dims=keepdims",
)
adapt(
    "confusion_matrix math.confusion_matrix",
    "math.confusion_matrix",
    "labels, predictions, num_classes=None, dtype=int32, name=None, weights=None",
)
adapt(
    "bincount math.bincount",
    "math.bincount",
    "arr, weights=None, minlength=None, maxlength=None, dtype=int32",
)

# -- shapes and arrays

adapt("expand_dims", "expand_dims", "input, axis=None, name=None, dim=None", "dim=axis")
adapt("squeeze", "squeeze", "input, axis=None, name=None, squeeze_dims=None", "squeeze_dims=axis")
adapt("shape", "shape", "input, name=None, out_type=None")
adapt("size", "size", "input, name=None, out_type=None")
adapt("transpose", "transpose", "a, perm=None, name='transpose', conjugate=False", "name=-")
adapt(
    "linalg.matrix_transpose linalg.transpose",
    "linalg.matrix_transpose",
    "a, name='matrix_transpose', conjugate=False",
    "name=-",
)
adapt("boolean_mask", "boolean_mask", "tensor, mask, name='boolean_mask', axis=None", "name=-")
adapt("pad", "pad", "tensor, paddings, mode='CONSTANT', name=None, constant_values=0")
adapt(
    "ones_like",
    "ones_like",
    "tensor, dtype=None, name=None, optimize=True",
    "tensor=input optimize=-",
)
adapt(
    "zeros_like",
    "zeros_like",
    "tensor, dtype=None, name=None, optimize=True",
    "tensor=input optimize=-",
)
adapt(
    "convert_to_tensor",
    "convert_to_tensor",
    "value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None",
    "preferred_dtype=dtype_hint",
)
adapt(
    "reverse_sequence",
    "reverse_sequence",
    "input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None",
    "seq_dim=seq_axis batch_dim=batch_axis",
)
adapt(
    "batch_to_space_nd manip.batch_to_space_nd",
    "batch_to_space",
    "input, block_shape, crops, name=None",
)
adapt(
    "depth_to_space nn.depth_to_space",
    "nn.depth_to_space",
    "input, block_size, name=None, data_format='NHWC'",
)
adapt(
    "space_to_depth nn.space_to_depth",
    "nn.space_to_depth",
    "input, block_size, name=None, data_format='NHWC'",
)
adapt(
    "extract_image_patches image.extract_image_patches",
    "image.extract_patches",
    "images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None",
    "ksizes=sizes",
)

adapt(
    "gather_nd manip.gather_nd",
    "gather_nd",
    "params, indices, name=None, batch_dims=0, bad_indices_policy=''",
)

# -- casts

_CASTS = "float:float32 double:float64 int32:int32 int64:int64 bfloat16:bfloat16"
_CASTS += " complex64:complex64 complex128:complex128"

for _pair in _CASTS.split():
    _name, _, _dtype = _pair.partition(":")
    _own = "To" + _name.replace("bfloat", "BFloat").capitalize().replace("Bfloat", "BFloat")
    adapt(f"to_{_name}", "cast", f"x, name='{_own}'", "name=-", dtype=BY_NAME[_dtype])

# -- sparse tensors

_SPARSE = "sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None"
_SPARSE_AXES = "reduction_axes=axis keep_dims=keepdims"

for _name in ("sum", "max"):
    adapt(
        f"sparse_reduce_{_name} sparse.reduce_{_name}",
        f"sparse.reduce_{_name}",
        _SPARSE,
        _SPARSE_AXES,
    )
adapt(
    "sparse_add sparse.add", "sparse.add", "a, b, threshold=None, thresh=None", "thresh=threshold"
)
adapt(
    "sparse_concat sparse.concat",
    "sparse.concat",
    "axis, sp_inputs, name=None, expand_nonconcat_dim=False, concat_dim=None, "
    "expand_nonconcat_dims=None",
    "concat_dim=axis expand_nonconcat_dim=-",
)
for _name in ("sum", "mean", "sqrt_n"):
    adapt(
        f"sparse_segment_{_name} sparse.segment_{_name}",
        f"sparse.segment_{_name}",
        "data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False",
    )

adapt(
    "sparse_split sparse.split",
    "sparse.split",
    "keyword_required=None, sp_input=None, num_split=None, axis=None, name=None, split_dim=None",
    "keyword_required=- split_dim=axis",
)

# -- networks

_SOFTMAX = "logits, axis=None, name=None, dim=None"
adapt("nn.softmax math.softmax", "nn.softmax", _SOFTMAX, "dim=axis")
adapt("nn.log_softmax math.log_softmax", "nn.log_softmax", _SOFTMAX, "dim=axis")
adapt("nn.crelu", "nn.crelu", "features, name=None, axis=-1")
adapt(
    "nn.softmax_cross_entropy_with_logits_v2",
    "nn.softmax_cross_entropy_with_logits",
    "labels, logits, axis=None, name=None, dim=None",
    "dim=axis",
)
adapt(
    "nn.sigmoid_cross_entropy_with_logits",
    "nn.sigmoid_cross_entropy_with_logits",
    "labels=None, logits=None, name=None",
)
adapt(
    "nn.sparse_softmax_cross_entropy_with_logits",
    "nn.sparse_softmax_cross_entropy_with_logits",
    "labels=None, logits=None, name=None",
)
adapt(
    "nn.weighted_cross_entropy_with_logits",
    "nn.weighted_cross_entropy_with_logits",
    "labels=None, logits=None, pos_weight=None, name=None, targets=None",
    "targets=labels",
)
adapt(
    "nn.batch_norm_with_global_normalization",
    "nn.batch_norm_with_global_normalization",
    "t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None, "
    "scale_after_normalization=None, name=None, input=None, mean=None, variance=None",
    "t=input m=mean v=variance",
)
_MOMENTS = "name=None, keep_dims=None, keepdims=None"
adapt("nn.moments", "nn.moments", f"x, axes, shift=None, {_MOMENTS}", "keep_dims=keepdims")
adapt(
    "nn.weighted_moments",
    "nn.weighted_moments",
    f"x, axes, frequency_weights, {_MOMENTS}",
    "keep_dims=keepdims",
)
adapt(
    "nn.sufficient_statistics",
    "nn.sufficient_statistics",
    "x, axes, shift=None, keep_dims=None, name=None, keepdims=None",
    "keep_dims=keepdims",
)
adapt("nn.in_top_k math.in_top_k", "math.in_top_k", "predictions, targets, k, name=None")

# -- convolutions and pooling

_POOL = "value, ksize, strides, padding, data_format='NHWC', name=None, input=None"
adapt("nn.max_pool", "nn.max_pool", _POOL, "value=input")
adapt("nn.avg_pool nn.avg_pool2d", "nn.avg_pool", _POOL, "value=input")
adapt(
    "nn.max_pool_with_argmax",
    "nn.max_pool_with_argmax",
    "input, ksize, strides, padding, data_format='NHWC', Targmax=None, name=None, "
    "output_dtype=None, include_batch_in_index=False",
    "Targmax=output_dtype",
)
adapt(
    "nn.pool",
    "nn.pool",
    "input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None, "
    "data_format=None, dilations=None",
    "dilation_rate=dilations",
)
adapt(
    "nn.conv1d",
    "nn.conv1d",
    "value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, "
    "data_format=None, name=None, input=None, dilations=None",
    "value=input use_cudnn_on_gpu=-",
)
adapt(
    "nn.conv2d",
    "nn.conv2d",
    "input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format='NHWC', "
    "dilations=[1, 1, 1, 1], name=None, filters=None",
    "filter=filters use_cudnn_on_gpu=-",
)
adapt(
    "nn.conv3d",
    "nn.conv3d",
    "input, filter=None, strides=None, padding=None, data_format='NDHWC', "
    "dilations=[1, 1, 1, 1, 1], name=None, filters=None",
    "filter=filters",
)
_TRANSPOSED = "name=None, input=None, filters=None, dilations=None"
for _rank, _format in ((2, "NHWC"), (3, "NDHWC")):
    adapt(
        f"nn.conv{_rank}d_transpose",
        f"nn.conv{_rank}d_transpose",
        f"value{'=None' * (_rank == 2)}, filter=None, output_shape=None, strides=None, "
        f"padding='SAME', "
        f"data_format='{_format}', {_TRANSPOSED}",
        "value=input filter=filters",
    )
adapt(
    "nn.convolution",
    "nn.convolution",
    "input, filter, padding, strides=None, dilation_rate=None, name=None, "
    "data_format=None, filters=None, dilations=None",
    "filter=filters dilation_rate=dilations",
)
_RATE = "rate=None, name=None, data_format=None, dilations=None"
adapt(
    "nn.depthwise_conv2d",
    "nn.depthwise_conv2d",
    f"input, filter, strides, padding, {_RATE}",
    "rate=dilations",
)
adapt(
    "nn.depthwise_conv2d_native",
    "nn.depthwise_conv2d",
    "input, filter, strides, padding, data_format='NHWC', dilations=(1, 1, 1, 1), name=None",
    "dilations=-",
)
adapt(
    "nn.separable_conv2d",
    "nn.separable_conv2d",
    f"input, depthwise_filter, pointwise_filter, strides, padding, {_RATE}",
    "rate=dilations",
)
adapt(
    "nn.conv2d_backprop_input",
    "raw_ops.Conv2DBackpropInput",
    "input_sizes, filter=None, out_backprop=None, strides=None, padding=None, "
    "use_cudnn_on_gpu=True, data_format='NHWC', dilations=(1, 1, 1, 1), name=None, filters=None",
    "filters=filter",
)
adapt(
    "nn.conv2d_backprop_filter",
    "raw_ops.Conv2DBackpropFilter",
    "input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True, "
    "data_format='NHWC', dilations=(1, 1, 1, 1), name=None",
)
adapt(
    "nn.dilation2d",
    "nn.dilation2d",
    "input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None, "
    "dilations=None",
    "filter=filters rates=dilations",
    data_format="NHWC",
)
adapt(
    "nn.erosion2d",
    "nn.erosion2d",
    "value, kernel, strides, rates, padding, name=None",
    "kernel=filters rates=dilations",
    data_format="NHWC",
)
