"""Gradient checking: both modes against finite differences and the complex step, with kinks nearby.

Along random directions v, with random weights u, four numbers must be equal: u·(Jv) by forward
mode, (uJ)·v by reverse mode, a difference of values, and a complex step where the function is
analytic.  Where they are not, the element that is worst is looked for; where they are, the
neighbourhood is searched for jumps, which a right gradient does not tell of.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.primitive import REGISTRY
from talweg.core.provenance import Origin
from talweg.core.roles import Role
from talweg.doctor.findings import Place
from talweg.doctor.gradient_check.differences import (
    Problem,
    by_complex_step,
    by_differences,
    inner,
    random_like,
    roughly,
    scale_of,
)
from talweg.doctor.gradient_check.kinks import (
    Switch,
    at_the_point,
    jumps_near,
    kinks_at,
    run,
    what_switches,
)
from talweg.doctor.nonfinite.ledger import has_bad
from talweg.doctor.nonfinite.report import wrap_lines
from talweg.doctor.picture import preformat
from talweg.eager.custom import CustomRule
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

EACH = 400  # elements up to which every one is compared
TEXT = {
    "right": "the gradient is right",
    "wrong": "the gradient is wrong",
    "modes": "forward and reverse mode differ",
    "jump": "the gradient is right, but the function jumps near by",
    "kink": "the function has a kink at this point",
    "random": "the function gives other values each time",
    "absent": "there is no gradient, though the function changes",
    "not finite": "the function or its gradient is not finite at this point",
}
SYMMETRIC = "checked along changes that leave the symmetric argument symmetric"
MEET = (
    "formulas that meet: value (and slope) equal at the switch, as in the Huber loss, or blended "
    "with a smooth weight such as tf.sigmoid"
)
CODES = {
    "wrong": "TW360",
    "jump": "TW361",
    "kink": "TW362",
    "modes": "TW363",
    "random": "TW364",
    "absent": "TW365",
    "not finite": "TW369",
}


@dataclass(frozen=True)
class Comparison:
    """The derivative along one random direction, four ways; None where there is none."""

    reverse: float | None
    forward: float | None
    differences: float
    complex_step: float | None
    uncertainty: float
    usual: float = 0.0  # how large such derivatives are: what others are small beside

    @property
    def reference(self) -> float:
        """The value that is taken for the truth."""
        return self.differences if self.complex_step is None else self.complex_step

    def error(self, value: float | None) -> float:
        """Return the relative error of a mode."""
        value = 0.0 if value is None else value
        return abs(value - self.reference) / self._size(value)

    def excess(self, value: float | None) -> float:
        """Return the relative error of a mode, beyond the uncertainty of the differences."""
        value = 0.0 if value is None else value
        gap = abs(value - self.reference) - 4 * self.uncertainty
        return max(0.0, gap) / self._size(value)

    def _size(self, value: float) -> float:
        return max(abs(value), abs(self.reference), self.usual, 1e-12)

    @property
    def doubt(self) -> float:
        """The relative uncertainty of the differences."""
        return self.uncertainty / self._size(0.0)


@dataclass(frozen=True)
class GradientElement:
    """One element of a gradient, by the rules and by differences."""

    source: str
    index: tuple
    analytic: float
    numeric: float

    def __str__(self) -> str:
        index = str(list(self.index)) if self.index else ""
        return (
            f"{self.source}{index}: {self.analytic:.6g} by the rules, "
            f"{self.numeric:.6g} by differences"
        )


@dataclass(frozen=True)
class GradientCheck:
    """The result of a check; true if the gradient is right and nothing jumps near by.

    verdict: right, wrong, modes (forward and reverse mode differ), jump, kink, random, absent, not
    finite.
    error: the largest relative error.   worst: the worst element of a wrong gradient.
    comparisons: along each direction.   switches: jumps near by, the nearest first.
    dtype: in which everything was computed.   place: the line to look at.   note: what was special.
    """

    verdict: str
    error: float
    comparisons: tuple[Comparison, ...]
    dtype: str
    worst: GradientElement | None = None
    switches: tuple[Switch, ...] = ()
    place: Place | None = None
    cause: str = ""
    cure: str = ""
    note: str = ""

    @property
    def code(self) -> str:
        """The code of the verdict; "" if all is well."""
        return CODES.get(self.verdict, "")

    def __bool__(self) -> bool:
        return self.verdict == "right"

    def __str__(self) -> str:
        code = f"  [{self.code}]" if self.code else ""
        count = len(self.comparisons)
        ways = ["reverse"]
        ways += ["forward"] if any(c.forward is not None for c in self.comparisons) else []
        ways += ["differences"]
        ways += (
            ["complex step"] if any(c.complex_step is not None for c in self.comparisons) else []
        )
        text = TEXT[self.verdict]
        if self.verdict == "jump" and self.switches[0].distance == 0:
            text = "the function jumps at this point"
        doubt = max((c.doubt for c in self.comparisons), default=0.0)
        lines = [
            text + code,
            f"  error:  {self.error:.1e} along {count} directions, in {self.dtype} "
            f"({', '.join(ways)})",
        ]
        if doubt > 1e-3:
            lines.append(f"  doubt:  the differences themselves are good to {doubt:.0e} only")
        if self.worst is not None:
            lines.append(f"  worst:  {self.worst}")
        for switch in self.switches:
            lines.append(f"  near:   {switch}")
        if self.place is not None:
            lines.append(f"  at:     {self.place}")
        for name, text in (("cause", self.cause), ("cure", self.cure), ("note", self.note)):
            if text:
                first, *rest = wrap_lines(text)
                lines += [f"  {name + ':':<7} {first}", *[f"          {line}" for line in rest]]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color = "#15803d" if self else "#c2410c"
        border = f"border-left:4px solid {color};padding-left:.8em"
        return preformat(html.escape(str(self)), border)


def check(
    f: Callable[..., Any],
    args: object,
    variables: object = None,
    directions: int = 4,
    tolerance: float | None = None,
    near: float = 0.1,
    seed: int = 0,
    wide: bool = True,
) -> GradientCheck:
    """See `talweg.check_gradients`."""
    problem = Problem(f, args, variables, wide)
    try:
        return _Check(problem, directions, tolerance, near, seed).result()
    finally:
        problem.restore()


class _Check:
    """One check under way."""

    def __init__(
        self, problem: Problem, directions: int, tolerance: float | None, near: float, seed: int
    ):
        self.problem, self.count, self.near = problem, directions, near
        self.generator = np.random.default_rng(seed)
        double = problem.precision < 1e-12
        self.tolerance = tolerance or (1e-6 if double else 1e4 * problem.precision)
        self.scale = scale_of(problem.start)
        self.step = self.scale * (1e-2 if double else 2e-1)
        self.dtype = "float64" if double else "the dtypes given"
        self.first = problem.results()
        one = len(self.first) == 1 and self.first[0].size == 1
        self.single = one and self.first[0].dtype.kind == "f"
        self.weights = (
            [np.ones(y.shape) for y in self.first]
            if self.single
            else random_like(self.first, self.generator)
        )
        self.lines = [random_like(problem.start, self.generator) for _ in range(directions)]

    def result(self) -> GradientCheck:
        """Return the whole check."""
        again = self.problem.at(self.problem.start)
        if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(self.first, again)):
            return GradientCheck(
                "random",
                float("inf"),
                (),
                self.dtype,
                cause="two calls with the same arguments gave different values",
                cure="fix what is random: tf.random.stateless_* with a seed, training=False",
            )
        gradients = self.problem.reverse(self.weights)
        if any(map(has_bad, [*self.first, *gradients])):
            what = "value" if any(map(has_bad, self.first)) else "gradient"
            return GradientCheck(
                "not finite",
                float("inf"),
                (),
                self.dtype,
                cause=f"the {what} is NaN or infinite at this point",
                cure="tf.explain_numerics(lambda: f(...), sources) says which operation made it",
            )
        comparisons = self._along(self.lines, gradients)
        worst = max((max(c.error(c.reverse), c.error(c.forward)) for c in comparisons), default=0.0)
        if self._agree(comparisons):
            return self._neighbourhood(comparisons, worst)
        if any(map(is_symmetric, self.problem.start)):  # then some read one triangle only
            self.lines = [list(map(symmetric, line, self.problem.start)) for line in self.lines]
            again = self._along(self.lines, gradients)
            if self._agree(again):
                errors = [max(c.error(c.reverse), c.error(c.forward)) for c in again]
                return replace(self._neighbourhood(again, max(errors)), note=SYMMETRIC)
        return self._explain_comparisons(gradients, comparisons, worst)

    def _along(self, lines: list, gradients: list) -> tuple:
        rows = [self._compare(line, gradients) for line in lines]
        usual = float(np.median([abs(row.reference) for row in rows]))
        return tuple([replace(row, usual=usual) for row in rows])

    def _agree(self, comparisons: tuple) -> bool:
        beyond = [max(c.excess(c.reverse), c.excess(c.forward)) for c in comparisons]
        return bool(np.isfinite(beyond).all()) and max(beyond, default=0.0) <= self.tolerance

    def _compare(self, line: list, gradients: list) -> Comparison:
        g = self.problem.along(line, self.weights)
        value, error = by_differences(g, self.step, self.problem.precision)
        tangents = self.problem.forward(line)
        forward = inner(self.weights, tangents) if any(t is not None for t in tangents) else None
        reverse = inner(gradients, line) if any(x is not None for x in gradients) else None
        exact = by_complex_step(self.problem, line, self.weights)
        if exact is not None and abs(exact - value) > 1e-3 * max(abs(exact), abs(value)) + error:
            exact = None  # not analytic
        return Comparison(reverse, forward, value, exact, 0.0 if exact is not None else error)

    # -- nothing wrong here: near by?

    def _neighbourhood(self, comparisons: tuple, error: float) -> GradientCheck:
        switch = self._switch_here()
        if switch is not None:
            return self._at_a_switch(switch, comparisons, error, None)
        if not self.near:
            return GradientCheck("right", error, comparisons, self.dtype)
        size = np.sqrt(sum(x.size for x in self.problem.start))
        lines = [[v / _length(line) for v in line] for line in self.lines[:2]]
        several = (
            [self.weights]
            if self.single
            else [self.weights, *[random_like(self.first, self.generator) for _ in range(3)]]
        )
        jumps = jumps_near(self.problem, lines, several, self.near * self.scale * size)
        if not jumps:
            return GradientCheck("right", error, comparisons, self.dtype)
        return GradientCheck(
            "jump",
            error,
            comparisons,
            self.dtype,
            switches=tuple(jumps),
            place=jumps[0].place,
            cause=why_it_jumps(jumps[0]),
            cure=how_to_mend(jumps[0]),
        )

    def _switch_here(self) -> Switch | None:
        step = self.scale * (1e-5 if self.problem.precision < 1e-12 else 1e-2)
        for line in self.lines:
            found = at_the_point(self.problem, self.problem.along(line, self.weights), step)
            if found is not None:
                if found.kind == "kink":
                    operation, place = kinks_at(self.problem)
                else:
                    operation, place = what_switches(self.problem, line, 0.0, self.scale)
                return Switch(
                    found.kind, 0.0, found.size, found.below, found.above, operation, place
                )
        return None

    def _at_a_switch(
        self, found: Switch, comparisons: tuple, error: float, worst: GradientElement | None
    ) -> GradientCheck:
        texts = {
            "kink": (
                "there is no derivative at a kink: what the rules give is a convention",
                "check at a point beside it; in training it does no harm",
            ),
            "jump": (why_it_jumps(found), how_to_mend(found)),
        }
        cause, cure = texts[found.kind]
        return GradientCheck(
            found.kind, error, comparisons, self.dtype, worst, (found,), found.place, cause, cure
        )

    # -- something is wrong

    def _explain_comparisons(
        self, gradients: list, comparisons: tuple, error: float
    ) -> GradientCheck:
        switch = self._switch_here()
        worst = self._worst_element(gradients)
        if switch is not None:
            return self._at_a_switch(switch, comparisons, error, worst)
        if all(g is None for g in gradients):
            return GradientCheck(
                "absent",
                error,
                comparisons,
                self.dtype,
                worst,
                cause="the function changes with its arguments, and no gradient flows to them",
                cure="tf.GradientTape and tape.explain(target, source) say where the path ends",
            )
        backward = max(c.error(c.reverse) for c in comparisons)
        onward = max(c.error(c.forward) for c in comparisons)
        name, line = self._suspect()
        if min(backward, onward) < self.tolerance:
            good = "forward" if onward < backward else "reverse"
            return GradientCheck(
                "modes",
                error,
                comparisons,
                self.dtype,
                worst,
                place=line,
                cause=f"{good} mode agrees with the differences, the other one does not",
                cure="look at the custom gradient" if name else "please report it: a rule is wrong",
            )
        if name == "tf.stop_gradient":
            blamed = (
                "tf.stop_gradient holds a part of the gradient back, so it is not the "
                "derivative of the values"
            )
            cure = "nothing, if that is meant: check the function without it"
        elif name:
            blamed = f"the custom gradient of {name} is not the derivative of what it computes"
            cure = f"derive it once more, and check {name} alone"
        else:
            blamed = "the rules give another derivative than the values have"
            cure = "please report it: a rule is wrong"
        return GradientCheck(
            "wrong", error, comparisons, self.dtype, worst, place=line, cause=blamed, cure=cure
        )

    def _suspect(self) -> tuple[str, Place | None]:
        """Return the custom gradient that took part, if one did:
        its function, and where it was called.
        """
        ledger = run(self.problem, self.problem.start)
        for entry in ledger.entries:
            rule = entry.params.get("rule") if entry.prim.role is Role.CUSTOM_RULE else entry.prim
            if isinstance(rule, CustomRule):
                return rule.name, _place(entry.origin)
        for entry in ledger.entries:
            if entry.prim is arithmetic.stop_gradient:
                return "tf.stop_gradient", _place(entry.origin)
        return "", None

    def _worst_element(self, gradients: list) -> GradientElement | None:
        """Return the element of the gradient that is furthest from its difference."""
        pairs = [
            (i, index) for i, x in enumerate(self.problem.start) for index in np.ndindex(x.shape)
        ]
        if len(pairs) > EACH:
            pairs = self._halve(pairs, gradients)
        found, worst = None, -1.0
        for i, index in pairs:
            analytic, numeric = self._element([(i, index)], gradients)
            gap = abs(analytic - numeric)
            if not gap <= worst:
                worst = gap
                found = GradientElement(self.problem.names[i], index, analytic, numeric)
        return found

    def _halve(self, pairs: list, gradients: list) -> list:
        """Return few elements, among which the sum of the errors is largest."""
        signs = self.generator.choice([-1.0, 1.0], len(pairs))
        rows = list(zip(pairs, signs))
        while len(rows) > 8:
            halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            gaps = []
            for half in halves:
                a, b = self._element([p for p, _ in half], gradients, [s for _, s in half])
                gaps.append(abs(a - b))
            rows = halves[0] if gaps[0] >= gaps[1] else halves[1]
        return [pair for pair, _ in rows]

    def _element(
        self, pairs: list, gradients: list, signs: list | None = None
    ) -> tuple[float, float]:
        """Return the derivative along the sum of some elements, by the rules and by differences."""
        line = [np.zeros(x.shape, x.dtype) for x in self.problem.start]
        analytic = 0.0
        for place, (i, index) in enumerate(pairs):
            sign = 1.0 if signs is None else signs[place]
            line[i][index] = sign
            if gradients[i] is not None:
                analytic += float(np.real(gradients[i][index])) * sign
        g = self.problem.along(line, self.weights)
        return analytic, roughly(g, self.step / (64 if self.dtype == "float64" else 4))


def why_it_jumps(switch: Switch) -> str:
    """Return the cause of a jump: an operation that jumps, or two formulas."""
    prim = REGISTRY.get(switch.operation)
    if prim is not None and not _compares(prim):
        told = prim.derivative.reason if prim.derivative else "; ".join(prim.kinks.values())
        return f"{prim.name} itself jumps there" + (f": {told}" if told else "")
    return (
        "on either side another formula holds, and their values differ where they meet; the "
        "gradient knows nothing of the step"
    )


def how_to_mend(switch: Switch) -> str:
    """Return the code to write in place of a jump."""
    prim = REGISTRY.get(switch.operation)
    if prim is None or prim.derivative is None or _compares(prim):
        return MEET
    return prim.derivative.cure or MEET


def _compares(prim: Primitive) -> bool:
    return prim.name.startswith(("less", "greater", "equal", "not_equal"))


def is_symmetric(array: np.ndarray) -> bool:
    """Return whether an array is a symmetric (Hermitian) matrix, or a stack of these."""
    square = array.ndim >= 2 and array.shape[-1] == array.shape[-2] > 1
    return square and np.allclose(array, np.conj(np.swapaxes(array, -1, -2)), rtol=1e-6)


def symmetric(line: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a direction that leaves symmetric matrices symmetric."""
    return 0.5 * (line + np.conj(np.swapaxes(line, -1, -2))) if is_symmetric(like) else line


def _length(line: list) -> float:
    return float(np.sqrt(sum(np.sum(np.abs(v) ** 2) for v in line))) or 1.0


def _place(origin: Origin | None) -> Place | None:
    return None if origin is None else Place.of(origin)
