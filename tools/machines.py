"""The tests on other machines: `./run test --machines [NAMES] [-n WORKERS] [--whole] [PATHS]`.

A machine is made of what a processor decides: NumPy's loops (`NPY_DISABLE_CPU_FEATURES`), kernels
of OpenBLAS (`OPENBLAS_CORETYPE`), our own code (`TALWEG_CPU`) and the number of threads
(`TALWEG_THREADS`).  Each runs the parts of the suite whose numbers come from these: docstring
examples, recorded values, kernels, primitives, linear algebra, machine code.  `--whole` adds those
that compute with the same kernels and compare with one another (graphs, traces, Keras, pipelines).
No machine runs what has no numbers: files, threads, commands, messages, the house.

One process runs a part; what has passed is remembered for this state of the tree (in `.machines`),
so that an interrupted matrix goes on where it was.  A table is printed at the end; the exit status
is 1 where something failed, 2 for names that are none.

NAMES: machines, with commas between; all without.  PATHS: parts other than the usual ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".machines"
NUMBERS = (
    "tests/house/test_examples.py",
    "tests/test_recorded.py",
    "tests/kernels",
    "tests/prims",
    "tests/linear_operators",
    "tests/lower",
    "tests/execute/llvm",
    "tests/programs",
    "tests/seeds",
)
BESIDES = (  # these compute with the same kernels: `--whole`
    "tests/eager",
    "tests/execute",
    "tests/trace",
    "tests/graph",
    "tests/api",
    "tests/interop",
    "tests/compat_v1",
    "tests/core",
    "tests/transform",
    "tests/passes",
    "tests/numpy_api",
    "tests/raw",
    "tests/private",
    "tests/keras_models",
    "tests/strategies",
    "tests/pipeline",
    "tests/doctor",
)
COMPILED = (
    "tests/execute",
    "tests/lower",
    "tests/trace",
    "tests/programs",
    "tests/keras_models",
    "tests/house/test_examples.py",
)
_V2 = {"SSE", "SSE2", "SSE3", "SSSE3", "SSE41", "POPCNT", "SSE42", "X86_V2"}
_V3 = _V2 | {"AVX", "F16C", "FMA3", "AVX2", "X86_V3"}
_DISPATCHED = """
from numpy._core import _multiarray_umath as m
print(*[name for name in m.__cpu_dispatch__ if m.__cpu_features__[name]])
"""


class Machine(NamedTuple):
    """A machine to pretend to be."""

    about: str
    needs: tuple[str, ...] = ()  # flags of /proc/cpuinfo that this machine must have
    numpy: set[str] | None = None  # the features NumPy may use; None: all
    variables: dict[str, str] = {}  # noqa: RUF012 -- never changed
    parts: tuple[str, ...] = NUMBERS


MACHINES = {
    "native": Machine("this one, as it is"),
    "haswell": Machine(
        "AVX2 and FMA",
        ("avx2", "fma"),
        _V3,
        {"OPENBLAS_CORETYPE": "Haswell", "TALWEG_CPU": "x86-64-v3"},
    ),
    "sandybridge": Machine(
        "AVX in BLAS alone",
        ("avx",),
        _V2,
        {"OPENBLAS_CORETYPE": "Sandybridge", "TALWEG_CPU": "x86-64-v2"},
    ),
    "nehalem": Machine(
        "SSE4.2", ("sse4_2",), _V2, {"OPENBLAS_CORETYPE": "Nehalem", "TALWEG_CPU": "x86-64-v2"}
    ),
    "prescott": Machine(
        "the least that is x86-64",
        ("pni",),
        _V2,
        {"OPENBLAS_CORETYPE": "Prescott", "TALWEG_CPU": "x86-64"},
    ),
    "skylakex": Machine(
        "AVX-512",
        ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
        None,
        {"OPENBLAS_CORETYPE": "SkylakeX", "TALWEG_CPU": "x86-64-v4"},
    ),
    "threads1": Machine("one thread", (), None, {"TALWEG_THREADS": "1"}, COMPILED),
    "threads2": Machine("two threads", (), None, {"TALWEG_THREADS": "2"}, COMPILED),
    "threads4": Machine("four threads", (), None, {"TALWEG_THREADS": "4"}, COMPILED),
}


class Result(NamedTuple):
    """What came of one part on one machine."""

    passed: int
    failed: int
    seconds: float
    failures: list[str]


def main(given: list[str]) -> int:
    """Run what is asked for; the exit status."""
    names, workers, whole, paths = arguments(given)
    unknown = [name for name in names if name not in MACHINES]
    if unknown:
        print(f"no machine is called {', '.join(unknown)}; there are {', '.join(MACHINES)}")
        return 2
    folder = FOLDER / state_of_tree()
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in names:
        lacking = missing(MACHINES[name])
        if lacking:
            rows.append((name, f"not here: {', '.join(lacking)}", []))
            continue
        usual = MACHINES[name].parts
        parts = paths or (*usual, *[part for part in BESIDES if whole and part not in usual])
        results = [part_of(folder, name, part, workers) for part in parts]
        rows.append((name, MACHINES[name].about, results))
    print(table(rows))
    failures = [(name, test) for name, _, results in rows for r in results for test in r.failures]
    for name, test in failures:
        print(f"{name}: {test}")
    return 1 if failures else 0


def arguments(given: list[str]) -> tuple[list[str], int, bool, list[str]]:
    """(machines, workers, whether what calls the kernels runs too, parts) of the command line."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("./run test --machines", None, __doc__, formatter_class=plain)
    parser.add_argument("names", nargs="?", default="")
    parser.add_argument("-n", type=int, default=1, help="processes at a time (1)")
    parser.add_argument("--whole", action="store_true", help="also what calls the kernels")
    parser.add_argument("paths", nargs="*")
    found = parser.parse_args(given)
    names = found.names
    if "/" in names:  # a path, and no machines
        found.paths.insert(0, names)
        names = ""
    return names.split(",") if names else list(MACHINES), found.n, found.whole, found.paths


def state_of_tree() -> str:
    """Return a name for what the tests and the package are now."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True).stdout

    new = git("ls-files", "--others", "--exclude-standard")
    paths = [ROOT / path for path in new.decode().split("\n") if path]
    texts = [path.read_bytes() for path in paths if path.is_file()]  # a link to a folder is none
    known = [git("rev-parse", "HEAD"), git("diff", "HEAD"), new, *texts, sys.version.encode()]
    return hashlib.sha256(b"\0".join(known)).hexdigest()[:16]


def missing(machine: Machine) -> list[str]:
    """What this machine lacks to be that one."""
    if not machine.needs:
        return []
    if platform.machine() not in ("x86_64", "AMD64"):
        return ["x86-64"]
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ["/proc/cpuinfo"]
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return [flag for flag in machine.needs if flag not in flags]


def environment(machine: Machine) -> dict[str, str]:
    """Return the variables that make this machine that one."""
    found = {**os.environ, **machine.variables}
    if machine.numpy is not None:
        shown = subprocess.run([sys.executable, "-c", _DISPATCHED], capture_output=True, text=True)
        names = [name for name in shown.stdout.split() if name not in machine.numpy]
        found["NPY_DISABLE_CPU_FEATURES"] = " ".join(names)
    return found


def part_of(folder: Path, name: str, part: str, workers: int) -> Result:
    """One part on one machine: what it was, if it has passed, or run now."""
    stem = folder / f"{name}-{part.replace('/', '-').removesuffix('.py')}"
    kept = stem.with_suffix(".json")
    if kept.exists():
        result = Result(*json.loads(kept.read_text()))
        if not result.failed:
            return result
    print(f"{name}: {part} ...", end=" ", flush=True)
    start = time.monotonic()
    report = stem.with_suffix(".xml")
    report.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        part,
        "-n",
        str(workers if workers > 1 else 0),
        f"--junitxml={report}",
    ]
    with open(stem.with_suffix(".log"), "w") as log:
        status = subprocess.run(
            command, cwd=ROOT, env=environment(MACHINES[name]), stdout=log, stderr=subprocess.STDOUT
        ).returncode
    result = read(report, status, part, time.monotonic() - start)
    kept.write_text(json.dumps(result))
    print(f"{result.passed} passed, {result.failed} failed, {result.seconds:.0f} s", flush=True)
    return result


def read(report: Path, status: int, part: str, seconds: float) -> Result:
    """What pytest reports; a run that ended without a report has failed."""
    if not report.exists():
        return Result(0, 1, seconds, [f"{part} ended with status {status}, without a report"])
    passed, failures = 0, []
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failures.append(f"{case.get('classname')}::{case.get('name')}")
        elif case.find("skipped") is None:
            passed += 1
    if status not in (0, 1, 5) and not failures:
        failures.append(f"{part} ended with status {status}")
    return Result(passed, len(failures), seconds, failures)


def table(rows: list[tuple[str, str, list[Any]]]) -> str:
    """Machines, and what came of them."""
    lines = [f"{'machine':14}{'':28}{'passed':>8}{'failed':>8}{'seconds':>9}"]
    for name, about, results in rows:
        passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
        seconds = sum(r.seconds for r in results)
        counts = f"{passed:8}{failed:8}{seconds:9.0f}" if results else f"{'-':>8}{'-':>8}{'-':>9}"
        lines.append(f"{name:14}{about:28}{counts}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
