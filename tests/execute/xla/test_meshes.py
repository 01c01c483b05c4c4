"""Tensors, variables and Keras's models on meshes of virtual devices give what one device gives.

The programs run in one process of their own, which has 8 devices (`mesh_programs.py`).
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from tests.execute.xla.processes import answer_of

PARTS = {
    "data": [[32, 128], [128], [128, 8]],
    "model": [[32, 16], [16], [16, 8]],
    "both": [[32, 32], [32], [32, 8]],
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    return answer_of("mesh_programs", tmp_path_factory.mktemp("program"))


@pytest.mark.parametrize("name", ["data", "model", "both", "eager", "tape outside"])
def test_training_as_on_one_device(said, name):
    found, parts = said["trained"][name]
    np.testing.assert_allclose(found, said["trained"]["one"][0], 1e-5, 1e-6)
    assert parts == PARTS.get(name, PARTS["both"])


def test_the_expected_collective_operations_and_no_more(said):
    assert said["collectives"] == {
        "data": {"all-reduce": 1},  # the slopes
        "model": {"all-reduce": 1},  # the second product
        "both": {"all-reduce": 2},
    }


def test_results_have_layouts(said):
    found = said["operations"]
    assert found.pop("text").startswith('tf.Tensor({"CPU:0": [1.], "CPU:1": [1.]')
    assert found == {
        "sum": ["batch", "unsharded"],
        "sum with a number": ["batch", "unsharded"],
        "sum with a tensor": ["batch", "unsharded"],
        "reduced": ["batch"],
        "reduced along the parts": ["unsharded"],
        "transposed": ["unsharded", "batch"],
        "reshaped": ["batch"],
        "column": ["batch"],
        "concatenated": ["batch", "unsharded"],
        "softmax": ["batch", "unsharded"],
        "gathered": ["unsharded", "batch"],
        "argmax": ["batch"],
        "like": ["batch", "unsharded"],
        "inside": [["batch", "model"], [], ["batch", "unsharded"]],
        "slope": ["batch", "unsharded"],
        "products": 128.0,
        "where": ["unsharded", "unsharded"],
        "device": "/job:localhost/replica:0/task:0/device:CUSTOM:0",
        "parts": ["0(2, 8)", "1(2, 8)"],
        "matched": ["batch", "model"],
    }


def test_a_layout_that_is_not_kept_is_noticed(said):
    assert said["mutant"] != said["operations"]["inside"]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("stateless_uniform", 0),
        ("stateless_normal", 1e-6),
        ("stateless_truncated_normal", 1e-6),
    ],
)
def test_random_numbers_are_those_of_one_device_each_part_made_where_it_lies(said, name, most):
    difference, largest = said["numbers"][name]
    assert difference <= most
    assert largest == 64 * 96 // 8


def test_variables_keep_their_layout(said):
    parts, value = said["variables"]
    assert parts == [[2, 8]] * 5
    assert value == np.arange(32.0).reshape(8, 4).T.tolist()


def test_errors(said):
    invalid = "InvalidArgumentError"
    assert said["errors"] == {
        "meshes": invalid,
        "rank": invalid,
        "sizes": invalid,
        "shape": "ValueError",
        "index": invalid,
    }


def test_saved_on_eight_restored_on_four(said):
    assert said["restored"] == [[32, 32], [32, 64], True]


def test_batches_are_shared_out(said):
    assert said["batches"] == [[[8, 32], ["batch", "unsharded"]]] * 2


@pytest.mark.parametrize("name", ["data", "model"])
def test_keras_trains_as_on_one_device(said, name):
    found, _ = said["keras"]
    np.testing.assert_allclose(found[name], found["one"], 1e-4, 1e-5)


def test_keras_shares_variables_out_and_restores_them_on_fewer(said):
    about = said["keras"][1]
    assert about == {"parts": [[32, 16]] * 3, "restored": [32, 32], "equal": True}
