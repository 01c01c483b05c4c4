"""Checking gradients, and watching them while a program trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.doctor.gradient_check.check import GradientCheck, check
from talweg.doctor.watch import GradientWatch

if TYPE_CHECKING:
    pass


@export("check_gradients", "compat.v1.check_gradients")
@as_it_is
def check_gradients(
    f: Callable[..., Any],
    args: Sequence[Any] = (),
    *,
    variables: Sequence[Any] | None = None,
    directions: int = 4,
    tolerance: float | None = None,
    near: float = 0.1,
    seed: int = 0,
    float64: bool = True,
) -> GradientCheck:
    """Return whether the gradient of `f(*args)` is right at this point, and smooth near it.

    f: a function of tensors (traced or not) that gives tensors.  args: a list of its arguments,
    floats or nests of these.  variables: variables that f uses, to be checked, too; they get their
    values back.  Along random `directions`, forward and reverse mode are compared with differences
    of values and, where f is analytic, with a complex step, in float64 if f takes that.  If they
    differ by more than `tolerance` (relative), the worst element is named.  Around the point, as
    far as `near` times the size of the arguments, jumps are looked for: a loss that switches its
    formula.  The result is true if all is well, and prints what is not.

    >>> import talweg as tf
    >>> bool(tf.check_gradients(tf.tanh, [[0.5, -1.0]]))
    True
    >>> def loss(error):
    ...     return tf.square(error) if error > 0.5 else error
    >>> tf.check_gradients(loss, [0.52]).verdict
    'jump'
    """
    return check(f, args, variables, directions, tolerance, near, seed, float64)


@export("watch_gradients", "compat.v1.watch_gradients")
@as_it_is
def watch_gradients(variables: Iterable[Any], every: int = 1) -> GradientWatch:
    """Return a watch over the gradients of variables, step by step, with a verdict and a picture.

    Inside `with watch:` it sees what tapes give, also in functions traced meanwhile; elsewhere it
    is told by `watch.record(gradients)`.  It keeps norms, the ratio of each update to the weights,
    and which units (along the last axis) ever had a gradient; of every `every`-th step.
    `watch.report()` has a row for each variable and the worst verdict: not finite, exploding, no
    gradient, dead, vanishing, large steps, fine.  `watch.plot("gradients.svg")` draws it.

    >>> import talweg as tf
    >>> w = tf.Variable([1.0, 2.0], name="w")
    >>> with tf.watch_gradients([w]) as watch:
    ...     for _ in range(5):
    ...         with tf.GradientTape() as tape:
    ...             loss = tf.reduce_sum(tf.square(w))
    ...         _ = w.assign_sub(0.01 * tape.gradient(loss, w))
    >>> watch.report().verdict
    'fine'
    """
    return GradientWatch(variables, every)
