"""Static shapes where dimensions are unknown, and sizes that are tensors."""

from programs.support import raised, run, static


def matrices(tf):
    """A batch of rows, one of images, and a tensor of unknown rank."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    image = tf.placeholder(tf.float32, [None, 8, 8, 3], name="image")
    anything = tf.placeholder(tf.float32, name="anything")
    return x, image, anything


def shape_of_what_is_known_in_part(tf, np):
    x, image, anything = matrices(tf)
    made = [tf.shape(x), tf.shape(anything), tf.size(x), tf.rank(image), tf.rank(anything)]
    feed = {x: np.zeros((3, 4)), image: np.zeros((2, 8, 8, 3)), anything: np.zeros((5, 1, 2))}
    return [[static(y) for y in made], run(tf, made, feed)]


def shape_as_int64(tf, np):
    x, _, _ = matrices(tf)
    return run(tf, [tf.shape(x, out_type=tf.int64), tf.shape_n([x, x])], {x: np.zeros((3, 4))})


def elementwise_and_broadcasting(tf, np):
    x, image, anything = matrices(tf)
    row = tf.placeholder(tf.float32, [None])
    made = [
        x + 1.0,
        x + x,
        x * tf.zeros([4]),
        x + tf.zeros([5, 1]),
        x + tf.zeros([5, 4]),
        x + row,
        x + anything,
        image + tf.zeros([3]),
        image * tf.zeros([8, 1]),
        tf.exp(x),
        -anything,
        tf.zeros([2, 1, 1]) + x,
        tf.placeholder(tf.float32, [None, 1]) + tf.zeros([1, 7]),
        tf.where(x > 0.0, x, x),
        tf.maximum(x, row),
        tf.cast(x, tf.int32),
        tf.less(x, anything),
    ]
    return [static(y) for y in made]


def products(tf, np):
    x, _, anything = matrices(tf)
    batch = tf.placeholder(tf.float32, [None, None, 4])
    made = [
        tf.matmul(x, tf.zeros([4, 5])),
        tf.matmul(x, x, transpose_b=True),
        tf.matmul(x, x, transpose_a=True),
        tf.matmul(batch, tf.zeros([2, 4, 6])),
        tf.matmul(batch, batch, transpose_b=True),
        tf.tensordot(batch, tf.zeros([4, 3]), 1),
        tf.einsum("bij,jk->bik", batch, tf.zeros([4, 7])),
        tf.tensordot(x, x, [[0], [0]]),
    ]
    return [[static(y) for y in made], raised(lambda: tf.matmul(x, tf.zeros([3, 5])))]


def convolutions(tf, np):
    _, image, anything = matrices(tf)
    kernel = tf.zeros([3, 3, 3, 5])
    unsized = tf.placeholder(tf.float32, [2, None, None, 3])
    made = [
        tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME"),
        tf.nn.conv2d(image, kernel, [1, 2, 2, 1], "VALID"),
        tf.nn.conv2d(unsized, kernel, [1, 2, 2, 1], "SAME"),
        tf.nn.depthwise_conv2d(image, tf.zeros([3, 3, 3, 2]), [1, 1, 1, 1], "SAME"),
        tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.avg_pool(unsized, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
        tf.nn.conv2d_transpose(image, tf.zeros([3, 3, 5, 3]), [2, 16, 16, 5], [1, 2, 2, 1]),
        tf.nn.bias_add(image, tf.zeros([3])),
        tf.nn.conv1d(tf.placeholder(tf.float32, [None, 9, 2]), tf.zeros([3, 2, 4]), 2, "SAME"),
    ]
    return [static(y) for y in made]


def reductions(tf, np):
    x, image, anything = matrices(tf)
    axis = tf.placeholder(tf.int32, [])
    axes = tf.placeholder(tf.int32, [None])
    made = [
        tf.reduce_sum(x),
        tf.reduce_sum(x, 0),
        tf.reduce_mean(x, 1),
        tf.reduce_max(x, -1),
        tf.reduce_sum(x, 1, keepdims=True),
        tf.reduce_prod(image, [1, 2]),
        tf.argmax(x, 1),
        tf.reduce_sum(anything),
        tf.reduce_sum(anything, 1),
        tf.reduce_sum(x, axis),
        tf.reduce_sum(x, axes),
        tf.reduce_sum(x, axis, keepdims=True),
        tf.reduce_any(x > 0.0, 0),
        tf.reduce_logsumexp(x, 1),
        tf.cumsum(x, 0),
        tf.nn.softmax(x),
        tf.nn.moments(x, [0])[0],
    ]
    return [static(y) for y in made]


def reduction_over_unknown_rank(tf, np):
    _, _, anything = matrices(tf)
    total, last = tf.reduce_sum(anything), tf.reduce_sum(anything, -1)
    kept = tf.reduce_mean(anything, keepdims=True)
    gradient = tf.gradients(tf.reduce_sum(last * last), anything)[0]
    with tf.Session() as session:
        return [
            session.run([total, last, kept, gradient], {anything: np.arange(1.0, 7).reshape(shape)})
            for shape in [(6,), (2, 3), (1, 2, 3)]
        ]


def reduction_over_axes_fed(tf, np):
    x, _, _ = matrices(tf)
    axes = tf.placeholder(tf.int32, [None])
    y = tf.reduce_sum(x, axes)
    given = np.arange(8.0).reshape(2, 4)
    with tf.Session() as session:
        return [session.run(y, {x: given, axes: a}) for a in ([0], [1], [0, 1], [-1])]


def joining(tf, np):
    x, image, anything = matrices(tf)
    made = [
        tf.concat([x, x], 0),
        tf.concat([x, x], 1),
        tf.concat([x, tf.zeros([2, 4])], 0),
        tf.concat([image, image], -1),
        tf.concat([anything, x], 0),
        tf.stack([x, x]),
        tf.stack([x, x], axis=-1),
        tf.stack([x, tf.zeros([3, 4])]),
        tf.stack([anything, anything]),
        tf.concat([x, tf.placeholder(tf.float32, [None, None])], 1),
    ]
    return [[static(y) for y in made], raised(lambda: tf.concat([x, tf.zeros([2, 5])], 0))]


def parting(tf, np):
    x, image, anything = matrices(tf)
    parts = [
        *tf.split(x, 2, axis=1),
        *tf.split(x, [1, 3], axis=1),
        *tf.split(x, 2, axis=0),
        *tf.unstack(x, axis=1)[:1],
        *tf.unstack(tf.zeros([2, 3])),
        *tf.split(anything, 2, axis=0),
    ]
    return [[static(y) for y in parts], raised(lambda: tf.unstack(x)), raised(lambda: list(x))]


def slicing(tf, np):
    x, image, anything = matrices(tf)
    start = tf.placeholder(tf.int32, [])
    made = [
        x[0],
        x[:2],
        x[:, 1],
        x[:, 1:3],
        x[::2],
        x[..., 0],
        x[:, ::-1],
        x[-1:],
        x[start],
        x[start:],
        x[:, start:],
        x[:, start : start + 2],
        x[tf.newaxis],
        x[:, tf.newaxis, 1:],
        image[:, 1:-1, ::2, 0],
        anything[0],
        anything[..., 1],
        tf.slice(x, [0, 1], [-1, 2]),
        tf.slice(x, [0, start], [-1, -1]),
        tf.strided_slice(x, [0, 0], [2, 4], [1, 2]),
        x[1:3],
    ]
    return [static(y) for y in made]


def slices_by_fed_bounds(tf, np):
    x, _, _ = matrices(tf)
    low, high = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    fetches = [x[low], x[low:high], x[:, low:], x[low:high, 1], tf.slice(x, [low, 0], [1, high])]
    given = np.arange(12.0).reshape(3, 4)
    with tf.Session() as session:
        return [session.run(fetches, {x: given, low: a, high: b}) for a, b in [(0, 2), (1, 3)]]


def reshaping(tf, np):
    x, image, anything = matrices(tf)
    size = tf.placeholder(tf.int32, [])
    target = tf.placeholder(tf.int32, [None])
    sized = tf.placeholder(tf.int32, [3])
    made = [
        tf.reshape(x, [-1]),
        tf.reshape(x, [-1, 2]),
        tf.reshape(x, [-1, 2, 2]),
        tf.reshape(image, [-1, 192]),
        tf.reshape(x, [tf.shape(x)[0], 2, 2]),
        tf.reshape(x, tf.shape(x)),
        tf.reshape(anything, [2, 3]),
        tf.reshape(anything, [-1]),
        tf.reshape(x, [size, -1]),
        tf.reshape(x, target),
        tf.reshape(x, sized),
        tf.reshape(tf.zeros([6]), [2, -1]),
        tf.reshape(tf.zeros([6]), [size, 3]),
        tf.reshape(x, [2, 2, 4]),
    ]
    wrong = raised(lambda: tf.reshape(tf.zeros([6]), [4, 2]))
    return [[static(y) for y in made], wrong]


def reshape_of_an_unknown_batch(tf, np):
    x, image, _ = matrices(tf)
    flat = tf.reshape(image, [-1, 192])
    back = tf.reshape(flat, tf.shape(image))
    pairs = tf.reshape(x, [tf.shape(x)[0] * 2, 2])
    grads = tf.gradients([tf.reduce_sum(flat**2), tf.reduce_sum(pairs**2)], [x])
    with tf.Session() as session:
        feed = {x: np.arange(12.0).reshape(3, 4), image: np.ones((2, 8, 8, 3))}
        shapes = [part.shape for part in session.run([flat, back], feed)]
        return [shapes, session.run([pairs, grads], feed)]


def moving_axes(tf, np):
    x, image, anything = matrices(tf)
    order = tf.placeholder(tf.int32, [2])
    made = [
        tf.transpose(x),
        tf.transpose(image, [0, 3, 1, 2]),
        tf.transpose(anything),
        tf.transpose(x, order),
        tf.expand_dims(x, 0),
        tf.expand_dims(x, -1),
        tf.expand_dims(x, 1),
        tf.expand_dims(anything, 0),
        tf.squeeze(x[:1]),
        tf.squeeze(x[:1], [0]),
        tf.squeeze(x),
        tf.squeeze(tf.placeholder(tf.float32, [None, 1, 3, 1]), [1]),
        tf.reverse(x, [0]),
        tf.squeeze(tf.placeholder(tf.float32, [2, 1, 3, 1])),
    ]
    return [static(y) for y in made]


def padding_and_tiling(tf, np):
    x, image, anything = matrices(tf)
    pads = tf.placeholder(tf.int32, [2, 2])
    size = tf.placeholder(tf.int32, [])
    made = [
        tf.pad(x, [[0, 0], [1, 2]]),
        tf.pad(x, [[1, 1], [0, 0]]),
        tf.pad(x, pads),
        tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"),
        tf.tile(x, [2, 3]),
        tf.tile(x, [1, size]),
        tf.tile(x, [size, 2]),
        tf.tile(tf.zeros([2, 3]), [2, 2]),
        tf.broadcast_to(tf.zeros([4]), tf.shape(x)),
        tf.broadcast_to(tf.zeros([4]), [3, 4]),
        tf.repeat(x, 2, axis=1),
    ]
    return [static(y) for y in made]


def gathering(tf, np):
    x, image, anything = matrices(tf)
    rows = tf.placeholder(tf.int32, [None])
    grid = tf.placeholder(tf.int32, [None, 5])
    pairs = tf.placeholder(tf.int32, [None, 2])
    made = [
        tf.gather(x, rows),
        tf.gather(x, grid),
        tf.gather(x, [0, 2], axis=1),
        tf.gather(x, 1),
        tf.gather_nd(x, pairs),
        tf.gather_nd(x, [[0], [1]]),
        tf.nn.embedding_lookup(x, grid),
        tf.boolean_mask(x, rows > 0),
        tf.where(x > 0.0),
        tf.unique(rows)[0],
        tf.one_hot(rows, 6),
        tf.one_hot(grid, 6, axis=1),
        tf.scatter_nd(pairs, tf.zeros([3]), [7, 8]),
        tf.nn.top_k(x, 2)[0],
        tf.unsorted_segment_sum(x, rows, 3),
        tf.sort(x),
        tf.argsort(x),
    ]
    return [static(y) for y in made]


def sizes_that_are_tensors(tf, np):
    n = tf.placeholder(tf.int32, [])
    dims = tf.placeholder(tf.int32, [2])
    made = [
        tf.zeros([n]),
        tf.ones([2, n]),
        tf.fill([n, 2], 7.0),
        tf.range(n),
        tf.range(1, n * 2, 2),
        tf.zeros(dims),
        tf.tile([1, 2], [n]),
        tf.eye(n),
        tf.one_hot([0, 1], n),
        tf.linspace(0.0, 1.0, n),
        tf.broadcast_to(3, dims),
        tf.zeros_like(tf.zeros([n])),
    ]
    with tf.Session() as session:
        found = [session.run(made, {n: size, dims: [size, 2]}) for size in (1, 3)]
    return [[static(y) for y in made], found]


def sizes_from_a_shape(tf, np):
    x, _, _ = matrices(tf)
    rows = tf.shape(x)[0]
    made = [
        tf.zeros([rows, 2]),
        tf.ones(tf.shape(x)),
        tf.range(rows),
        tf.fill(tf.stack([rows, 3]), 1.5),
        tf.random_uniform([rows, 5], seed=1),
        tf.cast(rows, tf.float32) * 2.0,
    ]
    with tf.Session() as session:
        got = session.run(made, {x: np.zeros((3, 4))})
    return [[static(y) for y in made], got[:4], got[4].shape, got[5]]


def constant_sizes_are_seen_through(tf, np):
    x = tf.zeros([2, 3, 4])
    shape = tf.shape(x)
    made = [
        tf.zeros(shape),
        tf.reshape(x, [shape[0], -1]),
        tf.reshape(x, [shape[0] * shape[1], 4]),
        tf.zeros(shape[1:]),
        tf.zeros(tf.concat([shape[:1], [5]], 0)),
        tf.tile(x, tf.stack([1, 2, shape[2]])),
        tf.fill([tf.size(x)], 1.0),
    ]
    return [static(y) for y in made]


def fill_of_a_fed_value(tf, np):
    value = tf.placeholder(tf.float32, [])
    y = tf.fill([2, 3], value)
    return run(tf, [y, tf.gradients(y, value)[0]], {value: 2.5})


def losses_of_unknown_batches(tf, np):
    logits = tf.placeholder(tf.float32, [None, 3])
    labels = tf.placeholder(tf.int32, [None])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    hot = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot(labels, 3), logits=logits)
    loss = tf.reduce_mean(each)
    gradient = tf.gradients(loss, logits)[0]
    feed = {logits: [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], labels: [2, 0]}
    return [[static(y) for y in (each, hot, gradient)], run(tf, [each, hot, loss, gradient], feed)]


def shape_objects(tf, np):
    x, _, anything = matrices(tf)
    shape = x.get_shape()
    return {
        "list": shape.as_list(),
        "first": shape[0],
        "last": int(shape[-1]),
        "defined": [shape.is_fully_defined(), tf.zeros([2]).shape.is_fully_defined()],
        "merged": shape.merge_with([5, None]).as_list(),
        "joined": shape.concatenate([7]).as_list(),
        "compatible": [shape.is_compatible_with([9, 4]), shape.is_compatible_with([9, 5])],
        "unknown": [anything.shape.rank, raised(lambda: anything.shape.as_list())],
        "elements": [shape.num_elements(), tf.zeros([2, 3]).shape.num_elements()],
        "text": str(shape),
    }


def shape_dimensions(tf, np):
    a, b = tf.Dimension(3), tf.Dimension(None)
    return [
        a.value,
        b.value,
        (a + 2).value,
        (a * b).value,
        a == 3,
        (a == b) is None,
        tf.dimension_value(tf.TensorShape([4])[0]),
        tf.dimension_at_index(tf.TensorShape([4]), 0).value,
    ]


def static_shape_of_control_flow(tf, np):
    x, _, anything = matrices(tf)
    p = tf.placeholder(tf.bool, [])
    made = [
        tf.cond(p, lambda: x, lambda: x + 1.0),
        tf.cond(p, lambda: tf.zeros([2, 3]), lambda: tf.zeros([2, 4])),
        tf.cond(p, lambda: tf.zeros([2]), lambda: tf.zeros([2, 4])),
        tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.zeros([])]),
        tf.map_fn(lambda row: tf.reduce_sum(row), x),
        tf.map_fn(lambda row: row * 2.0, x),
        tf.scan(lambda a, row: a + row, x),
        tf.foldl(lambda a, row: a + row, x),
    ]
    return [static(y) for y in made]


def static_shape_of_gradients(tf, np):
    x, image, anything = matrices(tf)
    sources = [x, image, anything]
    y = tf.reduce_sum(x) + tf.reduce_sum(image**2) + tf.reduce_sum(anything**3)
    return [static(gradient) for gradient in tf.gradients(y, sources)]


PROGRAMS = [
    shape_of_what_is_known_in_part,
    shape_as_int64,
    elementwise_and_broadcasting,
    products,
    convolutions,
    reductions,
    reduction_over_unknown_rank,
    reduction_over_axes_fed,
    joining,
    parting,
    slicing,
    slices_by_fed_bounds,
    reshaping,
    reshape_of_an_unknown_batch,
    moving_axes,
    padding_and_tiling,
    gathering,
    sizes_that_are_tensors,
    sizes_from_a_shape,
    constant_sizes_are_seen_through,
    fill_of_a_fed_value,
    losses_of_unknown_batches,
    shape_objects,
    shape_dimensions,
    static_shape_of_control_flow,
    static_shape_of_gradients,
]
