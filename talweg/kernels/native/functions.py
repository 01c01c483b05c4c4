"""Functions of `translate.py`'s language as functions of machine code."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable

from talweg.kernels.native import engine, translate


def compile_function(
    function: Callable[..., int], names: dict | None = None
) -> Callable[..., int] | None:
    """Compile a function of 64-bit integers; None without LLVM, or where its text is missing.

    names: what its names stand for that differ from module to module.
    """
    module = translate.NativeModule(names=names)
    try:
        module.add(function)
    except OSError:  # there is no source text
        return None
    addresses = engine.addresses(module.text(), (function.__name__,))
    if addresses is None:
        return None
    integers = [ctypes.c_int64] * len(inspect.signature(function).parameters)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *integers)(addresses[function.__name__])
