"""tf.experimental.dtensor: meshes of devices, and layouts that share tensors out among them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.api.export import export, export_value, look_up
from talweg.core.errors import value_error

UNSHARDED = export_value("unsharded", "experimental.dtensor.UNSHARDED")
MATCH = export_value("match", "experimental.dtensor.MATCH")
HOST = "/job:localhost/replica:0/task:0/device:"


def full_name(device: Any) -> str:
    """Return the whole name of a device, of which the end was given."""
    text = device.to_string() if hasattr(device, "to_string") else str(device)
    text = text.rpartition("device:")[2] if "device:" in text else text.lstrip("/")
    kind, _, number = text.partition(":")
    return f"{HOST}{kind.upper()}:{number or 0}"


@export("experimental.dtensor.Mesh")
class Mesh:
    """A grid of devices with named axes.

    global_device_ids: an array with the shape of the grid, of the numbers of the devices;
    local_device_ids, local_devices: those of this process, which are all.  ValueError unless they
    are as many.  `create_mesh` is the usual way to make one.

    >>> import talweg as tf
    >>> mesh = tf.experimental.dtensor.create_mesh([("batch", 1)], devices=["CPU:0"])
    >>> mesh.dim_size("batch"), mesh.size
    (1, 1)
    """

    devices: Any = None  # JAX's mesh of them, where programs run through XLA

    def __init__(
        self,
        dim_names: Any,
        global_device_ids: Any,
        local_device_ids: Any,
        local_devices: Any,
        mesh_name: str = "",
        global_devices: Any = None,
        use_xla_spmd: bool = False,
    ):
        self._names, self._ids = list(dim_names), np.asarray(global_device_ids)
        self._local = [int(number) for number in local_device_ids]
        self._devices, self.name = [full_name(device) for device in local_devices], mesh_name
        if self._ids.ndim != len(self._names):
            raise value_error(
                "TW203", f"global_device_ids has {self._ids.ndim} axes", f"those of {self._names}"
            )
        if not len(self._local) == len(self._devices) == self._ids.size:
            raise value_error(
                "TW204",
                f"length of devices ({len(self._devices)}) must be equal to total size of the mesh "
                f"of shape {self.shape()}",
            )

    @classmethod
    def from_string(cls, mesh_str: str) -> Mesh:
        """Return the mesh that `to_string` wrote."""
        name, axes, ids, local, devices = mesh_str.split("|")[:5]
        sizes = dict([axis.split("=") for axis in axes.split(",")] if axes else [])
        shape = [int(size) for size in sizes.values()]
        numbers = [int(number) for number in ids.split(",")]
        own = [int(number) for number in local.split(",")]
        return cls(list(sizes), np.reshape(numbers, shape), own, devices.split(","), name)

    @classmethod
    def from_device(cls, device: str) -> Mesh:
        """Return the mesh of one device, without axes."""
        return cls([], np.array(0), [0], [device])

    @property
    def dim_names(self) -> list[str]:
        """The names of the axes."""
        return list(self._names)

    @property
    def size(self) -> int:
        """The number of devices."""
        return self._ids.size

    @property
    def strides(self) -> list[int]:
        """The distance of the devices of neighbouring places, along each axis."""
        sizes = self.shape()
        return [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]

    @property
    def single_device(self) -> str:
        """The only device; ValueError if there are more."""
        if not self.is_single_device():
            raise value_error("TW402", "the mesh has axes", "a mesh made by Mesh.from_device")
        return self._devices[0]

    def shape(self) -> list[int]:
        """Return the sizes of the axes."""
        return list(self._ids.shape)

    def contains_dim(self, dim_name: str) -> bool:
        """Return whether an axis has this name."""
        return dim_name in self._names

    def dim_size(self, dim_name: str) -> int:
        """Return the number of devices along an axis; ValueError for an unknown name."""
        if dim_name not in self._names:
            raise value_error(
                "TW207",
                f"Dimension {dim_name} does not exist in mesh. Available dimensions: "
                f"{','.join(self._names)}",
            )
        return self._ids.shape[self._names.index(dim_name)]

    def device_type(self) -> str:
        """Return the kind of the devices, "CPU"."""
        return self._devices[0].rpartition("device:")[2].partition(":")[0]

    def is_single_device(self) -> bool:
        """Return whether it is one device, without axes."""
        return not self._names

    def is_remote(self) -> bool:
        """Return False: all devices are of this process."""
        return False

    def use_xla_spmd(self) -> bool:
        """Return False: talweg does not use XLA."""
        return False

    def local_devices(self) -> list[str]:
        """Return the devices of this process."""
        return list(self._devices)

    def global_devices(self) -> list[str]:
        """Return the devices of all processes, if they were given."""
        return []

    def local_device_ids(self) -> list[int]:
        """Return the numbers of the devices of this process."""
        return list(self._local)

    def global_device_ids(self) -> np.ndarray:
        """Return the numbers of all devices, in the shape of the grid."""
        return self._ids

    def num_local_devices(self) -> int:
        """Return the number of devices of this process."""
        return len(self._devices)

    def min_global_device_id(self) -> int:
        """Return the least number of a device."""
        return int(self._ids.min())

    def unravel_index(self) -> list[dict[str, int]]:
        """Return the place of each device in the grid, by the names of axes."""
        return [dict(zip(self._names, place)) for place in np.ndindex(*self._ids.shape)]

    def local_device_locations(self) -> list[dict[str, int]]:
        """Return the place of each device of this process."""
        return self.unravel_index()

    def device_location(self, device_id: int) -> dict[str, int]:
        """Return the place of a device."""
        return self.unravel_index()[device_id]

    def coords(self, device_idx: int) -> Any:
        """Return the place of a device as a vector, int32."""
        place = list(self.unravel_index()[device_idx].values())
        return look_up("constant")(place, "int32", shape=[len(place)])

    def host_mesh(self) -> Mesh:
        """Return the mesh of the CPUs beside the devices: this one."""
        return self

    def to_string(self) -> str:
        """Return a text that `from_string` reads."""
        axes = ",".join([f"{name}={size}" for name, size in zip(self._names, self.shape())])
        ids = ",".join(map(str, self._ids.reshape(-1).tolist()))
        return "|".join(
            [self.name, axes, ids, ",".join(map(str, self._local)), ",".join(self._devices)]
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Mesh) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"Mesh.from_string({self.to_string()})"


@export("experimental.dtensor.Layout")
class Layout:
    """The mesh axis that shares out each axis of a tensor.

    ValueError for an axis that the mesh has not, or that is used twice.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("batch", 1)], devices=["CPU:0"])
    >>> dtensor.Layout(["batch", dtensor.UNSHARDED], mesh).rank
    2
    """

    def __init__(self, sharding_specs: Any, mesh: Mesh):
        self._specs, self._mesh = list(sharding_specs), mesh
        used = [axis for axis in self._specs if axis not in (UNSHARDED, MATCH)]
        for axis in used:
            if not mesh.contains_dim(axis):
                raise value_error(
                    "TW207",
                    f"{axis}: A dimension sharding must either be a valid mesh dimension or "
                    "UNSHARDED.",
                    f"one of {mesh.dim_names}",
                )
        if len(set(used)) < len(used):
            raise value_error(
                "TW207",
                f"A mesh dimension was repeated in sharding specification {self._specs}",
                "each of them once",
            )

    @classmethod
    def replicated(cls, mesh: Mesh, rank: int) -> Layout:
        """Return the layout in which every device has the whole tensor."""
        return cls([UNSHARDED] * rank, mesh)

    @classmethod
    def batch_sharded(cls, mesh: Mesh, batch_dim: str, rank: int, axis: int = 0) -> Layout:
        """Share out one axis of the tensor, by default the first."""
        return cls([batch_dim if place == axis else UNSHARDED for place in range(rank)], mesh)

    @classmethod
    def inner_sharded(cls, mesh: Mesh, inner_dim: str, rank: int) -> Layout:
        """Share out the last axis of the tensor."""
        return cls.batch_sharded(mesh, inner_dim, rank, rank - 1)

    @classmethod
    def from_single_device_mesh(cls, mesh: Mesh) -> Layout:
        """Return the layout of tensors on the only device of a mesh."""
        return cls([], mesh)

    @classmethod
    def from_device(cls, device: str) -> Layout:
        """Return the layout of tensors on one device."""
        return cls.from_single_device_mesh(Mesh.from_device(device))

    @classmethod
    def from_string(cls, layout_str: str) -> Layout:
        """Return the layout that `to_string` wrote."""
        specs, _, mesh = layout_str.removeprefix("sharding_specs:").partition(" mesh:")
        return cls([part for part in specs.split(",") if part], Mesh.from_string(mesh))

    @property
    def sharding_specs(self) -> list[str]:
        """For each axis of the tensor the axis of the mesh that shares it out, or UNSHARDED."""
        return list(self._specs)

    @property
    def mesh(self) -> Mesh:
        """The devices."""
        return self._mesh

    @property
    def rank(self) -> int:
        """The number of axes of the tensor."""
        return len(self._specs)

    @property
    def shape(self) -> list[int]:
        """The sizes of the axes of the mesh."""
        return self._mesh.shape()

    @property
    def type(self) -> str:
        """ "STATIC", or "SINGLE_DEVICE"."""
        return "SINGLE_DEVICE" if self.is_single_device() else "STATIC"

    def num_shards(self, idx: int) -> int:
        """Return into how many parts an axis of the tensor is divided."""
        axis = self._specs[idx]
        return 1 if axis == UNSHARDED else self._mesh.dim_size(axis)

    def is_fully_replicated(self) -> bool:
        """Return whether every device has the whole tensor."""
        return all([self.num_shards(axis) == 1 for axis in range(self.rank)])

    def is_batch_parallel(self) -> bool:
        """Return whether at most the first axis is shared out."""
        return all([self.num_shards(axis) == 1 for axis in range(1, self.rank)])

    def is_single_device(self) -> bool:
        """Return whether the mesh is one device, without axes."""
        return self._mesh.is_single_device()

    def delete(self, dims: list[int]) -> Layout:
        """Return the layout of a tensor without these axes."""
        gone = set(dims)
        kept = [axis for place, axis in enumerate(self._specs) if place not in gone]
        return Layout(kept, self._mesh)

    def local_shape_from_global_shape(self, global_shape: Any) -> tuple:
        """Return the shape of a part of a tensor of this shape."""
        return tuple([size // self.num_shards(axis) for axis, size in enumerate(global_shape)])

    def global_shape_from_local_shape(self, local_shape: Any) -> tuple:
        """Return the shape of a tensor whose parts have this shape."""
        return tuple([size * self.num_shards(axis) for axis, size in enumerate(local_shape)])

    def offset_to_shard(self) -> list[tuple]:
        """Return which part of the tensor each device has, as a number along each axis."""
        return [
            tuple([0 if axis == UNSHARDED else place[axis] for axis in self._specs])
            for place in self._mesh.unravel_index()
        ]

    def to_parted(self) -> Layout:
        """Return this layout: parts of a tensor are not tensors of their own."""
        return self

    def to_string(self) -> str:
        """Return a text that `from_string` reads."""
        specs = "".join([f"{axis}," for axis in self._specs])
        return f"sharding_specs:{specs} mesh:{self._mesh.to_string()}"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Layout) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"Layout.from_string({self.to_string()})"


def _axes(mesh_dims: Any, count: int) -> dict[str, int]:
    if mesh_dims is None:
        return {"x": count}
    return dict(mesh_dims.items() if hasattr(mesh_dims, "items") else mesh_dims)


@export("experimental.dtensor.create_mesh")
def create_mesh(
    mesh_dims: Any = None,
    mesh_name: str = "",
    devices: Any = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """Return a mesh of ``[(name, size), ...]``, a dictionary of them, or one axis "x" of all
    devices.

    devices: by default the logical devices of `device_type` ("CPU").  ValueError unless they are as
    many as the mesh has.

    >>> import talweg as tf
    >>> tf.experimental.dtensor.create_mesh([("batch", 1)], devices=["CPU:0"]).dim_names
    ['batch']
    """
    if devices is None:
        logical = look_up("config.list_logical_devices")(device_type or "CPU")
        devices = [device.name for device in logical]
    axes = _axes(mesh_dims, len(devices))
    count = math.prod(axes.values())
    if count != len(devices):
        raise value_error(
            "TW204",
            f"length of devices ({len(devices)}) must be equal to total size of the mesh of shape "
            f"{list(axes.values())}",
            "one device for each place",
            "tf.config.set_logical_device_configuration makes several devices of the CPU",
        )
    ids = np.arange(count).reshape(list(axes.values()))
    return Mesh(list(axes), ids, list(range(count)), devices, mesh_name)


@export("experimental.dtensor.create_distributed_mesh")
def create_distributed_mesh(
    mesh_dims: Any,
    mesh_name: str = "",
    local_devices: Any = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """Return a mesh over the devices of all processes: of this one, which is the only one.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> dtensor.create_distributed_mesh({"batch": 1}, local_devices=["CPU:0"]).shape()
    [1]
    """
    return create_mesh(mesh_dims, mesh_name, local_devices, device_type)
