"""Why an operation made a NaN or an infinity: what its declaration says of the operands it had.

A cause has a code with a page (`talweg explain TW346`), a sentence, and what to write instead.  The
knowledge about operations (`singular`, `avoid`) is in their declarations; here are only the kinds
of trouble there are, told apart by the values at the element where it began.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.provenance import Origin
from talweg.core.roles import Trait
from talweg.doctor.nonfinite.ledger import Ledger, LedgerEntry, Link, element_of, has_bad, is_float
from talweg.eager.custom import CustomRule
from talweg.prims import arithmetic, reduce, transcendental
from talweg.prims.nn import activations

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

CONDITION = re.compile(r"(\|?)(\w)(\|?) = (.+)")
OF_PROBABILITIES = (
    "tf.nn.log_softmax(logits) or tf.math.log_sigmoid(logits) for the logarithm of the two, or a "
    "loss that takes logits: tf.nn.softmax_cross_entropy_with_logits, from_logits=True in Keras"
)
OF_MATRICES = "a small multiple of the identity added: x + 1e-6 * tf.eye(n)"
SMALL = 1e-6  # so near a singular point counts as having hit it, for derivatives


@dataclass(frozen=True)
class Cause:
    """Why: a code, a sentence, what to write instead; `place` is another line that matters."""

    code: str
    text: str
    cure: str = ""
    place: Origin | None = None


def hits(singular: str, values: dict[str, Any]) -> bool:
    """Return whether operands are at a point that a declaration's `singular` names.

    >>> hits("|x| = 1", {"x": -1.0}), hits("x = 0 with y < 1", {"x": 0.0, "y": 0.5})
    (True, True)
    """
    text = singular.split(" with ")[0]
    if text.count(" = ") > 1:  # x = y = 0: all of them
        *names, last = text.split(" = ")
        return all(hits(f"{name} = {last}", values) for name in names)
    match = CONDITION.fullmatch(text)
    if match is None or match[2] not in values or values[match[2]] is None:
        return False
    value = abs(values[match[2]]) if match[1] else values[match[2]]
    points = match[4].split(", ")
    if points[0].startswith("π/2"):
        return bool(abs(math.cos(float(np.real(value)))) < SMALL)
    if points[-1] == "...":
        return bool(np.real(value) <= 0 and abs(value - round(float(np.real(value)))) < SMALL)
    return any(abs(value - float(point)) < SMALL for point in points)


def values_at(prim: Primitive, operands: tuple, index: tuple) -> dict[str, Any]:
    """Return the elements of the operands of an elementwise operation
    that belong to one of its result.
    """
    found = {}
    for name, operand in zip(prim.operands, operands):
        place = element_of(operand, index)
        found[name] = None if place is None else np.asarray(operand)[place][()]
    return found


def cause_of(ledger: Ledger, trail: list[Link]) -> Cause:
    """Return why the first link of a trail is not finite."""
    first = trail[0]
    entry = first.entry
    hidden = all_masked(trail)
    if hidden is not None:
        return hidden
    if entry is None:
        return from_outside(ledger, first)
    if entry.rule_of is not None:
        return in_a_rule(ledger, trail, entry)
    masked = behind_a_mask(ledger, trail)
    if masked is not None and masked[2] == "tf.where":  # a rule met what is hidden forward
        values = values_at(entry.prim, entry.operands, first.index) if entry.by_element else {}
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        return _find_mask(entry.prim, shown, masked)
    cause = in_the_program(entry, first)
    if cause.code == "TW340" and entry.prim is transcendental.log and is_probability(ledger, entry):
        return replace(cause, cure=OF_PROBABILITIES)
    return explain_times_zero(trail, cause)


def is_probability(ledger: Ledger, entry: LedgerEntry) -> bool:
    """Return whether the operand of an operation is a softmax or a sigmoid."""
    array = entry.operands[0]
    for _ in range(4):  # reshapes between them
        maker = ledger.maker.get(id(array))
        if maker is None or maker.prim in (activations.softmax, transcendental.sigmoid):
            return maker is not None
        if maker.prim.memory != "view" and maker.prim is not arithmetic.sub:  # 1 - p is one, too
            return False
        array = maker.operands[-1 if maker.prim is arithmetic.sub else 0]
    return False


def all_masked(trail: list[Link]) -> Cause | None:
    """Return the cause, if a softmax met a row of which every element is minus infinity."""
    for link, after in zip(trail, trail[1:]):
        entry = after.entry
        if entry is None or entry.rule_of is not None or Trait.NORMALIZES not in entry.prim.traits:
            continue
        if link.value == -np.inf and np.isnan(after.value):
            return Cause(
                "TW341",
                f"{entry.prim.name} over elements that are all -inf (everything masked out) is "
                "0 / 0 = nan",
                "a large negative number in the mask, such as -1e9, in place of -inf; or leave out "
                "the rows that are masked out whole",
                entry.origin,
            )
    return None


def explain_times_zero(trail: list[Link], cause: Cause) -> Cause:
    """Return `cause`, saying so where an infinity met a factor 0, which does not hide it."""
    for link, after in zip(trail, trail[1:]):
        entry = after.entry
        if entry is None or entry.rule_of is not None or entry.prim is not arithmetic.mul:
            continue
        if not np.isinf(link.value) or not np.isnan(after.value):
            continue
        text = f"{cause.text}; a product with 0 does not hide it: 0 * {link.value} = nan"
        cure = "two tf.where: safe = tf.where(good, x, 1.0); y = tf.where(good, f(safe), 0.0)"
        return replace(cause, text=text, cure=f"{cure}; or {cause.cure}", place=entry.origin)
    return cause


def from_outside(ledger: Ledger, link: Link) -> Cause:
    """Find out whether the value was not finite before anything ran."""
    what = "NaN" if np.isnan(link.value) else "infinite"
    used, name = "", ledger.names.get(id(link.array), "")
    if link.via is not None:
        entry, position = link.via
        used = f", and came in as operand {entry.name_of(position)} of {entry.prim.name}"
        name = name or _name_in_graph(entry, position)
    source = f"the value of {name}" if name else "the value"
    kinds = "" if name else ": data, an initial value, a constant, or a result of NumPy"
    return Cause(
        "TW344",
        f"{source} was {what} before anything was computed{used}{kinds}",
        "look at where it comes from: tf.debugging.check_numerics(x, 'input') on data; for missing "
        "numbers in data tf.where(tf.math.is_finite(x), x, 0.0) before anything else",
    )


def _name_in_graph(entry: LedgerEntry, position: int) -> str:
    """Return the name of a placeholder, variable or constant that an operation of a graph took."""
    node = entry.node
    graph = None if node is None else node.table.owner()
    if graph is None or len(node.operands) != len(entry.operands):
        return ""
    source = node.operands[position]
    variable = source.params.get("variable")
    return str(getattr(variable, "name", "") or graph.operation_name(source)).split(":")[0]


# -- forward


def in_the_program(entry: LedgerEntry, link: Link) -> Cause:
    """Return an operation of the program itself."""
    prim, value = entry.prim, link.value
    if prim.memory == "host":
        return Cause(
            "TW344",
            "a function in Python or NumPy returned it",
            "look inside that function; in tensor operations it can be followed",
        )
    values = values_at(prim, entry.operands, link.index) if entry.by_element else {}
    shown = ", ".join(f"{name} = {value}" for name, value in values.items() if value is not None)
    if prim.elementwise and prim.singular and hits(prim.singular, values):
        text = f"{prim.name} is not finite where {prim.singular}, and here {shown}"
        return Cause("TW340", text, prim.avoid)
    if any(np.size(x) == 0 for x in entry.operands if is_float(x)):
        text = f"{prim.name} of an array without elements"
        return Cause("TW341", text, "ask tf.size(x) > 0 before, or leave empty batches out")
    if np.isnan(value) and not prim.elementwise and _is_too_large(entry):
        return _overflow(entry, "")
    if np.isnan(value):
        where = f" ({prim.singular})" if prim.singular and not prim.elementwise else ""
        text = f"{prim.name} has no finite answer for {shown or 'these operands'}{where}"
        return Cause("TW341", text, prim.avoid or (OF_MATRICES if prim.singular else ""))
    if prim.singular and not prim.elementwise and not _is_too_large(entry):
        text = f"{prim.name} is not finite for: {prim.singular}"
        return Cause("TW340", text, prim.avoid or OF_MATRICES)
    return _overflow(entry, shown)


def _is_too_large(entry: LedgerEntry) -> bool:
    """Return whether the operands come near the largest number
    of their dtype, by sums and products.
    """
    largest = max(
        (float(np.abs(x).max()) for x in entry.operands if is_float(x) and np.size(x)), default=0.0
    )
    return largest > math.sqrt(_limit(entry.results[0]))


def _limit(array: object) -> float:
    """Return the largest number of an array's dtype."""
    dtype = np.asarray(array).dtype
    return 3.39e38 if dtype.name == "bfloat16" else float(np.finfo(dtype).max)


def _overflow(entry: LedgerEntry, shown: str) -> Cause:
    dtype = np.asarray(entry.results[0]).dtype.name
    limit = f"{_limit(entry.results[0]):.3g}"
    text = f"the result of {entry.prim.name} is larger than {dtype} can hold ({limit})"
    if shown:
        text += f": {shown}"
    cure = entry.prim.avoid
    if not cure and dtype == "float16":
        cure = "bfloat16 or float32 here, or smaller numbers: scale the loss, normalise"
    usual = (
        "smaller numbers: normalise the inputs, clip gradients (tf.clip_by_global_norm), a smaller "
        "learning rate, smaller initial weights"
    )
    return Cause("TW342", text, cure or usual)


# -- backward


def in_a_rule(ledger: Ledger, trail: list[Link], entry: LedgerEntry) -> Cause:
    """Return an operation that a derivative rule made."""
    prim, index = entry.rule_of, trail[0].index
    operands = forward_operands(ledger, entry)
    values = values_at(prim, operands, index) if operands and prim.elementwise else {}
    known = ", ".join(f"{name} = {value}" for name, value in values.items() if value is not None)
    at_point = bool(prim.singular) and (not values or hits(prim.singular, values))
    custom = custom_name(ledger, entry)
    if custom:
        shown = values_at(entry.prim, entry.operands, index) if entry.prim.elementwise else {}
        had = ", ".join(f"{name} = {value}" for name, value in shown.items())
        text = f"the custom gradient of {custom} made it: its {entry.prim.name} had {had}"
        return Cause("TW349", text, entry.prim.avoid)
    masked = behind_a_mask(ledger, trail)
    if masked is not None:
        return _find_mask(prim, known, masked)
    summed = sum_under_root(ledger, prim, operands) if at_point else ""
    if summed == "reduce_mean":
        return Cause(
            "TW347",
            "the derivative of a standard deviation, or other root of a mean, is not defined where "
            f"all that the mean is of are 0: {prim.name} had {known or 'x = 0'}",
            "tf.sqrt(tf.math.reduce_variance(x) + 1e-12), or the variance without the root",
        )
    if summed:
        return Cause(
            "TW347",
            f"the derivative of a norm, √(Σ x²), is not defined where all x are 0: {prim.name} "
            f"had {known or 'x = 0'}",
            "tf.sqrt(tf.reduce_sum(x * x) + 1e-12), or tf.math.l2_normalize(x, epsilon=...), or "
            "the square without the root",
        )
    if at_point:
        text = f"the derivative of {prim.name} is not finite where {prim.singular}"
        return Cause("TW345", f"{text}, and here {known}" if known else text, prim.avoid)
    if np.isnan(trail[0].value) and prim.elementwise:
        text = f"the derivative of {prim.name} has no finite value for {known or 'its operands'}"
        return Cause("TW345", text, prim.avoid)
    dtype = np.asarray(entry.results[0]).dtype.name
    return Cause(
        "TW348",
        f"the gradient outgrew {dtype} ({_limit(entry.results[0]):.3g}) in the derivative of "
        f"{prim.name}",
        prim.avoid
        or "tf.clip_by_global_norm for each step, smaller initial weights, "
        "normalisation between layers, shorter sequences",
    )


def forward_operands(ledger: Ledger, entry: LedgerEntry) -> tuple | None:
    """Return the operands of the operation whose rule made `entry`."""
    if entry.forward_operands is not None:
        return entry.forward_operands
    for other in reversed(ledger.entries):
        if other.prim is entry.rule_of and other.origin == entry.forward:
            return other.operands
    return None


def custom_name(ledger: Ledger, entry: LedgerEntry) -> str:
    """Return the function whose custom gradient made an entry; "" if none did."""
    if isinstance(entry.rule_of, CustomRule):
        return entry.rule_of.name
    if entry.rule_of.name != "with_rule":
        return ""
    calls = [e for e in ledger.entries if e.prim is entry.rule_of and e.origin == entry.forward]
    return calls[-1].params["rule"].name if calls else "a function"


def sum_under_root(ledger: Ledger, prim: Any, operands: tuple | None) -> str:
    """Return the sum or mean that a forward operation is the square root of; "" if of none."""
    if prim not in (arithmetic.sqrt, arithmetic.pow_, arithmetic.rsqrt) or not operands:
        return ""
    array = operands[0]
    for _ in range(4):  # reshapes between the sum and the root
        maker = ledger.maker.get(id(array))
        if maker is None:
            return ""
        if maker.prim in (reduce.reduce_sum, reduce.reduce_mean):
            return maker.prim.name
        if maker.prim.memory != "view":
            return ""
        array = maker.operands[0]
    return ""


def behind_a_mask(ledger: Ledger, trail: list[Link]) -> tuple | None:
    """Return (link, origin of the mask, its name) if 0 * inf is what made the NaN of a trail."""
    for link, after in zip(trail, trail[1:]):
        if after.entry is None or not np.isnan(after.value) or np.isnan(link.value):
            continue
        for operand in after.entry.operands:
            place = element_of(operand, after.index)
            if place is None or not is_float(operand) or np.asarray(operand)[place] != 0:
                continue
            found = mask_behind(ledger, operand)
            if found is not None:
                return (after, *found)
    return None


def mask_behind(ledger: Ledger, array: np.ndarray, limit: int = 400) -> tuple | None:
    """Return (origin, name) of the `where`, or product with zeros,
    that a zero in a gradient came from.
    """
    pending, seen, product = [array], set(), None
    while pending and len(seen) < limit:
        entry = ledger.maker.get(id(pending.pop(0)))
        if entry is None or id(entry) in seen:
            continue
        seen.add(id(entry))
        if entry.rule_of is None:
            continue
        if entry.rule_of.name == "select":
            return entry.forward, "tf.where"
        if entry.rule_of.name == "mul" and product is None and _has_zeros(ledger, entry):
            product = entry.forward, "a product with zeros"
        pending += [x for x in entry.operands if is_float(x)]
    return product


def _has_zeros(ledger: Ledger, entry: LedgerEntry) -> bool:
    """Return whether a factor of the product that a rule differentiates has zeros."""
    return any(np.size(x) > np.count_nonzero(x) for x in forward_operands(ledger, entry) or ())


def _find_mask(prim: Primitive, known: str, masked: tuple) -> Cause:
    link, origin, name = masked
    shown = f" ({known})" if known else ""
    reason = f"is not finite where {prim.singular}" if prim.singular else "is not finite there"
    return Cause(
        "TW346",
        f"{name} hides the value of {prim.name} but not its derivative{shown}: that {reason}, and "
        "the zero that flows back from what hides it makes 0 * inf = nan",
        "two tf.where: safe = tf.where(good, x, 1.0); "
        f"y = tf.where(good, f(safe), 0.0), with f what has {prim.name} in it",
        origin,
    )


def describe_operands(entry: LedgerEntry, link: Link) -> list[tuple]:
    """Return (name, element, smallest, largest, shape, dtype) of each operand with numbers."""
    rows = []
    for position, operand in enumerate(entry.operands):
        array = (
            np.asarray(operand)
            if isinstance(operand, (np.ndarray, np.generic, int, float))
            else None
        )
        if array is None or array.dtype.kind not in "biufcV" or array.dtype.names:
            continue
        index = element_of(array, link.index) if entry.by_element else None
        element = None if index is None else array[index][()]
        smallest, largest = range_of(array)
        rows.append(
            (entry.name_of(position), element, smallest, largest, array.shape, array.dtype.name)
        )
    return rows


def range_of(array: np.ndarray) -> tuple:
    """Return the smallest and largest finite elements; magnitudes for complex numbers."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        array = np.abs(array)
    finite = array[np.isfinite(array)] if has_bad(array) else array
    if finite.size == 0:
        return None, None
    return finite.min()[()], finite.max()[()]
