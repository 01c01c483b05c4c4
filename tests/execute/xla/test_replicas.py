"""Replicas on virtual devices: programs give on 2 and 8 devices what they give on one.

The programs run in one process of their own, which has 8 devices (`replica_programs.py`).
"""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from tests.execute.xla.processes import ROOT, answer_of

RECORDED = ("replicas_in_a_training_loop", "replicas_with_normalization")
NAMES = (
    "custom_loop",
    "keras_network",
    "several_steps_at_once",
    "exchanges",
    "branches_and_loops",
)
IN_TURN = ("steps_in_python", "uneven_batches")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the programs gave, by name and number of devices, and what is said of 8."""
    return answer_of("replica_programs", tmp_path_factory.mktemp("program"))


@pytest.mark.parametrize("count", ["2", "8"])
@pytest.mark.parametrize("name", NAMES)
def test_as_on_one_device(results, name, count):
    found, said = results
    assert said["used"][f"{name} {count}"]  # it was not left to replicas that run in turn
    np.testing.assert_allclose(found[name][count], found[name]["1"], 2e-5, 1e-6)


@pytest.mark.parametrize("count", ["2", "8"])
@pytest.mark.parametrize("name", IN_TURN)
def test_what_is_left_to_replicas_in_turn(results, name, count):
    found = results[0][name]
    np.testing.assert_allclose(found[count], found["1"], 2e-5, 1e-6)


def test_the_step_has_one_collective_operation(results):
    assert results[1]["collectives"], "nothing was compiled"
    for counts in results[1]["collectives"]:
        others = sum(counts.values()) - counts["all-reduce"]
        assert counts["all-reduce"] == 1 and not others


@pytest.mark.parametrize("mutant", ["lost sum", "wrong divisor"])
def test_a_wrong_exchange_is_noticed(results, mutant):
    wrong, right = results[1][mutant], results[0]["custom_loop"]["1"]
    assert not np.allclose(wrong, right, 1e-3, 1e-3)


def test_replicas_draw_numbers_of_their_own(results):
    assert results[1]["random"] == 16


def test_errors_are_those_of_replicas_in_turn(results):
    told, parts = results[1]["errors"]
    assert told
    assert parts == [parts[0]] * 8


def test_a_replica_that_meets_nobody_is_an_error_and_no_wait(results):
    assert results[1]["alone"] == "RuntimeError"


@pytest.mark.parametrize("name", RECORDED)
def test_keras_gives_what_was_recorded_under_tensorflow(results, name):
    wanted = json.loads((ROOT / "tests/keras_models/data/losses.json").read_text())[name]
    np.testing.assert_allclose(results[1]["recorded"][name], wanted, 1e-4, 1e-4)


def test_mixed_precision_with_loss_scaling(results):
    said = results[1]
    np.testing.assert_allclose(said["float16"], said["float16 alone"], 2e-2, 2e-2)
