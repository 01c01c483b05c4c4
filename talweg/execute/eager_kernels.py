"""Heavy operations in eager mode: convolutions and pooling as machine code, where that pays.

A NumPy kernel of these takes several times as long as compiled loops.  So an operation that has
taken as long as compiling it would, for operands of the same shapes, is compiled alone
(`lower/`, as if it were a program) and runs as machine code from then on.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from talweg.core import settings
from talweg.core.lazy import LazyModule
from talweg.kernels.numpy_blas import neighbours
from talweg.passes.faults import CompilerFaultError, is_missing_llvm, is_raised, report
from talweg.passes.reasons import SpecializationError

if TYPE_CHECKING:
    from talweg.execute import compilation
else:
    compilation = LazyModule("talweg.execute.compilation")

SECONDS = 0.08  # what compiling one takes
KEPT = 256  # operations of given shapes that are remembered


class HeavyKernels:
    """Runs operations by key: primitive, shapes, dtypes, parameters."""

    def __init__(self) -> None:
        self.spent: dict[tuple, float] = {}  # seconds of the NumPy kernel so far
        self.compiled: dict[tuple, Any] = {}

    def run(self, prim: Any, arrays: list, params: dict, kernel: Any) -> Any:
        """The result; `kernel(prim.numpy, *arrays, **params)` runs the NumPy kernel."""
        try:
            key = (prim, *[(x.shape, x.dtype) for x in arrays], *params.items())
            found = self.compiled.get(key)
        except (AttributeError, TypeError):  # a Python number, a parameter without a hash
            return kernel(prim.numpy, *arrays, **params)
        if found is None and self.spent.get(key, 0.0) >= SECONDS:
            found = self._compile(key, prim, arrays, params)
        if found:
            return found(arrays, [])[0]
        start = time.perf_counter()
        result = kernel(prim.numpy, *arrays, **params)
        if found is None:
            if len(self.spent) >= KEPT:
                self.spent.clear()
            self.spent[key] = self.spent.get(key, 0.0) + time.perf_counter() - start
        return result

    def _compile(self, key: tuple, prim: Any, arrays: list, params: dict) -> Any:
        """The operation as machine code; False where that cannot be, or is not wanted."""
        if settings.executor.get() == "interpret":
            return None
        if len(self.compiled) >= KEPT:
            self.compiled.clear()
        try:
            made = compilation.alone(prim, arrays, params)
        except (SpecializationError, MemoryError, ImportError) as error:
            if isinstance(error, ImportError) and not is_missing_llvm(error):
                raise
            made = False
        except CompilerFaultError as error:
            if is_raised():
                raise
            report(prim.name, error)
            made = False
        self.compiled[key] = made
        if made and made.threads > 1:
            neighbours.busy = True
        return made


heavy = HeavyKernels()
