"""Write the tutorials as executed notebooks: examples/notebooks/*.ipynb of docs/tutorials/*.md.

    python tools/notebooks.py             # all, run in a kernel
    python tools/notebooks.py --check     # exit 1 if a tutorial has changed since

Blocks of code become cells; an example with output ends its cell, so that the notebook shows it.
"""

from __future__ import annotations

import argparse
import doctest
import json
import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
NOTEBOOKS = ROOT / "examples" / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def code(source: str, raises: bool = False) -> dict[str, Any]:
    """Return a cell of code."""
    tags = {"tags": ["raises-exception"]} if raises else {}
    return {"cell_type": "code", "source": source.rstrip(), "metadata": tags}


def text(source: str) -> dict[str, Any]:
    """Return a cell of text, with links as from the notebook's folder."""
    moved = re.sub(r"\]\((\.\./)(?!\.\.)", "](../../docs/", source.strip())
    moved = re.sub(r"\]\((\d_\w+)\.md\)", r"](\1.ipynb)", moved)
    return {"cell_type": "markdown", "source": moved, "metadata": {}}


def cells_of(block: str) -> list[dict[str, Any]]:
    """Return the cells of a block: of examples, one up to each output."""
    examples = doctest.DocTestParser().get_examples(block)
    if not examples:
        return [code(block)]
    cells: list[dict[str, Any]] = []
    waiting = ""
    for example in examples:
        waiting += example.source
        if example.want:
            cells.append(code(waiting, example.exc_msg is not None))
            waiting = ""
    return [*cells, code(waiting)] if waiting else cells


def notebook(tutorial: str) -> dict[str, Any]:
    """Return a notebook that has not run yet."""
    cells: list[dict[str, Any]] = []
    end = 0
    for match in BLOCK.finditer(tutorial):
        before = tutorial[end : match.start()]
        cells += [text(before)] if before.strip() else []
        cells += cells_of(match.group(1))
        end = match.end()
    rest = tutorial[end:]
    cells += [text(rest)] if rest.strip() else []
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    return {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def sources(made: dict[str, Any]) -> list[tuple[str, str]]:
    """What a notebook says, without what running it adds."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in made["cells"]]


def run(made: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the notebook after a kernel ran it.  nbclient's CellExecutionError if a cell fails."""
    import nbformat
    from nbclient import NotebookClient

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    node = nbformat.from_dict(made)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(node, timeout=120, kernel_name="python3", resources=resources).execute()
    for cell in node.cells:
        cell.metadata.pop("execution", None)  # when it ran
    return json.loads(re.sub(r"[^\s\"]*/site-packages/", "", nbformat.writes(node)))


def main() -> int:
    """Write or check the notebooks."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 if one is out of date")
    options = parser.parse_args()
    NOTEBOOKS.mkdir(exist_ok=True)
    stale = 0
    for path in sorted(TUTORIALS.glob("*.md")):
        made, target = notebook(path.read_text("utf-8")), NOTEBOOKS / f"{path.stem}.ipynb"
        if target.exists() and sources(json.loads(target.read_text("utf-8"))) == sources(made):
            continue
        stale += 1
        if not options.check:
            with tempfile.TemporaryDirectory() as folder:
                made = run(made, Path(folder))
            target.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"{target.relative_to(ROOT)}: {'out of date' if options.check else 'written'}")
    return int(options.check and stale > 0)


if __name__ == "__main__":
    raise SystemExit(main())
