"""How primitives are written as TensorFlow's operations: one expression a line.

In an expression, names are the primitive's operands and parameters, words with a capital letter
are types of operations, and:

    ints(v)      v, a number or tuple that may hold symbolic sizes, as a constant or computed
    ints(v, x)   the same, in the dtype of x
    num(v, x)    the number v in the dtype of x
    spread(x)    x, broadcast to the shape of the result
    dims, kind   the dimensions and the dtype of the result; `dims_of(x)`, `rank(x)` of an operand
    also(name)   the expression of another primitive, with the same names

A primitive that is not here is written as its `tf_type` with its operands as inputs.  Operations
with windows, state or bodies are written by `writing_rules.py`.
"""

TABLE = """
angle: Angle(x, Tout=kind)
argmax: ArgMax(x, ints(axis), output_type=dtype)
argmin: ArgMin(x, ints(axis), output_type=dtype)
argsort: TopKV2(x if descending else Neg(x), ints(dims[-1]))[1]
band_part: MatrixBandPart(x, ints(lower), ints(upper))
bessel_i: BesselI0(x) if order == 0 else BesselI1(x) if order == 1 else None
bessel_ie: BesselI0e(x) if order == 0 else BesselI1e(x) if order == 1 else None
bessel_j: BesselJ0(x) if order == 0 else BesselJ1(x) if order == 1 else None
betainc: Betainc(spread(a), spread(b), spread(x))
bias_add: BiasAdd(x, b) if axis == rank(x) - 1 else AddV2(x, Reshape(b, ints(one_axis(x, axis))))
bincount: DenseBincount(x, ints(size, x), nothing, binary_output=False)
bitcast: Bitcast(x, type=dtype)
block: Slice(x, ints(begin), ints(shape))
broadcast_by: BroadcastTo(x, shape)
broadcast_like: BroadcastTo(x, Shape(z))
broadcast_to: BroadcastTo(x, ints(shape))
bundle: IdentityN(values)
cast: Cast(x, DstT=dtype)
check_numerics: CheckNumerics(x, message=message)
checked_places: Identity(i)
cofactor: Mul(Widen(Widen(MatrixDeterminant(x))), inverse_transposed(x))
complex: Complex(x, y, Tout=kind)
complex_abs: ComplexAbs(x, Tout=kind)
concat: ConcatV2(values, ints(axis)) if len(values) > 1 else Identity(values[0])
conj: Conj(x) if is_complex(x) else Identity(x)
counting: between(0, size, 1, dtype)
cumprod: Cumprod(x, ints(axis), exclusive=exclusive, reverse=reverse)
cumsum: Cumsum(x, ints(axis), exclusive=exclusive, reverse=reverse)
cumulative_logsumexp: CumulativeLogsumexp(x, ints(axis), exclusive=exclusive, reverse=reverse)
eig: Eig(x, Tout=kinds[0])
eigh: real_parts(SelfAdjointEigV2(x))
eigvalsh: real_parts(SelfAdjointEigV2(x, compute_v=False))[0]
ensure_dims: EnsureShape(x, shape=shape)
erfcinv: Mul(Ndtri(Mul(x, num(0.5, x))), num(-0.7071067811865476, x))
expm: None
frame: GatherV2(x, frame_places(dims, step), ints(rank(x) - 1))
gate: SelectV2(c, x, num(0, x))
gather: GatherV2(x, i, ints(axis), batch_dims=batch_dims)
gather_nd: GatherNd(x, i)
gather_rows: GatherV2(x, i, ints(0))
gelu: Mul(Mul(x, num(0.5, x)), AddV2(Erf(Mul(x, num(0.7071067811865476, x))), num(1, x)))
histogram: HistogramFixedWidth(x, limits, ints(bins), dtype=dtype)
histogram_bins: Cast(clipped(Floor(binned(x, limits, bins)), bins), DstT=kind)
igamma_by_a: IgammaGradA(a, x) if order == 1 else None
imag: Imag(x, Tout=kind)
in_top_k: InTopKV2(x, i, ints(k, i))
join_strings: StringJoin([spread(x), spread(y)])
leaky_relu: SelectV2(Greater(x, num(0, x)), x, Mul(a, x))
log_softmax: LogSoftmax(x) if axis == rank(x) - 1 else Sub(x, LogSum(x, (axis,)))
logsumexp: LogSum(x, axes) if keepdims else Squeeze(LogSum(x, axes), squeeze_dims=axes)
lu: Lu(x, output_idx_type=kinds[1])
matmul: MatMul(x, y) if flat(x) and flat(y) else BatchMatMulV2(x, y)
matrix_diag: MatrixDiagV3(x, ints((low, high)), ints(rows), ints(columns), num(0, x), align=align)
matrix_diag_part: MatrixDiagPartV3(x, ints((low, high)), num(0, x), align=align)
matrix_set_diag: MatrixSetDiagV3(x, y, ints((low, high)), align=align)
mirrored_places: mirrored(low, size, high, edge)
normal_cdf: Mul(Erfc(Mul(x, num(-0.7071067811865476, x))), num(0.5, x))
number_of_bins: Cast(AddV2(Maximum(largest(x), num(-1, x)), num(1, x)), DstT=kind)
one_hot: OneHot(i, ints(depth), one(dtype, 1), one(dtype, 0), axis=axis)
pad: PadV2(x, ints(pairs(low, high)), v)
partition_sizes: DenseBincount(x, ints(count, x), nothing, binary_output=False)
permute_rows: None if inverse else GatherV2(x, p, ints(rank(x) - 2), batch_dims=rank(x) - 2)
placeholder_with_default: PlaceholderWithDefault(x, shape=fixed(dims))
qr: Qr(x, full_matrices=full)
real: Real(x, Tout=kind)
reduce_all: All(x, ints(axes), keep_dims=keepdims)
reduce_any: Any(x, ints(axes), keep_dims=keepdims)
reduce_join: ReduceJoin(x, ints(axes), keep_dims=keepdims, separator=separator)
reduce_max: Max(x, ints(axes), keep_dims=keepdims)
reduce_mean: Mean(x, ints(axes), keep_dims=keepdims)
reduce_min: Min(x, ints(axes), keep_dims=keepdims)
reduce_prod: Prod(x, ints(axes), keep_dims=keepdims)
reduce_sum: Sum(x, ints(axes), keep_dims=keepdims)
place_numbers: Sum(Mul(i, Cumprod(d, ints(0), exclusive=True, reverse=True)), ints(1))
regex_full_match: RegexFullMatch(x, pattern)
regex_replace: RegexReplace(x, pattern, rewrite, replace_global=replace_global)
repeated: repeated_places(counts, size)
reread: Identity(x)
reshape: Reshape(x, ints(shape))
reshape_to: Reshape(x, shape)
reverse: ReverseV2(x, ints(axes))
reverse_by: ReverseV2(x, axes)
reversed_places: turned(counts, size)
roll: Roll(x, ints(shifts), ints(axes))
scatter_nd: ScatterNd(i, u, ints(shape, i))
segment_max: UnsortedSegmentMax(x, ids, ints(count))
segment_min: UnsortedSegmentMin(x, ids, ints(count))
segment_order: Cast(TopKV2(Neg(x), ints(dims[0]))[1], DstT=kind)
segment_prod: UnsortedSegmentProd(x, ids, ints(count))
segment_rows: kept_rows(x, ids)
segment_sum: UnsortedSegmentSum(x, ids, ints(count))
sequence: Range(start, limit, delta)
shape_of: Shape(x, out_type=dtype) if dtype.is_integer else Cast(Shape(x), DstT=dtype)
sigmoid_cross_entropy: AddV2(Sub(Relu(logits), Mul(logits, labels)), Log1p(Exp(Neg(Abs(logits)))))
singular_values: real_parts(Svd(x, compute_uv=False))[0]
size_value: ints(size, dtype)
slogdet: real_parts(LogMatrixDeterminant(x))
softmax: Softmax(x) if axis == rank(x) - 1 else Exp(Sub(x, LogSum(x, (axis,))))
softmax_cross_entropy: Neg(Sum(Mul(labels, LogSoftmax(logits)), ints((-1,))))
softmax_minus_one_hot: Sub(Softmax(logits), hot(labels, logits))
solve: MatrixSolve(a, b, adjoint=adjoint)
sort: TopKV2(x, ints(dims[-1]))[0] if descending else Neg(TopKV2(Neg(x), ints(dims[-1]))[0])
sorted_ids: Identity(x)
sparse_softmax_cross_entropy: Neg(Sum(Mul(hot(labels, logits), LogSoftmax(logits)), ints((-1,))))
split: SplitV(x, ints(sizes), ints(axis), num_split=len(sizes))
squeeze_all: Squeeze(x)
stack: Pack(values, axis=axis)
string_join: StringJoin(inputs, separator=separator)
sum_like: Reshape(Sum(g, BroadcastGradientArgs(Shape(x), Shape(g))[0]), Shape(x))
svd: real_parts(Svd(x, full_matrices=full))
top_k: smallest_k(x, k, dtype) if smallest else TopKV2(x, ints(k), index_type=dtype)
transpose: Transpose(x, ints(perm))
transpose_by: Transpose(x, perm)
triangular_solve: MatrixTriangularSolve(a, b, lower=lower, adjoint=adjoint)
unstack: Unpack(x, num=dims_of(x)[axis], axis=axis)
"""
