"""The register file of the target processor, which bounds register tiles.

A tile stays in registers while products are added to it: as many rows as leave room for the vectors
of a panel and a broadcast number (Goto and van de Geijn 2008, "Anatomy of high-performance matrix
multiplication", 4).  Products of 1024 x 1024 on one core with AVX-512 (GFLOP/s; BLAS reaches 150):
tiles of 6 x 2 vectors of 32 bytes 98, 6 x 2 of 64 bytes 125, 12 x 2 of 64 bytes 155, 14 x 2 147
(`python -m benchmarks compiled.product compiled.transformer`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

SIDE = 32  # of a block of matrix registers: rows, columns, and products in a step


class RegisterFile(NamedTuple):
    """Vector registers of this many bytes, and the rows of a tile of 1, 2 or 3 of them."""

    vector_bytes: int
    tallest: dict[int, int]
    matrix_tiles: bool = False  # whether there are registers that multiply matrices of bfloat16

    def lanes(self, size: int) -> int:
        """Return the number of lanes of `size` bytes in a vector."""
        return self.vector_bytes // size

    def rows(self, vectors: int) -> int:
        """Return the height of the tallest register tile that is this many vectors wide."""
        return self.tallest.get(vectors, self.tallest[1])


SIXTEEN = RegisterFile(32, {1: 12, 2: 6, 3: 4})  # AVX2; for vectors of 16 bytes tiles are cut
THIRTY_TWO = RegisterFile(64, {1: 24, 2: 12, 3: 8})  # AVX-512
_present: ContextVar[RegisterFile] = ContextVar("registers", default=SIXTEEN)


def registers() -> RegisterFile:
    """Return the register file of the current lowering's target."""
    return _present.get()


@contextmanager
def lowering_for(vector_bytes: int, matrix_tiles: bool = False) -> Iterator[None]:
    """Set the target of lowering in the block: bytes of vectors, matrix registers or not."""
    found = THIRTY_TWO if vector_bytes >= THIRTY_TWO.vector_bytes else SIXTEEN
    token = _present.set(found._replace(matrix_tiles=True) if matrix_tiles else found)
    try:
        yield
    finally:
        _present.reset(token)
