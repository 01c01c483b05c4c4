"""Batching (vmap): one run of a function for all slices along a leading axis.

A `BatchTensor` looks like one slice and holds all of them.  A primitive applied to one goes to
`BatchInterpreter`, which applies the primitive's batch rule to the values inside, one level lower;
so batchings nest, and tapes see the operations inside.  Jacobians batch the reverse sweep over all
unit cotangents at once.

Rules are told the *kind* of each operand: 0 if all slices share it, EVEN if it has the batch axis
in front, UNEVEN for variants whose slices may differ in structure (`kernels/rows.py`).  What has no
rule for its operands is done for one slice after the other, in a loop (`trace/batch_rules.py`) or,
where the slices are few or have values, one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, LEADING, LOOP
from talweg.core.dims import same_dims
from talweg.core.dtypes import DType, variant
from talweg.core.errors import (
    NeedsStaticError,
    OperatorNotAllowedInGraphError,
    UnevenSlicesError,
    compose,
    invalid,
    type_error,
    without_value,
)
from talweg.core.hooks import hooks
from talweg.core.roles import Role
from talweg.core.shapes import TensorShape, static
from talweg.core.value import Tensor
from talweg.graph.node import BODY
from talweg.prims.layout import (
    broadcast_to,
    concat,
    reshape,
    strided_slice,
    transpose,
)
from talweg.prims.rows import EVEN, Kinds, find_dims, repeat_rows, rows_sum
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.dims import Size
    from talweg.core.primitive import Primitive

FEW = 8  # slices that a graph takes one by one


class BatchTensor(Tensor):
    """A tensor of one slice; `inner` holds all slices, with the batch axis in front."""

    __slots__ = ("inner", "interpreter", "kind")

    def __init__(self, inner: Tensor, interpreter: BatchInterpreter, kind: int = EVEN):
        self.inner, self.interpreter, self.kind = inner, interpreter, kind

    @property
    def level(self) -> int:  # type: ignore[override]
        """The nesting depth of traces and batches around it."""
        return self.interpreter.level

    @property
    def aval(self) -> Aval:
        """The abstract value of one slice: dimensions, as far as they are known, and dtype."""
        dims = find_dims(self.inner)
        return Aval(None if dims is None else dims[1:], self.inner.dtype)

    @property
    def dims(self) -> tuple:
        return self.inner.dims[1:]

    @property
    def shape(self) -> TensorShape:
        return static(self.aval.dims)

    @property
    def dtype(self) -> DType:
        return self.inner.dtype

    @property
    def _array(self) -> Any:
        """Raise NeedsStaticError, so that the caller is run for each slice."""
        text = "A tensor inside a batched function has no single NumPy value."
        raise NeedsStaticError(compose("TW104", text))

    def __repr__(self) -> str:
        size, dtype = self.interpreter.size, self.dtype.name
        return f"<BatchTensor: {size} times shape={self.dims}, dtype={dtype}>"

    def __bool__(self) -> bool:
        text = "A tensor inside a batched function has many values; it cannot be a Python bool."
        hint = "tf.where(condition, a, b), or tf.map_fn instead of tf.vectorized_map"
        raise without_value(OperatorNotAllowedInGraphError(compose("TW104", text, hint=hint)))

    def __int__(self) -> int:
        raise self._no_number("int")

    def __index__(self) -> int:
        raise self._no_number("int")

    def __float__(self) -> float:
        raise self._no_number("float")

    def _no_number(self, kind: str) -> Exception:
        text = f"A tensor inside a batched function has many values; it cannot be a Python {kind}."
        return without_value(type_error("TW104", text))

    def numpy(self) -> Any:
        """Raise TypeError: there is no single value."""
        text = "A tensor inside a batched function has no single NumPy value."
        raise without_value(type_error("TW104", text))


class BatchInterpreter:
    """The interpreter that applies batch rules to the batch tensors of one level."""

    def __init__(self, level: int, size: Any):
        self.level, self.size = level, size
        self.wrote = False  # whether the batched function has written a variable

    def bind(self, prim: Primitive, operands: tuple, params: dict) -> Any:
        """Apply `prim` to all slices at once."""
        kinds = tuple([x.kind if self.owns(x) else 0 for x in operands])
        inner = [x.inner if kind else x for x, kind in zip(operands, kinds)]
        if prim.role is Role.CUSTOM_RULE:
            params = {**params, "rule": BatchedRule(params["rule"], self, kinds, params["count"])}
        results, found = with_kinds(prim, self.size, kinds, inner, params)
        if prim.multiple:
            return tuple([self._wrap(part, kind) for part, kind in zip(results, found)])
        return self._wrap(results, found[0])

    def owns(self, value: object) -> bool:
        """Return whether `value` is a batch tensor of this level."""
        return type(value) is BatchTensor and value.interpreter is self

    def _wrap(self, value: Any, kind: int) -> Any:
        if kind:
            return BatchTensor(value, self, kind)
        if not value.dtype.is_differentiable and value.dtype is not variant:
            return value  # a number of iterations is one number
        return BatchTensor(repeat_rows(value, self.size), self)


class BatchedRule:
    """A user's derivative rule, run on batch tensors for all slices."""

    def __init__(self, rule: Any, interpreter: BatchInterpreter, kinds: tuple, count: int):
        self.rule, self.interpreter, self.kinds = rule, interpreter, kinds[count:]
        self.name = rule.name

    @property
    def returned_none(self) -> frozenset[int]:
        """The positions for which the user's rule returned None."""
        found: frozenset[int] = self.rule.returned_none
        return found

    def _to_batch_tensors(self, values: Any, kinds: Any = None) -> tuple:
        kinds = (EVEN,) * len(values) if kinds is None else kinds
        return tuple(
            [
                BatchTensor(x, self.interpreter) if kind and x is not None else x
                for x, kind in zip(values, kinds)
            ]
        )

    def vjp(self, g: object, results: tuple, operands: tuple, params: dict, wanted: list) -> list:
        """Return the user's cotangents of all arguments; of shared ones the sum over the slices."""
        with in_force(self.interpreter):
            seen = self._to_batch_tensors(operands, self.kinds)
            found = self.rule.vjp(
                self._to_batch_tensors(g), self._to_batch_tensors(results), seen, params, wanted
            )
            found = [
                None if part is None else unwrap(densify(part), self.interpreter) for part in found
            ]
        size = self.interpreter.size
        return [
            rows_sum(part, size=size) if part is not None and not kind else part
            for part, kind in zip(found, self.kinds)
        ]

    def jvp(self, tangents: list, results: tuple, operands: tuple, params: dict) -> tuple:
        """Return the tangents of the results."""
        with in_force(self.interpreter):
            given = list(self._to_batch_tensors(tangents, self.kinds))
            seen = self._to_batch_tensors(operands, self.kinds)
            found = self.rule.jvp(given, self._to_batch_tensors(results), seen, params)
            return tuple([None if t is None else unwrap(t, self.interpreter) for t in found])


def apply_rule(prim: Primitive, size: int, batched: tuple, operands: list, params: dict) -> Any:
    """Apply `prim` to `size` slices; operands with a true flag have the axis in front."""
    results, kinds = with_kinds(prim, size, batched, operands, params)
    if not prim.multiple:
        return results if kinds[0] else repeat_rows(results, size)
    return tuple([z if kind else repeat_rows(z, size) for z, kind in zip(results, kinds)])


def with_kinds(prim: Primitive, size: Size, kinds: tuple, operands: list, params: dict) -> tuple:
    """Apply `prim` to `size` slices of operands of these kinds; the results and their kinds."""
    try:
        found = _by_rule(prim, size, kinds, operands, params)
    except NeedsStaticError:  # the rule, or what it applies, needs to know more of the shapes
        found = NotImplemented
    if found is NotImplemented:
        found = _for_each_slice(prim, size, kinds, operands, params)
    if type(found) is Kinds:
        return found
    return found, (EVEN,) * (len(found) if prim.multiple else 1)


def _by_rule(prim: Any, size: Any, kinds: tuple, operands: list, params: dict) -> Any:
    rule = prim.batch
    if rule == ELEMENTWISE:
        return prim(*_align_ranks(kinds, operands, size), **params)
    if rule == LEADING:
        fronted = [x if kind else repeat_rows(x, size) for x, kind in zip(operands, kinds)]
        return prim(*fronted, **params)
    if rule == LOOP:
        return NotImplemented
    return rule(size, kinds, *operands, **params)


def _for_each_slice(prim: Primitive, size: Size, kinds: tuple, operands: list, params: dict) -> Any:
    """Apply `prim` to one slice after the other and stack the result(s)."""
    plain = type(size) is int and size and prim.effect != BODY
    if plain and not any([isinstance(x, Tensor) and x.dtype is variant for x in operands]):
        eager = all([type(x) is dispatch.state.plain for x in operands])
        if eager or size <= FEW:
            runs = _loop(prim, size, kinds, operands, params)
            if runs is not None:
                return runs
    return hooks.for_each_slice(prim, size, kinds, operands, params)


def _align_ranks(batched: tuple, operands: list, size: int) -> list:
    """Reshape operands so that the batch axis stays in front when they broadcast."""
    ranks = [len(x.dims) - own if isinstance(x, Tensor) else 0 for x, own in zip(operands, batched)]
    rank = max(ranks)
    return [
        reshape(x, shape=(size, *(1,) * (rank - own_rank), *x.dims[1:]))
        if own and own_rank < rank
        else x
        for x, own, own_rank in zip(operands, batched, ranks)
    ]


def slice_of(x: Any, position: int) -> Any:
    """Take x[position] along the first axis, by primitives."""
    dims = x.dims
    rest = dims[1:]
    part = strided_slice(
        x, begin=(position, *(0,) * len(rest)), end=(position + 1, *rest), strides=(1,) * len(dims)
    )
    return reshape(part, shape=rest)


def stack(parts: list) -> Any:
    """Stack tensors of one shape along a new first axis, by primitives."""
    return concat(*[reshape(part, shape=(1, *part.dims)) for part in parts], axis=0)


def _loop(prim: Primitive, size: int, batched: tuple, operands: list, params: dict) -> Any:
    """Compute the results for all slices, one by one; None if they are variants."""
    runs = [
        prim(*(slice_of(x, i) if own else x for x, own in zip(operands, batched)), **params)
        for i in range(size)
    ]
    columns = list(zip(*runs)) if prim.multiple else [tuple(runs)]
    if any([parts[0].dtype is variant for parts in columns]):
        return None
    if dispatch.context.mapped and not all(map(_are_even, columns)):
        raise UnevenSlicesError
    found = tuple([stack(list(parts)) for parts in columns])
    return found if prim.multiple else found[0]


def _are_even(parts: tuple) -> bool:
    """Return whether all slices are known to have one shape."""
    shapes = [find_dims(x) for x in parts]
    return None not in shapes and all([same_dims(shapes[0], dims) for dims in shapes[1:]])


@contextmanager
def batching(size: Size) -> Iterator[BatchInterpreter]:
    """Begin a new level of batching for the block."""
    with in_force(BatchInterpreter(0, size)) as interpreter:
        yield interpreter


@contextmanager
def in_force(interpreter: BatchInterpreter) -> Iterator[BatchInterpreter]:
    """Put batch tensors of `interpreter` on the highest level inside the block."""
    context = dispatch.context
    before, level = context.batch_level, interpreter.level
    context.batch_level = 1 + max(before, 0 if context.base is None else context.base.level)
    interpreter.level = context.batch_level
    dispatch.enter()
    try:
        yield interpreter
    finally:
        dispatch.leave()
        context.batch_level = before
        interpreter.level = level or context.batch_level + 1


def unwrap(value: object, interpreter: BatchInterpreter) -> Any:
    """Return the array of a batched function's result, with the batch axis in front."""
    if interpreter.owns(value):
        return value.inner
    return repeat_rows(value, interpreter.size)


def over_rows(function: Callable[[Any], list], rows: Any, at_once: bool) -> list:
    """Apply `function` to each slice of `rows`: a list of results (or None), axis in front."""
    size = rows.dims[0]
    if not at_once and type(size) is int and size:
        runs = [function(slice_of(rows, i)) for i in range(size)]
        return [None if parts[0] is None else stack(list(parts)) for parts in zip(*runs)]
    with batching(size) as interpreter:
        parts = function(BatchTensor(rows, interpreter))
        return [None if part is None else unwrap(part, interpreter) for part in parts]


def jacobian_rows(
    sweep: Callable[[Any], list], y: Any, unit_rows: Callable[[Any], Any], at_once: bool
) -> list:
    """Compute d y / d x for each x of `sweep`, of shape y.dims + x.dims.

    `sweep` maps a cotangent of y to those of all x; `unit_rows(n)` is an n x n identity.
    """
    size = math.prod(y.dims)
    seeds = reshape(unit_rows(size), shape=(size, *y.dims))
    rows = over_rows(sweep, seeds, at_once)
    return [None if row is None else reshape(row, shape=y.dims + row.dims[1:]) for row in rows]


def batch_jacobian_rows(
    sweep: Callable[[Any], list], y: Tensor, unit_rows: Callable[[Any], Any], at_once: bool
) -> Any:
    """Compute d y[b] / d x[b], of shape [b, ...y, ...x], for the one x of `sweep`, or None."""
    batch, inner = y.dims[0], y.dims[1:]
    size = math.prod(inner)
    seeds = reshape(unit_rows(size), shape=(size, 1, *inner))
    seeds = broadcast_to(seeds, shape=(size, batch, *inner))
    row = over_rows(sweep, seeds, at_once)[0]
    if row is None:
        return None
    perm = (1, 0, *range(2, len(row.dims)))
    rest = row.dims[2:]
    return reshape(transpose(row, perm=perm), shape=(batch, *inner, *rest))


def vectorize(function: Callable[..., Any], slices: list, size: Size) -> tuple[list, Any]:
    """Run `function` once on batch tensors around `slices`; leaves, and how to put them together.

    `function` takes the list of slices and returns (leaves, rebuild).
    """
    before = dispatch.context.mapped
    with batching(size) as interpreter:
        try:
            with inside_maps((*before, interpreter)):
                leaves, rebuild = function([BatchTensor(part, interpreter) for part in slices])
        except (UnevenSlicesError, NeedsStaticError) as error:
            if not interpreter.wrote:
                raise
            raise invalid(
                "TW104",
                "A function of slices that differ in shape has written a variable; it cannot be "
                "called again for each slice.",
                "no change of variables in tf.vectorized_map",
                "tf.map_fn",
            ) from error
        parts = [None if leaf is None else unwrap(leaf, interpreter) for leaf in leaves]
        return parts, rebuild


@contextmanager
def inside_maps(interpreters: tuple) -> Iterator[None]:
    """Run the block inside these `vectorized_map`s, and no others."""
    context = dispatch.context
    before, context.mapped = context.mapped, interpreters
    try:
        yield
    finally:
        context.mapped = before


def draw_for_slices(draw: Callable[[tuple], Any], dims: tuple) -> Any:
    """Draw numbers (`draw(dims)`) that differ between slices of the `vectorized_map`s in force."""
    mapped = dispatch.context.mapped
    with inside_maps(()):
        found = draw((*[interpreter.size for interpreter in mapped], *dims))
    for interpreter in mapped:
        found = BatchTensor(found, interpreter)
    return found


def for_each_slice(make: Callable[[], Any]) -> Any:
    """Call `make()` anew for each slice of the `vectorized_map`s in force (random streams)."""
    mapped = dispatch.context.mapped
    with inside_maps(()):
        return _for_each(make, mapped)


def _for_each(make: Callable[[], Any], interpreters: tuple) -> Any:
    """Call `make` for each slice of the levels; as a closure it would be a cycle."""
    if not interpreters:
        return make()
    inner = interpreters[-1]
    parts = [_for_each(make, interpreters[:-1]) for _ in range(inner.size)]
    return BatchTensor(stack(parts), inner) if parts else make()
