"""What a compiled call costs, counted in Python functions entered: clocks differ, these do not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import talweg as tf
from talweg.core import settings


def entered(call: Callable[[], Any]) -> int:
    """How many Python functions a call enters."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count - 1  # of `call` itself


def functions() -> dict:
    v = tf.Variable(tf.zeros([16]))
    x = tf.ones([16])
    pure = tf.function(lambda x: x * 2.0 + 1.0)
    reads = tf.function(lambda x: x * v + 1.0)

    @tf.function
    def updates(x: Any) -> Any:
        v.assign_add(x)
        return v.read_value()

    return {"pure": (pure, x, 6), "reads": (reads, x, 10), "updates": (updates, x, 24)}


@pytest.mark.parametrize("name", ["pure", "reads", "updates"])
def test_a_compiled_call_enters_few_functions(name):
    with settings.executor("llvm"):
        function, x, most = functions()[name]
        for _ in range(3):
            function(x)
        assert entered(lambda: function(x)) <= most
