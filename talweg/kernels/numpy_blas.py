"""NumPy's products, on as many of BLAS's threads as are worth it.

OpenBLAS's threads look for more work for a while after a product (2^26 ticks of the clock).  Beside
compiled loops they do so on the cores that those want for theirs: products that are not large lose
less by having one thread.  And where other processes want the cores, they wait for each other's
time slices (`core/load.py`): each product takes its fair share, unless `TALWEG_THREADS` says how
many.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from talweg.core import settings
from talweg.core.load import load

FEWEST = 1 << 16  # multiplications of a product from which this pays
MOST = 1 << 25  # and up to which one thread is best beside compiled loops
THREADS = (  # names under which builds of OpenBLAS offer (set, get) of the number of threads
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
)


@functools.cache
def thread_functions() -> tuple[Callable[[int], Any], Callable[[], int]] | None:
    """Return the functions that set and get the threads of NumPy's OpenBLAS; else None."""
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
_changing = threading.Lock()  # by whom the number of threads is changed at present


def dot(x: np.ndarray, y: np.ndarray) -> Any:
    """Return x.dot(y) of two matrices."""
    return limit_threads(x.size * y.shape[-1], x.dot, y)


def matmul(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> Any:
    """Return x y.   x [..., m, k], y [..., k, n] -> [..., m, n], into `out` if it is given."""
    work = max(x.size * y.shape[-1], x.shape[-2] * y.size)
    return limit_threads(work, np.matmul, x, y, *(() if out is None else (out,)))


def limit_threads(work: int, product: Callable, *operands: object) -> Any:
    """Compute a product of so many multiplications on its share of BLAS's threads."""
    functions = thread_functions() if work >= FEWEST else None
    before = functions[1]() if functions is not None else 1
    if functions is None or before == 1:
        return product(*operands)
    count = worthwhile(work, before)
    if count == before or not _changing.acquire(blocking=False):  # another thread puts it back
        return product(*operands)
    functions[0](count)
    try:
        return product(*operands)
    finally:
        functions[0](before)
        _changing.release()


def worthwhile(work: int, most: int) -> int:
    """Return the number of threads, of those there are, that a product is worth now."""
    if neighbours.busy and work <= MOST:
        return 1
    asked = settings.threads.get()
    return min(asked, most) if asked else load.share(most)
