"""The page of each code: its meaning, a program that provokes it, and the cure.

The pages are Markdown beside this file, `TW604.md` for TW604, each with the same headings: a title
line ``# TW604: ...``, what happened, an example, the cure.  `page` gives the text, `render_page`
formats it for a terminal, `codes_with_pages` lists the codes that have a page.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from importlib.resources import files

CODE = re.compile(r"TW\d{3}")
WIDTH = 96


@cache
def codes_with_pages() -> tuple[str, ...]:
    """Return the codes that have a page, in order."""
    names = [entry.name for entry in files(__name__).iterdir()]
    return tuple(sorted(name[:-3] for name in names if re.fullmatch(r"TW\d{3}\.md", name)))


def page(code: str) -> str:
    """Return the page of a code as Markdown; KeyError, with the codes near it, if it has none.

    Capitals and the letters in front may be left out.

    >>> page("604").splitlines()[0].split(":")[0]
    '# TW604'
    """
    wanted = code.strip().strip("[]").upper()
    wanted = wanted if wanted.startswith("TW") else f"TW{wanted}"
    if wanted not in codes_with_pages():
        alike = [known for known in codes_with_pages() if known[:3] == wanted[:3]]
        there = ", ".join(alike or codes_with_pages())
        raise KeyError(f"{code} has no page; there are pages for {there}")
    return files(__name__).joinpath(f"{wanted}.md").read_text(encoding="utf-8")


def title(code: str) -> str:
    """Return the title of a code's page, without the code."""
    return page(code).splitlines()[0].split(":", 1)[1].strip()


def render_page(code: str, color: bool = False) -> str:
    """Return the page of a code for a terminal:
    code indented, paragraphs filled, headings set apart.
    """
    strong, plain = ("\033[1m", "\033[0m") if color else ("", "")
    lines: list[str] = []
    paragraph: list[str] = []
    inside = False

    def flush() -> None:
        if paragraph:
            text = " ".join(paragraph)
            hang = "  " if text.startswith(("- ", "* ")) else ""
            lines.extend(textwrap.wrap(text, WIDTH, subsequent_indent=hang))
            paragraph.clear()

    for line in page(code).splitlines():
        if line.startswith("```"):
            flush()
            inside = not inside
        elif inside:
            lines.append(f"    {line}" if line else "")
        elif line.startswith("#"):
            flush()
            lines.append(f"{strong}{line.lstrip('# ')}{plain}")
        elif not line.strip():
            flush()
            lines.append("")
        else:
            if line.startswith(("- ", "* ")):
                flush()
            paragraph.append(line.strip())
    flush()
    return "\n".join(lines).rstrip() + "\n"
