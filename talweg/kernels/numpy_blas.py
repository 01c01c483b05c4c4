"""NumPy's products on one thread, where another team has work for the cores.

OpenBLAS's threads look for more work for a while after a product (2^26 ticks of the clock), on the
cores that compiled loops want for theirs.  Products this small lose less
by having one thread.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FEWEST, MOST = 1 << 16, 1 << 25  # multiplications of a product for which this pays
THREADS = (  # names under which builds of OpenBLAS offer (set, get) of the number of threads
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
)


@functools.cache
def thread_functions() -> tuple[Callable[[int], Any], Callable[[], int]] | None:
    """What sets and gets the number of threads of the OpenBLAS in NumPy's wheel; else None."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.PyDLL(str(path))  # it is loaded; calls keep the GIL
                return next(
                    (getattr(library, setter), getattr(library, getter))
                    for setter, getter in THREADS
                    if hasattr(library, setter) and hasattr(library, getter)
                )
            except (OSError, StopIteration):
                continue
    return None


class Neighbours:
    """Whether compiled operations with threads of their own run between NumPy's products."""

    busy = False


neighbours = Neighbours()


def dot(x: np.ndarray, y: np.ndarray) -> Any:
    """x.dot(y) of two matrices."""
    if not neighbours.busy or not FEWEST <= x.size * y.shape[-1] <= MOST:
        return x.dot(y)
    functions = thread_functions()
    before = functions[1]() if functions is not None else 1
    if functions is None or before == 1:
        return x.dot(y)
    functions[0](1)
    try:
        return x.dot(y)
    finally:
        functions[0](before)
