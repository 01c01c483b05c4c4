"""tf.nondifferentiable_batch_function: functions of batches of bounded size."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from talweg.api.export import export, look_up
from talweg.core.errors import invalid
from talweg.core.value import Tensor


@export("nondifferentiable_batch_function", "compat.v1.nondifferentiable_batch_function")
def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: list | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a function of batches: tensors whose first axes are equally long.

    Each call is a batch of its own here, so the number of threads, the time to wait for other
    calls, the queue and the sizes of batches that are allowed mean nothing.  InvalidArgumentError
    for batches of more than max_batch_size rows or of unequal ones, LookupError where a gradient is
    asked.

    >>> import talweg as tf
    >>> @tf.nondifferentiable_batch_function(1, 8, 100, [4, 8])
    ... def doubled(x):
    ...     return 2.0 * x
    >>> doubled(tf.constant([1.0, 2.0, 3.0])).numpy()
    array([2., 4., 6.], dtype=float32)
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        traced = look_up("function")(fn, autograph=autograph)

        @functools.wraps(fn)
        def call(*args: object) -> Any:
            return _without_gradient(functools.partial(_run, traced, max_batch_size), args)

        return call

    return decorate


def _run(function: Callable[..., Any], most: int, args: list) -> Any:
    """Return the results for one batch."""
    tensors = [look_up("convert_to_tensor")(x) for x in args]
    counts = [x.shape[0] for x in tensors if x.shape.rank]
    counts = [count for count in counts if count is not None]
    if len(set(counts)) > 1:
        raise invalid("TW204", f"a batch of arguments with {counts} rows", "as many rows each")
    if counts and counts[0] > most:
        raise invalid("TW207", f"a batch of {counts[0]} rows", f"at most max_batch_size={most}")
    return function(*tensors)


def _without_gradient(run: Callable[[list], Any], args: tuple) -> Any:
    """Call `run(args)`; LookupError where a gradient is asked."""

    def refuse(*cotangents: Tensor, **more: object) -> Any:
        raise LookupError(
            "gradient registry has no entry for: BatchFunction; the function was made by "
            "tf.nondifferentiable_batch_function  [TW304]"
        )

    return look_up("custom_gradient")(lambda *tensors: (run(list(tensors)), refuse))(*args)
