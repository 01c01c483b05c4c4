"""Array functions in graphs: unknown sizes and values give what eager execution gives.

Every function runs eagerly, then in a graph whose inputs are placeholders of unknown sizes; values,
first and some second derivatives must agree, static shapes must fit, and no call may be kept whole.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import talweg as T
from talweg.core import settings as executors

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph.fed import NotingGraph  # noqa: E402

V1 = T.compat.v1


@pytest.fixture(autouse=True)
def interpreted():
    """To the last bit: machine code, which would run what takes long, rounds differently."""
    with executors.executor("interpret"):
        yield


X = np.arange(24, dtype=np.float32).reshape(4, 6) / 7 - 1.3
VOLUME = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 3, 4)
ROW = np.array([3.0, -1.0, 2.0, 2.5], np.float32)
PLACES = np.array([2, 0, 3, 2], np.int32)


def fed(*arrays):
    """A placeholder of unknown sizes for each array."""
    return [V1.placeholder(a.dtype, [None] * np.ndim(a)) for a in map(np.asarray, arrays)]


def leaves(value):
    """The tensors in a result, in order."""
    return [T.convert_to_tensor(x) for x in T.nest.flatten(value, expand_composites=True)]


def in_graph(function, *arrays):
    """Values and static shapes of a function's results in a graph, and what was kept whole."""
    graph = NotingGraph()
    with graph.as_default(), V1.Session() as session:
        inputs = fed(*arrays)
        results = leaves(function(*inputs))
        shapes = [x.shape for x in results]
        values = session.run(results, dict(zip(inputs, arrays)))
    return values, shapes, graph.whole


def check(function, *arrays):
    """The function gives in a graph what it gives eagerly."""
    wanted = [x.numpy() for x in leaves(function(*map(T.constant, arrays)))]
    values, shapes, whole = in_graph(function, *arrays)
    assert whole == []
    assert len(values) == len(wanted)
    for value, shape, want in zip(values, shapes, wanted):
        assert shape.is_compatible_with(want.shape)
        assert np.asarray(value).dtype == want.dtype
        np.testing.assert_array_equal(value, want)


# -- functions and their derivatives

LINEAR = {
    "reshape": (lambda x: T.reshape(x, [-1, 3]), X),
    "reshape_by_shape": (lambda x: T.reshape(x, [T.shape(x)[0], 2, -1]), X),
    "reshape_products": (lambda x: T.reshape(x, [T.shape(x)[0] * 2, T.shape(x)[1] // 2]), X),
    "reshape_to_like": (lambda x, y: T.reshape(x, T.shape(y)), X, X.reshape(6, 4)),
    "reshape_flat": (lambda x: T.reshape(x, [-1]), X),
    "reshape_concat": (lambda x: T.reshape(x, T.concat([[-1], T.shape(x)[2:]], 0)), VOLUME),
    "transpose": (lambda x: T.transpose(x, [2, 0, 1]), VOLUME),
    "expand_dims": (lambda x: T.expand_dims(x, 1), X),
    "squeeze": (lambda x: T.squeeze(x[:, None], [1]), X),
    "squeeze_all": (lambda x: T.squeeze(x[:1]), X),
    "broadcast_to": (lambda x: T.broadcast_to(x[:1], T.shape(x)), X),
    "broadcast_more": (lambda x: T.broadcast_to(x, T.concat([[2], T.shape(x)], 0)), X),
    "tile": (lambda x: T.tile(x, [2, T.shape(x)[0]]), X),
    "repeat": (lambda x: T.repeat(x, 2, axis=1), X),
    "repeat_counts": (lambda x: T.repeat(x, [1, 0, 2, 1], axis=0), X),
    "pad": (lambda x: T.pad(x, [[1, 2], [0, T.shape(x)[0]]], constant_values=2.0), X),
    "pad_reflect": (lambda x: T.pad(x, [[1, 2], [3, 0]], "REFLECT"), X),
    "pad_symmetric": (lambda x: T.pad(x, [[1, T.shape(x)[0]], [3, 0]], "SYMMETRIC"), X),
    "slice": (lambda x: T.slice(x, [1, 0], [-1, 2]), X),
    "slice_by_shape": (lambda x: T.slice(x, [0, 1], [T.shape(x)[0] - 1, -1]), X),
    "strided_slice": (lambda x: T.strided_slice(x, [0, 5], [4, 0], [2, -2]), X),
    "concat": (lambda x, y: T.concat([x, y, x], 0), X, X[:2]),
    "concat_last": (lambda x: T.concat([x, 2 * x], -1), X),
    "stack": (lambda x, y: T.stack([x, y], 1), X, X * 2),
    "unstack": (lambda x: T.unstack(x, 4), X),
    "unstack_last": (lambda x: T.unstack(x, 4, axis=-1), VOLUME),
    "split": (lambda x: T.split(x, 2), X),
    "split_last": (lambda x: T.split(x, [1, -1, 2], axis=1), X),
    "split_by_shape": (lambda x: T.split(x, [T.shape(x)[1] // 2, -1], axis=1), X),
    "gather": (lambda x, i: T.gather(x, i), X, PLACES),
    "gather_axis": (lambda x, i: T.gather(x, i, axis=1), X, PLACES),
    "gather_batch": (lambda x: T.gather(x, [[1, 0], [2, 2]], axis=1, batch_dims=1), VOLUME),
    "gather_nd": (lambda x: T.gather_nd(x, [[0, 1], [3, 2], [0, 1]]), X),
    "gather_nd_rows": (lambda x: T.gather_nd(x, [[0], [3], [0]]), X),
    "gather_nd_batch": (lambda x: T.gather_nd(x, [[[0, 1]], [[2, 3]]], batch_dims=1), VOLUME),
    "gather_nd_ignoring": (
        lambda x: T.gather_nd(x, [[0, 1], [9, 2]], bad_indices_policy="IGNORE"),
        X,
    ),
    "boolean_mask": (lambda x: T.boolean_mask(x, x > 0.0), X),
    "boolean_mask_rows": (lambda x: T.boolean_mask(x, x[:, 0] > 0.0), X),
    "where": (lambda x, y: T.where(x > 0.0, x, y), X, X[:1]),
    "where_v1": (lambda x: V1.where(x[:, 0] > 0.0, x, 2 * x), X),
    "reverse": (lambda x: T.reverse(x, [0, -1]), X),
    "reverse_sequence": (lambda x: T.reverse_sequence(x, [3, 0, 6, 1], seq_axis=1), X),
    "roll": (lambda x: T.roll(x, [1, T.shape(x)[0]], [0, 1]), X),
    "scatter_nd": (lambda u, i: T.scatter_nd(i[:, None], u, [5]), ROW, PLACES),
    "scatter_nd_by_shape": (lambda u, i: T.scatter_nd(i[:, None], u, T.shape(u) + 1), ROW, PLACES),
    "scatter_nd_ignoring": (
        lambda u, i: T.scatter_nd(i[:, None], u, [3], bad_indices_policy="IGNORE"),
        ROW,
        PLACES,
    ),
    "tensor_scatter_update": (
        lambda x, u: T.tensor_scatter_nd_update(x, [[1], [1]], u),
        X,
        X[:2] * 2,
    ),
    "tensor_scatter_add": (lambda x, u: T.tensor_scatter_nd_add(x, [[1], [1]], u), X, X[:2] * 2),
    "tensor_scatter_max": (
        lambda x, u: T.tensor_scatter_nd_max(x, [[1, 0], [1, 0]], u),
        X,
        ROW[:2],
    ),
    "sort": (lambda x: T.sort(x, 0, "DESCENDING"), VOLUME),
    "top_k": (lambda x: T.math.top_k(x, 2)[0], VOLUME),
    "top_k_by_shape": (lambda x: T.math.top_k(x, T.shape(x)[1] - 1)[0], VOLUME),
    "meshgrid": (lambda x, y: T.meshgrid(x, y), ROW, ROW[:3]),
    "space_to_depth": (lambda x: T.nn.space_to_depth(x[None, :, :, None], 2), X),
    "depth_to_space": (lambda x: T.nn.depth_to_space(T.reshape(x, [1, 2, 3, 4]), 2), X),
    "space_to_batch": (lambda x: T.space_to_batch(x, [2], [[1, 1]]), X),
    "batch_to_space": (lambda x: T.batch_to_space(x, [2], [[1, 0]]), X),
    "dynamic_partition": (lambda x, i: T.dynamic_partition(x, i, 4), X, PLACES),
    "dynamic_stitch": (lambda x, i: T.dynamic_stitch([i], [x]), X, PLACES),
    "identity": (T.identity, X),
    "clip_by_norm": (lambda x: T.clip_by_norm(x, 2.0, axes=[1]), X),
    "clip_by_value": (lambda x: T.clip_by_value(x, -0.5, 0.7), X),
    "linspace": (lambda x: T.linspace(x, 2 * x, 4, axis=-1), ROW),
    "fill": (lambda x: T.fill([3, T.shape(x)[0]], x[0]), ROW),
    "bincount": (lambda w, i: T.math.bincount(i, w, minlength=6), ROW, PLACES),
    "confusion_matrix": (
        lambda w, i: T.math.confusion_matrix(i, i, weights=w, dtype=T.float32),
        ROW,
        PLACES,
    ),
    "extract_patches": (
        lambda x: T.image.extract_patches(
            x[None, :, :, None], [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"
        ),
        X,
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_values(name):
    """The function gives in a graph what it gives eagerly."""
    check(*LINEAR[name])


def weighed(results):
    """A scalar that depends on every element of the results, not linearly."""
    total = 0.0
    for x in leaves(results):
        if x.dtype.is_floating:
            steps = T.cast(T.reshape(T.range(T.size(x)), T.shape(x)), x.dtype)
            total += T.reduce_sum(T.sin(x) * (steps + 1.0))
    return total


def derivatives(function, count, gradient):
    """(first, second) derivatives by the operands that are floats."""

    def first(*operands):
        return gradient(lambda *xs: weighed(function(*xs)), operands, count)

    def second(*operands):
        return gradient(lambda *xs: weighed(first(*xs)), operands, count)

    return first, second


def by_tape(function, operands, count):
    with T.GradientTape() as tape:
        for x in operands[:count]:
            tape.watch(x)
        y = function(*operands)
    found = tape.gradient(y, operands[:count], unconnected_gradients="zero")
    return [T.convert_to_tensor(g) for g in found]


def by_graph(function, operands, count):
    found = T.gradients(function(*operands), operands[:count], unconnected_gradients="zero")
    return [T.convert_to_tensor(g) for g in found]


@pytest.mark.parametrize("name", LINEAR)
def test_derivatives(name):
    """First and second derivatives in a graph are those of eager execution."""
    function, *arrays = LINEAR[name]
    count = sum(a.dtype == np.float32 for a in arrays)
    for eager, build in zip(
        derivatives(function, count, by_tape), derivatives(function, count, by_graph)
    ):
        wanted = [x.numpy() for x in eager(*map(T.constant, arrays))]
        values, shapes, whole = in_graph(build, *arrays)
        assert name == "squeeze_all" or whole == []  # a sum over an unknown rank is
        for value, shape, want in zip(values, shapes, wanted):
            assert shape.is_compatible_with(want.shape)
            np.testing.assert_allclose(value, want, rtol=2e-5, atol=2e-5)


WHOLE_NUMBERS = {
    "shape": (lambda x: (T.shape(x), T.shape(x, T.int64), T.rank(x), T.size(x)), X),
    "shape_n": (lambda x: T.shape_n([x, x[0]]), X),
    "zeros": (lambda n: T.zeros([n, 2]), np.int32(3)),
    "ones": (lambda n: T.ones([2, n], T.int64), np.int32(3)),
    "zeros_of_vector": (lambda s: T.zeros(s), np.array([2, 3], np.int32)),
    "fill_of_vector": (lambda s: T.fill(s, 7), np.array([2, 3], np.int64)),
    "zeros_like": (lambda x: (T.zeros_like(x), T.ones_like(x, T.bool)), X),
    "range": (lambda n: (T.range(n), T.range(1, n * 2, 3), T.range(n, 0, -2)), np.int32(5)),
    "range_floats": (lambda x: T.range(0.5, x, 0.25), np.float32(1.9)),
    "range_of_shape": (lambda x: T.range(T.shape(x)[0]) * 2, X),
    "eye": (lambda n: (T.eye(n), T.eye(n, 2), T.eye(2, batch_shape=[n])), np.int32(3)),
    "linspace": (lambda n: T.linspace(0.0, 2.0, n), np.int32(5)),
    "linspace_of_one": (lambda n: T.linspace(1.0, 2.0, n), np.int32(1)),
    "one_hot": (lambda i, n: T.one_hot(i, n, on_value=5, axis=0), PLACES, np.int32(3)),
    "sequence_mask": (lambda i: T.sequence_mask(i), PLACES),
    "sequence_mask_to": (lambda i, n: T.sequence_mask(i, n, T.int32), PLACES, np.int32(5)),
    "where": (lambda x: T.where(x > 0.0), X),
    "unique": (T.unique_with_counts, PLACES),
    "argsort": (lambda x: T.argsort(x), ROW),
    "searchsorted": (lambda x: T.searchsorted(T.sort(x), x), X),
    "invert_permutation": (T.math.invert_permutation, np.array([2, 0, 1], np.int32)),
    "broadcast_dynamic_shape": (
        lambda x, y: T.broadcast_dynamic_shape(T.shape(x), T.shape(y)),
        X,
        X[:, :1],
    ),
    "transpose_by_a_vector": (lambda x, p: T.transpose(x, p), VOLUME, np.array([2, 0, 1])),
    "tile_by_a_vector": (lambda x, n: T.tile(x, n), X, np.array([2, 1])),
    "pad_by_a_matrix": (lambda x, p: T.pad(x, p), X, np.array([[1, 0], [2, 2]])),
    "reverse_by_a_vector": (lambda x, a: T.reverse(x, a), X, np.array([1])),
    "reshape_by_a_vector": (lambda x, s: T.reshape(x, s), X, np.array([2, -1, 3])),
    "broadcast_by_a_vector": (lambda x, s: T.broadcast_to(x, s), ROW, np.array([2, 4])),
    "bincount": (lambda i: T.math.bincount(i), PLACES),
    "bincount_rows": (lambda i: T.math.bincount(i, axis=-1, maxlength=3), PLACES.reshape(2, 2)),
    "confusion_matrix": (lambda i: T.math.confusion_matrix(i, i), PLACES),
    "histogram": (lambda x: T.histogram_fixed_width(x, [-1.0, 1.0], 4), X),
    "histogram_bins": (lambda x: T.histogram_fixed_width_bins(x, [-1.0, 1.0], 4), X),
    "unravel_index": (lambda i: T.unravel_index(i, [2, 3]), PLACES),
    "space_to_batch_paddings": (
        lambda x: T.required_space_to_batch_paddings(T.shape(x), [3, 4]),
        X,
    ),
    "in_top_k": (lambda x, i: T.math.in_top_k(i, x, 2), X, PLACES),
    "bitcast": (lambda x: T.bitcast(x, T.uint8), X),
}


PLACED = np.array([[0, 1], [1, 0], [1, 3]])


def sparse(values, places):
    """A sparse matrix of unknown places."""
    return T.SparseTensor(places, values, [2, 4])


SPARSE = {
    "to_dense": lambda s: T.sparse.to_dense(s),
    "to_dense_with_default": lambda s: T.sparse.to_dense(s, 7.0),
    "from_dense": lambda s: T.sparse.from_dense(T.sparse.to_dense(s)),
    "matmul": lambda s: T.sparse.sparse_dense_matmul(s, T.constant(X[:, :2])),
    "matmul_adjoint": lambda s: T.sparse.sparse_dense_matmul(s, T.constant(X[:2]), adjoint_a=True),
    "transpose": lambda s: T.sparse.transpose(s),
    "reshape": lambda s: T.sparse.reshape(s, [4, -1]),
    "expand_dims": lambda s: T.sparse.expand_dims(s, 1),
    "slice": lambda s: T.sparse.slice(s, [0, 1], [2, 3]),
    "split": lambda s: T.sparse.split(s, 3, axis=1),
    "concat": lambda s: T.sparse.concat(1, [s, s]),
    "retain": lambda s: T.sparse.retain(s, [True, False, True]),
    "add": lambda s: T.sparse.add(s, T.sparse.slice(s, [0, 0], [2, 4])),
    "maximum": lambda s: T.sparse.maximum(s, s * 2.0),
    "reduce_sum": lambda s: T.sparse.reduce_sum(s, 1),
    "reduce_max": lambda s: T.sparse.reduce_max(s, 1, keepdims=True),
    "softmax": lambda s: T.sparse.softmax(s),
    "fill_empty_rows": lambda s: T.sparse.fill_empty_rows(s, 3.0),
    "reset_shape": lambda s: T.sparse.reset_shape(s),
    "times_dense": lambda s: s * T.constant([[1.0], [3.0]]),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse(name):
    """Sparse tensors of unknown values and places, and derivatives by the values."""
    function = SPARSE[name]
    check(lambda values, places: function(sparse(values, places)), ROW[:3], PLACED)

    def slope(gradient):
        return lambda values, places: gradient(
            lambda v, p: weighed(function(sparse(v, p))), (values, places), 1
        )

    wanted = slope(by_tape)(T.constant(ROW[:3]), T.constant(PLACED))[0].numpy()
    (found,), _, whole = in_graph(slope(by_graph), ROW[:3], PLACED)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert whole == []


def test_bincount_of_sparse():
    """Sizes that come from values."""
    check(lambda i, w: T.sparse.bincount(i, w, maxlength=3), PLACES, ROW)
    check(lambda i: T.sparse.bincount(i[None], axis=-1, minlength=9), PLACES)


def test_ragged():
    """Ragged tensors compute with splits as arrays: their methods are kept whole."""

    def function(values, lengths):
        x = T.RaggedTensor.from_row_lengths(values, lengths)
        padded = (x * 2.0).to_tensor(-1.0)
        return padded, x[1:].row_splits, x.row_lengths(), T.sparse.reduce_sum(x.to_sparse(), 1)

    arrays = ROW, np.array([2, 0, 2])
    wanted = [x.numpy() for x in leaves(function(*map(T.constant, arrays)))]
    values, shapes, _ = in_graph(function, *arrays)
    for value, shape, want in zip(values, shapes, wanted):
        np.testing.assert_array_equal(value, want)
        assert shape.is_compatible_with(want.shape)
    gradient = lambda *xs: T.gradients(weighed(function(*xs)[0]), xs[0])  # noqa: E731
    with T.GradientTape() as tape:
        x = T.constant(ROW)
        tape.watch(x)
        y = weighed(function(x, T.constant(arrays[1]))[0])
    np.testing.assert_allclose(in_graph(gradient, *arrays)[0][0], tape.gradient(y, x), rtol=1e-5)


@pytest.mark.parametrize("name", WHOLE_NUMBERS)
def test_without_derivatives(name):
    """Functions of integers, and those whose sizes depend on values."""
    check(*WHOLE_NUMBERS[name])


# -- keys

BOUND = st.none() | st.integers(-8, 8)
STEP = st.none() | st.sampled_from([1, 2, 3, -1, -2, -3])
AXIS = st.tuples(BOUND, BOUND, STEP, st.booleans())


@settings(deadline=None, max_examples=60)
@given(st.lists(AXIS, min_size=1, max_size=2), st.integers(0, 7), st.integers(0, 7), st.data())
def test_slices(axes, rows, columns, data):
    """Slices with bounds of any sign, some of them tensors, of a matrix of unknown sizes."""
    array = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    graph = NotingGraph()
    with graph.as_default(), V1.Session() as session:
        (x,) = fed(array)
        feeds, key = {x: array}, []
        for start, stop, step, as_tensor in axes:
            bounds = [start, stop]
            if as_tensor:
                tensors = [None if n is None else V1.placeholder(T.int32, []) for n in bounds]
                feeds.update({t: n for t, n in zip(tensors, bounds) if t is not None})
                bounds = tensors
            key.append(slice(*bounds, step))
        plain = tuple(slice(*axis[:3]) for axis in axes)
        if data.draw(st.booleans()):
            key, plain = [..., *key], (..., *plain)
        y = x[tuple(key)]
        (gradient,) = T.gradients(T.reduce_sum(y * y), x)
        value, slope = session.run([y, gradient], feeds)
    wanted = array[plain]
    np.testing.assert_array_equal(value, wanted)
    assert y.shape.is_compatible_with(wanted.shape)
    filled = np.zeros_like(array)
    filled[plain] = 2 * wanted
    np.testing.assert_array_equal(slope, filled)
    assert graph.whole == []


@settings(deadline=None, max_examples=40)
@given(st.integers(-9, 9), st.integers(0, 6), st.integers(0, 3))
def test_an_index(index, rows, axis):
    """A tensor as an index: any sign; an error where there is no such row."""
    array = np.arange(rows * 3, dtype=np.int32).reshape(rows, 3)
    axis %= 2
    key = (slice(None),) * axis
    with T.Graph().as_default(), V1.Session() as session:
        x, i = *fed(array), V1.placeholder(T.int64, [])
        y = x[(*key, i)]
        assert y.shape.rank == 1
        if -array.shape[axis] <= index < array.shape[axis]:
            found = session.run(y, {x: array, i: index})
            np.testing.assert_array_equal(found, array[(*key, index)])
        else:
            with pytest.raises(T.errors.InvalidArgumentError, match="out of bounds"):
                session.run(y, {x: array, i: index})


SHAPES = st.lists(st.integers(1, 4), min_size=0, max_size=4)


@settings(deadline=None, max_examples=60)
@given(SHAPES, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_reshapes(shape, random, left_out, as_vector):
    """The sizes of a reshape as scalars, or as one vector; at most one of them -1."""
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    wanted = list(shape)
    random.shuffle(wanted)
    sizes = list(wanted)
    if sizes and left_out:
        sizes[random.randrange(len(sizes))] = -1
    with T.Graph().as_default(), V1.Session() as session:
        (x,) = fed(array)
        feeds = {x: array}
        if as_vector:
            given_ = V1.placeholder(T.int32, [None])
            feeds[given_] = sizes
        else:
            given_ = [n if random.random() < 0.5 else V1.placeholder(T.int32, []) for n in sizes]
            feeds.update({t: n for t, n in zip(given_, sizes) if type(t) is not int})
        y = T.reshape(x, given_)
        (gradient,) = T.gradients(T.reduce_sum(y * y), x)
        value, slope = session.run([y, gradient], feeds)
    np.testing.assert_array_equal(value, array.reshape(wanted))
    np.testing.assert_array_equal(slope, 2 * array)
    assert y.shape.is_compatible_with(wanted)


# -- shapes that are known

KNOWN = [
    (lambda x: T.reshape(x, [-1, 2]), [None, 2]),
    (lambda x: T.reshape(x, [T.shape(x)[0], 2, -1]), [None, 2, 2]),
    (lambda x: T.reshape(x, [2, T.shape(x)[1], -1]), [2, 4, None]),
    (lambda x: x[1:] + x[:-1], [None, 4]),
    (lambda x: x[T.shape(x)[0] - 1], [4]),
    (lambda x: x[:, : T.shape(x)[1] - 1], [None, 3]),
    (lambda x: T.concat([x, T.zeros([2, 4])], 0), [None, 4]),
    (lambda x: T.stack([x, T.zeros([3, 4])]), [2, 3, 4]),
    (lambda x: T.zeros(T.shape(x)[1:]), [4]),
    (lambda x: T.fill([T.reduce_prod(T.shape(x)[1:])], 1.0), [4]),
    (lambda x: T.tile(x, T.stack([1, T.maximum(2, 1)])), [None, 8]),
    (lambda x: T.pad(x, [[0, 0], [1, 2]]), [None, 7]),
    (lambda x: T.boolean_mask(x, x[:, 0] > 0.0), [None, 4]),
    (lambda x: T.where(x > 0.0), [None, 2]),
    (lambda x: T.linspace(0.0, 1.0, T.shape(x)[1]), [4]),
    (lambda x: T.range(T.shape(x)[1]), [4]),
    (lambda x: T.split(x, [T.shape(x)[1] - 1, -1], axis=1)[1], [None, 1]),
]


@pytest.mark.parametrize("place", range(len(KNOWN)))
def test_static_shapes(place):
    """What follows from the sizes that are known is known."""
    function, wanted = KNOWN[place]
    with T.Graph().as_default():
        x = V1.placeholder(T.float32, [None, 4])
        assert function(x).shape.as_list() == wanted


def test_values_known_while_building():
    """Constants, and what is computed from known sizes."""
    with T.Graph().as_default():
        x = V1.placeholder(T.float32, [None, 4])
        sizes = T.shape(x)
        assert T.get_static_value(sizes) is None
        assert T.get_static_value(sizes, partial=True).tolist() == [None, 4]
        assert T.get_static_value(sizes[1] * 2 + 1) == 9
        slices = T.gradients(T.gather(x, [0]), x)[0]
        assert slices.shape.as_list() == [None, 4]
        assert T.shape(T.zeros([2, 3])).op.type == "Const"
        for pair, same in ((T.rank(x), 2), True), ((1.0, 2.0), False), ((sizes[1], 5), False):
            assert T.get_static_value(T.equal(*pair)) == same
            assert T.get_static_value(T.not_equal(*pair)) != same
        assert T.get_static_value(T.equal(sizes[0], 2)) is None
        known = T.get_static_value(T.cast(T.equal(sizes[1], 4), T.float32))
        assert known == 1.0 and known.dtype == np.float32


def test_an_order_that_only_a_run_knows_keeps_equal_sizes():
    with T.Graph().as_default():
        order = V1.placeholder(T.int32, [None])
        for shape, known in (([7], [7]), ([3, 3], [3, 3]), ([3, 4], [None, None])):
            assert T.transpose(V1.placeholder(T.float32, shape), order).shape.as_list() == known


ERRORS = [
    (lambda x, n: T.reshape(x, [n, 5]), 3),
    (lambda x, n: T.zeros([n]), -1),
    (lambda x, n: T.fill([n], 1.0), -2),
    (lambda x, n: T.range(n), -1),
    (lambda x, n: T.tile(x, [1, n]), -1),
    (lambda x, n: T.slice(x, [n, 0], [-1, -1]), -1),
    (lambda x, n: T.slice(x, [0, 0], [n, 1]), 9),
    (lambda x, n: T.pad(x, [[n, 0], [0, 0]]), -1),
    (lambda x, n: T.split(x, [n, 1])[0], 2),
    (lambda x, n: T.gather(x, n), 4),
    (lambda x, n: T.broadcast_to(x, [n, 6]), 3),
    (lambda x, n: T.one_hot([1], n), -1),
    (lambda x, n: T.math.top_k(x, n)[0], 7),
    (lambda x, n: T.squeeze(x[n:], [0]), 1),
    (lambda x, n: T.math.bincount(n[None]), -1),
    (lambda x, n: T.dynamic_partition([1.0], n[None], 2)[0], 2),
]


@pytest.mark.parametrize("place", range(len(ERRORS)))
def test_found_wrong_when_run(place):
    """What cannot be found while the graph is built is an InvalidArgumentError of the run."""
    function, number = ERRORS[place]
    with T.Graph().as_default(), V1.Session() as session:
        x, n = *fed(X), V1.placeholder(T.int32, [])
        y = function(x, n)
        with pytest.raises(T.errors.InvalidArgumentError):
            session.run(y, {x: X, n: number})
