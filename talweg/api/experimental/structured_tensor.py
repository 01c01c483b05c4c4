"""Tensors of records: fields that share their first axes, to any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from talweg.api.array.passing import get_static_value
from talweg.api.experimental.ragged_shape import DynamicRaggedShape
from talweg.api.experimental.row_partition import RowPartition
from talweg.api.export import export, look_up
from talweg.core.dtypes import DType, as_dtype, int64, uint8
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor
from talweg.pipeline.encoders import BatchableExtensionType

Field = Any  # a tensor, a ragged one or a StructuredTensor
Path = Union[str, Sequence[str]]  # noqa: UP007 -- also at run time of Python 3.11


@export("experimental.StructuredTensor")
class StructuredTensor(BatchableExtensionType):
    """A tensor whose elements are records: dictionaries of tensors, ragged tensors or such records.

    Every field has the tensor's shape as the first part of its own.  Made by `from_pyval`,
    `from_fields`, `from_fields_and_rank` or `from_shape`.  It may be an argument and a result of a
    `tf.function`, and a dataset slices and batches it.

    >>> import talweg as tf
    >>> people = tf.experimental.StructuredTensor.from_pyval(
    ...     [{"age": 3, "toys": ["ball", "kite"]}, {"age": 5, "toys": []}])
    >>> people.shape, people.field_value("age").numpy()
    (TensorShape([2]), array([3, 5], dtype=int32))
    >>> people.field_value("toys")
    <tf.RaggedTensor [[b'ball', b'kite'], []]>
    """

    _fields: Mapping[str, Union[Tensor, RaggedTensor, StructuredTensor]]  # noqa: UP007
    _rows: Union[Tensor, RaggedTensor]  # noqa: UP007 -- zeros in the shape

    def __init__(self, fields: Mapping[str, Field], ragged_shape: DynamicRaggedShape | Field):
        self._fields = dict(fields)
        shape = ragged_shape
        known = isinstance(shape, DynamicRaggedShape)
        self._rows = look_up("zeros")(shape, uint8) if known else shape

    # -- ways to make one

    @classmethod
    def from_fields(
        cls,
        fields: Mapping[str, Field],
        shape: Any = (),
        nrows: Any = None,
        row_partitions: Sequence[RowPartition] | None = None,
        validate: bool = False,
    ) -> StructuredTensor:
        """Make the tensor of this shape (of known rank) with these fields.

        nrows, row_partitions: the sizes, where no field tells them.  ValueError for fields whose
        shapes do not begin with `shape`, or differ from each other or from `nrows` in its axes;
        InvalidArgumentError when a graph runs, for sizes that are only known then.
        """
        if not isinstance(fields, Mapping):
            raise type_error("TW104", f"fields must be a dictionary, got {type(fields).__name__}")
        given = TensorShape(shape)
        rank = given.rank
        if rank is None:
            raise value_error("TW203", "StructuredTensor: the shape's rank is not known")
        if rank < 2 and row_partitions:
            raise value_error("TW204", "row_partitions must be None or [] if shape.rank<2")
        if rank == 0 and nrows is not None:
            raise value_error("TW204", "nrows must be None if shape.rank==0")
        made = {name: _field(value) for name, value in fields.items()}
        rows = _rows_of(made, rank, given)
        if rows is None:
            rows = _rows_from(given, nrows, row_partitions or ())
        if made and nrows is not None:
            _compare("nrows", [look_up("cast")(nrows, int64)], _lengths(rows, 1))
        for name, value in made.items():
            _check(name, value, given, rows)
        return cls(made, rows)

    @classmethod
    def from_fields_and_rank(
        cls,
        fields: Mapping[str, Field],
        rank: int,
        validate: bool = False,
        dtype: DType | None = None,
    ) -> StructuredTensor:
        """Return the tensor of a rank with these fields, at least one.  ValueError as in
        `from_fields`."""
        if not fields:
            raise value_error("TW204", "StructuredTensor: there are no fields", "at least one")
        return cls.from_fields(fields, TensorShape([None] * rank))

    @classmethod
    def from_shape(cls, ragged_shape: DynamicRaggedShape) -> StructuredTensor:
        """Return the tensor of a shape, without fields."""
        return cls({}, ragged_shape)

    @classmethod
    def from_pyval(cls, pyval: Any, typespec: Any = None) -> Any:
        """Return the tensor of a dictionary, or of (nested) lists of dictionaries of one kind.

        Lists of numbers and texts in it become tensors, those of lists ragged tensors.  Anything
        else than a dictionary gives a tensor.  typespec: what it is to be, for values that do not
        tell.  KeyError for dictionaries of different keys, ValueError for what does not fit.
        """
        found = _of_python(pyval, typespec, ())
        if typespec is not None and not typespec.is_compatible_with(found):
            raise value_error("TW204", f"{found!r} is not of {typespec!r}")
        return found

    # -- what it says

    @property
    def shape(self) -> TensorShape:
        """The static shape, without the fields' own axes."""
        return self._rows.shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def nrows(self) -> Tensor | None:
        """Return the size of the first axis, int64; None for rank 0."""
        if self.rank == 0:
            return None
        ragged = isinstance(self._rows, RaggedTensor)
        return self._rows.nrows() if ragged else look_up("shape")(self._rows, int64)[0]

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The partitions of the rows of axes 1 and on."""
        rows: Any = self._rows
        found: list[RowPartition] = []
        while isinstance(rows, RaggedTensor):
            found.append(RowPartition.of_ragged(rows))
            rows = rows.values
        sizes = look_up("shape")(rows, int64)
        count = sizes[0] if len(rows.shape) > 1 else None
        for axis in range(1, len(rows.shape)):
            part = RowPartition.from_uniform_row_length(sizes[axis], nrows=count)
            found.append(part)
            count = count * sizes[axis]
        return tuple(found)

    def field_names(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(self._fields)

    def field_value(self, field_name: Path) -> Field:
        """Return a field, by its name or by the names on the way to it.  KeyError for another
        name."""
        if isinstance(field_name, (list, tuple)):
            found: Any = self
            for step in field_name:
                if not isinstance(found, StructuredTensor):
                    raise KeyError(f"Field path {field_name} not found: {step!r} has no fields")
                found = found.field_value(step)
            return found
        return self._fields[str(field_name)]

    def to_pyval(self) -> Any:
        """Return a dictionary, or lists of them, of Python and NumPy values; eager tensors only."""
        values = {name: _to_python(value) for name, value in self._fields.items()}
        return _zip_fields(values, _to_python(self._rows), self.rank)

    # -- others made of it

    def with_updates(
        self, updates: Mapping[Any, Field | Callable | None], validate: bool = False
    ) -> StructuredTensor:
        """Return a copy with other or new fields; a function gets the old value, None takes a
        field away.

        Names may be paths.  ValueError for a value whose shape does not fit, KeyError for a name
        to be changed that is not there.
        """
        fields: dict[str, Any] = dict(self._fields)
        inner: dict[str, dict] = {}
        for path, value in updates.items():
            steps: Any = (path,) if isinstance(path, str) else tuple(path)
            if len(steps) > 1:
                inner.setdefault(steps[0], {})[steps[1:]] = value
            elif value is None:
                del fields[steps[0]]
            else:
                fields[steps[0]] = value(fields[steps[0]]) if callable(value) else value
        for name, changes in inner.items():
            fields[name] = fields[name].with_updates(changes)
        made = {name: _field(value) for name, value in fields.items()}
        for name, value in made.items():
            _check(name, value, self.shape, self._rows)
        return StructuredTensor(made, self._rows)

    def promote(self, source_path: Sequence[str], new_name: str) -> StructuredTensor:
        """Return a copy with a field of a record in it as a field beside that record.

        The axes that the record has beyond this tensor's are merged with the field's next.
        ValueError for a path of one name or a name that is taken.

        >>> import talweg as tf
        >>> x = tf.experimental.StructuredTensor.from_pyval([{"a": [{"b": [1, 2]}, {"b": [3]}]}])
        >>> x.promote(("a", "b"), "c").field_value("c")
        <tf.RaggedTensor [[1, 2, 3]]>
        """
        if len(source_path) < 2:
            raise value_error("TW204", "source_path must have length at least two")
        first, *rest = source_path
        parent = self.field_value(first)
        if len(source_path) > 2:
            return self.with_updates({first: parent.promote(rest, new_name)})
        if new_name in self._fields:
            raise value_error("TW204", f"the field {new_name!r} is there already")
        value = parent.field_value(rest[0])
        own = _rank(value)
        last = parent.rank if own is None else min(parent.rank, own - 1)
        if last > self.rank:
            value = _merge(value, self.rank, last)
        return self.with_updates({new_name: value})

    def merge_dims(self, outer_axis: int, inner_axis: int) -> StructuredTensor:
        """Return it with the axes from one to another as one axis.  ValueError for axes out of
        range."""
        rank = self.rank
        first, last = (axis + rank if axis < 0 else axis for axis in (outer_axis, inner_axis))
        if not 0 <= first <= last < rank:
            text = f"merge_dims: axes {outer_axis}, {inner_axis} for rank {rank}"
            raise value_error("TW202", text)
        fields = {name: _merge(value, first, last) for name, value in self._fields.items()}
        return StructuredTensor(fields, _merge(self._rows, first, last))

    def partition_outer_dimension(self, row_partition: RowPartition) -> StructuredTensor:
        """Cut the first axis into rows.  ValueError for rank 0."""
        if self.rank == 0:
            raise value_error("TW203", "Shape () must have rank at least 1")
        fields = {name: _partition(value, row_partition) for name, value in self._fields.items()}
        return StructuredTensor(fields, _partition(self._rows, row_partition))

    def with_shape_dtype(self, dtype: DType) -> StructuredTensor:
        """Convert the row partitions to int32 or int64."""
        kind = as_dtype(dtype)

        def cast(x: Field) -> Field:
            if isinstance(x, StructuredTensor):
                return x.with_shape_dtype(kind)
            return x.with_row_splits_dtype(kind) if isinstance(x, RaggedTensor) else x

        fields = {name: cast(value) for name, value in self._fields.items()}
        return StructuredTensor(fields, cast(self._rows))

    def __getitem__(self, key: Any) -> Any:
        keys: tuple = key if isinstance(key, tuple) else (key,)
        fields: Mapping[str, Any] = self._fields
        rows: Any = self._rows
        places = [place for place, each in enumerate(keys) if isinstance(each, str)]
        if not places:
            made = {name: value[keys] for name, value in fields.items()}
            return StructuredTensor(made, rows[keys]) if keys else self
        place = places[0]
        if place != self.rank:
            text = f"the name {keys[place]!r} is index {place}"
            raise value_error("TW104", text, f"{self.rank} indices before it, one for each axis")
        found, rest = fields[keys[place]], keys[:place] + keys[place + 1 :]
        return found[rest] if rest else found

    def __repr__(self) -> str:
        lines = []
        for name in sorted(self._fields):
            value = self._fields[name]
            text = str(value) if isinstance(value, Tensor) else repr(value)
            if isinstance(value, Tensor):
                shown = text if text.startswith("tf.Tensor") else None
                text = shown or f"tf.Tensor({text}, shape={value.shape}, dtype={value.dtype.name})"
            lines.append(f'        "{name}": ' + text.replace("\n", "\n            "))
        inside = ",\n".join(lines)
        inside = inside or "        "
        return f"<StructuredTensor(\n    fields={{\n{inside}}},\n    shape={self.shape})>"


def _field(value: Any) -> Field:
    if value is None:
        raise type_error("TW104", f"Unexpected type for value in `fields`: {value!r}")
    known = isinstance(value, (StructuredTensor, RaggedTensor))
    return value if known else convert_to_tensor(value)


def _rank(value: Field) -> int | None:
    return value.shape.rank


def _check(name: str, value: Field, shape: TensorShape, rows: Field) -> None:
    """Raise ValueError unless the shape of a field begins with the shape of the tensor."""
    rank = len(rows.shape)
    own = value.shape
    if own.rank is not None:
        begins = own[:rank]
        if own.rank < rank or not (
            begins.is_compatible_with(shape) and begins.is_compatible_with(rows.shape)
        ):
            raise value_error("TW204", f"Shapes {shape} and {begins} are not compatible: {name!r}")
        if begins == rows.shape and begins.is_fully_defined():
            return
    if rank:
        _compare(name, _lengths(value, rank), _lengths(rows, rank))


def _lengths(x: Field, rank: int) -> list[Tensor]:
    """Compute the number of rows, and the lengths of the rows of each further axis."""
    if isinstance(x, StructuredTensor):
        x = x._rows
    lengths = []
    while isinstance(x, RaggedTensor) and len(lengths) < rank:
        lengths += [x.nrows()] if not lengths else []
        if len(lengths) < rank:
            lengths.append(x.row_lengths())
            x = x.values
    if len(lengths) < rank:
        sizes = look_up("shape")(x, int64)
        done = max(len(lengths) - 1, 0)  # axes that stand in the first one of x
        lengths += [sizes[0]] if not lengths else []
        for axis in range(1, rank - done):
            before = look_up("math.reduce_prod")(sizes[:axis], keepdims=True)
            lengths.append(look_up("fill")(before, sizes[axis]))
    return lengths


def _compare(name: str, lengths: list[Tensor], others: list[Tensor]) -> None:
    """Check that a field has the sizes of the others;
    ValueError, or an assertion where it is new.
    """
    for own, other in zip(lengths, others):
        text = f"Error in shape of {name}"
        rows, expected = get_static_value(own), get_static_value(other)
        if rows is None or expected is None:
            sizes = [look_up("cast")(x, int64) for x in (own, other)]
            look_up("debugging.assert_equal")(*sizes, message=text)
        elif not np.array_equal(rows, expected):
            raise value_error(
                "TW204", f"{text}: rows {rows.tolist()}", f"rows {expected.tolist()}, as others"
            )


def _rows_of(fields: Mapping[str, Field], rank: int, shape: TensorShape) -> Field | None:
    """Make zeros in the first axes of the fields; None without fields."""
    for name, value in fields.items():
        own = _rank(value)
        if own is not None and own < rank:
            text = f"Shapes {shape} and {value.shape} are not compatible: {name!r}"
            raise value_error("TW204", text)
        return _zeros(value._rows if isinstance(value, StructuredTensor) else value, rank)
    return None


def _zeros(x: Field, rank: int) -> Field:
    """Make zeros in the first `rank` axes of x."""
    if rank == 0:
        return look_up("zeros")([], uint8)
    if isinstance(x, RaggedTensor):
        if rank == 1:
            return look_up("zeros")(look_up("reshape")(x.nrows(), [1]), uint8)
        return x.with_values(_zeros(x.values, rank - 1))
    zeros = look_up("zeros")(look_up("shape")(x)[:rank], uint8)
    return zeros if x.shape.rank is not None else look_up("ensure_shape")(zeros, [None] * rank)


def _rows_from(shape: TensorShape, nrows: Any, partitions: Sequence[RowPartition]) -> Field:
    """Make zeros in a shape that is given without fields.  ValueError where it is not known."""
    if partitions:
        return look_up("zeros")(DynamicRaggedShape.from_row_partitions(partitions), uint8)
    sizes = shape.as_list()
    if nrows is not None and sizes:
        sizes[0] = look_up("cast")(nrows, int64)
    if None in sizes:
        raise value_error("TW204", f"nrows is not known for the shape {shape}", "nrows, or fields")
    return look_up("zeros")(look_up("stack")(sizes) if sizes else [], uint8)


def _merge(x: Field, first: int, last: int) -> Field:
    if isinstance(x, (StructuredTensor, RaggedTensor)):
        return x.merge_dims(first, last)
    sizes = look_up("shape")(x)
    parts = [sizes[:first], [-1], sizes[last + 1 :]]
    return look_up("reshape")(x, look_up("concat")(parts, 0))


def _partition(x: Field, partition: RowPartition) -> Field:
    if isinstance(x, StructuredTensor):
        return x.partition_outer_dimension(partition)
    return RaggedTensor.from_row_splits(x, partition.row_splits())


# -- Python's dictionaries and lists


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _depth(value: Any) -> int:
    """Count the lists round the first dictionary; ValueError for one beside other values."""
    if isinstance(value, dict):
        return 0
    found = {_depth(each) for each in value if not isinstance(each, (list, tuple)) or each}
    return 1 + max(found, default=0)


def _of_python(value: Any, spec: Any, path: tuple[str, ...]) -> Field:
    leaves = list(_leaves(value))
    records = [leaf for leaf in leaves if isinstance(leaf, dict)]
    fields = getattr(spec, "_fields", None)
    if not records and not (fields is not None and not leaves):
        return _leaf_of_python(value, spec, path)
    if len(records) < len(leaves):
        raise value_error("TW104", "Expected dict or nested list/tuple of dict")
    names = list(records[0]) if records else list(fields or ())
    for record in records:
        for name in [*record, *names]:
            if name not in names or name not in record:
                raise KeyError(name)
    inner = {
        name: _of_python(
            _take(value, name), None if fields is None else fields.get(name), (*path, name)
        )
        for name in names
    }
    depth = _depth(value)
    zeros = _map_rows(value, lambda record: 0)
    rows = look_up("zeros")([], uint8)
    if depth:
        zero_rows = look_up("ragged.constant")(zeros, dtype=uint8, ragged_rank=depth - 1)
        rows = zero_rows if isinstance(zero_rows, RaggedTensor) else convert_to_tensor(zero_rows)
    return StructuredTensor(inner, rows)


def _leaf_of_python(value: Any, spec: Any, path: tuple[str, ...]) -> Field:
    dtype = getattr(spec, "dtype", None)
    try:
        if isinstance(value, (list, tuple)) and any(
            isinstance(each, (list, tuple)) for each in value
        ):
            return look_up("ragged.constant")(value, dtype=dtype)
        return convert_to_tensor(value, dtype)
    except (ValueError, TypeError) as error:
        raise value_error("TW104", f"Error parsing path {path}: {error}") from None


def _map_rows(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_map_rows(each, function) for each in value]
    return function(value)


def _take(value: Any, name: str) -> Any:
    return _map_rows(value, lambda record: record[name])


def _to_python(value: Field) -> Any:
    if isinstance(value, StructuredTensor):
        return value.to_pyval()
    if isinstance(value, RaggedTensor):
        return value.to_list()
    array = value.numpy()  # type: ignore[attr-defined]
    return array.tolist() if len(value.shape) else array


def _zip_fields(values: Mapping[str, Any], rows: Any, rank: int) -> Any:
    """Zip a dictionary of structures to one structure of dictionaries."""
    if rank == 0:
        return dict(values)
    return [
        _zip_fields({name: each[place] for name, each in values.items()}, row, rank - 1)
        for place, row in enumerate(rows)
    ]
