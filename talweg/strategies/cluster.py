"""The cluster that this process is a worker of: one, for as long as the process lives.

JAX connects the processes and exchanges values; before each exchange the workers meet and compare
what they want (`meeting.py`), so that one that is lost, or does something else, is an error.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import settings
from talweg.core.errors import OpError, compose
from talweg.core.lazy import LazyModule
from talweg.core.machine import machine
from talweg.strategies.meeting import Meeting, precondition, unavailable

if TYPE_CHECKING:
    from talweg.execute.xla import engine, workers
else:
    engine = LazyModule("talweg.execute.xla.engine")
    workers = LazyModule("talweg.execute.xla.workers")

PATIENCE = 1800.0  # seconds for a worker that lives and does not come to where the others are
FAILED = "failed: "  # how a worker begins that has raised an error
ADDED = "biufc"  # kinds of numbers, as NumPy calls them, that are added up

_made: dict[str, Any] = {}


class Cluster:
    """The workers `tasks`, of which this process is number `own`."""

    def __init__(self, tasks: list[tuple[str, str]], own: int, seconds: float):
        self.tasks = tasks
        self.names = [f"{name} ({address})" for name, address in tasks]
        self.count, self.own, self.patience = len(tasks), own, PATIENCE
        for name, _ in tasks:
            job, _, number = name.partition(":")
            machine.tasks.add((job, int(number)))
        about = {"cluster": [list(task) for task in tasks], "jax": engine.jax.__version__}
        address = tasks[0][1]
        self.meeting = Meeting(self.names, own, address, seconds, about)
        atexit.register(self.meeting.leave)
        self._one = threading.RLock()  # exchanges happen one at a time, in one order
        self._connect(address, seconds)
        self._watched = workers.Watched()
        self._mesh: Any = None

    def _connect(self, address: str, seconds: float) -> None:
        """Let JAX join the processes, by a port that the first of them has free."""
        host = address.rpartition(":")[0]
        where = self.meeting.agree(f"{host}:{_free_port()}", self.meeting.seconds)[0]
        try:
            workers.join(where, self.count, self.own, seconds)
        except RuntimeError as error:
            text = "Collective ops must be configured at program startup"
            hint = "make the strategy before anything runs through XLA"
            raise RuntimeError(compose("TW406", f"{text}: {error}", hint=hint)) from None

    def begin(self, kind: str, count: int) -> list[list]:
        """Connect the devices that replicas will be on; gives them by worker."""
        devices = workers.devices_of_all(kind, count)
        sizes = self.meeting.agree(f"{len(devices)} {[len(own) for own in devices]}", self.patience)
        if len(set(sizes)) > 1 or any([len(own) < count for own in devices]):
            text = f"workers have different numbers of devices: {sizes}"
            raise precondition(text, f"{count} of kind {kind} on each")
        self._mesh = workers.WorkerMesh([own[0] for own in devices])
        self._exchange("sum", np.zeros(1, np.int32))
        if count > 1:
            everything = [device for own in devices for device in own]
            whole = workers.WorkerMesh(everything, count)
            self.watch(lambda: whole.sum(np.zeros(1, np.int32)))
        if workers.is_cpu():
            for mine in range(self.count - 1, -1, -1):  # the first one has the service
                if mine == self.own:
                    workers.part()
                self.meeting.agree("parted", self.patience)
        return devices

    # -- agreeing

    def agree(self, text: str) -> list[str]:
        """Exchange texts with all workers; UnavailableError if one has failed or is lost."""
        said = self.meeting.agree(text, self.patience)
        for number, words in enumerate(said):
            if words.startswith(FAILED) and number != self.own:
                raise unavailable(
                    f"{self.names[number]} had an error: {words[len(FAILED) :]}",
                    "its own output tells more",
                )
        return said

    def need_same(self, text: str) -> None:
        """Raise FailedPreconditionError unless all workers say the same here."""
        said = self.agree(text)
        for number, words in enumerate(said):
            if words != text:
                self._differ(number, words, text)

    def any_has(self, own: bool) -> bool:
        """Return whether any worker has a next batch."""
        said = self.agree(f"batch {int(own)}")
        for number, words in enumerate(said):
            if not words.startswith("batch "):
                self._differ(number, words, "batch")
        return "batch 1" in said

    def meet_to_run(self, name: str, digest: str) -> bool:
        """Return whether all workers are ready to run the same program of a function.

        FailedPreconditionError if one has another function to run.
        """
        said = self.agree(f"run {name} | {digest}")
        for number, words in enumerate(said):
            if words.partition(" | ")[0] != f"run {name}":
                self._differ(number, words, f"run {name}")
        return len(set(said)) == 1

    def _differ(self, number: int, theirs: str, own: str) -> None:
        raise precondition(
            f"{self.names[number]} runs another program than {self.names[self.own]}: it comes "
            f"with {theirs[:200]!r} where this one has {own[:200]!r}",
            "the same script on all workers",
        )

    def tell_failure(self, error: BaseException) -> None:
        """Tell the other workers, which wait for this one or will, that it has raised an error."""
        if self.meeting.lost is not None:
            return
        with contextlib.suppress(OpError):
            self.meeting.agree(f"{FAILED}{type(error).__name__}: {str(error)[:500]}", 5.0)

    # -- exchanging

    def watch(self, work: Callable[[], Any]) -> Any:
        """Run an operation of all processes; UnavailableError where it fails."""
        try:
            return self._watched.run(work, lambda: self.meeting.lost)
        except TimeoutError as error:
            raise unavailable(str(error)) from None
        except Exception as error:
            if isinstance(error, OpError) or not _is_of_connection(error):
                raise
            lost = self.meeting.wait_for_loss(3.0) or f"an exchange failed: {error}"
            raise unavailable(lost) from None

    def _exchange(self, how: str, flat: np.ndarray) -> np.ndarray:
        return self.watch(lambda: getattr(self._mesh, how)(flat))

    def sum(self, arrays: Sequence[np.ndarray], name: str = "") -> list[np.ndarray]:
        """Return the sums of arrays over all workers: those of one dtype are exchanged together."""
        arrays = [np.asarray(array) for array in arrays]
        with self._one:
            self.need_same(f"sum {name}{_kinds(arrays)}")
            sums: list = [None] * len(arrays)
            for dtype in sorted({array.dtype.str + array.dtype.name for array in arrays}):
                same = [k for k, a in enumerate(arrays) if a.dtype.str + a.dtype.name == dtype]
                flat = np.concatenate([np.ravel(arrays[k]) for k in same])
                parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
                if parts.size:
                    flat = self._exchange("sum", parts).view(flat.dtype)
                start = 0
                for k in same:
                    size = arrays[k].size
                    sums[k] = np.array(flat[start : start + size]).reshape(arrays[k].shape)
                    start += size
            return sums

    def gather(self, array: np.ndarray, name: str = "") -> list[np.ndarray]:
        """Return the arrays of all workers, which may have different sizes."""
        array = np.asarray(array, order="C")
        if array.dtype == object:
            raise precondition("strings are not exchanged between workers", "numbers")
        with self._one:
            about = f"gather {name}{array.dtype.name}"
            said = self.agree(f"{about} {json.dumps(array.shape)}")
            for number, words in enumerate(said):
                if words.partition(" [")[0] != about:
                    self._differ(number, words, about)
            shapes = [tuple(json.loads(words[len(about) :])) for words in said]
            size = array.dtype.itemsize
            lengths = [int(np.prod(shape, dtype=np.int64)) * size for shape in shapes]
            flat = np.zeros(max(lengths), np.uint8)
            flat[: array.nbytes] = np.ravel(array).view(np.uint8)
            rows = self._exchange("rows", flat) if flat.size else [flat] * self.count
            pairs = zip(rows, lengths, shapes)
            return [np.frombuffer(row[:n].tobytes(), array.dtype).reshape(s) for row, n, s in pairs]

    def broadcast(self, array: np.ndarray, name: str = "") -> np.ndarray:
        """Return the first worker's array, bit for bit, on all of them."""
        array = np.asarray(array, order="C")
        if array.dtype == object:
            return array
        with self._one:
            self.need_same(f"broadcast {name}{_kinds([array])}")
            flat = np.ravel(array).view(np.uint8)
            if self.own:
                flat = np.zeros_like(flat)
            found = self._exchange("sum", flat) if flat.size else flat
            return np.frombuffer(found.tobytes(), array.dtype).reshape(array.shape)


def _kinds(arrays: Sequence[np.ndarray]) -> str:
    """Return dtypes and shapes as text; of many, a number that stands for them."""
    text = ", ".join([f"{array.dtype.name}{list(array.shape)}" for array in arrays])
    if len(text) > 150:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return f"{text[:100]}... ({len(arrays)} arrays, {digest})"
    return text


def _is_of_connection(error: Exception) -> bool:
    """Return whether an error of XLA's says that another process cannot be reached."""
    text = str(error)
    words = ("Gloo", "gloo", "UNAVAILABLE", "Connection", "NCCL", "DEADLINE_EXCEEDED", "ABORTED")
    return any([word in text for word in words])


def _free_port() -> int:
    with socket.socket() as place:
        place.bind(("", 0))
        return place.getsockname()[1]


def cluster_of(resolver: Any) -> Cluster | None:
    """Return the cluster that a resolver names; None for one worker.

    FailedPreconditionError if the process is a worker of another cluster already.
    """
    named = resolver.cluster_spec().as_dict()
    tasks = [
        (f"{kind}:{number}", str(address))
        for kind in ("chief", "worker")
        for number, address in _number_tasks(named.get(kind, {}))
    ]
    if len(tasks) < 2:
        return None
    name = f"{resolver.task_type}:{resolver.task_id}"
    names = [task for task, _ in tasks]
    if name not in names:
        raise precondition(
            f"the cluster has the workers {', '.join(names)}, and this process is {name}",
            "one of them",
            'TF_CONFIG with "task": {"type": "worker", "index": 0}',
        )
    key = json.dumps([tasks, name])
    if _made and key not in _made:
        raise precondition("this process is a worker of another cluster already", "one cluster")
    if key not in _made:
        _made[key] = Cluster(tasks, names.index(name), settings.cluster_timeout.get())
    return _made[key]


def _number_tasks(tasks: Any) -> list[tuple[int, str]]:
    return sorted(tasks.items()) if isinstance(tasks, dict) else list(enumerate(tasks))
