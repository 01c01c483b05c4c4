"""Gradients over steps as a picture: two panels with logarithmic axes, as SVG or by matplotlib."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.doctor.watch import Series

COLORS = ("#0369a1", "#c2410c", "#15803d", "#7e22ce", "#be185d", "#0f766e", "#a16207", "#475569")
WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 760, 170, 64, 214, 30, 48
MARKS = 60  # dots and crosses of a curve
LINES = 16  # variables that are drawn: the worst and the first ones
TITLES = ("norm of the gradient", "update / weights, in a step")


def choose_drawn(series: list, rows: tuple) -> list[int]:
    """Return which variables are drawn: those that are not fine first."""
    order = sorted(range(len(rows)), key=lambda i: rows[i].verdict == "fine")
    return sorted(order[:LINES])


def color_of(place: int) -> str:
    """Return the color of a variable."""
    return COLORS[place % len(COLORS)]


def dashes_of(place: int) -> str:
    """Choose the dashes of a variable's line, once all colors are taken."""
    return "" if place < len(COLORS) else " stroke-dasharray='5 3'"


def curves(one: Series) -> tuple[list, list]:
    """Return the two curves of a variable, one for each panel."""
    return one.norms, one.ratios


def picture(series: list, rows: tuple) -> str:
    """Return the picture as SVG that stands alone; "" if there are no steps."""
    if not any(s.steps for s in series):
        return ""
    places = choose_drawn(series, rows)
    panels = [_panel(k, [(p, curves(series[p])[k]) for p in places]) for k in range(2)]
    legend = _legend(places, rows)
    height = max(TOP + 2 * (PANEL + GAP), TOP + 18 * len(places) + 20)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' "
        f"viewBox='0 0 {WIDTH} {height}' font-family='system-ui, sans-serif' font-size='11'>"
        f"<rect width='100%' height='100%' fill='white'/>{''.join(panels)}{legend}</svg>"
    )


def _panel(number: int, lines: list) -> str:
    """Draw one panel: a frame, powers of ten, a curve for each variable, crosses for NaN."""
    top = TOP + number * (PANEL + GAP)
    right, bottom = WIDTH - RIGHT, top + PANEL
    numbers = [x for _, values in lines for x in values if np.isfinite(x) and x > 0]
    low, high = _decades(numbers)
    steps = max((len(values) for _, values in lines), default=1)

    def across(step: int) -> float:
        return LEFT + (right - LEFT) * (step / max(1, steps - 1))

    def down(value: float) -> float:
        return bottom - PANEL * (np.log10(value) - low) / (high - low)

    parts = [
        f"<text x='{LEFT}' y='{top - 9}' font-weight='600' fill='#1d2733'>{TITLES[number]}</text>"
    ]
    for power in range(low, high + 1, max(1, (high - low) // 5)):
        y = down(10.0**power)
        parts.append(
            f"<line x1='{LEFT}' x2='{right}' y1='{y:.1f}' y2='{y:.1f}' stroke='#e7e5e4'/>"
            f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end' fill='#78716c'>"
            f"1e{power}</text>"
        )
    parts.append(
        f"<rect x='{LEFT}' y='{top}' width='{right - LEFT}' height='{PANEL}' fill='none' "
        f"stroke='#a8a29e'/><text x='{right}' y='{bottom + 15}' text-anchor='end' "
        f"fill='#78716c'>step {steps}</text><text x='{LEFT}' y='{bottom + 15}' "
        f"fill='#78716c'>1</text>"
    )
    for row, values in lines:
        parts += _curve(row, values, across, down, bottom, top)
    return "".join(parts)


def _decades(numbers: list) -> tuple[int, int]:
    if not numbers:
        return -1, 1
    low, high = int(np.floor(np.log10(min(numbers)))), int(np.ceil(np.log10(max(numbers))))
    return low, max(high, low + 1)


def _curve(
    number: int, values: list, across: Callable, down: Callable, bottom: float, top: float
) -> list:
    """Draw a variable's curve in pieces; zeros lie at the bottom, nonfinite values at the top."""
    color, parts, piece = color_of(number), [], []
    thin = max(1, len(values) // MARKS)
    for step, value in enumerate([*values, float("nan")]):
        if np.isfinite(value) and value > 0:
            piece.append(f"{across(step):.1f},{down(value):.1f}")
            continue
        if len(piece) == 1:
            x, y = piece[0].split(",")
            parts.append(f"<circle cx='{x}' cy='{y}' r='2' fill='{color}'/>")
        elif piece:
            parts.append(
                f"<polyline points='{' '.join(piece)}' fill='none' stroke='{color}' "
                f"stroke-width='1.5'{dashes_of(number)}/>"
            )
        piece = []
        if step < len(values) and value == 0 and step % thin == 0:
            parts.append(
                f"<circle cx='{across(step):.1f}' cy='{bottom:.1f}' r='2.2' fill='{color}'/>"
            )
        elif step < len(values) and value != 0 and step % thin == 0:
            parts.append(
                f"<text x='{across(step):.1f}' y='{top + 11:.1f}' text-anchor='middle' "
                f"fill='{color}' font-weight='700'>×</text>"
            )
    return parts


def _legend(places: list[int], rows: tuple) -> str:
    x = WIDTH - RIGHT + 14
    parts = []
    for line, row_number in enumerate(places):
        y, row = TOP + 10 + 18 * line, rows[row_number]
        name = row.name if len(row.name) <= 20 else "…" + row.name[-19:]
        mark = "" if row.verdict == "fine" else f": {row.verdict}"
        weight = "400" if row.verdict == "fine" else "700"
        parts.append(
            f"<line x1='{x}' x2='{x + 16}' y1='{y - 4}' y2='{y - 4}' "
            f"stroke='{color_of(row_number)}' stroke-width='2.5'{dashes_of(row_number)}/>"
            f"<text x='{x + 21}' y='{y}' fill='#1d2733' font-weight='{weight}'>"
            f"{html.escape(name + mark)}"
            "</text>"
        )
    return "".join(parts)


def figure(series: list, rows: tuple, path: str) -> None:
    """Draw the same picture with matplotlib, in whatever format the path asks for."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        text = (
            f"only matplotlib draws {path}: pip install talweg[demo], or a path that ends in .svg"
        )
        raise ImportError(text) from error

    canvas = Figure(figsize=(9, 6))
    for number, axes in enumerate(canvas.subplots(2, 1)):
        for row in choose_drawn(series, rows):
            axes.plot(
                range(1, len(curves(series[row])[number]) + 1),
                curves(series[row])[number],
                color=color_of(row),
                label=f"{rows[row].name}: {rows[row].verdict}",
            )
        axes.set_yscale("log")
        axes.set_title(TITLES[number], loc="left")
    canvas.axes[0].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    canvas.axes[1].set_xlabel("step")
    canvas.savefig(path, bbox_inches="tight")
