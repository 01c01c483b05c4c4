"""Run the generated programs of the tests with fresh seeds, for as long as is wanted.

    python tools/fresh_programs.py --minutes 10 [--seed 5000000] [--only writes,drawing] [--out F]

The tests take the same few programs every time; this takes others, by the same generators and with
the same comparisons: the compiler's results against the interpreter's, graphs against eager code.
Every disagreement is printed with its seed, which gives the same program again, and written to the
file F.  The exit status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TALWEG_STRICT", "1")
os.environ.setdefault("TALWEG_CACHE", "off")

# kind -> (module, test): tests by Hypothesis, and those that take a seed
GENERATED = {
    "functions": ("tests.trace.test_generated", "test_programs_agree"),
    "paths": ("tests.trace.test_generated", "test_paths_agree_with_branches"),
    "hosted functions": ("tests.trace.test_hosted_generated", "test_compiled_programs_agree"),
    "derivatives": ("tests.trace.control.test_derived", "test_executors_agree_on_derivatives"),
    "eager": ("tests.trace.control.test_generated", "test_eager_graph_and_function_agree"),
    "control": ("tests.trace.control.test_generated", "test_compiled_programs_agree"),
    "drawing": ("tests.trace.control.test_generated", "test_compiled_programs_draw_the_same"),
    "hosted control": (
        "tests.trace.control.test_generated_hosted",
        "test_programs_with_regions_agree",
    ),
    "compositions": ("tests.lower.test_compositions", "test_compositions_by_machine"),
    "compositions by NumPy": ("tests.lower.test_compositions", "test_compositions_by_numpy"),
    "long reductions": ("tests.lower.test_large", "test_reductions"),
    "writes": ("tests.trace.control.test_generated_writes", "test_compiled_programs_agree"),
    "autograph": ("tests.trace.autograph.test_generated", "test_traced_is_eager"),
    "step by step": ("tests.execute.test_generated_functions", "test_functions_agree"),
}
AT_ONCE = 10  # programs by seed in a row


class Over(BaseException):
    """The time is up."""


class Kind:
    """Programs of one kind: `run(seed)` makes and compares some."""

    def __init__(self, name: str, end: float):
        module, test = GENERATED[name]
        self.name, self.end = name, end
        self.programs, self.seconds, self.failures = 0, 0.0, 0
        self.test: Any = getattr(import_module(module), test)
        self.around = getattr(import_module(module), "with_statements", nullcontext)
        hypothesis = getattr(self.test, "hypothesis", None)
        self.by_hypothesis = hypothesis is not None
        if hypothesis is not None:
            hypothesis.inner_test = self._count(hypothesis.inner_test)

    def _count(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def call(*given: Any, **named: Any) -> Any:
            if time.monotonic() > self.end:
                raise Over
            self.programs += 1
            return inner(*given, **named)

        return call

    def run(self, seed: int) -> None:
        """Some programs of a seed."""
        start = time.monotonic()
        try:
            if self.by_hypothesis:
                with self.around():
                    import_module("hypothesis").seed(seed)(self.test)()
                return
            for each in range(seed * AT_ONCE, (seed + 1) * AT_ONCE):
                if time.monotonic() > self.end:
                    raise Over
                self.programs += 1
                self.test(each)
        finally:
            self.seconds += time.monotonic() - start


def run_all(kinds: list[Kind], seed: int, out: str, note: Callable[[str], None]) -> int:
    """Run seed after seed until the time is over; the seed after the last.

    out: a file that gets the disagreements, too.   note: is told what runs.
    """
    while True:
        for kind in kinds:
            done = sum(each.programs for each in kinds)
            left = max(0.0, kind.end - time.monotonic())
            note(f"{kind.name}, seed {seed}; {done:,} programs, {left / 60:.1f} minutes left")
            try:
                kind.run(seed)
            except (Over, KeyboardInterrupt):
                return seed + 1
            except Exception:  # noqa: BLE001 -- every disagreement is told
                kind.failures += 1
                text = f"== {kind.name}, seed {seed}\n{traceback.format_exc()}\n"
                print(text, flush=True)
                if out:
                    with open(out, "a") as file:
                        file.write(text)
        seed += 1


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="kinds, with commas between them")
    parser.add_argument("--out", default="", help="a file that gets the disagreements, too")
    options = parser.parse_args()
    start = time.monotonic()
    end = start + 60 * options.minutes
    wanted = [name.strip() for name in options.only.split(",") if name.strip()]
    import_module("tests.conftest")  # no deadlines
    kinds = [Kind(name, end) for name in wanted or GENERATED]
    seed = options.seed
    from talweg.command.bench import progress

    with progress("running") as note:
        seed = run_all(kinds, seed, options.out, note)
    for kind in kinds:
        print(f"{kind.programs:7,} {kind.name:24} {kind.failures} wrong {kind.seconds:8.0f} s")
    failures = sum([kind.failures for kind in kinds])
    print(
        f"{sum([kind.programs for kind in kinds]):7,} programs, {failures} disagreements, "
        f"seeds {options.seed} to {seed - 1}, {time.monotonic() - start:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
