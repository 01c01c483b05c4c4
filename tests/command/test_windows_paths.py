"""Files called as on Windows: with a drive and backslashes, in messages and pictures."""

from __future__ import annotations

import linecache
import ntpath

import pytest

import talweg as tf
from talweg.command.drawing.model import FOLDERS
from talweg.command.timing.report import place_in
from talweg.core.provenance import describe
from talweg.doctor.findings import Place

FILE = r"C:\Users\me\my project\train.py"
PROGRAM = """\
def step(x):
    return tf.matmul(x, x)


def rounded(w):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.round(w))
    return tape.explain(loss, w)
"""


@pytest.fixture(scope="module")
def program():
    """The functions of a program that stands in such a file."""
    linecache.cache[FILE] = (len(PROGRAM), None, PROGRAM.splitlines(True), FILE)
    names = {"tf": tf}
    exec(compile(PROGRAM, FILE, "exec"), names)
    yield names
    del linecache.cache[FILE]


@pytest.mark.parametrize("traced", [False, True])
def test_an_error_names_the_line(program, traced):
    step = tf.function(program["step"]) if traced else program["step"]
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)) as caught:
        step(tf.ones([2, 3]))
    assert f"at: {FILE}:2, in step: return tf.matmul(x, x)" in str(caught.value)


def test_the_doctor_names_the_line(program):
    found = program["rounded"](tf.Variable([0.4, 1.6]))
    assert found.code == "TW324" and (found.lines[0].file, found.lines[0].line) == (FILE, 7)
    assert f"at {FILE}:7, in rounded" in str(found)
    assert f"(at {FILE}:7, in rounded" in found.in_a_line()


def test_a_place_is_read_back(program):
    origin = (program["step"].__code__, 0)
    text = describe(origin)
    place = place_in(text)
    assert place == Place(FILE, 1, "step") or place.file == FILE


def test_a_title_is_the_file_without_its_folders():
    for path in (FILE, "/home/me/train.py", "train.py"):
        assert FOLDERS.sub("", f"{path}:12") == f"{ntpath.basename(path)}:12"
