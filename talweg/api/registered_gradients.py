"""tf.RegisterGradient: derivatives by name, which `graph.gradient_override_map` puts in force."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export, implement_hook
from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.roles import Role
from talweg.core.value import IndexedSlices
from talweg.eager.tape import GradientTape
from talweg.graph.graph import OVERRIDDEN
from talweg.graph.node import Node
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.prims.arithmetic import zeros_of
from talweg.prims.calls import with_rule

if TYPE_CHECKING:
    from talweg.graph.graph import Graph

EVERYWHERE = "everywhere:"  # before names of derivatives that `override_everywhere` gave
_registered: dict[str, Callable[..., Any] | None] = {}


@export("RegisterGradient")
class RegisterGradient:
    """A decorator that registers a gradient under a name, for `graph.gradient_override_map`.

    The function takes the operation and a gradient for each of its results, and gives one for each
    of its inputs, None among them.  KeyError if the name is taken.

    >>> import talweg.compat.v1 as tf
    >>> @tf.RegisterGradient("TripledIdentityOfThisExample")
    ... def tripled(op, gradient):
    ...     return gradient * 3.0
    >>> with tf.Graph().as_default() as graph, tf.Session() as session:
    ...     x = tf.constant(2.0)
    ...     with graph.gradient_override_map({"Identity": "TripledIdentityOfThisExample"}):
    ...         y = tf.identity(x)
    ...     print(session.run(tf.gradients(y, x)[0]))
    3.0
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise type_error("TW104", "op_type must be a string")
        self._name = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Register `f`."""
        _register(self._name, f)
        return f


def _register(name: str, function: Callable[..., Any] | None) -> None:
    if name in _registered:
        raise KeyError(f"Registering two gradient with name '{name}'!  [TW304]")
    _registered[name] = function


def override_everywhere(op_type: str, function: Callable[..., Any] | None) -> None:
    """Give operations of a type another derivative in graphs made from now on; None: their own."""
    name = EVERYWHERE + op_type
    if function is None:
        OVERRIDDEN.pop(op_type, None)
    else:
        _registered[name] = function
        OVERRIDDEN[op_type] = name


@export("no_gradient")
def no_gradient(op_type: str) -> None:
    """Say that operations under this name have no derivative; see `tf.RegisterGradient`.

    >>> import talweg as tf
    >>> tf.no_gradient("NothingOfThisExample")
    """
    if not isinstance(op_type, str):
        raise type_error("TW104", "op_type must be a string")
    _register(op_type, None)


class RegisteredRule:
    """The derivative registered under a name, for one operation."""

    def __init__(self, name: str, node: Node):
        self.name, self.node = name, node

    def __eq__(self, other: object) -> bool:
        return type(other) is RegisteredRule and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.node))

    def vjp(self, g: Any, results: tuple, operands: tuple, params: dict, wanted: list) -> list:
        """Return the registered function's cotangents of the inputs."""
        function = _registered[self.name]
        if function is None:
            return [None] * len(operands)
        given = [zeros_of(z) if part is None else part for part, z in zip(g, results)]
        operation = Operation(self.node, self.node.table.owner())
        pulled = function(operation, *given)
        pulled = list(pulled) if isinstance(pulled, (list, tuple)) else [pulled]
        if len(pulled) not in (len(operands), len(operation.inputs)):  # an axis has none
            raise value_error(
                "TW304",
                f"Num gradients {len(pulled)} generated for op {self.node.prim.name!r} do not "
                f"match num inputs {len(operands)}",
            )
        parts = pulled[: len(operands)]
        return [g if g is None or isinstance(g, IndexedSlices) else tensor(g) for g in parts]

    def jvp(self, tangents: list, results: tuple, operands: tuple, params: dict) -> tuple:
        """Compute the tangents of the results: the derivative of the pullback by its cotangent."""
        seeds = [zeros_of(z) for z in results]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(seeds)
            back = self.vjp(seeds, results, operands, params, [])
        pairs = [(b, t) for b, t in zip(back, tangents) if b is not None and t is not None]
        if not pairs:
            return tuple([None] * len(results))
        targets, directions = [b for b, _ in pairs], [t for _, t in pairs]
        return tuple(tape.gradient(targets, seeds, output_gradients=directions))


@implement_hook("with_registered_gradient")
def with_registered_gradient(graph: Graph, results: tuple[Any, ...], overrides: dict) -> Any:
    """Give the results of an operation just made the derivative its type has for now."""
    single = type(results) is Symbol
    first = results if single else results[0]
    node = (
        first.node.inputs[0]
        if first.node.prim.role in (Role.PROJECTION, Role.ORDER)
        else first.node
    )
    if node.prim is with_rule or not node.operands:
        return results
    name = overrides.get(Operation(node, graph).type)
    if name is None:
        return results
    if name not in _registered:
        raise LookupError(f"No gradient defined for operation (op type: {name})  [TW304]")
    inputs = [graph.symbol(source) for source in node.operands]
    own, rule = [results] if single else list(results), RegisteredRule(name, node)
    with dispatch.only(()):
        results_under_rule = with_rule(*own, *inputs, rule=rule, count=len(own))
    if name.startswith(EVERYWHERE):  # `gradient_override_map` does not hold for tapes
        params = {"rule": rule, "count": len(own)}
        graph.replaced = (with_rule, (*own, *inputs), results_under_rule, params)
    return results_under_rule[0] if single else tuple(results_under_rule)
