"""Record TensorFlow's random numbers for tests/kernels/test_random.py.

Run with a Python that has TensorFlow 2.21, on a CPU::

    python tools/record_random.py
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

TESTS = Path(__file__).resolve().parents[1] / "tests" / "kernels"
sys.path.insert(0, str(TESTS))

from random_cases import EXACT, KEPT, cases  # noqa: E402
from random_programs import programs, run  # noqa: E402

PLAIN = ("uniform", "normal", "truncated_normal")


tf.get_logger().setLevel("ERROR")


def _constant(value, dtype):
    return tf.constant(value, dtype)


def _compile(function):
    return tf.function(function, jit_compile=True)()


def _parameters(operation, parameters, dtype):
    """Keyword arguments of the function of tf.random."""
    constants = {name: value for name, value in parameters.items()}
    if operation == "gamma":
        return {"alpha": _constant(constants["alpha"], dtype), "dtype": dtype}
    if operation == "poisson":
        return {"lam": _constant(constants["rate"], dtype), "dtype": dtype}
    if operation == "binomial":
        counts, probs = (_constant(constants[name], dtype) for name in ("count", "chance"))
        return {"counts": counts, "probs": probs, "output_dtype": tf.float64}
    names = ("mean", "deviation", "low", "high")
    given = ("means", "stddevs", "minvals", "maxvals")
    return {theirs: _constant(constants[ours], dtype) for ours, theirs in zip(names, given)}


def call(operation, seed, shape, dtype, parameters):
    """Return the tensor TensorFlow gives for a case."""
    random, key = tf.random, tf.constant(seed, tf.int64)
    whole = {"minval": None, "maxval": None, "dtype": dtype}
    if operation in PLAIN:
        return getattr(random, f"stateless_{operation}")(shape, key, dtype=dtype)
    if operation == "uniform_int":
        low, high = parameters["low"], parameters["high"]
        return random.stateless_uniform(shape, key, low, high, dtype)
    if operation == "full_int":
        return random.stateless_uniform(shape, key, **whole)
    if operation == "categorical":
        return random.stateless_categorical(parameters["logits"], shape[0], key)
    if operation == "shuffle":
        return random.experimental.stateless_shuffle(tf.range(shape[0], dtype=tf.int64), key)
    if operation == "index":
        index, largest = (_constant(parameters[n], tf.int64) for n in ("index", "largest"))
        return random.experimental.index_shuffle(index, tf.constant(seed), largest)
    if operation == "threefry_full_int":
        return _compile(lambda: random.stateless_uniform(shape, key, alg="threefry", **whole))
    if operation.startswith("threefry"):
        function = getattr(random, operation.replace("threefry", "stateless"))
        return _compile(lambda: function(shape, key, dtype=dtype, alg="threefry"))
    name = {"bounded_normal": "parameterized_truncated_normal"}.get(operation, operation)
    function = getattr(random, f"stateless_{name}")
    return function(shape, key, **_parameters(operation, parameters, dtype))


def record():
    """One line of JSON a case: the first values, and the checksum."""
    lines = []
    for case in cases():
        array = call(*case).numpy()
        number = array.astype(np.float64) if array.dtype.kind in "fV" else array
        entry = {"values": number.reshape(-1)[:KEPT].tolist(), "dtype": array.dtype.name}
        if case[0] in EXACT:
            entry["checksum"] = zlib.crc32(np.ascontiguousarray(array).tobytes())
        lines.append(json.dumps(entry))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def derivatives():
    """Derivatives of gamma numbers by their shape."""
    generator = np.random.default_rng(0)
    rows = []
    for alpha in (1e-3, 0.1, 0.7, 1.0, 3.0, 15.0, 19.9, 20.1, 100.0, 1000.0):
        sample = np.concatenate([generator.gamma(alpha, size=4), [alpha * 0.5, alpha + 5.0]])
        alphas = np.full(len(sample), alpha)
        found = tf.raw_ops.RandomGammaGrad(alpha=alphas, sample=sample).numpy()
        rows.append({"alpha": alpha, "sample": sample.tolist(), "derivative": found.tolist()})
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def record_programs():
    """One line of JSON a program."""
    return "[\n" + ",\n".join(json.dumps(run(each, tf, np)) for each in programs()) + "\n]\n"


if __name__ == "__main__":
    (TESTS / "random_programs.json").write_text(record_programs())
    (TESTS / "random_reference.json").write_text(record())
    (TESTS / "random_gamma_derivative.json").write_text(derivatives())
