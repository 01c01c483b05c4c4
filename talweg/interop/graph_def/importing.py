"""`tf.import_graph_def`: a GraphDef becomes nodes of the graph in force."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.graphs import default_graph
from talweg.core.errors import type_error, value_error
from talweg.eager.convert import convert_to_tensor
from talweg.eager.graph_variable import GraphVariable
from talweg.graph.attempts import attempt_on
from talweg.graph.symbol import Symbol
from talweg.interop.graph_def import (
    reading,
    rules_basic,
    rules_calls,
    rules_lists,
    rules_more,
    rules_optimizers,
    rules_random,
    rules_state,
    rules_summaries,
    rules_tables,
    rules_xla,
)
from talweg.interop.graph_def.building import GraphBuilder
from talweg.interop.graph_def.messages import GraphDef
from talweg.interop.graph_def.regions import Planner, Regions
from talweg.interop.graph_def.scopes import ImportScope, Namer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.graph.graph import Graph

RULES = (  # imported for what they register
    rules_basic,
    rules_calls,
    rules_lists,
    rules_more,
    rules_optimizers,
    rules_random,
    rules_state,
    rules_summaries,
    rules_tables,
    rules_xla,
)


@export(
    "graph_util.import_graph_def",
    "import_graph_def",
    "compat.v1.import_graph_def",
    "compat.v1.graph_util.import_graph_def",
)
@as_it_is
def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Mapping[str, Any] | None = None,
    producer_op_list: object = None,
) -> Any:
    """Add the nodes of `graph_def` to the default graph, their names under `name` ("import").

    `input_map` maps names of tensors of `graph_def` to tensors that take their place;
    `return_elements` are names of tensors ("y:0") and operations ("y") to return, as a list.
    Branches and loops of both generations are rebuilt, as tf.cond and tf.while_loop make them.

    TypeError if `graph_def` is no GraphDef, or names are no strings.  ValueError for nodes that do
    not hold together, and names that are not there; NotFoundError for unknown types of operation;
    UnimplementedError for what talweg cannot do.  All of them name the node, and leave the graph as
    it was.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     y = tf.negative(tf.placeholder(tf.float32, [2], name="x"), name="y")
    >>> with tf.Graph().as_default():
    ...     (z,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["y:0"])
    ...     tf.Session().run(z, {"import/x:0": [1.0, 2.0]})
    array([-1., -2.], dtype=float32)
    """
    return import_into(graph_def, input_map, return_elements, name)[0]


def import_into(
    graph_def: Any,
    input_map: object = None,
    return_elements: object = None,
    name: str | None = None,
    variables: Sequence[Any] = (),
) -> tuple[Any, str]:
    """Import a GraphDef into the default graph: (the result of `import_graph_def`, the names'
    prefix).

    `variables` are functions of the prefix and the nodes that give variables, which are to be those
    of their names in the graph.
    """
    graph_def = check_message(graph_def)
    wanted = _check_names(return_elements)
    graph = default_graph()
    functions = {part.signature.name: part for part in graph_def.library.function}
    items = reading.items_of(graph_def, functions)
    _check_wanted(wanted, items)
    with attempt_on(graph), graph.as_default(), graph.control_dependencies(None):
        builder = GraphBuilder(functions)
        builder.mapped = _map_inputs(input_map, items)
        prefix = "" if name == "" else graph.inner_scope(name or "import")
        builder.present = {
            **variables_of(graph),
            **{f"{prefix}{key}": make(prefix, items) for key, make in variables},
        }
        builder.namer = Namer(graph, prefix)
        builder.namer.check(items)
        scope = ImportScope()
        regions = Regions(items)
        top = [item.name for item in items.values() if regions.paths[item.name] == ()]
        with _outside(graph):
            builder.region(Planner(regions), (), top, scope)
        graph.extras["imported"] = True  # it is written with its arrays, too
        if wanted is None:
            return None, prefix
        return [_element(graph, text, items, scope, prefix) for text in wanted], prefix


@contextlib.contextmanager
def _outside(graph: Graph) -> Iterator[None]:
    """Leave all name scopes: imported names are whole."""
    before, graph.scope = graph.scope, ""
    try:
        yield
    finally:
        graph.scope = before


def check_message(graph_def: Any) -> Any:
    """Check that `graph_def` is a GraphDef; TypeError otherwise."""
    if isinstance(graph_def, GraphDef):
        return graph_def
    descriptor = getattr(graph_def, "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", "").endswith(".GraphDef"):
        copied = GraphDef()
        copied.ParseFromString(graph_def.SerializeToString())
        return copied
    raise type_error(
        "TW506", f"Argument `graph_def` must be a GraphDef proto, got {type(graph_def).__name__}"
    )


def variables_of(graph: Graph) -> dict[str, Any]:
    """Return the variables of a graph by name."""
    found = {}
    for members in list(graph.collections.values()):
        for value in members:
            if isinstance(value, GraphVariable):
                found[value.name.partition(":")[0]] = value
    return found


def _check_names(names: object) -> list | None:
    if names is None:
        return None
    if not isinstance(names, (list, tuple)):
        raise type_error("TW104", "Argument `return_elements` must be an iterable of strings")
    for name in names:
        if not isinstance(name, str):
            raise type_error(
                "TW104", f"Argument `return_elements` must be an iterable of strings, not {name!r}"
            )
    return list(names)


def _check_wanted(wanted: list | None, items: dict) -> None:
    for text in wanted or ():
        name, colon, number = text.partition(":")
        item = items.get(name)
        if item is None or colon and not number.isdigit():
            raise value_error("TW506", f"Requested return_element {text!r} not found in graph_def.")
        if colon and int(number) >= item.output_count():
            raise value_error(
                "TW506",
                f"Requested return_element {text!r}: {name!r} has {item.output_count()} outputs",
            )


def _map_inputs(input_map: object, items: dict) -> dict:
    """Map tensors of the GraphDef to their substitutes; ValueError for names that it has not."""
    if not input_map:
        return {}
    if not isinstance(input_map, dict) or not all(isinstance(key, str) for key in input_map):
        raise type_error(
            "TW104", "Argument `input_map` must be a dictionary mapping strings to Tensors"
        )
    used = {reference for item in items.values() for reference in item.inputs}
    replacements, missing = {}, []
    for key, value in input_map.items():
        name, _, number = key.lstrip("^").partition(":")
        reference = (name, int(number) if number.isdigit() else 0)
        if reference not in used and name not in items:
            missing.append(key)
            continue
        if not isinstance(value, Symbol):
            converted = convert_to_tensor(value)
            value = (
                converted
                if isinstance(converted, Symbol)
                else (default_graph().bring_in(converted))
            )
        replacements[reference] = value
    if missing:
        raise value_error(
            "TW506",
            f"Attempted to map inputs that were not found in graph_def: {sorted(missing)}",
        )
    return replacements


def _element(graph: Graph, text: str, items: dict, scope: ImportScope, prefix: str) -> Any:
    name, colon, number = text.partition(":")
    if name not in scope.done:
        raise value_error("TW506", f"return_element {text!r} lies inside a branch or a loop")
    if not colon:
        return graph.get_operation_by_name(f"{prefix}{name}")
    found = scope.values.get((name, int(number)))
    return found if isinstance(found, Symbol) else found.read()
