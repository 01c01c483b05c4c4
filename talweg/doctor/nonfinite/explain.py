"""`explain_numerics`: from a value that is NaN, infinite or zero to the line that made it.

What is asked about may be a tensor and the tape that recorded it, a tensor of a graph with a
session, or a function of no arguments, which is run.  In each case a ledger (`ledger.py`) has
every operation, forward and backward, in one flow of data, and its trail ends where the first value
that is not finite was made.  Compiled code runs step by step on the interpreter meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.core.provenance import Origin
from talweg.core.roles import Role
from talweg.core.value import Tensor
from talweg.doctor.findings import Place
from talweg.doctor.nonfinite.causes import (
    cause_of,
    custom_name,
    describe_operands,
    forward_operands,
)
from talweg.doctor.nonfinite.gradients import CotangentSweep, is_healthy, source_norm, why_small
from talweg.doctor.nonfinite.ledger import (
    Ledger,
    LedgerEntry,
    content,
    has_bad,
    is_float,
    keeping,
    pause_watching,
    scope_of_entry,
)
from talweg.doctor.nonfinite.report import NumericsExplanation, OperandReport, Passage, SourceNorm
from talweg.eager.custom import CustomRule
from talweg.eager.seeds import ones_of
from talweg.eager.structured import STATE
from talweg.eager.tape import GradientTape
from talweg.eager.variable import variable_of
from talweg.execute import interpret
from talweg.graph import structure
from talweg.graph.node import WRITE
from talweg.passes.functionalize import program_of
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.doctor.nonfinite.ledger import Link
    from talweg.execute.interpret import Missing
    from talweg.graph.handle import Handle
    from talweg.graph.node import Node
    from talweg.graph.subgraph import Body

IN_A_TRACE = (
    "it became zero inside a tf.function that has a custom gradient, where it cannot be followed"
)
EAGERLY = "ask again after tf.config.run_functions_eagerly(True)"

REDRAWN = (
    " (a function with random numbers was run again, and drew others: to see it happen, pass a "
    "function that calls it, in place of the tape)"
)


class Scratch:
    """The values of variables for a run that must not change them."""

    def __init__(self) -> None:
        self.own: dict = {}

    def get(self, variable: Handle | Node, default: Missing = interpret.MISSING) -> Any:
        """Return the value written here, else the variable's value."""
        return self.own[variable] if variable in self.own else STATE.get(variable, default)

    __getitem__ = get

    def __setitem__(self, variable: Handle | Node, array: object) -> None:
        self.own[variable] = array


def explain_function(function: Callable[[], Any], sources: object = None) -> NumericsExplanation:
    """Run a function of no arguments, and say what in its results is not finite, and why.

    With `sources`, also the gradients of the first result by these.
    """
    flat, names = name_sources(sources)
    before = [
        content(leaf.handle_read()) if hasattr(leaf, "handle_read") else content(leaf)
        for leaf in flat
    ]
    tape = GradientTape(persistent=True)
    with keeping() as ledger, tape if flat else nullcontext():
        tape.watch([leaf for leaf in flat if isinstance(leaf, Tensor)])
        answer = function()
    tensors = [x for x in structure.flatten(answer) if isinstance(x, Tensor)]
    results = [content(x) for x in tensors]
    for array in results:
        if has_bad(array):
            return of_trail(ledger, array, "the result")
    if flat:
        if not results:
            raise value_error(
                "TW303",
                "explain_numerics: the function returns no tensor to differentiate",
                "a function that returns the loss",
            )
        whole = partial(tape.gradient, tensors[0], flat)
        return of_gradients(lambda: ledger, results[0], before, names, whole)
    for variable in ledger.written.values():
        array = content(variable.handle_read())
        if has_bad(array):
            if id(array) not in ledger.maker:  # by assign_add, which is no operation
                array = ledger.last_bad(array.shape)
            if array is not None:
                return of_trail(ledger, array, f"the new value of {variable.name.split(':')[0]}")
    bad = [entry for entry in ledger.entries if any(map(has_bad, entry.results))]
    for entry in bad:  # what a session has written
        if entry.prim.effect == WRITE:
            name = str(entry.params["variable"].name).split(":")[0]
            return of_trail(ledger, entry.results[0], f"the new value of {name}")
    return find_hidden(ledger) if bad else NumericsExplanation("finite")


def explain_tape(target: object, sources: object, tape: GradientTape) -> NumericsExplanation:
    """Explain a nonfinite value in a target, else in its gradients, from a tape's records."""
    records = tape._records
    if records is None:
        raise RuntimeError(
            "This tape has been used, and its records are gone: ask explain_numerics before "
            "tape.gradient, or use tf.GradientTape(persistent=True).  [TW302]"
        )
    for leaf in structure.flatten(target):
        array = content(tape._target(leaf))
        if has_bad(array):
            ledger = ledger_of(records)
            for key, reads in tape._reads.items():
                name = str(tape._variables[key].name).split(":")[0]
                ledger.names.update((id(content(read)), name) for read in reads)
            return of_trail(ledger, array, "the target")
    flat, names = name_sources(sources)
    if not flat:
        return NumericsExplanation("finite", "the target")
    arrays = [[content(part) for part in tape._parts(leaf)] for leaf in flat]
    first = tape._target(structure.flatten(target)[0])
    pairs = [(part, name) for parts, name in zip(arrays, names) for part in parts]
    missing = [name for parts, name in zip(arrays, names) if not parts]
    if not pairs:
        return without_path(NumericsExplanation("finite", "the target"), missing)
    kept = [leaf for parts, leaf in zip(arrays, flat) for _ in parts]
    whole = partial(tape._sweep, [first], [ones_of(first)], kept)
    explanation = of_gradients(
        partial(ledger_of, records),
        content(first),
        [p for p, _ in pairs],
        [n for _, n in pairs],
        whole,
    )
    return explanation if not missing else without_path(explanation, missing)


def explain_arrays(
    ledger: Ledger, targets: list, sources: list, names: list[str]
) -> NumericsExplanation:
    """Explain nonfinite values in arrays of a ledger, else in the gradients of the first one."""
    for array in targets:
        if has_bad(array):
            return of_trail(ledger, array, "the target")
    if not sources:
        bad = ledger.first_bad()
        return NumericsExplanation("finite", "the target") if bad is None else find_hidden(ledger)
    return of_gradients(lambda: ledger, targets[0], sources, names)


def without_path(found: NumericsExplanation, missing: list[str]) -> NumericsExplanation:
    """Return `found`, saying by which sources there is no gradient at all."""
    rows = [SourceNorm(name, None, 0.0, "no gradient (tape.explain says why)") for name in missing]
    return replace(found, sources=(*found.sources, *rows))


def name_sources(sources: object) -> tuple[list, list[str]]:
    """Return sources, flat, and what to call each."""
    given = [] if sources is None else structure.flatten(sources)
    flat, names = [variable_of(leaf) for leaf in given], []
    for number, leaf in enumerate(given):
        name = getattr(leaf, "path", None)
        if hasattr(leaf, "handle_read"):
            name = leaf.name
        names.append(
            str(name).split(":")[0]
            if name
            else "the source"
            if len(flat) == 1
            else f"source {number}"
        )
    return flat, names


# -- tapes


def ledger_of(records: Any) -> Ledger:
    """Return the ledger of a tape's records; traced functions run once more, step by step."""
    ledger = Ledger()
    arrays = ledger.apart_of

    def array_of(tensor: object) -> Any:
        return arrays.get(id(tensor), content(tensor))

    for prim, operands, results, params, origin in records:
        parts = results if type(results) is tuple else (results,)
        inputs = tuple([array_of(x) for x in operands])
        for part in parts:
            if any([content(part) is x for x in inputs]):
                arrays[id(part)] = np.asarray(content(part)).view()
            elif type(prim) is CustomRule and is_float(content(part)):
                arrays[id(part)] = ledger.apart(content(part))
        outputs = tuple([array_of(x) for x in parts])
        if prim.role is Role.CALL:
            _run_again(ledger, params["body"], inputs, outputs)
        entry = LedgerEntry(prim, inputs, outputs, params, origin)
        entry.several = type(results) is tuple
        ledger.note(entry)
        ledger.kept.append(results)
    return ledger


def _run_again(ledger: Ledger, body: Body, inputs: tuple, outputs: tuple) -> None:
    """Write down the inside of a function that ran under a tape."""
    with keeping(ledger):
        found = interpret.run(program_of(body), list(inputs), Scratch())  # type: ignore[arg-type]
    for array, again in zip(outputs, found):
        ledger.same(array, again)
        ledger.redrawn |= has_bad(array) != has_bad(again)


# -- what a ledger tells


def of_trail(ledger: Ledger, array: Any, subject: str, sources: tuple = ()) -> NumericsExplanation:
    """Return the explanation of a bad value: the first link of its trail, and why."""
    trail = ledger.trail(array)
    first = trail[0]
    cause = cause_of(ledger, trail)
    value = np.asarray(array)
    verdict = "nan" if np.isnan(value).any() else "inf"
    text = cause.text + (REDRAWN if ledger.redrawn else "")
    explanation = NumericsExplanation(
        verdict,
        subject,
        cause.code,
        cause=text,
        cure=cause.cure,
        element=first.index,
        result=first.value,
        path=tuple([passage(link) for link in trail]),
        sources=sources,
        other=origin_place(cause.place),
    )
    entry = first.entry
    if entry is None:
        line = origin_place(first.via[0].origin) if first.via else None
        return replace(explanation, direction="outside", place=line)
    if entry.rule_of is None:
        return replace(
            explanation,
            direction="forward",
            operation=entry.prim.name,
            place=origin_place(entry.origin),
            operands=operands_of(entry, first),
            singular=_singular(entry.prim, cause),
            scope=scope_of_entry(entry),
        )
    if cause.code == "TW349":
        return replace(
            explanation,
            direction="backward",
            operation=custom_name(ledger, entry),
            place=origin_place(entry.origin),
            operands=operands_of(entry, first),
            other=origin_place(entry.forward),
        )
    forward = LedgerEntry(
        entry.rule_of, forward_operands(ledger, entry) or (), (), {}, entry.forward
    )
    return replace(
        explanation,
        direction="backward",
        operation=entry.rule_of.name,
        place=origin_place(entry.forward),
        asked=origin_place(entry.origin),
        operands=operands_of(forward, first),
        singular=_singular(entry.rule_of, cause),
    )


def _singular(prim: Primitive, cause: Any) -> str:
    return prim.singular if cause.code in ("TW340", "TW345", "TW346", "TW347") else ""


def operands_of(entry: LedgerEntry, link: Link) -> tuple[OperandReport, ...]:
    """Return the operands of an operation, with the element that matters."""
    return tuple([OperandReport(*row) for row in describe_operands(entry, link)])


def origin_place(origin: Origin | None) -> Place | None:
    """Return an origin as a place."""
    return None if origin is None else Place.of(origin)


def passage(link: Any) -> Passage:
    """Return a link of a trail, for reading."""
    entry = link.entry
    if entry is None:
        return Passage("given", None, link.value)
    if entry.rule_of is not None:
        return Passage(entry.rule_of.name, origin_place(entry.forward), link.value, rule=True)
    return Passage(entry.prim.name, origin_place(entry.origin), link.value)


def find_hidden(ledger: Ledger) -> NumericsExplanation:
    """Find out whether something was not finite on the way, and nothing that was asked about is."""
    bad = ledger.first_bad()
    if bad is None:
        entry = next(e for e in ledger.entries if any(map(has_bad, e.results)))
        array = next(x for x in entry.results if has_bad(x))
    else:
        array = bad.array
    return of_trail(ledger, array, "a value on the way")


def of_gradients(
    ledger: Callable[[], Ledger], target: Any, sources: Any, names: Any, whole: Any = None
) -> NumericsExplanation:
    """Return the explanation of the worst of some gradients by arrays.

    `whole` gives them the short way, with a tape; if they are healthy nothing else is done.  Where
    a traced function has a custom gradient, which exists in its trace only, there is no other way.
    """
    bad = False
    if whole is not None:
        with pause_watching():
            arrays = [
                None if g is None else content(densify(g)) for g in structure.flatten(whole())
            ]
        bad = any(map(has_bad, arrays))
        if all(map(is_healthy, arrays)):
            return _fine(tuple([source_norm(n, g, 1.0) for n, g in zip(names, arrays)]))
    sweep = CotangentSweep(ledger())
    traced = whole is not None and any(
        e.prim.role is Role.CUSTOM_RULE for e in sweep.ledger.entries
    )
    if traced and whole is not None:
        with keeping(sweep.ledger):
            arrays = [
                None if g is None else content(densify(g)) for g in structure.flatten(whole())
            ]
    else:
        with dispatch.eagerly():
            seed = ones_of(sweep.tensor(target))
        arrays = sweep.pull(target, seed, sources, noted=bad)
        if not bad and any(map(has_bad, arrays)):
            arrays = sweep.pull(target, seed, sources, noted=True)
    rows = tuple([source_norm(n, g, sweep.largest()) for n, g in zip(names, arrays)])
    for gradient, name in zip(arrays, names):
        if has_bad(gradient):
            return of_trail(sweep.ledger, gradient, f"the gradient of {name}", rows)
    for source, row in zip(sources, rows):
        if traced and row.verdict == "zero":
            return NumericsExplanation(
                "zero",
                f"the gradient of {row.name}",
                "TW353",
                "backward",
                cause=IN_A_TRACE,
                cure=EAGERLY,
                sources=rows,
            )
        if not traced and row.verdict in ("zero", "vanishing", "exploding"):
            return replace(why_small(sweep, source, row.name, row.verdict), sources=rows)
    return _fine(rows)


def _fine(rows: tuple[SourceNorm, ...]) -> NumericsExplanation:
    names = [row.name for row in rows]
    subject = "every gradient" if len(rows) > 1 else f"the gradient of {names[0]}"
    return NumericsExplanation("finite", subject, sources=rows)
