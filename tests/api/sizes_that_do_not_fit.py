"""Calls with sizes that do not fit, for each function of `talweg/api` that compares sizes.

CASES: the function that compares them -> calls that it refuses: what is called, and with which
operands.  A symbolic size comes from an operand's shape, or is an operand's value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import talweg as tf

v1 = tf.compat.v1
Case = tuple[Callable[..., Any], tuple]


def ones(*dims: int, dtype: Any = tf.float32) -> Any:
    """Ones of a shape."""
    return tf.ones(dims, dtype)


def ids(*numbers: int) -> Any:
    """A vector of integers."""
    return tf.constant(numbers, tf.int32)


def whole(number: int) -> Any:
    """A number as a tensor, which is a size."""
    return tf.constant(number, tf.int32)


def sparse(*dims: int, dtype: Any = tf.float32) -> Any:
    """A sparse tensor of ones, of a shape."""
    return tf.sparse.from_dense(ones(*dims, dtype=dtype))


CASES: dict[str, list[Case]] = {
    "arguments.resolve_shape": [(lambda x: tf.sparse.reshape(x, [-1, 4]), (sparse(2, 3),))],
    "array.clipping._of_shape": [
        (lambda x, a: tf.clip_by_value(x, a, 2.0), (ones(1), ones(2))),
        (lambda x, a: tf.clip_by_value(x, 0.0, a), (ones(1, 2), ones(3, 2))),
    ],
    "array.counting.bincount": [
        (lambda x, w: tf.math.bincount(x, w), (ids(1, 2), ones(3))),
        (lambda x, w: tf.math.bincount(x, w, axis=-1), (ids(1, 2), ones(3))),
        (
            lambda x, w: tf.math.bincount(x, w, axis=-1),
            (tf.constant([[1, 2]]), tf.constant([[1.0], [2.0]])),
        ),
    ],
    "array.counting._bins": [(lambda x, n: tf.math.bincount(x, maxlength=n), (ids(1), whole(-1)))],
    "array.counting.confusion_matrix": [
        (lambda a, b: tf.math.confusion_matrix(a, b, 3), (ids(1, 2), ids(1))),
        (lambda a, b: tf.math.confusion_matrix(a, b), (ids(), ids())),
        (
            lambda a, b, w: tf.math.confusion_matrix(a, b, 3, weights=w),
            (ids(1, 2), ids(1, 2), ones(3)),
        ),
        (
            lambda a, b, w: tf.math.confusion_matrix(a, b, 3, weights=w),
            (ids(1, 2), ids(1, 2), ones(1)),
        ),
    ],
    "array.counting._histogram_arguments": [
        (lambda x, r: tf.histogram_fixed_width(x, r, 3), (ones(4), ones(3))),
        (lambda x, r: tf.histogram_fixed_width_bins(x, r, 3), (ones(4), ones(1))),
    ],
    "array.counting.dynamic_partition": [
        (lambda x, p: tf.dynamic_partition(x, p, 2)[0], (ones(3, 2), ids(0, 1))),
        (lambda x, p: tf.dynamic_partition(x, p, 2)[0], (ones(3, 2), ids(1))),
    ],
    "array.counting.dynamic_stitch": [
        (
            lambda i, j, x, y: tf.dynamic_stitch([i, j], [x, y]),
            (ids(0), ids(1), ones(1, 2), ones(1, 3)),
        ),
        (lambda i, x: tf.dynamic_stitch([i], [x]), (ids(0, 1), ones(1, 2))),
        (lambda i, x: tf.dynamic_stitch([i], [x]), (ids(0), ones(2, 2))),
    ],
    "array.creating.fill": [(lambda x: tf.fill([2], x), (ones(2),))],
    "array.creating.eye": [
        (lambda n: tf.eye(n), (whole(-1),)),
        (lambda n: tf.eye(2, n), (whole(-1),)),
    ],
    "array.gathering.gather_nd": [
        (
            lambda x, i: tf.gather_nd(x, i, batch_dims=1),
            (ones(3, 2), tf.constant([[0], [1]])),
        ),
        (
            lambda x, i: tf.gather_nd(x, i, batch_dims=1),
            (ones(1, 2), tf.constant([[0], [1]])),
        ),
    ],
    "array.gathering.boolean_mask": [
        (tf.boolean_mask, (ones(3), tf.constant([True, False]))),
        (tf.boolean_mask, (ones(3, 2), tf.constant([True]))),
        (
            lambda x, m: tf.boolean_mask(x, m, axis=1),
            (ones(3, 2), tf.constant([True, False, True])),
        ),
        (tf.boolean_mask, (ones(2, 3), tf.constant([[True, False], [True, False], [True, True]]))),
    ],
    "array.gathering.where_v1": [
        (v1.where, (tf.constant([True, False]), ones(1, 3), ones(2, 3))),
        (v1.where, (tf.constant([True]), ones(2, 3), ones(2, 3))),
        (v1.where, (tf.constant([[True]]), ones(2, 3), ones(2, 3))),
    ],
    "array.joining.unstack": [(lambda x: tf.unstack(x, 2)[0], (ones(3, 2),))],
    "array.joining._split_evenly": [(lambda x: tf.split(x, 2)[0], (ones(3, 2),))],
    "array.joining._infer_piece_size": [
        (lambda x, n: tf.split(x, [n, -1])[0], (ones(3), whole(4))),
        (lambda x: tf.split(x, [4, -1])[0], (ones(3),)),
        (lambda x: tf.split(x, [1, 1])[0], (ones(3),)),
    ],
    "array.joining.tile": [
        (lambda x, n: tf.tile(x, [n]), (ones(3), whole(-1))),
        (tf.tile, (ones(3), ids(1, 2))),
    ],
    "array.joining.repeat": [
        (lambda x, n: tf.repeat(x, n, axis=0), (ones(3), ids(1, 2))),
        (lambda x, n: tf.repeat(x, n), (ones(3, 2), ids(1, 2))),
        (lambda x, n: tf.repeat(x, n, axis=0), (ones(1), ids(1, 2))),
    ],
    "array.joining._repeat_evenly": [(lambda x, n: tf.repeat(x, n, axis=0), (ones(3), whole(-1)))],
    "array.operands.sizes": [
        (lambda n: tf.eye(2, batch_shape=[n]), (whole(-1),)),
        (lambda n: tf.zeros([n]), (whole(-1),)),
        (lambda n: tf.fill([n], 1.0), (whole(-1),)),
    ],
    "array.rearranging.reverse_sequence": [
        (lambda x, n: tf.reverse_sequence(x, n, seq_axis=1), (ones(3, 2), ids(1, 2))),
        (lambda x, n: tf.reverse_sequence(x, n, seq_axis=1), (ones(3, 2), ids(1))),
        (lambda x, n: tf.reverse_sequence(x, n, seq_axis=1), (ones(1, 2), ids(1, 2))),
        (lambda x, n: tf.reverse_sequence(x, n, 0, batch_axis=1), (ones(3, 2), ids(1, 2, 3))),
    ],
    "array.rearranging._paddings": [(lambda x, n: tf.pad(x, [[n, 0]]), (ones(3), whole(-1)))],
    "array.rearranging._mirror": [
        (lambda x: tf.pad(x, [[3, 0]], "REFLECT"), (ones(3),)),
        (lambda x: tf.pad(x, [[0, 4]], "SYMMETRIC"), (ones(3),)),
        (lambda x, n: tf.pad(x, [[n, 0]], "REFLECT"), (ones(3), whole(3))),
        (lambda x: tf.pad(x, [[1, 0]], "REFLECT"), (ones(0),)),
    ],
    "array.rearranging.space_to_depth": [
        (lambda x: tf.nn.space_to_depth(x, 2), (ones(1, 3, 4, 1),)),
        (lambda x: tf.nn.space_to_depth(x, 2), (ones(1, 4, 3, 1),)),
    ],
    "array.rearranging.depth_to_space": [
        (lambda x: tf.nn.depth_to_space(x, 2), (ones(1, 3, 4, 6),)),
        (lambda x: tf.nn.depth_to_space(x, 2), (ones(1, 4, 4, 2),)),
    ],
    "array.rearranging._block_arguments": [
        (lambda x, n: tf.space_to_batch(x, [n, 1], [[0, 0], [0, 0]]), (ones(1, 2, 2, 1), whole(0))),
        (
            lambda x, n: tf.space_to_batch(x, [2, 2], [[n, 1], [0, 0]]),
            (ones(1, 2, 2, 1), whole(-1)),
        ),
    ],
    "array.rearranging.space_to_batch": [
        (lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]]), (ones(1, 3, 2, 1),)),
        (lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 1]]), (ones(1, 2, 2, 1),)),
    ],
    "array.rearranging.batch_to_space": [
        (lambda x: tf.batch_to_space(x, [2, 2], [[0, 0], [0, 0]]), (ones(3, 2, 2, 1),)),
        (lambda x: tf.batch_to_space(x, [2, 2], [[2, 3], [0, 0]]), (ones(4, 2, 2, 1),)),
    ],
    "array.scattering.scatter_nd": [
        (lambda n: tf.scatter_nd([[0]], [1.0], [n]), (whole(-1),)),
        (lambda i, u: tf.scatter_nd(i, u, [4]), (tf.constant([[0], [1]]), ones(3))),
        (lambda i, u: tf.scatter_nd(i, u, [4]), (tf.constant([[0], [1]]), ones(1))),
    ],
    "array.sequences.range_": [(lambda n: tf.range(n), (ids(1, 2),))],
    "array.sequences._number_of_points": [(lambda n: tf.linspace(0.0, 1.0, n), (whole(-1),))],
    "array.sequences.one_hot": [(lambda n: tf.one_hot([0], n), (whole(-1),))],
    "array.shapes.resolve_shape": [(lambda x: tf.reshape(x, [-1, 4]), (ones(2, 3),))],
    "array.shapes._resolve_sizes": [
        (lambda x, n: tf.reshape(x, [n, -1]), (ones(2, 3), whole(0))),
        (lambda x, n: tf.reshape(x, [n, -1]), (ones(2, 3), whole(4))),
        (lambda x, n: tf.reshape(x, [n, 1]), (ones(2, 3), whole(4))),
    ],
    "array.shapes.squeeze": [
        (lambda x: tf.squeeze(x, [0]), (ones(2, 3),)),
        (lambda x: tf.squeeze(x, [0]), (ones(0, 3),)),
    ],
    "array.shapes.broadcast_to": [
        (lambda x, n: tf.broadcast_to(x, [n]), (ones(1), whole(-1))),
        (lambda x, n: tf.broadcast_to(x, [n]), (ones(2), whole(3))),
        (lambda x, n: tf.broadcast_to(x, [n]), (ones(2), whole(1))),
    ],
    "array.slicing._index_of": [
        (lambda x: x[3], (ones(3),)),
        (lambda x: x[-4], (ones(3),)),
        (lambda x, n: x[n], (ones(3), whole(3))),
    ],
    "array.slicing._check_part": [
        (lambda x: tf.slice(x, [4], [0]), (ones(3),)),
        (lambda x: tf.slice(x, [1], [3]), (ones(3),)),
        (lambda x, n: tf.slice(x, [n], [1]), (ones(3), whole(-1))),
        (lambda x, n: tf.slice(x, [0], [n]), (ones(3), whole(-2))),
        (lambda x, n: tf.slice(x, [0], [n]), (ones(3), whole(4))),
    ],
    "array.slicing.strided_slice": [
        (
            lambda x, n: tf.strided_slice(x, [0], [1], [n], shrink_axis_mask=1),
            (ones(3), whole(0)),
        ),
        (
            lambda x, n: tf.strided_slice(x, [2], [3], [n], shrink_axis_mask=1),
            (ones(3), whole(-1)),
        ),
    ],
    "autodiff._number_of_slices": [
        (lambda x, y: tf.vectorized_map(lambda p: p[0] + p[1], (x, y)), (ones(3), ones(2))),
    ],
    "image.adjusting._colours": [
        (lambda x: tf.image.adjust_hue(x, 0.5), (ones(2, 2, 4),)),
        (lambda x: tf.image.adjust_saturation(x, 0.5), (ones(2, 2, 2),)),
    ],
    "image.boxes.crop_and_resize": [
        (
            lambda x, b, i: tf.image.crop_and_resize(x, b, i, [2, 2]),
            (ones(2, 4, 4, 1), ones(1, 3), ids(0)),
        ),
        (
            lambda x, b, i: tf.image.crop_and_resize(x, b, i, [2, 2]),
            (ones(2, 4, 4, 1), ones(1, 4), ids(0, 1)),
        ),
        (
            lambda x, b, i: tf.image.crop_and_resize(x, b, i, [2, 2]),
            (ones(2, 4, 4, 1), ones(2, 4), ids(0)),
        ),
    ],
    "image.boxes.draw_bounding_boxes": [
        (
            lambda x, b: tf.image.draw_bounding_boxes(x, b, [[1.0, 1.0, 1.0, 1.0, 1.0]]),
            (ones(1, 4, 4, 2), ones(1, 1, 4)),
        ),
        (
            lambda x, b: tf.image.draw_bounding_boxes(x, b, [[1.0] * 4]),
            (ones(1, 4, 4, 3), ones(1, 1, 5)),
        ),
        (
            lambda x, b: tf.image.draw_bounding_boxes(x, b, [[1.0] * 4]),
            (ones(2, 4, 4, 3), ones(1, 1, 4)),
        ),
    ],
    "image.boxes._colour_table": [
        (
            lambda x, c: tf.image.draw_bounding_boxes(x, [[[0.1, 0.1, 0.9, 0.9]]], c),
            (ones(1, 5, 5, 3), ones(1, 1)),
        )
    ],
    "image.boxes.extract_glimpse": [
        (lambda x, o: tf.image.extract_glimpse(x, [3, 3], o), (ones(2, 5, 5, 3), ones(1, 2))),
        (lambda x, o: tf.image.extract_glimpse(x, [3, 3], o), (ones(2, 5, 5, 3), ones(2, 3))),
    ],
    "image.colour_spaces.grayscale_to_rgb": [(tf.image.grayscale_to_rgb, (ones(2, 2, 3),))],
    "image.colours._channels": [
        (tf.image.rgb_to_hsv, (ones(2, 2, 4),)),
        (tf.image.hsv_to_rgb, (ones(2, 2, 1),)),
        (tf.image.rgb_to_grayscale, (ones(2, 2, 2),)),
        (tf.image.rgb_to_yuv, (ones(2, 2, 2),)),
    ],
    "image.cropping.crop_to_bounding_box": [
        (lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 2, 2), (ones(1, 4, 3),))
    ],
    "image.operands.image_tensor": [(tf.image.flip_left_right, (ones(0, 4, 3),))],
    "image.quality.mean": [
        (lambda a, b: tf.image.ssim(a, b, 1.0), (ones(5, 12, 1), ones(5, 12, 1))),
        (lambda a, b: tf.image.ssim(a, b, 1.0), (ones(12, 12, 1), ones(12, 11, 1))),
        (
            lambda a, b: tf.image.ssim_multiscale(a, b, 1.0),
            (ones(40, 40, 1), ones(40, 40, 1)),
        ),
        (lambda a, b: tf.image.psnr(a, b, 1.0), (ones(4, 4, 1), ones(4, 3, 1))),
    ],
    "image.resizing.resize": [(lambda x: tf.image.resize(x, [2, 2]), (ones(0, 4, 3),))],
    "image.resizing.resize_with_pad": [
        (lambda x: tf.image.resize_with_pad(x, 2, 2), (ones(0, 4, 3),))
    ],
    "linalg.banded._compact": [
        (
            lambda a, b, c, y: tf.linalg.tridiagonal_solve((a, b, c), y, "sequence"),
            (ones(3), ones(4), ones(2), ones(4)),
        ),
        (
            lambda a, b, c, y: tf.linalg.tridiagonal_matmul((a, b, c), y, "sequence"),
            (ones(4), ones(4), ones(1), ones(4, 1)),
        ),
        (
            lambda d, y: tf.linalg.tridiagonal_solve(d, y),
            (ones(2, 4), ones(4)),
        ),
    ],
    "linalg.banded.tridiagonal_solve": [
        (lambda d, y: tf.linalg.tridiagonal_solve(d, y), (ones(3, 4), ones(3))),
        (lambda d, y: tf.linalg.tridiagonal_solve(d, y), (ones(3, 4), ones(3, 2))),
        (lambda d, y: tf.linalg.tridiagonal_solve(d, y), (ones(3, 4), ones(1, 2))),
    ],
    "linalg.banded.tridiagonal_matmul": [
        (
            lambda d, y: tf.linalg.tridiagonal_matmul(d, y, "compact"),
            (ones(3, 4), ones(3, 2)),
        ),
        (
            lambda d, y: tf.linalg.tridiagonal_matmul(d, y, "compact"),
            (ones(3, 4), ones(1, 2)),
        ),
    ],
    "linalg.banded.banded_triangular_solve": [
        (tf.linalg.banded_triangular_solve, (ones(2, 3), ones(2, 1))),
        (tf.linalg.banded_triangular_solve, (ones(2, 3), ones(1, 1))),
    ],
    "linalg.decompositions.eigh_tridiagonal": [
        (lambda a, b: tf.linalg.eigh_tridiagonal(a, b), (ones(3), ones(3))),
        (lambda a, b: tf.linalg.eigh_tridiagonal(a, b), (ones(3), ones(1))),
    ],
    "linalg.diagonals.diag": [(lambda x: tf.linalg.diag(x, k=(0, 1)), (ones(3, 2),))],
    "linalg.diagonals._matrix_size": [
        (lambda x: tf.linalg.diag(x, num_rows=2), (ones(3),)),
        (lambda x: tf.linalg.diag(x, num_rows=4, num_cols=4), (ones(3),)),
        (lambda x, n: tf.linalg.diag(x, num_rows=n), (ones(3), whole(2))),
        (lambda x, n: tf.linalg.diag(x, num_rows=n, num_cols=n), (ones(3), whole(4))),
    ],
    "linalg.diagonals.tensor_diag_part": [(tf.linalg.tensor_diag_part, (ones(1, 3),))],
    "linalg.einsum._check_sizes": [
        (lambda a, b: tf.einsum("ij,jk->ik", a, b), (ones(2, 3), ones(2, 2))),
        (lambda a, b: tf.einsum("ij,jk->ik", a, b), (ones(2, 3), ones(1, 2))),
        (lambda a, b: tf.einsum("...j,...j->...", a, b), (ones(2, 3), ones(4, 3))),
    ],
    "linalg.products.tensordot": [(lambda a, b: tf.tensordot(a, b, 2), (ones(2, 3), ones(3, 2)))],
    "linalg.solving._shortest": [
        (tf.linalg.lstsq, (ones(3, 2), ones(2, 1))),
        (lambda a, b: tf.linalg.lstsq(a, b, fast=False), (ones(3, 2), ones(4, 1))),
        (lambda a, b: tf.linalg.lstsq(a, b, fast=False), (ones(3, 2), ones(1, 1))),
    ],
    "linalg.solving._lu_operands": [
        (tf.linalg.lu_reconstruct, (ones(2, 3), ids(0, 1))),
        (tf.linalg.lu_reconstruct, (ones(2, 2), ids(0))),
    ],
    "linalg.solving.lu_solve": [
        (tf.linalg.lu_solve, (tf.eye(2), ids(0, 1), ones(3, 1))),
        (tf.linalg.lu_solve, (tf.eye(2), ids(0, 1), ones(1, 1))),
    ],
    "mapping.graphs._require_equal_sizes": [
        (
            lambda x, y: tf.map_fn(lambda p: p[0] + p[1], (x, y), fn_output_signature=tf.float32),
            (ones(2), ones(3)),
        ),
        (
            lambda x, y: tf.map_fn(lambda p: p[0] + p[1], (x, y), fn_output_signature=tf.float32),
            (ones(3), ones(2)),
        ),
        (lambda x, y: tf.scan(lambda a, p: a + p[0] + p[1], (x, y), 0.0), (ones(2), ones(3))),
        (lambda x, y: tf.foldl(lambda a, p: a + p[0] + p[1], (x, y), 0.0), (ones(2), ones(3))),
    ],
    "math.segments._check_sorted_operands": [
        (tf.math.segment_sum, (ones(3), ids(0, 1))),
        (tf.math.segment_mean, (ones(2), ids(0, 1, 2))),
        (tf.math.segment_max, (ones(1), ids(0, 1, 2))),
    ],
    "math.segments._operands": [
        (lambda x, i, n: tf.math.unsorted_segment_sum(x, i, n), (ones(2), ids(0, 1), whole(-1))),
        (lambda x, i: tf.math.unsorted_segment_sum(x, i, 3), (ones(3), ids(0, 1))),
    ],
    "math.sparse_segments._pick_rows": [
        (tf.sparse.segment_sum, (ones(3), ids(0, 1), ids(0))),
        (tf.sparse.segment_mean, (ones(3), ids(0), ids(0, 1))),
        (
            lambda x, i, s: tf.sparse.segment_sqrt_n(x, i, s, num_segments=2),
            (ones(3), ids(0), ids(0, 1)),
        ),
    ],
    "math.special.betainc": [
        (tf.math.betainc, (ones(2), ones(3), ones(2))),
        (tf.math.betainc, (ones(2), ones(2), ones(1))),
    ],
    "math.sums.add_n": [
        (lambda x, y: tf.add_n([x, y]), (ones(2), ones(3))),
        (lambda x, y: tf.add_n([x, y]), (ones(2), ones(1))),
    ],
    "nn.convolution.depthwise_conv2d": [
        (
            lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"),
            (ones(1, 4, 4, 2), ones(2, 2, 3, 1)),
        ),
        (
            lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"),
            (ones(1, 4, 4, 3), ones(2, 2, 1, 3)),
        ),
    ],
    "nn.convolution.separable_conv2d": [
        (
            lambda x, d, p: tf.nn.separable_conv2d(x, d, p, [1] * 4, "VALID"),
            (ones(2, 4, 4, 2), ones(2, 2, 2, 2), ones(2, 2, 4, 1)),
        )
    ],
    "nn.ctc._decoder_operands": [
        (lambda x, n: tf.nn.ctc_greedy_decoder(x, n)[1], (ones(3, 2, 4), ids(3))),
        (lambda x, n: tf.nn.ctc_greedy_decoder(x, n)[1], (ones(3, 2, 4), ids(3, 3, 3))),
        (lambda x, n: tf.nn.ctc_beam_search_decoder(x, n)[1], (ones(3, 2, 4), ids(3))),
    ],
    "nn.dropout._noise_shape": [
        (lambda x: tf.nn.dropout(x, 0.5, noise_shape=[3]), (ones(2),)),
        (lambda x: tf.nn.dropout(x, 0.5, noise_shape=[2]), (ones(1),)),
        (lambda x, n: tf.nn.dropout(x, 0.5, noise_shape=[n]), (ones(2), whole(3))),
    ],
    "nn.embedding_sparse._weights": [
        (
            lambda t, i, w: tf.nn.embedding_lookup_sparse(t, i, w),
            (ones(4, 2), tf.sparse.from_dense([[1, 2]]), sparse(1, 3)),
        ),
        (
            lambda t, i, w: tf.nn.embedding_lookup_sparse(t, i, w),
            (ones(4, 2), tf.sparse.from_dense([[1, 2]]), sparse(1, 1)),
        ),
    ],
    "nn.loss.sparse_softmax_cross_entropy_with_logits": [
        (
            tf.nn.sparse_softmax_cross_entropy_with_logits,
            (ids(0, 1), ones(3, 2)),
        ),
        (
            tf.nn.sparse_softmax_cross_entropy_with_logits,
            (ids(0), ones(3, 2)),
        ),
    ],
    "nn.loss._of_shape": [
        (tf.nn.sigmoid_cross_entropy_with_logits, (ones(2), ones(3))),
        (tf.nn.sigmoid_cross_entropy_with_logits, (ones(2), ones(1))),
        (
            lambda x, y: tf.nn.weighted_cross_entropy_with_logits(x, y, 1.0),
            (ones(2), ones(1)),
        ),
    ],
    "nn.morphology.dilation2d": [
        (
            lambda x, w: tf.nn.dilation2d(x, w, [1] * 4, "SAME", "NHWC", [1] * 4),
            (ones(1, 4, 4, 2), ones(2, 2, 3)),
        ),
        (
            lambda x, w: tf.nn.dilation2d(x, w, [1] * 4, "SAME", "NHWC", [1] * 4),
            (ones(1, 4, 4, 2), ones(2, 2, 1)),
        ),
        (
            lambda x, w: tf.nn.erosion2d(x, w, [1] * 4, "SAME", "NHWC", [1] * 4),
            (ones(1, 4, 4, 1), ones(2, 2, 2)),
        ),
    ],
    "nn.transposed._output_shape": [
        (
            lambda a, w: tf.nn.conv2d_transpose(a, w, [1, 6, 6, 2], 2),
            (ones(1, 3, 3, 2), ones(2, 2, 3, 2)),
        ),
        (
            lambda a, w: tf.nn.conv2d_transpose(a, w, [2, 6, 6, 3], 2),
            (ones(1, 3, 3, 2), ones(2, 2, 3, 2)),
        ),
        (
            lambda a, w, n: tf.nn.conv2d_transpose(a, w, [n, 6, 6, 3], 2),
            (ones(1, 3, 3, 2), ones(2, 2, 3, 2), whole(2)),
        ),
    ],
    "nn.transposed.atrous_conv2d_transpose": [
        (
            lambda a, w: tf.nn.atrous_conv2d_transpose(a, w, [1, 4, 4, 3], 2, "SAME"),
            (ones(1, 4, 4, 1), ones(2, 2, 3, 2)),
        ),
        (
            lambda a, w: tf.nn.atrous_conv2d_transpose(a, w, [1, 4, 4, 3], 1, "SAME"),
            (ones(1, 4, 4, 3), ones(2, 2, 3, 2)),
        ),
    ],
    "quantization.fake.fake_quant_with_min_max_vars_per_channel": [
        (
            tf.quantization.fake_quant_with_min_max_vars_per_channel,
            (ones(2, 3), -ones(1), ones(3)),
        )
    ],
    "random.arguments.shape_and_kind": [
        (lambda n: tf.random.normal([n]), (whole(-1),)),
        (lambda n: tf.random.stateless_uniform([n], [1, 2]), (whole(-1),)),
    ],
    "random.arguments.sample_shape": [
        (lambda a: tf.random.stateless_gamma([2, 3], [1, 2], a), (ones(2),)),
        (
            lambda p: tf.random.stateless_binomial([2, 3], [1, 2], tf.constant(4.0), p),
            (ones(2),),
        ),
        (lambda a: tf.random.stateless_poisson([2, 3], [1, 2], a), (ones(2),)),
    ],
    "signal.cosine._transform": [(lambda x: tf.signal.dct(x, 1), (ones(2, 1),))],
    "signal.frames._size": [
        (lambda x, n: tf.signal.frame(x, n, 1), (ones(4), whole(-1))),
        (lambda x, n: tf.signal.frame(x, 2, n), (ones(4), whole(0))),
    ],
    "signal.transforms._lengths": [(lambda x, n: tf.signal.rfft(x, [n]), (ones(4), whole(-1)))],
    "signal.windows.mfccs_from_log_mel_spectrograms": [
        (tf.signal.mfccs_from_log_mel_spectrograms, (ones(2, 0),))
    ],
    "sparse.arithmetic._union": [
        (tf.sparse.add, (sparse(2, 3), sparse(2, 2))),
        (tf.sparse.maximum, (sparse(2, 3), sparse(1, 3))),
    ],
    "sparse.arithmetic.sparse_dense_matmul": [
        (tf.sparse.sparse_dense_matmul, (sparse(2, 3), ones(2, 2))),
        (tf.sparse.sparse_dense_matmul, (sparse(2, 3), ones(1, 2))),
    ],
    "sparse.form.reshape": [(lambda a: tf.sparse.reshape(a, [7]), (sparse(2, 3),))],
    "sparse.form.retain": [(tf.sparse.retain, (sparse(1, 3), tf.constant([True, False])))],
    "sparse.form.split": [(lambda a: tf.sparse.split(a, 3, 0)[0], (sparse(2, 3),))],
    "sparse.form.reset_shape": [(lambda a: tf.sparse.reset_shape(a, [1, 1]), (sparse(2, 3),))],
    "sparse.form.concat": [
        (lambda a, b: tf.sparse.concat(0, [a, b]), (sparse(2, 3), sparse(2, 2))),
    ],
}

# Functions in which sizes are compared, but wrong ones are refused elsewhere, or are not wrong.
ELSEWHERE = {
    "autodiff._seed": "test_ranks_that_do_not_fit.py",
    "image.quality.compare": "test_ranks_that_do_not_fit.py",
    "nn.dropout._drop": "it compares shapes for what is left out",
    "nn.windows.check_windows_fit": "a window that is too large gives an empty result at the run",
    "signal.transforms._scale": "no size is wrong",
}
