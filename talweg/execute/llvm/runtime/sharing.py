"""How many threads a program is worth while other processes want the cores, too.

Threads of a program wait for each other after every kernel.  On a core that somebody else has they
wait for that one's time slice, in which nobody works: under load two threads can take longer than
one (a GPT of six layers, two cores, a load of about 10: medians of 1.05 s a step on one thread
and 5.9 on two, in runs one after the other).  So a program that was given no number of threads
takes its fair share of the cores: now and then it looks how many threads the system has that
could run.  What it computes does not hang on their number.
"""

from __future__ import annotations

import os
import time
from typing import Any

from talweg.core import settings
from talweg.execute.llvm.runtime.thread_pool import available_cores

INTERVAL = 0.1  # seconds between two looks
NEW = 0.5  # the part that the last look has in what is taken to be so
LOAD = "/proc/loadavg"


class FairShare:
    """Sets the threads of programs that run for long, by what others do."""

    def __init__(self) -> None:
        self.others = 0.0  # threads of others that want a core, lately
        self.looked = 0.0
        self.used = 1  # threads that the last program had

    def apply(self, executable: Any) -> None:
        """Let a program have as many threads as are worth it now."""
        now = time.monotonic()
        if now - self.looked > INTERVAL:
            self.looked = now
            self.look()
        if settings.threads.get():
            count = executable.threads
        else:
            count = share(executable.threads, available_cores(), self.others)
        if count != executable.in_use:
            executable.use(count)
        self.used = count

    def look(self) -> None:
        """Count who could run, but for this thread and those that may wait for its next program."""
        running = runnable()
        if running is None:
            return
        others = max(0, running - 1 - (self.used - 1))
        part = available_cores() / (os.cpu_count() or 1)
        self.others += NEW * (others * part - self.others)


def share(wanted: int, cores: int, others: float) -> int:
    """How many of the threads it wants a program has, beside others' threads.

    >>> [share(2, 2, others) for others in (0, 0.4, 1, 2, 10)]
    [2, 2, 1, 1, 1]
    >>> [share(8, 8, others) for others in (0, 1, 8, 100)]
    [8, 7, 4, 1]
    """
    others = round(others)
    return max(1, min(wanted, cores * wanted // (wanted + others)))


def runnable() -> int | None:
    """How many threads of the system run or could run; None where that is not known."""
    try:
        with open(LOAD) as file:
            return int(file.read().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None


fair_share = FairShare()
