"""Compilation of heavy eager operations to machine code, where that pays.

NumPy kernels of convolutions and pooling take several times as long as compiled loops, and those of
activations, reductions and scans over many elements often do.  So an operation that has taken as
long as compiling it would, for operands of the same shapes, is compiled alone (`lower/`, as if it
were a program), and runs as machine code from then on; of those that NumPy may be good at, only
where the machine code is faster (ski rental: Karlin, Manasse, Rudolph and Sleator 1988).

So are the steps of programs, or of parts of them, that have no compiled form (`run_step`).

Where operations are asked to be deterministic, windows are compiled at once and others never.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import settings
from talweg.core.hooks import hooks
from talweg.core.lazy import LazyModule
from talweg.kernels.broadcasting import apply_in_long_loops
from talweg.kernels.numpy_blas import neighbours
from talweg.passes.faults import CompilerFaultError, is_missing_llvm, is_raised, report
from talweg.passes.reasons import SpecializationError

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.execute import compilation
    from talweg.execute.llvm.runtime import convolutions
else:
    compilation = LazyModule("talweg.execute.compilation")
    convolutions = LazyModule("talweg.execute.llvm.runtime.convolutions")

SECONDS = 0.08  # what compiling one takes
KEPT = 256  # operations of given shapes that are remembered
FASTER = 0.8  # what machine code may take of NumPy's time
TRIALS = 12  # of machine code, until one was faster
LARGE = 1 << 15  # elements of an operand, or of a result of given shape, that are worth a look
MIDDLING = 1 << 12  # the same where a function of Python makes the result, not one ufunc of NumPy
UNBOUNDED = float("inf")  # of what is never compiled alone
REFUSED = object()  # the result of what is left to NumPy
LOOKED_AT = frozenset(("map", "reduce", "scan", "gather", "scatter", "library"))  # Primitive.memory


class Thresholds(dict["Primitive", float]):
    """By primitive, the elements of its first operand from which `heavy` looks at it.

    Where the shape of the result is a parameter (random numbers), it counts as well.  Libraries
    compute products of 16-bit numbers by way of float32; what has no compiled form stays with them.
    """

    def __missing__(self, prim: Primitive) -> float:
        kernel, memory = prim.numpy, prim.memory
        if memory == "window":
            least: float = 0
        elif memory == "scatter":
            least = 1  # NumPy's calls for the smallest ones take longer than machine code
        elif memory not in LOOKED_AT:
            least = UNBOUNDED
        elif _is_of_a_library(prim) or _is_ufunc(kernel):
            least = LARGE
        else:
            least = MIDDLING
        self[prim] = least
        return least


def _is_of_a_library(prim: Primitive) -> bool:
    """Return whether a kernel is a library's, and compiled code would be a product at most."""
    own = "expand" in prim.lowering or prim.lowering.get("call", "matmul") != "matmul"
    return prim.memory == "library" and not own


def _is_ufunc(kernel: Any) -> bool:
    """Return whether a kernel is one of NumPy's own loops, which are fast for middling arrays."""
    return type(kernel) is np.ufunc and getattr(np, kernel.__name__, None) is kernel


thresholds = Thresholds()


def is_large(arrays: list, params: dict, large: float) -> bool:
    """Return whether a random stream, which is small, comes with much, or much is drawn from it."""
    shape = params.get("shape")
    if shape is not None and None not in shape:  # as in a shape that is asserted
        return math.prod(shape) >= large
    return type(arrays[-1]) is np.ndarray and arrays[-1].size >= large


def _key_of(prim: Primitive, arrays: list, params: dict) -> tuple:
    """Return what an operation is known by: primitive, shapes, dtypes, parameters."""
    if len(arrays) == 1:
        return (prim, arrays[0].shape, arrays[0].dtype, *params.items())
    return (prim, *[(x.shape, x.dtype) for x in arrays], *params.items())


class KernelTimes:
    """The seconds that the NumPy kernel of an operation has taken: their sum and their minimum."""

    __slots__ = ("least", "total")

    def __init__(self) -> None:
        self.total, self.least = 0.0, float("inf")

    def add(self, seconds: float) -> None:
        """Add the time of a call."""
        self.total += seconds
        self.least = min(self.least, seconds)


class HeavyKernels:
    """The cache of compiled operations by key: primitive, shapes, dtypes, parameters."""

    def __init__(self) -> None:
        self.spent: dict[tuple, KernelTimes] = {}
        self.compiled: dict[tuple, Any] = {}

    def run_compiled(self, prim: Primitive, arrays: list, params: dict) -> Any:
        """Run an operation as machine code that there is already, without another check.

        Its operands were accepted before.  REFUSED where the NumPy kernel is known to be faster,
        NotImplemented where that is not known, or there is no machine code for such values.
        """
        try:
            native_kernel = self.compiled.get(_key_of(prim, arrays, params))
        except (AttributeError, TypeError):  # a Python number, a parameter without a hash
            return NotImplemented
        if native_kernel:
            results = native_kernel(arrays, [])
            if not native_kernel.guarded or results.pop():
                return results if prim.multiple else results[0]
        return NotImplemented if native_kernel is not False or prim.elementwise else REFUSED

    def run(self, prim: Primitive, arrays: list, params: dict, kernel: Any) -> Any:
        """Run an operation; `kernel(prim.numpy, *arrays, **params)` runs the NumPy kernel."""
        try:
            arrays = [x if hasattr(x, "dtype") else np.asarray(x, arrays[0].dtype) for x in arrays]
            key = _key_of(prim, arrays, params)
            native_kernel = self.compiled.get(key)
        except (AttributeError, TypeError):  # a parameter without a hash
            return kernel(prim.numpy, *arrays, **params)
        if native_kernel is None:
            times = self.spent.get(key)
            if self._is_profitable(prim, times):
                native_kernel = self._compile(key, prim, arrays, params, times)
        if native_kernel:
            results = native_kernel(arrays, [])
            if not native_kernel.guarded or results.pop():
                return results if prim.multiple else results[0]
        start = time.perf_counter()
        if prim.elementwise and len(arrays) == 2 and not params:
            result = kernel(apply_in_long_loops, prim.numpy, *arrays)
        else:
            result = kernel(prim.numpy, *arrays, **params)
        if native_kernel:  # not for such values, of which there may be more
            self.compiled[key] = False
        if native_kernel is None:
            seconds = time.perf_counter() - start
            if key not in self.spent and len(self.spent) >= KEPT:
                self.spent.clear()
            self.spent.setdefault(key, KernelTimes()).add(seconds)
        return result

    @staticmethod
    def _is_profitable(prim: Primitive, times: KernelTimes | None) -> bool:
        """Return whether compiling an operation now is profitable."""
        if settings.deterministic.get():
            return prim.memory == "window"
        return times is not None and times.total >= SECONDS

    def _compile(
        self, key: tuple, prim: Primitive, arrays: list, params: dict, times: KernelTimes | None
    ) -> Any:
        """Compile the operation; False where that is impossible or unwanted."""
        if settings.executor.get() == "interpret":
            return None
        if len(self.compiled) >= KEPT:
            self.compiled.clear()
        try:
            native_kernel = compilation.alone(prim, arrays, params)
        except (SpecializationError, MemoryError, ImportError) as error:
            if isinstance(error, ImportError) and not is_missing_llvm(error):
                raise
            native_kernel = False
        except CompilerFaultError as error:
            if is_raised():
                raise
            report(prim.name, error)
            native_kernel = False
        if native_kernel and times is not None and prim.memory != "window":
            native_kernel = (
                native_kernel if _is_below(FASTER * times.least, native_kernel, arrays) else False
            )
        self.compiled[key] = native_kernel
        if native_kernel and native_kernel.threads > 1:
            neighbours.busy = True
        return native_kernel


def _is_below(seconds: float, made: Any, arrays: list) -> bool:
    """Return whether machine code has the lower minimum time, robust on a busy machine."""
    return any(_seconds(made, arrays) < seconds for _ in range(TRIALS))


def _seconds(made: Any, arrays: list) -> float:
    """Measure the seconds of the machine code."""
    start = time.perf_counter()
    made(arrays, [])
    return time.perf_counter() - start


heavy = HeavyKernels()


def run_step(prim: Primitive, arrays: list, params: dict) -> Any:
    """Run a step of a program that is not compiled as a whole, as an eager operation is run."""
    if not arrays or type(arrays[0]) is not np.ndarray:
        return prim.numpy(*arrays, **params)
    large = thresholds[prim]
    if arrays[0].size >= large or (params and is_large(arrays, params, large)):
        return heavy.run(prim, arrays, params, _call)
    return prim.numpy(*arrays, **params)


def _call(kernel: Any, /, *arrays: Any, **params: Any) -> Any:
    return kernel(*arrays, **params)


def convolution_routines() -> Any:
    """Return machine code for the convolutions of the interpreter; None where NumPy does them.

    It does where nothing may be compiled, and where what is computed must not depend on what was
    computed before.
    """
    if settings.executor.get() == "interpret" or settings.deterministic.get():
        return None
    return convolutions.routines()


hooks.convolution_routines = convolution_routines
