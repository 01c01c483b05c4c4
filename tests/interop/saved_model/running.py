"""Making the calls of a program on an object, for talweg and TensorFlow alike."""

from __future__ import annotations

from typing import Any

import numpy as np


def called(tf: Any, obj: Any, calls: list) -> list:
    """The results of the calls, flat lists of arrays."""
    found = []
    for path, args, kwargs in calls:
        target = obj
        for name in filter(None, path.split("/")):
            target = (
                target[name]
                if path.startswith("signatures/") and target is not obj
                else (getattr(target, name))
            )
        result = target(
            *[argument(tf, x) for x in args], **{key: argument(tf, x) for key, x in kwargs.items()}
        )
        flat = tf.nest.flatten(result, expand_composites=True)
        found.append([None if x is None else np.asarray(x.numpy()) for x in flat])
    return found


def argument(tf: Any, value: Any) -> Any:
    """An argument as a tensor; Python values stay, marked tuples become composites."""
    if isinstance(value, (np.ndarray, np.generic)):
        return tf.constant(value)
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        kind, *parts = value
        if kind == "sparse":
            return tf.SparseTensor(*parts)
        return tf.RaggedTensor.from_row_splits(*parts)
    if isinstance(value, (list, tuple)):
        return type(value)([argument(tf, part) for part in value])
    if isinstance(value, dict):
        return {key: argument(tf, part) for key, part in value.items()}
    return value


def differences(name: str, calls: list, expected: list, found: list) -> list[str]:
    """In words, where results differ."""
    problems = []
    for (path, _, _), wanted, got in zip(calls, expected, found):
        where = f"{name}: {path or '__call__'}"
        if len(wanted) != len(got):
            problems.append(f"{where}: {len(got)} results instead of {len(wanted)}")
            continue
        for a, b in zip(wanted, got):
            if (a is None) != (b is None) or a is not None and not _close(a, b):
                problems.append(f"{where}: {b!r} instead of {a!r}")
    return problems


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind in "OS":  # texts
        return a.tolist() == b.tolist()
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.allclose(a, b, rtol=2e-5, atol=1e-6, equal_nan=True))
