"""Keras's TensorBoard callback; TensorBoard in a process whose `tensorflow` is talweg."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import talweg as tf
from tests.summaries.summary_programs import events
from tests.summaries.test_summary_traces import shown

ROOT = Path(__file__).resolve().parents[2]


def tags(folder):
    return Counter(value.tag for event in events(folder) for value in event.summary.value)


def trained(folder):
    keras = tf.keras
    keras.backend.clear_session()
    x = tf.random.normal([200, 8], seed=1)
    y = tf.cast(tf.reduce_sum(x, 1) > 0.0, tf.float32)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="relu", name="hidden"),
            keras.layers.Dense(1, activation="sigmoid", name="out"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    callback = keras.callbacks.TensorBoard(
        str(folder), histogram_freq=1, write_images=True, update_freq=7
    )
    model.fit(
        x, y, epochs=3, batch_size=32, validation_data=(x, y), callbacks=[callback], verbose=0
    )


def test_the_callback(tmp_path):
    """TensorFlow writes the same tags, as often."""
    trained(tmp_path)
    train, validation = tags(tmp_path / "train"), tags(tmp_path / "validation")
    assert train["keras"] == 1 and train["batch_loss"] == train["epoch_accuracy"] == 3
    assert train["sequential/hidden/kernel/histogram"] == train["sequential/hidden/bias/image"] == 3
    assert validation["epoch_loss"] == validation["evaluation_loss_vs_iterations"] == 3
    listed, served = shown(tmp_path)
    assert listed["train"]["tags"]["keras"]["conceptual_graph"]
    names = [node.name for node in served("train", "keras", True).node]
    assert any(name.endswith("hidden") for name in names)


def test_files_are_read_where_tensorflow_is_talweg(tmp_path):
    for run in "ab":
        with tf.summary.create_file_writer(tmp_path / run).as_default():
            tf.summary.scalar("x", 2.0, step=1)
    code = (
        "import sys, talweg; talweg.as_tensorflow()\n"
        "from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer\n"
        "files = EventMultiplexer().AddRunsFromDirectory(sys.argv[1]).Reload()\n"
        "print([tuple(files.Tensors(run, 'x'))[0].step for run in 'ab'])"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert found.stdout == "[1, 1]\n", found.stderr
