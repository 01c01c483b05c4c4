"""tf.experimental.numpy.random: draws from the global generator, with NumPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import as_array, common_dtype, default_float, to_dtype

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


def _sizes(size: object) -> Any:
    if size is None:
        return []
    return [size] if isinstance(size, (int, np.integer)) else size


@export("experimental.numpy.random.seed")
def seed(s: Any) -> None:
    """Set the seed that all draws depend on (`tf.random.set_seed`), an integer.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.seed(3)
    """
    look_up("random.set_seed")(int(s))


@export("experimental.numpy.random.randn")
def randn(*args: object) -> Tensor:
    """Draws from the normal distribution, in the shape of the arguments.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.randn(2, 3).shape
    TensorShape([2, 3])
    """
    return standard_normal(list(args))


@export("experimental.numpy.random.standard_normal")
def standard_normal(size: TensorLike | None = None) -> Tensor:
    """Draws from the normal distribution with mean 0 and variance 1.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.standard_normal(2).dtype
    tf.float64
    """
    return look_up("random.normal")(_sizes(size), dtype=default_float())


@export("experimental.numpy.random.uniform")
def uniform(
    low: TensorLike = 0.0, high: TensorLike = 1.0, size: TensorLike | None = None
) -> Tensor:
    """Draws from the interval from `low` to `high`, without the latter.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.uniform(size=[2]).shape
    TensorShape([2])
    """
    dtype = default_float()
    low, high = as_array(low, dtype), as_array(high, dtype)
    if size is None:
        size = look_up("shape")(low + high)
    unit = look_up("random.uniform")(_sizes(size), dtype=dtype)
    return low + unit * (high - low)


@export("experimental.numpy.random.random")
def random(size: TensorLike | None = None) -> Tensor:
    """Draws from the interval from 0 to 1, without the latter.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.random(2).shape
    TensorShape([2])
    """
    return uniform(0.0, 1.0, _sizes(size))


@export("experimental.numpy.random.rand")
def rand(*size: object) -> Tensor:
    """Draws from the interval from 0 to 1, in the shape of the arguments.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.rand(2, 1).shape
    TensorShape([2, 1])
    """
    return uniform(0.0, 1.0, list(size))


@export("experimental.numpy.random.randint")
def randint(
    low: TensorLike,
    high: TensorLike | None = None,
    size: TensorLike | None = None,
    dtype: DTypeLike = np.int64,
) -> Tensor:
    """Return integers from `low` (0 if `high` is None) up to `high`, without it.

    ValueError for a dtype that is no integer.

    >>> import talweg as tf
    >>> bool((tf.experimental.numpy.random.randint(3, size=[9]) < 3).numpy().all())
    True
    """
    low, high = (0, low) if high is None else (low, high)
    kind = to_dtype(dtype)
    if not kind.is_integer:
        raise value_error("TW102", f"randint: dtype is {kind.name}", "an integer dtype")
    wide = kind if kind.name in ("int32", "int64") else common_dtype("int32")
    drawn = look_up("random.uniform")(
        _sizes(size), as_array(low, wide), as_array(high, wide), dtype=wide
    )
    return cast(drawn, kind)


@export("experimental.numpy.random.poisson")
def poisson(lam: TensorLike = 1.0, size: TensorLike | None = None) -> Tensor:
    """Return counts from the Poisson distribution with mean `lam`, int64.

    >>> import talweg as tf
    >>> tf.experimental.numpy.random.poisson(4.0, [3]).dtype
    tf.int64
    """
    rate = as_array(lam, default_float())
    shape = look_up("shape")(rate) if size is None else _sizes(size)
    own = look_up("random.uniform")([2], maxval=2**31 - 1, dtype="int32")
    return look_up("random.stateless_poisson")(shape, own, rate, dtype="int64")
