"""tf.compat.v1.logging: TensorFlow 1's own names for the logger `tensorflow`."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from talweg.api.compat import get_logger
from talweg.api.export import export, export_value

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

for _name, _level in (
    ("DEBUG", logging.DEBUG),
    ("INFO", logging.INFO),
    ("WARN", logging.WARNING),
    ("ERROR", logging.ERROR),
    ("FATAL", logging.FATAL),
):
    export_value(_level, f"compat.v1.logging.{_name}")

_calls: Counter[tuple] = Counter()  # calls of log_every_n and log_first_n, by message
_lock = threading.Lock()


def logger() -> logging.Logger:
    """Return the logger; it writes to stderr if nothing else is set up, as TensorFlow's does."""
    found = get_logger()
    if not found.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        found.addHandler(handler)
        found.propagate = False
    return found


@export("compat.v1.logging.set_verbosity")
def set_verbosity(v: int) -> None:
    """Let messages through from a level on."""
    logger().setLevel(v)


@export("compat.v1.logging.get_verbosity")
def get_verbosity() -> int:
    """Return the level from which messages are let through.

    >>> import talweg.compat.v1 as tf
    >>> tf.logging.set_verbosity(tf.logging.ERROR)
    >>> tf.logging.get_verbosity() == tf.logging.ERROR
    True
    """
    return logger().getEffectiveLevel()


@export("compat.v1.logging.log")
def log(level: int, msg: str | None, *args: Any, **kwargs: Any) -> None:
    """Log a message of some level."""
    logger().log(level, msg, *args, **kwargs)


@export("compat.v1.logging.vlog")
def vlog(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a message of some level."""
    logger().log(level, msg, *args, **kwargs)


@export("compat.v1.logging.debug")
def debug(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a message of level DEBUG."""
    logger().debug(msg, *args, **kwargs)


@export("compat.v1.logging.info")
def info(msg: str | None, *args: Any, **kwargs: Any) -> None:
    """Log a message of level INFO."""
    logger().info(msg, *args, **kwargs)


@export("compat.v1.logging.warning", "compat.v1.logging.warn")
def warning(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a message of level WARN."""
    logger().warning(msg, *args, **kwargs)


@export("compat.v1.logging.error")
def error(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a message of level ERROR."""
    logger().error(msg, *args, **kwargs)


@export("compat.v1.logging.fatal")
def fatal(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a message of level FATAL; the program goes on all the same."""
    logger().fatal(msg, *args, **kwargs)


@export("compat.v1.logging.log_if")
def log_if(level: int, msg: str, condition: TensorLike, *args: object) -> None:
    """Log a message, if `condition` holds."""
    if condition:
        logger().log(level, msg, *args)


def _count(key: tuple) -> int:
    with _lock:
        _calls[key] += 1
        return _calls[key] - 1


@export("compat.v1.logging.log_every_n")
def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log a message at the first and then every `n`-th call with it."""
    log_if(level, msg, not _count(("every", msg)) % n, *args)


@export("compat.v1.logging.log_first_n")
def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log a message at the first `n` calls with it."""
    log_if(level, msg, _count(("first", msg)) < n, *args)


@export("compat.v1.logging.TaskLevelStatusMessage")
def task_level_status_message(msg: str) -> None:
    """Log a message of level ERROR."""
    logger().error(msg)


@export("compat.v1.logging.flush")
def flush() -> None:
    """Flush the handlers of the log."""
    for handler in logger().handlers:
        handler.flush()
