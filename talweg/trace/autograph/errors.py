"""`assert`, and tracebacks of converted code."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from talweg.core import settings
from talweg.core.hooks import hooks
from talweg.core.provenance import is_inner
from talweg.trace.autograph.values import condition_of, is_symbolic


def assert_stmt(test: Any, message: Callable[[], Any]) -> None:
    """`assert test, message()`; for a tensor, checked when the graph runs."""
    test = condition_of(test)
    if is_symbolic(test):
        text = message()
        hooks.assert_in_graph(test, ["assertion failed"] if text is None else [text])
        return
    if not test:
        text = message()
        raise AssertionError() if text is None else AssertionError(text)


def without_inner_frames(error: BaseException) -> None:
    """Take talweg's frames between the user's own out of an exception's traceback.

    What came after the user's last frame stays; so does everything under the debug setting, and
    after `tf.debugging.disable_traceback_filtering`.
    """
    if settings.debug.get() or not hooks.filters_tracebacks():
        return
    frames: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        frames.append(step)
        step = step.tb_next
    inner = [is_inner(frame.tb_frame.f_code.co_filename) for frame in frames]
    if all(inner):
        return
    last = max([place for place, hidden in enumerate(inner) if not hidden])
    kept = [frame for place, frame in enumerate(frames) if place > last or not inner[place]]
    for frame, following in zip(kept, [*kept[1:], None]):
        frame.tb_next = following
    error.__traceback__ = kept[0]
