"""Symbol: the handle of one result in a graph, which users hold as a `tf.Tensor`.

There is at most one handle for a node at a time, so handles can be compared by identity.  A handle
keeps its node in the graph, and the graph alive; nothing inside a graph keeps a handle.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dims import Dim
from talweg.core.dtypes import DType
from talweg.core.errors import (
    NeedsStaticError,
    OperatorNotAllowedInGraphError,
    compose,
    type_error,
    without_value,
)
from talweg.core.hooks import hooks
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.core.shapes import TensorShape, as_shape, static
from talweg.core.value import Tensor
from talweg.graph.node import Node

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class Symbol(Tensor):
    """A symbolic tensor: it has a dtype and a partly known shape, and no value."""

    __slots__ = ("graph", "node")

    def __init__(self, node: Node, graph: Any):
        self.node, self.graph = node, graph
        node.holders += 1
        node.handle = weakref.ref(self)

    def __del__(self) -> None:
        node = self.node
        node.handle = None
        node.holders -= 1
        if node.holders <= 0:
            node.table.drop(node)

    @property
    def level(self) -> int:  # type: ignore[override]
        """The nesting depth of traces and batches around it."""
        return self.graph.level

    @property
    def interpreter(self) -> Any:  # type: ignore[override]
        """The graph it belongs to."""
        return self.graph

    # -- what is known

    @property
    def aval(self) -> Aval:
        """The abstract value: dimensions, some symbolic, and dtype."""
        return self.node.aval

    @property
    def dims(self) -> tuple:
        dims = self.node.aval.dims
        if dims is None:
            raise NeedsStaticError(
                compose("TW203", f"the rank of {self!r} is not known in the graph")
            )
        return dims

    @property
    def dtype(self) -> DType:
        return self.node.aval.dtype

    @property
    def shape(self) -> TensorShape:
        return static(self.node.aval.dims)

    def set_shape(self, shape: object) -> None:
        """Refine the shape; ValueError if it contradicts what is known."""
        shape = as_shape(shape)
        merged = self.shape.merge_with(shape)
        if merged.rank is None:
            return
        own = self.node.aval.dims or (None,) * merged.rank
        dims = tuple([b if b is not None else a for a, b in zip(own, merged.as_list())])
        self.node.table.refine(self.node, Aval(dims, self.dtype))

    @property
    def _array(self) -> Any:
        """The value of a constant; NeedsStaticError for everything else.

        TypeError where no graph is in force.
        """
        if dispatch.context.base is None:
            self.graph.check_in_force((self,))
        content = constant_of(self.node)
        if content is None:
            raise NeedsStaticError(
                compose("TW104", f"the value of {self!r} is only known when the graph runs")
            )
        return content.array

    # -- names and the graph around it

    @property
    def name(self) -> str:
        """The name ``operation:0``, as in `graph.get_tensor_by_name`."""
        return self.graph.tensor_name(self.node)

    @property
    def op(self) -> Any:
        """The operation that makes it."""
        return self.graph.operation_of(self.node)

    @property
    def value_index(self) -> int:
        """The index among its operation's results."""
        return self.node.params["index"] if self.node.prim.role is Role.PROJECTION else 0

    @property
    def device(self) -> str:
        """The device that was requested, '' if none was."""
        return self.op.device

    def consumers(self) -> list:
        """Return the operations of the graph that use it."""
        return self.graph.consumers_of(self.node)

    def eval(self, feed_dict: object = None, session: object = None) -> Any:
        """Compute the value in `session` or the default session."""
        return hooks.evaluate_in_session(self, feed_dict, session)

    # -- what a graph cannot do

    def _refuse(self, what: str, hint: str = "") -> Exception:
        text = f"{what}: {self!r} is symbolic, it has no value while the graph is built"
        return OperatorNotAllowedInGraphError(compose("TW104", text, hint=hint))

    def __bool__(self) -> bool:
        return self.graph.truth_of(self)

    def __iter__(self) -> Any:
        dims = self.node.aval.dims
        unknown = dims is None or (dims and type(dims[0]) is Dim)
        if unknown or not self.graph.building_function:
            raise self._refuse("Iterating over a tensor", "tf.map_fn, or a loop in a tf.function")
        if not dims:
            raise type_error("TW203", "Cannot iterate over a scalar tensor.", hint="tf.range(x)")
        return iter([self[position] for position in range(dims[0])])

    def __len__(self) -> int:
        raise type_error(
            "TW104",
            f"len is not well defined for the symbolic tensor {self!r}",
            hint="x.shape, or tf.shape(x)[0]",
        )

    @property
    def numpy(self) -> Any:
        """Raise AttributeError: a symbolic tensor has no value."""
        text = f"numpy() is only available when eager execution is enabled: {self!r}"
        cure = "tf.print(x) to see it, tf.py_function to compute with its value in Python"
        raise without_value(AttributeError(compose("TW104", text, hint=cure)))

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> Any:
        text = compose(
            "TW104",
            f"Cannot convert a symbolic tensor ({self!r}) to a NumPy array.",
            hint="keep to tf functions, or wrap the NumPy code in tf.numpy_function",
        )
        raise without_value(NotImplementedError(text))

    def _no_number(self) -> Any:
        text = f"{self!r} is symbolic: it cannot be turned into a Python number"
        raise without_value(TypeError(compose("TW104", text)))

    def __index__(self) -> int:
        content = constant_of(self.node)
        if content is None:
            return self._no_number()
        return content.array.__index__()

    __int__ = __float__ = __complex__ = _no_number  # type: ignore[assignment]

    # -- equality: identity in a graph of TensorFlow 1, elementwise in a trace

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: TensorLike) -> Any:
        if self is other:
            return True if not self.graph.building_function else self._compare(other, "equal")
        if self.graph.building_function:
            return self._compare(other, "equal")
        return False

    def __ne__(self, other: object) -> Any:
        if self.graph.building_function:
            return self._compare(other, "not_equal")
        return self is not other

    def _compare(self, other: object, which: str) -> Any:
        return getattr(hooks, f"{which}_operator")(self, other)

    def __repr__(self) -> str:
        shape = self.shape
        text = "<unknown>" if shape.rank is None else repr(shape.as_tuple())
        return f"<tf.Tensor '{self.name}' shape={text} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = self.shape
        text = "" if shape.rank is None else f", shape={_compact(shape)}"
        return f'Tensor("{self.name}"{text}, dtype={self.dtype.name})'

    def __format__(self, spec: str) -> str:
        return str(self)

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: dict) -> Symbol:
        return self

    def __reduce__(self) -> Any:
        raise type_error("TW104", f"{self!r} belongs to a graph and cannot be pickled")

    def where_made(self) -> str:
        """Return the user's line that made the tensor."""
        return describe(self.node.origin)

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> Any:
        return hooks.convert_to_tensor(self, dtype)


def _compact(shape: TensorShape) -> str:
    sizes = [str(size) for size in shape.as_list()]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def constant_of(node: Node) -> Any:
    """Return the content of a constant node, also of one behind controls; None for any other."""
    if node.prim.role is Role.ORDER:
        node = node.inputs[0]
    return node.params["value"] if node.prim.role is Role.CONSTANT else None
