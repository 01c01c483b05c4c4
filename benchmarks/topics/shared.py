"""A machine that others use, too: how much slower a step is beside busy processes.

Each figure is of a process of its own: the median of a step beside one, two or four processes that
only compute, over the median alone, in turns (`benchmarks/beside.py`).  All have the cores that
`--threads` leaves, so with one thread this is also what `taskset -c 0` does.  On a machine that is
not quiet the figures are too low: a step alone is slowed down already.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

from benchmarks.beside import observed
from benchmarks.declare import Ratio, benchmark

MODELS = ("gpt", "resnet20", "resnet50", "unet", "lstm")
CASES = [f"{model}, {busy} busy" for busy in (1, 2, 4) for model in MODELS]


def _contender(label):
    def setup(case):
        model, busy = case.removesuffix(" busy").split(", ")
        return lambda: observed(f"models.step[{model}]", label, int(busy))["slowdown"]

    return setup


@benchmark(
    "shared.slowdown",
    aims=[Ratio(1.0)],
    sweep={"case": CASES},
    timed=False,
    rounds=1,
    unit="times",
)
class Slowdown:
    """How many times longer a step takes beside busy processes."""

    talweg = _contender("talweg")
    tensorflow = _contender("tensorflow")
    tensorflow_xla = _contender("tensorflow xla")
    jax = _contender("jax")
    torch = _contender("torch")
