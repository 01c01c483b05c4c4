"""A part of an image by chance, with a certain area, shape, and cover of given boxes.

Szegedy et al., "Going deeper with convolutions" (2015), section 6: crops of random area and aspect.
The numbers drawn, and what is made of them, follow TensorFlow's kernel in float32, so equal streams
give equal crops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from talweg.kernels.random.philox import MASK32, Stream, one_block


class CropBox(NamedTuple):
    """Rows from top to bottom (less one), columns from left to right, in pixels."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def area(self) -> float:
        """In pixels; 0 for an empty one."""
        return float(max(0, self.bottom - self.top) * max(0, self.right - self.left))

    def common(self, other: CropBox) -> CropBox:
        """Return the intersection of both boxes."""
        return CropBox(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )


class Draws:
    """Numbers from a stream, one word after the other."""

    def __init__(self, stream: Stream):
        self._words = self._all(stream)

    def _all(self, stream: Stream) -> Iterator[int]:
        for number in itertools.count():
            yield from one_block(stream.skip(number).counter, stream.key)

    def fraction(self) -> np.float32:
        """Return a float of [0, 1), from the lower 23 bits of a word."""
        return np.float32((next(self._words) & 0x7FFFFF) / (1 << 23))

    def below(self, count: int) -> int:
        """Return an integer of [0, count), each as likely."""
        if count & (count - 1) == 0:
            return next(self._words) & (count - 1)
        rest = MASK32 % count + 1
        while True:
            word = next(self._words)
            if word <= MASK32 - rest:
                return word % count


def crop(
    stream: Stream,
    size: tuple[int, int],
    boxes: NDArray,
    covered: float,
    shapes: tuple[float, float],
    areas: tuple[float, float],
    attempts: int,
) -> CropBox:
    """Return a part of an image of `size`, or the whole of it where all attempts fail.

    boxes [n, 4] over the size of the image, of which one has to be `covered`; shapes: width over
    height, from and to; areas: the part of the image, from and to.
    """
    height, width = size
    whole = CropBox(0, 0, height, width)
    scale = np.array([height, width, height, width], np.float32)
    objects = [CropBox(*map(int, box)) for box in boxes.astype(np.float32) * scale] or [whole]
    draws = Draws(stream)
    low, high = map(np.float32, shapes)
    for _ in range(attempts):
        part = _part(size, draws.fraction() * (high - low) + low, areas, draws)
        if part is not None and _covers(part, objects, covered):
            return part
    return whole


def _covers(found: CropBox, objects: list[CropBox], covered: float) -> bool:
    """Return whether enough of an object is inside."""
    return found.area >= 1 and any(
        box.area >= 1 and np.float32(found.common(box).area / box.area) >= np.float32(covered)
        for box in objects
    )


def _part(
    size: tuple[int, int], shape: np.float32, areas: tuple[float, float], draws: Draws
) -> CropBox | None:
    """Return a part of this shape, with an area drawn between bounds; None where there is none."""
    height, width = size
    if areas[1] <= 0 or shape <= 0 or min(size) <= 0 or areas[0] > areas[1]:
        return None
    least, most = (np.float32(part) * np.float32(width) * np.float32(height) for part in areas)
    rows, highest = (int(np.rint(np.sqrt(area / shape))) for area in (least, most))
    if _across(highest, shape) > width:
        highest = int((np.float32(width) + np.float32(0.5) - np.float32(1e-7)) / shape)
        highest -= _across(highest, shape) > width
    highest = min(highest, height)
    rows = min(rows, highest)
    if rows < highest:
        rows += draws.below(highest - rows + 1)
    if rows * _across(rows, shape) < least:  # by rounding
        rows += 1
    if rows * _across(rows, shape) > most:
        rows -= 1
    columns = _across(rows, shape)
    fits = 0 < rows <= height and 0 < columns <= width
    if not fits or not least <= rows * columns <= most:
        return None
    top = draws.below(height - rows) if rows < height else 0
    left = draws.below(width - columns) if columns < width else 0
    return CropBox(top, left, top + rows, left + columns)


def _across(rows: int, shape: np.float32) -> int:
    """Return the columns of a part with so many rows."""
    return int(np.rint(np.float32(rows) * shape))
