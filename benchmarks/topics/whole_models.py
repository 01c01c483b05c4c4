"""Whole models as people train them: Keras's `train_on_batch` and `predict_on_batch`.

The models are those of `benchmarks/zoo.py`, one program, each peer as Keras's backend, NumPy
arrays given as a user would.  `models.tenth`, `.slowest`, `.memory` and the like are figures of
processes of their own with empty caches.  Keras imports what it finds beside it (scikit-learn,
Matplotlib and JAX: 200 MB), so memory is compared where each peer has an environment without these,
as `setup` makes them.  TensorFlow runs graphs; `xla` is its `jit_compile=True`.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

import itertools
import tempfile

from benchmarks.declare import Ratio, benchmark
from benchmarks.starting import observed
from benchmarks.topics.keras import keras_of
from benchmarks.zoo import TRAINED, ZOO, prediction_of, step_of

PATIENCE = 8.0  # seconds that a compiler has, after the first step, to finish
SEEN: dict[tuple[str, str], list[dict[str, float]]] = {}


@benchmark("models.step", aims=[Ratio(0.85)], sweep={"model": list(TRAINED)}, settle=2.0)
class Step:
    """A training step of a whole model."""

    def talweg(tf, np, model):
        return step_of(model, tf.keras, np)

    def tensorflow(tf, np, model):
        return step_of(model, tf.keras, np, jit_compile=False)

    def tensorflow_xla(tf, np, model):
        return step_of(model, tf.keras, np, jit_compile=True)

    def jax(jax, np, model):
        return step_of(model, keras_of("jax"), np)

    def torch(torch, np, model):
        return step_of(model, keras_of("torch"), np, jit_compile=False)


@benchmark("models.predict", aims=[Ratio(0.85)], sweep={"model": list(ZOO)}, settle=2.0)
class Predict:
    """A prediction of a whole model for its batch."""

    def talweg(tf, np, model):
        return prediction_of(model, tf.keras, np)

    def tensorflow(tf, np, model):
        return prediction_of(model, tf.keras, np, jit_compile=False)

    def tensorflow_xla(tf, np, model):
        return prediction_of(model, tf.keras, np, jit_compile=True)

    def jax(jax, np, model):
        return prediction_of(model, keras_of("jax"), np)

    def torch(torch, np, model):
        return prediction_of(model, keras_of("torch"), np, jit_compile=False)


def _process(name, what, **fields):
    """Declare a figure of fresh processes that take the steps of each model."""

    def declare(body):
        for label in ("talweg", "tensorflow", "tensorflow xla", "jax", "torch"):
            setattr(body, label.replace(" ", "_"), _contender(label, what))
        return benchmark(name, sweep={"model": list(TRAINED)}, timed=False, rounds=1, **fields)(
            body
        )

    return declare


def _contender(label, what):
    return lambda model: _figure(model, label, what)


def _figure(model, label, what):
    """A callable that reports one figure of the first process, of the second, ..."""
    turns, seen = itertools.count(), SEEN.setdefault((model, label), [])

    def figure():
        turn = next(turns)
        if turn == len(seen):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                seen.append(observed(f"models.step[{model}]", label, PATIENCE, folder))
        return seen[turn][what]

    return figure


@_process("models.tenth", "tenth", aims=[Ratio(0.5)])
class Tenth:
    """From the start of the first step to the end of the tenth, nothing in any cache."""


@_process("models.tenth_cpu", "tenth cpu", aims=[Ratio(0.5)])
class TenthCpu:
    """CPU seconds of all threads from the start of the first step to the end of the tenth."""


@_process("models.slowest", "slowest")
class Slowest:
    """The slowest step after the first, nothing in any cache."""


@_process("models.memory", "resident", aims=[Ratio(0.5)], unit="bytes")
class Memory:
    """The most that is resident of a process that builds and trains a model, libraries and all."""


@_process("models.memory_above", "memory", unit="bytes")
class MemoryAbove:
    """How far resident memory rises above the import of the library (of talweg, not of Keras)."""
