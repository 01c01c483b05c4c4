"""The loop program (loop IR): a small language of loops over buffers.

A `LoopProgram` has `Buffer`s (flat arrays of one dtype) and a body: a list of blocks that run one
after the other.  A block is a `Kernel` (loops that read, compute and write), a `Host` call (the
NumPy kernel of an operation, run by Python), `Grow` and `Fill` (memory of stacks), or `Repeat`
and `If` over blocks.  Several threads run the same program: in a kernel each takes its
share of the iterations of a `parallel` loop, and all wait for each other after every block.  A
kernel without a parallel loop is run by one thread.

In a kernel there are statements: `For` (a loop over an `Axis`), `Store`, `Tile` (numbers kept in
registers), `Update` (of a tile), `Call` (a library routine), `When` (a condition).  Values are
`Expr`: scalar expressions of loads, tiles and indices.  What a loop computes for one value of its
axis is scalar; a `vector` loop computes several values of its axis at once.

What an executor may rely on:

* buffers do not overlap, except where a `Buffer` says that it is `part` of another one;
* the iterations of `vector`, `unroll` and `parallel` loops are independent of each other, except
  for updates of tiles declared outside of the loop (a reduction: the order of the operands is
  free) and `Store`s with an operation, which are never inside a vector loop whose axis their index
  does not depend on;
* every index is within its buffer, wherever its statement is run (guarded loads: where the guard
  holds);
* an expression is computed where a list of statements first needs it, and keeps that value for the
  rest of the list and the lists within, whatever is written meanwhile;
* a `Tile` belongs to the list of statements it stands in, and is set to `start` when reached.  Its
  dims are the extents of enclosed `unroll` or `vector` loops, by whose axes (alone) it is indexed;
  so it has a fixed place in registers.

Everything prints (`printer.py`), parses back, and is checked (`verifier.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType, bool_, int64
from talweg.lower.ir.index import Axis, Index

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

KINDS = ("input", "output", "state", "constant", "temporary", "private", "scratch", "stack")
OF_THREADS = ("private", "scratch")  # kinds of which each thread has its own
LOOPS = ("serial", "parallel", "vector", "unroll")
_INDEXED = frozenset(["load", "index", "read"])  # operations with indices
TESTS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
COMBINE = ("add", "mul", "maximum", "minimum", "and", "or")  # what updates combine with


class Buffer:
    """A buffer of `size` elements of one dtype.

    kind: input (read only), output (a result, written whole), state (a variable's value, read and
    written in place), constant, temporary (in the arena, shared by all threads), private (of a
    trip of a parallel repeat: each thread has its own), scratch (each thread has its own; nothing
    is in it when a kernel begins), stack (its first dimension has no
    end; there is memory for as many rows as `Grow` and `Fill` have asked for, which are kept).
    """

    __slots__ = ("content", "dtype", "kind", "name", "offset", "part", "shape", "size")

    def __init__(self, name: str, dtype: DType, shape: tuple, kind: str):
        self.name, self.dtype, self.shape, self.kind = name, dtype, shape, kind
        size = 1
        for extent in shape:
            size *= extent
        self.size = size
        self.content: Any = None  # of a constant: the array
        self.part: Buffer | None = None  # the buffer whose memory this one is
        self.offset = (
            0  # in bytes: the place in `part`, or in the arena (set by lower/buffer_assignment.py)
        )

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.size * self.dtype.size

    def __repr__(self) -> str:
        return self.name


class Expr:
    """A scalar expression.

    Shared parts are shared objects; compared by identity.

    op          args                    data
    const                               the value, a Python number or bool
    load        () or (guard, other)    (buffer, index): the element; `other` where guard is false
    index                               an Index, as a number of the expression's dtype
    read                                (tile, indices)
    cast        (x,)                    C conversion to `dtype`; float to int saturates, NaN to 0
    bits        (x,)                    the same bits as another dtype of the same size
    select      (condition, x, y)
    any other   operands                a function of `scalars.py` by that name
    """

    __slots__ = ("args", "data", "dtype", "op")

    def __init__(self, op: str, args: tuple, dtype: DType, data: Any = None):
        self.op, self.args, self.dtype, self.data = op, args, dtype, data

    def children(self) -> tuple[Expr, ...]:
        """Return the direct operands, those in indices too."""
        if self.op not in _INDEXED:
            return self.args
        found = [atom.value for index in self.indices() for atom in elements(index)]
        return (*self.args, *found) if found else self.args

    def indices(self) -> tuple[Index, ...]:
        """Return the indices that the expression itself has."""
        if self.op == "load":
            return (self.data[1],)
        if self.op == "index":
            return (self.data,)
        return tuple(self.data[1]) if self.op == "read" else ()

    def axes(self) -> set[Axis]:
        """Return the axes on which the value depends."""
        found: set[Axis] = set()
        for part in walk([self]):
            for index in part.indices():
                found |= {atom for atom, _ in index.terms if type(atom) is Axis}
                for atom, _ in index.terms:
                    if type(atom) is not Axis and hasattr(atom, "index"):
                        found |= atom.index.axes()
        return found

    def replace(self, values: dict) -> Expr:
        """Substitute indices for axes."""
        return substitute_axes(self, values, {})

    def __add__(self, other: object) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: object) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: object) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: TensorLike) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: TensorLike) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: TensorLike) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: TensorLike) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: TensorLike) -> Expr:
        return binary("div", other, self)

    def __neg__(self) -> Expr:
        return Expr("neg", (self,), self.dtype)

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.data)
        if self.op == "load":
            buffer, index = self.data
            guard = f" if {self.args[0]!r} else {self.args[1]!r}" if self.args else ""
            return f"{buffer}[{index!r}]{guard}"
        if self.op == "index":
            return f"({self.data!r})"
        if self.op == "read":
            tile, indices = self.data
            return f"{tile}[{', '.join(map(repr, indices))}]"
        return f"{self.op}({', '.join(map(repr, self.args))})"


def binary(op: str, x: Any, y: Any) -> Expr:
    """Apply a function to two operands of one dtype, one of which may be a Python number."""
    if not isinstance(x, Expr):
        x = const(x, y.dtype)
    elif not isinstance(y, Expr):
        y = const(y, x.dtype)
    return Expr(op, (x, y), bool_ if op in TESTS else x.dtype)


def elements(index: Index) -> list:
    """Return the atoms of an index, at any depth, that are computed from data."""
    found = []
    for atom, _ in index.terms:
        if type(atom) is Axis:
            continue
        if hasattr(atom, "value"):
            found.append(atom)
        elif hasattr(atom, "index"):
            found += elements(atom.index)
    return found


def walk(roots: Iterable[Expr]) -> list[Expr]:
    """Return all expressions below `roots` in postorder, each once."""
    done: dict[int, Expr] = {}
    order: list[Expr] = []
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        expr, ready = stack.pop()
        if ready:
            order.append(expr)
        elif id(expr) not in done:
            done[id(expr)] = expr
            stack.append((expr, True))
            stack += [(child, False) for child in reversed(expr.children())]
    return order


def substitute_axes(expr: Expr, values: dict, done: dict) -> Expr:
    """Substitute indices for axes in `expr`; `done` keeps shared parts shared."""
    found = done.get(id(expr))
    if found is None:
        args = tuple([substitute_axes(arg, values, done) for arg in expr.args])
        data = expr.data
        if expr.op == "load":
            data = (data[0], data[1].replace(values))
        elif expr.op == "index":
            data = data.replace(values)
        elif expr.op == "read":
            data = (data[0], tuple([index.replace(values) for index in data[1]]))
        found = done[id(expr)] = Expr(expr.op, args, expr.dtype, data)
    return found


def const(value: object, dtype: DType) -> Expr:
    """Make a number."""
    return Expr("const", (), dtype, value)


def load(
    buffer: Buffer, index: Axis | Index | int, guard: Expr | None = None, other: Expr | None = None
) -> Expr:
    """Make a load of an element; `other` where `guard` is false, and nothing is read there."""
    args = () if guard is None else (guard, other)
    return Expr("load", args, buffer.dtype, (buffer, Index.of(index)))


def number(index: Index | None, dtype: DType = int64) -> Expr:
    """Convert an index to a number."""
    return Expr("index", (), dtype, Index.of(index))


def within(index: Index, low: int, high: int) -> Expr | None:
    """Return low <= index < high as a condition; None if that is certain."""
    tests = []
    if index.smallest is None or index.smallest < low:
        tests.append(Expr("greater_equal", (number(index), const(low, int64)), bool_))
    if index.largest is None or index.largest >= high:
        tests.append(Expr("less", (number(index), const(high, int64)), bool_))
    if len(tests) == 2:
        return Expr("logical_and", tuple(tests), bool_)
    return tests[0] if tests else None


class For:
    """A loop over an axis; `kind` is one of LOOPS.

    serial in order; parallel shared between threads (only as the outermost loops of a kernel);
    vector several at a time; unroll written out.
    """

    __slots__ = ("axis", "body", "kind")

    def __init__(self, axis: Axis, body: list, kind: str = "serial"):
        self.axis, self.body, self.kind = axis, body, kind


class Store:
    """A store buffer[index] = value, or `buffer[index] = op(buffer[index], value)` with an op."""

    __slots__ = ("buffer", "index", "op", "value")

    def __init__(self, buffer: Buffer, index: Any, value: Expr, op: str | None = None):
        self.buffer, self.index, self.value, self.op = buffer, Index.of(index), value, op


class Tile:
    """An array of registers, initially `start`; dims are extents of enclosed loops, () for one."""

    __slots__ = ("dims", "dtype", "name", "start")

    def __init__(
        self, name: str, dtype: DType, dims: tuple[int, ...] = (), start: Expr | float = 0
    ):
        self.name, self.dtype, self.dims = name, dtype, dims
        self.start = start if isinstance(start, Expr) else const(start, dtype)

    def at(self, *indices: object) -> Expr:
        """Return the element of the tile at the indices."""
        return Expr("read", (), self.dtype, (self, tuple(map(Index.of, indices))))

    def __repr__(self) -> str:
        return self.name


class Update:
    """An update tile[indices] = value, or `op(tile[indices], value)` with an op."""

    __slots__ = ("indices", "op", "tile", "value")

    def __init__(self, tile: Tile, indices: Sequence, value: Expr, op: str | None = None):
        self.tile, self.value, self.op = tile, value, op
        self.indices = tuple(map(Index.of, indices))


class When:
    """A conditional: statements that run where a condition holds; not inside vector loops."""

    __slots__ = ("body", "condition", "otherwise")

    def __init__(self, condition: Expr, body: list, otherwise: Sequence = ()):
        self.condition, self.body, self.otherwise = condition, body, list(otherwise)


class Pointer:
    """The address of an element in a buffer, for a routine."""

    __slots__ = ("buffer", "index")

    def __init__(self, buffer: Buffer, index: Any = 0):
        self.buffer, self.index = buffer, Index.of(index)


class Call:
    """A call of a library routine on Pointers, Indexes (passed as 64-bit ints) and Exprs.

    `gemm(transpose x, transpose y, m, n, k, alpha, x, ldx, y, ldy, beta, z, ldz)` is row-major:
    z [m, n] = alpha x y + beta z, with x [m, k] and y [k, n] after transposition; the dtype is
    that of z.  `tile_rows`, `tile_columns` and `tile_product` multiply by matrix registers
    (`execute/llvm/runtime/matrix_tiles.py`; float16: `tile_split_rows` and so on); others:
    `execute/llvm/runtime/routines.py`.
    """

    __slots__ = ("arguments", "reads", "routine", "writes")

    def __init__(self, routine: str, arguments: Sequence, reads: Sequence, writes: Sequence):
        self.routine, self.arguments = routine, tuple(arguments)
        self.reads, self.writes = tuple(reads), tuple(writes)  # the buffers


class Kernel:
    """A group of loops that run together; `names`: its operations, `reason`: why it ends there."""

    __slots__ = ("body", "key", "name", "names", "node", "reason")

    def __init__(self, name: str, body: list, names: Sequence = (), reason: str = ""):
        self.name, self.body, self.names, self.reason = name, body, tuple(names), reason
        self.node: Any = None  # of the graph, for the line where it was made
        # What `printer.kernel_key` found last: the axes around, the text, the buffers.
        self.key: tuple[tuple[Axis, ...], str, list[Buffer]] | None = None


class Host:
    """A call of a NumPy kernel by Python: `function(*input arrays)` gives the output array(s)."""

    __slots__ = ("function", "inputs", "name", "node", "outputs")

    def __init__(self, name: str, function: Any, inputs: Sequence, outputs: Sequence):
        self.name, self.function = name, function
        self.inputs, self.outputs, self.node = tuple(inputs), tuple(outputs), None


class Repeat:
    """A loop of blocks over `axis`, which all indices within may use.

    With a `flag` (a bool buffer of one element): only while that holds, as found before each time.
    `parallel`: trips do not hang on each other, and each is run by one thread, which then runs all
    iterations of the kernels in it; they are without a flag, and hold kernels and repeats alone.
    """

    __slots__ = ("axis", "body", "flag", "parallel")

    def __init__(self, axis: Axis, body: list, flag: Buffer | None = None, parallel: bool = False):
        self.axis, self.body, self.flag, self.parallel = axis, body, flag, parallel


class If:
    """A branch over lists of blocks: that whose number `choice` (int32, one element) holds.

    The last one runs if there is none of that number.
    """

    __slots__ = ("bodies", "choice")

    def __init__(self, choice: Buffer, bodies: Sequence):
        self.choice, self.bodies = choice, list(bodies)


class Grow:
    """An allocation of memory for row number `row` of the stack `buffer`, which may fail.

    New rows hold zeros if the stack was cleared by `Fill`, and anything if not.  The terms of `row`
    are axes of repeats, and single integers that are loaded.
    """

    __slots__ = ("buffer", "row")

    def __init__(self, buffer: Buffer, row: Index | int):
        self.buffer, self.row = buffer, Index.of(row)


class Fill:
    """A copy of the stack `source` into a stack; all zeros where there is no source.

    With `rows`: put so many first rows of `source` into `buffer`, from its row `start` on.
    """

    __slots__ = ("buffer", "rows", "source", "start")

    def __init__(
        self, buffer: Buffer, source: Buffer | None, start: Index | int = 0, rows: object = None
    ):
        self.buffer, self.source, self.start = buffer, source, Index.of(start)
        self.rows = None if rows is None else Index.of(rows)


class LoopProgram:
    """A program of buffers and blocks; see this module's docstring."""

    __slots__ = ("blocks", "buffers", "name")

    def __init__(self, name: str):
        self.name = name
        self.buffers: list[Buffer] = []
        self.blocks: list = []

    def buffer(self, name: str, dtype: DType, shape: tuple, kind: str = "temporary") -> Buffer:
        """Make a new buffer."""
        made = Buffer(f"{name}{len(self.buffers)}", dtype, shape, kind)
        self.buffers.append(made)
        return made


def stacks(program: LoopProgram) -> list[Buffer]:
    """Return the stacks of a program that are no parts of others."""
    return [b for b in program.buffers if b.kind == "stack" and b.part is None]
