"""`Explanation`: the doctor's answer to a question about an absent gradient.

It is a value first; `str` gives it for a terminal, `_repr_html_` for a notebook, `svg` for a
picture.
"""

from __future__ import annotations

import html
import linecache
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from talweg.core.provenance import Origin, line_of, span_of
from talweg.doctor.findings import Place
from talweg.doctor.picture import PictureBox, draw_boxes, preformat

KINDS = {  # of gradients that are there
    "not finite": "a gradient that is not finite",
    "zero": "a gradient of zeros",
    "vanishing": "a vanishing gradient",
    "exploding": "an exploding gradient",
}
SHORT = 30  # letters of code that are shown behind the name of a scope
SHOWN = 9  # operations of a path that are shown one by one


@dataclass(frozen=True)
class PathStep:
    """One operation on the way from source to target.

    name: the operation.  value: dtype and shape of its result.  place: the user's line; code: the
    expression on it, columns: where.  role: "connected", "break", or "after" the break.  beside:
    other variables that come in here.  scope: the name scope it ran in, such as a Keras layer's.
    """

    name: str
    value: str = ""
    place: Place | None = None
    code: str = ""
    columns: tuple[int, int] | None = None
    role: str = "connected"
    beside: tuple[str, ...] = ()
    norm: float | None = None  # of the gradient that arrives at the result, where it is known
    zeros: float = 0.0  # the share of its elements that is 0
    scope: str = ""

    @property
    def flow(self) -> str:
        """The gradient at the result, in words."""
        if self.norm is None:
            return ""
        return f"gradient {self.norm:.2e}" + (f", {self.zeros:.0%} zeros" if self.zeros else "")

    @classmethod
    def of(
        cls,
        name: str,
        value: str,
        origin: Origin | None,
        role: str = "connected",
        beside: tuple[str, ...] = (),
    ) -> PathStep:
        """Return the step of an operation made at `origin`."""
        if origin is None:
            return cls(name, value, role=role, beside=beside)
        place = Place(origin[0].co_filename, line_of(origin), origin[0].co_name)
        code, columns = expression_at(origin)
        return cls(name, value, place, code, columns, role, beside)


def expression_at(origin: Origin) -> tuple[str, tuple[int, int] | None]:
    """Return the text of the expression at an origin,
    and its columns on its line if it has only one.
    """
    line = linecache.getline(origin[0].co_filename, line_of(origin)).rstrip("\n")
    span = span_of(origin)
    if span is None or span[0] != span[1] or span[0] != line_of(origin):
        return line.strip(), None
    raw = line.encode()
    before, text = raw[: span[2]].decode(), raw[span[2] : span[3]].decode()
    indent = len(line) - len(line.lstrip())
    return text, (len(before) - indent, len(before) - indent + len(text))


@dataclass(frozen=True)
class Explanation:
    """Why a target has a gradient by a source, or why it has none.

    kind: the cause in a word or two ("connected" if there is a gradient); code: its number, which
    `talweg explain CODE` tells more about ("" if connected); verdict: the cause in a sentence.
    path: the operations from the source as far as the gradient would come; breaking: the one where
    it ends; beyond: those from there to the target.  lines: the user's lines in question, the most
    important first.  remedy: what to write instead.  notes: what else was seen.  norm: of the
    gradient, where values are known; numerics: what `explain_numerics` says of it, if that is bad.
    """

    kind: str
    verdict: str
    code: str = ""
    target: str = "the target"
    source: str = "the source"
    path: tuple[PathStep, ...] = ()
    breaking: PathStep | None = None
    beyond: tuple[PathStep, ...] = ()
    lines: tuple[Place, ...] = ()
    remedy: str = ""
    notes: tuple[str, ...] = ()
    norm: float | None = None
    numerics: Any = None

    @property
    def connected(self) -> bool:
        """Whether there is a gradient, be it zero or not finite."""
        return not self.code or self.numerics is not None

    @property
    def healthy(self) -> bool:
        """Whether there is a gradient and nothing is wrong with it, as far as was looked."""
        return not self.code

    @property
    def headline(self) -> str:
        """Verdict and code in one line."""
        return f"{self.verdict}  [{self.code}]" if self.code else self.verdict

    def __str__(self) -> str:
        return self._tell(self._title())

    __repr__ = __str__

    def in_an_error(self) -> str:
        """Return all of it as the message of an error."""
        title = f"There is no gradient of {self.target} by {self.source}: {self.headline}"
        return f"{self._tell(title)}  [TW301]"

    def _tell(self, title: str) -> str:
        parts = [title]
        parts += [
            f"  at {_place_text(place)}" + _code_text(place, self.breaking)
            for place in self.lines[:4]
        ]
        if self.path or self.breaking:
            parts.append("\n".join(self._draw_path()))
        parts += [f"  also: {note}" for note in self.notes]
        if self.remedy:
            head, *rest = self.remedy.splitlines()
            parts.append("\n".join([f"  try: {head}", *[f"       {line}" for line in rest]]))
        if self.code:
            parts.append(f"  more: talweg explain {self.code}")
        return "\n".join(parts)

    def _title(self) -> str:
        there = KINDS.get(self.kind, "a gradient") if self.connected else "no gradient"
        return f"{self.target} has {there} by {self.source}: {self.headline}"

    def in_a_line(self) -> str:
        """Return verdict, place and remedy in one line, for a log."""
        where = f" (at {self.lines[0]})" if self.lines else ""
        remedy = self.remedy.splitlines()
        cure = f" Try: {remedy[0]}" if remedy else ""
        return f"no gradient for {self.source}: {self.verdict}{where}.{cure}  [{self.code}]"

    def _draw_path(self) -> list[str]:
        """Return the path, a line for each operation, from the source down to the target."""
        file = self._file
        rows: list[tuple[str, ...]] = [("", self.source, self._own_flow(), "", "")]
        rows += [("|", *_columns(step, file)) for step in _shorten_path(self.path)]
        if self.breaking is not None:
            rows.append(("X", *_columns(self.breaking, file)))
        rows += [(":", *_columns(step, file)) for step in _shorten_path(self.beyond)]
        rows.append(("", self.target, "", "", ""))
        widths = [max(len(row[column]) for row in rows) for column in (1, 2, 3)]
        lines = []
        for mark, name, flow, value, line in rows:
            size = f"  {flow:<{widths[1]}}" if widths[1] else ""
            text = f"    {mark or ' '} {name:<{widths[0]}}{size}  {value:<{widths[2]}}  {line}"
            lines.append((text + ("   <-- here" if mark == "X" else "")).rstrip())
        return lines

    def _own_flow(self) -> str:
        return "" if self.norm is None else f"gradient {self.norm:.2e}"

    @property
    def _file(self) -> str:
        """The file that most of this is about: its name is left out in paths."""
        steps = [*([self.breaking] if self.breaking else []), *self.path, *self.beyond]
        places = [*self.lines, *[step.place for step in steps if step.place is not None]]
        return places[0].file if places else ""

    def as_dict(self) -> dict:
        """Return the explanation's content, for JSON."""
        own = {
            name: getattr(self, name)
            for name in ("kind", "code", "verdict", "target", "source", "remedy")
        }
        steps = [*self.path, *([self.breaking] if self.breaking else []), *self.beyond]
        return own | {
            "connected": self.connected,
            "norm": self.norm,
            "lines": [place.as_dict() for place in self.lines],
            "path": [_step_dict(step) for step in steps],
            "notes": list(self.notes),
        }

    # -- pictures

    def svg(self, title: bool = True) -> str:
        """Draw the way from source to target: connected parts, and the break in red."""
        boxes = [PictureBox(self.source, self._own_flow(), "source")]
        file = self._file
        boxes += [_box(step, file) for step in _shorten_path(self.path)]
        if self.breaking is not None:
            boxes.append(_box(self.breaking, file))
        elif not self.connected:
            boxes.append(PictureBox(self.kind, self._place_in_short(), "break"))
        boxes += [_box(step, file) for step in _shorten_path(self.beyond)]
        boxes.append(PictureBox(self.target, "", "target" if self.connected else "lost"))
        return draw_boxes(boxes, self._title() if title else "")

    def _place_in_short(self) -> str:
        place = self.lines[0] if self.lines else None
        return "" if place is None else f"line {place.line}: {place.source}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file (SVG)."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg())

    def _repr_html_(self) -> str:
        color = "#1a7f37" if self.healthy else "#b42318"
        parts = [
            f'<div style="font-family:sans-serif;border-left:4px solid {color};padding:2px 12px">',
            f"<b>{html.escape(self._title())}</b>",
        ]
        for line in self.lines[:4]:
            text = html.escape(f"{line.position}, in {line.function}")
            parts.append(
                f'<div style="color:#666">{text}</div>'
                + preformat(_mark_expression(line, self.breaking), "margin:0 0 6px 12px")
            )
        if self.path or self.breaking:
            parts.append(self.svg(title=False))
        for title, text in [("also", note) for note in self.notes] + [("try", self.remedy)]:
            if text:
                parts.append(
                    f'<div><i>{title}:</i> <code style="white-space:pre-wrap">'
                    f"{html.escape(text)}</code></div>"
                )
        return "\n".join([*parts, "</div>"])


class Explanations(tuple):
    """Explanations for several sources, in the order of the sources; prints the absent ones."""

    @property
    def absent(self) -> list[Explanation]:
        """The explanations of sources without a gradient."""
        return [each for each in self if not each.connected]

    def __iter__(self) -> Iterator[Explanation]:
        return super().__iter__()

    @property
    def troubled(self) -> list[Explanation]:
        """The explanations of gradients that are absent, zero, NaN, too small or too large."""
        return [each for each in self if not each.healthy]

    def _head(self) -> str:
        fine = [each.source for each in self if each.connected]
        head = f"{len(fine)} of {len(self)} sources have a gradient"
        head = f"{head}: {_list_steps(fine)}" if fine else head
        kinds = [each.kind for each in self if each.connected and not each.healthy]
        bad = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
        return f"{head}; {', '.join(bad)}" if bad else head

    def norms(self) -> list[str]:
        """Return a line for each source with a known norm, if one is not as it should be."""
        if all([each.healthy for each in self]):
            return []
        known = [each for each in self if each.norm is not None]
        width = max([len(each.source) for each in known], default=0)
        return [
            f"    {each.source:<{width}}  {each.norm:.2e}"
            + ("" if each.healthy else f"  {each.kind}")
            for each in known
        ]

    def group(self) -> list[list[Explanation]]:
        """Group the explanations of troubles: those with one cause at one place together."""
        groups: dict[Any, list[Explanation]] = {}
        for each in self.troubled:
            place = each.breaking.place if each.breaking else each.lines[:1]
            said = each.kind if each.connected else each.verdict.replace(each.source, "")
            key = each.code, place, said
            groups.setdefault(key, []).append(each)
        return list(groups.values())

    def __str__(self) -> str:
        parts = ["\n".join([self._head(), *self.norms()])]
        for first, *others in self.group():
            parts.append(str(first))
            if others:
                parts[-1] += f"\n  the same for {_list_steps([each.source for each in others])}"
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        norms = html.escape("\n".join(self.norms()))
        parts = [f"<div>{html.escape(self._head())}</div>", preformat(norms)]
        for first, *others in self.group():
            same = f"the same for {_list_steps([each.source for each in others])}" if others else ""
            parts += [first._repr_html_(), f"<div>{html.escape(same)}</div>"]
        return "\n".join(parts)


def _list_steps(names: list[str], limit: int = 12) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _columns(step: PathStep, file: str) -> tuple[str, str, str, str]:
    return step.name, step.flow, step.value, _where(step, file)


def _where(step: PathStep, file: str) -> str:
    """Return the line and code of a step; with its file if that is not the one meant anyhow."""
    if step.place is None:
        return ""
    place = f"line {step.place.line}"
    if step.place.file != file:
        place = f"{os.path.basename(step.place.file)}:{step.place.line}"
    if step.scope:  # a library's line is one for many operations: which of its parts says more
        place = f"in {step.scope}, {place}"
    code = step.code if len(step.code) <= SHORT or not step.scope else f"{step.code[:SHORT]}..."
    return f"{place}: {code}" if code else place


def _step_dict(step: PathStep) -> dict:
    place = {} if step.place is None else step.place.as_dict()
    own = {"operation": step.name, "value": step.value, "role": step.role, "code": step.code}
    return own | {"place": place} | ({} if step.norm is None else {"norm": step.norm})


def _shorten_path(steps: tuple[PathStep, ...]) -> list[PathStep]:
    """Return the steps, those in the middle of a long way replaced by their number."""
    if len(steps) <= SHOWN:
        return list(steps)
    half = (SHOWN - 1) // 2
    more = [int(step.name.split()[1]) - 1 for step in steps if step.name.startswith("...")]
    left_out = len(steps) - SHOWN + 1 + sum(more)
    between = PathStep(f"... {left_out} more ...", role=steps[half].role)
    return [*steps[:half], between, *steps[len(steps) - (SHOWN - 1 - half) :]]


def _box(step: PathStep, file: str) -> PictureBox:
    result = ", ".join(filter(None, (step.value, step.flow)))
    return PictureBox(step.name, _where(step, file), step.role, result, step.beside)


def _place_text(place: Place) -> str:
    inside = "" if place.function == "<module>" else f", in {place.function}"
    return f"{place.position}{inside}"


def _columns_on(place: Place, breaking: PathStep | None) -> tuple[int, int] | None:
    if breaking is None or breaking.place != place:
        return None
    return breaking.columns


def _code_text(place: Place, breaking: PathStep | None) -> str:
    """Return the code of a line, its expression underlined."""
    source = place.source
    if not source:
        return ""
    text = f"\n      {source}"
    columns = _columns_on(place, breaking)
    if columns is not None and columns[0] >= 0 and columns != (0, len(source)):
        text += f"\n      {' ' * columns[0]}{'^' * (columns[1] - columns[0])}"
    return text


def _mark_expression(place: Place, breaking: PathStep | None) -> str:
    """Return the code of a line as HTML, its expression marked."""
    source = place.source
    columns = _columns_on(place, breaking)
    if columns is None or columns[0] < 0:
        return html.escape(source)
    start, end = columns
    return (
        html.escape(source[:start])
        + f'<span style="background:#ffd7d5;color:#b42318">{html.escape(source[start:end])}</span>'
        + html.escape(source[end:])
    )
