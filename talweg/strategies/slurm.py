"""tf.distribute.cluster_resolver.SlurmClusterResolver: the tasks of a Slurm step as a cluster."""

from __future__ import annotations

import os
import re

from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.strategies.cluster_spec import ClusterSpec
from talweg.strategies.resolvers import ClusterResolver

_PART = re.compile(r"[^\s,\[\]]+(\[[\d,\-]+\][^\s,\[\]]*)*")
_TASKS = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def _variable(name: str) -> str:
    found = os.environ.get(f"SLURM_{name}")
    if found is None:
        raise RuntimeError(
            f"SLURM_{name} not found in environment. Not running inside a SLURM step?"
        )
    return found


def nodes_in(text: str) -> list[str]:
    """Parse a Slurm list of hosts: "n[1-2,4]" is n1, n2, n4; ValueError for other texts."""
    found: list[str] = []
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None or (part.end() < len(text) and text[part.end()] != ","):
            raise value_error(
                "TW207", f'Invalid hostlist format "{text}": Invalid part: {text[place:]}'
            )
        found += _expand(part[0])
        place = part.end() + 1
    return found


def _expand(part: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, after = rest.partition("]")
    ends = _expand(after) if after else [""]
    found = []
    for numbers in inside.split(","):
        first, _, last = numbers.partition("-")
        last = last or first
        if not first or int(last) < int(first):
            raise value_error("TW207", f'Invalid hostlist format "{part}": Invalid range {numbers}')
        for number in range(int(first), int(last) + 1):
            found += [f"{before}{number:0{len(first)}d}{end}" for end in ends]
    return found


def tasks_in(text: str) -> list[int]:
    """Parse the number of tasks of each node: "2(x2),1" is 2, 2, 1; ValueError for other texts."""
    found: list[int] = []
    for part in text.split(","):
        match = _TASKS.fullmatch(part.strip())
        if match is None:
            raise value_error(
                "TW207", f'Invalid tasks-per-node list format "{text}": Invalid part: {part}'
            )
        found += [int(match[1])] * int(match[2] or 1)
    return found


@export("distribute.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(ClusterResolver):
    """The tasks of a Slurm step (`tf.distribute.cluster_resolver.SlurmClusterResolver`).

    jobs: how many tasks each job has, by default all of them workers.  port_base: the port of the
    first task of a node; the next one has the next port.  gpus_per_node, gpus_per_task,
    tasks_per_node: what the environment says where they are not given.  auto_set_gpu: whether
    `cluster_spec` lets this task see only its own GPUs.  RuntimeError outside of a Slurm step, and
    for more tasks or GPUs than there are.

    >>> import os
    >>> import talweg as tf
    >>> step = {"PROCID": "1", "STEP_NUM_TASKS": "2", "STEP_NODELIST": "n[1-2]"}
    >>> step["STEP_TASKS_PER_NODE"] = "1(x2)"
    >>> os.environ.update({f"SLURM_{name}": value for name, value in step.items()})
    >>> resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(gpus_per_node=0)
    >>> resolver.cluster_spec()
    ClusterSpec({'worker': ['n1:8888', 'n2:8888']})
    >>> for name in step:
    ...     del os.environ[f"SLURM_{name}"]
    """

    def __init__(
        self,
        jobs: dict | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | list | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str | None = "grpc",
    ):
        self._rank = int(_variable("PROCID"))
        count = int(_variable("STEP_NUM_TASKS"))
        self._jobs = {"worker": count} if jobs is None else dict(jobs)
        nodes = nodes_in(_variable("STEP_NODELIST"))
        self._nodes = dict(zip(nodes, _tasks_of_nodes(tasks_per_node, len(nodes))))
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        there = len([part for part in visible.split(",") if part])
        gpus = there if gpus_per_node is None else gpus_per_node
        most = max(self._nodes.values(), default=1)
        self._gpus = gpus // most if gpus_per_task is None else gpus_per_task
        self._port, self._auto_set_gpu, self.rpc_layer = port_base, auto_set_gpu, rpc_layer
        self.task_type, self.task_id = None, None
        if self._gpus > gpus:
            raise RuntimeError("Requested more GPUs per node than available.")
        wanted = sum(self._jobs.values())
        if wanted > count:
            raise RuntimeError(f"Requested {wanted} tasks but only {count} were assigned.")

    def cluster_spec(self) -> ClusterSpec:
        """Return the tasks, by job; afterwards this task knows its job and number."""
        places = [(node, k) for node, tasks in self._nodes.items() for k in range(tasks)]
        found: dict[str, list[str]] = {}
        number = 0
        for job, count in self._jobs.items():
            for task in range(count):
                node, place = places[number]
                found.setdefault(job, []).append(f"{node}:{self._port + place}")
                if number == self._rank:
                    self.task_type, self.task_id = job, task
                    self._see_own(place)
                number += 1
        return ClusterSpec(found)

    def _see_own(self, place: int) -> None:
        """Let the task that is number `place` on its node see only its own GPUs."""
        if self._auto_set_gpu and self._gpus:
            first = place * self._gpus
            own = ",".join(map(str, range(first, first + self._gpus)))
            os.environ["CUDA_VISIBLE_DEVICES"] = own

    def get_task_info(self) -> tuple:
        """Return the job of this task and its number there, once the cluster was asked for."""
        return self.task_type, self.task_id

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict:
        """Return the GPUs of each task."""
        return {"GPU": self._gpus} if self._gpus else {}


def _tasks_of_nodes(given: int | list | None, nodes: int) -> list[int]:
    if given is None:
        return tasks_in(_variable("STEP_TASKS_PER_NODE"))
    return [given] * nodes if isinstance(given, int) else list(given)
