"""Explain an absent gradient: the evidence of a tape or graph gives an `Explanation`.

The causes are tried in an order in which the first that holds is the one to mend: what was asked
for, what became of the tape, an operation that breaks the path, a value that left it, a source that
was never on it.  Each cause has a code, TW310 to TW337, with a page.
"""

from __future__ import annotations

import sys
from typing import Any

from talweg.doctor.absent import breaks, unused
from talweg.doctor.absent.explanation import Explanation, PathStep
from talweg.doctor.absent.flow import Flow, Walker
from talweg.doctor.absent.source_text import ProgramText
from talweg.doctor.absent.words import ExplanationWords, place_of, value_text
from talweg.doctor.findings import Place
from talweg.transform.absent import Evidence

KEPT = 50  # operations at either end of a path that are told


class Case:
    """One question, with what has been found out so far; the causes share it."""

    def __init__(self, evidence: Evidence, walker: Walker | None = None):
        self.evidence = evidence
        self.notes = evidence.notes
        self.source = evidence.source
        self.words = ExplanationWords(evidence)
        self.walker = Walker(evidence.cuts) if walker is None else walker
        self.flow: Flow = self.walker.over_records(evidence.records, evidence.parts)
        self.targets = [id(target) for target in evidence.targets]
        self.program = self._program()
        self._upstream: set | None = None
        self._read_names: dict[int, str] | None = None

    def _program(self) -> ProgramText | None:
        """Return the text in which the tape began (another cell
        of a notebook, perhaps), or was asked.
        """
        scene, began = self.evidence.scene, self.notes.began
        if began is not None and (scene is None or began[0].co_name == "<module>"):
            return ProgramText(began[0])
        return ProgramText(scene.code) if scene is not None else None

    # -- what is known of the target

    @property
    def reached(self) -> bool:
        """Whether a target depends on the source at all."""
        return any(key in self.flow.level for key in self.targets)

    @property
    def recorded(self) -> bool:
        """Whether a target was computed while the tape recorded."""
        made = self.evidence.made
        return any(key in made or key in self.upstream for key in self.targets)

    @property
    def upstream(self) -> set:
        """The ids of all results that the targets were computed from, and of the targets."""
        if self._upstream is None:
            found = set(self.targets)
            results = set()
            for _, operands, parts, _, _ in reversed(self.evidence.records):
                several = parts if type(parts) is tuple else (parts,)
                own = {id(part) for part in several}
                if not own.isdisjoint(found):
                    results |= own
                    found.update(map(id, operands))
            self._inputs = found
            self._upstream = results
        return self._upstream

    @property
    def inputs(self) -> set:
        """The ids of everything the targets were computed from."""
        return self.upstream and self._inputs or set(self.targets)

    # -- what the program's text tells

    def locate_making(self, names: list[str]) -> Any:
        """Locate the line that computed the value with these names, as far as the text tells."""
        scene = self.evidence.scene
        if self.program is None or scene is None or self.program.tree is None:
            return None
        here = scene.code.co_filename == self.program.code.co_filename
        return self.program.locate_making(names, self.words.asked_at + 1 if here else sys.maxsize)

    @property
    def block(self) -> tuple[int, int] | None:
        """The lines of the tape's `with`."""
        return self.program.block_at(self.notes.began) if self.program is not None else None

    def answer(
        self, kind: str, code: str, verdict: str, remedy: str = "", **more: Any
    ) -> Explanation:
        """Return an explanation in the words of this case."""
        named = [line for line in more.pop("lines", ()) if line is not None]
        lines = tuple(dict.fromkeys(named))
        return Explanation(
            kind,
            verdict,
            code,
            self.words.target,
            self.words.source,
            remedy=remedy,
            lines=lines,
            **more,
        )

    def steps(self, numbers: list[int], role: str = "connected", flow: Flow | None = None) -> tuple:
        """Return the operations with these numbers as steps of a path."""
        flow = flow or self.flow
        if len(numbers) <= 2 * KEPT:
            operations = [flow.operations[number] for number in numbers]
            return tuple([self.step(one, role, flow.best_of(one)) for one in operations])
        between = PathStep(f"... {len(numbers) - 2 * KEPT} more ...", role=role)
        first, last = (
            self.steps(numbers[:KEPT], role, flow),
            self.steps(numbers[-KEPT:], role, flow),
        )
        return (*first, between, *last)

    def step(self, operation: tuple, role: str = "connected", place: int = 0) -> PathStep:
        """Return an operation as a step of a path; `place` says which of its results leads on."""
        prim, operands, _, _, origin, results = operation
        value = value_text(results[place]) if results else ""
        beside = tuple(
            dict.fromkeys(self.read_names[key] for key in operands if key in self.read_names)
        )
        return PathStep.of(prim.name, value, origin, role, beside)

    @property
    def read_names(self) -> dict[int, str]:
        """The names of the other variables, by the ids of the values read from them."""
        if self._read_names is None:
            names = self.evidence.variables
            self._read_names = {
                id(read): names.get(variable, "").split(":")[0]
                for variable, reads in self.evidence.reads.items()
                for read in reads
                if variable != self.source.key
            }
        return self._read_names


def explain_gradient(evidence: Evidence, walker: Walker | None = None) -> Explanation:
    """Explain a gradient from its evidence; a walker serves all sources of a tape."""
    case = Case(evidence, walker)
    for cause in (*ASKED, *breaks.CAUSES, *unused.CAUSES):
        found = cause(case)
        if found is not None:
            return found
    raise AssertionError("the last cause always holds")


# -- what was asked for


def not_a_target(case: Case) -> Explanation | None:
    """Find out whether the target is a number, an array, a text, None."""
    bad = [t for t in case.evidence.targets if not hasattr(type(t), "dims")]
    if not bad:
        return None
    kind = type(bad[0]).__name__
    origin = case.locate_making(case.words.target_names)
    return case.answer(
        "target is no tensor",
        "TW335",
        f"{case.words.target} is of type {kind}, no tensor: nothing remembers how it was computed",
        "keep the tensor: compute the target with tensor operations inside the tape, and call "
        "float(), .numpy() or .item() only to print it",
        lines=[case.program.place(origin.line) if origin and case.program else None],
    )


def not_a_source(case: Case) -> Explanation | None:
    """Find out whether the source is a number, an array, a text, None."""
    if case.source.kind != "other":
        return None
    return case.answer(
        "source is no tensor",
        "TW336",
        f"{case.words.source} is of type {case.source.dtype}, no tensor or variable",
        "x = tf.Variable(x) (or x = tf.constant(x) and tape.watch(x)) before the target is "
        "computed, and compute the target from that x",
    )


def never_entered(case: Case) -> Explanation | None:
    """Find out whether the tape has not been in a `with`."""
    if case.evidence.state != "never entered":
        return None
    return case.answer(
        "tape never entered",
        "TW331",
        "this tape has recorded nothing: it was never entered",
        "with tf.GradientTape() as tape:\n    ...compute the target here",
    )


def find_used_tape(case: Case) -> Explanation | None:
    """Find out whether a tape that is not persistent was used, and has let go of its records."""
    if case.evidence.state != "used up":
        return None
    return case.answer(
        "tape used up",
        "TW330",
        "this tape has been used already and has forgotten what it recorded",
        "ask for all gradients at once (tape.gradient(target, [a, b])), or make the tape "
        "tf.GradientTape(persistent=True)",
        lines=[place_of(case.notes.began)],
    )


def integer_source(case: Case) -> Explanation | None:
    """Find out whether the source itself has a dtype without derivatives."""
    dtype = case.source.dtype
    if dtype is None or dtype.is_differentiable:
        return None
    made = case.locate_making(case.words.source_names)
    return case.answer(
        "source dtype",
        "TW323",
        f"{case.words.source} has dtype {dtype.name}; only floating-point and complex values have "
        "gradients",
        "make it a float: tf.Variable(3.0) rather than tf.Variable(3), or dtype=tf.float32"
        if dtype.is_integer
        else "make it a floating-point value",
        lines=[case.program.place(made.line) if made and case.program else None],
    )


def find_connected(case: Case) -> Explanation | None:
    """Find out whether there is a gradient after all."""
    best = [key for key in case.targets if case.flow.level.get(key) == 2]
    if not best:
        return None
    custom = breaks.custom_break(case)
    if custom is not None:
        return custom
    path = case.steps(case.flow.path_to(best[0]))
    notes = tuple(
        dict.fromkeys(
            f"not all branches lead on, {Place.of(operation[4])}: the gradient is zero where one "
            "is taken that does not"
            for operation in case.flow.partly
            if operation[4] is not None
        )
    )
    return case.answer("connected", "", "the path is connected", path=path, notes=notes)


ASKED = (not_a_target, not_a_source, never_entered, find_used_tape, integer_source, find_connected)
