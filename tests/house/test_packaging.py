"""What a package index, a packager and a reader of the files see: one version, links that work."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import talweg as tf
from tests.house.sources import imported_modules, source_of

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md") for path in ROOT.glob(pattern)
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BUILT = ("api/", "codes.md")  # pages that are made when the site is built


def anchors(path):
    """What a link into a page may name: its headings."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text("utf-8")), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def test_one_version():
    top = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert PROJECT["version"] == tf.__talweg_version__ == top.group(1)


def test_the_readmes_numbers_are_counted():
    command = [sys.executable, str(ROOT / "tools" / "readme_counts.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(path):
    for target in LINK.findall(FENCED.sub("", path.read_text("utf-8"))):
        file, _, anchor = target.partition("#")
        if target.startswith(("https:", "http:")) or file.startswith(BUILT):
            continue
        aim = (path.parent / file) if file else path
        assert aim.exists(), f"{path.name}: {target}"
        assert not anchor or anchor in anchors(aim), f"{path.name}: {target}"


def test_a_package_index_gets_links_that_read():
    setup = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    readme = (ROOT / "README.md").read_text("utf-8")
    bare = setup["long_description"](readme, None)
    assert "](docs/" not in bare and "![" not in bare and "[LICENSE]" not in bare
    linked = setup["long_description"](readme, "https://example.org/a/talweg/")
    assert "](https://example.org/a/talweg/blob/main/docs/doctor.md)" in linked
    assert "](https://example.org/a/talweg/raw/main/docs/pictures/" in linked
    assert all(target.startswith("https:") for target in LINK.findall(FENCED.sub("", linked)))


def test_the_sdist_can_run_its_tests():
    """What the tests read is grafted, whatever is added beside it."""
    grafted = set(re.findall(r"^graft (\S+)", (ROOT / "MANIFEST.in").read_text(), re.MULTILINE))
    folders = {"benchmarks", "docs", "examples", "talweg-stubs", "talweg_pytest", "tests", "tools"}
    assert folders <= grafted
    included = (ROOT / "MANIFEST.in").read_text()
    assert all(name in included for name in ("run", "CHANGELOG.md", "mkdocs.yml"))


def test_metadata_is_complete():
    assert {"name", "version", "description", "license", "authors", "keywords"} <= set(PROJECT)
    kinds = {each.split(" :: ")[0] for each in PROJECT["classifiers"]}
    assert {"Development Status", "Operating System", "Programming Language", "Topic"} <= kinds
    named = set(re.findall(r"Python :: (3\.\d+)", str(PROJECT["classifiers"])))
    assert PROJECT["requires-python"].strip(">=") in named
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    tested = re.search(r"python: (\[.*\])", workflow)
    assert set(re.findall(r"3\.\d+", tested.group(1))) == named
    assert "./run test" in workflow and "windows-latest" in workflow
    actions = re.findall(r"uses: \S+@(\S+)", workflow)
    assert actions and all(re.fullmatch("[0-9a-f]{40}", each) for each in actions)


def test_no_private_modules_of_the_standard_library():
    """They differ from version to version of Python."""
    for package in ("talweg", "talweg_pytest"):
        for path in (ROOT / package).rglob("*.py"):
            for node in source_of(path).imports:
                if isinstance(node, ast.ImportFrom) and node.level:
                    continue
                for module in imported_modules(node):
                    top, *rest = module.split(".")
                    standard = top in sys.stdlib_module_names and top != "__future__"
                    hidden = any(part.startswith("_") for part in (top, *rest))
                    assert not (standard and hidden), f"{path.relative_to(ROOT)}: {module}"
