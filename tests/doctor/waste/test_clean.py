"""Programs that waste nothing get no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.waste.support import report_of

CLEAN = sorted((Path(__file__).parent / "clean").glob("*.py"))


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_a_clean_program_has_no_finding(path):
    report = report_of(path)
    assert report.codes == [], str(report)
