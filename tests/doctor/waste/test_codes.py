"""Each code has a program that provokes exactly it, and one beside it that does not."""

from __future__ import annotations

import pytest

from tests.doctor.waste.support import PROGRAMS, marked_lines, report_of

CODES = sorted(path.name[:5].upper() for path in PROGRAMS.glob("tw*_bad.py"))


@pytest.mark.parametrize("code", CODES)
def test_the_bad_program_has_this_finding_alone(code):
    path = PROGRAMS / f"{code.lower()}_bad.py"
    report = report_of(path)
    assert report.codes == [code], str(report)
    finding = report.findings[0]
    lines = [place.line for place in finding.places if place.file == str(path)]
    assert marked_lines(path)[0] in lines, str(report)
    assert finding.title and finding.cause and finding.cost and finding.cure
    assert report.exit_status == 1


@pytest.mark.parametrize("code", CODES)
def test_the_good_program_has_none(code):
    report = report_of(PROGRAMS / f"{code.lower()}_good.py")
    assert report.codes == [], str(report)
    assert report.exit_status == 0
