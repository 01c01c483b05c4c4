"""Meshes, layouts, and tensors that know how they would be shared out, on logical devices.

The expected values are TensorFlow 2.21's, on eight logical CPUs.
"""

import numpy as np
import pytest

import talweg as tf

dtensor = tf.experimental.dtensor
DEVICES = [f"CPU:{n}" for n in range(8)]
NAME = "/job:localhost/replica:0/task:0/device:CPU:"


@pytest.fixture
def mesh():
    return dtensor.create_mesh([("x", 2), ("y", 4)], devices=DEVICES)


def test_mesh(mesh):
    assert (mesh.dim_names, mesh.shape(), mesh.size, mesh.strides) == (
        ["x", "y"],
        [2, 4],
        8,
        [4, 1],
    )
    assert mesh.local_devices()[3] == f"{NAME}3"
    assert mesh.coords(5).numpy().tolist() == [1, 1]
    assert mesh.local_device_locations()[5] == {"x": 1, "y": 1}
    assert mesh.global_device_ids().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    text = mesh.to_string()
    assert text.startswith(f"|x=2,y=4|0,1,2,3,4,5,6,7|0,1,2,3,4,5,6,7|{NAME}0,{NAME}1,")
    assert dtensor.Mesh.from_string(text) == mesh
    with pytest.raises(ValueError, match="Dimension z does not exist"):
        mesh.dim_size("z")
    with pytest.raises(ValueError, match="must be equal to total size"):
        dtensor.create_mesh([("x", 3)], devices=DEVICES)


def test_layout(mesh):
    layout = dtensor.Layout(["x", dtensor.UNSHARDED], mesh)
    assert (layout.rank, layout.num_shards(0), layout.num_shards(1), layout.shape) == (
        2,
        2,
        1,
        [2, 4],
    )
    assert layout.local_shape_from_global_shape([4, 4]) == (2, 4)
    assert layout.global_shape_from_local_shape([2, 4]) == (4, 4)
    assert (layout.is_fully_replicated(), layout.is_batch_parallel()) == (False, True)
    assert layout.to_string() == f"sharding_specs:x,unsharded, mesh:{mesh.to_string()}"
    assert dtensor.Layout.from_string(layout.to_string()) == layout
    assert layout.delete([0]).sharding_specs == ["unsharded"]
    assert layout.offset_to_shard()[3:5] == [(0, 0), (1, 0)]
    assert dtensor.Layout.inner_sharded(mesh, "y", 2).sharding_specs == ["unsharded", "y"]
    for wrong in (["z"], ["x", "x"]):
        with pytest.raises(ValueError, match=r"mesh dimension"):
            dtensor.Layout(wrong, mesh)


def test_packed_and_unpacked(mesh):
    parts = [tf.ones([2, 2]) * n for n in range(8)]
    packed = dtensor.pack(parts, dtensor.Layout(["x", "y"], mesh))
    assert packed.shape == [4, 8]
    assert packed.numpy()[:, 0].tolist() == [0.0, 0.0, 4.0, 4.0]
    assert [float(part[0, 0]) for part in dtensor.unpack(packed)] == list(range(8))
    rows = dtensor.pack(
        [tf.ones([2, 4]) * n for n in range(8)], dtensor.Layout(["x", "unsharded"], mesh)
    )
    assert rows.numpy()[:, 0].tolist() == [0.0, 0.0, 4.0, 4.0]
    for wrong in (parts[:3], [tf.ones([2])] * 8):
        with pytest.raises(tf.errors.InvalidArgumentError):
            dtensor.pack(wrong, dtensor.Layout(["x", "y"], mesh))
    with pytest.raises(tf.errors.InvalidArgumentError):
        dtensor.unpack(tf.ones([2]))


def test_notes(mesh):
    layout = dtensor.Layout(["x", dtensor.UNSHARDED], mesh)
    x = dtensor.call_with_layout(tf.ones, layout, [4, 4])
    assert dtensor.is_dtensor(x)
    assert dtensor.fetch_layout(x) == layout
    dtensor.check_layout(x, layout)
    other = dtensor.relayout(x, dtensor.Layout([dtensor.MATCH, "y"], mesh))
    assert dtensor.fetch_layout(other).sharding_specs == ["x", "y"]
    assert dtensor.fetch_layout(dtensor.relayout_like(other, x)) == layout
    with pytest.raises(ValueError, match="did not match"):
        dtensor.check_layout(other, layout)
    with pytest.raises(tf.errors.InvalidArgumentError):
        dtensor.relayout(tf.ones([3, 4]), layout)
    with pytest.raises(tf.errors.InvalidArgumentError):
        dtensor.fetch_layout(tf.ones([2]))
    with dtensor.default_mesh(mesh):
        assert dtensor.get_default_mesh() == mesh


def test_variables_and_files(mesh, tmp_path):
    layout = dtensor.Layout(["x", dtensor.UNSHARDED], mesh)
    v = dtensor.DVariable(dtensor.call_with_layout(tf.ones, layout, [4, 4]))
    v.assign_add(v * 2.0)
    assert (v.layout, float(v[0, 0])) == (layout, 3.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    np.testing.assert_array_equal(tape.gradient(loss, v), np.full((4, 4), 6.0))
    path = str(tmp_path / "named")
    dtensor.name_based_save(mesh, path, {"a": v})
    assert tf.train.list_variables(path) == [("a", [4, 4])]
    found = dtensor.name_based_restore(mesh, path, {"a": v})["a"]
    assert (dtensor.fetch_layout(found), float(found[0, 0])) == (layout, 3.0)
    with pytest.raises(tf.errors.InvalidArgumentError):
        dtensor.DVariable(tf.ones([2]))


def test_batches(mesh):
    rows = tf.data.Dataset.from_tensor_slices((np.arange(18.0), np.arange(18)))
    layouts = (dtensor.Layout(["x"], mesh), dtensor.Layout.replicated(mesh, 1))
    batches = dtensor.DTensorDataset(
        rows, mesh=mesh, layouts=layouts, global_batch_size=8, batch_dim="x"
    )
    found = list(batches)
    assert [x.numpy().tolist() for x, _ in found] == [list(range(8)), list(range(8, 16))]
    assert [dtensor.fetch_layout(x) for x in found[0]] == list(layouts)
