"""Measure talweg on this machine, or a program with each executor.

Without a program: what this machine does at best, and what talweg's parts cost on it (the start, an
operation, a gradient, a call of a function, a training step interpreted and compiled).  With one:
the program is run in processes of its own, interpreted, compiled where that pays (auto), and always
compiled (llvm).

examples:
  talweg bench
  talweg bench --json > machine.json
  talweg bench --repeat 3 train.py --steps 100

exit status: 0 fine, 2 wrong use, 3 the program failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.export import look_up
from talweg.command.launch import FAILED, FINE, add_program, program_of
from talweg.core import settings

if TYPE_CHECKING:
    from talweg.core.value import Tensor

EXECUTORS = ("interpret", "auto", "llvm")
LEAST = 0.15  # seconds that a measurement takes
CHILD = """
import json, sys, time
from talweg.command.line import main
start = time.perf_counter()
status = main(["run", *sys.argv[1:]])
seconds = time.perf_counter() - start
try:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
except ImportError:  # Windows
    peak = 0
sys.stderr.write("\\n" + json.dumps([status, seconds, peak]))
"""


class Measured(NamedTuple):
    """A number that was measured."""

    name: str
    value: float
    unit: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg bench`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--repeat", type=int, default=3, help="how often a program is run (%(default)s)"
    )
    add_program(parser, optional=True)


def main(options: argparse.Namespace) -> int:
    """Measure, and print."""
    if options.program:
        return of_program(options)
    with progress() as note:
        rows = machine(note)
    if options.json:
        print(
            json.dumps({row.name: {"value": row.value, "unit": row.unit} for row in rows}, indent=1)
        )
        return FINE
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}"
    )
    for row in rows:
        print(f"{row.name:<44} {row.value:10.2f} {row.unit}")
    return FINE


@contextmanager
def progress(word: str = "measuring") -> Iterator[Callable[[str], None]]:
    """Show the present task in a line of the terminal's stderr, which disappears afterwards."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status(word) as status:
        yield lambda text: status.update(f"{word} {text}")


def best(call: Callable[[], Any]) -> float:
    """Return seconds of a call: the least of some rounds."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, int(LEAST / 5 / max(1e-9, time.perf_counter() - start)))
    found = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call()
        found = min(found, (time.perf_counter() - start) / count)
    return found


def machine(note: Callable[[str], None] = lambda text: None) -> list[Measured]:
    """Measure this machine and talweg's costs on it; `note` is told each result."""
    note("what this machine does at best")
    x = np.ones((1024, 1024), np.float32)
    big = np.ones(1 << 23, np.float32)
    target = np.empty_like(big)
    rows = [
        Measured("product of matrices, NumPy", 2 * 1024**3 / best(lambda: x @ x) / 1e9, "GFLOP/s"),
        Measured(
            "copy of an array, NumPy",
            2 * big.nbytes / best(lambda: np.copyto(target, big)) / 1e9,
            "GB/s",
        ),
        Measured("start: python -c 'import talweg'", best_start("import talweg") * 1e3, "ms"),
        Measured("start: python -c 'import numpy'", best_start("import numpy") * 1e3, "ms"),
    ]
    note("operations")
    rows += eager_costs()
    note("training steps")
    return rows + step_costs()


def best_start(code: str) -> float:
    """Return seconds of a process that runs a line."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def eager_costs() -> list[Measured]:
    """Measure the costs of operations that run at once."""
    ones, variable = look_up("ones"), look_up("Variable")(3.0)
    tape = look_up("GradientTape")
    small = ones([32, 32])

    def gradient() -> Any:
        with tape() as seen:
            y = variable**2 + 2 * variable + 1
        return seen.gradient(y, variable)

    return [
        Measured("an eager operation, 32 x 32", best(lambda: small * small) * 1e6, "us"),
        Measured("a gradient of x**2 + 2*x + 1", best(gradient) * 1e6, "us"),
    ]


def step_costs() -> list[Measured]:
    """Measure the cost of a call of a function, and of a training step of a small network."""
    with settings.executor("llvm"):
        call = look_up("function")(lambda x: x + 1.0)
        one = look_up("constant")(1.0)
        rows = [Measured("a call of a compiled function", best(lambda: call(one)) * 1e6, "us")]
    for name in ("interpret", "llvm"):
        with settings.executor(name):
            step, x = network()
            start = time.perf_counter()
            step(x)
            first = time.perf_counter() - start
            word = "interpreted" if name == "interpret" else "compiled"
            rows.append(
                Measured(f"training step of a network, {word}", best(partial(step, x)) * 1e6, "us")
            )
            rows.append(Measured(f"its first call, {word}", first * 1e3, "ms"))
    return rows


def network() -> tuple[Any, Any]:
    """Return a training step
    of three dense layers (64 -> 128 -> 128 -> 10) on 32 rows, and its rows.
    """
    variable, tape = look_up("Variable"), look_up("GradientTape")
    relu, mean, square = look_up("nn.relu"), look_up("reduce_mean"), look_up("square")
    random = np.random.default_rng(0)
    sizes = [(64, 128), (128, 128), (128, 10)]
    weights = [variable(random.normal(0, 0.1, size).astype(np.float32)) for size in sizes]

    def step(x: Tensor) -> Any:
        with tape() as seen:
            hidden = relu(relu(x @ weights[0]) @ weights[1])
            loss = mean(square(hidden @ weights[2]))
        for weight, gradient in zip(weights, seen.gradient(loss, weights)):
            weight.assign_sub(0.01 * gradient)
        return loss

    return look_up("function")(step), look_up("ones")([32, 64])


def of_program(options: argparse.Namespace) -> int:
    """Run a program with each executor, and compare."""
    program = program_of(options)
    arguments = ["-m", program.module] if options.module else [program.path]
    flags = ["--v1"] * options.v1 + ["--v2"] * options.v2
    rows, repeat = [], max(1, options.repeat)
    for executor in EXECUTORS:
        runs = []
        with progress() as note:
            for number in range(repeat):
                note(f"{program.name}, {executor}, {number + 1} of {repeat}")
                runs.append(child([*flags, *arguments, *program.arguments], executor))
        if any(status for status, _, _ in runs):
            print(f"talweg: {program.name} failed with {executor}", file=sys.stderr)
            return FAILED
        seconds = sorted(each for _, each, _ in runs)
        rows.append(
            {
                "executor": executor,
                "best": seconds[0],
                "median": seconds[len(seconds) // 2],
                "peak": max(peak for _, _, peak in runs),
            }
        )
    if options.json:
        print(json.dumps(rows, indent=1))
        return FINE
    print(
        f"{program.name}, {options.repeat} runs each\n\n{'executor':<10} {'best s':>9} "
        f"{'median s':>9} {'MB at most':>11}"
    )
    for row in rows:
        print(
            f"{row['executor']:<10} {row['best']:9.3f} {row['median']:9.3f} "
            f"{row['peak'] / 1024:11.0f}"
        )
    return FINE


def child(arguments: list[str], executor: str) -> tuple[int, float, float]:
    """Return status, seconds and peak kilobytes of the program in a process of its own."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"TALWEG_EXECUTOR": executor, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    *told, last = done.stderr.splitlines() or [""]
    try:
        status, seconds, peak = json.loads(last)
    except ValueError:
        status, seconds, peak = done.returncode or 1, 0.0, 0.0
    if status:
        print("\n".join(told), file=sys.stderr)
    return status, seconds, peak
