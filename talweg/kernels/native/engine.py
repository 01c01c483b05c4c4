"""LLVM text to functions in machine code, kept for the life of the process."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from talweg.core import forks

_lock = threading.Lock()  # llvmlite's own would stay taken in a forked child
forks.around(_lock)
# The whole of O2 takes ten times as long, and makes nothing here twice as fast.
PASSES = ["always_inliner", "sroa", "simplify_cfg", "instruction_combine", "loop_rotate"]
_engines: list = []  # what keeps the code


@cache
def processor() -> tuple[str, dict] | None:
    """Return the target triple and the features of this processor; None without LLVM."""
    try:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.get_default_triple(), llvm.get_host_cpu_features()
    except (ImportError, RuntimeError, AttributeError, OSError):
        return None


def addresses(text: str, names: tuple[str, ...]) -> dict[str, int] | None:
    """Return the addresses of functions of a module of LLVM text;
    None where it cannot be compiled.
    """
    known = processor()
    if known is None:
        return None
    try:
        import llvmlite.binding as llvm

        with _lock:
            module = llvm.parse_assembly(text, llvm.create_context())
            machine = llvm.Target.from_default_triple().create_target_machine(
                cpu=llvm.get_host_cpu_name(), features=known[1].flatten(), opt=2
            )
            builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
            passes: Any = llvm.create_new_module_pass_manager()
            for name in PASSES:
                getattr(passes, f"add_{name}_pass")()
            passes.run(module, builder)
            engine = llvm.create_mcjit_compiler(module, machine)
            engine.finalize_object()
            _engines.append(engine)
            return {name: engine.get_function_address(name) for name in names}
    except (ImportError, RuntimeError, AttributeError, OSError):
        return None
