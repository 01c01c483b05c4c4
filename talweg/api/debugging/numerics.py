"""Asking where a NaN, an infinity or a zero came from, and stopping at the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.doctor.nonfinite.checks import checks
from talweg.doctor.nonfinite.explain import (
    explain_arrays,
    explain_function,
    explain_tape,
    name_sources,
)
from talweg.doctor.nonfinite.ledger import Ledger, keeping
from talweg.doctor.nonfinite.report import NumericsExplanation
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.trace.gradients import GraphSweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talweg.core.annotations import TensorLike
    from talweg.eager.tape import GradientTape


@export("debugging.enable_check_numerics")
def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Let every operation from now on that gives NaN or an infinity raise InvalidArgumentError.

    The error says which element of which operation it was, with what operands, why, and where the
    operation stands; for a derivative also which operation it differentiates.  This holds for
    eager operations, functions (also those traced before), sessions and compiled programs.
    Operations that only move values about (reshapes, slices, `tf.where`) are not checked.  Calling
    it twice is the same as once.  The limits are accepted: errors here name one line.

    >>> import talweg as tf
    >>> tf.debugging.enable_check_numerics()
    >>> try:
    ...     tf.math.log(tf.constant([1.0, 0.0]))
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(error.message.splitlines()[0])
    log gave Inf at 1 of 2 elements, first at [1] (float32 [2]): log is not finite where x = 0, ...
    >>> tf.debugging.disable_check_numerics()
    """
    checks.enable()


@export("debugging.disable_check_numerics")
def disable_check_numerics() -> None:
    """Let operations give NaN and infinities again; nothing happens if they may already.

    >>> import talweg as tf
    >>> tf.debugging.disable_check_numerics()
    >>> 1.0 / tf.constant(0.0)
    <tf.Tensor: shape=(), dtype=float32, numpy=inf>
    """
    checks.disable()


@export("explain_numerics", "compat.v1.explain_numerics")
@as_it_is
def explain_numerics(
    target: TensorLike | Callable[[], Any],
    sources: TensorLike | None = None,
    tape: GradientTape | None = None,
    *,
    session: object = None,
    feed_dict: Mapping[Any, Any] | None = None,
) -> NumericsExplanation:
    """Explain the origin of a NaN, an infinity or a zero: operation, element, line, cure.

    target: a tensor or nest of these that `tape` recorded (the tape must be persistent, or not used
    yet); or a tensor of a graph, with `session` (the default one if None) and `feed_dict`; or a
    function of no arguments, which is run, with everything in it, traced or not.  sources:
    variables or tensors; if the target is finite, the gradients by these are looked at: where NaN
    or infinity entered them, why they are zero, vanish or explode.  The answer is true unless all
    is well, prints what is wrong, and has it as fields.

    >>> import talweg as tf
    >>> x = tf.constant([1.0, 0.0])
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.reduce_sum(tf.where(x > 0.0, tf.math.log(x), 0.0))
    >>> found = tf.explain_numerics(y, x, tape)
    >>> found.code, found.operation, found.element
    ('TW346', 'log', (1,))
    """
    if tape is not None:
        return explain_tape(target, sources, tape)
    if any([type(leaf) is Symbol for leaf in structure.flatten(target)]):
        return _in_session(target, sources, session, feed_dict)
    if callable(target):
        return explain_function(target, sources)
    raise type_error(
        "TW104",
        f"explain_numerics: target is {type(target).__name__}, and nothing says how it was made",
        "a function of no arguments, a tensor with the tape that recorded it, or a tensor of a "
        "graph with session=...",
        "explain_numerics(lambda: loss_of(x), model.trainable_variables)",
    )


def _in_session(
    target: object, sources: object, session: object, feed_dict: object
) -> NumericsExplanation:
    """Explain tensors of a graph: run them, with the operations between them, in a session."""
    session = session or hooks.get_default_session()
    if session is None:
        raise value_error(
            "TW503", "explain_numerics: the target is a tensor of a graph", "session=..."
        )
    targets = structure.flatten(target)
    flat, names = name_sources(sources)
    ledger, arrays, values = values_in_session(targets, flat, session, feed_dict)
    kept = [
        (array, _name_of(leaf, name))
        for array, leaf, name in zip(values, flat, names)
        if array is not None
    ]
    return explain_arrays(ledger, arrays, [array for array, _ in kept], [name for _, name in kept])


def values_in_session(
    targets: list, sources: list, session: Any, feed_dict: object
) -> tuple[Ledger, list, list]:
    """Run tensors of a graph in a session: the ledger, the arrays of the targets and of the
    sources (None where a source was not used).
    """
    with keeping() as ledger:
        session.run(targets, feed_dict)
    arrays = [ledger.array_of(symbol.node) for symbol in targets]
    found = []
    for leaf in sources:
        own = [ledger.array_of(node) for node in _nodes_of(targets, leaf)]
        found.append(next((array for array in own if array is not None), None))
    return ledger, arrays, found


def _name_of(leaf: object, name: str) -> str:
    own = leaf.name if isinstance(leaf, Tensor) or hasattr(leaf, "handle") else None
    return str(own).split(":")[0] if own else name


def _nodes_of(targets: list, source: Any) -> list:
    """Return the nodes of a graph that give the value of a source."""
    if type(source) is Symbol:
        return [source.node]
    sweep = GraphSweep(targets[0].graph, targets, [source.handle], [])
    return [part.node for part in sweep.parts[0]]
