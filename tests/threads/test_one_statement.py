"""That a variable is free is tested, and it is taken, with no call in between."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

import pytest

from talweg.core import locking
from talweg.trace.concrete import ConcreteFunction

TAKING = [locking.hold, locking._wait_for, ConcreteFunction._call_holding]


@pytest.mark.parametrize("function", TAKING, ids=lambda function: function.__name__)
def test_no_call_comes_between_test_and_taking(function: Callable[..., Any]) -> None:
    steps = list(dis.get_instructions(function))
    stores = [i for i, s in enumerate(steps) if (s.opname, s.argval) == ("STORE_ATTR", "_held")]
    tests = [i for i, s in enumerate(steps) if (s.opname, s.argval) == ("LOAD_ATTR", "_held")]
    after = [store for store in stores if any(test < store for test in tests)]
    assert after
    first = after[0]
    start = max(test for test in tests if test < first)
    between = [step.opname for step in steps[start:first]]
    assert not [name for name in between if "CALL" in name], between
