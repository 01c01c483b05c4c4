"""Questions people ask about None gradients: the first screen of the answer says what to do.

Each program opens with the question, and has ``# here`` at the line that the answer must name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

QUESTIONS = Path(__file__).parent / "questions"
ROOT = Path(__file__).resolve().parents[3]
ANSWERS = {  # code, words of the remedy
    "accuracy_as_loss": ("TW324", "cross entropy"),
    "embedding_by_float_index": ("TW322", "float"),
    "float_of_the_loss": ("TW335", "keep the tensor"),
    "forward_pass_outside": ("TW316", "inside `with tf.GradientTape()"),
    "frozen_part": ("TW327", "leave tf.stop_gradient out"),
    "graph_of_tensorflow_1": ("TW324", "tf.sigmoid"),
    "manual_update": ("TW329", "assign_sub"),
    "numpy_loss": ("TW320", "tensor operations"),
    "policy_gradient": ("TW326", "Gumbel"),
    "saliency_of_the_input": ("TW310", "tape.watch(image)"),
    "state_kept_in_a_variable": ("TW328", "compute with the value"),
    "threshold_layer": ("TW324", "tf.sigmoid"),
}
SCREEN = 24  # lines


def test_every_question_has_its_answer():
    assert {path.stem for path in QUESTIONS.glob("*.py")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_first_screen_answers(name):
    path = QUESTIONS / f"{name}.py"
    code, remedy = ANSWERS[name]
    run = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
        timeout=99,
    )
    assert run.returncode == 0, run.stderr
    screen = "\n".join(run.stdout.splitlines()[:SCREEN])
    lines = path.read_text().splitlines()
    here = next(number for number, line in enumerate(lines, 1) if "# here" in line)
    assert f"[{code}]" in screen, screen
    assert remedy in screen, screen
    assert f"{path}:{here}" in screen, screen
