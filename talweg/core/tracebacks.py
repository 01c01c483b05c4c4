"""Tracebacks that users see: their own lines, without talweg's frames between and below them.

A *boundary* is a function that users call.  What passes out of one to code that is not talweg's has
its traceback pruned: the frames of talweg, and of the libraries that talweg called, are taken out;
functions of the user's that talweg called stay.  The boundary itself leaves no frame, since `raise`
without an operand adds none.  Python's `try` costs nothing until something is raised.

Errors of talweg's own making (an `InternalError`) keep all frames; errors without one of our
messages keep the innermost.  `disable` leaves every traceback as Python makes it.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from importlib import import_module
from types import FrameType, TracebackType
from typing import Any, TypeVar

from talweg.core import settings
from talweg.core.errors import ResourceExhaustedError, compose, lacks_memory
from talweg.core.provenance import ROOT

T = TypeVar("T")

_WRAPPERS = ("call", "call_in_graph", "__call__", "converted_call", "convert_code")  # say nothing
STANDARD = os.path.dirname(os.__file__) + os.sep
SITE = f"{os.sep}site-packages{os.sep}"
LIBRARIES = tuple(f"{SITE}{name}{os.sep}" for name in ("numpy", "scipy", "llvmlite", "malt"))
_INSTALL = "pip install "  # in what an optional package says that is not there
_CODE = re.compile(r"\[TW\d+\]\s*$", re.MULTILINE)
_UNEXPECTED = re.compile(r"^\w[\w.<>]*\(\) got an unexpected keyword argument '(\w+)'")
SYNONYMS = {  # arguments as NumPy, PyTorch and TensorFlow 1 call them
    "dim": ("axis", "axes"),
    "dims": ("axis", "perm", "axes"),
    "axes": ("axis", "perm"),
    "reduction_indices": ("axis",),
    "dimension": ("axis",),
    "keepdim": ("keepdims",),
    "keep_dims": ("keepdims",),
    "num_classes": ("depth",),
    "requires_grad": ("trainable",),
    "size": ("shape",),
    "a_min": ("clip_value_min",),
    "a_max": ("clip_value_max",),
    "min": ("clip_value_min", "minval"),
    "max": ("clip_value_max", "maxval"),
    "low": ("minval",),
    "high": ("maxval",),
    "loc": ("mean",),
    "scale": ("stddev",),
    "std": ("stddev",),
    "keep_prob": ("rate",),
    "drop_last": ("drop_remainder",),
    "num_workers": ("num_parallel_calls",),
    "lr": ("learning_rate",),
}
WRITTEN = {"keep_prob": "rate=1 - keep_prob"}  # arguments that mean something else


class Filtering:
    """Whether tracebacks are pruned."""

    enabled = True


def is_own(file: str) -> bool:
    """Return whether a file is talweg's."""
    return file.startswith(ROOT)


def is_called(file: str) -> bool:
    """Return whether a file belongs to code that talweg calls: the standard library, NumPy, ..."""
    if file.startswith(STANDARD) and SITE not in file or file.endswith(".pyx"):
        return True
    return file.startswith("<frozen") or any([name in file for name in LIBRARIES])


def is_expected(error: BaseException) -> bool:
    """Return whether talweg raised an error with a message for its user."""
    if isinstance(error, ImportError) and _INSTALL in str(error):
        return isinstance(error.__cause__, (ModuleNotFoundError, type(None)))
    return type(error).__name__ != "InternalError" and bool(_CODE.search(str(error)))


def is_own_or_called(frames: list[TracebackType]) -> bool:
    """Return whether an error comes from talweg or its callees,
    not from a function of the user's.

    A user's function that is traced may have called what failed.
    """
    return frames[-1] not in users(frames)[-1:]


def frames_of(trace: TracebackType | None) -> list[TracebackType]:
    """Return the entries of a traceback, outermost first."""
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def users(frames: list[TracebackType], inside: bool = True) -> list[TracebackType]:
    """Return the entries that are the user's; `inside`: whether talweg called the first one."""
    kept = []
    for frame in frames:
        code = frame.tb_frame.f_code
        file, is_text = code.co_filename, code.co_name == "<module>"  # text that a library runs
        called = is_called(file) or (is_text and file == "<string>")
        inside = is_own(file) or (inside and called)
        if not inside:
            kept.append(frame)
    return kept


def pass_out(error: Exception) -> None:
    """Prune an error that a boundary, which calls this, is about to raise again."""
    caller: FrameType | None = sys._getframe(1).f_back
    if caller is not None and is_own(caller.f_code.co_filename):
        return  # a boundary farther out will do it
    frames = frames_of(error.__traceback__)
    if lacks_memory(error) and is_own_or_called(frames):
        kept = users(frames)
        called = frames[frames.index(kept[-1]) + 1 :] if kept else frames
        names = [frame.tb_frame.f_code.co_name for frame in called]
        name = next((name for name in names if name not in _WRAPPERS), "talweg")
        del kept, called
        text = compose("TW209", f"{name}: not enough memory: {error}".removesuffix(": "))
        raise ResourceExhaustedError(None, None, text) from None
    if type(error) is TypeError and not users(frames):
        name_argument(error, frames[0].tb_frame)
    is_ours = any([cls.__name__ == "InternalError" for cls in type(error).__mro__])
    if Filtering.enabled and not settings.debug.get() and not is_ours:
        prune(error, frames)
    del frames, caller  # no circle through this frame


def prune(error: BaseException, frames: list[TracebackType]) -> None:
    """Leave the user's entries in an error's traceback, and what he raised it from."""
    kept = users(frames)
    if frames and frames[-1] not in kept[-1:] and len(frames) > 1 and not is_expected(error):
        kept.append(frames[-1])
    leave(error, kept)
    if not error.__suppress_context__ or error.__cause__ is not None:
        error.__context__ = without_own(error.__context__)
    if error.__cause__ is not None and is_expected(error):
        cause = without_own(error.__cause__)
        if cause is not error.__cause__:
            error.__cause__ = cause
    if error.__cause__ is not None:
        leave(error.__cause__, users(frames_of(error.__cause__.__traceback__)))


def leave(error: BaseException, frames: list[TracebackType]) -> None:
    """Make these entries, of its own, the traceback of an error."""
    for frame, following in zip(frames, [*frames[1:], None]):
        frame.tb_next = following
    error.__traceback__ = frames[0] if frames else None


def without_own(error: BaseException | None) -> BaseException | None:
    """Return the first of a chain of errors that happened in code of the user's."""
    seen = set()
    while error is not None and id(error) not in seen and not users(frames_of(error.__traceback__)):
        seen.add(id(error))
        error = error.__context__
    return None if error is None or id(error) in seen else error


def name_argument(error: TypeError, frame: FrameType) -> None:
    """Say which argument was meant by one that a function does not have."""
    unexpected = _UNEXPECTED.match(str(error))
    function: Any = frame.f_locals.get("function") or getattr(
        frame.f_locals.get("cls"), "__init__", None
    )
    name = getattr(function, "__name__", "")
    if unexpected is None or not name or not str(error).split("(")[0].endswith(name):
        return
    parameters = [key for key in inspect.signature(function).parameters if key != "self"]
    meant = [name for name in SYNONYMS.get(unexpected[1], ()) if name in parameters]
    meant = meant or import_module("difflib").get_close_matches(unexpected[1], parameters, 1)
    text = str(error).split(". Did you mean")[0]
    cure = f"{meant[0]}=" if meant else f"one of {', '.join(parameters)}"
    cure = WRITTEN.get(unexpected[1], cure) if meant else cure
    error.args = (f"{text}\n  try: {cure}  [TW104]",)


def boundary(function: T) -> T:
    """Return `function` as one that users call: its errors pass out pruned."""

    if inspect.isgeneratorfunction(function):
        return function

    @functools.wraps(function)  # type: ignore[arg-type]
    def call(*args: object, **kwargs: object) -> Any:
        try:
            return function(*args, **kwargs)  # type: ignore[operator]
        except Exception as error:
            pass_out(error)
            raise

    call.is_boundary = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


SPECIAL = frozenset(("__init__", "__call__", "__enter__", "__exit__"))
PACKAGES = (
    *("talweg.api", "talweg.linear_operators", "talweg.numpy_api", "talweg.strategies"),
    *("talweg.feature_columns", "talweg.summaries", "talweg.testing", "talweg.raw"),
    *("talweg.private", "talweg.pipeline", "talweg.interop", "talweg.compat_v1"),
    "talweg.eager.composite",
    "talweg.eager.ragged",
)


def bound_tracebacks(cls: Any) -> Any:
    """Make the public methods of a class, and of its bases in `PACKAGES`, boundaries.

    Packages farther in are called too often; what of theirs users call says so itself.
    """
    for part in cls.__mro__:
        if not str(part.__module__).startswith(PACKAGES) or "is_bounded" in part.__dict__:
            continue
        if issubclass(part, (BaseException, tuple)):
            continue
        for name, method in list(vars(part).items()):
            if name.startswith("_") and name not in SPECIAL:
                continue
            bare = method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
            if not inspect.isfunction(bare) or hasattr(bare, "is_boundary"):
                continue
            called = boundary(bare)
            setattr(part, name, called if bare is method else type(method)(called))
        part.is_bounded = True
    return cls
