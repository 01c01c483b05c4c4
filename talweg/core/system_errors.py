"""The errors that TensorFlow raises for those of the operating system."""

from __future__ import annotations

import errno
import os

from talweg.core import errors
from talweg.core.errors import OpError, compose

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_CLASSES = {
    errno.ENOENT: errors.NotFoundError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ESPIPE: errors.InvalidArgumentError,
    errno.EBUSY: errors.FailedPreconditionError,
    errno.ETXTBSY: errors.FailedPreconditionError,
    errno.EPIPE: errors.FailedPreconditionError,
    errno.EXDEV: errors.UnimplementedError,
    errno.ENOMEM: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENFILE: errors.ResourceExhaustedError,
    errno.EMLINK: errors.ResourceExhaustedError,
    **dict.fromkeys(_FULL, errors.ResourceExhaustedError),
}


def from_system(error: OSError, path: str | None = None, written: int | None = None) -> OpError:
    """Return the error of an operation for one of the operating system: NotFoundError, ...

    path: the file, where the error does not name it.  written: the bytes that a full disk took.
    """
    kind = _CLASSES.get(error.errno or 0, errors.UnknownError)
    name = path or error.filename2 or error.filename or ""
    text = f"{os.fsdecode(name)}; {error.strerror or error}"
    if error.errno in _FULL and written is not None:
        text += f" after {written} bytes"
    return kind(None, None, compose("TW209", text))
