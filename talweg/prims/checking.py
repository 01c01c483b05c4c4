"""Checks of values that let them through unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, check_dtype, primitive
from talweg.core.dims import dims_differ, same_dims
from talweg.core.dtypes import FLOATING, int32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.prims.rows import find_dims, in_front

if TYPE_CHECKING:
    from talweg.core.value import Tensor

SPLITS = NoGradient("where rows begin and end is only compared")


@primitive
class check_numerics:
    """y = x; InvalidArgumentError with `message` if any element is infinite or NaN.

    The cotangent is checked in turn, as TensorFlow does.
    """

    operands = "x"
    tf_attributes = "check_numerics"
    accepts = FLOATING

    def infer(x, *, message):
        check_dtype("check_numerics", "tensor", x.dtype, FLOATING)
        return Aval(x.dims, x.dtype)

    def numpy(x: np.ndarray, *, message):
        if not np.isfinite(x).all():
            found = [name for name, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(x).any()]
            count = int(x.size - np.isfinite(x).sum())
            raise invalid(
                "TW209",
                f"{message} : tensor of shape {x.shape} had {' and '.join(found)} values "
                f"({count} of {x.size} elements)",
                "finite values",
            )
        return x

    def requires(t, x, *, message):
        t.require(t.is_finite(x))

    def scalar(s, x, *, message):
        return x

    def transpose_x(g, x, *, message):
        return check_numerics(g, message=f"gradient of: {message}")

    batch = ELEMENTWISE
    memory = "view"
    samples = (Sample([3], message=""), Sample([], message="m"), Sample([0, 2], message=""))
    rejects = (
        Reject([3], dtype=int32, message="", code="TW102"),
        Reject(np.array([1.0, np.nan]), message="", code="TW209"),
    )


@primitive
class check_same_splits:
    """y = x, values in rows with splits a; InvalidArgumentError unless a and b are equal.

    x any shape, a and b vectors of integers.
    """

    operands = "x a b"

    def infer(x, a, b):
        for part, argument in ((a, "row_splits"), (b, "row_splits")):
            check_dtype("RaggedTensor", argument, part.dtype, {int32, int64})
        if None not in (a.dims, b.dims) and dims_differ(a.dims, b.dims):
            _refuse_rows(a.dims[0] - 1, b.dims[0] - 1)
        return Aval(x.dims, x.dtype)

    def numpy(x: np.ndarray, a: np.ndarray, b: np.ndarray):
        if not np.array_equal(a, b):
            _refuse_rows(np.diff(a).tolist(), np.diff(b).tolist())
        return x

    def expand(t, x, a, b):
        t.require(t.equal(a, b))
        return x

    def transpose_x(g, x, a, b):
        return g

    no_gradient = {"a": SPLITS, "b": SPLITS}

    def batch(size, batched, x, a, b):
        return NotImplemented if batched[1] or batched[2] else check_same_splits(x, a, b)

    memory = "view"
    samples = (
        Sample([3], np.array([0, 2, 3]), np.array([0, 2, 3])),
        Sample([0, 2], np.array([0], np.int32), np.array([0], np.int32)),
    )
    rejects = (
        Reject([3], np.array([0, 2, 3]), np.array([0, 1, 3]), code="TW204"),
        Reject([3], np.array([0, 2, 3]), np.array([0, 3]), code="TW204"),
        Reject([3], np.array([0.0, 3.0]), np.array([0, 3]), code="TW102"),
    )


@primitive
class check_within:
    """y = i, numbers of elements in rows of n; InvalidArgumentError unless 0 <= i < n everywhere.

    i and n: integers of one shape and dtype.
    """

    operands = "i n"
    accepts = frozenset({int32, int64})

    def infer(i, n):
        for part, argument in ((i, "indices"), (n, "row lengths")):
            check_dtype("gather", argument, part.dtype, {int32, int64})
        if None not in (i.dims, n.dims) and dims_differ(i.dims, n.dims):
            raise invalid("TW204", f"gather: indices of {i.dims} in rows of {n.dims}", "as many")
        return Aval(i.dims, i.dtype)

    def numpy(i: np.ndarray, n: np.ndarray):
        outside = (i < 0) | (i >= n)
        if outside.any():
            raise invalid(
                "TW206",
                f"gather: index {i[outside][0]} is not in [0, {n[outside][0]}), "
                "the length of its row",
            )
        return i

    def expand(t, i, n):
        t.require(t.logical_and(t.greater_equal(i, 0), t.less(i, n)))
        return i

    no_gradient = {"i": SPLITS, "n": SPLITS}

    def batch(size, batched, i, n):
        return check_within(i, n) if all(batched) else NotImplemented

    memory = "view"
    samples = (
        Sample(np.array([0, 1]), np.array([1, 2])),
        Sample(np.array([], np.int32), np.array([], np.int32)),
    )
    rejects = (
        Reject(np.array([0, 2]), np.array([1, 2]), code="TW206"),
        Reject(np.array([-1]), np.array([1]), code="TW206"),
        Reject(np.array([0]), np.array([1, 2]), code="TW204"),
        Reject(np.array([0.0]), np.array([1]), code="TW102"),
    )


@primitive
class check_sizes:
    """y = x; InvalidArgumentError with `message` unless the sizes `given` are those in `wanted`.

    For sizes that only a run knows: `infer`, which is asked again then, compares them.
    """

    operands = "x"

    def infer(x, *, given, wanted, message):
        if dims_differ(given, wanted):
            raise invalid("TW204", f"{message}: sizes {given}", f"{wanted}")
        return Aval(x.dims, x.dtype)

    def numpy(x, *, given, wanted, message):
        return x

    def expand(t, x, *, given, wanted, message):
        return NotImplemented if dims_differ(given, wanted) else x

    def transpose_x(g, x, *, given, wanted, message):
        return g

    batch = ELEMENTWISE
    memory = "view"
    samples = (Sample([3], given=(2, 3), wanted=(2, 3), message="m"),)
    rejects = (Reject([3], given=(2, 3), wanted=(2, 4), message="m", code="TW204"),)


@primitive
class check_same_shape:
    """y = x; InvalidArgumentError with `message` unless x and `like` have one shape.

    For shapes of which only a run knows the ranks; `check_sizes` is for known ranks.
    """

    operands = "x like"
    no_gradient = {"like": NoGradient("only its shape is used")}
    memory = "view"
    samples = (Sample([2, 3], [2, 3], message="m"), Sample([], [], message="m"))
    rejects = (
        Reject([3], [2], message="m", code="TW204"),
        Reject([3], [3, 1], message="m", code="TW204"),
    )

    def infer(x, like, *, message):
        if None not in (x.dims, like.dims) and dims_differ(x.dims, like.dims):
            raise invalid("TW204", f"{message}: shape {x.dims}", f"{like.dims}")
        return Aval(like.dims if x.dims is None else x.dims, x.dtype)

    def numpy(x, like, *, message):
        return x

    def expand(t, x, like, *, message):
        return NotImplemented if dims_differ(x.dims, like.dims) else x

    def transpose_x(g, x, like, *, message):
        return g

    def batch(size, batched, x, like, *, message):
        x, like = in_front(x, size, batched[0]), in_front(like, size, batched[1])
        return check_same_shape(x, like, message=message)


def require_same_shape(x: Tensor, like: Tensor, message: str) -> Tensor:
    """Return `x` with a check of its shape, if only a run can compare it with that of `like`."""
    given, wanted = find_dims(x), find_dims(like)
    if given is not None and wanted is not None and same_dims(given, wanted):
        return x
    return check_same_shape(x, like, message=message)


def _refuse_rows(first: object, second: object) -> None:
    what = "lengths" if isinstance(first, list) else "numbers"
    raise invalid(
        "TW204",
        f"Two ragged tensors have rows of different {what}: {first} and {second}",
        "equal row splits",
    )
