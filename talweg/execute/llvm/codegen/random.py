"""Code generation of random words: blocks of Philox 4x32-10, several at a time.

Where the places of all lanes are known but for what they have in common, each block they need is
computed once, in four neighbouring lanes of 32 bits, as it lies in memory: a round is a product of
every other lane, a shuffle within the block, a shift and two exclusive ors.  Lanes then take their
words by a shuffle that is known, too; for words in a row that is none at all.  Words that two
neighbouring lanes share are given once, and so is what is computed from them, as long as no other
numbers come in.  In rows of odd length words are shifted to where a row begins; elsewhere each lane
computes a block of its own.
"""

from __future__ import annotations

from talweg.execute.llvm.codegen.arithmetic import binary, convert, select
from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.index import Indices, LaneOffset, constants
from talweg.execute.llvm.codegen.types import BITS, register, vector
from talweg.kernels.random.philox import KEY_STEPS, MASK32, MULTIPLIERS, ROUNDS
from talweg.lower.ir.index import Quotient, Remainder
from talweg.lower.ir.loops import Expr

LOW, HALF = IRValue(str(MASK32)), IRValue("32")
CROSSED = (3, 2, 1, 0)  # where the halves of two products go


def words(code: IRBuilder, indices: Indices, expr: Expr, known: dict[int, IRValue]) -> IRValue:
    """Emit the words of a `philox32` or `philox64`; `known` has the values of its operands."""
    stream = [_wide(code, known[id(x)], x) for x in expr.args[:3]]
    block, word = [_place(indices, x, known) for x in expr.args[3:]]
    if any(x.lanes > 1 for x in stream):
        return _any_places(code, stream, expr, known)
    if block is not None and word is not None and word.base is None:
        return _emit_known_places(code, indices, stream, block, word, register(expr.dtype))
    place = _in_a_row(indices, expr, known)
    if place is not None:
        return _shift(code, stream, place, indices.lanes, register(expr.dtype))
    return _any_places(code, stream, expr, known)


def _wide(code: IRBuilder, x: IRValue, expr: Expr) -> IRValue:
    """Return an unsigned integer in 64 bits."""
    kind = register(expr.dtype)
    return x if kind == "i64" else convert(code, "zext", x, kind, "i64")


def _place(indices: Indices, expr: Expr, known: dict[int, IRValue]) -> LaneOffset | None:
    """Return the constant distance of a position from a common base, if it is constant."""
    if expr.op == "const":
        return LaneOffset(constant=int(expr.data))
    if expr.op != "index":
        return None
    place = indices.place(expr.data, known)
    return None if place.vector is not None else place


# ---------------------------------------------------------------- blocks in neighbouring lanes


def _emit_known_places(
    code: IRBuilder,
    indices: Indices,
    stream: list[IRValue],
    block: LaneOffset,
    word: LaneOffset,
    kind: str,
) -> IRValue:
    """Emit each block once, and a shuffle."""
    lanes = 1 if block.uniform and word.uniform else indices.lanes
    numbers, places = [
        [lane_offset.constant + x for x in indices.offsets(lane_offset)[:lanes]]
        for lane_offset in (block, word)
    ]
    wanted = sorted(set(numbers))
    operands = stream if block.base is None else [*stream, block.base]
    name = ("blocks", *operands, *wanted)
    memoized = code.recall(name, max([x.depth for x in operands]))
    if memoized is None:
        memoized = code.keep(name, _blocks(code, stream, block.base, wanted))
    each = 128 // BITS[kind]
    chosen = [each * wanted.index(number) + offset for number, offset in zip(numbers, places)]
    shuffled = _as(code, memoized, "i64", kind)
    if chosen[::2] == chosen[1::2]:
        chosen = chosen[::2]  # of two neighbours
    if len(chosen) == 1:
        return code.lane(shuffled, chosen[0], kind)
    return (
        shuffled
        if chosen == list(range(shuffled.lanes))
        else code.shuffle(shuffled, "poison", kind, chosen)
    )


def _in_a_row(indices: Indices, expr: Expr, known: dict[int, IRValue]) -> LaneOffset | None:
    """Return the index of the first of contiguous words; None without whole blocks.

    Block and word are quotient and remainder of the same index then.
    """
    (block, word), each = expr.args[3:], 16 // expr.dtype.size
    if block.op != "index" or word.op != "index" or indices.lanes == 1 or indices.lanes % each:
        return None
    parts = [(x.data.terms, x.data.constant) for x in (block, word)]
    if any(len(terms) != 1 or terms[0][1] != 1 or constant for terms, constant in parts):
        return None
    whole, rest = [terms[0][0] for terms, _ in parts]
    if type(whole) is not Quotient or whole.divisor != each:
        return None
    if rest != Remainder(whole.index, each):
        return None
    address = indices.place(whole.index, known)
    regular = address.vector is None and address.offsets is None and address.stride == 1
    return address if regular and address.base is not None else None


def _shift(
    code: IRBuilder, stream: list[IRValue], lane_offset: LaneOffset, lanes: int, kind: str
) -> IRValue:
    """Emit the blocks from the first lane's on, and one more, shifted to the lanes."""
    each = 128 // BITS[kind]
    assert lane_offset.base is not None
    start = binary(code, "add", lane_offset.base, IRValue(str(lane_offset.constant)), "i64")
    base = binary(code, "lshr", start, IRValue(str(each.bit_length() - 1)), "i64")
    turn = binary(code, "and", start, IRValue(str(each - 1)), "i64")
    count = lanes // each
    first = _as(code, _blocks(code, stream, base, [*range(count)]), "i64", kind)
    further = _as(code, _blocks(code, stream, base, [count]), "i64", kind)
    further = code.shuffle(further, "poison", kind, [*range(each), *[-1] * (lanes - each)])
    shifted, both = first, first._replace(depth=max(first.depth, further.depth))
    for step in range(1, each):
        moved = code.shuffle(both, further.text, kind, [*range(step, lanes + step)])
        here = binary(code, "icmp eq", turn, IRValue(str(step)), "i64")
        shifted = select(code, here, moved, shifted, kind)
    return shifted


def _as(code: IRBuilder, x: IRValue, source: str, target: str) -> IRValue:
    """Reinterpret bits in lanes of another width."""
    if source == target:
        return x
    lanes = x.lanes * BITS[source] // BITS[target]
    text = f"bitcast {vector(source, x.lanes)} {x.text} to {vector(target, lanes)}"
    return code.compute(text, lanes, x.depth)


def _blocks(
    code: IRBuilder, stream: list[IRValue], base: IRValue | None, wanted: list[int]
) -> IRValue:
    """Emit the blocks of these numbers, counted from `base`, as <2 n x i64>."""
    low, high, key = stream
    count = len(wanted)
    lows, highs = _counters(code, low, high, base, wanted)
    x = _side_by_side(code, lows, highs)
    multipliers = constants("i64", [*MULTIPLIERS] * count)
    crossed = [4 * block + lane for block in range(count) for lane in CROSSED]
    for keys in _round_keys(code, key, count):
        product = binary(code, "mul", binary(code, "and", x, LOW, "i64"), multipliers, "i64")
        product = code.shuffle(_as(code, product, "i64", "i32"), "poison", "i32", crossed)
        odd = binary(code, "xor", binary(code, "lshr", x, HALF, "i64"), keys, "i64")
        x = binary(code, "xor", odd, _as(code, product, "i32", "i64"), "i64")
    return x


def _counters(
    code: IRBuilder, low: IRValue, high: IRValue, base: IRValue | None, wanted: list[int]
) -> tuple[IRValue, IRValue]:
    """Emit the lower and upper halves of the numbers of blocks."""
    steps = constants("i64", wanted) if len(wanted) > 1 else IRValue(str(wanted[0]))
    if base is not None:
        steps = binary(code, "add", base, steps, "i64")
    return _sum(code, low, high, steps)


def _sum(code: IRBuilder, low: IRValue, high: IRValue, steps: IRValue) -> tuple[IRValue, IRValue]:
    """Emit the sum of a 128-bit and a 64-bit number."""
    lows = binary(code, "add", low, steps, "i64")
    carried = convert(code, "zext", binary(code, "icmp ult", lows, low, "i64"), "i1", "i64")
    return lows, binary(code, "add", high, carried, "i64")


def _side_by_side(code: IRBuilder, x: IRValue, y: IRValue) -> IRValue:
    """Interleave lanes of x and y."""
    if x.lanes == 1:
        return code.pack_lanes([x, y], "i64")
    turns = [start + lane for lane in range(x.lanes) for start in (0, x.lanes)]
    return code.shuffle(x._replace(depth=max(x.depth, y.depth)), y.text, "i64", turns)


def _round_keys(code: IRBuilder, key: IRValue, count: int) -> list[IRValue]:
    """Return the keys of each round, for words 0 and 2 of every block, as <2 n x i64>."""
    both = code.spread_value(key, 2, "i64")
    pair = binary(code, "lshr", both, constants("i64", [0, 32]), "i64")
    found = []
    for number in range(ROUNDS):
        steps = constants("i64", [number * step & MASK32 for step in KEY_STEPS])
        keys = binary(code, "and", binary(code, "add", pair, steps, "i64"), LOW, "i64")
        found.append(keys if count == 1 else code.shuffle(keys, "poison", "i64", [0, 1] * count))
    return found


# ---------------------------------------------------------------- a block for each lane


def _any_places(
    code: IRBuilder, stream: list[IRValue], expr: Expr, known: dict[int, IRValue]
) -> IRValue:
    """Emit a block for each lane, of which one word is taken."""
    block, word = [_wide(code, known[id(x)], x) for x in expr.args[3:]]
    depth = max([x.depth for x in (*stream, block)])
    names = [("own block", *stream, block, number) for number in range(4)]
    memoized_words = [code.recall(name, depth) for name in names]
    parts = [part for part in memoized_words if part is not None]
    if not parts:
        low, high, key = stream
        block_words = _own_blocks(code, low, high, key, block)
        parts = [code.keep(name, part) for name, part in zip(names, block_words)]
    if register(expr.dtype) == "i64":
        parts = [
            binary(code, "or", low, binary(code, "shl", high, HALF, "i64"), "i64")
            for low, high in (parts[:2], parts[2:])
        ]
    words = parts[0]
    for number, part in enumerate(parts[1:], 1):
        here = binary(code, "icmp eq", word, IRValue(str(number)), "i64")
        words = select(code, here, part, words, "i64")
    return words if register(expr.dtype) == "i64" else convert(code, "trunc", words, "i64", "i32")


def _own_blocks(
    code: IRBuilder, low: IRValue, high: IRValue, key: IRValue, block: IRValue
) -> list[IRValue]:
    """Emit the four words of blocks, each in lanes of 64 bits."""
    halves = _sum(code, low, high, block)
    (a, b), (c, d) = [
        (binary(code, "and", half, LOW, "i64"), binary(code, "lshr", half, HALF, "i64"))
        for half in halves
    ]
    keys = [binary(code, "and", key, LOW, "i64"), binary(code, "lshr", key, HALF, "i64")]
    for number in range(ROUNDS):
        own = [
            binary(code, "add", x, IRValue(str(number * step & MASK32)), "i64")
            for x, step in zip(keys, KEY_STEPS)
        ]
        own = [binary(code, "and", x, LOW, "i64") for x in own]
        first, second = [
            binary(code, "mul", x, IRValue(str(factor)), "i64")
            for x, factor in zip((a, c), MULTIPLIERS)
        ]
        upper = [binary(code, "lshr", x, HALF, "i64") for x in (second, first)]
        odd = [binary(code, "xor", x, y, "i64") for x, y in zip((b, d), own)]
        a, c = [binary(code, "xor", x, y, "i64") for x, y in zip(upper, odd)]
        b, d = [binary(code, "and", x, LOW, "i64") for x in (second, first)]
    return [a, b, c, d]
