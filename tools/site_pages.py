"""MkDocs hooks: the site's pages that are made of the package: its API, its codes, its changes.

`mkdocs.yml` names this file.  For every namespace there is a page with all its public names, as
the export table has them: what is described there is rendered from its docstring (by mkdocstrings,
where a module defines it under its own name), another name for the same is a row with a link.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from site_docstrings import first_sentence, markdown_of  # noqa: E402  -- it lies beside this file

RAW = "raw_ops"
V1 = "compat.v1"


def spaces() -> dict[str, dict[str, Any]]:
    """Every namespace ("" is tf) with its public names and their objects, without Keras."""
    from talweg.api.export import look_up
    from talweg.api.table import TABLE

    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, module in TABLE.items():
        if ":" not in name and module != "talweg.api.keras" and "__internal__" not in name:
            space, _, short = name.rpartition(".")
            found[space][short] = look_up(name)
    return dict(sorted(found.items()))


def homes(found: dict[str, dict[str, Any]]) -> dict[int, tuple[str, str]]:
    """Where each object is described: in the most special namespace, that of version 2 before 1."""

    def rank(space: str) -> tuple:
        return not space.startswith(V1), space.count("."), bool(space)

    best: dict[int, tuple[str, str]] = {}
    for space, names in found.items():
        for short, value in names.items():
            if id(value) not in best or rank(space) > rank(best[id(value)][0]):
                best[id(value)] = (space, short)
    return best


def page_of(space: str) -> str:
    """Return the file of a namespace's page, beside the others."""
    return f"tf.{space}.md" if space else "tf.md"


def full(space: str, short: str) -> str:
    """Return the public name."""
    return f"tf.{space}.{short}" if space else f"tf.{short}"


def signature_of(value: Any) -> str:
    """Return the signature of a function, or nothing."""
    try:
        return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return ""


@functools.cache
def find_definitions(module: str) -> frozenset[str]:
    """The functions and classes that the text of a module defines; others are made as it runs."""
    tree = ast.parse(Path(sys.modules[module].__file__ or "").read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return frozenset(
        node.name
        for part in tree.body
        for node in ast.walk(part)
        if isinstance(node, kinds) and (node is part or not isinstance(part, kinds))
    )


def entry(name: str, value: Any) -> list[str]:
    """Return the Markdown of one object under its public name."""
    lines = [f'<a id="{name}"></a>', ""]
    own, home = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if isinstance(value, str | int | float | tuple | frozenset | type(None)) or not own:
        return [*lines, f"## {name}", "", f"`{name} = {value!r}`"[:300].rstrip("`") + "`", ""]
    module = sys.modules.get(home or "")
    written = home and home.startswith("talweg.") and own in find_definitions(home)
    if written and vars(module).get(own) is value:
        lines += [f"::: {home}.{own}", "    options:", f'      heading: "{name}"']
        return [*lines, f'      toc_label: "{name.rpartition(".")[2]}"', ""]
    text = markdown_of(inspect.getdoc(value) or "")
    return [*lines, f"## {name}", "", f"```python\n{own}{signature_of(value)}\n```", "", text, ""]


def page(space: str, names: dict[str, Any], best: dict[int, tuple[str, str]]) -> str:
    """Return the page of a namespace: a table of its names, then what is described here."""
    title = f"tf.{space}" if space else "tf"
    rows, parts = [], []
    for short, value in sorted(names.items(), key=lambda item: (item[0].lower(), item[0])):
        name = full(space, short)
        there = best[id(value)]
        doc = "" if isinstance(value, str | int | float | tuple) else inspect.getdoc(value) or ""
        target = f"{page_of(there[0])}#{full(*there)}"
        rows.append(f"| [{name}]({target}) | {first_sentence(doc)} |")
        if there == (space, short):
            parts += entry(name, value)
    head = [f"# {title}", "", f"{len(names)} names.", "", "| name | |", "| --- | --- |"]
    return "\n".join([*head, *rows, "", *parts])


def raw_page(names: dict[str, Any]) -> str:
    """Return the page of tf.raw_ops: signatures, and where they say more."""
    lines = ["# tf.raw_ops", "", f"{len(names)} operations, with the arguments of TensorFlow's "]
    lines[-1] += (
        "registry, all by keyword.  What they do is said by the functions of the same name."
    )
    lines += ["", "| operation | arguments |", "| --- | --- |"]
    for short, value in sorted(names.items()):
        arguments = ", ".join(inspect.signature(value).parameters) if callable(value) else ""
        lines.append(f"| `{short}` | {arguments} |".replace("_", r"\_"))
    return "\n".join(lines)


def codes() -> str:
    """Return the page of all codes, each with its own page's text."""
    folder = ROOT / "talweg" / "doctor" / "pages"
    lines = ["# The codes", "", "What an error or a finding means, and its cure.  In a terminal:"]
    lines += ["`talweg explain TW324`.", ""]
    for path in sorted(folder.glob("TW*.md")):
        text = path.read_text("utf-8").strip()
        lines += [re.sub(r"^#", "##", text, flags=re.MULTILINE), ""]
    return "\n".join(lines)


def generate_pages() -> dict[str, str]:
    """Return the text of every page that is made, by its path in the site."""
    importlib.import_module("talweg")
    found = spaces()
    best = homes(found)
    pages = {f"api/{page_of(space)}": page(space, found[space], best) for space in found}
    raw = found.get(RAW, {})
    pages[f"api/{page_of(RAW)}"] = raw_page(raw)
    rows = ["| namespace | names |", "| --- | ---: |"]
    rows += [
        f"| [{'tf.' + space if space else 'tf'}]({page_of(space)}) | {len(names)} |"
        for space, names in found.items()
    ]
    text = "Every public name, from its docstring; the examples run in the tests.  `tf.keras`, "
    text += "`tf.optimizers`, `tf.losses`, `tf.metrics` and `tf.initializers` are [Keras's own]"
    text += "(../keras.md).  An object of several names is described once."
    pages["api/index.md"] = "\n".join(["# The API", "", text, "", *rows, ""])
    pages["codes.md"] = codes()
    pages["changelog.md"] = outside("CHANGELOG.md")
    pages["contributing.md"] = outside("CONTRIBUTING.md")
    return pages


def outside(name: str) -> str:
    """Return a page of the checkout's root, with links as from docs/."""
    return (ROOT / name).read_text("utf-8").replace("](docs/", "](")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the namespaces' pages into the navigation."""
    rest = [{f"tf.{space}" if space else "tf": f"api/{page_of(space)}"} for space in spaces()]
    for section in config.nav or []:
        for title, items in section.items():
            if title == "Reference":
                items[0] = {"API": ["api/index.md", *rest]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    for path, text in generate_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ (to files of the checkout) become text: the site has no such pages.
    Examples with their output are coloured as such."""

    if page.file.src_uri.startswith("api/"):
        return markdown
    markdown = markdown.replace("```python\n>>>", "```pycon\n>>>")  # output is no code
    return re.sub(r"\[([^\]]*)\]\((?:\.\./)+(?!tutorials)([^)]*)\)", outer, markdown)


def outer(match: re.Match[str]) -> str:
    """Return a link one folder up: kept if it stays in docs/, else its text."""
    text, target = match.groups()
    inside = (ROOT / "docs" / target.partition("#")[0]).exists() or target.startswith("codes.md")
    return match.group(0) if inside else text
