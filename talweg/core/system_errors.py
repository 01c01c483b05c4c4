"""The errors that TensorFlow raises for those of the operating system."""

from __future__ import annotations

import errno

from talweg.core import errors
from talweg.core.errors import OpError, compose

_CLASSES = {
    errno.ENOENT: errors.NotFoundError,
    errno.ENOTDIR: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
}


def from_system(error: OSError) -> OpError:
    """The error of an operation for one of the operating system: NotFoundError, ..."""
    kind = _CLASSES.get(error.errno or 0, errors.UnknownError)
    name = error.filename2 or error.filename or ""
    shown = name.decode(errors="replace") if isinstance(name, bytes) else name
    return kind(None, None, compose("TW209", f"{shown}; {error.strerror or error}"))
