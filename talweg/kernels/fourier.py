"""Kernels of discrete Fourier transforms: SciPy's pocketfft, in the precision of its operand."""

from __future__ import annotations

import numpy as np

from talweg.core.cores import count_cores
from talweg.core.settings import threads

LARGE = 1 << 18  # elements that are worth a second thread


def transform(name: str, x: np.ndarray, **parameters: object) -> np.ndarray:
    """`scipy.fft`'s function `name` of x; on all threads that the settings allow where x is large.

    It works on several rows at once, where NumPy's works on one.
    """
    from scipy import fft

    workers = threads.get() or count_cores()
    return getattr(fft, name)(x, workers=workers if x.size >= LARGE else None, **parameters)
