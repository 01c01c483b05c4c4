"""Non-maximum suppression: of several boxes the best stay, and hide those that overlap them.

Bodla, Singh, Chellappa, Davis, "Soft-NMS: improving object detection with one line of code" (2017),
for scores that fall with the overlap.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray


def overlap(box: NDArray, others: NDArray) -> NDArray:
    """Return intersection over union of a box [4] and others [n, 4]; corners in any order."""
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    area, areas = np.prod(high - low), np.prod(highs - lows, axis=1)
    common = np.maximum(np.minimum(high, highs) - np.maximum(low, lows), 0)
    common = common[:, 0] * common[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = common / (area + areas - common)
    return np.where((areas > 0) & (area > 0), found, 0).astype(others.dtype)


def order_of(scores: NDArray, threshold: float) -> NDArray:
    """Return the numbers of the scores above a threshold, best first, equal ones in their order."""
    candidates = np.flatnonzero(scores > threshold)
    return candidates[np.argsort(-scores[candidates].astype(np.float64), kind="stable")]


def _likeness(x: NDArray, overlaps: bool, one: int, others: NDArray) -> NDArray:
    return x[one, others] if overlaps else overlap(x[one], x[others])


def hard(
    x: NDArray, scores: NDArray, limit: int, most: float, threshold: float, overlaps: bool
) -> NDArray:
    """Return the numbers of the boxes that stay, at most `limit`; `most`: the overlap that is
    allowed.

    x: boxes [n, 4], or how much they overlap [n, n].
    """
    left, chosen = order_of(scores, threshold), []
    allowed = np.float32(most)
    while len(left) and len(chosen) < limit:
        best, left = left[0], left[1:]
        chosen.append(best)
        left = left[_likeness(x, overlaps, best, left) <= allowed]
    return np.array(chosen, np.int32)


def soft(
    x: NDArray, scores: NDArray, limit: int, most: float, threshold: float, sigma: float
) -> tuple[NDArray, NDArray]:
    """Return the numbers of the boxes that stay, and their scores, times exp(-overlap²/2 sigma)."""
    queue = [(-float(scores[n]), int(n), 0) for n in order_of(scores, threshold)]
    heapq.heapify(queue)
    chosen: list[int] = []
    kept: list[float] = []
    scale = np.float32(-0.5 / sigma)
    while queue and len(chosen) < limit:
        negative, box, seen = heapq.heappop(queue)
        score = original = np.float32(-negative)
        for other in reversed(chosen[seen:]):
            likeness = overlap(x[box], x[[other]])[0]
            weight = np.exp(scale * likeness * likeness) if likeness <= most else np.float32(0)
            score = np.float32(score * weight)
            if score <= threshold:
                break
        if score == original:
            chosen.append(box)
            kept.append(float(score))
        elif score > threshold:
            heapq.heappush(queue, (-float(score), box, len(chosen)))
    return np.array(chosen, np.int32), np.array(kept, scores.dtype)
