"""tf.io.parse_example and its kin: Examples to tensors, by a dictionary of descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.creating import ones_like
from talweg.api.array.gathering import boolean_mask, gather, where
from talweg.api.array.joining import concat, repeat, stack
from talweg.api.array.sequences import range_
from talweg.api.array.shapes import reshape
from talweg.api.array.shapes import shape as shape_of
from talweg.api.examples import features as described
from talweg.api.export import export, look_up
from talweg.api.math.comparison import equal, greater, maximum
from talweg.api.math.reductions import reduce_max, reduce_sum
from talweg.api.math.scans import cumsum
from talweg.api.math.segments import unsorted_segment_max, unsorted_segment_sum
from talweg.api.ragged import functions  # noqa: F401 -- makes of methods what graphs can call
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype, float32, int64, string
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor
from talweg.prims.io import examples as prims
from talweg.prims.io.examples import FIXED, SEQUENCE, VALUES

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike


SINGLE, BATCH, STEPS = "single", "batch", "steps"


@export("io.parse_single_example")
def parse_single_example(
    serialized: Any, features: dict, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """Return the features of one Example, a scalar string: a dictionary with a tensor for each.

    features: descriptions (`tf.io.FixedLenFeature`, ...) by name.  InvalidArgumentError for what is
    no Example, for a feature that is missing, of another dtype or length.

    >>> import talweg as tf
    >>> values = tf.train.FloatList(value=[1.0, 2.0])
    >>> features = tf.train.Features(feature={"x": tf.train.Feature(float_list=values)})
    >>> text = tf.train.Example(features=features).SerializeToString()
    >>> tf.io.parse_single_example(text, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"].numpy()
    array([1., 2.], dtype=float32)
    """
    x = tensor(serialized, string)
    return Wanted(features, SINGLE).read(x)


@export("io.parse_example")
def parse_example(
    serialized: Any, features: dict, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """Return the features of a batch of Examples [n], as by `parse_single_example`; [n, ...] each.

    >>> import talweg as tf
    >>> feature = {"k": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4]))}
    >>> text = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    >>> found = tf.io.parse_example([text, b""], {"k": tf.io.VarLenFeature(tf.int64)})
    >>> tf.sparse.to_dense(found["k"])
    <tf.Tensor: shape=(2, 2), dtype=int64, numpy=
    array([[3, 4],
           [0, 0]])>
    """
    x = tensor(serialized, string)
    return Wanted(features, BATCH if x.ndim else SINGLE).read(x)


@export("io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any,
    context_features: dict | None = None,
    sequence_features: dict | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict, dict]:
    """Return the features of one SequenceExample: of its context, and of its lists, with a step a
    row.

    sequence_features: `FixedLenSequenceFeature`, `VarLenFeature` or `RaggedFeature` by name.
    """
    x = tensor(serialized, string)
    context = Wanted(context_features or {}, SINGLE).read(x) if context_features else {}
    steps = Wanted(sequence_features or {}, STEPS).read(x) if sequence_features else {}
    return context, steps


@export("compat.v1.parse_single_example", "compat.v1.io.parse_single_example")
def parse_single_example_v1(
    serialized: Any, features: dict, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """Call `tf.io.parse_single_example`, with the arguments in the order of TensorFlow 1."""
    return parse_single_example(serialized, features)


@export("compat.v1.parse_example", "compat.v1.io.parse_example")
def parse_example_v1(
    serialized: Any, features: dict, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """Call `tf.io.parse_example`, with the arguments in the order of TensorFlow 1."""
    return parse_example(serialized, features)


class Wanted:
    """Plans the parsing of records: the operation's parameters, and how its results become
    tensors.
    """

    def __init__(self, features: dict, form: str):
        self.form = form
        self.plans: list[tuple] = []
        self.defaults: list = []
        self.places: dict[tuple, int] = {}  # of the results of a plan for values
        self.count = 0
        if not features:
            raise value_error("TW104", "Missing features: an empty dictionary")
        self.makers = {
            name: self._maker(name, features[name])
            for name in sorted(features, key=lambda name: (_kind(features[name]), name))
        }

    def read(self, serialized: Any) -> dict:
        """Return the features of a record, or of several."""
        if self.form == STEPS:
            plans = tuple([(*plan, True) if len(plan) == 4 else plan for plan in self.plans])
            found = prims.parse_feature_lists(serialized, plans=plans)
        else:
            found = prims.parse_examples(serialized, *self.defaults, plans=tuple(self.plans))
        return {name: make(found) for name, make in self.makers.items()}

    def _maker(self, name: str, feature: Any) -> Any:
        """Make the function that builds a feature's tensor of the operation's results."""
        if isinstance(feature, described.FixedLenFeature):
            return self._plan_fixed(name, feature)
        if isinstance(feature, described.FixedLenSequenceFeature):
            return self._sequence(name, feature)
        if isinstance(feature, described.VarLenFeature):
            place = self._values(name, feature.dtype)
            return lambda found: self._sparse(*found[place : place + 2])
        if isinstance(feature, described.SparseFeature) and self.form != STEPS:
            return self._plan_sparse(feature)
        if isinstance(feature, described.RaggedFeature):
            return self._plan_ragged(name, feature)
        raise value_error("TW104", f"Unsupported feature {name!r}: {feature!r}")

    def _add(self, plan: tuple, default: Any = None, results: int = 1) -> int:
        self.plans.append(plan)
        if plan[0] != VALUES:
            self.defaults.append(default)
        self.count += results
        return self.count - results

    def _plan_fixed(self, name: str, feature: Any) -> Any:
        dtype, dims = dtype_of(name, feature.dtype), dims_of(name, feature.shape)
        if self.form == STEPS:
            raise value_error(
                "TW104", f"{name!r}: FixedLenFeature in a list", "FixedLenSequenceFeature"
            )
        default = convert_to_tensor(np.empty([0], dtype.numpy_dtype), dtype)
        if feature.default_value is not None:
            given = convert_to_tensor(feature.default_value, dtype)
            default = look_up("broadcast_to")(given, dims) if given.ndim == 0 else given
        place = self._add((FIXED, name, dtype, dims), default)
        return lambda found: found[place]

    def _sequence(self, name: str, feature: Any) -> Any:
        dtype, dims = dtype_of(name, feature.dtype), dims_of(name, feature.shape)
        if self.form == STEPS:
            self.plans.append((FIXED, name, dtype, dims, bool(feature.allow_missing)))
            self.count += 1
            place = self.count - 1
            return lambda found: found[place]
        if not feature.allow_missing:
            raise value_error(
                "TW104", f"{name!r}: FixedLenSequenceFeature requires allow_missing to be True."
            )
        default = feature.default_value
        given = np.empty([0], dtype.numpy_dtype) if default is None else default
        place = self._add((SEQUENCE, name, dtype, dims), convert_to_tensor(given, dtype))
        return lambda found: found[place]

    def _values(self, name: str, dtype: DTypeLike) -> int:
        """Plan all values of a feature; its place in the results, before their row lengths."""
        key = (name, dtype_of(name, dtype))
        if key not in self.places:
            self.places[key] = self._add((VALUES, *key, ()), results=2)
        return self.places[key]

    def _sparse(self, values: Tensor, counts: Any) -> SparseTensor:
        if self.form == SINGLE:
            return SparseTensor(range_(counts[0])[:, None], values, counts)
        owners, places = rows_of(counts)
        longest = reduce_max(concat([counts, [0]], 0))
        rows = shape_of(counts, int64)[0]
        return SparseTensor(stack([owners, places], axis=1), values, stack([rows, longest]))

    def _plan_sparse(self, feature: Any) -> Any:
        keys = (
            feature.index_key
            if isinstance(feature.index_key, (list, tuple))
            else [feature.index_key]
        )
        sizes = feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]
        if len(keys) != len(sizes):
            raise value_error("TW205", f"SparseFeature: {len(keys)} keys, {len(sizes)} sizes")
        value = self._values(feature.value_key, feature.dtype)
        places = [self._values(key, int64) for key in keys]

        def make(tensors: Any) -> SparseTensor:
            indices = [tensors[column] for column in places]
            dims = [convert_to_tensor(size, int64) for size in sizes]
            if self.form == BATCH:
                indices.insert(0, rows_of(tensors[value + 1])[0])
                dims.insert(0, shape_of(tensors[value + 1], int64)[0])
            result = SparseTensor(stack(indices, axis=1), tensors[value], stack(dims))
            return result if feature.already_sorted else look_up("sparse.reorder")(result)

        return make

    def _plan_ragged(self, name: str, feature: Any) -> Any:
        first = self._values(feature.value_key or name, feature.dtype)
        splits = as_dtype(feature.row_splits_dtype)
        for part in feature.partitions:
            if not isinstance(part, described.PARTITIONS):
                raise type_error(
                    "TW104",
                    f"feature {name!r}: a partition is {part!r}",
                    "RowSplits, RowLengths, ...",
                )
        uniform = described.UniformRowLength
        partitions = [
            (part, None if isinstance(part, uniform) else self._values(part.key, int64))
            for part in feature.partitions
        ]

        def make(tensors: Any) -> Any:
            result, inside = tensors[first], tensors[first + 1]
            for part, own in reversed(partitions):
                if own is None:
                    result = in_equal_rows(result, part.length)
                    inside = inside // part.length
                    continue
                lengths, inside = row_lengths(part, tensors[own], tensors[own + 1], inside)
                result = RaggedTensor.from_row_lengths(result, cast(lengths, splits))
            if self.form == SINGLE:
                return result
            return RaggedTensor.from_row_lengths(result, cast(inside, splits))

        return make


def _kind(feature: Any) -> int:
    """Return the place among the results:
    sparse features come first, then dense, then ragged ones.
    """
    if isinstance(feature, described.RaggedFeature):
        return 2
    return 0 if isinstance(feature, (described.VarLenFeature, described.SparseFeature)) else 1


def in_equal_rows(values: Tensor, length: int) -> Any:
    """Divide values into rows of one length: one more axis, or one more partition over others."""
    if isinstance(values, RaggedTensor):
        return RaggedTensor.from_uniform_row_length(values, length)
    return reshape(values, [-1, length, *values.shape[1:]])


def row_lengths(part: Any, given: Any, counts: Any, inside: Any) -> tuple[Any, Any]:
    """Compute the lengths of all rows that a partition makes of records, and their number in each
    record.

    given: what the feature of the partition has, record after record, `counts` of each; inside:
    how many values each record has that are to be divided.
    """
    if isinstance(part, described.RowLengths):
        return given, counts
    owners, places = rows_of(counts)
    if isinstance(part, described.RowSplits):
        within = greater(places[1:], 0)  # not from record to record
        return boolean_mask(given[1:] - given[:-1], within), maximum(counts - 1, 0)
    if isinstance(part, described.RowStarts):
        last = equal(places, gather(counts, owners) - 1)
        following = concat([given[1:], [0]], 0)
        return where(last, gather(inside, owners), following) - given, counts
    if isinstance(part, described.RowLimits):
        before = concat([[0], given[:-1]], 0)
        return given - where(equal(places, 0), 0, before), counts
    rows = maximum(unsorted_segment_max(given, owners, shape_of(counts)[0]), -1) + 1
    row = given + gather(cumsum(rows, exclusive=True), owners)
    return unsorted_segment_sum(ones_like(row), row, reduce_sum(rows)), rows


def rows_of(lengths: Any) -> tuple[Any, Any]:
    """Return the row of each value of rows of these lengths, and its place there."""
    owners = repeat(range_(shape_of(lengths, int64)[0]), lengths)
    places = range_(shape_of(owners, int64)[0]) - gather(cumsum(lengths, exclusive=True), owners)
    return owners, places


def dtype_of(name: str, dtype: DTypeLike) -> Any:
    found = as_dtype(dtype)
    if found not in (float32, int64, string):
        raise invalid("TW102", f"feature {name!r}: dtype {found.name}", "float32, int64 or string")
    return found


def dims_of(name: str, shape: ShapeLike) -> tuple:
    """Return the shape of a feature, which has to be known."""
    found = TensorShape(shape.numpy().tolist() if isinstance(shape, Tensor) else shape)
    if not found.is_fully_defined():
        raise value_error("TW205", f"feature {name!r}: shape {found} is not fully known")
    return found.as_tuple()
