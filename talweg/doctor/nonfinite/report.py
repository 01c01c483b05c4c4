"""The answer of `explain_numerics` as a value, which prints as text and, in a notebook, as HTML."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from talweg.doctor.findings import Finding, Place

WIDTH = 87  # of sentences, beside their headings
WORDS = {"nan": "NaN", "inf": "an infinity", "zero": "zeros only"}


@dataclass(frozen=True)
class OperandReport:
    """An operand of the operation that is to blame: its element there, and its range."""

    name: str
    value: Any
    smallest: Any
    largest: Any
    shape: tuple
    dtype: str

    def __str__(self) -> str:
        span = ""
        if self.shape and self.smallest is not None:
            span = f"from {_number(self.smallest)} to {_number(self.largest)}"
        kind = f"{self.dtype} {list(self.shape)}"
        if self.value is None:
            return f"{self.name}: {kind} {span}".rstrip()
        return f"{self.name} = {_number(self.value)}" + (f"   ({kind}, {span})" if span else "")


@dataclass(frozen=True)
class Passage:
    """An operation that a bad value, or a gradient, went through."""

    operation: str
    place: Place | None
    value: Any
    rule: bool = False  # whether it is the derivative of that operation

    def __str__(self) -> str:
        name = f"derivative of {self.operation}" if self.rule else self.operation
        place = "" if self.place is None else f"   {self.place.position}"
        return f"{name}: {_number(self.value)}{place}"

    def repeats(self, other: Passage) -> bool:
        """Return whether it says the same as another one."""
        return (self.operation, self.place, self.rule) == (other.operation, other.place, other.rule)


@dataclass(frozen=True)
class SourceNorm:
    """The gradient by one source: its norm, the part of its elements that is 0, a verdict."""

    name: str
    norm: float | None
    zeros: float
    verdict: str

    def __str__(self) -> str:
        if self.norm is None:
            return f"{self.name}: {self.verdict}"
        some = f", {self.zeros:.0%} zeros" if self.zeros else ""
        return f"{self.name}: norm {self.norm:.3g}{some}: {self.verdict}"


@dataclass(frozen=True)
class NumericsExplanation:
    """The origin of a NaN, an infinity or a zero, its cause, and code to write instead.

    verdict: finite, nan, inf, zero, vanishing or exploding.
    subject: what has it: "the result", "the gradient of w".
    code: of the cause; `talweg explain CODE` prints its page.  "" if all is well.
    direction: forward, backward (a derivative rule made it) or outside (it was there before).
    operation: the primitive, for a derivative the one that is differentiated.
    place: the line of that operation; asked: the line where the gradient was asked for.
    element, result: the first element, and what it became.
    operands: what the operation was applied to.
    singular: the point, of those its declaration names, that was hit; "" if none was.
    cause, cure: a sentence each.   other: another line that matters (the `tf.where`).
    path: the operations from there to the subject.
    sources: the gradient by each source that was asked for.
    scope: the name scope of the operation, such as a Keras layer's.
    """

    verdict: str
    subject: str = "the result"
    code: str = ""
    direction: str = ""
    operation: str = ""
    place: Place | None = None
    asked: Place | None = None
    element: tuple | None = None
    result: Any = None
    operands: tuple[OperandReport, ...] = ()
    singular: str = ""
    cause: str = ""
    cure: str = ""
    other: Place | None = None
    path: tuple[Passage, ...] = ()
    sources: tuple[SourceNorm, ...] = field(default=())
    scope: str = ""

    @property
    def title(self) -> str:
        """The answer in one line."""
        if self.verdict == "finite":
            return f"{self.subject}: finite"
        if self.verdict in ("vanishing", "exploding"):
            return f"{self.subject} is {self.verdict}"
        return f"{self.subject} has {WORDS[self.verdict]}"

    @property
    def blamed(self) -> str:
        """The operation to blame, in words."""
        if self.direction == "outside" or not self.operation:
            return ""
        name = (
            f"the derivative of {self.operation}"
            if self.direction == "backward"
            else self.operation
        )
        if self.element:
            name += f", at element {list(self.element)}"
        return name

    @property
    def finding(self) -> Finding:
        """The explanation as a `Finding`, for reports."""
        places = tuple([p for p in (self.place, self.other, self.asked) if p is not None])
        return Finding(self.code or "TW340", self.title, self.cause, places, cure=self.cure)

    def __bool__(self) -> bool:
        return self.verdict != "finite"

    def rows(self) -> list[tuple[str, str]]:
        """Return (heading, text) of everything there is to say."""
        rows = [
            ("made by", self.blamed),
            ("at", str(self.place or "")),
            ("asked", str(self.asked or "")),
            ("operands", "\n".join(map(str, self.operands))),
            ("gave", "" if self.result is None else _number(self.result)),
            ("singular", f"where {self.singular}" if self.singular else ""),
            ("cause", self.cause),
            ("see also", str(self.other or "")),
            ("cure", self.cure),
        ]
        if len(self.path) > 1:
            pairs = zip(self.path, self.path[1:])
            shown = [
                str(one)
                for before, one in pairs
                if not one.repeats(before) or str(one) != str(before)
            ]
            if len(shown) > 6:
                shown = [*shown[:3], f"... {len(shown) - 5} more ...", *shown[-2:]]
            rows.append(("then", "\n".join(shown)))
        if self.sources:
            rows.append(("gradients", "\n".join(map(str, self.sources))))
        if self.code:
            rows.append(("more", f"talweg explain {self.code}"))
        return [row for row in rows if row[1]]

    def __str__(self) -> str:
        lines = [f"{self.title}  [{self.code}]" if self.code else self.title]
        for heading, text in self.rows():
            first, *rest = wrap_lines(text) if heading in ("cause", "cure") else text.splitlines()
            lines.append(f"  {heading + ':':<10} {first}")
            lines += [f"             {line}" for line in rest]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color = "#15803d" if self.verdict == "finite" else "#c2410c"
        rows = "".join(
            f"<tr><td style='color:#78716c;vertical-align:top;text-align:left'>{heading}</td>"
            f"<td style='text-align:left;white-space:pre-wrap;font-family:monospace'>"
            f"{html.escape(text)}</td></tr>"
            for heading, text in self.rows()
        )
        code = f"<b style='color:{color}'>{self.code}</b> " if self.code else ""
        return (
            f"<div style='border-left:4px solid {color};padding-left:.8em'>{code}"
            f"{html.escape(self.title)}<table>{rows}</table></div>"
        )


def wrap_lines(text: str) -> list[str]:
    """Return sentences in lines that fit on a screen."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _number(value: np.generic) -> str:
    """Return a number as a reader wants it."""
    if value is None:
        return ""
    kind = np.asarray(value)
    if kind.dtype.kind in "fc":
        return f"{kind[()]:.6g}"
    return str(kind[()])
