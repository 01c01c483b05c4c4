"""Shared set-up: hypothesis without deadlines (machines are slow sometimes), quiet logging."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("talweg", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("talweg")
