"""Strip mining: large arrays between products are computed strip by strip, and never stored whole.

softmax(q kᵀ) v has an array of scores with a row for each query and a column for each key, whose
size grows with the square of the length.  Here everything of its size becomes the body of a loop
over the batch axes (heads), and over blocks of rows (queries) where one matrix is large: what is
between the products then lives in a few blocks that stay in cache (Rabe and Staats 2021,
"Self-attention does not need O(n²) memory"; Dao et al. 2022, "FlashAttention").

A *region* is all that has the size of the scores and hangs together, whatever it is: scores, masks,
exponentials, dropout, probabilities, and cotangents of them.  It begins at products, and it ends at
its *edges*: reductions and products over the other axis, or sums over the rows (the gradients of k
and v).  Where an array of the region needs a result of the region (cotangents need the results of
the layer), the region has another *stage*: one more loop, which computes what it needs of earlier
stages again, from q, k and the edges (maxima and sums of the rows).
"""

from __future__ import annotations

import math

from talweg.core.dtypes import DType, float32, float64
from talweg.passes.optimize.axis_labels import (
    Labels,
    UnlabelledError,
    is_fold,
    is_supported,
    operand_labels,
    result_labels,
)
from talweg.passes.optimize.dead_code import prune_all
from talweg.passes.optimize.strip_loops import Strip, StripLoop
from talweg.passes.specialize.body_programs import ACTS
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.prims import arithmetic, contract, layout

LARGE = 8 << 20  # bytes of an array from which on it is not stored whole
AGAIN = 32 << 20  # the same, where a later loop has to compute it again
MATRIX = 1 << 18  # bytes of a matrix of it, which is the work of a trip at least
RATIO = 4  # how much larger it is than the operands of its product
DEEPEST = 512  # numbers in a row of these operands: more are not multiplied twice
BLOCK = 1 << 19  # bytes of a block of rows: three of them stay in a second cache of 2 MB
FEWEST = 64  # rows of a block, if there are so many


class StripLimits:
    """The sizes that decide what is rewritten, and how, which tests lower."""

    large, again, matrix, ratio, block, fewest = LARGE, AGAIN, MATRIX, RATIO, BLOCK, FEWEST


limits = StripLimits()


def strip_mine(static: StaticProgram) -> None:
    """Rewrite the large arrays between products of a program as loops over strips."""
    if static.hosts is not None:
        return
    if not any(map(_is_seed, static.equations)):
        return
    prune_all(static)  # what order_products has replaced is no part of a region
    undo, tried, changed = _Undo(static), set(), False
    static.known = {}
    turn_products(static, {e.output.size for e in static.equations if _is_seed(e)})
    while True:
        seeds = (e.output for e in static.equations if _is_seed(e) and e.output not in tried)
        seed = next(seeds, None)
        if seed is None:
            break
        tried.add(seed)
        changed |= any(_mine(static, seed, axis, tried) for axis in (-2, -1))
    static.known = {}  # what is made from here on is made behind the operands' users
    if not changed:
        undo.restore()


def _mine(static: StaticProgram, seed: Value, axis: int, tried: set[Value]) -> bool:
    """Rewrite the region of a product, with this axis as its rows; whether that can be done."""
    undo = _Undo(static)
    try:
        region = StripRegion(static, seed, axis)
        region.rewrite()
    except UnlabelledError:
        undo.restore()
        return False
    tried |= region.labels.keys()
    return True


def turn_products(static: StaticProgram, sizes: set[int]) -> None:
    """Make arrays of these sizes the first operands, or results, of products: (x y)ᵀ is yᵀ xᵀ.

    So their rows are blocks, and no block is copied to be multiplied, or transposed.
    """
    uses = static.uses()

    def turned(equation: Equation) -> Value | None:
        value = equation.inputs[-1] if equation.inputs else None
        if value is None or value.size not in sizes:
            return None
        if equation.prim is contract.matmul and equation.output.size not in sizes:
            return _turn(static, _turned_product(static, equation))
        maker = value.maker
        if not _is_turn(equation) or maker is None:
            return None
        if _is_turn(maker):
            return maker.inputs[0]
        if maker.prim is not contract.matmul or uses.get(value, 2) > 1:
            return None
        return _turned_product(static, maker)

    static.rewrite(turned)
    prune_all(static)


def _turned_product(static: StaticProgram, equation: Equation) -> Value:
    """Return the transposed result of a product, as the product of the transposed operands."""
    operands = [_turn(static, x) for x in reversed(equation.inputs)]
    return static.apply(equation.prim, operands, {}, equation.node)


def _is_turn(equation: Equation) -> bool:
    """Return whether an equation transposes the matrices of an array."""
    perm = equation.params.get("perm") if equation.prim is layout.transpose else None
    return perm is not None and perm == (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2)


def _turn(static: StaticProgram, value: Value) -> Value:
    """Return an array with its matrices transposed."""
    maker = value.maker
    if maker is not None and _is_turn(maker):
        return maker.inputs[0]
    rank = len(value.dims)
    return static.apply(layout.transpose, [value], {"perm": (*range(rank - 2), rank - 1, rank - 2)})


class _Undo:
    """The state of a program before a rewrite that may prove impossible."""

    def __init__(self, static: StaticProgram):
        self.static, self.known = static, dict(static.known)
        self.inputs = [(equation, equation.inputs) for equation in static.equations]
        self.results = list(static.outputs), list(static.guards), list(static.states)
        self.inners = len(static.inners)

    def restore(self) -> None:
        """Make the program what it was."""
        static = self.static
        for equation, inputs in self.inputs:
            equation.inputs = inputs
        static.equations = [equation for equation, _ in self.inputs]
        static.outputs, static.guards, static.states = self.results
        static.known = self.known
        del static.inners[self.inners :]


def _is_seed(equation: Equation) -> bool:
    """Return whether an equation is a product with a result much larger than its operands."""
    if equation.prim is not contract.matmul:
        return False
    x, y = equation.inputs
    return is_much_larger(equation.output.dims, x.dims, y.dims, equation.output.dtype, limits.large)


def is_much_larger(dims: tuple, x: tuple, y: tuple, dtype: DType, least: int) -> bool:
    """Return whether a product has `least` bytes, and many more than its operands of dims x, y."""
    if dtype not in (float32, float64) or x[-1] > DEEPEST:
        return False
    size, matrix = math.prod(dims), math.prod(dims[-2:])
    if size * dtype.size < least or matrix * dtype.size < limits.matrix:
        return False
    return size >= limits.ratio * (math.prod(x) + math.prod(y))


class StripRegion:
    """Equations whose results have the size of a product, and what is made of them.

    labels: of the arrays of that size; the batch axes are loops 0, 1, ..., the rows the last one.
    edges: results of other sizes, with their labels and whether they are summed over the rows.
    stages: the loop that computes an array first.
    ready: the first stage before which a value is known; `inside`: the stage in which a value is
    known strip by strip, and its labels.
    """

    def __init__(self, static: StaticProgram, seed: Value, axis: int):
        self.static = static
        self.users: dict[Value, list[tuple[Equation, int]]] = {}
        for equation in static.equations:
            for position, x in enumerate(equation.inputs):
                self.users.setdefault(x, []).append((equation, position))
        self.size, dims, self.node = seed.size, seed.dims, seed.maker.node
        self.rows, self.plane = dims[axis], dims[-1] * dims[-2]
        self.columns = self.plane // self.rows
        if self.rows == 1:
            raise UnlabelledError
        batch = [k for k, size in enumerate(dims[:-2]) if size != 1]
        self.sizes = [dims[k] for k in batch]
        labels: list[int | None] = [
            batch.index(k) if k in batch else None for k in range(len(dims))
        ]
        labels[axis] = len(batch)
        self.labels: dict[Value, Labels] = {}
        self.edges: dict[Value, tuple[Labels, bool]] = {}
        self._find_products()
        self._label(seed, tuple(labels))
        self._find_edges()
        self._find_stages()

    def _find_products(self) -> None:
        """Find the arrays of this size that follow from a product of this size."""
        self.heavy: set[Value] = set()
        for equation in self.static.equations:
            if len(equation.outputs) != 1 or equation.output.size != self.size:
                continue
            if equation.prim is contract.matmul or (
                is_supported(equation) and any(x in self.heavy for x in equation.inputs)
            ):
                self.heavy.add(equation.output)

    def _label(self, seed: Value, labels: Labels) -> None:
        """Label all arrays that are connected with the seed by equations of this size."""
        pending = [(seed, labels)]
        while pending:
            value, own = pending.pop()
            if value not in self.heavy:
                continue
            if value in self.labels:
                if self.labels[value] != own:
                    raise UnlabelledError
                continue
            self.labels[value] = own
            maker = value.maker
            assert maker is not None  # it has this size as the result of an equation
            if maker.prim is not contract.matmul:
                pending += zip(maker.inputs, operand_labels(maker, own))
            elif maker.inputs[0].dims[-1] > DEEPEST:
                raise UnlabelledError
            for user, position in self.users.get(value, ()):
                if is_supported(user) and not is_fold(user) and user.output.size == self.size:
                    pending.append((user.output, result_labels(user, position, own)))

    def _find_edges(self) -> None:
        """Find what is made of the region; UnlabelledError if an array of it is needed whole."""
        if not self.labels.keys().isdisjoint(self._results()):
            raise UnlabelledError
        for value, labels in self.labels.items():
            for user, position in self.users.get(value, ()):
                if len(user.outputs) != 1:
                    raise UnlabelledError
                if user.output in self.labels:
                    continue
                if not is_fold(user) and user.prim is not contract.matmul:
                    raise UnlabelledError
                summed = user.prim is contract.matmul and labels[-1 - position] == len(self.sizes)
                self.edges[user.output] = result_labels(user, position, labels), summed
        if not any(value.maker.prim is contract.matmul for value in self.edges):
            raise UnlabelledError

    def _find_stages(self) -> None:
        """Find the stage of each array, and before which stage other values are known."""
        self.stages: dict[Value, int] = {}
        self.inside: dict[Value, tuple[int, Labels]] = {}
        ready = self.ready = {}
        static = self.static
        for value in (*static.inputs, *[before for _, before, _ in static.states]):
            ready[value] = 0
        for equation in static.equations:
            for x in equation.inputs:
                if x.content is not None:
                    ready[x] = 0
            single = len(equation.outputs) == 1
            if single and equation.output in self.labels:
                self.stages[equation.output] = self._stage(equation)
                continue
            edge = self.edges.get(equation.output) if single else None
            if edge is None:
                stage = max([ready[x] for x in equation.inputs], default=0)
                ready.update(dict.fromkeys(equation.outputs, stage))
                self._find_inside(equation, stage)
            else:
                stage = self._stage(equation)
                ready[equation.output] = stage + 1
                if not edge[1]:
                    self.inside[equation.output] = stage, edge[0]
        self.count = max(self.stages.values()) + 1
        (seed, *_) = self.labels
        if self.count > 1 and self.size * seed.dtype.size < limits.again:
            raise UnlabelledError

    def _stage(self, equation: Equation) -> int:
        """Return the first stage that can compute an equation on strips."""
        return max([self._known(x) for x in equation.inputs], default=0)

    def _known(self, value: Value) -> int:
        if value in self.labels:
            return self.stages[value]
        return min(self.ready[value], self.inside.get(value, (self.ready[value],))[0])

    def _find_inside(self, equation: Equation, stage: int) -> None:
        """Note if a result is known strip by strip before it is known as a whole."""
        if not is_supported(equation) or self._stage(equation) >= stage:
            return
        for position, x in enumerate(equation.inputs):
            if x in self.inside:
                try:
                    labels = result_labels(equation, position, self.inside[x][1])
                    operand_labels(equation, labels)
                except UnlabelledError:
                    return
                self.inside[equation.output] = self._stage(equation), labels
                return

    # -- rewriting

    def strips(self) -> list[Strip]:
        """Return the strips: blocks of one size, and the few rows that are left."""
        (value, *_) = self.labels
        size = max(limits.fewest, limits.block // (self.columns * value.dtype.size))
        least = -(-self.rows // size)
        count = next((c for c in range(least, 2 * least) if self.rows % c == 0), least)
        rows = self.rows // count
        if count * math.prod(self.sizes) < 2:
            raise UnlabelledError
        rest = self.rows - count * rows
        return [Strip(0, count, rows)] + ([Strip(count * rows, 1, rest)] if rest else [])

    def rewrite(self) -> None:
        """Replace the region by loops."""
        static, strips = self.static, self.strips()
        acts = [e for e in static.equations if e.prim.effect in ACTS]
        needed = self._results()
        needed += [x for equation in acts for x in equation.inputs]
        renamed: dict[Value, Value] = {}
        for stage in reversed(range(self.count)):
            reached = self._reach([*needed, *renamed.values()])
            targets = [v for v in self.edges if v in reached and self.ready[v] == stage + 1]
            if not targets:
                continue
            parts = []
            for strip in strips:
                loop = StripLoop(static, self, stage, strip)
                parts.append(loop.results(targets))
            for value, *pieces in zip(targets, *parts):
                renamed[value] = self._joined(value, pieces, loop)
        self._order(renamed)

    def _reach(self, values: list[Value]) -> set[Value]:
        """Return all values that are needed for these; edges are not followed."""
        found: set[Value] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in found:
                continue
            found.add(value)
            if value.maker is not None and value not in self.edges and value not in self.labels:
                pending += value.maker.inputs
        return found

    def _joined(self, value: Value, parts: list[Value], loop: StripLoop) -> Value:
        """Return the value of which the loops gave stacks [batch, blocks, rows, ...], or sums."""
        apply, (labels, summed) = self.static.apply, self.edges[value]
        order, rest = loop.axes_in_order(value.dims, labels)
        total = parts[0]
        if summed:
            for part in parts[1:]:
                total = apply(arithmetic.add, [total, part], {})
        elif len(parts) > 1:
            batch = math.prod(self.sizes)
            rows = [part.size // batch // math.prod(rest) for part in parts]
            flat = [
                apply(layout.reshape, [part], {"shape": (batch, count, *rest)})
                for part, count in zip(parts, rows)
            ]
            total = apply(layout.concat, flat, {"axis": 1})
        dims = tuple([value.dims[axis] for axis in order])
        total = apply(layout.reshape, [total], {"shape": dims})
        perm = tuple([order.index(axis) for axis in sorted(order)])
        if perm != tuple(range(len(perm))):
            total = apply(layout.transpose, [total], {"perm": perm})
        return apply(layout.reshape, [total], {"shape": value.dims})

    def _order(self, renamed: dict[Value, Value]) -> None:
        """Put the equations in an order in which operands are made before they are used."""
        static = self.static
        for equation in static.equations:
            equation.inputs = tuple([renamed.get(x, x) for x in equation.inputs])
        static.rename(renamed)
        acts = dict.fromkeys([e for e in static.equations if e.prim.effect in ACTS])
        ordered: dict[Equation, None] = {}
        reached = self._reach([*self._results(), *[x for e in acts for x in e.inputs]])
        for equation in static.equations:
            if equation in acts or not reached.isdisjoint(equation.outputs):
                _append(ordered, equation)
        if [e for e in ordered if e in acts] != list(acts):
            raise UnlabelledError
        static.equations = list(ordered)
        prune_all(static)

    def _results(self) -> list[Value]:
        static = self.static
        return [*static.outputs, *static.guards, *[after for _, _, after in static.states]]


def _append(ordered: dict[Equation, None], equation: Equation) -> None:
    """Append an equation behind all that make its operands."""
    pending = [equation]
    while pending:
        makers = [x.maker for x in pending[-1].inputs if x.maker is not None]
        missing = [maker for maker in makers if maker not in ordered and maker is not pending[-1]]
        pending += missing
        if not missing:
            ordered[pending.pop()] = None
