"""Candidate samplers: some classes out of many, for losses that are too large to be summed."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import float32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject
from talweg.kernels.random import candidates as kernels
from talweg.kernels.random.philox import BLOCK
from talweg.kernels.random.streams import kernel_state, reserve


def _check(classes, num_true, num_sampled, unique: object, range_max: object):
    check_dtype("candidate sampler", "true_classes", classes.dtype, {int64})
    if num_sampled < 1 or num_true < 1:
        text = f"candidate sampler: num_true={num_true}, num_sampled={num_sampled}"
        raise invalid("TW207", text, "at least 1")
    if classes.dims is not None and classes.ndim != 2:
        raise invalid(
            "TW203", f"true_classes must be a matrix, got shape {list(classes.dims)}", "[batch, n]"
        )
    if classes.dims is not None and classes.dims[1] != num_true:
        raise invalid(
            "TW204",
            f"true_classes must have num_true columns, expected: {num_true} was: {classes.dims[1]}",
        )
    if unique and num_sampled > range_max:
        raise invalid("TW207", f"Sampler's range is too small: {range_max} < {num_sampled}")


def _sampler(kind: str, range_max: int, weights: list, key: object):
    if kind == "uniform":
        return kernels.UniformSampler(range_max)
    if kind == "log_uniform":
        return kernels.LogUniform(range_max)
    if kind == "fixed":
        return kernel_state(key, lambda: kernels.Weighted(weights))
    return kernel_state(key, lambda: kernels.Learned(range_max))


@primitive
class random_candidates:
    """(z, e, f): classes drawn, expected counts of `classes`, and of z.

    classes [m, num_true] -> z [num_sampled], e [m, num_true], f [num_sampled].
    """

    operands = "classes"
    multiple = True

    def infer(classes, *, kind, num_true, num_sampled, unique, range_max, weights, seeds):
        _check(classes, num_true, num_sampled, unique, range_max)
        size = (num_sampled,)
        return [Aval(size, int64), Aval(classes.dims, float32), Aval(size, float32)]

    def numpy(
        classes: np.ndarray, *, kind, num_true, num_sampled, unique, range_max, weights, seeds
    ):
        outside = classes[(classes < 0) | (classes >= range_max)]
        if len(outside):
            text = f"`true_candidate` out of range [0, {range_max}), received {outside[0]}"
            raise invalid("TW206", text)
        operation = (kind, num_true, num_sampled, unique, range_max, weights)
        sampler = _sampler(kind, range_max, weights, (operation, seeds))
        if unique and kind == "fixed" and np.count_nonzero(sampler.weights) < num_sampled:
            text = f"fewer than num_sampled={num_sampled} classes have a positive weight"
            raise invalid("TW207", text)
        words = kernels.RESERVED_WORDS * num_sampled
        stream = reserve(operation, seeds, words // BLOCK)
        sample, draws = kernels.draw(sampler, stream, num_sampled, unique)
        counts = [
            kernels.compute_expected_counts(sampler, c, num_sampled, draws)
            for c in (classes, sample)
        ]
        if kind == "learned":
            sampler.see(classes)
        return sample, *counts

    no_gradient = NoGradient("classes are integers")
    effect = "random"
    batch = LOOP
    memory = "host"
    rejects = (
        Reject(
            np.array([[1]]),
            kind="uniform",
            num_true=2,
            num_sampled=1,
            unique=True,
            range_max=5,
            weights=(),
            seeds=(1, 1),
            code="TW204",
        ),
        Reject(
            np.array([1]),
            kind="uniform",
            num_true=1,
            num_sampled=1,
            unique=True,
            range_max=5,
            weights=(),
            seeds=(1, 1),
            code="TW203",
        ),
        Reject(
            np.array([[1]]),
            kind="uniform",
            num_true=1,
            num_sampled=6,
            unique=True,
            range_max=5,
            weights=(),
            seeds=(1, 1),
            code="TW207",
        ),
        Reject(
            np.array([[7]]),
            kind="uniform",
            num_true=1,
            num_sampled=1,
            unique=True,
            range_max=5,
            weights=(),
            seeds=(1, 1),
            code="TW206",
        ),
    )
