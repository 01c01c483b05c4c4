"""tf.random.Generator: random numbers whose state is an object of the program.

The state is a variable of 64-bit integers: a counter, of two words for Philox and one for
ThreeFry, and a key.  Each value drawn moves the counter on by 256, whatever the value needed, so
the state after a call depends on shapes only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.creating import zeros_like
from talweg.api.array.joining import concat, stack, unstack
from talweg.api.export import export
from talweg.api.random.arguments import (
    parameter,
    sample_shape,
    scalar_integer,
    scale_and_shift,
    shape_of,
)
from talweg.api.random.distributions import binomial_parameters, broadcast_dims
from talweg.api.random.state import (
    check_state,
    state_of_key,
    state_of_seed,
    unforeseeable_state,
)
from talweg.api.random.stateless import check_bounds, numbers, uniform_of_stream
from talweg.api.tensors import cast
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, float32, int32, int64, uint64
from talweg.core.errors import compose, value_error
from talweg.core.locking import holding
from talweg.core.tracking import AutoTrackable
from talweg.core.value import Tensor
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.randomness import Algorithm, algorithm_kind, algorithm_number
from talweg.eager.replica_contexts import check_alone, contexts, strategy_in_force
from talweg.eager.tensor import wrap
from talweg.eager.variable import Variable
from talweg.kernels.random.philox import RESERVED
from talweg.prims.random import streams as prims
from talweg.prims.random.distributions import random_binomial
from talweg.prims.state import as_factor
from talweg.transform.batch import for_each_slice

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

_BINOMIAL_WORDS = 2 * 100  # words that are set aside for a binomial number

export(
    "random.Algorithm",
    "random.experimental.Algorithm",
    "compat.v1.random.Algorithm",
    "compat.v1.random.experimental.Algorithm",
)(Algorithm)


@export(
    "random.Generator",
    "random.experimental.Generator",
    "compat.v1.random.Generator",
    "compat.v1.random.experimental.Generator",
)
class Generator(AutoTrackable):
    """A generator of random numbers that keeps its own state.

    Make one with `from_seed`, `from_state`, `from_key_counter` or `from_non_deterministic_state`.
    The numbers are TensorFlow's for the same state.  One that is made under a strategy gives each
    replica a stream of its own; one that is made outside gives all replicas the same stream, of
    which each takes its part in turn.

    >>> import talweg as tf
    >>> g = tf.random.Generator.from_seed(1)
    >>> g.normal([3]).numpy().round(4)
    array([ 0.4384, -0.5344, -0.0771], dtype=float32)
    >>> g.state.numpy()
    array([769,   0,   0])
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None):
        """Make a generator with the state and algorithm of `copy_from`, or with those given."""
        if copy_from is not None:
            if state is not None or alg is not None:
                text = "Generator: copy_from excludes state and alg"
                raise AssertionError(compose("TW104", text))
            state, alg = copy_from.state, copy_from.algorithm
        if state is None or alg is None:
            text = "Generator: state and alg must be given"
            hint = "tf.random.Generator.from_seed(1)"
            raise AssertionError(compose("TW104", text, hint=hint))
        self._kind, self._alg = algorithm_kind(alg), algorithm_number(alg)
        self._strategy = strategy_in_force()
        self._state_var = Variable(
            check_state(state, self._alg), trainable=False, dtype=int64, name="StateVar"
        )

    # -- making

    @classmethod
    def from_state(cls, state: TensorLike, alg: Any) -> Generator:
        """Return a generator in a state: [3] words for Philox, [2] for ThreeFry; ValueError
        otherwise."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: object, alg: Any = None) -> Generator:
        """Return a generator from an integer or a vector; see `tf.random.create_rng_state`."""
        alg = "philox" if alg is None else alg
        return cls(state=state_of_seed(seed, algorithm_number(alg)), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: str | None = None) -> Generator:
        """Return a generator nobody can foretell."""
        alg = "philox" if alg is None else alg
        return cls(state=unforeseeable_state(algorithm_number(alg)), alg=alg)

    @classmethod
    def from_key_counter(cls, key: object, counter: TensorLike, alg: str) -> Generator:
        """Return a generator from a key and a counter: [2] words for Philox, [1] for ThreeFry."""
        return cls(state=state_of_key(key, counter, algorithm_number(alg)), alg=alg)

    # -- the state

    @property
    def state(self) -> Variable:
        """The state: a variable of int64."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: 1 for Philox, 2 for ThreeFry, 3 if that was left open."""
        return self._kind.value

    @property
    def key(self) -> Any:
        """The key: the last word of the state."""
        return self._state_var.value()[-1]

    def reset(self, state: TensorLike) -> None:
        """Put the generator into another state; ValueError for one of another size."""
        self._state_var.assign(check_state(state, self._alg))

    def reset_from_seed(self, seed: int) -> None:
        """Put the generator into the state of a seed."""
        self._state_var.assign(state_of_seed(seed, self._alg))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Put the generator into the state of a key and a counter."""
        self._state_var.assign(state_of_key(key, counter, self._alg))

    def skip(self, delta: TensorLike) -> Any:
        """Go on as if `delta` numbers had been drawn; the state before is returned."""
        return self._advance(scalar_integer(delta, "Generator.skip", "delta"))

    def _advance(self, count: int) -> Tensor:
        """Return the state, which moves on by `count` numbers."""
        if isinstance(self._state_var, GraphVariable):
            # Reading and writing are one operation: a run may ask for any of the graph's draws.
            return self._state_var.skip(as_factor(count, uint64))
        if dispatch.context.base is not None:
            return self._skip(count)
        with holding(self._state_var):  # no two calls may take the same numbers
            return self._skip(count)

    def _skip(self, count: int) -> Tensor:
        before = self._state_var.value()
        after = prims.skip_state(before, blocks=count * RESERVED, algorithm=self._alg)
        self._state_var.assign(after, read_value=False)
        return before

    def _stream(self, count: int) -> Tensor:
        """Return a stream for that many values; inside `vectorized_map` one for each slice."""
        return for_each_slice(lambda: self._own_stream(count))

    def _own_stream(self, count: int) -> Tensor:
        stream = prims.generator_stream(self._advance(count), algorithm=self._alg)
        number = self._replica()
        if number is None:
            return stream
        start = stack([number, 0, stream[2]])
        key = numbers("bits", start, (1,), uint64, self._alg)
        return concat([stream[:2], key], 0)

    def _replica(self) -> Any:
        """Return the number of the replica that draws, uint64,
        if the generator belongs to a strategy.
        """
        if self._strategy is None or not contexts.stack:
            return None
        check_alone(self._strategy)
        context = contexts.stack[-1][1]
        return None if context is None else cast(context.replica_id_in_sync_group, uint64)

    # -- numbers

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Any:
        """Draw normal numbers: mean + stddev * z, differentiable by both."""
        return self._draw_scaled("normal", shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Any:
        """Draw normal numbers within two standard deviations of the mean."""
        return self._draw_scaled("truncated_normal", shape, mean, stddev, dtype)

    def _draw_scaled(
        self, kind: str, shape: object, mean: object, stddev: Any, dtype: object
    ) -> Tensor:
        dtype = as_dtype(dtype)
        if not dtype.is_floating:
            mean, stddev = parameter(mean, dtype), parameter(stddev, dtype)
        dims = shape_of(shape, f"Generator.{kind}")
        drawn = numbers(kind, self._stream(math.prod(dims)), dims, dtype, self._alg)
        return scale_and_shift(drawn, stddev, mean)

    def uniform(
        self,
        shape: ShapeLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Any:
        """Draw numbers of [minval, maxval); maxval is 1 for floats if None.

        Integers need both bounds, or None for both and then cover their whole range; ValueError
        otherwise.
        """
        dtype = as_dtype(dtype)
        if dtype.is_integer:
            check_bounds(minval, maxval, dtype)
        elif not dtype.is_floating:
            minval, maxval = parameter(minval, dtype), parameter(maxval, dtype)
        dims = shape_of(shape, "Generator.uniform")
        stream = self._stream(math.prod(dims))
        return uniform_of_stream(stream, dims, minval, maxval, dtype, self._alg)

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = uint64, name: str | None = None
    ) -> Any:
        """Draw integers over the whole range of int32, int64, uint32 or uint64."""
        dims = shape_of(shape, "Generator.uniform_full_int")
        return numbers("bits", self._stream(math.prod(dims)), dims, as_dtype(dtype), self._alg)

    def binomial(
        self,
        shape: ShapeLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = int32,
        name: str | None = None,
    ) -> Any:
        """Draw the number of `counts` trials that succeed, with probability `probs` (Philox only).

        `shape` is the whole shape of the result and ends in that of the (broadcast) parameters.
        """
        if self._alg != prims.PHILOX:
            text = f"Generator.binomial: algorithm {self._alg} has no binomial numbers"
            raise value_error("TW207", text, "Philox")
        dims = shape_of(shape, "Generator.binomial")
        counts, probs = binomial_parameters(counts, probs)
        batches = math.prod(broadcast_dims(counts, probs))
        samples, counts = sample_shape(dims, counts, probs)
        stream = self._stream(batches * _BINOMIAL_WORDS * (math.prod(samples) + 3) // 4)
        return random_binomial(stream, counts, probs, shape=samples, dtype=as_dtype(dtype))

    # -- more generators

    def make_seeds(self, count: TensorLike = 1) -> Any:
        """Make seeds for stateless functions, [2, count] int64, one pair a column."""
        keys = self.uniform_full_int([count], int64)
        return stack([keys, zeros_like(keys)])

    def split(self, count: TensorLike = 1) -> list[Generator]:
        """Split off `count` new generators that are independent of this and of each other."""
        keys = self.uniform_full_int([count], int64)
        return [
            type(self)(state=state_of_key(key, self._counter(), self._alg), alg=self._kind)
            for key in unstack(keys)
        ]

    def _counter(self) -> Tensor:
        """Return the counter of a generator that has drawn nothing."""
        return wrap(np.zeros(prims.STATE_SIZE[self._alg] - 1, np.int64))


# -- the global generator


class _Holder:
    """Holds the global generator, made when it is first asked for."""

    generator: Any = None


@export(
    "random.get_global_generator",
    "random.experimental.get_global_generator",
    "compat.v1.random.get_global_generator",
    "compat.v1.random.experimental.get_global_generator",
)
def get_global_generator() -> Generator:
    """Return the generator that is shared by the program; made unforeseeable on first use.

    `tf.random.set_seed` does not touch it.

    >>> import talweg as tf
    >>> tf.random.set_global_generator(tf.random.Generator.from_seed(8))
    >>> tf.random.get_global_generator().normal([2]).numpy().round(4)
    array([0.6921, 0.8422], dtype=float32)
    """
    if _Holder.generator is None:
        _Holder.generator = Generator.from_non_deterministic_state()
    return _Holder.generator


@export(
    "random.set_global_generator",
    "random.experimental.set_global_generator",
    "compat.v1.random.set_global_generator",
    "compat.v1.random.experimental.set_global_generator",
)
def set_global_generator(generator: Any) -> None:
    """Replace the generator that is shared by the program."""
    _Holder.generator = generator
