"""The static type of a `tf.function`, for type checkers: the Python function's signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from talweg.trace.concrete import ConcreteFunction

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
Self = TypeVar("Self")


class TracedFunction(Protocol[P, R_co]):
    """A Python function that is traced; as a method it is bound as Python's functions are."""

    @property
    def python_function(self) -> Callable[P, R_co]:
        """The function that is traced."""
        ...

    @property
    def __name__(self) -> str: ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: object = None) -> TracedFunction[P, R_co]: ...
    @overload
    def __get__(
        self: TracedFunction[Concatenate[Self, Q], R_co],
        instance: Self,
        owner: object = None,
    ) -> TracedFunction[Q, R_co]: ...

    def get_concrete_function(self, *args: object, **kwargs: object) -> ConcreteFunction:
        """Return the trace for arguments, or for specs of them."""
        ...

    def experimental_get_tracing_count(self) -> int:
        """Return the number of traces."""
        ...

    def experimental_get_compiler_ir(self, *args: object, **kwargs: object) -> Callable[..., Any]:
        """Return the text of the compiled program."""
        ...

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return the signatures of all traces, as text."""
        ...

    def retracing_reasons(self) -> list[str]:
        """List the reasons of its retraces."""
        ...

    def report(self) -> Any:
        """Return the doctor's findings on the function."""
        ...
