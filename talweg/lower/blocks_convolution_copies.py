"""Copies that make convolutions fast: images with zeros round them, filters in panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from talweg.lower.blocks_convolution_windows import Windows
from talweg.lower.handler import s
from talweg.lower.index import Axis, Index, flat
from talweg.lower.loops import Buffer, For, Kernel, Store, When, const, load, within
from talweg.lower.nests import wrapped

VECTOR_BYTES = 32  # of a register: the tiles are made for this many


class Panels(NamedTuple):
    """`count` panels of `width` filters from number `first` of each group.

    `used` of the filters are real; where that is fewer there is one panel only, filled with zeros.
    """

    first: int
    count: int
    width: int
    used: int
    buffer: Buffer  # [groups, count, reduced, width], by neighbours, then other taps


def widths(results: int, lanes: int) -> list[tuple[int, int, int]]:
    """(first, count, width) of the panels for so many results: two vectors wide, if possible.

    What is left over is a panel of its own or, if it is one vector or less, makes the last one
    three vectors wide.
    """
    full, rest = divmod(results, 2 * lanes)
    if rest == 0:
        return [(0, full, 2 * lanes)]
    if not full:
        width = lanes if rest <= lanes else 2 * lanes
        if rest <= lanes // 2:
            width = lanes // 2
        return [(0, 1, width)]
    if rest > lanes:
        return [(0, full, 2 * lanes), (2 * lanes * full, 1, 2 * lanes)]
    found = [(0, full - 1, 2 * lanes)] if full > 1 else []
    return [*found, (2 * lanes * (full - 1), 1, 3 * lanes)]


def panels_of(
    builder: Any, windows: Windows, rank: int, dtype: Any, weight: Callable, name: str
) -> tuple[list[Panels], Kernel]:
    """The filters in panels, and the kernel that copies them.

    `rank` is the number of the filter's spatial axes; `weight(taps, reduced channel, group, result
    channel, guard)` is the filter's element, with taps in the filter's own order.
    """
    found, loops = [], []
    for first, count, width in widths(windows.width, VECTOR_BYTES // dtype.size):
        shape = (windows.groups, count, windows.reduced, width)
        buffer = builder.new("panels", dtype, shape, "temporary")
        panels = Panels(first, count, width, min(windows.width - first, width), buffer)
        found.append(panels)
        if not windows.reduced:
            continue
        group, panel = Axis("g", windows.groups), Axis("p", count)
        taps = [Axis(f"t{k}", line.taps) for k, line in enumerate(windows.lines)]
        channel, lane = Axis("c", windows.depth), Axis("n", width)
        result = Index.of(panel) * width + lane + first
        axes = [group, panel, *taps, channel, lane]
        guard = within(result, 0, windows.width)
        index = tuple(map(Index.of, axes))
        lines = windows.lines[-rank:]
        tap = [
            i * line.tap_stride + line.tap_first for i, line in zip(index[-2 - rank : -2], lines)
        ]
        value = weight(tuple(tap), index[-2], index[0], result, guard)
        run, apart = windows.run
        outer = flat(index[2 : 2 + apart], tuple([line.taps for line in windows.lines[:apart]]))
        inner = index[2 + apart] * windows.depth + index[-2] if apart < len(taps) else index[-2]
        k = inner * (windows.reduced // run) + outer
        place = flat((*index[:2], k, index[-1]), shape)
        body: list = [Store(buffer, place, value)]
        body = wrapped([lane], body, "vector")
        body = wrapped([*taps, channel], body, "serial")
        loops += wrapped([group, panel], body, "parallel") if windows.groups * count > 1 else body
    return found, Kernel(f"{name}panels", loops, ("convolution",))


def padded_copy(
    source: Buffer, start: Index, target: Buffer, windows: Windows, rows: int, block: Index,
    width: int, part: Index, zero_rows: bool = True,
) -> list:  # fmt: skip
    """Copies what `rows` rows of results from row number `block` * rows on read, zeros round it.

    `start` is where the image begins in `source`.  The copy, from the first place read on, is
    image number `part` of `target` [channels / width, images, *spans, width].
    zero_rows: whether rows outside of the image are made, too.
    """
    lines = windows.lines
    spans = [lines[0].covered(rows), *[line.span for line in lines[1:]]]
    axes = [Axis(f"h{k}", span) for k, span in enumerate(spans[:-1])]
    at = [Index.of(axis) + line.origin for axis, line in zip(axes, lines)]
    at[0] = at[0] + block * (rows * lines[0].scale)
    inside = s.all(*[within(i, 0, line.size) for i, line in zip(at, lines)])
    columns, channels = lines[-1], windows.channels
    layers = channels // width
    row = flat((part, *map(Index.of, axes)), (0, *spans[:-1])) * (spans[-1] * width)
    layer = target.size // layers  # from one to the next
    low = min(max(-columns.origin, 0), spans[-1])
    high = max(min(spans[-1], columns.size - columns.origin), low)
    sizes = tuple([line.size for line in lines])
    place = flat((*at, Index(columns.origin + low)), sizes) * channels + start
    first = row + low * width

    def zero(after: int, count: int) -> list:
        parts = Axis("l", layers)
        body = zeros(target, row + Index.of(parts) * layer + after * width, count * width)
        return wrapped([parts], body, "serial")

    if layers == 1:
        copied = Axis("r", (high - low) * channels)
        body: list = [For(copied, [Store(target, first + copied, load(source, place + copied))],
                          "vector")]  # fmt: skip
    else:
        column, number, lane = Axis("q", high - low), Axis("l", layers), Axis("c", width)
        value = load(source, place + Index.of(column) * channels + Index.of(number) * width + lane)
        here = first + Index.of(number) * layer + Index.of(column) * width + lane
        body = wrapped(
            [column, number], [For(lane, [Store(target, here, value)], "vector")], "serial"
        )
    body += zero(0, low) if low else []
    body += zero(high, spans[-1] - high) if high < spans[-1] else []
    if high == low:
        body = zero(0, spans[-1])
    elif inside is not None:
        body = [When(inside, body, zero(0, spans[-1]) if zero_rows else [])]
    return wrapped(axes, body, "serial")


def zeros(target: Buffer, start: Any, count: int) -> list:
    """Stores of `count` zeros."""
    if not count:
        return []
    axis = Axis("z", count)
    value = const(0, target.dtype)
    return [For(axis, [Store(target, Index.of(start) + axis, value)], "vector")]
