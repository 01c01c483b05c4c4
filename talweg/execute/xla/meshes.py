"""Meshes of devices, and sharding of arrays on them: JAX's NamedSharding.

Each device has its part of an array; XLA's partitioner (GSPMD) finds for a program which parts the
devices have of what lies between, and the collective operations by which they get them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from talweg.core.dropping import drop_oldest
from talweg.core.errors import invalid
from talweg.core.transfers import note_sent
from talweg.execute.xla import engine
from talweg.execute.xla.engine import jax
from talweg.prims.collective import relayout

SHARDINGS: dict[str | None, Any] = {}  # the text of a layout -> its sharding
_known: dict[Any, tuple] = {}  # sharding -> (mesh, axes)
KEPT = 4096  # shardings that were read
Spec = jax.sharding.PartitionSpec


def mesh_of(devices: Sequence[tuple[str, int]], names: list[str], dims: list[int]) -> Any:
    """Return JAX's mesh of devices (kind, number); None where there are too few."""
    found = []
    for kind, number in devices:
        there = engine.devices(kind)
        if number >= len(there):
            return None
        found.append(there[number])
    return jax.sharding.Mesh(np.array(found).reshape(dims), tuple(names))


def sharding(mesh: Any, axes: Sequence[str | None]) -> Any:
    """Return the sharding that partitions array axes along mesh axes."""
    return jax.sharding.NamedSharding(mesh, Spec(*axes))


def _read(found: Any) -> tuple:
    """Return the mesh of a sharding, and the partition of its axes."""
    known = _known.get(found)
    if known is None:
        axes = list(found.spec)
        while axes and axes[-1] is None:
            axes.pop()
        if len(_known) >= KEPT:
            drop_oldest(_known)
        known = _known[found] = (found.mesh, tuple(axes))
    return known


def placement(arrays: Sequence[Any]) -> tuple | None:
    """Return the mesh of arrays, and each one's sharding; None if none is sharded.

    InvalidArgumentError for arrays on different meshes.
    """
    mesh, axes = None, []
    for array in arrays:
        own: tuple = ()
        sharding = getattr(array, "sharding", None)
        if sharding is not None and sharding.num_devices > 1:
            its, own = _read(sharding)
            if mesh is not None and mesh is not its and mesh != its:
                raise invalid(
                    "TW402",
                    "operands lie on different meshes",
                    "one mesh for all",
                    "tf.experimental.dtensor.copy_to_mesh",
                )
            mesh = its
        axes.append(own)
    return None if mesh is None else (mesh, tuple(axes))


def mesh_of_program(equations: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """Return the mesh of a program on these arrays; None for one device."""
    found = placement(arrays)
    if found is not None:
        return found[0]
    for equation in equations:
        if equation.prim is relayout and equation.params["layout"] in SHARDINGS:
            return SHARDINGS[equation.params["layout"]].mesh
    return None


def lay_out(array: Any, where: Any) -> Any:
    """Shard an array: each device gets its part of it."""
    note_sent((array,))
    with engine.wide():
        return jax.device_put(array, where)


def bring_to_mesh(array: Any, mesh: Any) -> Any:
    """Return an array for a program on a mesh, copied to all devices if it was elsewhere."""
    if not hasattr(array, "sharding") or array.sharding.num_devices > 1:
        return array
    return jax.device_put(array, sharding(mesh, ()))


def parts(array: Any) -> list:
    """Return each device's part of an array, in the order of the mesh."""
    by_device = {shard.device: shard.data for shard in array.addressable_shards}
    return [by_device[device] for device in array.sharding.mesh.devices.flat]
