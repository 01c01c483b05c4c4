"""Loops over arrays round the functions of vector_math, compiled by llvmlite for this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np

from talweg.core.dtypes import BY_NAME
from talweg.execute.llvm.vector_math.library import BINARY, VectorMathLibrary

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
_KEPT: list = []  # engines, whose code is to live on

LOOP = """
define void @{loop}(ptr %x, ptr %y, ptr %z, i64 %n) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %x_at = getelementptr {element}, ptr %x, i64 %i
  %y_at = getelementptr {element}, ptr %y, i64 %i
  %z_at = getelementptr {element}, ptr %z, i64 %i
  %a = load {kind}, ptr %x_at, align {size}
  %b = load {kind}, ptr %y_at, align {size}
  %c = call {kind} @{symbol}({operands})
  store {kind} %c, ptr %z_at, align {size}
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""


def within(name: str, x: np.ndarray) -> np.ndarray:
    """Numbers for which a function is made."""
    return -np.abs(x) if name == "exp_below" else x


def kind_of(dtype: str, lanes: int) -> tuple[str, str]:
    """LLVM's types of an element and of a vector."""
    element = "float" if dtype == "float32" else "double"
    return element, element if lanes == 1 else f"<{lanes} x {element}>"


def loop_text(library: VectorMathLibrary, name: str, dtype: str, lanes: int) -> str:
    """A function that applies `name` to arrays, whose length is a multiple of `lanes`."""
    symbol = library.symbol(name, BY_NAME[dtype], lanes)
    element, kind = kind_of(dtype, lanes)
    operands = f"{kind} %a, {kind} %b" if name in BINARY else f"{kind} %a"
    return LOOP.format(
        loop=f"loop_{symbol}",
        symbol=symbol,
        element=element,
        kind=kind,
        operands=operands,
        lanes=lanes,
        size=BY_NAME[dtype].size,
    )


def optimized(text: str) -> tuple:
    """(module, target machine) after LLVM's passes of level 2."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    return module, machine


def addresses(text: str, names: Sequence[str]) -> dict[str, int]:
    """Compile; where the functions are."""
    module, machine = optimized(text)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _KEPT.append(engine)
    return {name: engine.get_function_address(name) for name in names}


def compiled(wanted: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], Callable]:
    """For each (name, dtype, lanes) a function of NumPy arrays."""
    library = VectorMathLibrary()
    loops = [loop_text(library, *each) for each in wanted]
    symbols = [f"loop_{library.symbol(name, BY_NAME[d], lanes)}" for name, d, lanes in wanted]
    found = addresses("\n".join([library.text(), *loops]), symbols)
    return {each: _on_arrays(found[s], each[1], each[2]) for each, s in zip(wanted, symbols)}


def _on_arrays(address: int, dtype: str, lanes: int) -> Callable:
    code = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(address)

    def run(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        assert len(x) > 0  # the loop goes round once before it looks
        size = -(-len(x) // lanes) * lanes
        operands = [np.ones(size, dtype) for _ in range(2)]
        operands[0][: len(x)] = x
        if y is not None:
            operands[1][: len(x)] = y
        result = np.empty(size, dtype)
        code(operands[0].ctypes.data, operands[1].ctypes.data, result.ctypes.data, size)
        return result[: len(x)]

    run.code = code  # type: ignore[attr-defined]
    return run


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of the exact values, which are of a longer dtype.

    Infinity counts as the power of two after the largest number; a NaN on one side as infinity.
    """
    info = np.finfo(got.dtype)
    top = exact.dtype.type(2) ** info.maxexp
    nan = np.isnan(got), np.isnan(exact)
    clipped = np.clip(exact, -top, top)
    _, exponent = np.frexp(clipped)
    last = np.maximum(exponent - info.nmant - 1, info.minexp - info.nmant)
    with np.errstate(invalid="ignore"):
        errors = np.abs(np.clip(got.astype(exact.dtype), -top, top) - clipped)
    errors = np.ldexp(errors, -last)
    return np.where(nan[0] & nan[1], 0.0, np.where(nan[0] | nan[1], np.inf, errors))
