"""The number of threads a program gets while other processes want the cores, too.

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
    """Sets the threads of programs that run for long, by what others do."""

    def __init__(self) -> None:
        self.used = 1  # threads that the last program had

    def apply(self, executable: Any) -> None:
        """Let a program have as many threads as are worth it now."""
        count = executable.threads
        if not settings.threads.get():
            count = load.share(count)
        if count != executable.in_use:
            executable.use(count)
        self.used = count


fair_share = FairShare()
