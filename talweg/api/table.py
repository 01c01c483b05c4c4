"""The table of names: which module defines which public name (`table.txt`, generated).

`tools/namespaces.py` writes the table: a module, its names below, an empty line; last the
namespaces.  It is data and not Python, so that nothing has to be compiled to import talweg.
"""

from __future__ import annotations


def _read() -> tuple[dict[str, str], frozenset[str]]:
    """Return the table and the namespaces."""
    with open(f"{__file__.rpartition('.')[0]}.txt", "rb") as file:
        *modules, namespaces = file.read().decode().rstrip("\n").split("\n\n")
    table: dict[str, str] = {}
    for block in modules:
        module, _, names = block.partition("\n")
        table.update(dict.fromkeys(names.split("\n"), module))
    return table, frozenset(namespaces.split("\n")[1:])


TABLE, NAMESPACES = _read()
