"""Where the time of one contender goes: cProfile over its callable, by function, file and line."""

from __future__ import annotations

import cProfile
import os
import pstats
import subprocess
import sys

from benchmarks import declare, worker
from benchmarks.crew import ROOT, environment
from benchmarks.figures import iterations_for
from benchmarks.peers import PEERS, interpreter, missing

SECONDS = 1.0
LINES = 25


def main(arguments):
    """`profile NAME [CONTENDER]`: run in that peer's environment and print the profile there."""
    if not 1 <= len(arguments) <= 2:
        print("usage: python -m benchmarks profile NAME [CONTENDER]", file=sys.stderr)
        return 2
    name, label = arguments[0], arguments[1] if len(arguments) > 1 else "talweg"
    peer = PEERS.get(label.partition(" ")[0])
    benchmark = declare.load_topics().get(name)
    if benchmark is None or peer is None or label not in {c.label for c in benchmark.contenders}:
        print(f"no contender {label!r} in a benchmark {name!r} (see --list)", file=sys.stderr)
        return 2
    python = interpreter(peer)
    if python is None:
        print(f"{peer.name}: {missing(peer)}", file=sys.stderr)
        return 1
    command = [python, "-m", "benchmarks.profiling", name, label]
    return subprocess.run(command, cwd=ROOT, env=environment(1, os.environ)).returncode


def profile(name, label):
    """Prepare the contender, profile about a second of calls, print the costliest functions."""
    benchmark = declare.load_topics()[name]
    setup = benchmark.contender(label).setup
    peer = label.partition(" ")[0]
    call, _ = worker.opened(setup, peer, benchmark.parameters)
    calls = iterations_for(worker.warm_up(call, benchmark.settle), SECONDS)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(calls):
        call()
    profiler.disable()
    print(f"{name}, {label}: {calls} calls (the profiler makes small functions look slower)")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(LINES)


if __name__ == "__main__":
    profile(*sys.argv[1:3])
