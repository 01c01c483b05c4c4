"""tf.train.ClusterSpec: which machines there are and what each of them does, as a description."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export, look_up
from talweg.core.errors import type_error, value_error


@export("train.ClusterSpec")
class ClusterSpec:
    """Jobs with the addresses of their tasks (`tf.train.ClusterSpec`).

    cluster: another one, a `tf.train.ClusterDef`, or a dictionary from jobs to lists of addresses,
    or to dictionaries from numbers to addresses.  TypeError for anything else; ValueError for an
    unknown job or task.

    >>> import talweg as tf
    >>> spec = tf.train.ClusterSpec({"worker": ["one:2222", "two:2222"], "ps": {3: "three:2222"}})
    >>> spec.task_address("worker", 1), spec.task_indices("ps")
    ('two:2222', [3])
    """

    def __init__(self, cluster: object):
        if isinstance(cluster, ClusterSpec):
            cluster = {job: dict(tasks) for job, tasks in cluster._tasks.items()}
        elif type(cluster).__name__ == "ClusterDef":
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(cluster, dict):
            raise type_error(
                "TW104",
                "`cluster` must be a dictionary mapping one or more job names to lists of "
                f"network addresses, or a `ClusterSpec`: {cluster!r}",
            )
        self._tasks = {str(job): _addresses(job, tasks) for job, tasks in cluster.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def as_dict(self) -> dict:
        """Return jobs with lists of addresses, or dictionaries where numbers are left out."""
        found: dict[str, Any] = {}
        for job, tasks in self._tasks.items():
            dense = sorted(tasks) == list(range(len(tasks)))
            found[job] = [tasks[n] for n in sorted(tasks)] if dense else dict(tasks)
        return found

    def as_cluster_def(self) -> Any:
        """Return a `tf.train.ClusterDef` of these jobs."""
        found = look_up("train.ClusterDef")()
        for job in sorted(self._tasks):
            found.job.add(name=job, tasks=self._tasks[job])
        return found

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job."""
        return len(self._of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of the tasks of a job."""
        return sorted(self._of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task."""
        tasks = self._of(job_name)
        if task_index not in tasks:
            raise value_error("TW207", f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list:
        """Return the addresses of a job by number, None where there is no task."""
        tasks = self._of(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _of(self, job_name: str) -> dict[int, str]:
        if job_name not in self._tasks:
            raise value_error("TW207", f"No such job in cluster: {job_name!r}", f"{self.jobs}")
        return self._tasks[job_name]

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._tasks == other._tasks

    def __hash__(self) -> int:
        return hash(tuple(self._tasks))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"


def _addresses(job: object, tasks: object) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        return dict(enumerate(tasks))
    if isinstance(tasks, dict) and all([isinstance(number, int) for number in tasks]):
        return dict(tasks)
    raise type_error(
        "TW104",
        f"The tasks for job {job!r} must be a list or a dictionary from numbers to "
        f"addresses: {tasks!r}",
    )
