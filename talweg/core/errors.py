"""Error classes (TensorFlow's names and bases) and the one builder of messages.

Every message says what happened, what was expected, the user's own line, and, where there is one, a
way out; it ends in a code (``TW204``) that stands in `CATALOGUE`.
"""

from __future__ import annotations

import errno
import re
from typing import Any

from talweg.core.provenance import describe, user_origin

CATALOGUE = {
    "TW101": "a value cannot become a tensor",
    "TW102": "a dtype is not allowed here, or two dtypes differ",
    "TW103": "a value does not fit its dtype",
    "TW104": "an argument has the wrong type",
    "TW201": "shapes do not broadcast",
    "TW202": "an axis is out of range",
    "TW203": "a rank is wrong",
    "TW204": "dimensions do not match",
    "TW205": "a shape argument is wrong",
    "TW206": "an index is out of range",
    "TW207": "an argument has a value that is not allowed",
    "TW208": "two structures differ",
    "TW209": "a computation has no answer for these values",
    "TW301": "a gradient is absent",
    "TW302": "a tape was used in a way it does not allow",
    "TW303": "a target or source of a gradient is not a tensor",
    "TW304": "a custom gradient broke its contract",
    "TW310": "no gradient: the source is a tensor that was not watched",
    "TW311": "no gradient: the variable is not trainable",
    "TW312": "no gradient: the tape does not watch variables by itself",
    "TW313": "no gradient: the source was watched too late",
    "TW314": "no gradient: nothing was computed from the source",
    "TW315": "no gradient: the target was not computed from the source",
    "TW316": "no gradient: computed before the tape began",
    "TW317": "no gradient: computed after the tape ended, or outside of it",
    "TW318": "no gradient: computed while recording was stopped",
    "TW319": "no gradient: the tape was reset",
    "TW320": "no gradient: the value left for NumPy or Python",
    "TW321": "no gradient: a NumPy function is on the path",
    "TW322": "no gradient: integers, truth values or texts are on the path",
    "TW323": "no gradient: the source is no floating-point value",
    "TW324": "no gradient: an operation without a derivative is on the path",
    "TW325": "no gradient: the value only chooses between others",
    "TW326": "no gradient: a sample was drawn",
    "TW327": "no gradient: stop_gradient is on the path",
    "TW328": "no gradient: the value went into a variable by an assignment",
    "TW329": "no gradient: a name was given to another tensor",
    "TW330": "no gradient: the tape was used up",
    "TW331": "no gradient: the tape was never entered",
    "TW332": "no gradient: the branch with the source was not taken",
    "TW333": "no gradient: a custom gradient gave None",
    "TW334": "no gradient: two variables have one name",
    "TW335": "no gradient: the target is no tensor",
    "TW336": "no gradient: the source is no tensor",
    "TW337": "no gradient: target and source were exchanged",
    "TW338": "no gradient: the value came through a dataset",
    "TW343": "a result is NaN or infinite while numbers are checked",
    "TW401": "a variable was used in a way it does not allow",
    "TW402": "a feature is not there",
    "TW403": "the name `tensorflow`, or Keras, is taken by another package",
    "TW404": "the compiler made a mistake",
    "TW405": "a program cannot go through XLA here",
    "TW406": "the workers of a cluster do not come together",
    "TW501": "a graph was used in a way it does not allow",
    "TW502": "a tensor of one trace was used in another",
    "TW503": "a session was used in a way it does not allow",
    "TW504": "a placeholder was not fed, or was fed a value that does not fit",
    "TW505": "a variable has no value in this session",
    "TW507": "a checkpoint cannot be written, found or read",
    "TW508": "a summary cannot be written, or an event file cannot be read",
    "TW506": "a GraphDef is damaged, or holds what cannot be imported",
    "TW509": "a saved model cannot be written, found or read",
    "TW510": "a strategy was used in a way it does not allow",
    "TW511": "a value of several replicas was used outside of them",
}

_CODED = re.compile(r"\[TW\d{3}\]\Z")  # how `compose` ends


class OpError(Exception):
    """Base class of the errors an operation raises (`tf.errors.OpError`)."""

    code = 2

    def __init__(self, node_def: object, op, message: str, error_code: int, *args: object):
        super().__init__(node_def, op, message, error_code)
        self._node_def, self._op, self._message = node_def, op, message
        self._code = error_code

    @property
    def message(self) -> str:
        """The text of the error."""
        return self._message

    @property
    def op(self):
        """The operation that failed, where one is known."""
        return self._op

    @property
    def node_def(self):
        """The definition of the node that failed, where one is known."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """The canonical integer code."""
        return self._code

    @property
    def experimental_payloads(self) -> dict:
        """Extra details; always empty here."""
        return {}

    def __str__(self) -> str:
        return self._message


class _CodedError(OpError):
    """An error whose class says its code."""

    def __init__(self, node_def: object, op, message: str, *args: object):
        Exception.__init__(self, node_def, op, message)
        self._node_def, self._op, self._message, self._code = node_def, op, message, self.code


class CancelledError(_CodedError):
    """The operation was cancelled."""

    code = 1


class UnknownError(_CodedError):
    """An error of no known kind."""

    code = 2


class InvalidArgumentError(_CodedError):
    """An operand is not acceptable."""

    code = 3


class DeadlineExceededError(_CodedError):
    """A deadline passed."""

    code = 4


class NotFoundError(_CodedError):
    """Something asked for does not exist."""

    code = 5


class AlreadyExistsError(_CodedError):
    """Something to be made exists already."""

    code = 6


class PermissionDeniedError(_CodedError):
    """The caller may not do this."""

    code = 7


class ResourceExhaustedError(_CodedError):
    """Memory or another resource ran out."""

    code = 8


class FailedPreconditionError(_CodedError):
    """The state does not allow this."""

    code = 9


class AbortedError(_CodedError):
    """The operation was aborted."""

    code = 10


class OutOfRangeError(_CodedError):
    """The end of the input was passed."""

    code = 11


class UnimplementedError(_CodedError):
    """This is not there."""

    code = 12


class InternalError(_CodedError):
    """talweg broke one of its own promises."""

    code = 13


class UnavailableError(_CodedError):
    """A service is not available now."""

    code = 14


class DataLossError(_CodedError):
    """Data was lost or damaged."""

    code = 15


class UnauthenticatedError(_CodedError):
    """The caller did not identify itself."""

    code = 16


class InaccessibleTensorError(ValueError):
    """A tensor of one trace was used in another."""


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operation needs a value that a symbolic tensor does not have."""


class NeedsStaticError(ValueError):
    """Building a graph needs a number that only running it gives: a size, a rank, a value.

    `rank_varies`: the rank of what was to be built depends on that number.
    """

    rank_varies = False


class UnevenSlicesError(Exception):
    """The slices of a batch may differ in shape, so they cannot be one batched value.

    Never reaches users: who batched the function calls it for one slice after the other.
    """


NO_VALUE = (TypeError, AttributeError, NotImplementedError)  # as TensorFlow raises


def without_value(error: Any) -> Any:
    """Mark an error: a tensor of a graph was used as a Python value.

    Where a function of the API did so, the call is left to the run, as for `NeedsStaticError`.
    """
    error.needs_value = True
    return error


class NotEagerError(Exception):
    """An operand has no value: the operation belongs into a graph.  Never reaches users."""


def compose(code: str, happened: str, expected: str = "", hint: str = "") -> str:
    """Compose an error's text: the event, the expectation, the user's line, a way out, the code."""
    assert code in CATALOGUE, code
    lines = [happened]
    if expected:
        lines.append(f"  expected: {expected}")
    origin = user_origin(2)
    if origin is not None:
        lines.append(f"  at: {describe(origin)}")
    if hint:
        lines.append(f"  try: {hint}")
    return "\n".join(lines) + f"  [{code}]"


def invalid(code: str, happened: str, expected: str = "", hint: str = "") -> OpError:
    """Return an InvalidArgumentError with a composed message; the caller raises it."""
    return InvalidArgumentError(None, None, compose(code, happened, expected, hint))


def invalid_value(code: str, happened: str, expected: str = "", hint: str = "") -> OpError:
    """Make an InvalidArgumentError for a value that TensorFlow checks only when it runs.

    A graph that is built with such a value raises it as it is, not as a ValueError.
    """
    error = invalid(code, happened, expected, hint)
    error.talweg_by_value = True  # type: ignore[attr-defined]
    return error


def value_error(code: str, happened: str, expected: str = "", hint: str = "") -> ValueError:
    """Return a ValueError with a composed message; the caller raises it."""
    return ValueError(compose(code, happened, expected, hint))


def type_error(code: str, happened: str, expected: str = "", hint: str = "") -> TypeError:
    """Return a TypeError with a composed message; the caller raises it."""
    return TypeError(compose(code, happened, expected, hint))


def is_coded(error: BaseException) -> bool:
    """Return whether an error is a refusal of ours:
    no OpError, but with a code of the catalogue.
    """
    refusals = ValueError, TypeError, IndexError, NotImplementedError
    return isinstance(error, refusals) and _CODED.search(str(error)) is not None


def lacks_memory(error: BaseException | None) -> bool:
    """Return whether an error is want of memory: MemoryError, or a library that there is no room
    for.

    Libraries raise an ImportError of their own from that of one of their parts. Python 3.11
    raises a SystemError where it has no room for a frame (MemoryError from 3.12 on).
    """
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, SystemError):
        return "without exception set" in str(error) or "without setting an exc" in str(error)
    if not isinstance(error, (ImportError, OSError)):
        return False
    if getattr(error, "errno", None) == errno.ENOMEM or "map segment" in str(error):
        return True
    return isinstance(error, ImportError) and lacks_memory(error.__cause__ or error.__context__)


def free_frames(error: BaseException | None) -> None:
    """Drop the values in the frames of a MemoryError, before other code wants memory."""
    while isinstance(error, (MemoryError, SystemError)):
        error.__traceback__, error = None, error.__context__
