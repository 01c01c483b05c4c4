"""Rules of random numbers: stateful operations by two seeds, stateless ones by key and counter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.api.random.arguments import shape_of
from talweg.api.random.stateless import numbers
from talweg.core.dtypes import int32
from talweg.eager import randomness
from talweg.graph.symbol import constant_of
from talweg.interop.graph_def.values import base, constant, rule
from talweg.prims.random import streams as prims
from talweg.prims.state import update_variable

if TYPE_CHECKING:
    from talweg.graph.symbol import Symbol
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord


@contextmanager
def _seeded(item: NodeRecord) -> Iterator[int | None]:
    """Set the graph's seed to the node's first one in the block; give the second one."""
    first, second = item.attributes["seed"], item.attributes["seed2"]
    if not first and not second:
        yield None
        return
    graph = base()
    before = graph.seed
    randomness.set_seed_of_graph(graph, first)
    try:
        yield second
    finally:
        randomness.set_seed_of_graph(graph, before)


@rule("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
def random_floats(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Draw floating-point numbers."""
    kinds = {"RandomUniform": "uniform", "RandomStandardNormal": "normal"}
    function = look_up(f"random.{kinds.get(item.op, 'truncated_normal')}")
    with _seeded(item) as seed:
        return [function(inputs[0], dtype=item.attributes["dtype"], seed=seed)]


@rule("RandomUniformInt")
def random_integers(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Draw integers."""
    shape, low, high = inputs
    with _seeded(item) as seed:
        return [look_up("random.uniform")(shape, low, high, item.attributes["Tout"], seed)]


@rule("RandomShuffle")
def shuffle_rows(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Shuffle rows."""
    with _seeded(item) as seed:
        return [look_up("random.shuffle")(inputs[0], seed)]


@rule("Multinomial")
def classes(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Draw classes by their log-probabilities."""
    with _seeded(item) as seed:
        dtype = item.attributes["output_dtype"]
        return [look_up("random.categorical")(inputs[0], inputs[1], dtype, seed)]


@rule("RandomGamma")
def gamma(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return numbers of gamma distributions, in shape + alpha.shape."""
    with _seeded(item) as seed:
        return [look_up("random.gamma")(inputs[0], inputs[1], dtype=inputs[1].dtype, seed=seed)]


@rule("RandomPoisson", "RandomPoissonV2")
def poisson(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return numbers of Poisson distributions, in shape + rate.shape."""
    with _seeded(item) as seed:
        dtype = item.attributes["dtype"]
        return [look_up("random.poisson")(inputs[0], inputs[1], dtype, seed)]


@rule("StatelessMultinomial")
def stateless_classes(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Draw classes by their log-probabilities, from a seed."""
    dtype = item.attributes["output_dtype"]
    return [look_up("random.stateless_categorical")(*inputs, dtype=dtype)]


@rule("StatelessRandomGetKeyCounter")
def key_and_counter(builder: GraphBuilder, item: object, inputs: list) -> list:
    """Return the key and the counter of the stream of a seed."""
    stream = prims.seed_stream(inputs[0], algorithm=prims.PHILOX)
    return [stream[2:], stream[:2]]


@rule("StatelessRandomGetAlg")
def algorithm(builder: GraphBuilder, item: object, inputs: list) -> list:
    """Return the number of Philox."""
    return [constant(1, int32)]


_STATELESS = {
    "StatelessRandomUniformV2": "uniform",
    "StatelessRandomNormalV2": "normal",
    "StatelessTruncatedNormalV2": "truncated_normal",
}


def _stream(key: Symbol, counter: Symbol, algorithm: Symbol) -> tuple[Any, int]:
    """Return (the stream of a key and a counter, the algorithm): Philox unless a constant says
    another.
    """
    content = constant_of(algorithm.node)
    concat = look_up("concat")
    if content is None or int(content.array) != prims.THREEFRY:
        return concat([counter, key], 0), prims.PHILOX
    return concat([counter[:1], look_up("zeros")([1], counter.dtype), key], 0), prims.THREEFRY


@rule("RngReadAndSkip")
def skip_state(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the state of a generator, which moves on by 256 for each of `delta` numbers."""
    resource, algorithm, delta = inputs
    content = constant_of(algorithm.node)
    if content is None:
        raise item.error("the algorithm is not constant")
    return [update_variable(delta, variable=resource.handle, rule="skip")]


@rule(*_STATELESS)
def stateless_floats(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Draw floating-point numbers of a key and a counter."""
    stream, algorithm = _stream(*inputs[1:4])
    dims = shape_of(inputs[0], item.op)
    return [numbers(_STATELESS[item.op], stream, dims, item.attributes["dtype"], algorithm)]


@rule("StatelessRandomUniformIntV2")
def stateless_integers(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Draw integers of a key and a counter."""
    shape, *parts, low, high = inputs
    stream, algorithm = _stream(*parts)
    dims = shape_of(shape, item.op)
    return [prims.random_integers(stream, low, high, shape=dims, algorithm=algorithm)]
