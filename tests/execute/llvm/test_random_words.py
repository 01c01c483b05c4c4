"""Random words in loop programs: blocks shared by neighbouring lanes, or one for each lane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talweg.core.dtypes import DType, float16, float32, int32, uint32, uint64
from talweg.execute.llvm.codegen.program import emit
from talweg.kernels.random.philox import one_block, words_at
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Expr, For, Kernel, LoopProgram, Store, Tile, Update, load
from talweg.lower.ir.printer import parse, to_text
from tests.execute.emitted import same

STREAM = np.array([2**64 - 3, 2**64 - 1, 0x0123456789ABCDEF], np.uint64)  # both halves overflow


def wanted(places: np.ndarray, dtype: DType, stream: np.ndarray = STREAM) -> np.ndarray:
    """The words at these places, block by block."""
    low, high, key = map(int, stream)
    counts = [(high << 64 | low) + int(place) // (16 // dtype.size) for place in places]
    blocks = [np.array(one_block(count % 2**128, key), np.uint32) for count in counts]
    rows = np.array(blocks).reshape(-1, 4).view(dtype.numpy_dtype)
    return rows[np.arange(len(places)), places % (16 // dtype.size)]


def word(stream: list, place: Index, dtype: DType) -> Expr:
    """The word of a stream at a place."""
    draw = s.philox32 if dtype is uint32 else s.philox64
    count = 16 // dtype.size
    return draw(*stream, s.index(place // count, uint64), s.index(place % count, uint64))


class Program:
    """Loops that write words; `row` adds one, and says what should be there."""

    def __init__(self) -> None:
        self.made = LoopProgram("p")
        self.stream = self.made.buffer("stream", uint64, (3,), "input")
        self.expected: dict[str, np.ndarray] = {}

    def row(self, size: int, dtype: DType, place, kind: str = "vector", rows: int = 1) -> None:
        """A loop over `size` elements (in each of so many rows), of which `place(row, i)` says."""
        i, o = Axis("i", size), Axis("o", rows)
        output = self.made.buffer("z", dtype, (rows, size), "output")
        state = [load(self.stream, k) for k in range(3)]
        value = word(state, place(Index.of(o), Index.of(i)), dtype)
        loop = For(i, [Store(output, Index.of(o) * size + i, value)], kind)
        self.made.blocks.append(Kernel("k", [For(o, [loop], "serial") if rows > 1 else loop]))
        numbers = [place(Index(row), Index(k)).constant for row in range(rows) for k in range(size)]
        self.expected[output.name] = wanted(np.array(numbers), dtype)

    def agree(self, vector_bytes: int = 32) -> str:
        """NumPy and machine code give what they should; the text, which reads back."""
        text = to_text(self.made)
        assert to_text(parse(text)) == text
        given = {self.stream.name: STREAM}
        results = same(self.made, given, (1,), vector_bytes=vector_bytes)
        for name, values in self.expected.items():
            np.testing.assert_array_equal(results[name].reshape(-1), values)
        return text


PLACES = {
    "in a row": lambda o, i: i,
    "from 4 on": lambda o, i: i + 4,
    "from 5 on": lambda o, i: i + 5,
    "rows of 12": lambda o, i: o * 12 + i,
    "rows of 13": lambda o, i: o * 13 + i,
    "backwards": lambda o, i: i * -1 + 300,
    "every second": lambda o, i: i * 2,
    "every third": lambda o, i: i * 3 + o,
    "one of each block": lambda o, i: i * 4 + 1,
    "pairs, first": lambda o, i: i // 2 * 2,
    "pairs, second": lambda o, i: (i + o * 8) // 2 * 2 + 1,
    "groups of blocks": lambda o, i: i // 4 * 256 + i % 4 + o * 1024,
    "all the same": lambda o, i: o * 3 + 2,
    "turned": lambda o, i: (i + 3) % 7,
}


@pytest.mark.parametrize("dtype", [uint32, uint64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", PLACES)
def test_places(name, dtype):
    program = Program()
    for size in (1, 2, 3, 4, 7, 8, 17, 37, 150):
        program.row(size, dtype, PLACES[name], rows=3)
    program.row(37, dtype, PLACES[name], "serial", rows=2)
    program.row(5, dtype, PLACES[name], "unroll")
    program.agree()


def test_narrow_vectors():
    program = Program()
    for dtype in (uint32, uint64):
        for place in PLACES.values():
            program.row(23, dtype, place, rows=2)
    assert "philox64(stream0[0], " in program.agree(16)


def products(program: Program) -> int:
    """How many multiplications of words there are in the code of a program."""
    return emit(program.made).count(" = mul <")


def test_a_block_is_computed_once():
    """Words in a row take ten products of all lanes, and words of the same blocks no others."""
    program = Program()
    program.row(16, uint32, lambda o, i: i)
    assert products(program) == 10
    program = Program()
    i = Axis("i", 16)
    output = program.made.buffer("z", uint32, (16,), "output")
    state = [load(program.stream, k) for k in range(3)]
    both = [word(state, Index.of(i) // 2 * 2 + k, uint32) for k in (0, 1)]
    total = s.xor(*both)
    program.made.blocks.append(Kernel("k", [For(i, [Store(output, i, total)], "vector")]))
    assert products(program) == 10


@pytest.mark.parametrize("size", [1001, 1004, 62500])
def test_the_last_vector_begins_where_a_block_does(size):
    """Or there is one more of its own, so that no lane has a block to itself."""
    program = Program()
    program.row(size, uint32, lambda o, i: i)
    assert products(program) <= 30
    program.agree()


def test_streams_of_elements():
    """Lanes may each have a stream."""
    made = LoopProgram("p")
    random = np.random.default_rng(0)
    columns = [random.integers(0, 2**63, 19).astype(np.uint64) for _ in range(3)]
    columns[0][3] = 2**64 - 1
    given = [made.buffer("x", uint64, (19,), "input") for _ in columns]
    arrays = {buffer.name: column for buffer, column in zip(given, columns)}
    dtypes = {}
    for dtype in (uint32, uint64):
        i = Axis("i", 19)
        output = made.buffer("z", dtype, (19,), "output")
        value = word([load(x, i) for x in given], Index.of(i) * 3 + 1, dtype)
        made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], "vector")]))
        dtypes[output.name] = dtype
    found = same(made, arrays, (1,))
    for name, values in found.items():
        own = [
            wanted(np.array([3 * k + 1]), dtypes[name], np.array([x[k] for x in columns]))[0]
            for k in range(19)
        ]
        np.testing.assert_array_equal(values, own)


def test_words_from_data():
    """The block and the word may be numbers that are computed; those of one lane, too."""
    made = LoopProgram("p")
    stream = made.buffer("stream", uint64, (3,), "input")
    blocks = made.buffer("blocks", uint32, (11,), "input")
    output = made.buffer("z", uint32, (11,), "output")
    one = made.buffer("one", uint64, (1,), "output")
    i = Axis("i", 11)
    state = [load(stream, k) for k in range(3)]
    block = s.cast(load(blocks, i), uint64)
    value = s.philox32(*state, block, s.remainder(block, 4))
    single = s.philox64(*state, s.cast(load(blocks, 7), uint64), 1)
    made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], "vector")]))
    made.blocks.append(Kernel("l", [Store(one, 0, single)]))
    numbers = np.array([5, 0, 2**32 - 1, 7, 7, 6, 1, 2, 3, 4, 9], np.uint32)
    found = same(made, {stream.name: STREAM, blocks.name: numbers}, (1,))
    places = numbers.astype(np.int64) * 4 + numbers % 4
    np.testing.assert_array_equal(found[output.name], wanted(places, uint32))
    np.testing.assert_array_equal(found[one.name], wanted(np.array([5]), uint64))


@pytest.mark.parametrize("part", [1, 2, 3, 4])
def test_parts_of_blocks(part):
    """Rows of odd length, in which each block gives so many words."""
    made = LoopProgram("p")
    stream = made.buffer("stream", uint64, (3,), "input")
    output = made.buffer("z", uint32, (3, 37), "output")
    o, i = Axis("o", 3), Axis("i", 37)
    place = Index.of(o) * 37 + i
    numbers = [s.index(place // part, uint64), s.index(place % part, uint64)]
    value = s.philox32(*[load(stream, k) for k in range(3)], *numbers)
    loop = For(i, [Store(output, place, value)], "vector")
    made.blocks.append(Kernel("k", [For(o, [loop], "serial")]))
    found = same(made, {stream.name: STREAM}, (1,))[output.name].reshape(-1)
    places = np.arange(111)
    np.testing.assert_array_equal(found, wanted(places // part * 4 + places % part, uint32))


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(0, 9),
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from([uint32, uint64]),
)
def test_any_places(size, rows, first, step, part, dtype):
    program = Program()
    program.row(size, dtype, lambda o, i: o * size + i * step + first, rows=rows)
    program.row(size, dtype, lambda o, i: (o * size + i + first) // part * step, rows=rows)
    program.row(size, dtype, lambda o, i: (i + first) % (part + 1) + o * 4, rows=rows)
    program.agree()


def test_words_at():
    """What the functions mean: operands are broadcast, their widths do not matter."""
    found = words_at(5, 0, np.uint64(7), np.arange(6, dtype=np.uint8)[:, None], [3, 1], np.uint32)
    right = [[one_block(5 + block, 7)[word] for word in (3, 1)] for block in range(6)]
    assert found.tolist() == right
    assert words_at(0, 0, 0, [], [], np.uint64).shape == (0,)


@pytest.mark.parametrize("size", [2, 8, 13, 37, 600])
def test_what_neighbours_share(size):
    """Computed in half of the lanes, it goes wherever other numbers go."""
    made = LoopProgram("p")
    stream = made.buffer("stream", uint64, (3,), "input")
    x = made.buffer("x", float32, (size + 7,), "input")
    i = Axis("i", size)
    state = [load(stream, k) for k in range(3)]
    pair = word(state, Index.of(i) // 2 * 2, uint32)
    small = s.remainder(pair, 7)
    number, own = s.cast(s.bits(small, int32), float32), load(x, i)
    found = load(x, Index.of(i) + s.element(small))
    odd = s.equal(small, 3)
    values = [
        number,
        number + own,
        s.select(odd, own, number),
        s.select(odd, number, 0.5),
        found,
        load(x, i, odd, number),
        s.pow(number + 1.5, own * own),
        s.exp(number),
        s.cast(number, float16),
        s.cast(odd, int32),
        s.maximum(own, number),
    ]
    for value in values:
        output = made.buffer("z", value.dtype, (size,), "output")
        made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], "vector")]))
    total = Tile("t", float32)
    last, sums = [made.buffer(name, float32, (1,), "output") for name in ("last", "sums")]
    body = [Update(total, (), number, "add")]
    made.blocks.append(Kernel("s", [total, For(i, body, "vector"), Store(sums, 0, total.at())]))
    made.blocks.append(Kernel("l", [For(i, [Store(last, 0, number)], "serial")]))
    numbers = np.random.default_rng(0).standard_normal(size + 7).astype(np.float32)
    same(made, {stream.name: STREAM, x.name: numbers}, (1,), 1e-6)
    same(made, {stream.name: STREAM, x.name: numbers}, (1,), 1e-6, vector_bytes=16)
