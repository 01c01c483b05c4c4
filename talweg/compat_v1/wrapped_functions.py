"""tf.compat.v1.wrap_function: a function that builds a graph of TensorFlow 1, to be called eagerly.

The function runs once, in a graph of its own; its variables become eager ones.  A call (and what
`prune` gives) applies the nodes of that graph again, in the function that is traced then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph
from talweg.core.dim_walks import substitute
from talweg.core.dims import Atom, Dim, of_atom
from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import wrap
from talweg.eager.variable import Variable
from talweg.graph import structure
from talweg.graph.contents import element
from talweg.graph.graph import Graph
from talweg.graph.handle import Handle
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.graph.walk import schedule, sources_of
from talweg.trace.function import Function

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike
    from talweg.graph.node import Node


class Replay:
    """The nodes of a graph, applied again to other values."""

    def __init__(self, graph: Graph, handles: dict[Handle, Variable]):
        self.graph, self.handles = graph, handles

    def __call__(self, fetches: list, feeds: dict) -> list:
        """Return the values of nodes, where `feeds` are given; None for operations."""
        done: dict[Any, Any] = dict(feeds)
        roots = [fetch.node for fetch in fetches]
        for node in schedule(roots, lambda node: () if node in feeds else sources_of(node)):
            if node not in done:
                done[node] = self._apply_node(node, done)
        found = []
        for fetch in fetches:
            value = done[fetch.node]
            found.append(None if isinstance(fetch, Operation) else value)
        return found

    def _apply_node(self, node: Node, done: dict) -> Any:
        name, params = node.prim.name, dict(node.params)
        if name == "constant":
            return wrap(params["value"].array)
        if name == "group":
            return None
        if name == "item":
            return done[node.inputs[0]][params["index"]]
        if name in ("placeholder", "is_initialized"):
            raise value_error(
                "TW501",
                f"'{self.graph.symbol(node).name}' has no value here",
                "a feed for it, in prune(feeds, ...)",
            )
        operands = [done[x] for x in node.operands]
        if name in ("read_variable", "read_or_initial"):
            return self.handles[params["variable"]].read_value()
        if name == "after":
            return operands[0]
        for key, value in params.items():
            if isinstance(value, Handle) and value in self.handles:
                params[key] = self.handles[value].handle
            else:
                params[key] = _with_sizes(value, done)
        return node.prim(*operands, **params)


def _with_sizes(value: Any, done: dict) -> Any:
    """Return a parameter with the sizes of the graph as those of the values made again."""
    if type(value) is tuple:
        return tuple([_with_sizes(part, done) for part in value])

    def replace(atom: Atom) -> Any:
        source = done.get(atom.source)
        if source is None:
            return of_atom(atom)
        if atom.kind == "size":
            return source.dims[atom.place]
        if type(source) is Symbol:
            return element(source.node, atom.place)
        return int(source.numpy().reshape(-1)[atom.place])

    return substitute(value, replace) if type(value) is Dim else value


class WrappedFunction:
    """A graph of TensorFlow 1 as a function: `graph`, `inputs`, `outputs`, `variables`, `prune`."""

    def __init__(self, graph: Graph, inputs: list, outputs: list[Any], replay: Replay, name: str):
        self.graph, self.inputs, self.structured_outputs = graph, inputs, outputs
        self.name, self._replay = name, replay
        self.variables = list(replay.handles.values())
        self.outputs = [x for x in structure.flatten(outputs) if isinstance(x, Symbol)]
        self._function = self._trace(inputs, outputs, name)

    @property
    def trainable_variables(self) -> list:
        """The variables that may be trained."""
        return [v for v in self.variables if v.trainable]

    def _trace(self, feeds: list, fetches: list[Any], name: str) -> Function:
        leaves = structure.flatten(fetches)
        wanted = [leaf for leaf in leaves if isinstance(leaf, (Symbol, Operation))]
        nodes = [feed.node for feed in feeds]

        def run(*values: object) -> Any:
            found = iter(self._replay(wanted, dict(zip(nodes, values))))

            def place(leaf: object) -> Any:
                return next(found) if isinstance(leaf, (Symbol, Operation)) else leaf

            return structure.map_leaves(place, fetches)

        return Function(run, name, autograph=False)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return the results for these arguments,
        in the order of the signature or by their names.
        """
        names = [x.op.name for x in self.inputs]
        given = list(args) + [kwargs[name] for name in names[len(args) :] if name in kwargs]
        if len(given) != len(self.inputs):
            raise TypeError(
                f"{self.name} takes {len(self.inputs)} tensors ({', '.join(names)}), "
                f"not {len(given)}  [TW104]"
            )
        values = [convert_to_tensor(v, x.dtype) for v, x in zip(given, self.inputs)]
        return self._function(*values)

    def prune(
        self,
        feeds: Any,
        fetches: Any,
        name: str | None = None,
        input_signature: Any = None,
    ) -> WrappedFunction:
        """Make the function from some tensors of the graph to others.

        feeds, fetches: nests of tensors (of operations, among the fetches), or their names.
        ValueError for what is not in the graph.

        >>> import talweg.compat.v1 as tf
        >>> def graph():
        ...     x = tf.placeholder(tf.float32, [], name="x")
        ...     tf.square(x, name="y")
        >>> wrapped = tf.wrap_function(graph, [])
        >>> square = wrapped.prune(wrapped.graph.as_graph_element("x:0"), "y:0")
        >>> float(square(tf.constant(3.0)))
        9.0
        """
        flat = [self._element(x) for x in structure.flatten(feeds)]
        wrong = [x for x in flat if not isinstance(x, Symbol)]
        if wrong:
            raise value_error("TW104", f"prune: feeds must be tensors, got {wrong[0]!r}")
        wanted = structure.map_leaves(self._element, fetches)
        label = name or "pruned"
        return WrappedFunction(self.graph, flat, wanted, self._replay, label)

    def _element(self, x: object) -> Any:
        if isinstance(x, (list, tuple)):
            return x
        found = self.graph.as_graph_element(x)
        if found.graph is not self.graph:
            raise value_error("TW501", f"prune: {x!r} is of another graph", "of this function's")
        return found


def _eager_variables(graph: Graph) -> dict[Handle, Variable]:
    """Make eager variables with the initial values of those of a graph."""
    names = ("variables", "local_variables", "trainable_variables")
    collected = [v for name in names for v in graph.get_collection(name)]
    variables = list({id(v): v for v in collected}.values())
    if not variables:
        return {}
    session = look_up("compat.v1.Session")(graph=graph)
    with graph.as_default():
        session.run([v.initializer for v in variables])
        values = session.run(variables)
    session.close()
    return {
        v.handle: Variable(value, trainable=v.trainable, name=v.op.name, dtype=v.dtype)
        for v, value in zip(variables, values)
    }


@export("compat.v1.wrap_function")
def wrap_function(
    fn: Callable[..., Any], signature: Any, name: str | None = None
) -> WrappedFunction:
    """Return a Python function that builds a graph of TensorFlow 1, as a function with its
    variables.

    `fn` runs once, with placeholders of the TensorSpecs in `signature`.  The result can be called;
    its `graph` has what was built, its `variables` are eager, and `prune` gives functions of other
    parts.  So a frozen graph becomes a function: import it in `fn`, then prune.

    >>> import talweg.compat.v1 as tf
    >>> def line(x):
    ...     w = tf.get_variable("w", initializer=2.0)
    ...     return w * x
    >>> f = tf.wrap_function(line, [tf.TensorSpec([], tf.float32)])
    >>> float(f(tf.constant(3.0))), [v.name for v in f.variables]
    (6.0, ['w:0'])
    """
    graph = Graph()
    specs = list(signature or [])
    with graph.as_default():
        make = look_up("compat.v1.placeholder")
        inputs = [_placeholder(make, spec, number) for number, spec in enumerate(specs)]
        outputs = fn(*inputs)
        outputs = structure.map_leaves(_as_symbol, outputs) if outputs is not None else []
    label = name or getattr(fn, "__name__", "wrapped_function")
    return WrappedFunction(graph, inputs, outputs, Replay(graph, _eager_variables(graph)), label)


def _placeholder(make: Callable[..., Any], spec: TensorSpec, place: int) -> Any:
    label = spec.name or f"arg_{place}"
    return make(spec.dtype, spec.shape, name=label)


def _as_symbol(x: TensorLike) -> Any:
    if isinstance(x, (Symbol, Operation)):
        return x
    if hasattr(x, "handle_read"):
        return x.value()
    return default_graph().bring_in(convert_to_tensor(x)) if hasattr(x, "dtype") else x
