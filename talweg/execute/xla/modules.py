"""StableHLO modules that a program contains, run by XLA: the output of `jax2tf.convert`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from talweg.core.errors import invalid
from talweg.execute.xla import engine

CALLED = "called_by_main"
ELEMENTS = {
    **{"i1": "bool", "bf16": "bfloat16", "complex<f32>": "complex64", "complex<f64>": "complex128"},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # MLIR's names of element types
KEPT = 256  # modules compiled for their sizes that are kept


def run_module(module: bytes, platforms: tuple[str, ...], arrays: list[np.ndarray]) -> list:
    """Run a module's `main` and return its results, NumPy arrays.

    `module` is a portable artifact of StableHLO, which may leave sizes open; `platforms` are those
    it was made for.
    """
    kinds = tuple([(array.shape, array.dtype.name) for array in arrays])
    with engine.wide():
        found = _compile(module, platforms, kinds)(*arrays)
        return [np.asarray(result) for result in found]


@lru_cache(KEPT)
def _compile(module: bytes, platforms: tuple, kinds: tuple) -> Callable[..., Any]:
    """Compile a module for JAX's arrays of these kinds."""
    export, jax = import_module("jax.export"), engine.jax
    text, results = _refine(module, _find_platform(platforms), kinds)
    given = [jax.ShapeDtypeStruct(dims, name) for dims, name in kinds]

    def zeros(*operands: object) -> tuple:
        return tuple([engine.numpy.zeros(dims, dtype) for dims, dtype in results])

    # an exported function of the same arguments and results, with another body
    like = export.export(jax.jit(zeros, keep_unused=True))(*given)
    return jax.jit(dataclasses.replace(like, mlir_module_serialized=text).call)


def _find_platform(platforms: tuple) -> int | None:
    """Return the one of the module's platforms that is used here; None if it needs none."""
    if len(platforms) < 2:
        return None
    backend = str(engine.jax.default_backend())
    here = "CUDA" if backend == "gpu" else backend.upper()
    if here not in platforms:
        raise invalid("TW405", f"XlaCallModule: a module for {', '.join(platforms)}", here)
    return platforms.index(here)


def _refine(module: bytes, platform: int | None, kinds: tuple) -> tuple[bytes, list]:
    """Refine a module by the sizes of its arguments; it, and the kinds of its results."""
    mlir = import_module("jax.extend.mlir")
    ir = import_module("jax.extend.mlir.ir")
    stablehlo = import_module("jax.extend.mlir.dialects.stablehlo")
    with import_module("jax.interpreters.mlir").make_ir_context():
        opened = mlir.deserialize_portable_artifact(module)
        main = ir.SymbolTable(opened.operation)["main"]
        wanted = len(main.type.inputs) - (platform is not None)
        if wanted != len(kinds):
            raise invalid("TW104", f"XlaCallModule: {len(kinds)} arguments", f"{wanted}")
        caller = _write_main(main.type, platform, kinds)
        main.attributes["sym_name"] = ir.StringAttr.get(CALLED)
        main.attributes["sym_visibility"] = ir.StringAttr.get("private")
        text = str(opened).rstrip().removesuffix("}")
        refined = mlir.refine_polymorphic_shapes(
            mlir_module=f"{text}{caller}}}".encode(),
            enable_shape_assertions=True,
            validate_static_shapes=True,
            enable_shardy=False,
        )
        opened = ir.Module.parse(refined)
        types = ir.SymbolTable(opened.operation)["main"].type.results
        results = [(tuple(kind.shape), ELEMENTS[str(kind.element_type)]) for kind in types]
        version = stablehlo.get_current_version()
        return mlir.serialize_portable_artifact(str(opened), version), results


def _write_main(called: Any, platform: int | None, kinds: tuple) -> str:
    """Write a `main` for arguments of known sizes, which calls the polymorphic function."""
    lines, given = [], []
    types = list(called.inputs)
    if platform is not None:
        lines.append(f"%p = stablehlo.constant dense<{platform}> : {types[0]}")
        given.append("%p")
    own = types[len(given) :]
    heads = []
    for number, (kind, (dims, _)) in enumerate(zip(own, kinds)):
        known = f"tensor<{''.join(f'{size}x' for size in dims)}{kind.element_type}>"
        heads.append(f"%a{number}: {known}")
        lines.append(f"%c{number} = stablehlo.convert %a{number} : ({known}) -> {kind}")
        given.append(f"%c{number}")
    results = ", ".join(map(str, called.results))
    count = len(called.results)
    takes = ", ".join(map(str, types))
    head = f"%r:{count} = " if count else ""
    lines.append(f"{head}func.call @{CALLED}({', '.join(given)}) : ({takes}) -> ({results})")
    outputs = ", ".join([f"%r#{number}" for number in range(count)])
    lines.append(f"func.return {outputs} : {results}" if count else "func.return")
    body = "\n    ".join(lines)
    return f"  func.func public @main({', '.join(heads)}) -> ({results}) {{\n    {body}\n  }}\n"
