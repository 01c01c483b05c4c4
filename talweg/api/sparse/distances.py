"""tf.edit_distance, between the rows of sparse tensors, and tf.fingerprint, of rows of bytes."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.api.host import numpy_function
from talweg.core.dtypes import uint8
from talweg.core.errors import invalid, type_error
from talweg.eager.composite import SparseTensor
from talweg.kernels import fingerprints

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


@export("edit_distance")
def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """Compute the Levenshtein distance of each row of `hypothesis` to that of `truth`.

    hypothesis, truth: SparseTensors [..., n] of one dtype (TypeError for others); the result is
    float32, [...].  normalize: divided by the length of the truth; inf for an empty one that is not
    met.

    >>> import talweg as tf
    >>> a = tf.sparse.from_dense([["k", "i", "t"]])
    >>> b = tf.sparse.from_dense([["s", "i", "t"]])
    >>> tf.edit_distance(a, b, normalize=False).numpy()
    array([1.], dtype=float32)
    """
    for label, value in (("hypothesis", hypothesis), ("truth", truth)):
        if not isinstance(value, SparseTensor):
            raise type_error("TW104", f"edit_distance: {label} is {value!r}", "a SparseTensor")
    return look_up("raw_ops.EditDistance")(
        hypothesis_indices=hypothesis.indices,
        hypothesis_values=hypothesis.values,
        hypothesis_shape=hypothesis.dense_shape,
        truth_indices=truth.indices,
        truth_values=truth.values,
        truth_shape=truth.dense_shape,
        normalize=normalize,
    )


@export("fingerprint")
def fingerprint(data: TensorLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Return a fingerprint of 8 bytes of each row, [n, 8] uint8, the same in every process.

    data: of at least one axis (InvalidArgumentError otherwise), any dtype; the bytes of a row are
    hashed, of rows of several strings their hashes.  method: "farmhash64".

    >>> import talweg as tf
    >>> tf.fingerprint(["talweg"]).shape
    TensorShape([1, 8])
    """
    if method != "farmhash64":
        raise invalid("TW207", f"fingerprint: method is {method!r}", "'farmhash64'")
    x = tensor(data)
    if x.ndim == 0:
        raise invalid("TW203", "fingerprint: data is a scalar", "at least one axis")
    prints = numpy_function(_of_rows, [x], uint8, stateful=False)
    return look_up("ensure_shape")(prints, [x.shape[0], 8])


def _of_rows(x: np.ndarray) -> np.ndarray:
    rows = x.reshape(x.shape[0], math.prod(x.shape[1:]))
    if rows.dtype.kind == "O" and rows.shape[1] > 1:
        hashes = [[fingerprints.fingerprint(value) for value in row] for row in rows]
        rows = np.array(hashes, np.uint64)
    if rows.dtype.kind == "O":
        found = [fingerprints.fingerprint(row[0]) for row in rows]
    else:
        found = [fingerprints.fingerprint(_bytes_of(row)) for row in rows]
    return np.array(found, "<u8").reshape(-1, 1).view(np.uint8).reshape(-1, 8)


def _bytes_of(row: np.ndarray) -> bytes:
    native = row if sys.byteorder == "little" else row.byteswap()
    return np.ascontiguousarray(native).tobytes()
