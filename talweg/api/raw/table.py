"""The table behind tf.raw_ops: TensorFlow's operations in terms of the public functions.

One line an operation: its name, its arguments with TensorFlow's names and defaults, the names of
its results if it has several, and the call that does it.  In the call, names are arguments, other
words are literals; `math.add` is the public function tf.math.add, `own.add` a function of
`adapters.py`, `grad.add` one of `gradients.py`, `parts.add` one of
`sparse.py`.  Arguments that mean nothing here (`grad_x`) are not passed on.
Operations that TensorFlow 2.21 lists but cannot run (BatchMatrixSolve, ...) are left out.
"""

TABLE = """
# -- arithmetic
Abs(x) = math.abs(x)
AccumulateNV2(inputs, shape) = math.accumulate_n(inputs, shape)
Add(x, y) = math.add(x, y)
AddN(inputs) = math.add_n(inputs)
AddV2(x, y) = math.add(x, y)
BiasAdd(value, bias, data_format='NHWC') = nn.bias_add(value, bias, data_format)
BiasAddV1(value, bias) = nn.bias_add(value, bias)
Ceil(x) = math.ceil(x)
ClipByValue(t, clip_value_min, clip_value_max) = clip_by_value(t, clip_value_min, clip_value_max)
Div(x, y) = own.div(x, y)
DivNoNan(x, y) = math.divide_no_nan(x, y)
Floor(x) = math.floor(x)
FloorDiv(x, y) = math.floordiv(x, y)
FloorMod(x, y) = math.floormod(x, y)
Inv(x) = math.reciprocal(x)
Maximum(x, y) = math.maximum(x, y)
Minimum(x, y) = math.minimum(x, y)
Mod(x, y) = truncatemod(x, y)
Mul(x, y) = math.multiply(x, y)
MulNoNan(x, y) = math.multiply_no_nan(x, y)
Neg(x) = math.negative(x)
NextAfter(x1, x2) = math.nextafter(x1, x2)
Pow(x, y) = math.pow(x, y)
RealDiv(x, y) = realdiv(x, y)
Reciprocal(x) = math.reciprocal(x)
Rint(x) = math.rint(x)
Round(x) = math.round(x)
Rsqrt(x) = math.rsqrt(x)
Sign(x) = math.sign(x)
Sqrt(x) = math.sqrt(x)
Square(x) = math.square(x)
SquaredDifference(x, y) = math.squared_difference(x, y)
Sub(x, y) = math.subtract(x, y)
TruncateDiv(x, y) = truncatediv(x, y)
TruncateMod(x, y) = truncatemod(x, y)
Xdivy(x, y) = math.xdivy(x, y)
Xlog1py(x, y) = math.xlog1py(x, y)
Xlogy(x, y) = math.xlogy(x, y)

# -- exponential, trigonometric and special functions
Acos(x) = math.acos(x)
Acosh(x) = math.acosh(x)
Asin(x) = math.asin(x)
Asinh(x) = math.asinh(x)
Atan(x) = math.atan(x)
Atan2(y, x) = math.atan2(y, x)
Atanh(x) = math.atanh(x)
BesselI0(x) = math.special.bessel_i0(x)
BesselI0e(x) = math.special.bessel_i0e(x)
BesselI1(x) = math.special.bessel_i1(x)
BesselI1e(x) = math.special.bessel_i1e(x)
BesselJ0(x) = math.special.bessel_j0(x)
BesselJ1(x) = math.special.bessel_j1(x)
BesselK0(x) = math.special.bessel_k0(x)
BesselK0e(x) = math.special.bessel_k0e(x)
BesselK1(x) = math.special.bessel_k1(x)
BesselK1e(x) = math.special.bessel_k1e(x)
BesselY0(x) = math.special.bessel_y0(x)
BesselY1(x) = math.special.bessel_y1(x)
Betainc(a, b, x) = math.betainc(a, b, x)
Cos(x) = math.cos(x)
Cosh(x) = math.cosh(x)
Dawsn(x) = math.special.dawsn(x)
Digamma(x) = math.digamma(x)
Erf(x) = math.erf(x)
Erfc(x) = math.erfc(x)
Erfinv(x) = math.erfinv(x)
Exp(x) = math.exp(x)
Expint(x) = math.special.expint(x)
Expm1(x) = math.expm1(x)
FresnelCos(x) = math.special.fresnel_cos(x)
FresnelSin(x) = math.special.fresnel_sin(x)
Igamma(a, x) = math.igamma(a, x)
IgammaGradA(a, x) = own.igamma_grad_a(a, x)
Igammac(a, x) = math.igammac(a, x)
Lgamma(x) = math.lgamma(x)
Log(x) = math.log(x)
Log1p(x) = math.log1p(x)
Ndtri(x) = math.ndtri(x)
Polygamma(a, x) = math.polygamma(a, x)
Sigmoid(x) = math.sigmoid(x)
Sin(x) = math.sin(x)
Sinh(x) = math.sinh(x)
Spence(x) = math.special.spence(x)
Tan(x) = math.tan(x)
Tanh(x) = math.tanh(x)
Zeta(x, q) = math.zeta(x, q)

# -- comparison, logic, bits
ApproximateEqual(x, y, tolerance=1e-05) = own.approximate_equal(x, y, tolerance)
Assert(condition, data, summarize=3) = debugging.Assert(condition, data, summarize)
BitwiseAnd(x, y) = bitwise.bitwise_and(x, y)
BitwiseOr(x, y) = bitwise.bitwise_or(x, y)
BitwiseXor(x, y) = bitwise.bitwise_xor(x, y)
CheckNumerics(tensor, message) = debugging.check_numerics(tensor, message)
CheckNumericsV2(tensor, message) = debugging.check_numerics(tensor, message)
Equal(x, y, incompatible_shape_error=True) = own.equal(x, y, incompatible_shape_error)
Greater(x, y) = math.greater(x, y)
GreaterEqual(x, y) = math.greater_equal(x, y)
Invert(x) = bitwise.invert(x)
IsFinite(x) = math.is_finite(x)
IsInf(x) = math.is_inf(x)
IsNan(x) = math.is_nan(x)
LeftShift(x, y) = bitwise.left_shift(x, y)
Less(x, y) = math.less(x, y)
LessEqual(x, y) = math.less_equal(x, y)
LogicalAnd(x, y) = math.logical_and(x, y)
LogicalNot(x) = math.logical_not(x)
LogicalOr(x, y) = math.logical_or(x, y)
NotEqual(x, y, incompatible_shape_error=True) = own.not_equal(x, y, incompatible_shape_error)
PopulationCount(x) = own.population_count(x)
RightShift(x, y) = bitwise.right_shift(x, y)
Select(condition, x, y) = compat.v1.where(condition, x, y)
SelectV2(condition, t, e) = where(condition, t, e)
ToBool(input) = own.to_bool(input)

# -- dtypes, complex numbers, passing on
Angle(input, Tout=float32) = math.angle(input)
Bitcast(input, type) = bitcast(input, type)
Cast(x, DstT, Truncate=False) = cast(x, DstT)
Complex(real, imag, Tout=complex64) = complex(real, imag)
ComplexAbs(x, Tout=float32) = math.abs(x)
Conj(input) = math.conj(input)
EnsureShape(input, shape) = ensure_shape(input, shape)
GuaranteeConst(input) = guarantee_const(input)
Identity(input) = identity(input)
IdentityN(input) = identity_n(input)
Imag(input, Tout=float32) = math.imag(input)
PreventGradient(input, message='') = own.prevent_gradient(input, message)
Real(input, Tout=float32) = math.real(input)
Snapshot(input) = identity(input)
StopGradient(input) = stop_gradient(input)

# -- reductions and scans
All(input, axis, keep_dims=False) = math.reduce_all(input, axis, keep_dims)
Any(input, axis, keep_dims=False) = math.reduce_any(input, axis, keep_dims)
ArgMax(input, dimension, output_type=int64) = math.argmax(input, dimension, output_type)
ArgMin(input, dimension, output_type=int64) = math.argmin(input, dimension, output_type)
Cumprod(x, axis, exclusive=False, reverse=False) = math.cumprod(x, axis, exclusive, reverse)
Cumsum(x, axis, exclusive=False, reverse=False) = math.cumsum(x, axis, exclusive, reverse)
CumulativeLogsumexp(x, axis, exclusive=False, reverse=False) = math.cumulative_logsumexp(x, axis,
    exclusive, reverse)
EuclideanNorm(input, axis, keep_dims=False) = math.reduce_euclidean_norm(input, axis, keep_dims)
L2Loss(t) = nn.l2_loss(t)
Max(input, axis, keep_dims=False) = math.reduce_max(input, axis, keep_dims)
Mean(input, axis, keep_dims=False) = math.reduce_mean(input, axis, keep_dims)
Min(input, axis, keep_dims=False) = math.reduce_min(input, axis, keep_dims)
Prod(input, axis, keep_dims=False) = math.reduce_prod(input, axis, keep_dims)
Sum(input, axis, keep_dims=False) = math.reduce_sum(input, axis, keep_dims)

# -- segments, counting, sorting, searching
ApproxTopK(input, k, reduction_dimension=-1, recall_target=0.95, is_max_k=True,
    reduction_input_size_override=-1, aggregate_to_topk=True) -> values, indices =
    approx_top_k(input, k, reduction_dimension, recall_target, is_max_k)
Bincount(arr, size, weights) = own.bincount(arr, size, weights)
Bucketize(input, boundaries) = own.bucketize(input, boundaries)
DenseBincount(input, size, weights, binary_output=False) = own.dense_bincount(input, size, weights,
    binary_output)
DynamicPartition(data, partitions, num_partitions) = dynamic_partition(data, partitions,
    num_partitions)
DynamicStitch(indices, data) = dynamic_stitch(indices, data)
HistogramFixedWidth(values, value_range, nbins, dtype=int32) = histogram_fixed_width(values,
    value_range, nbins, dtype)
InTopK(predictions, targets, k) = math.in_top_k(targets, predictions, k)
InTopKV2(predictions, targets, k) = math.in_top_k(targets, predictions, k)
InvertPermutation(x) = math.invert_permutation(x)
ListDiff(x, y, out_idx=int32) -> out, idx = own.list_diff(x, y, out_idx)
LowerBound(sorted_inputs, values, out_type=int32) = searchsorted(sorted_inputs, values, 'left',
    out_type)
NthElement(input, n, reverse=False) = own.nth_element(input, n, reverse)
ParallelDynamicStitch(indices, data) = dynamic_stitch(indices, data)
SegmentMax(data, segment_ids) = math.segment_max(data, segment_ids)
SegmentMaxV2(data, segment_ids, num_segments) = math.unsorted_segment_max(data, segment_ids,
    num_segments)
SegmentMean(data, segment_ids) = math.segment_mean(data, segment_ids)
SegmentMin(data, segment_ids) = math.segment_min(data, segment_ids)
SegmentMinV2(data, segment_ids, num_segments) = math.unsorted_segment_min(data, segment_ids,
    num_segments)
SegmentProd(data, segment_ids) = math.segment_prod(data, segment_ids)
SegmentProdV2(data, segment_ids, num_segments) = math.unsorted_segment_prod(data, segment_ids,
    num_segments)
SegmentSum(data, segment_ids) = math.segment_sum(data, segment_ids)
SegmentSumV2(data, segment_ids, num_segments) = math.unsorted_segment_sum(data, segment_ids,
    num_segments)
SparseSegmentMean(data, indices, segment_ids, sparse_gradient=False) = sparse.segment_mean(data,
    indices, segment_ids)
SparseSegmentMeanWithNumSegments(data, indices, segment_ids, num_segments, sparse_gradient=False) =
    sparse.segment_mean(data, indices, segment_ids, num_segments)
SparseSegmentSqrtN(data, indices, segment_ids, sparse_gradient=False) = sparse.segment_sqrt_n(data,
    indices, segment_ids)
SparseSegmentSqrtNWithNumSegments(data, indices, segment_ids, num_segments, sparse_gradient=False) =
    sparse.segment_sqrt_n(data, indices, segment_ids, num_segments)
SparseSegmentSum(data, indices, segment_ids, sparse_gradient=False) = sparse.segment_sum(data,
    indices, segment_ids)
SparseSegmentSumWithNumSegments(data, indices, segment_ids, num_segments, sparse_gradient=False) =
    sparse.segment_sum(data, indices, segment_ids, num_segments)
TopKV2(input, k, sorted=True, index_type=int32) -> values, indices = math.top_k(input, k, sorted,
    index_type)
Unique(x, out_idx=int32) -> y, idx = unique(x, out_idx)
UniqueWithCounts(x, out_idx=int32) -> y, idx, count = unique_with_counts(x, out_idx)
UnsortedSegmentMax(data, segment_ids, num_segments) = math.unsorted_segment_max(data, segment_ids,
    num_segments)
UnsortedSegmentMin(data, segment_ids, num_segments) = math.unsorted_segment_min(data, segment_ids,
    num_segments)
UnsortedSegmentProd(data, segment_ids, num_segments) = math.unsorted_segment_prod(data, segment_ids,
    num_segments)
UnsortedSegmentSum(data, segment_ids, num_segments) = math.unsorted_segment_sum(data, segment_ids,
    num_segments)
UpperBound(sorted_inputs, values, out_type=int32) = searchsorted(sorted_inputs, values, 'right',
    out_type)
Where(condition) = where(condition)

# -- making and shaping arrays
BatchToSpace(input, crops, block_size) = own.batch_to_space(input, crops, block_size)
BatchToSpaceND(input, block_shape, crops) = batch_to_space(input, block_shape, crops)
BroadcastArgs(s0, s1) = broadcast_dynamic_shape(s0, s1)
BroadcastGradientArgs(s0, s1) -> r0, r1 = own.broadcast_gradient_args(s0, s1)
BroadcastTo(input, shape) = broadcast_to(input, shape)
Concat(concat_dim, values) = concat(values, concat_dim)
ConcatOffset(concat_dim, shape) = own.concat_offset(concat_dim, shape)
ConcatV2(values, axis) = concat(values, axis)
ConjugateTranspose(x, perm) = transpose(x, perm, True)
DataFormatDimMap(x, src_format='NHWC', dst_format='NCHW') = own.data_format_dim_map(x, src_format,
    dst_format)
DataFormatVecPermute(x, src_format='NHWC', dst_format='NCHW') = own.data_format_permute(x,
    src_format, dst_format)
DeepCopy(x) = identity(x)
DepthToSpace(input, block_size, data_format='NHWC') = nn.depth_to_space(input, block_size,
    data_format)
Diag(diagonal) = linalg.tensor_diag(diagonal)
DiagPart(input) = linalg.tensor_diag_part(input)
Empty(shape, dtype, init=False) = zeros(shape, dtype)
ExpandDims(input, axis) = expand_dims(input, axis)
Fill(dims, value) = fill(dims, value)
Gather(params, indices, validate_indices=True) = gather(params, indices)
GatherNd(params, indices, bad_indices_policy='') = gather_nd(params, indices)
GatherV2(params, indices, axis, batch_dims=0) = gather(params, indices, None, axis, batch_dims)
InplaceAdd(x, i, v) = own.inplace_add(x, i, v)
InplaceSub(x, i, v) = own.inplace_sub(x, i, v)
InplaceUpdate(x, i, v) = own.inplace_update(x, i, v)
LinSpace(start, stop, num) = linspace(start, stop, num)
MirrorPad(input, paddings, mode) = pad(input, paddings, mode)
OneHot(indices, depth, on_value, off_value, axis=-1) = one_hot(indices, depth, on_value, off_value,
    axis)
OnesLike(x) = ones_like(x)
Pack(values, axis=0) = stack(values, axis)
Pad(input, paddings) = pad(input, paddings)
PadV2(input, paddings, constant_values) = pad(input, paddings, 'CONSTANT', constant_values)
ParallelConcat(values, shape) = concat(values, 0)
Range(start, limit, delta) = range(start, limit, delta)
Rank(input) = rank(input)
Reshape(tensor, shape) = reshape(tensor, shape)
Reverse(tensor, dims) = own.reverse_flags(tensor, dims)
ReverseSequence(input, seq_lengths, seq_dim, batch_dim=0) = reverse_sequence(input, seq_lengths,
    seq_dim, batch_dim)
ReverseV2(tensor, axis) = reverse(tensor, axis)
Roll(input, shift, axis) = roll(input, shift, axis)
ScatterNd(indices, updates, shape, bad_indices_policy='') = scatter_nd(indices, updates, shape)
ScatterNdNonAliasingAdd(input, indices, updates, bad_indices_policy='') =
    tensor_scatter_nd_add(input, indices, updates)
Shape(input, out_type=int32) = shape(input, out_type)
ShapeN(input, out_type=int32) = shape_n(input, out_type)
Size(input, out_type=int32) = size(input, out_type)
Slice(input, begin, size) = slice(input, begin, size)
SpaceToBatch(input, paddings, block_size) = own.space_to_batch(input, paddings, block_size)
SpaceToBatchND(input, block_shape, paddings) = space_to_batch(input, block_shape, paddings)
SpaceToDepth(input, block_size, data_format='NHWC') = nn.space_to_depth(input, block_size,
    data_format)
Split(axis, value, num_split) = split(value, num_split, axis)
SplitV(value, size_splits, axis, num_split) = split(value, size_splits, axis)
Squeeze(input, axis=[]) = own.squeeze(input, axis)
StridedSlice(input, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
    shrink_axis_mask=0) = strided_slice(input, begin, end, strides, begin_mask, end_mask,
    ellipsis_mask, new_axis_mask, shrink_axis_mask)
TensorScatterAdd(tensor, indices, updates, bad_indices_policy='') = tensor_scatter_nd_add(tensor,
    indices, updates)
TensorScatterMax(tensor, indices, updates, bad_indices_policy='') = tensor_scatter_nd_max(tensor,
    indices, updates)
TensorScatterMin(tensor, indices, updates, bad_indices_policy='') = tensor_scatter_nd_min(tensor,
    indices, updates)
TensorScatterSub(tensor, indices, updates, bad_indices_policy='') = tensor_scatter_nd_sub(tensor,
    indices, updates)
TensorScatterUpdate(tensor, indices, updates, bad_indices_policy='') =
    tensor_scatter_nd_update(tensor, indices, updates)
Tile(input, multiples) = tile(input, multiples)
Transpose(x, perm) = transpose(x, perm)
Unpack(value, num, axis=0) = unstack(value, num, axis)
UnravelIndex(indices, dims) = unravel_index(indices, dims)
ZerosLike(x) = zeros_like(x)

# -- sparse tensors
SparseAdd(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh) -> sum_indices,
    sum_values, sum_shape = parts.add(a_indices, a_values, a_shape, b_indices, b_values, b_shape,
    thresh)
SparseConcat(indices, values, shapes, concat_dim) -> output_indices, output_values, output_shape =
    parts.concat(indices, values, shapes, concat_dim)
SparseDenseCwiseAdd(sp_indices, sp_values, sp_shape, dense) = parts.increase_dense(sp_indices,
    sp_values, sp_shape, dense)
SparseDenseCwiseDiv(sp_indices, sp_values, sp_shape, dense) = parts.divide_dense(sp_indices,
    sp_values, sp_shape, dense)
SparseDenseCwiseMul(sp_indices, sp_values, sp_shape, dense) = parts.multiply_dense(sp_indices,
    sp_values, sp_shape, dense)
SparseReduceMax(input_indices, input_values, input_shape, reduction_axes, keep_dims=False) =
    parts.reduce_max(input_indices, input_values, input_shape, reduction_axes, keep_dims)
SparseReduceSum(input_indices, input_values, input_shape, reduction_axes, keep_dims=False) =
    parts.reduce_sum(input_indices, input_values, input_shape, reduction_axes, keep_dims)
SparseReorder(input_indices, input_values, input_shape) -> output_indices, output_values =
    parts.reorder(input_indices, input_values, input_shape)
SparseReshape(input_indices, input_shape, new_shape) -> output_indices, output_shape =
    parts.reshape(input_indices, input_shape, new_shape)
SparseSlice(indices, values, shape, start, size) -> output_indices, output_values, output_shape =
    parts.cut(indices, values, shape, start, size)
SparseSoftmax(sp_indices, sp_values, sp_shape) = parts.softmax(sp_indices, sp_values, sp_shape)
SparseSparseMaximum(a_indices, a_values, a_shape, b_indices, b_values, b_shape) -> output_indices,
    output_values = parts.maximum(a_indices, a_values, a_shape, b_indices, b_values, b_shape)
SparseSparseMinimum(a_indices, a_values, a_shape, b_indices, b_values, b_shape) -> output_indices,
    output_values = parts.minimum(a_indices, a_values, a_shape, b_indices, b_values, b_shape)
SparseSplit(split_dim, indices, values, shape, num_split) -> output_indices, output_values,
    output_shape = parts.split(split_dim, indices, values, shape, num_split)
SparseTensorDenseAdd(a_indices, a_values, a_shape, b) = parts.add_dense(a_indices, a_values,
    a_shape, b)
SparseTensorDenseMatMul(a_indices, a_values, a_shape, b, adjoint_a=False, adjoint_b=False) =
    parts.matmul(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
SparseToDense(sparse_indices, output_shape, sparse_values, default_value, validate_indices=True) =
    parts.to_dense(sparse_indices, output_shape, sparse_values, default_value, validate_indices)

# -- linear algebra
BandedTriangularSolve(matrix, rhs, lower=True, adjoint=False) =
    linalg.banded_triangular_solve(matrix, rhs, lower, adjoint)
BatchMatMul(x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False) = own.batch_matmul(x, y,
    adj_x, adj_y)
BatchMatMulV2(x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False) = own.batch_matmul(x, y,
    adj_x, adj_y)
BatchMatMulV3(x, y, Tout, adj_x=False, adj_y=False, grad_x=False, grad_y=False) =
    own.batch_matmul(x, y, adj_x, adj_y, Tout)
Cholesky(input) = linalg.cholesky(input)
CholeskyGrad(l, grad) = grad.cholesky_grad(l, grad)
Cross(a, b) = linalg.cross(a, b)
Eig(input, Tout, compute_v=True) -> e, v = own.eig(input, compute_v, Tout)
Einsum(inputs, equation) = own.einsum(inputs, equation)
LogMatrixDeterminant(input) -> sign, log_abs_determinant = linalg.slogdet(input)
Lu(input, output_idx_type=int32) -> lu, p = linalg.lu(input, output_idx_type)
MatMul(a, b, transpose_a=False, transpose_b=False, grad_a=False, grad_b=False) = own.matmul(a, b,
    transpose_a, transpose_b)
MatrixBandPart(input, num_lower, num_upper) = linalg.band_part(input, num_lower, num_upper)
MatrixDeterminant(input) = linalg.det(input)
MatrixDiag(diagonal) = linalg.diag(diagonal)
MatrixDiagPart(input) = linalg.diag_part(input)
MatrixDiagPartV2(input, k, padding_value) = own.diag_part(input, k, padding_value, 'LEFT_LEFT')
MatrixDiagPartV3(input, k, padding_value, align='RIGHT_LEFT') = own.diag_part(input, k,
    padding_value, align)
MatrixDiagV2(diagonal, k, num_rows, num_cols, padding_value) = own.diag(diagonal, k, num_rows,
    num_cols, padding_value, 'LEFT_LEFT')
MatrixDiagV3(diagonal, k, num_rows, num_cols, padding_value, align='RIGHT_LEFT') =
    own.diag(diagonal, k, num_rows, num_cols, padding_value, align)
MatrixInverse(input, adjoint=False) = linalg.inv(input, adjoint)
MatrixLogarithm(input) = linalg.logm(input)
MatrixSetDiag(input, diagonal) = linalg.set_diag(input, diagonal)
MatrixSetDiagV2(input, diagonal, k) = own.set_diag(input, diagonal, k, 'LEFT_LEFT')
MatrixSetDiagV3(input, diagonal, k, align='RIGHT_LEFT') = own.set_diag(input, diagonal, k, align)
MatrixSolve(matrix, rhs, adjoint=False) = linalg.solve(matrix, rhs, adjoint)
MatrixSolveLs(matrix, rhs, l2_regularizer, fast=True) = linalg.lstsq(matrix, rhs, l2_regularizer,
    fast)
MatrixSquareRoot(input) = linalg.sqrtm(input)
MatrixTriangularSolve(matrix, rhs, lower=True, adjoint=False) = linalg.triangular_solve(matrix, rhs,
    lower, adjoint)
Qr(input, full_matrices=False) -> q, r = linalg.qr(input, full_matrices)
SelfAdjointEigV2(input, compute_v=True) -> e, v = own.self_adjoint_eig(input, compute_v)
Svd(input, compute_uv=True, full_matrices=False) -> s, u, v = own.svd(input, compute_uv,
    full_matrices)
TridiagonalMatMul(superdiag, maindiag, subdiag, rhs) = own.tridiagonal_matmul(superdiag, maindiag,
    subdiag, rhs)
TridiagonalSolve(diagonals, rhs, partial_pivoting=True, perturb_singular=False) =
    own.tridiagonal_solve(diagonals, rhs, partial_pivoting)

# -- Fourier transforms
FFT(input) = signal.fft(input)
FFT2D(input) = signal.fft2d(input)
FFT3D(input) = signal.fft3d(input)
FFTND(input, fft_length, axes) = signal.fftnd(input, fft_length, axes)
IFFT(input) = signal.ifft(input)
IFFT2D(input) = signal.ifft2d(input)
IFFT3D(input) = signal.ifft3d(input)
IFFTND(input, fft_length, axes) = signal.ifftnd(input, fft_length, axes)
IRFFT(input, fft_length, Treal=float32) = signal.irfft(input, fft_length)
IRFFT2D(input, fft_length, Treal=float32) = signal.irfft2d(input, fft_length)
IRFFT3D(input, fft_length, Treal=float32) = signal.irfft3d(input, fft_length)
IRFFTND(input, fft_length, axes, Treal=float32) = signal.irfftnd(input, fft_length, axes)
RFFT(input, fft_length, Tcomplex=complex64) = signal.rfft(input, fft_length)
RFFT2D(input, fft_length, Tcomplex=complex64) = signal.rfft2d(input, fft_length)
RFFT3D(input, fft_length, Tcomplex=complex64) = signal.rfft3d(input, fft_length)
RFFTND(input, fft_length, axes, Tcomplex=complex64) = signal.rfftnd(input, fft_length, axes)

# -- networks (convolution and pooling: api/nn/raw.py)
Elu(features) = nn.elu(features)
FusedBatchNorm(x, scale, offset, mean, variance, epsilon=0.0001, exponential_avg_factor=1,
    data_format='NHWC', is_training=True) -> y, batch_mean, batch_variance, reserve_space_1,
    reserve_space_2 = own.batch_norm(x, scale, offset, mean, variance, epsilon,
    exponential_avg_factor, data_format, is_training, 2)
FusedBatchNormV2(x, scale, offset, mean, variance, epsilon=0.0001, exponential_avg_factor=1,
    data_format='NHWC', is_training=True) -> y, batch_mean, batch_variance, reserve_space_1,
    reserve_space_2 = own.batch_norm(x, scale, offset, mean, variance, epsilon,
    exponential_avg_factor, data_format, is_training, 2)
FusedBatchNormV3(x, scale, offset, mean, variance, epsilon=0.0001, exponential_avg_factor=1,
    data_format='NHWC', is_training=True) -> y, batch_mean, batch_variance, reserve_space_1,
    reserve_space_2, reserve_space_3 = own.batch_norm(x, scale, offset, mean, variance, epsilon,
    exponential_avg_factor, data_format, is_training, 3)
FusedBatchNormGrad(y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon=0.0001,
    data_format='NHWC', is_training=True) -> x_backprop, scale_backprop, offset_backprop,
    reserve_space_3, reserve_space_4 = grad.batch_norm_grad(y_backprop, x, scale, reserve_space_1,
    reserve_space_2, epsilon, data_format, is_training)
FusedBatchNormGradV2(y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon=0.0001,
    data_format='NHWC', is_training=True) -> x_backprop, scale_backprop, offset_backprop,
    reserve_space_3, reserve_space_4 = grad.batch_norm_grad(y_backprop, x, scale, reserve_space_1,
    reserve_space_2, epsilon, data_format, is_training)
FusedBatchNormGradV3(y_backprop, x, scale, reserve_space_1, reserve_space_2, reserve_space_3,
    epsilon=0.0001, data_format='NHWC', is_training=True) -> x_backprop, scale_backprop,
    offset_backprop, reserve_space_4, reserve_space_5 = grad.batch_norm_grad(y_backprop, x, scale,
    reserve_space_1, reserve_space_2, epsilon, data_format, is_training)
LRN(input, depth_radius=5, bias=1, alpha=1, beta=0.5) = nn.local_response_normalization(input,
    depth_radius, bias, alpha, beta)
LeakyRelu(features, alpha=0.2) = nn.leaky_relu(features, alpha)
LogSoftmax(logits) = nn.log_softmax(logits)
Relu(features) = nn.relu(features)
Relu6(features) = nn.relu6(features)
Selu(features) = nn.selu(features)
Softmax(logits) = nn.softmax(logits)
SoftmaxCrossEntropyWithLogits(features, labels) -> loss, backprop =
    own.softmax_cross_entropy(features, labels)
Softplus(features) = math.softplus(features)
Softsign(features) = nn.softsign(features)
SparseSoftmaxCrossEntropyWithLogits(features, labels) -> loss, backprop =
    own.sparse_softmax_cross_entropy(features, labels)

# -- gradients
BiasAddGrad(out_backprop, data_format='NHWC') = grad.bias_add_grad(out_backprop, data_format)
Dilation2DBackpropFilter(input, filter, out_backprop, strides, rates, padding) =
    grad.dilation_filter_grad(input, filter, out_backprop, strides, rates, padding)
Dilation2DBackpropInput(input, filter, out_backprop, strides, rates, padding) =
    grad.dilation_input_grad(input, filter, out_backprop, strides, rates, padding)
EluGrad(gradients, outputs) = grad.elu_grad(gradients, outputs)
InvGrad(y, dy) = grad.reciprocal_grad(y, dy)
LRNGrad(input_grads, input_image, output_image, depth_radius=5, bias=1, alpha=1, beta=0.5) =
    grad.lrn_grad(input_grads, input_image, depth_radius, bias, alpha, beta)
LeakyReluGrad(gradients, features, alpha=0.2) = grad.leaky_relu_grad(gradients, features, alpha)
MaxPoolGradGradV2(orig_input, orig_output, grad, ksize, strides, padding, data_format='NHWC') =
    raw_ops.MaxPoolGradGrad(orig_input=orig_input, orig_output=orig_output, grad=grad, ksize=ksize,
    strides=strides, padding=padding, data_format=data_format)
MaxPoolGradV2(orig_input, orig_output, grad, ksize, strides, padding, data_format='NHWC') =
    raw_ops.MaxPoolGrad(orig_input=orig_input, orig_output=orig_output, grad=grad, ksize=ksize,
    strides=strides, padding=padding, data_format=data_format)
MirrorPadGrad(input, paddings, mode) = grad.mirror_pad_grad(input, paddings, mode)
ReciprocalGrad(y, dy) = grad.reciprocal_grad(y, dy)
Relu6Grad(gradients, features) = grad.relu6_grad(gradients, features)
ReluGrad(gradients, features) = grad.relu_grad(gradients, features)
RsqrtGrad(y, dy) = grad.rsqrt_grad(y, dy)
SeluGrad(gradients, outputs) = grad.selu_grad(gradients, outputs)
SigmoidGrad(y, dy) = grad.sigmoid_grad(y, dy)
SoftplusGrad(gradients, features) = grad.softplus_grad(gradients, features)
SoftsignGrad(gradients, features) = grad.softsign_grad(gradients, features)
SqrtGrad(y, dy) = grad.sqrt_grad(y, dy)
StridedSliceGrad(shape, begin, end, strides, dy, begin_mask=0, end_mask=0, ellipsis_mask=0,
    new_axis_mask=0, shrink_axis_mask=0) = grad.strided_slice_grad(shape, begin, end, strides, dy,
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
TanhGrad(y, dy) = grad.tanh_grad(y, dy)

# -- random numbers
StatelessRandomBinomial(shape, seed, counts, probs, dtype=int64) = random.stateless_binomial(shape,
    seed, counts, probs, dtype)
StatelessRandomGammaV2(shape, seed, alpha) = own.stateless_gamma(shape, seed, alpha)
StatelessRandomNormal(shape, seed, dtype=float32) = own.stateless('normal', shape, seed, dtype)
StatelessRandomPoisson(shape, seed, lam, dtype) = random.stateless_poisson(shape, seed, lam, dtype)
StatelessRandomUniform(shape, seed, dtype=float32) = own.stateless('uniform', shape, seed, dtype)
StatelessRandomUniformInt(shape, seed, minval, maxval) = own.stateless_integers(shape, seed, minval,
    maxval)
StatelessTruncatedNormal(shape, seed, dtype=float32) = own.stateless('truncated_normal', shape,
    seed, dtype)
"""
