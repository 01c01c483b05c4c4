"""Run libraries that stand on TensorFlow on talweg and on TensorFlow, and write docs/libraries.md.

    python tools/libraries.py --oracle PYTHON [--folder FOLDER] [NAME ...]

Wheels are installed into FOLDER on demand, as the list names them; both sides use the same ones.
A job (`tools/library_jobs`) passes if it gives TensorFlow's numbers to 3 digits; a library's own
test counts if it passes on TensorFlow.  Without names all libraries run; the rows of those that run
are written into the page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
LIST, PAGE = ROOT / "tools" / "libraries.txt", ROOT / "docs" / "libraries.md"
COMMON = "common"
SOURCE = "sdist:"  # before the path of a test that the source distribution has, not the wheel
FOLDER = f"{tempfile.gettempdir()}/talweg-libraries"
OUTCOME = r"^\S*?(\w+/\w+\.py::.*?) (PASSED|FAILED|ERROR)\b"
PART_FAILED = r"^SUBFAILED\S* \S*?(\w+/\w+\.py::\S+)"  # of a test that passes nevertheless
LIMIT = 1800  # seconds for one library on one side
LEGACY = (  # want Keras 2 as tf.keras
    *("tf_keras", "tfp", "gpflow", "agents", "hub", "recommenders", "tfmot", "spektral"),
)
PYTEST = """
import sys
if "--talweg" in sys.argv:
    sys.argv.remove("--talweg")
    import talweg
    talweg.as_tensorflow()
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@dataclass
class Library:
    """A line of the list."""

    name: str
    version: str
    packages: list[str]
    needs: list[str]
    tests: list[str] = field(default_factory=list)

    def source(self, folder: Path) -> Path:
        """Where the library's source distribution is unpacked, if its tests are in that."""
        return folder / f"{self.name}-sdist"


def libraries() -> list[Library]:
    """Return the list."""
    found = []
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" = ")
            version, *parts = [part.strip() for part in rest.split("|")]
            found.append(Library(name, version, *[part.split() for part in parts]))
    return found


class Side:
    """A Python that runs libraries: talweg's own, or one with TensorFlow."""

    def __init__(self, python: str, folder: Path, is_talweg: bool):
        self.python, self.folder, self.is_talweg = python, folder, is_talweg
        self.said = ""  # by the last tests

    def run(self, library: Library, *command: str) -> tuple[str, float]:
        """What a command prints, with the library's wheels in reach, and its seconds."""
        paths = [str(ROOT / "tools"), str(library.source(self.folder))]
        paths += [str(ROOT)] * self.is_talweg
        paths += [str(self.folder / name) for name in (library.name, *library.needs, COMMON)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        if library.name in LEGACY:
            environment["TF_USE_LEGACY_KERAS"] = "1"
        flags = ["--talweg"] * self.is_talweg
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [self.python, *command, *flags],
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT,
            ).stdout
        except subprocess.TimeoutExpired as error:
            done = (error.stdout or b"").decode(errors="replace")
        return done, time.perf_counter() - start

    def jobs(self, library: Library) -> dict[str, dict]:
        """Return the jobs' results, by name."""
        text, _ = self.run(library, "-m", "library_jobs", library.name)
        lines = [json.loads(x[4:]) for x in text.splitlines() if x.startswith("JOB ")]
        return {line["job"]: line for line in lines}

    def tests(self, library: Library) -> dict[str, str]:
        """The outcomes of the library's own tests, by name; of those that ran within the limit."""
        paths = []
        for file in library.tests:
            in_source = file.startswith(SOURCE)
            top = library.source(self.folder) if in_source else self.folder / library.name
            paths.append(str(top / file.removeprefix(SOURCE)))
        options = ["-v", "-p", "no:cacheprovider", "--import-mode=importlib", "--tb=short"]
        options += ["--continue-on-collection-errors", "-o", "addopts="]
        text, _ = self.run(library, "-c", PYTEST, *paths, *options)
        self.said = text
        outcomes = {name: x for name, x in re.findall(OUTCOME, text, re.M)}
        return outcomes | dict.fromkeys(re.findall(PART_FAILED, text, re.M), "FAILED")


def install(library: Library, folder: Path, python: str) -> None:
    """Put a library's wheels into the folder, unless they are there."""
    target = folder / library.name
    if not target.exists():
        alone = library.packages[:1] != ["with-dependencies"]
        pip = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            *["--no-deps"] * alone,
            "--target",
            str(target),
        ]
        subprocess.run([*pip, *library.packages[not alone :]], check=True)
    source = library.source(folder)
    if any(file.startswith(SOURCE) for file in library.tests) and not source.exists():
        unpack_source(library.packages[0], source, python)


def unpack_source(package: str, target: Path, python: str) -> None:
    """Put the source distribution of a package, which has its tests, into a folder."""
    with tempfile.TemporaryDirectory() as place:
        pip = [python, "-m", "pip", "download", "-q", "--no-deps", "-d", place]
        subprocess.run([*pip, "--no-binary", package.partition("==")[0], package], check=True)
        shutil.unpack_archive(next(Path(place).iterdir()), place)
        shutil.move(next(x for x in Path(place).iterdir() if x.is_dir()), target)
    # a package, so that no other `tests` is found first
    (target / "tests" / "__init__.py").touch()


def agree(a: object, b: object) -> bool:
    """Whether two results are the same, numbers to 3 digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[key], b[key]) for key in a)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=2e-3, atol=2e-4))
    return a == b


def row(library: Library, talweg: Side, oracle: Side) -> str:
    """What is said of a library: a row of the table."""
    ours, theirs = talweg.jobs(library), oracle.jobs(library)
    good = [name for name, line in theirs.items() if line["error"] is None]
    same = [n for n in good if n in ours and agree(ours[n]["result"], theirs[n]["result"])]
    for name in set(good) - set(same):
        line = ours.get(name, {})
        print(f"  {library.name}.{name}: {line.get('error') or 'other numbers'}")
    times = [sum(side[n]["seconds"] for n in good if n in side) for side in (ours, theirs)]
    other = ", ".join([n.removeprefix("job_") for n in good if n not in same]) or "none"
    tests = "-"
    if library.tests:
        mine, known = talweg.tests(library), oracle.tests(library)
        passed = [name for name, outcome in known.items() if outcome == "PASSED"]
        kept = [name for name in passed if mine.get(name) == "PASSED"]
        for name in set(passed) - set(kept):
            print(f"  {library.name}: {name} {mine.get(name)}")
        tests = f"{len(kept)} of {len(passed)}"
    return (
        f"| {library.name} | {library.version} | {len(same)} of {len(good)} | {other} | {tests} | "
        f"{times[0]:.1f} / {times[1]:.1f} |"
    )


HEAD = """# Libraries that stand on TensorFlow

`python tools/libraries.py --oracle PYTHON` makes this table.  It installs the unmodified wheel of
each library and runs small jobs on talweg and on TensorFlow 2.21, with the same seeds.

- *jobs as on TensorFlow*: how many jobs give TensorFlow's numbers to 3 digits.
- *own tests*: some of the library's own tests (`tools/libraries.txt` names the files).  Of the
  tests that pass on TensorFlow, the column says how many pass on talweg.
- *seconds*: the time of the jobs on talweg / on TensorFlow, without imports, measured once, one
  after the other.

| library | version | jobs as on TensorFlow | other numbers or an error | own tests | seconds |
| --- | --- | --- | --- | --- | --- |
"""
TAIL = """
With `TF_USE_LEGACY_KERAS=1`, `tf.keras` is the package `tf_keras`, as in TensorFlow.  TensorFlow
Probability and GPflow need this.

**Random numbers of TensorFlow Probability.** Some of its samplers have one algorithm for CPUs and
another for all other devices: those of gamma and Poisson numbers, and those that are made of
gamma numbers (beta, Dirichlet, Student's t).  On the CPU talweg takes the first, as TensorFlow
does, so the same seed gives the same numbers.  TensorFlow takes the second under
`jit_compile=True`; talweg takes it only when XLA runs the program (`TALWEG_EXECUTOR=xla`).

**ONNX.** The row `onnx` is tf2onnx, which Keras's `model.export("m.onnx", format="onnx")` uses.  It
translates models with loops and branches, too: recurrent layers, `tf.while_loop`, `tf.map_fn`,
`tf.cond`.  What tf2onnx does not translate on TensorFlow it does not translate here (`tf.scan`,
`tf.switch_case`).  The converter for TensorFlow.js models does not work.

**jax2tf** needs the package jax.

**Libraries with operations in C++** (tensorflow-text, tensorflow-io, tensorflow-addons,
tensorflow-decision-forests and others) cannot work.  Importing one raises an ImportError that
says what you can use instead.

**Without `talweg run`.** `pip install 'talweg[tensorflow]'` makes `import tensorflow` talweg in a
whole environment.  Packages that require tensorflow find it
(`distributions/talweg-as-tensorflow`).

**Private modules.** `talweg/private/` has what libraries import from TensorFlow's private
modules.  If a name is missing, you get an ImportError with this name, and a warning.  The warning
is there because some libraries catch the error and go on without the name.
"""


def write_page(name: str, line: str) -> None:
    """Put a library's row into the page, in the order of the list; the other rows stay."""
    found = re.findall(r"^(\| (\w+) \| .* \|)$", PAGE.read_text(), re.M)
    rows = {own: text for text, own in found if own != "library"} | {name: line}
    kept = [rows[library.name] for library in libraries() if library.name in rows]
    PAGE.write_text(HEAD + "\n".join(kept) + "\n" + TAIL)


def main() -> None:
    """Run what was asked for, and put its rows into the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="libraries; all if none is named")
    parser.add_argument("--oracle", required=True, help="a Python that has TensorFlow")
    parser.add_argument("--folder", default=FOLDER, help="where wheels are put")
    options = parser.parse_args()
    folder = Path(options.folder)
    talweg, oracle = Side(sys.executable, folder, True), Side(options.oracle, folder, False)
    for library in libraries():
        install(library, folder, options.oracle)
        if library.name != COMMON and (not options.names or library.name in options.names):
            line = row(library, talweg, oracle)
            print(line, flush=True)
            write_page(library.name, line)


if __name__ == "__main__":
    main()
