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
