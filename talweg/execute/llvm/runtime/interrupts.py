"""Signal handling of compiled programs, as LLVM IR (`thread_pool_ir.py` names the `$...$`).

Python's handlers run in the main thread, between instructions of Python: a program that takes long
would keep them waiting.  So its code counts what it has done (`codegen/interrupts.py`), and every
now and then thread 0 looks at the clock, and every `EVERY` milliseconds asks Python, if it is the
main thread.  What a handler raises (KeyboardInterrupt) is kept as what a host call raised is, and
all threads leave.  A program that is shorter never asks.
"""

from __future__ import annotations

EVERY = 100  # milliseconds
LONG = 1_000_000_000  # operations and bytes that take 50 of them, or many more

POSIX = """
declare i32 @clock_gettime(i32, ptr)

define private i64 @milliseconds() {
  %time = alloca [2 x i64], align 8
  %result = call i32 @clock_gettime(i32 $MONOTONIC, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at, align 8
  %whole = mul i64 %seconds, 1000
  %part = udiv i64 %rest, 1000000
  %sum = add i64 %whole, %part
  ret i64 %sum
}
"""
WINDOWS = """
declare i64 @GetTickCount64()

define private i64 @milliseconds() {
  %now = call i64 @GetTickCount64()
  ret i64 %now
}
"""

POLL = """
@object = private unnamed_addr constant [2 x i8] c"O\\00"

; by thread 0, when its program has done a good deal since it was last here: so much
define void @talweg_poll(ptr %context, i64 %effort) noinline {
entry:
  %due.at = getelementptr i8, ptr %context, i64 $context.due$
  %due = load i64, ptr %due.at, align 8
  %now = call i64 @milliseconds()
  %next = add i64 %now, $EVERY
  %known = icmp ne i64 %due, 0
  %passed = icmp uge i64 %now, %due
  %long = icmp ugt i64 %effort, $LONG
  br i1 %known, label %look, label %guess
guess:
  br i1 %long, label %late, label %later
look:
  br i1 %passed, label %late, label %done
later:
  store i64 %next, ptr %due.at, align 8
  br label %done
late:
  store i64 %next, ptr %due.at, align 8
  %pool.at = getelementptr i8, ptr %context, i64 $context.pool$
  %pool = load ptr, ptr %pool.at, align 8
  %main.at = getelementptr i8, ptr %pool, i64 $pool.main$
  %main = load i64, ptr %main.at, align 8
  %own = call i64 @PyThread_get_thread_ident()
  %is.main = icmp eq i64 %own, %main
  br i1 %is.main, label %ask, label %done
ask:
  %state = call i32 @PyGILState_Ensure()
  %result = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %result, 0
  br i1 %raised, label %keep, label %leave
keep:
  call void @keep_error(ptr %context)
  call void @PyGILState_Release(i32 %state)
  call void @abandon(ptr %context)
  ret void
leave:
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  ret void
}

; give what was raised to the context's host calls
define private void @keep_error(ptr %context) noinline {
  %error = alloca [3 x ptr], align 8
  %value.at = getelementptr ptr, ptr %error, i64 1
  %trace.at = getelementptr ptr, ptr %error, i64 2
  call void @PyErr_Fetch(ptr %error, ptr %value.at, ptr %trace.at)
  call void @PyErr_NormalizeException(ptr %error, ptr %value.at, ptr %trace.at)
  %type = load ptr, ptr %error, align 8
  %value = load ptr, ptr %value.at, align 8
  %trace = load ptr, ptr %trace.at, align 8
  %traced = icmp ne ptr %trace, null
  br i1 %traced, label %set, label %give
set:
  %set.result = call i32 @PyException_SetTraceback(ptr %value, ptr %trace)
  br label %give
give:
  %host.at = getelementptr i8, ptr %context, i64 $context.host$
  %host = load ptr, ptr %host.at, align 8
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %host, ptr @object, ptr %value)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %clear, label %drop
clear:
  call void @PyErr_Clear()
  br label %drop
drop:
  call void @Py_DecRef(ptr %result)
  call void @Py_DecRef(ptr %type)
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %trace)
  ret void
}
"""
