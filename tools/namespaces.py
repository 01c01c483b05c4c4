"""Write talweg/api/table.txt: which module defines which public name.

Run it after adding or removing an export; ``--check`` only compares.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "talweg" / "api" / "table.txt"
sys.path.insert(0, str(ROOT))


def text(skip_broken: bool) -> str:
    """Return the contents the table should have."""
    from talweg.api import export, table
    from talweg.api.table_v1 import SHARED

    origins = export.ORIGINS
    for problem in export.import_everything(skip_broken):
        print("left as it was, since it does not import:", problem)
        module = problem.split(":")[0]
        origins.update({n: m for n, m in table.TABLE.items() if m == module})
    names = sorted(origins)
    public = [name for name in names if ":" not in name]
    shared = [f"{export.V1}{name}" for name in SHARED if SHARED[name] in origins]
    placed = [*public, *shared, f"{export.V1}raw_ops.Abs"]
    spaces = {name.rsplit(".", n)[0] for name in placed for n in range(1, name.count(".") + 1)}
    by_module: dict[str, list[str]] = {}
    for name in names:
        by_module.setdefault(origins[name], []).append(name)
    blocks = [[module, *by_module[module]] for module in sorted(by_module)]
    blocks.append(["namespaces", *sorted(spaces)])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def main() -> int:
    """Write the table, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if the table is out of date")
    parser.add_argument("--skip-broken", action="store_true", help="pass over broken modules")
    options = parser.parse_args()
    wanted = text(options.skip_broken)
    if options.check:
        current = TABLE.read_text() == wanted
        print("up to date" if current else "out of date: run python tools/namespaces.py")
        return 0 if current else 1
    temporary = TABLE.with_suffix(".tmp")
    temporary.write_text(wanted)
    os.replace(temporary, TABLE)
    print(f"{len(wanted.splitlines())} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
