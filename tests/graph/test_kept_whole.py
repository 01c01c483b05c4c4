"""Calls that are kept whole in a graph: what of their arguments makes two of them the same."""

import numpy as np
import pytest

import talweg as T

V1 = T.compat.v1
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@pytest.fixture
def x():
    """A placeholder of which nothing is known, in a graph of its own."""
    with T.Graph().as_default():
        yield V1.placeholder(T.float32)


def kept(tensor):
    """The node of a call kept whole."""
    node = tensor.node
    while node.prim.name != "whole":
        node = node.inputs[0]
    return node


def run(tensor, x):
    """Its value for the matrix."""
    with V1.Session() as session:
        return session.run(tensor, {x: MATRIX})


@pytest.mark.parametrize("nested", [False, True], ids=["itself", "in_a_list"])
def test_an_array_changed_after_the_call_changes_nothing(x, nested):
    times = np.array([2, 1])
    given = [times[0, ...], times[1, ...]] if nested else times  # views, of one element each
    found = T.repeat(x, given, axis=0)
    hash(kept(found).params["call"])
    times[:] = 0
    np.testing.assert_array_equal(run(found, x), MATRIX[[0, 0, 1]])


def test_calls_with_equal_arrays_are_one_node(x):
    first = T.repeat(x, np.array([2, 1]), axis=0)
    assert kept(T.repeat(x, np.array([2, 1]), axis=0)) is kept(first)


@pytest.mark.parametrize(
    "other",
    [np.array([[1], [0]]), np.array([[0], [1]], np.int32), np.array([0, 1])],
    ids=["values", "dtype", "shape"],
)
def test_calls_with_different_arrays_are_two_nodes(x, other):
    first = T.gather_nd(x, np.array([[0], [1]]))
    assert kept(T.gather_nd(x, other)) is not kept(first)


def test_one_array_in_two_states_makes_two_nodes(x):
    times = np.array([2, 1])
    first = T.repeat(x, times, axis=0)
    times[:] = [1, 2]
    second = T.repeat(x, times, axis=0)
    assert kept(first) is not kept(second)
    np.testing.assert_array_equal(run(first, x), MATRIX[[0, 0, 1]])
    np.testing.assert_array_equal(run(second, x), MATRIX[[0, 1, 1]])


def test_arrays_of_strings_are_compared_by_content(x):
    def build(letters):
        return T.gather_nd(np.array(letters, object), T.cast(x, T.int32))

    first = build(["a", "b"])
    assert kept(build(["a", "b"])) is kept(first)
    assert kept(build(["a", "c"])) is not kept(first)


def test_numbers_that_are_equal_and_differ_make_two_nodes(x):
    first = T.linalg.diag(x, padding_value=0.0)
    assert kept(T.linalg.diag(x, padding_value=0.0)) is kept(first)
    assert kept(T.linalg.diag(x, padding_value=-0.0)) is not kept(first)


def test_gradients_see_the_array_as_it_was(x):
    weights = np.array([[2.0], [3.0]], np.float32)
    slope = T.gradients(T.tensordot(x, weights, 1), x)[0]
    weights[:] = 0
    np.testing.assert_array_equal(run(slope, x), [[2.0, 3.0], [2.0, 3.0]])


def test_the_rank_of_a_result_that_a_vector_counts_is_not_made_up():
    with T.Graph().as_default():
        sizes = V1.placeholder(T.int32, [None])
        found = T.eye(2, batch_shape=sizes)
        turned = T.linalg.matrix_transpose(found)
        assert found.shape.rank is None
        with V1.Session() as session:
            for batch in ([], [3], [2, 1, 1]):
                given = session.run(turned, {sizes: np.array(batch, np.int32)})
                np.testing.assert_array_equal(given, np.broadcast_to(np.eye(2), [*batch, 2, 2]))


def test_tensors_among_the_bounds_of_a_slice(x):
    count = V1.placeholder_with_default(1, [])
    np.testing.assert_array_equal(run(x[..., :count, :], x), MATRIX[:1])
    np.testing.assert_array_equal(run(x[..., count:, 0], x), MATRIX[1:, 0])


RAW = T.raw_ops


def twice(build):
    """What each of two runs of a session gives for what is built."""
    with T.Graph().as_default():
        found = build()
        with V1.Session() as session:
            return [session.run(found) for _ in range(2)]


def written_array():
    handle, flow = RAW.TensorArrayV3(size=2, dtype=T.float32)
    flow = RAW.TensorArrayWriteV3(handle=handle, index=0, value=1.0, flow_in=flow)
    flow = RAW.TensorArrayWriteV3(handle=handle, index=1, value=2.0, flow_in=flow)
    return RAW.TensorArrayGatherV3(handle=handle, indices=[1, 0], flow_in=flow, dtype=T.float32)


def popped():
    handle = RAW.StackV2(max_size=2, elem_type=T.float32)
    with T.control_dependencies([RAW.StackPushV2(handle=handle, elem=1.0)]):
        pushed = RAW.StackPushV2(handle=handle, elem=2.0)
    with T.control_dependencies([pushed]):
        last = RAW.StackPopV2(handle=handle, elem_type=T.float32)
    with T.control_dependencies([last]):
        return [last, RAW.StackPopV2(handle=handle, elem_type=T.float32)]


def looked_up():
    entries = RAW.TensorMapInsert(input_handle=RAW.EmptyTensorMap(), key=1, value=2.0)
    found = RAW.TensorMapLookup(input_handle=entries, key=1, value_dtype=T.float32)
    return [found, RAW.TensorMapSize(input_handle=entries)]


def counted():
    numbers = [np.int64(n) for n in (0, 5, 2)]
    start, stop, step = numbers
    kinds = {"output_types": [T.int64], "output_shapes": [[]]}
    dataset = RAW.RangeDataset(start=start, stop=stop, step=step, **kinds)
    return RAW.DatasetCardinality(input_dataset=dataset)


@pytest.mark.parametrize(
    ("build", "wanted"),
    [(written_array, [2, 1]), (popped, [2, 1]), (looked_up, [2, 1]), (counted, 3)],
)
def test_each_run_makes_what_a_raw_handle_stands_for(build, wanted):
    for found in twice(build):
        np.testing.assert_array_equal(found, wanted)
