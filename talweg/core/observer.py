"""The observer interface: lower layers tell an `Observer` what happens while a program runs.

At most one observer is in force (`dispatch.state.observer`, for all threads); without one, nothing
is told and nothing is paid.  Every method does nothing here; the doctor overrides what it wants to
know.  An observer looks and never changes what it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.dtypes import DType
    from talweg.core.primitive import Primitive


class Observer:
    """The interface of observers: a method for each event of a program."""

    def applied(self, prim: Primitive, operands: tuple, results: object, params: dict) -> None:
        """Note that a primitive ran at once, on eager tensors."""

    def left(self, tensor: object) -> None:
        """Note that the value of a tensor was taken out to NumPy or Python."""

    def fetched(self, array: np.generic | np.ndarray) -> None:
        """Note that a value that a device had was copied to the host: `array`."""

    def entered(self, value: object, array: np.ndarray, dtype: DType) -> None:
        """Note that a Python or NumPy value became a tensor around `array`;
        `dtype` was asked for, or not.
        """

    def node_asked(self, node: object, merged: bool) -> None:
        """Note that a graph was asked for a node: a new one, or (`merged`) one that was there."""

    def variable_made(self, variable: object) -> None:
        """Note that a variable was made."""

    def variable_read(self, variable: object) -> None:
        """Note that an eager variable was read, or captured by a trace."""

    def variable_written(self, variable: object, adding: bool) -> None:
        """Note that an eager variable got another value, perhaps (`adding`) from the one it had."""

    def function_made(self, function: Callable) -> None:
        """Note that a `tf.function` was made of a Python function."""

    def function_traced(self, function: Callable, concrete: object, reason: str | None) -> None:
        """Note that a `tf.function` was traced; `reason` says why again, None the first time."""

    def function_called(self, concrete: object) -> None:
        """Note that a trace was run eagerly."""

    def session_made(self, session: object) -> None:
        """Note that a session was opened."""

    def session_ran(self, session: object, program: object, fed: list, fetched: list) -> None:
        """Note that a session ran a program, was fed arrays and gave values."""

    def gradient_taken(
        self, sources: list, gradients: list, wanted: bool, explain: Callable[[Any], Any]
    ) -> None:
        """Note that gradients by `sources` were taken: None where there is no path, as `explain`
        can explain.

        wanted: zeros or an error were asked for in place of None.
        """
