"""tf.train.CheckpointOptions: settings for writing a checkpoint."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from talweg.api.export import export
from talweg.core.errors import type_error, value_error
from talweg.interop.checkpoint.sharding import ShardingCallback


@export("train.CheckpointOptions", "compat.v1.train.CheckpointOptions")
class CheckpointOptions:
    """Options of reading and writing a `Checkpoint` (`tf.train.CheckpointOptions`).

    experimental_write_callbacks: functions of the path, or of nothing, called after each write.
    experimental_sharding_callback: what says which tensors go into which data file
    (`tf.train.experimental.MaxShardSizePolicy`).
    The others are accepted: files are local, and are there when a call returns.

    >>> import talweg as tf
    >>> options = tf.train.CheckpointOptions(experimental_write_callbacks=[lambda path: None])
    >>> len(options.experimental_write_callbacks)
    1
    """

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: list[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: ShardingCallback | None = None,
    ):
        self.experimental_io_device = experimental_io_device
        self.enable_async = enable_async or experimental_enable_async_checkpoint
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback
        shares = experimental_sharding_callback
        if shares is not None and not isinstance(shares, ShardingCallback):
            raise value_error(
                "TW104",
                f"experimental_sharding_callback is {shares!r}",
                "a tf.train.experimental.ShardingCallback",
            )
        for callback in experimental_write_callbacks or ():
            if not callable(callback) or len(inspect.signature(callback).parameters) > 1:
                raise type_error(
                    "TW104",
                    f"experimental_write_callbacks has {callback!r}",
                    "functions of the path or of nothing",
                )

    def run_callbacks(self, path: str) -> None:
        """Call the callbacks."""
        for callback in self.experimental_write_callbacks or ():
            if inspect.signature(callback).parameters:
                callback(path)
            else:
                callback()
