"""Every code has a page, every page a code, and what a page shows is so."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import numpy as np
import pytest

import talweg as tf
from talweg.core.errors import CATALOGUE
from talweg.doctor import codes_with_pages, examine, page
from talweg.doctor.pages import render_page, title

ROOT = Path(__file__).resolve().parents[3]
SOURCE = sorted((ROOT / "talweg").rglob("*.py"))
CODE = re.compile(r"TW\d{3}")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
MADE_UP = {"TW999"}  # in examples
NOT_RUN = {"TW403", "TW404", "TW405", "TW406"}  # of the process, talweg itself, JAX, a cluster
CAUSES = range(310, 370)  # of absent gradients and strange numbers: tested with their programs
ERRORS = [
    code
    for code in codes_with_pages()
    if code in CATALOGUE and code not in NOT_RUN and int(code[2:]) not in CAUSES
]
WASTE = [code for code in codes_with_pages() if code >= "TW600"]


def codes_in_source() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in SOURCE:
        for code in CODE.findall(path.read_text("utf-8")):
            found.setdefault(code, path)
    return {code: path for code, path in found.items() if code not in MADE_UP}


def test_every_code_has_a_page():
    missing = {
        code: path.name
        for code, path in codes_in_source().items()
        if code not in codes_with_pages()
    }
    assert not missing, missing


def test_every_page_has_a_code():
    assert not set(codes_with_pages()) - set(codes_in_source())


@pytest.mark.parametrize("code", codes_with_pages())
def test_a_page_has_its_form(code):
    text = page(code)
    assert text.startswith(f"# {code}: ")
    assert "## " in text and len(text.splitlines()) >= 8
    assert max(map(len, text.splitlines())) <= 104
    for other in CODE.findall(text):
        assert other in codes_with_pages(), f"{code} speaks of {other}"
    if code in CATALOGUE:
        assert CATALOGUE[code].endswith(title(code))


def run(block: str, name: str) -> None:
    linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block, name, "exec"), {"tf": tf, "np": np, "__name__": "__main__"})


@pytest.mark.parametrize("code", ERRORS)
def test_the_first_example_of_an_error_raises_it_and_the_second_does_not(
    code, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page(code))
    with pytest.raises(Exception, match=code):  # noqa: B017, PT011 -- the code says which
        run(blocks[0], f"<{code} bad>")
    for number, block in enumerate(blocks[1:]):
        run(block, f"<{code} good {number}>")


@pytest.mark.parametrize("code", WASTE)
def test_the_first_example_of_waste_has_that_finding_and_the_second_none(code):
    bad, good = BLOCK.findall(page(code))
    with examine() as seen:
        run(bad, f"<{code} bad>")
    assert seen.report.codes == [code], str(seen.report)
    with examine() as seen:
        run(good, f"<{code} good>")
    assert seen.report.codes == [], str(seen.report)


def test_a_page_is_rendered_for_a_terminal():
    text = render_page("tw604")
    assert text.startswith("TW604: ") and "```" not in text and "\n    many_ones = np.ones" in text
    assert "\033[1m" in render_page("TW604", color=True)
    assert max(map(len, text.splitlines())) <= 110


def test_a_code_without_a_page_names_its_neighbours():
    with pytest.raises(KeyError, match="TW601"):
        page("TW699")
