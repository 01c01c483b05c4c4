"""Code generation of indices: a part uniform over lanes, plus an offset for each lane.

A loop's axis is bound to an `Along`: register + constant, the register a multiple of something, and
whether the axis is the one that runs along the lanes.  An index becomes a `Place`: a register and a
constant (the same for all lanes), and then either a stride, or a constant for each lane, or a
vector register.
"""

from __future__ import annotations

from math import gcd
from typing import Any, NamedTuple

from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.types import BITS, register, vector
from talweg.lower.ir.index import Axis, Element, Index, Quotient

BOUND = 2**31


class Along(NamedTuple):
    """The present value of an axis: register (a multiple of `step`) + constant."""

    value: IRValue | None
    constant: int = 0
    step: int = 1
    lanes: bool = False  # lane l has that plus l


class LaneOffset(NamedTuple):
    """A per-lane offset: base + constant + (stride * lane, or offsets[lane], or vector[lane])."""

    base: IRValue | None = None
    constant: int = 0
    stride: int = 0
    offsets: tuple[int, ...] | None = None
    vector: IRValue | None = None  # of i64, or of i32 where `narrow`
    narrow: bool = False
    step: int = 1  # what the base is a multiple of

    @property
    def uniform(self) -> bool:
        """Whether all lanes have the same offset."""
        return self.stride == 0 and self.offsets is None and self.vector is None


class Indices:
    """The emitter of indices."""

    def __init__(self, code: IRBuilder):
        self.code = code
        self.axes: dict[Axis, Along] = {}
        self.lanes = 1

    # ---------------------------------------------------------------- arithmetic of i64 scalars

    def scale(self, value: IRValue, factor: int) -> IRValue:
        """Emit value * factor."""
        if factor == 1:
            return value
        return self.code.compute(f"mul i64 {value.text}, {factor}", 1, value.depth)

    def total(self, place: LaneOffset) -> IRValue:
        """Return the uniform part as one i64."""
        if place.base is None:
            return IRValue(str(place.constant))
        if not place.constant:
            return place.base
        text = f"add i64 {place.base.text}, {place.constant}"
        return self.code.compute(text, 1, place.base.depth)

    # ---------------------------------------------------------------- indices

    def place(self, index: Index, values: dict, wrap: bool = False) -> LaneOffset:
        """Emit an index; with `wrap` 32 bits suffice even where parts of it are larger.

        `values` has the values of the expressions in its elements, by id.
        """
        constant, stride = index.constant, 0
        uniform: list[tuple[IRValue, int]] = []
        varied: list[tuple[Any, int]] = []  # offsets per lane, or vectors
        axes, step = self.axes, 0
        for atom, factor in index.terms:
            if type(atom) is Axis:
                value, number, along, lanes = axes[atom]
                constant += factor * number
                if value is not None:
                    uniform.append((value, factor))
                    step = gcd(step, factor * along)
                if lanes:
                    stride += factor
                continue
            part = self.atom(atom, values, wrap or _fits_32_bits(index))
            constant += factor * part.constant
            if part.base is not None:
                uniform.append((part.base, factor))
                step = gcd(step, factor * part.step)
            if part.vector is not None or part.offsets is not None:
                varied.append((part, factor))
                continue
            stride += factor * part.stride
        base = self._sum(uniform) if uniform else None
        address = LaneOffset(base, constant, stride if self.lanes > 1 else 0, step=step or 1)
        return self._vary(address, varied) if varied else address

    def _sum(self, terms: list[tuple[IRValue, int]]) -> IRValue:
        """Emit the sum of products, those of outer loops first."""
        code = self.code
        if len(terms) == 1:
            return self.scale(*terms[0])
        key = tuple(terms)
        memoized = code.recall(key, max([term[0].depth for term in terms]))
        if memoized is not None:
            return memoized
        terms.sort(key=lambda term: term[0].depth)
        total = self.scale(*terms[0])
        for value, factor in terms[1:]:
            part = self.scale(value, factor)
            text = f"add i64 {total.text}, {part.text}"
            total = code.compute(text, 1, max(total.depth, part.depth))
        return code.keep(key, total)

    def _vary(self, lane_offset: LaneOffset, varied: list) -> LaneOffset:
        """Add the per-lane part."""
        lanes = self.lanes
        if all(part.vector is None for part, _ in varied):
            offsets = [lane_offset.stride * lane for lane in range(lanes)]
            for part, factor in varied:
                offsets = [x + factor * y for x, y in zip(offsets, part.offsets)]
            return arrange_lanes(lane_offset._replace(stride=0), offsets)
        narrow = all(part.narrow for part, _ in varied if part.vector is not None)
        kind = "i32" if narrow else "i64"
        total: IRValue | None = None
        for part, factor in varied:
            if part.vector is not None:
                one = self.widen(part, kind)
                if factor != 1:
                    one = self.vectors("mul", one, IRValue(str(factor)), kind)
            else:
                one = constants(kind, [factor * x for x in part.offsets])
            total = one if total is None else self.vectors("add", total, one, kind)
        assert total is not None
        if lane_offset.stride:
            ramp = constants(kind, [lane_offset.stride * lane for lane in range(lanes)])
            total = self.vectors("add", total, ramp, kind)
        return LaneOffset(lane_offset.base, lane_offset.constant, 0, None, total, narrow)

    def vectors(self, op: str, x: IRValue, y: IRValue, kind: str) -> IRValue:
        """Emit an integer operation on vectors."""
        lanes, code = self.lanes, self.code
        left, right = code.spread(x, lanes, kind), code.spread(y, lanes, kind)
        text = f"{op} {vector(kind, lanes)} {left}, {right}"
        return code.compute(text, lanes, max(x.depth, y.depth))

    def widen(self, part: LaneOffset, kind: str) -> IRValue:
        """Return the vector of offsets as `kind`."""
        value = part.vector
        assert value is not None
        if part.narrow and kind == "i64":
            lanes = value.lanes
            text = f"sext {vector('i32', lanes)} {value.text} to {vector('i64', lanes)}"
            return self.code.compute(text, lanes, value.depth)
        return value

    def whole(self, lane_offset: LaneOffset, narrow: bool) -> IRValue:
        """Return a whole offset as one vector of i32 or i64 (or a scalar i64)."""
        total = self.total(lane_offset)
        kind = "i32" if narrow else "i64"
        if narrow:
            if total.text[0] == "%":
                total = self.code.compute(f"trunc i64 {total.text} to i32", 1, total.depth)
            else:
                total = IRValue(str((int(total.text) + BOUND) % (2 * BOUND) - BOUND))
        if lane_offset.uniform:
            return total
        if lane_offset.vector is not None:
            varied = lane_offset.vector
            if lane_offset.narrow != narrow:
                word = "trunc" if narrow else "sext"
                other = "i64" if narrow else "i32"
                types = vector(other, self.lanes), vector(kind, self.lanes)
                text = f"{word} {types[0]} {varied.text} to {types[1]}"
                varied = self.code.compute(text, self.lanes, varied.depth)
        else:
            varied = constants(kind, self.offsets(lane_offset))
        if total.text == "0":
            return varied
        return self.vectors("add", total, varied, kind)

    def offsets(self, place: LaneOffset) -> list[int]:
        """Return the offset of each lane from the first part."""
        if place.offsets is not None:
            return list(place.offsets)
        return [place.stride * lane for lane in range(self.lanes)]

    # ---------------------------------------------------------------- atoms

    def atom(self, atom: Any, values: dict, narrow: bool) -> LaneOffset:
        """Emit an atom that is not an axis."""
        if type(atom) is Element:
            return self.element(atom, values, narrow)
        inner = self.place(atom.index, values)
        quotient = type(atom) is Quotient
        divisor = atom.divisor
        floor = atom.index.smallest is None or atom.index.smallest < 0
        if inner.vector is None and (inner.base is None or inner.step % divisor == 0):
            lanes = [inner.constant + offset for offset in self.offsets(inner)]
            if not quotient:
                return arrange_lanes(LaneOffset(), [x % divisor for x in lanes])
            address = LaneOffset()
            if inner.base is not None:
                base = self.divide(inner.base, divisor, True, floor, "i64")
                address = LaneOffset(base, step=inner.step // divisor)
            return arrange_lanes(address, [x // divisor for x in lanes])
        if inner.uniform:
            return LaneOffset(self.divide(self.total(inner), divisor, quotient, floor, "i64"))
        if inner.stride == 1 and divisor % self.lanes == 0 and self._is_aligned(atom.index):
            part = self.divide(self.total(inner), divisor, quotient, floor, "i64")
            return LaneOffset(part, stride=0 if quotient else 1)
        small = _fits_32_bits(atom.index)
        whole_vector = self.whole(inner, small)
        kind = "i32" if small else "i64"
        part = self.divide(whole_vector, divisor, quotient, floor, kind)
        return LaneOffset(vector=part, narrow=small)

    def _is_aligned(self, index: Index) -> bool:
        """Return whether an index is a multiple of the number of lanes in lane 0."""
        constant, lanes = index.constant, self.lanes
        for atom, factor in index.terms:
            if type(atom) is not Axis:
                return False
            along = self.axes[atom]
            constant += factor * along.constant
            if along.value is not None and factor * along.step % lanes:
                return False
        return constant % lanes == 0

    def divide(
        self, value: IRValue, divisor: int, quotient: bool, floor: bool, kind: str
    ) -> IRValue:
        """Emit value // divisor or value % divisor, rounded down (by a constant)."""
        code, lanes = self.code, value.lanes
        types = vector(kind, lanes)
        right = code.spread(IRValue(str(divisor)), lanes, kind)
        if divisor & (divisor - 1) == 0:
            amount = divisor.bit_length() - 1 if quotient else divisor - 1
            right = code.spread(IRValue(str(amount)), lanes, kind)
            word = "ashr" if quotient else "and"
            return code.compute(f"{word} {types} {value.text}, {right}", lanes, value.depth)
        if not floor:
            word = "udiv" if quotient else "urem"
            return code.compute(f"{word} {types} {value.text}, {right}", lanes, value.depth)
        rest = code.compute(f"srem {types} {value.text}, {right}", lanes, value.depth)
        zero = code.spread(IRValue("0"), lanes, kind)
        below = code.compute(f"icmp slt {types} {rest.text}, {zero}", lanes, value.depth)
        flags = vector("i1", lanes)
        if not quotient:
            up = code.compute(f"add {types} {rest.text}, {right}", lanes, value.depth)
            text = f"select {flags} {below.text}, {types} {up.text}, {types} {rest.text}"
            return code.compute(text, lanes, value.depth)
        part = code.compute(f"sdiv {types} {value.text}, {right}", lanes, value.depth)
        minus = code.compute(f"sext {flags} {below.text} to {types}", lanes, value.depth)
        return code.compute(f"add {types} {part.text}, {minus.text}", lanes, value.depth)

    def element(self, atom: Element, values: dict, narrow: bool) -> LaneOffset:
        """Emit an integer from data."""
        value: IRValue = values[id(atom.value)]
        dtype = atom.value.dtype
        kind = register(dtype)
        if value.lanes == 1:
            if value.text[0] != "%":
                return LaneOffset(constant=int(value.text))
            return LaneOffset(
                self.convert_width(value, kind, "i64", dtype.is_unsigned or dtype.is_bool)
            )
        target = "i32" if narrow else "i64"
        value = self.code.spread_value(value, self.lanes, kind)
        made = self.convert_width(value, kind, target, dtype.is_unsigned or dtype.is_bool)
        return LaneOffset(vector=made, narrow=narrow)

    def convert_width(self, value: IRValue, kind: str, target: str, unsigned: bool) -> IRValue:
        """Emit an integer of another width."""
        if kind == target:
            return value
        word = "trunc" if BITS[kind] > BITS[target] else "zext" if unsigned else "sext"
        lanes = value.lanes
        text = f"{word} {vector(kind, lanes)} {value.text} to {vector(target, lanes)}"
        return self.code.compute(text, lanes, value.depth)


def arrange_lanes(place: LaneOffset, offsets: list[int]) -> LaneOffset:
    """Return `place` with per-lane offsets as constant or stride where possible."""
    first = offsets[0]
    place = place._replace(constant=place.constant + first)
    offsets = [offset - first for offset in offsets]
    stride = offsets[1] if len(offsets) > 1 else 0
    if all(offset == lane * stride for lane, offset in enumerate(offsets)):
        return place._replace(stride=stride)
    return place._replace(offsets=tuple(offsets))


def constants(kind: str, values: list[int]) -> IRValue:
    """Return a constant vector."""
    text = ", ".join([f"{kind} {value}" for value in values])
    return IRValue(f"<{text}>", len(values))


def _fits_32_bits(index: Index) -> bool:
    """Return whether an index and all its parts fit into 32 bits."""
    low, top = index.smallest, index.largest
    if low is None or top is None or low < -BOUND or top >= BOUND:
        return False
    for atom, factor in index.terms:
        if type(atom) is Element:
            return False
        if factor * atom.largest >= BOUND or factor * atom.largest < -BOUND:
            return False
        if type(atom) is not Axis and not _fits_32_bits(atom.index):
            return False
    return True
