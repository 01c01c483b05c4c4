"""Explanations of absent gradients, for tapes, graphs and optimizers; the doctor gives them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from talweg.api.autodiff import evidence_in_graph
from talweg.api.composite_ops import as_it_is
from talweg.api.debugging.numerics import values_in_session
from talweg.api.export import export, implement_hook
from talweg.core import dispatch
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.doctor.absent.explain import explain_gradient
from talweg.doctor.absent.explanation import Explanations
from talweg.doctor.absent.flow import Walker
from talweg.doctor.gradient_values import with_values
from talweg.doctor.nonfinite.explain import ledger_of
from talweg.doctor.nonfinite.gradients import is_array
from talweg.doctor.nonfinite.ledger import content, noting_scopes
from talweg.eager.absence import evidence_of
from talweg.eager.custom import CustomRule
from talweg.eager.tape import GradientTape, ones_of
from talweg.eager.tensor import EagerTensor
from talweg.eager.variable import variable_of
from talweg.graph import structure
from talweg.transform.absent import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talweg.core.annotations import TensorLike


@implement_hook("explain_absence")
def explain_absence(
    tape: GradientTape, target: object, sources: object, frame: FrameType | None
) -> Any:
    """Return the explanations for `tape.explain`."""
    targets = structure.flatten(target)
    _try_custom_rules(tape, targets, structure.flatten(sources))
    targets = targets[0] if len(targets) == 1 else targets
    walker = Walker()
    found = [
        explain_gradient(evidence_of(tape, targets, source, frame), walker)
        for source in structure.flatten(sources)
    ]
    found = _with_values(tape, targets, structure.flatten(sources), found)
    single = len(found) == 1 and not isinstance(sources, (list, tuple, dict))
    return found[0] if single else Explanations(found)


def _with_values(tape: GradientTape, targets: Any, sources: Any, explanations: Any) -> list:
    """Add the values of gradients to the explanations, where there is one target with a value."""
    if type(targets) is list or tape._records is None or dispatch.context.base is not None:
        return explanations
    target = content(tape._target(targets)) if isinstance(targets, Tensor) else None
    if not is_array(target) or not any(one.connected for one in explanations):
        return explanations
    ledger = ledger_of(tape._records)
    target = ledger.apart_of.get(id(tape._target(targets)), target)
    flat = [variable_of(source) for source in sources]
    arrays = []
    for source, one in zip(flat, explanations):
        parts = tape._parts(source) if one.connected else []
        arrays.append(ledger.apart_of.get(id(parts[0]), content(parts[0])) if parts else None)
    whole = partial(tape._sweep, [tape._target(targets)], [ones_of(targets)], flat)
    return with_values(explanations, ledger, target, arrays, whole)


def _try_custom_rules(tape: GradientTape, targets: list, sources: list) -> None:
    """Ask gradient functions of the user's for their gradients: they may give None."""
    if not any(type(record[0]) is CustomRule for record in tape._records or ()):
        return
    if not all(isinstance(leaf, Tensor) for leaf in targets):
        return
    with dispatch.only(()):
        seeds = [ones_of(t) if t.dtype.is_differentiable else None for t in targets]
        tape._sweep(targets, seeds, [variable_of(source) for source in sources])


@implement_hook("absence_as_error")
def absence_as_error(evidence: Evidence) -> Exception:
    """Return a ValueError that explains an absent gradient."""
    return ValueError(explain_gradient(evidence).in_an_error())


@implement_hook("absence_in_a_line")
def absence_in_a_line(evidence: Evidence) -> str:
    """Shorten an explanation to one line for a log."""
    return explain_gradient(evidence).in_a_line()


@export("explain_gradients", "compat.v1.explain_gradients")
@as_it_is
def explain_gradients(
    ys: TensorLike | Callable[[], Any],
    xs: TensorLike,
    stop_gradients: Sequence[Any] | TensorLike | None = None,
    *,
    session: object = None,
    feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """Explain the gradient of `ys` by each of `xs`, or why there is none.

    ys: tensors of a graph, as `tf.gradients` takes them; or a function of no arguments that returns
    the target, which is run.  xs: tensors or variables.  In a graph, `session` (the default one if
    only `feed_dict` is given) runs it for the values, so that zeros, NaN, vanishing and exploding
    gradients are explained, too; without, it is said whether there is a path.  Gives what
    `GradientTape.explain` gives: an `Explanation` for one x, `Explanations` for a nest.

    RuntimeError for eager tensors, which tapes explain.

    >>> import talweg as tf
    >>> w = tf.Variable([-1.0, -2.0])
    >>> found = tf.explain_gradients(lambda: tf.reduce_sum(tf.nn.relu(w)), w)
    >>> found.kind, found.code
    ('zero', 'TW350')

    >>> import talweg.compat.v1 as tf1
    >>> with tf1.Graph().as_default():
    ...     x = tf1.placeholder(tf1.float32, [])
    ...     tf.explain_gradients(tf1.round(x) * 2.0, x).code
    'TW324'
    """
    if callable(ys) and not isinstance(ys, Tensor):
        return _of_function(ys, xs)
    sources = structure.flatten(xs)
    if any(isinstance(leaf, EagerTensor) for leaf in structure.flatten(ys)):
        raise RuntimeError(
            "explain_gradients: ys is a tensor with a value, and nothing says how it was made\n"
            "  try: tape.explain(ys, xs) with the tape that recorded it, or "
            "explain_gradients(lambda: loss_of(xs), xs)  [TW302]"
        )
    explanations = [
        explain_gradient(evidence) for evidence in evidence_in_graph(ys, sources, stop_gradients)
    ]
    if feed_dict is not None:
        session = session or hooks.get_default_session()
    targets = structure.flatten(ys)
    if session is not None and len(targets) == 1 and stop_gradients is None:
        flat = [variable_of(source) for source in sources]
        ledger, arrays, values = values_in_session(targets, flat, session, feed_dict)
        explanations = with_values(explanations, ledger, arrays[0], values)
    return (
        explanations[0]
        if len(explanations) == 1 and sources[0] is xs
        else Explanations(explanations)
    )


def _of_function(function: Callable[..., Any], xs: Any) -> Any:
    """Explain the gradients of a function's result, which is computed under a tape."""
    with noting_scopes() as scopes:
        with GradientTape(persistent=True) as tape, dispatch.observe(scopes):
            tape.watch([leaf for leaf in structure.flatten(xs) if isinstance(leaf, Tensor)])
            target = function()
        return tape.explain(target, xs)
