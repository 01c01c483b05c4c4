"""The interface to JAX, which this module alone imports.

Only what runs a program through XLA imports this module; then a JAX that is not there, or of a
version that talweg was not tried with, is a FailedPreconditionError that says what to install.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from talweg.core.errors import (
    FailedPreconditionError,
    ResourceExhaustedError,
    compose,
    lacks_memory,
)
from talweg.core.machine import machine
from talweg.core.room import check_room
from talweg.core.transfers import fetch, note_sent
from talweg.execute import cache

ROOM = 1 << 28  # bytes that compiling, and its threads, may take
LARGE = 1 << 24  # bytes of results and temporaries for which there may be no room
LEAST, BELOW = (0, 10), (0, 12)  # versions of JAX: pyproject.toml says the same
WANTED = "jax>=0.10,<0.12"


def missing(found: str) -> FailedPreconditionError:
    """Return the error of a missing JAX, or of an unsupported version."""
    hint = "pip install talweg[xla]; or TALWEG_EXECUTOR=auto, which needs no JAX"
    text = compose("TW405", f"programs run through XLA by {WANTED}, and {found}", hint=hint)
    return FailedPreconditionError(None, None, text)


def check_version(version: str) -> None:
    """Raise FailedPreconditionError for a version of JAX without tests."""
    numbers = tuple([int(part) for part in version.split(".")[:2] if part.isdigit()])
    if not LEAST <= numbers < BELOW:
        raise missing(f"jax {version} is installed")


def _import_jax(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise missing(f"none can be imported ({error})") from None


jax = _import_jax("jax")
check_version(jax.__version__)


def ask_for_devices() -> None:
    """Divide the CPU into devices in JAX as the program did, if JAX has not begun yet."""
    with contextlib.suppress(RuntimeError):
        if machine.cpus > 1:
            jax.config.update("jax_num_cpu_devices", machine.cpus)


ask_for_devices()
lax, numpy = _import_jax("jax.lax"), _import_jax("jax.numpy")
io_callback = _import_jax("jax.experimental").io_callback
serialize_executable = _import_jax("jax.experimental.serialize_executable")
for _name in ("jax.scipy.special", "jax.scipy.linalg"):
    _import_jax(_name)


def wide() -> AbstractContextManager:
    """Enable 64-bit integers and floats in JAX for the block, in this thread only.

    A user's own JAX code goes on as it was configured.
    """
    return jax.enable_x64(True)


def jax_function(path: str) -> Callable[..., Any]:
    """Return a function of JAX by its dotted name below `jax`: "lax.lgamma"."""
    found = jax
    for part in path.split("."):
        found = getattr(found, part)
    return found


def text_of(function: Callable[..., Any], arguments: tuple, donated: tuple) -> Any:
    """Trace and lower a function for arguments of these kinds, for `compile_module`.

    MemoryError where there is little room: MLIR would end the process.
    """
    check_room(ROOM)
    try:
        return jax.jit(function, donate_argnums=donated).lower(*arguments)
    except ImportError as error:  # of a part that JAX loads then
        if lacks_memory(error):
            raise MemoryError(str(error)) from None
        raise


def compile_module(lowered: Any, device: Any = None, name: bytes | None = None) -> Any:
    """Compile a lowered module to an executable, from the disk cache if possible.

    `name`: what the executable will be asked for without its module (`find_executable`).
    """
    key = None if cache.current() is None else _key(lowered, device)
    executable = _load(key, device)
    if executable is None:
        executable = lowered.compile()
        if key is not None:
            with contextlib.suppress(Exception):  # what cannot be kept is made every time
                cache.put(key, pickle.dumps(serialize_executable.serialize(executable)))
    if key is not None and name is not None:
        cache.put(_named(name, device), key)
    return executable


def find_executable(name: bytes | None, device: Any) -> Any:
    """Return the executable that was compiled under a name, also by another process, or None."""
    return None if name is None else _load(cache.get(_named(name, device)), device)


def recall(name: bytes | None, make: Callable[[], bytes]) -> bytes:
    """Return what is kept on disk under a name, or make it and keep it."""
    if name is None:
        return make()
    found = cache.get(_named(name, None))
    if found is None:
        cache.put(_named(name, None), found := make())
    return found


def _named(name: bytes, device: Any) -> bytes:
    return f"xla name\n{_describe(device)}\n".encode() + name


def _load(key: bytes | None, device: Any) -> Any:
    """Return an executable from the disk, or None."""
    kept = None if key is None else cache.get(key)
    if kept is not None:
        try:
            there = [device or home()]  # all would each want a part of every array
            return serialize_executable.deserialize_and_load(
                *pickle.loads(kept), execution_devices=there
            )
        except Exception:  # noqa: BLE001 -- of another machine, or damaged: it is made anew
            pass
    return None


def _key(lowered: Any, device: Any) -> bytes | None:
    """Return the cache key of an executable; None if it is of this process only."""
    text = lowered.as_text()
    if "xla_python" in text or "xla_ffi_python" in text:  # it calls Python
        return None
    kind = str(lowered.args_info)  # donated or not
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"xla\n{_describe(device)}\n{kind}\n{digest}".encode()


def _describe(device: Any) -> tuple:
    """Describe what executables for a device depend on, beside their module."""
    own = device or home()
    flags = os.environ.get("XLA_FLAGS", "")
    about = (jax.__version__, own.platform, own.device_kind, len(jax.devices()), flags)
    return about if device is None else (*about, device.id)


def with_room(executable: Any, largest: str) -> Callable[..., Any]:
    """Wrap an executable to raise ResourceExhaustedError first if a CPU has no room.

    JAX tells of that when a result is looked at, and what was donated is gone then.  `largest`: of
    its values, as the error names it.
    """
    if jax.local_devices()[0].platform != "cpu":
        return executable
    sizes = executable.memory_analysis()
    if sizes is None:
        return executable
    wanted = sizes.temp_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    if wanted < LARGE:
        return executable

    def call(*arguments: Any) -> Any:
        try:
            check_room(wanted)
        except MemoryError:
            told = f"not enough memory for {wanted:,} bytes of results and temporaries; {largest}"
            raise ResourceExhaustedError(None, None, compose("TW209", told)) from None
        return executable(*arguments)

    return call


def is_out_of_memory(error: Exception) -> bool:
    """Return whether the error says that the device had too little memory."""
    return isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)


def copy(array: Any) -> Any:
    """Copy an array on its device."""
    with wide():
        return numpy.copy(array)


def put(array: Any, device: Any = None) -> Any:
    """Copy an array of NumPy to a device: the default one, or another."""
    note_sent((array,))
    with wide():
        if device is not None:
            return jax.device_put(np.array(array), device)
        return numpy.array(array)  # `device_put` may share its memory


def bring(array: Any, device: Any) -> Any:
    """Return an array for a program of one device (None: the default one), moved if need be.

    NumPy's arrays, and those that lie on several devices, stay as they are.
    """
    where = getattr(array, "sharding", None)
    if where is None or where.num_devices > 1:
        return array
    wanted = home() if device is None else device
    return array if array.devices() == {wanted} else jax.device_put(array, wanted)


@lru_cache(1)
def home() -> Any:
    """Return the default device."""
    return jax.local_devices()[0]


@lru_cache(1)
def first_visible() -> Any:
    """Return the first GPU that the program uses; None if that is the default device, or none."""
    gpus = devices("GPU") if machine.visible_gpus else []
    return gpus[0] if gpus and gpus[0] is not home() else None


@lru_cache(64)
def device_named(name: str) -> Any:
    """Return the device that a whole name means; None for the default one, and if there is none."""
    kind, _, number = name.rpartition("/device:")[2].partition(":")
    there = devices(kind) if kind in ("CPU", "GPU", "TPU") and number.isdigit() else []
    found = there[int(number)] if number.isdigit() and int(number) < len(there) else None
    return None if found is home() else found


def name_of_device(array: Any) -> str:
    """Return the kind and number of the device that has an array, as `tf.device` takes it."""
    (device,) = array.devices()
    platform = {"gpu": "GPU", "cuda": "GPU", "tpu": "TPU"}.get(device.platform, "CPU")
    kinds = [kind for kind, own in machine.platforms.items() if own.lower() == device.platform]
    kind = kinds[0] if kinds else platform
    there = devices(kind)
    return f"{kind}:{there.index(device) if device in there else 0}"


def call_wide(executable: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an executable that takes NumPy's arrays of 64 bits."""

    def call(donated: tuple, given: tuple) -> Any:
        with wide():
            return executable(donated, given)

    return call


# -- several devices

REPLICAS = "replica"  # the axis of devices on which replicas are


def devices(kind: str) -> list:
    """Return JAX's devices of a kind ("CPU", "GPU", "TPU") in this process.

    GPUs are those that the program uses, in order.
    """
    ask_for_devices()
    try:
        found = jax.local_devices(backend=machine.platforms.get(kind, kind).lower())
    except RuntimeError:
        return []
    if kind == "GPU" and len(found) >= machine.gpus:
        return [found[number] for number in machine.visible_gpus]
    return found


class ReplicaMesh:
    """A mesh of devices with a replica on each.

    A value of which each has its own is one array: that of replica i is row i.  Of a mesh of
    several processes (`elsewhere`) each has the rows of its own devices.
    """

    def __init__(self, chosen: list):
        self.count, self.devices = len(chosen), chosen
        here = jax.process_index()
        self.own = [k for k, device in enumerate(chosen) if device.process_index == here]
        self.elsewhere = len(self.own) < self.count
        self.watch: Any = None  # what runs a program that meets other processes
        self.settles = chosen[0].platform == "cpu"  # whether its results are waited for
        self.mesh = jax.sharding.Mesh(np.array(chosen), (REPLICAS,))
        spec = jax.sharding.PartitionSpec
        self.apart, self.same = spec(REPLICAS), spec()
        self._rows = jax.sharding.NamedSharding(self.mesh, self.apart)
        self._everywhere = jax.sharding.NamedSharding(self.mesh, self.same)

    def kind(self, dims: tuple, dtype: Any, apart: bool) -> Any:
        """Return the kind of an array: one for all, or rows."""
        if apart:
            return jax.ShapeDtypeStruct((self.count, *dims), dtype, sharding=self._rows)
        return jax.ShapeDtypeStruct(dims, dtype, sharding=self._everywhere)

    def put(self, rows: list) -> Any:
        """Copy NumPy's arrays, one for each replica of this process, to their devices."""
        with wide():
            stacked = np.stack(rows)
            note_sent((stacked,))
            if self.elsewhere:
                shape = (self.count, *stacked.shape[1:])
                return jax.make_array_from_process_local_data(self._rows, stacked, shape)
            return jax.device_put(stacked, self._rows)

    def rows_of(self, array: Any) -> list:
        """Return the row of each replica of this process, on its device."""
        found = sorted(array.addressable_shards, key=lambda shard: shard.index[0].start or 0)
        return [shard.data for shard in found]

    def parts(self, array: Any) -> list:
        """Return the arrays of this process's replicas as NumPy's."""
        return [fetch(row)[0] for row in self.rows_of(array)]

    def part(self, array: Any, replica: int) -> Any:
        """Return the array of one replica of this process as NumPy's."""
        return fetch(self.rows_of(array)[replica])[0]

    def spread(self, function: Callable[..., Any], given: Any, gives: Any) -> Callable[..., Any]:
        """Map a function of one replica over all replicas; specs like their nests."""
        return jax.shard_map(
            function, mesh=self.mesh, in_specs=given, out_specs=gives, check_vma=False
        )


def wait_for_arrays(arrays: Any) -> Any:
    """Wait for arrays to be computed and return them; errors are raised here."""
    return jax.block_until_ready(arrays)


def jit_sharded(function: Callable[..., Any], arguments: tuple) -> tuple[Callable[..., Any], Any]:
    """Compile a function of several devices; it, and its lowered form.

    The memory of its first argument is given away.  (What JAX compiles ahead of time does not bring
    constants to several devices.)
    """
    places = jax.tree.map(lambda kind: kind.sharding, arguments)
    found = jax.jit(function, donate_argnums=(0,), in_shardings=places)
    return found, found.lower(*arguments)
