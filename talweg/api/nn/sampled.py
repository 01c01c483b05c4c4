"""tf.nn: losses over many classes of which a few are sampled.

Noise-contrastive estimation (Gutmann and Hyvärinen 2010) and sampled softmax (Jean et al. 2015):
the true classes and some sampled ones stand for all; the logits are corrected by how often a class
is expected to be sampled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.api.random.candidates import log_uniform_candidate_sampler
from talweg.core.dtypes import float32, int32, int64
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims import arithmetic, layout
from talweg.prims.arithmetic import cast, stop_gradient
from talweg.prims.reduce import reduce_sum
from talweg.prims.transcendental import log

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class AccidentalHits(NamedTuple):
    """Accidental hits of sampled classes: the row, the place among the samples, the weight to
    add.
    """

    indices: Any
    ids: Any
    weights: Any


def _hits(labels: object, sampled: object) -> Any:
    """Test [batch, num_true, num_sampled]: whether a sampled class is that true class."""
    return arithmetic.equal(look_up("expand_dims")(labels, 2), sampled)


@export("nn.compute_accidental_hits", "compat.v1.nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> AccidentalHits:
    """Find the sampled classes that are true ones: (indices, ids, weights).

    true_classes: int64 [batch, num_true].  sampled_candidates: int64 [num_sampled].  The weights
    are the lowest float32: added to the logit of a hit, they take it out of a softmax.

    >>> import talweg as tf
    >>> hits = tf.nn.compute_accidental_hits([[1], [3]], [1, 5, 3], 1)
    >>> hits.indices.numpy(), hits.ids.numpy()
    (array([0, 1], dtype=int32), array([0, 2]))
    """
    labels, sampled = tensor(true_classes, int64), tensor(sampled_candidates, int64)
    if labels.ndim != 2 or labels.dims[1] != num_true:
        raise invalid(
            "TW204",
            f"compute_accidental_hits: true_classes has shape {labels.shape}",
            f"[batch, {num_true}]",
        )
    hits = look_up("where")(look_up("transpose")(_hits(labels, sampled), [0, 2, 1]))
    indices, ids = cast(hits[:, 0], dtype=int32), hits[:, 1]
    lowest = tensor(float32.min, float32)
    return AccidentalHits(indices, ids, look_up("zeros_like")(ids, dtype=float32) + lowest)


def _logits(
    weights: object,
    biases: TensorLike,
    labels: object,
    inputs: list[Any],
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    lookup: Any,
) -> tuple[Any, Any]:
    """Compute logits and labels [batch, num_true + num_sampled] of the true and the sampled
    classes.
    """
    reshape, concat, matmul = look_up("reshape"), look_up("concat"), look_up("matmul")
    sampled, true_expected, sampled_expected = [stop_gradient(x) for x in sampled_values]
    sampled = cast(sampled, dtype=int64)
    flat = reshape(labels, [-1])
    ids = concat([flat, sampled], 0)
    count = look_up("size")(flat)
    rows, offsets = lookup(weights, ids), lookup(biases, ids)
    width = look_up("shape")(rows)[1]
    true_rows = reshape(rows[:count], look_up("stack")([-1, num_true, width]))
    true_logits = reduce_sum(
        look_up("expand_dims")(inputs, 1) * true_rows, axes=(2,), keepdims=False
    )
    true_logits = true_logits + reshape(offsets[:count], [-1, num_true])
    sampled_logits = matmul(inputs, rows[count:], transpose_b=True) + offsets[count:]
    if remove_accidental_hits:
        hit = cast(_hits(labels, sampled), dtype=sampled_logits.dtype)
        lowest = tensor(float32.min, sampled_logits.dtype)
        sampled_logits = sampled_logits + reduce_sum(hit, axes=(1,), keepdims=False) * lowest
    true_logits = true_logits - log(true_expected)
    sampled_logits = sampled_logits - log(sampled_expected)
    ones = look_up("ones_like")(true_logits) / float(num_true)
    targets = concat([ones, look_up("zeros_like")(sampled_logits)], 1)
    return concat([true_logits, sampled_logits], 1), targets


def _prepare(
    labels: TensorLike,
    inputs: object,
    num_sampled: object,
    num_classes: object,
    num_true: int,
    sampled_values: Any,
    seed: int | None = None,
) -> tuple[Any, Any, Any]:
    labels = cast(tensor(labels, hint=int64), dtype=int64)
    if labels.ndim == 1:
        labels = layout.reshape(labels, shape=(*labels.dims, 1))
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            labels, num_true, num_sampled, True, num_classes, seed
        )
    return labels, tensor(inputs), [tensor(value) for value in sampled_values]


@export("nn.nce_loss")
def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """Compute the loss of noise-contrastive estimation, for each example.

    weights [num_classes, dim] (or parts of it in a list), biases [num_classes], labels of int64
    [batch, num_true], inputs [batch, dim] -> [batch].  Classes are sampled log-uniformly, each
    once, unless `sampled_values` has what a candidate sampler gave.

    >>> import talweg as tf
    >>> loss = tf.nn.nce_loss(tf.zeros([5, 2]), tf.zeros([5]), [[1]], [[1.0, 2.0]], 2, 5,
    ...                       sampled_values=([0, 3], [[1.0]], [1.0, 1.0]))
    >>> loss.numpy().round(4)
    array([2.0794], dtype=float32)
    """
    return _nce(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        look_up("nn.embedding_lookup"),
    )


def _nce(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: object,
    num_classes: object,
    num_true: int,
    sampled_values: object,
    remove: bool,
    lookup: Any,
) -> Any:
    prepared = _prepare(labels, inputs, num_sampled, num_classes, num_true, sampled_values)
    labels, inputs, values = prepared
    logits, targets = _logits(weights, biases, labels, inputs, num_true, values, remove, lookup)
    losses = look_up("nn.sigmoid_cross_entropy_with_logits")(labels=targets, logits=logits)
    return reduce_sum(losses, axes=(1,), keepdims=False)


@export("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """Compute the cross entropy of a softmax over the true and some sampled classes, for each
    example.

    Arguments as `nce_loss`; sampled classes that are true ones are taken out.

    >>> import talweg as tf
    >>> drawn = [0, 1], [[1.0]], [1.0, 1.0]
    >>> loss = tf.nn.sampled_softmax_loss(tf.zeros([5, 2]), tf.zeros([5]), [[1]], [[1.0, 2.0]],
    ...                                   2, 5, sampled_values=drawn)
    >>> loss.numpy().round(4)
    array([0.6931], dtype=float32)
    """
    return _softmax(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
        look_up("nn.embedding_lookup"),
    )


def _softmax(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: object,
    num_classes: object,
    num_true: int,
    sampled_values: object,
    remove: bool,
    seed: int | None,
    lookup: Any,
) -> Any:
    prepared = _prepare(labels, inputs, num_sampled, num_classes, num_true, sampled_values, seed)
    labels, inputs, values = prepared
    logits, targets = _logits(weights, biases, labels, inputs, num_true, values, remove, lookup)
    function = look_up("nn.softmax_cross_entropy_with_logits")
    return function(labels=stop_gradient(targets), logits=logits)


def _make_sharded_lookup(strategy: str) -> Any:
    """Make the look-up of rows in a table whose rows are dealt out over several as `strategy`
    says.
    """
    lookup = look_up("compat.v1.nn.embedding_lookup")
    return lambda params, ids: lookup(params, ids, partition_strategy=strategy)


@export("compat.v1.nn.nce_loss")
def nce_loss_v1(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Any:
    """Do what `tf.nn.nce_loss` does; `partition_strategy`: how rows are dealt out over several
    weights."""
    return _nce(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        _make_sharded_lookup(partition_strategy),
    )


@export("compat.v1.nn.sampled_softmax_loss")
def sampled_softmax_loss_v1(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Any:
    """Do what `tf.nn.sampled_softmax_loss` does; `partition_strategy` as in `nce_loss`."""
    return _softmax(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
        _make_sharded_lookup(partition_strategy),
    )
