"""Long runs: the same step very often; memory and time of a step at the start and at the end.

    ./run probe --long [--scale 0.01] [--only "compiled steps,epochs of fit"]

Each case runs in a process of its own, in ten parts.  Memory is the resident set after each part,
and the time of a step is that of the processor.  Both must not grow: the exit status is 1 if the
memory of the last part is more than that of the second by `GROWTH` bytes, or its steps take more
than `SLOWER` times the median.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PARTS = 10
GROWTH = 4 << 20
SLOWER = 1.3


def run_compiled_steps() -> Callable[[int], None]:
    """Return a training step of a small network, compiled."""
    import talweg as tf

    w, b = tf.Variable(tf.ones([4, 3])), tf.Variable(tf.zeros([3]))
    x, y = tf.ones([8, 4]), tf.zeros([8, 3])

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ w + b) - y) ** 2)
        for variable, gradient in zip((w, b), tape.gradient(loss, [w, b])):
            variable.assign_sub(1e-6 * gradient)
        return loss

    def run(times: int) -> None:
        for _ in range(times):
            step()

    return run


def eager_steps() -> Callable[[int], None]:
    """Return the same step with a tape, without a function."""
    import talweg as tf

    w, x = tf.Variable(tf.ones([4, 3])), tf.ones([8, 4])

    def run(times: int) -> None:
        for _ in range(times):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(x @ w) ** 2)
            w.assign_sub(1e-6 * tape.gradient(loss, w))

    return run


def epochs_of_fit() -> Callable[[int], None]:
    """Epochs of Keras `fit` with metrics, validation and a dataset that is shuffled."""
    import talweg as tf

    tf.as_tensorflow()
    import keras
    import numpy as np

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input([4]), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(64).batch(16)

    def run(times: int) -> None:
        for _ in range(-(-times // 100)):
            model.fit(data, epochs=min(times, 100), verbose=0, validation_data=(x[:16], x[:16, :1]))

    return run


def traces() -> Callable[[int], None]:
    """Functions that are made, traced, called on the interpreter and dropped."""
    import talweg as tf

    x, v = tf.ones([3]), tf.Variable(tf.ones([3]))

    def run(times: int) -> None:
        for number in range(times):
            f = tf.function(lambda x, number=number: tf.reduce_sum(tf.sin(x * number) * v))
            f(x)

    return run


def run_compiled_traces() -> Callable[[int], None]:
    """Functions that are made, compiled (each other code), called and dropped."""
    import talweg as tf

    x, v = tf.ones([3]), tf.Variable(tf.ones([3]))
    made = 0

    def run(times: int) -> None:
        nonlocal made
        for _ in range(times):
            made += 1
            f = tf.function(lambda x, number=made: tf.reduce_sum(tf.sin(x * number) * v))
            f(x)

    return run


def compile_again() -> Callable[[int], None]:
    """Functions of one text that are made, compiled (code that is there), called and dropped."""
    import talweg as tf

    x, v = tf.ones([3]), tf.Variable(tf.ones([3]))

    def run(times: int) -> None:
        for _ in range(times):
            tf.function(lambda x: tf.reduce_sum(tf.sin(x) * v))(x)

    return run


def graphs_and_sessions() -> Callable[[int], None]:
    """Graphs with a session each that are made, run and dropped."""
    import talweg as tf

    v1 = tf.compat.v1

    def run(times: int) -> None:
        for _ in range(times):
            with tf.Graph().as_default(), v1.Session() as session:
                x = v1.placeholder(tf.float32, [None])
                session.run(tf.reduce_sum(x * 2.0), {x: [1.0, 2.0]})

    return run


def pipelines() -> Callable[[int], None]:
    """Datasets with worker threads that are made, read in part and dropped."""
    import talweg as tf

    def run(times: int) -> None:
        for _ in range(times):
            data = tf.data.Dataset.range(20).map(lambda x: x + 1, num_parallel_calls=2)
            next(iter(data.shuffle(8).batch(4).prefetch(2)))

    return run


CASES: dict[str, tuple[Callable[[], Callable[[int], None]], int]] = {
    "compiled steps": (run_compiled_steps, 10**7),
    "eager steps": (eager_steps, 10**6),
    "epochs of fit": (epochs_of_fit, 10**4),
    "functions made and dropped": (traces, 10**5),
    "compiled functions made and dropped": (compile_again, 10**5),
    "compiled functions, each other code": (run_compiled_traces, 10**5),
    "graphs and sessions": (graphs_and_sessions, 10**5),
    "pipelines left half-way": (pipelines, 10**5),
}


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure(name: str, scale: float) -> None:
    """Run a case in this process; print a line of JSON a part: steps, bytes, seconds."""
    make, times = CASES[name]
    os.environ["TALWEG_EXECUTOR"] = "llvm" if name.startswith("compiled") else "auto"
    run, part = make(), max(1, int(times * scale / PARTS))
    for _ in range(PARTS):
        start = time.process_time()
        run(part)
        seconds = time.process_time() - start
        gc.collect()
        print(json.dumps([part, resident(), seconds]), flush=True)


def row(name: str, parts: list[list[float]]) -> tuple[str, bool]:
    """Return a row of the table; whether memory and speed stayed."""
    steps = sum(int(part[0]) for part in parts)
    memory = [part[1] for part in parts]
    speed = [part[2] / part[0] * 1e6 for part in parts]
    flat = memory[-1] - memory[1] < GROWTH and speed[-1] < SLOWER * median(speed)
    cells = (
        f"{steps:,}",
        *(f"{number / 2**20:.1f}" for number in (memory[0], memory[1], memory[-1])),
        *(f"{number:.1f}" for number in (speed[1], speed[-1])),
    )
    return f"| {name} | {' | '.join(cells)} |", flat


def main(arguments: list[str]) -> int:
    """Run all cases, or those that are named; the exit status."""
    parser = argparse.ArgumentParser("./run probe --long", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the numbers of steps")
    parser.add_argument("--only", default="", help=f"cases, with commas: {'; '.join(CASES)}")
    parser.add_argument("--case", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case:
        measure(options.case, options.scale)
        return 0
    chosen = [name.strip() for name in options.only.split(",") if name.strip()] or list(CASES)
    print("| what | steps | MB after 1/10 | 2/10 | the end | µs a step, 2nd part | last part |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    whole = True
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in [name for name in CASES if any(name.startswith(part) for part in chosen)]:
        command = [sys.executable, __file__, "--case", name, "--scale", str(options.scale)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
        if done.returncode:
            print(f"| {name} | ended with status {done.returncode} |", flush=True)
            whole = False
            continue
        text, flat = row(name, [json.loads(line) for line in done.stdout.splitlines()])
        print(text + ("" if flat else " grows"), flush=True)
        whole = whole and flat
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
