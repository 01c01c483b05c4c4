"""Kernels of discrete Fourier transforms: SciPy's pocketfft, in the precision of its operand."""

from __future__ import annotations

import numpy as np

from talweg.core.cores import count_cores
from talweg.core.settings import threads
from talweg.kernels.abandoned_calls import count_per_element, make_interruptible

LARGE = 1 << 18  # elements that are worth a second thread

COST = 1 << 7  # multiplications that take as long as an element's part


def transform(name: str, x: np.ndarray, **parameters: object) -> np.ndarray:
    """Return `scipy.fft`'s function `name` of x; on all threads that the settings allow where x is
    large.

    It works on several rows at once, where NumPy's works on one.
    """
    return _transform(x, name=name, **parameters)


@make_interruptible(count_per_element(COST))
def _transform(x: np.ndarray, *, name: str, **parameters: object) -> np.ndarray:
    from scipy import fft

    workers = (threads.get() or count_cores()) if x.size >= LARGE else None  # counting reads files
    return getattr(fft, name)(x, workers=workers, **parameters)
