"""Writers of operations that no expression describes: constants, inputs, order, variables,
assertions, branches, loops.

Each function writes a node under a name, and gives its outputs; None where it has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import variant
from talweg.core.errors import NeedsStaticError, OpError
from talweg.core.roles import Role
from talweg.graph.node import Node
from talweg.interop.graph_def.bodies import (
    handles_of,
    is_negated,
    name_in_body,
    nodes_to_write,
)
from talweg.interop.graph_def.opaque_calls import raw_form
from talweg.interop.graph_def.tables import operation_of, table_of
from talweg.interop.graph_def.text_calls import form_of_call
from talweg.interop.graph_def.writing import (
    Literal,
    Output,
    WrittenNode,
    cannot_write,
    note_output_shapes,
    static_shape,
)
from talweg.interop.graph_def.writing_lists import empty_list, of_lists
from talweg.prims.random.streams import PHILOX, THREEFRY
from talweg.prims.state import UPDATE_TYPES
from talweg.trace.host import requirements_of

if TYPE_CHECKING:
    from talweg.graph.handle import Handle
    from talweg.graph.subgraph import Body
    from talweg.interop.graph_def.exporting import Exporter

_ASSIGN = {"assign": "AssignVariableOp", "add": "AssignAddVariableOp", "sub": "AssignSubVariableOp"}


def _constant(writer: Any, node: Node, name: str, controls: list) -> list[Output]:
    found = writer.literal(node, name)
    writer.nodes[-1].input.extend([f"^{control}" for control in controls])
    return [found]


def _placeholder(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    variable = writer.captured_variables.get(node)
    if variable is not None:  # what a function's graph starts with
        return _read_of(writer, variable, node, "", controls)
    given = {"dtype": node.aval.dtype, "shape": static_shape(node.aval.dims)}
    return writer.node("Placeholder", name, [], given, controls)


def _group(writer: Exporter, node: Node, name: str, controls: list) -> None:
    writer.node("NoOp", name, [], {}, controls)


def _after(writer: Exporter, node: Node, name: str, controls: list) -> list[Output] | None:
    inner = node.inputs[0]
    if inner in writer.folded:
        writer.write(inner, name, controls)
        return writer.values[inner]
    return writer.node("Identity", name, [writer.operand(inner, f"{name}/input")], {}, controls)


def _read(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    return _read_of(writer, node.params["variable"], node, name, controls)


def _read_of(
    writer: Exporter, variable: Handle, node: Node, name: str, controls: list
) -> list[Output]:
    given = {"dtype": variable.dtype}
    handle = writer.handle(variable)
    if name in ("", handle.node):
        name = writer.unique(f"{handle.node}/Read/ReadVariableOp")
    outputs = writer.node("ReadVariableOp", name, [handle], given, controls)
    writer.renamed[node] = name
    return outputs


def _write_initialized(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    handle = writer.handle(node.params["variable"])
    return writer.node("VarIsInitializedOp", name, [handle], {}, controls)


def _read_or_initial(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    """Return the value of a variable that has one:
    a branch of the first generation, as in TensorFlow.
    """
    handle = writer.handle(node.params["variable"])
    label, given = writer.unique(f"{name}/IsInitialized"), {"dtype": node.params["variable"].dtype}
    (has,) = writer.node("VarIsInitializedOp", label, [handle], {}, controls)
    sides = []
    for part, source in (("read", handle), ("initial", writer.value(node.operands[0]))):
        label = writer.unique(f"{name}/Switch_{part}")
        sides.append(writer.node("Switch", label, [source, has], {}, ()))
    label = writer.unique(f"{name}/Read/ReadVariableOp")
    (read,) = writer.node("ReadVariableOp", label, [sides[0][1]], given, ())
    return writer.node("Merge", name, [[sides[1][0], read]], {}, ())


def _update(writer: Exporter, node: Node, name: str, controls: list) -> list[Output] | None:
    variable, kind = node.params["variable"], node.params["rule"]
    handle = writer.handle(variable)
    values = [writer.operand(x, f"{name}/value") for x in node.operands]
    given = {"dtype": variable.dtype}
    if kind in _ASSIGN:
        writer.node(_ASSIGN[kind], name, [handle, *values], given, controls)
    elif kind.startswith("scatter_"):
        writer.node(UPDATE_TYPES[kind], name, [handle, *values], {}, controls)
    elif kind == "slice":
        bounds, masks = _bounds(node.params["place"])
        places = [writer.one(writer.integers(part), f"{name}/bound") for part in bounds]
        writer.node(UPDATE_TYPES[kind], name, [handle, *places, *values], masks, controls)
    elif kind == "skip":
        (size,) = variable.shape.as_tuple()
        algorithm = writer.one(writer.integers(PHILOX if size == 3 else THREEFRY), f"{name}/alg")
        return writer.node(UPDATE_TYPES[kind], name, [handle, algorithm, *values], {}, controls)
    else:
        raise cannot_write(f"update_variable by {kind}")
    return None


def _bounds(key: tuple) -> tuple[list[tuple], dict[str, int]]:
    """Write (begins, ends and strides, masks) of the key that a slice of a variable has."""
    bounds: list[tuple] = []
    names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")
    masks: dict[str, int] = dict.fromkeys(names, 0)
    for number, part in enumerate(key):
        bit = 1 << number
        if part is None:
            masks["new_axis_mask"] |= bit
            bounds.append((0, 0, 1))
        elif isinstance(part, tuple):
            start, stop, step = part
            masks["begin_mask"] |= bit if start is None else 0
            masks["end_mask"] |= bit if stop is None else 0
            bounds.append((start or 0, stop or 0, 1 if step is None else step))
        else:
            masks["shrink_axis_mask"] |= bit
            bounds.append((part, part + 1, 1))
    return [tuple(column) for column in zip(*bounds)] or [(), (), ()], masks


def _branch(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    bodies, library = node.params["bodies"], writer.library
    handles = handles_of(bodies)
    kept = library.find_residuals(node)
    inputs = [writer.operand(x, f"{name}/input") for x in node.operands[1:]]
    inputs += [writer.handle(variable) for variable in handles]
    ends = ("false", "true") if len(bodies) == 2 else [f"branch{k}" for k in range(len(bodies))]
    if len(bodies) == 2 and is_negated(node.operands[0]):
        ends = ("true", "false")
    names = [
        library.branch(f"{name}_{end}", body, handles, kept) for body, end in zip(bodies, ends)
    ]
    dtypes = [aval.dtype for aval in node.aval[:-1]] + [x.aval.dtype for x in kept]
    stateful = bool(handles) or any(body.has_effects for body in bodies)
    given: dict[str, Any] = {"Tout": dtypes}
    avals = [*node.aval[:-1]]
    shapes = [static_shape(aval.dims) for aval in avals] + [static_shape(None) for _ in kept]
    if len(names) == 1:
        op = "StatefulPartitionedCall" if stateful else "PartitionedCall"
        outputs = writer.node(
            op, name, [inputs], {**given, "f": library.attribute(names[0])}, controls
        )
    else:
        given["output_shapes"] = shapes
        prefix = "" if stateful else "Stateless"
        if len(names) == 2:
            predicate, places = _predicate(writer, node.operands[0], f"{name}/cond")
            given["then_branch"], given["else_branch"] = (
                library.attribute(names[number]) for number in places
            )
            outputs = writer.node(f"{prefix}If", name, [predicate, inputs], given, controls)
        else:
            given["branches"] = [library.attribute(part) for part in names]
            op = "StatelessCase" if prefix else "Case"
            index = writer.operand(node.operands[0], f"{name}/branch_index")
            outputs = writer.node(op, name, [index, inputs], given, controls)
    return _with_history(writer, node, outputs, len(avals), kept)


def _predicate(writer: Exporter, index: Node, label: str) -> tuple[Output, tuple]:
    """Split the number of a body: (a truth value, the numbers of the bodies for true and for
    false).
    """
    if is_negated(index):
        return writer.operand(index.operands[0].operands[0], label), (0, 1)
    zero = writer.integers(0, index.aval.dtype)
    return writer.one(WrittenNode("NotEqual", (writer.value(index), zero), {}), label), (1, 0)


def _act(writer: Exporter, node: Node, name: str, controls: list) -> None:
    if operation_of(node.params["call"]) is not None:
        _host_call(writer, node, name, controls)
        return
    if node.params["call"].tf_type != "Assert":
        raise cannot_write(node.params["call"].tf_type)
    _write_assertion(writer, node, name, controls)


def _write_assertion(writer: Exporter, node: Node, name: str, controls: list) -> None:
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


def _require(writer: Any, node: Node, name: str, controls: list) -> list[Output]:
    x, holds = [writer.operand(part, f"{name}/input") for part in node.operands]
    text = writer.constant(np.array(node.params["message"].encode(), object), f"{name}/message")
    check = writer.unique(f"{name}/Assert")
    writer.node("Assert", check, [holds, [text]], {}, controls)
    return writer.node("Identity", name, [x], {}, [check])


def _with_rule(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    """Return the results of a function with a gradient of its own, which is not written."""
    own = [writer.operand(x, f"{name}/input") for x in node.operands[: node.params["count"]]]
    return writer.node("IdentityN", name, [own], {}, controls)


def _host_call(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    call = node.params["call"]
    op = operation_of(call)
    if op is None:
        raise cannot_write(f"a function of Python, {getattr(call, 'function', call)!r},")
    operands = [writer.operand(x, f"{name}/keys") for x in node.operands]
    avals = node.aval if type(node.aval) is tuple else ()
    given = dict(zip(("Tkeys", "Tvalues"), [aval.dtype for aval in avals]))
    return writer.node(
        op,
        name,
        [writer.handle(table_of(call)), *operands],
        given if op == "LookupTableExportV2" else {},
        controls,
    )


def _with_history(
    writer: Exporter, node: Node, outputs: list, count: int, kept: tuple
) -> list[Output]:
    """Return the results, and a history that stands for the inner values among the outputs."""
    inner = dict(zip(kept, outputs[count:]))
    writer.histories[node] = inner
    return [*outputs[:count], Output("", 0, "", variant)]


def _loop(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    params, library = node.params, writer.library
    body, condition, count = params["body"], params["cond"], params["count"]
    handles = handles_of((condition, body))
    form = library.loop_form(node)
    limit: Any = Literal(np.int32(form.limit))
    if len(form.in_front) == 2:
        limit = writer.operand(node.operands[form.in_front[1]], f"{name}/maximum_iterations")
    inputs = [
        writer.one(Literal(np.int32(0)), f"{name}/loop_counter"),
        writer.one(limit, f"{name}/maximum_iterations"),
        *[_own_operand(writer, node.operands[n], f"{name}/input") for n in form.numbers],
        *[writer.handle(variable) for variable in handles],
        *[writer.one(empty_list(x.aval.dtype), f"{name}/accumulator") for x in form.kept],
    ]
    sizes = [dims for dims, _ in params["avals"]] + [x.aval.dims for x in node.operands[count:]]
    shapes = [static_shape(dims) for dims in ((), (), *[sizes[number] for number in form.numbers])]
    shapes += [static_shape(()) for _ in range(len(inputs) - len(shapes))]
    given = {
        "cond": library.attribute(library.condition(name, condition, handles, form)),
        "body": library.attribute(library.loop_body(name, body, handles, form)),
        "output_shapes": shapes,
    }
    stateful = bool(handles) or condition.has_effects or body.has_effects
    op = "While" if stateful else "StatelessWhile"
    alone = writer.inside or form.is_exact
    label = name if alone else writer.unique(f"{name}/loop")
    outputs = writer.node(op, label, [inputs], given, controls)
    if writer.shapes:
        note_output_shapes(writer.nodes[-1], shapes)
    writer.trips[node] = outputs[0]
    results = dict(zip(form.numbers, outputs[2:])) | dict(zip(form.in_front, outputs))
    own = [results[number] for number in range(count)]
    if not alone:  # the names of the results number them without what is in front
        own = writer.node("IdentityN", name, [own], {})
    lists = outputs[len(outputs) - len(form.kept) :]
    return _with_history(writer, node, [*own, *lists], count, form.kept)


def _own_operand(writer: Exporter, operand: Node, label: str) -> Output:
    """Return an operand of a loop; an empty list that several take is written for each of them.

    Converters change a list together with the loop that fills it.
    """
    output = writer.operand(operand, label)
    if operand.prim.name != "list_new" or output not in writer.filled:
        writer.filled.add(output)
        return output
    return writer.one(of_lists(writer, operand, [writer.value(operand.operands[0])], {}), label)


def _call(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    body, library = node.params["body"], writer.library
    handles = handles_of((body,))
    kept = library.find_residuals(node)
    inputs = [writer.operand(x, f"{name}/args") for x in node.operands]
    inputs += [writer.handle(variable) for variable in handles]
    dtypes = [aval.dtype for aval in node.aval[:-1]] + [x.aval.dtype for x in kept]
    function = library.call(body, handles, kept)
    given = {"Tout": dtypes, "f": library.attribute(function)}
    stateful = bool(handles) or body.has_effects
    op = "StatefulPartitionedCall" if stateful else "PartitionedCall"
    outputs = writer.node(op, name, [inputs], given, controls)
    return _with_history(writer, node, outputs, len(node.aval) - 1, kept)


def _inner_value(writer: Any, node: Node, name: str, controls: list) -> list[Output]:
    source = node.inputs[0].inputs[0] if node.inputs[0].prim.role is Role.PROJECTION else None
    found = writer.histories.get(source, {}).get(node.params["inner"])
    if found is None:
        raise cannot_write("a value inside a branch or loop inside another one")
    return writer.node("Identity", name, [found], {}, controls)


def _trips(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    source = node.inputs[0].inputs[0] if node.inputs[0].prim.role is Role.PROJECTION else None
    if source not in writer.trips:
        raise cannot_write("the number of iterations of a loop inside another one")
    return writer.node("Identity", name, [writer.trips[source]], {}, controls)


def _whole(writer: Exporter, node: Node, name: str, controls: list) -> list[Output]:
    operands = [writer.operand(x, f"{name}/Const") for x in node.operands]
    call = node.params["call"]
    made = form_of_call(call, operands, node.aval) if hasattr(call, "kwargs") else None
    made = raw_form(writer, call, operands) if made is None else made
    if made is None:
        raise cannot_write(f"{call!r}, whose sizes are not known")
    outputs = writer.realise(made, name, controls)
    if [x.dtype for x in outputs] != [aval.dtype for aval in node.aval]:
        raise cannot_write(f"{call!r}")
    return outputs


SPECIAL: dict[str, Any] = {
    "constant": _constant,
    "placeholder": _placeholder,
    "group": _group,
    "after": _after,
    "read_variable": _read,
    "is_initialized": _write_initialized,
    "read_or_initial": _read_or_initial,
    "update_variable": _update,
    "branch": _branch,
    "loop": _loop,
    "call": _call,
    "inner_value": _inner_value,
    "trips": _trips,
    "whole": _whole,
    "act": _act,
    "host_call": _host_call,
    "again": _call,
    "require": _require,
    "with_rule": _with_rule,
}
