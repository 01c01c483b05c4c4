"""Run a program and report its waste, and the breaks of its gradients.

Operations built in loops, retraces, large arrays in graphs, variables that nothing reaches, the
same work done again, gradients that are None: each finding has a code, its lines, its cost and its
cure; `talweg explain CODE` tells more.  The findings go to stdout, what the program prints goes
where it always goes.

examples:
  talweg doctor train.py --steps 10
  talweg doctor --ignore TW616,TW62 train.py      codes, or their beginnings
  talweg doctor --html report.html train.py
  talweg doctor --json train.py > report.json     what the program prints goes to stderr
  talweg doctor -m package.train

exit status: 0 no findings, 1 findings, 2 wrong use, 3 the program failed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talweg.command.launch import FAILED, FINE, FOUND, add_json, add_program, launch, program_of
from talweg.doctor import examine

if TYPE_CHECKING:
    from talweg.doctor.findings import Finding, Report


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg doctor`."""
    parser.add_argument(
        "--select", metavar="CODES", help="only these findings: codes or their beginnings"
    )
    parser.add_argument(
        "--ignore", metavar="CODES", help="all findings but these: codes or their beginnings"
    )
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    parser.add_argument(
        "--github", action="store_true", help="print findings as annotations of GitHub's, too"
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 although there are findings"
    )
    add_json(parser)
    add_program(parser)


def main(options: argparse.Namespace) -> int:
    """Examine the program; whether anything was found."""
    program = program_of(options)
    seen = examine(subject=program.name)
    outcome = launch(program, options, seen)
    report = choose_findings(seen.report, options.select, options.ignore)
    if options.html:
        page = f"<!DOCTYPE html><meta charset='utf-8'>{report._repr_html_()}"
        Path(options.html).write_text(page, "utf-8")
    sys.stdout.flush()
    print(report.to_json() if options.json else f"\n{report}")
    if options.github:
        for finding in report:
            print(annotation(finding), file=sys.stderr)
    if outcome.failed:
        return FAILED
    return FOUND if len(report) and not options.exit_zero else FINE


def annotation(finding: Finding) -> str:
    """Return a finding as GitHub shows it beside its line."""
    place = finding.places[0] if finding.places else None
    where = "" if place is None else f"file={place.file},line={place.line},"
    text = ". ".join(filter(None, (finding.title, finding.cure))).replace("%", "%25")
    return f"::warning {where}title={finding.code}::" + text.replace("\n", "%0A")


def choose_findings(report: Report, select: str | None, ignore: str | None) -> Any:
    """Return the report with only the findings that are wanted."""
    wanted, unwanted = codes_of(select), codes_of(ignore)
    kept = [
        finding
        for finding in report.findings
        if (not wanted or finding.code.startswith(wanted))
        and not (unwanted and finding.code.startswith(unwanted))
    ]
    return replace(report, findings=tuple(kept))


def codes_of(text: str | None) -> tuple[str, ...]:
    """Return `TW604, 62` as beginnings of codes.

    >>> codes_of("TW604, 62")
    ('TW604', 'TW62')
    """
    parts = [part.strip().upper() for part in (text or "").split(",") if part.strip()]
    return tuple([part if part.startswith("TW") else f"TW{part}" for part in parts])
