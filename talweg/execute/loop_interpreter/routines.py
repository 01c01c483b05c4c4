"""The library routines of loop programs in NumPy; see `lower/ir/loops.py`, `Call`."""

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
    """Return the positions of a row-major matrix in its buffer."""
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
    """Compute z [m, n] = alpha x y + beta z; z is not read where beta is 0."""
    x_at = _matrix(x, k, m, x_step).T if transpose_x else _matrix(x, m, k, x_step)
    y_at = _matrix(y, n, k, y_step).T if transpose_y else _matrix(y, k, n, y_step)
    z_at = _matrix(z, m, n, z_step)
    result = alpha * np.matmul(memory.read(x[0], x_at), memory.read(y[0], y_at))
    if beta != 0:
        result = result + beta * memory.read(z[0], z_at)
    memory.write(z[0], z_at, result, None)


def clock(memory: BufferMemory, dtype: DType, place: Place) -> None:
    """Store the time now, in a unit of its own."""
    memory.write(place[0], np.array([place[1]]), np.array([time.perf_counter_ns()]), None)


def _pieces(count: int) -> int:
    return -(-count // 32)


def _read_padded(
    memory: BufferMemory, x: Place, rows: int, columns: int, step: int, turned: int
) -> NDArray:
    """Return a matrix, which may lie as its transpose, with zeros to whole pieces."""
    places = _matrix(x, columns, rows, step).T if turned else _matrix(x, rows, columns, step)
    made = np.zeros((32 * _pieces(rows), 32 * _pieces(columns)), np.float32)
    made[:rows, :columns] = memory.read(x[0], places)
    return made


def tile_rows(
    memory: BufferMemory,
    dtype: DType,
    turned: int,
    rows: int,
    k: int,
    x: Place,
    x_step: int,
    out: Place,
) -> None:
    """Pack x [rows, k] as blocks [blocks, 32, steps * 32], zero-padded."""
    made = _read_padded(memory, x, rows, k, x_step, turned)
    _write_all(memory, out, made)


def tile_columns(
    memory: BufferMemory,
    dtype: DType,
    turned: int,
    k: int,
    n: int,
    y: Place,
    y_step: int,
    out: Place,
) -> None:
    """Pack y [k, n] as panels [panels, steps, 16, 32, 2], zero-padded."""
    made = _read_padded(memory, y, k, n, y_step, turned)
    _write_all(memory, out, made.reshape(-1, 2, _pieces(n), 32).transpose(2, 0, 3, 1))


def _add_or_write(memory: BufferMemory, z: Place, sums: NDArray, more: int) -> None:
    """Write the first part of sums, or add a later one to those that are there."""
    if more:
        sums = sums + memory.read(z[0], z[1] + np.arange(sums.size)).reshape(sums.shape)
    _write_all(memory, z, sums)


def _read_runs(
    memory: BufferMemory, x: Place, rows: int, row: int, runs: int, run: int, count: int
) -> NDArray:
    """Return rows of runs of numbers, which begin `row` and `run` apart."""
    starts = np.arange(rows)[:, None] * row + np.arange(runs) * run
    return memory.read(x[0], x[1] + starts[..., None] + np.arange(count))


def tile_product(
    memory: BufferMemory,
    dtype: DType,
    runs: int,
    steps: int,
    blocks: int,
    panels: int,
    more: int,
    x: Place,
    x_row: int,
    x_run: int,
    y: Place,
    z: Place,
) -> None:
    """Compute z [blocks * 32, panels * 32] = x y, + z for later parts."""
    rows, k, columns = 32 * blocks, 32 * runs * steps, 32 * panels
    left = _read_runs(memory, x, rows, x_row, runs, x_run, 32 * steps).reshape(rows, k)
    right = memory.read(y[0], y[1] + np.arange(k * columns)).reshape(panels, k // 2, 32, 2)
    result = left @ right.transpose(1, 3, 0, 2).reshape(k, columns)
    _add_or_write(memory, z, result, more)


def tile_split_rows(
    memory: BufferMemory,
    dtype: DType,
    turned: int,
    rows: int,
    k: int,
    x: Place,
    x_step: int,
    out: Place,
) -> None:
    """Pack x of float16 as blocks [blocks, 32, steps, 2, 32]: two terms of each number."""
    made = _read_padded(memory, x, rows, k, x_step, turned)
    _write_all(memory, out, _split(made.reshape(-1, 32)))


def tile_split_columns(
    memory: BufferMemory,
    dtype: DType,
    turned: int,
    k: int,
    n: int,
    y: Place,
    y_step: int,
    out: Place,
) -> None:
    """Pack y of float16 as panels [panels, steps, 2, 16, 32, 2]: two terms of each number."""
    made = _read_padded(memory, y, k, n, y_step, turned)
    made = made.reshape(_pieces(k), 16, 2, _pieces(n), 32).transpose(3, 0, 1, 4, 2)
    _write_all(memory, out, _split(made.reshape(-1, 16 * 32 * 2)))


def _split(numbers: NDArray) -> NDArray:
    """Return two bfloat16 terms of float16 numbers, as `matrix_tiles.py` says: [.., 2, ..]."""
    below = numbers * np.float32(1 - 2.0**-9)
    first = (below.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    rest = numbers - first
    return np.stack([first, np.where(np.isnan(rest), numbers, rest)], 1)


def _write_all(memory: BufferMemory, out: Place, made: NDArray) -> None:
    memory.write(out[0], out[1] + np.arange(made.size), made.reshape(-1), None)


def tile_split_product(
    memory: BufferMemory,
    dtype: DType,
    runs: int,
    steps: int,
    blocks: int,
    panels: int,
    more: int,
    x: Place,
    x_row: int,
    x_run: int,
    y: Place,
    z: Place,
) -> None:
    """Compute z [blocks * 32, panels * 32] = x y, + z for later parts, of numbers in two terms."""
    steps, rows, columns, own = runs * steps, 32 * blocks, 32 * panels, 64 * steps
    k = 32 * steps
    left = _read_runs(memory, x, rows, x_row, runs, x_run, own).reshape(rows, steps, 2, 32)
    right = memory.read(y[0], y[1] + np.arange(2 * k * columns))
    right = right.reshape(panels, steps, 2, 16, 32, 2).sum(2).transpose(1, 2, 4, 0, 3)
    result = left.sum(2).reshape(rows, k) @ right.reshape(k, columns)
    _add_or_write(memory, z, result, more)


ROUTINES: dict[str, Callable[..., None]] = {
    "gemm": gemm,
    "clock": clock,
    "tile_rows": tile_rows,
    "tile_columns": tile_columns,
    "tile_product": tile_product,
    "tile_split_rows": tile_split_rows,
    "tile_split_columns": tile_split_columns,
    "tile_split_product": tile_split_product,
}
