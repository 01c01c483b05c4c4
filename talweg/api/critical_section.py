"""tf.CriticalSection: functions of which only one runs at a time."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import type_error, value_error

if TYPE_CHECKING:
    pass

_SHARED: weakref.WeakValueDictionary[str, _Mutex] = weakref.WeakValueDictionary()
_naming = threading.Lock()


class _Mutex:
    """A lock, and the thread that holds it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holder: int | None = None


@export("CriticalSection", "compat.v1.CriticalSection")
class CriticalSection:
    """Runs functions one after the other, whichever threads call (`tf.CriticalSection`).

    Sections with one `shared_name` are one.  In a traced function the operations of `fn` become
    part of the trace; a call of a function is one update of all variables that it writes already.

    >>> import talweg as tf
    >>> count, section = tf.Variable(0), tf.CriticalSection()
    >>> int(section.execute(lambda: count.assign_add(1)))
    1
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ):
        if critical_section_def is not None:
            raise value_error("TW207", "critical_section_def is given", "None")
        self.name = name or "critical_section"
        if shared_name is None:
            self._mutex = _Mutex()
        else:
            with _naming:
                self._mutex = _SHARED.setdefault(shared_name, _Mutex())

    def execute(
        self,
        fn: Callable[[], Any],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:
        """Call `fn` while no other function of this section runs; its result.

        ValueError inside of a function of the same section, TypeError if `fn` cannot be called.
        """
        if not callable(fn):
            raise type_error("TW104", f"fn is {fn!r}", "a function of no arguments")
        mutex, me = self._mutex, threading.get_ident()
        if mutex.holder == me:
            raise value_error(
                "TW401",
                f"Attempting to lock a CriticalSection ({self.name}) in which we are already",
            )
        with mutex.lock:
            mutex.holder = me
            try:
                return fn()
            finally:
                mutex.holder = None
