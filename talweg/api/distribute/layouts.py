"""tf.experimental.dtensor: meshes and layouts, as descriptions; there is one device.

A `Mesh` names the axes of a grid of devices, a `Layout` says which axis of the mesh shares out
which axis of a tensor.  talweg computes on one device, so a mesh has one device, and a layout
changes nothing about a tensor.
"""

from __future__ import annotations

import math
from typing import Any

from talweg.api.export import export, export_value
from talweg.core.errors import value_error

UNSHARDED = export_value("unsharded", "experimental.dtensor.UNSHARDED")


@export("experimental.dtensor.Mesh")
class Mesh:
    """A grid of devices with named axes; ValueError unless each has the size 1.

    >>> import talweg as tf
    >>> tf.experimental.dtensor.Mesh(["batch"], [1], ["CPU:0"]).dim_size("batch")
    1
    """

    def __init__(self, dim_names: Any, sizes: Any, devices: Any, mesh_name: str = ""):
        self._names, self._sizes = list(dim_names), [int(size) for size in sizes]
        self._devices, self.name = [str(device) for device in devices], mesh_name
        if math.prod(self._sizes) != 1 or len(self._devices) != 1:
            raise value_error(
                "TW402",
                f"a mesh of sizes {self._sizes} over {self._devices}: talweg uses one device",
                "sizes of 1",
            )

    @property
    def dim_names(self) -> list:
        """The names of the axes."""
        return self._names

    @property
    def size(self) -> int:
        """The number of devices."""
        return 1

    def dim_size(self, dim_name: str) -> int:
        """The number of devices along an axis; ValueError for an unknown name."""
        if dim_name not in self._names:
            raise value_error("TW207", f"'{dim_name}' is not one of the mesh's axes {self._names}")
        return self._sizes[self._names.index(dim_name)]

    def shape(self) -> list:
        """The sizes of the axes."""
        return self._sizes

    def local_devices(self) -> list:
        """The devices of this machine."""
        return self._devices

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Mesh) and (self._names, self._sizes, self._devices) == (
            other._names,
            other._sizes,
            other._devices,
        )

    def __hash__(self) -> int:
        return hash((tuple(self._names), tuple(self._sizes), tuple(self._devices)))


@export("experimental.dtensor.Layout")
class Layout:
    """Which axis of a mesh shares out which axis of a tensor; ValueError for unknown axes.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.Mesh(["batch"], [1], ["CPU:0"])
    >>> dtensor.Layout(["batch", dtensor.UNSHARDED], mesh).rank
    2
    """

    def __init__(self, sharding_specs: Any, mesh: Mesh):
        self.sharding_specs, self.mesh = list(sharding_specs), mesh
        for axis in self.sharding_specs:
            if axis != UNSHARDED and axis not in mesh.dim_names:
                raise value_error(
                    "TW207", f"'{axis}' is not one of the mesh's axes {mesh.dim_names}"
                )

    @property
    def rank(self) -> int:
        """The number of axes of the tensor."""
        return len(self.sharding_specs)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Layout) and (self.sharding_specs, self.mesh) == (
            other.sharding_specs,
            other.mesh,
        )

    def __hash__(self) -> int:
        return hash((tuple(self.sharding_specs), self.mesh))


@export("experimental.dtensor.create_mesh", "experimental.dtensor.create_distributed_mesh")
def create_mesh(
    mesh_dims: Any, mesh_name: str = "", local_devices: Any = None, **more: Any
) -> Mesh:
    """A mesh of ``[(name, size), ...]`` over the device there is.

    >>> import talweg as tf
    >>> tf.experimental.dtensor.create_mesh([("batch", 1)]).dim_names
    ['batch']
    """
    devices = more.get("devices") or local_devices
    devices = ["CPU:0"] if devices is None else devices
    return Mesh(
        [name for name, _ in mesh_dims], [size for _, size in mesh_dims], devices, mesh_name
    )
