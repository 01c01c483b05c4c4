"""Pictures of the way from a source to a target: boxes from top to bottom, as SVG.

The part that is connected is green, the place where it breaks red, what lies behind it grey.  Text
is measured by the widths of a sans-serif font, so nothing but this module is needed.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

COLORS = {  # role -> border, fill
    "source": ("#1a7f37", "#dafbe1"),
    "connected": ("#1a7f37", "#f3fbf5"),
    "break": ("#b42318", "#ffd7d5"),
    "after": ("#8c959f", "#f6f8fa"),
    "target": ("#1a7f37", "#dafbe1"),
    "lost": ("#8c959f", "#f6f8fa"),
}
NARROW, WIDE = set("iljtfrI.,:;'|![]() "), set("mwMW@%")
TEXT_WIDTH = 64  # characters of code shown in a box
CODE_FONT = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def preformat(content: str, style: str = "") -> str:
    """Return HTML that keeps its columns: JupyterLab gives a bare `<pre>` the font of running text.

    content: HTML.  style: more CSS, without double quotes.
    """
    return f'<pre style="{CODE_FONT};white-space:pre-wrap;{style}">{content}</pre>'


@dataclass(frozen=True)
class PictureBox:
    """A rounded box: a title, a line of detail below it, and what comes out of it and into it."""

    title: str
    detail: str = ""
    role: str = "connected"
    result: str = ""
    beside: tuple[str, ...] = ()  # what else comes in: boxes on the right


def width_of(text: str, size: float) -> float:
    """Estimate the width of a text in a sans-serif font of this size."""
    units = sum(0.33 if c in NARROW else 0.9 if c in WIDE else 0.6 for c in text)
    return units * size


def shorten_text(text: str, limit: int = TEXT_WIDTH) -> str:
    """Return the text, cut at the end if it is long."""
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def wrap_text(text: str, limit: int) -> list[str]:
    """Return the text in lines of at most `limit` characters, broken at spaces."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) + 1 > limit:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def draw_boxes(boxes: list[PictureBox], title: str = "") -> str:
    """Return the boxes below each other, joined by arrows, as one SVG element."""
    inner = max([_box_width(box) for box in boxes] + [240.0])
    side = max([_side_width(box) for box in boxes])
    margin, gap = 16.0, 34.0
    width = inner + side + 2 * margin
    heads = wrap_text(title, int((width - 2 * margin) / 8.4)) if title else []
    top = margin + 18.0 * len(heads) + (8 if heads else 0)
    parts, center = [], margin + inner / 2
    for row, line in enumerate(heads):
        parts.append(_text(margin, margin + 12 + 18 * row, line, 13, "#24292f", "start", bold=True))
    y, broken = top, False
    for row, box in enumerate(boxes):
        height = 46.0 if box.detail else 30.0
        if row:
            previous = boxes[row - 1]
            broken = broken or previous.role == "break"
            parts.append(_arrow(center, y - gap, y, broken, box.role == "break"))
            if previous.result:
                parts.append(
                    _text(center + 8, y - gap / 2 + 4, previous.result, 10.5, "#57606a", "start")
                )
        parts.append(_draw_box(box, center, y, height))
        parts.append(_draw_side(box, center + _box_width(box) / 2, margin + inner + 34, y, height))
        y += height + gap
    height = y - gap + margin
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica,Arial,sans-serif">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )


def _box_width(box: PictureBox) -> float:
    return max(width_of(shorten_text(box.title), 14), width_of(shorten_text(box.detail), 11.5)) + 36


def _side_width(box: PictureBox) -> float:
    return 34 + width_of(_side_text(box), 12) + 20 if box.beside else 0.0


def _side_text(box: PictureBox) -> str:
    return shorten_text(", ".join(box.beside), 28)


def _draw_side(box: PictureBox, edge: float, x: float, y: float, height: float) -> str:
    """Draw the operands that come into a box from the side, in green: they are connected."""
    if not box.beside:
        return ""
    border, fill = COLORS["connected"]
    width, middle = _side_width(box) - 34, y + height / 2
    end = edge + (14 if box.role == "break" else 2)
    return (
        f'<rect x="{x:.1f}" y="{middle - 12:.1f}" width="{width:.1f}" height="24" rx="6" '
        f'fill="{fill}" stroke="{border}" stroke-width="1.1"/>'
        + _text(x + width / 2, middle + 4, _side_text(box), 12, "#24292f")
        + f'<path d="M{x - 1:.1f} {middle:.1f} H{end + 7:.1f}" stroke="{border}" '
        f'stroke-width="1.4"/><path d="M{end + 8:.1f} {middle - 4:.1f} L{end:.1f} {middle:.1f} '
        f'L{end + 8:.1f} {middle + 4:.1f} Z" fill="{border}"/>'
    )


def _draw_box(box: PictureBox, center: float, y: float, height: float) -> str:
    border, fill = COLORS[box.role]
    width = _box_width(box)
    heavy = 2.5 if box.role == "break" else 1.3
    dashes = ' stroke-dasharray="5 4"' if box.role in ("after", "lost") else ""
    parts = [
        f'<rect x="{center - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
        f'rx="7" fill="{fill}" stroke="{border}" stroke-width="{heavy}"{dashes}/>'
    ]
    color = border if box.role == "break" else "#24292f"
    parts.append(_text(center, y + 19.5, shorten_text(box.title), 14, color, bold=True))
    if box.detail:
        parts.append(_text(center, y + 37, shorten_text(box.detail), 11.5, "#57606a"))
    if box.role == "break":
        x = center + width / 2
        parts.append(
            f'<path d="M{x - 6:.1f} {y - 6:.1f} l12 12 m0 -12 l-12 12" '
            f'stroke="{border}" stroke-width="3.2" stroke-linecap="round"/>'
        )
    return "".join(parts)


def _arrow(x: float, start: float, end: float, broken: bool, into_break: bool) -> str:
    color = "#8c959f" if broken else "#b42318" if into_break else "#1a7f37"
    dashes = ' stroke-dasharray="4 4"' if broken else ""
    return (
        f'<path d="M{x:.1f} {start + 1:.1f} V{end - 7:.1f}" stroke="{color}" stroke-width="1.8" '
        f'fill="none"{dashes}/><path d="M{x - 4.5:.1f} {end - 9:.1f} L{x:.1f} {end - 1:.1f} '
        f'L{x + 4.5:.1f} {end - 9:.1f} Z" fill="{color}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    color: str,
    anchor: str = "middle",
    bold: bool = False,
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" '
        f'text-anchor="{anchor}"{weight}>{html.escape(text)}</text>'
    )
