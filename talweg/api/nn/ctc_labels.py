"""Labels of connectionist temporal classification: without repetitions, and each one once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import int32, int64

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("nn.collapse_repeated")
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> tuple:
    """Return (labels where runs of equal ones are one, [batch, longest]; their numbers, [batch]).

    labels: [batch, time], of which the first `seq_length` count; what is left is filled with 0.

    >>> import talweg as tf
    >>> found, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1]], [5])
    >>> found.numpy().tolist(), lengths.numpy().tolist()
    ([[1, 2, 1]], [3])
    """
    labels, lengths = tensor(labels), tensor(seq_length)
    changes = look_up("not_equal")(labels[:, 1:], labels[:, :-1])
    first = look_up("ones_like")(labels[:, :1], dtype="bool")
    time = look_up("shape")(labels)[1]
    kept = look_up("logical_and")(
        look_up("concat")([first, changes], 1), look_up("sequence_mask")(lengths, time)
    )
    counts = look_up("reduce_sum")(cast(kept, lengths.dtype), axis=1)
    longest = look_up("reduce_max")(counts)
    places = look_up("where")(look_up("sequence_mask")(counts, longest))
    sizes = look_up("stack")([cast(look_up("shape")(labels)[0], int64), cast(longest, int64)])
    dense = look_up("scatter_nd")(places, look_up("boolean_mask")(labels, kept), sizes)
    return dense, counts


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> list:
    """Return [the different labels of each row in the order in which they appear, filled with 0;
    which of them each label is], [batch, time] both, for `tf.nn.ctc_loss`.

    >>> import talweg as tf
    >>> unique, places = tf.nn.ctc_unique_labels([[3, 5, 3]])
    >>> unique.numpy().tolist(), places.numpy().tolist()
    ([[3, 5, 0]], [[0, 1, 0]])
    """
    labels = tensor(labels)
    same = look_up("equal")(labels[:, :, None], labels[:, None, :])
    first = look_up("argmax")(cast(same, int32), axis=2, output_type=int32)
    numbers = look_up("range")(look_up("shape")(labels)[1])
    is_first = look_up("equal")(first, numbers)
    rank = look_up("cumsum")(cast(is_first, int32), axis=1) - 1
    places = look_up("gather")(rank, first, batch_dims=1)
    at = look_up("logical_and")(is_first[:, :, None], look_up("equal")(rank[:, :, None], numbers))
    wide = cast(labels, int64)[:, :, None]
    unique = look_up("reduce_sum")(look_up("where")(at, wide, look_up("zeros_like")(wide)), axis=1)
    return [unique, places]
