"""Print the page of a code: what an error or a finding means, an example, and its cure.

examples:
  talweg explain TW604
  talweg explain 604        the letters may be left out
  talweg explain zero       the codes whose titles have these words
  talweg explain            all codes, with what they say

exit status: 0 fine, 2 there is no such code.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from difflib import get_close_matches

from talweg.command.launch import FINE
from talweg.command.program import UsageError
from talweg.core.errors import CATALOGUE
from talweg.doctor import pages


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg explain`."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code such as TW604, or words")
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(options: argparse.Namespace) -> int:
    """Print the page, or the list of codes."""
    if options.code is None:
        print(json.dumps(titles(), indent=1) if options.json else listing())
        return FINE
    code = whole(options.code)
    known = titles()
    if code not in known:
        about = about_words(options.code)
        if about and not options.json:
            print(about)
            return FINE
        near = get_close_matches(code, known, 5)
        words = f"near: {', '.join(near)}; " if near else ""
        raise UsageError(f"there is no code {options.code}; {words}talweg explain lists all")
    has_page = code in pages.codes_with_pages()
    if options.json:
        text = pages.page(code) if has_page else ""
        print(json.dumps({"code": code, "title": known[code], "page": text}, indent=1))
    elif has_page:
        print(pages.render_page(code, sys.stdout.isatty()), end="")
    else:
        print(
            f"{code}: {known[code]}\n\nThe error says what happened, what was expected, and at "
            "which line."
        )
    return FINE


def whole(code: str) -> str:
    """Return a code as it stands in messages.

    >>> whole("[tw604]"), whole("604")
    ('TW604', 'TW604')
    """
    text = code.strip().strip("[]").upper()
    return text if text.startswith("TW") else f"TW{text}"


def titles() -> dict[str, str]:
    """List all codes with their titles."""
    found = dict(CATALOGUE)
    for code in pages.codes_with_pages():
        found[code] = pages.title(code)
    return dict(sorted(found.items()))


def about_words(text: str) -> str:
    """Return the codes whose titles have all words of a text,
    a line each; "" for a code or none.
    """
    words = re.findall(r"[a-z_]{2,}|\b0\b", text.lower())
    if not words or re.fullmatch(r"(tw)?\d+", text.strip().lower()):
        return ""
    found = {code: title for code, title in titles().items() if has_words(title, words)}
    return "\n".join(f"{code}  {title}" for code, title in found.items())


def has_words(title: str, words: list[str]) -> bool:
    """Return whether each word begins one of a title's, in which "is 0" is read as "is zero".

    >>> has_words("the gradient is 0 because ...", ["zero", "grad"])
    True
    """
    own = re.findall(r"\w+", title.lower().replace("is 0", "is zero"))
    return all(any(each.startswith(word) for each in own) for word in words)


def listing() -> str:
    """Return the codes as text, those with a page marked."""
    own = set(pages.codes_with_pages())
    lines = [f"{code}{'*' if code in own else ' '} {text}" for code, text in titles().items()]
    return "\n".join([*lines, "", "* has a page: talweg explain CODE"])
