"""Gradients that a user writes: custom_gradient, recompute_grad, grad_pass_through.

A call is put on the tapes as one record whose rule is the user's function.  Forward mode through
such a record comes from its reverse rule by differentiating that by its cotangent, in which it is
linear (Griewank 2008, "double transposition").
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.roles import Role
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tape import GradientTape
from talweg.graph import structure
from talweg.prims.arithmetic import identity, stop_gradient, zeros_of
from talweg.prims.calls import with_rule


class CustomRule:
    """The record on a tape, in the place of a primitive, for one call of a user's function."""

    variadic, elementwise, wants_sparse, multiple, keeps_dtype = True, False, False, True, False
    operands, effect = ("arguments",), None
    memory, singular, avoid, kinks = "none", "", "", {}
    role = Role.OPERATION

    def __init__(self, name: str, pullback: Callable[[list], list]):
        self.name = name
        self._pullback = pullback
        self.no_gradient: dict = {}
        self.returned_none: frozenset[int] = frozenset()  # places, for whoever explains them

    def vjp(self, g: Any, results: tuple, operands: tuple, params: dict, wanted: list) -> list:
        """Return the user's cotangents of all arguments."""
        found = self._pullback(list(g))
        self.returned_none = frozenset([i for i, part in enumerate(found) if part is None])
        return found

    def jvp(self, tangents: list, results: tuple, operands: tuple, params: dict) -> tuple:
        """Return tangents of the results, by differentiating the pullback by its cotangent."""
        seeds = [_zero_by_itself(z) if z.dtype.is_differentiable else z for z in results]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([s for s in seeds if s.dtype.is_differentiable])
            back = self._pullback(seeds)
        pairs = [(b, t) for b, t in zip(back, tangents) if b is not None and t is not None]
        if not pairs:
            return tuple(None for _ in results)
        targets, directions = [b for b, _ in pairs], [t for _, t in pairs]
        return tuple(tape.gradient(targets, seeds, output_gradients=directions))


def _zero_by_itself(x: Any) -> Any:
    """Return zeros like `x` that no graph takes for other zeros, for derivatives by them."""
    graph = dispatch.context.base
    if graph is None:
        return zeros_of(x)
    return zeros_of(x) + graph.constant(x.dtype.numpy_dtype.type(0), given=True)


class VariableWatcher(dispatch.Recorder):
    """A recorder that keeps nothing but the trainable variables that are read."""

    def __init__(self) -> None:
        self.variables: dict[int, Any] = {}

    def note_read(self, variable: Any, tensor: Any) -> None:
        """Keep the variable."""
        if variable.trainable:
            self.variables.setdefault(id(variable), variable)


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Make `f` a function whose gradient is the one it says.

    `f(*args, **kwargs)` returns `(result, grad_fn)`; `grad_fn(*upstream)` one cotangent for each
    positional argument (and, if `f` uses variables, takes `variables=` and returns also theirs).
    ValueError if the numbers do not match; TypeError if variables are used and `grad_fn` does not
    take them.

    >>> import talweg as tf
    >>> @tf.custom_gradient
    ... def double(x):
    ...     return 2.0 * x, lambda upstream: 5.0 * upstream
    >>> x = tf.constant(1.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = double(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(5.0)
    """
    if f is None:
        return custom_gradient
    function = f

    @functools.wraps(function)
    def call_with_rule(*args: object, **kwargs: object) -> Any:
        if args and _is_method(call_with_rule, args[0]):
            bound = function.__get__(args[0], type(args[0]))  # type: ignore[attr-defined]
            return _apply(bound, args[1:], kwargs)
        return _apply(function, args, kwargs)

    # As TensorFlow's decorators do; GPflow takes the function's rule by it.
    call_with_rule.__original_wrapped__ = function  # type: ignore[attr-defined]
    return call_with_rule


def _is_method(decorated: Any, first: Any) -> bool:
    """Return whether a decorated function is a method
    of its first argument, which it then was given.
    """
    name = getattr(decorated, "__name__", None)
    if isinstance(first, Tensor) or not name or "." not in decorated.__qualname__:
        return False
    owner = first if isinstance(first, type) else type(first)
    found = inspect.getattr_static(owner, name, None)
    return getattr(found, "__func__", found) is decorated


def _apply(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    leaves = [
        convert_to_tensor(a) if is_tensor_like(a) or _is_number(a) else a
        for a in structure.flatten(args)
    ]
    base = dispatch.context.base
    if hasattr(base, "captured"):  # the rule is to know them as the body does
        leaves = [_bring_in(base, a) for a in leaves]
    arguments = [part_of(a) for a in leaves]
    inside = VariableWatcher()
    outer = dispatch.context.recorders
    # What happens inside is shown to the tapes, since the user's rule may use tensors computed
    # there; the results leave through `stop_gradient`, so they are reached by that rule alone.
    with dispatch.only((inside, *outer)):
        dispatch.enter()
        try:
            answer = function(*structure.pack(args, leaves), **kwargs)
        finally:
            dispatch.leave()
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        raise type_error(
            "TW304",
            f"{_name(function)} must return (result, grad_fn), got {type(answer).__name__}",
        )
    result, grad_fn = answer
    results = structure.flatten(result)
    variables = [v for v in inside.variables.values() if not any(v is a for a in arguments)]
    with dispatch.only(()):
        flat = [stop_gradient(convert_to_tensor(part_of(leaf))) for leaf in results]
    observer = dispatch.state.observer
    in_graph = base is not None or any([getattr(a, "level", 0) for a in arguments])
    if in_graph or outer or observer is not None:
        reads = [variable.value() for variable in variables]
        pullback = _pullback(function, grad_fn, arguments, variables, flat, results)
        rule = CustomRule(_name(function), pullback)
        operands = tuple(a for a in arguments if isinstance(a, Tensor)) + tuple(reads)
        if in_graph:
            flat = list(with_rule(*flat, *operands, rule=rule, count=len(flat)))
        else:
            for recorder in outer:
                recorder.record(rule, operands, tuple(flat), {})
            if observer is not None:
                observer.applied(rule, operands, tuple(flat), {})
    return structure.pack(result, [_with_part(*pair) for pair in zip(results, flat)])


def part_of(leaf: object) -> Any:
    """Return the tensor that stands for a leaf: the flat values of a ragged tensor."""
    return leaf.flat_values if hasattr(leaf, "_with_gradient") else leaf


def _with_part(leaf: object, part: Any) -> Any:
    """Put a part back into a composite value: the inverse of `part_of`."""
    return leaf._with_gradient(part) if hasattr(leaf, "_with_gradient") else part


def _bring_in(graph: Any, leaf: object) -> Any:
    part = part_of(leaf)
    return _with_part(leaf, graph.bring_in(part)) if _is_outside(graph, part) else leaf


def _is_outside(graph: Any, value: object) -> bool:
    """Return whether an argument is a tensor of a graph or batch around `graph`."""
    if not 0 < getattr(value, "level", 0) < graph.level:
        return False
    node = getattr(value, "node", None)
    return node is None or node.table is not graph.table


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex)) or hasattr(value, "__array__")


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _pullback(
    function: Callable[..., Any],
    grad_fn: Any,
    arguments: list,
    variables: list,
    flat: list,
    results: list,
) -> Callable[[list], list]:
    """Map cotangents of the results to those of all tensor arguments and variables.

    The user's function is given, and may give, ragged cotangents of what is ragged.
    """
    takes = inspect.signature(grad_fn).parameters
    accepts = "variables" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    if variables and not accepts:
        raise type_error(
            "TW304",
            f"@tf.custom_gradient: {_name(function)} uses variables "
            f"{[v.name for v in variables]}, but its grad_fn takes no `variables` argument",
            hint="def grad_fn(*upstream, variables=None): return grads, grads_of_variables",
        )

    def pullback(g: list) -> list:
        g = [zeros_of(z) if part is None else part for part, z in zip(g, flat)]
        g = [_with_part(*pair) for pair in zip(results, g)]
        if variables:
            by_arguments, by_variables = grad_fn(*g, variables=variables)
            by_variables = structure.flatten(by_variables)
        else:
            by_arguments, by_variables = grad_fn(*g), []
        given = structure.flatten(by_arguments)
        if len(given) != len(arguments) or len(by_variables) != len(variables):
            raise value_error(
                "TW304",
                f"custom_gradient function {_name(function)} expected to return {len(arguments)} "
                f"gradients for its arguments and {len(variables)} for its variables, but returned "
                f"{len(given)} and {len(by_variables)} instead.",
            )
        tensors = [part_of(c) for c, a in zip(given, arguments) if isinstance(a, Tensor)]
        return [None if c is None else convert_to_tensor(c) for c in tensors] + by_variables

    return pullback


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f`, with its intermediate results computed again in the backward pass instead of
    kept."""

    @functools.wraps(f)
    def recompute(*args: object, **kwargs: object) -> Any:
        return custom_gradient(functools.wraps(f)(functools.partial(_recomputing, f)))(
            *args, **kwargs
        )

    return recompute


def _recomputing(f: Callable[..., Any], *args: object, **kwargs: object) -> tuple:
    watchers = [r for r in dispatch.context.recorders if isinstance(r, VariableWatcher)]
    with dispatch.only(tuple(watchers)):
        result = f(*args, **kwargs)

    def grad_fn(*upstream: object, variables: Any = None) -> Any:
        # Each argument by itself, though one tensor may be given for several of them.
        arguments = [identity(a) if isinstance(a, Tensor) else a for a in structure.flatten(args)]
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        with GradientTape() as tape:
            tape.watch([a for a in tensors if a.dtype.is_differentiable])
            again = f(*structure.pack(args, arguments), **kwargs)
        sources = tensors + list(variables or [])
        gradients = tape.gradient(
            structure.flatten(again), sources, output_gradients=list(upstream)
        )
        by_arguments = gradients[: len(tensors)]
        full = iter(by_arguments)
        aligned = [next(full) if isinstance(a, Tensor) else None for a in arguments]
        return (aligned, gradients[len(tensors) :]) if variables else aligned

    return result, grad_fn


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with the gradient of the identity: the straight-through estimator."""

    @custom_gradient
    def pass_through(*args: object, **kwargs: object) -> tuple:
        def grad_fn(*upstream: object, variables: Any = None) -> Any:
            grads = upstream[0] if len(upstream) == 1 else list(upstream)
            return (grads, [None] * len(variables)) if variables else grads

        return f(*args, **kwargs), grad_fn

    return functools.wraps(f)(pass_through)
