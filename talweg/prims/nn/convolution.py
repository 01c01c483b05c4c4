"""Sliding windows: what their primitives share, and convolution (`pooling.py` has the rest).

Layout `[N, *S, C]` with any number of spatial axes.  Parameters common to all:

    strides, dilation   ints per spatial axis; dilation is the distance between taps
    padding             "SAME", "VALID", or (in front, behind) per spatial axis
    window              taps per spatial axis (a convolution reads it off its filter)
    groups              how many separate convolutions lie side by side in the channels
    sizes, kernel       the spatial sizes of an array that is a result here, and an operand there

`<g, convolution(x, w)>` is linear in each of x, w and g, so three primitives close the derivatives
of convolution to any order: each is a transpose of the other two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dims import Dim, below, differ, is_symbolic, largest, same
from talweg.core.dtypes import FLOATING, int32
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample, later
from talweg.kernels import convolution as convolutions
from talweg.kernels import window as windows
from talweg.prims.indexing import in_float32
from talweg.prims.layout import batch_to_front, reshape, transpose

if TYPE_CHECKING:
    from talweg.core.dims import Size

CONVOLVED = FLOATING | {int32}


# -- shapes


def convolution_type(x, strides: tuple, groups: int):
    """Return TensorFlow's type of a convolution:
    by the number of axes, and whether channels mix.
    """
    if len(strides) == 3:
        return "Conv3D"
    alone = groups > 1 and x.dims is not None and same(x.dims[-1], groups)
    return "DepthwiseConv2dNative" if alone else "Conv2D"


def check_positive(name, argument: object, values):
    """Raise InvalidArgumentError unless all values are positive."""
    for value in values:
        if below(value, 1):
            raise invalid("TW207", f"{name}: {argument}={tuple(values)}", "positive numbers")


def output_dims(name: object, sizes, window, strides, padding, dilation):
    """Return the number of windows per spatial axis, None where the size is not known."""
    check_positive(name, "strides", strides)
    check_positive(name, "dilations", dilation)
    check_positive(name, "window sizes", window)
    output_sizes = []
    for axis, size in enumerate(sizes):
        if size is None:
            output_sizes.append(None)
            continue
        if type(size) is Dim or type(window[axis]) is Dim:
            pair = padding if isinstance(padding, str) else padding[axis]
            output_sizes.append(_outputs(size, window[axis], strides[axis], pair, dilation[axis]))
            continue
        at = slice(axis, axis + 1)
        rest = ((size,), window[at], strides[at])
        pair = padding if isinstance(padding, str) else padding[at]
        pairs = windows.explicit_padding(pair, *rest, dilation[at])
        span = windows.extent(window[axis], dilation[axis])
        if size + sum(pairs[0]) - span <= -2 * strides[axis]:  # TensorFlow's limit
            raise invalid(
                "TW204",
                f"{name}: Computed output size would be negative on spatial axis {axis}: size "
                f"{size} with padding {pairs[0]}, window {window[axis]}, dilation "
                f"{dilation[axis]} (spanning {span}), stride {strides[axis]}",
                "a window that fits into the padded input",
            )
        output_sizes.append(windows.output_sizes(*rest, pairs, dilation[at])[0])
    return tuple(output_sizes)


def _outputs(size, taps, stride, padding: str, step):
    """Return the number of windows along one axis of which a size is symbolic."""
    if padding == "SAME":
        return (size + stride - 1) // stride
    low, high = (0, 0) if padding == "VALID" else padding
    return largest((size + low + high - windows.extent(taps, step)) // stride + 1, 0)


def check_rank(name: object, x, rank, argument: object = "input"):
    """Raise InvalidArgumentError unless `x` has `rank` axes, of which at least one is spatial."""
    if x.ndim != rank or rank < 3:
        raise invalid(
            "TW203",
            f"{name}: {argument} has shape {x.dims}",
            f"rank {max(rank, 3)}: a batch axis, {max(rank - 2, 1)} spatial axes, a channel axis",
        )


def check_outputs(name: str, g, sizes, window, strides, padding: str | tuple, dilation: tuple):
    """Raise InvalidArgumentError unless `g` has the shape that windows over `sizes` give."""
    found = output_dims(name, sizes, window, strides, padding, dilation)
    for wanted, size in zip(found, g.dims[1:-1]):
        if wanted is not None and size is not None and differ(wanted, size):
            raise invalid(
                "TW204",
                f"{name}: the output has spatial sizes {g.dims[1:-1]}, but windows of "
                f"{tuple(window)} over {tuple(sizes)} with strides {tuple(strides)}, dilations "
                f"{tuple(dilation)} and padding {padding} number {found}",
                f"spatial sizes {found}",
            )


def padding_pairs(
    sizes: tuple, window: tuple, strides: tuple, padding: str | tuple, dilation: tuple
):
    """Return (in front, behind) per spatial axis."""
    if padding == "SAME" and (is_symbolic(sizes) or is_symbolic(window)):
        rest = zip(sizes, window, strides, dilation)
        return tuple([_same_padding(*geometry) for geometry in rest])
    return windows.explicit_padding(padding, sizes, window, strides, dilation)


def _same_padding(size: int, taps: tuple, stride: int, step: object):
    """Return (in front, behind) along an axis whose size is symbolic."""
    outputs = _outputs(size, taps, stride, "SAME", step)
    total = largest((outputs - 1) * stride + windows.extent(taps, step) - size, 0)
    return total // 2, total - total // 2


# -- batches: one more axis in front of N


def merge_batch(x):
    """Return `[B, N, ...]` as `[B N, ...]`."""
    return reshape(x, shape=(x.dims[0] * x.dims[1], *x.dims[2:]))


def split_batch(y, size: object):
    """Return `[B N, ...]` as `[B, N, ...]`."""
    return reshape(y, shape=(size, y.dims[0] // size, *y.dims[1:]))


def _inside(x, groups: int, axis: int):
    """Return `[B, ..., G c, ...]` as `[..., G B c, ...]`, where axis counts after B."""
    dims, size = x.dims[1:], x.dims[0]
    axis %= len(dims)
    split = (size, *dims[:axis], groups, dims[axis] // groups, *dims[axis + 1 :])
    x = reshape(x, shape=split)
    perm = (*range(1, axis + 2), 0, *range(axis + 2, len(split)))
    return reshape(
        transpose(x, perm=perm), shape=(*dims[:axis], size * dims[axis], *dims[axis + 1 :])
    )


def _outside(y, size, groups: object, axis: int):
    """Return `[..., G B c, ...]` as `[B, ..., G c, ...]`: `_inside` undone."""
    dims = y.dims
    axis %= len(dims)
    inner = dims[axis] // (groups * size)
    split = (*dims[:axis], groups, size, inner, *dims[axis + 1 :])
    y = reshape(y, shape=split)
    perm = (axis + 1, *range(axis + 1), *range(axis + 2, len(split)))
    return reshape(
        transpose(y, perm=perm), shape=(size, *dims[:axis], groups * inner, *dims[axis + 1 :])
    )


def leading(name: str):
    """Return the batch rule of an operation whose operands all have N in front."""

    def batch(size: Size, batched: tuple, *operands: object, **params: object):
        prim = later(name)
        fronted = [batch_to_front(size, x, own) for x, own in zip(operands, batched)]
        results = prim(*map(merge_batch, fronted), **params)
        if prim.multiple:
            return tuple(split_batch(part, size) for part in results)
        return split_batch(results, size)

    return batch


# -- convolution

_PLAIN = {"strides": (1, 1), "padding": "VALID", "dilation": (1, 1), "groups": 1}
_GROUPED = {"strides": (2, 1), "padding": ((1, 0), (0, 2)), "dilation": (1, 2), "groups": 2}
_LINE = {"strides": (2,), "padding": "SAME", "dilation": (1,), "groups": 1}


@primitive
class convolution:
    """z[n, o, m] = Σ x[n, o s + k d - low, c] w[k, c, m].   [N, *S, C] [*K, C/G, M] -> [N, *O, M].

    Output channel m reads the C/G channels of group m // (M/G).
    """

    operands = "x w"
    tf_attributes = "windows"

    def tf_type(x, w, *, strides, padding, dilation, groups):
        return convolution_type(x, strides, groups)

    tf_name = "convolution"

    def infer(x, w, *, strides, padding, dilation, groups):
        check_dtype("convolution", "input", x.dtype, CONVOLVED)
        check_dtype("convolution", "filters", w.dtype, {x.dtype})
        check_rank("convolution", x, len(strides) + 2)
        check_rank("convolution", w, len(strides) + 2, "filters")
        depth, count = w.dims[-2:]
        if differ(x.dims[-1], depth * groups) or differ(count % groups, 0) or same(depth, 0):
            raise invalid(
                "TW204",
                f"convolution: input has {x.dims[-1]} channels, filters have shape {w.dims} "
                f"with {groups} groups",
                "input channels a positive multiple of the filters' (last but one) dimension, and "
                "output channels a multiple of that many groups",
            )
        outputs = output_dims("convolution", x.dims[1:-1], w.dims[:-2], strides, padding, dilation)
        return Aval((x.dims[0], *outputs, count), x.dtype)

    def numpy(x, w, *, strides, padding, dilation, groups):
        pairs = padding_pairs(x.shape[1:-1], w.shape[:-2], strides, padding, dilation)
        return convolutions.convolution(x, w, strides, pairs, dilation, groups)

    def transpose_x(g, x, w, **params):
        return convolution_input_gradient(g, w, sizes=x.dims[1:-1], **params)

    def transpose_w(g, x, w, **params):
        return convolution_filter_gradient(x, g, kernel=w.dims[:-2], **params)

    def batch(size, batched, x, w, *, groups, **params):
        if not batched[1]:
            return split_batch(convolution(merge_batch(x), w, groups=groups, **params), size)
        w = _inside(w, groups if not batched[0] else 1, -1)
        if not batched[0]:
            return _outside(convolution(x, w, groups=groups, **params), size, groups, -1)
        z = convolution(_inside(x, 1, -1), w, groups=groups * size, **params)
        return _outside(z, size, 1, -1)

    def expand(t, x, w, **params):
        return in_float32(t, "convolution", (x, w), 0, params)

    memory = "window"
    call = "convolution"
    xla = "convolution"
    accepts = CONVOLVED
    samples = (
        Sample([2, 4, 3, 2], [2, 2, 2, 3], **_PLAIN),
        Sample([2, 5, 4, 4], [2, 3, 2, 4], **_GROUPED),
        Sample([2, 5, 3], [3, 3, 2], **_LINE),
        Sample([1, 3, 3, 3], [2, 2, 1, 6], **{**_PLAIN, "groups": 3}),
        Sample([0, 4, 3, 2], [2, 2, 2, 3], **_PLAIN),
    )
    rejects = (
        Reject([2, 4, 3, 3], [2, 2, 2, 3], **_PLAIN, code="TW204"),
        Reject([4, 3, 2], [2, 2, 2, 3], **_PLAIN, code="TW203"),
        Reject([2, 4, 3, 2], [6, 2, 2, 3], **_PLAIN, code="TW204"),
        Reject([2, 4, 3, 2], [2, 2, 2, 3], **{**_PLAIN, "strides": (0, 1)}, code="TW207"),
    )


@primitive
class convolution_input_gradient:
    """x̄[i, c] = Σ g[o, m] w[k, c, m] over o s + k d - low = i.

    g [N, *O, M], w [*K, C/G, M] -> [N, *S, C].

    The transposed convolution: the transpose of `convolution` in x, for x of spatial sizes `sizes`.
    """

    operands = "g w"

    def tf_type(g, w, *, sizes, strides, padding, dilation, groups):
        return f"{convolution_type(g, strides, 1)}BackpropInput"

    def infer(g, w, *, sizes, strides, padding, dilation, groups):
        name = "convolution_input_gradient"
        check_dtype(name, "input", g.dtype, CONVOLVED)
        check_dtype(name, "filters", w.dtype, {g.dtype})
        check_rank(name, g, len(strides) + 2)
        check_rank(name, w, len(strides) + 2, "filters")
        if differ(g.dims[-1], w.dims[-1]):
            raise invalid(
                "TW204",
                f"{name}: input has {g.dims[-1]} channels, filters have shape {w.dims}",
                "the filters' last dimension equal to the number of channels",
            )
        check_outputs(name, g, sizes, w.dims[:-2], strides, padding, dilation)
        return Aval((g.dims[0], *sizes, w.dims[-2] * groups), g.dtype)

    def numpy(g, w, *, sizes, strides, padding, dilation, groups):
        pairs = padding_pairs(sizes, w.shape[:-2], strides, padding, dilation)
        return convolutions.convolution_input_gradient(
            g, w, sizes, strides, pairs, dilation, groups
        )

    def transpose_g(h, g, w, *, sizes, **params):
        return convolution(h, w, **params)

    def transpose_w(h, g, w, *, sizes, **params):
        return convolution_filter_gradient(h, g, kernel=w.dims[:-2], **params)

    def batch(size, batched, g, w, *, groups, **params):
        if not batched[1]:
            x = convolution_input_gradient(merge_batch(g), w, groups=groups, **params)
            return split_batch(x, size)
        if not batched[0]:
            x = convolution_input_gradient(g, _inside(w, 1, -2), groups=groups, **params)
            return _outside(x, size, groups, -1)
        g, w = _inside(g, 1, -1), _inside(w, 1, -1)
        x = convolution_input_gradient(g, w, groups=groups * size, **params)
        return _outside(x, size, 1, -1)

    def expand(t, g, w, **params):
        return in_float32(t, "convolution_input_gradient", (g, w), 0, params)

    memory = "window"
    call = "convolution"
    xla = "convolution_input_gradient"
    accepts = CONVOLVED
    samples = (
        Sample([2, 3, 2, 3], [2, 2, 2, 3], sizes=(4, 3), **_PLAIN),
        Sample([2, 3, 2, 4], [2, 3, 2, 4], sizes=(5, 4), **_GROUPED),
        Sample([2, 3, 2], [3, 6, 2], sizes=(5,), **_LINE),
        Sample([1, 2, 2, 6], [2, 2, 1, 6], sizes=(3, 3), **{**_PLAIN, "groups": 3}),
    )
    rejects = (
        Reject([2, 3, 2, 4], [2, 2, 2, 3], sizes=(4, 3), **_PLAIN, code="TW204"),
        Reject([2, 3, 2, 3], [2, 2, 2, 3], sizes=(5, 3), **_PLAIN, code="TW204"),
        Reject([3, 2, 3], [2, 2, 2, 3], sizes=(4, 3), **_PLAIN, code="TW203"),
    )


@primitive
class convolution_filter_gradient:
    """w̄[k, c, m] = Σ x[n, o s + k d - low, c] g[n, o, m].   [N, *S, C] [N, *O, M] -> [*K, C/G, M].

    The transpose of `convolution` in w, for w of `kernel` taps.
    """

    operands = "x g"

    def tf_type(x, g, *, kernel, strides, padding, dilation, groups):
        return f"{convolution_type(x, strides, groups)}BackpropFilter"

    def infer(x, g, *, kernel, strides, padding, dilation, groups):
        name = "convolution_filter_gradient"
        check_dtype(name, "input", x.dtype, CONVOLVED)
        check_dtype(name, "out_backprop", g.dtype, {x.dtype})
        check_rank(name, x, len(strides) + 2)
        check_rank(name, g, len(strides) + 2, "out_backprop")
        odd = differ(x.dims[-1] % groups, 0) or differ(g.dims[-1] % groups, 0)
        if odd or differ(x.dims[0], g.dims[0]):
            raise invalid(
                "TW204",
                f"{name}: input has shape {x.dims}, out_backprop has shape {g.dims}",
                f"equal batch sizes, and channels in multiples of {groups}",
            )
        check_outputs(name, g, x.dims[1:-1], kernel, strides, padding, dilation)
        return Aval((*kernel, x.dims[-1] // groups, g.dims[-1]), x.dtype)

    def numpy(x, g, *, kernel, strides, padding, dilation, groups):
        pairs = padding_pairs(x.shape[1:-1], kernel, strides, padding, dilation)
        return convolutions.convolution_filter_gradient(
            x, g, kernel, strides, pairs, dilation, groups
        )

    def transpose_x(h, x, g, *, kernel, **params):
        return convolution_input_gradient(g, h, sizes=x.dims[1:-1], **params)

    def transpose_g(h, x, g, *, kernel, **params):
        return convolution(x, h, **params)

    def batch(size, batched, x, g, *, groups, **params):
        if not batched[1]:
            w = convolution_filter_gradient(_inside(x, groups, -1), g, groups=groups, **params)
            return _outside(w, size, 1, -2)
        if not batched[0]:
            w = convolution_filter_gradient(x, _inside(g, groups, -1), groups=groups, **params)
            return _outside(w, size, groups, -1)
        x, g = _inside(x, 1, -1), _inside(g, 1, -1)
        w = convolution_filter_gradient(x, g, groups=groups * size, **params)
        return _outside(w, size, 1, -1)

    def expand(t, x, g, **params):
        return in_float32(t, "convolution_filter_gradient", (x, g), 0, params)

    memory = "window"
    call = "convolution"
    xla = "convolution_filter_gradient"
    accepts = CONVOLVED
    samples = (
        Sample([2, 4, 3, 2], [2, 3, 2, 3], kernel=(2, 2), **_PLAIN),
        Sample([2, 5, 4, 4], [2, 3, 2, 4], kernel=(2, 3), **_GROUPED),
        Sample([2, 5, 3], [2, 3, 2], kernel=(3,), **_LINE),
        Sample([1, 3, 3, 3], [1, 2, 2, 6], kernel=(2, 2), **{**_PLAIN, "groups": 3}),
    )
    rejects = (
        Reject([2, 4, 3, 2], [1, 3, 2, 3], kernel=(2, 2), **_PLAIN, code="TW204"),
        Reject([2, 4, 3, 2], [2, 3, 3, 3], kernel=(2, 2), **_PLAIN, code="TW204"),
        Reject([4, 3, 2], [2, 3, 2, 3], kernel=(2, 2), **_PLAIN, code="TW203"),
    )
