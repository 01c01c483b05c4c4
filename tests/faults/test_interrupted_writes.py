"""A signal at any line where a run that calls Python writes variables: all are written, once."""

import sys

import pytest

import talweg as tf
from talweg.core import settings
from talweg.eager.long_runs import LongRun

WRITERS = {LongRun.__setitem__.__code__, LongRun._write_anew.__code__}


class Interrupt(BaseException):
    """What the handler of the signal raises."""


def call_interrupted(function, at):
    """Call a function; the line of a writer that comes as number `at` raises, if there is one."""
    lines = []

    def look(frame, event, _):
        if event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == at:
                raise Interrupt
        return look

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: look if frame.f_code in WRITERS else None)
    try:
        function()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("changed_meanwhile", [False, True])
@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_a_signal_at_any_line_of_a_write(executor, changed_meanwhile):
    v, w = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    other = tf.Variable(0.0)

    def python(x):
        if changed_meanwhile:
            w.assign_add(10.0)
        return x

    @tf.function
    def f():
        v.assign_add([1.0, 2.0])
        other.assign(tf.numpy_function(python, [tf.constant(1.0)], tf.float32))
        w.assign_add(1.0)
        v.assign_add([1.0, 2.0])

    with settings.executor(executor):
        f()
        at, raised = 0, True
        while raised:
            v.assign([0.0, 0.0])
            w.assign(0.0)
            at += 1
            raised = call_interrupted(f, at)
            assert v.numpy().tolist() == [2.0, 4.0]
            assert w.numpy() == 1 + 10 * changed_meanwhile
    assert at > 20
