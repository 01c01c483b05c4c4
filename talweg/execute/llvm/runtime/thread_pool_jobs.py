"""Jobs of a thread pool and calls back to Python, as LLVM IR (`thread_pool_ir.py` fills `$...$`).

A job is one run of a program by all threads.  It is over when every worker has said so, whether it
took part or not: then nobody is in the program's code any more, and the next job may begin.

A program that is done before a sleeping worker could be awake is not shared with one: its caller
runs it alone.  But every now and then the workers are roused, more and more rarely if that is in
vain: where such programs follow each other quickly, the next one finds them awake.

Linux likes to wake a thread on the core of the one that wakes it, which is just the one that is at
work; and there it may stay.  So workers keep off the core that the job was begun on, and the thread
that began the job keeps to that core from the first time that it sleeps until the job is over or
Python is called: in a virtual machine, where a core that sleeps looks as if it were taken away, two
threads were on one core in most steps without that.  In a crowd all threads may run on the same
cores (`sharing.py`): one that waits sleeps, and Linux runs the one that it waits for in its place.
"""

from __future__ import annotations

RARELY = 32  # how many short programs run alone, at most, before workers are roused again

LINUX = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
"""
OTHERS = """
define private i32 @sched_getcpu() {
  ret i32 -1
}
define private i32 @sched_getaffinity(i32 %thread, i64 %bytes, ptr %set) {
  ret i32 -1
}
define private i32 @sched_setaffinity(i32 %thread, i64 %bytes, ptr %set) {
  ret i32 -1
}
"""

JOBS = """
define i32 @talweg_take(ptr %pool) {
  %pair = cmpxchg ptr %pool, i32 0, i32 1 acq_rel monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  %result = zext i1 %taken to i32
  ret i32 %result
}

define void @talweg_give(ptr %pool) {
  store atomic i32 0, ptr %pool release, align 4
  ret void
}

; have BLAS use one thread, as long as there are users: the first changes it, the last back
define private void @use_blas(ptr %pool, i32 %change, i32 %alone) noinline {
entry:
  %lock.at = getelementptr i8, ptr %pool, i64 $pool.blas_lock$
  %users.at = getelementptr i8, ptr %pool, i64 $pool.blas_users$
  %before.at = getelementptr i8, ptr %pool, i64 $pool.blas_before$
  %set.at = getelementptr i8, ptr %pool, i64 $pool.blas_set$
  %get.at = getelementptr i8, ptr %pool, i64 $pool.blas_get$
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

define void @talweg_launch(ptr %context) {
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %blas.at = getelementptr i8, ptr %context, i64 $context.blas$
  %blas = load i64, ptr %blas.at, align 8
  %set.at = getelementptr i8, ptr %pool, i64 $pool.blas_set$
  %set = load ptr, ptr %set.at, align 8
  %calls = icmp ne i64 %blas, 0
  %can = icmp ne ptr %set, null
  %both = and i1 %calls, %can
  br i1 %both, label %with.blas, label %plain
with.blas:
  call void @use_blas(ptr %pool, i32 1, i32 0)
  call void @launch(ptr %context)
  call void @use_blas(ptr %pool, i32 -1, i32 1)
  ret void
plain:
  call void @launch(ptr %context)
  ret void
}

; let this worker run on any core that is allowed but one; on all if that is no core
define private void @keep_off(ptr %pool, i32 %core) noinline {
entry:
  %set = alloca [$CORE_BYTES x i8], align 8
  %allowed = getelementptr i8, ptr %pool, i64 $pool.allowed$
  call void @llvm.memcpy.p0.p0.i64(ptr %set, ptr %allowed, i64 $CORE_BYTES, i1 false)
  %known = icmp ult i32 %core, $CORES
  br i1 %known, label %remove, label %set.it
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
  br label %set.it
set.it:
  %result = call i32 @sched_setaffinity(i32 0, i64 $CORE_BYTES, ptr %set)
  ret void
}

; have the thread that began the job keep to the core where that was
define private void @stay(ptr %pool) noinline {
entry:
  %set = alloca [$CORE_BYTES x i8], align 8
  %stays.at = getelementptr i8, ptr %pool, i64 $pool.stays$
  %own = getelementptr i8, ptr %pool, i64 $pool.own$
  %stays = load i32, ptr %stays.at, align 4
  %already = icmp ne i32 %stays, 0
  br i1 %already, label %done, label %ask
ask:
  %core.at = getelementptr i8, ptr %pool, i64 $pool.core$
  %core = load i32, ptr %core.at, align 4
  %known = icmp ult i32 %core, $CORES
  br i1 %known, label %save, label %done
save:
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 $CORE_BYTES, i1 false)
  %got = call i32 @sched_getaffinity(i32 0, i64 $CORE_BYTES, ptr %own)
  %saved = icmp sge i32 %got, 0
  br i1 %saved, label %narrow, label %done
narrow:
  call void @llvm.memset.p0.i64(ptr %set, i8 0, i64 $CORE_BYTES, i1 false)
  %place.32 = lshr i32 %core, 3
  %place = zext i32 %place.32 to i64
  %at = getelementptr i8, ptr %set, i64 %place
  %number.32 = and i32 %core, 7
  %number = trunc i32 %number.32 to i8
  %bit = shl i8 1, %number
  store i8 %bit, ptr %at, align 1
  %result = call i32 @sched_setaffinity(i32 0, i64 $CORE_BYTES, ptr %set)
  store i32 1, ptr %stays.at, align 4
  br label %done
done:
  ret void
}

; have the thread that began the job keep to the cores of the workers
define private void @gather(ptr %pool) noinline {
entry:
  %own = getelementptr i8, ptr %pool, i64 $pool.own$
  %allowed = getelementptr i8, ptr %pool, i64 $pool.allowed$
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 $CORE_BYTES, i1 false)
  %got = call i32 @sched_getaffinity(i32 0, i64 $CORE_BYTES, ptr %own)
  %saved = icmp sge i32 %got, 0
  br i1 %saved, label %narrow, label %done
narrow:
  %result = call i32 @sched_setaffinity(i32 0, i64 $CORE_BYTES, ptr %allowed)
  %stays.at = getelementptr i8, ptr %pool, i64 $pool.stays$
  store i32 1, ptr %stays.at, align 4
  br label %done
done:
  ret void
}

; let it run where it could before
define private void @roam(ptr %pool) {
  %stays.at = getelementptr i8, ptr %pool, i64 $pool.stays$
  %stays = load i32, ptr %stays.at, align 4
  %does = icmp ne i32 %stays, 0
  br i1 %does, label %restore, label %done
restore:
  %own = getelementptr i8, ptr %pool, i64 $pool.own$
  %result = call i32 @sched_setaffinity(i32 0, i64 $CORE_BYTES, ptr %own)
  store i32 0, ptr %stays.at, align 4
  br label %done
done:
  ret void
}

define private void @launch(ptr %context) {
  %shared.at = getelementptr i8, ptr %context, i64 $context.shared$
  store i64 0, ptr %shared.at, align 8
  %work.at = getelementptr i8, ptr %context, i64 $context.work$
  store i64 0, ptr %work.at, align 8
  %due.at = getelementptr i8, ptr %context, i64 $context.due$
  store i64 0, ptr %due.at, align 8
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %run.at = getelementptr i8, ptr %context, i64 $context.run$
  %run = load ptr, ptr %run.at, align 8
  %buffers.at = getelementptr i8, ptr %context, i64 $context.buffers$
  %buffers = load ptr, ptr %buffers.at, align 8
  %threads.at = getelementptr i8, ptr %context, i64 $context.threads$
  %threads = load i64, ptr %threads.at, align 8
  %several = icmp ugt i64 %threads, 1
  br i1 %several, label %ask, label %alone
ask:
  %taken = call i32 @talweg_take(ptr %pool)
  %ours = icmp ne i32 %taken, 0
  br i1 %ours, label %count, label %alone
count:
  %workers.at = getelementptr i8, ptr %pool, i64 $pool.workers$
  %workers = load i64, ptr %workers.at, align 8
  %all = add i64 %workers, 1
  %enough = icmp uge i64 %workers, 1
  br i1 %enough, label %look, label %back
look:
  %late.at = getelementptr i8, ptr %pool, i64 $pool.late$
  %patient.at = getelementptr i8, ptr %pool, i64 $pool.patient$
  %waits.at = getelementptr i8, ptr %context, i64 $context.waits$
  %waits = load i64, ptr %waits.at, align 8
  %is.long = icmp ne i64 %waits, 0
  br i1 %is.long, label %begin, label %short
short:
  %asleep = call i1 @any_asleep(ptr %pool, i64 %all)
  br i1 %asleep, label %late, label %ready
late:                                             ; it is done before they are awake
  %late.before = load i32, ptr %late.at, align 4
  %late.now = add i32 %late.before, 1
  %patient = load i32, ptr %patient.at, align 4
  %often = icmp uge i32 %late.now, %patient
  %late.then = select i1 %often, i32 0, i32 %late.now
  store i32 %late.then, ptr %late.at, align 4
  br i1 %often, label %call, label %back
call:
  %double = shl i32 %patient, 1
  %least = call i32 @llvm.umax.i32(i32 %double, i32 2)
  %bounded = call i32 @llvm.umin.i32(i32 %least, i32 $RARELY)
  store i32 %bounded, ptr %patient.at, align 4
  call void @rouse(ptr %pool, i64 %all)
  br label %back
back:
  call void @talweg_give(ptr %pool)
  br label %alone
ready:
  store i32 0, ptr %late.at, align 4
  store i32 2, ptr %patient.at, align 4
  br label %begin
begin:
  %fewer = icmp ult i64 %all, %threads
  %used = select i1 %fewer, i64 %all, i64 %threads
  %job.at = getelementptr i8, ptr %pool, i64 $pool.job$
  store ptr %context, ptr %job.at, align 8
  %crowded.at = getelementptr i8, ptr %pool, i64 $pool.crowded$
  %crowded = load i32, ptr %crowded.at, align 4
  %anywhere = icmp ne i32 %crowded, 0
  %here = call i32 @sched_getcpu()
  %no.core = sub i32 0, %crowded
  %core = select i1 %anywhere, i32 %no.core, i32 %here
  %core.at = getelementptr i8, ptr %pool, i64 $pool.core$
  store i32 %core, ptr %core.at, align 4
  %gathers.at = getelementptr i8, ptr %pool, i64 $pool.gathers$
  %gathers = load i32, ptr %gathers.at, align 4
  %together = icmp ne i32 %gathers, 0
  br i1 %together, label %gather, label %go
gather:
  call void @gather(ptr %pool)
  br label %go
go:
  %used.at = getelementptr i8, ptr %pool, i64 $pool.threads$
  store i64 %used, ptr %used.at, align 8
  call void @forget_taken(ptr %pool)
  store i64 1, ptr %shared.at, align 8
  %arrived.at = getelementptr i8, ptr %pool, i64 $pool.arrived$
  store atomic i32 0, ptr %arrived.at monotonic, align 4
  %finished.at = getelementptr i8, ptr %pool, i64 $pool.finished$
  store atomic i32 0, ptr %finished.at monotonic, align 4
  %sequence.at = getelementptr i8, ptr %pool, i64 $pool.sequence$
  %last = load atomic i32, ptr %sequence.at monotonic, align 4
  %next = add i32 %last, 1
  store atomic i32 %next, ptr %sequence.at seq_cst, align 4
  call void @wake_others(ptr %pool, i64 0, i64 %all)
  call void %run(ptr %buffers, i64 0, i64 %used, ptr %context)
  %done.at = getelementptr i8, ptr %pool, i64 $pool.done$
  call void @park(ptr %pool, i64 0, ptr %done.at, i32 %last, i64 $slot.barrier$)
  call void @roam(ptr %pool)
  call void @talweg_give(ptr %pool)
  ret void
alone:
  call void %run(ptr %buffers, i64 0, i64 1, ptr %context)
  ret void
}

define void @talweg_worker(ptr %pool, i64 %index, i32 %seen) {
entry:
  %sequence.at = getelementptr i8, ptr %pool, i64 $pool.sequence$
  %job.at = getelementptr i8, ptr %pool, i64 $pool.job$
  %threads.at = getelementptr i8, ptr %pool, i64 $pool.threads$
  %workers.at = getelementptr i8, ptr %pool, i64 $pool.workers$
  %finished.at = getelementptr i8, ptr %pool, i64 $pool.finished$
  %done.at = getelementptr i8, ptr %pool, i64 $pool.done$
  %core.at = getelementptr i8, ptr %pool, i64 $pool.core$
  br label %next
next:
  %old = phi i32 [%seen, %entry], [%number, %leave], [%number, %close]
  %old.core = phi i32 [-1, %entry], [%core, %leave], [%core, %close]
  call void @park(ptr %pool, i64 %index, ptr %sequence.at, i32 %old, i64 $slot.idle$)
  %number = load atomic i32, ptr %sequence.at acquire, align 4
  %context = load ptr, ptr %job.at, align 8
  %end = icmp eq ptr %context, null
  br i1 %end, label %stop, label %job
job:
  %core = load i32, ptr %core.at, align 4
  %moved = icmp ne i32 %core, %old.core
  br i1 %moved, label %move, label %ready
move:
  call void @keep_off(ptr %pool, i32 %core)
  br label %ready
ready:
  %workers = load i64, ptr %workers.at, align 8
  %threads = load i64, ptr %threads.at, align 8
  %member = icmp ult i64 %index, %threads
  br i1 %member, label %work, label %leave.early
work:
  %run.at = getelementptr i8, ptr %context, i64 $context.run$
  %run = load ptr, ptr %run.at, align 8
  %buffers.at = getelementptr i8, ptr %context, i64 $context.buffers$
  %buffers = load ptr, ptr %buffers.at, align 8
  call void %run(ptr %buffers, i64 %index, i64 %threads, ptr %context)
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
  call void @wake(ptr %pool, i64 0)
  br label %next
stop:
  ret void
}

define void @talweg_end(ptr %pool) {
  %job.at = getelementptr i8, ptr %pool, i64 $pool.job$
  store ptr null, ptr %job.at, align 8
  %sequence.at = getelementptr i8, ptr %pool, i64 $pool.sequence$
  %before = atomicrmw add ptr %sequence.at, i32 1 seq_cst
  %workers.at = getelementptr i8, ptr %pool, i64 $pool.workers$
  %workers = load i64, ptr %workers.at, align 8
  %all = add i64 %workers, 1
  call void @wake_others(ptr %pool, i64 0, i64 %all)
  ret void
}
"""

HOST = """
@format = private unnamed_addr constant [2 x i8] c"n\\00"

; have all threads leave the program: nobody waits at a barrier any more
define private void @abandon(ptr %context) {
  store atomic i32 1, ptr %context release, align 4
  %shared.at = getelementptr i8, ptr %context, i64 $context.shared$
  %shared = load i64, ptr %shared.at, align 8
  %many = icmp ne i64 %shared, 0
  br i1 %many, label %release, label %done
release:                                          ; thread 0 has not arrived, so no phase ends now
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %phase.at = getelementptr i8, ptr %pool, i64 $pool.phase$
  %before = atomicrmw add ptr %phase.at, i32 1 seq_cst
  %threads.at = getelementptr i8, ptr %pool, i64 $pool.threads$
  %threads = load i64, ptr %threads.at, align 8
  call void @wake_others(ptr %pool, i64 0, i64 %threads)
  br label %done
done:
  ret void
}

define i32 @talweg_host(ptr %context, i64 %number) {
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %shared.at = getelementptr i8, ptr %context, i64 $context.shared$
  %many = load i64, ptr %shared.at, align 8
  %shared = icmp ne i64 %many, 0
  br i1 %shared, label %free, label %enter
free:                                             ; threads that are begun here may run anywhere
  call void @roam(ptr %pool)
  br label %enter
enter:
  %state = call i32 @PyGILState_Ensure()
  %host.at = getelementptr i8, ptr %context, i64 $context.host$
  %host = load ptr, ptr %host.at, align 8
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %host, ptr @format, i64 %number)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %clear, label %judge
clear:                                            ; a signal's handler, before the call began
  call void @keep_error(ptr %context)
  br label %fail
judge:
  %truth = call i32 @PyObject_IsTrue(ptr %result)
  call void @Py_DecRef(ptr %result)
  %failed = icmp ne i32 %truth, 0
  br i1 %failed, label %fail, label %leave
fail:
  call void @abandon(ptr %context)
  br label %leave
leave:
  %code = phi i32 [0, %judge], [1, %fail]
  call void @PyGILState_Release(i32 %state)
  ret i32 %code
}
"""
