"""Directives of loops: calls that the conversion reads and removes."""

from __future__ import annotations


def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: object = None,
    shape_invariants: object = None,
) -> None:
    """Set options of the loop whose body begins with this call; without effect elsewhere.

    maximum_iterations: an integer, after how many iterations a loop over tensors ends.
    shape_invariants: a list of pairs (variable, `tf.TensorShape`), shapes that hold in every
    iteration, None where a dimension changes.  parallel_iterations, swap_memory: accepted.

    >>> import talweg as tf
    >>> @tf.function
    ... def powers(n):
    ...     x = tf.constant([1])
    ...     for i in tf.range(n):
    ...         tf.autograph.experimental.set_loop_options(
    ...             shape_invariants=[(x, tf.TensorShape([None]))]
    ...         )
    ...         x = tf.concat([x, x[-1:] * 2], axis=0)
    ...     return x
    >>> powers(tf.constant(3))
    <tf.Tensor: shape=(4,), dtype=int32, numpy=array([1, 2, 4, 8], dtype=int32)>
    """
