"""Rows of arrays: what is computed many at a time is what one by one gives, in the same order."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.pipeline.mapping import Map

Dataset = tf.data.Dataset
X = np.random.RandomState(0).rand(70, 4, 3).astype(np.float32)
Y = np.arange(70, dtype=np.int64)

FUNCTIONS = {
    "scale": lambda x, y: (x / 255.0, tf.cast(y, tf.int32)),
    "broadcast": lambda x, y: (x * tf.constant([1.0, 2.0, 3.0]) + tf.cast(y, tf.float32), y),
    "exp": lambda x, y: (tf.exp(x) * tf.sin(x), tf.one_hot(y % 5, 5)),
    "move": lambda x, y: (tf.transpose(x)[::-1, 1:3], tf.reshape(x, [-1])),
    "select": lambda x, y: tf.where(x > 0.5, x, -x),
    "constant": lambda x, y: (x, tf.constant([1.0, 2.0])),
    "table": lambda x, y: tf.gather(tf.constant(np.arange(100.0)), y),
    "pad": lambda x, y: tf.pad(x, [[1, 0], [0, 2]]),
    "half": lambda x, y: tf.cast(x, tf.float16) * 2,
}


@pytest.fixture
def interpreted():
    """Exact comparisons are the interpreter's: compiled functions may differ in a last bit."""
    with settings.executor("interpret"):
        yield


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_rows_give_what_single_rows_give(name):
    function = FUNCTIONS[name]
    plain = Dataset.from_tensor_slices((X, Y)).map(function)
    assert plain.stage.function.vectorized is not None
    hidden = Dataset.from_tensor_slices((X, Y)).take_while(lambda x, y: True).map(function)
    for a, b in zip(plain, hidden, strict=True):
        for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
            assert x.dtype is y.dtype and x.shape == y.shape
            assert np.array_equal(x.numpy(), y.numpy())
    for a, b in zip(plain.batch(16), hidden.batch(16), strict=True):
        for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
            assert x.dtype is y.dtype and np.array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + tf.random.uniform([]),
        lambda x: tf.py_function(lambda v: v, [x], tf.float32),
        lambda x: tf.reduce_sum(x) if x.shape.rank else tf.cond(x > 1, lambda: x, lambda: -x),
    ],
)
def test_what_acts_is_called_row_by_row(function):
    assert (
        Map(
            Dataset.range(3).map(lambda x: tf.cast(x, tf.float32)).stage, function
        ).function.vectorized
        is None
    )


def pipelines(d):
    """Pipelines of rows."""
    return [
        d.shuffle(30, seed=1).batch(8),
        d.shuffle(100, seed=2).repeat(2).batch(9),
        d.take(13).skip(4),
        d.shard(3, 1).batch(4),
        d.repeat(2).shuffle(10, seed=3).take(90).batch(7, drop_remainder=True),
        d.filter(lambda x, y: y % 3 == 0).batch(5),
        d.enumerate().shuffle(9, seed=4).batch(4),
        d.map(lambda x, y: (y, x)).filter(lambda y, x: y > 60).map(lambda y, x: y * 2),
        d.skip(3).shard(2, 1).repeat(2).batch(50),
        d.shuffle(7, seed=5).filter(lambda x, y: y < 30).repeat(2).batch(6),
        d.prefetch(2).batch(32),
        d.take(0).repeat(3).batch(2),
    ]


def test_pipelines_of_rows_are_those_of_elements():
    rows = Dataset.from_tensor_slices((X, Y))
    hidden = rows.take_while(lambda x, y: True)
    for number, (a, b) in enumerate(zip(pipelines(rows), pipelines(hidden), strict=True)):
        for _ in range(2):
            for x, y in zip(a.as_numpy_iterator(), b.as_numpy_iterator(), strict=True):
                flat = zip(tf.nest.flatten(x), tf.nest.flatten(y), strict=True)
                assert all(np.array_equal(p, q) for p, q in flat), number


def test_errors_belong_to_their_rows():
    dataset = Dataset.from_tensor_slices([4, 2, 0, 1]).map(lambda x: 8 // x)
    iterator, found = iter(dataset), []
    for _ in range(4):
        try:
            found.append(int(next(iterator)))
        except tf.errors.InvalidArgumentError:
            found.append(None)
    assert found == [2, 4, None, 8]
    with pytest.raises(tf.errors.InvalidArgumentError, match="test_rows.py"):
        list(dataset.batch(4))


def test_memory_is_shared_and_never_written():
    data = np.arange(6.0)
    batches = list(Dataset.from_tensor_slices(data).batch(3))
    data[:] = -1
    assert [b.numpy().tolist() for b in batches] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_rows_of_vectors_of_different_lengths():
    """They are scalars of ragged rank -1, which are tensors and can be batched again."""
    rows = tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]])
    data = tf.data.Dataset.from_tensor_slices(rows)
    flat = data.unbatch()
    assert flat.element_spec == tf.RaggedTensorSpec([], tf.int32, -1, tf.int64)
    assert [tf.is_tensor(x) and int(x) for x in flat] == [1, 2, 3, 4, 5, 6]
    assert [x.numpy().tolist() for x in data.rebatch(4)] == [[1, 2, 3, 4], [5, 6]]
    assert [x.numpy().tolist() for x in flat.ragged_batch(4)] == [[1, 2, 3, 4], [5, 6]]
    assert [int(x) for x in flat.map(lambda x: x + 1)] == [2, 3, 4, 5, 6, 7]


def test_windows_have_no_rows():
    windows = tf.data.Dataset.range(4).window(2)
    for make in (windows.unbatch, lambda: windows.rebatch(2)):
        with pytest.raises(ValueError, match="have no rows"):
            make()
