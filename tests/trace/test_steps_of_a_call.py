"""What a compiled call costs, counted in Python functions entered: clocks differ, these do not."""

from __future__ import annotations

from typing import Any

import pytest

import talweg as tf
from talweg.core import settings
from tests.counting import entered


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
        # Ten times a second, on a machine that others use, a call looks at their load.
        assert min(entered(lambda: function(x)) for _ in range(3)) <= most
