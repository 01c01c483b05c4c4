"""The name scope in force in this thread: what stands before the names of variables."""

from __future__ import annotations

import threading


class _Scope(threading.local):
    prefix = ""


current = _Scope()


def prefix() -> str:
    """The scopes entered, each with a slash behind it."""
    return current.prefix
