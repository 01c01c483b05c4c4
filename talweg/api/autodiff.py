"""tf.autodiff and the functions beside the tape: custom gradients, batching, forward mode."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, implement_hook, look_up
from talweg.api.mapping.extension_types import has_extensions, map_separately
from talweg.api.mapping.map import map_fn
from talweg.api.mapping.one_by_one import in_tensors, map_one_by_one
from talweg.api.mapping_batches import batch_gradients, interpreter_of, together
from talweg.core import dispatch
from talweg.core.dims import dims_differ, is_symbolic, same_dims
from talweg.core.dtypes import int32, string
from talweg.core.errors import (
    NO_VALUE,
    InvalidArgumentError,
    NeedsStaticError,
    UnevenSlicesError,
    type_error,
    value_error,
)
from talweg.core.hooks import hooks
from talweg.core.provenance import user_frame
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager import custom
from talweg.eager.absence import remember
from talweg.eager.forward import ForwardAccumulator
from talweg.eager.tape import UnconnectedGradients
from talweg.eager.tensor import wrap
from talweg.graph import structure
from talweg.graph.handle import Handle
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic, layout
from talweg.prims.state import as_factor
from talweg.trace import gradients as graph_gradients
from talweg.trace.autograph.convert import adopt_function
from talweg.trace.gradients import place_in
from talweg.trace.opaque_calls import use_name_as_scope
from talweg.transform import batch
from talweg.transform.absent import Evidence
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike


export("autodiff.ForwardAccumulator")(ForwardAccumulator)
export("custom_gradient")(custom.custom_gradient)
export("recompute_grad")(custom.recompute_grad)
export("grad_pass_through")(custom.grad_pass_through)


def _unit_rows(dtype: DTypeLike) -> Callable[[Any], Any]:
    def rows(size: Any) -> Any:
        if type(size) is int:
            return wrap(np.eye(size, dtype=dtype.numpy_dtype))
        numbers = look_up("range")(as_factor(size, int32))
        columns = layout.reshape(numbers, shape=(1, size))
        same = arithmetic.equal(layout.reshape(numbers, shape=(size, 1)), columns)
        return arithmetic.cast(same, dtype=dtype)

    return rows


@implement_hook("jacobian_rows")
def jacobian_rows(sweep: Any, y: Any, at_once: bool) -> list:
    """Return the rows of a Jacobian, for `GradientTape.jacobian`."""
    return batch.jacobian_rows(sweep, y, _unit_rows(y.dtype), at_once)


@implement_hook("batch_jacobian_rows")
def batch_jacobian_rows(sweep: Any, y: Any, x: Any, at_once: bool) -> Any:
    """Return the rows of a batch Jacobian, for `GradientTape.batch_jacobian`."""
    return batch.batch_jacobian_rows(sweep, y, _unit_rows(y.dtype), at_once)


def _number_of_slices(leaves: list) -> Any:
    """Return the size of the first axis; ValueError if the leaves do not agree."""
    sizes = [leaf.dims[0] if leaf.dims else None for leaf in leaves]
    several = [n for n in sizes if n is not None and not (type(n) is int and n == 1)]
    if None in sizes or any(dims_differ((n,), (several[0],)) for n in several):
        raise value_error(
            "TW204",
            f"vectorized_map: first dimensions of elems differ: {sorted(set(map(str, sizes)))}",
        )
    return several[0] if several else 1 if sizes else 0


@export("vectorized_map")
def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Tensor:
    """Return `fn` applied to every slice of `elems` (a nest) along the first axis, all at once.

    Returns a nest like `fn`'s result, with the axis in front.  Where slices differ in more than
    their values (tensors of different length, ragged or sparse elements, a Python value that is
    asked for), `fn` is called for one slice after the other, in a graph in a loop.  ValueError if
    the first dimensions differ, or if that is needed and `fallback_to_while_loop` is False;
    InvalidArgumentError if the results of slices differ in shape.

    >>> import talweg as tf
    >>> rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.vectorized_map(lambda row: tf.reduce_sum(row * row), rows)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 5., 25.], dtype=float32)>
    """
    if has_extensions(elems):

        def on_tensors(fn: Callable[..., Any], elems: Any, signature: Any) -> Any:
            return vectorized_map(fn, elems, fallback_to_while_loop, warn)

        return map_separately(on_tensors, fn, elems, None)
    fn = in_tensors(adopt_function(fn))
    base = dispatch.context.base
    leaves = [x if _is_composite(x) else tensor(x) for x in structure.flatten(elems)]
    elems = structure.pack(elems, leaves)
    try:
        if any(map(_is_composite, leaves)):
            raise UnevenSlicesError  # noqa: TRY301
        with base.attempt() if hasattr(base, "attempt") else nullcontext():
            return _map_together(fn, elems)
    except (UnevenSlicesError, NeedsStaticError, *NO_VALUE) as error:
        if isinstance(error, NO_VALUE) and not hasattr(error, "needs_value"):
            raise
        if not fallback_to_while_loop:
            raise value_error(
                "TW104",
                "vectorized_map: fn cannot be batched: its slices differ in more than their "
                f"values, and fallback_to_while_loop={fallback_to_while_loop}",
                "fallback_to_while_loop=True",
            ) from None
    return map_one_by_one(fn, elems)


def _map_together(fn: Callable[..., Any], elems: Any) -> Any:
    """Compute `vectorized_map` by one call of `fn`."""
    leaves = structure.flatten(elems)
    size = _number_of_slices(leaves)

    def run(slices: list) -> tuple[list, Any]:
        result = fn(structure.pack(elems, slices))
        parts = structure.flatten(result, composites=True)
        return [None if _is_nothing(leaf) else tensor(leaf) for leaf in parts], result

    parts, result = batch.vectorize(run, _spread(leaves, size), size)
    return together(result, parts, size)


def _spread(leaves: list, size: Any) -> list:
    """Return the leaves, those of one slice having it for every slice of the others."""
    return [
        batch.broadcast_to(x, shape=(size, *x.dims[1:])) if _is_one(x.dims[0], size) else x
        for x in leaves
    ]


def _is_composite(leaf: object) -> bool:
    return structure.kind_of(leaf) == structure.COMPOSITE


def _is_nothing(leaf: object) -> bool:
    return leaf is None or isinstance(leaf, Operation)


def _is_one(size: Any, all_together: Any) -> bool:
    """Return whether a leaf has one slice, which goes with every slice of the others."""
    return type(size) is int and size == 1 and size is not all_together


# -- gradients in graphs


@export("gradients")
@use_name_as_scope
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Tensor]:
    """Compute the derivatives of the sum of `ys` by each of `xs`, as new tensors of the graph.

    ys, xs: a tensor or variable, or a list.  grad_ys: for each y a tensor of its shape, the weights
    of its elements (None: ones).  stop_gradients: tensors taken as constants.  The result is a list
    as long as `xs`; each is like its x, or IndexedSlices where only rows of x were taken.  Without
    a path it is None, zeros or an error, by `unconnected_gradients`.  `gate_gradients` and
    `aggregation_method` are accepted.

    The operations made are in the name scope `name`, each behind the name of the operation whose
    derivative it is.  Asked twice, the same gradient is the same tensors.  RuntimeError in eager
    mode, where `tf.GradientTape` is meant; TypeError for complex ys without grad_ys, or dtypes that
    differ; ValueError for a wrong number of grad_ys.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.placeholder(tf.float32, [])
    ...     session.run(tf.gradients(x * x, x), {x: 3.0})
    [np.float32(6.0)]
    """
    mode = UnconnectedGradients.of(unconnected_gradients)
    sources = _as_list(xs)
    batching = interpreter_of(_as_list(ys))
    if batching is not None:

        def pull(ys: list, xs: list, seeds: list) -> list:
            return gradients(
                ys, xs, seeds, name, stop_gradients=stop_gradients, unconnected_gradients=mode
            )

        given = None if grad_ys is None else _as_list(grad_ys)
        return batch_gradients(pull, _as_list(ys), sources, given, batching)
    graph = _graph_of(_as_list(ys), "gradients")
    with graph.as_default():
        sweep = _sweep(graph, _as_list(ys), sources, _as_list(stop_gradients))
        with graph.derivatives_in(name or "gradients"):
            results = sweep.pull(_seeds(sweep.targets, grad_ys))
        if dispatch.state.observer is not None:
            wanted = mode is not UnconnectedGradients.NONE
            dispatch.state.observer.gradient_taken(
                sources,
                results,
                wanted,
                lambda source: look_up("explain_gradients")(ys, source, stop_gradients),
            )
        if any([result is None for result in results]) and mode is not UnconnectedGradients.ZERO:
            places = [at for at, result in enumerate(results) if result is None]
            _report_absent(sweep, _as_list(ys), sources, places, mode, _as_list(stop_gradients))
        return [
            _absent(source, mode) if result is None else _like(source, result)
            for source, result in zip(sources, results)
        ]


@export("compat.v1.gradients")
@use_name_as_scope
def gradients_v1(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Tensor]:
    """Call `tf.gradients` with the arguments of TensorFlow 1; see there.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.constant([1.0, 2.0])
    ...     session.run(tf.gradients(x * x, x, grad_ys=[[1.0, 10.0]]))
    [array([ 2., 40.], dtype=float32)]
    """
    return gradients(
        ys,
        xs,
        grad_ys,
        name,
        stop_gradients=stop_gradients,
        unconnected_gradients=unconnected_gradients,
    )


@export("hessians")
@use_name_as_scope
def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> list[Tensor]:
    """Compute the second derivatives of the sum of `ys` by each of `xs`, a list of x.shape +
    x.shape each.

    RuntimeError in eager mode: use `tape.jacobian` of a gradient.  ValueError where ys do not
    depend on an x.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.constant([1.0, 2.0])
    ...     session.run(tf.hessians(tf.reduce_sum(x ** 3), x))
    [array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)]
    """
    sources = _as_list(xs)
    graph = _graph_of(_as_list(ys), "hessians")
    with graph.as_default():
        return [
            _jacobian(graph, first, source)
            for first, source in zip(gradients(ys, sources), sources)
        ]


@export("compat.v1.hessians")
@use_name_as_scope
def hessians_v1(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Tensor]:
    """Call `tf.hessians` with the arguments of TensorFlow 1; see there.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.constant(2.0)
    ...     session.run(tf.hessians(x ** 4, x))
    [np.float32(48.0)]
    """
    return hessians(ys, xs)


def _as_list(values: Any) -> list:
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _graph_of(targets: list, function: str) -> Any:
    """Return the graph of the targets; RuntimeError in eager mode."""
    graph = dispatch.context.base
    if graph is None:
        raise RuntimeError(
            f"tf.{function} is not supported when eager execution is enabled. Use "
            "tf.GradientTape instead.  [TW302]"
        )
    owners = [y.graph for y in targets if type(y) is Symbol]
    return owners[0] if owners and graph not in owners else graph


def _sweep(graph: Any, targets: list, sources: list, stops: list) -> graph_gradients.GraphSweep:
    ends = [_target(graph, leaf) for leaf in targets]
    cuts = [
        place_in(graph, leaf.value() if hasattr(leaf, "handle_read") else leaf) for leaf in stops
    ]
    return graph_gradients.GraphSweep(
        graph, ends, [_source(graph, x) for x in sources], [x for x in cuts if x is not None]
    )


def _target(graph: Any, leaf: object) -> Symbol:
    """Return a target as a tensor of the graph."""
    leaf = leaf.values if isinstance(leaf, IndexedSlices) else custom.part_of(leaf)
    y = tensor(leaf)
    if y.dtype is string:
        raise type_error("TW303", f"gradients: the target {leaf!r} is a string", "a number")
    return y if type(y) is Symbol and y.node.table is graph.table else graph.bring_in(y)


def _source(graph: Any, leaf: object) -> Any:
    """Convert a source to a node or handle for the sweep; None if it is not in the graph."""
    if hasattr(leaf, "_get_variable_list"):
        raise NotImplementedError(f"gradients by {leaf!r}: take list({leaf.name})  [TW303]")
    if isinstance(leaf, Handle) or hasattr(leaf, "handle_read"):
        return leaf.handle if leaf.dtype.is_differentiable else None
    leaf = leaf.values if isinstance(leaf, IndexedSlices) else custom.part_of(leaf)
    if isinstance(leaf, (dict, list, tuple)) or leaf is None:
        raise type_error(
            "TW303",
            f"gradients: a source is {leaf!r}, of type {type(leaf).__name__}",
            "a tensor or variable, or a flat list of these",
        )
    found = place_in(graph, leaf)
    return found if found is None or found.dtype.is_differentiable else None


def _seeds(targets: list, given: object) -> list:
    """Return the cotangents the targets start from."""
    weights = [None] * len(targets) if given is None else _as_list(given)
    if len(weights) != len(targets):
        raise value_error(
            "TW204",
            f"Length mismatch. Passed {len(weights)} grad_ys for {len(targets)} ys",
            "one of grad_ys (or None) for each of ys",
        )
    return [_seed(y, weight) for y, weight in zip(targets, weights)]


def _seed(y: Symbol, weight: Any) -> Any:
    if weight is None:
        if y.dtype.is_complex:
            raise type_error(
                "TW303", f"Gradients of complex tensors ({y}) must set grad_ys", "grad_ys=[...]"
            )
        return graph_gradients.ones_of(y)
    if isinstance(weight, IndexedSlices):
        return weight
    own = isinstance(weight, Tensor) or hasattr(weight, "handle_read")
    g = tensor(weight) if own or hasattr(weight, "dtype") else tensor(weight, y.dtype)
    if g.dtype is not y.dtype:
        raise type_error(
            "TW102", f"gradients: grad_ys of {y} has dtype {g.dtype.name}", y.dtype.name
        )
    if not y.dtype.is_differentiable:
        return None
    if y.aval.dims is None or type(g) is Symbol and g.aval.dims is None:
        return look_up("broadcast_to")(g, look_up("shape")(y))
    if len(g.dims) > len(y.dims):
        raise value_error("TW204", f"gradients: grad_ys has shape {g.shape}, its target {y.shape}")
    if not same_dims(g.dims, y.dims):
        try:
            g = layout.broadcast_to(g, shape=y.dims)
        except InvalidArgumentError as error:
            raise ValueError(str(error)) from None
    return g


def _report_absent(
    sweep: graph_gradients.GraphSweep, ys: list, xs: list, places: list, mode: Any, stops: list
) -> None:
    """Raise the first absent gradient as an error, or keep its evidence for an explanation."""
    frame = user_frame(2)
    gather = _gatherer(sweep, ys, xs, stops, frame)
    if mode is UnconnectedGradients.ERROR:
        raise hooks.absence_as_error(gather(places[0]))
    wanted = {id(xs[place]): place for place in places}
    missing = [xs[place] for place in places]
    remember(missing, lambda source: gather(wanted[id(source)]), _report_absent.__code__)


def _gatherer(
    sweep: graph_gradients.GraphSweep, ys: list, xs: list, stops: list, frame: Any
) -> Callable[[int], Evidence]:
    """Make the function that gathers evidence of an absent gradient, for a source's place."""
    cuts = [
        place_in(sweep.graph, leaf.value() if hasattr(leaf, "handle_read") else leaf)
        for leaf in stops
    ]
    cuts = [cut for cut in cuts if cut is not None]
    if cuts:  # with what lies behind them
        sweep = _sweep(sweep.graph, ys, xs, [])
    return lambda place: sweep.evidence(place, ys, xs[place], frame, cuts)


def evidence_in_graph(ys: Any, xs: Any, stop_gradients: Any) -> list[Evidence]:
    """Gather the evidence of the gradients of tensors of a graph by each of `xs`."""
    targets, stops = _as_list(ys), _as_list(stop_gradients)
    graph = _graph_of(targets, "gradients")
    frame = user_frame(2)
    with graph.as_default():
        sweep = _sweep(graph, targets, list(xs), stops)
        gather = _gatherer(sweep, targets, list(xs), stops, frame)
        return [gather(place) for place in range(len(xs))]


def _absent(source: Any, mode: UnconnectedGradients) -> Any:
    """Return the value for an absent gradient: None, or zeros."""
    if mode is UnconnectedGradients.NONE:
        return None
    return look_up("zeros_like")(source.variable if isinstance(source, Handle) else source)


def _like(source: Any, result: object) -> Any:
    """Return a gradient in the form of its source."""
    return source._with_gradient(result) if hasattr(source, "_with_gradient") else result


def _jacobian(graph: Any, y: Any, source: Any) -> Any:
    """Compute the derivative of each element of y by `source`: y.shape + source.shape."""
    if y is None:
        raise value_error("TW301", "hessians: None values not supported: ys do not depend on xs")
    sweep = _sweep(graph, [y], [source], [])
    (y,) = sweep.targets
    if (ranked := y.shape.rank is not None) and not is_symbolic(y.dims):
        rows = batch.jacobian_rows(
            lambda seed: _dense_row(sweep, seed), y, _unit_rows(y.dtype), True
        )
        if rows[0] is None:
            raise value_error("TW301", "hessians: None values not supported: ys are linear in xs")
        return rows[0]
    numbers, reshape = look_up("range")(look_up("size")(y)), look_up("reshape")
    sizes = y.dims if ranked else look_up("shape")(y)

    def row(number: Any) -> Any:
        unit = arithmetic.cast(arithmetic.equal(numbers, number), dtype=y.dtype)
        return _dense_row(sweep, reshape(unit, sizes))[0]

    gradient_rows = map_fn(row, numbers, fn_output_signature=y.dtype)
    pair = [sizes, sizes]
    return reshape(gradient_rows, (*sizes, *sizes) if ranked else look_up("concat")(pair, 0))


def _dense_row(sweep: graph_gradients.GraphSweep, seed: Any) -> list:
    (found,) = sweep.pull([seed])
    return [densify(found)]
