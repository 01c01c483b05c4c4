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
    """A call of a tf.function; its argument is a tensor of NumPy's."""
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
    values = [jax.numpy.array(X) for _ in range(count)]

    def call():
        nonlocal values
        values, total = compiled(values, X)
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


def observed(count):
    """`observe` in a process of its own, in which functions run through XLA."""
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.device_calls", str(count)],
        env={**os.environ, "TALWEG_EXECUTOR": "xla", "XLA_FLAGS": ONE_THREAD},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(observe(int(sys.argv[1]))))
