"""Library routines of compiled programs: matrix products, by SciPy's BLAS.

`addresses` gives those of the wrappers that programs call, which are compiled once for the
process.  A row-major product is the column-major one of the transposes in the other order:

    z [m, n] = alpha x y + beta z   is   z' = alpha y' x' + beta z'

A product with one row or column is one of a matrix and a vector.  BLAS leaves z alone where k = 0
in some versions, so that case is done here.  Sizes are below 2^31, which BLAS counts to.

OpenBLAS has threads of its own, which would fight with ours for the cores.  How many it uses can
only be set for the process: `thread_pool.py` sets one while a program that calls BLAS runs, and
what was set before when the last such program is done.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from talweg.core.errors import InternalError
from talweg.core.locking import once
from talweg.execute.llvm import processor
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import matrix_tiles
from talweg.kernels.numpy_blas import THREADS
from talweg.lower.ir.loops import Call

_LETTERS = {"float32": ("s", "float"), "float64": ("d", "double")}


def addresses(names: Iterable[str]) -> dict[str, int]:
    """Return the address of each called routine, by symbol."""
    found = {name: _module_of(name).addresses.get(name, 0) for name in names}
    for name, address in found.items():
        if not address:
            raise InternalError(None, None, f"no routine {name}")
    return found


def symbol(call: Call) -> str:
    """Return the symbol of a routine."""
    return f"talweg_{call.routine}_{call.writes[0].dtype.name}"


def _module_of(name: str) -> code.LoadedCode:
    return _matrix_tiles() if name in matrix_tiles.EXPORTS else _wrappers()


@once
def _matrix_tiles() -> code.LoadedCode:
    """Return the code of products by matrix registers, which lives for ever."""
    text = matrix_tiles.text(processor.has_matrix_tiles() and matrix_tiles.request_tiles())
    return code.compile_module(text, {}, matrix_tiles.EXPORTS)


@once
def _wrappers() -> code.LoadedCode:
    """Return the code of all wrappers, which lives for ever."""
    exports = [*[f"talweg_gemm_{dtype}" for dtype in _LETTERS], "talweg_clock_int64"]
    needed = {
        f"talweg_blas_{letter}{name}": blas(letter + name)
        for letter, _ in _LETTERS.values()
        for name in ("gemm", "gemv")
    }
    return code.compile_module(text(), needed, exports, quick=True)


def blas(name: str) -> int:
    """Return the address of a Fortran BLAS routine: in SciPy's OpenBLAS, or by `cython_blas`."""
    library = _library()
    if library is not None and hasattr(library, f"scipy_{name}_"):
        return ctypes.cast(getattr(library, f"scipy_{name}_"), ctypes.c_void_p).value or 0
    capsule = _cython_blas().__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, get_name(capsule))


@functools.cache
def thread_functions() -> tuple[int, int]:
    """Return the addresses of the getter and setter of BLAS's threads; 0 if absent."""
    library = _library()
    if library is None:  # a look-up goes on to what a library is linked with
        library = ctypes.CDLL(_cython_blas().__file__)
    for setter, getter in THREADS:
        if hasattr(library, setter) and hasattr(library, getter):
            found = [getattr(library, name) for name in (setter, getter)]
            first, second = [ctypes.cast(each, ctypes.c_void_p).value or 0 for each in found]
            return first, second
    return 0, 0


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Load the OpenBLAS in SciPy's wheel, in 20 ms where `scipy.linalg` takes 300."""
    found = find_spec("scipy")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parents[1] / "scipy.libs"
    for path in sorted(folder.glob("libscipy_openblas-*")):
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            if "map segment" in str(error):
                raise MemoryError(f"no room for {path.name}") from None
    return None


@functools.cache
def _cython_blas():
    from scipy.linalg import cython_blas  # where SciPy has another BLAS

    return cython_blas


def text() -> str:
    """Return the module of all wrappers."""
    parts = ["declare i64 @llvm.smax.i64(i64, i64)"]
    for dtype, (letter, kind) in _LETTERS.items():
        found = _GEMM.replace("$DTYPE", dtype).replace("$L", letter)
        parts.append(found.replace("$T", kind))
    return "\n".join([*parts, _CLOCK])


_CLOCK = """
declare i64 @llvm.readcyclecounter()

define void @talweg_clock_int64(ptr %at) {
  %now = call i64 @llvm.readcyclecounter()
  store i64 %now, ptr %at
  ret void
}
"""

_GEMM = """
declare void @talweg_blas_$Lgemm(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)
declare void @talweg_blas_$Lgemv(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)

define void @talweg_gemm_$DTYPE(i64 %tx, i64 %ty, i64 %m, i64 %n, i64 %k, $T %alpha,
    ptr %x, i64 %ldx, ptr %y, i64 %ldy, $T %beta, ptr %z, i64 %ldz) {
entry:
  %no.rows = icmp eq i64 %m, 0
  %no.columns = icmp eq i64 %n, 0
  %nothing = or i1 %no.rows, %no.columns
  br i1 %nothing, label %done, label %some
some:
  %no.terms = icmp eq i64 %k, 0
  br i1 %no.terms, label %scale, label %product
scale:
  call void @scale_$L(i64 %m, i64 %n, $T %beta, ptr %z, i64 %ldz)
  br label %done
product:
  %x.turned = icmp ne i64 %tx, 0
  %y.turned = icmp ne i64 %ty, 0
  %column = icmp eq i64 %n, 1
  br i1 %column, label %by.column, label %not.column
not.column:
  %row = icmp eq i64 %m, 1
  br i1 %row, label %by.row, label %full
by.column:                                        ; x times a vector
  %y.step = select i1 %y.turned, i64 1, i64 %ldy
  call void @gemv_$L(i1 %x.turned, i64 %m, i64 %k, $T %alpha, ptr %x, i64 %ldx, ptr %y,
    i64 %y.step, $T %beta, ptr %z, i64 %ldz)
  br label %done
by.row:                                           ; y' times a vector
  %x.step = select i1 %x.turned, i64 %ldx, i64 1
  %y.straight = xor i1 %y.turned, true
  call void @gemv_$L(i1 %y.straight, i64 %n, i64 %k, $T %alpha, ptr %y, i64 %ldy, ptr %x,
    i64 %x.step, $T %beta, ptr %z, i64 1)
  br label %done
full:
  call void @gemm_$L(i1 %x.turned, i1 %y.turned, i64 %m, i64 %n, i64 %k, $T %alpha,
    ptr %x, i64 %ldx, ptr %y, i64 %ldy, $T %beta, ptr %z, i64 %ldz)
  br label %done
done:
  ret void
}

define private void @gemm_$L(i1 %x.turned, i1 %y.turned, i64 %m, i64 %n, i64 %k, $T %alpha,
    ptr %x, i64 %ldx, ptr %y, i64 %ldy, $T %beta, ptr %z, i64 %ldz) {
  %x.letter = call ptr @letter_$L(i1 %x.turned)
  %y.letter = call ptr @letter_$L(i1 %y.turned)
  %m.at = alloca i32
  %n.at = alloca i32
  %k.at = alloca i32
  %alpha.at = alloca $T
  %beta.at = alloca $T
  %ldx.at = alloca i32
  %ldy.at = alloca i32
  %ldz.at = alloca i32
  %x.length = select i1 %x.turned, i64 %m, i64 %k
  %y.length = select i1 %y.turned, i64 %k, i64 %n
  call void @count_$L(ptr %m.at, i64 %m, i64 1)
  call void @count_$L(ptr %n.at, i64 %n, i64 1)
  call void @count_$L(ptr %k.at, i64 %k, i64 1)
  call void @count_$L(ptr %ldx.at, i64 %ldx, i64 %x.length)
  call void @count_$L(ptr %ldy.at, i64 %ldy, i64 %y.length)
  call void @count_$L(ptr %ldz.at, i64 %ldz, i64 %n)
  store $T %alpha, ptr %alpha.at
  store $T %beta, ptr %beta.at
  call void @talweg_blas_$Lgemm(ptr %y.letter, ptr %x.letter, ptr %n.at, ptr %m.at, ptr %k.at,
    ptr %alpha.at, ptr %y, ptr %ldy.at, ptr %x, ptr %ldx.at, ptr %beta.at, ptr %z, ptr %ldz.at)
  ret void
}

; z [rows] = alpha a v + beta z with a [rows, k] row-major, or [k, rows] if turned
define private void @gemv_$L(i1 %turned, i64 %rows, i64 %k, $T %alpha, ptr %a, i64 %lda, ptr %v,
    i64 %v.step, $T %beta, ptr %z, i64 %z.step) {
  %straight = xor i1 %turned, true
  %letter = call ptr @letter_$L(i1 %straight)
  %first = select i1 %turned, i64 %rows, i64 %k
  %second = select i1 %turned, i64 %k, i64 %rows
  %first.at = alloca i32
  %second.at = alloca i32
  %alpha.at = alloca $T
  %beta.at = alloca $T
  %lda.at = alloca i32
  %v.step.at = alloca i32
  %z.step.at = alloca i32
  call void @count_$L(ptr %first.at, i64 %first, i64 1)
  call void @count_$L(ptr %second.at, i64 %second, i64 1)
  call void @count_$L(ptr %lda.at, i64 %lda, i64 %first)
  call void @count_$L(ptr %v.step.at, i64 %v.step, i64 1)
  call void @count_$L(ptr %z.step.at, i64 %z.step, i64 1)
  store $T %alpha, ptr %alpha.at
  store $T %beta, ptr %beta.at
  call void @talweg_blas_$Lgemv(ptr %letter, ptr %first.at, ptr %second.at, ptr %alpha.at,
    ptr %a, ptr %lda.at, ptr %v, ptr %v.step.at, ptr %beta.at, ptr %z, ptr %z.step.at)
  ret void
}

@transposed_$L = private unnamed_addr constant [2 x i8] c"T\\00"
@straight_$L = private unnamed_addr constant [2 x i8] c"N\\00"

define private ptr @letter_$L(i1 %turned) alwaysinline {
  %letter = select i1 %turned, ptr @transposed_$L, ptr @straight_$L
  ret ptr %letter
}

; a size as BLAS takes it, `least` or more: steps between rows that are not there may be anything
define private void @count_$L(ptr %at, i64 %size, i64 %least) alwaysinline {
  %larger = call i64 @llvm.smax.i64(i64 %size, i64 %least)
  %short = trunc i64 %larger to i32
  store i32 %short, ptr %at
  ret void
}

; z = beta z, where nothing is added; what is in z is nothing where beta is 0
define private void @scale_$L(i64 %m, i64 %n, $T %beta, ptr %z, i64 %ldz) noinline {
entry:
  %clear = fcmp oeq $T %beta, 0.0
  br label %rows
rows:
  %i = phi i64 [0, %entry], [%i.next, %row.end]
  %start = mul i64 %i, %ldz
  br label %columns
columns:
  %j = phi i64 [0, %rows], [%j.next, %columns]
  %place = add i64 %start, %j
  %at = getelementptr $T, ptr %z, i64 %place
  %old = load $T, ptr %at
  %scaled = fmul $T %old, %beta
  %new = select i1 %clear, $T 0.0, $T %scaled
  store $T %new, ptr %at
  %j.next = add i64 %j, 1
  %more.columns = icmp ult i64 %j.next, %n
  br i1 %more.columns, label %columns, label %row.end
row.end:
  %i.next = add i64 %i, 1
  %more.rows = icmp ult i64 %i.next, %m
  br i1 %more.rows, label %rows, label %done
done:
  ret void
}
"""
