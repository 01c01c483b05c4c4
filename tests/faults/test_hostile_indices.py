"""Hostile indices read and write nothing outside of arrays, in any executor."""

from __future__ import annotations

import pytest

from tests.faults.hostile_indices import EXECUTORS, KINDS, run_in_child


@pytest.mark.parametrize("executor", EXECUTORS)
def test_nothing_outside_is_touched(executor):
    wrong = {}
    for name in KINDS:
        found = run_in_child(name, executor, 12, 1)
        if found:
            wrong[name] = found
    assert not wrong
