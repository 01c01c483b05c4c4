"""A cache folder for each test session; machine code alone is shared with others.

Machine code is the slow part, and the same whoever asks for it.  What is kept beside it would hide
from later sessions what tests look at: a program from disk has no stages.
"""

from __future__ import annotations

import getpass
import os
import shutil
import tempfile
import time
from typing import Any

from talweg.execute import cache

PREFIX = "talweg-tests-session-"
LIMIT = 512 << 20  # bytes of code that are left for later sessions
LONG = 60.0  # seconds from which a session looks how many there are
PROGRAM = b"program\n"  # what keys of machine code begin with
STORE = os.path.join(tempfile.gettempdir(), f"talweg-tests-code-{getpass.getuser()}")
_started = time.monotonic()


def begin() -> str:
    """A new folder for a session."""
    os.makedirs(STORE, mode=0o700, exist_ok=True)
    return tempfile.mkdtemp(prefix=PREFIX)


def share_code(folder: str) -> None:
    """Let machine code be in the folder that sessions share, if `folder` is one of a session."""
    if not os.path.basename(folder).startswith(PREFIX) or not cache._is_trusted(STORE):
        return
    own = cache.CompilationCache.path

    def path(self: Any, key: bytes) -> str:
        found = own(self, key)
        if self.folder != folder or not key.startswith(PROGRAM):
            return found
        return os.path.join(STORE, os.path.basename(found))

    cache.CompilationCache.path = path  # type: ignore[method-assign]


def end(folder: str) -> None:
    """Remove a session's folder, and the oldest code if there is too much."""
    shutil.rmtree(folder, ignore_errors=True)
    if time.monotonic() - _started > LONG:
        kept = cache.CompilationCache(STORE, LIMIT)
        if sum(size for _, size, _ in kept.entries()) > LIMIT:
            kept._evict()
