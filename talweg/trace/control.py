"""Control flow in a graph (tf.cond, switch_case, while_loop): to `branch` and `loop`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import bool_, int32, int64
from talweg.core.errors import NeedsStaticError, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.roles import Role
from talweg.core.shapes import as_shape
from talweg.core.spec import TypeSpec
from talweg.core.value import IndexedSlices
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.extension import ExtensionType
from talweg.graph import structure
from talweg.graph.contents import elements
from talweg.graph.node import Node
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.prims import arithmetic
from talweg.prims.control import again, require
from talweg.prims.state import ensure_dims
from talweg.trace import batch_rules, control_rules
from talweg.trace.bodies import (
    BodyGraph,
    apply_branch,
    apply_loop,
    aval_of,
    captures_of,
    trace_loop,
)
from talweg.transform.batch import BatchTensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.shapes import TensorShape
    from talweg.core.value import Tensor

RULES = control_rules, batch_rules  # they register derivatives and batch rules


_TRACED = (Symbol, BatchTensor)
WITH_BODIES = (Role.BRANCH, Role.LOOP, Role.CALL, Role.AGAIN, Role.CUSTOM_RULE)
KEPT = 1 << 28  # bytes that the reverse of a loop may keep where checkpoints are asked for
USUAL_BATCH = 128


def builds_graph(*values: object) -> bool:
    """Return whether there is a graph to trace into."""
    return dispatch.context.base is not None or any(type(x) is Symbol for x in values)


def in_graph(*values: object) -> bool:
    """Return whether control flow that depends on `values` is to be traced."""
    return dispatch.context.base is not None or any(type(x) in _TRACED for x in values)


def leaves_of(value: object) -> list:
    """Return the tensors of a nest, composites opened."""
    return structure.flatten(value, composites=True)


def as_leaf(value: TensorLike | None) -> Any:
    """Return a result of a branch or body as a tensor; None for None and operations."""
    if value is None or isinstance(value, Operation):
        return None
    if type(value) in _TRACED:
        return value
    return convert_to_tensor(value)


def choose(index: Tensor, functions: list, function: str) -> Any:
    """Build the branch number `index`, an integer tensor; all functions are traced.

    TypeError or ValueError where the results differ in structure or dtype.
    """
    graphs, templates = [], []
    for number, branch in enumerate(functions):
        graph = BodyGraph(f"{function}_{number}")
        kept: list = []

        def run(branch: Callable[..., Any] = branch, kept: list = kept) -> list:
            kept.append(branch())
            return [as_leaf(leaf) for leaf in leaves_of(kept[0])]

        graph.run(run)
        graphs.append(graph)
        templates.append(kept[0])
    match_indices(graphs, templates[0])
    for number, template in enumerate(templates[1:], 1):
        check_same(function, templates[0], template, graphs[0], graphs[number], number)
    absent = [x is None for x in graphs[0].results]
    *flat_results, history = apply_branch(index, graphs)
    results = iter(flat_results)
    done = _operation_of(history)
    flat = [
        (done if isinstance(leaf, Operation) else None) if missing else next(results)
        for leaf, missing in zip(leaves_of(templates[0]), absent)
    ]
    chosen = structure.pack(templates[0], flat, composites=True)
    _note_shapes(chosen, templates)
    return chosen


def _note_shapes(found: Any, templates: list) -> None:
    """Refine the shape of a sparse result by the shapes that all branches know."""
    columns = zip(structure.flatten(found), *map(structure.flatten, templates))
    for leaf, *made in columns:
        if hasattr(leaf, "with_values") and hasattr(leaf, "dense_shape"):
            shape = made[0].shape
            for other in made[1:]:
                shape = shape.most_specific_compatible_shape(other.shape)
            leaf.set_shape(shape)


def _operation_of(history: Tensor) -> Any:
    """Return the operation that has these residuals."""
    return history.op if type(history) is Symbol else None


def match_indices(graphs: list, template: object) -> None:
    """Convert indices of slices to int64 if one branch returns int64."""
    place = 0
    for leaf in structure.flatten(template):
        if isinstance(leaf, IndexedSlices):
            _match(graphs, place + 1)
        place += len(leaves_of(leaf))


def _match(graphs: list, place: int) -> None:
    parts = [graph.results[place] if place < len(graph.results) else None for graph in graphs]
    if any([part is None for part in parts]) or {part.dtype for part in parts} != {int32, int64}:
        return
    for graph, part in zip(graphs, parts):
        if part.dtype is int32:
            with dispatch.only(()), graph.as_default():
                graph.results[place] = graph.own(arithmetic.cast(part, dtype=int64))


def check_same(
    function: str,
    first: object,
    other: TensorLike | None,
    graph: BodyGraph,
    second: BodyGraph,
    number: int,
) -> None:
    """Raise TypeError or ValueError unless two branches give alike results."""
    if (first is None) != (other is None):
        raise value_error(
            "TW208",
            f"{function}: branch 0 returns {first!r}, branch {number} returns {other!r}",
            "results of one structure",
        )
    try:
        structure.assert_same(first, other, composites=True)
    except (TypeError, ValueError) as error:
        raise type_error(
            "TW208",
            f"{function}: the branches return different structures: {error}",
            "results of one structure",
        ) from None
    for nth, (a, b) in enumerate(zip(graph.results, second.results)):
        if (a is None) != (b is None):
            raise type_error(
                "TW208",
                f"{function}: result {nth} is no tensor in one of branch 0 and branch {number}",
                "a tensor in all branches, or in none",
            )
    for nth, (a, b) in enumerate(zip(graph.results, second.results)):
        if a is not None and b is not None and a.dtype is not b.dtype:
            raise type_error(
                "TW102",
                f"{function}: true_fn and false_fn must return the same dtypes: result {nth} is "
                f"{a.dtype.name} in branch 0 and {b.dtype.name} in branch {number}",
                hint=f"tf.cast(x, tf.{a.dtype.name})",
            )


def truth(pred: TensorLike, function: str) -> Any:
    """Return a predicate as a scalar boolean tensor."""
    pred = convert_to_tensor(pred)
    if pred.dtype is not bool_:
        pred = hooks.cast(pred, bool_)
    if pred.shape.rank != 0:  # one element will do; which it is may be known only when it runs
        if pred.shape.num_elements() not in (None, 1):
            raise value_error(
                "TW203", f"{function}: pred has shape {pred.shape}", "a scalar truth value"
            )
        pred = hooks.reshape(pred, [])
    return pred


def cond(pred: Tensor, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Build `tf.cond` in a graph."""
    index = arithmetic.cast(arithmetic.logical_not(truth(pred, "cond")), dtype=int32)
    return choose(index, [true_fn, false_fn], "cond")


def first_true(predicates: list, exclusive: bool, has_default: bool) -> Any:
    """Return the number of the first true predicate, one more than the last if none is.

    InvalidArgumentError when it runs, if several are true and it is exclusive, or if none is and
    there is no default.
    """
    count = len(predicates)
    index = convert_to_tensor(count, int32)
    trues = convert_to_tensor(0, int32)
    for number in range(count - 1, -1, -1):
        pred = truth(predicates[number], "case")
        position = convert_to_tensor(number, int32)
        index = arithmetic.select(pred, position, index)
        trues = arithmetic.add(trues, arithmetic.cast(pred, dtype=int32))
    if exclusive:
        text = "case: more than one condition evaluated as True but exclusive=True"
        index = require(index, arithmetic.less_equal(trues, 1), message=text)
    if not has_default:
        text = "case: none of the conditions is true and there is no default"
        index = require(index, arithmetic.greater(trues, 0), message=text)
    return index


def number_of_branch(index: Tensor, count: int) -> Any:
    """Return the number of the branch of `switch_case`: the last if out of range."""
    index = arithmetic.cast(index, dtype=int32)
    if index.shape.rank != 0:
        index = ensure_dims(index, shape=())
    last = convert_to_tensor(count - 1, int32)
    inside = arithmetic.logical_and(
        arithmetic.greater_equal(index, 0), arithmetic.less_equal(index, last)
    )
    return arithmetic.select(inside, index, last)


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    invariants: object = None,
    maximum: Any = None,
    back_prop: bool = True,
    checkpoint: bool = False,
    at_most: int | None = None,
) -> Any:
    """Build `tf.while_loop` in a graph; see `loop_in_segments` for `checkpoint`.

    at_most: a number of iterations that is known to suffice, as a `maximum` that is known is.
    """
    flat = [convert_to_tensor(leaf) for leaf in leaves_of(loop_vars)]
    avals = _first_avals(loop_vars, flat, invariants)
    limit = None if maximum is None else _limit(maximum)
    extra = 0 if limit is None else 1
    if extra:
        flat = [convert_to_tensor(0, dtype=int32), *flat]
        avals = [Aval((), int32), *avals]

    def pack(variables: list) -> Any:
        return structure.pack(loop_vars, list(variables[extra:]), composites=True)

    def run_condition(variables: list) -> Any:
        going_on = truth(condition(*pack(variables)), "while_loop")
        if limit is not None:
            going_on = arithmetic.logical_and(arithmetic.less(variables[0], limit), going_on)
        return going_on

    def run_body(variables: list) -> list:
        going_on = _as_structure(body(*pack(variables)), loop_vars)
        results = [convert_to_tensor(leaf) for leaf in leaves_of(going_on)]
        count = [arithmetic.add(variables[0], 1)] if extra else []
        return [*count, *results]

    def check(graph: BodyGraph) -> None:
        for number, result in enumerate(graph.results[extra:]):
            _check_kept(number, graph.input_nodes[number + extra].aval, result)

    if at_most is None and limit is not None:
        at_most = known_size(limit)
    if checkpoint and needs_checkpoints(run_body, avals, at_most):
        results = loop_in_segments(run_condition, run_body, flat, avals, check)[extra:]
    else:
        results = apply_loop(run_condition, run_body, flat, avals, check)[extra:-1]
    if not back_prop:
        results = [arithmetic.stop_gradient(x) for x in results]
    return structure.pack(loop_vars, results, composites=True)


def known_size(number: Tensor) -> int | None:
    """Return a scalar integer that is known while the graph is built; None for any other."""
    if type(number) is not Symbol:
        return int(convert_to_tensor(number))
    try:
        (size,) = elements(number.node).reshape(-1)
    except NeedsStaticError:
        return None
    return size if type(size) is int else None


def needs_checkpoints(body: Callable[[list], list], avals: list, at_most: int | None) -> bool:
    """Return whether checkpoints save the reverse of a loop memory that matters.

    Where the reverse of a plain loop keeps at most `KEPT` bytes they only cost: each iteration
    runs twice, and the compiler makes machine code for segments of every length.  What a body
    within the body keeps is not known.  A body with effects cannot be run again.
    """
    traced = trace_loop(body, avals)
    try:
        if traced.effects:
            return False
        nodes: dict[Node, None] = {}
        postorder([result.node for result in traced.results if result is not None], nodes)
        if at_most is None or any([node.prim.role in WITH_BODIES for node in nodes]):
            return True
        return at_most * sum(map(_estimate_bytes, nodes)) > KEPT
    finally:
        traced.let_go()


def _estimate_bytes(node: Node) -> int:
    """Return the bytes of what a node computes; a size that is not known is a usual batch."""
    dims = getattr(node.aval, "dims", None)
    if dims is None or node.prim.role is not Role.OPERATION:
        return 0
    sizes = [size if type(size) is int else USUAL_BATCH for size in dims]
    return prod(sizes) * node.aval.dtype.size


def loop_in_segments(
    condition: Callable[[list], Any],
    body: Callable[[list], list],
    flat: list,
    avals: list,
    check: Callable[[Any], None],
) -> list:
    """Build a checkpointed loop, whose reverse needs memory for the root of its length.

    It is a loop over segments of 1, 2, 3, ... iterations, so n of them make about sqrt(2 n)
    segments, none longer than that, whatever n will be.  Only the loop variables between segments
    are kept; the reverse of a segment runs it again first.  Griewank and Walther, 2008, chapter
    12.
    """

    def some(own: list) -> list:
        return [arithmetic.sub(own[0], 1), *body(own[1:])]

    def go_on(own: list) -> Any:
        return arithmetic.logical_and(arithmetic.greater(own[0], 0), condition(own[1:]))

    def segment(variables: list) -> list:
        inner = [Aval((), int32), *map(aval_of, variables[1:])]
        graph = BodyGraph("segment")
        graph.run(
            lambda: apply_loop(go_on, some, variables, inner, partial(_shift_check, check))[1:-1]
        )
        captures = captures_of([graph])
        outputs = again(*captures, body=graph.body(captures))[:-1]
        return [arithmetic.add(variables[0], 1), *outputs]

    start = [convert_to_tensor(1, int32), *flat]
    return apply_loop(lambda v: condition(v[1:]), segment, start, [Aval((), int32), *avals])[1:-1]


def _shift_check(check: Callable[[Any], None], graph: BodyGraph) -> None:
    """Call `check` for a body with one more variable in front."""
    check(Shifted(graph.input_nodes[1:], graph.results[1:]))


class Shifted(NamedTuple):
    """The inputs and results of a body, shifted by a variable in front."""

    input_nodes: list
    results: list


def _limit(maximum: object) -> Any:
    """Return `maximum_iterations` as an int32 tensor."""
    maximum = convert_to_tensor(maximum)
    if maximum.shape.rank not in (0, None):
        raise value_error(
            "TW203", f"while_loop: maximum_iterations has shape {maximum.shape}", "a scalar"
        )
    return arithmetic.cast(maximum, dtype=int32)


def _as_structure(found: Any, loop_vars: Any) -> Any:
    """Return a body's results in the structure of the loop variables."""
    if not structure.is_nested(found) or (len(loop_vars) == 1 and _is_one(found, loop_vars[0])):
        found = [found]
    structure.assert_same(list(loop_vars), list(found), check_types=False, composites=True)
    return found


def _is_one(found: object, variable: Symbol | dict[Any, Any] | int) -> bool:
    """Return whether a body of one nested variable returned it without a list around it."""
    if not structure.is_nested(variable):
        return False
    parts = structure.children(found)
    if structure.kind_of(found) != structure.kind_of(variable):
        return False
    wrapped = len(parts) == 1 and structure.is_nested(parts[0])
    return len(parts) == len(structure.children(variable)) and not wrapped


def _first_avals(loop_vars: Any, flat: list, invariants: Any) -> list[Aval]:
    """Return the initial guess of the loop variables' invariants."""
    pairs: list = []
    _pair_up(list(loop_vars), None if invariants is None else list(invariants), pairs)
    remaining, found = iter(flat), []
    for variable, shape in pairs:
        parts = [next(remaining) for _ in leaves_of(variable)]
        found.extend(_avals_of(variable, parts, shape))
    return found


def _pair_up(variable: object, shape: TensorShape | list[TensorShape] | None, pairs: list) -> None:
    """Add each loop variable with its invariant to `pairs`; ValueError if structures differ.

    (No function inside a function: one that calls itself is a cycle, and would keep the graph.)
    """
    if structure.kind_of(variable) in (structure.LEAF, structure.COMPOSITE):
        pairs.append((variable, shape))
        return
    parts = structure.children(variable)
    shapes = [None] * len(parts) if shape is None else structure.children(shape)
    if len(parts) != len(shapes):
        raise value_error(
            "TW208",
            f"while_loop: shape_invariants {shape!r} for loop_vars {variable!r}",
            "one structure",
        )
    for part, part_shape in zip(parts, shapes):
        _pair_up(part, part_shape, pairs)


def _avals_of(variable: object, parts: list, shape: Any) -> list[Aval]:
    """Return the abstract values of one loop variable's tensors."""
    if isinstance(variable, ExtensionType):
        part_specs = parts if shape is None else shape.part_specs()
        return [
            Aval(None if x.shape.rank is None else x.shape.as_tuple(), x.dtype) for x in part_specs
        ]
    if structure.kind_of(variable) == structure.COMPOSITE:
        if parts and parts[0].dtype.name == "variant":
            return [Aval((), parts[0].dtype)]
        loose = len(parts) if hasattr(variable, "ragged_rank") else 0
        if isinstance(variable, (IndexedSlices, SparseTensor)):
            loose = 2
        return [_without_first(x) for x in parts[:loose]] + [aval_of(x) for x in parts[loose:]]
    (x,) = parts
    if shape is None:
        return [aval_of(x)]
    shape = as_shape(shape.shape if isinstance(shape, TypeSpec) else shape)
    if not shape.is_compatible_with(x.shape) or not x.shape.is_subtype_of(shape):
        raise value_error(
            "TW204",
            f"while_loop: the shape invariant {shape} is not compatible with the initial shape "
            f"{x.shape}",
        )
    return [Aval(None if shape.rank is None else shape.as_tuple(), x.dtype)]


def _without_first(x: Symbol) -> Aval:
    """Return an abstract value with the first dimension unknown."""
    aval = aval_of(x)
    return Aval(None if aval.dims is None else (None, *aval.dims[1:]), aval.dtype)


def _check_kept(number: int, wanted: Aval, result: Any) -> None:
    """Raise TypeError or ValueError where an iteration changes a variable's dtype or shape."""
    if result.dtype is not wanted.dtype:
        raise type_error(
            "TW102",
            f"while_loop: loop variable {number} has dtype {wanted.dtype.name}, and "
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
            f"while_loop: loop variable {number} enters the loop with shape {before}, but has "
            f"shape {after} after one iteration",
            "the same shape in every iteration",
            "shape_invariants=[..., tf.TensorShape([None])] for sizes that change",
        )
