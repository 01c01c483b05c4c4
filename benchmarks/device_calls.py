"""What a call through XLA costs beside a function of JAX written by hand, in one process.

    python -m benchmarks.device_calls 100

prints, as JSON, the processor's seconds of a call for each of both, the best of many turns.  A
step adds its argument to so many variables of 8 numbers, and gives the sum of the first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
TURNS, CALLS = 30, 4_000  # CALLS: of a turn, divided by the number of variables
X = np.arange(8, dtype=np.float32)


def ours(count):
    """A call of a tf.function; its argument is a tensor, which stays on the device."""
    import talweg as tf

    held = [tf.Variable(X) for _ in range(count)]

    @tf.function
    def step(x):
        for variable in held:
            variable.assign_add(x)
        return tf.reduce_sum(held[0])

    x = tf.constant(X)
    return lambda: step(x)


def by_hand(count):
    """The same in JAX, with the memory of the old values given away."""
    import jax

    def step(values, x):
        new = [value + x for value in values]
        return new, new[0].sum()

    compiled = jax.jit(step, donate_argnums=0)
    values, x = [jax.numpy.array(X) for _ in range(count)], jax.numpy.array(X)

    def call():
        nonlocal values
        values, total = compiled(values, x)
        return total

    return call


def observe(count):
    """Seconds of a call, of each."""
    calls = {"talweg": ours(count), "jax": by_hand(count)}
    repeats = max(10, CALLS // (count + 5))
    for call in calls.values():
        for _ in range(5):
            call()
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(TURNS):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(repeats):
                call()
            best[name] = min(best[name], (time.process_time() - start) / repeats)
    return best


def in_a_process(module, *arguments, threads=ONE_THREAD, **environment):
    """What a module prints as JSON in a process of its own, in which functions run through XLA."""
    environment = os.environ | {"TALWEG_EXECUTOR": "xla"} | environment
    if threads:
        environment["XLA_FLAGS"] = threads
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it died"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def observed(count):
    """`observe` in a process of its own, in which functions run through XLA."""
    return in_a_process("benchmarks.device_calls", str(count))


if __name__ == "__main__":
    print(json.dumps(observe(int(sys.argv[1]))))
