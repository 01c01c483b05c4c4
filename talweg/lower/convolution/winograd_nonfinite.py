"""Infinite numbers and NaN in Winograd's convolutions: affected results are recomputed directly.

A tile is made of differences, so one infinity or NaN in it makes all of its results NaN, and sums
may overflow that would not have.  Therefore results are looked at, tile by tile (for filters
channel by channel), and where one is not finite they are sums of products after all.
"""

from __future__ import annotations

from typing import Any

from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.winograd_transforms import TAPS
from talweg.lower.fusion.loop_nests import guard_load, wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, For, Store, Tile, Update, When, load, within


def redo_if_nonfinite(results: Buffer, again: list) -> list:
    """Emit `again`, which makes all of `results`, under the condition that one is not finite."""
    total, number = Tile("s", results.dtype), Axis("e", results.size)
    update = Update(total, (), load(results, Index.of(number)) * 0.0, "add")
    return [total, *wrap_in_loops([number], [update], "vector"), When(s.is_nan(total.at()), again)]


def plain(results: Buffer, axes: list[Axis], product: Expr) -> list:
    """Emit results [i, j, lane] as direct sums over the other axes behind these."""
    total = Tile("z", results.dtype)
    place = flat(tuple(map(Index.of, axes[:3])), results.shape)
    body: list[Any] = [
        total,
        *wrap_in_loops(axes[3:], [Update(total, (), product, "add")], "serial"),
    ]
    body.append(Store(results, place, total.at()))
    return wrap_in_loops(axes[:2], [For(axes[2], body, "vector")], "serial")


def plain_filters(windows: Windows, x: Buffer, g: Buffer, results: Buffer, channel: Axis) -> list:
    """Emit the gradients [i, j, lane] of the filters for one channel of x, as direct sums."""
    taps, lane = [Axis("x", TAPS), Axis("y", TAPS)], Axis("n", windows.width)
    places = [Axis(name, line.outs) for name, line in zip("rc", windows.lines)]
    image = Axis("i", windows.batch)
    at, inside = [], []
    for place, tap, line in zip(places, taps, windows.lines):
        at.append(Index.of(place) + tap + line.origin)
        inside.append(within(at[-1], 0, line.size))
    first, second = windows.lines
    where = flat((Index.of(image), *at), (0, first.size, second.size)) * windows.channels + channel
    there = flat((Index.of(image), *map(Index.of, places)), (0, first.outs, second.outs))
    element = s.cast(guard_load(x, where, s.all(*inside)), results.dtype)
    product = element * s.cast(load(g, there * windows.width + lane), results.dtype)
    return plain(results, [*taps, lane, image, *places], product)
