"""Explanations of absent gradients, for tapes, graphs and optimizers; the doctor gives them."""

from __future__ import annotations

from types import FrameType
from typing import Any

from talweg.api.autodiff import evidence_in_graph
from talweg.api.export import export, implement_hook
from talweg.core import dispatch
from talweg.core.value import Tensor
from talweg.doctor.absent.explain import explained
from talweg.doctor.absent.explanation import Explanations
from talweg.doctor.absent.flow import Walker
from talweg.eager.absence import evidence_of
from talweg.eager.custom import CustomRule
from talweg.eager.tape import ones_of
from talweg.eager.variable import variable_of
from talweg.graph import structure
from talweg.transform.absent import Evidence


@implement_hook("explain_absence")
def explain_absence(tape: Any, target: Any, sources: Any, frame: FrameType | None) -> Any:
    """The explanations for `tape.explain`."""
    targets = structure.flatten(target)
    _try_custom_rules(tape, targets, structure.flatten(sources))
    targets = targets[0] if len(targets) == 1 else targets
    walker = Walker()
    found = [
        explained(evidence_of(tape, targets, source, frame), walker)
        for source in structure.flatten(sources)
    ]
    single = len(found) == 1 and not isinstance(sources, (list, tuple, dict))
    return found[0] if single else Explanations(found)


def _try_custom_rules(tape: Any, targets: list, sources: list) -> None:
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
    """A ValueError that explains an absent gradient."""
    return ValueError(explained(evidence).in_an_error())


@implement_hook("absence_in_a_line")
def absence_in_a_line(evidence: Evidence) -> str:
    """One line for a log."""
    return explained(evidence).in_a_line()


@export("explain_gradients")
def explain_gradients(ys: Any, xs: Any, stop_gradients: Any = None) -> Any:
    """Why the tensors `ys` of a graph have a gradient by each of `xs`, or have none.

    Takes what `tf.gradients` takes, and gives what `GradientTape.explain` gives: an `Explanation`
    for one x, `Explanations` for a list.  RuntimeError in eager mode, where tapes explain.

    >>> import talweg.compat.v1 as tf
    >>> import talweg
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [])
    ...     talweg.explain_gradients(tf.round(x) * 2.0, x).code
    'TW324'
    """
    sources = xs if isinstance(xs, (list, tuple)) else [xs]
    found = [explained(evidence) for evidence in evidence_in_graph(ys, sources, stop_gradients)]
    return Explanations(found) if sources is xs else found[0]
