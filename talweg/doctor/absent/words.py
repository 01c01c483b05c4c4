"""The names by which an explanation of an absent gradient calls tensors and variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.provenance import Origin, line_of
from talweg.doctor.findings import Place
from talweg.transform.absent import Evidence

if TYPE_CHECKING:
    from talweg.doctor.absent.explain import Case


class ExplanationWords:
    """The names of target and source, as the user knows them."""

    def __init__(self, evidence: Evidence):
        scene = evidence.scene
        self.target_names = list(scene.target_names) if scene else []
        self.source_names = list(scene.source_names) if scene else []
        self.asked_at = line_of((scene.code, scene.offset)) if scene else 0
        self.target = self._target(evidence)
        self.source = self._source(evidence)

    def _target(self, evidence: Evidence) -> str:
        if self.target_names:
            return self.target_names[0]
        name = getattr(evidence.given, "name", None) if evidence.in_graph else None
        return name or "the target"

    def _source(self, evidence: Evidence) -> str:
        source = evidence.source
        if source.kind == "variable":
            name = source.name.split(":")[0]
            own = self.source_names[0] if self.source_names else name
            return own if own == name or name in ("Variable", "") else f"{own} ({source.name})"
        if self.source_names:
            return self.source_names[0]
        return source.name or "the source"

    @property
    def spelling(self) -> str:
        """The source as one would write it in the program."""
        return self.source_names[0] if self.source_names else "x"


def value_text(value: object) -> str:
    """Return a dtype and shape, as in float32[2, 3]."""
    dtype = value.dtype
    if dtype is None:
        return ""
    aval = getattr(value, "aval", None)  # of a tensor of a graph, whose rank may be unknown
    dims = value.dims if aval is None else aval.dims
    if dims is None:
        return f"{dtype.name}[...]"
    inner = ", ".join(str(d) if isinstance(d, int) else "?" for d in dims)
    return f"{dtype.name}[{inner}]"


def place_of(origin: Origin | None) -> Place | None:
    """Return the line of an origin."""
    return None if origin is None else Place.of(origin)


def line_in(case: Case, line: int | None) -> Place | None:
    """Return a line of the function that asked."""
    return None if case.program is None or line is None else case.program.place(line)
