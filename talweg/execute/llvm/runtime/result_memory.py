"""The allocator of large results: aligned to cache lines, and recycled when arrays die.

Memory that a process has not touched before is zeroed by the system page by page, which takes
longer than to write a result; and what vectors write past the caches has to lie at a multiple of
their size.  So results from LARGE bytes on are allocated by functions of our own, which NumPy calls
(NEP 49): the arrays own their memory like others.  When such an array is gone its memory is kept
for the next result of that size: at most KEPT_BYTES of it, in KEPT_BLOCKS blocks, of which the
oldest goes first, and none any more when a program with such results is collected (`forget`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.locking import once
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime.structures import (
    KEPT_BLOCKS,
    MemoryHandler,
    ResultPool,
    fill_offsets,
)

LARGE = 1 << 20  # bytes of a result from which on its memory is kept
KEPT_BYTES = 256 << 20
ALIGNMENT = 64 if os.name == "posix" else 16  # of large results
PAGE, HUGE_PAGE = 1 << 12, 1 << 21
ADVICE = 14 if sys.platform == "linux" else -1  # MADV_HUGEPAGE

SET_HANDLER = 304  # the place of PyDataMem_SetHandler in NumPy's table of functions
_EXPORTS = [f"talweg_results_{each}" for each in ("new", "zeros", "other", "drop", "forget")]
_NAME, _VERSION = b"talweg", 1


class _Results:
    """The allocator of results' memory, which lives until the process ends."""

    def __init__(self) -> None:
        self.code = code.compile_module(_text(), {}, _EXPORTS, quick=True)
        self.state = ResultPool(limit=KEPT_BYTES)
        context = ctypes.addressof(self.state)
        functions = [self.code.addresses[name] for name in _EXPORTS[:4]]
        self.handler = MemoryHandler(_NAME, _VERSION, context, tuple(functions))
        self.label = ctypes.create_string_buffer(b"mem_handler")
        kind = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)
        make = kind(("PyCapsule_New", ctypes.pythonapi))
        self.capsule = make(ctypes.addressof(self.handler), ctypes.addressof(self.label), None)
        forget = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.code.addresses[_EXPORTS[4]])
        self.forget = functools.partial(forget, context)
        for each in (self, self.code, self.state, self.handler, self.label, self.capsule):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))  # arrays may outlive this module


@once
def _results() -> _Results:
    return _Results()


def capsule() -> Any:
    """Return the capsule by which NumPy allocates here; None where unsupported."""
    return _results().capsule if ALIGNMENT > 16 else None


def forget() -> None:
    """Free the recycled memory."""
    if _results.made:
        _results().forget()


def statistics() -> dict[str, int]:
    """Return the bytes and blocks that are `kept`; the blocks `made` and `reused` so far."""
    state = _results().state
    names = {"kept": "kept", "count": "blocks", "made": "made", "reused": "reused"}
    return {said: getattr(state, name) for name, said in names.items()}


def empty(shape: tuple, dtype: np.dtype | type, set_handler: Any) -> NDArray:
    """Make an array in this allocator; `set_handler` is NumPy's function."""
    before = set_handler(capsule())
    try:
        return np.empty(shape, dtype)
    finally:
        set_handler(before)


def _text() -> str:
    text = fill_offsets(_TEXT)
    numbers = {
        "LARGE": LARGE,
        "HEAD": ALIGNMENT,
        "BLOCKS": KEPT_BLOCKS,
        "PAGE": PAGE,
        "HUGE": HUGE_PAGE,
        "ADVICE": ADVICE,
    }
    for name, number in numbers.items():
        text = text.replace(f"${name}", str(number))
    return text


# Before the bytes of an array is a head: `structures.BlockHead`.
_TEXT = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @posix_memalign(ptr, i64, i64)
declare i32 @madvise(ptr, i64, i32)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare ptr @memmove(ptr, ptr, i64)

define private i64 @get(ptr %state, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %state, i64 %offset
  %found = load i64, ptr %at, align 8
  ret i64 %found
}

define private void @add(ptr %state, i64 %offset, i64 %more) alwaysinline {
  %at = getelementptr i8, ptr %state, i64 %offset
  %found = load i64, ptr %at, align 8
  %sum = add i64 %found, %more
  store i64 %sum, ptr %at, align 8
  ret void
}

; whether nobody else is in here: only then the blocks that are kept may be looked at
define private i1 @enter(ptr %state) alwaysinline {
  %before = atomicrmw xchg ptr %state, i64 1 acquire
  %free = icmp eq i64 %before, 0
  ret i1 %free
}

define private void @leave(ptr %state) alwaysinline {
  store atomic i64 0, ptr %state release, align 8
  ret void
}

define private ptr @slot(ptr %state, i64 %number) alwaysinline {
  %blocks = getelementptr i8, ptr %state, i64 $results.blocks$
  %at = getelementptr ptr, ptr %blocks, i64 %number
  ret ptr %at
}

; take a block that is kept from its place
define private ptr @take(ptr %state, i64 %number) {
  %at = call ptr @slot(ptr %state, i64 %number)
  %block = load ptr, ptr %at, align 8
  %bytes = load i64, ptr %block, align 8
  %fewer = sub i64 0, %bytes
  call void @add(ptr %state, i64 $results.kept$, i64 %fewer)
  call void @add(ptr %state, i64 $results.count$, i64 -1)
  %count = call i64 @get(ptr %state, i64 $results.count$)
  %behind = sub i64 %count, %number
  %moved = mul i64 %behind, 8
  %next = getelementptr i8, ptr %at, i64 8
  %ignored = call ptr @memmove(ptr %at, ptr %next, i64 %moved)
  ret ptr %block
}

; a kept block of so many bytes, or a few more: the last one that was let go; null if there is none
define private ptr @again(ptr %state, i64 %bytes) {
entry:
  %alone = call i1 @enter(ptr %state)
  br i1 %alone, label %look, label %none
look:
  %count = call i64 @get(ptr %state, i64 $results.count$)
  %eighth = lshr i64 %bytes, 3
  %most = add i64 %bytes, %eighth
  br label %next
next:
  %left = phi i64 [%count, %look], [%number, %try]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %try, label %nothing
try:
  %number = sub i64 %left, 1
  %at = call ptr @slot(ptr %state, i64 %number)
  %block = load ptr, ptr %at, align 8
  %has = load i64, ptr %block, align 8
  %enough = icmp uge i64 %has, %bytes
  %few = icmp ule i64 %has, %most
  %fits = and i1 %enough, %few
  br i1 %fits, label %found, label %next
found:
  %taken = call ptr @take(ptr %state, i64 %number)
  call void @add(ptr %state, i64 $results.reused$, i64 1)
  call void @leave(ptr %state)
  ret ptr %taken
nothing:
  call void @leave(ptr %state)
  br label %none
none:
  ret ptr null
}

; a block of memory that the system gives; null if it has none
define private ptr @fresh(ptr %state, i64 %bytes) {
entry:
  %place = alloca ptr, align 8
  store ptr null, ptr %place, align 8
  %failed = call i32 @posix_memalign(ptr %place, i64 $HUGE, i64 %bytes)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %made, label %none
made:
  %block = load ptr, ptr %place, align 8
  %advised = icmp sge i32 $ADVICE, 0
  br i1 %advised, label %advise, label %done
advise:
  %ignored = call i32 @madvise(ptr %block, i64 %bytes, i32 $ADVICE)
  br label %done
done:
  store i64 %bytes, ptr %block, align 8
  call void @add(ptr %state, i64 $results.made$, i64 1)
  ret ptr %block
none:
  ret ptr null
}

define ptr @talweg_results_new(ptr %state, i64 %size) {
entry:
  %is.large = icmp uge i64 %size, $LARGE
  br i1 %is.large, label %large, label %small
small:
  %small.bytes = add i64 %size, $HEAD
  %plain = call ptr @malloc(i64 %small.bytes)
  %no.plain = icmp eq ptr %plain, null
  br i1 %no.plain, label %fail, label %mark
mark:
  store i64 0, ptr %plain, align 8
  br label %done
large:
  %over = icmp ugt i64 %size, 140737488355328
  br i1 %over, label %fail, label %round
round:
  %with.head = add i64 %size, $HEAD
  %up = add i64 %with.head, $PAGE
  %less = sub i64 %up, 1
  %pages = udiv i64 %less, $PAGE
  %bytes = mul i64 %pages, $PAGE
  %kept = call ptr @again(ptr %state, i64 %bytes)
  %no.kept = icmp eq ptr %kept, null
  br i1 %no.kept, label %make, label %done
make:
  %first = call ptr @fresh(ptr %state, i64 %bytes)
  %no.first = icmp eq ptr %first, null
  br i1 %no.first, label %retry, label %done
retry:
  call void @talweg_results_forget(ptr %state)
  %second = call ptr @fresh(ptr %state, i64 %bytes)
  %no.second = icmp eq ptr %second, null
  br i1 %no.second, label %fail, label %done
done:
  %block = phi ptr [%plain, %mark], [%kept, %round], [%first, %make], [%second, %retry]
  %size.at = getelementptr i8, ptr %block, i64 $head.asked$
  store i64 %size, ptr %size.at, align 8
  %found = getelementptr i8, ptr %block, i64 $HEAD
  ret ptr %found
fail:
  ret ptr null
}

define ptr @talweg_results_zeros(ptr %state, i64 %count, i64 %each) {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue { i64, i1 } %product, 0
  %over = extractvalue { i64, i1 } %product, 1
  br i1 %over, label %fail, label %make
make:
  %found = call ptr @talweg_results_new(ptr %state, i64 %size)
  %none = icmp eq ptr %found, null
  br i1 %none, label %fail, label %clear
clear:
  %ignored = call ptr @memset(ptr %found, i32 0, i64 %size)
  ret ptr %found
fail:
  ret ptr null
}

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define ptr @talweg_results_other(ptr %state, ptr %old, i64 %size) {
entry:
  %none = icmp eq ptr %old, null
  br i1 %none, label %begin, label %move
begin:
  %begun = call ptr @talweg_results_new(ptr %state, i64 %size)
  ret ptr %begun
move:
  %made = call ptr @talweg_results_new(ptr %state, i64 %size)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %copy
copy:
  %size.at = getelementptr i8, ptr %old, i64 -$HEAD
  %had = call i64 @get(ptr %size.at, i64 $head.asked$)
  %shrinks = icmp ult i64 %size, %had
  %common = select i1 %shrinks, i64 %size, i64 %had
  %ignored = call ptr @memcpy(ptr %made, ptr %old, i64 %common)
  call void @talweg_results_drop(ptr %state, ptr %old, i64 %had)
  ret ptr %made
fail:
  ret ptr null
}

define void @talweg_results_drop(ptr %state, ptr %array, i64 %size) {
entry:
  %none = icmp eq ptr %array, null
  br i1 %none, label %done, label %look
look:
  %block = getelementptr i8, ptr %array, i64 -$HEAD
  %bytes = load i64, ptr %block, align 8
  %limit = call i64 @get(ptr %state, i64 $results.limit$)
  %is.small = icmp eq i64 %bytes, 0
  %is.huge = icmp ugt i64 %bytes, %limit
  %useless = or i1 %is.small, %is.huge
  br i1 %useless, label %free, label %try
try:
  %alone = call i1 @enter(ptr %state)
  br i1 %alone, label %room, label %free
room:
  %kept = call i64 @get(ptr %state, i64 $results.kept$)
  %count = call i64 @get(ptr %state, i64 $results.count$)
  %sum = add i64 %kept, %bytes
  %too.much = icmp ugt i64 %sum, %limit
  %too.many = icmp uge i64 %count, $BLOCKS
  %full = or i1 %too.much, %too.many
  br i1 %full, label %evict, label %keep
evict:
  %oldest = call ptr @take(ptr %state, i64 0)
  call void @free(ptr %oldest)
  br label %room
keep:
  %at = call ptr @slot(ptr %state, i64 %count)
  store ptr %block, ptr %at, align 8
  call void @add(ptr %state, i64 $results.count$, i64 1)
  call void @add(ptr %state, i64 $results.kept$, i64 %bytes)
  call void @leave(ptr %state)
  ret void
free:
  call void @free(ptr %block)
  ret void
done:
  ret void
}

define void @talweg_results_forget(ptr %state) {
entry:
  %alone = call i1 @enter(ptr %state)
  br i1 %alone, label %next, label %done
next:
  %count = call i64 @get(ptr %state, i64 $results.count$)
  %more = icmp ne i64 %count, 0
  br i1 %more, label %one, label %leave
one:
  %block = call ptr @take(ptr %state, i64 0)
  call void @free(ptr %block)
  br label %next
leave:
  call void @leave(ptr %state)
  br label %done
done:
  ret void
}
"""
