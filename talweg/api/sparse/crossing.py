"""tf.sparse.cross_hashed: features crossed row by row, each combination hashed to a bucket."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.core.dtypes import int64
from talweg.core.errors import invalid
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.kernels import fingerprints

HASH_KEY = 0xDECAFCAFFE  # TensorFlow's


def _element(value: Any) -> int:
    return fingerprints.fingerprint(value) if isinstance(value, bytes) else int(value)


def _combined(first: int, second: int) -> int:
    """TensorFlow's FingerprintCat64."""
    first, second = first & fingerprints.MASK, second & fingerprints.MASK
    result = first ^ 0xC6A4A7935BD1E995
    result ^= (_mixed(second * 0xC6A4A7935BD1E995) * 0xC6A4A7935BD1E995) & fingerprints.MASK
    result = result * 0xC6A4A7935BD1E995 & fingerprints.MASK
    return _mixed(_mixed(result) * 0xC6A4A7935BD1E995)


def _mixed(x: int) -> int:
    x &= fingerprints.MASK
    return x ^ (x >> 47)


def _bucket(values: tuple, count: int, key: int) -> int:
    found = key
    for value in values:
        found = _combined(found, _element(value))
    return found % (count if count > 0 else 2**63 - 1)


def _crossed(columns: list[list[list]], count: int, key: int) -> tuple:
    indices, values, longest = [], [], 0
    for row, features in enumerate(zip(*columns)):
        crosses = list(itertools.product(*features))
        longest = max(longest, len(crosses))
        for place, cross in enumerate(crosses):
            indices.append((row, place))
            values.append(_bucket(cross, count, key))
    places = np.array(indices, np.int64).reshape(-1, 2)
    shape = np.array([len(columns[0]), longest], np.int64)
    return places, np.array(values, np.int64), shape


@export("sparse.cross_hashed")
def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """For each row all combinations of one element of every input, hashed; int64.

    inputs: matrices, SparseTensors or RaggedTensors with as many rows, of strings or integers.

    >>> import talweg as tf
    >>> crossed = tf.sparse.cross_hashed([tf.constant([["a"], ["b"]]), tf.constant([[1], [2]])], 5)
    >>> crossed.dense_shape.numpy()
    array([2, 1])
    """
    key = HASH_KEY if hash_key is None else hash_key
    operands, kinds = [], []
    for given in inputs:
        if isinstance(given, RaggedTensor):
            given = given.to_sparse()
        if isinstance(given, SparseTensor):
            operands += [given.indices, given.values, given.dense_shape]
            kinds.append(3)
        else:
            operands.append(tensor(given))
            kinds.append(1)

    def kernel(*arrays: Any) -> tuple:
        remaining = iter(arrays)
        columns = [_rows([next(remaining) for _ in range(kind)]) for kind in kinds]
        if len({len(rows) for rows in columns}) > 1:
            raise invalid("TW204", "cross_hashed: inputs with different numbers of rows")
        return _crossed(columns, num_buckets, key)

    indices, values, shape = numpy_function(kernel, operands, [int64, int64, int64])
    return SparseTensor(
        ensure_shape(indices, [None, 2]), ensure_shape(values, [None]), ensure_shape(shape, [2])
    )


def _rows(parts: list) -> list[list]:
    if len(parts) == 1:
        return np.asarray(parts[0]).tolist()
    indices, values, shape = parts
    rows: list[list] = [[] for _ in range(int(shape[0]))]
    for place, value in zip(indices.tolist(), values.tolist()):
        rows[place[0]].append(value)
    return rows
