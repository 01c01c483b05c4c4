"""Operands whose sizes do not fit, where only the run of a graph knows the sizes.

Each must be an InvalidArgumentError with a text that says what is wrong, by the interpreter and
compiled; none may give a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

SPARSE = tf.sparse.from_dense([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
LOWER_UPPER = tf.constant([[2.0, 1.0], [0.5, 3.0]])


def ones(*dims: int) -> Any:
    """Ones of a shape."""
    return tf.ones(dims)


WRONG = {
    "tensordot": (lambda a, b: tf.tensordot(a, b, 2), (ones(2, 3), ones(3, 2))),
    "einsum": (lambda a, b: tf.einsum("ij,ij->", a, b), (ones(2, 3), ones(3, 2))),
    "sparse product": (
        lambda a, b: tf.sparse.sparse_dense_matmul(a, b, adjoint_a=True),
        (SPARSE, ones(3, 2)),
    ),
    "retain": (tf.sparse.retain, (SPARSE, tf.constant([True, False]))),
    "sparse reshape": (lambda a: tf.sparse.reshape(a, [7]), (SPARSE,)),
    "sparse split": (lambda a: tf.sparse.split(a, 3, 0)[0], (SPARSE,)),
    "reset_shape": (lambda a: tf.sparse.reset_shape(a, [1, 1]), (SPARSE,)),
    "lu perm": (tf.linalg.lu_matrix_inverse, (LOWER_UPPER, tf.constant([0]))),
    "lu square": (tf.linalg.lu_reconstruct, (ones(2, 3), tf.constant([0, 1]))),
    "diagonal": (tf.linalg.tensor_diag_part, (ones(1, 3),)),
    "accumulate_n": (lambda a: tf.math.accumulate_n([a, a], shape=[3]), (ones(2),)),
    "crops": (lambda a: tf.batch_to_space(a, [2, 2], [[2, 3], [0, 0]]), (ones(4, 2, 2, 1),)),
    "conv2d_transpose": (
        lambda a, w: tf.nn.conv2d_transpose(a, w, [1, 6, 6, 2], 2),
        (ones(1, 3, 3, 2), ones(2, 2, 3, 2)),
    ),
    "separable_conv2d": (
        lambda x, d, p: tf.nn.separable_conv2d(x, d, p, [1] * 4, "VALID"),
        (ones(2, 4, 4, 2), ones(2, 2, 2, 2), ones(2, 2, 4, 1)),
    ),
    "crop_and_resize": (
        lambda x, b: tf.image.crop_and_resize(x, b, tf.constant([0]), [2, 3]),
        (ones(2, 4, 4, 3), ones(2, 4)),
    ),
    "draw_bounding_boxes": (
        lambda x, c: tf.image.draw_bounding_boxes(x, [[[0.1, 0.1, 0.9, 0.9]]], c),
        (ones(1, 5, 5, 3), ones(1, 1)),
    ),
    "extract_glimpse": (
        lambda x, o: tf.image.extract_glimpse(x, [3, 3], o),
        (ones(2, 5, 5, 3), ones(1, 2)),
    ),
    "no pixels": (tf.image.flip_left_right, (ones(0, 4, 3),)),
    "a box outside": (
        lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 2, 2),
        (ones(1, 4, 3),),
    ),
    "a box at a tensor outside": (
        lambda x, n: tf.image.crop_to_bounding_box(x, n, 0, 2, 2),
        (ones(1, 4, 3), tf.constant(0)),
    ),
    "mel": (tf.signal.mfccs_from_log_mel_spectrograms, (ones(2, 0),)),
    "sets": (tf.sets.intersection, (tf.constant([[1], [2]]), tf.constant([[1]]))),
    "quantization": (
        tf.quantization.fake_quant_with_min_max_vars_per_channel,
        (ones(2, 3), -ones(1), ones(3)),
    ),
    "frame": (lambda x, n: tf.signal.frame(x, 3, 2, axis=n), (ones(2, 8), tf.constant(2))),
    "a ragged row": (
        lambda x, i: tf.gather(x, i, batch_dims=1),
        (tf.ragged.constant([[1.0, 2.0], [3.0]]), tf.constant([[0, 1], [0, 1]])),
    ),
}


def unknown(value: Any) -> Any:
    """The spec of a value whose sizes are not known."""
    if isinstance(value, tf.SparseTensor):
        return tf.SparseTensorSpec([None] * len(value.shape), value.dtype)
    if isinstance(value, tf.RaggedTensor):
        return tf.RaggedTensorSpec([None, None], value.dtype)
    return tf.TensorSpec([None] * value.ndim, value.dtype)


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("name", WRONG)
def test_the_run_refuses_them(name: str, executor: str) -> None:
    call, operands = WRONG[name]
    graph = tf.function(call, input_signature=[unknown(x) for x in operands], autograph=False)
    refused = pytest.raises(tf.errors.InvalidArgumentError, match=r"\[TW20")
    with settings.executor(executor), refused:
        graph(*operands)


def test_a_fault_in_a_call_kept_whole_stays_one() -> None:
    """Only refusals of ours are the caller's fault."""
    from talweg.execute.call import sort_out
    from talweg.prims.opaque import whole

    with pytest.raises(tf.errors.InternalError, match="not enough values"):
        sort_out(whole, [], {"call": None, "avals": ()}, ValueError("not enough values"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="a box"):
        sort_out(whole, [], {"call": None, "avals": ()}, ValueError("a box  [TW206]"))


def test_equality_of_unknown_ranks_is_elementwise() -> None:
    """It was True for != and False for ==, whatever the elements."""
    spec = [tf.TensorSpec(None, tf.int64)]
    graph = tf.function(lambda x: (x == 1, x != 1, tf.reduce_any(x != x)), input_signature=spec)
    equal, unequal, other = graph(tf.constant([1, 2], tf.int64))
    assert equal.numpy().tolist() == [True, False]
    assert unequal.numpy().tolist() == [False, True]
    assert not other

    halves = tf.function(
        lambda x: tf.while_loop(lambda n: tf.reduce_any(n != 0), lambda n: (n // 2,), (x,)),
        input_signature=spec,
    )
    assert halves(tf.constant([5, 8], tf.int64))[0].numpy().tolist() == [0, 0]


def test_a_number_of_results_that_follows_from_the_rank_is_refused() -> None:
    """`nonzero` gave two vectors for three axes."""
    graph = tf.function(
        tf.experimental.numpy.nonzero, input_signature=[tf.TensorSpec(None)], autograph=False
    )
    with pytest.raises(ValueError, match="rank"):
        graph(np.ones((2, 2, 3), np.float32))
