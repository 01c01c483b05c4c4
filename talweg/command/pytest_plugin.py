"""`pytest --talweg-doctor`: a test fails if it leaks nodes, bakes arrays into graphs, or drops
gradients.

Each test runs under the doctor.  What fails it are the findings of `FAILING`, or those selected by
`--talweg-doctor-select` (and `talweg_doctor_select` in the configuration), and gradients that are
None without having been asked for as such.  `@pytest.mark.talweg_doctor(ignore="TW604")` lets one
test have what is meant; without `ignore`, the doctor leaves the test alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from talweg.command.doctor import codes_of
from talweg.core import dispatch
from talweg.core.observer import Observer
from talweg.core.provenance import user_origin
from talweg.doctor import Finding, Place, examine

FAILING = (  # findings that are mistakes in a test's code, not only costs
    "TW301",
    "TW601",
    "TW602",
    "TW604",
    "TW606",
    "TW607",
    "TW613",
    "TW617",
    "TW620",
)
NOTED = "talweg doctor"
HOOKS = tuple(name for name in vars(Observer) if not name.startswith("_"))


class Gradients(Observer):
    """Notes gradients that are None although a number was wanted."""

    def __init__(self) -> None:
        self.dropped: dict[tuple, Finding] = {}

    def gradient_taken(
        self, sources: list, gradients: list, wanted: bool, explain: Callable[[Any], Any]
    ) -> None:
        """Note that a gradient was taken."""
        if wanted:
            return
        absent = [
            source
            for source, gradient in zip(sources, gradients)
            if gradient is None and getattr(source, "trainable", False)
        ]
        if not absent:
            return
        origin = user_origin(2)
        names = [source.name.split(":")[0] for source in absent]
        shown = ", ".join(names[:5])
        if (shown, origin) in self.dropped:
            return
        with dispatch.observe(None):
            why = explain(absent[0])
        asked = () if origin is None else (Place.of(origin),)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        self.dropped[shown, origin] = Finding(
            "TW301",
            f"the gradient by {shown}{more} is None",
            why.headline,
            tuple(dict.fromkeys((*asked, *why.lines[:2]))),
            len(names),
            cure=why.remedy,
        )


class Both(Observer):
    """An observer that passes each event on to two observers."""

    def __init__(self, first: bool, second: object):
        for name in HOOKS:
            setattr(self, name, _both(getattr(first, name), getattr(second, name)))


def _both(first: Any, second: Any) -> Any:
    def tell(*arguments: object) -> None:
        first(*arguments)
        second(*arguments)

    return tell


class Doctor:
    """The plugin of one run of pytest."""

    def __init__(self, config: Any):
        text = config.getoption("--talweg-doctor-select") or config.getini("talweg_doctor_select")
        self.failing = codes_of(text) or FAILING
        self.found: dict[str, list[Finding]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: object) -> Iterator[None]:
        """Run the test under the doctor; fail it for findings, if it passed."""
        marker = item.get_closest_marker("talweg_doctor")
        if marker is not None and not marker.kwargs.get("ignore"):
            yield
            return
        gradients = Gradients()
        with examine(subject=item.nodeid) as seen:
            both = Both(dispatch.state.observer, gradients)
            with dispatch.observe(both):
                outcome = yield
        if outcome.excinfo is not None:
            return
        ignored = codes_of(marker.kwargs["ignore"]) if marker is not None else ()
        findings = [
            finding
            for finding in (*gradients.dropped.values(), *seen.report)
            if finding.code.startswith(self.failing)
            and not (ignored and finding.code.startswith(ignored))
        ]
        if findings:
            self.found[item.nodeid] = findings
            text = "\n\n".join(map(str, findings))
            outcome.force_exception(
                pytest.fail.Exception(
                    f"talweg's doctor: {text}\n\nmore: talweg explain {findings[0].code}",
                    pytrace=False,
                )
            )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the number of each kind of finding."""
        if not self.found:
            return
        counts: dict[str, int] = {}
        for findings in self.found.values():
            for finding in findings:
                counts[finding.code] = counts.get(finding.code, 0) + 1
        terminalreporter.section(NOTED)
        for code in sorted(counts):
            terminalreporter.line(f"{code} in {counts[code]} tests: talweg explain {code}")
