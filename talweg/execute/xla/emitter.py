"""Emission of equations as operations of XLA, in a function that JAX traces.

Loops become `fori_loop` and `while_loop`, branches `switch`.  A stack of unknown length is an array
of as many rows as the `capacity` says; a trip that needs more ends its loops, and the result
`full` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from talweg.execute.xla.engine import lax
from talweg.execute.xla.engine import numpy as jnp
from talweg.execute.xla.rules import rule_of
from talweg.lower.ir.index import Axis, Index
from talweg.passes.specialize.program import Equation, Value
from talweg.passes.specialize.stack_primitives import is_endless
from talweg.prims.collective import all_reduce

Callback = Callable[[Equation, list], Any]
ADDRESSES = 2**47  # bytes that a process can have addresses for


def has_form(equation: Equation) -> bool:
    """Return whether XLA supports an equation, whatever its bodies."""
    call = equation.prim.lowering.get("call")
    return call in CONTROL or call in STACKS or rule_of(equation) is not None


class Emitter:
    """The emitter of equations; values map to JAX's tracers.

    `host`: what is done with an equation without a form within a loop or branch.
    """

    replicas: str | None = None  # the axis of devices along which replicas are, if there are any

    def __init__(self, capacity: int, host: Callback, axes: dict | None = None):
        self.capacity, self.host = capacity, host
        self.known: dict[Value, Any] = {}
        self.axes = dict(axes or {})
        self.full: Any = None  # whether a stack has had too few rows so far
        self.failed: Any = None  # whether a condition that rules require did not hold

    def value(self, value: Value) -> Any:
        """Return the array of a value."""
        if value.content is None:
            return self.known[value]
        whole = jnp.asarray(value.content, value.dtype.numpy_dtype)
        return jnp.broadcast_to(whole, self.dims(value))

    def dims(self, value: Value) -> tuple:
        """Return the sizes of a value's array.

        MemoryError for an array that no process has addresses for: XLA would end this one.
        """
        found = (self.capacity, *value.dims[1:]) if is_endless(value) else value.dims
        if prod(found) * value.dtype.numpy_dtype.itemsize > ADDRESSES:
            name = "a constant" if value.maker is None else value.maker.prim.name
            raise MemoryError(f"{name} has the shape {found}")
        return found

    def run(self, equations: Iterable[Equation]) -> None:
        """Emit equations."""
        for equation in equations:
            self.equation(equation)

    def equation(self, equation: Equation) -> None:
        """Emit one equation."""
        for value in equation.outputs:
            self.dims(value)  # which are possible
        call = equation.prim.lowering.get("call")
        if call in CONTROL:
            found = CONTROL[call](self, equation)
        elif call in STACKS:
            found = STACKS[call](self, equation, *map(self.value, equation.inputs))
        else:
            found = self._plain(equation)
        found = found if equation.prim.multiple else (found,)
        for value, array in zip(equation.outputs, found):
            self.known[value] = self._fit(value, array)

    def _plain(self, equation: Equation) -> Any:
        arrays = [self.value(x) for x in equation.inputs]
        rule = rule_of(equation)
        if rule is None:
            return self.host(equation, arrays)
        if equation.prim.effect is None and not any([x.size for x in equation.outputs]):
            return _blank(equation)
        return rule(self, equation, arrays)

    def _fit(self, value: Value, array: Any) -> Any:
        array = jnp.asarray(array).astype(value.dtype.numpy_dtype)
        if array.shape != self.dims(value):
            raise AssertionError(f"{value.maker} became {array.shape}")
        return array

    def note_full(self, full: Any) -> None:
        """Record that a stack has too few rows if `full` holds."""
        self.full = full if self.full is None else self.full | full

    def require(self, condition: Any) -> None:
        """Make the program fail where the condition does not hold."""
        failed = ~jnp.all(condition)
        self.failed = failed if self.failed is None else self.failed | failed

    # -- bodies

    def _inside(self, inner: Any, outside: Iterable, axes: dict) -> Emitter:
        emitter = Emitter(self.capacity, self.host, axes)
        emitter.replicas = self.replicas
        emitter.known.update(zip(inner.inputs, outside))
        return emitter

    def repeat(self, equation: Equation) -> tuple:
        """Emit a loop."""
        body = equation.params["body"]
        inner, trips = body.static, body.loop.trips
        count = len(inner.inputs)
        outside = [self.value(x) for x in equation.inputs[:count]]
        starts = tuple([self.value(x) for x in equation.inputs[count:]])
        axis = Axis("t", max(trips, 2))
        body.loop.trip = Index.of(axis)

        def trip(number: Any, carried: tuple) -> tuple:
            full, failed, *values = carried
            emitter = self._inside(inner, outside, {**self.axes, axis: number})
            emitter.known.update(zip([c.before for c in body.carried], values))
            emitter.run(inner.equations)
            after = [emitter.value(c.after) for c in body.carried]
            return (*said.of(emitter, full, failed), *after)

        said = _Said()
        start = (jnp.bool_(False), jnp.bool_(False), *starts)
        meet = self.replicas is not None and body.flag is not None and _meets(inner.equations)
        if meet:  # nobody waits in a trip that others do not make
            start, trip = self._together(start, trip, 2 + body.carried.index(body.flag), said)
        if body.flag is None:
            full, failed, *results = lax.fori_loop(0, trips, trip, start)
        else:
            flag = 2 + body.carried.index(body.flag)

            def goes_on(state: tuple) -> Any:
                number, carried = state
                return (number < trips) & carried[flag].reshape(()) & ~carried[0]

            def next_trip(state: tuple) -> tuple:
                return state[0] + 1, trip(*state)

            state = (jnp.int64(0), start)
            full, failed, *results = lax.while_loop(goes_on, next_trip, state)[1]
        said.tell(self, full, failed)
        return tuple(results)

    def _together(self, start: tuple, trip: Any, place: int, said: _Said) -> tuple:
        """Emit a loop that runs as long as it does in all replicas; it fails where they differ."""
        said.failed = True

        def agree(state: tuple) -> tuple:
            least, differ = _least(state[place], self.replicas)
            return (state[0], state[1] | differ, *state[2:place], least, *state[place + 1 :])

        return agree(start), lambda number, carried: agree(trip(number, carried))

    def choose(self, equation: Equation) -> tuple:
        """Emit a branch."""
        choice = equation.params["body"]
        first, *rest = [self.value(x) for x in equation.inputs]
        ways, said = [], _Said()
        for k, inner in enumerate(choice.bodies):
            outside, rest = rest[: len(inner.inputs)], rest[len(inner.inputs) :]
            ways.append(self._way(equation, k, inner, outside, said))
        number = first.reshape(()).astype(jnp.int32)
        last = len(ways) - 1
        number = jnp.where((number < 0) | (number > last), last, number)
        if self.replicas is not None and any([_meets(body.equations) for body in choice.bodies]):
            number, differ = _least(number, self.replicas)
            self.require(~differ)
        full, failed, *results = lax.switch(number, ways, 0)
        said.tell(self, full, failed)
        return tuple(results)

    def _way(
        self, equation: Equation, k: int, inner: Any, outside: list, said: _Said
    ) -> Callable[[Any], tuple]:
        results = equation.params["body"].results

        def way(_: Any) -> tuple:
            emitter = self._inside(inner, outside, self.axes)
            emitter.run(inner.equations)
            branch_results = []
            for row, value in zip(results, equation.outputs):
                if row[k] is None:
                    branch_results.append(jnp.zeros(self.dims(value), value.dtype.numpy_dtype))
                else:
                    branch_results.append(emitter.value(row[k]))
            return (*said.of(emitter, jnp.bool_(False), jnp.bool_(False)), *branch_results)

        return way


class _Said:
    """The status of bodies' results: whether a stack was full, whether a guard failed."""

    def __init__(self) -> None:
        self.full = self.failed = False  # whether that can be

    def of(self, emitter: Emitter, full: Any, failed: Any) -> tuple[Any, Any]:
        """Return the status of a body, after earlier ones."""
        if emitter.full is not None:
            self.full, full = True, full | emitter.full
        if emitter.failed is not None:
            self.failed, failed = True, failed | emitter.failed
        return full, failed

    def tell(self, emitter: Emitter, full: Any, failed: Any) -> None:
        """Merge the status into the enclosing program's."""
        if self.full:
            emitter.note_full(full)
        if self.failed:
            emitter.require(~failed)


def _meets(equations: Iterable[Equation]) -> bool:
    """Return whether one of these equations, or a body, has a collective operation of replicas."""
    for equation in equations:
        body = equation.params.get("body") if equation.prim.effect is None else None
        bodies = getattr(body, "bodies", None) or [getattr(body, "static", None)]
        inner = [x.equations for x in bodies if x is not None]
        if equation.prim is all_reduce or any(map(_meets, inner)):
            return True
    return False


def _least(value: Any, replicas: Any) -> tuple[Any, Any]:
    """Return the least value of all replicas, and whether they differ."""
    wide = value.astype(jnp.int32)
    least, most = lax.pmin(wide, replicas), lax.pmax(wide, replicas)
    return least.astype(value.dtype), jnp.any(least != most)


def _blank(equation: Equation) -> Any:
    """Return results without elements."""
    found = [jnp.zeros(x.dims, x.dtype.numpy_dtype) for x in equation.outputs]
    return tuple(found) if equation.prim.multiple else found[0]


# -- stacks


def _row(emitter: Emitter, equation: Equation, x: Any, i: Any) -> Any:
    return lax.dynamic_index_in_dim(x, i.astype(jnp.int64), 0, keepdims=False)


def _with_row(emitter: Emitter, equation: Equation, x: Any, i: Any, y: Any) -> Any:
    i = i.astype(jnp.int64).reshape(())
    if is_endless(equation.output):
        emitter.note_full(i >= emitter.capacity)
    place = jnp.where(i < 0, x.shape[0], i)
    return x.at[place].set(y.astype(x.dtype), mode="drop")


def _append(emitter: Emitter, equation: Equation, x: Any, i: Any, y: Any, n: Any) -> Any:
    i, n = [v.astype(jnp.int64).reshape(()) for v in (i, n)]
    emitter.note_full(i + n > emitter.capacity)
    places = jnp.arange(emitter.capacity)
    own = (places >= i) & (places < i + n)
    moved = jnp.take(y, jnp.clip(places - i, 0, emitter.capacity - 1), 0)
    return jnp.where(own.reshape(-1, *[1] * (x.ndim - 1)), moved, x)


def _head(emitter: Emitter, equation: Equation, x: Any) -> Any:
    size = equation.output.dims[0]
    if size <= emitter.capacity:
        return x[:size]
    return jnp.pad(x, [(0, size - emitter.capacity), *[(0, 0)] * (x.ndim - 1)])


def _widen(emitter: Emitter, equation: Equation, x: Any) -> Any:
    if x.shape[0] > emitter.capacity:
        emitter.note_full(jnp.bool_(True))
        return x[: emitter.capacity]
    return jnp.pad(x, [(0, emitter.capacity - x.shape[0]), *[(0, 0)] * (x.ndim - 1)])


# By what the lowering of a construct is called
STACKS: dict[str, Callable[..., Any]] = {
    "stack_row": _row,
    "stack_put": _with_row,
    "append": _append,
    "head": _head,
    "widen": _widen,
}
CONTROL: dict[str, Callable[[Emitter, Equation], tuple]] = {
    "repeat": Emitter.repeat,
    "choose": Emitter.choose,
}
