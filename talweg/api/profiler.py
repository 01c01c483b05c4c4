"""tf.profiler.experimental: the times of compiled functions, from `start` to `stop`."""

from __future__ import annotations

import contextlib
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.export import export
from talweg.core import settings
from talweg.core.errors import AlreadyExistsError, UnavailableError, compose
from talweg.core.lazy import LazyModule
from talweg.formats.profile_planes import space

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike
    from talweg.execute import kernel_profile
else:
    kernel_profile = LazyModule("talweg.execute.kernel_profile")

FOLDER: list[Path] = []  # where the report of the profile that is running goes


@export("profiler.experimental.ProfilerOptions")
class ProfilerOptions(NamedTuple):
    """Options of a profile; accepted, talweg times compiled functions.

    >>> import talweg as tf
    >>> tf.profiler.experimental.ProfilerOptions(python_tracer_level=1).host_tracer_level
    2
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


@export("profiler.experimental.start")
def start(logdir: Any, options: Any = None) -> None:
    """Begin to time compiled functions; AlreadyExistsError if that has begun already."""
    if FOLDER:
        raise AlreadyExistsError(
            None, None, compose("TW207", "Another profiler is running.", hint="stop it first")
        )
    FOLDER.append(Path(logdir))
    settings.profile.set(True)


@export("profiler.experimental.stop")
def stop(save: bool = True) -> None:
    """End the profile, and write it to plugins/profile in the log directory.

    talweg.txt is a table to read; the other file is for TensorBoard's profile page.

    UnavailableError if no profile has begun.
    """
    if not FOLDER:
        raise UnavailableError(
            None, None, compose("TW207", "Cannot export profiling results. No profiler is running.")
        )
    settings.profile.set(False)
    folder = FOLDER.pop() / "plugins" / "profile"
    if save:
        folder.mkdir(parents=True, exist_ok=True)
        programs = kernel_profile.profiles()
        (folder / "talweg.txt").write_text(kernel_profile.text_of(programs))
        run = folder / time.strftime("%Y_%m_%d_%H_%M_%S")
        run.mkdir(exist_ok=True)
        message = space(programs, time.time_ns())
        (run / f"{platform.node() or 'localhost'}.xplane.pb").write_bytes(message)


@export("profiler.experimental.Trace")
class Trace(contextlib.AbstractContextManager):
    """A block with a name; its compiled functions are timed like any other.

    >>> import talweg as tf
    >>> with tf.profiler.experimental.Trace("train", step_num=1):
    ...     int(tf.constant(1) + 1)
    2
    """

    def __init__(self, name: str, **kwargs: object):
        self.name, self.metadata = name, kwargs

    def set_metadata(self, **kwargs: object) -> None:
        """Add facts about the block."""
        self.metadata.update(kwargs)

    def __exit__(self, *error: object) -> None:
        return None


@export("profiler.experimental.Profile")
class Profile(contextlib.AbstractContextManager):
    """A block that is profiled: `start` when it is entered, `stop` at its end.

    AlreadyExistsError if a profile runs already.

    >>> import pathlib, tempfile
    >>> import talweg as tf
    >>> folder = tempfile.mkdtemp()
    >>> with tf.profiler.experimental.Profile(folder):
    ...     _ = tf.function(lambda x: x + 1.0)(tf.constant(1.0))
    >>> (pathlib.Path(folder) / "plugins" / "profile" / "talweg.txt").exists()
    True
    """

    def __init__(self, logdir: PathLike, options: ProfilerOptions | None = None):
        self._logdir, self._options = logdir, options

    def __enter__(self) -> Profile:
        start(self._logdir, self._options)
        return self

    def __exit__(self, *error: object) -> None:
        stop()
