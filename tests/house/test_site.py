"""The site has every document and every public name, each once, and no link that leads nowhere.

`./run site` builds it (with MkDocs, which looks at links, too); here its pages are only made.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

from talweg.api.table import TABLE

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("site_pages", ROOT / "tools" / "site_pages.py")
site_pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site_pages)
NAVIGATION = re.findall(r": ([\w/]+\.md)$|- ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)


@cache
def pages():
    return site_pages.generate_pages()


def test_every_document_is_in_the_navigation():
    listed = {a or b for a, b in NAVIGATION}
    documents = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").glob("**/*.md")}
    assert documents <= listed
    assert listed - documents <= set(pages())


def test_every_public_name_has_an_entry():
    for name, module in TABLE.items():
        space, _, short = name.rpartition(".")
        if ":" in name or module == "talweg.api.keras" or "__internal__" in name:
            continue
        text = pages()[f"api/{site_pages.page_of(space)}"]
        shown = rf"`{short}`".replace("_", r"\_") if space == "raw_ops" else f"[tf.{name}]("
        assert shown in text, name


def test_what_is_rendered_stands_in_the_text():
    """The generator of the site reads modules, and does not run them."""
    for path, text in pages().items():
        for target in re.findall(r"^::: (talweg\S+)$", text, re.M):
            module, _, name = target.rpartition(".")
            source = Path(ROOT, *module.split("."))
            file = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            assert re.search(rf"(def|class) {name}\b", file.read_text("utf-8")), f"{path}: {target}"


def test_links_of_the_tables_lead_to_entries():
    for path, text in pages().items():
        for page, anchor in re.findall(r"\| \[tf[\w.]*\]\(([\w.]+\.md)#([\w.]+)\)", text):
            aim = pages()[f"api/{page}"]
            assert aim.count(f'<a id="{anchor}"></a>') == 1, f"{path}: {anchor}"


def test_examples_are_fenced():
    text = site_pages.markdown_of("Of a[i][j].\n\n>>> 1 + 1\n2\n\nThen more.")
    assert text == "Of a[i]\\[j].\n\n\n```pycon\n>>> 1 + 1\n2\n```\n\nThen more."
    assert site_pages.first_sentence("One.  Two.\n\nThree.") == "One."


def test_codes_and_changes_have_pages():
    codes = pages()["codes.md"]
    assert all(f"## {p.stem}" in codes for p in (ROOT / "talweg/doctor/pages").glob("TW*.md"))
    assert "## 0.1.0" in pages()["changelog.md"]


def test_nothing_is_loaded_from_elsewhere():
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "polyfills: [iframe-worker.js]" in settings and "font: false" in settings
    for path in (ROOT / "docs").glob("*.*s*"):
        if path.suffix in (".css", ".js"):
            assert "//" not in path.read_text("utf-8").replace("// ", ""), path.name
