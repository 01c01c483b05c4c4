"""Pages that speak of one thing say the same of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import talweg as tf

ROOT = Path(__file__).resolve().parents[2]


def text_of(page):
    """A page in one line, without marks of emphasis."""
    return re.sub(r"[*`\s]+", " ", (ROOT / page).read_text("utf-8"))


@pytest.mark.parametrize("page", ["keras", "distribute", "tutorials/8_devices"])
def test_a_replica_on_each_logical_device(page):
    found = text_of(f"docs/{page}.md")
    assert re.search(r"one replica on each|each logical device runs one replica", found)
    assert not re.search(r"strategies[^.]* run one, on all cores", found)


def test_replicas_are_as_many_as_the_pages_say():
    devices = tf.config.list_logical_devices()
    assert tf.distribute.MirroredStrategy().num_replicas_in_sync == len(devices)


def test_pythons():
    """README, the page on installation, the project's file and the workflow name the same ones."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    listed = re.findall(r"Python :: (3\.\d+)", project)
    workflow = (ROOT / ".github/workflows/test.yml").read_text("utf-8")
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[.*\]", workflow)[0]) == listed
    first, last = re.search(r"with Python (3\.\d+) to (3\.\d+)", text_of("README.md")).groups()
    assert (first, last) == (listed[0], listed[-1])
    table = re.findall(r"\| Linux, x86-64 \| ([^|]*) \|", (ROOT / "docs/install.md").read_text())
    assert re.findall(r"3\.\d+", " ".join(table)) == listed
    assert f'requires-python = ">={listed[0]}"' in project


def test_gpus():
    """No page promises more than another: functions go through JAX, and no GPU ran them yet."""
    for page in ("README.md", "docs/index.md"):
        assert "nobody has tried it on a GPU yet" in text_of(page), page
    assert "we had no machine with a GPU" in text_of("docs/devices.md")


def test_the_first_lines_are_the_same():
    first = "TensorFlow 2.21's API on the CPU, without TensorFlow."
    for page in ("README.md", "docs/index.md", "mkdocs.yml"):
        assert first.rstrip(".") in text_of(page), page


PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])


def is_named(text, name):
    """Whether a file with this text defines a name, or has it as an attribute."""
    return re.search(rf"\b{name}\b", text) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_pages_name_are_there(page):
    """`lower/build.py` names a file, `lower/build.py: Builder` also a word that stands in it."""
    folders = (ROOT / "talweg", ROOT, ROOT / "tests", ROOT / "tools")
    absent = []
    for path, name in re.findall(r"`([\w/]+\.py)(?:: ?(\w+))?`", page.read_text("utf-8")):
        files = [folder / path for folder in folders if (folder / path).is_file()]
        files = files or [*(ROOT / "talweg").rglob(path), *(ROOT / "tests").rglob(path)]
        if not any(name == "" or is_named(file.read_text("utf-8"), name) for file in files):
            absent.append(f"{path}: {name}".rstrip(": "))
    assert not absent
