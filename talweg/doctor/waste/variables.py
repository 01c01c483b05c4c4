"""Findings about variables: without a value, without a reader, without a gradient, made anew."""

from __future__ import annotations

from collections.abc import Iterator

from talweg.doctor.findings import Finding, megabytes
from talweg.doctor.waste.observation import Observation, SeenVariable
from talweg.doctor.waste.sites import places_of

MADE_AGAIN = 10  # variables of one line, without a step of training in between
EPOCHS = 3  # steps of the program between which one line made variables


def variable_findings(seen: Observation) -> Iterator[Finding]:
    """Report the variables of a program that cost more than they serve."""
    known = seen.all_variables()
    again = dict(find_made_again(known))
    yield from map(_report_made_again, again.values())
    left_over = {id(v) for v in known if _line(v) in again}
    known = [v for v in known if id(v) not in left_over]
    unset = [v for v in known if _is_unset(v, seen)]
    if unset:
        yield _never_initialized(unset)
    silent = [
        v for v in known if not v.read and not v.asked and v not in unset and _is_own(v, seen)
    ]
    if silent:
        yield _never_read(silent)
    apart = [v for v in known if v.asked and not v.reached and v.trainable]
    if apart:
        yield _never_reached(apart)


def _line(variable: SeenVariable) -> tuple:
    spot = variable.spot
    return (0, 0) if spot is None else (id(spot.code), spot.offset)


def _names(variables: list[SeenVariable], most: int = 4) -> str:
    names = [f"`{v.name}`" for v in variables[:most]]
    more = len(variables) - most
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


def _bytes(variables: list[SeenVariable]) -> int:
    sizes = [v.shape.num_elements() or 0 for v in variables]
    return sum(size * v.dtype.size for size, v in zip(sizes, variables))


def find_made_again(known: list[SeenVariable]) -> Iterator[tuple[tuple, list[SeenVariable]]]:
    """Yield the lines that go on making variables while the program runs, with these."""
    groups: dict[tuple, list[SeenVariable]] = {}
    for variable in known:
        if variable.spot is not None:
            groups.setdefault(_line(variable), []).append(variable)
    for line, group in groups.items():
        runs: dict[int, set[int]] = {}
        for v in group:
            if v.graph is not None:
                runs.setdefault(id(v.graph), set()).add(v.runs)
        dead = [v for v in group if v.graph is None and v.replaced]
        idle = [v for v in dead if v.written <= 1]
        if max(map(len, runs.values()), default=0) >= EPOCHS or (
            len(dead) >= MADE_AGAIN and len(idle) >= 0.9 * len(dead)
        ):
            yield line, group


def _report_made_again(group: list[SeenVariable]) -> Finding:
    """TW613."""
    kept = group[0].graph is not None
    after = "they stay in the graph" if kept else "what was learned is lost with the old one"
    reuse = " With tf.get_variable, reuse=tf.AUTO_REUSE gives the one that is there."
    return Finding(
        "TW613",
        f"`{group[0].name}` was created again and again: {len(group):,} variables",
        "The line stands in a loop, or in a function that is called in each step, and makes a new "
        f"variable each time; {after}.",
        places_of([v.spot for v in group[:1] if v.spot is not None]),
        len(group),
        f"{megabytes(_bytes(group))} in all; a variable that lives for a step learns nothing.",
        "Create it once, before the loop or in __init__, and change it by assign. For a value that "
        "lasts one step, a tensor is enough." + (reuse if kept else ""),
    )


def _is_unset(variable: SeenVariable, seen: Observation) -> bool:
    if variable.graph is None or variable.valued:
        return False
    record = next(
        (r for r in seen.graphs.all_records() if r.table is not None and r.table is variable.graph),
        None,
    )
    return record is not None and record.runs > 0


def _is_own(variable: SeenVariable, seen: Observation) -> bool:
    """Return whether the program had the occasion to read it."""
    if variable.spot is None:
        return False
    return seen.steps > 0 or bool(seen.eager)


def _never_initialized(unset: list[SeenVariable]) -> Finding:
    """TW610."""
    return Finding(
        "TW610",
        f"never initialized: {_names(unset)}",
        "Sessions ran the graph, and none of them gave the variable a value.",
        places_of([v.spot for v in unset if v.spot is not None]),
        len(unset),
        "Running anything that reads it fails; what it was meant for does not take part.",
        "Run tf.global_variables_initializer() after every variable is made (it knows only those "
        "that are there when it is called), or restore a checkpoint; take out what is not needed.",
    )


def _never_read(silent: list[SeenVariable]) -> Finding:
    """TW611."""
    return Finding(
        "TW611",
        f"never read: {_names(silent)}",
        "The program makes the variable (and may assign to it), and never uses its value.",
        places_of([v.spot for v in silent if v.spot is not None]),
        len(silent),
        f"{megabytes(_bytes(silent))}, and perhaps a part of the model that was left out.",
        "Use it, or take it out. Often a tensor of the same name is used in its place.",
    )


def _never_reached(apart: list[SeenVariable]) -> Finding:
    """TW612."""
    count = max(v.asked for v in apart)
    why = "".join(dict.fromkeys(f"\n{v.why}" for v in apart[:3] if v.why))
    return Finding(
        "TW612",
        f"never reached by the loss: {_names(apart)}",
        "There was no path from the loss to the variable whenever gradients were taken "
        f"({count:,} of them), so they were None." + why,
        places_of([v.spot for v in apart if v.spot is not None]),
        len(apart),
        "The variable does not train.",
        (
            "Mend the path there"
            if why
            else "tape.explain(loss, variable) says where the path breaks"
        )
        + "; if it is not meant to train, make it trainable=False and leave it out of the list.",
    )
