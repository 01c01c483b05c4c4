"""Step statistics: times and sizes of each operation of a run, for `RunMetadata`."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from talweg.compat_v1.messages import AllocatorMemoryUsed, DeviceStepStats, NodeExecStats
from talweg.graph.names import type_of

if TYPE_CHECKING:
    import numpy as np

    from talweg.graph.graph import Graph
    from talweg.passes.functionalize import Step

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class Watch:
    """Times the steps of a run: each lasts until the next one begins."""

    def __init__(self) -> None:
        self.begun = time.time_ns()
        self._zero = time.perf_counter_ns()
        self._open: tuple | None = None
        self.rows: list[tuple] = []  # node, start, end, bytes of the result

    def begin(self, step: Step, values: list) -> None:
        """Note that `step` begins."""
        self.end()
        self._open = (step, values, time.perf_counter_ns() - self._zero)

    def end(self) -> None:
        """Note that the step under way is over."""
        if self._open is not None:
            step, values, start = self._open
            now = time.perf_counter_ns() - self._zero
            self.rows.append((step.node, start, now, _bytes(values[step.out])))
            self._open = None


def _bytes(value: np.generic | np.ndarray) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes, value))
    return getattr(value, "nbytes", 0)


def report(metadata: Any, watch: Watch, graph: Graph) -> None:
    """Write the times of a watched run into a RunMetadata."""
    watch.end()
    stats = DeviceStepStats(device=DEVICE)
    for node, start, end, size in watch.rows:
        first = watch.begun + start
        stats.node_stats.append(
            NodeExecStats(
                node_name=graph.operation_name(node),
                timeline_label=type_of(node),
                all_start_micros=first // 1000,
                all_start_nanos=first,
                op_end_rel_micros=(end - start) // 1000,
                op_end_rel_nanos=end - start,
                all_end_rel_micros=(end - start) // 1000,
                all_end_rel_nanos=end - start,
                memory=[AllocatorMemoryUsed(total_bytes=size, peak_bytes=size, live_bytes=size)],
                thread_id=threading.get_ident(),
            )
        )
    metadata.step_stats.dev_stats = [stats]
