"""One contender in a process of its own: how soon it answers, how soon it is fast, what it takes.

    python -m benchmarks.starting compiled.cnn "tensorflow xla" 5

calls it for 5 seconds after its first result, which is time for a compiler that works beside it,
and prints as JSON what this process saw: seconds from before the import of the library to the first
result and to full speed, seconds of a call then, how far memory rose above the import and the most
that was resident, library and all.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import declare, worker

STEADY_CALLS = 10
SLACK = 1.5
STATUS = Path("/proc/self/status")
PEAK_RESET = Path("/proc/self/clear_refs")


def observe(name, label, patience):
    """Import the peer, set the contender up, call it for `patience` seconds; what was seen."""
    begun = time.perf_counter()
    declared = declare.load_topics()[name]
    setup, peer = declared.contender(label).setup, label.partition(" ")[0]
    arguments = worker.arguments(setup, peer, declared.parameters)  # imports the library
    before = forget_peak()
    made = setup(**arguments)
    call, spent = made[0] if isinstance(made, tuple) else made, [time.process_time()]

    def noted():
        call()
        spent.append(time.process_time())

    times = called(noted, patience)
    return {
        "first": times[0][1] - begun,
        "settled": settled(times) - begun,
        "steady": steady(times),
        "tenth": times[STEADY_CALLS - 1][1] - times[0][0],
        "tenth cpu": spent[STEADY_CALLS] - spent[0],
        "slowest": max(end - start for start, end in times[1:]),
        "memory": peak() - before,
        "resident": peak(),
    }


def called(call, patience):
    """(start, end) of each call: until `patience` after the first, and a few at least."""
    times = []
    while len(times) < STEADY_CALLS or times[-1][1] < times[0][1] + patience:
        started = time.perf_counter()
        call()
        times.append((started, time.perf_counter()))
    return times


def steady(times):
    """Seconds of a call at the end.

    >>> steady([(0, 5), (5, 6), (6, 7)])
    1
    """
    return statistics.median(end - start for start, end in times[-STEADY_CALLS:])


def settled(times):
    """When the first of three calls in a row starts that are nearly as fast as those at the end.

    >>> settled([(0, 5), (5, 8), (8, 9), (9, 10), *((10 + i, 11 + i) for i in range(10))])
    8
    """
    limit = SLACK * steady(times)
    is_fast = [end - start <= limit for start, end in times]
    for first in range(len(times) - 2):
        if all(is_fast[first : first + 3]):
            return times[first][0]
    return times[-1][0]


def forget_peak():
    """Resident bytes now; from here on `peak` is that of the time after this call."""
    if not STATUS.exists():
        return peak()
    PEAK_RESET.write_text("5")
    return _status("VmRSS")


def peak():
    """The most resident bytes so far; where the system can say it, since `forget_peak`."""
    if STATUS.exists():
        return _status("VmHWM")
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _status(field):
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def observed(name, label, patience, folder):
    """What a new process sees whose compilers keep what they cache in `folder`."""
    command = [sys.executable, "-m", "benchmarks.starting", name, label, str(patience)]
    environment = os.environ | caches(folder)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it died"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def caches(folder):
    """The variables that put every library's cache of compiled code into one folder."""
    inside = {"HOME": folder, "XDG_CACHE_HOME": folder, "TMPDIR": folder}
    inside["TALWEG_CACHE"] = f"{folder}/talweg"
    jax = {
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    tensorflow = {"TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={folder}/xla"}
    return inside | jax | tensorflow


if __name__ == "__main__":
    print(json.dumps(observe(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
