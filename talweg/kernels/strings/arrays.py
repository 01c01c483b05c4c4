"""Strings in arrays of objects: made from lists, gone through one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def of_list(strings: list) -> np.ndarray:
    """Return a vector of the strings of a list."""
    found = np.empty(len(strings), object)
    found[:] = strings
    return found


def items(x: Any) -> list:
    """Return the strings of an array of any rank, as a list."""
    return [x] if isinstance(x, bytes) else np.asarray(x, object).reshape(-1).tolist()


def like(strings: Iterable, shape: tuple) -> np.ndarray:
    """Return strings as an array of a shape."""
    return of_list(list(strings)).reshape(shape)


def each(function: Callable[[bytes], bytes], x: Any) -> np.ndarray:
    """Return the function of each string of an array."""
    return like(map(function, items(x)), np.shape(x))
