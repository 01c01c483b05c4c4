"""tf.compat.v1.Session: runs fetches of a graph, and holds the values of its variables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.export import export, implement_hook, runs_graphs
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.messages import ConfigProto
from talweg.compat_v1.sessions.devices import check_devices
from talweg.compat_v1.sessions.feeds import feeds, missing_feed_error
from talweg.compat_v1.sessions.fetches import collect_fetches, result_of
from talweg.compat_v1.sessions.independent_calls import IndependentCalls, plan_of
from talweg.compat_v1.sessions.state import SessionState, SessionVariables
from talweg.compat_v1.statistics import DEVICE, Watch, report
from talweg.core import dispatch
from talweg.core.dropping import drop_oldest
from talweg.core.errors import OpError, compose, type_error, value_error
from talweg.core.locking import holding, new_lock
from talweg.core.provenance import describe
from talweg.eager.convert import to_array
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.long_runs import PendingUpdate
from talweg.execute import executor
from talweg.graph.graph import Graph
from talweg.graph.symbol import Symbol
from talweg.passes.functionalize import Program, UnfedError, functionalize

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

PLANS = 64  # programs a session keeps


class _Default(threading.local):
    """The sessions entered in this thread."""

    def __init__(self) -> None:
        self.stack: list = []


_default = _Default()


def _leave(session: Session) -> None:
    """Take the session off this thread's stack; AssertionError if it is not the innermost."""
    if not _default.stack or _default.stack[-1] is not session:
        if session in _default.stack:
            _default.stack.remove(session)
        raise AssertionError(
            compose("TW503", "Nesting violated for default stack of tf.Session objects")
        )
    _default.stack.pop()


@implement_hook("get_default_session")
@export("compat.v1.get_default_session")
def get_default_session() -> Any:
    """Return the session entered last in this thread; None if there is none.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     tf.get_default_session() is session
    True
    """
    return _default.stack[-1] if _default.stack else None


class DeviceAttributes(NamedTuple):
    """A device of a session."""

    name: str = DEVICE
    device_type: str = "CPU"
    memory_limit_bytes: int = 268435456
    incarnation: int = 1


@export("compat.v1.Session")
class Session:
    """Runs parts of a graph (`tf.compat.v1.Session`).

    The values of variables belong to the session, and go when it is closed.  `target` (a string)
    and `config` (a ConfigProto) are accepted; TypeError for other things.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None])
    ...     y = x * 2.0
    ...     with tf.Session() as session:
    ...         session.run(y, {x: [1.0, 2.0]})
    array([2., 4.], dtype=float32)
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None):
        if graph is None:
            graph = default_graph()
        if not isinstance(graph, Graph):
            raise type_error("TW503", f"graph must be a tf.Graph, but got {type(graph)}")
        if not isinstance(target, (str, bytes)):
            raise type_error("TW503", f"target must be a string, but got {type(target)}")
        if not (
            config is None
            or isinstance(config, ConfigProto)
            or hasattr(config, "SerializeToString")
        ):
            raise type_error("TW503", f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph: Any = graph
        self._config = config
        self._state = SessionVariables()
        self._iterators: dict[Any, Any] = {}  # iterators of the graph -> where they are
        self._plans: dict[Any, Program] = {}
        self._closed = False
        self._planning = new_lock()
        self._contexts: list = []
        if dispatch.state.observer is not None:
            dispatch.state.observer.session_made(self)

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
        """Return a context in which `eval` and `run` of tensors and operations use this session."""
        return _AsDefault(self)

    def __enter__(self) -> Session:
        context = self._graph.as_default()
        context.__enter__()
        self._contexts.append(context)
        _default.stack.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        context = self._contexts.pop()
        try:
            _leave(self)
            context.__exit__(*error)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of all values; nothing can be run any more."""
        self._closed = True
        self._state.clear()
        self._iterators.clear()
        self._plans.clear()

    @staticmethod
    def reset(target: str, containers: Any = None, config: object = None) -> None:
        """Do nothing: no values outlive their session."""

    def list_devices(self) -> list:
        """Return the devices there are: one CPU."""
        return [DeviceAttributes()]

    # -- running

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Compute the values of `fetches`: a tensor, operation, variable, name, or a nest of
        these.

        `feed_dict` maps tensors to values that stand in for them.  Operations give None.
        RuntimeError on a closed session, TypeError or ValueError for what cannot be fetched or fed,
        InvalidArgumentError for placeholders that were not fed, FailedPreconditionError for
        variables without a value.
        """
        graph = self._graph
        if self._closed:
            raise RuntimeError(compose("TW503", "Attempted to use a closed Session."))
        if not graph.table.built:
            raise RuntimeError(
                compose(
                    "TW503",
                    "The Session graph is empty. Add operations to the graph before calling run().",
                )
            )
        if type(fetches) is Symbol and fetches.node.table is graph.table and not graph._unfetchable:
            fetch = None
            nodes: tuple = (fetches.node,)
        else:
            fetch = collect_fetches(graph, fetches)
            nodes = fetch.nodes
        fed, arrays = feeds(graph, feed_dict) if feed_dict else ((), [])
        watch = None if run_metadata is None else _watch(options)
        values = self._values(nodes, fed, arrays, watch, run_metadata)
        return values[0] if fetch is None else fetch.build(values)

    def _values(
        self, nodes: tuple, fed: tuple, arrays: list, watch: Watch | None, metadata: object
    ) -> list:
        """Compute the values of nodes, as the user gets them."""
        if nodes:
            plan = self._plan(nodes, fed)
            values = [result_of(value) for value in self._execute(plan, fed, arrays, watch)]
        else:
            values = []
        if fed:
            given = dict(zip(fed, arrays))
            values = [
                np.array(given[node]) if node in given else value
                for node, value in zip(nodes, values)
            ]
        if watch is not None:
            report(metadata, watch, self._graph)
        if dispatch.state.observer is not None:
            program = self._plan(nodes, fed) if nodes else None
            dispatch.state.observer.session_ran(self, program, arrays, values)
        return values

    def report(self, fetches: object, feeds: Any = ()) -> list[str]:
        """Report the steps that run otherwise than they were written: shared work, factored
        products.

        `feeds` are the tensors that would be fed.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     x, a, b = (tf.placeholder(tf.float32, [3, 3]) for _ in range(3))
        ...     y = x @ a + x @ b
        ...     tf.Session().report(y, [x, a, b])[0].split(":")[0]
        'x @ A + x @ B runs as x @ (A + B)'
        """
        fed = tuple([self._graph.as_graph_element(key).node for key in feeds])
        plan = self._plan(collect_fetches(self._graph, fetches).nodes, fed)
        steps = {step.node for step in plan.steps}
        table = self._graph.table
        shared = [node for node in table.asked if node in steps]
        return plan.notes + [
            f"{self._graph.operation_name(node)}, asked for {table.asked[node]} times, runs once: "
            f"{describe(node.origin)}"
            for node in shared
        ]

    def _plan(self, nodes: tuple, fed: tuple) -> Program:
        """Return the program of these fetches and feeds, made on first use."""
        key = (nodes, fed)
        found = self._plans.get(key)
        if found is not None:
            return found
        check_devices(self._graph, self._config)
        try:
            program = functionalize(nodes, fed)
        except UnfedError as error:
            raise missing_feed_error(error.node, self._graph) from None
        with self._planning:
            if len(self._plans) >= PLANS:
                drop_oldest(self._plans)
            return self._plans.setdefault(key, program)

    def _execute(
        self, program: Program, fed: tuple, arrays: list, watch: Watch | None = None
    ) -> list:
        context = dispatch.context
        base, recorders, running = context.base, context.recorders, context.running
        context.base, context.recorders, context.running = None, (), self._iterators
        try:
            if program.calls_python and self._calls_of(program, fed) is not None:
                state = SessionState(self._state, arrays)
                with IndependentCalls(program.calls, fed, arrays, state):
                    return self._run_program(program, arrays, watch)
            return self._run_program(program, arrays, watch)
        except OpError as error:
            node = getattr(error, "talweg_node", None)
            if node is not None and node.table is self._graph.table:
                error._op = self._graph.operation_of(node)
            raise
        finally:
            context.base, context.recorders, context.running = base, recorders, running

    def _calls_of(self, program: Program, fed: tuple) -> Any:
        """Return the calls of Python of a program, where they may wait for each other."""
        if program.calls is False:
            program.calls = plan_of(program, fed)
        return program.calls

    def _run_program(self, program: Program, arrays: list, watch: Watch | None) -> list:
        """Run a program on the values of variables; what was written stays after a failure."""
        if not program.starts:
            return executor.run(program, list(arrays), {}, watch)
        state = SessionState(self._state, arrays)
        if not program.changes:
            return executor.run(program, list(arrays), state, watch)
        with PendingUpdate(program, program.changes, state) as held:
            return executor.run(program, list(arrays), held, watch)

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Make a function of the values of `feed_list` that gives the values of `fetches`."""
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise type_error("TW503", "Argument `feed_list` must be a list or tuple.")
        keys = [self._graph.as_graph_element(key, allow_operation=False) for key in feed_list or ()]
        collect_fetches(self._graph, fetches)  # so that what cannot be fetched is refused now

        def call(
            *values: object, options: dict[Any, Any] | None = None, run_metadata: Any = None
        ) -> Any:
            if len(values) != len(keys):
                raise value_error(
                    "TW503", f"this callable takes {len(keys)} values, {len(values)} were given"
                )
            return self.run(fetches, dict(zip(keys, values)), options, run_metadata)

        return call

    def _make_callable_from_options(self, callable_options: Any) -> Callable[..., Any]:
        """Make a function of feeds by a message `CallableOptions` (private; Keras 2 calls it).

        Fetches are a list; targets run; tensors of the graph are fed through its connections.
        """
        targets = [self._graph.as_graph_element(name) for name in callable_options.target]
        fetches = [list(callable_options.fetch), targets]
        connections = list(callable_options.tensor_connection)
        keys = [*callable_options.feed, *[each.to_tensor for each in connections]]
        run, options = self.make_callable(fetches, keys), callable_options.run_options

        def call(*values: object, run_metadata: Any = None) -> list:
            connected = self.run([each.from_tensor for each in connections]) if connections else ()
            return run(*values, *connected, options=options, run_metadata=run_metadata)[0]

        return call

    def load(self, variable: GraphVariable, value: TensorLike) -> None:
        """Give a variable a value; ValueError if the shape does not fit."""
        array = np.asarray(to_array(value, variable.dtype))
        if not variable.shape.is_compatible_with(array.shape):
            raise value_error(
                "TW204", f"cannot load a value of shape {array.shape} into {variable!r}"
            )
        with holding(self._state.owner(variable.handle)):
            self._state[variable.handle] = np.array(array)[()]


def _watch(options: object) -> Watch | None:
    """Make the watch that times a run, if statistics are asked for."""
    return Watch() if getattr(options, "trace_level", 0) else None


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

    def __exit__(self, *error: object) -> None:
        try:
            _leave(self._session)
        finally:
            self._context.__exit__(*error)


@export("compat.v1.InteractiveSession")
class InteractiveSession(Session):
    """A session that is the default one from when it is made until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None):
        super().__init__(target, graph, config)
        _default.stack.append(self)

    def close(self) -> None:
        """Let go of all values, and be the default session no more."""
        if self in _default.stack:
            _default.stack.remove(self)
        super().close()


@implement_hook("evaluate_in_session")
@runs_graphs
def evaluate_in_session(value: TensorLike, feed_dict: object, session: Session) -> Any:
    """Evaluate `value` in `session` or the default session; ValueError if there is none."""
    session = session or get_default_session()
    if session is None:
        raise value_error(
            "TW503",
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to `eval(session=sess)`",
        )
    if session.graph.table is not value.graph.table:
        raise value_error(
            "TW503",
            "Cannot use the given session to evaluate tensor: the tensor's graph is "
            "different from the session's graph.",
        )
    return session.run(value, feed_dict)


@implement_hook("load_in_session")
@runs_graphs
def load_in_session(variable: GraphVariable, value: np.ndarray, session: Session) -> None:
    """Give a variable a value in `session` or the default session."""
    session = session or get_default_session()
    if session is None:
        raise value_error("TW503", "load: no default session is registered", "session=...")
    session.load(variable, value)
