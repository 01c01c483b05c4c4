"""tf.compat.v1.Session: runs fetches of a graph, and holds the values of its variables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.export import export, operation
from talweg.api.v1.graphs import default_graph
from talweg.core import dispatch
from talweg.core.dims import Dim
from talweg.core.errors import compose, invalid, type_error, value_error
from talweg.core.provenance import describe
from talweg.core.value import OPERATIONS, IndexedSlices
from talweg.eager.convert import to_array
from talweg.eager.graph_variable import GraphVariable
from talweg.execute import interpret
from talweg.graph import structure
from talweg.graph.graph import Graph
from talweg.graph.node import Node
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.passes.functionalize import Program, UnfedError, functionalize

PLANS = 64  # programs a session keeps


class _Default(threading.local):
    """The sessions entered in this thread."""

    def __init__(self) -> None:
        self.stack: list = []


_default = _Default()


@export("compat.v1.get_default_session")
def get_default_session() -> Any:
    """The session entered last in this thread; None if there is none."""
    return _default.stack[-1] if _default.stack else None


@export("compat.v1.Session")
class Session:
    """Runs parts of a graph (`tf.compat.v1.Session`).

    `target` and `config` are accepted.  The values of variables belong to the session.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None])
    ...     y = x * 2.0
    ...     with tf.Session() as session:
    ...         session.run(y, {x: [1.0, 2.0]})
    array([2., 4.], dtype=float32)
    """

    def __init__(self, target: str = "", graph: Any = None, config: Any = None):
        if graph is None:
            graph = default_graph()
        if not isinstance(graph, Graph):
            raise type_error("TW503", f"graph must be a tf.Graph, but got {type(graph)}")
        self._graph: Any = graph
        self._config = config
        self._state: dict[Any, Any] = {}  # handle of a variable -> array
        self._plans: dict[tuple, tuple] = {}
        self._closed = False
        self._lock = threading.RLock()
        self._contexts: list = []

    # -- around it

    @property
    def graph(self) -> Graph:
        """The graph it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef message."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> bytes:
        """The target; always empty."""
        return b""

    def as_default(self) -> Any:
        """A context in which `eval` and `run` of tensors and operations use this session."""
        return _AsDefault(self)

    def __enter__(self) -> Session:
        context = self._graph.as_default()
        context.__enter__()
        self._contexts.append(context)
        _default.stack.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _default.stack.remove(self)
        self._contexts.pop().__exit__(*error)
        self.close()

    def close(self) -> None:
        """Let go of all values; nothing can be run any more."""
        self._closed = True
        self._state.clear()
        self._plans.clear()

    def list_devices(self) -> list:
        """The devices there are: one CPU."""
        return []

    # -- running

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """The values of `fetches`: a tensor, operation, variable, name, or a nest of these.

        `feed_dict` maps tensors to values that stand in for them.  Operations give None.
        RuntimeError on a closed session, TypeError or ValueError for what cannot be fetched or fed,
        InvalidArgumentError for placeholders that were not fed, FailedPreconditionError for
        variables without a value.
        """
        if self._closed:
            raise RuntimeError(compose("TW503", "Attempted to use a closed Session."))
        fetch = fetched(self._graph, fetches)
        fed, arrays = self._feeds(feed_dict) if feed_dict else ((), [])
        plan = self._plan(fetch.nodes, fed)
        values = self._execute(plan, arrays)
        if run_metadata is not None:
            OPERATIONS["run_statistics"](run_metadata, plan)
        return fetch.build(values)

    def _feeds(self, feed_dict: dict) -> tuple[tuple, list]:
        nodes, arrays = [], []
        for key, value in feed_dict.items():
            for part, given in _expanded(self._graph, key, value):
                nodes.append(part.node)
                arrays.append(_fed_array(part, given))
        return tuple(nodes), arrays

    def _plan(self, nodes: tuple, fed: tuple) -> Program:
        key = (nodes, fed)
        found = self._plans.get(tuple(map(id, nodes)) + (None, *map(id, fed)))
        if found is not None and found[0] == key:
            return found[1]
        try:
            program = functionalize(nodes, fed)
        except UnfedError as error:
            raise _unfed(error.node, self._graph) from None
        if len(self._plans) >= PLANS:
            self._plans.pop(next(iter(self._plans)))
        self._plans[tuple(map(id, nodes)) + (None, *map(id, fed))] = (key, program)
        return program

    def _execute(self, program: Program, arrays: list) -> list:
        base, recorders = dispatch.context.base, dispatch.context.recorders
        dispatch.context.base, dispatch.context.recorders = None, ()
        try:
            if not program.starts:
                return interpret.run(program, arrays, {})
            with self._lock:
                state = {v: self._state.get(v, interpret.MISSING) for v in program.starts}
                values = interpret.run(program, arrays, state)
                for variable in program.writes:
                    self._state[variable] = own_copy(state[variable], arrays)
                return values
        finally:
            dispatch.context.base, dispatch.context.recorders = base, recorders

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of `feed_list` that gives the values of `fetches`."""
        feed_list = list(feed_list or ())

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(values) != len(feed_list):
                raise TypeError(
                    f"this callable takes {len(feed_list)} values, {len(values)} were given  [TW503]"
                )
            return self.run(fetches, dict(zip(feed_list, values)), options, run_metadata)

        return call

    def load(self, variable: GraphVariable, value: Any) -> None:
        """Give a variable a value."""
        array = np.asarray(to_array(value, variable.dtype))
        if not variable.shape.is_compatible_with(array.shape):
            raise value_error(
                "TW204", f"cannot load a value of shape {array.shape} into {variable!r}"
            )
        self._state[variable.handle] = np.array(array)[()]


class _AsDefault:
    """The context of `Session.as_default`."""

    def __init__(self, session: Session):
        self._session = session
        self._context: Any = None

    def __enter__(self) -> Session:
        self._context = self._session.graph.as_default()
        self._context.__enter__()
        _default.stack.append(self._session)
        return self._session

    def __exit__(self, *error: Any) -> None:
        _default.stack.remove(self._session)
        self._context.__exit__(*error)


@export("compat.v1.InteractiveSession")
class InteractiveSession(Session):
    """A session that is the default one from when it is made until it is closed."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None):
        super().__init__(target, graph, config)
        _default.stack.append(self)

    def close(self) -> None:
        """Let go of all values, and be the default session no more."""
        if self in _default.stack:
            _default.stack.remove(self)
        super().close()


# -- fetches


class Fetch:
    """What to run, and how the results go back into the structure asked for."""

    __slots__ = ("_build", "nodes")

    def __init__(self, nodes: tuple, build: Callable[[list], Any]):
        self.nodes, self._build = nodes, build

    def build(self, values: list) -> Any:
        """The results in the structure of the fetches."""
        return self._build(values)


def fetched(graph: Graph, fetches: Any) -> Fetch:
    """The nodes of a nest of fetches."""
    if type(fetches) is Symbol and fetches.node.table is graph.table:
        return Fetch((fetches.node,), lambda values: result_of(values[0]))
    leaves = _leaves(fetches)
    nodes: list[Node] = []
    places: list = []
    for leaf in leaves:
        parts, kind = _fetch_leaf(graph, leaf)
        places.append((kind, len(nodes), len(parts), leaf))
        nodes.extend(parts)

    def build(values: list) -> Any:
        found = [_leaf_value(values[start : start + count], kind, leaf)
                 for kind, start, count, leaf in places]  # fmt: skip
        return _rebuilt(fetches, iter(found))

    return Fetch(tuple(nodes), build)


def _leaves(fetches: Any) -> list:
    if isinstance(fetches, dict):
        return [leaf for value in fetches.values() for leaf in _leaves(value)]
    if isinstance(fetches, (list, tuple)):
        return [leaf for value in fetches for leaf in _leaves(value)]
    return [fetches]


def _rebuilt(fetches: Any, values: Any) -> Any:
    if isinstance(fetches, dict):
        pairs = [(key, _rebuilt(value, values)) for key, value in fetches.items()]
        return type(fetches)(pairs) if type(fetches) is not dict else dict(pairs)
    if structure.is_namedtuple(fetches):
        return type(fetches)(*[_rebuilt(value, values) for value in fetches])
    if isinstance(fetches, (list, tuple)):
        return type(fetches)([_rebuilt(value, values) for value in fetches])
    return next(values)


def _fetch_leaf(graph: Graph, leaf: Any) -> tuple[list, str]:
    if leaf is None:
        raise type_error("TW503", "Fetch argument None has invalid type <class 'NoneType'>")
    if isinstance(leaf, (str, bytes)):
        leaf = graph.as_graph_element(leaf)
    if isinstance(leaf, GraphVariable):
        with graph.control_dependencies(None):
            return [_own(graph, graph.read_variable(leaf.handle))], "value"
    if type(leaf) is Symbol:
        return [_own(graph, leaf)], "value"
    if isinstance(leaf, Operation):
        _own(graph, leaf)
        return [leaf.node], "none"
    if hasattr(leaf, "_flat_components"):
        return [_own(graph, part) for part in leaf._flat_components()], "composite"
    if hasattr(leaf, "fetch_as_graph_element"):
        return _fetch_leaf(graph, leaf.fetch_as_graph_element())
    raise type_error(
        "TW503",
        f"Fetch argument {leaf!r} has invalid type {type(leaf)}, must be a string or Tensor.",
        "a tensor, an operation, a variable, a name, or a nest of these",
    )


def _own(graph: Graph, value: Any) -> Node:
    if value.node.table is not graph.table:
        raise value_error(
            "TW503",
            f"Fetch argument {value!r} cannot be interpreted as a Tensor. ({value!r} is not an "
            f"element of this graph; it was made at {describe(value.node.origin)})",
            "a tensor of the session's graph",
        )
    return value.node


def _leaf_value(values: list, kind: str, leaf: Any) -> Any:
    if kind == "none":
        return None
    if kind == "value":
        return result_of(values[0])
    return OPERATIONS["composite_value"](leaf, [result_of(value) for value in values])


def result_of(value: Any) -> Any:
    """A result as the user gets it: an array of its own, a NumPy scalar for rank 0."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        return np.array(value)
    return value


def own_copy(value: Any, fed: list) -> Any:
    """A variable's new value, in memory that nobody else has."""
    if isinstance(value, np.ndarray):
        if not value.flags.owndata or any(value is array for array in fed):
            return np.array(value)
    return value


# -- feeds


def _expanded(graph: Graph, key: Any, value: Any) -> list:
    """The tensors a key of `feed_dict` stands for, with their values."""
    if isinstance(key, (str, bytes)):
        key = graph.as_graph_element(key)
    if isinstance(key, GraphVariable):
        key = graph.read_variable(key.handle)
    if isinstance(key, (tuple, list)):
        return [pair for k, v in zip(key, value) for pair in _expanded(graph, k, v)]
    if hasattr(key, "_flat_components"):
        parts = key._flat_components()
        given = value._flat_components() if hasattr(value, "_flat_components") else list(value)
        if isinstance(value, IndexedSlices):
            given = [value.values, value.indices, value.dense_shape][: len(parts)]
        return list(zip(parts, given))
    if type(key) is not Symbol:
        raise type_error(
            "TW504", f"Cannot interpret feed_dict key as Tensor: {key!r} of type {type(key)}"
        )
    if key.node.table is not graph.table:
        raise type_error(
            "TW504",
            f"Cannot interpret feed_dict key as Tensor: Tensor {key!r} is not an element of this "
            "graph.",
        )
    return [(key, value)]


def _fed_array(symbol: Symbol, value: Any) -> Any:
    """A fed value as an array of the tensor's dtype and shape."""
    if type(value) is Symbol or isinstance(value, GraphVariable):
        raise type_error(
            "TW504",
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles.",
        )
    aval = symbol.aval
    kind = aval.dtype.numpy_dtype
    if type(value) is np.ndarray and value.dtype == kind and kind != object:
        array = value
    else:
        array = _converted(symbol, value)
    dims = aval.dims
    if dims is not None:
        shape = array.shape
        if len(shape) != len(dims) or any(
            type(d) is not Dim and d != n for d, n in zip(dims, shape)
        ):
            raise value_error(
                "TW504",
                f"Cannot feed value of shape {shape} for Tensor {symbol.name}, which has shape "
                f"{symbol.shape} (made at {describe(symbol.node.origin)})",
            )
    return array


def _converted(symbol: Symbol, value: Any) -> Any:
    dtype = symbol.dtype
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if dtype.is_integer and not dtype.min <= int(value) <= dtype.max:
            raise type_error(
                "TW504", f"Type of feed value {value} with type {type(value)} is not compatible "
                f"with Tensor type {dtype.numpy_dtype}",
            )  # fmt: skip
    try:
        if dtype.name == "string":
            return np.asarray(to_array(np.asarray(value, object), dtype))
        return np.asarray(value, dtype=dtype.numpy_dtype)
    except (TypeError, ValueError) as error:
        raise value_error(
            "TW504",
            f"Cannot feed {value!r} for Tensor {symbol.name} of dtype {dtype.name}: {error}",
        ) from None


def _unfed(node: Node, graph: Graph) -> Exception:
    name = graph.operation_name(node)
    shape = node.aval.shape
    return invalid(
        "TW504",
        f"You must feed a value for placeholder tensor '{name}' with dtype "
        f"{node.aval.dtype.name} and shape {shape} (made at {describe(node.origin)})",
        hint=f"session.run(..., feed_dict={{{name}: value}})",
    )


@operation("evaluate_in_session")
def evaluate_in_session(value: Any, feed_dict: Any, session: Any) -> Any:
    """`value` run in `session` or the default session; ValueError if there is none."""
    session = session or get_default_session()
    if session is None:
        raise value_error(
            "TW503",
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to `eval(session=sess)`",
        )
    if session.graph.table is not value.graph.table:
        raise value_error(
            "TW503", "Cannot use the given session to evaluate tensor: the tensor's graph is "
            "different from the session's graph.",
        )  # fmt: skip
    return session.run(value, feed_dict)


@operation("load_in_session")
def load_in_session(variable: GraphVariable, value: Any, session: Any) -> None:
    """Give a variable a value in `session` or the default session."""
    session = session or get_default_session()
    if session is None:
        raise value_error("TW503", "load: no default session is registered", "session=...")
    session.load(variable, value)
