"""The IR builder of one LLVM function: nested scopes, values computed once (value numbering).

A scope is the body of a loop or of a branch; its lines stay apart until it is closed, so that a
value which depends on outer things only is added to the outer scope and so stands before the loop.
Every value knows the depth of the scope it was made in.  Instructions are memoized by their text:
equal text in one scope is one value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.execute.llvm.codegen.types import vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.execute.llvm.vector_math.library import VectorMathLibrary
    from talweg.lower.ir.loops import Buffer


class IRValue(NamedTuple):
    """A constant or register, of `lanes` numbers, made at `depth`.

    One number is the same for all lanes of a loop; of fewer than these each is that of neighbours.
    """

    text: str
    lanes: int = 1
    depth: int = 0


class IRScope:
    """The lines of a loop or branch; `writes` are the root buffers written in it."""

    __slots__ = ("label", "lines", "memo", "writes")

    def __init__(self, label: str, writes: set[Buffer] | set | tuple = ()):
        self.lines: list[str] = []
        self.memo: dict[Any, IRValue] = {}
        self.label, self.writes = label, writes


class IRBuilder:
    """The builder's open scopes, outermost first; `library` has the functions that are called."""

    def __init__(self, library: VectorMathLibrary | None = None):
        self.library = library
        self.scopes = [IRScope("entry")]
        self.count = 0
        self.floor = 0  # the innermost branch: nothing in it may move out
        self.versions: dict[Any, int] = {}  # of what a buffer holds
        self.stored: dict[str, tuple[str, IRValue]] = {}  # see `casts.from_memory`

    def fresh(self) -> str:
        """Return a new number for a register or label."""
        self.count += 1
        return str(self.count)

    def compute(self, text: str, lanes: int, depth: int) -> IRValue:
        """Return the value of a pure instruction, reused if it was computed before."""
        scopes = self.scopes
        memoized = scopes[depth].memo.get(text)
        if memoized is None:
            if depth < self.floor:
                depth = self.floor
                memoized = scopes[depth].memo.get(text)
                if memoized is not None:
                    return memoized
            self.count += 1
            name = f"%v{self.count}"
            scope = scopes[depth]
            scope.lines.append(f"  {name} = {text}")
            memoized = scope.memo[text] = IRValue(name, lanes, depth)
        return memoized

    def recall(self, key: tuple, depth: int) -> IRValue | None:
        """Return the value stored under a key of values from `depth`."""
        found = self.scopes[depth].memo.get(key)
        if found is None and depth < self.floor:
            found = self.scopes[self.floor].memo.get(key)
        return found

    def keep(self, key: tuple, value: IRValue) -> IRValue:
        """Store a value under a key while its scope is open."""
        self.scopes[value.depth].memo[key] = value
        return value

    def load(self, text: str, lanes: int, depth: int, root: Buffer) -> IRValue:
        """Return the value of an instruction that reads the buffer `root`."""
        scopes = self.scopes
        level = len(scopes) - 1
        while level > depth and root not in scopes[level].writes:
            level -= 1
        key = (text, self.versions.get(root, 0))
        loaded = scopes[level].memo.get(key)
        if loaded is None and level < self.floor:
            level = self.floor
            loaded = scopes[level].memo.get(key)
        if loaded is None:
            self.count += 1
            name = f"%v{self.count}"
            scopes[level].lines.append(f"  {name} = {text}")
            loaded = scopes[level].memo[key] = IRValue(name, lanes, level)
        return loaded

    def line(self, text: str) -> None:
        """Emit an instruction with effects."""
        self.scopes[-1].lines.append("  " + text)

    def invalidate(self, roots: Sequence[Any] | set[Buffer] | set) -> None:
        """Invalidate the values that were loaded from these buffers."""
        for root in roots:
            self.versions[root] = self.versions.get(root, 0) + 1

    def spread(self, value: IRValue, lanes: int, scalar: str) -> str:
        """Return the text of `value` as an operand of `lanes` lanes (a splat)."""
        if value.lanes == lanes:
            return value.text
        if value.lanes > 1:
            each = lanes // value.lanes
            return self.shuffle(value, "poison", scalar, [i // each for i in range(lanes)]).text
        if value.text[0] != "%":
            return f"splat ({scalar} {value.text})"
        kind = vector(scalar, lanes)
        one = self.compute(
            f"insertelement {kind} poison, {scalar} {value.text}, i64 0", lanes, value.depth
        )
        mask = f"<{lanes} x i32> zeroinitializer"
        text = f"shufflevector {kind} {one.text}, {kind} poison, {mask}"
        return self.compute(text, lanes, value.depth).text

    def spread_value(self, value: IRValue, lanes: int, scalar: str) -> IRValue:
        """Return `value` with `lanes` lanes (a splat)."""
        if value.lanes == lanes:
            return value
        return IRValue(self.spread(value, lanes, scalar), lanes, value.depth)

    def shuffle(self, x: IRValue, y: str, scalar: str, mask: list[int]) -> IRValue:
        """Shuffle lanes of x and y (a constant) by number; -1 is any."""
        kind, lanes = vector(scalar, x.lanes), len(mask)
        chosen = ", ".join(["i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask])
        text = f"shufflevector {kind} {x.text}, {kind} {y}, <{lanes} x i32> <{chosen}>"
        return self.compute(text, lanes, x.depth)

    def lane(self, value: IRValue, lane: int, scalar: str) -> IRValue:
        """Extract one lane."""
        if value.lanes == 1:
            return value
        if value.text.startswith("splat ("):
            return IRValue(value.text[len("splat (") + len(scalar) + 1 : -1])
        kind = vector(scalar, value.lanes)
        return self.compute(f"extractelement {kind} {value.text}, i64 {lane}", 1, value.depth)

    def pack_lanes(self, parts: list[IRValue], scalar: str) -> IRValue:
        """Build one vector of several scalars."""
        lanes = len(parts)
        if all(part.text == parts[0].text for part in parts):
            return self.spread_value(parts[0], lanes, scalar)
        kind, text, depth = vector(scalar, lanes), "poison", 0
        for lane, part in enumerate(parts):
            depth = max(depth, part.depth)
            made = f"insertelement {kind} {text}, {scalar} {part.text}, i64 {lane}"
            text = self.compute(made, lanes, depth).text
        return IRValue(text, lanes, depth)
