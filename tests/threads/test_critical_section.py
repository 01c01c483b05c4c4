"""tf.CriticalSection lets one function run at a time."""

from __future__ import annotations

import threading
import time

import pytest

import talweg as tf


def test_one_at_a_time():
    section, inside, most = tf.CriticalSection(), [], []

    def work():
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.001)
        inside.pop()
        return tf.constant(1)

    threads = [threading.Thread(target=section.execute, args=(work,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8


def test_sections_of_one_name_are_one():
    first, second = (tf.CriticalSection(shared_name="same") for _ in range(2))
    with pytest.raises(ValueError, match="already"):
        first.execute(lambda: second.execute(lambda: 1))
    other = tf.CriticalSection(shared_name="other")
    assert first.execute(lambda: other.execute(lambda: 1)) == 1


def test_it_is_free_after_an_error_and_in_functions():
    section, count = tf.CriticalSection(), tf.Variable(0)
    with pytest.raises(ZeroDivisionError):
        section.execute(lambda: 1 // 0)
    add = tf.function(lambda: section.execute(lambda: count.assign_add(1)))
    assert [int(add()) for _ in range(3)] == [1, 2, 3]
