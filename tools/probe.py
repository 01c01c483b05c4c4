"""Damage files at random, as `tests/faults` does, with fresh seeds, for as long as is wanted.

    ./run probe [--minutes 10] [--seed N] [--only png,indices] [--document]
    ./run probe --long [...]      the same step very often (`tools/long_runs.py`)
    ./run probe --guided [...]    what reaches new branches, further (`tools/guided_probe.py`)

Besides files there are `indices`, programs with hostile indices whose arrays lie beside forbidden
pages, and `threads`, rounds of `tests/threads/storms.py`.  Every input that ends in something else
than a value or TensorFlow's error is printed with its seed; a table of what was run stands at the
end.  The exit status is 1 if there was such an input.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from talweg.command.bench import progress  # noqa: E402
from tests.faults import hostile_indices  # noqa: E402 -- found from here on
from tests.faults.damaged import FORMATS, mutate  # noqa: E402
from tests.threads import storms  # noqa: E402
from tools import long_runs  # noqa: E402

ROUND = 200  # inputs of a format in a row
SLOW = 5.0  # seconds of the processor that no input may take
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- by ./run probe --document -->", "<!-- end of it -->"


class Count:
    """What came of the inputs of one format."""

    def __init__(self) -> None:
        self.inputs, self.values, self.seconds, self.memory = 0, 0, 0.0, 0
        self.errors: collections.Counter[str] = collections.Counter()
        self.faults: collections.Counter[str] = collections.Counter()


class Memory:
    """The memory of this process in KiB, and the most of it since a mark (Linux tells)."""

    peak = 0  # of all that was measured, for `ru_maxrss` forgets with each mark

    @staticmethod
    def _read(name: str) -> int:
        text = Path("/proc/self/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0])

    @classmethod
    @contextlib.contextmanager
    def note_growth(cls, count: Count) -> Iterator[None]:
        """Note by how much an input makes the process grow at most, if that is the most so far."""
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the most is what it is now
        except OSError:
            yield
            return
        before = cls._read("VmRSS")
        try:
            yield
        finally:
            most = cls._read("VmHWM")
            count.memory = max(count.memory, most - before)
            cls.peak = max(cls.peak, most)


def probe(name: str, seed: int, count: Count) -> None:
    """Damage a file of one format `ROUND` times."""
    form, rng = FORMATS[name], random.Random(f"{name}{seed}")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        whole = form.make(folder)
        form.read(whole, folder)  # and what it loads is there
        for _ in range(ROUND):
            data, start = mutate(whole, rng), time.process_time()
            count.inputs += 1
            try:
                with Memory.note_growth(count):
                    form.read(data, folder)
                count.values += 1
            except form.right as error:
                count.errors[type(error).__name__] += 1
            except Exception as error:
                count.faults[type(error).__name__] += 1
                print(f"== {name}, seed {seed}: {data!r}")
                traceback.print_exc(limit=-3, file=sys.stdout)
            seconds = time.process_time() - start
            count.seconds += seconds
            if seconds > SLOW:
                count.faults["slow"] += 1
                print(f"== {name}, seed {seed}: {seconds:.1f} s for {data!r}")


def probe_indices(name: str, seed: int, count: Count) -> None:
    """Programs with hostile indices, in forked children: each kind in one of the executors."""
    executors = hostile_indices.EXECUTORS
    for number, kind in enumerate(hostile_indices.KINDS):
        executor, start = executors[(seed + number) % len(executors)], time.perf_counter()
        found = hostile_indices.run_in_child(kind, executor, ROUND // 10, seed)
        count.inputs += ROUND // 10
        count.values += 0 if found else ROUND // 10
        count.seconds += time.perf_counter() - start
        if found:
            count.faults[kind] += 1
            print(f"== {name}: {kind}, {executor}, seed {seed}: {found}")


def probe_threads(name: str, seed: int, count: Count) -> None:
    """A round of one kind of storm."""
    kinds = list(storms.STORMS)
    kind = kinds[seed % len(kinds)]
    with Memory.note_growth(count):
        faults, seconds = storms.rounds(kind, 2)
    count.inputs, count.seconds = count.inputs + 2, count.seconds + seconds
    count.values += 2 - faults
    if faults:
        count.faults[kind] += faults
        print(f"== {name}: {kind}")


PROBES = {**dict.fromkeys(FORMATS, probe), "indices": probe_indices, "threads": probe_threads}


def table(counts: dict[str, Count]) -> str:
    """Return the counts as a table in Markdown."""
    lines = [
        "| format | inputs | values | right errors | wrong | MB more for one input |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, count in counts.items():
        right, wrong = sum(count.errors.values()), sum(count.faults.values())
        memory = f"{count.memory / 1024:.1f}" if name != "indices" else ""  # in children
        lines.append(f"| {name} | {count.inputs} | {count.values} | {right} | {wrong} | {memory} |")
    return "\n".join(lines)


def write_document(text: str) -> None:
    """Put a table in the place of the one that stands in the document."""
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{DOCUMENT.name} has no {BEGIN} ... {END}")
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> int:
    """Run; the exit status."""
    if "--long" in sys.argv:
        return long_runs.main([word for word in sys.argv[1:] if word != "--long"])
    parser = argparse.ArgumentParser("./run probe", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="formats, with commas between them")
    parser.add_argument("--document", action="store_true", help=f"write {DOCUMENT.name}")
    options = parser.parse_args()
    names = [name.strip() for name in options.only.split(",") if name.strip()] or list(PROBES)
    unknown = [name for name in names if name not in PROBES]
    if unknown:
        parser.error(f"no format is called {', '.join(unknown)}; there are {', '.join(PROBES)}")
    warnings.simplefilter("ignore")  # Pillow's, of damaged pictures
    counts = {name: Count() for name in names}
    end, seed = time.monotonic() + 60 * options.minutes, options.seed
    with progress("probing") as note:
        while time.monotonic() < end:
            note(f"seed {seed}, {(end - time.monotonic()) / 60:.1f} minutes left")
            for name in names:
                if time.monotonic() > end:
                    break
                PROBES[name](name, seed, counts[name])
            seed += 1
    inputs = sum(count.inputs for count in counts.values())
    told = f"{time.strftime('%Y-%m-%d')}, seeds {options.seed} to {seed - 1}: {inputs:,} inputs; "
    told += f"peak memory of the process {Memory.peak >> 10} MB."
    print(found := f"{table(counts)}\n\n{told}")
    if options.document:
        write_document(found)
    return 1 if any(count.faults for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
