"""The library routines of loop programs, written with NumPy; see `lower/ir/loops.py`, `Call`."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import DType
from talweg.execute.loop_interpreter.memory import BufferMemory
from talweg.lower.ir.loops import Buffer

Place = tuple[Buffer, int]


def _matrix(place: Place, rows: int, columns: int, step: int) -> NDArray:
    """The places of a row-major matrix in its buffer."""
    return place[1] + np.arange(rows)[:, None] * step + np.arange(columns)


def gemm(
    memory: BufferMemory,
    dtype: DType,
    transpose_x: int,
    transpose_y: int,
    m: int,
    n: int,
    k: int,
    alpha: np.generic,
    x: Place,
    x_step: int,
    y: Place,
    y_step: int,
    beta: np.generic,
    z: Place,
    z_step: int,
) -> None:
    """z [m, n] = alpha x y + beta z; z is not read where beta is 0."""
    x_at = _matrix(x, k, m, x_step).T if transpose_x else _matrix(x, m, k, x_step)
    y_at = _matrix(y, n, k, y_step).T if transpose_y else _matrix(y, k, n, y_step)
    z_at = _matrix(z, m, n, z_step)
    result = alpha * np.matmul(memory.read(x[0], x_at), memory.read(y[0], y_at))
    if beta != 0:
        result = result + beta * memory.read(z[0], z_at)
    memory.write(z[0], z_at, result, None)


def clock(memory: BufferMemory, dtype: DType, place: Place) -> None:
    """The time now, in a unit of its own."""
    memory.write(place[0], np.array([place[1]]), np.array([time.perf_counter_ns()]), None)


ROUTINES: dict[str, Callable[..., None]] = {"gemm": gemm, "clock": clock}
