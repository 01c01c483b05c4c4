"""compat.v1: cond, case and while_loop with their older arguments.

In eager mode a list of one result is that result, unless `strict`; in graphs it stays a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api import control as v2
from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.errors import type_error
from talweg.core.value import Tensor
from talweg.graph import structure
from talweg.trace import control

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike


def _unpack_single(result: Any, strict: bool) -> Any:
    """Return the only entry of a list of one, unless it is strict."""
    alone = type(result) in (list, tuple) and len(result) == 1
    return result[0] if alone and not strict else result


def _either(new: object, old: object, names: tuple[str, str]) -> Any:
    """Return an argument that has an older name; TypeError if both are given."""
    if old is not None and new is not None:
        raise type_error("TW104", f"cond: cannot specify both {names[1]} and {names[0]}")
    return old if new is None else new


@export("compat.v1.cond")
def cond(
    pred: object,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return `true_fn()` if `pred` is true, `false_fn()` if not.

    pred: a scalar bool.  strict: whether a list of one result
    stays a list in eager mode.  fn1, fn2: older names
    of the functions.  TypeError if either cannot be called, or if they return different dtypes.

    >>> import talweg.compat.v1 as tf
    >>> tf.cond(tf.constant(True), lambda: [1], lambda: [2])
    1
    """
    true_fn = _either(true_fn, fn1, ("fn1", "true_fn"))
    false_fn = _either(false_fn, fn2, ("fn2", "false_fn"))
    v2.callable_or_error(true_fn, "cond", "true_fn")
    v2.callable_or_error(false_fn, "cond", "false_fn")
    if dispatch.context.base is not None:
        return v2.cond(pred, true_fn, false_fn)
    return _unpack_single(v2.cond(pred, true_fn, false_fn), strict)


@export("compat.v1.case")
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first pair whose predicate is true, else of
    `default`.

    See `tf.case`.  strict: whether a list of one result stays a list in eager mode.  exclusive: in
    a graph, InvalidArgumentError if several predicates are true.

    >>> import talweg.compat.v1 as tf
    >>> x = tf.constant(5)
    >>> tf.case([(x < 3, lambda: "small"), (x < 9, lambda: "middle")], default=lambda: "large")
    'middle'
    """
    pairs = v2.check_pairs(pred_fn_pairs, default, exclusive)
    graph = dispatch.state.in_graph is not None
    if graph and control.in_graph(*[predicate for predicate, _ in pairs]):
        return v2.case_in_graph(pairs, default, exclusive)
    return _unpack_single(v2.case(pred_fn_pairs, default, exclusive), strict)


@export("compat.v1.while_loop")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any] | Mapping[str, Any] | TensorLike,
    shape_invariants: Sequence[Any] | Mapping[str, Any] | ShapeLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Tensor:
    """Return `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` holds; see `tf.while_loop`.

    Unless return_same_structure, a single loop variable comes back without a list around it.

    >>> import talweg.compat.v1 as tf
    >>> int(tf.while_loop(lambda i: i < 10, lambda i: i + 3, [tf.constant(0)]))
    12
    """
    in_graph = dispatch.context.base is not None
    finals = v2.while_loop(
        cond,
        v2.callable_or_error(body, "while_loop", "body") if in_graph else _as_list(body),
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
    )
    if not return_same_structure and len(structure.flatten(finals, composites=True)) == 1:
        return structure.flatten(finals)[0]
    return finals


def _as_list(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a body that may return one value without a list around it."""
    v2.callable_or_error(body, "while_loop", "body")

    def run(*variables: object) -> Any:
        found = body(*variables)
        return found if isinstance(found, (list, tuple)) else [found]

    return run
