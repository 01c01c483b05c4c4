"""Samples of Python's stack every few milliseconds: the time that no operation accounts for."""

from __future__ import annotations

import sys
import threading
from time import perf_counter
from types import FrameType

from talweg.command.timing.clock import Clock
from talweg.core.provenance import is_inner

INTERVAL = 0.002  # seconds


class StackSampler:
    """Counts, by line of the program, how long a thread was there with nothing under way."""

    def __init__(self, clock: Clock, interval: float = INTERVAL):
        self.clock, self.interval = clock, interval
        self.lines: dict[tuple, float] = {}  # (file, line, function) -> seconds
        self.thread = threading.get_ident()
        self.stack = clock.stack
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True, name="talweg-profile")

    def __enter__(self) -> StackSampler:
        self._looking.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        last = perf_counter()
        while not self._over.wait(self.interval):
            frame = sys._current_frames().get(self.thread)
            if frame is None:
                return
            now = perf_counter()  # Python may have let us wait for longer
            if not self.stack:
                place = place_of(frame)
                if place is not None:
                    self.lines[place] = self.lines.get(place, 0.0) + now - last
            last = now
            del frame


IMPORT = "_find_and_load"  # Python's own function that every import of a new module goes through


def place_of(frame: FrameType | None) -> tuple | None:
    """Return the innermost line that is the program's; of an installed package if there is none.

    An import of a package is a place of its own, ("", 0, "importing keras"): it is paid once,
    wherever the package is needed first, and is no time of the line that stands there.
    """
    outer, package = None, ""
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == IMPORT and file.startswith("<frozen importlib"):
            package = str(frame.f_locals.get("name", "")).split(".")[0]
        if package and file.endswith("importlib/__init__.py"):
            frame = frame.f_back  # import_module, called by whoever wants the package
            continue
        if not is_inner(file):
            line = frame.f_lineno or frame.f_code.co_firstlineno  # instructions may have none
            location = file, line, frame.f_code.co_name
            if "site-packages" in file:
                outer = outer or location
            elif not file.startswith((sys.prefix, sys.base_prefix, "<frozen", "<string>")):
                return ("", 0, f"importing {package}") if package else location
        frame = frame.f_back
    return ("", 0, f"importing {package}") if package else outer
