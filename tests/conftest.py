"""Shared set-up: hypothesis without deadlines (machines are slow sometimes), a cache of its own."""

from __future__ import annotations

import getpass
import os
import tempfile

from hypothesis import settings

# compiled code goes to a folder that runs share, not to the user's
_folder = os.path.join(tempfile.gettempdir(), f"talweg-tests-{getpass.getuser()}")
os.environ.setdefault("TALWEG_CACHE", _folder)

settings.register_profile("talweg", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("talweg")
