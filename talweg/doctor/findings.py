"""Findings are the doctor's statements as values; a `Report` gathers them.

A `Finding` has a code (`TW604`, with a page of its own: `talweg explain TW604`), what happened, the
lines where it happened, how often, what it costs and what to write instead.  A `Report` holds the
findings of one subject (a program, a graph, a function) with what was counted; it prints as text,
as HTML in a notebook, and as JSON.  Making either reads files only when it is printed.
"""

from __future__ import annotations

import html
import json
import linecache
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from talweg.core.provenance import Origin, cut, line_of, place_text

WIDTH = 100  # of a report as text; lines of programs are longer if they are
BLANK = " " * 9


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    file: str
    line: int
    function: str = "<module>"

    @classmethod
    def of(cls, origin: Origin) -> Place:
        """Return the place an origin stands on."""
        code = origin[0]
        return cls(code.co_filename, line_of(origin), code.co_name)

    @property
    def source(self) -> str:
        """The text of the line; "" where that is not at hand."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def position(self) -> str:
        """``train.py:12``, or ``Cell In[4], line 2``."""
        return place_text(self.file, self.line)

    def __str__(self) -> str:
        inside = "" if self.function == "<module>" else f", in {self.function}"
        source = cut(self.source)
        return f"{self.position}{inside}" + (f": {source}" if source else "")

    def as_dict(self) -> dict:
        """Return the content of the place, for JSON."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "source": self.source,
        }


@dataclass(frozen=True)
class Finding:
    """One thing that is wasted, or wrong.

    code: what kind, `TW6..`; `talweg explain CODE` prints its page.
    title: what happened, with names and numbers, in one line.
    cause: why it happened.
    places: the lines, the most important one first.
    count: how often it happened.
    cost: what it takes: time, memory, work that is done twice.
    cure: what to write instead.
    """

    code: str
    title: str
    cause: str
    places: tuple[Place, ...] = ()
    count: int = 1
    cost: str = ""
    cure: str = ""

    def __str__(self) -> str:
        lines = [f"{self.code}  {self.title}"]
        lines += [f"  at:    {place}" for place in self.places]
        for name, text in (("cause", self.cause), ("cost", self.cost), ("cure", self.cure)):
            for number, line in enumerate(text.splitlines()):
                start = f"  {name + ':' if number == 0 else '':<7}"
                lines += textwrap.wrap(
                    line,
                    WIDTH,
                    initial_indent=start,
                    subsequent_indent=BLANK,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
        return "\n".join(lines)

    def as_dict(self) -> dict:
        """Return the content of the finding, for JSON."""
        own = {
            name: getattr(self, name)
            for name in ("code", "title", "cause", "count", "cost", "cure")
        }
        return own | {"places": [place.as_dict() for place in self.places]}


@dataclass(frozen=True)
class Report:
    """The findings about one subject, with the counts that were taken on the way.

    subject: what was looked at ("program.py", "graph", "function step").
    findings: by weight, the heaviest first.
    facts: what was counted, name -> number or text.
    memory: over time, rows of (seconds, bytes of the process, nodes in graphs).
    """

    subject: str
    findings: tuple[Finding, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    memory: tuple[tuple[float, int, int], ...] = ()

    @property
    def codes(self) -> list[str]:
        """The codes found, each once, in order."""
        return list(dict.fromkeys(finding.code for finding in self.findings))

    @property
    def exit_status(self) -> int:
        """The status that a command returns to the shell: 0 without findings, 1 with findings."""
        return 1 if self.findings else 0

    def with_findings(self, more: Iterable[Finding]) -> Report:
        """Return this report with the findings of another part of the doctor behind its own."""
        return Report(self.subject, (*self.findings, *more), self.facts, self.memory)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return True  # a report without findings is a report

    def __str__(self) -> str:
        number = len(self.findings)
        heads = {0: "nothing to report", 1: "1 finding"}
        parts = [f"{self.subject}: {heads.get(number, f'{number} findings')}"]
        parts += [str(finding) for finding in self.findings]
        if self.facts:
            parts.append(
                "\n".join(f"  {name}: {format_fact(value)}" for name, value in self.facts.items())
            )
        if self.findings:
            parts.append(f"more: talweg explain {self.findings[0].code}")
        return "\n\n".join(parts)

    __repr__ = __str__

    def as_dict(self) -> dict:
        """Return the content of the report, for JSON."""
        return {
            "subject": self.subject,
            "findings": [finding.as_dict() for finding in self.findings],
            "facts": dict(self.facts),
            "memory": [list(row) for row in self.memory],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return the report as JSON."""
        return json.dumps(self.as_dict(), indent=indent, default=str)

    def _repr_html_(self) -> str:
        return page_of(self)


def format_fact(value: float | str) -> str:
    """Return a fact as text: thousands set apart."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


STYLE = """
.talweg { font: 14px/1.45 system-ui, sans-serif; color: #1d2733; max-width: 60em }
.talweg h3 { font-size: 16px; margin: 0 0 .6em }
.talweg .finding { border-left: 4px solid #c2410c; background: #fff7ed; margin: 0 0 .8em;
  padding: .5em .9em }
.talweg .clean { border-left: 4px solid #15803d; background: #f0fdf4; padding: .5em .9em }
.talweg code { font: 12.5px/1.4 ui-monospace, monospace }
.talweg .code { font-weight: 600; color: #9a3412; margin-right: .5em }
.talweg pre { margin: .35em 0; padding: .3em .6em; background: #ffffff; white-space: pre-wrap;
  border: 1px solid #e7e5e4; font: 12.5px/1.4 ui-monospace, monospace }
.talweg dl { display: grid; grid-template-columns: max-content 1fr; gap: .15em .8em;
  margin: .3em 0 }
.talweg dl dt { color: #78716c; float: none; width: auto }
.talweg dl dd { margin: 0; white-space: pre-line }
.talweg .facts { color: #57534e }
"""


def page_of(report: Report) -> str:
    """Return a report as HTML that stands alone."""
    parts = [
        f"<div class='talweg'><style>{STYLE}</style>",
        f"<h3>{html.escape(report.subject)}</h3>",
    ]
    parts += [_html_of(finding) for finding in report.findings]
    if not report.findings:
        parts.append("<div class='clean'>nothing to report</div>")
    if report.memory:
        parts.append(_curve(report.memory))
    if report.facts:
        rows = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(format_fact(value))}</dd>"
            for name, value in report.facts.items()
        )
        parts.append(f"<dl class='facts'>{rows}</dl>")
    return "\n".join([*parts, "</div>"])


def _html_of(finding: Finding) -> str:
    places = "".join(f"<pre>{html.escape(str(place))}</pre>" for place in finding.places)
    rows = "".join(
        f"<dt>{name}</dt><dd>{html.escape(text)}</dd>"
        for name, text in (("cause", finding.cause), ("cost", finding.cost), ("cure", finding.cure))
        if text
    )
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(finding.title))
    title = f"<span class='code'>{finding.code}</span>{words}"
    return f"<div class='finding'>{title}{places}<dl>{rows}</dl></div>"


def _curve(memory: tuple) -> str:
    """Return memory of the process over time, as a small picture."""
    width, height, edge = 560, 110, 34
    last = max(row[0] for row in memory) or 1.0
    most = max(row[1] for row in memory)
    least = min(row[1] for row in memory)
    span = max(most - least, 2**20)
    points = " ".join(
        f"{edge + seconds / last * (width - edge - 8):.1f},"
        f"{height - 20 - (size - least) / span * (height - 34):.1f}"
        for seconds, size, _ in memory
    )
    return (
        f"<svg width='{width}' height='{height}' role='img' aria-label='memory over time'>"
        f"<polyline points='{points}' fill='none' stroke='#0369a1' stroke-width='1.6'/>"
        f"<text x='{edge}' y='11' font-size='11' fill='#57534e'>memory of the process: "
        f"{megabytes(most)} at most, {megabytes(least)} at least</text>"
        f"<text x='{width - 8}' y='{height - 5}' font-size='11' fill='#57534e' "
        f"text-anchor='end'>{last:.1f} s</text></svg>"
    )


def megabytes(count: float) -> str:
    """Return a number of bytes, as people read it."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"
