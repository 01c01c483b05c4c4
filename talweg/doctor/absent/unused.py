"""Absent gradients of targets that do not depend on the source, as far as the tape has seen.

Here: values that went round the tape, sources that were not watched, or not used.  Targets from
outside the tape are in `outside.py`, values that left for NumPy in `detached.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.provenance import Origin
from talweg.doctor.absent import remedies
from talweg.doctor.absent.detached import left, left_by_a_session
from talweg.doctor.absent.explanation import Explanation, PathStep
from talweg.doctor.absent.outside import before_tape, find_paused, target_outside
from talweg.doctor.absent.words import line_in, place_of
from talweg.doctor.findings import Place

if TYPE_CHECKING:
    from talweg.doctor.absent.explain import Case


# -- values that went round the tape


def find_assigned(case: Case) -> Explanation | None:
    """Find out whether the value went into a variable by an assignment,
    and came back by reading it.
    """
    level = case.flow.level
    writes = [(v, name, key, origin) for v, name, key, origin in case.notes.writes if key in level]
    for variable, name, key, origin in writes:
        if _leads_on(case, variable):
            return _is_assigned(case, name, origin, case.steps(case.flow.path_to(key)))
    for write in case.flow.writes:
        owner = getattr(write.variable, "variable", None)
        if _leads_on(case, id(owner)):
            name = getattr(write.variable, "name", "a variable")
            return _is_assigned(case, name, write.operation[4], ())
    return None


def _leads_on(case: Case, variable: int) -> bool:
    """Return whether the target may depend on a variable, through a value that was read from it."""
    reads = case.evidence.reads.get(variable)
    if reads is None:
        return variable in case.notes.unwatched
    return any(id(read) in case.inputs for read in reads)


def _is_assigned(case: Case, name: str, origin: Origin | None, path: tuple) -> Explanation:
    step = PathStep.of(f"assign to {name}", "", origin, "break")
    return case.answer(
        "assigned",
        "TW328",
        f"it went into the variable {name} by an assignment, and no gradient follows a value "
        "through a variable's state",
        remedies.BY_NAME["update_variable"],
        path=path,
        breaking=step,
        lines=[step.place],
    )


def find_exchanged(case: Case) -> Explanation | None:
    """Find out whether the source was computed from the target."""
    evidence = case.evidence
    if case.source.kind != "tensor" or case.source.key in case.targets:
        return None
    if not evidence.exchanged:
        back = case.walker.over_records(evidence.records, evidence.targets)
        if case.source.key not in back.level:
            return None
    words = case.words
    return case.answer(
        "exchanged",
        "TW337",
        f"{words.source} was computed from {words.target}, not the other way round",
        ("tf.gradients" if evidence.in_graph else "tape.gradient")
        + f"({words.source}, {words.target}): the target comes first",
    )


# -- sources that were not watched


def find_unwatched_variable(case: Case) -> Explanation | None:
    """Return a variable that tapes do not watch by themselves."""
    evidence = case.evidence
    if case.source.kind != "variable" or evidence.in_graph or evidence.parts:
        return None
    why, origin = case.notes.unwatched.get(case.source.key, ("", None))
    spelling = case.words.spelling if case.words.source_names else "variable"
    if not case.source.trainable and (why or case.source.key not in evidence.variables):
        if why == "":
            return None
        return case.answer(
            "not trainable",
            "TW311",
            f"{case.words.source} was made with trainable=False, so the tape does not watch it",
            f"tape.watch({spelling}) as the first line of the block, or make it trainable",
            lines=[place_of(origin)],
        )
    if why == "accessed":
        return case.answer(
            "variables not watched",
            "TW312",
            "this tape was made with watch_accessed_variables=False, and nobody told it to watch "
            f"{case.words.source}",
            f"tape.watch({spelling}) as the first line of the block",
            lines=[place_of(origin), place_of(case.notes.began)],
        )
    return None


def find_unwatched_tensor(case: Case) -> Explanation | None:
    """Find out whether nobody told the tape to watch the tensor, or too late."""
    evidence = case.evidence
    if case.source.kind != "tensor":
        return None
    if evidence.in_graph:
        return None if _is_used(case) else rebound(case)
    if case.source.key not in evidence.watched:
        rebinding = rebound(case)
        if rebinding is not None:
            return rebinding
        spelling = case.words.spelling
        used = _first_use(case)
        return case.answer(
            "not watched",
            "TW310",
            f"{case.words.source} is a tensor that the tape was not told to watch; only trainable "
            "variables are watched without being told",
            f"tape.watch({spelling}) as the first line of the block, or make it a tf.Variable",
            lines=[used, place_of(case.notes.began)],
        )
    if _is_used(case):
        return None
    if case.source.key in case.notes.late:
        return case.answer(
            "watched too late",
            "TW313",
            f"{case.words.source} was watched only after it had been used: what was computed "
            "before is not recorded",
            "put tape.watch first in the block",
            lines=[place_of(case.notes.late[case.source.key]), _first_use(case)],
        )
    return rebound(case)


def rebound(case: Case) -> Explanation | None:
    """Find out whether the name stands
    for another tensor than the one the target was computed from.
    """
    program, names = case.program, case.words.source_names
    if program is None or not names:
        return None
    given = program.assignments(names[0])
    later = [one for one in given if one.value is not None and program.uses(one.value, names[0])]
    first = [one for one in given if program.makes_variable(one.value)]
    if not first and not case.evidence.in_graph:  # it may be computed in steps before the tape
        block = case.block
        later = [one for one in later if block is not None and one.line >= block[0]]
    if not later or (not first and len(given) < 2):
        return None
    line = later[-1].line
    what = "a variable" if first else "another tensor"
    name = names[0]
    remedy = (
        f"{name}.assign(...) or {name}.assign_sub(...) keeps the variable; `{name} = ...` only "
        "gives its name to a new tensor"
        if first
        else f"ask for the gradient by the tensor that was used: give the new one another name "
        f"than {name}, or compute the target after it"
    )
    return case.answer(
        "name rebound",
        "TW329",
        f"{name} was {what} once, but line {line} gave the name to a new tensor, which the tape "
        "does not know",
        remedy,
        lines=[line_in(case, line), line_in(case, (first or given)[0].line)],
    )


# -- sources that were not used


def same_name(case: Case) -> Explanation | None:
    """Find out whether another variable of the same name was used."""
    evidence = case.evidence
    if case.source.kind != "variable" or _is_used(case):
        return None
    twins = [
        key
        for key, name in evidence.variables.items()
        if name == case.source.name and key != case.source.key
    ]
    if not twins or case.source.name.startswith("Variable:"):
        return None
    return case.answer(
        "two of one name",
        "TW334",
        f"another variable is called {case.source.name} too, and that one was used",
        "ask for the gradient by the variable that the model uses (the same object), and give "
        "every variable a name of its own",
    )


def earlier_value(case: Case) -> Explanation | None:
    """Explain a block whose operand was itself computed from the source before the tape began."""
    scene = case.evidence.scene
    program, block = case.program, case.block
    names = [*case.words.source_names, *(scene.holders if scene else [])]
    if program is None or block is None or not names or _is_used(case):
        return None
    into_target = program.names_behind(case.words.target_names)
    for name, made, dataset in program.values_from_before(block, names):
        if into_target and name not in into_target:
            continue
        if dataset:
            return case.answer(
                "through a dataset",
                "TW338",
                f"{name} comes out of a dataset that was made with {case.words.source}; what a "
                "dataset gives is data, and no gradient goes back through it",
                "let the dataset give what does not depend on variables, and compute the rest "
                "inside `with tf.GradientTape() as tape:`",
                lines=[program.place(made.line), line_in(case, block[0])],
            )
        return before_tape(
            case, f"{name}, which the target is computed from,", program.place(made.line)
        )
    return None


def not_reached(case: Case) -> Explanation | None:
    """Find out whether the lines that use the source were not run,
    or run while recording was stopped.
    """
    program, block = case.program, case.block
    scene = case.evidence.scene
    if program is None or block is None or scene is None or _is_used(case):
        return None
    names = [*scene.source_names, *[f"self.{name}" for name in scene.attributes]]
    mentions = next(filter(None, (program.mentions(name, *block) for name in names)), [])
    pauses = program.blocks_inside(*block, "stop_recording")
    for mention in mentions:
        if any(start <= mention.line <= end for start, end in pauses):
            return find_paused(case, line_in(case, mention.line))
    if not mentions or any(not mention.kind for mention in mentions):
        return None
    mention = mentions[0]
    what = {
        "if": "the branch",
        "function": "the function",
        "loop": "the loop",
        "except": "the except clause",
    }[mention.kind]
    return case.answer(
        "branch not taken",
        "TW332",
        f"{case.words.source} is used only in {what} at line {mention.condition}, which was not "
        "run",
        "this may be right: there is no gradient where nothing was computed.  For zeros instead, "
        "unconnected_gradients=tf.UnconnectedGradients.ZERO",
        lines=[line_in(case, mention.line), line_in(case, mention.condition)],
    )


def off_the_way(case: Case) -> Explanation | None:
    """Find out whether the source was used, but for something else."""
    evidence = case.evidence
    if not _is_used(case):
        return None
    last = max(
        (
            number
            for number, operation in enumerate(case.flow.operations)
            if any(key in case.flow.level for key in operation[2])
        ),
        default=None,
    )
    path: tuple = ()
    if last is not None:
        keys = [key for key in case.flow.operations[last][2] if key in case.flow.level]
        path = case.steps(case.flow.path_to(keys[0]))
    made = case.locate_making(case.words.target_names)
    if made is not None and case.program is not None and case.program.differentiates(made.value):
        return _no_second_derivative(case, path, line_in(case, made.line))
    others = [
        name.split(":")[0]
        for key, name in evidence.variables.items()
        if any(id(read) in case.inputs for read in evidence.reads.get(key, ()))
    ]
    depends = f"; it was computed from {', '.join(others[:6])}" if others else ""
    target = case.words.target
    return case.answer(
        "no path",
        "TW315",
        f"{case.words.source} was used, but {target} does not depend on the results{depends}",
        f"use what is computed from {case.words.source} in {target}, or leave it out of the "
        "sources",
        path=path,
        lines=[path[-1].place] if path else [],
    )


def _no_second_derivative(case: Case, path: tuple, place: Place | None) -> Explanation:
    """Find out whether the target is a gradient in which the source does not occur."""
    target, source = case.words.target, case.words.source
    return case.answer(
        "no path",
        "TW315",
        f"{target} is itself a gradient, and {source} does not occur in it: what was "
        f"differentiated is linear in {source}, so the second derivative is zero",
        "this may be right; for zeros instead of None, "
        "unconnected_gradients=tf.UnconnectedGradients.ZERO",
        path=path,
        lines=[place, path[-1].place if path else None],
    )


def never_used(case: Case) -> Explanation:
    """Find out whether nothing was computed from the source."""
    evidence = case.evidence
    mentioned = _first_use(case)
    if mentioned is not None and not evidence.in_graph:
        return case.answer(
            "never used",
            "TW314",
            f"line {mentioned.line} names {case.words.source}, but nothing was computed from its "
            "value there: its shape or dtype was used, a number that was read from it, or nothing",
            f"compute {case.words.target} from the value of {case.words.source}",
            lines=[mentioned],
        )
    where = (
        f"{case.words.target} does not use it"
        if evidence.in_graph
        else "nothing was computed from it while the tape recorded"
    )
    read = ""
    if evidence.parts and not evidence.in_graph:
        read = "watched, but " if case.source.kind == "tensor" else "read, but "
    return case.answer(
        "never used",
        "TW314",
        f"{case.words.source} was {read}never used: {where}",
        f"compute {case.words.target} from {case.words.source}"
        + ("" if evidence.in_graph else " inside `with tf.GradientTape() as tape:`")
        + ", or leave it out of the sources",
        lines=[place_of(case.notes.began)],
    )


def _is_used(case: Case) -> bool:
    """Return whether anything recorded was computed from the source."""
    return len(case.flow.level) > len({id(part) for part in case.evidence.parts})


def _first_use(case: Case) -> Place | None:
    """Return the first line of the block that uses the source."""
    program, block, names = case.program, case.block, case.words.source_names
    if program is None or block is None or not names:
        return None
    found = [m for m in program.mentions(names[0], *block) if not program.watches(m.line)]
    return program.place(found[0].line) if found else None


CAUSES = (
    find_assigned,
    find_exchanged,
    left_by_a_session,
    target_outside,
    left,
    find_unwatched_variable,
    find_unwatched_tensor,
    same_name,
    earlier_value,
    not_reached,
    off_the_way,
    never_used,
)
