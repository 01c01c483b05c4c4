"""The load of this machine: how many threads of other processes want the cores we may use.

Threads of a product or a program wait for each other.  On a core that somebody else has they wait
for that one's time slice, in which nobody works: under load two threads can take longer than one.
So whoever has a pool of threads that wait actively, as BLAS does, asks now and then what its fair
share of the cores is; compiled programs wait otherwise (`execute/llvm/runtime/sharing.py`).
"""

from __future__ import annotations

import os
import time

from talweg.core.cores import count_cores

INTERVAL = 0.1  # seconds between two looks
NEW = 0.5  # the part that the last look has in what is taken to be so
LOAD = "/proc/loadavg"
OWN = "/proc/self/task"


class Load:
    """The demand of other threads for the cores, lately."""

    def __init__(self) -> None:
        self.others = 0.0  # threads of others that want a core
        self.beside = 0  # threads of this process that work by themselves, as a compiler does
        self.looked = 0.0
        self.cores = 1  # at the last look

    def share(self, wanted: int) -> int:
        """Return the number of threads, of those it wants, that a pool has at present."""
        self.refresh()
        return share(wanted, self.cores, self.others + self.beside)

    def free(self) -> int:
        """Return the number of cores that threads of others leave at present, perhaps none."""
        self.refresh()
        return max(0, self.cores - round(self.others + self.beside))

    def refresh(self) -> None:
        """Look again if the last look was long ago."""
        now = time.monotonic()
        if now - self.looked > INTERVAL:
            self.looked = now
            self.look()

    def look(self) -> None:
        """Count the threads of other processes that could run, on cores that are ours, too."""
        self.cores = count_cores()
        running = runnable()
        if running is None:
            return
        part = self.cores / (os.cpu_count() or 1)
        others = max(0, running - own_runnable())
        self.others += NEW * (others * part - self.others)


def share(wanted: int, cores: int, others: float) -> int:
    """Return the number of threads, of those it wants, that a pool has beside others' threads.

    >>> [share(2, 2, others) for others in (0, 0.4, 1, 2, 10)]
    [2, 2, 1, 1, 1]
    >>> [share(8, 8, others) for others in (0, 1, 8, 100)]
    [8, 7, 4, 1]
    """
    others = round(others)
    return max(1, min(wanted, cores * wanted // (wanted + others)))


def runnable() -> int | None:
    """Count the system's threads that run or could run; None where that is not known."""
    try:
        with open(LOAD) as file:
            return int(file.read().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None


def own_runnable() -> int:
    """Count this process's threads that run or could run."""
    count = 0
    try:
        for name in os.listdir(OWN):
            with open(f"{OWN}/{name}/stat", "rb") as file:
                count += b") R" in file.read()
    except OSError:  # a thread that has ended, or no Linux
        pass
    return max(1, count)


load = Load()
