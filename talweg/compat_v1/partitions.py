"""tf.compat.v1: variables in parts, and the functions that say in how many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export, look_up
from talweg.core.dtypes import DType, as_dtype, float32
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.core.value import Tensor
from talweg.eager.convert import CONVERTERS, convert_to_tensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


class SaveSliceInfo(NamedTuple):
    """Describes a variable as a part of a whole: its offset, and the sizes of both."""

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]

    @property
    def spec(self) -> str:
        """The form of TensorFlow's checkpoints: the whole's shape, then begin,size of each axis."""
        whole = " ".join(map(str, self.full_shape))
        places = zip(self.var_offset, self.var_shape)
        return f"{whole} " + ":".join([f"{begin},{size}" for begin, size in places])


class PartitionedVariable:
    """The variables that are the parts of one, along an axis; a tensor of the whole elsewhere."""

    __array_priority__ = 100

    def __init__(
        self, name: str, shape: Any, dtype: Any, variable_list: list, partitions: list[int]
    ):
        self._name, self._shape, self._dtype = name, as_shape(shape), as_dtype(dtype)
        self._variable_list, self._partitions = list(variable_list), list(partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    def __repr__(self) -> str:
        return (
            f"<PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.name} "
            f"partitions={self._partitions}>"
        )

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole."""
        return self._shape

    def _get_variable_list(self) -> list:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    @property
    def axis(self) -> int:
        """The axis that is divided."""
        return next((n for n, count in enumerate(self._partitions) if count > 1), 0)

    def as_tensor(self) -> Tensor:
        """Return the whole."""
        parts = [convert_to_tensor(part) for part in self._variable_list]
        return parts[0] if len(parts) == 1 else look_up("concat")(parts, self.axis)

    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None) -> list:
        """Give each part its part of a value; a list of what their assignments give."""
        return self._each("assign", value)

    def assign_add(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> list:
        """Add to each part its part of a value."""
        return self._each("assign_add", value)

    def assign_sub(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> list:
        """Subtract from each part its part of a value."""
        return self._each("assign_sub", value)

    def _each(self, method: str, value: TensorLike) -> list:
        sizes = [part.shape.as_list()[self.axis] for part in self._variable_list]
        values = look_up("split")(convert_to_tensor(value, self._dtype), sizes, self.axis)
        return [getattr(part, method)(own) for part, own in zip(self._variable_list, values)]


def _as_tensor(value: PartitionedVariable, dtype: DType | None) -> Tensor:
    return convert_to_tensor(value.as_tensor(), dtype)


CONVERTERS.append((PartitionedVariable, _as_tensor))


def partitions_of(partitioner: Any, name: str, shape: TensorShape, dtype: DType) -> list[int]:
    """Return the number of parts of each axis; ValueError unless a partitioner gives such a
    list.
    """
    if not callable(partitioner):
        raise value_error(
            "TW104", f"variable '{name}': partitioner is {partitioner!r}", "a function"
        )
    if not shape.is_fully_defined():
        raise value_error(
            "TW205", f"the partitioned variable '{name}' has shape {shape}", "a shape that is known"
        )
    counts: Any = partitioner(shape=shape, dtype=dtype)
    counts_given = [int(count) for count in counts]
    sizes = shape.as_list()
    if len(counts_given) != len(sizes) or min(counts_given, default=1) < 1:
        raise value_error(
            "TW205",
            f"variable '{name}' of shape {shape}: the partitioner gives {counts_given}",
            "a number of parts, of 1 or more, for each axis",
        )
    if sum(count > 1 for count in counts_given) > 1:
        raise value_error(
            "TW205",
            f"variable '{name}': the partitioner gives {counts_given}",
            "one axis that is divided",
        )
    if any(count > size for count, size in zip(counts_given, sizes)):
        raise value_error(
            "TW205",
            f"variable '{name}' of shape {shape}: the partitioner gives {counts_given}",
            "less",
        )
    return counts_given


def make_parts(
    name: str, shape: ShapeLike, dtype: Any, partitions: list[int], initializer: Any, get: Callable
) -> PartitionedVariable:
    """Make the variable of these parts, each of which `get(name, shape, initializer)` makes or
    finds.

    An initializer that is a function is called for each part; of a value each has its own part.
    """
    sizes = as_shape(shape).as_list()
    axis = next((n for n, count in enumerate(partitions) if count > 1), 0)
    count = partitions[axis] if partitions else 1
    begin, parts = 0, []
    for number in range(count):
        size = sizes[axis] // count + (number < sizes[axis] % count)
        own = [*sizes[:axis], size, *sizes[axis + 1 :]]
        offset = [begin * (n == axis) for n in range(len(sizes))]
        first = initializer
        if initializer is not None and not callable(initializer):
            first = look_up("slice")(convert_to_tensor(initializer, dtype), offset, own)
        part = get(f"part_{number}", own, first)
        part._save_slice_info = SaveSliceInfo(name, sizes, offset, own)
        parts.append(part)
        begin += size
    return PartitionedVariable(name, shape, dtype, parts, partitions)


def join_parts(name: str, parts: list) -> PartitionedVariable | None:
    """Return the whole of these parts; None unless they are all of them."""
    infos = [part._save_slice_info for part in parts]
    whole = infos[0].full_shape
    if sum(math.prod(info.var_shape) for info in infos) != math.prod(whole):
        return None
    order = sorted(range(len(parts)), key=lambda n: infos[n].var_offset)
    divided = [len({info.var_offset[axis] for info in infos}) for axis in range(len(whole))]
    return PartitionedVariable(name, whole, parts[0].dtype, [parts[n] for n in order], divided)


@export("compat.v1.create_partitioned_variables")
def create_partitioned_variables(
    shape: ShapeLike,
    slicing: Any,
    initializer: Callable[..., Any] | TensorLike,
    dtype: DTypeLike = float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list:
    """Return a list of variables that are the slices of one, along the axis where `slicing` is not
    1.

    ValueError unless there is at most one such axis, which it divides.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     parts = tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros_initializer())
    ...     [part.shape.as_list() for part in parts]
    [[2, 2], [2, 2]]
    """
    shape = as_shape(shape)
    partitions = partitions_of(lambda shape, dtype: slicing, str(name), shape, as_dtype(dtype))
    scope = look_up("compat.v1.variable_scope")
    variable = look_up("compat.v1.get_variable")
    with scope(name, "PartitionedVariable", reuse=reuse) as entered:

        def get(part: str, own: list, first: object) -> Any:
            given = {"shape": own} if first is None or callable(first) else {}
            return variable(
                part,
                dtype=dtype,
                initializer=first,
                trainable=trainable,
                collections=collections,
                partitioner=None,
                **given,
            )

        made = make_parts(entered.name, shape, dtype, partitions, initializer, get)
    return list(made)


# -- partitioners


def _bytes_of(dtype: DTypeLike, of_string: int) -> int:
    return of_string if dtype.name == "string" else dtype.size


@export("compat.v1.fixed_size_partitioner")
@as_it_is
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list]:
    """Return a function of shape and dtype that divides `axis` into `num_shards` parts.

    >>> import talweg.compat.v1 as tf
    >>> tf.fixed_size_partitioner(2)(tf.TensorShape([4, 3]))
    [2, 1]
    """

    def partition(shape: ShapeLike, **unused: object) -> list:
        sizes = as_shape(shape).as_list()
        return [min(num_shards, size) if n == axis else 1 for n, size in enumerate(sizes)]

    return partition


@export("compat.v1.variable_axis_size_partitioner")
@as_it_is
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Callable[..., list]:
    """Return a function of shape and dtype that divides `axis` so that no part has too many bytes.

    >>> import talweg.compat.v1 as tf
    >>> tf.variable_axis_size_partitioner(16)(tf.TensorShape([4, 2]), tf.float32)
    [2, 1]
    """

    def partition(shape: ShapeLike, dtype: DTypeLike) -> list:
        sizes = as_shape(shape).as_list()
        parts = [1] * len(sizes)
        row = math.prod(sizes) // max(sizes[axis], 1) * _bytes_of(dtype, bytes_per_string_element)
        rows = max(1, max_shard_bytes // row)
        count = math.ceil(sizes[axis] / rows)
        parts[axis] = count if max_shards is None else min(max_shards, count)
        return parts

    return partition


@export("compat.v1.min_max_variable_partitioner")
@as_it_is
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable[..., list]:
    """Return a function of shape and dtype that divides `axis` so that no part has too few bytes.

    >>> import talweg.compat.v1 as tf
    >>> tf.min_max_variable_partitioner(4, min_slice_size=16)(tf.TensorShape([4, 2]), tf.float32)
    [2, 1]
    """

    def partition(shape: ShapeLike, dtype: DTypeLike) -> list:
        sizes = as_shape(shape).as_list()
        parts = [1] * len(sizes)
        total = math.prod(sizes) * _bytes_of(dtype, bytes_per_string_element)
        wanted = max(1, total // min_slice_size)
        parts[axis] = max(1, min(sizes[axis], max_partitions, wanted))
        return parts

    return partition
