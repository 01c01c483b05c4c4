"""Casts of 16-bit operands of matrix products, put where products read them best.

Matrix registers (`lower/matmul/matrix_tiles.py`) read a bfloat16 matrix itself, and a product knows
it by the cast that makes its operand.  What a loop does not change is computed before it, also a
weight's cast to float32; here that moves into the body again.

Products in vectors read float32, through a transpose where there is one.  So there a transposed
matrix is converted as it lies, instead of being transposed in memory.
"""

from __future__ import annotations

from talweg.core.dtypes import float32
from talweg.core.roles import Role
from talweg.lower.fusion.views import before_cast, is_product, short_operands
from talweg.passes.optimize.dead_code import prune_all
from talweg.passes.optimize.loop_products import widens
from talweg.passes.specialize.body_programs import BodyProgram
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.prims import arithmetic, contract, layout


def move_casts(static: StaticProgram) -> None:
    """Move the casts of a program's products, in place."""
    sunk = _sink_within(static)
    if _exchange_within(static) or sunk:
        prune_all(static)


def _exchange_within(static: StaticProgram) -> bool:
    """Cast before transposing in a program and its bodies; returns whether that was found."""
    equations, static.equations = static.equations, []
    exchanged: dict[Value, Value] = {}
    moved = False
    for equation in equations:
        moved |= any([_exchange_within(inner) for inner in _bodies_of(equation)])
        if is_product(equation) and short_operands(equation) is None:
            for x in equation.inputs:
                if x not in exchanged and _is_cast_transpose(x):
                    exchanged[x] = _exchange(static, x)
            equation.inputs = tuple([exchanged.get(x, x) for x in equation.inputs])
        static.equations.append(equation)
    return moved or bool(exchanged)


def _is_cast_transpose(x: Value) -> bool:
    if x.maker is None or not widens(x.maker):
        return False
    below = x.maker.inputs[0].maker
    return below is not None and below.prim is layout.transpose


def _exchange(static: StaticProgram, x: Value) -> Value:
    """Append the cast of what a matrix is the transpose of, and its transpose."""
    cast = x.maker
    assert cast is not None
    turn = cast.inputs[0].maker
    assert turn is not None
    plain = Value(turn.inputs[0].dims, float32)
    found = Value(x.dims, float32)
    for like, source, result in ((cast, turn.inputs[0], plain), (turn, plain, found)):
        equation = Equation(like.prim, [source], like.params, like.node)
        equation.outputs, result.maker = (result,), equation
        static.equations.append(equation)
        static.made.append(result)
    return found


def _bodies_of(equation: Equation) -> list[StaticProgram]:
    """Return the programs of the bodies of a loop or branch."""
    body = equation.params.get("body")
    if equation.prim.role is Role.BRANCH:
        return body.bodies  # type: ignore[union-attr]
    return [body.static] if equation.prim.role is Role.LOOP else []  # type: ignore[union-attr]


def _sink_within(static: StaticProgram) -> bool:
    """Move casts into the loops of a program and its bodies; returns whether any was moved."""
    moved = False
    for equation in static.equations:
        if equation.prim.role is Role.LOOP:
            moved |= _LoopSinker(equation, equation.params["body"].static).run()  # type: ignore
        moved |= any([_sink_within(inner) for inner in _bodies_of(equation)])
    return moved


class _LoopSinker:
    """The rewriter of one loop, whose body is `inner`."""

    def __init__(self, loop: Equation, inner: BodyProgram):
        self.loop, self.inner = loop, inner
        self.outside = dict(zip(inner.inputs, loop.inputs))
        self.casts: dict[Value, Value] = {}  # an input of the body -> its cast within

    def run(self) -> bool:
        """Move the casts of operands of products; returns whether there are any."""
        added: list[Equation] = []
        for equation in self.inner.equations:
            if equation.prim is not contract.matmul:
                continue
            kept = equation.inputs
            casts = {x: self._cast_within(x) for x in kept if x not in self.casts}
            equation.inputs = tuple([(self.casts | casts).get(x) or x for x in kept])
            if short_operands(equation) is None:
                equation.inputs = kept
                continue
            for x, cast in casts.items():
                if cast is not None:
                    self.casts[x] = cast
                    added.append(cast.maker)  # type: ignore[arg-type]
        for cast in added:
            self._bring_in(cast)
        self.inner.equations[:0] = added
        return bool(added)

    def _cast_within(self, x: Value) -> Value | None:
        """Return the cast of a new input of the body; None where x is none of a bfloat16 value."""
        short = before_cast(self.outside[x]) if x in self.outside else None
        if short is None:
            return None
        brought, cast = Value(short.dims, short.dtype), Value(x.dims, float32)
        equation = Equation(arithmetic.cast, [brought], {"dtype": float32})
        equation.outputs, cast.maker = (cast,), equation
        self.inner.twins[brought] = short
        return cast

    def _bring_in(self, cast: Equation) -> None:
        """Make the operand of a cast an input of the body."""
        count, (brought,) = len(self.inner.inputs), cast.inputs
        given = list(self.loop.inputs)
        given.insert(count, self.inner.twins[brought])
        self.loop.inputs = tuple(given)
        self.inner.inputs.append(brought)
        self.inner.made.append(cast.output)
