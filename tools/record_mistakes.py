"""Record what Python prints for typical mistakes, and write docs/mistakes.md.

    python tools/record_mistakes.py              # what is printed now, and the page
    python tools/record_mistakes.py --before DIR # what the talweg in DIR prints, kept as "before"
    python tools/record_mistakes.py --check      # exit 1 if the page is out of date

The programs are tests/mistakes/programs/*.py; each runs in a process of its own, as a user's does.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "mistakes"
PAGE = ROOT / "docs" / "mistakes.md"

HEAD = """# Ten typical mistakes

What Python prints for each: first as talweg printed it until November 2026, in short, then as it
prints it now.  `tools/record_mistakes.py` writes this page, and a test holds it to what is printed.

| mistake | lines before | lines now |
| --- | ---: | ---: |
"""


def run_and_print(program: Path, package: Path = ROOT) -> str:
    """What a program prints with the talweg of a folder, without what depends on the machine."""
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONWARNINGS": "ignore"}
    found = subprocess.run(
        [sys.executable, program.name],
        cwd=program.parent,
        capture_output=True,
        text=True,
        env=environment,
    )
    text = (found.stdout + found.stderr).replace(f"{program.parent}/", "")
    text = text.replace(f"{package}/", "")
    lines = [line for line in text.splitlines() if not re.fullmatch(r"\s*[\^~]+\s*", line)]
    lines = [re.sub(r'(File "talweg/[^"]*", line )\d+', r"\1...", line) for line in lines]
    return "\n".join(lines) + "\n"


def title(program: Path) -> str:
    """Return `01_shapes_of_a_product` in words."""
    words = program.stem.split("_")[1:]
    return (
        " ".join(words)
        .capitalize()
        .replace("tensorflow", "TensorFlow")
        .replace("numpy", "NumPy")
        .replace("none", "None")
    )


def shorten(text: str) -> str:
    """Return the first and last lines of a long text."""
    lines = text.rstrip().split("\n")
    if len(lines) > 14:
        lines = [*lines[:5], f"  ... {len(lines) - 10} more lines ...", *lines[-5:]]
    return "\n".join(line if len(line) <= 110 else line[:106] + " ..." for line in lines)


def page() -> str:
    """Return the page, from the programs, what is kept as "before", and what is printed now."""
    rows, parts = [], []
    for program in sorted((FOLDER / "programs").glob("*.py")):
        before = (FOLDER / "before" / f"{program.stem}.txt").read_text("utf-8")
        now = run_and_print(program)
        rows.append(f"| {title(program)} | {before.count(chr(10))} | {now.count(chr(10))} |")
        source = program.read_text("utf-8").rstrip()
        parts.append(
            f"## {title(program)}\n\n```text\n{source}\n```\n\nBefore:\n\n"
            f"```text\n{shorten(before)}\n```\n\nNow:\n\n```text\n{now.rstrip()}\n```\n"
        )
    return HEAD + "\n".join(rows) + "\n\n" + "\n".join(parts)


def main() -> int:
    """Record, write or check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, metavar="DIR", help="an older talweg's checkout")
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is out of date")
    options = parser.parse_args()
    if options.before:
        (FOLDER / "before").mkdir(exist_ok=True)
        for program in sorted((FOLDER / "programs").glob("*.py")):
            text = run_and_print(program, options.before.resolve())
            (FOLDER / "before" / f"{program.stem}.txt").write_text(text, "utf-8")
    new = page()
    if options.check:
        return int(PAGE.read_text("utf-8") != new)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
