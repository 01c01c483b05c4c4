"""The derivation of vjp and jvp from declarations: the policy that no rule has to repeat.

`vjp_of(prim)(g, results, operands, params, wanted)` gives one cotangent (or None) per operand;
`jvp_of(prim)(tangents, results, operands, params)` the tangent(s) of the result(s).  Here, once and
for all rules: partials are conjugated in reverse mode (the cotangent of a real function of complex
numbers is twice its Wirtinger derivative, as in TensorFlow), masks select, ones are not multiplied,
absent cotangents cost nothing, and broadcast operands get the sum.  Factors are taken one after the
other, so that their product need not be within a dtype's range where that with `g` is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.dims import same, same_dims
from talweg.core.dtypes import variant
from talweg.core.errors import InternalError, NeedsStaticError
from talweg.core.hooks import hooks
from talweg.core.lazy import LazyModule
from talweg.core.value import IndexedSlices, Tensor
from talweg.graph.node import BODY, GRAPH
from talweg.prims.arithmetic import gate, neg, zeros_of
from talweg.prims.complex import conj
from talweg.prims.guarded import mul_no_nan
from talweg.prims.layout import reshape
from talweg.prims.reduce import reduce_sum, sum_like

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.prims.lists import elements
else:
    elements = LazyModule("talweg.prims.lists.elements")  # what few tensors need


def vjp_of(prim: Primitive) -> Callable[..., list]:
    """Return the pullback of one primitive."""
    rule = prim.vjp
    if rule is None:
        rule = prim.vjp = _build_vjp(prim)
    return rule


def jvp_of(prim: Primitive) -> Callable[..., Any]:
    """Return the pushforward of one primitive."""
    rule = prim.jvp
    if rule is None:
        rule = prim.jvp = _build_jvp(prim)
    return rule


def _build_vjp(prim: Primitive) -> Callable[..., list]:
    if prim.elementwise:
        return _elementwise_vjp(prim)
    if prim.vjp_rule is not None:
        return _explicit_vjp(prim)
    return _make_transpose_vjp(prim)


def _build_jvp(prim: Primitive) -> Callable[..., Any]:
    if prim.elementwise:
        return _elementwise_jvp(prim)
    if prim.jvp_rule is not None:
        return _explicit_jvp(prim)
    return _linear_jvp(prim)


# -- elementwise


def times(g: Any, partial: Any, conjugate: bool) -> Any:
    """Multiply `g` by a partial derivative: a tensor, a number, a mask, or a tuple of factors."""
    if not isinstance(partial, Tensor):
        if type(partial) is tuple:
            for factor in partial:
                g = times(g, factor, conjugate)
            return g
        if partial == -1:
            return neg(g)
        return zeros_of(g) if partial == 0 else g * partial
    dtype = partial.dtype
    if dtype.is_bool:
        return gate(partial, g)
    if conjugate and dtype.is_complex:
        partial = conj(partial)
    return g * partial


def guard_zero(partial: object, g: object) -> Any:
    """Multiply `g` by a partial, with 0 where `g` is 0."""
    return mul_no_nan(partial, g)


def conjugate_partial(partial: Any) -> Any:
    """Conjugate a partial that is a tensor."""
    return conj(partial) if partial.dtype.is_complex else partial


def unbroadcast(g: Any, x: Any) -> Any:
    """Sum `g` over the axes along which `x` was broadcast to its shape."""
    try:
        wanted, dims = x.dims, g.dims
        extra = len(dims) - len(wanted)
        axes = tuple(range(extra)) + tuple(
            position + extra
            for position, size in enumerate(wanted)
            if not same(size, dims[position + extra]) and size == 1
        )
    except NeedsStaticError:
        return sum_like(g, x)
    total = reduce_sum(g, axes=axes, keepdims=False) if axes else g
    return total if len(axes) == extra else reshape(total, shape=wanted)


def fits(g: Any, x: Any) -> bool:
    """Return whether a cotangent certainly has the shape of its operand."""
    try:
        return same_dims(g.dims, x.dims)
    except NeedsStaticError:
        return False


def _elementwise_vjp(prim: Primitive) -> Callable[..., list]:
    """Return one pullback per operand, cached; those of one and two operands are written out."""
    pulls = [_pull(prim, name) for name in prim.operands]
    if len(pulls) == 1:
        (only,) = pulls

        def vjp_one(g: object, z: object, operands: tuple, params: dict, wanted: list) -> list:
            return [only(g, z, operands, 0)]

        return vjp_one
    if len(pulls) == 2:
        left, right = pulls

        def vjp_two(g: object, z: object, operands: tuple, params: dict, wanted: list) -> list:
            return [
                left(g, z, operands, 0) if wanted[0] else None,
                right(g, z, operands, 1) if wanted[1] else None,
            ]

        return vjp_two

    def vjp(g: object, z: object, operands: tuple, params: dict, wanted: list) -> list:
        return [
            pull(g, z, operands, i) if want else None
            for i, (pull, want) in enumerate(zip(pulls, wanted))
        ]

    return vjp


def _pull(prim: Primitive, name: str) -> Callable[[Any, Any, tuple, int], Any]:
    """Make the pullback of operand i: (g, z, operands, i) -> the cotangent of `name`."""
    partial = prim.partials.get(name)
    if partial is None:
        return lambda g, z, operands, i: None
    constant = _constant(partial, len(prim.operands))
    if constant == 1 and len(prim.operands) == 1:  # nothing was broadcast
        return lambda g, z, operands, i: g

    def pull(g: object, z: object, operands: tuple, i: int) -> Any:
        if constant == 1:
            part = g
        elif constant is not None:
            part = times(g, constant, True)
        elif prim.guarded:
            part = guard_zero(conjugate_partial(partial(z, *operands)), g)
        else:
            part = times(g, partial(z, *operands), True)
        x = operands[i]
        return part if fits(part, x) else unbroadcast(part, x)

    return pull


def _constant(partial: Callable[..., Any], count: int) -> int | None:
    """Return the value of a partial that is a number whatever the operands, None for others."""
    try:
        value = partial(*[None] * (count + 1))
    except Exception:  # noqa: BLE001 -- it looked at an operand
        return None
    return value if isinstance(value, int) else None


def _elementwise_jvp(prim: Primitive) -> Callable[..., Any]:
    partials = [prim.partials.get(name) for name in prim.operands]

    def jvp(tangents: list, z: object, operands: tuple, params: dict) -> Any:
        total = None
        for partial, t in zip(partials, tangents):
            if t is not None and partial is not None:
                p = partial(z, *operands)
                part = guard_zero(p, t) if prim.guarded else times(t, p, False)
                total = accumulate(total, part)
        if total is not None and not fits(total, z):
            total = total + zeros_of(z)
        return total

    return jvp


# -- linear in some operands


def _make_transpose_vjp(prim: Primitive) -> Callable[..., list]:
    joint = prim.transposes.get("*")
    if joint is not None:

        def vjp(g: object, z: object, operands: tuple, params: dict, wanted: list) -> list:
            return list(joint(g, *operands, **params))

        return vjp
    rules = [prim.transposes.get(name) for name in prim.operands]

    def vjp_each(g: object, z: object, operands: tuple, params: dict, wanted: list) -> list:
        return [
            rule(g, *operands, **params) if want and rule else None
            for rule, want in zip(rules, wanted)
        ]

    return vjp_each


def _linear_jvp(prim: Primitive) -> Callable[..., Any]:
    if prim.derivative is not None:
        return lambda tangents, z, operands, params: None
    names = list(prim.operands)
    joint = set(prim.linear)

    def is_linear(position: int) -> bool:
        if "*" in prim.transposes:
            return True
        return names[min(position, len(names) - 1)] in prim.transposes

    def is_joint(position: int) -> bool:
        return names[min(position, len(names) - 1)] in joint

    def jvp(tangents: list, z: object, operands: tuple, params: dict) -> Any:
        total = None
        together = [i for i, t in enumerate(tangents) if t is not None and is_joint(i)]
        if together:
            total = prim(*_joint_operands(operands, tangents, is_joint), **params)
        for i, t in enumerate(tangents):
            if t is not None and i not in together and is_linear(i):
                part = prim(*operands[:i], t, *operands[i + 1 :], **params)
                total = accumulate(total, part)
        return total

    return jvp


def _joint_operands(operands: tuple, tangents: list, is_joint: Callable[[int], bool]) -> list:
    return [
        x if not is_joint(i) or not x.dtype.is_differentiable else zeros_of(x) if t is None else t
        for i, (x, t) in enumerate(zip(operands, tangents))
    ]


# -- explicit rules


def _explicit_vjp(prim: Any) -> Callable[..., list]:
    rule = prim.vjp_rule
    asks_wanted = "wanted" in inspect.signature(rule).parameters

    def vjp(g: Any, z: Any, operands: tuple, params: dict, wanted: list) -> list:
        if asks_wanted:
            params = {**params, "wanted": _pick_wanted(operands, wanted)}
        result = rule(g, z, *operands, **params)
        result = [result] if not isinstance(result, (tuple, list)) else list(result)
        if len(result) != len(operands):
            raise InternalError(
                None, None, f"{prim.name}: vjp gave {len(result)} cotangents for {len(operands)}"
            )
        # A rule may give functions, for cotangents that are to be computed only if wanted.
        return [
            part() if want and callable(part) else part if want else None
            for part, want in zip(result, wanted)
        ]

    return vjp


def _explicit_jvp(prim: Any) -> Callable[..., Any]:
    rule = prim.jvp_rule
    dense = prim.effect not in (BODY, GRAPH)  # those take absent tangents as None

    def jvp(tangents: list, z: Any, operands: tuple, params: dict) -> Any:
        filled = tuple(
            zeros_of(x) if t is None and x.dtype.is_differentiable and dense else t
            for t, x in zip(tangents, operands)
        )
        return rule(filled if len(filled) != 1 else filled[0], z, *operands, **params)

    return jvp


def _pick_wanted(operands: tuple, wanted: list) -> list[bool]:
    """Return whether a rule of bodies computes the cotangent of each operand.

    Dense operands get theirs, wanted or not, so that gradients with regard to different sources
    are one loop.  A variant only gets it if it is wanted: the graph has one node for all absent
    lists, whatever their elements, and the sum of such cotangents has no meaning.
    """
    return [
        x.dtype.is_differentiable and (want or x.dtype is not variant)
        for x, want in zip(operands, wanted)
    ]


# -- sums of cotangents and tangents


def accumulate(total: Any, part: Any) -> Any:
    """Add `part` to `total`; None is an absent term, and sparse terms stay sparse."""
    if total is None:
        return part
    if part is None:
        return total
    if type(total) is IndexedSlices or type(part) is IndexedSlices:
        return hooks.add_slices(total, part)
    if getattr(total, "dtype", None) is variant:
        return elements.variant_sum(total, part)
    return total + part


def densify(g: object) -> Any:
    """Return a cotangent as a tensor, whatever its form."""
    return hooks.dense(g) if isinstance(g, IndexedSlices) else g
