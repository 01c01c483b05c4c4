"""Control flow, run as Python: cond, case, switch_case, while_loop.

Branches and bodies are called at once with tensors that have values, so tapes and accumulators see
the operations inside, and derivatives of any order go through.  The functions over the elements of
a tensor (`map_fn`, `scan`, the folds) are in `api/mapping/map.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.debugging.assertions import assert_true
from talweg.api.export import export
from talweg.core import dispatch, dtypes
from talweg.core.errors import type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.graph import structure
from talweg.trace import control, paths
from talweg.trace.autograph.convert import adopt_function
from talweg.transform.batch import BatchTensor

if TYPE_CHECKING:
    from talweg.core.annotations import PositionalFunction, ShapeLike, TensorLike

state = dispatch.state
IN_FORCE = paths  # imported for what it registers


def callable_or_error(value: object, function: str, argument: str) -> Any:
    """Return `value`, as AutoGraph has it called, or a TypeError if it cannot be called."""
    if not callable(value):
        raise type_error(
            "TW104",
            f"{function}: '{argument}' must be callable, got {value!r}",
            "a function",
            f"{argument}=lambda ...: ...",
        )
    return adopt_function(value)


def _truth(value: object, function: str, argument: str) -> bool:
    """Return the truth value of a predicate; ValueError if it has several elements or is None."""
    if value is None:
        raise value_error("TW104", f"{function}: {argument} is None", "a scalar truth value")
    if not isinstance(value, (bool, int, float, str, bytes)):
        value = tensor(value)
        if value.shape.num_elements() != 1:
            raise value_error(
                "TW203", f"{function}: {argument} has shape {value.shape}", "a scalar truth value"
            )
    return bool(value)


@export("cond")
def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    name: str | None = None,
) -> Any:
    """Return `true_fn()` if `pred` is true, `false_fn()` if not; only one of them is called.

    pred: a scalar, a tensor or not.  The result is what the chosen function returns.  TypeError if
    either cannot be called, ValueError if `pred` is no scalar.

    >>> import talweg as tf
    >>> x = tf.constant(3.0)
    >>> tf.cond(x > 2.0, lambda: x * x, lambda: -x)
    <tf.Tensor: shape=(), dtype=float32, numpy=9.0>
    """
    true_fn = callable_or_error(true_fn, "cond", "true_fn")
    false_fn = callable_or_error(false_fn, "cond", "false_fn")
    if state.in_graph is not None and control.in_graph(pred):
        if isinstance(pred, bool):
            raise type_error("TW104", "cond: pred must not be a Python bool", "a tensor")
        return control.cond(pred, true_fn, false_fn)
    return true_fn() if _truth(pred, "cond", "pred") else false_fn()


def check_pairs(pred_fn_pairs: object, default: object, exclusive: bool) -> list:
    """Check the pairs of `case`; TypeError or ValueError for others."""
    if isinstance(pred_fn_pairs, dict) and not exclusive:
        raise value_error(
            "TW207", "case: 'pred_fn_pairs' is a dict, whose order means nothing", "a list of pairs"
        )
    pairs = _pairs("case", "pred_fn_pairs", pred_fn_pairs)
    if not pairs:
        raise value_error("TW207", "case: 'pred_fn_pairs' is empty", "at least one pair")
    for predicate, function in pairs:
        if not is_tensor_like(predicate) or predicate.dtype is not dtypes.bool_:
            raise type_error(
                "TW104", f"case: pred must be a tensor of dtype bool, got {predicate!r}"
            )
        callable_or_error(function, "case", "fn")
    if default is not None:
        callable_or_error(default, "case", "default")
    return pairs


def _pairs(function: str, argument: str, given: object) -> list:
    """Return the pairs of a list, tuple or dict; TypeError where an entry is none."""
    if not isinstance(given, (list, tuple, dict)):
        raise type_error(
            "TW104",
            f"{function}: '{argument}' must be a list, tuple, or dict, got {type(given)}",
        )
    entries = list(given.items()) if isinstance(given, dict) else list(given)
    for entry in entries:
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise type_error(
                "TW104", f"{function}: each entry in '{argument}' must be a 2-tuple, got {entry!r}"
            )
    return entries


@export("case")
def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first pair whose predicate is true, else of
    `default`.

    pred_fn_pairs: a list of (scalar bool tensor, function).  strict: accepted, without effect.
    TypeError for entries of other types, ValueError for an empty list, InvalidArgumentError if no
    predicate is true and there is no default.  As in TensorFlow, `exclusive` is not checked
    outside graphs.

    >>> import talweg as tf
    >>> x = tf.constant(5)
    >>> tf.case([(x < 3, lambda: "small"), (x < 9, lambda: "middle")], default=lambda: "large")
    'middle'
    """
    pairs = check_pairs(pred_fn_pairs, default, exclusive)
    if state.in_graph is not None and control.in_graph(*[predicate for predicate, _ in pairs]):
        return case_in_graph(pairs, default, exclusive)
    for predicate, function in pairs:
        if _truth(predicate, "case", "pred"):
            return function()
    if default is not None:
        return default()
    return assert_true(False, "case: none of the conditions is true and there is no default")


def case_in_graph(pairs: list, default: Any, exclusive: bool) -> Any:
    """Compute `case` as one branch."""
    index = control.first_true([p for p, _ in pairs], exclusive, default is not None)
    functions = [adopt_function(function) for _, function in pairs]
    functions.append(functions[-1] if default is None else adopt_function(default))
    return control.choose(index, functions, "case")


@export("switch_case")
def switch_case(
    branch_index: object,
    branch_fns: Any,
    default: Callable[..., Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return the result of the function number `branch_index`; of `default`, or the last, if out of
    range.

    branch_index: an int32 or int64 tensor of rank 0 (not a Python int, as in TensorFlow).
    branch_fns: a list of functions, or of pairs (int, function), or a dict, numbered from 0
    without gaps.  TypeError for other types, ValueError for gaps or none.

    >>> import talweg as tf
    >>> tf.switch_case(tf.constant(1), [lambda: "zero", lambda: "one"])
    'one'
    """
    if not isinstance(branch_index, Tensor):
        raise type_error(
            "TW104",
            f"switch_case: 'branch_index' must be a tensor, got {type(branch_index)}",
            hint="tf.constant(branch_index)",
        )
    if branch_index.dtype not in dtypes.INTEGER:
        raise type_error(
            "TW102", f"switch_case: 'branch_index' has dtype {branch_index.dtype.name}", "integers"
        )
    branches = _branches(branch_fns)
    if default is not None:
        callable_or_error(default, "switch_case", "default")
    if state.in_graph is not None and control.in_graph(branch_index):
        functions = [
            adopt_function(f) for f in (*branches, *([] if default is None else [default]))
        ]
        return control.choose(
            control.number_of_branch(branch_index, len(functions)), functions, "switch_case"
        )
    if branch_index.ndim:
        assert_true(False, f"switch_case: branch_index has shape {branch_index.shape}, not ()")
    chosen = int(branch_index)
    if 0 <= chosen < len(branches):
        return branches[chosen]()
    return (default or branches[-1])()


def _branches(branch_fns: object) -> list:
    """Sort the functions by their numbers."""
    if isinstance(branch_fns, (list, tuple)) and branch_fns and all(map(callable, branch_fns)):
        return list(branch_fns)
    pairs = _pairs("switch_case", "branch_fns", branch_fns)
    if not pairs:
        raise value_error("TW207", "switch_case: 'branch_fns' is empty", "at least one function")
    for key, function in pairs:
        if not isinstance(key, int):
            raise type_error("TW104", f"switch_case: key {key!r} is {type(key)}", "an int")
        callable_or_error(function, "switch_case", f"fn for key {key}")
    pairs.sort(key=lambda pair: pair[0])
    if [key for key, _ in pairs] != list(range(len(pairs))):
        raise value_error(
            "TW207",
            f"switch_case: the keys of 'branch_fns' are {[key for key, _ in pairs]}",
            f"the numbers from 0 to {len(pairs) - 1}, each once",
        )
    return [function for _, function in pairs]


@export("while_loop")
def while_loop(
    cond: PositionalFunction,
    body: PositionalFunction,
    loop_vars: Any,
    shape_invariants: Sequence[Any] | Mapping[str, Any] | ShapeLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Return `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` holds, at most
    maximum_iterations.

    loop_vars: a list or tuple, not empty, of values or nests of them; body returns as many, nested
    alike.  Returns what the body returned last, as tensors.  In a graph shape_invariants (a nest of
    TensorShapes) says which sizes may change, back_prop=False stops gradients, and with
    swap_memory=True a gradient needs memory for about sqrt(2 n) of n iterations, and runs each
    twice (unless maximum_iterations of them are known to need less than 256 MB);
    parallel_iterations is accepted and has no effect.  TypeError if cond or body cannot be called
    or a dtype changes, ValueError if loop_vars is empty or structures or shapes differ.

    >>> import talweg as tf
    >>> tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (0, tf.constant(0)))
    (<tf.Tensor: shape=(), dtype=int32, numpy=4>, <tf.Tensor: shape=(), dtype=int32, numpy=6>)
    """
    cond = callable_or_error(cond, "while_loop", "cond")
    body = callable_or_error(body, "while_loop", "body")
    if parallel_iterations is None or parallel_iterations < 1:
        raise type_error(
            "TW207", f"while_loop: parallel_iterations={parallel_iterations!r}", "at least 1"
        )
    if isinstance(loop_vars, Tensor) or not loop_vars:
        raise value_error(
            "TW207", f"while_loop: loop_vars={loop_vars!r}", "a list or tuple, not empty"
        )
    if state.in_graph is not None and control.builds_graph(*structure.flatten(loop_vars)):
        return control.while_loop(
            cond, body, loop_vars, shape_invariants, maximum_iterations, back_prop, swap_memory
        )
    limit = _limit(maximum_iterations)
    first, steps = list(loop_vars), 0
    while limit is None or steps < limit:
        holds = cond(*loop_vars)
        if type(holds) is BatchTensor:  # from here on slices differ in how often it runs
            left = None if limit is None else limit - steps
            return control.while_loop(cond, body, _for_graphs(loop_vars), shape_invariants, left)
        if not _truth(holds, "while_loop", "cond(...)"):
            break
        loop_vars = _as_variables(body(*loop_vars))
        structure.assert_same(first, list(loop_vars))
        steps += 1
    return structure.pack(loop_vars, [_keep(leaf) for leaf in structure.flatten(loop_vars)])


def _for_graphs(loop_vars: object) -> Any:
    """Convert loop variables: arrays of tensors become lists that a traced loop can carry."""
    return structure.map_leaves(
        lambda leaf: leaf._in_graphs() if hasattr(leaf, "_in_graphs") else leaf, loop_vars
    )


def _limit(maximum: object) -> Any:
    if maximum is None:
        return None
    maximum = tensor(maximum)
    if maximum.ndim:
        raise value_error(
            "TW203", f"while_loop: maximum_iterations has shape {maximum.shape}", "a scalar"
        )
    return int(maximum)


def _as_variables(value: object) -> Any:
    """Check the result of a loop's body; TypeError if it is no sequence."""
    if isinstance(value, dict) or (
        isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    ):
        return value
    raise type_error(
        "TW208",
        f"while_loop: the body returned {value!r}",
        "a list or tuple of loop variables",
        "return [value]",
    )


def _keep(leaf: object) -> Any:
    """Return a leaf of the result: as a tensor, except composites and tensor arrays."""
    if structure.kind_of(leaf) == structure.COMPOSITE or hasattr(leaf, "mark_used"):
        return leaf
    return tensor(leaf)
