"""Layer: the base of tf.compat.v1.layers and of users' own layers.

A layer makes its variables at its first call, in a variable scope of its own, and uses them in all
later calls.  A function such as `tf.layers.dense` makes a layer and calls it once; the variables
are shared by name, through variable scopes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.api.math.arithmetic import add
from talweg.compat_v1.variable_scopes import get_variable, variable_scope
from talweg.compat_v1.variable_store import REGULARIZATION_LOSSES, VariableScope
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, float32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.eager.convert import convert_to_tensor
from talweg.eager.graph_variable import outermost
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.value import Tensor

UPDATE_OPS = "update_ops"
OPTIONS = frozenset(("activity_regularizer", "_scope", "_reuse", "dynamic", "input_shape"))


def snake_case(name: str) -> str:
    """Convert ``MaxPooling2D`` to ``max_pooling2d``."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().lstrip("_")


@export("compat.v1.layers.Layer")
class Layer:
    """A function with variables (`tf.compat.v1.layers.Layer`).

    Subclasses make variables in `build(input_shape)` with `add_weight` and compute in
    `call(inputs)`.  name: the name of its variable scope, made unique; the class's if None.

    >>> import talweg.compat.v1 as tf
    >>> class Scale(tf.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.w = self.add_weight("w", [input_shape[-1]])
    ...     def call(self, inputs):
    ...         return inputs * self.w
    >>> with tf.Graph().as_default():
    ...     layer = Scale()
    ...     y = layer(tf.ones([2, 3]))
    ...     [v.name for v in layer.weights]
    ['scale/w:0']
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ):
        for key in kwargs:
            if key not in OPTIONS:
                raise type_error("TW104", f"Keyword argument not understood: {key}")
        self.trainable, self.built = trainable, False
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._base_name = name or snake_case(type(self).__name__)
        self._activity_regularizer = kwargs.get("activity_regularizer")
        self._reuse = kwargs.get("_reuse")
        self._scope: VariableScope | None = None
        self._trainable_weights: list = []  # subclasses add to these
        self._non_trainable_weights: list = []
        self._updates: list = []
        if kwargs.get("_scope"):
            with variable_scope(kwargs["_scope"]) as self._scope:
                pass

    # -- what it is

    @property
    def name(self) -> str:
        """The last part of its scope's name; what it will begin with before the first call."""
        return self._base_name if self._scope is None else self._scope.name.split("/")[-1]

    @property
    def scope_name(self) -> str:
        """The name of its variable scope; ValueError before the first call."""
        if self._scope is None:
            raise value_error(
                "TW401",
                f'No name available for layer scope because the layer "'
                f'{self._base_name}" has not been used yet.',
            )
        return self._scope.name

    @property
    def graph(self) -> Any:
        """The graph in force."""
        return outermost(dispatch.context.base)

    @property
    def dtype(self) -> Any:
        """The dtype of its variables; that of the first inputs if none was given."""
        return self._dtype

    @property
    def activity_regularizer(self) -> Any:
        """A function of the outputs that adds a loss, or None."""
        return self._activity_regularizer

    @property
    def trainable_weights(self) -> list:
        """The variables that are trained."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list:
        """The variables that are not trained."""
        others = self._non_trainable_weights
        return list(others) if self.trainable else [*self._trainable_weights, *others]

    @property
    def weights(self) -> list:
        """All variables."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    @property
    def updates(self) -> list:
        """Operations to run beside training, such as moving averages; also in UPDATE_OPS."""
        graph = self.graph
        return [graph.symbol(node) for node in self._updates]

    @property
    def losses(self) -> list:
        """The regularization losses of its scope."""
        graph = self.graph
        if graph is None or self._scope is None:
            return []
        return graph.get_collection(REGULARIZATION_LOSSES, f"{self._scope.name}/")

    def count_params(self) -> int:
        """Count the numbers in its variables; ValueError before the first call."""
        if not self.built:
            raise value_error("TW401", f"layer '{self.name}' is not built yet")
        return sum(weight.shape.num_elements() for weight in self.weights)

    # -- for subclasses

    def build(self, input_shape: ShapeLike) -> None:
        """Make the variables for inputs of this shape."""
        self.built = True

    def call(self, inputs: Any, *args: object, **kwargs: object) -> Any:
        """Return the outputs."""
        return inputs

    def add_weight(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: object = None,
        regularizer: Callable[[Any], Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: object = None,
        aggregation: object = None,
        partitioner: object = None,
        **kwargs: object,
    ) -> Any:
        """Make a variable of the layer, shared by name if its scope says so."""
        if kwargs.keys() - {"experimental_autocast"}:
            raise type_error("TW104", f"Unknown keyword argument: {next(iter(kwargs))}")
        trained = self.trainable if trainable is None else trainable and self.trainable
        made = get_variable(
            name,
            shape,
            self._dtype or float32 if dtype is None else dtype,
            initializer,
            regularizer,
            trained,
            constraint=constraint,
            partitioner=partitioner,
        )
        is_trained = trainable is not False
        known = self._trainable_weights if is_trained else self._non_trainable_weights
        if not any(made is other for other in known):
            known.append(made)
        return made

    add_variable = add_weight

    def add_update(self, updates: object, inputs: TensorLike | None = None) -> None:
        """Add operations to run beside training, also to the collection UPDATE_OPS."""
        graph = self.graph
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            if graph is not None:
                self._updates.append(update.node)
                graph.add_to_collection(UPDATE_OPS, update)

    def add_loss(self, losses: TensorLike, inputs: TensorLike | None = None) -> None:
        """Note losses, in the collection REGULARIZATION_LOSSES."""
        graph = self.graph
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            if graph is not None and loss is not None:
                graph.add_to_collection(REGULARIZATION_LOSSES, convert_to_tensor(loss))

    # -- calling

    def __call__(self, inputs: object, *args: Any, **kwargs: Any) -> Any:
        """Return the outputs; the first call makes the variables."""
        inputs = structure.map_leaves(_as_tensor, inputs)
        with self._in_scope(kwargs.pop("scope", None)):
            if not self.built:
                leaves = structure.flatten(inputs)
                if self._dtype is None and leaves and leaves[0].dtype.is_floating:
                    self._dtype = leaves[0].dtype
                self.build(structure.map_leaves(lambda x: x.shape, inputs))
                self.built = True
            outputs = self.call(inputs, *args, **kwargs)
            if self._activity_regularizer is not None:
                for output in structure.flatten(outputs):
                    self.add_loss(self._activity_regularizer(output))
        return outputs

    def apply(self, inputs: TensorLike, *args: object, **kwargs: object) -> Any:
        """Call the layer, as `__call__`."""
        return self(inputs, *args, **kwargs)

    @contextlib.contextmanager
    def _in_scope(self, scope: object) -> Iterator[None]:
        """Enter the layer's variable scope and the name scope that belongs to it."""
        if self._scope is None:
            name = (scope or self._base_name) if self._reuse else scope
            with variable_scope(name, self._base_name, reuse=self._reuse) as self._scope:
                pass
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as found:
            base = dispatch.context.base
            if base is None:
                yield
                return
            with base.name_scope(found.original_name_scope):
                yield

    def __deepcopy__(self, memo: dict) -> Layer:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy


def _as_tensor(value: Tensor) -> Any:
    return value if value is None else convert_to_tensor(value)


def channel_axis(data_format: str, rank: int) -> int:
    """Return the axis of the channels; ValueError for another data format."""
    if data_format not in ("channels_first", "channels_last"):
        raise value_error(
            "TW207", f"data_format={data_format!r}", '"channels_first" or "channels_last"'
        )
    return 1 if data_format == "channels_first" else rank - 1


def numbers(value: Any, count: int, name: str) -> tuple:
    """Convert one integer or as many to `count` positive integers; ValueError for anything
    else.
    """
    given = (value,) * count if isinstance(value, int) else tuple(value)
    if len(given) != count or not all(isinstance(n, int) and n >= 0 for n in given):
        raise value_error(
            "TW207", f"The `{name}` argument is {value!r}", f"an integer or {count} of them"
        )
    return given


def require_size(shape: TensorShape, axis: int, layer: str) -> int:
    """Return one size of the inputs; ValueError if it is unknown."""
    size = None if shape.rank is None else shape.as_list()[axis]
    if size is None:
        raise value_error(
            "TW205",
            f"{layer}: The dimension {axis} of the inputs should be defined. Found shape {shape}.",
            hint="set_shape, or a placeholder with this size",
        )
    return size


def check_rank(shape: TensorShape, rank: int, layer: str, least: bool = False) -> None:
    """Raise ValueError unless the inputs have this rank, or at least this rank."""
    if shape.rank is None or shape.rank < rank or (shape.rank != rank and not least):
        wanted = f"min_ndim={rank}" if least else f"expected ndim={rank}"
        raise value_error(
            "TW203",
            f"Input 0 of layer {layer} is incompatible with the layer: {wanted}, found shape "
            f"{shape}",
        )


def with_bias(outputs: Any, bias: Any, axis: int) -> Any:
    """Add a bias to `outputs` along an axis."""
    rank = outputs.shape.rank
    if axis in (-1, rank - 1):
        return add(outputs, bias)
    return add(outputs, bias[(None, slice(None), *[None] * (rank - 2))])
