"""tf.compat.v1: options of sessions and runs, and metadata of runs, as plain objects.

They have the fields of TensorFlow's messages of these names.  Options are accepted and kept; a run
on one CPU has no use for them.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import type_error, value_error

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class Message:
    """An object with fixed fields; `FIELDS` has their defaults, classes are made anew."""

    FIELDS: dict[str, Any] = {}

    def __init__(self, **given: object):
        for name, default in self.FIELDS.items():
            object.__setattr__(self, name, default() if callable(default) else default)
        for name, value in given.items():
            if name not in self.FIELDS:
                raise value_error(
                    "TW104", f'Protocol message {type(self).__name__} has no "{name}" field.'
                )
            self._take(name, value)

    def _take(self, name: str, value: object) -> None:
        present = getattr(self, name)
        if isinstance(present, Message) and isinstance(value, dict):
            value = type(present)(**value)
        if isinstance(present, Message) and not isinstance(value, type(present)):
            raise type_error("TW104", f"{type(self).__name__}.{name} = {value!r}")
        if isinstance(present, (list, dict)):
            value = type(present)(value)  # type: ignore
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.FIELDS:
            raise AttributeError(
                f"Assignment not allowed (no field {name!r} in {type(self).__name__})  [TW104]"
            )
        object.__setattr__(self, name, value)

    def CopyFrom(self, other: Any) -> None:
        """Take over all fields of `other`, a message of this class."""
        for name in self.FIELDS:
            object.__setattr__(self, name, copy.deepcopy(getattr(other, name)))

    def MergeFrom(self, other: TensorLike) -> None:
        """Take over the fields of `other` that differ from the default."""
        fresh = type(self)()
        for name in self.FIELDS:
            if getattr(other, name) != getattr(fresh, name):
                object.__setattr__(self, name, copy.deepcopy(getattr(other, name)))

    def Clear(self) -> None:
        """Give every field its default."""
        self.CopyFrom(type(self)())

    def HasField(self, name: str) -> bool:
        """Return whether a field has another value than its default."""
        return getattr(self, name) != getattr(type(self)(), name)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fresh = type(self)()
        lines = []
        for name in self.FIELDS:
            value = getattr(self, name)
            if value != getattr(fresh, name):
                lines.append(f"{name}: {value!r}")
        return "\n".join(lines)


@export("compat.v1.GPUOptions")
class GPUOptions(Message):
    """Options for GPUs: accepted.

    >>> import talweg.compat.v1 as tf
    >>> tf.GPUOptions(allow_growth=True).allow_growth
    True
    """

    FIELDS = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
        "experimental": dict,
    }


@export("compat.v1.OptimizerOptions")
class OptimizerOptions(Message):
    """Options for the optimizer of graphs: accepted."""

    DEFAULT, L1, L0 = 0, 0, -1
    OFF, ON_1, ON_2 = -1, 1, 2
    FIELDS = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "max_folded_constant_in_bytes": 0,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
        "cpu_global_jit": False,
    }


class RewriterConfig(Message):
    """Options for graph rewriting: accepted."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    FIELDS = {
        "layout_optimizer": 0,
        "disable_model_pruning": False,
        "constant_folding": 0,
        "remapping": 0,
        "arithmetic_optimization": 0,
        "dependency_optimization": 0,
        "loop_optimization": 0,
        "function_optimization": 0,
        "debug_stripper": 0,
        "shape_optimization": 0,
        "auto_mixed_precision": 0,
        "memory_optimization": 0,
        "disable_meta_optimizer": False,
        "optimizers": list,
    }


@export("compat.v1.GraphOptions")
class GraphOptions(Message):
    """Options for graphs: accepted."""

    FIELDS = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }


@export("compat.v1.ConfigProto")
class ConfigProto(Message):
    """Options of a session: accepted.  ValueError for other fields than TensorFlow's.

    >>> import talweg.compat.v1 as tf
    >>> config = tf.ConfigProto(allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> tf.Session(config=config).close()
    """

    FIELDS = {
        "device_count": dict,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "session_inter_op_thread_pool": list,
        "placement_period": 0,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "rpc_options": dict,
        "cluster_def": dict,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": dict,
    }


@export("compat.v1.RunOptions")
class RunOptions(Message):
    """Options of one run; `trace_level` other than NO_TRACE asks for step statistics.

    >>> import talweg.compat.v1 as tf
    >>> tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE).trace_level
    3
    """

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    FIELDS = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": dict,
        "report_tensor_allocations_upon_oom": False,
        "experimental": dict,
    }


class AllocatorMemoryUsed(Message):
    """The memory one operation asked for."""

    FIELDS = {"allocator_name": "cpu", "total_bytes": 0, "peak_bytes": 0, "live_bytes": 0}


class NodeExecStats(Message):
    """Statistics of one operation of a run: when it ran, for how long, the size of its results.

    Times are in microseconds; `timeline_label` has the type of the operation.
    """

    FIELDS = {
        "node_name": "",
        "all_start_micros": 0,
        "op_start_rel_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "all_start_nanos": 0,
        "op_end_rel_nanos": 0,
        "all_end_rel_nanos": 0,
        "memory": list,
        "output": list,
        "timeline_label": "",
        "scheduled_micros": 0,
        "thread_id": 0,
    }


class DeviceStepStats(Message):
    """Statistics of one device in a run."""

    FIELDS = {"device": "", "node_stats": list, "thread_names": dict}


class StepStats(Message):
    """Statistics of all devices in a run."""

    FIELDS = {"dev_stats": list}


@export("compat.v1.RunMetadata")
class RunMetadata(Message):
    """Metadata of a run: `step_stats.dev_stats[0].node_stats`, one entry an operation.

    >>> import talweg.compat.v1 as tf
    >>> metadata = tf.RunMetadata()
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.placeholder_with_default(2.0, [])
    ...     options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    ...     value = session.run(tf.sin(x), options=options, run_metadata=metadata)
    >>> [node.timeline_label for node in metadata.step_stats.dev_stats[0].node_stats]
    ['PlaceholderWithDefault', 'Sin']
    """

    FIELDS = {"step_stats": StepStats, "cost_graph": dict, "partition_graphs": list}
