"""tf.data.Options and its parts: plain settings, which are kept, merged and checked by type.

Order (`deterministic`) is always kept and threads are few, so most of them change nothing here.
"""

from __future__ import annotations

import enum
from typing import Any

from talweg.core.errors import type_error, value_error


class AutoShardPolicy(enum.IntEnum):
    """The ways to divide a dataset between workers (`tf.data.experimental.AutoShardPolicy`)."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    """The algorithms that tune sizes (`tf.data.experimental.AutotuneAlgorithm`)."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    """The policies for state outside of a pipeline (`tf.data.experimental.ExternalStatePolicy`)."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class Settings:
    """Named settings with a type each; unset ones are None."""

    fields: dict[str, Any] = {}
    parts: dict[str, type] = {}
    defaults: dict[str, Any] = {}  # what unset ones are, if not None

    def __init__(self) -> None:
        own = {name: make() for name, make in self.parts.items()}
        object.__setattr__(self, "_values", own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (name not in self.fields and name not in self.parts):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._values.get(name, self.defaults.get(name))

    def __setattr__(self, name: str, value: object) -> None:
        wanted = self.parts.get(name) or self.fields.get(name)
        if wanted is None:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}: it is no option"
            )
        if value is not None and not isinstance(value, wanted):
            raise type_error(
                "TW104",
                f"The property {name!r} must be of type {wanted}, got: {value!r} (type: "
                f"{type(value)})",
            )
        self._values[name] = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values == self._values

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in sorted(self._values.items()))
        return f"{type(self).__name__}({inside})"

    def merge(self, options: object) -> Any:
        """Return these settings, with those that `options` sets in their place; ValueError if
        unlike."""
        if type(options) is not type(self):
            raise value_error("TW104", f"cannot merge {type(options)} into {type(self)}")
        found = type(self)()
        for name in {*self._values, *options._values}:
            mine, other = self._values.get(name), options._values.get(name)
            if isinstance(mine, Settings) and isinstance(other, Settings):
                found._values[name] = mine.merge(other)
            else:
                found._values[name] = mine if other is None else other
        return found


class AutotuneOptions(Settings):
    """`tf.data.experimental.AutotuneOptions`."""

    fields = {
        "enabled": bool,
        "cpu_budget": int,
        "ram_budget": int,
        "autotune_algorithm": AutotuneAlgorithm,
        "initial_parallelism": int,
        "min_parallelism": int,
    }


class DistributeOptions(Settings):
    """`tf.data.experimental.DistributeOptions`."""

    fields = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}
    defaults = {"auto_shard_policy": AutoShardPolicy.AUTO}


class OptimizationOptions(Settings):
    """`tf.data.experimental.OptimizationOptions`."""

    fields = {
        "apply_default_optimizations": bool,
        "filter_fusion": bool,
        "filter_parallelization": bool,
        "inject_prefetch": bool,
        "map_and_batch_fusion": bool,
        "map_and_filter_fusion": bool,
        "map_fusion": bool,
        "map_parallelization": bool,
        "noop_elimination": bool,
        "parallel_batch": bool,
        "seq_interleave_prefetch": bool,
        "shuffle_and_repeat_fusion": bool,
        "warm_start": bool,
    }


class ServiceOptions(Settings):
    """`tf.data.experimental.ServiceOptions`."""

    fields = {"pinned": bool}


class ThreadingOptions(Settings):
    """`tf.data.ThreadingOptions`."""

    fields = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class Options(Settings):
    """Options of a dataset (`tf.data.Options`), given to it by `with_options`.

    >>> import talweg as tf
    >>> options = tf.data.Options()
    >>> options.deterministic = False
    >>> options.threading.private_threadpool_size = 4
    >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
    False
    """

    fields = {
        "dataset_name": str,
        "framework_type": list,
        "deterministic": bool,
        "experimental_deterministic": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_slack": bool,
        "experimental_warm_start": bool,
        "experimental_external_state_policy": ExternalStatePolicy,
    }
    parts = {
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
        "threading": ThreadingOptions,
    }
    older = {"experimental_threading": "threading", "experimental_deterministic": "deterministic"}

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(self.older.get(name, name))

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(self.older.get(name, name), value)
