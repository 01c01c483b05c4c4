"""Why a gradient is zero, vanishes or explodes: the cotangent of every value, and where it changes.

`Sweep` turns the entries of a ledger into records and goes back through them once, keeping every
cotangent.  Loops, branches and calls are no entries there: what ran inside them is, trip
by trip, so a gradient is followed through them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import NeedsStaticError
from talweg.core.roles import Role, Trait
from talweg.core.value import Tensor
from talweg.doctor.findings import Place
from talweg.doctor.nonfinite.causes import Cause, describe_operands
from talweg.doctor.nonfinite.ledger import (
    Ledger,
    LedgerEntry,
    Link,
    content,
    is_float,
    keeping,
    pause_watching,
    scope_of_entry,
)
from talweg.doctor.nonfinite.report import NumericsExplanation, OperandReport, SourceNorm
from talweg.eager.custom import CustomRule
from talweg.eager.structured import as_tensor
from talweg.eager.tensor import EagerTensor
from talweg.execute.call import quiet
from talweg.graph.node import BODY
from talweg.prims import arithmetic
from talweg.transform.reverse import pullback
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.eager.structured import Variant

SAMPLED = 4000  # records among which the largest cotangent is looked for
HEALTHY = (1e-3, 1e5)  # norms between which nothing more is asked
VANISHED = 1e-7  # of the largest cotangent on the way: less has vanished
EXPLODED = 1e7
CANCELLED = (
    "contributions flow to it and cancel each other: the target does not change with it (the sum "
    "of a softmax is always 1; a shift that is subtracted again has no effect)"
)
OF_ANOTHER = "ask for the gradient of what does depend on it: one element, a loss"
MANY = 3  # operations alike that are named together
UNDERFLOW = 1e-15  # of the largest cotangent: what is 0 behind so little has vanished on the way
OF_RELU = "tf.nn.leaky_relu or gelu, a smaller learning rate, biases above 0"
OF_LIMITS = "clip gradients instead of values, or start inside the limits"
OF_SIGNS = "a smooth step such as tf.tanh(k * x), or a straight-through estimate"
OF_VECTORS = "a loss of the values, or of what does not depend on the choice of the vectors"
OF_FLAT = {  # what to write instead of an operation that is flat
    "relu": OF_RELU,
    "relu6": OF_RELU,
    "maximum": OF_LIMITS + "; for relu: " + OF_RELU,
    "minimum": OF_LIMITS,
    "sign": OF_SIGNS,
    "eigh": OF_VECTORS,
    "svd": OF_VECTORS,
}


class CotangentSweep:
    """The forward records of a program, and the cotangent of every value by one target."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self.tensors: dict[int, Any] = {}
        self.entries = [e for e in ledger.entries if e.rule_of is None and _counts(e)]
        self.records = [self._record(entry) for entry in self.entries]
        self.cotangents: dict[int, Any] = {}
        self.norms: dict[int, float] = {}

    def tensor(self, array: Any) -> Any:
        """Return the tensor that stands for an array."""
        array = self.ledger.again.get(id(array), array)
        found = self.tensors.get(id(array))
        if found is None:
            found = EagerTensor(array) if is_array(array) else as_tensor(array)
            self.tensors[id(array)] = found
        return found

    def _operand(self, value: float | np.generic | np.ndarray) -> Any:
        return value if isinstance(value, (int, float, complex)) else self.tensor(value)

    def _record(self, entry: LedgerEntry) -> tuple:
        operands = tuple([self._operand(x) for x in entry.operands])
        results = tuple([self.tensor(x) for x in entry.results])
        made: Any = results if entry.several else results[0]
        return entry.prim, operands, made, entry.params, entry.origin

    def pull(self, target: Any, seed: Any, sources: list, noted: bool = False) -> list:
        """Return the gradients by arrays; every cotangent on the way is kept.

        `noted`: what the rules compute is written down in the ledger.
        """
        wanted = [self.tensor(x) for x in sources]
        own = {id(t) for t in wanted}
        between = [
            t
            for record in self.records
            for t in (record[2] if type(record[2]) is tuple else (record[2],))
            if t.dtype.is_differentiable and id(t) not in own
        ]
        noting = keeping(self.ledger) if noted else pause_watching()
        with noting, dispatch.eagerly(), dispatch.only(()):
            cotangents = pullback(self.records, [self.tensor(target)], [seed], [*wanted, *between])
            dense = [None if g is None else densify(g) for g in cotangents]
        self.norms.clear()
        self.cotangents = {
            id(t): content(g) for t, g in zip([*wanted, *between], dense) if isinstance(g, Tensor)
        }
        return [None if g is None else content(g) for g in dense[: len(wanted)]]

    def norm(self, tensor: Any) -> float:
        """Return the norm of a cotangent; 0 where nothing came."""
        found = self.norms.get(id(tensor))
        if found is None:
            found = self.norms[id(tensor)] = norm_of(self.cotangents.get(id(tensor)))
        return found

    def enlarge(self, tensor: Any) -> Any:
        """Return the cotangent of a tensor times the power of two
        that brings it near 1; None if none.
        """
        cotangent = self.cotangents.get(id(tensor))
        if cotangent is None or not is_float(cotangent):
            return None
        wide = np.asarray(cotangent).astype(
            np.complex128 if cotangent.dtype.kind == "c" else np.float64
        )
        _, exponent = np.frexp(np.abs(wide).max(initial=0.0))
        return EagerTensor(np.asarray(wide * 2.0 ** -float(exponent)).astype(cotangent.dtype))

    def largest(self) -> float:
        """Return the norm of the largest cotangent (of many: of those of every so many records)."""
        rows = self.records[:: max(1, len(self.records) // SAMPLED)]
        parts = [t for row in rows for t in (row[2] if type(row[2]) is tuple else (row[2],))]
        return max(map(self.norm, parts), default=1.0)


def _counts(entry: LedgerEntry) -> bool:
    """Return whether an entry is an operation on arrays by itself:
    not a body's, not a part taken out.
    """
    return (
        entry.prim.effect != BODY
        and entry.prim.role is not Role.PROJECTION
        and bool(entry.operands)
    )


def is_array(value: object) -> bool:
    """Return whether a value is an array or NumPy scalar."""
    return isinstance(value, (np.ndarray, np.generic, bytes))


def norm_of(array: Variant | np.generic | np.ndarray | None) -> float:
    """Return the Euclidean norm, in float64."""
    if array is None or not is_float(array):
        return 0.0
    wide = np.asarray(array)
    if wide.ndim == 0:
        return abs(complex(wide) if wide.dtype.kind == "c" else float(wide))
    wide = wide.astype(np.complex128 if wide.dtype.kind == "c" else np.float64)
    return float(quiet(np.linalg.norm, wide.reshape(-1)))


def is_healthy(gradient: Any) -> bool:
    """Return whether a gradient is finite, and neither small nor large."""
    return gradient is not None and HEALTHY[0] < norm_of(gradient) < HEALTHY[1]


def source_norm(name: str, gradient: np.generic | np.ndarray | None, largest: float) -> SourceNorm:
    """Return the gradient by one source in a line;
    `largest` is the largest cotangent on the way.
    """
    if gradient is None:
        return SourceNorm(name, None, 0.0, "no gradient (tape.explain says why)")
    size, norm = np.size(gradient), norm_of(gradient)
    zeros = 1 - np.count_nonzero(gradient) / size if size else 0.0
    if not np.isfinite(norm):
        verdict = "not finite"
    elif norm == 0:
        verdict = "zero"
    elif norm < VANISHED * largest:
        verdict = "vanishing"
    else:
        verdict = "exploding" if norm > EXPLODED * max(1.0, np.sqrt(size)) else "fine"
    return SourceNorm(name, norm, zeros, verdict)


# -- zeros


def why_small(
    sweep: CotangentSweep, source: np.generic | np.ndarray, name: str, verdict: str
) -> NumericsExplanation:
    """Return why the gradient by an array is zero, or vanishes, or explodes."""
    own = sweep.tensor(source)
    reached = {id(own)}
    uses = sum(any(x is own for x in record[1]) for record in sweep.records)
    cuts: list[tuple] = []
    changes: list[tuple] = []
    for entry, record in zip(sweep.entries, sweep.records):
        prim, operands, results = record[:3]
        positions = [i for i, x in enumerate(operands) if id(x) in reached]
        if not positions:
            continue
        parts = results if type(results) is tuple else (results,)
        reached.update(map(id, parts))
        after = max(map(sweep.norm, parts))
        inner = [operands[i] for i in positions if operands[i] is not own]
        # What arrived at the source is the sum over its uses: one of them has a part of it.
        before = max(map(sweep.norm, inner)) if inner else sweep.norm(own) / max(1, uses)
        if after > 0 and before == 0:
            cuts.append((entry, record, positions))
        elif after > 0:
            changes.append((entry, before / after))
    subject = f"the gradient of {name}"
    if verdict == "zero":
        if not cuts:
            return _find_cancellation(subject)
        entry, record, positions = cuts[-1]
        cause = zero_cause(sweep, entry, record, positions[0])
        if cause.code in ("TW351", "TW355"):
            if has_vanished(sweep, record):
                return _group_by_line(changes, subject, "vanishing", to_zero=True)
            if has_underflowed(sweep, record, positions[0]):
                cause = underflow(sweep, record)
            elif uses_of(sweep, record[1][positions[0]]) > 1:
                cause = Cause("TW355", f"{entry.prim.name}: {CANCELLED}", OF_ANOTHER)
        return _explain(sweep, entry, cause, subject)
    return _group_by_line(changes, subject, verdict)


def has_vanished(sweep: CotangentSweep, record: tuple) -> bool:
    """Return whether what arrives at an operation is so little
    that its derivative is not to blame.
    """
    parts = record[2] if type(record[2]) is tuple else (record[2],)
    return max(map(sweep.norm, parts)) < UNDERFLOW * sweep.largest()


def has_underflowed(sweep: CotangentSweep, record: tuple, position: int) -> bool:
    """Return whether a rule gives zeros for what arrives,
    but not for more of it: it is linear in it.
    """
    parts = record[2] if type(record[2]) is tuple else (record[2],)

    def gives_zeros(seeds: list) -> bool:
        with pause_watching(), dispatch.eagerly(), dispatch.only(()):
            (found,) = pullback([record], list(parts), seeds, [record[1][position]])
            return found is None or not np.any(content(densify(found)))

    own = [sweep.cotangents.get(id(part)) for part in parts]
    arrived = [None if g is None else EagerTensor(g) for g in own]
    return gives_zeros(arrived) and not gives_zeros([sweep.enlarge(part) for part in parts])


def underflow(sweep: CotangentSweep, record: tuple) -> Cause:
    """Return a gradient that is too small for its dtype."""
    parts = record[2] if type(record[2]) is tuple else (record[2],)
    name = next(x.dtype.name for x in record[1] if getattr(x, "dtype", None) is not None)
    norm = max(map(sweep.norm, parts))
    return Cause(
        "TW359",
        f"the gradient becomes too small for {name} in the derivative of {record[0].name}: what "
        f"arrives there has the norm {norm:.1e}, and what leaves is rounded to 0",
        "multiply the loss by 1024 or more and divide the gradients by it (Keras's "
        "LossScaleOptimizer does both), or use bfloat16 or float32 here",
    )


def uses_of(sweep: CotangentSweep, tensor: Tensor) -> int:
    """Count the uses of a tensor as an operand of the operations that ran."""
    return sum(sum(x is tensor for x in record[1]) for record in sweep.records)


def _explain(
    sweep: CotangentSweep, entry: LedgerEntry, cause: Cause, subject: str
) -> NumericsExplanation:
    first = where_zeros_began(sweep.ledger, entry) if cause.code == "TW350" else None
    if first is not None:
        entry, cause = first, _flat(first, first.prim.operands[0])
    rows = describe_operands(entry, Link(entry, entry.results[0], ()))
    return NumericsExplanation(
        "zero",
        subject,
        cause.code,
        "backward",
        entry.prim.name,
        place_of(entry),
        operands=tuple([OperandReport(*row) for row in rows]),
        cause=cause.text,
        cure=cause.cure,
        scope=scope_of_entry(entry),
    )


def where_zeros_began(ledger: Ledger, entry: LedgerEntry) -> LedgerEntry | None:
    """Return, if a flat operation was given nothing but zeros,
    the flat operation that made these first.
    """
    array = entry.operands[0]
    maker = None
    while _is_zero(array):
        maker = ledger.maker.get(id(array))
        if maker is None:
            return None
        array = next((x for x in maker.operands if _is_zero(x) and is_float(x)), None)
    return maker if maker is not None and maker.prim.kinks else None


def place_of(entry: LedgerEntry) -> Place | None:
    """Return the line an operation stands on."""
    return None if entry.origin is None else Place.of(entry.origin)


def zero_cause(sweep: CotangentSweep, entry: LedgerEntry, record: tuple, position: int) -> Cause:
    """Return why an operation lets nothing of a cotangent through."""
    prim, operands, results = record[:3]
    if type(prim) is CustomRule:
        return Cause(
            "TW353",
            f"the custom gradient of {prim.name} returned zeros for this argument",
            "look at the function that its tf.custom_gradient returns; tf.check_gradients compares "
            "it with finite differences",
        )
    if np.size(entry.operands[position]) == 0:
        return Cause(
            "TW354",
            f"{prim.name} gets nothing: what was taken out before has no elements",
            "check the slice or the indices before it",
        )
    if prim.elementwise:
        name = prim.operands[min(position, len(prim.operands) - 1)]
        partial = _partial(prim.partials.get(name), results, operands)
        if prim is arithmetic.select:
            return Cause(
                "TW352",
                "tf.where takes its other branch everywhere, and what is not taken gets "
                "no gradient",
                "look at the condition: it does not select one element of this",
            )
        if partial is not None and partial.dtype.kind == "b" or name in prim.kinks:
            return _flat(entry, name)
        others = [i for i, x in enumerate(entry.operands) if i != position and _is_zero(x)]
        if others:
            return _times_zero(entry, others[0])
        return _find_saturation(entry, partial, position)
    others = [i for i, x in enumerate(entry.operands) if i != position and _is_zero(x)]
    if others:
        return _times_zero(entry, others[0])
    if prim.memory in ("gather", "view"):
        return Cause(
            "TW354",
            f"{prim.name} takes out elements that have no gradient, or none at all",
            "check the indices: no element that the target depends on is among those taken",
        )
    if Trait.NORMALIZES in prim.traits and np.shape(entry.operands[position])[-1:] == (1,):
        return Cause(
            "TW355",
            f"{prim.name} over one class gives 1 (its logarithm 0), whatever its operand is",
            "two classes or more, or tf.sigmoid with a binary cross entropy for one output",
        )
    if not prim.kinks:
        return Cause("TW355", f"{prim.name}: {CANCELLED}", OF_ANOTHER)
    return _flat(entry, prim.operands[min(position, len(prim.operands) - 1)])


def _partial(rule: Callable[..., Any] | None, results: object, operands: tuple) -> Any:
    """Return a partial derivative as an array; None if it cannot be computed alone."""
    if rule is None:
        return None
    try:
        with dispatch.eagerly(), dispatch.only(()):
            found = rule(results, *operands)
            factors = found if type(found) is tuple else (found,)
            return np.asarray(math.prod([np.asarray(content(factor)) for factor in factors]))
    except (NeedsStaticError, TypeError, ValueError, AttributeError):
        return None


def _is_zero(value: Any) -> bool:
    if isinstance(value, (int, float)):
        return value == 0
    return is_float(value) and np.size(value) > 0 and not np.any(value)


def _flat(entry: LedgerEntry, name: str) -> Cause:
    prim = entry.prim
    told = prim.kinks.get(name, "")
    rule = f" ({told})" if told else ""
    array = next((x for x in entry.operands if is_float(x)), None)
    span = ""
    if array is not None and np.size(array):
        span = f"; its operand lies between {np.min(array):.4g} and {np.max(array):.4g}"
    return Cause(
        "TW350",
        f"{prim.name} is flat wherever its operand is here, so its derivative is 0 everywhere"
        f"{rule}{span}",
        OF_FLAT.get(prim.name, "start where it is not flat, or use a smooth function near it"),
    )


def _find_saturation(entry: LedgerEntry, partial: object, position: int) -> Cause:
    span = ""
    array = entry.operands[position]
    if _is_zero(array):
        return Cause(
            "TW352",
            f"the derivative of {entry.prim.name} is 0 where its operand is 0, as it is everywhere "
            "here",
            "nothing, if the target is at its minimum; else look at what made the operand 0",
        )
    if is_float(array):
        span = f" (its operand lies between {np.min(array):.4g} and {np.max(array):.4g})"
    return Cause(
        "TW351",
        f"{entry.prim.name} is saturated{span}: its derivative is too small for "
        f"{np.asarray(entry.results[0]).dtype.name} and became 0",
        "smaller inputs: normalise them, smaller weights; losses from logits "
        "(tf.nn.sigmoid_cross_entropy_with_logits) instead of probabilities",
    )


def _times_zero(entry: LedgerEntry, position: int) -> Cause:
    name = entry.name_of(position)
    return Cause(
        "TW352",
        f"{entry.prim.name} multiplies by its operand {name}, which is 0 everywhere, so the "
        "derivative by the other is 0",
        "weights that start at 0 (or a mask of zeros): initialise at random, look at the mask",
    )


def _find_cancellation(subject: str) -> NumericsExplanation:
    return NumericsExplanation(
        "zero", subject, "TW355", "backward", cause=CANCELLED, cure=OF_ANOTHER
    )


# -- vanishing and exploding


def _group_by_line(
    changes: list, subject: str, verdict: str, to_zero: bool = False
) -> NumericsExplanation:
    """Return the operations, line by line, that shrink (or enlarge) the gradient most."""
    groups: dict[tuple, list] = {}
    for entry, factor in changes:
        if 0 < factor < np.inf:
            groups.setdefault((entry.prim.name, entry.origin), []).append((entry, factor))
    sign = -1 if verdict == "vanishing" else 1
    total = {key: sum(np.log10(f) for _, f in rows) for key, rows in groups.items()}
    key = max(total, key=lambda k: sign * total[k], default=None)
    if key is None:
        return NumericsExplanation(verdict, subject, "TW356" if sign < 0 else "TW357", "backward")
    rows = groups[key]
    entry, count = rows[0][0], len(rows)
    each = 10 ** (total[key] / count)
    times = f"each of the {count} times that it runs" if count >= MANY else "there"
    word = "shrinks" if sign < 0 else "grows"
    text = (
        f"the gradient {word} by a factor of {each:.3g} at {key[0]}, {times}"
        f" ({10 ** total[key]:.1e} in all)"
        + (", until it is too small for its dtype and becomes 0" if to_zero else "")
    )
    cure = (
        "residual connections or gates (LSTM, GRU), normalisation between layers, relu-like "
        "activations, weights that keep the variance (Glorot, He, orthogonal)"
        if sign < 0
        else "tf.clip_by_global_norm(gradients, 1.0), smaller or orthogonal initial weights, "
        "normalisation between layers, shorter sequences"
    )
    code = "TW356" if sign < 0 else "TW357"
    rows_shown = tuple(
        [OperandReport(*row) for row in describe_operands(entry, Link(entry, entry.results[0], ()))]
    )
    return NumericsExplanation(
        verdict,
        subject,
        code,
        "backward",
        key[0],
        place_of(entry),
        operands=rows_shown,
        cause=text,
        cure=cure,
        scope=scope_of_entry(entry),
    )
