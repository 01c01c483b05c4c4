"""The figures of `tools/house.py` stay within the limits that were asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {
    "folders over 40 files": 0,
    "comparisons with prim.name": 30,
    "share without a type": 0.2,
    "fmt: skip": 100,
}


@pytest.fixture(scope="module")
def figures() -> dict:
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    house = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(house)
    return house.measure(ROOT)


@pytest.mark.parametrize("name", LIMITS)
def test_a_figure_is_within_its_limit(figures, name):
    assert figures[name] <= LIMITS[name]


def test_the_api_is_the_api_alone(figures):
    files, lines = figures["packages"]["api"]
    assert lines <= 42_000, f"{lines} lines in {files} files"


def test_a_class_name_is_one_concept(figures):
    doubled = figures["doubled class names"]
    assert len(doubled) <= 15, doubled


def test_names_of_locals_say_what_they_hold(figures):
    """In a function over 15 lines nothing is called `found` or `place`."""
    assert not figures["vague locals in long functions"]


def test_sentences_of_functions_begin_with_verbs(figures):
    assert not figures["docstrings of functions without a verb"]


def test_functions_are_looked_up_by_name_nowhere(figures):
    assert sum(figures["look-ups by string"].values()) <= 40, figures["look-ups by string"]
