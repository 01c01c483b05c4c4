"""Writing files and folders: each appears whole under its name, or not at all.

A file is written under a temporary name beside its own, brought to the disk, and renamed.  Who
writes holds a lock on the temporary file (flock, where there is one), so the next writer of that
file knows the ones that a killed process has left behind, and deletes them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from talweg.core.errors import FailedPreconditionError, compose, invalid
from talweg.core.system_errors import from_system

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be deleted there
    fcntl = None

SUFFIX = ".part"
LONGEST = 230  # bytes of a name that leave room for what temporary files have more
_AT_FDCWD, _RENAME_EXCHANGE, _RENAME_SWAP = -100, 2, 2  # <fcntl.h>, <linux/fs.h>, <sys/stdio.h>


def check_name(path: Any) -> Any:
    """Return the name of a file; InvalidArgumentError for one that no file has."""
    if ("\0" in path) if isinstance(path, str) else (b"\0" in path):
        raise invalid("TW209", f"{path!r} has a zero byte in it, as no name of a file has")
    return path


def make_folder(path: str | bytes) -> None:
    """Have a folder, and all above it; the present one for an empty name.

    FailedPreconditionError where something on the way is a file, ..., each with the name.
    """
    try:
        os.makedirs(check_name(path) or ".", exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        name = os.fsdecode(error.filename or path)
        text = compose("TW209", f"{os.fsdecode(path)}: {name} is not a directory")
        raise FailedPreconditionError(None, None, text) from None
    except OSError as error:
        raise from_system(error, os.fsdecode(path)) from None


def read_file(path: str) -> bytes:
    """Return the bytes of a file as a whole; FailedPreconditionError for a folder, a pipe or a
    device.

    Other errors of the system are TensorFlow's, too: NotFoundError, PermissionDeniedError, ...
    """
    try:
        is_other = os.path.exists(check_name(path)) and not os.path.isfile(path)
        if not is_other:
            with open(path, "rb") as file:
                return file.read()
    except OSError as error:
        raise from_system(error, path) from None
    text = compose("TW209", f"{path} is a folder or a device", "a file")
    raise FailedPreconditionError(None, None, text)


def write_file(path: str, parts: Iterable[Any], durable: bool = True) -> None:
    """Write a file as a whole; see `partial_file`.

    parts: bytes or buffers, one after the other.
    """
    with partial_file(path, durable) as file:
        for part in parts:
            file.write(part)


@contextlib.contextmanager
def partial_file(path: str, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file to be written, which gets its name `path` at the end, if nothing was raised.

    durable: whether its bytes and its name are on the disk before this returns, as far as the
    system can promise it.  Errors of the system are TensorFlow's: ResourceExhaustedError with the
    bytes written so far where the disk is full, PermissionDeniedError, NotFoundError without the
    folder.  What stood under the name stays there until it is replaced.
    """
    temporary = ""
    if os.path.islink(check_name(path)):
        path = os.path.realpath(path)
    try:
        is_other = os.path.exists(path) and not os.path.isfile(path)  # /dev/null, a pipe, a folder
        if is_other or os.path.islink(path):  # to itself
            with open(path, "wb") as file:
                yield file
            return
        sweep(path)
        temporary, file = _new_file(path)
        with file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            if os.name != "nt":  # as long as the lock is held, so nobody takes it for litter
                os.replace(temporary, path)
        if os.name == "nt":
            os.replace(temporary, path)
    except BaseException as error:
        written = None
        if temporary:
            with contextlib.suppress(OSError):
                written = os.path.getsize(temporary)
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise from_system(error, path, written) from None
        raise
    if durable:
        sync_folder(os.path.dirname(path) or ".")


def _new_file(path: str) -> tuple[str, BinaryIO]:
    """Return a new file beside `path`, locked: its name, and itself."""
    folder = os.path.dirname(path)
    while True:
        handle, temporary = tempfile.mkstemp(SUFFIX, _start(path), folder or ".")
        file = os.fdopen(handle, "wb")
        try:
            if not try_lock(file) or os.path.samestat(os.fstat(handle), os.stat(temporary)):
                return temporary, file
        except FileNotFoundError:
            pass  # somebody swept it up before it was locked
        except BaseException:
            file.close()
            raise
        file.close()


def _start(path: str) -> str:
    """Return the prefix of temporary names for `path`, short enough: no name has over 255
    bytes.
    """
    name = os.path.basename(path)
    if len(os.fsencode(name)) > LONGEST:
        name = f"{name[:40]}.{zlib.crc32(os.fsencode(name)):08x}"
    return f".{name}."


def try_lock(file: BinaryIO | int) -> bool:
    """Lock an open file or folder; whether nobody else has, as far as the system can tell."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sweep(path: str) -> None:
    """Delete temporary files and folders for `path` whose writers are dead."""
    folder, start = os.path.dirname(path), _start(path)
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.startswith(start) and entry.name.endswith(SUFFIX):
                with _lock(entry.path) as is_mine:
                    if is_mine and entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    elif is_mine:
                        os.unlink(entry.path)


@contextlib.contextmanager
def _lock(path: str) -> Iterator[bool]:
    """Hold the lock of a file or folder; whether nobody else did."""
    handle = os.open(path, os.O_RDONLY)
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def partial_folder(path: str) -> Iterator[str]:
    """Make a new folder to be filled, which gets its name `path` at the end, if nothing was
    raised.

    What a folder of that name holds besides stays (hard links where the system has them).  The two
    change places in one step where the system can do that (Linux, macOS); elsewhere a process that
    is killed between two steps leaves the old folder as `.NAME.XXXX.part.old`.
    """
    path = os.path.realpath(check_name(path))
    parent, part = os.path.dirname(path), ""
    try:
        make_folder(parent)
        sweep(path)
        part = tempfile.mkdtemp(SUFFIX, _start(path), parent)
        with _lock(part) if fcntl is not None else contextlib.nullcontext():
            yield part
            _keep_others(part, path)
            sync_tree(part)
            os.chmod(part, 0o777 & ~_umask())
            _exchange(part, path)
        sync_folder(parent)
    except OSError as error:
        raise from_system(error, path) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _keep_others(part: str, folder: str) -> None:
    """Move the files that only `folder` has to `part`."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            own = os.path.join(part, entry.name)
            if entry.is_dir(follow_symlinks=False):
                os.makedirs(own, exist_ok=True)
                _keep_others(own, entry.path)
            elif not os.path.lexists(own):
                try:
                    os.link(entry.path, own, follow_symlinks=False)
                except (OSError, NotImplementedError):
                    shutil.copy2(entry.path, own, follow_symlinks=False)


def sync_tree(folder: str) -> None:
    """Have all files of a folder on the disk."""
    for below, _, names in os.walk(folder):
        for name in names:
            sync_folder(os.path.join(below, name))
        sync_folder(below)


def _exchange(part: str, folder: str) -> None:
    """Give the folder `part` the name `folder`; what has it gets the other name."""
    if not os.path.isdir(folder):
        os.rename(part, folder)
        return
    if not _swap(part, folder):
        aside = f"{part}.old"
        os.rename(folder, aside)
        os.rename(part, folder)
        shutil.rmtree(aside, ignore_errors=True)


def _swap(first: str, second: str) -> bool:
    """Have two files change their names in one step; whether the system can do that."""
    names = (os.fsencode(first), os.fsencode(second))
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return libc.renamex_np(*names, _RENAME_SWAP) == 0
        return libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0
    except (AttributeError, OSError, TypeError):
        return False


def sync_folder(folder: str) -> None:
    """Have a folder's new entries on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    """Return the permissions that new files of this process go without."""
    present = os.umask(0o022)
    os.umask(present)
    return present
