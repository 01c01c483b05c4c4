"""Docstrings as Markdown, examples as blocks of code: an extension of Griffe's for the site."""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # only what is below is wanted
    Extension = object  # type: ignore[assignment, misc]


def markdown_of(text: str) -> str:
    """A docstring with its examples, up to the empty line after their output, in fences; brackets
    after brackets are no links."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        bare = line.strip()
        if not inside and bare.startswith(">>> "):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not bare:
            lines += ["```"]
            inside = False
        if inside:
            lines.append(bare if bare.startswith((">>>", "...")) else line)
        else:
            lines.append(line.replace("][", "]\\["))
    return "\n".join([*lines, "```"] if inside else lines)


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, for a cell of a table."""
    head = re.split(r"\n\s*\n", text.strip())[0].replace("\n", " ")
    sentence = re.split(r"(?<=\.)\s", head)[0]
    return sentence.replace("|", r"\|").replace("<", "&lt;").replace("][", "]\\[")


class FencedExamples(Extension):
    """Fence the examples of every docstring that is rendered."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of a function, class or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = markdown_of(obj.docstring.value)
