"""Coverage-guided fuzzing of the readers, with atheris: what reaches a branch is mutated further.

    ./run probe --guided [--seconds 20] [--only png,csv] [--corpus FOLDER]

talweg's readers in Python are instrumented, and each format has a forked process.  It begins with
the whole file and some damaged ones of `tests/faults/damaged.py`, and what an earlier run left in
the corpus.  An input that ends in something else than a value or TensorFlow's error is printed, and
the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Not the kernels, of whose source machine code is made, which shall be as it stands.
INSTRUMENTED = ["formats", "pipeline", "interop", "core", "graph", "api"]

try:
    import atheris
except ImportError:
    sys.exit("this needs atheris: `./run probe --guided` installs it where there is one")


@contextlib.contextmanager
def instrument() -> Iterator[None]:
    """Instrument what is imported meanwhile."""
    include = [f"talweg.{package}" for package in INSTRUMENTED]
    with (
        contextlib.redirect_stderr(io.StringIO()),  # a line for each module
        atheris.instrument_imports(include=include),
    ):
        yield


with instrument():
    from tests.faults.damaged import FORMATS, mutate

SEEDS = 50  # damaged files that a corpus begins with
MEGABYTES = 2560  # that a process may take: a picture has its size
STATISTICS = {
    "inputs": r"stat::number_of_executed_units: +(\d+)",
    "branches": r"cov: (\d+)",
    "corpus": r"corp: (\d+)",
    "memory": r"stat::peak_rss_mb: +(\d+)",
}


def fuzz(name: str, folder: Path, corpus: Path, seconds: int) -> None:
    """Fuzz one format in this process, which ends with libFuzzer's exit status."""
    form, rng = FORMATS[name], random.Random(name)
    with instrument():  # the readers are imported when they are first asked for
        whole = form.make(folder)
        form.read(whole, folder)
    (corpus / "whole").write_bytes(whole)
    for number in range(SEEDS):
        (corpus / f"damaged-{number}").write_bytes(mutate(whole, rng))

    def read_one(data: bytes) -> None:
        try:
            form.read(data, folder)
        except form.right:
            pass
        except Exception:
            (folder / "crash-told").write_bytes(data)
            raise

    limits = [f"-max_total_time={seconds}", f"-max_len={4 * len(whole) + 64}", "-timeout=30"]
    limits += [f"-rss_limit_mb={MEGABYTES}", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", str(corpus)], read_one)
    atheris.Fuzz()


def fuzz_in_child(name: str, corpus: str, seconds: int) -> tuple[dict[str, int], bool]:
    """The statistics of one format's run in a forked child, and whether nothing went wrong."""
    with tempfile.TemporaryDirectory() as text:
        folder, told = Path(text), Path(text, "told")
        kept = Path(corpus, name.replace(" ", "_")) if corpus else folder / "corpus"
        kept.mkdir(parents=True, exist_ok=True)
        child = os.fork()
        if not child:
            out = os.open(told, os.O_WRONLY | os.O_CREAT)
            os.dup2(out, 1)
            os.dup2(out, 2)
            try:
                fuzz(name, folder, kept, seconds)
            finally:
                os._exit(99)
        status = os.waitpid(child, 0)[1]
        said = told.read_text(errors="replace")
        for path in folder.glob("*-*"):
            if re.fullmatch(r"(crash|oom|timeout|leak)-\w+", path.name):
                print(f"== {name}, {path.name}: {path.read_bytes()!r}")
    if status:
        print(said[-3000:])
    found = {key: re.findall(pattern, said) for key, pattern in STATISTICS.items()}
    return {key: int(numbers[-1]) if numbers else 0 for key, numbers in found.items()}, not status


def main(arguments: list[str]) -> int:
    """Fuzz all formats, or those that are named, and print a table; the exit status."""
    parser = argparse.ArgumentParser("./run probe --guided", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20, help="for each format")
    parser.add_argument("--only", default="", help="formats, with commas between them")
    parser.add_argument("--corpus", default="", help="a folder for what reached new branches")
    options = parser.parse_args(arguments)
    names = [name.strip() for name in options.only.split(",") if name.strip()] or list(FORMATS)
    if unknown := [name for name in names if name not in FORMATS]:
        parser.error(f"no format is called {', '.join(unknown)}; there are {', '.join(FORMATS)}")
    print("| format | inputs | branches | corpus | wrong | peak MB of the process |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    is_whole = True
    for name in names:
        found, is_right = fuzz_in_child(name, options.corpus, options.seconds)
        is_whole = is_whole and is_right
        cells = (name, found["inputs"], found["branches"], found["corpus"], int(not is_right))
        print(f"| {' | '.join(map(str, cells))} | {found['memory']} |", flush=True)
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
