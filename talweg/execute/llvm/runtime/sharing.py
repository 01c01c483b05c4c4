"""Sharing of cores with other processes: the number of threads of a program, and how they wait.

Threads of a program wait for each other after every kernel.  Beside busy processes one of them may
have lost its core for a time slice.  If the others wait for it actively, and keep to their cores,
nobody works meanwhile; if they sleep, it can have one of their cores at once.  So in a crowd the
threads sleep (`ThreadPool.set_crowd`).

As many threads as there are cores in their fair share need wait for others less.  Which is faster,
they or all, hangs on the program: so both are measured in its calls.

Where others leave no core, all threads still have their shares: with four busy processes on two
cores, a step of a GPT of six layers took 1.08 s on one thread and 0.5 s on two.  They keep to as
many cores as these shares add up to, at least one.  Linux then moves others away from there, and a
thread's sleep makes room for just the one that it waits for.  Spread over all cores each wait could
take the time slice of somebody else: a step of a U-Net took 39 to 94 ms so, and 37 together.

What a program computes does not hang on the number of its threads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talweg.core import settings
from talweg.core.load import INTERVAL, load
from talweg.execute.llvm.runtime.thread_pool import get_thread_pool

if TYPE_CHECKING:
    from talweg.execute.llvm.runtime.executable import Executable

TRIALS = 6  # calls with each number of threads before one is chosen
RECENT = 0.25  # the part of the last call in what a call is taken to last
POOR = 0.6  # the part of its share below which a program looks for other cores
AFRESH = 16, 256  # after how many calls the other one is tried again; doubled up to the second


class MeasuredThreads:
    """The choice between two numbers of threads, by the times that calls took with each."""

    def __init__(self, fewer: int, all_threads: int) -> None:
        self.seconds: dict[int, float] = {}
        self.order = [all_threads, fewer] * TRIALS  # of the calls to come, the next one last
        self.interval, self.until = AFRESH[0], AFRESH[0]
        self.candidates = fewer, all_threads
        self.threads, self.started = all_threads, 0.0  # of the call that runs

    def begin(self) -> int:
        """Return the number of threads of the call that starts now."""
        self.threads = self.choose()
        self.started = time.perf_counter()
        return self.threads

    def end(self) -> None:
        """Take note of how long the call took."""
        seconds = time.perf_counter() - self.started
        before = self.seconds.get(self.threads, seconds)
        self.seconds[self.threads] = before + RECENT * (seconds - before)

    def choose(self) -> int:
        """Choose the number of threads of the next call."""
        if self.order:
            return self.order.pop()
        fewer, all_threads = self.candidates
        slower = self.seconds.get(fewer, 0.0) >= self.seconds.get(all_threads, 0.0)
        best, other = (all_threads, fewer) if slower else (fewer, all_threads)
        self.until -= 1
        if self.until > 0:
            return best
        self.interval = self.until = min(2 * self.interval, AFRESH[1])
        return other


class FairShare:
    """The controller of the threads of long-running programs, by the load of others."""

    def __init__(self) -> None:
        self.used = 1  # threads that the last program had
        self.crowded = False  # whether others want the cores, too
        self.cores = 0  # to how many the threads keep; 0 where they may run on any
        self.looked = self.worked = 0.0  # when the load was last looked at; CPU seconds until then
        self.due = 0.0  # when it is to be looked at again

    def apply(self, executable: Executable) -> MeasuredThreads | None:
        """Set the threads of a call that starts now; return who is to be told of its end."""
        self.refresh()
        count, measured = executable.threads, None
        fewer = count if settings.threads.get() else load.share(count)
        if fewer < count:
            measured = executable.measured.get(fewer)
            if measured is None:
                measured = executable.measured[fewer] = MeasuredThreads(fewer, count)
            count = measured.begin()
        if count != executable.in_use:
            executable.use(count)
        self.used = count
        return measured

    def refresh(self) -> None:
        """Look at the load if the last look was long ago."""
        free = load.free()
        if load.looked != self.looked:
            self.look(free)

    def look(self, free: int) -> None:
        """Tell the pool of the load, where it has changed."""
        worked = time.process_time()
        used = (worked - self.worked) / max(load.looked - self.looked, 1e-6)
        self.looked, self.worked = load.looked, worked
        self.due = load.looked + INTERVAL
        crowded, cores = free < load.cores, 0
        if not free:
            fair = load.cores**2 / (load.cores + load.others)
            cores = max(1, round(fair))
            if self.cores and used < POOR * min(fair, cores):
                cores = 0  # others are there: have Linux find better cores
        self.crowded, self.cores = crowded, cores
        pool = get_thread_pool()
        if (crowded, cores) != (pool.fields.crowded > 0, pool.kept):  # a forked child's is new
            pool.set_crowd(crowded, cores)


fair_share = FairShare()
