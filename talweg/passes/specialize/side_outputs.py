"""Side outputs of a compiled program: values whose size is known only inside it.

Those are lists of unknown length that are results as arrays, which the program hands over by a call
of Python at its end (`SideOutputs.hand_over`), what its regions give that is no array of a known
shape (`regions.py`), and stacks that it is given (`SideOutputs.fetch`) or gives as parts of lists
and histories (`residuals.py`).  Each run has its own, whatever thread it is in, until it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from talweg.core.transfers import fetch
from talweg.kernels.progression import allocate
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import Equation, SpecializationError, StaticProgram
from talweg.passes.specialize.stack_primitives import Construct, is_endless

export: Any = Construct("export", {"call": "export"}, multiple=True, effect="host")


class _Runs(threading.local):
    def __init__(self) -> None:
        self.kept: list[dict] = []


class SideOutputs:
    """The side outputs of one program; `places` are their positions among all results, and keys.

    A `ResidualOutput` (`residuals.py`) in the place of a key is made of further results, which come
    after the `plain` ones, and of what is kept aside.  None is no result at all.
    """

    def __init__(self) -> None:
        self.places: list[tuple[int, Any]] = []
        self.plain: Any = None  # how many results are arrays by themselves
        self._runs = _Runs()

    def begin(self) -> dict:
        """Begin a run of this thread and return its storage."""
        self._runs.kept.append({})
        return self._runs.kept[-1]

    def end(self) -> None:
        """End that run and release its storage."""
        self._runs.kept.pop()

    def now(self) -> dict:
        """Return the side outputs of the innermost run of this thread."""
        return self._runs.kept[-1]

    @contextmanager
    def lend(self, kept: dict) -> Iterator[None]:
        """Make this thread work for another thread's run, whose storage is given."""
        self._runs.kept.append(kept)
        try:
            yield
        finally:
            self._runs.kept.pop()

    def hand_over(self, place: int, rows: Any, length: Any) -> tuple:
        """Store the first rows of a stack."""
        self.now()[place] = rows_of(rows, length)
        return ()

    def fetch(self, key: Any) -> Any:
        """Return a stack that was passed to the program."""
        return self.now()[key]

    def join(self, outputs: list) -> list:
        """Return all results; arrays that a device has stay there, but for those of stacks."""
        kept, further = self.now(), []
        if self.plain is not None:
            outputs, further = outputs[: self.plain], outputs[self.plain :]
        for place, key in sorted(self.places, key=itemgetter(0)):
            if hasattr(key, "sources"):
                arrays = [fetch(further[x]) if type(x) is int else kept[x] for x in key.sources]
                outputs.insert(place, key.form.make_lazily(arrays))
            else:
                outputs.insert(place, None if key is None else kept[key])
        return outputs


def rows_of(rows: Any, length: Any) -> Any:
    """Return the first rows of a stack as an array, with zeros for unwritten rows."""
    found = np.zeros((int(length), *rows.shape[1:]), rows.dtype)
    found[: len(rows)] = rows[: len(found)]
    return found


def numbers_of(start: Any, step: Any, count: Any) -> Any:
    """Return a range of integers, counted from `start` on, as an array."""
    kind = np.asarray(start).dtype
    numbers = allocate("range", np.arange, 0, int(count), 1, kind)
    return np.asarray(start) + np.asarray(step) * numbers


def exports_of(static: StaticProgram) -> SideOutputs:
    """Return the exports of the program's values of unknown size."""
    if static.exports is None:
        static.exports = SideOutputs()
    return static.exports


def hand_over(static: StaticProgram, places: list[int]) -> None:
    """Make a program export its results of unknown length; `places`: positions of results."""
    kept = []
    for place, value in zip(places, static.outputs):
        if not is_endless(value):
            kept.append(value)
            continue
        length = static.lengths.get(value)
        if length is None:
            raise SpecializationError(Reason.STACK_USED)
        exports = exports_of(static)
        exports.places.append((place, place))
        equation = Equation(export, [value, length], {"exports": exports, "place": place})
        static.equations.append(equation)
    static.outputs = kept
