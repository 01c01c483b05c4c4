"""Arguments of convolutions and poolings: strides, paddings and data formats.

Here they become what the primitives of `prims/nn/convolution.py` take: channels last, one number
per spatial axis, padding "SAME", "VALID" or a pair per spatial axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, tensor
from talweg.core import dispatch
from talweg.core.dims import below
from talweg.core.errors import (
    UnimplementedError,
    compose,
    invalid,
    type_error,
    value_error,
)
from talweg.eager.convert import is_tensor_like
from talweg.prims.layout import reshape, transpose

if TYPE_CHECKING:
    from talweg.core.value import Tensor


FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def channels_first(data_format: str | None, ndim: int, function: str) -> bool:
    """Return whether `data_format` (None: channels last) has the channels before the spatial axes.

    A line may also be described by the names for planes, as in TensorFlow.
    """
    if data_format is None:
        return False
    names = FORMATS[ndim] + (FORMATS[2] if ndim == 1 else ())
    if data_format not in names:
        raise invalid(
            "TW207",
            f"{function}: data_format={data_format!r}",
            " or ".join(map(repr, FORMATS[ndim])),
        )
    return data_format.startswith("NC")


def per_axis(
    value: object, ndim: int, first: bool, function: str, argument: str
) -> tuple[int, ...]:
    """Convert None (ones), a number, or a list of 1, ndim or ndim + 2 to one number per spatial
    axis.

    In the longest form the entries of the batch and channel axes must be 1.
    """
    entries, edges = axis_entries(value, ndim, first, function, argument)
    if edges != (1, 1):
        raise UnimplementedError(
            None,
            None,
            compose(
                "TW402",
                f"{function}: {argument}={value} moves along the batch or channel axis",
                "1 for the batch axis and the channel axis",
            ),
        )
    return entries


def axis_entries(
    value: Any, ndim: int, first: bool, function: str, argument: str
) -> tuple[tuple[int, ...], tuple[int, int]]:
    """Convert as `per_axis`, with the entries of (batch, channels) beside those of the spatial
    axes.
    """
    if value is None:
        return (1,) * ndim, (1, 1)
    if isinstance(value, float):
        value = int(value)  # TensorFlow truncates
    if not isinstance(value, (list, tuple)) and not getattr(value, "shape", ()):
        return (integer(value, function, argument),) * ndim, (1, 1)
    numbers = tuple(integer(item, function, argument) for item in value)
    if len(numbers) == 1:
        return numbers * ndim, (1, 1)
    if len(numbers) == ndim:
        return numbers, (1, 1)
    if len(numbers) == ndim + 2:
        return _spatial_part(numbers, first), (numbers[0], numbers[1 if first else -1])
    raise value_error(
        "TW205",
        f"{function}: {argument} should be of length 1, {ndim} or {ndim + 2}, but is {value} of "
        f"length {len(numbers)}",
    )


def full_list(value: Any, ndim: int, first: bool, function: str, argument: str) -> tuple[int, ...]:
    """Convert a list of ndim + 2, the only form some functions take, to one number per spatial
    axis.
    """
    if not isinstance(value, (list, tuple)) and not getattr(value, "shape", ()):
        raise type_error(
            "TW104",
            f"{function}: Expected list for {argument!r}, not {value!r}",
            f"a list of {ndim + 2} ints: batch, spatial axes and channels",
        )
    if len(value) != ndim + 2:
        raise invalid(
            "TW205",
            f"{function}: {argument}={value} has length {len(value)}",
            f"{ndim + 2} numbers: batch, spatial axes and channels",
        )
    return per_axis(value, ndim, first, function, argument)


def padding_argument(
    value: object, ndim: int, first: bool, function: str, lists: bool = True
) -> Any:
    """Convert the public argument to "SAME", "VALID" or a (front, behind) pair per spatial axis.

    Explicit paddings come as a list of ndim + 2 pairs, in the order of the data format; functions
    that pass `lists` false take names only.
    """
    if isinstance(value, str):
        if value in ("SAME", "VALID"):
            return value
        if value == "EXPLICIT":
            raise value_error(
                "TW207",
                f"{function}: 'EXPLICIT' is not a valid value for padding. To use explicit "
                "padding, padding must be a list.",
            )
        raise invalid("TW207", f"{function}: padding={value!r}", "'SAME' or 'VALID'")
    if not lists or not isinstance(value, (list, tuple)):
        raise type_error(
            "TW104",
            f"{function}: Expected string for argument 'padding' not {value!r}",
            "'SAME' or 'VALID'" + (", or a list of pairs" if lists else ""),
        )
    return _explicit(value, ndim, first, function)


def check_windows_fit(
    function: str, sizes: Sequence, window: Sequence, padding: Any, dilation: Sequence
) -> None:
    """Raise ValueError, while a graph is built, for a window larger than the padded input.

    The result would be empty, as it is eagerly: in a network that is a picture that is too small.
    """
    if dispatch.context.base is None or padding == "SAME":
        return
    pairs = [(0, 0)] * len(window) if padding == "VALID" else padding
    for size, taps, (low, high), step in zip(sizes, window, pairs, dilation):
        span = (taps - 1) * step + 1
        if below(size + low + high, span):
            raise value_error(
                "TW204",
                f"{function}: Negative dimension size caused by subtracting {span} from "
                f"{size + low + high}: the window does not fit into the input",
                f"at least {span} elements, or padding='SAME'",
            )


def _explicit(value: Sequence, ndim: int, first: bool, function: str) -> tuple:
    if len(value) != ndim + 2:
        raise value_error(
            "TW205",
            f"{function}: When padding is a list, it must be of size {ndim + 2}. Received: "
            f"padding={value} of size {len(value)}",
        )
    pairs = []
    for item in value:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise value_error(
                "TW205",
                f"{function}: each element of padding must be a pair, got {item} in {value}",
            )
        pairs.append(tuple(integer(number, function, "padding") for number in item))
    if any(number < 0 for pair in pairs for number in pair):
        raise invalid("TW207", f"{function}: padding={value} has a negative number")
    if pairs[0] != (0, 0) or pairs[1 if first else -1] != (0, 0):
        raise invalid(
            "TW207",
            f"{function}: Nonzero explicit padding in the batch or depth dimensions is not "
            f"supported: padding={value}",
        )
    return _spatial_part(tuple(pairs), first)


def _spatial_part(entries: tuple, first: bool) -> tuple:
    return entries[2:] if first else entries[1:-1]


def match_dtypes(x: object, w: object) -> tuple[Any, Any]:
    """Convert both to tensors; one that is no tensor yet takes the dtype of the other."""
    if is_tensor_like(x):
        x = tensor(x)
        return x, tensor(w) if is_tensor_like(w) else tensor(w, dtype=x.dtype)
    if is_tensor_like(w):
        w = tensor(w)
        return tensor(x, dtype=w.dtype), w
    x = tensor(x)
    return x, tensor(w, hint=x.dtype)


def channels_last(x: Any, first: bool) -> Any:
    """Move the channel axis of `x` (axis 1 if `first`) to the end."""
    if not first:
        return x
    rank = x.ndim
    return transpose(x, perm=(0, *range(2, rank), 1))


def channels_back(y: Tensor, first: bool) -> Any:
    """Return the opposite of `channels_last`."""
    if not first:
        return y
    rank = y.ndim
    return transpose(y, perm=(0, rank - 1, *range(1, rank - 1)))


def check_input_rank(x: Any, ndim: int, function: str, argument: str = "input") -> None:
    """Raise InvalidArgumentError unless `x` has at least a batch axis, `ndim` axes, and
    channels.
    """
    if x.ndim < ndim + 2:
        raise invalid(
            "TW203",
            f"{function}: {argument} must be {ndim + 2}-dimensional, but has shape {x.dims}",
            f"rank {ndim + 2}, or more with further batch axes in front",
        )


def with_batch_axes(x: Any, rank: int, run: Callable[[Any], Any]) -> Any:
    """Call `run` of x with its first axes merged, so that it has `rank` axes; they are split
    again.
    """
    if x.ndim <= rank:
        return run(x)
    lead = x.dims[: x.ndim - rank + 1]
    y = run(reshape(x, shape=(math.prod(lead), *x.dims[len(lead) :])))
    return reshape(y, shape=(*lead, *y.dims[1:]))
