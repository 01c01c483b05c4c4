"""Fair sharing of cores with other processes: the number of threads of a program.

Threads of a program wait for each other after every kernel.  On a core that somebody else has they
wait for that one's time slice (`core/load.py`): a GPT of six layers, on two cores with a load of
about 10, took 1.05 s a step on one thread and 5.9 on two (medians of runs one after the other).  So
a program that was given no number of threads takes its fair share of the cores.  What it computes
does not hang on their number.
"""

from __future__ import annotations

from typing import Any

from talweg.core import settings
from talweg.core.load import load


class FairShare:
    """The controller of threads of long-running programs, by the load of others."""

    def __init__(self) -> None:
        self.used = 1  # threads that the last program had

    def apply(self, executable: Any) -> None:
        """Set a program's threads to the profitable number."""
        count = executable.threads
        if not settings.threads.get():
            count = load.share(count)
        if count != executable.in_use:
            executable.use(count)
        self.used = count


fair_share = FairShare()
