"""Tensors and variables on the devices of a mesh: what stands behind layouts where XLA runs
programs.

There a tensor with a layout is an array of JAX of which each device has its part; elsewhere it is
the whole tensor, with a note (`laid_out.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.lazy import LazyModule
from talweg.eager import spread
from talweg.eager.resident import nearest, resident
from talweg.execute import executor
from talweg.passes.specialize.program import KINDS
from talweg.prims.collective import relayout
from talweg.strategies.layouts import UNSHARDED, Layout, Mesh
from talweg.trace.function import Function

if TYPE_CHECKING:
    from talweg.execute.xla import meshes
else:
    meshes = LazyModule("talweg.execute.xla.meshes")

_meshes: dict[Any, Mesh] = {}  # JAX's mesh -> ours


def devices_of(mesh: Mesh) -> Any:
    """Return JAX's mesh of the same devices;
    None where XLA does not run programs, or has not as many.
    """
    if executor.chosen.value != "xla" or mesh.size < 2:
        return None
    if mesh.devices is None:
        names = [name.rpartition("device:")[2].split(":") for name in mesh.local_devices()]
        pairs = [(kind, int(number)) for kind, number in names]
        mesh.devices = meshes.mesh_of(pairs, mesh.dim_names, mesh.shape())
        if mesh.devices is not None:
            spread.begin()
            _meshes.setdefault(mesh.devices, mesh)
    return mesh.devices


def sharding_of(layout: Layout) -> Any:
    """Return JAX's sharding of a layout; None where no devices stand behind it."""
    there = devices_of(layout.mesh)
    if there is None:
        return None
    text = layout.to_string()
    found = meshes.SHARDINGS.get(text)
    if found is None:
        axes = [None if axis == UNSHARDED else axis for axis in layout.sharding_specs]
        found = meshes.SHARDINGS[text] = meshes.sharding(there, axes)
    return found


def lay_out(x: Any, layout: Layout) -> Any:
    """Return a tensor shared out as a layout says;
    NotImplemented where no devices stand behind it.
    """
    where = sharding_of(layout)
    if where is None:
        return NotImplemented
    if x.dtype.name not in KINDS:
        return NotImplemented
    return relayout(x, layout=layout.to_string())


def lay_out_at_once(x: Any, layout: Layout) -> Any:
    """Return a tensor with a value shared out,
    whatever graph is under construction; no tape sees it.
    """
    where = sharding_of(layout)
    found = x if where is None else resident(meshes.lay_out(nearest(x), where))
    return found


def make_on_device(fn: Any, layout: Layout, args: tuple, kwargs: dict) -> Any:
    """Call a function so that each device makes its own part; NotImplemented elsewhere."""
    busy = dispatch.context.base is not None or dispatch.context.recorders
    if sharding_of(layout) is None or busy:
        return NotImplemented
    text = layout.to_string()

    def make_value() -> Any:
        return relayout(fn(*args, **kwargs), layout=text)

    return Function(make_value, autograph=False)()


def layout_of(tensor: Any) -> Layout | None:
    """Return the layout of a tensor whose parts devices have; None for other tensors."""
    array = spread.array_of(tensor) if dispatch.state.meshes else None
    if array is None:
        return None
    mesh = _meshes.get(array.sharding.mesh)
    if mesh is None:
        return None
    axes = list(array.sharding.spec) + [None] * (array.ndim - len(array.sharding.spec))
    if any([type(axis) is tuple for axis in axes]):  # along several axes of the mesh
        axes = [axis[0] if type(axis) is tuple else axis for axis in axes]
        tensor._resident = meshes.lay_out(array, meshes.sharding(array.sharding.mesh, axes))
    return Layout([UNSHARDED if axis is None else axis for axis in axes], mesh)


def unpack(tensor: Any, layout: Layout) -> list:
    """Return each device's part of a tensor."""
    found = [resident(part) for part in meshes.parts(spread.array_of(tensor))]
    for part, name in zip(found, layout.mesh.local_devices()):
        part._device = name
    return found
