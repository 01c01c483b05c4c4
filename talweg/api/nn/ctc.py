"""Connectionist temporal classification: the loss of label sequences, and decoding.

Graves et al. 2006.  A path gives each time step a label or a blank; the labels of a path are what
is left when repetitions are merged and blanks removed.  The loss is -log of the probability of all
paths with the labels wanted, summed by going through time once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.creating import fill, ones_like, zeros_like
from talweg.api.array.gathering import gather, where
from talweg.api.array.joining import concat, stack
from talweg.api.array.operands import size_tensor
from talweg.api.array.passing import get_static_value, identity
from talweg.api.array.sequences import range_ as sequence
from talweg.api.array.sequences import sequence_mask
from talweg.api.array.shapes import ensure_shape, reshape, transpose
from talweg.api.debugging.assertions import assert_less_equal
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.api.mapping.map import foldl
from talweg.api.math.comparison import (
    equal,
    greater,
    less,
    logical_and,
    maximum,
    not_equal,
)
from talweg.api.math.exponential import exp, log
from talweg.api.math.reductions import argmax, reduce_max, reduce_sum
from talweg.api.math.scans import cumsum
from talweg.api.nn.activation import log_softmax
from talweg.api.scopes import control_dependencies
from talweg.api.sparse.form import to_dense
from talweg.api.tensors import cast
from talweg.core.dims import differ
from talweg.core.dtypes import float32, float64, int32, int64
from talweg.core.errors import FailedPreconditionError, compose, invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.kernels import ctc_beams
from talweg.prims.search import nonzero

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

NEVER = -1e30  # log of the probability of what cannot be; finite, so that differences are numbers


def _sum_of_logs(*parts: Any) -> Any:
    largest = parts[0]
    for part in parts[1:]:
        largest = maximum(largest, part)
    total = exp(parts[0] - largest)
    for part in parts[1:]:
        total = total + exp(part - largest)
    return log(total) + largest


def _shift(alpha: Any, places: int) -> Any:
    never = fill([alpha.dims[0], places], tensor(NEVER, alpha.dtype))
    return concat([never, alpha[:, :-places]], axis=1)


def _log_probability(
    labels: TensorLike, scores: TensorLike, label_length: object, score_length: object, blank: int
):
    """Return log p of `labels` [batch,
    n] under log probabilities `scores` [time, batch, classes].
    """
    batch, count = labels.dims
    labels = where(less(labels, 0), zeros_like(labels), labels)
    blanks = fill([batch, count], tensor(blank, int32))
    path = reshape(stack([blanks, labels], axis=2), [batch, 2 * count])
    path = concat([path, fill([batch, 1], tensor(blank, int32))], axis=1)
    heard = gather(transpose(scores, [1, 0, 2]), path, axis=2, batch_dims=1)
    heard = transpose(heard, [1, 0, 2])
    width = 2 * count + 1
    # a label that is the blank's class counts as a label, as in TensorFlow
    is_label = equal(sequence(width) % 2, 1)
    skips = logical_and(is_label[None, :], not_equal(path, _two_before(path)))
    never = fill([batch, width], tensor(NEVER, scores.dtype))
    first = where(less(sequence(width), 2)[None, :], heard[0], never)

    def step(carried: Any, given: Any) -> Any:
        now, time = given
        leap = where(skips, _shift(carried, 2), never) if width > 2 else never
        moved = now + _sum_of_logs(carried, _shift(carried, 1), leap)
        moved = maximum(moved, tensor(NEVER, scores.dtype))
        return where(less(time, score_length)[:, None], moved, carried)

    times = sequence(1, size_tensor(heard.dims[0], int32))
    last = foldl(step, (heard[1:], times), initializer=first)
    ends = 2 * cast(label_length, int32)
    with_blank = gather(last, ends, axis=1, batch_dims=1)
    with_label = gather(last, maximum(ends - 1, 0), axis=1, batch_dims=1)
    with_label = where(greater(ends, 0), with_label, fill([batch], tensor(NEVER, scores.dtype)))
    return _sum_of_logs(with_blank, with_label)


def _two_before(path: Any) -> Any:
    return concat([-ones_like(path[:, :2]), path[:, :-2]], axis=1)


def _dense(labels: Any) -> tuple:
    """Convert sparse labels to a matrix, and the length of each row."""
    marks = SparseTensor(labels.indices, ones_like(labels.values), labels.dense_shape)
    return to_dense(labels), reduce_sum(to_dense(marks), axis=1)


def _time_needed(labels: Tensor, lengths: Tensor) -> Tensor:
    """Return the shortest paths of labels: equal neighbours have a blank between them."""
    inside = sequence_mask(lengths, size_tensor(labels.dims[1], int32))[:, 1:]
    again = logical_and(equal(labels[:, 1:], labels[:, :-1]), inside)
    return lengths + reduce_sum(cast(again, int32), axis=1)


def _check_time(needed: Tensor, available: Tensor) -> Any:
    text = "Not enough time for target transition sequence, which some row has no path for"
    return assert_less_equal(needed, available, message=text)


@export("nn.ctc_loss")
def ctc_loss(
    labels: TensorLike,
    logits: TensorLike | None,
    label_length: TensorLike | None,
    logit_length: TensorLike | None,
    logits_time_major: bool = True,
    unique: TensorLike | None = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return -log of the probability of the labels, for each row: [batch].

    labels: int32 [batch, longest], or a SparseTensor of them; logits [time, batch, classes], or
    [batch, time, classes] unless `logits_time_major`; the lengths [batch].  blank_index: the class
    that stands for no label (0, from the end if negative; must be given for sparse labels).  inf
    where no path has the labels; InvalidArgumentError there if they are sparse.

    >>> import talweg as tf
    >>> tf.exp(-tf.nn.ctc_loss([[1]], tf.zeros([1, 1, 2]), [1], [1])).numpy().round(4)
    array([0.5], dtype=float32)
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise value_error(
                "TW207", "Argument `blank_index` must be provided when labels is a SparseTensor."
            )
        labels, found_length = _dense(labels)
        label_length = found_length if label_length is None else label_length
        needed = _time_needed(cast(labels, int32), cast(label_length, int32))
        with control_dependencies([_check_time(needed, cast(logit_length, int32))]):
            labels = identity(labels)
    x, y = tensor(logits), cast(labels, int32)
    if x.ndim != 3 or y.ndim != 2:
        raise invalid(
            "TW203",
            f"ctc_loss: labels of shape {y.dims}, logits of shape {x.dims}",
            "ranks 2 and 3",
        )
    dtype = x.dtype
    x = x if dtype in (float32, float64) else cast(x, float32)
    x = x if logits_time_major else transpose(x, [1, 0, 2])
    blank = blank_index or 0
    blank = blank + x.dims[2] if blank < 0 else blank
    lengths = cast(label_length, int32), cast(logit_length, int32)
    loss = -_log_probability(y, log_softmax(x), *lengths, blank)
    return cast(where(greater(loss, 1e29), tensor(np.inf, loss.dtype), loss), dtype)


@export("compat.v1.nn.ctc_loss")
def ctc_loss_v1(
    labels: TensorLike,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Any:
    """Call `tf.nn.ctc_loss` with sparse labels, with the last class for blanks.

    ignore_longer_outputs_than_inputs: 0, with a gradient of 0, where no path has the labels, which
    is an InvalidArgumentError otherwise; as are the two ways of counting repetitions that are no
    longer in use.
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise invalid("TW402", "ctc_loss: repetitions are merged, and labels taken as they are")
    given = inputs if logits is None else logits
    if not ignore_longer_outputs_than_inputs:
        return ctc_loss(labels, given, None, sequence_length, time_major, None, -1)
    dense, lengths = _dense(labels)
    losses = ctc_loss(dense, given, lengths, sequence_length, time_major, None, -1)
    needed = _time_needed(cast(dense, int32), cast(lengths, int32))
    short = greater(needed, cast(sequence_length, int32))
    return where(short, zeros_like(losses), losses)


def _as_sparse(labels: object, kept: Any, columns: Any) -> SparseTensor:
    """Return the kept elements of a matrix, moved to the left of their rows."""
    places = nonzero(kept)
    before = cast(kept, int64)
    column = gather(_exclusive(before), cast(places[:, 0], int32), axis=0)
    column = gather(column, cast(places[:, 1], int32), axis=1, batch_dims=1)
    values = gather(labels, cast(places[:, 0], int32), axis=0)
    values = gather(values, cast(places[:, 1], int32), axis=1, batch_dims=1)
    indices = stack([cast(places[:, 0], int64), column], axis=1)
    shape = stack([size_tensor(kept.dims[0], int64), columns], axis=0)
    return SparseTensor(indices, cast(values, int64), shape)


def _exclusive(x: Tensor) -> Any:
    return cumsum(x, axis=1, exclusive=True)


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[Any], Tensor]:
    """Return the labels of the likeliest path: ([SparseTensor], -sum of its logits [batch, 1]).

    inputs [time, batch, classes]; blank_index: the last class by default.

    >>> import talweg as tf
    >>> decoded, _ = tf.nn.ctc_greedy_decoder(tf.one_hot([[0], [0], [2], [1]], 3), [4])
    >>> decoded[0].values.numpy()
    array([0, 1])
    """
    x, lengths = _decoder_operands(inputs, cast(sequence_length, int32))
    if blank_index is not None and not -x.dims[2] <= blank_index < x.dims[2]:
        raise invalid("TW207", f"blank_index is {blank_index}", f"in [-{x.dims[2]}, {x.dims[2]})")
    blank = x.dims[2] - 1 if blank_index is None else blank_index
    blank = blank + x.dims[2] if blank < 0 else blank
    best = transpose(argmax(x, axis=2, output_type=int32))
    inside = sequence_mask(lengths, size_tensor(x.dims[0], int32))
    kept = logical_and(inside, not_equal(best, blank))
    if merge_repeated:
        repeated = concat([-ones_like(best[:, :1]), best[:, :-1]], axis=1)
        kept = logical_and(kept, not_equal(best, repeated))
    scores = transpose(reduce_max(x, axis=2))
    total = -reduce_sum(where(inside, scores, zeros_like(scores)), axis=1, keepdims=True)
    longest = reduce_max(reduce_sum(cast(kept, int64), axis=1))
    return [_as_sparse(best, kept, longest)], total


def _decoder_operands(inputs: TensorLike, lengths: Any) -> tuple[Any, Any]:
    """Convert the inputs and lengths of a decoder.

    InvalidArgumentError for another rank, FailedPreconditionError for other lengths.
    """
    x = tensor(inputs)
    if x.ndim != 3:
        raise invalid("TW203", f"inputs is not a 3-Tensor, but has shape {x.dims}")
    if differ(lengths.dims[0] if lengths.ndim else 0, x.dims[1]):
        text = f"len(sequence_length) != batch_size: {lengths.dims} and {x.dims[1]}"
        raise FailedPreconditionError(None, None, compose("TW204", text))
    known = get_static_value(lengths)
    if known is not None and type(x.dims[0]) is int and np.any(known > x.dims[0]):
        text = f"sequence_length {known.tolist()}"
        raise FailedPreconditionError(None, None, compose("TW207", text, f"at most {x.dims[0]}"))
    text = "len(sequence_length) != batch_size"
    return x, require_sizes(lengths, lengths.dims, x.dims[1:2], text)


@export("nn.ctc_beam_search_decoder", "compat.v1.nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Tensor]:
    """Return the `top_paths` likeliest label sequences: ([SparseTensor, ...], log p [batch,
    top_paths]).

    inputs [time, batch, classes], of which the last is the blank.

    >>> import talweg as tf
    >>> decoded, scores = tf.nn.ctc_beam_search_decoder(tf.zeros([1, 1, 2]), [1], top_paths=2)
    >>> [len(path.values) for path in decoded]
    [0, 1]
    """
    x, lengths = _decoder_operands(inputs, tensor(sequence_length, hint=int32))
    scores = log_softmax(x)
    if top_paths < 1:
        raise invalid("TW207", f"top_paths of {top_paths} must be at least minimum 1")
    if beam_width < top_paths:
        raise invalid("TW207", f"beam_width {beam_width}", f"at least top_paths, {top_paths}")
    time, batch, _ = scores.dims
    labels, log_probabilities = numpy_function(
        lambda s, n: ctc_beams.decode(s, n, beam_width, top_paths),
        [scores, cast(lengths, int32)],
        [int64, scores.dtype],
    )
    labels = ensure_shape(labels, [top_paths, batch, time])
    decoded = []
    for path in range(top_paths):
        kept = not_equal(labels[path], tensor(-1, int64))
        longest = reduce_max(reduce_sum(cast(kept, int64), axis=1))
        decoded.append(_as_sparse(labels[path], kept, longest))
    return decoded, ensure_shape(log_probabilities, [batch, top_paths])


@export("compat.v1.nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder_v1(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[Any, ...]:
    """Decode as `tf.nn.ctc_beam_search_decoder`; labels that follow an equal one are merged on
    demand.
    """
    decoded, scores = ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths)
    if not merge_repeated:
        return decoded, scores
    merged = []
    for path in decoded:
        dense = to_dense(path, default_value=tensor(-1, int64))
        before = concat([-2 * ones_like(dense[:, :1]), dense[:, :-1]], axis=1)
        kept = logical_and(not_equal(dense, before), not_equal(dense, tensor(-1, int64)))
        longest = reduce_max(reduce_sum(cast(kept, int64), axis=1))
        merged.append(_as_sparse(dense, kept, longest))
    return merged, scores
