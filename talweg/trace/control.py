"""tf.cond, switch_case and while_loop in a graph: from Python functions to `branch` and `loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import bool_, int32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.core.value import OPERATIONS
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.graph import structure
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic
from talweg.trace import control_rules
from talweg.trace.bodies import BodyGraph, apply_branch, apply_loop

RULES = control_rules.OPERATIONS  # the derivatives of branches and loops are registered there


def in_graph(*values: Any) -> bool:
    """Whether control flow over `values` is to be traced."""
    return dispatch.context.base is not None or any(type(value) is Symbol for value in values)


def leaves_of(value: Any) -> list:
    """The tensors of a nest, composites opened."""
    return structure.flatten(value, composites=True)


def as_leaf(value: Any) -> Any:
    """A result of a branch or body as a tensor; None for None and operations."""
    if value is None or isinstance(value, Operation):
        return None
    if type(value) is Symbol:
        return value
    return convert_to_tensor(value)


def choose(index: Any, functions: list, function: str) -> Any:
    """The result of the function number `index`, an integer tensor; all are traced.

    TypeError or ValueError where the results differ in structure or dtype.
    """
    graphs, templates = [], []
    for number, branch in enumerate(functions):
        graph = BodyGraph(f"{function}_{number}")
        kept: list = []

        def run(branch: Any = branch, kept: list = kept) -> list:
            kept.append(branch())
            return [as_leaf(leaf) for leaf in leaves_of(kept[0])]

        graph.run(run)
        graphs.append(graph)
        templates.append(kept[0])
    for number, template in enumerate(templates[1:], 1):
        _check_same(function, templates[0], template, graphs[0], graphs[number], number)
    absent = [x is None for x in graphs[0].results]
    results = iter(apply_branch(index, graphs)[:-1])
    flat = [None if missing else next(results) for missing in absent]
    if templates[0] is None or isinstance(templates[0], Operation):
        return None
    return structure.pack(templates[0], flat, composites=True)


def _check_same(
    function: str, first: Any, other: Any, graph: BodyGraph, second: BodyGraph, number: int
) -> None:
    """TypeError or ValueError unless two branches give alike results."""
    if (first is None) != (other is None):
        raise value_error(
            "TW208", f"{function}: branch 0 returns {first!r}, branch {number} returns {other!r}",
            "results of one structure",
        )  # fmt: skip
    try:
        structure.assert_same(first, other, composites=True)
    except (TypeError, ValueError) as error:
        raise type_error(
            "TW208",
            f"{function}: the branches return different structures: {error}",
            "results of one structure",
        ) from None
    for place, (a, b) in enumerate(zip(graph.results, second.results)):
        if a is not None and b is not None and a.dtype is not b.dtype:
            raise type_error(
                "TW102",
                f"{function}: true_fn and false_fn must return the same dtypes: result {place} is "
                f"{a.dtype.name} in branch 0 and {b.dtype.name} in branch {number}",
                hint=f"tf.cast(x, tf.{a.dtype.name})",
            )


def truth(pred: Any, function: str) -> Any:
    """A predicate as a scalar boolean tensor."""
    pred = convert_to_tensor(pred)
    if pred.dtype is not bool_:
        pred = OPERATIONS["cast"](pred, bool_)
    rank = pred.shape.rank
    if rank is not None and rank > 0:
        if pred.shape.num_elements() != 1:
            raise value_error(
                "TW203", f"{function}: pred has shape {pred.shape}", "a scalar truth value"
            )
        pred = OPERATIONS["reshape"](pred, [])
    return pred


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """`tf.cond` in a graph."""
    index = arithmetic.cast(arithmetic.logical_not(truth(pred, "cond")), dtype=int32)
    return choose(index, [true_fn, false_fn], "cond")


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    invariants: Any,
    maximum: Any,
) -> Any:
    """`tf.while_loop` in a graph."""
    flat = [convert_to_tensor(leaf) for leaf in leaves_of(loop_vars)]
    avals = _invariant_avals(loop_vars, flat, invariants)
    given = None if invariants is None else [aval.shape for aval in avals]
    limit = None if maximum is None else arithmetic.cast(convert_to_tensor(maximum), dtype=int32)
    extra = 0 if limit is None else 1
    if extra:
        flat = [convert_to_tensor(0, dtype=int32), *flat]
        avals = [Aval((), int32), *avals]

    def packed(variables: list) -> Any:
        found = structure.pack(loop_vars, list(variables[extra:]), composites=True)
        return found

    def run_condition(variables: list) -> Any:
        found = truth(condition(*packed(variables)), "while_loop")
        if limit is not None:
            found = arithmetic.logical_and(arithmetic.less(variables[0], limit), found)
        return found

    def run_body(variables: list) -> list:
        found = _as_structure(body(*packed(variables)), loop_vars)
        results = [convert_to_tensor(leaf) for leaf in leaves_of(found)]
        count = [arithmetic.add(variables[0], 1)] if extra else []
        return [*count, *results]

    def check(graph: BodyGraph) -> None:
        for place, result in enumerate(graph.results[extra:]):
            wanted = graph.inputs[place + extra].aval
            _check_kept(place, wanted, result, given)

    results = apply_loop(run_condition, run_body, flat, avals, check)[extra:-1]
    return structure.pack(loop_vars, results, composites=True)


def _as_structure(found: Any, loop_vars: Any) -> Any:
    """What a body returned, in the structure of the loop variables."""
    if len(loop_vars) == 1 and not (isinstance(found, (list, tuple)) and len(found) == 1):
        found = type(loop_vars)([found]) if isinstance(loop_vars, (list, tuple)) else found
    if is_tensor_like(found) or not isinstance(found, (list, tuple, dict)):
        found = [found]
    structure.assert_same(list(loop_vars), list(found), check_types=False, composites=True)
    return found


def _invariant_avals(loop_vars: Any, flat: list, invariants: Any) -> list[Aval]:
    if invariants is None:
        return [x.aval if type(x) is Symbol else Aval(x.dims, x.dtype) for x in flat]
    shapes: list = []

    def collect(variable: Any, shape: Any) -> None:
        if isinstance(shape, TensorShape) or shape is None or hasattr(shape, "shape"):
            parts = leaves_of(variable)
            shape = getattr(shape, "shape", shape)
            shapes.extend([as_shape(shape)] * len(parts) if len(parts) == 1 else
                          [TensorShape(None)] * len(parts))  # fmt: skip
            return
        for one, other in zip(structure.children(variable), structure.children(shape)):
            collect(one, other)

    for variable, shape in zip(structure.children(loop_vars), structure.children(invariants)):
        collect(variable, shape)
    found = []
    for x, shape in zip(flat, shapes):
        if not shape.is_compatible_with(x.shape):
            raise value_error(
                "TW204",
                f"while_loop: the shape invariant {shape} is not compatible with the initial "
                f"shape {x.shape}",
            )
        found.append(Aval(None if shape.rank is None else shape.as_tuple(), x.dtype))
    return found


def _check_kept(place: int, wanted: Aval, result: Any, given: list | None) -> None:
    """TypeError or ValueError where an iteration changes a variable's dtype or known shape."""
    if result.dtype is not wanted.dtype:
        raise type_error(
            "TW102",
            f"while_loop: loop variable {place} has dtype {wanted.dtype.name}, and "
            f"{result.dtype.name} after one iteration",
            "the same dtype in every iteration",
            f"tf.cast(x, tf.{wanted.dtype.name})",
        )
    before, after = wanted.shape, result.shape
    if before.rank is None:
        return
    if not after.is_subtype_of(before):
        raise value_error(
            "TW204",
            f"while_loop: loop variable {place} enters the loop with shape {before}, but has "
            f"shape {after} after one iteration",
            "the same shape in every iteration",
            "shape_invariants=[..., tf.TensorShape([None])] for sizes that change",
        )
