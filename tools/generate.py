"""Write, or check, all that is generated: the table of names, the stubs, the compatibility page,
and the numbers of README.md.

    python tools/generate.py [--check]

The order matters: stubs, page and numbers read the table.  Each generator runs in a process of its
own, so that it sees what the one before has written.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
GENERATORS = ("namespaces", "stubs", "compatibility", "readme_counts")


def main() -> int:
    """Run the generators; with ``--check`` exit 1 if anything is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 if anything is out of date")
    options = parser.parse_args()
    stale = []
    for name in GENERATORS:
        print(f"{name}: ", end="", flush=True)
        command = [sys.executable, str(TOOLS / f"{name}.py"), *(["--check"] * options.check)]
        if subprocess.run(command).returncode:
            stale.append(name)
            if not options.check:  # what comes after would read what is out of date
                return 1
    if stale:
        print(f"out of date: {', '.join(stale)}; write them with ./run generate")
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
