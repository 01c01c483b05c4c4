"""Recorded cases in graphs: the case's text runs while a graph is in force, its arrays are fed.

The cases of `tests/recorded` are small eager programs.  `run_case` runs one inside a `tf.Graph`:
`CONSTANT` leaves its arrays as constants; `FLOATS` and `ALL` turn every array that the case passes
to a function of `tf` into a placeholder of known rank and unknown sizes (`FLOATS`: integers stay,
since many are axes and shapes); `RANK` leaves the rank unknown, too.  The values come from a
session.

The arrays are caught where the case calls: the outermost call of an exported function.  Lists of
integers stay lists (they may be shapes); lists of floats, complex numbers and booleans are arrays.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from recorded import description, helpers

import talweg as T
from talweg.core import dispatch
from talweg.eager.convert import to_array
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.prims.opaque import whole
from talweg.trace.opaque_calls import Hole, OpaqueCall
from talweg.trace.trial_calls import find_dims

CONSTANT, FLOATS, ALL, RANK = "constant", "floats", "all", "rank"
MODES = (CONSTANT, FLOATS, ALL, RANK)
_KEPT = """constant convert_to_tensor polyval embedding_lookup embedding_lookup_sparse add_n stack
concat accumulate_n global_norm fft ifft fft2d ifft2d fft3d ifft3d irfft irfft2d irfft3d fftnd
ifftnd irfftnd logical_and logical_or logical_xor tensor_scatter_nd_update tensor_scatter_nd_add
shape_n tuple clip_by_global_norm parallel_stack meshgrid dynamic_stitch add matmul
quantized_concat"""
KEPT = frozenset(_KEPT.split())  # their lists are values to come, lists of tensors, or of a dtype


class Outcome:
    """What a case gave in a graph, and the functions that were kept whole on the way."""

    def __init__(self, gives, feeder):
        self.gives, self.whole = gives, feeder.graph.whole
        self.outside = not feeder.failed_inside  # whether an error came from the case itself


class Feeder:
    """Makes placeholders of arrays and notes what to feed; knows the calls kept whole."""

    def __init__(self, graph, mode):
        self.graph, self.mode = graph, mode
        self.feeds: list = []
        self.depth = 0
        self.failed_inside = False

    def given(self, array):
        """The array as a tensor of the graph."""
        dtype = T.as_dtype(array.dtype)
        integer = array.dtype.kind in "iu"
        if self.mode == CONSTANT or (integer and self.mode != ALL) or array.dtype.kind in "OSU":
            return self.graph.constant(array)
        dims = None if self.mode == RANK else (None,) * array.ndim
        symbol = self.graph.placeholder(dims, dtype)
        self.feeds.append((symbol, array))
        return symbol

    def source(self, value):
        """What to differentiate by: a tensor of the graph that no other one equals.

        Equal constants are one node, so constants become placeholders of known sizes.
        """
        symbol = T.convert_to_tensor(value)
        if type(symbol) is Symbol and self.mode != CONSTANT:
            return symbol
        array = symbol._array if type(symbol) is not Symbol else self.run([symbol])[0]
        found = self.graph.placeholder(np.shape(array), symbol.dtype)
        self.feeds.append((found, array))
        return found

    def run(self, fetches):
        """What a session gives for tensors and variables of the graph."""
        if not fetches:
            return []
        with T.compat.v1.Session(graph=self.graph) as session:
            feeds = dict(self.feeds)
            session.run(T.compat.v1.global_variables_initializer(), feeds)
            return session.run(fetches, feeds)

    def arguments(self, function, values):
        """The arguments of a call with the arrays among them as tensors of the graph.

        Lists beside a tensor stay: they take its dtype.
        """
        if function.__name__ in KEPT:
            return values
        tensors = any(type(value) is Symbol for value in values)
        return [self.argument(value, not tensors) for value in values]

    def argument(self, value, lists):
        """One argument, with the arrays in it as tensors of the graph."""
        if isinstance(value, np.ndarray) and value.dtype.kind in "fcb":
            return self.given(value)
        if lists and type(value) is list and _is_array(value):
            return self.given(np.asarray(to_array(value)))
        if type(value) is list and any(isinstance(item, np.ndarray) for item in value):
            return [self.argument(item, lists) for item in value]
        return value

    def result(self, value):
        """A result of a call; constants become tensors that are fed."""
        if type(value) is not Symbol or value.node.prim.name != "constant":
            return value
        if value.node.table is not self.graph.table:
            return value
        return self.given(np.asarray(value.node.params["value"].array))


def _is_array(value):
    """Whether nested lists hold floats, complex numbers or booleans in rows of one length."""
    leaves = []

    def shape_of(item):
        if type(item) is not list:
            leaves.append(type(item))
            return ()
        shapes = {shape_of(part) for part in item}
        return (len(item), *(shapes.pop() if len(shapes) == 1 else (None,)))

    shape = shape_of(value)
    kinds = set(leaves)
    if None in shape or not kinds:
        return False
    return kinds <= {float, int} and float in kinds or kinds in ({bool}, {complex})


@contextmanager
def catching(feeder):
    """Let the feeder see the arguments and results of the outermost calls."""
    state = dispatch.state
    before = state.in_graph

    def call(function, args, kwargs):
        if feeder.depth:
            return before(function, args, kwargs)
        found = feeder.arguments(function, [*args, *kwargs.values()])
        args, kwargs = found[: len(args)], dict(zip(kwargs, found[len(args) :]))
        feeder.depth += 1
        try:
            result = before(function, args, kwargs)
        except Exception:
            feeder.failed_inside = True
            raise
        finally:
            feeder.depth -= 1
        return feeder.result(result)

    state.in_graph = call
    try:
        yield
    finally:
        state.in_graph = before


# -- running a case


def run_case(case, mode):
    """The outcome of a case in a graph: a description as in `recorded/description.py`."""
    graph = NotingGraph()
    feeder = Feeder(graph, mode)
    before, last = case.code()
    try:
        with graph.as_default(), catching(feeder):
            names = {**helpers.namespace(T), **_derivatives(feeder)}
            exec(before, names)
            value = eval(last, names)
            leaves = structure.flatten(value, composites=True)
            numbers = feeder.run([x for x in leaves if is_symbolic(x)])
        gives = description.describe(_with_numbers(value, leaves, iter(numbers)), T)
    except Exception as error:  # every exception is an answer
        gives = {
            "raises": description._public_class(error, T),
            "message": description._first_lines(error),
            "classes": [kind.__name__ for kind in type(error).__mro__[:-2]],
        }
    return Outcome(gives, feeder)


def is_symbolic(value):
    """Whether a value is a tensor or variable of a graph."""
    return type(value) is Symbol or hasattr(value, "handle_read")


def _with_numbers(value, leaves, numbers):
    """`value` with every tensor and variable of the graph replaced by an eager one."""
    if not any(map(is_symbolic, leaves)):
        return value
    for i, leaf in enumerate(leaves):
        if is_symbolic(leaf):
            make = T.constant if type(leaf) is Symbol else T.Variable
            leaves[i] = make(next(numbers), dtype=leaf.dtype)
    return structure.pack(value, leaves, composites=True)


class NotingGraph(T.Graph):
    """A graph that notes which calls are kept whole."""

    def __init__(self):
        super().__init__()
        self.whole = []

    def apply(self, prim, params, nodes, aval=None):
        if prim.name == "whole":
            name = name_of(dict(params)["call"])
            if name != "ramp_like":
                self.whole.append(name)
        return super().apply(prim, params, nodes, aval)


def name_of(call):
    """What a call that was kept whole calls."""
    kind = type(call).__name__
    if kind == "OpaqueCall":
        return getattr(call.function, "__name__", repr(call.function))
    if kind == "Apply":
        return f"primitive {call.prim.name}"
    return f"{kind.removeprefix('Opaque')} of {name_of(call.call)}"


# -- the helpers of the cases that take derivatives, by `tf.gradients`


def ramp_like(like):
    """0.1, 0.2, ... in the shape of an eager tensor."""
    steps = (np.arange(1, int(np.prod(like.shape)) + 1) / 10).reshape(like.shape)
    return T.cast(T.constant(steps, T.float64), like.dtype)


def ramp(like):
    """0.1, 0.2, ... in the shape of a tensor of the graph, which need not be known."""
    if isinstance(like, (tuple, list)):
        return type(like)(ramp(part) for part in like)
    call = OpaqueCall(ramp_like, (Hole(0),), {})
    return T.stop_gradient(whole(like, call=call, avals=((find_dims(like), like.dtype),))[0])


def _derivatives(feeder):
    """`grad`, `pull`, `pull2`, `push` as in `recorded/helpers.py`, in a graph."""

    def operands(values):
        """Operands that are nodes of their own, as equal constants are not."""
        return [feeder.source(x) for x in values]

    def single(results):
        return results[0] if len(results) == 1 else tuple(results)

    def seeded(function, xs):
        y = function(*xs)
        return T.gradients(y, xs, T.nest.map_structure(ramp, y))

    def grad(function, *values, **options):
        xs = operands(values)
        y = function(*xs)
        return single(T.gradients(y, xs, T.nest.map_structure(T.ones_like, y), **options))

    def pull(function, *values):
        return single(seeded(function, operands(values)))

    def pull2(function, *values):
        xs = operands(values)
        first = [T.convert_to_tensor(g) for g in seeded(function, xs) if g is not None]
        total = [T.reduce_sum(g * ramp(g)) for g in first]
        ones = [T.ones_like(t) for t in total]
        second = T.gradients(total, xs, ones, unconnected_gradients="zero")
        return single([T.convert_to_tensor(g) for g in second])

    def push(function, *values):
        xs = operands(values)
        with T.autodiff.ForwardAccumulator(xs, [ramp(x) for x in xs]) as accumulator:
            y = function(*xs)
        found = accumulator.jvp(y, unconnected_gradients="zero")
        return T.nest.map_structure(T.convert_to_tensor, found)

    return {"grad": grad, "pull": pull, "pull2": pull2, "push": push, "ramp": ramp}
