"""`graph.report()` and `fn.report()` look at a graph or function at rest, without running it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from talweg.core.provenance import Derived
from talweg.core.roles import Role
from talweg.core.value import Tensor
from talweg.doctor.findings import Finding, Place, Report, megabytes
from talweg.doctor.waste.graphs import (
    LARGE,
    TRACES,
    UNROLLED,
    cure_of,
    find_recompiled,
    large_array,
    report_shared_work,
)
from talweg.doctor.waste.sites import Spot, places_of
from talweg.graph.node import BODY, Node
from talweg.graph.walk import postorder
from talweg.passes.functionalize import bodies_of
from talweg.passes.optimize.factor_products import factor_additions
from talweg.prims import arithmetic, state
from talweg.trace.gradients import GraphSweep

if TYPE_CHECKING:
    from talweg.core.spec import TensorSpec
    from talweg.graph.graph import Graph
    from talweg.graph.subgraph import Body
    from talweg.trace.concrete import ConcreteFunction
    from talweg.trace.function import Function

ASKED = 10  # times the same operation was asked for
COLLECTED = 100  # operations that were built and let go
DOUBLES = 3  # operations in float64


def report_on_graph(graph: Graph, session: object = None, loss: Tensor | None = None) -> Report:
    """Return the report of a graph of TensorFlow 1.

    session: a session of the graph, to see which variables have no value in it.
    loss: a tensor of the graph, to see which trainable variables it does not depend on.
    """
    own = list(graph.table.nodes.values())
    nodes = with_bodies(own)
    variables = graph.get_collection("variables")
    findings = [
        *_find_repeated_requests(graph),
        *_arrays(nodes, {v._initial for v in variables if hasattr(v, "_initial")}),
        *_let_go(graph),
        *_redundant(own),
        *_unset(variables, session),
        *_unread(nodes, variables),
        *_find_unreached(graph, variables, loss),
        *_doubles(nodes, variables),
        *_find_unrolled(own, "the graph"),
    ]
    facts = {name.replace("_", " "): value for name, value in graph.stats().items()}
    facts["variables"] = len(variables)
    return _report("graph", findings, facts)


def report_on_function(function: Function) -> Report:
    """Report on a `tf.function`: its traces, and the waste in them."""
    traces = list(function._traces.values())
    findings: list[Finding] = []
    reasons = function.retracing_reasons()
    code = getattr(function.python_function, "__code__", None)
    where = () if code is None else (Place(code.co_filename, code.co_firstlineno, code.co_name),)
    if len(reasons) + 1 >= TRACES:
        findings.append(_find_retraced(function, reasons, where))
    findings += find_recompiled(function, where)
    variables: dict[int, Any] = {}
    facts: dict[str, Any] = {
        "times traced": function.experimental_get_tracing_count(),
        "traces kept": len(traces),
    }
    for number, concrete in enumerate(traces):
        nodes = nodes_of(concrete)
        own = {id(v): v for v in concrete.variables}
        variables |= own
        inside = with_bodies(nodes)
        findings += [
            *_arrays(inside, set()),
            *_redundant(nodes),
            *_find_unrolled(nodes, "a trace"),
            *_doubles(inside, list(own.values())),
        ]
        facts[f"trace {number + 1}"] = _describe(concrete, nodes)
    if reasons:
        facts["last traced again because"] = reasons[-1]
    facts["variables"] = len(variables)
    return _report(f"function {function.name}", _each_once(findings), facts)


def nodes_of(concrete: ConcreteFunction) -> list[Node]:
    """Return the nodes of a trace that run."""
    return _nodes_of_body(concrete.body)


def _nodes_of_body(body: Body) -> list[Node]:
    order: dict[Node, None] = {}
    postorder((*body.outputs, *body.effects), order, lambda node: node.inputs)
    return list(order)


def with_bodies(nodes: list[Node]) -> list[Node]:
    """Return the nodes, and those of the branches, loops and functions among them."""
    found, seen = list(nodes), set()
    for node in found:  # which grows meanwhile
        for body in bodies_of(node) if node.prim.effect == BODY else ():
            if id(body) not in seen:
                seen.add(id(body))
                found += _nodes_of_body(body)
    return found


def _describe(concrete: ConcreteFunction, nodes: list[Node]) -> str:
    inner = sum(
        node.prim.role not in (Role.CONSTANT, Role.PLACEHOLDER, Role.PROJECTION) for node in nodes
    )
    names = ", ".join(f"{spec.dtype.name}{_sizes(spec)}" for spec in concrete.specs)
    return f"({names}): {inner:,} operations"


def _sizes(spec: TensorSpec) -> str:
    return "" if spec.shape.rank is None else str(spec.shape.as_list()).replace("None", "?")


def _report(subject: str, found: list[Finding], facts: dict[str, Any]) -> Report:
    found = sorted(found, key=lambda finding: (finding.code, -finding.count))
    return Report(subject, tuple(found), {name: value for name, value in facts.items() if value})


def _each_once(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings without those that another trace has at the same lines."""
    kept: dict[tuple, Finding] = {}
    for finding in found:
        kept.setdefault((finding.code, finding.places), finding)
    return list(kept.values())


def _place(node: Node) -> tuple[Place, ...]:
    return () if node.origin is None else (Place.of(node.origin),)


def _text(node: Node) -> str:
    origin = node.origin
    return "" if origin is None else Spot(origin[0], origin[1]).text


def _find_repeated_requests(graph: Graph) -> Iterator[Finding]:
    """TW603."""
    asked = [
        (count, node)
        for node, count in graph.table.asked.items()
        if count >= ASKED
        and node.operands
        and node.prim.role not in (Role.PROJECTION, Role.ORDER, Role.GROUP)
        and type(node.origin) is not Derived
    ]
    if not asked:
        return
    asked.sort(key=lambda pair: (-pair[0], -len(_text(pair[1]))))
    most, first = asked[0]
    places = tuple(dict.fromkeys([line for _, node in asked for line in _place(node)]))
    more = f", and {len(asked) - 1:,} more operations" if len(asked) > 1 else ""
    yield Finding(
        "TW603",
        f"`{_text(first) or graph.operation_name(first)}` was asked for {most:,} times{more}",
        "Equal operations on equal operands were asked for again; talweg gives those that are "
        "there.",
        places[:3],
        most,
        f"{most:,} times the time to build them. TensorFlow would hold {most:,} of each.",
        "Make the operations once, before the loop, and use the tensors.",
    )


def _arrays(nodes: list[Node], initial: set) -> Iterator[Finding]:
    """TW604."""
    lines: dict[Any, list[Node]] = {}
    for node in nodes:
        large = node.prim.role is Role.CONSTANT and node.params["value"].captured
        if large and node not in initial:
            lines.setdefault(_place(node), []).append(node)
    for group in lines.values():
        size = sum(node.params["value"].array.nbytes for node in group)
        origin = group[0].origin
        if size >= LARGE and origin is not None:
            yield large_array([Spot(origin[0], origin[1])], len(group), size)


def _let_go(graph: Graph) -> Iterator[Finding]:
    """TW605."""
    stats = graph.stats()
    if stats["collected"] >= max(COLLECTED, stats["live"]):
        yield Finding(
            "TW605",
            f"{stats['collected']:,} of {stats['built']:,} operations were built and let go",
            "Nothing refers to them any more: they were built in a loop or in the arguments of "
            "session.run, or a name was given another tensor.",
            (),
            stats["collected"],
            "The time to build them; TensorFlow would keep them all.",
            "`talweg doctor program.py` says which lines build them. Build once, run in the loop.",
        )


def _redundant(nodes: list[Node]) -> Iterator[Finding]:
    """TW608."""
    order: dict[Node, None] = {}
    postorder(nodes, order, lambda node: node.inputs)
    for match in factor_additions(list(order), set()).values():
        yield report_shared_work(str(match))


def _unset(variables: list, session: Any) -> Iterator[Finding]:
    """TW610."""
    if session is None:
        return
    unset = [v for v in variables if v.handle not in session._state]
    if unset:
        yield Finding(
            "TW610",
            f"no value in this session: {_names(unset)}",
            "Neither an initializer nor a checkpoint gave the variable a value.",
            _locate_making(unset),
            len(unset),
            "Running anything that reads it fails.",
            "Run tf.global_variables_initializer(), made after every variable.",
        )


def _unread(nodes: list[Node], variables: list) -> Iterator[Finding]:
    """TW611."""
    used = set()
    for node in nodes:
        for source in node.inputs:
            if source.prim.role is Role.READ:
                used.add(source.params["variable"])
        if node.prim.role is Role.READ and node.table is not nodes[0].table:
            used.add(node.params["variable"])  # a body gives or takes it as it is
        params = node.params if node.prim.role is Role.WRITE else {}
        if params and params["rule"] != "assign":
            used.add(params["variable"])
    silent = [v for v in variables if v.handle not in used]
    if silent:
        yield Finding(
            "TW611",
            f"never read: {_names(silent)}",
            "No operation of the graph takes its value.",
            _locate_making(silent),
            len(silent),
            f"{megabytes(sum((v.shape.num_elements() or 0) * v.dtype.size for v in silent))}, and "
            "perhaps a part of the model that was left out.",
            "Use it, or take it out.",
        )


def _find_unreached(graph: Graph, variables: list, loss: Tensor | None) -> Iterator[Finding]:
    """TW612."""
    if loss is None:
        return
    target: Any = loss if isinstance(loss, Tensor) else graph.as_graph_element(loss)
    trainable = [v for v in variables if v.trainable]
    with graph.as_default():
        sweep = GraphSweep(graph, [target], [v.handle for v in trainable], [])
        reached = sweep.parts
    apart = [v for v, parts in zip(trainable, reached) if not parts]
    if apart:
        yield Finding(
            "TW612",
            f"never reached by the loss: {_names(apart)}",
            "There is no path from the variable to the loss.",
            _locate_making(apart),
            len(apart),
            "The variable does not train.",
            "Use it in the loss, or make it trainable=False.",
        )


def _doubles(nodes: list[Node], variables: list) -> Iterator[Finding]:
    """TW614."""
    if {v.dtype.name for v in variables if v.trainable and v.dtype.is_floating} != {"float32"}:
        return
    work = [
        node
        for node in nodes
        if node.operands
        and node.prim not in (arithmetic.cast, state.item)
        and type(node.aval) is not tuple
        and node.aval.dtype.name == "float64"
    ]
    if len(work) >= DOUBLES:
        yield Finding(
            "TW614",
            f"float64 crept in: {len(work):,} operations are in float64, the variables are float32",
            "NumPy makes float64 unless told otherwise, and an array keeps its dtype when it "
            "becomes a tensor.",
            tuple(dict.fromkeys([line for node in work for line in _place(node)]))[:3],
            len(work),
            "Twice the memory and about half the speed, and a cast where it meets float32.",
            "Convert where the data comes in: array.astype(np.float32).",
        )


def _find_unrolled(nodes: list[Node], where: str) -> Iterator[Finding]:
    """TW620."""
    lines: dict[tuple, list[Node]] = {}
    for node in nodes:
        if node.origin is not None and node.operands and type(node.origin) is not Derived:
            lines.setdefault((node.origin, node.prim), []).append(node)
    seen: set = set()
    for group in lines.values():
        line = _place(group[0])
        if len(group) >= UNROLLED and line not in seen:
            seen.add(line)
            yield Finding(
                "TW620",
                f"a Python loop was written out: `{_text(group[0]) or 'a line'}` stands "
                f"{len(group):,} times in {where}",
                "A loop over Python numbers runs while the graph is built, and leaves every round "
                "in it.",
                line,
                len(group),
                "As many operations to build, plan and compile, where a loop of the graph has a "
                "few.",
                "Loop over tensors: tf.range in a tf.function, tf.while_loop, tf.scan, tf.map_fn.",
            )


def _find_retraced(function: Function, reasons: list[str], where: tuple) -> Finding:
    """TW606."""
    return Finding(
        "TW606",
        f"`{function.name}` was traced {function.experimental_get_tracing_count():,} times",
        "Each new kind of arguments is a new trace, last:\n" + "\n".join(reasons[-3:]),
        where,
        len(reasons) + 1,
        "Each trace runs the Python function again, makes a new graph, and compiles it.",
        cure_of(" ".join(reasons)),
    )


def _names(variables: list) -> str:
    names = ", ".join(f"`{v.name}`" for v in variables[:4])
    return names + (f" and {len(variables) - 4:,} more" if len(variables) > 4 else "")


def _locate_making(variables: list) -> tuple[Place, ...]:
    origins = [v._initializer.origin for v in variables if hasattr(v, "_initializer")]
    return places_of([Spot(o[0], o[1]) for o in origins if o is not None])
