"""Different slices and rows of ragged tensors in graphs that do not know how many there are."""

import sys
from pathlib import Path

import numpy as np
import pytest

import talweg as T
from talweg.core import settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph.fed import NotingGraph  # noqa: E402

V1 = T.compat.v1
TABLE = np.array([[1, 2, 1], [3, 4, 3], [1, 2, 1]], np.float32)


def in_graph(function, array):
    """What a function gives for an array of unknown sizes, as lists, and what was kept whole."""
    graph = NotingGraph()
    with graph.as_default(), V1.Session() as session:
        x = V1.placeholder(array.dtype, [None] * array.ndim)
        results = session.run(T.nest.flatten(function(x), expand_composites=True), {x: array})
    return [part.tolist() for part in results], graph.whole


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rows, columns", [(3, 3), (2, 3), (0, 3), (3, 0), (0, 0)])
def test_different_slices(axis, rows, columns):
    """The eager numbers, for sizes of 0, too, by operations of the graph."""

    def different(x):
        return T.raw_ops.UniqueWithCountsV2(x=x, axis=T.constant([axis]))

    table = TABLE[:rows, :columns]
    wanted = [part.numpy().tolist() for part in different(T.constant(table))]
    assert in_graph(different, table) == (wanted, [])


def test_different_slices_are_the_first_ones():
    """Slices come in the order in which they first appear; empty ones are all equal."""
    y, idx, count = T.raw_ops.UniqueWithCountsV2(x=TABLE[::-1], axis=[1])
    assert y.numpy().tolist() == [[1, 2], [3, 4], [1, 2]]
    assert (idx.numpy().tolist(), count.numpy().tolist()) == ([0, 1, 0], [2, 1])
    y, idx = T.raw_ops.UniqueV2(x=T.zeros([0, 3]), axis=[1])
    assert y.shape == (0, 1) and idx.numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [T.int32, T.int64])
def test_row_of_each_value(dtype):
    """The rows of values that were gathered, without a call that is kept whole."""

    def row_ids(places):
        rows = T.ragged.constant([[1, 2], [], [3]], row_splits_dtype=dtype)
        found = T.gather(rows, places).value_rowids()
        assert found.dtype == dtype
        return found

    assert in_graph(row_ids, np.array([2, 1, 0])) == ([[0, 2, 2]], [])


def test_tiles_of_ragged_tensors():
    """The multiples are known, or not before the graph runs."""

    def tiled(multiples):
        return T.tile(T.ragged.constant([[2], [0, -1]]), multiples)

    wanted = [[2, 2, 0, -1, 0, -1], [0, 2, 6]]
    assert in_graph(lambda x: tiled([1, 2]), TABLE) == (wanted, [])
    assert in_graph(tiled, np.array([1, 2]))[0] == wanted


RAGGED = {  # what of two vectors and the splits of one of them TensorFlow gives
    "stack": (lambda a, b, s: T.ragged.stack([a, b]).to_tensor(), [[1, 2, 3], [4, 5, 0]]),
    "stack_of_ranges": (
        lambda a, b, s: T.ragged.stack([a[: T.shape(b)[0]], b]).row_lengths(),
        [2, 2],
    ),
    "to_tensor_of_a_tensor": (
        lambda a, b, s: T.RaggedTensor.from_row_splits(a, s).to_tensor(
            shape=T.stack([-1, T.shape(b)[0]])
        ),
        [[1, 0], [2, 3]],
    ),
    "to_tensor_of_a_list": (
        lambda a, b, s: T.RaggedTensor.from_row_splits(a, s).to_tensor(
            shape=[None, T.shape(b)[0] + 1]
        ),
        [[1, 0, 0], [2, 3, 0]],
    ),
    "concat": (
        lambda a, b, s: T.concat([T.RaggedTensor.from_row_splits(a, s)] * 2, 1).to_tensor(),
        [[1, 1, 0, 0], [2, 3, 2, 3]],
    ),
}


@pytest.mark.parametrize("known", [0, 1, 2], ids=["nothing", "ranks", "sizes"])
@pytest.mark.parametrize("name", RAGGED)
def test_ragged_tensors_of_unknown_sizes(name, known):
    function, wanted = RAGGED[name]
    arrays = [np.float32([1, 2, 3]), np.float32([4, 5]), np.int64([0, 1, 3])]
    with T.Graph().as_default(), V1.Session() as session:
        shapes = [(None, [None], [len(array)])[known] for array in arrays]
        places = [V1.placeholder(a.dtype, s) for a, s in zip(arrays, shapes)]
        if known == 0:
            places[1].set_shape([None])  # a slice of a vector by its size
        found = session.run(function(*places), dict(zip(places, arrays)))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("other", [[[4.0], [5.0, 6.0]], [[4.0], []], [[4.0]], [[4.0, 5.0, 6.0]]])
def test_rows_of_other_lengths_are_refused_by_the_run(executor, other):
    """Flat values were put together whatever rows they were in, one number with all of them."""
    spec = T.RaggedTensorSpec([None, None], T.float32, 1)
    rows = T.ragged.constant([[1.0, 2.0], [3.0]])
    functions = [lambda x, y: x + y, T.maximum, lambda x, y: T.reduce_sum(T.where(x > 2, x, y))]
    for function in functions:
        compiled = T.function(function, input_signature=[spec, spec])
        with settings.executor(executor):
            for _ in range(2):
                with pytest.raises(T.errors.InvalidArgumentError, match="rows of different"):
                    compiled(rows, T.ragged.constant(other))
            whole = compiled(rows, T.ragged.constant([[4.0, 5.0], [6.0]]))
        wanted = function(rows, T.ragged.constant([[4.0, 5.0], [6.0]]))
        assert T.reduce_all(whole == wanted)


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_gradients_pass_the_comparison_of_rows(executor):
    spec = T.RaggedTensorSpec([None, None], T.float32, 1)

    @T.function(input_signature=[spec, spec])
    def gradients(x, y):
        with T.GradientTape() as tape:
            tape.watch([x.flat_values, y.flat_values])
            product = T.reduce_sum(x * y * x)
        return tape.gradient(product, [x.flat_values, y.flat_values])

    x, y = T.ragged.constant([[1.0, 2.0], [3.0]]), T.ragged.constant([[4.0, 5.0], [6.0]])
    with settings.executor(executor):
        by_x, by_y = gradients(x, y)
    assert by_x.numpy().tolist() == [8.0, 20.0, 36.0] and by_y.numpy().tolist() == [1.0, 4.0, 9.0]
