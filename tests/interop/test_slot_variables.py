"""Checkpoints keep what optimizers keep beside variables, where TensorFlow keeps it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import talweg as tf

ROOT = Path(__file__).resolve().parent
RECORDED = str(ROOT / "object_checkpoints" / "optimized-1")
_SPEC = importlib.util.spec_from_file_location(
    "record_object_checkpoint", ROOT.parent.parent / "tools" / "record_object_checkpoint.py"
)
recorder = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(recorder)


def values(*optimizers):
    return {v.name: v.numpy() for optimizer in optimizers for v in optimizer.variables()}


def test_slots_of_a_checkpoint_of_tensorflow_are_restored():
    restored, trained = recorder.optimized(tf), recorder.optimized(tf, steps=3)
    status = restored.restore(RECORDED)
    expected = values(trained.adam, trained.inner[0])
    assert values(restored.adam, restored.inner[0]).keys() == expected.keys() - {
        "beta1_power:0",
        "beta2_power:0",
    }
    for checkpoint in (restored, trained):  # the step makes beta1_power, with its saved value
        checkpoint.adam.minimize(
            lambda c=checkpoint: tf.reduce_sum(c.a**2), var_list=[checkpoint.a]
        )
    status.assert_consumed()
    np.testing.assert_allclose(restored.a, trained.a, rtol=1e-6)
    for name, value in values(trained.adam, trained.inner[0]).items():
        np.testing.assert_allclose(values(restored.adam, restored.inner[0])[name], value, rtol=1e-6)


def test_keys_are_those_of_tensorflow(tmp_path):
    path = recorder.optimized(tf, steps=1).save(tmp_path / "own")
    assert dict(tf.train.list_variables(path)) == dict(tf.train.list_variables(RECORDED))


def test_slots_in_a_graph_get_their_values_when_they_are_made():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        a = tf.Variable([0.0, 0.0], name="a")
        adam = tf.compat.v1.train.AdamOptimizer(0.1)
        status = tf.train.Checkpoint(a=a, adam=adam).restore(RECORDED).expect_partial()
        adam.minimize(tf.reduce_sum(a**2), var_list=[a])
        status.initialize_or_restore(session)
        slots = session.run([adam.get_slot(a, name) for name in ("m", "v")])
        powers = session.run(adam._get_non_slot_variable("beta1_power", a.graph))
    expected = [tf.train.load_variable(RECORDED, f"a/.OPTIMIZER_SLOT/adam/{n}/{V}") for n in "mv"]
    np.testing.assert_array_equal(slots, expected)
    assert powers == pytest.approx(0.9**4)


V = ".ATTRIBUTES/VARIABLE_VALUE"


def test_slots_of_an_optimizer_that_comes_later():
    checkpoint = tf.train.Checkpoint(a=tf.Variable([0.0, 0.0]))
    checkpoint.restore(RECORDED).expect_partial()
    checkpoint.adam = tf.compat.v1.train.AdamOptimizer(0.1)
    np.testing.assert_array_equal(
        checkpoint.adam.get_slot(checkpoint.a, "m"),
        tf.train.load_variable(RECORDED, f"a/.OPTIMIZER_SLOT/adam/m/{V}"),
    )


def test_a_restore_that_does_not_fit_changes_no_slot():
    checkpoint = recorder.optimized(tf, steps=1)
    adam = tf.compat.v1.train.AdamOptimizer(0.1)
    other = tf.Variable([1.0, 2.0])
    adam.minimize(lambda: tf.reduce_sum(other**2), var_list=[other])
    wrong = tf.train.Checkpoint(a=other, adam=adam, b=tf.Variable([1.0, 2.0, 3.0]))
    before = values(adam)
    with pytest.raises(ValueError, match="incompatible tensor with shape"):
        wrong.restore(RECORDED)
    for name, value in values(adam).items():
        np.testing.assert_array_equal(value, before[name])
    del checkpoint


def test_a_damaged_number_of_a_slot_is_data_loss():
    from talweg.interop.checkpoint import object_graph

    nodes = [object_graph.SavedObject(slots=[object_graph.SavedSlot("m", 0, 5)])]
    message = object_graph.encode([*nodes, *[object_graph.SavedObject() for _ in range(5)]])
    assert object_graph.decode(message)[0].slots == nodes[0].slots
    shorter = object_graph.SavedObject(slots=[object_graph.SavedSlot("m", 0, 1)])
    message = object_graph.encode([shorter, object_graph.SavedObject()])
    damaged = message.replace(b"\x18\x01", b"\x18\x07")
    with pytest.raises(tf.errors.DataLossError):
        object_graph.decode(damaged)
