"""Gradients over the steps of a training: norms, how far the weights move, units that are dead.

A `GradientWatch` is told of gradients by `record`, or, inside `with watch:`, by every tape; in a
function that is traced meanwhile, and in a graph, the telling is an operation, which runs with the
step, compiled or not.  Nothing is changed by it.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.core.observer import Observer
from talweg.core.value import IndexedSlices
from talweg.doctor.findings import Finding
from talweg.doctor.picture import preformat
from talweg.doctor.watch_picture import figure, picture
from talweg.eager.tensor import EagerTensor
from talweg.eager.variable import variable_of
from talweg.graph import structure
from talweg.graph.function_graph import FunctionGraph
from talweg.trace.host import later

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike

FEW = 3  # steps without which nothing is said of dead units or trends
VANISHING = 1e-3  # of the largest gradient (per element) of the variables
GROWTH = 1e3  # of a norm, from its first quarter to its last
LARGE_STEP = 0.1  # of the weights in a step
DEAD = 0.5  # of the units
SEVERITY = (
    "not finite",
    "exploding",
    "no gradient",
    "dead",
    "vanishing",
    "large steps",
    "fine",
    "no steps",
)
CODES = {
    "not finite": "TW358",
    "exploding": "TW357",
    "dead": "TW366",
    "vanishing": "TW356",
    "large steps": "TW367",
    "no gradient": "TW368",
}


class Series:
    """The observations of one variable, a number for each step."""

    def __init__(self, name: str, shape: tuple):
        self.name, self.shape = name, shape
        self.norms: list[float] = []  # NaN where there was no gradient
        self.sizes: list[float] = []  # root mean square of the gradient
        self.ratios: list[float] = []  # of the update to the weights
        self.steps = 0
        self.first_bad: int | None = None
        self.alive: Any = None  # for each unit the last step with a gradient other than 0
        self._weights: Any = None

    def note(self, gradient: np.ndarray | None, rows: bool, weights: np.ndarray) -> None:
        """Note one step: the gradient (None: there was none), and the weights it is for."""
        self.note_move(weights)
        self._weights = np.array(weights, np.float64) if weights is not None else None
        self.steps += 1
        if gradient is None:
            self.norms.append(float("nan"))
            self.sizes.append(float("nan"))
            return
        wide = np.abs(
            np.asarray(gradient).astype(np.complex128 if np.iscomplexobj(gradient) else np.float64)
        )
        with np.errstate(all="ignore"):
            norm = float(np.linalg.norm(wide))
        self.norms.append(norm)
        self.sizes.append(norm / max(1, wide.size) ** 0.5)
        if not np.isfinite(norm):
            self.first_bad = self.steps if self.first_bad is None else self.first_bad
        elif wide.ndim and not rows and wide.shape == self.shape:
            alive = wide.reshape(-1, wide.shape[-1]).any(axis=0)
            if self.alive is None:
                self.alive = np.zeros(alive.shape, np.int64)
            self.alive[alive] = self.steps

    def note_move(self, weights: np.ndarray) -> None:
        """Note how far the weights went since they were seen last."""
        before = self._weights
        if before is None or weights is None or before.shape != np.shape(weights):
            return
        length = float(np.linalg.norm(before))
        change = float(np.linalg.norm(np.asarray(weights, np.float64) - before))
        self.ratios.append(change / length if length else float("nan"))
        self._weights = None

    @property
    def lost(self) -> Any:
        """The units (last axis) that had no gradient in the last half of the steps."""
        if self.alive is None or self.alive.size < 2 or self.steps < FEW:
            return np.zeros(1, bool)
        return self.alive <= self.steps // 2

    @property
    def dead(self) -> float:
        """The part of the units that had no gradient in the last half of the steps."""
        return float(np.mean(self.lost))

    @property
    def zero_since(self) -> int | None:
        """The step from which on every gradient was 0; None if the last one was not."""
        zeros = 0
        for norm in reversed(self.norms):
            if norm != 0:
                break
            zeros += 1
        return self.steps - zeros + 1 if zeros else None


@dataclass(frozen=True)
class WatchRow:
    """The summary of one variable in a watch's report."""

    name: str
    shape: tuple
    steps: int
    norm: float
    first_norm: float
    ratio: float
    dead: float
    verdict: str
    why: str

    def __str__(self) -> str:
        ratio = "-" if np.isnan(self.ratio) else f"{self.ratio:.1e}"
        none = np.isnan(self.first_norm) and self.verdict != "not finite"
        norm = "-" if none else f"{self.first_norm:.2e} -> {self.norm:.2e}"
        dead = f"{self.dead:.0%}" if self.dead else "-"
        return f"{self.name:<24} {norm:<22} {ratio:>9} {dead:>6}  {self.verdict}"


@dataclass(frozen=True)
class WatchReport:
    """The verdict on some variables; true if one of them is not fine.

    verdict: the worst of them: not finite, exploding, no gradient, dead, vanishing, large steps,
    fine; no steps: nothing was seen.   rows: one for each variable.   svg: the picture.
    """

    verdict: str
    rows: tuple[WatchRow, ...]
    steps: int
    svg: str = ""

    @property
    def code(self) -> str:
        """The code of the verdict; "" if all is well."""
        return CODES.get(self.verdict, "")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """List the findings, the worst first."""
        bad = [row for row in self.rows if row.verdict in CODES]
        bad.sort(key=lambda row: SEVERITY.index(row.verdict))
        return tuple(
            [
                Finding(
                    CODES[row.verdict],
                    f"{row.name}: {row.verdict}",
                    row.why,
                    cure=CURES[row.verdict],
                )
                for row in bad
            ]
        )

    def __bool__(self) -> bool:
        return self.verdict != "fine"

    def __str__(self) -> str:
        if self.verdict == "no steps":
            return f"gradients: no steps\n  {UNSEEN}"
        code = f"  [{self.code}]" if self.code else ""
        lines = [f"gradients over {self.steps} steps: {self.verdict}{code}"]
        if self.rows:
            lines.append(
                f"  {'variable':<24} {'norm, first -> last':<22} {'update':>9} {'dead':>6}"
            )
        lines += [f"  {row}" for row in self.rows]
        for finding in self.findings[:3]:
            lines += [f"  {finding.title}: {finding.cause}", f"    cure: {finding.cure}"]
        if self.code:
            lines.append(f"  more: talweg explain {self.code}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformat(html.escape(str(self))) + self.svg


UNSEEN = (
    "no gradient was seen: functions that were traced before `with watch:` began are not watched; "
    "call watch.record(gradients) in them, or begin earlier"
)
CURES = {
    "not finite": "tf.explain_numerics(lambda: loss(...), variables) says which operation made it",
    "exploding": "tf.clip_by_global_norm(gradients, 1.0), a smaller learning rate, normalisation",
    "no gradient": "tape.explain(loss, variable) says where the path ends",
    "dead": "leaky_relu or gelu for relu, a smaller learning rate, other initial values",
    "vanishing": "normalisation between layers, residual connections, relu-like activations",
    "large steps": "a smaller learning rate, or one that warms up",
}


class GradientWatch:
    """Sees the gradients of some variables; see `talweg.watch_gradients`."""

    def __init__(self, variables: object, every: int = 1):
        given = structure.flatten(variables)
        self.variables = [variable_of(v) for v in given]
        if not self.variables or not all([hasattr(v, "handle") for v in self.variables]):
            raise value_error(
                "TW303",
                f"watch_gradients: no variables to watch, variables is {variables!r}",
                "tf.Variables, as in model.trainable_variables",
            )
        self.every = max(1, int(every))
        self.series = [
            Series(_name(own), tuple(v.shape.as_list() or ()))
            for own, v in zip(given, self.variables)
        ]
        self._places = {id(v.handle): number for number, v in enumerate(self.variables)}
        self._calls = [0] * len(self.variables)
        self._contexts: list = []

    # -- being told

    def __enter__(self) -> GradientWatch:
        context = dispatch.observe(_Taken(self, dispatch.state.observer))
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.pop().__exit__(*error)

    def record(self, gradients: list, variables: list | None = None) -> Any:
        """Return one step: the gradients of the variables, in their order, or of those given.

        Each is a tensor, IndexedSlices or None.  In a `tf.function` this is part of the step; in a
        graph of TensorFlow 1 the operation that comes back has to be run.
        """
        given = structure.flatten(gradients)
        flat = self.variables
        if variables is not None:
            flat = [variable_of(v) for v in structure.flatten(variables)]
        if len(given) != len(flat):
            raise value_error(
                "TW208",
                f"record: {len(given)} gradients for {len(flat)} variables",
                "one gradient (or None) for each variable",
            )
        return self.arrange_note(given, flat, self._note)

    def arrange_note(self, gradients: list, variables: list, note: Callable[..., None]) -> Any:
        """Have `note` called with gradients: now, or whenever the graph under construction runs."""
        rows, places, values, weights = [], [], [], []
        for gradient, variable in zip(gradients, variables):
            number = self._places.get(id(variable.handle))
            if number is None:
                continue
            places.append(number)
            rows.append(isinstance(gradient, IndexedSlices))
            values.append(gradient.values if rows[-1] else gradient)  # type: ignore[union-attr]
            weights.append(variable)
        if dispatch.context.base is not None:
            return later(note, (places, rows, values, weights), {}, "WatchGradients")
        with dispatch.only(()):
            note(places, rows, values, [v.handle_read() for v in weights])
        return None

    def note_inside(self, places: list, rows: list, values: list, weights: list) -> None:
        """Note gradients as `_note`, but only in the `with`: a trace may be run later, too."""
        if self._contexts:
            self._note(places, rows, values, weights)

    def _note(self, places: list, rows: list, values: list, weights: list) -> None:
        for place, row, value, weight in zip(places, rows, values, weights):
            place = int(place)
            self._calls[place] += 1
            if (self._calls[place] - 1) % self.every:
                continue
            gradient = None if value is None else value._array
            self.series[place].note(gradient, bool(row), weight._array)

    # -- saying

    def report(self) -> WatchReport:
        """Return the verdict up to now, with a picture."""
        for series, variable in zip(self.series, self.variables):
            tensor = variable.handle_read()
            if type(tensor) is EagerTensor:
                series.note_move(tensor._array)
        rows = tuple(_judge_variables(self.series))
        verdict = min((row.verdict for row in rows), key=SEVERITY.index, default="fine")
        steps = max((s.steps for s in self.series), default=0)
        return WatchReport(verdict, rows, steps, picture(self.series, rows))

    def plot(self, path: PathLike | None = None) -> str:
        """Return the norms and the ratios of updates over steps, as SVG, written to `path` if
        given.

        A path that does not end in .svg is drawn by matplotlib, which has to be there.
        """
        report = self.report()
        if path is None:
            return report.svg
        name = os.fsdecode(path)
        if not name.endswith(".svg"):
            figure(self.series, report.rows, name)
        else:
            with open(name, "w", encoding="utf-8") as file:
                file.write(report.svg)
        return report.svg

    def __repr__(self) -> str:
        return f"<watch of {len(self.variables)} variables, {max(self._calls)} steps>"


def _name(variable: Any) -> str:
    return str(getattr(variable, "path", None) or variable.name).split(":")[0]


class _Taken:
    """Tells a watch of the gradients that tapes give; the observer before it hears all, too."""

    def __init__(self, watch: GradientWatch, before: Any):
        self.watch, self.before = watch, Observer() if before is None else before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.before, name)

    def gradient_taken(
        self, sources: list, gradients: list, wanted: bool, explain: Callable[[Any], Any]
    ) -> None:
        """Note gradients by `sources`."""
        self.before.gradient_taken(sources, gradients, wanted, explain)
        pairs = [
            (v, g)
            for v, g in zip(sources, gradients)
            if id(getattr(v, "handle", None)) in self.watch._places
        ]
        base = dispatch.context.base
        if pairs and (base is None or isinstance(base, FunctionGraph)):
            watch = self.watch
            watch.arrange_note([g for _, g in pairs], [v for v, _ in pairs], watch.note_inside)


# -- the verdict


def _judge_variables(series: list[Series]) -> list[WatchRow]:
    """Return a row for each variable."""
    return [_row(one, part) for one, part in zip(series, _relative(series))]


def _relative(series: list[Series]) -> list[float]:
    """Return the size of each gradient over all steps,
    as a part of the largest: steps count by size.
    """
    whole = [_total(one.sizes) for one in series]
    largest = max(whole, default=0.0)
    return [size / largest if largest > 0 else float("nan") for size in whole]


def _total(sizes: list[float]) -> float:
    return float(np.linalg.norm([size for size in sizes if np.isfinite(size)]))


def _median(numbers: list[float]) -> float:
    good = [x for x in numbers if np.isfinite(x)]
    return float(np.median(good)) if good else float("nan")


def _row(series: Series, relative: float) -> WatchRow:
    verdict, why = _verdict(series, relative)
    known = (
        series.norms if verdict == "not finite" else [n for n in series.norms if not np.isnan(n)]
    )
    last = series.norms[-1] if series.norms else float("nan")
    return WatchRow(
        series.name,
        series.shape,
        series.steps,
        last,
        known[0] if known else float("nan"),
        _median(series.ratios),
        series.dead,
        verdict,
        why,
    )


def _verdict(series: Series, relative: float) -> tuple[str, str]:
    """Return the verdict on one variable, and the numbers it rests on."""
    norms = np.array(series.norms)
    if series.steps == 0:
        return "no steps", ""
    if series.first_bad is not None:
        return "not finite", f"NaN or infinity, first at step {series.first_bad}"
    if np.isnan(norms).all():
        return "no gradient", f"None in each of {series.steps} steps"
    good = norms[~np.isnan(norms)]
    since = series.zero_since
    if since is not None and series.steps - since + 1 >= max(FEW, series.steps // 2):
        return "dead", _since(series, since)
    quarter = max(1, len(good) // 4)
    start, end = np.median(good[:quarter]), np.median(good[-quarter:])
    if len(good) >= FEW and start > 0 and end > GROWTH * start:
        return "exploding", f"the norm grew from {start:.2g} to {end:.2g}"
    if series.dead >= DEAD:
        count = int(np.sum(series.lost))
        return "dead", f"{count} of {series.lost.size} units have no gradient any more"
    if relative < VANISHING:
        return "vanishing", (
            f"an element has {relative:.0e} of the gradient that one of another variable has"
        )
    ratio = _median(series.ratios)
    if len(series.ratios) >= FEW and ratio > LARGE_STEP:
        return "large steps", f"the weights change by {ratio:.0%} of themselves each step"
    return "fine", ""


def _since(series: Series, since: int) -> str:
    """Describe the way in which a gradient became 0."""
    if since == 1:
        return f"every gradient was 0, {series.steps} steps long"
    text = f"every gradient is 0 since step {since}"
    before = series.ratios[: since - 1]
    if before and max(before) > LARGE_STEP:
        step = int(np.argmax(before)) + 1
        text += f", after step {step} had changed the weights by {max(before):.3g} times themselves"
    return text
