"""tf.compat.v1.profiler: parameters, float operations and times of a graph, by scope or by type.

What is counted is what stands in the graph here; a gradient may be written with other operations
than TensorFlow writes it with.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from talweg.api.export import export
from talweg.compat_v1.graphs import get_default_graph
from talweg.compat_v1.messages import Message
from talweg.compat_v1.profiler.operation_costs import float_operations
from talweg.compat_v1.profiler.profile_options import ProfileOptionBuilder
from talweg.core.errors import UnimplementedError, compose, invalid
from talweg.formats.wire import field

METRICS: tuple[str, ...] = (
    "exec_micros",
    "cpu_exec_micros",
    "parameters",
    "float_ops",
    "run_count",
)
TOTALS: dict[str, str] = {
    "exec_micros": "total_exec_micros",
    "cpu_exec_micros": "total_cpu_exec_micros",
    "parameters": "total_parameters",
    "float_ops": "total_float_ops",
    "run_count": "total_run_count",
}
METRICS = tuple(TOTALS)
TRAINABLE = "_trainable_variables"
ROOT = "_TFProfRoot"
_TIMES = {
    "exec_micros": 0,
    "accelerator_exec_micros": 0,
    "cpu_exec_micros": 0,
    "requested_bytes": 0,
    "peak_bytes": 0,
    "residual_bytes": 0,
    "output_bytes": 0,
    "parameters": 0,
    "float_ops": 0,
}
_SUMS = {f"total_{name}": 0 for name in _TIMES}


@export("compat.v1.profiler.GraphNodeProto")
class GraphNodeProto(Message):
    """Costs of a scope or an operation by itself, and in all (`total_...`); `children` below it."""

    FIELDS = {
        "name": "",
        **_TIMES,
        **_SUMS,
        "run_count": 0,
        "total_run_count": 0,
        "total_definition_count": 0,
        "devices": list,
        "shapes": list,
        "input_shapes": dict,
        "children": list,
    }


@export("compat.v1.profiler.MultiGraphNodeProto")
class MultiGraphNodeProto(Message):
    """Costs of the operations of a type: each (`graph_nodes`), and with all types after it."""

    FIELDS = {
        "name": "",
        **_TIMES,
        **_SUMS,
        "run_count": 0,
        "total_run_count": 0,
        "graph_nodes": list,
        "children": list,
    }


class Checker(Message):
    """Reports of one check."""

    FIELDS = {"reports": list}


@export("compat.v1.profiler.AdviceProto")
class AdviceProto(Message):
    """Reports of the checks, by their names."""

    FIELDS = {"checkers": dict}


class OpLogEntry(Message):
    """Facts of an operation that a graph does not hold."""

    FIELDS = {"name": "", "float_ops": 0, "types": list}


@export("compat.v1.profiler.OpLogProto")
class OpLogProto(Message):
    """Facts of operations that a graph does not hold: `log_entries`."""

    FIELDS = {"log_entries": list, "id_to_string": dict}


class _Costs:
    """An operation or a variable, and its costs."""

    def __init__(self, name: str, kinds: list[str], values: dict[str, int], shape: Any):
        self.name, self.kinds, self.values, self.shape = name, kinds, values, shape


def _costs_of(graph: Any, run_meta: Any, op_log: Any) -> list[_Costs]:
    """List the operations and the variables of a graph, with their costs."""
    times = _times(run_meta)
    trainable = {v.name.partition(":")[0] for v in graph.get_collection("trainable_variables")}
    variables = {v.name.partition(":")[0]: v for v in graph.get_collection("variables")}
    logged = {each.name: each for each in op_log.log_entries} if op_log is not None else {}
    costs = []
    for op in graph.get_operations():
        variable = variables.get(op.name)
        sizes = variable.shape.as_list() if variable is not None else None
        parameters = 0 if sizes is None or None in sizes else math.prod(sizes)
        told = logged.get(op.name)
        values = {
            "exec_micros": times.get(op.name, 0),
            "cpu_exec_micros": times.get(op.name, 0),
            "parameters": parameters,
            "float_ops": told.float_ops if told and told.float_ops else float_operations(op),
            "run_count": int(op.name in times),
        }
        kinds = [
            op.type,
            *([TRAINABLE] if op.name in trainable else []),
            *(told.types if told else ()),
        ]
        costs.append(
            _Costs(op.name, kinds, values, variable.shape if variable is not None else None)
        )
    return costs


def _times(run_meta: Any) -> dict[str, int]:
    """Sum the microseconds of operations, of a `RunMetadata`."""
    times: dict[str, int] = {}
    for device in run_meta.step_stats.dev_stats if run_meta is not None else ():
        for node in device.node_stats:
            spent = node.op_end_rel_micros - node.op_start_rel_micros
            times[node.node_name] = times.get(node.node_name, 0) + max(spent, 1)
    return times


def _matches(patterns: Iterable[str], texts: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in patterns for text in texts)


class _Shown:
    """Selects and sorts the nodes to show, as the options say."""

    def __init__(self, options: Mapping[str, Any]):
        self.options = options
        self.least = {
            "float_ops": options.get("min_float_ops", 0),
            "parameters": options.get("min_params", 0),
            "exec_micros": options.get("min_micros", 0),
        }
        order = {"params": "parameters", "micros": "exec_micros"}
        wanted: str = options["order_by"]
        self.order = order.get(wanted, wanted)

    def shows(self, name: str, values: Mapping[str, int]) -> bool:
        """Return whether a node is shown for itself."""
        options = self.options
        if any(values[metric] < least for metric, least in self.least.items()):
            return False
        named = _matches(options["show_name_regexes"], [name])
        return named and not _matches(options["hide_name_regexes"], [name])

    def sort_nodes(self, nodes: list) -> list:
        """Return the nodes in the order that is asked for: names up, numbers down."""
        total = TOTALS.get(self.order)
        if total is None:
            return sorted(nodes, key=lambda node: node.name)
        return sorted(nodes, key=lambda node: (-getattr(node, total), node.name))


def _by_scope(costs: list[_Costs], options: Mapping[str, Any]) -> GraphNodeProto:
    """Build the tree of scopes."""
    shown = _Shown(options)
    tree: dict[str, Any] = {}
    own = {each.name: each for each in costs}
    partial = options["account_type_regexes"] != [".*"]
    for each in costs:
        branch = tree
        parts = each.name.split("/")
        for depth in range(len(parts)):
            branch = branch.setdefault("/".join(parts[: depth + 1]), {})

    def walk(name: str, below: dict, depth: int) -> tuple[list[GraphNodeProto], Counter]:
        """Build the tree of shown nodes below a scope, and add up the costs of hidden ones."""
        hidden: Counter = Counter()
        children: list[GraphNodeProto] = []
        trimmed = _matches(options["trim_name_regexes"], [name])
        for key, rest in below.items():
            nodes, unseen = walk(key, rest, depth + 1)
            children += [] if trimmed or depth >= options["max_depth"] else nodes
            hidden += unseen
        known = own.get(name)
        counted = known is not None and _matches(options["account_type_regexes"], known.kinds)
        values = known.values if known is not None and counted else dict.fromkeys(METRICS, 0)
        started = not depth or _matches(options["start_name_regexes"], [name])
        told = not (partial and depth) or counted or bool(children)
        if depth and not (started and told and shown.shows(name, values)):
            return children, hidden + Counter(values)
        node = GraphNodeProto(name=name or ROOT, **values, total_definition_count=1)
        for metric, total in TOTALS.items():
            unseen = 0 if options["account_displayed_op_only"] else hidden[metric]
            below_it = sum(getattr(child, total) for child in children)
            setattr(node, total, values[metric] + below_it + unseen)
        if known is not None and known.shape is not None and counted:
            node.shapes.append(known.shape.as_proto())
        node.children.extend(shown.sort_nodes(children))
        return [node], Counter()

    return walk("", tree, 0)[0][0]


def _by_type(costs: list[_Costs], options: Mapping[str, Any]) -> MultiGraphNodeProto:
    """Build a chain of the types of operations, the most costly first."""
    shown = _Shown(options)
    groups: dict[str, MultiGraphNodeProto] = {}
    for each in costs:
        if not _matches(options["account_type_regexes"], each.kinds):
            continue
        for kind in each.kinds:
            group = groups.setdefault(kind, MultiGraphNodeProto(name=kind))
            group.graph_nodes.append(GraphNodeProto(name=each.name, **each.values))
            for metric, value in each.values.items():
                setattr(group, metric, getattr(group, metric) + value)
    for group in groups.values():
        for metric, total in TOTALS.items():
            setattr(group, total, getattr(group, metric))
    kept = [
        group
        for group in groups.values()
        if shown.shows(group.name, {metric: getattr(group, metric) for metric in METRICS})
        and len(group.graph_nodes) >= options.get("min_occurrence", 0)
    ]
    chain: MultiGraphNodeProto | None = None
    for group in reversed(shown.sort_nodes(kept)):
        _put_before(group, chain)
        chain = group
    root = MultiGraphNodeProto(name=ROOT)
    _put_before(root, chain)
    return root


def _put_before(node: MultiGraphNodeProto, following: MultiGraphNodeProto | None) -> None:
    """Make a node the parent of the rest of the chain."""
    if following is not None:
        node.children.append(following)
        for total in TOTALS.values():
            setattr(node, total, getattr(node, total) + getattr(following, total))


_WORDS = {"float_ops": "float_ops", "params": "parameters", "micros": "exec_micros"}


def _report(root: Any, options: Mapping[str, Any]) -> str:
    """Return the tree as text, one node a line."""
    metrics = [_WORDS[word] for word in options["select"] if word in _WORDS] or ["float_ops"]
    lines = ["node name | " + " | ".join(metrics)]
    chain = isinstance(root, MultiGraphNodeProto)

    def walk(node: Any, depth: int) -> None:
        pairs = [f"{getattr(node, m):,}/{getattr(node, TOTALS[m]):,} {m}" for m in metrics]
        indent = "" if chain else "  " * depth
        lines.append(f"{indent}{node.name} ({', '.join(pairs)})")
        for child in node.children:
            walk(child, depth + 1)

    walk(root, 0)
    return "\n".join(lines) + "\n"


def _put_out(root: Any, options: Mapping[str, Any]) -> None:
    kind, _, rest = options["output"].partition(":")
    if kind == "stdout":
        print(_report(root, options))
    elif kind == "file":
        with open(rest.removeprefix("outfile="), "w", encoding="utf-8") as file:
            file.write(_report(root, options))
    elif kind != "none":
        raise _unimplemented_error(f"output={kind!r}", "tf.profiler.experimental, talweg profile")


def _unimplemented_error(what: str, instead: str) -> UnimplementedError:
    return UnimplementedError(None, None, compose("TW402", what, "none, stdout or file", instead))


@export("compat.v1.profiler.profile")
def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: OpLogProto | None = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | int = 0,
) -> Any:
    """Return the parameters, float operations and times of a graph, as a tree; they are printed,
    too.

    graph: the default graph by default.  run_meta: the `RunMetadata` of a run, for times.  cmd:
    "scope" or "graph" (a GraphNodeProto: by the parts of names) or "op" (a MultiGraphNodeProto: by
    types).  options: from `ProfileOptionBuilder`; trainable variables by default.

    >>> import talweg.compat.v1 as tf
    >>> options = dict(tf.profiler.ProfileOptionBuilder.float_operation(), output="none")
    >>> with tf.Graph().as_default() as graph:
    ...     y = tf.matmul(tf.placeholder(tf.float32, [8, 16]), tf.ones([16, 4]))
    >>> tf.profiler.profile(graph, cmd="op", options=options).total_float_ops
    1024
    """
    graph = graph if graph is not None else get_default_graph()
    given = options if isinstance(options, Mapping) else None
    chosen = {
        **ProfileOptionBuilder().build(),
        **(given or ProfileOptionBuilder.trainable_variables_parameter()),
    }
    if cmd not in ("scope", "graph", "op"):
        if cmd == "code":
            raise _unimplemented_error("cmd='code'", "cmd='scope' or cmd='op'")
        raise invalid("TW207", f"cmd={cmd!r}", "'scope', 'graph' or 'op'")
    costs = _costs_of(graph, run_meta, op_log)
    root = _by_type(costs, chosen) if cmd == "op" else _by_scope(costs, chosen)
    _put_out(root, chosen)
    return root


@export("compat.v1.profiler.advise")
def advise(graph: Any = None, run_meta: Any = None, options: Mapping | int = 0) -> AdviceProto:
    """Report the types of operations that take most of a run's time.

    options: the names of checks, of which "ExpensiveOperationChecker" has something to say.
    """
    times = dict(ProfileOptionBuilder.time_and_memory(), output="none")
    root = profile(graph, run_meta, None, "op", times)
    asked = list(options) if isinstance(options, Mapping) else ["ExpensiveOperationChecker"]
    advice = AdviceProto(checkers={name: Checker() for name in asked})
    lines, node, rank = [], root, 1
    while node.children and rank <= 3:
        node = node.children[0]
        share = 100 * node.exec_micros / max(root.total_exec_micros, 1)
        lines.append(f"top {rank} operation type: {node.name}, {node.exec_micros}us ({share:.2f}%)")
        rank += 1
    if lines and "ExpensiveOperationChecker" in advice.checkers:
        advice.checkers["ExpensiveOperationChecker"].reports.append("\n".join(lines))
    return advice


@export("compat.v1.profiler.write_op_log")
def write_op_log(
    graph: Any, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Write the float operations of a graph, and which variables are trained, as `tfprof_log`.

    add_trace: accepted; lines of programs are not written.
    """
    message = b""
    for each in _costs_of(graph, run_meta, op_log):
        kinds = each.kinds[1:]
        if each.values["float_ops"] or kinds:
            entry = field(1, each.name.encode()) + field(2, each.values["float_ops"])
            message += field(1, entry + b"".join(field(3, kind.encode()) for kind in kinds))
    os.makedirs(log_dir, exist_ok=True)
    with open(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(message)


@export("compat.v1.profiler.Profiler")
class Profiler:
    """Profiles of one graph over several runs.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     v = tf.get_variable("v", [3, 4])
    >>> options = tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
    >>> options["output"] = "none"
    >>> tf.profiler.Profiler(graph).profile_name_scope(options).total_parameters
    12
    """

    def __init__(self, graph: Any = None, op_log: OpLogProto | None = None):
        self._graph = graph if graph is not None else get_default_graph()
        self._op_log = op_log
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Note the `RunMetadata` of a run."""
        self._steps[step] = run_meta

    def _profile(self, options: Mapping[str, Any], cmd: str) -> Any:
        step = options.get("step", -1)
        last = max(self._steps, default=None)
        run_meta = self._steps.get(last if step < 0 else step) if last is not None else None
        return profile(self._graph, run_meta, self._op_log, cmd, options)

    def profile_operations(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """Profile by types of operations."""
        return self._profile(options, "op")

    def profile_name_scope(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """Profile by scopes."""
        return self._profile(options, "scope")

    def profile_graph(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """Profile by operations."""
        return self._profile(options, "graph")

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Raise UnimplementedError: there is no profile by lines of the program."""
        return self._profile(options, "code")

    def advise(self, options: Mapping[str, Any]) -> AdviceProto:
        """Report the types of operations that take most of the last run's time."""
        last = max(self._steps, default=None)
        return advise(self._graph, self._steps[last] if last is not None else None, options)
