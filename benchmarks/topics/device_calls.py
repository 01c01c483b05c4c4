"""What a call of a tf.function through XLA costs beside JAX written by hand.

Both are measured in one process, in turn: figures are processor time, whatever the clock.  Bytes
that are copied are counted by talweg.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

import itertools
import tempfile

from benchmarks import device_start, device_steps
from benchmarks.declare import AtMost, Ratio, benchmark
from benchmarks.device_calls import observed

SEEN: dict[int, dict[str, float]] = {}  # by the number of variables


@benchmark(
    "devices.call",
    sweep={"variables": [1, 100, 1000]},
    aims=[Ratio(1.1, of="talweg jax by hand")],
    timed=False,
    rounds=1,
)
class Call:
    """A step that adds to so many variables of 8 numbers, through XLA on a CPU."""

    def talweg(variables):
        return _figure(variables, "talweg")

    def talweg_jax_by_hand(variables):
        return _figure(variables, "jax")


def _figure(variables, name):
    """A callable that reports one of both figures of a process."""
    if variables not in SEEN:
        SEEN[variables] = observed(variables)
    return lambda: SEEN[variables][name]


@benchmark(
    "devices.bytes",
    sweep={"step": list(device_steps.KINDS)},
    aims=[AtMost(2)],
    unit="bytes",
    timed=False,
    rounds=1,
)
class Bytes:
    """What a training step copies between host and device, beyond what it is fed and fetches.

    A function that checks its values (here: labels) waits for one byte, which says whether all
    checks hold.  With the tape outside, two functions do.
    """

    def talweg(step):
        return lambda: device_steps.observed(step)["beyond"]


CACHES = ("compiled", "from disk")


@benchmark(
    "devices.start",
    sweep={"step": [f"{name}, {cache}" for name in ("cnn", "transformer") for cache in CACHES]},
    aims=[Ratio(1.0, of="talweg jax by hand")],
    timed=False,
    rounds=3,
)
class Start:
    """The first call of a compiled training step: compiled, and with all caches on disk filled."""

    def talweg(step):
        return _first_call(step, "talweg")

    def talweg_jax_by_hand(step):
        return _first_call(step, "jax jit")


def _first_call(step, label):
    """A callable that reports the processor's seconds of a first call in a new process."""
    name, _, cache = step.partition(", ")
    filled = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    turns = itertools.count()

    def figure():
        if cache == "from disk":
            if next(turns) == 0:
                device_start.observed(f"compiled.{name}", label, filled.name)
            return device_start.observed(f"compiled.{name}", label, filled.name)["cpu"]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            return device_start.observed(f"compiled.{name}", label, folder)["cpu"]

    return figure
