"""`talweg profile`: time counts once, is told by line and operation; nothing stays replaced."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import time
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.command.line import main
from talweg.command.profile import recording
from talweg.command.timing import chrome, seams
from talweg.command.timing.clock import Clock, Key
from talweg.command.timing.sampler import place_of
from talweg.core import dispatch, settings
from talweg.eager.tensor import EagerTensor
from talweg.execute import backends, executor, interpret
from talweg.execute.compiled import CALLED


def test_nested_work_counts_once():
    clock = Clock()
    outer, inner = Key("operation", "outer", None), Key("operation", "inner", None)
    clock.enter()
    time.sleep(0.01)
    clock.enter()
    time.sleep(0.02)
    clock.leave(inner)
    clock.leave(outer)
    clock.stop()
    assert clock.spent[inner].own == clock.spent[inner].whole >= 0.02e9
    assert clock.spent[outer].own == clock.spent[outer].whole - clock.spent[inner].whole
    assert sum(spent.own for spent in clock.spent.values()) <= clock.total
    assert [event["name"] for event in chrome.events_of(clock)] == ["inner", "outer"]


def functions_in_place():
    return (
        dispatch.state.evaluate,
        executor.run,
        interpret.run,
        backends.compile_program,
        EagerTensor.__add__,
        EagerTensor.__rmul__,
        tf.GradientTape.gradient,
    )


def test_operators_of_constants_inside_a_function_that_is_traced():
    """What they give is a node, which has no bytes and did not run."""
    x = tf.ones([4, 3])
    with settings.executor("interpret"), recording() as found:
        y = tf.function(lambda z: x - tf.sin(z))(x)
    assert y.shape == (4, 3)
    operations = {row.name: row for row in found.profile.operations()}
    assert operations["sub"].calls == 1  # when the function ran


def test_operations_of_all_kinds_are_counted():
    before = functions_in_place()
    x = tf.ones([10, 10])
    double = tf.function(lambda x: tf.sin(x) * 2.0)
    with settings.executor("interpret"), recording() as found:
        for _ in range(5):
            x = x + 1.0
        tf.matmul(x, x)
        double(x)
        double(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x)
        tape.gradient(y, x)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.matmul(x, tf.ones([3]))
        with tf1.Graph().as_default(), tf1.Session() as session:
            session.run(tf1.sqrt(tf1.constant(4.0)))
    assert functions_in_place() == before
    operations = {row.name: row for row in found.profile.operations()}
    assert operations["add"].calls >= 5 and operations["add"].size >= 5 * 400
    assert operations["sin"].calls == 2 and operations["sqrt"].calls == 1
    assert operations["matmul"].calls >= 1
    kinds = found.profile.kinds()
    assert kinds["trace"].calls == 1 and kinds["gradient"].calls == 1
    total = sum(spent.own for spent in kinds.values())
    assert total == pytest.approx(found.clock.total, rel=0.02)
    sines = [row for row in found.profile.lines() if "sin" in row.parts]
    assert [row.place.source for row in sines] == [
        "double = tf.function(lambda x: tf.sin(x) * 2.0)"
    ]
    assert "By operation" in found.text()


def test_programs_of_sessions_are_told_apart():
    with settings.executor("llvm"), recording() as found, tf1.Graph().as_default():
        x = tf1.placeholder(tf1.float32, [8])
        y, z = tf1.exp(x), tf1.reduce_sum(tf1.sin(x))
        with tf1.Session() as session:
            session.run(y, {x: [1.0] * 8})
            session.run(z, {x: [1.0] * 8})
            for _ in range(2):
                session.run([y, z], {x: [1.0] * 8})
    names = [name for name, _ in found.profile.kernels]
    assert len(names) == len(set(names)) == 3 and all("session.run at" in name for name in names)
    text = found.text(top=1)
    assert all(name in text for name in names)
    compiled = [key.name for key in found.clock.spent if key.kind == "compiled"]
    assert sorted(compiled) == sorted(names)


def test_arguments_are_kept_while_the_profile_lasts_only():
    """Else rows of variables could not be written in place after it, and memory stayed held."""
    late = tf.function(lambda x: x * 3.0)
    before = list(CALLED)  # of profiles that other tests did not end
    for fails in (False, True):
        double = tf.function(lambda x: x * 2.0)
        with contextlib.suppress(ZeroDivisionError), settings.executor("llvm"), recording():
            x = tf.constant([1.0] * 8) + 1.0
            double(x)
            array = weakref.ref(x._array)
            assert any(each.last for each in CALLED if each not in before)
            1 / (0 if fails else 1)  # noqa: B018
        del x
        gc.collect()
        assert array() is None and before == CALLED
        with settings.executor("llvm"):
            x = tf.constant([1.0] * 16) + 1.0
            late(x)
            double(x)
            array = weakref.ref(x._array)
        del x
        gc.collect()
        assert array() is None


def test_after_an_error_everything_is_as_before():
    before = functions_in_place()
    with pytest.raises(ZeroDivisionError), seams.time_block(Clock()):
        assert functions_in_place() != before
        1 / 0  # noqa: B018
    assert functions_in_place() == before


PROGRAM = """
import tensorflow as tf
@tf.function
def shares(x):
    return tf.nn.softmax(x * 2)
def busy():
    return sum(i * i for i in range(400_000))
for _ in range(3):
    print(float(tf.reduce_sum(shares(tf.ones([4, 5])))))
busy()
"""


def test_the_command_tells_lines_kernels_and_a_trace(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    assert main(["profile", "--trace", "trace.json", "--json", "program.py"]) == 0
    printed = capfd.readouterr()
    data = json.loads(printed.out)
    assert "4.0" in printed.err  # the program's own output made way
    assert data["kinds"]["compile"]["calls"] == 1 and "shares" in data["kernels"]
    lines = {row["place"]["line"]: row for row in data["lines"] if row["place"]}
    assert lines[5]["calls"] == 3
    assert lines[7]["python"] > 0 and lines[7]["seconds"] == 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"shares", "reduce_sum"} <= {event["name"] for event in events}
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")


def test_the_status_of_a_program_that_fails(tmp_path, capfd):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\ntf.ones([2]) + tf.ones([3])\n")
    assert main(["profile", "--executor", "auto", str(path)]) == 3
    err = capfd.readouterr().err
    assert "[TW201]" in err and "program.py:2" in err and "By line" in err


def test_instructions_without_a_line_count_for_their_function():
    code = Clock.stop.__code__.replace(co_filename="train.py")
    frame: Any = SimpleNamespace(f_code=code, f_lineno=None, f_back=None, f_locals={})
    assert place_of(frame) == ("train.py", Clock.stop.__code__.co_firstlineno, "stop")


def test_an_import_is_no_time_of_the_line_that_stands_there(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "slow_package.py").write_text("import time\ntime.sleep(0.2)\n")
    monkeypatch.syspath_prepend(str(folder))
    with recording() as found:
        importlib.import_module("slow_package")
    rows = {row.name: row.python for row in found.profile.lines()}
    assert rows["importing slow_package"] > 0.1
    assert sum(rows.values()) - rows["importing slow_package"] < 0.1
