"""What a call of a tf.function through XLA costs beside JAX written by hand.

Both are measured in one process, in turn: figures are processor time, whatever the clock.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
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
