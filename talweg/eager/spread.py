"""Eager operations on tensors that are shared out among the devices of a mesh.

An operation with such an operand becomes a program on that mesh, and so have its results layouts.
What has no such program (strings, results whose shapes depend on values) works on what is fetched.
Nothing here is in force before `begin`: who has no mesh does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dropping import drop_oldest
from talweg.core.dtypes import of_numpy
from talweg.core.hooks import hooks
from talweg.core.lazy import LazyModule
from talweg.core.value import BINARY, with_reflection
from talweg.eager.evaluate import evaluate
from talweg.eager.format import numpy_text
from talweg.eager.resident import nearest, resident
from talweg.eager.tensor import EagerTensor
from talweg.execute.call import check, is_plain
from talweg.passes.reasons import SpecializationError
from talweg.passes.specialize.program import KINDS, StaticProgram, Value
from talweg.prims.collective import relayout

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.execute.xla import meshes, spread
else:
    meshes = LazyModule("talweg.execute.xla.meshes")
    spread = LazyModule("talweg.execute.xla.spread")

KEPT = 1024  # programs of one operation
REFUSED = object()
_programs: dict[tuple, Any] = {}
_resident_of: Callable[[EagerTensor], Any] = EagerTensor.__dict__["_resident"].__get__
OPERATORS = ("add", "sub", "mul", "truediv", "pow", "matmul")
HOOKS = {"sub": "subtract", "mul": "multiply", "lt": "less", "gt": "greater"}
HOOKS |= {"le": "less_equal", "ge": "greater_equal"}


def array_of(tensor: Any) -> Any:
    """Return the array of a tensor that lies on several devices; None for all others."""
    if type(tensor) is not EagerTensor:
        return None
    try:
        found = _resident_of(tensor)
    except AttributeError:
        return None
    return found if found.sharding.num_devices > 1 else None


def _evaluate(prim: Primitive, operands: tuple, params: dict) -> Any:
    """Run `prim`, on a mesh if an operand lies there."""
    if prim is relayout:
        where = meshes.SHARDINGS.get(params["layout"])
        return resident(meshes.lay_out(nearest(operands[0]), where)) if where else operands[0]
    for operand in operands:
        if array_of(operand) is not None:
            found = _evaluate_there(prim, operands, params)
            if found is NotImplemented:
                found = _everywhere(evaluate(prim, operands, params), array_of(operand))
            return found
    return evaluate(prim, operands, params)


def _everywhere(results: Any, array: Any) -> Any:
    """Run an operation on fetched operands and copy its results to all devices of the mesh."""
    if type(results) is tuple:
        return tuple([_everywhere(x, array) for x in results])
    if type(results) is not EagerTensor or results.dtype.name not in KINDS:
        return results
    where = meshes.sharding(array.sharding.mesh, ())
    return resident(meshes.lay_out(results._array, where))


def _evaluate_there(prim: Primitive, operands: tuple, params: dict) -> Any:
    """Run a primitive on the mesh of its operands; NotImplemented where it cannot run there."""
    if prim.effect is not None:
        return NotImplemented
    arrays = _arrays(operands)
    if prim.checked or not is_plain(prim, arrays):
        check(prim, arrays, params)
    mesh = meshes.placement(arrays)[0]  # type: ignore[index]
    kinds = tuple([(x.shape, x.dtype) for x in arrays])
    try:
        key: Any = (prim, mesh, kinds, tuple(params.items()))
        executable = _programs.get(key)
    except TypeError:  # a parameter that is no key
        key = executable = None
    if executable is None:
        executable = _program(prim, arrays, params, mesh)
        if key is not None:
            if len(_programs) >= KEPT:
                drop_oldest(_programs)
            _programs[key] = executable
    if executable is REFUSED:
        return NotImplemented
    holds, results, _ = executable(arrays, [])
    if not holds:  # the kernel says why
        return NotImplemented
    return tuple(map(resident, results)) if prim.multiple else resident(results[0])


def _arrays(operands: tuple) -> list:
    """Return the operands as arrays; numbers have the dtype of the tensors beside them."""
    found = [nearest(x) if type(x) is EagerTensor else x for x in operands]
    dtype = next(x.dtype for x in found if hasattr(x, "sharding"))
    return [x if hasattr(x, "dtype") else np.asarray(x, dtype) for x in found]


def _program(prim: Primitive, arrays: list, params: dict, mesh: Any) -> Any:
    """Return a program of one primitive, or REFUSED."""
    straight = StaticProgram()
    try:
        straight.inputs += [Value(x.shape, of_numpy(x.dtype)) for x in arrays]
        found = straight.apply(prim, straight.inputs, params)
        straight.outputs += found if prim.multiple else [found]
        made = spread.compile_once(straight, prim.name, mesh, arrays)
    except SpecializationError:
        return REFUSED
    return REFUSED if made is None else made


def begin() -> None:
    """Let tensors be shared out among devices from now on."""
    if dispatch.state.meshes:
        return
    dispatch.state.meshes = True
    dispatch.state.evaluate = _evaluate
    for stem in (*OPERATORS, "lt", "gt", "le", "ge"):
        _have_operator(
            f"__{stem}__", with_reflection(_hook(stem), stem) if stem in BINARY else None
        )
    for stem in OPERATORS:
        _have_operator(f"__r{stem}__", _make_reflected_operator(_hook(stem)))
    for name in ("__repr__", "__str__"):
        _have_text(name)
    device: Any = EagerTensor.__dict__["device"]
    EagerTensor.device = EagerTensor.backing_device = property(  # type: ignore
        lambda self: device.fget(self) if array_of(self) is None else CUSTOM
    )


CUSTOM = "/job:localhost/replica:0/task:0/device:CUSTOM:0"  # which stands for all meshes


def _hook(stem: str) -> str:
    return HOOKS.get(stem, stem)


def _make_reflected_operator(name: str) -> Any:
    """Return the reflection of an operator."""
    return lambda x, y: getattr(hooks, name)(y, x)


def _have_operator(method: str, general: Any) -> None:
    """Have an operator of tensors look where its operands are."""
    fast = EagerTensor.__dict__[method]
    stem = method.strip("_")
    if general is None:
        general = lambda x, y: getattr(hooks, _hook(stem))(x, y)  # noqa: E731

    def operate(self: EagerTensor, other: Any) -> Any:
        if array_of(self) is None and array_of(_value(other)) is None:
            return fast(self, other)
        return general(self, other)

    setattr(EagerTensor, method, operate)


def _value(other: Any) -> Any:
    return (
        getattr(other, "__dict__", {}).get("_tensor") if type(other) is not EagerTensor else other
    )


def _have_text(method: str) -> None:
    """Have a text of tensors tell what each device has."""
    whole = EagerTensor.__dict__[method]

    def text(self: EagerTensor) -> str:
        array = array_of(self)
        if array is None:
            return whole(self)
        parts = zip(array.sharding.mesh.devices.flat, meshes.parts(array))
        told = [f'"{d.platform.upper()}:{d.id}": {numpy_text(np.asarray(x))}' for d, x in parts]
        value = "{" + ", ".join(told) + "}"
        if method == "__str__":
            return f"tf.Tensor({value}, shape={array.shape}, dtype={self.dtype.name})"
        return f"<tf.Tensor: shape={array.shape}, dtype={self.dtype.name}, value={value}>"

    setattr(EagerTensor, method, text)
