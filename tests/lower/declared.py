"""One declaration as a loop program: built, checked, run by NumPy, beside its own kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.core.primitive import Primitive
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.build import Lowered, build
from talweg.lower.ir.loops import Host, LoopProgram
from talweg.lower.ir.verifier import check
from talweg.passes.specialize.program import StaticProgram, Value


def static_of(prim: Primitive, arrays: list, params: dict, constants: tuple = ()) -> StaticProgram:
    """The program of one equation; operands at the places `constants` are known."""
    static = StaticProgram()
    add(static, prim, arrays, params, constants)
    return static


def add(
    static: StaticProgram, prim: Primitive, arrays: list, params: dict, constants: tuple = ()
) -> list[Value]:
    """Apply a primitive to new inputs of a program; the results, which are outputs."""
    values = []
    for place, array in enumerate(arrays):
        value = Value(array.shape, of_numpy(array.dtype), array if place in constants else None)
        values.append(value)
        if place not in constants:
            static.inputs.append(value)
    results = static.apply(prim, values, params)
    results = list(results) if prim.multiple else [results]
    static.outputs += results
    return results


def hosts(program: LoopProgram) -> list[str]:
    """The names of the NumPy kernels that a program calls."""
    return [block.name for block in program.blocks if type(block) is Host]


def run(lowered: Lowered, arrays: list, lanes: bool = True) -> list[np.ndarray]:
    """The outputs of a program without variables, the guard among them."""
    given = {buffer.name: array for buffer, array in zip(lowered.inputs, arrays)}
    found = interpreter.run(lowered.program, given, lanes)
    return [found[buffer.name].reshape(buffer.shape) for buffer in lowered.outputs]


def lower(static: StaticProgram) -> Lowered:
    """The loop program, which keeps the rules of the language."""
    lowered = build(static)
    check(lowered.program)
    return lowered


def results(prim: Primitive, arrays: list, params: dict, **options: Any) -> tuple[list, Lowered]:
    """What the loop program gives (without its guard), and the program."""
    constants = options.get("constants", ())
    lowered = lower(static_of(prim, arrays, params, constants))
    given = [array for place, array in enumerate(arrays) if place not in constants]
    found = run(lowered, given, options.get("lanes", True))
    if lowered.guard:
        assert found.pop(), f"{prim.name}: its guard refuses {arrays}, {params}"
    return found, lowered


def expected(prim: Primitive, arrays: list, params: dict) -> list[np.ndarray]:
    """What the NumPy kernel gives."""
    with np.errstate(all="ignore"):
        wanted = prim.numpy(*arrays, **params)
    return [np.asarray(w) for w in (wanted if prim.multiple else [wanted])]


def assert_close(found: np.ndarray, wanted: np.ndarray, tolerance: float, what: Any) -> None:
    """Equal, and floats to a tolerance that is relative to the size of the largest."""
    assert found.shape == wanted.shape, (what, found.shape, wanted.shape)
    assert found.dtype == wanted.dtype, (what, found.dtype, wanted.dtype)
    if wanted.dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted, str(what))
        return
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    found, wanted = found.astype(wide), wanted.astype(wide)
    np.testing.assert_allclose(found, wanted, tolerance, tolerance, err_msg=str(what))


def tolerance_of(arrays: list) -> float:
    """How far results may be from the kernel's."""
    sizes = [a.dtype.itemsize for a in arrays if a.dtype.kind in "fcV"]
    if any(a.dtype.name == "bfloat16" for a in arrays):
        return 4e-2
    return {2: 5e-3, 4: 2e-6, 8: 1e-12, 16: 1e-12}[min(sizes, default=8)]


def signature(prim: Primitive, arrays: list) -> str:
    return f"{prim.name}({', '.join(f'{a.dtype.name}{list(a.shape)}' for a in arrays)})"


def avals_of(arrays: list) -> list[Aval]:
    return [Aval(a.shape, of_numpy(a.dtype)) for a in arrays]
