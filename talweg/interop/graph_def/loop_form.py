"""TensorFlow's form of a loop: a While whose first variable counts, and whose second is a limit.

TensorFlow's gradient of a While, and converters of GraphDefs, take the first variable for the
number of iterations made so far, and the second for the most there may be (-1: any number).  A loop
of talweg has these two only where `while_loop` was given `maximum_iterations`: then its first
variable counts, and its condition compares that to the limit.  So a loop is written with two
variables in front, or with those that it has; and one that is read loses them where it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.core.dtypes import int32
from talweg.core.roles import Role
from talweg.graph.node import Node
from talweg.graph.symbol import Symbol
from talweg.interop.graph_def.tensor_protos import make_ndarray
from talweg.prims import arithmetic
from talweg.prims.control import trips
from talweg.trace.bodies import apply_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from talweg.graph.subgraph import Body
    from talweg.interop.graph_def.reading import FunctionRecord, NodeRecord

NO_LIMIT = -1  # as the second variable


class LoopForm(NamedTuple):
    """How a loop is written.

    count: how many of its operands are variables; the others are invariants.  kept: inner values
    that are asked for from outside, whose values of all iterations are in lists.  in_front: the
    operands that are the counter and the limit, if any.  numbers: those behind these two.  limit:
    the limit where it is no operand.
    """

    count: int
    kept: tuple[Node, ...]
    in_front: tuple[int, ...]
    numbers: tuple[int, ...]
    limit: int = NO_LIMIT

    @property
    def is_exact(self) -> bool:
        """Whether the variables are those of the loop, in their order."""
        return self.in_front == (0, 1) and self.count > 1


def form_of(node: Node, kept: tuple[Node, ...], counter_is_read: bool) -> LoopForm:
    """Return the form of a loop; `counter_is_read`: its first variable is used behind it."""
    body, condition, count = node.params["body"], node.params["cond"], node.params["count"]
    numbers = tuple(range(len(node.operands)))
    plain = LoopForm(count, kept, (), numbers)
    if not counts(node.operands[0], body):
        return plain
    limit = _limit_of(condition)
    if count > 1 and _is_unchanged(body, 1):  # perhaps a loop of TensorFlow that was read
        without = not _users(condition, condition.inputs[0])
        if limit is condition.inputs[1] or (without and _is_number(node.operands[1], NO_LIMIT)):
            return LoopForm(count, kept, (0, 1), numbers[2:])
    if counter_is_read or limit is None:
        return plain
    if limit.prim.role is Role.CONSTANT:
        return LoopForm(count, kept, (0,), numbers[1:], int(limit.params["value"].array))
    if limit not in condition.inputs[count:]:
        return plain
    operand = condition.inputs.index(limit)
    used = _users(body, body.inputs[operand])
    rest = tuple([number for number in numbers[1:] if used or number != operand])
    return LoopForm(count, kept, (0, operand), rest)


def counts(first: Node, body: Body) -> bool:
    """Return whether the first variable of a loop counts from 0, and does nothing else."""
    counter, after = body.inputs[0], body.outputs[0]
    return (
        counter.aval.dims == ()
        and counter.aval.dtype is int32
        and _is_number(first, 0)
        and after.prim is arithmetic.add
        and after.operands[0] is counter
        and _is_number(after.operands[1], 1)
        and _users(body, counter) == [after]
        and not _users(body, after)
        and list(body.outputs).count(after) == 1
    )


def _is_number(node: Node, number: int) -> bool:
    if node.prim.role is not Role.CONSTANT:
        return False
    array = node.params["value"].array
    return array.ndim == 0 and array == number


def _is_unchanged(body: Body, variable: int) -> bool:
    """Return whether a body gives a number back as it is, and does nothing else with it."""
    argument = body.inputs[variable]
    return (
        argument.aval.dims == ()
        and argument.aval.dtype is int32
        and body.outputs[variable] is argument
        and list(body.outputs).count(argument) == 1
    )


def _users(body: Body, node: Node) -> list[Node]:
    return [user for user in body.nodes if node in user.inputs]


def _limit_of(condition: Body) -> Node | None:
    """Return what a condition compares the first variable to; None if it does more with it."""
    counter = condition.inputs[0]
    users = _users(condition, counter)
    if len(users) != 1 or users[0].prim is not arithmetic.less:
        return None
    needed, pending = set(), [condition.outputs[0]]
    while pending:  # what must all be true
        node = pending.pop()
        needed.add(node)
        if node.prim is arithmetic.logical_and:
            pending += node.operands
    left, right = users[0].operands
    if users[0] not in needed or left is not counter or right.aval.dims != ():
        return None
    return right


# -- loops that are read


def unchanged(body: FunctionRecord) -> set[int]:
    """Return the numbers of the arguments that the body of a loop gives back as they are."""
    numbers = set()
    for number, (name, output) in enumerate(body.results):
        while output == 0 and name in body.items and body.items[name].op == "Identity":
            name, output = body.items[name].inputs[0]
        if number < len(body.arguments) and name == body.arguments[number]:
            numbers.add(number)
    return numbers


def counts_only(condition: FunctionRecord, body: FunctionRecord) -> bool:
    """Return whether the first argument of a loop's functions only counts its iterations."""
    if not condition.arguments or not body.arguments:
        return False
    asked = condition.arguments[0]
    taken = [name for item in condition.items.values() for name, _ in item.inputs]
    if asked in taken or asked in [name for name, _ in condition.results]:
        return False
    users: dict[str, list[NodeRecord]] = {}
    for item in body.items.values():
        for name, _ in item.inputs:
            users.setdefault(name, []).append(item)
    name, steps = body.arguments[0], 0
    passed = [name]
    while len(users.get(name, ())) == 1:
        (item,) = users[name]
        if item.op in ("Add", "AddV2"):
            steps += _adds_one(body, item, name)
        elif item.op != "Identity":
            return False
        name = item.name
        passed.append(name)
    results = [result for result, _ in body.results]
    return (
        steps == 1
        and name not in users
        and results[:1] == [name]
        and not set(results[1:]) & {*passed}
    )


def _adds_one(body: FunctionRecord, item: NodeRecord, name: str) -> int:
    """Return 1 if a sum adds 1 to what `name` gives, another number otherwise."""
    (other,) = [source for source, _ in item.inputs if source != name] or [name]
    constant = body.items.get(other)
    if constant is None or constant.op != "Const":
        return 2
    value = make_ndarray(constant.message.attr["value"].tensor)
    return 1 if value.dtype == np.int32 and value.ndim == 0 and value == 1 else 2


def build_loop(
    item: NodeRecord,
    condition: Callable[..., Any],
    body: Callable[..., Any],
    initial: list,
    fixed: Collection[int] = (),
    counts: bool = False,
) -> list:
    """Build a loop over those of the values that are tensors; the others stay as they are.

    fixed: the numbers of tensors that stay, too.  counts: the first one only counts iterations.
    """
    tensors = [number for number, value in enumerate(initial) if type(value) is Symbol]
    moving = [n for n in tensors if n not in fixed and not (counts and n == 0)] or tensors

    def whole(variables: list) -> list:
        values_out = list(initial)
        for number, value in zip(moving, variables):
            values_out[number] = value
        return values_out

    def run(variables: list) -> list:
        results = body(whole(variables))
        for number in moving:
            if results[number].dtype is not initial[number].dtype:
                raise item.error(
                    f"loop variable {number} is {initial[number].dtype.name}, and "
                    f"{results[number].dtype.name} after an iteration"
                )
        return [results[number] for number in moving]

    if not moving:
        raise item.error("a loop without variables")
    avals = [initial[number].aval for number in moving]
    values = [initial[number] for number in moving]
    *finals, history = apply_loop(lambda v: condition(whole(v)), run, values, avals)
    outputs = whole(finals)
    if counts and 0 not in moving:
        outputs[0] = arithmetic.add(initial[0], trips(history))
    return outputs
