"""tf.compat.v1.test: Jacobians by differences in sessions, stubs, comparison of GraphDefs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.compat_v1.messages import ConfigProto, RewriterConfig
from talweg.core.errors import type_error, value_error

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike


@export("compat.v1.test.get_temp_dir")
def get_temp_dir() -> str:
    """Return a folder for files of tests."""
    return look_up("test.TestCase")("run").get_temp_dir()


@export("compat.v1.test.test_src_dir_path")
def test_src_dir_path(relative_path: str) -> str:
    """Return a path below the folder where tests run."""
    return os.path.join(
        os.environ.get("TEST_SRCDIR", ""), "org_tensorflow/tensorflow", relative_path
    )


@export("compat.v1.test.assert_equal_graph_def")
def assert_equal_graph_def_v1(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Call `tf.test.assert_equal_graph_def`, with the arguments the other way round."""
    assert_equal_graph_def(expected, actual)


@export("test.assert_equal_graph_def")
def assert_equal_graph_def(expected: Any, actual: Any) -> None:
    """Raise AssertionError unless two GraphDefs have the same nodes, in any order.

    The nodes are found by their names; the orders of control inputs and the versions do not count.
    TypeError for what is no GraphDef.

    >>> import talweg as tf
    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     x = tf.constant(1.0, name="x")
    >>> tf.test.assert_equal_graph_def(graph.as_graph_def(), graph.as_graph_def())
    """
    for name, message in (("expected", expected), ("actual", actual)):
        if not isinstance(message, look_up("compat.v1.GraphDef")):
            raise type_error("TW104", f"{name} is a {type(message).__name__}", "a GraphDef")
    wanted, actual_nodes = _nodes_of(expected), _nodes_of(actual)
    for name, node in actual_nodes.items():
        if name not in wanted:
            raise AssertionError(f"Found unexpected node {name!r}:\n{node}")
    for name, node in wanted.items():
        if name not in actual_nodes:
            raise AssertionError(f"Did not find expected node {name!r}:\n{node}")
        if actual_nodes[name] != node:
            raise AssertionError(
                f"Node {name!r} does not match:\n{actual_nodes[name]}\nexpected:\n{node}"
            )


def _nodes_of(graph: Any) -> dict[str, Any]:
    """Return the nodes of a GraphDef by name, their control inputs in order."""
    nodes = {}
    for node in graph.node:
        copy = type(node)()
        copy.CopyFrom(node)
        data = [name for name in node.input if not name.startswith("^")]
        control = sorted([name for name in node.input if name.startswith("^")])
        copy.ClearField("input")
        copy.input.extend(data + control)
        nodes[node.name] = copy
    return nodes


@export("test.benchmark_config", "compat.v1.test.benchmark_config")
def benchmark_config() -> ConfigProto:
    """Return options for sessions whose runs are timed.

    >>> import talweg as tf
    >>> tf.test.benchmark_config().graph_options.rewrite_options.dependency_optimization
    2
    """
    config = ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = RewriterConfig.OFF
    return config


@export("compat.v1.test.StubOutForTesting")
class StubOutForTesting:
    """Puts other things in the place of attributes, and puts them back.

    >>> import math
    >>> import talweg.compat.v1 as tf
    >>> stubs = tf.test.StubOutForTesting()
    >>> stubs.Set(math, "pi", 3)
    >>> math.pi
    3
    >>> stubs.UnsetAll()
    >>> math.pi > 3
    True
    """

    def __init__(self) -> None:
        self._set: list[tuple] = []

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute."""
        self._set.append((parent, child_name, getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: object, attr_name: str, new_attr: Any) -> None:
        """Replace an attribute; AttributeError if it is not there."""
        self.Set(obj, attr_name, new_attr)

    def UnsetAll(self) -> None:
        """Put all back."""
        for parent, name, old in reversed(self._set):
            setattr(parent, name, old)
        self._set = []

    SmartUnsetAll = UnsetAll
    CleanUp = UnsetAll

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *error: object) -> None:
        self.UnsetAll()


@contextlib.contextmanager
def _session_of_test() -> Iterator[Any]:
    session = look_up("compat.v1.get_default_session")()
    if session is None:
        raise value_error("TW503", "compute_gradient needs a default session", "with Session():")
    yield session


def _check_shape(x: object) -> list:
    return list(x) if isinstance(x, (list, tuple)) else [x]


@export("compat.v1.test.compute_gradient")
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Return (the Jacobian by the graph's gradients, the one by differences) of y by x, [x, y].

    x may be a list of tensors, with lists of shapes and values; then it is a list of pairs.
    """
    if isinstance(x, list):
        values = x_init_value or [None] * len(x)
        return [
            compute_gradient(a, s, y, y_shape, v, delta, init_targets, extra_feed_dict)
            for a, s, v in zip(x, x_shape, values)
        ]
    with _session_of_test() as session:
        for target in init_targets or ():
            session.run(target)
        numpy = x.dtype.as_numpy_dtype
        start = x_init_value
        if start is None:
            start = np.random.default_rng(0).random(tuple(x_shape))
        start = np.asarray(start, numpy)
        feed = dict(extra_feed_dict or {})
        seed = look_up("compat.v1.placeholder")(y.dtype, y_shape)
        (gradient,) = look_up("compat.v1.gradients")(y, x, seed)
        rows, columns = int(np.prod(x_shape)), int(np.prod(y_shape))
        exact, estimated = np.zeros((2, rows, columns))
        for column in range(columns):
            unit = np.zeros(columns, y.dtype.as_numpy_dtype)
            unit[column] = 1
            if gradient is not None:
                column_values = session.run(
                    look_up("convert_to_tensor")(gradient),
                    {**feed, x: start, seed: unit.reshape(tuple(y_shape))},
                )
                exact[:, column] = np.asarray(column_values).reshape(-1)
        for row in range(rows):
            high, low = start.copy(), start.copy()
            high.reshape(-1)[row] += delta
            low.reshape(-1)[row] -= delta
            above, below = (session.run(y, {**feed, x: value}) for value in (high, low))
            estimated[row] = (np.asarray(above) - np.asarray(below)).reshape(-1) / (2 * delta)
    return exact.astype(numpy), estimated.astype(numpy)


@export("compat.v1.test.compute_gradient_error")
def compute_gradient_error(
    x: TensorLike,
    x_shape: ShapeLike,
    y: TensorLike,
    y_shape: ShapeLike,
    x_init_value: np.ndarray | None = None,
    delta: float = 1e-3,
    init_targets: Sequence[Any] | None = None,
    extra_feed_dict: Any = None,
) -> float:
    """Return the largest difference between the two Jacobians of `compute_gradient`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.placeholder(tf.float64, [2])
    ...     tf.test.compute_gradient_error(x, [2], x * x, [2]) < 1e-6
    True
    """
    jacobians = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = jacobians if isinstance(jacobians, list) else [jacobians]
    return max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in pairs)
