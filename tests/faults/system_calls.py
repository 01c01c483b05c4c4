"""Writers that end, or find the disk full, at the n-th system call that changes a folder.

A forked writer is traced (`ptrace`): its parent sees each system call before it happens, kills it
there, or has the kernel refuse the call.  So a file is also left after each part of it that was
written.  Linux on x86-64 alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import sys
from collections.abc import Callable

WORKS = sys.platform == "linux" and platform.machine() == "x86_64"
_TRACEME, _SET_OPTIONS, _GO_ON, _INFO, _SET_REGISTER = 0, 0x4200, 24, 0x420E, 6
_OPTIONS = 1 | 8 | 0x100000  # marked stops, threads too, nobody is left
_ALL = 0x40000000  # threads are waited for, too
_NUMBER, _RESULT = 15 * 8, 10 * 8  # of orig_rax and rax
WRITES = {1: "write", 18: "pwrite64", 20: "writev", 296: "pwritev", 77: "ftruncate"}
CHANGES = {
    **{82: "rename", 264: "renameat", 316: "renameat2", 87: "unlink", 263: "unlinkat"},
    **{86: "link", 265: "linkat", 83: "mkdir", 258: "mkdirat", 84: "rmdir"},
    **{74: "fsync", 75: "fdatasync", 76: "truncate"},
}
_OPENAT, _CREATES = 257, os.O_CREAT


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    library.ptrace.restype = ctypes.c_long
    return library


class Traced:
    """A forked writer: `run` gives the exit status, below zero the signal that ended it."""

    def __init__(self, write: Callable[[], None], folder: object):
        self.write, self.folder = write, os.path.realpath(str(folder))
        self.library = _library()
        self.calls: list[str] = []  # that changed the folder, in turn

    def run(self, step: int | None, fails: bool = False) -> int:
        """Kill it before its call `step`, or have each write from there on find the disk full."""
        child = os.fork()
        if not child:
            self._begin()
        os.waitpid(child, 0)
        self._ask(_SET_OPTIONS, child, 0, _OPTIONS)
        self._ask(_GO_ON, child)
        inside: dict[int, bool] = {}  # threads in a call, and whether it was refused
        while True:
            thread, status = os.waitpid(-1, _ALL)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if thread == child:
                    return os.waitstatus_to_exitcode(status)
                continue
            if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
                event = os.WSTOPSIG(status) in (signal.SIGTRAP, signal.SIGSTOP)
                self._ask(_GO_ON, thread, 0, 0 if event else os.WSTOPSIG(status))
                continue
            if thread in inside:
                if inside.pop(thread):
                    self._ask(_SET_REGISTER, thread, _RESULT, -errno.ENOSPC)
            else:
                name = self._change(child, thread)
                reached = name and step is not None and len(self.calls) >= step
                self.calls += [name] if name else []
                if reached and not fails:
                    os.kill(child, signal.SIGKILL)
                    continue
                inside[thread] = bool(reached and name in WRITES.values())
                if inside[thread]:
                    self._ask(_SET_REGISTER, thread, _NUMBER, -1)
            self._ask(_GO_ON, thread)

    def _begin(self) -> None:
        status = 1
        try:
            self.library.ptrace(_TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            self.write()
            status = 0
        except BaseException as error:
            status = 2 if type(error).__name__ == "ResourceExhaustedError" else 1
        finally:
            os._exit(status)

    def _ask(self, request: int, thread: int, place: int = 0, value: int = 0) -> None:
        self.library.ptrace(request, thread, place or None, value or None)

    def _change(self, child: int, thread: int) -> str:
        """The name of the call that a thread is about to make, if that changes the folder."""
        info = (ctypes.c_uint64 * 12)()
        place = ctypes.cast(info, ctypes.c_void_p).value or 0
        self._ask(_INFO, thread, ctypes.sizeof(info), place)
        number, first, third = info[3], info[4], info[6]
        if number in WRITES or number in (74, 75):
            try:
                path = os.readlink(f"/proc/{child}/fd/{first}")
            except OSError:
                return ""
            inside = path == self.folder or path.startswith(self.folder + os.sep)
            return (WRITES.get(number) or CHANGES[number]) if inside else ""
        if number == _OPENAT:
            return "create" if third & _CREATES else ""
        return CHANGES.get(number, "")
