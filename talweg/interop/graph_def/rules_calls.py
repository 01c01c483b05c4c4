"""Rules of branches, loops and calls whose bodies are functions of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import int32
from talweg.interop.graph_def.loop_form import build_loop, counts_only, unchanged
from talweg.interop.graph_def.values import base, constant, rule
from talweg.prims import arithmetic
from talweg.trace import control

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord


@rule("If", "StatelessIf")
def choice(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Build a branch of two functions."""
    predicate, *arguments = inputs
    index = arithmetic.cast(
        arithmetic.logical_not(control.truth(predicate, item.described)), dtype=int32
    )
    names = [item.attributes[key].name for key in ("then_branch", "else_branch")]
    return builder.branches(item, index, names, arguments)


@rule("Case", "StatelessCase")
def case(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Build a branch of several functions, by a number."""
    index, *arguments = inputs
    names = [function.name for function in item.attributes["branches"]]
    if not names:
        raise item.error("it has no branches")
    return builder.branches(item, index, names, arguments)


@rule("While", "StatelessWhile")
def loop(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Build a loop that calls a function while another one gives true."""
    names = [item.attributes[key].name for key in ("cond", "body")]
    functions = [builder.function(name, item) for name in names]

    def go_on(variables: list) -> Any:
        results = builder.apply(names[0], variables, item)
        if len(results) != 1:
            raise item.error(f"its condition '{names[0]}' gives {len(results)} results")
        return control.truth(results[0], item.described)

    def body(variables: list) -> list:
        results = builder.apply(names[1], variables, item)
        if len(results) != len(variables):
            raise item.error(f"its body '{names[1]}' gives {len(results)} results")
        return results

    if builder.names_nodes:  # all of its outputs have names
        return build_loop(item, go_on, body, list(inputs))
    fixed, counts = unchanged(functions[1]), counts_only(*functions)
    return build_loop(item, go_on, body, list(inputs), fixed, counts)


@rule("PartitionedCall", "StatefulPartitionedCall")
def call(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return a function;
    one with effects is a branch without a choice, so that all of them happen.
    """
    name = item.attributes["f"]
    name = name if isinstance(name, str) else name.name
    function = builder.function(name, item)
    stateful = any(part.operation.stateful for part in function.items.values())
    if not stateful or hasattr(base(), "outer"):
        return builder.apply(name, list(inputs), item)
    return builder.branches(item, constant(0, int32), [name], list(inputs))
