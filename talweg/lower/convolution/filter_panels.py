"""Filter panels: filters packed in the order in which tiles read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from talweg.lower.convolution.geometry import Windows
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Kernel, Store, within
from talweg.lower.ir.registers import registers

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.lower.build import LoweringBuilder


class FilterPanels(NamedTuple):
    """`count` panels of `width` filters from number `first` of each group.

    `used` of the filters are real; where that is fewer there is one panel only, filled with zeros.
    """

    first: int
    count: int
    width: int
    used: int
    buffer: Buffer  # [groups, count, reduced, width]


def widths(results: int, lanes: int) -> list[tuple[int, int, int]]:
    """Return (first, count, width) of the panels, two vectors wide if possible.

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
    pieces = [(0, full - 1, 2 * lanes)] if full > 1 else []
    return [*pieces, (2 * lanes * (full - 1), 1, 3 * lanes)]


def panels_of(
    builder: LoweringBuilder, windows: Windows, rank: int, dtype: DType, weight: Callable, name: str
) -> tuple[list[FilterPanels], Kernel]:
    """Return the packed filters, and the kernel that packs them.

    `rank` is the number of the filter's spatial axes; `weight(taps, reduced channel, group, result
    channel, guard)` is the filter's element, with taps in the filter's own order.
    """
    every_panels, loops = [], []
    for first, count, width in widths(windows.width, registers().lanes(dtype.size)):
        shape = (windows.groups, count, windows.reduced, width)
        buffer = builder.new("panels", dtype, shape, "temporary")
        panels = FilterPanels(first, count, width, min(windows.width - first, width), buffer)
        every_panels.append(panels)
        loops += _copying(panels, windows, rank, weight) if windows.reduced else []
    return every_panels, Kernel(f"{name}panels", loops, ("convolution",))


def _copying(panels: FilterPanels, windows: Windows, rank: int, weight: Callable) -> list:
    """Emit loops over panels, taps and channels.

    Where the lanes are neighbours in memory, panels come last: so rows are read as they lie.
    """
    group, panel = Axis("g", windows.groups), Axis("p", panels.count)
    taps = [Axis(f"t{k}", line.taps) for k, line in enumerate(windows.lines)]
    channel, lane = Axis("c", windows.depth), Axis("n", panels.width)
    result = Index.of(panel) * panels.width + lane + panels.first
    guard = within(result, 0, windows.width)
    numbers = tuple(map(Index.of, taps))
    lines = windows.lines[-rank:]
    tap = [i * line.tap_stride + line.tap_first for i, line in zip(numbers[-rank:], lines)]
    value = weight(tuple(tap), Index.of(channel), Index.of(group), result, guard)
    run, apart = windows.run
    k = Index.of(channel)
    if apart < len(taps):
        k = k + numbers[-1] * windows.depth
    outer = flat(numbers[:apart], tuple([line.taps for line in windows.lines[:apart]]))
    k = k * (windows.reduced // run) + outer if windows.interleaved else outer * run + k
    offset = flat((Index.of(group), Index.of(panel), k, Index.of(lane)), panels.buffer.shape)
    body = wrap_in_loops([lane], [Store(panels.buffer, offset, value)], "vector")
    if value.data[1].coefficient(lane) == 1:
        return wrap_in_loops(
            [group, *taps, channel], wrap_in_loops([panel], body, "serial"), "parallel"
        )
    return wrap_in_loops(
        [group, panel, *taps], wrap_in_loops([channel], body, "serial"), "parallel"
    )
