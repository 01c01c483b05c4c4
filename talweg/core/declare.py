"""`@elementwise` and `@primitive`: from a function or a class body to a `Primitive` record.

A declaration that lacks a rule fails here, at import, with the name of what is missing; so does one
with a field that there is not.

`@elementwise(numpy=..., accepts=...)` decorates either a function `def tanh(y, x)` whose body is
the derivative by its one operand, or a class whose methods `dx`, `dy`, ... are the partial
derivatives; each takes the result first and then all operands.  A partial of 1 or -1 may be given
as that number, a product as a tuple of its factors: the cotangent is multiplied by one after the
other, since the product alone may be out of range.

`@primitive` decorates a class used as a namespace::

    operands   "x y" or "*values" (any number) or "x *indices"
    infer      (x, y, *, axis) -> Aval, or a list of them; operands come as Avals
    numpy      the kernel, on arrays; independent of all other text
    transpose_x(g, x, y, *, ...)   for each operand the result is linear in
    linear     "x y" if it is *jointly* linear in them (concat, select); else one at a time (matmul)
    transpose  (g, *operands, ...) -> list, for variadic operands
    vjp, jvp   vjp(g, z, *operands, ...) -> one cotangent an operand, or a function of nothing that
               computes it where it is wanted; jvp(t, z, *operands, ...).  A vjp with a parameter
               `wanted` is told which operands' cotangents are to be computed: a rule of bodies
    no_gradient  NoGradient(...) for all, or {"indices": NoGradient(...)}
    batch      ELEMENTWISE, LEADING, LOOP, or batch(size, batched, *operands, ...) -> result,
               batched at axis 0; it may return NotImplemented, which asks for the loop
    memory     how it touches memory, one of `core.primitive.MEMORY`
    scalar, loops, fold, expand, requires, call, ...   how it is compiled: LOWERINGS below
    samples, rejects, domain, singular, avoid, kinks, accepts, effect
    role       what it is for in graphs, if it is more than an operation (`core/roles.py`)
    traits     what passes may know of it besides (`core/roles.py: Trait`)
    sizes      how elements of an integer result follow from the operands' while a graph is built:
               a way of `graph/contents.py`; not for sums and functions that scalar, fold name
    tf_type    TensorFlow's type of the operation where it does not follow from the name
               (reduce_sum: Sum): text, or a function of operands and parameters as in `infer`
    tf_name    the name TensorFlow gives such operations, where it is not the type
    tf_attributes  which attributes TensorFlow gives them besides the dtype of the first operand: a
               way of `compat_v1/attributes.py`
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from talweg.core.aval import Aval
from talweg.core.dtypes import DType, bool_
from talweg.core.errors import invalid
from talweg.core.primitive import MEMORY, REGISTRY, NoGradient, Primitive
from talweg.core.roles import Role, Trait
from talweg.core.shapes import broadcast_dims

if TYPE_CHECKING:
    from collections.abc import Sequence

LEADING = "leading"  # leading axes are batch axes already
LOOP = "loop"  # one slice after the other
ELEMENTWISE = "elementwise"

# How a primitive is compiled; what has none of these is called as the NumPy kernel.
#   scalar    (s, x, y, ...) -> the element of the result, of elements (`lower/handler.py`), or the
#             name of a scalar function; NotImplemented for dtypes it does not serve
#   loops     (s, index, x, ..., **params) -> the element at `index`; operands are called with one
#   cost      (x, ..., **params) -> what an element of `loops` costs, in multiplications, if it is
#             more than its operands are; None where `loops` does not serve
#   fold      (operation, start): a reduction along the parameter `axes`
#   expand    (t, x, ..., **params) -> results, composed of other primitives
#             (`passes/specialize/program.py`)
#   requires  (t, x, ..., **params): calls t.require(condition); where it does not hold, the program
#             fails and the interpreter, which runs the kernel, says why
#   call      the name of a way in `lower/blocks/registry.py`, which may read further rules (scan,
#             scatter, redraw)
#   xla       how XLA does it, where it has better than the rules above: the dotted name of a
#             function of JAX ("lax.lgamma"), the name of a way in `execute/xla/ways.py`, or
#             (j, x, ..., **params) -> results, with `j.numpy` (`execute/xla/rules.py`), or
#             NotImplemented where it does not serve
LOWERINGS = (
    "call",
    "xla",
    "loops",
    "cost",
    "fold",
    "scalar",
    "expand",
    "requires",
    "redraw",
    "scan",
    "scatter",
)

_PLAIN_FIELDS = (
    "samples",
    "rejects",
    "domain",
    "singular",
    "avoid",
    "kinks",
    "accepts",
    "effect",
    "role",
    "traits",
    "sizes",
    "tf_type",
    "tf_name",
    "tf_attributes",
)
_NEEDED = ("infer", "numpy", "batch", "memory")
_FLAGS = ("multiple", "wants_sparse")
_DERIVATIVE = ("no_gradient", "vjp", "jvp", "linear")


class DeclarationError(TypeError):
    """A primitive was declared without a rule it needs."""


@contextmanager
def _new(name: str, doc: str | None) -> Iterator[Primitive]:
    """Declare a primitive; it is in the registry when nothing was refused."""
    if name in REGISTRY:
        raise DeclarationError(f"primitive {name!r} is declared twice")
    if not doc:
        raise DeclarationError(f"primitive {name!r} has no docstring (its formula)")
    prim = Primitive()
    prim.name, prim.doc = name, inspect.cleandoc(doc)
    prim.accepts, prim.effect, prim.domain, prim.singular = None, None, {}, ""
    prim.avoid, prim.role, prim.traits, prim.sizes = "", Role.OPERATION, frozenset(), ""
    prim.kinks, prim.samples, prim.rejects, prim.lowering = {}, (), (), {}
    prim.partials, prim.transposes, prim.linear = {}, {}, ()
    prim.vjp_rule = prim.jvp_rule = prim.vjp = prim.jvp = prim.derivative = None
    prim.no_gradient, prim.variadic, prim.multiple, prim.wants_sparse = {}, False, False, False
    prim.keeps_dtype, prim.guarded, prim.known = False, False, set()
    prim.tf_type, prim.tf_name, prim.tf_attributes = _type_by_name(name), "", ""
    yield prim
    REGISTRY[name] = prim


def _type_by_name(name: str) -> str:
    """Return the op type that follows from a primitive's name: is_nan: IsNan, reduce_sum: Sum."""
    return "".join([part[:1].upper() + part[1:] for part in name.split("_") if part != "reduce"])


def elementwise(
    *,
    numpy: Callable[..., Any],
    accepts: frozenset[DType],
    result: DType | Callable[..., DType] | None = None,
    domain: dict | None = None,
    singular: str = "",
    avoid: str = "",
    kinks: dict | None = None,
    same: str | None = None,
    samples: tuple = (),
    rejects: tuple = (),
    scalar: Callable[..., Any] | str | None = None,
    requires: Callable[..., Any] | None = None,
    xla: Callable[..., Any] | str | None = None,
    guarded: bool = False,
    traits: Iterable[Trait] = (),
    sizes: str = "",
    wants_sparse: bool = False,
) -> Callable[[Any], Primitive]:
    """Declare a primitive that acts on each element of its (broadcast) operands alone.

    `accepts` are the dtypes of the operands named in `same` (default: all), which must be equal;
    `result` the dtype of the result if it is not theirs.  `guarded`: a zero cotangent (tangent)
    gives zero even where the partial is infinite, as TensorFlow's kernel has it.  `avoid`: what to
    write to keep away from where value or derivative is not finite.
    """

    def declare(declaration: Callable | type) -> Primitive:
        name = declaration.__name__.rstrip("_")
        with _new(name, declaration.__doc__) as prim:
            prim.elementwise, prim.checked, prim.batch = True, False, ELEMENTWISE
            prim.numpy, prim.accepts, prim.keeps_dtype = numpy, frozenset(accepts), result is None
            prim.domain, prim.singular, prim.kinks = domain or {}, singular, kinks or {}
            prim.samples, prim.rejects, prim.guarded = samples, rejects, guarded
            prim.memory, prim.avoid, prim.traits = "map", avoid, frozenset(traits)
            prim.sizes, prim.wants_sparse = sizes, wants_sparse
            prim.lowering = {"scalar": scalar or name}
            if requires is not None:
                prim.lowering["requires"] = requires
            if xla is not None:
                prim.lowering["xla"] = xla
            if inspect.isclass(declaration):
                _read_partials(prim, declaration.__dict__)
            else:
                prim.operands = tuple(inspect.signature(declaration).parameters)[1:]
                prim.partials = {prim.operands[0]: declaration}
            _check_partials(prim)
            equal = (same or " ".join(prim.operands)).split()
            for field, named in (("same", equal), ("domain", prim.domain)):
                _refuse_strangers(prim, field, named)
            prim.infer = _elementwise_infer(prim, result, equal)
        return prim

    return declare


def _read_partials(prim: Primitive, body: Any) -> None:
    fields = dict(body)
    prim.operands = tuple(fields.pop("operands").split())
    partials = {f"d{x}": x for x in prim.operands}
    known = ("operands", "traits", "sizes", "tf_type", "tf_name", "no_gradient")
    known += (*LOWERINGS, *partials)
    prim.traits |= frozenset(fields.pop("traits", ()))
    prim.sizes = fields.pop("sizes", prim.sizes)
    prim.tf_type = fields.pop("tf_type", prim.tf_type)
    prim.tf_name = fields.pop("tf_name", prim.tf_name)
    prim.lowering.update({key: fields.pop(key) for key in LOWERINGS if key in fields})
    prim.partials = {x: fields.pop(key) for key, x in partials.items() if key in fields}
    _read_no_gradient(prim, fields)
    refuse_unknown(prim.name, fields, known)


def _read_no_gradient(prim: Primitive, fields: dict) -> None:
    given = fields.pop("no_gradient", None)
    if isinstance(given, NoGradient):
        prim.derivative = given
        prim.no_gradient = dict.fromkeys(prim.operands, given)
    else:
        prim.no_gradient = given or {}
    _refuse_strangers(prim, "no_gradient", prim.no_gradient)


def _refuse_strangers(prim: Primitive, field: str, named: Sequence[Any] | dict) -> None:
    """Raise DeclarationError where a field tells of operands that there are not."""
    for name in named:
        if name not in prim.operands:
            raise DeclarationError(
                f"{prim.name}: {field} speaks of {name!r}, which is no operand; "
                f"those are {', '.join(prim.operands)}"
            )


def refuse_unknown(declared: str, fields: Iterable[str], known: Iterable[str]) -> None:
    """Raise DeclarationError where a class body has a name
    that means nothing: it would do nothing.
    """
    for name in fields:
        if name.startswith("__"):
            continue
        near = get_close_matches(name.lower(), list(known), 1, 0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DeclarationError(f"{declared}: {name!r} is no field of a declaration{hint}")


def _check_partials(prim: Primitive) -> None:
    for operand in prim.operands:
        if (operand in prim.partials) == (operand in prim.no_gradient):
            raise DeclarationError(
                f"{prim.name}: operand {operand!r} needs either d{operand} or a NoGradient reason"
            )


def _elementwise_infer(
    prim: Primitive, result: DType | Callable | None, same: list[str]
) -> Callable[..., Any]:
    positions = [prim.operands.index(name) for name in same]

    def infer(*avals: Aval, **params: object) -> Aval:
        dtype = avals[positions[0]].dtype
        check_dtype(prim.name, prim.operands[positions[0]], dtype, prim.accepts)
        for position in positions[1:]:
            other = avals[position].dtype
            if other is not dtype:
                raise invalid(
                    "TW102",
                    f"{prim.name}: {prim.operands[position]} has dtype {other.name} but "
                    f"{prim.operands[positions[0]]} has dtype {dtype.name}",
                    "operands of one dtype",
                    suggest_cast(prim.operands[positions[0]], dtype, prim.operands[position], other)
                    if other.is_numeric and dtype.is_numeric
                    else "",
                )
        dims = broadcast_dims(prim.name, *(aval.dims for aval in avals))
        if isinstance(result, DType):
            return Aval(dims, result)
        return Aval(dims, dtype if result is None else result(*avals, **params))

    return infer


def suggest_cast(name: str, dtype: DType, other: str, of_other: DType) -> str:
    """Suggest code for two operands of different dtypes: a cast that loses nothing.

    The second is cast to the dtype of the first, but never a float to integers.
    """
    ranks = [2 * x.is_complex + x.is_floating for x in (dtype, of_other)]
    return (
        f"tf.cast({name}, tf.{of_other.name})"
        if ranks[0] < ranks[1]
        else (f"tf.cast({other}, tf.{dtype.name})")
    )


def check_dtype(
    name: str, operand: str, dtype: DType, accepts: frozenset[DType] | set[DType] | None
) -> None:
    """Raise InvalidArgumentError unless `dtype` is one of `accepts`."""
    if accepts is not None and dtype not in accepts:
        allowed = ", ".join(sorted(d.name for d in accepts))
        floats = sorted(d.name for d in accepts if d.name == "float32")
        is_count = dtype.is_integer or dtype.name == "bool"
        hint = f"tf.cast({operand}, tf.{floats[0]})" if floats and is_count else ""
        text = f"{name}: {operand} has dtype {dtype.name}"
        raise invalid("TW102", text, f"one of {allowed}", hint)


def primitive(body: type) -> Primitive:
    """Declare a primitive by a class body; see this module's docstring."""
    fields = dict(vars(body))
    with _new(body.__name__.rstrip("_"), body.__doc__) as prim:
        _read_primitive(prim, fields)
    return prim


def _read_primitive(prim: Primitive, fields: dict) -> None:
    prim.elementwise, prim.checked = False, True
    names = fields.pop("operands").split()
    prim.variadic = bool(names) and names[-1].startswith("*")
    prim.operands = tuple(name.lstrip("*") for name in names)
    for field in _PLAIN_FIELDS:
        if field in fields:
            setattr(prim, field, fields.pop(field))
    prim.traits = frozenset(prim.traits)
    for field in _NEEDED:
        if field not in fields:
            raise DeclarationError(f"{prim.name}: no {field!r} in the declaration")
        setattr(prim, field, fields.pop(field))
    if prim.memory not in MEMORY:
        raise DeclarationError(f"{prim.name}: memory={prim.memory!r} is not one of {MEMORY}")
    for field in _FLAGS:
        setattr(prim, field, fields.pop(field, False))
    prim.lowering = {key: fields.pop(key) for key in LOWERINGS if key in fields}
    _read_derivative(prim, fields)
    if not prim.samples and prim.effect is None:
        raise DeclarationError(f"{prim.name}: no samples to test it on")
    transposes = ["transpose", *[f"transpose_{x}" for x in prim.operands]]
    known = ["operands", *_PLAIN_FIELDS, *_NEEDED, *_FLAGS, *LOWERINGS, *_DERIVATIVE, *transposes]
    refuse_unknown(prim.name, fields, known)


def _read_derivative(prim: Primitive, fields: dict) -> None:
    _read_no_gradient(prim, fields)
    prim.vjp_rule, prim.jvp_rule = fields.pop("vjp", None), fields.pop("jvp", None)
    prim.linear = tuple(fields.pop("linear", "").split())
    _refuse_strangers(prim, "linear", prim.linear)
    prim.transposes = {
        name: fields.pop(f"transpose_{name}")
        for name in prim.operands
        if f"transpose_{name}" in fields
    }
    if "transpose" in fields:
        prim.transposes["*"] = fields.pop("transpose")
        prim.linear = prim.linear or prim.operands
    if prim.vjp_rule is not None:
        if prim.jvp_rule is None:
            raise DeclarationError(f"{prim.name}: a vjp without a jvp")
        return
    for operand in prim.operands:
        has = operand in prim.transposes or "*" in prim.transposes
        if has and operand in prim.no_gradient and "*" not in prim.transposes:
            raise DeclarationError(f"{prim.name}: operand {operand!r} has two derivative rules")
        if not has and operand not in prim.no_gradient:
            raise DeclarationError(
                f"{prim.name}: operand {operand!r} needs transpose_{operand}, a vjp and jvp, "
                "or a NoGradient reason"
            )


__all__ = [
    "ELEMENTWISE",
    "LEADING",
    "LOOP",
    "DeclarationError",
    "bool_",
    "check_dtype",
    "elementwise",
    "primitive",
    "refuse_unknown",
]
