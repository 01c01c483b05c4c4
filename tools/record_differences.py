"""Record where talweg departs from TensorFlow on purpose: tests/recorded/differences.json.

Each entry is a recorded case, the reason, and what talweg gives instead.  ``--add CASE REASON``
adds one; without arguments every entry's value is taken again and cases flagged `tf-wrong` that
have no entry are added, with an empty reason to be written by hand (a test fails until it is).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
FILE = ROOT / "tests" / "recorded" / "differences.json"


def main() -> None:
    """Take all values again and write the file whole."""
    from recorded import case_files, description, helpers

    import talweg as tf

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("CASE", "REASON"))
    options = parser.parse_args()
    entries = json.loads(FILE.read_text("utf-8")) if FILE.exists() else []
    reasons = {entry["case"]: entry["reason"] for entry in entries}
    reasons.update(options.add)
    cases = {c.text: c for area in case_files.areas() for c in case_files.read_cases(area)}
    for text, case in cases.items():
        if "tf-wrong" in case.flags:
            reasons.setdefault(text, "")
    reasons = {text: reason for text, reason in reasons.items() if text in cases}
    names = helpers.namespace(tf)
    rows = [
        json.dumps(
            {
                "case": text,
                "reason": reason,
                "gives": description.encode(description.run(cases[text], tf, names)),
            }
        )
        for text, reason in sorted(reasons.items())
    ]
    temporary = FILE.with_suffix(".tmp")
    temporary.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")
    os.replace(temporary, FILE)
    print(len(rows), "differences;", sum(not r for r in reasons.values()), "without a reason")


if __name__ == "__main__":
    main()
