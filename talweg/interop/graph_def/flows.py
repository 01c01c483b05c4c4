"""Finds the tensors of a GraphDef that are flows of TensorArrays, and their kinds.

A flow is a float in TensorFlow, which only orders what is done to an array behind its handle.  Here
it is the list of elements, so it matters whether it is that of an array or of its gradients: what
the gradient of a write is given are gradients, and the gradient of a read begins with none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.interop.graph_def.regions import PASSING, STRUCTURE

if TYPE_CHECKING:
    from talweg.interop.graph_def.reading import NodeRecord, Reference

FORWARD, GRADIENT = "forward", "gradient"
WRITERS = frozenset(("TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"))
SUMS = frozenset(("Add", "AddV2", "AddN"))
_THROUGH = STRUCTURE | PASSING | SUMS


class Flows:
    """The flows among the nodes of a graph or function."""

    def __init__(self, items: dict[str, NodeRecord]):
        self.items = items
        self.any = any(item.op == "TensorArrayGradV3" for item in items.values())
        self._pushed: dict[str, list[Reference]] | None = None
        self._kinds: dict[Reference, str | None] = {}

    def kind(self, reference: Reference) -> str | None:
        """Return whether a tensor is the flow of an array, of gradients, or no flow (None)."""
        if not self.any:
            return None
        if reference not in self._kinds:
            self._kinds[reference] = self._find_source(reference)
        return self._kinds[reference]

    def _find_source(self, reference: Reference) -> str | None:
        """Find the kind of a tensor's sources: gradients, if they are among them."""
        seen, pending = {reference}, [reference]
        source_kind = None
        while pending:
            name, number = pending.pop()
            item = self.items.get(name)
            if item is None:
                continue
            kind, sources = self._step(item, number)
            if kind == GRADIENT:
                return GRADIENT
            source_kind = source_kind or kind
            for source in sources:
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
        return source_kind

    def _step(self, item: NodeRecord, number: int) -> tuple[str | None, list[Reference]]:
        """Step from a node's output to its sources: (the kind, if it is decided here; the
        sources).
        """
        if item.op == "TensorArrayV3":
            return (FORWARD if number == 1 else None), []
        if item.op == "TensorArrayGradV3":
            return None, ([item.inputs[1]] if number == 1 else [])
        if item.op in WRITERS:
            maker = self._maker(item.inputs[0])
            return (GRADIENT if maker == "TensorArrayGradV3" else FORWARD), []
        if item.op == "StackPopV2":
            return None, self._pushes().get(self.origin(item.inputs[0]), [])
        if item.op == "StackPushV2":
            return None, [item.inputs[1]]
        if item.op in _THROUGH:
            return None, list(item.inputs)
        return None, []

    def origin(self, handle: Reference) -> str:
        """Return the node that makes a handle, of an array or a stack."""
        name = handle[0]
        seen = set()
        while name not in seen:
            seen.add(name)
            item = self.items.get(name)
            if item is None or item.op not in _THROUGH or not item.inputs:
                break
            name = item.inputs[0][0]
        return name

    def _maker(self, handle: Reference) -> str:
        item = self.items.get(self.origin(handle))
        return "" if item is None else item.op

    def _pushes(self) -> dict[str, list[Reference]]:
        """List the values that are pushed on each stack."""
        if self._pushed is None:
            self._pushed = {}
            for item in self.items.values():
                if item.op == "StackPushV2":
                    origin = self.origin(item.inputs[0])
                    self._pushed.setdefault(origin, []).append(item.inputs[1])
        return self._pushed
