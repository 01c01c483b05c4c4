"""tf.nn: pooling by a fraction, and windows with holes by rearranging space into batches.

Fractional pooling (Graham 2014, arXiv:1412.6071) shrinks an axis by a ratio between 1 and 2 (or
more) with windows whose sizes vary by one.  Where the windows lie is random; equal seeds give equal
windows, which are not TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.arguments import integers, tensor
from talweg.api.array.rearranging import batch_to_space, space_to_batch
from talweg.api.export import export
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.tensor import wrap
from talweg.prims import arithmetic
from talweg.prims.indexing import gather
from talweg.prims.layout import pad
from talweg.prims.nn import pooling

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike, WindowLike


class FractionalPool(NamedTuple):
    """The results of fractional pooling; window i starts at number i of its sequence."""

    output: Any
    row_pooling_sequence: Any
    col_pooling_sequence: Any


@export("nn.fractional_max_pool")
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: TensorLike,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """Compute the maximum of windows that are about `pooling_ratio` wide; [batch, height, width,
    channels].

    pooling_ratio: a number of at least 1, or a list of 4 (ValueError otherwise).  With
    `overlapping`, windows share their border elements.  seed 0 gives new windows in every call.
    The result has the fields output, row_pooling_sequence, col_pooling_sequence.

    >>> import talweg as tf
    >>> tf.nn.fractional_max_pool(tf.ones([1, 6, 6, 1]), 1.5, seed=1).output.shape
    TensorShape([1, 4, 4, 1])
    """
    function = "fractional_max_pool"
    x, rows, columns = _sequences(function, value, pooling_ratio, pseudo_random, seed)
    lowest = np.iinfo(x.dtype.numpy_dtype).min if x.dtype.is_integer else -math.inf
    spread, window, _ = _spread(x, rows, columns, overlapping, lowest)
    y = pooling.max_pool(spread, window=window, strides=window, padding="VALID", dilation=(1, 1))
    return FractionalPool(y, wrap(rows), wrap(columns))


@export("nn.fractional_avg_pool")
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: TensorLike,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """Average windows that are about `pooling_ratio` wide; see `fractional_max_pool`."""
    function = "fractional_avg_pool"
    x, rows, columns = _sequences(function, value, pooling_ratio, pseudo_random, seed)
    spread, window, counts = _spread(x, rows, columns, overlapping, 0)
    y = pooling.avg_pool(spread, window=window, strides=window, padding="VALID", dilation=(1, 1))
    weights = math.prod(window) / (counts[0][:, None, None] * counts[1][:, None])
    y = arithmetic.mul(y, wrap(weights.astype(x.dtype.numpy_dtype)))
    return FractionalPool(y, wrap(rows), wrap(columns))


def _sequences(
    function: str, value: TensorLike, ratio: Any, pseudo_random: bool, seed: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the tensor, and the borders of its windows on both spatial axes."""
    ratios = ratio if isinstance(ratio, (list, tuple)) else [ratio]
    if any(part < 1 for part in ratios):
        raise value_error("TW207", f"{function}: pooling_ratio={ratio}", "at least 1.0")
    if len(ratios) == 1:
        ratios = [1.0, ratios[0], ratios[0], 1.0]
    if len(ratios) != 4 or ratios[0] != 1 or ratios[-1] != 1:
        raise value_error(
            "TW207",
            f"{function}: pooling_ratio={ratio}",
            "a number, or a list of 4 with 1.0 for batch and channels",
        )
    x = tensor(value)
    if x.ndim != 4:
        raise invalid("TW203", f"{function}: value has shape {x.dims}", "rank 4")
    random = np.random.default_rng(seed or None)
    rows, columns = (
        _borders(function, size, part, pseudo_random, random)
        for size, part in zip(x.dims[1:3], ratios[1:3])
    )
    return x, rows, columns


def _borders(
    function: str, size: int, ratio: Any, pseudo_random: bool, random: np.random.Generator
) -> np.ndarray:
    """Draw increasing borders 0 ... size of floor(size / ratio) windows."""
    outputs = int(size / ratio)
    if outputs < 1:
        raise invalid("TW207", f"{function}: pooling_ratio={ratio} for {size} elements")
    if pseudo_random:  # a_i = floor(α (i + u)), moved to begin at 0
        steps = size / outputs * np.arange(outputs + 1) + random.uniform() * size / outputs
        borders = np.floor(steps + 1e-9).astype(np.int64)
        borders -= borders[0]
        borders[-1] = size
        return borders
    widths = np.full(outputs, size // outputs)
    widths[: size % outputs] += 1
    return np.concatenate([[0], np.cumsum(random.permutation(widths))]).astype(np.int64)


def _spread(
    x: Tensor, rows: np.ndarray, columns: np.ndarray, overlapping: bool, fill: float
) -> tuple[Any, tuple[int, int], list[np.ndarray]]:
    """Spread x: (all windows side by side and of equal size, that size, the true sizes per axis).

    Smaller windows are filled up with an element `fill` that is put behind x.
    """
    edge = wrap(np.asarray(fill, x.dtype.numpy_dtype))
    x = pad(x, edge, low=(0, 0, 0, 0), high=(0, 1, 1, 0))
    window, counts = [], []
    for axis, borders in ((1, rows), (2, columns)):
        size = int(borders[-1])
        stops = np.minimum(borders[1:] + overlapping, size)
        widths = stops - borders[:-1]
        places = borders[:-1, None] + np.arange(widths.max())
        places = np.where(places < stops[:, None], places, size)
        x = gather(x, wrap(places.reshape(-1)), axis=axis, batch_dims=0)
        window.append(int(widths.max()))
        counts.append(widths)
    return x, (window[0], window[1]), counts


# -- holes by rearranging


@export("nn.with_space_to_batch")
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: WindowLike,
    padding: str,
    op: Callable[..., Any],
    filter_shape: ShapeLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Return `op` with windows whose taps lie `dilation_rate` apart, for an `op` that knows no
    dilation.

    `op(x, number of spatial dimensions, padding)` runs on the interleaved parts of the input as a
    batch, and its results are interleaved again.  "SAME" needs `filter_shape` (ValueError).  With
    rates of 1 it is just called.

    >>> import talweg as tf
    >>> mean = lambda x, ndim, padding: tf.nn.avg_pool(x, 2, 1, padding)
    >>> x = tf.reshape(tf.range(5.0), [1, 5, 1])
    >>> tf.nn.with_space_to_batch(x, [2], "VALID", mean).numpy().ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    function = "with_space_to_batch"
    x = tensor(input)
    rates = integers(dilation_rate, function, "dilation_rate")
    if min(rates, default=1) < 1:
        raise value_error("TW207", f"{function}: dilation_rate={rates}", "positive numbers")
    first = data_format is not None and data_format.startswith("NC")
    start = 2 if first else 1
    axes = sorted(spatial_dims) if spatial_dims is not None else range(start, start + len(rates))
    axes = [int(axis) for axis in axes]
    if len(axes) != len(rates) or min(axes, default=1) < 1 or max(axes, default=0) >= x.ndim:
        raise value_error(
            "TW205",
            f"{function}: spatial_dims={list(axes)} with dilation_rate={rates} and an input of "
            f"shape {x.dims}",
            "one axis, not the first, for every rate",
        )
    if all(rate == 1 for rate in rates):
        return op(x, len(rates), padding)
    low, high = _base_padding(function, padding, rates, filter_shape)
    blocks = [1] * max(axes)
    pads = [[0, 0] for _ in blocks]
    crops = [[0, 0] for _ in blocks]
    for axis, rate, before, after in zip(axes, rates, low, high):
        rest = -(x.dims[axis] + before + after) % rate
        blocks[axis - 1] = rate
        pads[axis - 1] = [before, after + rest]
        crops[axis - 1] = [0, rest]
    y = op(space_to_batch(x, blocks, pads), len(rates), "VALID")
    return batch_to_space(y, blocks, crops)


def _base_padding(
    function: str, padding: str, rates: tuple, filter_shape: object
) -> tuple[list[int], list[int]]:
    """Compute the zeros that "SAME" puts in front of and behind each axis; none for "VALID"."""
    if padding == "VALID":
        return [0] * len(rates), [0] * len(rates)
    if padding != "SAME":
        raise value_error("TW207", f"{function}: padding={padding!r}", "'SAME' or 'VALID'")
    if filter_shape is None:
        raise value_error("TW207", f"{function}: filter_shape must be given for SAME padding")
    taps = integers(filter_shape, function, "filter_shape")
    spans = [(count - 1) * rate for count, rate in zip(taps, rates)]
    return [span // 2 for span in spans], [span - span // 2 for span in spans]
