"""The native side of running a program on several threads, as LLVM IR.

The *team* is one block of memory for the process (`TEAM`), a *frame* one for each program that can
run at a time (`FRAME`); compiled code is given the address of its frame as its `pool`.

A thread that waits for a number in memory to change looks at it for a while, then says that it
sleeps and takes its lock, which is held already; who changes the number lets go of the locks of
those who sleep.  Order: the sleeper says so and looks again, the other one changes the number and
looks for sleepers; so one of them sees the other.

How often to look is learned by each thread, for each kind of waiting.  Sleeping costs tens of
microseconds, so looking for about as long is right if the other one is at work on another core; if
the cores are taken by other processes, what it waits for may be waiting for this very core, and
looking is in vain.  So the number is halved when it was in vain, doubled when it was not, and tried
afresh every now and then.

Linux likes to wake a thread on the core of the one that wakes it, which is just the one that is at
work; and there it may stay.  So workers keep off the core that the job was begun on.

The locks are CPython's own (`PyThread_*`): they
need no GIL, and are the system's best on each system.

* `talweg_launch(frame)`: run the frame's program, on all threads if the team is free, else on one;
* `talweg_barrier(frame, thread, threads)`: the last one to come starts a new phase;
* `talweg_worker(team, index, seen)`: wait for jobs and take part in them, until there is none;
* `talweg_take`, `talweg_give`: hold the team, so that no job begins; `talweg_end`: the workers end;
* `talweg_spin(times)`: look so often, to know how long it takes;
* `talweg_host(frame, number)`: call Python; `talweg_failed(frame)`: whether such a call failed.
"""

from __future__ import annotations

import platform
import sys

CACHE_LINE = 64
SLOTS = 10 * CACHE_LINE  # where the slots of the threads begin
CORES = 1024  # bits in a set of cores
MAX_THREADS = 256
TEAM_BYTES = SLOTS + MAX_THREADS * CACHE_LINE

TEAM = {  # name -> offset in bytes; what is written often has a line for itself
    "busy": 0,  # i32: 1 while a job runs, or while somebody holds the team
    "frame": 64,  # ptr: the job; null means that the workers shall end
    "threads": 72,  # i64: how many threads take part
    "workers": 80,  # i64: how many workers there are
    "core": 88,  # i32: the core that the thread runs on which began the job
    "sequence": 128,  # i32: number of the job
    "arrived": 192,  # i32: threads at the barrier
    "phase": 256,  # i32: barriers passed
    "finished": 320,  # i32: workers that are done with the job
    "done": 384,  # i32: number of the last job that all workers are done with
    "blas_lock": 448,  # i32
    "blas_users": 452,  # i32: programs that run and call BLAS
    "blas_before": 456,  # i32: how many threads BLAS was to use
    "blas_set": 464,  # ptr to what sets that; null if there is nothing
    "blas_get": 472,
    "allowed": 512,  # 1024 bits: the cores that threads may run on; none where that is not known
}
SLOT = {
    "asleep": 0,  # i32
    "lock": 8,
    "barrier": 16,  # three i32: how often to look at a barrier; how often in vain; the most
    "idle": 32,  # the same for a worker without a job
}
FEWEST_SPINS = 50
TRY_AFRESH = 64  # after so many waits in vain

FRAME = {
    "failed": 0,  # i32: a host call raised
    "team": 8,
    "run": 16,  # the program's @run
    "buffers": 24,  # ptr to the pointers of all buffers
    "threads": 32,  # i64: how many it may run on
    "host": 40,  # a Python callable, called with the number of a host block; true: it failed
    "busy": 48,  # i64: in use
    "next": 56,  # another frame of the same program
    "held": 64,  # ptr to the arguments of the call that runs
    "blas": 72,  # i64: whether the program calls BLAS
}
FRAME_BYTES = 80

PYTHON = [
    *["PyThread_acquire_lock", "PyThread_release_lock", "PyGILState_Ensure", "PyGILState_Release"],
    *["PyObject_CallFunction", "PyObject_IsTrue", "Py_DecRef", "PyErr_Clear"],
]
EXPORTS = [
    *["talweg_launch", "talweg_barrier", "talweg_worker", "talweg_take", "talweg_give"],
    *["talweg_end", "talweg_spin", "talweg_host", "talweg_failed"],
]


def pause() -> str:
    """The instruction that says that a thread only waits."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64", "i686"):
        return "call void @llvm.x86.sse2.pause()"
    if machine in ("aarch64", "arm64"):
        return "call void @llvm.aarch64.hint(i32 1)"
    return 'fence syncscope("singlethread") seq_cst'


def text() -> str:
    """The module."""
    found = _TEXT.replace("$PAUSE", pause())
    found = found.replace("$SCHEDULER", _LINUX if sys.platform == "linux" else _OTHERS)
    for prefix, table in (("team", TEAM), ("slot", SLOT), ("frame", FRAME)):
        for name, offset in table.items():
            found = found.replace(f"${prefix}.{name}$", str(offset))
    numbers = {
        "$SLOTS": SLOTS,
        "$LINE": CACHE_LINE,
        "$CORE_BYTES": CORES // 8,
        "$CORES": CORES,
        "$AFRESH": TRY_AFRESH,
        "$FEWEST": FEWEST_SPINS,
    }
    for name, number in numbers.items():
        found = found.replace(name, str(number))
    return found


_LINUX = """
declare i32 @sched_getcpu()
declare i32 @sched_setaffinity(i32, i64, ptr)
"""
_OTHERS = """
define private i32 @sched_getcpu() {
  ret i32 -1
}
define private i32 @sched_setaffinity(i32 %thread, i64 %bytes, ptr %set) {
  ret i32 -1
}
"""
_TEXT = """
declare i32 @PyThread_acquire_lock(ptr, i32)
declare void @PyThread_release_lock(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare i32 @PyObject_IsTrue(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
$SCHEDULER
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)

@format = private unnamed_addr constant [2 x i8] c"n\\00"

define private ptr @slot(ptr %team, i64 %thread) alwaysinline {
  %lines = mul i64 %thread, $LINE
  %offset = add i64 %lines, $SLOTS
  %slot = getelementptr i8, ptr %team, i64 %offset
  ret ptr %slot
}

; wait until the number at %place is no longer %old
define private void @park(ptr %team, i64 %thread, ptr %place, i32 %old, i64 %kind) noinline {
entry:
  %slot = call ptr @slot(ptr %team, i64 %thread)
  %learned = getelementptr i8, ptr %slot, i64 %kind
  %limit = load i32, ptr %learned, align 4
  br label %spin
spin:
  %count = phi i32 [0, %entry], [%count.next, %again]
  %now = load atomic i32, ptr %place acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %success, label %again
again:
  $PAUSE
  %count.next = add i32 %count, 1
  %more = icmp ult i32 %count.next, %limit
  br i1 %more, label %spin, label %miss
success:
  %most.at = getelementptr i8, ptr %learned, i64 8
  %most = load i32, ptr %most.at, align 4
  %double = shl i32 %limit, 1
  %longer = call i32 @llvm.umin.i32(i32 %double, i32 %most)
  store i32 %longer, ptr %learned, align 4
  ret void
miss:
  %misses.at = getelementptr i8, ptr %learned, i64 4
  %misses.before = load i32, ptr %misses.at, align 4
  %misses = add i32 %misses.before, 1
  store i32 %misses, ptr %misses.at, align 4
  %round = urem i32 %misses, $AFRESH
  %afresh = icmp eq i32 %round, 0
  %top.at = getelementptr i8, ptr %learned, i64 8
  %top = load i32, ptr %top.at, align 4
  %half = lshr i32 %limit, 1
  %shorter = call i32 @llvm.umax.i32(i32 %half, i32 $FEWEST)
  %bounded = call i32 @llvm.umin.i32(i32 %shorter, i32 %top)
  %then = select i1 %afresh, i32 %top, i32 %bounded
  store i32 %then, ptr %learned, align 4
  %lock.at = getelementptr i8, ptr %slot, i64 $slot.lock$
  %lock = load ptr, ptr %lock.at, align 8
  br label %announce
announce:
  %before = atomicrmw xchg ptr %slot, i32 1 seq_cst
  %look = load atomic i32, ptr %place seq_cst, align 4
  %gone = icmp ne i32 %look, %old
  br i1 %gone, label %withdraw, label %wait
withdraw:
  %was = atomicrmw xchg ptr %slot, i32 0 seq_cst
  %mine = icmp eq i32 %was, 1
  br i1 %mine, label %done, label %wait
wait:
  %got = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  %after = load atomic i32, ptr %place seq_cst, align 4
  %finally = icmp ne i32 %after, %old
  br i1 %finally, label %done, label %announce
done:
  ret void
}

; let a thread go on that sleeps; what it waits for has changed
define private void @wake(ptr %team, i64 %thread) {
  %slot = call ptr @slot(ptr %team, i64 %thread)
  %asleep = load atomic i32, ptr %slot seq_cst, align 4
  %yes = icmp ne i32 %asleep, 0
  br i1 %yes, label %claim, label %done
claim:
  %was = atomicrmw xchg ptr %slot, i32 0 seq_cst
  %mine = icmp eq i32 %was, 1
  br i1 %mine, label %release, label %done
release:
  %lock.at = getelementptr i8, ptr %slot, i64 $slot.lock$
  %lock = load ptr, ptr %lock.at, align 8
  call void @PyThread_release_lock(ptr %lock)
  br label %done
done:
  ret void
}

; wake all threads below %end but %thread
define private void @wake_others(ptr %team, i64 %thread, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %step]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %self = icmp eq i64 %i, %thread
  br i1 %self, label %step, label %other
other:
  call void @wake(ptr %team, i64 %i)
  br label %step
step:
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}

define void @talweg_barrier(ptr %frame, i64 %thread, i64 %threads) {
  %team.at = getelementptr i8, ptr %frame, i64 $frame.team$
  %team = load ptr, ptr %team.at, align 8
  %phase.at = getelementptr i8, ptr %team, i64 $team.phase$
  %arrived.at = getelementptr i8, ptr %team, i64 $team.arrived$
  %phase = load atomic i32, ptr %phase.at acquire, align 4
  %before = atomicrmw add ptr %arrived.at, i32 1 acq_rel
  %here = add i32 %before, 1
  %all = trunc i64 %threads to i32
  %last = icmp eq i32 %here, %all
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr %arrived.at monotonic, align 4
  %next = add i32 %phase, 1
  store atomic i32 %next, ptr %phase.at seq_cst, align 4
  call void @wake_others(ptr %team, i64 %thread, i64 %threads)
  ret void
wait:
  call void @park(ptr %team, i64 %thread, ptr %phase.at, i32 %phase, i64 $slot.barrier$)
  ret void
}

define i32 @talweg_take(ptr %team) {
  %pair = cmpxchg ptr %team, i32 0, i32 1 acq_rel monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  %result = zext i1 %taken to i32
  ret i32 %result
}

define void @talweg_give(ptr %team) {
  store atomic i32 0, ptr %team release, align 4
  ret void
}

; have BLAS use one thread, as long as there are users: the first changes it, the last back
define private void @use_blas(ptr %team, i32 %change, i32 %alone) noinline {
entry:
  %lock.at = getelementptr i8, ptr %team, i64 $team.blas_lock$
  %users.at = getelementptr i8, ptr %team, i64 $team.blas_users$
  %before.at = getelementptr i8, ptr %team, i64 $team.blas_before$
  %set.at = getelementptr i8, ptr %team, i64 $team.blas_set$
  %get.at = getelementptr i8, ptr %team, i64 $team.blas_get$
  br label %take
take:
  %pair = cmpxchg ptr %lock.at, i32 0, i32 1 acquire monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %ours, label %wait
wait:
  $PAUSE
  br label %take
ours:
  %users = load i32, ptr %users.at, align 4
  %now = add i32 %users, %change
  store i32 %now, ptr %users.at, align 4
  %first = icmp eq i32 %users, %alone
  br i1 %first, label %change.it, label %give
change.it:
  %set = load ptr, ptr %set.at, align 8
  %enter = icmp eq i32 %alone, 0
  br i1 %enter, label %save, label %restore
save:
  %get = load ptr, ptr %get.at, align 8
  %count = call i32 %get()
  store i32 %count, ptr %before.at, align 4
  call void %set(i32 1)
  br label %give
restore:
  %before = load i32, ptr %before.at, align 4
  call void %set(i32 %before)
  br label %give
give:
  store atomic i32 0, ptr %lock.at release, align 4
  ret void
}

define void @talweg_launch(ptr %frame) {
  %team.at = getelementptr i8, ptr %frame, i64 $frame.team$
  %team = load ptr, ptr %team.at, align 8
  %blas.at = getelementptr i8, ptr %frame, i64 $frame.blas$
  %blas = load i64, ptr %blas.at, align 8
  %set.at = getelementptr i8, ptr %team, i64 $team.blas_set$
  %set = load ptr, ptr %set.at, align 8
  %calls = icmp ne i64 %blas, 0
  %can = icmp ne ptr %set, null
  %both = and i1 %calls, %can
  br i1 %both, label %with.blas, label %plain
with.blas:
  call void @use_blas(ptr %team, i32 1, i32 0)
  call void @launch(ptr %frame)
  call void @use_blas(ptr %team, i32 -1, i32 1)
  ret void
plain:
  call void @launch(ptr %frame)
  ret void
}

; let this worker run on any core but one
define private void @keep_off(ptr %team, i32 %core) noinline {
entry:
  %set = alloca [$CORE_BYTES x i8], align 8
  %allowed = getelementptr i8, ptr %team, i64 $team.allowed$
  call void @llvm.memcpy.p0.p0.i64(ptr %set, ptr %allowed, i64 $CORE_BYTES, i1 false)
  %known = icmp ult i32 %core, $CORES
  br i1 %known, label %remove, label %done
remove:
  %place.32 = lshr i32 %core, 3
  %place = zext i32 %place.32 to i64
  %at = getelementptr i8, ptr %set, i64 %place
  %bits = load i8, ptr %at, align 1
  %number.32 = and i32 %core, 7
  %number = trunc i32 %number.32 to i8
  %bit = shl i8 1, %number
  %others = xor i8 %bit, -1
  %left = and i8 %bits, %others
  store i8 %left, ptr %at, align 1
  %result = call i32 @sched_setaffinity(i32 0, i64 $CORE_BYTES, ptr %set)
  br label %done
done:
  ret void
}

define private void @launch(ptr %frame) {
  %team.at = getelementptr i8, ptr %frame, i64 $frame.team$
  %team = load ptr, ptr %team.at, align 8
  %run.at = getelementptr i8, ptr %frame, i64 $frame.run$
  %run = load ptr, ptr %run.at, align 8
  %buffers.at = getelementptr i8, ptr %frame, i64 $frame.buffers$
  %buffers = load ptr, ptr %buffers.at, align 8
  %threads.at = getelementptr i8, ptr %frame, i64 $frame.threads$
  %threads = load i64, ptr %threads.at, align 8
  %several = icmp ugt i64 %threads, 1
  br i1 %several, label %ask, label %alone
ask:
  %taken = call i32 @talweg_take(ptr %team)
  %ours = icmp ne i32 %taken, 0
  br i1 %ours, label %count, label %alone
count:
  %workers.at = getelementptr i8, ptr %team, i64 $team.workers$
  %workers = load i64, ptr %workers.at, align 8
  %enough = icmp uge i64 %workers, 1
  br i1 %enough, label %begin, label %back
back:
  call void @talweg_give(ptr %team)
  br label %alone
begin:
  %all = add i64 %workers, 1
  %fewer = icmp ult i64 %all, %threads
  %used = select i1 %fewer, i64 %all, i64 %threads
  %job.at = getelementptr i8, ptr %team, i64 $team.frame$
  store ptr %frame, ptr %job.at, align 8
  %core = call i32 @sched_getcpu()
  %core.at = getelementptr i8, ptr %team, i64 $team.core$
  store i32 %core, ptr %core.at, align 4
  %used.at = getelementptr i8, ptr %team, i64 $team.threads$
  store i64 %used, ptr %used.at, align 8
  %finished.at = getelementptr i8, ptr %team, i64 $team.finished$
  store atomic i32 0, ptr %finished.at monotonic, align 4
  %sequence.at = getelementptr i8, ptr %team, i64 $team.sequence$
  %last = load atomic i32, ptr %sequence.at monotonic, align 4
  %next = add i32 %last, 1
  store atomic i32 %next, ptr %sequence.at seq_cst, align 4
  call void @wake_others(ptr %team, i64 0, i64 %all)
  call void %run(ptr %buffers, i64 0, i64 %used, ptr %frame)
  %done.at = getelementptr i8, ptr %team, i64 $team.done$
  call void @park(ptr %team, i64 0, ptr %done.at, i32 %last, i64 $slot.barrier$)
  call void @talweg_give(ptr %team)
  ret void
alone:
  call void %run(ptr %buffers, i64 0, i64 1, ptr %frame)
  ret void
}

define void @talweg_worker(ptr %team, i64 %index, i32 %seen) {
entry:
  %sequence.at = getelementptr i8, ptr %team, i64 $team.sequence$
  %job.at = getelementptr i8, ptr %team, i64 $team.frame$
  %threads.at = getelementptr i8, ptr %team, i64 $team.threads$
  %workers.at = getelementptr i8, ptr %team, i64 $team.workers$
  %finished.at = getelementptr i8, ptr %team, i64 $team.finished$
  %done.at = getelementptr i8, ptr %team, i64 $team.done$
  %core.at = getelementptr i8, ptr %team, i64 $team.core$
  br label %next
next:
  %old = phi i32 [%seen, %entry], [%number, %leave], [%number, %close]
  %old.core = phi i32 [-1, %entry], [%core, %leave], [%core, %close]
  call void @park(ptr %team, i64 %index, ptr %sequence.at, i32 %old, i64 $slot.idle$)
  %number = load atomic i32, ptr %sequence.at acquire, align 4
  %frame = load ptr, ptr %job.at, align 8
  %end = icmp eq ptr %frame, null
  br i1 %end, label %stop, label %job
job:
  %core = load i32, ptr %core.at, align 4
  %moved = icmp ne i32 %core, %old.core
  br i1 %moved, label %move, label %ready
move:
  call void @keep_off(ptr %team, i32 %core)
  br label %ready
ready:
  %workers = load i64, ptr %workers.at, align 8
  %threads = load i64, ptr %threads.at, align 8
  %member = icmp ult i64 %index, %threads
  br i1 %member, label %work, label %leave.early
work:
  %run.at = getelementptr i8, ptr %frame, i64 $frame.run$
  %run = load ptr, ptr %run.at, align 8
  %buffers.at = getelementptr i8, ptr %frame, i64 $frame.buffers$
  %buffers = load ptr, ptr %buffers.at, align 8
  call void %run(ptr %buffers, i64 %index, i64 %threads, ptr %frame)
  br label %leave.early
leave.early:
  %before = atomicrmw add ptr %finished.at, i32 1 acq_rel
  %here = add i32 %before, 1
  %all = trunc i64 %workers to i32
  %last = icmp eq i32 %here, %all
  br i1 %last, label %close, label %leave
leave:
  br label %next
close:
  store atomic i32 %number, ptr %done.at seq_cst, align 4
  call void @wake(ptr %team, i64 0)
  br label %next
stop:
  ret void
}

define void @talweg_end(ptr %team) {
  %job.at = getelementptr i8, ptr %team, i64 $team.frame$
  store ptr null, ptr %job.at, align 8
  %sequence.at = getelementptr i8, ptr %team, i64 $team.sequence$
  %before = atomicrmw add ptr %sequence.at, i32 1 seq_cst
  %workers.at = getelementptr i8, ptr %team, i64 $team.workers$
  %workers = load i64, ptr %workers.at, align 8
  %all = add i64 %workers, 1
  call void @wake_others(ptr %team, i64 0, i64 %all)
  ret void
}

define void @talweg_spin(i32 %times) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  $PAUSE
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}

define i32 @talweg_failed(ptr %frame) {
  %failed = load atomic i32, ptr %frame acquire, align 4
  ret i32 %failed
}

define i32 @talweg_host(ptr %frame, i64 %number) {
  %state = call i32 @PyGILState_Ensure()
  %host.at = getelementptr i8, ptr %frame, i64 $frame.host$
  %host = load ptr, ptr %host.at, align 8
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %host, ptr @format, i64 %number)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %clear, label %judge
clear:
  call void @PyErr_Clear()
  br label %fail
judge:
  %truth = call i32 @PyObject_IsTrue(ptr %result)
  call void @Py_DecRef(ptr %result)
  %failed = icmp ne i32 %truth, 0
  br i1 %failed, label %fail, label %leave
fail:
  store atomic i32 1, ptr %frame release, align 4
  br label %leave
leave:
  %code = phi i32 [0, %judge], [1, %fail]
  call void @PyGILState_Release(i32 %state)
  ret i32 %code
}
"""
