"""The barriers of a thread pool, as LLVM IR (`thread_pool.py` has the names in `$...$`).

A thread that waits for a number in memory to change (`park`) looks at it for a while, then says
that it sleeps and takes its lock, which is held already; who changes the number lets go of the
locks of those who sleep (`wake`).  Order: the sleeper says so and looks again, the other one
changes the number and looks for sleepers; so one of them sees the other.  The locks are CPython's
own (`PyThread_*`): they need no GIL, and are the system's best on each system.

How often to look is learned by each thread, for each kind of waiting.  Sleeping costs tens of
microseconds, so looking for about as long is right if the other one is at work on another core; if
the cores are taken by other processes, what it waits for may be waiting for this very core, and
looking is in vain.  So the number is halved when it was in vain, doubled when it was not, and tried
afresh every now and then.
"""

from __future__ import annotations

FEWEST_SPINS = 50
TRY_AFRESH = 16

WAITING = """
define private ptr @slot(ptr %pool, i64 %thread) alwaysinline {
  %lines = mul i64 %thread, $LINE
  %offset = add i64 %lines, $pool.slots$
  %slot = getelementptr i8, ptr %pool, i64 %offset
  ret ptr %slot
}

; wait until the number at %place is no longer %old
define private void @park(ptr %pool, i64 %thread, ptr %place, i32 %old, i64 %kind) noinline {
entry:
  %slot = call ptr @slot(ptr %pool, i64 %thread)
  %learned = getelementptr i8, ptr %slot, i64 %kind
  br label %begin
begin:
  %limit = load i32, ptr %learned, align 4
  br label %spin
spin:
  %count = phi i32 [0, %begin], [%count.next, %again]
  %now = load atomic i32, ptr %place acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %success, label %again
again:
  $PAUSE
  %count.next = add i32 %count, 1
  %more = icmp ult i32 %count.next, %limit
  br i1 %more, label %spin, label %miss
success:
  %most.at = getelementptr i8, ptr %learned, i64 $spins.most$
  %most = load i32, ptr %most.at, align 4
  %double = shl i32 %limit, 1
  %longer = call i32 @llvm.umin.i32(i32 %double, i32 %most)
  store i32 %longer, ptr %learned, align 4
  ret void
miss:
  %misses.at = getelementptr i8, ptr %learned, i64 $spins.misses$
  %misses.before = load i32, ptr %misses.at, align 4
  %misses = add i32 %misses.before, 1
  store i32 %misses, ptr %misses.at, align 4
  %round = urem i32 %misses, $AFRESH
  %afresh = icmp eq i32 %round, 0
  %top.at = getelementptr i8, ptr %learned, i64 $spins.most$
  %top = load i32, ptr %top.at, align 4
  %half = lshr i32 %limit, 1
  %shorter = call i32 @llvm.umax.i32(i32 %half, i32 $FEWEST)
  %bounded = call i32 @llvm.umin.i32(i32 %shorter, i32 %top)
  %then = select i1 %afresh, i32 %top, i32 %bounded
  store i32 %then, ptr %learned, align 4
  %lock.at = getelementptr i8, ptr %slot, i64 $slot.lock$
  %lock = load ptr, ptr %lock.at, align 8
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %keep, label %announce
keep:
  call void @stay(ptr %pool)
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
  br i1 %finally, label %done, label %begin
done:
  ret void
}

; let a thread go on that sleeps; what it waits for has changed
define private void @wake(ptr %pool, i64 %thread) {
  %slot = call ptr @slot(ptr %pool, i64 %thread)
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

; whether a thread sleeps of those from 1 to %end - 1
define private i1 @any_asleep(ptr %pool, i64 %end) {
entry:
  br label %next
next:
  %i = phi i64 [1, %entry], [%i.next, %look]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %look, label %no
look:
  %i.next = add i64 %i, 1
  %slot = call ptr @slot(ptr %pool, i64 %i)
  %asleep = load atomic i32, ptr %slot monotonic, align 4
  %yes = icmp ne i32 %asleep, 0
  br i1 %yes, label %found, label %next
found:
  ret i1 true
no:
  ret i1 false
}

; have the workers look out for a job for as long as they ever do
define private void @rouse(ptr %pool, i64 %end) {
entry:
  br label %next
next:
  %i = phi i64 [1, %entry], [%i.next, %one]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %one, label %done
one:
  %i.next = add i64 %i, 1
  %slot = call ptr @slot(ptr %pool, i64 %i)
  %learned = getelementptr i8, ptr %slot, i64 $slot.idle$
  %most.at = getelementptr i8, ptr %learned, i64 $spins.most$
  %most = load i32, ptr %most.at, align 4
  store i32 %most, ptr %learned, align 4
  call void @wake(ptr %pool, i64 %i)
  br label %next
done:
  ret void
}

; wake all threads below %end but %thread
define private void @wake_others(ptr %pool, i64 %thread, i64 %end) {
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
  call void @wake(ptr %pool, i64 %i)
  br label %step
step:
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}

define i64 @talweg_next(ptr %context, i64 %loop) {
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %taken = getelementptr i8, ptr %pool, i64 $pool.taken$
  %at = getelementptr i64, ptr %taken, i64 %loop
  %number = atomicrmw add ptr %at, i64 1 monotonic
  ret i64 %number
}

; while no thread is within a loop
define private void @forget_taken(ptr %pool) alwaysinline {
  %taken = getelementptr i8, ptr %pool, i64 $pool.taken$
  call void @llvm.memset.p0.i64(ptr align 8 %taken, i8 0, i64 $LINE, i1 false)
  ret void
}

define void @talweg_barrier(ptr %context, i64 %thread, i64 %threads) {
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %phase.at = getelementptr i8, ptr %pool, i64 $pool.phase$
  %arrived.at = getelementptr i8, ptr %pool, i64 $pool.arrived$
  %phase = load atomic i32, ptr %phase.at acquire, align 4
  %failed = load atomic i32, ptr %context acquire, align 4
  %leave = icmp ne i32 %failed, 0
  br i1 %leave, label %left, label %arrive
left:                                             ; `abandon` lets nobody wait any more
  ret void
arrive:
  %before = atomicrmw add ptr %arrived.at, i32 1 acq_rel
  %here = add i32 %before, 1
  %all = trunc i64 %threads to i32
  %last = icmp eq i32 %here, %all
  br i1 %last, label %open, label %wait
open:
  call void @forget_taken(ptr %pool)
  store atomic i32 0, ptr %arrived.at monotonic, align 4
  %next = add i32 %phase, 1
  store atomic i32 %next, ptr %phase.at seq_cst, align 4
  call void @wake_others(ptr %pool, i64 %thread, i64 %threads)
  ret void
wait:
  call void @park(ptr %pool, i64 %thread, ptr %phase.at, i32 %phase, i64 $slot.barrier$)
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
"""
