"""The long description: README.md with links that read on a package index.

Everything else is in pyproject.toml.  A package index shows README.md apart from the files beside
it, so links to them are made absolute with the Source of `[project.urls]`; where the project has
none, they become plain text, and pictures are left out.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def long_description(readme: str, source: str | None) -> str:
    """README.md for a package index."""

    def absolute(match: re.Match[str]) -> str:
        picture, text, path = match.groups()
        if source is None:
            return "" if picture else text
        kind = "raw" if picture else "blob"
        return f"{picture}[{text}]({source.rstrip('/')}/{kind}/main/{path})"

    return LINK.sub(absolute, readme)


if __name__ == "__main__":
    urls = tomllib.loads((HERE / "pyproject.toml").read_text())["project"].get("urls", {})
    setup(
        long_description=long_description((HERE / "README.md").read_text(), urls.get("Source")),
        long_description_content_type="text/markdown",
    )
