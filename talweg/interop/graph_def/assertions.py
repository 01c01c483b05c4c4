"""Writes assertions: what they require as operations, and an Assert for each condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.errors import NeedsStaticError, OpError
from talweg.interop.graph_def.bodies import name_in_body, nodes_to_write
from talweg.interop.graph_def.writing import cannot_write
from talweg.trace.host import requirements_of

if TYPE_CHECKING:
    from talweg.graph.node import Node
    from talweg.graph.subgraph import Body
    from talweg.interop.graph_def.exporting import Exporter
    from talweg.interop.graph_def.writing import Output


def write_assertion(writer: Exporter, node: Node, name: str, controls: list) -> None:
    """Write an assertion as its conditions, one after the other, under its name in the end."""
    call = node.params["call"]
    operands = [writer.operand(x, f"{name}/data") for x in node.operands]
    names = [f"{x.node}:{x.number}" for x in operands]
    try:
        counts, body = requirements_of(call, [x.aval for x in node.operands], name, names)
    except (OpError, NeedsStaticError, TypeError, ValueError) as error:
        raise cannot_write(f"an assertion, {call.function.__name__} ({error}),") from error
    outputs = _write_inline(writer, body, operands)
    for number, (count, summarize) in enumerate(counts, 1):
        (condition, *data), outputs = outputs[:count], outputs[count:]
        label = name if number == len(counts) else writer.unique(f"{name}/Assert")
        given = {} if summarize is None else {"summarize": summarize}
        writer.node("Assert", label, [condition, data], given, controls)
        controls = [label]
    if not counts:
        writer.node("NoOp", name, [], {}, controls)


def _write_inline(writer: Exporter, body: Body, operands: list[Output]) -> list[Output]:
    """Write the operations of a body in the place of the assertion; return its results."""
    for node, operand in zip(body.inputs, operands):
        writer.values[node] = [operand]
        writer.names[node] = operand.node
    own, start = set(body.inputs), len(writer.nodes)
    nodes, folded = nodes_to_write([node for node in body.nodes if node not in own])
    writer.folded = {**writer.folded, **folded}
    for node in nodes:
        writer.write(node, writer.unique(name_in_body(node)))
    for message in writer.nodes[start:]:
        if message.op.startswith("Talweg"):
            raise cannot_write(message.attr["_talweg_reason"].s.decode())
    return [writer.operand(x, writer.near("data")) for x in body.outputs]
