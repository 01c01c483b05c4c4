"""Random static programs of several primitives, with what the NumPy kernels make of them.

`programs()` is a hypothesis strategy; each `Composition` has a `StaticProgram` program, the arrays
of its inputs and variables, and the arrays that its outputs and variables should be in the end.
Numbers are held near 1 (products and sums go through tanh), so that rounding stays small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from talweg.core.aval import Aval
from talweg.core.dtypes import float64, int32, int64, of_numpy
from talweg.core.errors import OpError
from talweg.core.primitive import REGISTRY
from talweg.passes.specialize.program import StaticProgram, Value, constant
from tests.prims import harness  # noqa: F401  (it loads all primitives)

SIZES = (0, 1, 2, 3, 4, 6, 17, 67, 131)
BOUNDED = ("tanh", "sigmoid", "sin", "softsign", "relu6", "erf")
UNARY = ("neg", "abs", "relu", "square", "sign", *BOUNDED)
BINARY = ("add", "sub", "mul", "maximum", "minimum", "squared_difference", "div_no_nan")
COMPARE = ("less", "greater_equal", "equal")
REDUCE = ("reduce_sum", "reduce_max", "reduce_min", "reduce_mean", "reduce_prod", "logsumexp")
MOST = 4000  # elements of a value


class Composition:
    """See this module's docstring; `values` are pairs (value, array)."""

    def __init__(self) -> None:
        self.static = StaticProgram()
        self.values: list[tuple[Value, np.ndarray]] = []
        self.inputs: list[np.ndarray] = []
        self.before: list[np.ndarray] = []
        self.outputs: list[np.ndarray] = []
        self.after: list[np.ndarray] = []
        self.steps: list[str] = []
        self.refused = False  # whether a kernel refuses its operands

    def given(self, array: np.ndarray) -> None:
        """One more input."""
        value = Value(array.shape, of_numpy(array.dtype))
        self.static.inputs.append(value)
        self.inputs.append(array)
        self.values.append((value, array))

    def variable(self, array: np.ndarray) -> None:
        """One more variable."""
        value = Value(array.shape, of_numpy(array.dtype))
        self.static.states.append((f"v{len(self.before)}", value, value))
        self.before.append(array)
        self.values.append((value, array))

    def apply(self, name: str, *places: Any, **params: Any) -> int:
        """Apply a primitive to earlier values, given by their numbers, or to arrays."""
        prim = REGISTRY[name]
        pairs = [self.values[x] if isinstance(x, int) else (constant(x), x) for x in places]
        try:
            with np.errstate(all="ignore"):
                array = np.asarray(prim.numpy(*[array for _, array in pairs], **params))
        except OpError:
            self.refused = True
            known = prim.infer(*[Aval(v.dims, v.dtype) for v, _ in pairs], **params)
            array = np.zeros(known.dims, known.dtype.numpy_dtype)
        shown = [x if isinstance(x, int) else f"array{x.shape}" for x in places]
        self.steps.append(f"{len(self.values)} = {name}{shown} {params or ''} {array.shape}")
        value = self.static.apply(prim, [value for value, _ in pairs], params)
        self.values.append((value, array))
        return len(self.values) - 1

    def finish(self, outputs: list[int], writes: list[int | None]) -> None:
        """Say what the outputs are, and what the variables become."""
        self.static.outputs = [self.values[k][0] for k in outputs]
        self.outputs = [self.values[k][1] for k in outputs]
        for place, written in enumerate(writes):
            variable, before, _ = self.static.states[place]
            value, array = (before, self.before[place]) if written is None else self.values[written]
            self.static.states[place] = (variable, before, value)
            self.after.append(array)
        self.steps.append(f"outputs {outputs}, writes {writes}")

    def __repr__(self) -> str:
        shapes = [f"inputs {[a.shape for a in self.inputs]}, {[a.shape for a in self.before]}"]
        return "\n".join(shapes + self.steps)


@st.composite
def programs(draw: Any, least: int = 3, most: int = 12) -> Composition:
    """A composition of 3 to 12 steps."""
    made = Composition()
    random = np.random.default_rng(draw(st.integers(0, 9)))
    shape = st.lists(st.sampled_from(SIZES), max_size=3).map(_bounded)
    for _ in range(draw(st.integers(1, 2))):
        made.given(random.uniform(-1, 1, draw(shape)))
    if draw(st.booleans()):
        made.given(random.integers(draw(st.sampled_from((-1, 0, 0, 0))), 2, draw(shape), np.int32))
    for _ in range(draw(st.integers(0, 2))):
        made.variable(random.uniform(-1, 1, draw(shape)))
    for _ in range(draw(st.integers(least, most))):
        kind = draw(st.sampled_from(KINDS))
        kind(draw, made)
    numbers = st.integers(0, len(made.values) - 1)
    outputs = draw(st.lists(numbers, min_size=1, max_size=3))
    writes = []
    for array in made.before:
        fitting = [k for k, (_, a) in enumerate(made.values) if a.shape == array.shape]
        fitting = [k for k in fitting if made.values[k][1].dtype == array.dtype]
        writes.append(draw(st.sampled_from([None, *fitting])))
    made.finish([*outputs, len(made.values) - 1], writes)
    return made


def _bounded(dims: list) -> tuple:
    """Of the sizes as many as do not make too many elements."""
    while math.prod(dims) > MOST:
        dims = dims[:-1]
    return tuple(dims)


def _one(draw: Any, made: Composition, rank: int = 0) -> int | None:
    """The number of a float value of at least that rank, later ones more often."""
    fitting = [k for k, (v, a) in enumerate(made.values) if a.ndim >= rank and v.dtype is float64]
    return draw(st.sampled_from(fitting + fitting[-3:])) if fitting else None


def _unary(draw: Any, made: Composition) -> None:
    made.apply(draw(st.sampled_from(UNARY)), _one(draw, made))


def _binary(draw: Any, made: Composition) -> None:
    x = _one(draw, made)
    y = draw(st.sampled_from(_partners(made, x)))
    name = draw(st.sampled_from(BINARY))
    made.apply("tanh", made.apply(name, *((x, y) if draw(st.booleans()) else (y, x))))


def _partners(made: Composition, x: int) -> list[int]:
    """The numbers of the values that broadcast with another one."""
    own, found = made.values[x][1].shape, []
    for k, (value, array) in enumerate(made.values):
        pairs = list(zip(array.shape[::-1], own[::-1]))
        fits = all(a == b or 1 in (a, b) for a, b in pairs)
        whole = math.prod(map(max, pairs)) * math.prod(own[: len(own) - array.ndim])
        if k == x or fits and value.dtype is float64 and whole <= MOST:
            found.append(k)
    return found


def _chosen(draw: Any, made: Composition) -> None:
    x = _one(draw, made)
    y, z = (draw(st.sampled_from(_partners(made, x))) for _ in range(2))
    if z in _partners(made, y):
        condition = made.apply(draw(st.sampled_from(COMPARE)), x, y)
        if math.prod(np.broadcast_shapes(*[made.values[k][1].shape for k in (x, y, z)])) <= MOST:
            made.apply("select", condition, x, z)


def _reduce(draw: Any, made: Composition) -> None:
    x = _one(draw, made)
    axes = range(made.values[x][1].ndim)
    chosen = tuple(axis for axis in axes if draw(st.booleans()))
    name = draw(st.sampled_from(REDUCE))
    made.apply("tanh", made.apply(name, x, axes=chosen, keepdims=draw(st.booleans())))


def _along(draw: Any, made: Composition) -> None:
    x = _one(draw, made, 1)
    if x is None:
        return
    axis = draw(st.integers(0, made.values[x][1].ndim - 1))
    if not made.values[x][1].shape[axis]:
        return
    name = draw(st.sampled_from(("softmax", "log_softmax", "cumsum", "argmax")))
    if name == "cumsum":
        flags = {"exclusive": draw(st.booleans()), "reverse": draw(st.booleans())}
        made.apply("tanh", made.apply(name, x, axis=axis, **flags))
    elif name == "argmax":
        made.apply("cast", made.apply(name, x, axis=axis, dtype=int64), dtype=float64)
    else:
        made.apply(name, x, axis=axis)


def _view(draw: Any, made: Composition) -> None:
    x = _one(draw, made, 1)
    if x is None:
        return
    dims = made.values[x][1].shape
    if 0 in dims:
        return
    name = draw(st.sampled_from(("transpose", "reshape", "reverse", "slice", "pad", "broadcast")))
    if name == "transpose":
        made.apply(name, x, perm=tuple(draw(st.permutations(range(len(dims))))))
    elif name == "reshape":
        made.apply(name, x, shape=_reshaped(draw, dims))
    elif name == "reverse":
        made.apply(name, x, axes=tuple(k for k in range(len(dims)) if draw(st.booleans())))
    elif name == "slice":
        begin = [draw(st.integers(0, n - 1)) for n in dims]
        end = [draw(st.integers(b + 1, n)) for b, n in zip(begin, dims)]
        strides = tuple(draw(st.integers(1, 2)) for _ in dims)
        made.apply("strided_slice", x, begin=tuple(begin), end=tuple(end), strides=strides)
    elif name == "pad":
        low, high = ([draw(st.integers(0, 2)) for _ in dims] for _ in range(2))
        if math.prod([n + a + b for n, a, b in zip(dims, low, high)]) <= MOST:
            made.apply(name, x, np.array(0.5), low=tuple(low), high=tuple(high))
    else:
        shape = (draw(st.sampled_from(SIZES)), *[n * 3 if n == 1 else n for n in dims])
        if math.prod(shape) <= MOST:
            made.apply("broadcast_to", x, shape=shape)


def _reshaped(draw: Any, dims: tuple) -> tuple:
    """Another shape of as many elements."""
    left, found = math.prod(dims), []
    while left > 1 and len(found) < 3:
        size = draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0]))
        found.append(size)
        left //= size
    return (*found, left)


def _joined(draw: Any, made: Composition) -> None:
    x = _one(draw, made, 1)
    if x is None:
        return
    dims = made.values[x][1].shape
    same = [k for k, (v, a) in enumerate(made.values) if a.shape == dims and v.dtype is float64]
    parts = draw(st.lists(st.sampled_from(same), min_size=1, max_size=3))
    axis = draw(st.integers(0, len(dims) - 1))
    if math.prod(dims) * (len(parts) + 1) <= MOST:
        made.apply(draw(st.sampled_from(("concat", "stack"))), x, *parts, axis=axis)


def _gathered(draw: Any, made: Composition) -> None:
    x = _one(draw, made, 1)
    if x is None:
        return
    dims = made.values[x][1].shape
    axis = draw(st.integers(0, len(dims) - 1))
    if not dims[axis]:
        return
    numbers = [k for k, (v, _) in enumerate(made.values) if v.dtype is int32]
    if numbers and draw(st.booleans()):
        places = draw(st.sampled_from(numbers))
        count = math.prod(made.values[places][1].shape) * math.prod(dims) // dims[axis]
        if count <= MOST and not (made.refused and 0 in dims):
            made.apply("gather", x, places, axis=axis, batch_dims=0)
        return
    places = np.array(draw(st.lists(st.integers(0, dims[axis] - 1), max_size=4)), np.int32)
    if draw(st.booleans()):
        made.apply("gather", x, places, axis=axis, batch_dims=0)
    else:
        ids = np.resize(places, dims[0]) if places.size else np.zeros(dims[0], np.int32)
        made.apply("tanh", made.apply("segment_sum", x, ids, count=dims[axis]))


def _product(draw: Any, made: Composition) -> None:
    x = _one(draw, made, 2)
    if x is None:
        return
    dims = made.values[x][1].shape
    fitting = [
        k
        for k, (v, a) in enumerate(made.values)
        if a.ndim == 2 and dims[-1] in a.shape and v.dtype is float64
    ]
    if not fitting:
        return
    y = draw(st.sampled_from(fitting))
    if made.values[y][1].shape[0] != dims[-1]:
        y = made.apply("transpose", y, perm=(1, 0))
    if math.prod(dims[:-1]) * made.values[y][1].shape[1] <= MOST:
        made.apply("tanh", made.apply("matmul", x, y))


KINDS = (
    _unary,
    _unary,
    _binary,
    _binary,
    _binary,
    _chosen,
    _reduce,
    _reduce,
    _reduce,
    _along,
    _view,
    _view,
    _view,
    _joined,
    _gathered,
    _product,
)
