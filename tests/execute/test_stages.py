"""What is to be seen of compiling: the settings, the profile, the command line."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

import talweg as tf
from talweg.core import settings
from talweg.eager.structured import STATE
from talweg.execute.kernel_profile import profile, table
from talweg.passes.functionalize import program_of

PROGRAM = """
import talweg as tf

@tf.function
def shares(x):
    return tf.nn.softmax(x * 2)

print(float(tf.reduce_sum(shares(tf.ones([4, 5])))))
"""


def command(tmp_path, *arguments):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    root = os.path.dirname(os.path.dirname(tf.__file__))
    return subprocess.run(
        [sys.executable, "-m", "talweg", *arguments, str(path)],
        text=True,
        capture_output=True,
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )


def test_dump_writes_every_stage(tmp_path):
    done = command(tmp_path, "dump", "--to", "stages")
    assert done.stdout == "4.0\n"
    (folder,) = (tmp_path / "stages").iterdir()
    assert folder.name.endswith("shares")
    names = {path.name for path in folder.iterdir()}
    assert {"static-0.txt", "static-split.txt", "loops.txt", "llvm.ll", "assembly.s"} <= names
    assert "reduce_max" in (folder / "static-0.txt").read_text()
    assert "for o0 in 4 parallel:" in (folder / "loops.txt").read_text()


def test_profile_names_kernels_and_lines(tmp_path):
    done = command(tmp_path, "profile")
    assert "shares" in done.stderr and "reduce_max" in done.stderr
    assert "program.py:6" in done.stderr


def test_what_is_compiled_is_told(capfd):
    with settings.executor("llvm"), settings.debug(1):
        tf.function(lambda x: tf.exp(x) * 2)(tf.ones([3]))
        tf.function(lambda x: tf.unique(x).y)(tf.constant([1, 1]))
    told = capfd.readouterr().err
    assert (
        "compiled, 1 blocks" in told
        and "is interpreted: what could be compiled is too little" in told
    )


def test_a_profile_counts_every_block_and_changes_nothing():
    variable = tf.Variable(np.ones((64, 64), np.float32))

    @tf.function
    def step(x):
        variable.assign_add(x @ x)
        return tf.linalg.cholesky(variable @ tf.transpose(variable) + tf.eye(64))

    x = tf.constant(np.eye(64, dtype=np.float32))
    with settings.executor("llvm"):
        step(x)
        concrete = step.get_concrete_function(x)
        (compiled,) = program_of(concrete.body).tier.versions.values()
        before = variable.numpy()
        times = profile(compiled, [x._array, variable._tensor._array], STATE, repeats=2)
    assert np.array_equal(variable, before)
    assert len(times) == len(compiled.lowered.program.blocks)
    assert any(each.name == "host" and "cholesky" in each.operations for each in times)
    assert "cholesky" in table(times)
