"""Who is measured when: contenders in turn, many rounds, so that load strikes all alike."""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.figures import Row, Series, iterations_for, rounds_for


@dataclass(frozen=True)
class Plan:
    """How long to measure: seconds of a sample, of a contender in all, and bounds on rounds.

    in_step: seconds of untimed calls before each sample.
    """

    sample: float = 0.03
    budget: float = 1.5
    least: int = 3
    most: int = 25
    in_step: float = 0.03


FULL = Plan()
QUICK = Plan(sample=0.005, budget=0.1, least=1, most=5, in_step=0.005)


def measure(benchmark, crew, plan, tick=lambda text: None):
    """Prepare every contender, sample them in turn, release them; the row of figures."""
    series = {}
    rounds = {}
    contenders = benchmark.of_peers(crew.names)
    for contender in contenders:
        tick(f"prepares {contender.label}")
        reply = _prepare(benchmark, contender, crew)
        if reply.get("absent"):
            continue
        series[contender.label] = _opened(reply, plan)
        rounds[contender.label] = _rounds(benchmark, reply, plan)
    running = [c for c in contenders if c.label in series and not series[c.label].error]
    for turn in range(max((rounds[c.label] for c in running), default=0)):
        tick(f"round {turn + 1}")
        for contender in _shuffled(running, turn):
            if turn < rounds[contender.label] and not series[contender.label].error:
                _sample(benchmark, contender, crew, series[contender.label], turn, plan.in_step)
    for name in {contender.peer for contender in running}:
        crew.ask(name, do="release")
    return Row(benchmark, crew.threads, series)


def _prepare(benchmark, contender, crew):
    return crew.ask(
        contender.peer, do="prepare", benchmark=benchmark.name, contender=contender.label
    )


def _opened(reply, plan):
    if not reply["ok"]:
        return Series(error=reply["error"], unfit=reply.get("unfit", False))
    return Series(
        iterations=iterations_for(reply["seconds"], plan.sample) if reply["seconds"] else 1,
        first_call=reply["first_call"],
        digest=reply["digest"],
    )


def _rounds(benchmark, reply, plan):
    if benchmark.rounds:
        return min(benchmark.rounds, plan.most)
    length = max(reply.get("seconds", 0.0), plan.sample)
    return rounds_for(length, plan.budget, plan.least, plan.most)


def _shuffled(contenders, turn):
    """Each round has an order of its own: none always follows the same neighbour."""
    return random.Random(turn).sample(contenders, len(contenders))


def _sample(benchmark, contender, crew, series, turn, in_step):
    if benchmark.fresh:
        crew.dismiss(contender.peer)
        reply = _prepare(benchmark, contender, crew)
        if not reply["ok"]:
            series.error = reply["error"]
            return
    request = {"slot": contender.label, "iterations": series.iterations, "in_step": in_step}
    reply = crew.ask(contender.peer, do="run", **request)
    if not reply["ok"]:
        series.error = reply["error"]
        return
    scale = benchmark.scale
    series.samples.append((turn, reply["wall"] / scale, reply["cpu"] / scale))
