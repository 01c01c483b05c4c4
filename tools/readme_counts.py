"""Write what README.md counts: TensorFlow's names that are there, recorded cases and programs.

Every number is counted from what the tests read (the recorded lists of names, the export table, the
case files); ``--check`` only compares.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT))
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

# What stands before and after each number; `{n}` is the number.
SENTENCES = {
    "names": "| API | {n} of the",
    "names of TensorFlow": "of the {n} public names outside Keras",
    "names of compat.v1": "and {n} of",
    "names of TensorFlow's compat.v1": "of {n} in `compat.v1`",
    "names among them": "among the {n} names",
    "never": "{n} of the others will never be there",
    "raw operations": "{n} of `tf.raw_ops`",
    "cases": "{n} cases recorded from TensorFlow 2.21",
    "programs": "{n} programs recorded from TensorFlow",
}


def count_all() -> dict[str, int]:
    """Return the numbers, from the data."""
    import compatibility
    from programs import collection
    from recorded import case_files

    rows = [line.strip("|").split("|") for line in compatibility.counts()[2:]]
    (own, never, _, wanted), (first, _, _, wanted_first), (raw, *_) = (
        [int(cell) for cell in row[1:]] for row in rows
    )
    return {
        "names": own,
        "names of TensorFlow": wanted,
        "names of compat.v1": first,
        "names of TensorFlow's compat.v1": wanted_first,
        "names among them": own,
        "never": never,
        "raw operations": raw,
        "cases": sum(len(case_files.read_cases(area)) for area in case_files.areas()),
        "programs": sum(len(list(collection.programs(area))) for area in collection.areas()),
    }


def with_counts(text: str, numbers: dict[str, int]) -> str:
    """README.md with these numbers.  Raises ValueError if a sentence is not there just once."""
    for name, sentence in SENTENCES.items():
        before, after = (
            r"\s+".join(map(re.escape, part.split(" "))) for part in sentence.split("{n}")
        )
        pattern = rf"({before})\d[\d,]*({after})"
        text, found = re.subn(pattern, rf"\g<1>{numbers[name]:,}\g<2>", text)
        if found != 1:
            raise ValueError(f"README.md: {sentence!r} stands there {found} times, not once")
    return text


def main() -> int:
    """Write README.md's numbers, or with ``--check`` exit 1 if one is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 if a number is out of date")
    options = parser.parse_args()
    old = README.read_text("utf-8")
    new = with_counts(old, count_all())
    stale = old != new
    if stale and not options.check:
        README.write_text(new, "utf-8")
    print("out of date" if stale and options.check else "written" if stale else "up to date")
    return int(stale and options.check)


if __name__ == "__main__":
    raise SystemExit(main())
