"""Questions people ask about growing graphs and slowness: the first finding answers each.

Each program opens with the question, and has ``# here`` at the line that the answer must name.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.doctor.waste.support import marked_lines, report_of

QUESTIONS = Path(__file__).parent / "questions"
ANSWERS = {  # code of the first finding, words of its cure
    "clipping_does_nothing": ("TW616", "Give the result a name"),
    "custom_loop_is_slow": ("TW619", "@tf.function"),
    "dataset_in_a_function": ("TW604", "argument of the tf.function"),
    "duplicate_ones": ("TW603", "once, before the loop"),
    "function_in_a_loop": ("TW607", "Apply tf.function once"),
    "graph_grows_by_assign": ("TW602", "once, before the loop"),
    "graphdef_larger_than_2gb": ("TW604", "placeholder"),
    "iterating_over_a_tensor": ("TW618", "whole tensor"),
    "layer_makes_variables": ("TW613", "tf.AUTO_REUSE"),
    "optimizer_in_the_loop": ("TW601", "Build before the loop"),
    "ram_grows_with_every_batch": ("TW617", "float(loss)"),
    "retracing_warning": ("TW606", "as a tensor"),
    "session_per_request": ("TW621", "one session"),
    "state_through_feed_dict": ("TW615", "tf.Variable"),
    "uninitialized_value": ("TW610", "after every variable"),
}
SCREEN = 24  # lines


def test_every_question_has_its_answer():
    assert {path.stem for path in QUESTIONS.glob("*.py")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_first_finding_answers(name, caplog):
    caplog.set_level(logging.ERROR, "talweg")
    path = QUESTIONS / f"{name}.py"
    code, cure = ANSWERS[name]
    report = report_of(path)
    finding = report.findings[0]
    assert finding.code == code, str(report)
    assert cure in finding.cure
    assert marked_lines(path)[0] in [place.line for place in finding.places], str(finding)
    screen = " ".join(" ".join(str(report).splitlines()[:SCREEN]).split())
    assert cure in screen and f"{path}:{marked_lines(path)[0]}" in screen
