"""Pictures as one page of HTML that needs nothing else: groups fold, boxes can be searched."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from talweg.command.drawing import placing, svg
from talweg.command.drawing.layers import Bend, Layers, arrange
from talweg.command.drawing.model import Group, Picture

SIZES = {
    "gap": placing.GAP,
    "bendGap": placing.BEND_GAP,
    "rowGap": placing.ROW_GAP,
    "padding": placing.PADDING,
    "header": placing.HEADER,
    "sweeps": placing.SWEEPS,
    "stiffness": placing.STIFFNESS,
}


def draw(pictures: list[Picture], depth: int | None = None, title: str = "talweg") -> str:
    """Return the page of some pictures."""
    kinds = {item.kind for picture in pictures for item in picture.items}
    data = {
        "sizes": SIZES,
        "kinds": {
            kind: {"colours": svg.COLOURS[kind], "word": svg.WORDS[kind]}
            for kind in svg.COLOURS
            if kind in kinds
        },
        "graphs": [as_data(picture, depth) for picture in pictures],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    page = (Path(__file__).parent / "page.html").read_text("utf-8")
    page = page.replace("TITLE", html.escape(title), 1).replace("STYLE", svg.STYLE, 1)
    return page.replace("DATA_HERE", text, 1)


def as_data(picture: Picture, depth: int | None = None) -> dict:
    """Return a picture for the page's script: items are numbered first, then groups, then bends."""
    groups, pending = [], [picture.root]
    while pending:
        groups.append(pending.pop())
        pending += groups[-1].groups()
    layers = arrange(picture)
    number: dict[Any, int] = {}
    for member in (*picture.items, *groups):
        number[member] = len(number)
    first_bend = len(number)
    for own in layers.values():
        for row in own.rows:
            for member in row:
                if isinstance(member, Bend):
                    number[member] = len(number)
    parent = {group: number[group] for group in groups}
    return {
        "title": picture.title,
        "facts": facts(picture),
        "root": number[picture.root],
        "firstBend": first_bend,
        "opened": [number[group] for group in placing.choose_open_groups(picture, depth)],
        "items": [
            {
                "label": item.label,
                "kind": item.kind,
                "shape": item.shape,
                "name": item.name,
                "line": item.line,
                "details": item.details,
                "result": item.is_result,
                "parent": parent[item.parent],
                "size": placing.size_of(item),
            }  # type: ignore[index]
            for item in picture.items
        ],
        "groups": [_group(group, layers[group], number) for group in groups],
        "edges": [(number[a], number[b], text) for (a, b), text in picture.edges.items()],
    }


def _group(group: Group, layers: Layers, number: dict[Any, int]) -> dict:
    links = [(number[a], number[b]) for chain in layers.chains() for a, b in zip(chain, chain[1:])]

    def lanes(bends_of: dict) -> dict:
        return {
            number[member]: [number[bend] for bend in bends] for member, bends in bends_of.items()
        }

    return {
        "title": group.title,
        "kind": group.kind,
        "count": group.count(),
        "leading": group.leading_kind(),
        "parent": None if group.parent is None else number[group.parent],
        "members": [number[member] for member in group.members],
        "size": placing.size_of(group),
        "rows": [[number[member] for member in row] for row in layers.rows],
        "links": links,
        "entries": lanes(layers.entries),
        "exits": lanes(layers.exits),
        "ways": {
            f"{number[a]} {number[b]}": {
                "bends": [number[bend] for bend in bends],
                "turned": (a, b) in layers.turned,
            }
            for (a, b), bends in layers.ways.items()
        },
    }


def facts(picture: Picture) -> str:
    """Describe the content of a picture in a sentence."""
    counts: dict[str, int] = {}
    for item in picture.items:
        counts[item.kind] = counts.get(item.kind, 0) + 1
    parts = [
        f"{count} {svg.WORDS[kind]}{'s' if count > 1 else ''}" for kind, count in counts.items()
    ]
    if picture.left_out:
        parts.append(f"{picture.left_out} more are not shown")
    return ", ".join(parts)
