"""tf.experimental.dtensor: tensors that are shared out among devices.

Where there are devices behind a mesh, each has its part (`on_meshes.py`).  Elsewhere a tensor with
a layout is the whole tensor, with a note; its parts are taken when somebody asks for them, and the
results of operations have no note: `relayout` gives them one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.core import dispatch
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.variable import Variable
from talweg.formats.bundle.writer import write_bundle
from talweg.prims import arithmetic
from talweg.strategies import on_meshes
from talweg.strategies.layouts import HOST, MATCH, UNSHARDED, Layout, Mesh

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike


NOTE = "_layout"  # the attribute of tensors that have one
MESHES: list[Mesh] = []  # of `default_mesh` and `run_on`, inner last


def _note_layout(x: Any, layout: Layout, what: str) -> Tensor:
    """Return a tensor with a layout; InvalidArgumentError if its shape cannot be shared out so."""
    tensor = convert_to_tensor(x)
    if on_meshes.sharding_of(layout) is None:
        tensor = look_up("identity")(tensor)
    dims = tensor.shape.as_list() if tensor.shape.rank is not None else []
    if tensor.shape.rank is not None and len(dims) != layout.rank:
        raise invalid("TW203", f"{what}: a tensor of rank {len(dims)}, a layout of {layout.rank}")
    for axis, size in enumerate(dims):
        if size is not None and size % layout.num_shards(axis):
            raise invalid(
                "TW204",
                f"{what}: axis {axis} has size {size}",
                f"a multiple of {layout.num_shards(axis)}, the devices that share it",
            )
    there = on_meshes.lay_out(tensor, layout)
    if there is not NotImplemented:
        return there
    tensor.__dict__[NOTE] = layout
    return tensor


def _layout_of(x: Any) -> Layout | None:
    if isinstance(x, DVariable):
        return x.layout
    return on_meshes.layout_of(x) or getattr(x, "__dict__", {}).get(NOTE)


@export("experimental.dtensor.is_dtensor")
def is_dtensor(tensor: Any) -> bool:
    """Return whether a tensor or variable has a layout.

    >>> import talweg as tf
    >>> tf.experimental.dtensor.is_dtensor(tf.constant(1.0))
    False
    """
    return _layout_of(tensor) is not None


@export("experimental.dtensor.fetch_layout")
def fetch_layout(tensor: Any) -> Layout:
    """Return the layout of a tensor; InvalidArgumentError if it has none."""
    found = _layout_of(tensor)
    if found is None:
        raise invalid("TW104", "FetchLayout: the tensor has no layout", "one made by dtensor")
    return found


@export("experimental.dtensor.check_layout")
def check_layout(tensor: Any, layout: Layout) -> None:
    """Raise ValueError unless the tensor has this layout."""
    if fetch_layout(tensor) != layout:
        raise value_error(
            "TW510", f"Layout of tensor: {fetch_layout(tensor)}, did not match {layout}"
        )


@export("experimental.dtensor.relayout")
def relayout(tensor: Any, layout: Layout, name: str | None = None) -> Tensor:
    """Return a tensor with a layout; "match" in it keeps what an axis has.

    InvalidArgumentError for another rank, or sizes that the devices do not divide.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> x = dtensor.relayout(tf.ones([4]), dtensor.Layout(["x"], mesh))
    >>> dtensor.fetch_layout(x).sharding_specs
    ['x']
    """
    if MATCH in layout.sharding_specs:
        there = _layout_of(tensor) or Layout.replicated(layout.mesh, layout.rank)
        pairs = zip(layout.sharding_specs, there.sharding_specs)
        layout = Layout([old if new == MATCH else new for new, old in pairs], layout.mesh)
    return _note_layout(tensor, layout, "relayout")


@export("experimental.dtensor.relayout_like")
def relayout_like(tensor: Any, layout_tensor: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the layout of another one."""
    return _note_layout(tensor, fetch_layout(layout_tensor), "relayout_like")


@export("experimental.dtensor.copy_to_mesh")
def copy_to_mesh(tensor: Any, layout: Layout, source_layout: Layout | None = None) -> Tensor:
    """Return a tensor with a layout on a mesh."""
    return _note_layout(tensor, layout, "copy_to_mesh")


@export("experimental.dtensor.call_with_layout")
def call_with_layout(
    fn: Callable[..., Any], layout: Layout | None, *args: object, **kwargs: object
) -> Any:
    """Return the result of a function, with a layout.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> x = dtensor.call_with_layout(tf.zeros, dtensor.Layout(["x"], mesh), shape=[4])
    >>> dtensor.is_dtensor(x)
    True
    """
    if layout is None:
        return fn(*args, **kwargs)
    result = on_meshes.make_on_device(fn, layout, args, kwargs)
    if result is NotImplemented:
        result = fn(*args, **kwargs)
    return _note_layout(result, layout, "call_with_layout")


def _place(offsets: tuple, layout: Layout, dims: Sequence[int]) -> tuple:
    """Return the place of a part, by its numbers along the axes."""
    sizes = layout.local_shape_from_global_shape(dims)
    return tuple([slice(n * size, (n + 1) * size) for n, size in zip(offsets, sizes)])


def _number_parts(layout: Layout) -> list[tuple]:
    """Return the number of each device's part along each axis of a tensor."""
    places = layout.mesh.unravel_index()
    specs = layout.sharding_specs
    return [tuple([0 if a == UNSHARDED else place[a] for a in specs]) for place in places]


@export("experimental.dtensor.unpack")
def unpack(tensor: Any) -> list[Tensor]:
    """Return the part of a tensor that each device has; InvalidArgumentError without a layout."""
    layout = fetch_layout(tensor)
    x = convert_to_tensor(tensor)
    if on_meshes.layout_of(x) is not None:
        return on_meshes.unpack(x, layout)
    return [x[_place(part, layout, x.shape.as_list())] for part in _number_parts(layout)]


@export("experimental.dtensor.pack")
def pack(tensors: Sequence[Any], layout: Layout) -> Tensor:
    """Return the tensor of which each device has a part; where several have one, the first counts.

    InvalidArgumentError unless there is a part for each device, of the rank of the layout.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> dtensor.pack([[1, 2]], dtensor.Layout(["x"], mesh)).numpy()
    array([1, 2], dtype=int32)
    """
    parts = [convert_to_tensor(part) for part in tensors]
    if len(parts) != layout.mesh.size:
        raise invalid("TW204", f"pack: {len(parts)} parts", f"{layout.mesh.size}, one for a device")
    kinds = {(part.shape.as_tuple(), part.dtype.name) for part in parts}
    if len(kinds) > 1:
        raise invalid("TW204", f"pack: parts of {len(kinds)} shapes and dtypes", "the same for all")
    if any([part.shape.rank != layout.rank for part in parts]):
        raise invalid("TW203", f"pack: parts of rank {parts[0].shape.rank}", f"{layout.rank}")
    by_place = dict(reversed(list(zip(_number_parts(layout), parts))))
    concat = look_up("concat")
    for axis in reversed(range(layout.rank)):
        rows: dict[tuple, list] = {}
        for position in sorted(by_place):
            rows.setdefault(position[:axis], []).append(by_place[position])
        by_place = {position: concat(row, axis) for position, row in rows.items()}
    return _note_layout(by_place[()], layout, "pack")


# -- the mesh of a block


@export("experimental.dtensor.default_mesh")
@contextlib.contextmanager
def default_mesh(mesh: Mesh) -> Iterator[None]:
    """Return a block with a mesh that `get_default_mesh` gives."""
    MESHES.append(mesh)
    try:
        yield
    finally:
        MESHES.pop()


@export("experimental.dtensor.run_on")
@contextlib.contextmanager
def run_on(mesh: Mesh) -> Iterator[None]:
    """Return the older name of `default_mesh`."""
    with default_mesh(mesh):
        yield


@export("experimental.dtensor.get_default_mesh")
def get_default_mesh() -> Mesh | None:
    """Return the mesh of the innermost block, None outside of one.

    >>> import talweg as tf
    >>> tf.experimental.dtensor.get_default_mesh() is None
    True
    """
    return MESHES[-1] if MESHES else None


@export("experimental.dtensor.device_name")
def device_name() -> str:
    """Return the name of the device that stands for all meshes."""
    return f"{HOST}CUSTOM:0"


# -- variables and what is saved


@export("experimental.dtensor.DVariable")
class DVariable(Variable):
    """A variable with a layout: that of its initial value, or `layout`.

    InvalidArgumentError where neither is given.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> zeros = dtensor.call_with_layout(tf.zeros, dtensor.Layout(["x"], mesh), shape=[4])
    >>> dtensor.DVariable(zeros).layout.sharding_specs
    ['x']
    """

    def __init__(self, initial_value: Any, *args: Any, dtype: Any = None, **kwargs: Any):
        layout = kwargs.pop("layout", None)
        initial = initial_value
        if callable(initial_value):
            with dispatch.eagerly():
                initial = initial_value()
        layout = layout or _layout_of(initial)
        if layout is None:
            raise invalid("TW104", "Neither layout nor DTensor initial value are provided.")
        self._own_layout, self.save_as_bf16 = layout, False
        initial = convert_to_tensor(initial, dtype=dtype)
        if _layout_of(initial) != layout:
            with dispatch.eagerly():
                initial = _note_layout(initial, layout, "DVariable")
        super().__init__(initial, *args, dtype=dtype, **kwargs)
        if on_meshes.layout_of(self._tensor) is None:  # it was computed for a graph
            self._tensor = on_meshes.lay_out_at_once(self._tensor, layout)

    @property
    def layout(self) -> Layout:
        """The layout by which the variable is shared out."""
        return self._own_layout

    def _accept(self, value: object, what: str) -> Any:
        """Return a value as a tensor of this variable's dtype and layout."""
        tensor = super()._accept(value, what)
        return on_meshes.lay_out_at_once(tensor, self._own_layout)

    def _compute_update(self, present: Any, delta: Any, kernel: Any, what: str) -> Any:
        if on_meshes.layout_of(present) is None or delta.dims != present.dims:
            return super()._compute_update(present, delta, kernel, what)
        with dispatch.only(()):
            made = (
                arithmetic.add(present, delta) if what == "add" else arithmetic.sub(present, delta)
            )
        if dispatch.state.busy:
            self._note_write(delta)
        return on_meshes.lay_out_at_once(made, self._own_layout)


@export("experimental.dtensor.enable_save_as_bf16")
def enable_save_as_bf16(variables: list) -> None:
    """Ask for variables to be saved in half the size; kept, they are saved as they are."""
    for variable in variables:
        variable.save_as_bf16 = True


@export("experimental.dtensor.DTensorCheckpoint")
class DTensorCheckpoint:
    """`tf.train.Checkpoint`, under the name that dtensor had for it.

    >>> import tempfile
    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> v = tf.Variable(1.0)
    >>> path = dtensor.DTensorCheckpoint(mesh, v=v).save(tempfile.mkdtemp() + "/c")
    >>> tf.train.load_checkpoint(path).get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
    np.float32(1.0)
    """

    def __init__(self, mesh: Mesh, root: Any = None, **kwargs: Any):
        self._checkpoint = look_up("train.Checkpoint")(root, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_checkpoint"], name)


@export("experimental.dtensor.name_based_save")
def name_based_save(mesh: Mesh, checkpoint_prefix: PathLike, name_tensor_dict: dict) -> None:
    """Write tensors and variables under names of their own, as a checkpoint."""
    arrays = {name: convert_to_tensor(x).numpy() for name, x in name_tensor_dict.items()}
    write_bundle(_text(checkpoint_prefix), arrays)


@export("experimental.dtensor.sharded_save")
def sharded_save(
    mesh: Mesh, file_prefix: PathLike, tensor_names: Any, shape_and_slices: Any, tensors: list
) -> None:
    """Write tensors under these names, as a checkpoint; all of them are of this process."""
    names = [_text(name) for name in np.asarray(tensor_names).reshape(-1).tolist()]
    name_based_save(mesh, file_prefix, dict(zip(names, tensors)))


@export("experimental.dtensor.name_based_restore")
def name_based_restore(mesh: Mesh, checkpoint_prefix: PathLike, name_tensor_dict: dict) -> dict:
    """Return the tensors of these names in a checkpoint, with the layouts of those in the
    dictionary.
    """
    reader = look_up("train.load_checkpoint")(_text(checkpoint_prefix))
    found = {}
    for name, like in name_tensor_dict.items():
        value = convert_to_tensor(reader.get_tensor(name))
        layout = _layout_of(like)
        found[name] = value if layout is None else _note_layout(value, layout, "name_based_restore")
    return found


def _text(path: PathLike) -> str:
    return os.fsdecode(path.numpy() if hasattr(path, "numpy") else path)


# -- data


@export("experimental.dtensor.DTensorDataset")
class DTensorDataset:
    """Batches of a dataset with layouts.

    layouts: one for each component, in the structure of the elements.  global_batch_size: that of
    the batches of all devices; dataset_already_batched: whether the elements are such batches.
    ValueError where the elements have another structure.

    >>> import talweg as tf
    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> rows = dtensor.DTensorDataset(
    ...     tf.data.Dataset.range(4), mesh=mesh, layouts=dtensor.Layout(["x"], mesh),
    ...     global_batch_size=2, batch_dim="x")
    >>> [row.numpy().tolist() for row in rows]
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        dataset: Any,
        *,
        mesh: Mesh,
        layouts: Any,
        global_batch_size: int,
        dataset_already_batched: bool = False,
        batch_dim: str | None = None,
        prefetch: int | None = None,
        tf_data_service_config: Any = None,
    ):
        if batch_dim is not None and global_batch_size % mesh.dim_size(batch_dim):
            raise value_error(
                "TW204",
                f"global_batch_size={global_batch_size} over {mesh.dim_size(batch_dim)} devices",
                "a multiple",
            )
        look_up("nest.assert_same_structure")(dataset.element_spec, layouts)
        self._layouts = layouts
        if dataset_already_batched:
            dataset = dataset.unbatch()
        dataset = dataset.batch(global_batch_size, drop_remainder=True)
        self._batches = dataset if prefetch is None else dataset.prefetch(prefetch)

    @property
    def element_spec(self) -> Any:
        """The specs of the batches."""
        return self._batches.element_spec

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator:
        flatten = look_up("nest.flatten")
        layouts = flatten(self._layouts)
        for batch in self._batches:
            pairs = zip(flatten(batch), layouts)
            parts = [_note_layout(x, layout, "DTensorDataset") for x, layout in pairs]
            yield look_up("nest.pack_sequence_as")(batch, parts)
