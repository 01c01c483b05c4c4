"""tf.autodiff and the functions beside the tape: custom gradients, batching, forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, operation
from talweg.core.errors import value_error
from talweg.eager import custom
from talweg.eager.forward import ForwardAccumulator
from talweg.eager.tensor import wrap
from talweg.graph import structure
from talweg.transform import batch

export("autodiff.ForwardAccumulator")(ForwardAccumulator)
export("custom_gradient")(custom.custom_gradient)
export("recompute_grad")(custom.recompute_grad)
export("grad_pass_through")(custom.grad_pass_through)


def _unit_rows(dtype: Any) -> Callable[[int], Any]:
    return lambda size: wrap(np.eye(size, dtype=dtype.numpy_dtype))


@operation("jacobian_rows")
def jacobian_rows(sweep: Any, y: Any, at_once: bool) -> list:
    """The rows of a Jacobian, for `GradientTape.jacobian`."""
    return batch.jacobian_rows(sweep, y, _unit_rows(y.dtype), at_once)


@operation("batch_jacobian_rows")
def batch_jacobian_rows(sweep: Any, y: Any, x: Any, at_once: bool) -> Any:
    """The rows of a batch Jacobian, for `GradientTape.batch_jacobian`."""
    return batch.batch_jacobian_rows(sweep, y, _unit_rows(y.dtype), at_once)


@export("vectorized_map")
def vectorized_map(
    fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` applied to every slice of `elems` (a nest) along the first axis, all at once.

    Returns a nest like `fn`'s result, with the axis in front.  ValueError if the first dimensions
    differ.

    >>> import talweg as tf
    >>> rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.vectorized_map(lambda row: tf.reduce_sum(row * row), rows)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 5., 25.], dtype=float32)>
    """
    leaves = [tensor(leaf) for leaf in structure.flatten(elems)]
    sizes = {leaf.dims[0] if leaf.dims else None for leaf in leaves}
    if None in sizes or len(sizes - {1}) > 1:
        raise value_error(
            "TW204", f"vectorized_map: first dimensions of elems differ: {sorted(map(str, sizes))}"
        )
    size = max((n for n in sizes if n is not None), default=0)

    def run(slices: list) -> tuple[list, Any]:
        result = fn(structure.pack(elems, slices))
        return [tensor(leaf) for leaf in structure.flatten(result)], result

    spread = [batch.broadcast_to(x, shape=(size, *x.dims[1:])) if x.dims[0] != size else x
              for x in leaves]  # fmt: skip
    parts, result = batch.vectorize(run, spread, size)
    return structure.pack(result, parts)


def _needs_a_graph(function: str) -> RuntimeError:
    return RuntimeError(
        f"tf.{function} is not supported when eager execution is enabled. Use tf.GradientTape "
        "instead.  [TW302]"
    )


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = None,
) -> Any:
    """Derivatives inside a graph; RuntimeError in eager mode, where `tf.GradientTape` is meant."""
    raise _needs_a_graph("gradients")


@export("hessians")
def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> Any:
    """Second derivatives inside a graph; RuntimeError in eager mode: use `tape.jacobian` twice."""
    raise _needs_a_graph("hessians")
