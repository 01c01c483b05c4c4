"""Event files as they are read back: whole, cut off, damaged, left by a process that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import talweg as tf
from tests.summaries.summary_programs import events

v1 = tf.compat.v1
ROOT = Path(__file__).resolve().parents[2]


def written(folder):
    with tf.summary.create_file_writer(folder).as_default():
        for step in range(3):
            tf.summary.scalar("x", float(step), step=step)
    return next(folder.iterdir())


def read(path):
    """The steps that were read, and the error that ended it."""
    steps = []
    try:
        for event in v1.train.summary_iterator(path):
            steps.append(event.step)
    except tf.errors.DataLossError as error:
        return steps, str(error)
    return steps, None


def test_whole_files(tmp_path):
    path = written(tmp_path)
    found = list(v1.train.summary_iterator(str(path)))
    assert found[0].file_version == "brain.Event:2"
    values = [
        (event.step, value.tag, tf.make_ndarray(value.tensor).item())
        for event in found[1:]
        for value in event.summary.value
    ]
    assert values == [(0, "x", 0.0), (1, "x", 1.0), (2, "x", 2.0)]
    with pytest.raises(tf.errors.NotFoundError, match="no_file"):
        v1.train.summary_iterator(tmp_path / "no_file")


def test_damaged_files(tmp_path):
    path = written(tmp_path)
    data = path.read_bytes()
    for change, steps, text in [
        (lambda d: d[:-5], [0, 0, 1], "truncated record"),
        (lambda d: d + d[:7], [0, 0, 1, 2], "truncated record"),
        (lambda d: d[:-3] + bytes([d[-3] ^ 1]) + d[-2:], [0, 0, 1], "corrupted record"),
        (lambda d: d[:3] + bytes([d[3] ^ 1]) + d[4:], [], "corrupted record at 0"),
    ]:
        path.write_bytes(change(data))
        found, error = read(path)
        assert found == steps and error is not None and text in error and path.name in error


PROGRAM = """
import sys, talweg as tf
writer = tf.summary.create_file_writer(sys.argv[1], max_queue=2)
with writer.as_default():
    for step in range(10**6):
        tf.summary.scalar("x", float(step), step=step)
        tf.summary.histogram("h", tf.ones([100]), step=step)
        if step == 20:
            print("written", flush=True)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_leaves_a_readable_file(tmp_path, signal_number):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "written\n"
        os.kill(process.pid, signal_number)
    assert process.returncode == -signal_number
    steps = [event.step for event in events(tmp_path)]  # tensorboard's loader
    assert steps[:38] == [step for step in range(19) for _ in range(2)]
    found, error = read(next(tmp_path.iterdir()))
    assert found[1:] == steps and (error is None or "truncated" in error)


def test_a_fork_does_not_write_what_waits_a_second_time(tmp_path):
    code = (
        "import os, sys, talweg as tf; w = tf.summary.create_file_writer(sys.argv[1]); "
        "w.set_as_default(1); tf.summary.scalar('x', 1.0); child = os.fork()\n"
        "if child: os.waitpid(child, 0)\n"
        "else: tf.summary.scalar('child', 2.0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=ROOT)
    tags = [event.summary.value[0].tag for event in events(tmp_path)]
    assert sorted(tags) == ["child", "x"]


def test_a_full_disk_leaves_whole_records(tmp_path):
    code = (
        "import resource, sys, talweg as tf\n"
        "writer = tf.summary.create_file_writer(sys.argv[1], max_queue=0)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "with writer.as_default():\n"
        "    try:\n"
        "        for step in range(100): tf.summary.scalar('x', 1.0, step=step)\n"
        "    except tf.errors.ResourceExhaustedError: print(step)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "    tf.summary.scalar('x', 1.0, step=1000)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    last = int(found.stdout)
    assert last > 3
    assert [event.step for event in events(tmp_path)] == [*range(last + 1), 1000]


def test_descriptions_of_nodes():
    node = v1.NodeDef(op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "abc"}'
    assert v1.summary.get_summary_description(node).type_hint == "abc"
    with pytest.raises(ValueError, match="get_summary_description on Other"):
        v1.summary.get_summary_description(v1.NodeDef(op="Other"))
