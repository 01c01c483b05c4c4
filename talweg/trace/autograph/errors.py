"""Conversion of `assert`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.hooks import hooks
from talweg.trace.autograph.values import condition_of, is_symbolic


def assert_stmt(test: bool, message: Callable[[], Any]) -> None:
    """Run `assert test, message()`; for a tensor, when the graph runs."""
    test = condition_of(test)
    if is_symbolic(test):
        text = message()
        hooks.assert_in_graph(test, ["assertion failed"] if text is None else [text])
        return
    if not test:
        text = message()
        raise AssertionError() if text is None else AssertionError(text)
