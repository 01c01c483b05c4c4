"""tf.io.gfile: files and folders, with TensorFlow's errors; those of this machine only."""

from __future__ import annotations

import glob as globbing
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.export import export
from talweg.core import errors
from talweg.core.errors import compose
from talweg.core.system_errors import from_system
from talweg.formats.files import check_name

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike


LOGGER = logging.getLogger("talweg")
DRIVE = re.compile(r"/[A-Za-z]:")


def path_of(path: Any) -> str:
    """Return a path as text."""
    text = os.fspath(path) if hasattr(path, "__fspath__") else path
    path = os.fsdecode(text)
    if path.startswith("file://"):
        path = path.removeprefix("file://")
        if os.name == "nt" and DRIVE.match(path):  # file:///C:/folder
            path = path[1:]
    return path


def name_of(path: Any) -> str:
    """Return the path of a file that is used; InvalidArgumentError for a name that no file has."""
    return check_name(path_of(path))


def carry_out(action: Callable[..., Any], *arguments: object) -> Any:
    """Run an action of the operating system; its errors become TensorFlow's."""
    try:
        return action(*arguments)
    except OSError as error:
        name = error.filename2 or error.filename or (arguments[-1] if arguments else "")
        raise from_system(error, name if isinstance(name, str) else None) from None


@export("io.gfile.exists")
def exists(path: PathLike) -> bool:
    """Return whether there is a file or folder at `path`."""
    return os.path.exists(path_of(path))


@export("io.gfile.isdir")
def isdir(path: PathLike) -> bool:
    """Return whether `path` is a folder."""
    return os.path.isdir(path_of(path))


@export("io.gfile.listdir")
def listdir(path: PathLike) -> list[str]:
    """Return the names in a folder, in no order; NotFoundError if there is none."""
    own = path_of(path)
    if not os.path.isdir(own):
        text = compose("TW209", f"Could not find directory {own}")
        raise errors.NotFoundError(None, None, text)
    return os.listdir(own)


@export("io.gfile.mkdir")
def mkdir(path: PathLike) -> None:
    """Make a folder in one that is there, or leave it if it is there; NotFoundError without one."""
    if not os.path.isdir(path_of(path)):
        carry_out(os.mkdir, name_of(path))


@export("io.gfile.makedirs")
def makedirs(path: PathLike) -> None:
    """Make a folder and those above it, as far as they are not there."""
    carry_out(lambda: os.makedirs(name_of(path), exist_ok=True))


@export("io.gfile.remove")
def remove(path: PathLike) -> None:
    """Delete a file; NotFoundError if there is none."""
    carry_out(os.remove, name_of(path))


@export("io.gfile.rmtree")
def rmtree(path: PathLike) -> None:
    """Delete a folder and all in it; NotFoundError if there is none."""
    carry_out(shutil.rmtree, name_of(path))


def _check_free(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        text = compose("TW209", f"file already exists: {path}", hint="overwrite=True")
        raise errors.AlreadyExistsError(None, None, text)


@export("io.gfile.copy")
def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copy a file; AlreadyExistsError if `dst` is there, unless `overwrite`."""
    _check_free(path_of(dst), overwrite)
    carry_out(shutil.copyfile, name_of(src), name_of(dst))


@export("io.gfile.rename")
def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Give a file or folder another name; AlreadyExistsError if it is taken, unless `overwrite`."""
    _check_free(path_of(dst), overwrite)
    carry_out(os.replace, name_of(src), name_of(dst))


@export("io.gfile.glob")
def glob(pattern: PathLike) -> list[str]:
    """Return the files and folders that fit a pattern (or one of several), in order."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [found for each in patterns for found in sorted(globbing.glob(path_of(each)))]


@export("io.gfile.join")
def join(path: Any, *paths: Any) -> str:
    """Join parts of a path."""
    return os.path.join(path_of(path), *map(path_of, paths))


@export("io.gfile.get_registered_schemes")
def get_registered_schemes() -> list[str]:
    """Return the kinds of file systems: those of this machine.

    >>> import talweg as tf
    >>> tf.io.gfile.get_registered_schemes()
    ['file', '']
    """
    return ["file", ""]


class FileStatistics(NamedTuple):
    """Describes a file: its length, time of change, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


@export("io.gfile.stat")
def stat(path: object) -> FileStatistics:
    """Return length, time of the last change, and whether it is a folder; NotFoundError."""
    found = carry_out(os.stat, name_of(path))
    folder = os.path.isdir(path_of(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, folder)


@export("io.gfile.walk")
def walk(
    top: PathLike, topdown: bool = True, onerror: Callable[[Any], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Return (folder, folders in it, files in it), for a folder and all below it, in order."""
    own = path_of(top)
    try:
        names = sorted(listdir(own))
    except errors.NotFoundError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [name for name in names if isdir(join(own, name))]
    here = own, folders, [name for name in names if name not in folders]
    if topdown:
        yield here
    for folder in folders:
        yield from walk(join(own, folder), topdown, onerror)
    if not topdown:
        yield here


@export(
    "io.gfile.GFile", "compat.v1.gfile.GFile", "compat.v1.gfile.FastGFile", "compat.v1.gfile.Open"
)
class GFile:
    """A file (`tf.io.gfile.GFile`), opened when it is first read or written.

    name: its path.
    mode: "r", "w", "a", "r+", "w+", "a+", with "b" for bytes.

    >>> import os, tempfile
    >>> import talweg as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "file")
    >>> with tf.io.gfile.GFile(path, "w") as file:
    ...     file.write("two\\nlines\\n")
    >>> list(tf.io.gfile.GFile(path)), tf.io.gfile.stat(path).length
    (['two\\n', 'lines\\n'], 10)
    """

    _file: Any = None

    def __init__(self, name: str | None, mode: str = "r"):
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            text = compose("TW207", f"mode {mode!r} of a file", "r, w, a, r+, w+ or a+, and b")
            raise errors.InvalidArgumentError(None, None, text)
        self._name, self._mode = name, mode

    @property
    def name(self) -> Any:
        """The path, as it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode in which the file is opened."""
        return self._mode

    def _open(self, letters: str, what: str) -> Any:
        if not any(letter in self._mode for letter in letters):
            text = compose("TW209", f"File isn't open for {what}: {self._name}, mode {self._mode}")
            raise errors.PermissionDeniedError(None, None, text)
        if self._file is None:
            mode = self._mode.replace("b", "") + "b"
            self._file = carry_out(lambda: open(name_of(self._name), mode))  # noqa: SIM115
        return self._file

    def _carry_out(self, action: Callable[..., Any], *arguments: object) -> Any:
        """Run an action on the open file; errors name the file, also those of a full disk."""
        try:
            return action(*arguments)
        except OSError as error:
            path = path_of(self._name)
            written = os.path.getsize(path) if os.path.exists(path) else None
            raise from_system(error, path, written) from None

    def _text(self, data: bytes) -> Any:
        return data if "b" in self._mode else data.decode("utf-8")

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """Read the rest of the file, or `n` bytes of it."""
        return self._text(self._open("r+", "reading").read(n))

    def readline(self) -> Any:
        """Return the next line, with its end; nothing at the end of the file."""
        return self._text(self._open("r+", "reading").readline())

    def readlines(self) -> list:
        """Return the lines that follow."""
        return list(self)

    def write(self, file_content: Any) -> None:
        """Append text or bytes to the file."""
        data = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        self._carry_out(self._open("wa+", "writing").write, data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go on at `offset` bytes from the begin (1: from here, 2: from the end)."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError(compose("TW104", "seek() needs an offset"))
        self._carry_out(self._open("rwa+", "seeking").seek, place, whence)

    def seekable(self) -> bool:
        """Return whether `seek` works: always."""
        return True

    def tell(self) -> int:
        """Return the position in the file, in bytes."""
        return self._open("rwa+", "reading").tell()

    def flush(self) -> None:
        """Hand the written bytes to the operating system, so that others see them."""
        if self._file is not None:
            self._carry_out(self._file.flush)

    def close(self) -> None:
        """Write the rest and close the file; it is opened again if need be."""
        if self._file is not None:
            file, self._file = self._file, None
            self._carry_out(file.close)

    def next(self) -> Any:
        """Return the next line."""
        return self.__next__()

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                LOGGER.warning("what was written to %s last is lost: %s", self._name, error)


@export("compat.v1.gfile.Copy")
def copy_v1(oldpath: PathLike, newpath: PathLike, overwrite: bool = False) -> None:
    """Do what `tf.io.gfile.copy` does."""
    copy(oldpath, newpath, overwrite)


@export("compat.v1.gfile.Rename")
def rename_v1(oldname: PathLike, newname: PathLike, overwrite: bool = False) -> None:
    """Do what `tf.io.gfile.rename` does."""
    rename(oldname, newname, overwrite)


@export("compat.v1.gfile.Walk")
def walk_v1(top: PathLike, in_order: bool = True) -> Iterable[tuple]:
    """Do what `tf.io.gfile.walk` does; `in_order`: a folder before those in it."""
    return walk(top, in_order)


@export("compat.v1.gfile.Exists")
def exists_v1(filename: PathLike) -> bool:
    """Do what `tf.io.gfile.exists` does."""
    return exists(filename)


@export("compat.v1.gfile.IsDirectory")
def isdir_v1(dirname: PathLike) -> bool:
    """Do what `tf.io.gfile.isdir` does."""
    return isdir(dirname)


@export("compat.v1.gfile.ListDirectory")
def listdir_v1(dirname: PathLike) -> list[str]:
    """Do what `tf.io.gfile.listdir` does."""
    return listdir(dirname)


@export("compat.v1.gfile.MkDir")
def mkdir_v1(dirname: PathLike) -> None:
    """Do what `tf.io.gfile.mkdir` does."""
    mkdir(dirname)


@export("compat.v1.gfile.MakeDirs")
def makedirs_v1(dirname: PathLike) -> None:
    """Do what `tf.io.gfile.makedirs` does."""
    makedirs(dirname)


@export("compat.v1.gfile.Remove")
def remove_v1(filename: PathLike) -> None:
    """Do what `tf.io.gfile.remove` does."""
    remove(filename)


@export("compat.v1.gfile.DeleteRecursively")
def rmtree_v1(dirname: PathLike) -> None:
    """Do what `tf.io.gfile.rmtree` does."""
    rmtree(dirname)


@export("compat.v1.gfile.Glob")
def glob_v1(filename: PathLike) -> list[str]:
    """Do what `tf.io.gfile.glob` does."""
    return glob(filename)


@export("compat.v1.gfile.Stat")
def stat_v1(filename: PathLike) -> FileStatistics:
    """Do what `tf.io.gfile.stat` does."""
    return stat(filename)
