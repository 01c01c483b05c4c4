"""The name scope in force in this thread: what stands before the names of variables."""

from __future__ import annotations

import threading

from talweg.core.thread_context import carry_context


class _Scope(threading.local):
    """`prefix`: the scopes entered, each with a slash behind it."""

    prefix = ""


current = carry_context(_Scope())
