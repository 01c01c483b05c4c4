"""Each row of docs/reliability.md that names a test names one that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
ROWS = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| ")]
NAMED = [(row[0].strip(), row[-1]) for row in ROWS if ".py`" in row[-1]]


def test_there_are_rows():
    assert len(NAMED) > 90


@pytest.mark.parametrize(
    "row, tests", NAMED, ids=[f"{row}:{n}" for n, (row, _) in enumerate(NAMED)]
)
def test_the_test_of_a_row_is_there(row, tests):
    names = re.findall(r"`([^`]+)`", tests)
    files = [name for name in names if name.endswith(".py")]
    found = []
    for name in files:
        places = [ROOT / name, *(ROOT / "tests").rglob(name.rsplit("/", 1)[-1])]
        present = [place for place in places if place.exists()]
        assert present, f"{row}: {name}"
        found += [place.read_text("utf-8") for place in present]
    for name in set(names) - set(files):
        assert any(f"def {name}(" in text for text in found), f"{row}: {name}"
