"""Loop-invariant code motion: dead values are removed, work for all trips leaves the loop.

* What nobody needs: results, carried values, inputs (`pruned`, which goes into all bodies).
* A row that no earlier trip has written holds what it did at first, often zero.  So the cotangent
  of a list that a loop has read element by element becomes a stack whose rows are only written.
* A sum over all trips of products of matrices is one product of stacks after the loop (gradients
  of weights); likewise sums of rows of what is stacked for that, and stacks of products with one
  matrix (`loop_products.py`).
* A product of a row of a known stack and a known matrix is a row of one product before the loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import int32
from talweg.core.roles import Role
from talweg.passes.optimize.dead_code import prune, prune_all
from talweg.passes.optimize.loop_products import (
    TripRows,
    TripSum,
    cast_to,
    rounds,
    skip_reshapes,
    skip_rounding,
    transpose_operand,
    views_of,
    widens,
)
from talweg.passes.optimize.simplify import simplify
from talweg.passes.specialize.body_programs import MOST, BodyProgram
from talweg.passes.specialize.branches import BranchEquation
from talweg.passes.specialize.loop_equation import CarriedValue, LoopEquation
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.passes.specialize.stack_primitives import (
    is_endless,
    is_zero,
    round_number,
    row,
    with_row,
)
from talweg.prims import arithmetic, contract, layout, reduce


def improve_loops(static: StaticProgram) -> None:
    """Rewrite all loops of a program in place."""
    _improve(static)
    prune_all(static)


def _improve(static: StaticProgram) -> None:
    equations, static.equations = static.equations, []
    static.known = {}
    renamed: dict[Value, Value] = {}
    for equation in equations:
        equation.inputs = tuple([renamed.get(x, x) for x in equation.inputs])
        body = equation.params.get("body")
        if equation.prim.role is Role.BRANCH:
            _improve_bodies(body)  # type: ignore[arg-type]
        if equation.prim.role is not Role.LOOP:
            static.equations.append(equation)
            continue
        rounds = LoopSimplifier(static, equation)
        rounds.before()
        static.equations.append(equation)
        renamed.update(rounds.after())
    static.rename(renamed)


def _improve_bodies(choice: BranchEquation) -> None:
    """Rewrite the loops in the bodies of a branch."""
    for number, inner in enumerate(choice.bodies):
        own = [values for values in choice.results if values[number] is not None]
        inner.outputs = [values[number] for values in own]  # type: ignore[misc]
        _improve(inner)
        simplify(inner)
        for values, value in zip(own, inner.outputs):
            values[number] = value
        inner.outputs = []


class LoopSimplifier:
    """The rewriter of one loop, which stands at the end of `outer`."""

    def __init__(self, outer: StaticProgram, equation: Equation):
        self.outer, self.equation = outer, equation
        self.body: LoopEquation = equation.params["body"]
        self.inner: BodyProgram = self.body.static
        count = len(self.inner.inputs)
        self.starts = list(equation.inputs[count:])
        self.outputs = list(equation.outputs)
        self.inner.twins.update(zip(self.inner.inputs, equation.inputs))
        self.inner.brought = {self.inner.twins[x]: x for x in self.inner.inputs}
        self.exact = self.body.flag is None
        self.trips = self.body.loop.trips
        self.totals: list[TripSum | TripRows] = []
        self.stacks: dict[Value, tuple[Value, NDArray]] = {}  # value -> result with its rows, which

    def before(self) -> None:
        """Run all passes on the program that do not need the loop done."""
        _improve(self.inner)
        self._simplify()
        self._take_out_products()
        self._read_starts()
        if self.exact:
            self._find_totals()
        self._merge_stacks()
        self._note_blanks()
        self._sync()

    def after(self) -> dict[Value, Value]:
        """Emit the code that follows the loop; maps the loop's results to their new values."""
        found = {}
        for total in self.totals:
            found[total.output] = total.emit(self)
        found.update(self.merged)
        return found

    def _simplify(self) -> None:
        """Apply the algebraic rules of `simplify.py` in the body."""
        inner, carried = self.inner, self.body.carried
        inner.outputs = [c.after for c in carried]
        simplify(inner)
        for c, after in zip(carried, inner.outputs):
            c.after = after
        inner.outputs = []

    def _sync(self) -> None:
        inner, equation = self.inner, self.equation
        equation.inputs = (*[inner.twins[x] for x in inner.inputs], *self.starts)
        equation.outputs = tuple(self.outputs)
        for value in self.outputs:
            value.maker = equation

    def carry(self, before: Value, after: Value, start: Value, blank: bool) -> int:
        """Add a carried value and return its position."""
        self.body.carried.append(CarriedValue(before, after, blank))
        self.starts.append(start)
        self.outputs.append(Value(before.dims, before.dtype))
        return len(self.outputs) - 1

    def drop(self, places: set[int]) -> None:
        """Remove carried values."""
        keep = [i for i in range(len(self.outputs)) if i not in places]
        self.body.carried[:] = [self.body.carried[i] for i in keep]
        self.starts[:] = [self.starts[i] for i in keep]
        self.outputs[:] = [self.outputs[i] for i in keep]

    def uses(self) -> dict[Value, int]:
        """Count the uses of each value in the body."""
        found: dict[Value, int] = {}
        for equation in self.inner.equations:
            for x in equation.inputs:
                found[x] = found.get(x, 0) + 1
        for carried in self.body.carried:
            found[carried.after] = found.get(carried.after, 0) + 1
        return found

    def rename(self, renamed: dict[Value, Value]) -> None:
        """Substitute values in the body."""

        def last(value: Value) -> Value:
            while value in renamed:
                value = renamed[value]
            return value

        for equation in self.inner.equations:
            equation.inputs = tuple(map(last, equation.inputs))
        for carried in self.body.carried:
            carried.after = last(carried.after)

    # -- products before the loop

    def _take_out_products(self) -> None:
        inner, renamed, taken_out = self.inner, {}, set()
        equations, inner.equations = inner.equations, []
        for equation in equations:
            equation.inputs = tuple([renamed.get(x, x) for x in equation.inputs])
            found = self._hoist_product(equation) if equation.prim is contract.matmul else None
            if rounds(equation) and equation.inputs[0] in taken_out:
                found = self._hoist_rounding(equation)
            if found is None:
                inner.equations.append(equation)
            else:
                renamed[equation.output] = found
                taken_out.add(found)
        self.rename(renamed)

    def _hoist_rounding(self, equation: Equation) -> Value:
        """Return a row of the rounded products, in place of a rounded row."""
        inner, outer = self.inner, self.outer
        product = equation.inputs[0].maker
        assert product is not None
        all_rows, index = product.inputs
        rounded = cast_to(outer, inner.twins[all_rows], equation.output.dtype)
        return inner.apply(row, [inner.bring_in(rounded), index], {}, equation.node)

    def _hoist_product(self, equation: Equation) -> Value | None:
        """Return a row of one product of all rows, in place of a row's product."""
        inner = self.inner
        x, y = equation.inputs
        source = skip_reshapes(x)
        if len(x.dims) != 2 or inner.changes(y) or source.maker is None:
            return None
        if source.maker.prim is not row or inner.changes(source.maker.inputs[0]):
            return None
        stack, index = source.maker.inputs
        if stack.dims[0] > 2 * self.trips or len(y.dims) != 2:
            return None
        rows, (height, width), columns = stack.dims[0], x.dims, y.dims[1]
        apply = self.outer.apply
        reshape = layout.reshape
        flat = apply(reshape, [inner.twin(stack)], {"shape": (rows * height, width)})
        flat = cast_to(self.outer, flat, x.dtype)
        product = apply(equation.prim, [flat, inner.twin(y)], equation.params, equation.node)
        all_rows = apply(reshape, [product], {"shape": (rows, height, columns)})
        return inner.apply(row, [inner.bring_in(all_rows), index], {}, equation.node)

    # -- rows that no earlier trip has written

    def _writes(self, carried: CarriedValue, uses: dict) -> list[tuple[Value, Value]] | None:
        """Return (index, row) of each row that a trip writes; None if it writes more."""
        found, value = [], carried.after
        while value is not carried.before:
            maker = value.maker
            if maker is None or maker.prim is not with_row or uses.get(value, 0) != 1:
                return None
            found.append((maker.inputs[1], maker.inputs[2]))
            value = maker.inputs[0]
        return found[::-1]

    def _read_starts(self) -> None:
        uses, renamed = self.uses(), {}
        for position, carried in enumerate(self.body.carried):
            writes = self._writes(carried, uses)
            first = self._first_written(carried, writes) if writes else None
            once = self._find_written_once(carried, writes) if writes else None
            if first is None and once is None:
                continue
            for equation in self.inner.equations:
                if equation.prim is not row or equation.inputs[0] is not carried.before:
                    continue
                read = self.inner.numbers(equation.inputs[1])
                fresh = first is not None and read is not None and self._is_fresh(first, read)
                if not fresh and equation.inputs[1] is not once:
                    continue
                start_row = self._start_row(position, equation)
                if start_row is not None:
                    renamed[equation.output] = start_row
        if renamed:
            self.rename(renamed)
            self._drop_zeros()
        prune(self.inner, {carried.after for carried in self.body.carried})

    def _first_written(self, carried: CarriedValue, writes: list) -> NDArray | None:
        """Return, for each row, the first trip that writes it."""
        if is_endless(carried.before) or self.trips > MOST:
            return None
        first = np.full(carried.before.dims[0], self.trips, np.int64)
        for index, _ in writes:
            numbers = self.inner.numbers(index)
            if numbers is None or numbers.min() < 0 or numbers.max() >= len(first):
                return None
            np.minimum.at(first, np.broadcast_to(numbers, self.trips), np.arange(self.trips))
        return first

    def _find_written_once(self, carried: CarriedValue, writes: list) -> Value | None:
        """Return the position of the endless stack's row that exactly one trip writes."""
        index = writes[0][0]
        alone = is_endless(carried.before) and all(place is index for place, _ in writes)
        return index if alone and self._is_of_one_trip(index) else None

    def _is_of_one_trip(self, index: Value) -> bool:
        """Return whether an integer differs between any two trips."""
        maker = index.maker
        if maker is None:
            return False
        if maker.prim is round_number:
            return maker.params["step"] != 0
        if maker.prim not in (arithmetic.add, arithmetic.sub):
            return maker.prim is arithmetic.cast and self._is_of_one_trip(maker.inputs[0])
        moving = [x for x in maker.inputs if self.inner.changes(x)]
        return len(moving) == 1 and self._is_of_one_trip(moving[0])

    def _is_fresh(self, first: NDArray, read: NDArray) -> bool:
        if read.min() < 0 or read.max() >= len(first):
            return False
        return bool((first[np.broadcast_to(read, self.trips)] >= np.arange(self.trips)).all())

    def _start_row(self, place: int, equation: Equation) -> Value | None:
        """Return a carried value's initial row as an equation, zero if it is known."""
        start, output = self.starts[place], equation.output
        if is_zero(start):
            return Value(output.dims, output.dtype, np.zeros((), output.dtype.numpy_dtype))
        equation.inputs = (self.inner.bring_in(start), equation.inputs[1])
        return None

    def _drop_zeros(self) -> None:
        """Replace sums with zero by the other operand."""
        renamed: dict[Value, Value] = {}
        for equation in self.inner.equations:
            equation.inputs = tuple([renamed.get(x, x) for x in equation.inputs])
            if equation.prim is arithmetic.add:
                x, y = equation.inputs
                for zero, other in ((x, y), (y, x)):
                    if is_zero(zero) and other.dims == equation.output.dims:
                        renamed[equation.output] = other
                        break
        self.rename(renamed)

    # -- sums over all trips

    def _find_totals(self) -> None:
        uses, dropped = self.uses(), set()
        self._find_stacks(uses)
        sums = []
        for position, carried in enumerate(list(self.body.carried)):
            added = self._find_added(carried, uses)
            if added is None:
                continue
            views, made = views_of(added)
            if made.maker is not None and made.maker.prim is contract.matmul:
                total = self._product(position, made, views)
                if total is not None:
                    self.totals.append(total)
                    dropped.add(position)
            elif made.maker is not None and made.maker.prim is reduce.reduce_sum:
                sums.append((position, made, views))
        for position, made, views in sums:
            stack = self.stacks.get(skip_reshapes(made.maker.inputs[0]))
            if stack is not None:
                operands = [(stack[0], None)]
                self.totals.append(TripSum(self, position, made.maker, operands, views))
                dropped.add(position)
        self.drop(dropped)
        self._find_rows()

    def _find_rows(self) -> None:
        """Find stacks of products with an invariant matrix."""
        uses, dropped = self.uses(), set()
        for position, carried in enumerate(list(self.body.carried)):
            writes = self._writes(carried, uses)
            if not writes or len(writes) > 1 or uses.get(carried.before, 0) != 1:
                continue
            index, value = writes[0]
            numbers, maker = self.inner.numbers(index), skip_rounding(value).maker
            if (
                maker is None
                or maker.prim is not contract.matmul
                or not self._fills(carried, writes)
            ):
                continue
            x, matrix = maker.inputs
            alone = uses.get(maker.output, 0) == 1 and uses.get(value, 0) == 1
            if not alone or len(x.dims) != 2 or self.inner.changes(matrix):
                continue
            if numbers is None or len(numbers) != self.trips or len(matrix.dims) != 2:
                continue
            known = self._rows_of(x)
            if known is not None and np.array_equal(known[1], numbers):
                stack = known[0]
            elif x.size <= 2 * value.size and carried.before.dims[0] == self.trips:
                stack = self._stack(x, numbers)
            else:
                continue
            if stack.dims[0] == carried.before.dims[0]:
                self.totals.append(TripRows(self, position, maker, stack))
                dropped.add(position)
        self.drop(dropped)

    def _find_stacks(self, uses: dict) -> None:
        """Find the values of which there are stacks already, with a row for each trip."""
        for place, carried in enumerate(self.body.carried):
            writes = self._writes(carried, uses)
            if writes and len(writes) == 1 and self._fills(carried, writes):
                numbers = self.inner.numbers(writes[0][0])
                if numbers is not None and len(numbers) == carried.before.dims[0] == self.trips:
                    found = self.outputs[place], numbers
                    self.stacks.setdefault(skip_reshapes(writes[0][1]), found)

    def _find_added(self, carried: CarriedValue, uses: dict) -> Value | None:
        """Return the values that each trip adds to a carried value that has no other use."""
        maker = carried.after.maker
        if maker is None or maker.prim is not arithmetic.add or uses.get(carried.after, 0) != 1:
            return None
        if uses.get(carried.before, 0) != 1 or carried.before not in maker.inputs:
            return None
        x, y = maker.inputs
        other = y if x is carried.before else x
        return other if other.dims == carried.before.dims and uses.get(other, 0) == 1 else None

    def _product(self, position: int, made: Value, views: list) -> TripSum | None:
        """Return the sum of products xᵀ g as one product of stacks."""
        assert made.maker is not None
        x, g = made.maker.inputs
        x = self._find_transposed(x)
        if x is None or len(g.dims) != 2:
            return None
        rows = self._rows_of(x), self._rows_of(g)
        order = next((factors[1] for factors in rows if factors is not None), None)
        order = self._usual_order() if order is None else order
        first = order - order.min()
        operands = []
        for value, known in zip((x, g), rows):
            if known is not None and np.array_equal(known[1] - known[1].min(), first):
                operands.append((known[0], int(known[1].min())))
            else:
                operands.append((self._stack(value, first), None))
        return TripSum(self, position, made.maker, operands, views)

    def _usual_order(self) -> NDArray:
        """Return the order of rows in stacks that the loop fills: best is the same for all."""
        uses = self.uses()
        for carried in self.body.carried:
            writes = self._writes(carried, uses)
            if writes and len(writes) == 1 and carried.before.dims[0] == self.trips:
                numbers = self.inner.numbers(writes[0][0])
                if numbers is not None and self._fills(carried, writes):
                    return np.broadcast_to(numbers, self.trips)
        return np.arange(self.trips)

    def _find_transposed(self, x: Value) -> Value | None:
        """Return the matrix whose transpose x is, or the sum of two such matrices."""
        if widens(x.maker):
            return self._find_transposed(x.maker.inputs[0])  # type: ignore[union-attr]
        if x.maker is None or x.maker.prim is not arithmetic.add:
            return transpose_operand(x)
        parts = [transpose_operand(part) for part in x.maker.inputs]
        if None in parts or parts[0].dims != parts[1].dims:  # type: ignore[union-attr]
            return None
        return self.inner.apply(x.maker.prim, parts, {}, x.maker.node)  # type: ignore[arg-type]

    def _rows_of(self, value: Value) -> tuple[Value, NDArray] | None:
        """Return (outer stack, rows) if the trips read distinct rows that form a block."""
        source = skip_reshapes(value)
        if source in self.stacks:
            return self.stacks[source]
        if source.maker is None or source.maker.prim is not row:
            return None
        stack, index = source.maker.inputs
        numbers = self.inner.numbers(index)
        if numbers is None or self.inner.changes(stack) or len(numbers) != self.trips:
            return None
        if (
            numbers.max() - numbers.min() != self.trips - 1
            or len(set(numbers.tolist())) != self.trips
        ):
            return None
        return self.inner.twin(stack), numbers  # type: ignore[return-value]

    def _stack(self, value: Value, order: NDArray) -> Value:
        """Stack a value over all trips, in this order of rows, as one more result."""
        if value.maker is not None and widens(value.maker):
            (value,) = value.maker.inputs
        before = Value((self.trips, *value.dims), value.dtype)
        index = self.inner.by_trip(np.asarray(order, np.int32), int32)
        after = self.inner.apply(with_row, [before, index, value], {})
        start = Value(before.dims, before.dtype, np.zeros((), before.dtype.numpy_dtype))
        found = self.outputs[self.carry(before, after, start, True)]
        self.stacks[skip_reshapes(value)] = found, order
        return found

    # -- equal stacks, and stacks of which every row is written

    def _merge_stacks(self) -> None:
        uses, first, dropped = self.uses(), {}, set()
        self.merged: dict[Value, Value] = {}
        for place, carried in enumerate(self.body.carried):
            writes = self._writes(carried, uses)
            if not writes or uses.get(carried.before, 0) != 1 or not self._fills(carried, writes):
                continue
            key = (carried.before.dims, carried.before.dtype, *[self._key(i, x) for i, x in writes])
            if key in first:
                self.merged[self.outputs[place]] = self.outputs[first[key]]
                dropped.add(place)
            else:
                first[key] = place
        self.drop(dropped)

    def _key(self, index: Value, value: Value) -> tuple:
        """Return the key by which equal writes are found."""
        numbers = self.inner.numbers(index)
        return value, index if numbers is None else numbers.tobytes()

    def _fills(self, carried: CarriedValue, writes: list) -> bool:
        """Return whether the loop writes all rows of a stack in any case."""
        first = self._first_written(carried, writes)
        return self.exact and first is not None and bool((first < self.trips).all())

    def _note_blanks(self) -> None:
        uses = self.uses()
        for place, carried in enumerate(self.body.carried):
            writes = self._writes(carried, uses)
            if writes and uses.get(carried.before, 0) == 1 and self._fills(carried, writes):
                carried.blank = True
                start = self.starts[place]
                self.starts[place] = Value(
                    start.dims, start.dtype, np.zeros((), start.dtype.numpy_dtype)
                )
