"""Graphs frozen by TensorFlow: arithmetic, reductions, layout, indexing, linear algebra."""

from programs.frozen import imported

ROWS = [[0.5, -1.0, 2.0], [1.5, 0.25, -3.0]]


def arithmetic(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.constant([2.0, -0.5, 1.5])
        return [
            x + y,
            x - y,
            x * y,
            x / y,
            tf.floordiv(x, y),
            tf.floormod(x, y),
            tf.truncatemod(x, y),
            tf.maximum(x, y),
            tf.minimum(x, y),
            tf.squared_difference(x, y),
            tf.pow(tf.abs(x), y),
            tf.atan2(x, y),
            tf.add_n([x, x, x]),
            tf.div_no_nan(x, y - y),
            -x,
            tf.reciprocal(x),
            tf.square(x),
            tf.sign(x),
            tf.abs(x),
        ]

    return imported(tf, "arithmetic", build, {"x:0": ROWS})


def integer_arithmetic(tf, np):
    def build():
        n = tf.placeholder(tf.int32, [3], name="n")
        m = tf.constant([3, -2, 5])
        return [
            n + m,
            n * m,
            n // m,
            n % m,
            tf.truncatediv(n, m),
            tf.bitwise.bitwise_and(n, m),
            tf.bitwise.bitwise_or(n, m),
            tf.bitwise.bitwise_xor(n, m),
            tf.bitwise.invert(n),
            tf.bitwise.left_shift(n, [1, 2, 3]),
            tf.bitwise.right_shift(n, [1, 1, 1]),
            n / m,
            tf.range(n[0]),
            tf.cast(n, tf.float64),
            tf.cast(n, tf.uint8),
            tf.abs(n),
        ]

    return imported(tf, "integer_arithmetic", build, {"n:0": [7, -9, 4]})


def comparisons(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        y = tf.zeros([3])
        p = x > y
        return [
            tf.equal(x, y),
            tf.not_equal(x, y),
            x < y,
            x <= y,
            p,
            x >= y,
            tf.logical_and(p, x < 1.0),
            tf.logical_or(p, x < -2.0),
            tf.logical_not(p),
            tf.logical_xor(p, x > 1.0),
            tf.where(p, x, -x),
            tf.where_v2(p, x, 0.0),
            tf.where(p),
            tf.reduce_any(p, 0),
            tf.reduce_all(p),
            tf.is_nan(x),
            tf.is_finite(x),
            tf.is_inf(x),
        ]

    return imported(tf, "comparisons", build, {"x:0": ROWS})


def elementary_functions(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [3], name="x")
        functions = (
            "sin cos tan asin acos atan sinh cosh tanh asinh atanh exp expm1 log log1p sqrt rsqrt "
            "floor ceil round rint sigmoid erf erfc lgamma digamma"
        )
        made = [getattr(tf.math, name)(x) for name in functions.split()]
        return [*made, tf.acosh(x + 1.0), tf.igamma(x, x), tf.zeta(x + 2.0, x), tf.lbeta(x)]

    return imported(tf, "elementary_functions", build, {"x:0": [0.1, 0.5, 0.9]})


def double_precision(tf, np):
    def build():
        x = tf.placeholder(tf.float64, [None], name="x")
        return [tf.reduce_sum(tf.exp(-x) * tf.sin(x)), tf.cumsum(x), tf.nn.softplus(x)]

    return imported(tf, "double_precision", build, {"x:0": [0.3, 1.1, -2.0]})


def reductions(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        axis = tf.placeholder_with_default([1], [1], name="axis")
        return [
            tf.reduce_sum(x),
            tf.reduce_sum(x, 0),
            tf.reduce_mean(x, 1, keepdims=True),
            tf.reduce_max(x, [0, 1]),
            tf.reduce_min(x, -1),
            tf.reduce_prod(x, 0),
            tf.reduce_sum(x, axis),
            tf.reduce_logsumexp(x, 1),
            tf.norm(x),
            tf.argmax(x, 1),
            tf.argmin(x, 0, output_type=tf.int32),
            tf.cumsum(x, 1, exclusive=True),
            tf.cumprod(x, 0, reverse=True),
            tf.nn.moments(x, [0])[1],
            tf.nn.l2_loss(x),
        ]

    return imported(tf, "reductions", build, {"x:0": ROWS})


def products(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        batch = tf.stack([x, x * 2.0])
        return [
            tf.matmul(x, x, transpose_b=True),
            tf.matmul(x, x, transpose_a=True),
            tf.matmul(batch, batch, transpose_b=True),
            tf.matmul(batch, x, transpose_b=True),
            tf.matmul(batch, batch, adjoint_a=True),
            tf.tensordot(x, x, [[1], [1]]),
            tf.einsum("ij,kj->ik", x, x),
            tf.einsum("bij,ik->bkj", batch, x),
            tf.linalg.matvec(x, x[0]),
        ]

    return imported(tf, "products", build, {"x:0": ROWS})


def layout(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        return [
            tf.reshape(x, [-1]),
            tf.reshape(x, [tf.shape(x)[1], -1]),
            tf.transpose(x),
            tf.expand_dims(x, 1),
            tf.squeeze(x[:1], [0]),
            tf.tile(x, [2, 1]),
            tf.pad(x, [[1, 0], [0, 2]]),
            tf.pad(x, [[1, 1], [1, 1]], "REFLECT"),
            tf.pad(x, [[0, 1], [0, 1]], "SYMMETRIC"),
            tf.pad(x, [[0, 0], [1, 1]], constant_values=9.0),
            tf.reverse(x, [1]),
            tf.broadcast_to(x[0], [2, 2, 3]),
            tf.fill([2, 2], x[0, 0]),
            tf.zeros_like(x),
            tf.ones_like(x),
            tf.shape(x),
            tf.size(x),
            tf.rank(x),
            tf.roll(x, 1, 0),
        ]

    return imported(tf, "layout", build, {"x:0": ROWS})


def joining(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        halves = tf.split(tf.concat([x, x], 1), 2, axis=1)
        uneven = tf.split(x, [1, 2], axis=1)
        return [
            tf.concat([x, x], 0),
            tf.concat([x, x * 2.0], -1),
            tf.stack([x, x], 1),
            halves[1],
            uneven[0],
            uneven[1],
            *tf.unstack(x),
            *tf.unstack(x, axis=1),
            tf.meshgrid(x[0], x[1])[0],
        ]

    return imported(tf, "joining", build, {"x:0": ROWS})


def slicing(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 4, 3], name="x")
        n = tf.placeholder(tf.int32, [], name="n")
        return [
            x[0],
            x[:, 1],
            x[..., -1],
            x[:, ::2],
            x[:, ::-1, :2],
            x[:, n],
            x[n:, 1:-1],
            x[tf.newaxis, 0],
            x[:, tf.newaxis, 0],
            x[-1, ..., 0:1],
            tf.slice(x, [0, 1, n], [-1, 2, 1]),
            x[:, 1:3, ::2],
        ]

    return imported(tf, "slicing", build, {"x:0": np.arange(24.0).reshape(2, 4, 3), "n:0": 1})


def gathering(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        n = tf.placeholder(tf.int32, [None], name="n")
        table = tf.get_variable("table", initializer=np.arange(12, dtype=np.float32).reshape(4, 3))
        return [
            tf.gather(x, n),
            tf.gather(x, [2, 0], axis=1),
            tf.gather_nd(x, [[0, 1], [1, 2]]),
            tf.nn.embedding_lookup(table, n),
            tf.gather(x, [[0], [1]], batch_dims=1),
            tf.scatter_nd([[1], [3]], x, [5, 3]),
            tf.tensor_scatter_nd_update(table, [[0], [1]], x),
            tf.tensor_scatter_nd_add(table, [[0], [1]], x),
            tf.unsorted_segment_sum(x, n, 3),
            tf.segment_sum(x, [0, 0]),
            tf.segment_max(x, [0, 1]),
            tf.one_hot(n, 4),
            tf.one_hot(n, 3, 5.0, -1.0, axis=0),
            tf.boolean_mask(x, n > 0),
            tf.nn.top_k(x, 2)[0],
            tf.nn.top_k(x, 2)[1],
            tf.unique([3, 1, 3])[0],
            tf.invert_permutation([2, 0, 1]),
            tf.reverse_sequence(x, [2, 3], 1),
            tf.sparse_to_dense([[1]], [3], [7]),
        ]

    return imported(tf, "gathering", build, {"x:0": ROWS, "n:0": [1, 0]})


def linear_algebra(tf, np):
    def build():
        x = tf.placeholder(tf.float64, [3, 3], name="x")
        positive = tf.matmul(x, x, transpose_b=True) + tf.eye(3, dtype=tf.float64)
        return [
            tf.linalg.inv(x),
            tf.linalg.det(x),
            tf.linalg.solve(x, x[:, :1]),
            tf.linalg.cholesky(positive),
            tf.linalg.triangular_solve(tf.linalg.cholesky(positive), x),
            tf.linalg.diag_part(x),
            tf.linalg.diag(x[0]),
            tf.linalg.band_part(x, 1, 0),
            tf.linalg.trace(x),
            tf.linalg.svd(x, compute_uv=False),
            tf.linalg.eigvalsh(positive),
            tf.linalg.set_diag(x, x[0]),
            tf.cross(x[0], x[1]),
            tf.linalg.slogdet(x)[1],
            tf.linalg.expm(x * 0.1),
        ]

    return imported(tf, "linear_algebra", build, {"x:0": [[2.0, 1, 0], [0.5, 3, 1], [1, -1, 4]]})


def complex_numbers(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [4], name="x")
        z = tf.complex(x, x * 2.0)
        return [
            z * z,
            tf.conj(z),
            tf.real(z),
            tf.imag(z),
            tf.abs(z),
            tf.angle(z),
            tf.exp(z),
            tf.spectral.fft(z),
            tf.spectral.ifft(z),
            tf.spectral.rfft(x),
            tf.spectral.irfft(tf.spectral.rfft(x)),
        ]

    return imported(tf, "complex_numbers", build, {"x:0": [1.0, -0.5, 2.0, 0.0]})


def constants_of_every_dtype(tf, np):
    def build():
        kinds = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
        made = [tf.constant([[1, 2], [3, 0]], kind) for kind in kinds.split()]
        made += [
            tf.constant([True, False]),
            tf.constant([1 + 2j, 3j]),
            tf.constant(["a", "\u00e4"]),
        ]
        made += [tf.constant(1.5, tf.bfloat16), tf.constant(7.0, shape=[2, 3]), tf.zeros([0, 2])]
        return [
            *made,
            tf.constant(3),
            tf.constant([1.0, 2.0, 2.0, 2.0, 2.0]),
            tf.constant(2, tf.int64),
        ]

    return imported(tf, "constants_of_every_dtype", build)


def casts(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [4], name="x")
        kinds = "float16 float64 int8 int32 int64 bool complex64 bfloat16"
        made = [tf.cast(x, kind) for kind in kinds.split()]
        return [*made, tf.bitcast(x, tf.int32), tf.saturate_cast(x * 100.0, tf.uint8)]

    return imported(tf, "casts", build, {"x:0": [1.5, -2.7, 0.0, 3.0]})


def strings(tf, np):
    def build():
        x = tf.placeholder(tf.string, [2], name="x")
        return [
            tf.strings.join([x, x], "-"),
            tf.strings.length(x),
            tf.strings.substr(x, 0, 2),
            tf.strings.upper(x),
            tf.strings.regex_replace(x, "[0-9]+", "#"),
            tf.as_string([1, 2]),
            tf.strings.to_number(tf.strings.substr(x, 1, 1)),
            tf.strings.reduce_join(x),
            tf.equal(x, "a1b"),
            tf.strings.strip(x),
        ]

    return imported(tf, "strings", build, {"x:0": ["a1b", "c22 "]})


PROGRAMS = [
    arithmetic,
    integer_arithmetic,
    comparisons,
    elementary_functions,
    double_precision,
    reductions,
    products,
    layout,
    joining,
    slicing,
    gathering,
    linear_algebra,
    complex_numbers,
    constants_of_every_dtype,
    casts,
    strings,
]
