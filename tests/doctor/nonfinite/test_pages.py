"""Each cause has a page; its first program provokes exactly that cause, its second one does not.

A line marked `# here` is the one that must be blamed.
"""

from __future__ import annotations

import linecache
import re

import pytest

import talweg as tf
from talweg.doctor import GradientCheck
from talweg.doctor.pages import codes_with_pages, page

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODES = [code for code in codes_with_pages() if "TW340" <= code <= "TW369" and code != "TW343"]


def run(code: str, number: int) -> tuple:
    """What the program on a page finds, and its text."""
    text = BLOCK.findall(page(code))[number]
    name = f"<{code}.{number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"tf": tf}
    exec(compile(text, name, "exec"), names)
    return names["found"], text


def test_every_cause_has_a_page():
    assert len(CODES) == 29


@pytest.mark.parametrize("code", CODES)
def test_the_bad_program(code):
    found, text = run(code, 0)
    assert found.code == code
    assert bool(found) is not isinstance(found, GradientCheck)
    shown = str(found)
    assert f"[{code}]" in shown
    marked = [line for line in text.splitlines() if "# here" in line]
    if marked:
        assert found.place.source == marked[0].strip()
        assert marked[0].strip() in shown
    if hasattr(found, "cure"):
        assert found.cure and found.cause
    else:
        assert found.findings[0].cure and found.findings[0].cause


@pytest.mark.parametrize("code", CODES)
def test_the_cure(code):
    found, _ = run(code, 1)
    assert found.code != code
    if code != "TW347":  # the gradient of a norm at 0 is 0 then, and is said to be
        assert found.code == ""


@pytest.mark.parametrize("code", CODES)
def test_html(code):
    found, _ = run(code, 0)
    assert code in found._repr_html_()
