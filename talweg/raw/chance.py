"""The random operations among tf.raw_ops; `table.txt` calls them `chance.*`.

A stateful one has two seeds: the first stands for the seed of the graph (or the global one), the
second for its own; none of them if both are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api.array.creating import zeros
from talweg.api.array.joining import concat
from talweg.api.export import look_up
from talweg.api.random.arguments import shape_of
from talweg.api.random.distributions import gamma_of_stream
from talweg.api.random.stateless import numbers, reorder
from talweg.api.tensors import cast
from talweg.core import dispatch
from talweg.core.dtypes import int32, int64
from talweg.core.hooks import hooks
from talweg.eager import randomness
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import special
from talweg.prims.random import streams as prims
from talweg.raw.operands import of_array, scalar_of, variable_of

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.dtypes import DType
    from talweg.core.shapes import TensorShape
    from talweg.core.value import Tensor
    from talweg.execute.llvm.codegen.builder import IRValue


@contextmanager
def seed_graph(first: int, second: int) -> Iterator[int | None]:
    """Set the graph's seed to the first one inside; give the own one."""
    graph = dispatch.context.base
    if not first and not second:
        yield None
    elif graph is None:
        with randomness.first_seed(first):
            yield second
    else:
        before = graph.seed
        randomness.set_seed_of_graph(graph, first)
        try:
            yield second
        finally:
            randomness.set_seed_of_graph(graph, before)


def floats(kind: str, shape: ShapeLike, dtype: DTypeLike, seed: int, seed2: int) -> Any:
    """Return numbers of a kind: uniform, normal, truncated_normal."""
    with seed_graph(seed, seed2) as own:
        return look_up(f"random.{kind}")(shape, dtype=dtype, seed=own)


def integers(shape: TensorShape, minval: Any, maxval: Any, seed: int, seed2: int) -> Any:
    """Draw integers from an interval."""
    with seed_graph(seed, seed2) as own:
        return look_up("random.uniform")(shape, minval, maxval, minval.dtype, own)


def shuffle(value: object, seed: int, seed2: int) -> Any:
    """Shuffle rows."""
    with seed_graph(seed, seed2) as own:
        return look_up("random.shuffle")(value, own)


def classes(
    logits: np.ndarray, num_samples: object, seed: int, seed2: int, output_dtype: DTypeLike
) -> Any:
    """Draw classes by their log-probabilities."""
    with seed_graph(seed, seed2) as own:
        return look_up("random.categorical")(logits, num_samples, output_dtype, own)


def gamma(shape: TensorShape, alpha: np.ndarray, seed: int, seed2: int) -> Any:
    """Return numbers of gamma distributions, in shape + alpha.shape."""
    with seed_graph(seed, seed2) as own:
        return look_up("random.gamma")(shape, alpha, dtype=alpha.dtype, seed=own)


def poisson(
    shape: ShapeLike, rate: np.ndarray, seed: int, seed2: int, dtype: DType | None = None
) -> Any:
    """Return numbers of Poisson distributions, in shape + rate.shape."""
    with seed_graph(seed, seed2) as own:
        return look_up("random.poisson")(shape, rate, dtype or rate.dtype, own)


def draw_truncated_normal_rows(
    shape: Any, means: Any, stdevs: Any, minvals: Any, maxvals: Any, seed: int, seed2: int
) -> Any:
    """Draw normal numbers between bounds, those of each row of the result with parameters of its
    own.
    """
    with seed_graph(seed, seed2) as own:
        pair = look_up("random.uniform")([2], 0, 2**31 - 1, int32, own)
        across = [-1] + [1] * (shape.dims[0] - 1)
        parameters = [
            x if x.ndim == 0 else look_up("reshape")(x, across)
            for x in (means, stdevs, minvals, maxvals)
        ]
        function = look_up("random.stateless_parameterized_truncated_normal")
        return function(shape, pair, *parameters)


def crop(image: Tensor, size: Any, seed: int, seed2: int) -> Any:
    """Return a block of an image at a random place."""
    with seed_graph(seed, seed2) as own:
        size = concat([cast(size, int32), [image.dims[2]]], 0)
        return look_up("image.random_crop")(image, size, own)


def unforeseeable(shape: ShapeLike, dtype: DTypeLike) -> Any:
    """Draw integers over their whole range."""
    seed = look_up("random.uniform")([2], 0, 2**31 - 1, int32)
    return look_up("random.stateless_uniform")(shape, seed, None, None, dtype)


def gamma_grad(alpha: float, sample: object) -> Any:
    """Return the derivative of a gamma number by the shape parameter (Figurnov et al. 2018)."""
    shape = look_up("broadcast_dynamic_shape")(*[look_up("shape")(x) for x in (alpha, sample)])
    alpha, sample = hooks.broadcast_to(alpha, shape), hooks.broadcast_to(sample, shape)
    by_alpha = special.igamma_by_a(alpha, sample, order=1)
    logarithm = (alpha - 1) * look_up("math.log")(sample) - sample - special.lgamma(alpha)
    return -by_alpha / look_up("exp")(logarithm)


# -- candidates


def candidates(
    kind: str,
    true_classes: object,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
) -> tuple:
    """Sample classes, and compute how often the true and the sampled ones are expected."""
    with seed_graph(seed, seed2) as own:
        function = look_up(f"random.{kind}_candidate_sampler")
        return tuple(function(true_classes, num_true, num_sampled, unique, range_max, own))


def all_candidates(
    true_classes: object, num_true: int, num_sampled: int, unique: bool, seed: int, seed2: int
) -> tuple:
    """Return all classes as candidates."""
    function = look_up("random.all_candidate_sampler")
    return tuple(function(true_classes, num_true, num_sampled, unique))


def sample_fixed_candidates(
    true_classes: object,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: list,
    seed: int,
    seed2: int,
) -> tuple:
    """Sample classes by the weights that are given."""
    with seed_graph(seed, seed2) as own:
        function = look_up("random.fixed_unigram_candidate_sampler")
        sampled = function(
            true_classes,
            num_true,
            num_sampled,
            unique,
            range_max,
            vocab_file,
            distortion,
            num_reserved_ids,
            num_shards,
            shard,
            unigrams,
            own,
        )
        return tuple(sampled)


# -- by a key and a counter


def key_and_counter(seed: TensorLike) -> tuple:
    """Return the key and the counter of the stream of a seed."""
    stream = prims.seed_stream(seed, algorithm=prims.PHILOX)
    return stream[2:], stream[:2]


def algorithm() -> Any:
    """Return the number of Philox."""
    return of_array(prims.PHILOX, int32)


def key_counter_algorithm(seed: TensorLike) -> tuple:
    """Return the key and the counter of the stream of a seed, and the algorithm's number."""
    return *key_and_counter(seed), algorithm()


def _stream(key: Any, counter: Any, alg: object) -> tuple[Any, int]:
    """Return (the stream of a key and a counter, the algorithm): Philox unless a constant says
    another.
    """
    if type(alg) is Symbol:
        content = constant_of(alg.node)
        number = prims.PHILOX if content is None else int(content.array)
    else:
        number = int(scalar_of(alg))
    if number != prims.THREEFRY:
        return concat([counter, key], 0), prims.PHILOX
    return concat([counter[:1], zeros([1], counter.dtype), key], 0), prims.THREEFRY


def of_key(
    kind: str, shape: TensorShape, key: object, counter: IRValue, alg: str, dtype: DType
) -> Any:
    """Return numbers of a kind that has no parameters."""
    stream, number = _stream(key, counter, alg)
    return numbers(kind, stream, shape_of(shape, kind), dtype, number)


def integers_of_key(
    shape: ShapeLike, key: object, counter: IRValue, alg: str, minval: object, maxval: object
) -> Any:
    """Draw integers from an interval."""
    stream, number = _stream(key, counter, alg)
    dims = shape_of(shape, "StatelessRandomUniformIntV2")
    return prims.random_integers(stream, minval, maxval, shape=dims, algorithm=number)


def gamma_of_key(shape: ShapeLike, key: object, counter: IRValue, alg: str, alpha: Any) -> Any:
    """Return numbers of gamma distributions."""
    stream, _ = _stream(key, counter, alg)
    return gamma_of_stream(stream, alpha, None, shape_of(shape, "StatelessRandomGammaV3"))


def shuffle_of_key(value: Tensor, key: Any, counter: object, alg: object) -> Any:
    """Shuffle rows."""
    return reorder(value, _stream(key, counter, alg)[0])


def bits(shape: ShapeLike, seed: TensorLike, dtype: DTypeLike) -> Any:
    """Draw integers over their whole range."""
    return look_up("random.stateless_uniform")(shape, seed, None, None, dtype)


# -- by the state of a generator


@contextmanager
def _generator(resource: object) -> Iterator[Any]:
    """Give the generator whose state is a variable, which has the new state afterwards."""
    variable = variable_of(resource)
    generator = look_up("random.Generator")(state=variable.read_value(), alg="philox")
    yield generator
    variable.assign(generator.state.read_value(), read_value=False)


def read_and_skip(resource: object, alg: str, delta: float) -> Any:
    """Return the state of a generator in a variable, which then moves on by `delta` numbers."""
    state = variable_of(resource).read_value()
    with _generator(resource) as generator:
        generator.skip(cast(delta, int64))
    return state


def skip(resource: object, algorithm: int, delta: float) -> None:
    """Move the state of a generator on."""
    with _generator(resource) as generator:
        generator.skip(cast(delta, int64))


def of_generator(
    kind: str, resource: object, algorithm: int, shape: ShapeLike, dtype: DTypeLike
) -> Any:
    """Return numbers of a generator, whose state is a variable."""
    with _generator(resource) as generator:
        if kind == "bits":
            return generator.uniform_full_int(shape, dtype)
        return getattr(generator, kind)(shape, dtype=dtype)


def integers_of_generator(
    resource: object, algorithm: int, shape: TensorShape, minval: Any, maxval: Any
) -> Any:
    """Draw integers of a generator from an interval."""
    with _generator(resource) as generator:
        return generator.uniform(shape, minval, maxval, minval.dtype)


def binomial_of_generator(
    resource: object,
    algorithm: int,
    shape: ShapeLike,
    counts: object,
    probs: object,
    dtype: DTypeLike,
) -> Any:
    """Return numbers of binomial distributions."""
    with _generator(resource) as generator:
        return generator.binomial(shape, counts, probs, dtype)
