"""Reports of graphs and functions at rest, and what a report is."""

from __future__ import annotations

import json

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.doctor import Finding, Place, Report, examine


def model():
    x = tf1.placeholder(tf1.float32, [None, 3])
    w = tf1.Variable(tf1.ones([3, 1]), name="w")
    b = tf1.Variable(tf1.zeros([1]), name="b")
    return x, w, b, tf1.reduce_mean(tf1.square(x @ w + b))


def test_a_clean_graph_has_no_finding():
    with tf1.Graph().as_default() as graph:
        x, _, _, loss = model()
        step = tf1.train.AdamOptimizer(0.1).minimize(loss)
        init = tf1.global_variables_initializer()
        with tf1.Session() as session:
            session.run(init)
            session.run(step, {x: np.ones((2, 3))})
            report = graph.report(session, loss)
    assert report.codes == [], str(report)
    assert report.facts["variables"] >= 2


def test_a_graph_says_what_is_wrong_with_it():
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        x, w, b, _ = model()
        unused = tf1.Variable(tf1.zeros([5]), name="unused")
        loss = tf1.reduce_sum(x @ w)
        kept = tf1.reduce_sum(tf1.constant(np.ones((600, 600))))
        for _ in range(20):
            again = tf1.sqrt(tf1.square(x))
        for number in range(400):
            gone = x * float(number + 2)
        session.run(tf1.variables_initializer([w, b]))
        report = graph.report(session, loss)
        assert kept is not None and again is not None and gone is not None and unused is not None
    assert report.codes == ["TW603", "TW604", "TW605", "TW610", "TW611", "TW612"], str(report)
    named = {finding.code: finding for finding in report}
    assert "tf1.sqrt(tf1.square(x))" in named["TW603"].title
    assert "unused:0" in named["TW610"].title
    assert "b:0" in named["TW612"].title


def test_a_loop_written_out_into_a_graph_is_found():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [3])
        for number in range(400):
            x = tf1.sin(x)
        report = graph.report()
    assert report.codes == ["TW620"], str(report)
    assert report.findings[0].count == 400


def test_first_values_and_optimizers_are_no_waste():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [None, 512])
        w = tf1.Variable(np.ones((512, 1024), np.float32))
        loss = tf1.reduce_mean(x @ w)
        step = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
        assert step is not None
        assert graph.report(loss=loss).codes == []


def test_a_function_says_why_it_was_traced_and_what_its_traces_hold():
    data = np.ones((1000, 300), np.float32)

    @tf.function
    def step(x, factor):
        return tf.reduce_sum(x * factor + data)

    for factor in range(5):
        step(tf.ones([300]), factor)
    report = step.report()
    assert report.codes == ["TW604", "TW606"], str(report)
    assert "factor: the Python value 4" in report.findings[1].cause
    assert "tf.constant" in report.findings[1].cure
    assert report.facts["times traced"] == 5


def test_a_clean_function_has_no_finding():
    @tf.function
    def step(x):
        return tf.reduce_sum(x * x)

    for size in range(1, 8):
        step(tf.ones([size]))
    assert step.report().codes == [], str(step.report())
    method = Model()
    method.step(tf.ones([3]))
    assert method.step.report().facts["traces kept"] == 1


class Model:
    @tf.function
    def step(self, x):
        return x + 1.0


def test_dtypes_that_differ_have_their_own_cure():
    @tf.function
    def step(x):
        return tf.reduce_sum(x)

    for dtype in (tf.float32, tf.float64, tf.int32, tf.int64):
        step(tf.ones([2], dtype))
    finding = step.report().findings[0]
    assert (finding.code, "Cast" in finding.cure) == ("TW606", True), str(finding)


def test_a_report_prints_as_text_html_and_json():
    place = Place(__file__, 1)
    finding = Finding("TW604", "a <title>", "a cause", (place,), 3, "a cost", "a cure")
    report = Report("a program", (finding,), {"nodes": 12345}, ((0.0, 10**6, 1), (1.0, 10**7, 2)))
    text = str(report)
    assert "TW604  a <title>" in text and "nodes: 12,345" in text and f"{__file__}:1" in text
    page = report._repr_html_()
    assert "a &lt;title&gt;" in page and "<svg" in page and "<title>" not in page
    values = json.loads(report.to_json())
    assert values["findings"][0]["places"][0]["line"] == 1
    assert values["findings"][0]["count"] == 3
    assert report.exit_status == 1 and Report("x").exit_status == 0 and bool(Report("x"))


def test_an_error_of_the_program_is_not_swallowed_and_the_report_is_there():
    seen = examine()
    with pytest.raises(ZeroDivisionError), seen:
        tf.square([1.0])
        _ = 1 / 0
    assert seen.report.codes == ["TW616"]


def test_examinations_nest():
    with examine() as outer:
        with examine() as inner:
            tf.square([1.0])
        tf.sqrt([1.0])
    assert [len(inner.report), len(outer.report)] == [1, 1]
    assert "square" in inner.report.findings[0].title
    assert "sqrt" in outer.report.findings[0].title


def test_nothing_is_observed_afterwards():
    with examine() as seen:
        pass
    tf.square([1.0])
    assert seen.report.codes == []


def test_variables_and_arrays_inside_loops_and_branches_are_seen():
    with tf1.Graph().as_default() as graph:
        w = tf1.Variable(2.0, name="w")
        count = tf1.Variable(0, trainable=False, name="count")
        data = np.ones((700, 700), np.float32)

        def body(i, x):
            with tf1.control_dependencies([tf1.assign_add(count, 1)]):
                return i + 1, x * w + tf1.reduce_sum(tf1.constant(data) * x)

        _, out = tf1.while_loop(lambda i, x: i < 3, body, [0, 1.0])
        report = graph.report(loss=out)
    assert report.codes == ["TW604"], str(report)


def test_a_report_takes_linear_time_and_no_recursion():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [3])
        for _ in range(20_000):
            x = x * 1.0001
        report = graph.report()
    assert report.codes == ["TW620"]
    assert report.findings[0].count == 20_000


def test_the_doctor_is_reached_from_the_package():
    assert tf.doctor.examine is examine
