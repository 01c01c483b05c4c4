"""What a compiler costs before it pays: time and memory of the CNN step in fresh processes.

A process imports its library, sets `compiled.cnn` up and calls it; see `benchmarks/starting.py`.
Caches of compiled code lie in a new folder each time.  Times are wall times, whatever the clock.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

import itertools
import tempfile

from benchmarks.declare import Ratio, benchmark
from benchmarks.starting import observed

PROGRAM = "compiled.cnn"
PATIENCE = 5.0  # seconds that a compiler has, after the first result, to finish
SEEN: dict[str, list[dict[str, float]]] = {}  # by contender: what processes without caches saw


@benchmark(
    "compiled.start",
    sweep={"until": ["first", "settled", "again"]},
    timed=False,
    rounds=3,
)
class Start:
    """From before the import to the first result; to full speed; again, with caches on disk."""

    def tf(peer, until):
        return _time(peer, until)

    def tensorflow_xla(until):
        return _time("tensorflow xla", until)

    def jax_reshape_pool(until):
        return _time("jax reshape pool", until)

    def torch(until):
        return _time("torch", until)

    def torch_compiled(until):
        return _time("torch compiled", until)


@benchmark("compiled.memory", aims=[Ratio(0.7)], unit="bytes", timed=False, rounds=3)
class Memory:
    """How far resident memory rises above the import while the CNN step is built and trained."""

    def tf(peer):
        return _figure(peer, "memory")

    def tensorflow_xla():
        return _figure("tensorflow xla", "memory")

    def jax_reshape_pool():
        return _figure("jax reshape pool", "memory")

    def torch():
        return _figure("torch", "memory")

    def torch_compiled():
        return _figure("torch compiled", "memory")


def _time(label, until):
    if until != "again":
        return _figure(label, until)
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    observed(PROGRAM, label, PATIENCE, folder.name)  # fills the caches
    return lambda: observed(PROGRAM, label, PATIENCE, folder.name)["settled"]


def _figure(label, name):
    """A callable that reports one figure of the first process, of the second, ...

    The benchmarks here share the processes, since one of them takes half a minute.
    """
    turns, seen = itertools.count(), SEEN.setdefault(label, [])

    def figure():
        turn = next(turns)
        if turn == len(seen):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                seen.append(observed(PROGRAM, label, PATIENCE, folder))
        return seen[turn][name]

    return figure
