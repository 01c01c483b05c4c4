"""Features crossed row by row: each combination as text, or hashed to a bucket."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.core.dtypes import DType, int64, string
from talweg.core.errors import invalid, type_error
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.kernels import fingerprints

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

HASH_KEY = 0xDECAFCAFFE  # TensorFlow's


def _element(value: Any) -> int:
    return fingerprints.fingerprint(value) if isinstance(value, bytes) else int(value)


def _combine_hashes(first: int, second: int) -> int:
    """Combine hashes as TensorFlow's FingerprintCat64."""
    first, second = first & fingerprints.MASK, second & fingerprints.MASK
    result = first ^ 0xC6A4A7935BD1E995
    result ^= (_mix_hashes(second * 0xC6A4A7935BD1E995) * 0xC6A4A7935BD1E995) & fingerprints.MASK
    result = result * 0xC6A4A7935BD1E995 & fingerprints.MASK
    return _mix_hashes(_mix_hashes(result) * 0xC6A4A7935BD1E995)


def _mix_hashes(x: int) -> int:
    x &= fingerprints.MASK
    return x ^ (x >> 47)


def _bucket(values: tuple, count: int, key: int) -> int:
    found = key
    for value in values:
        found = _combine_hashes(found, _element(value))
    return found % (count if count > 0 else 2**63 - 1)


def _join_columns(values: tuple, separator: bytes) -> bytes:
    parts = [value if isinstance(value, bytes) else str(int(value)).encode() for value in values]
    return separator.join(parts)


def _crosses(inputs: Any, make: Callable[[tuple], Any], dtype: DType, function: str) -> tuple:
    """Cross the features of each row by `make`: all values, and their number in each row."""
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

    def kernel(*arrays: object) -> tuple:
        remaining = iter(arrays)
        columns = [_rows([next(remaining) for _ in range(kind)]) for kind in kinds]
        if len({len(rows) for rows in columns}) > 1:
            raise invalid("TW204", f"{function}: inputs with different numbers of rows")
        crosses = [list(itertools.product(*features)) for features in zip(*columns)]
        crossed = [make(cross) for row in crosses for cross in row]
        values = np.empty(len(crossed), dtype.numpy_dtype)
        values[:] = crossed
        return values, np.array(list(map(len, crosses)), np.int64)

    values, counts = numpy_function(kernel, operands, [dtype, int64])
    return ensure_shape(values, [None]), ensure_shape(counts, [None])


def _sparse_first(inputs: Any) -> list:
    """Sort sparse inputs before dense ones, the order in which TensorFlow crosses them."""
    return sorted(inputs, key=lambda x: not isinstance(x, SparseTensor))


def _as_sparse(values: tuple[Any, ...], counts: np.ndarray) -> SparseTensor:
    def places(counts: np.ndarray) -> tuple:
        rows = np.repeat(np.arange(len(counts)), counts)
        ends = np.cumsum(counts)
        own = np.arange(len(rows)) - (ends - counts)[rows]
        shape = np.array([len(counts), counts.max(initial=0)], np.int64)
        return np.stack([rows, own], axis=1).astype(np.int64), shape

    indices, shape = numpy_function(places, [counts], [int64, int64])
    return SparseTensor(ensure_shape(indices, [None, 2]), values, ensure_shape(shape, [2]))


def _hashing(num_buckets: int, hash_key: int | None) -> Callable[[tuple], int]:
    key = HASH_KEY if hash_key is None else hash_key
    return lambda cross: _bucket(cross, num_buckets, key)


@export("sparse.cross_hashed")
def cross_hashed(
    inputs: TensorLike, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return for each row all combinations of one element of every input, hashed; int64.

    inputs: matrices, SparseTensors or RaggedTensors with as many rows, of strings or integers;
    sparse ones are crossed first.

    >>> import talweg as tf
    >>> crossed = tf.sparse.cross_hashed([tf.constant([["a"], ["b"]]), tf.constant([[1], [2]])], 5)
    >>> crossed.dense_shape.numpy()
    array([2, 1])
    """
    make = _hashing(num_buckets, hash_key)
    return _as_sparse(*_crosses(_sparse_first(inputs), make, int64, "cross_hashed"))


@export("sparse.cross")
def cross(inputs: Any, name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Return for each row all combinations of one element of every input, as text with a separator.

    inputs: matrices or SparseTensors with as many rows, of strings or integers.  TypeError for
    other inputs.

    >>> import talweg as tf
    >>> tf.sparse.cross([tf.constant([["a"], ["b"]]), tf.constant([[1], [2]])]).values.numpy()
    array([b'a_X_1', b'b_X_2'], dtype=object)
    """
    if not all(isinstance(x, (Tensor, SparseTensor)) for x in inputs):
        raise type_error("TW104", "sparse.cross: inputs", "tensors and SparseTensors")
    mark = b"_X_" if separator is None else separator.encode()
    parts = _sparse_first(inputs)
    return _as_sparse(*_crosses(parts, lambda cross: _join_columns(cross, mark), string, "cross"))


def _as_rows(inputs: object, make: Callable[[tuple], Any], dtype: DType, function: str) -> Any:
    if not inputs:
        return RaggedTensor.from_row_splits(np.zeros(0, dtype.numpy_dtype), [0])
    values, counts = _crosses(inputs, make, dtype, function)
    return RaggedTensor.from_row_lengths(values, counts, validate=False)


@export("ragged.cross")
def ragged_cross(inputs: TensorLike, name: str | None = None) -> Any:
    """Return for each row all combinations of one element of every input, as text; a RaggedTensor.

    inputs: matrices, SparseTensors or RaggedTensors with as many rows, of strings or integers.

    >>> import talweg as tf
    >>> tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.constant([["d"], ["e"]])])
    <tf.RaggedTensor [[b'a_X_d'], [b'b_X_e', b'c_X_e']]>
    """
    return _as_rows(inputs, lambda cross: _join_columns(cross, b"_X_"), string, "ragged.cross")


@export("ragged.cross_hashed")
def ragged_cross_hashed(
    inputs: TensorLike, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> Any:
    """Do what `tf.ragged.cross` does, each combination hashed to a bucket; int64.

    >>> import talweg as tf
    >>> tf.ragged.cross_hashed([tf.ragged.constant([["a"], ["b", "c"]])], 5).shape
    TensorShape([2, None])
    """
    make = _hashing(num_buckets, hash_key)
    return _as_rows(inputs, make, int64, "ragged.cross_hashed")


def _rows(parts: list) -> list[list]:
    if len(parts) == 1:
        return np.asarray(parts[0]).tolist()
    indices, values, shape = parts
    rows: list[list] = [[] for _ in range(int(shape[0]))]
    for place, value in zip(indices.tolist(), values.tolist()):
        rows[place[0]].append(value)
    return rows
