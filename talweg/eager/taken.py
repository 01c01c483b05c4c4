"""A variable whose value is taken away while somebody writes into it (`core/locking.py`)."""

from __future__ import annotations

from typing import Any


class Taken:
    """The part of `tf.Variable` that lets a value be written in place, unseen by others."""

    _taken: Any = None  # the value, while a run of this thread writes into it
    _lock: Any
    _tensor: Any

    def take(self) -> Any:
        """Take the value away, to write into it: who reads it waits for the lock, which is ours."""
        tensor = self._taken
        if tensor is None:
            self._taken = tensor = self._tensor
            del self._tensor
        return tensor

    def put_back(self) -> None:
        """Let the value that was taken away be there again, unless there is a new one."""
        tensor, self._taken = self._taken, None
        if tensor is not None and "_tensor" not in self.__dict__:
            self._tensor = tensor

    def __getattr__(self, name: str) -> Any:
        if name != "_tensor" or "_lock" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._lock.acquire()
        try:
            return self._taken if self._taken is not None else self.__dict__["_tensor"]
        finally:
            self._lock.release()
