"""The compilation cache: object code on disk, compiled once for a machine.

What AutoGraph makes of functions is kept here, too.

A file for each entry, named by the hash of its key; keys say all that the content depends on.  A
file begins with its own checksum: one that is damaged, cut short or foreign is as good as absent,
and is written again.  Writing is to a file of another name, which then takes the entry's: readers,
in other processes too, see a whole entry or none.  When files take more than `cache_megabytes`,
those used longest ago go.  Nothing here raises: without a folder that can be written there is no
cache, and compiling takes longer.

The entries are code that will be run.  So a file is read only if it, its folder and every folder
above belong to this user or to root, and nobody else may write to them (or, above, only add files
of their own: the sticky bit).  Links are followed once, when the folder is first asked for, and
what is written and read is below the folder that was found then.  Without a home there is no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import threading
import time

from talweg.core import forks, settings

with contextlib.suppress(ImportError):  # of systems that have users and groups
    import grp
    import pwd

MAGIC = b"talweg 1\n"
SUFFIX = ".object"
TEMPORARY = ".writing"
STALE = 3600.0  # seconds after which somebody's unfinished file is litter
KEPT = 0.75  # how much of the bound is left by an eviction
RECOUNT = 64  # entries written between counts of what is there, at least: others write, too
_DIGEST = 32

_lock = threading.Lock()


def default_folder() -> str:
    """Return the default folder of the cache; "" where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME") or _expand_home(os.path.join("~", ".cache"))
    return os.path.join(base, "talweg") if os.path.isabs(base) else ""


def _expand_home(path: str) -> str:
    """Expand `~` to the home directory; "" where that is unknown."""
    if not path.startswith("~"):
        return path
    nowhere = os.name == "posix" and os.environ.get("HOME") == ""
    found = "" if nowhere else os.path.expanduser(path)
    return found if os.path.isabs(found) else ""  # without a home `~` stays as it is


class CompilationCache:
    """The cache entries of one folder."""

    def __init__(self, folder: str, limit: int):
        self.folder, self.limit = os.path.realpath(folder), limit
        self.readable = _is_trusted(self.folder)
        self.writable = True  # until the first failure
        self.total = self.written = 0  # bytes of all entries, about; how many we wrote
        self.recount = os.getpid() % RECOUNT  # at so many written; not every process at its first

    def path(self, key: bytes) -> str:
        """Return the file of an entry."""
        return os.path.join(self.folder, hashlib.sha256(key).hexdigest()[:40] + SUFFIX)

    def get(self, key: bytes) -> bytes | None:
        """Return an entry's content, None if there is no intact one."""
        if not self.readable:
            return None
        path = self.path(key)
        try:
            with open(path, "rb") as file:
                found = file.read() if _is_ours(file.fileno()) else b""
        except OSError:
            return None
        content = _check_entry(found, key)
        if content is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content

    def put(self, key: bytes, content: bytes) -> bool:
        """Store an entry; whether it was stored."""
        if not self.writable or len(content) > self.limit // 2:
            return False
        if not self._make_folder():
            self.writable = False
            return False
        entry = MAGIC + _digest(key, content) + content
        try:
            self._write(self.path(key), entry)
        except OSError:
            self.writable = False
            return False
        with _lock:
            self._account(len(entry))
        return True

    def _make_folder(self) -> bool:
        """Make the folder and its parents for this user alone; whether it is trusted."""
        missing, above = [], self.folder
        while not os.path.lexists(above):
            missing.append(above)
            above = os.path.dirname(above)
        if missing and not _is_trusted(above, is_shared=True):
            return False
        try:
            for path in reversed(missing):
                with contextlib.suppress(FileExistsError):  # by another process, just now
                    os.mkdir(path, 0o700)
        except OSError:
            return False
        self.readable = _is_trusted(self.folder)
        return self.readable

    def _write(self, path: str, whole: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(TEMPORARY, dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(whole)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _account(self, written: int) -> None:
        """Count the bytes written; evict entries beyond the limit.

        What is there is counted anew after a part of it was written, so that a write costs the
        same however much there is.
        """
        self.total += written
        if self.written >= self.recount:
            entries = self.entries()
            self.total = sum(size for _, size, _ in entries)
            self.recount = self.written + max(RECOUNT, len(entries) // 4)
        self.written += 1
        if self.total > self.limit:
            self.total = self._evict()

    def entries(self) -> list[tuple[float, int, str]]:
        """List (time of last use, bytes, path) of all entries, and delete litter on the way."""
        found = []
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    with contextlib.suppress(OSError):
                        status = file.stat()
                        if file.name.endswith(SUFFIX):
                            found.append((status.st_mtime, status.st_size, file.path))
                        elif file.name.endswith(TEMPORARY) and _is_stale(status.st_mtime):
                            os.unlink(file.path)
        except OSError:
            pass
        return found

    def _evict(self) -> int:
        """Delete the least recently used entries; returns the bytes left."""
        entries = sorted(self.entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self.limit * KEPT:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
        return total


def _is_stale(written: float) -> bool:
    return time.time() - written > STALE


def _digest(key: bytes, content: bytes) -> bytes:
    """Return the checksum of an entry and its key, so that a renamed file is noticed."""
    return hashlib.sha256(hashlib.sha256(key).digest() + content).digest()


def _check_entry(found: bytes, key: bytes) -> bytes | None:
    """Return the content of an entry's file, None if it is damaged."""
    start = len(MAGIC) + _DIGEST
    if len(found) < start or not found.startswith(MAGIC):
        return None
    content = found[start:]
    return content if found[len(MAGIC) : start] == _digest(key, content) else None


def _is_trusted(folder: str, is_shared: bool = False) -> bool:
    """Return whether only this user (or root) can have written the files in a folder.

    is_shared: the folder may be one like `/tmp`, too, in which others make files of their own.
    """
    try:
        is_trusted = _is_ours(folder, is_shared)
        while is_trusted and (above := os.path.dirname(folder)) != folder:
            is_trusted, folder = _is_ours(above, True), above
    except OSError:
        return False
    return is_trusted


def _is_ours(path: str | int, is_shared: bool = False) -> bool:
    """Return whether a file belongs to this user or root, and no other user may write to it.

    path: or a file descriptor.  A link is nobody's.  is_shared: others may make files of their own
    in the folder, if they may not take away ours (the sticky bit).
    """
    if not hasattr(os, "geteuid"):
        return True
    status = os.fstat(path) if isinstance(path, int) else os.lstat(path)
    if status.st_uid not in (os.geteuid(), 0) or stat.S_ISLNK(status.st_mode):
        return False
    if is_shared and status.st_mode & stat.S_ISVTX:
        return True
    if status.st_mode & 0o020 and not _is_private(path, status.st_gid):
        return False
    return not status.st_mode & 0o002


def _is_private(path: str | int, group: int) -> bool:
    """Return whether this user is the only member of a file's group, as on many systems."""
    if not group == os.getegid() == os.geteuid() != 0:
        return False
    if hasattr(os, "listxattr") and "system.posix_acl_access" in os.listxattr(path):
        return False  # the bits of the group are for everybody in that list
    try:
        members = grp.getgrgid(group).gr_mem
        return not members or members == [pwd.getpwuid(os.geteuid()).pw_name]
    except KeyError:  # nobody has a name here
        return True


_caches: dict[tuple, CompilationCache] = {}


def current() -> CompilationCache | None:
    """Return the cache that the settings choose; None if it is off, or without a home."""
    folder = settings.cache.get().strip()
    if folder.lower() in ("off", "0", "no", "false"):
        return None
    asked = (_expand_home(folder) if folder else default_folder(), settings.cache_megabytes.get())
    if not asked[0] or "\0" in folder:
        return None
    cache = _caches.get(asked)
    if cache is None:
        try:
            cache = CompilationCache(os.path.abspath(asked[0]), asked[1] << 20)
        except OSError:  # a folder relative to one that is gone
            return None
        _caches[asked] = cache
    return cache


def get(key: bytes) -> bytes | None:
    """Return an entry of the current cache."""
    cache = current()
    return None if cache is None else cache.get(key)


def put(key: bytes, content: bytes) -> bool:
    """Store an entry in the current cache; whether it was stored."""
    cache = current()
    return cache is not None and cache.put(key, content)


def _reset_after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # whoever held it is not in the child


forks.in_child(_reset_after_fork)
