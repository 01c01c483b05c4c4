"""Beam search for connectionist temporal classification: likely label sequences, on NumPy arrays.

Graves, "Sequence transduction with recurrent neural networks" (2012), without the transducer.  A
beam is a prefix of labels with two probabilities: of the paths that end in a blank, and of those
that end in its last label.
"""

from __future__ import annotations

import numpy as np

NEVER = -np.inf


def search(scores: np.ndarray, blank: int, width: int) -> list[tuple[tuple, float]]:
    """Return the best `width` label sequences of one row [time,
    classes], best first, with log p.
    """
    beams: dict[tuple, tuple[float, float]] = {(): (0.0, NEVER)}
    for row in scores:
        prefixes: dict[tuple, list[float]] = {}
        for prefix, (ends_blank, ends_label) in beams.items():
            both = np.logaddexp(ends_blank, ends_label)
            same = prefixes.setdefault(prefix, [NEVER, NEVER])
            same[0] = np.logaddexp(same[0], both + row[blank])
            if prefix:
                same[1] = np.logaddexp(same[1], ends_label + row[prefix[-1]])
            for label in range(len(row)):
                if label == blank:
                    continue
                before = ends_blank if prefix and prefix[-1] == label else both
                if before == NEVER:
                    continue
                longer = prefixes.setdefault((*prefix, label), [NEVER, NEVER])
                longer[1] = np.logaddexp(longer[1], before + row[label])
        best = sorted(prefixes.items(), key=_score)[:width]
        beams = {prefix: (first, second) for prefix, (first, second) in best}
    return [(prefix, -_score((prefix, both))) for prefix, both in beams.items()]


def _score(item: tuple) -> float:
    """Return -log p of a beam: its paths that end in a blank and in its last label."""
    return -float(np.logaddexp(item[1][0], item[1][1]))


def decode(scores: np.ndarray, lengths: np.ndarray, width: int, paths: int) -> tuple:
    """Return labels [paths, batch, time], -1 behind their ends, and log probabilities [batch,
    paths].

    scores [time, batch, classes] are log probabilities; the last class is the blank.
    """
    time, batch, classes = scores.shape
    labels = np.full((paths, batch, time), -1, np.int64)
    log_probabilities = np.full((batch, paths), NEVER, scores.dtype)
    for row in range(batch):
        found = search(scores[: lengths[row], row], classes - 1, width)
        for place, (prefix, score) in enumerate(found[:paths]):
            labels[place, row, : len(prefix)] = prefix
            log_probabilities[row, place] = score
    return labels, log_probabilities
