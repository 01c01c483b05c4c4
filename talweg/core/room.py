"""Room for what ends the process where it finds none.

LLVM and the C library's threads do not raise for want of memory.  So they are asked for only where
there is plenty; nothing of it is touched.
"""

from __future__ import annotations

import numpy as np

ENOUGH = 1 << 26  # bytes: more than the C library's allocator keeps, which would change its ways


def check_room(size: int = 0) -> None:
    """Raise MemoryError unless the system would give so many bytes, and `ENOUGH` at least."""
    np.empty(max(size, ENOUGH), np.uint8)
