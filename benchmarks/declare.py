"""How a benchmark is declared: a class body whose functions are the contenders.

    @benchmark("eager.multiply", aims=[Ratio(2.0, of="numpy")])
    class Multiply:
        '''x * y, two 32x32 float32.'''

        def numpy(np): ...
        def tf(tf): ...              # one program for talweg and TensorFlow
        def jax(jnp): ...
        def torch_compiled(torch): ...   # `peer_variant`: a second way to run the same work

Each function is a *setup*: it makes its data once and returns the callable that is measured.  Its
arguments are handed over by name: `np`, `tf`, `jax`, `jnp`, `torch` (imported only if asked for),
`peer` (the name) and the parameters of a sweep.  What the callable returns is compared between
contenders, so that nobody is fast by computing something else; a setup that returns two callables
has the result of the second, which is not timed, compared instead.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers import PEERS, TENSORFLOW_FAMILY

REGISTRY: dict[str, Benchmark] = {}


class Unfit(Exception):
    """Raised by a setup whose peer cannot, or should not, run this size; says why."""


@dataclass(frozen=True)
class AtMost:
    """An absolute limit in the benchmark's own unit (seconds or bytes)."""

    limit: float


@dataclass(frozen=True)
class Ratio:
    """At most `limit` times a contender (`"numpy"`, `"tensorflow function"`) or `"best"`.

    `"best"` is the fastest contender in the run that is neither talweg nor the NumPy floor.
    """

    limit: float
    of: str = "best"


@dataclass(frozen=True)
class Flat:
    """In a sweep: at most `limit` times the cheapest of all smaller sizes."""

    limit: float


@dataclass(frozen=True)
class Contender:
    """One peer, one way of running the work."""

    peer: str
    variant: str
    setup: Callable[..., Any]

    @property
    def label(self):
        """The name in tables and results: `tensorflow` or `tensorflow function`."""
        return f"{self.peer} {self.variant}".strip()


@dataclass(frozen=True)
class Benchmark:
    """What is measured, how, by whom, and what would be good enough.

    `timed`: the worker times the callable; otherwise the callable returns the figure itself.
    `scale` divides the figure (operations per call); `fresh` gives each sample a new process.
    `settle`: seconds that calls go on before the first sample, for compilers that work beside them.
    """

    name: str
    measures: str
    contenders: tuple[Contender, ...]
    aims: tuple[AtMost | Ratio | Flat, ...] = ()
    unit: str = "seconds"
    timed: bool = True
    fresh: bool = False
    rounds: int | None = None
    scale: float = 1
    settle: float = 0.0
    parameters: dict[str, Any] = field(default_factory=dict)
    subject: str = "talweg"

    @property
    def family(self):
        """The name without its parameter: what the members of a sweep share."""
        return self.name.partition("[")[0]

    @property
    def size(self):
        """The parameter of a sweep; 1 where there is none."""
        return next(iter(self.parameters.values()), 1)

    def contender(self, label):
        """The contender with this label; KeyError where there is none."""
        return next((c for c in self.contenders if c.label == label), None) or _no(label)

    def of_peers(self, names):
        """The contenders whose peer is among `names`, in their order."""
        return tuple(c for c in self.contenders if c.peer in names)


def _no(label):
    raise KeyError(label)


def benchmark(name, *, aims=(), sweep=None, per=None, scale=1, **fields):
    """Declare a benchmark from a class body; `sweep={"length": [...]}` declares one a value.

    `per` names the sweep's parameter that divides the figure; `scale` divides all figures.
    """

    def declare(body):
        contenders = tuple(_contenders(body))
        measures = " ".join((inspect.getdoc(body) or name).split())
        for suffix, parameters in _members(sweep):
            member = Benchmark(
                name + suffix,
                measures,
                contenders,
                tuple(aims),
                scale=parameters[per] if per else scale,
                parameters=parameters,
                **fields,
            )
            if member.name in REGISTRY:
                raise ValueError(f"two benchmarks are named {member.name}")
            REGISTRY[member.name] = member
        return body

    return declare


def _members(sweep):
    if not sweep:
        return [("", {})]
    ((parameter, values),) = sweep.items()
    return [(f"[{value}]", {parameter: value}) for value in values]


def _contenders(body):
    for method, setup in vars(body).items():
        if method.startswith("_"):
            continue
        first, _, variant = method.partition("_")
        if first not in {"tf", "every", *PEERS}:
            raise ValueError(f"{body.__name__}.{method}: {first!r} is no peer")
        peers = {"tf": TENSORFLOW_FAMILY, "every": tuple(PEERS)}.get(first, (first,))
        for peer in peers:
            yield Contender(peer, variant.replace("_", " "), setup)


def load_topics():
    """Import every module of `benchmarks.topics`; the registry, in order of declaration."""
    topics = importlib.import_module("benchmarks.topics")
    for module in pkgutil.iter_modules(topics.__path__):
        importlib.import_module(f"benchmarks.topics.{module.name}")
    return REGISTRY


def select(names, registry):
    """The benchmarks meant by `names`: a topic, a family or one member; all without names."""
    if not names:
        return list(registry.values())
    chosen = []
    for name in names:
        found = [b for b in registry.values() if _meant(name, b)]
        if not found:
            raise LookupError(name)
        chosen += [b for b in found if b not in chosen]
    return chosen


def _meant(name, benchmark):
    return name in (benchmark.name, benchmark.family) or benchmark.name.startswith(name + ".")
