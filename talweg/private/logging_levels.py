"""`tensorflow.python.platform.tf_logging`: its constants; its functions are public."""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
WARNING = WARN


def __getattr__(name: str) -> Any:
    return look_up(f"compat.v1.logging.{name}")
