"""One contender in a process of its own, alone and then beside processes that only compute.

    python -m benchmarks.beside "models.step[gpt]" "tensorflow xla" 1,2,4

prints as JSON, a line for each number of busy processes, the median seconds of a call alone and
beside them, who may use the same cores as this one; and the ratio of the two, by which contenders
are compared.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

from benchmarks import declare, worker

SETTLED = 8.0  # seconds until compilers that work beside are done
SECONDS = 3.0  # of each of the measurements, which take turns
TURNS = 3
LEAST = 4  # calls in each
BUSY = "while True: pass"


def observe(name, label, counts):
    """Set a contender up; its calls alone and beside each number of busy processes, by turns."""
    declared = declare.load_topics()[name]
    setup, peer = declared.contender(label).setup, label.partition(" ")[0]
    call, _ = worker.opened(setup, peer, declared.parameters)
    worker.warm_up(call, SETTLED)
    times = {count: [] for count in (0, *counts)}
    for _ in range(TURNS):
        for count, measured in times.items():
            with Busy(count):
                measured += calls(call)
    medians = {count: statistics.median(measured) for count, measured in times.items()}
    return [
        {
            "busy": count,
            "alone": medians[0],
            "beside": medians[count],
            "slowdown": medians[count] / medians[0],
        }
        for count in counts
    ]


def calls(call):
    """Seconds of each of some calls, after one that is not counted."""
    call()
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < LEAST or time.perf_counter() < end:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return times


class Busy:
    """Processes that compute for as long as the block runs."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(self.count)]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def observed(name, label, busy):
    """What a new process sees."""
    command = [sys.executable, "-m", "benchmarks.beside", name, label, str(busy)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it died"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[3].split(",")]
    print(*map(json.dumps, observe(sys.argv[1], sys.argv[2], numbers)), sep="\n")
