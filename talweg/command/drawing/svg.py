"""A picture as SVG: groups, edges, boxes, each with its details as a tooltip."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from talweg.command.drawing.layers import Layers, arrange
from talweg.command.drawing.model import DrawnItem, Group, Picture
from talweg.command.drawing.placing import PlacedBox, PlacedPicture, choose_open_groups, place

COLOURS = {  # kind: fill, border
    "operation": ("#e8f1fb", "#5b8fc7"),
    "gradient": ("#fdeedd", "#d08a3c"),
    "variable": ("#e2f3e4", "#4f9a5a"),
    "input": ("#fbf6d9", "#b49b2f"),
    "constant": ("#f1f1f1", "#9a9a9a"),
    "effect": ("#fbe6ea", "#c25468"),
}
WORDS = {
    "operation": "operation",
    "gradient": "derivative",
    "variable": "variable",
    "input": "input",
    "constant": "constant",
    "effect": "effect",
}
STYLE = """
text { font-family: -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1d2733 }
.label { font-size: 12px; text-anchor: middle } .shape { font-size: 10px; fill: #66707c;
 text-anchor: middle } .title { font-size: 11.5px; font-weight: 600; fill: #46525f }
.edge { fill: none; stroke: #7f8b99; stroke-width: 1.1 } .control { stroke-dasharray: 4 3 }
.over { paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round }
.across { stroke-opacity: .55 } .group { fill: #35608f; fill-opacity: .045; stroke: #a9b4c0 }
"""
LEGEND_HEIGHT = 26
FOLDED = ("#dfe7ef", "#7f8b99")  # fill, border
FOLDED_HEIGHT = 34.5


def draw(picture: Picture, depth: int | None = None, most: int = 90) -> str:
    """Return the picture as an SVG document;
    groups are open to `depth`, or as `most` boxes allow.
    """
    layers = arrange(picture)
    return document(
        picture, layers, place(picture, layers, choose_open_groups(picture, depth, most))
    )


def document(picture: Picture, layers: dict[Group, Layers], placed: PlacedPicture) -> str:
    """Return the SVG of a picture that has its places."""
    width, height = max(placed.width, 560) + 16, placed.height + LEGEND_HEIGHT + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{escape(picture.title)}</title><style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0.8 L7 4 L0 7.2 z" fill="#7f8b99"/></marker>'
        '</defs><rect width="100%" height="100%" fill="#fff"/>',
        legend(picture),
        f'<g transform="translate(8,{LEGEND_HEIGHT + 4})">',
    ]
    parts += [
        group_text(group, box) for group, box in placed.boxes.items() if isinstance(group, Group)
    ]
    parts += [edge_text(edge) for edge in edges_of(picture, layers, placed)]
    parts += [title_text(each, box) for each, box in placed.boxes.items() if is_open(each, box)]
    parts += [
        item_text(item, box) for item, box in placed.boxes.items() if isinstance(item, DrawnItem)
    ]
    return "\n".join([*parts, "</g></svg>\n"])


def legend(picture: Picture) -> str:
    """Draw the legend of the colours that occur."""
    present = {item.kind for item in picture.items}
    parts, x = [], 12.0
    for kind, (fill, border) in COLOURS.items():
        if kind in present:
            parts.append(
                f'<rect x="{x}" y="8" width="14" height="12" rx="3" fill="{fill}" '
                f'stroke="{border}"/><text class="title" x="{x + 19}" y="18">'
                f"{WORDS[kind]}</text>"
            )
            x += 34 + 7 * len(WORDS[kind])
    return "".join(parts)


def visible(member: Any, placed: PlacedPicture) -> Any:
    """Return the visible form of an item: itself, or the folded group it is in."""
    if member in placed.boxes:
        return member
    for group in member.parent.above():
        if group in placed.boxes and any(inner in placed.boxes for inner in group.members):
            continue
        return group
    return member.parent


def edges_of(picture: Picture, layers: dict[Group, Layers], placed: PlacedPicture) -> list[dict]:
    """Return the edges between visible members, with the points they go through."""
    edges_seen: dict[tuple, dict] = {}
    for (source, target), text in picture.edges.items():
        a, b = visible(source, placed), visible(target, placed)
        if a is b:
            continue
        known = edges_seen.get((a, b))
        if known is not None:
            known["texts"].append(text)
            continue
        edges_seen[a, b] = {
            "points": points_of(a, b, layers, placed),
            "texts": [text],
            "across": a.parent is not b.parent,
        }
    return list(edges_seen.values())


def points_of(a: Any, b: Any, layers: dict[Group, Layers], placed: PlacedPicture) -> list[tuple]:
    """Route an edge from the end of one box to the beginning of another."""
    path, other = [*a.parent.above(), a], [*b.parent.above(), b]
    depth = 0
    while path[depth] is other[depth]:
        depth += 1
    own = layers[path[depth - 1]]
    ends = path[depth], other[depth]
    way = list(own.ways.get(ends, ()))
    if ends not in own.turned:
        for group, member in zip(path[depth:], path[depth + 1 :]):
            way[:0] = layers[group].exits.get(member, ())
        for group, member in zip(other[depth:], other[depth + 1 :]):
            way += layers[group].entries.get(member, ())
    start, end = placed.boxes[a], placed.boxes[b]
    is_turned = ends in own.turned
    bends = [point for bend in way for point in upright(placed.bends[bend], is_turned)]
    if is_turned:
        return [(start.middle, start.y), *bends, (end.middle, end.y + end.height)]
    first = [(start.middle, start.y + start.height)]
    last = [(end.middle, end.y)]
    bottom = placed.rows.get(a, (0.0, first[0][1]))[1]
    top = placed.rows.get(b, (end.y, 0.0))[0]
    if bottom - first[0][1] > 1:  # out of a row that is higher than the box: upright, too
        first.append((start.middle, bottom))
    if end.y - top > 1:
        last.insert(0, (end.middle, top))
    return [*first, *bends, *last]


def upright(bend: tuple[float, float, float], is_turned: bool) -> list[tuple[float, float]]:
    """Draw an edge upright through a row, so that it crosses no box in it."""
    x, top, bottom = bend
    if bottom - top < 1:
        return [(x, top)]
    return [(x, bottom), (x, top)] if is_turned else [(x, top), (x, bottom)]


def edge_text(edge: dict) -> str:
    """Return an edge as a smooth line, upright at every bend."""
    points, texts = edge["points"], edge["texts"]
    control = all(text == "control" for text in texts)
    classes = "edge" + (" control" if control else "") + (" across" if edge["across"] else "")
    shown = "\n".join(dict.fromkeys(texts)) if not control else "only waits for it"
    return (
        f'<path class="{classes}" marker-end="url(#tip)" d="{path_of(points)}">'
        f"<title>{escape(shown)}</title></path>"
    )


def path_of(points: list[tuple[float, float]]) -> str:
    """Return the smooth line through points."""
    (x, y), *rest = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for following in rest:
        to_x, to_y = following
        half = (y + to_y) / 2
        parts.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = following
    return "".join(parts)


def is_open(member: DrawnItem | Group, box: PlacedBox) -> bool:
    """Return whether a member of a picture is a group that shows its content."""
    return isinstance(member, Group) and box.height > FOLDED_HEIGHT


def title_text(group: Group, box: PlacedBox) -> str:
    """Return the title of an open group, which stands over the edges."""
    return (
        f'<text class="title over" x="{box.x + 10:.1f}" y="{box.y + 15:.1f}">'
        f"{escape(group.title)}</text>"
    )


def group_text(group: Group, box: PlacedBox) -> str:
    """Return the frame of a group;
    folded, a box that says how much is in it, in the colour of most.
    """
    title = escape(group.title)
    if not is_open(group, box):
        fill, border = COLOURS.get(group.leading_kind(), FOLDED)
        return (
            f'<g><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="9" fill="{fill}" stroke="{border}"/>'
            f'<text class="title" text-anchor="middle" x="{box.middle:.1f}" '
            f'y="{box.y + 21:.1f}">{title} ({group.count()})</text></g>'
        )
    dashed = ' stroke-dasharray="5 3"' if group.kind == "body" else ""
    return (
        f'<g><rect class="group" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="9"{dashed}/></g>'
    )


def item_text(item: DrawnItem, box: PlacedBox) -> str:
    """Return a box with its label and shape."""
    fill, border = COLOURS[item.kind]
    thick = 2.4 if item.is_result else 1
    radius = 18 if item.kind in ("input", "variable") else 5
    about = "\n".join(filter(None, (item.name, item.label, item.shape, item.line, item.details)))
    return (
        f'<g><title>{escape(about)}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius}" fill="{fill}" '
        f'stroke="{border}" stroke-width="{thick}"/>'
        f'<text class="label" x="{box.middle:.1f}" y="{box.y + 16:.1f}">{escape(item.label)}</text>'
        f'<text class="shape" x="{box.middle:.1f}" y="{box.y + 30:.1f}">{escape(item.shape)}</text>'
        "</g>"
    )
