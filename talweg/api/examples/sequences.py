"""tf.io.parse_sequence_example: batches of SequenceExamples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.gathering import gather
from talweg.api.array.joining import concat, stack
from talweg.api.array.shapes import reshape
from talweg.api.array.shapes import shape as shape_of
from talweg.api.examples import features as described
from talweg.api.examples.parsing import (
    BATCH,
    Wanted,
    dims_of,
    dtype_of,
    parse_single_sequence_example,
    rows_of,
)
from talweg.api.export import export
from talweg.api.math.reductions import reduce_max
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype, int64, string
from talweg.core.errors import value_error
from talweg.eager.composite import SparseTensor
from talweg.prims.io import examples as prims
from talweg.prims.io.examples import FIXED, VALUES

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


@export(
    "io.parse_sequence_example",
    "compat.v1.io.parse_sequence_example",
)
def parse_sequence_example(
    serialized: TensorLike,
    context_features: dict | None = None,
    sequence_features: dict | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict, dict, dict]:
    """Return the features of SequenceExamples [n]: of contexts, of lists, and the lengths of the
    lists.

    A `FixedLenSequenceFeature` gives [n, steps, ...], filled up with zeros or empty strings, and
    how many steps each record has in the third dictionary; a `VarLenFeature` a SparseTensor of rank
    3, a `RaggedFeature` a RaggedTensor [n, (steps), (values)].  Of a scalar the results lack [n].
    ValueError without features; InvalidArgumentError for what is no SequenceExample, and for
    features that are missing, of other dtypes or lengths.

    >>> import talweg as tf
    >>> step = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> lists = {"x": tf.train.FeatureList(feature=[step, step])}
    >>> record = tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(feature_list=lists))
    >>> wanted = {"x": tf.io.FixedLenSequenceFeature([], tf.int64)}
    >>> found = tf.io.parse_sequence_example([record.SerializeToString()], None, wanted)
    >>> found[1]["x"].numpy()
    array([[7, 7]])
    """
    if not context_features and not sequence_features:
        raise value_error("TW104", "neither context_features nor sequence_features", "features")
    x = tensor(serialized, string)
    if x.ndim == 0:
        context, steps = parse_single_sequence_example(x, context_features, sequence_features)
        fixed = (described.FixedLenSequenceFeature,)
        wanted = sequence_features or {}
        lengths = {
            key: shape_of(feature, int64)[0]
            for key, feature in steps.items()
            if isinstance(wanted[key], fixed)
        }
        return context, steps, lengths
    wanted = context_features or {}
    own = Wanted(wanted, BATCH).read(x) if wanted else {}
    context = {name: own[name] for name in _order(wanted)}
    return (context, *_lists(x, sequence_features or {}))


_KINDS = (
    described.VarLenFeature,
    described.FixedLenSequenceFeature,
    described.FixedLenFeature,
    described.RaggedFeature,
    described.SparseFeature,
)


def _lists(serialized: object, features: dict) -> tuple[dict, dict]:
    """Read the lists of features of records, and the lengths of those that are filled up."""
    names = _order(features)
    plans = tuple([_plan(name, features[name]) for name in names])
    if not plans:
        return {}, {}
    results = iter(prims.parse_feature_rows(serialized, plans=plans))
    features_of, lengths = {}, {}
    for name, plan in zip(names, plans):
        parts = [next(results) for _ in range(2 if plan[0] == FIXED else 3)]
        if plan[0] == FIXED:
            rows, steps = parts
            features_of[name] = _make_ragged(rows, steps).to_tensor()
            lengths[name] = steps
        elif isinstance(features[name], described.VarLenFeature):
            features_of[name] = _sparse(*parts)
        else:
            features_of[name] = _rows(features[name], *parts)
    return features_of, lengths


def _order(features: dict) -> list[str]:
    """Return the names of features, kind by kind, as TensorFlow has them in its results."""

    def place(name: str) -> tuple:
        kind = type(features[name])
        return _KINDS.index(kind) if kind in _KINDS else len(_KINDS), name

    return sorted(features, key=place)


def _plan(name: str, feature: object) -> tuple:
    if isinstance(feature, described.FixedLenSequenceFeature):
        dims = dims_of(name, feature.shape)
        return FIXED, name, dtype_of(name, feature.dtype), dims, bool(feature.allow_missing)
    if isinstance(feature, described.VarLenFeature):
        return VALUES, name, dtype_of(name, feature.dtype), (), True
    if isinstance(feature, described.RaggedFeature):
        if not all(isinstance(part, described.UniformRowLength) for part in feature.partitions):
            raise value_error(
                "TW104", f"{name!r}: partitions by other lists of features", "UniformRowLength"
            )
        return VALUES, feature.value_key or name, dtype_of(name, feature.dtype), (), True
    raise value_error(
        "TW104",
        f"Unsupported feature {name!r}: {feature!r}",
        "FixedLenSequenceFeature, VarLenFeature or RaggedFeature",
    )


def _make_ragged(values: object, lengths: object) -> Any:
    return RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _sparse(values: object, counts: object, steps: int) -> SparseTensor:
    """Make a sparse tensor of all values with their record, step and place."""
    step_of, place = rows_of(counts)
    record_of_step, step_in_record = rows_of(steps)
    records, numbers = gather(record_of_step, step_of), gather(step_in_record, step_of)
    sizes = [
        shape_of(steps, int64)[0],
        reduce_max(concat([steps, [0]], 0)),
        reduce_max(concat([counts, [0]], 0)),
    ]
    return SparseTensor(stack([records, numbers, place], axis=1), values, stack(sizes))


def _rows(feature: Any, values: Tensor, counts: Any, steps: int) -> Any:
    splits = as_dtype(feature.row_splits_dtype)
    if feature.partitions:
        sizes = [part.length for part in feature.partitions]
        values, counts = reshape(values, [-1, *sizes]), counts // math.prod(sizes)
    return _make_ragged(_make_ragged(values, cast(counts, splits)), cast(steps, splits))
