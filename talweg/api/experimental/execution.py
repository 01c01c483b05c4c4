"""tf.experimental, execution: operations run at once, in the order of the program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from talweg.api.export import export


@export("experimental.async_scope")
@contextlib.contextmanager
def async_scope() -> Iterator[None]:
    """Return a block whose operations may be under way together; here each is done when its call
    returns.

    So an error is raised where it happens, and never later.

    >>> import talweg as tf
    >>> with tf.experimental.async_scope():
    ...     x = tf.constant(1.0) + 1.0
    >>> float(x)
    2.0
    """
    yield


@export("experimental.async_clear_error")
def async_clear_error() -> None:
    """Forget operations that are under way and their errors: there are none here."""


@export("experimental.function_executor_type")
@contextlib.contextmanager
def function_executor_type(executor_type: str | None) -> Iterator[None]:
    """Return a block in which functions run with an executor of TensorFlow; accepted, talweg has
    its own.

    >>> import talweg as tf
    >>> with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
    ...     int(tf.function(lambda x: x + 1)(tf.constant(1)))
    2
    """
    yield


@export("experimental.enable_strict_mode")
def enable_strict_mode() -> None:
    """Make warnings of deprecated names errors; accepted, talweg warns of none.

    >>> import talweg as tf
    >>> tf.experimental.enable_strict_mode()
    """
