"""Results of which only a run knows the size: lists of unknown length as arrays.

The compiled program hands them over itself, by a call of Python at its end (`Exports.hand_over`);
who has called the program takes them then.  Each thread has its own.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from talweg.passes.rows import Construct, is_endless
from talweg.passes.straight import Equation, NotStraightError, Straight

export: Any = Construct("export", {"call": "export"}, multiple=True, effect="host")


class Exports:
    """The results of one program that it hands over, by their places among all."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self._own = threading.local()

    def hand_over(self, place: int, rows: Any, length: Any) -> tuple:
        """Keep the first rows of a stack; those that nobody has written are zero."""
        found = np.zeros((int(length), *rows.shape[1:]), rows.dtype)
        found[: len(rows)] = rows[: len(found)]
        vars(self._own)[str(place)] = found
        return ()

    def joined(self, outputs: list, usable: bool = True) -> list:
        """All results; what this thread was given is forgotten."""
        given = dict(vars(self._own))
        vars(self._own).clear()
        if usable:
            for place in self.places:
                outputs.insert(place, given[str(place)])
        return outputs


def hand_over(straight: Straight) -> None:
    """Let a program hand its results of unknown length over."""
    kept = []
    for place, value in enumerate(straight.outputs):
        if not is_endless(value):
            kept.append(value)
            continue
        length = straight.lengths.get(value)
        if length is None:
            raise NotStraightError("a list of unknown length is used as a whole")
        if straight.exports is None:
            straight.exports = Exports()
        straight.exports.places.append(place)
        params = {"exports": straight.exports, "place": place}
        equation = Equation(export, [value, length], params)
        straight.equations.append(equation)
    straight.outputs = kept
