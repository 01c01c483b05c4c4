"""Programs on meshes of devices, run by `test_meshes.py` in a process of 8 devices."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter

import numpy as np

import talweg as tf
from talweg.core import settings
from talweg.eager.resident import nearest
from talweg.eager.spread import array_of

dtensor = tf.experimental.dtensor
U = dtensor.UNSHARDED
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(64, 32)).astype("float32")
Y = RANDOM.normal(size=(64, 8)).astype("float32")
KINDS = RANDOM.integers(0, 4, 40)
MESHES = {
    "data": ((8, 1), [f"CPU:{n}" for n in range(8)]),
    "model": ((1, 8), [f"CPU:{n}" for n in range(8)]),
    "both": ((2, 4), [f"CPU:{n}" for n in range(8)]),
    "four": ((2, 2), [f"CPU:{n}" for n in range(4)]),
}


def mesh_of(name):
    (batch, model), devices = MESHES[name]
    return dtensor.create_mesh([("batch", batch), ("model", model)], devices=devices)


def layout(mesh, *axes):
    return dtensor.Layout(list(axes), mesh)


def specs(x):
    return dtensor.fetch_layout(x).sharding_specs


def part_of(variable):
    """The shape of what the first device has."""
    return list(nearest(variable.read_value()).addressable_shards[0].data.shape)


# -- a network of two layers, and a loop of one's own


def network(name):
    """Its variables and data; on one device without a name."""
    normal = tf.random.stateless_normal
    if name is None:
        variables = [normal([32, 128], [1, 2]), tf.zeros([128]), normal([128, 8], [3, 4])]
        return [tf.Variable(x) for x in variables], tf.constant(X), tf.constant(Y)
    mesh, made = mesh_of(name), dtensor.call_with_layout
    variables = [
        made(normal, layout(mesh, U, "model"), [32, 128], [1, 2]),
        tf.zeros([128], layout=layout(mesh, "model")),
        made(normal, layout(mesh, "model", U), [128, 8], [3, 4]),
    ]
    x, y = [dtensor.copy_to_mesh(data, layout(mesh, "batch", U)) for data in (X, Y)]
    return [dtensor.DVariable(x) for x in variables], x, y


def loss_of(variables, x, y):
    w, b, v = variables
    return tf.reduce_mean(tf.square(tf.nn.relu(x @ w + b) @ v - y))


def step_of(variables, way):
    inner = tf.function(lambda x, y: loss_of(variables, x, y)) if way == "tape outside" else None

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(variables, x, y) if inner is None else inner(x, y)
        for variable, slope in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(1e-3 * slope)
        return loss

    return tf.function(step) if way == "function" else step


def trained(name, way="function"):
    """Losses and variables after some steps, and what the devices have of the variables."""
    variables, x, y = network(name)
    step = step_of(variables, way)
    found = [float(step(x, y)) for _ in range(4)]
    parts = [] if name is None else [part_of(variable) for variable in variables]
    for variable in variables:
        found += variable.numpy().ravel()[::37].tolist()
    return found, parts


def collectives(name):
    """The collective operations of a step, and the largest array that a device has in it."""
    variables, x, y = network(name)
    step = step_of(variables, "function")
    text = step.experimental_get_compiler_ir(x, y)(stage="optimized_hlo")
    names = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
    return dict(Counter(re.findall(rf" ({names})\(", text)))


# -- single operations, and what belongs to tensors


def operations():
    """The layouts of results; those of TensorFlow 2.21 on eight logical CPUs."""
    mesh = mesh_of("both")
    a = tf.ones([4, 8], layout=layout(mesh, "batch", U))
    b = tf.ones([8, 4], layout=layout(mesh, "model", "batch"))
    v = dtensor.DVariable(a)

    @tf.function
    def inside(x):
        return dtensor.relayout(x, layout(mesh, "batch", "model")), tf.reduce_sum(x), x + 1.0

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    return {
        "sum": specs(a + a),
        "sum with a number": specs(a + 1.0),
        "sum with a tensor": specs(a + tf.ones([8])),
        "reduced": specs(tf.reduce_sum(a, 1)),
        "reduced along the parts": specs(tf.reduce_sum(a, 0)),
        "transposed": specs(tf.transpose(a)),
        "reshaped": specs(tf.reshape(a, [32])),
        "column": specs(a[:, 0]),
        "concatenated": specs(tf.concat([a, a], 1)),
        "softmax": specs(tf.nn.softmax(a)),
        "gathered": specs(tf.gather(b, [0, 1])),
        "argmax": specs(tf.argmax(a, 1)),
        "like": specs(tf.zeros_like(a)),
        "inside": [specs(x) for x in inside(a)],
        "slope": specs(tape.gradient(loss, v)),
        "products": float(tf.reduce_sum(a @ b)),
        "where": specs(tf.where(a > 0)),
        "device": a.device,
        "text": str(tf.ones([2], layout=layout(mesh, "batch"))),
        "parts": [x.device[-1] + str(x.shape) for x in dtensor.unpack(a)][:2],
        "matched": specs(dtensor.relayout(a, layout(mesh, dtensor.MATCH, "model"))),
    }


def numbers():
    """Whether random numbers are those of one device, and whether any device made all of them."""
    mesh, found = mesh_of("both"), {}
    for name in ("stateless_uniform", "stateless_normal", "stateless_truncated_normal"):
        function = getattr(tf.random, name)
        made = dtensor.call_with_layout(function, layout(mesh, "model", "batch"), [64, 96], [1, 2])
        parts = [shard.data.size for shard in array_of(made).addressable_shards]
        with settings.executor("interpret"):
            wanted = function([64, 96], [1, 2]).numpy()
        found[name] = [float(np.abs(made.numpy() - wanted).max()), max(parts)]
    return found


def variables():
    """What is assigned gets the variable's layout."""
    mesh = mesh_of("both")
    v = dtensor.DVariable(tf.ones([4, 8]), layout=layout(mesh, "batch", U))
    told = [part_of(v)]
    for value in (np.zeros([4, 8], "float32"), tf.ones([4, 8], layout=layout(mesh, U, "model"))):
        v.assign(value)
        told.append(part_of(v))
    v.assign_add(v * 2.0)
    v.assign_sub(np.ones([4, 8], "float32"))
    told.append(part_of(v))

    @tf.function
    def change():
        v.assign(tf.transpose(tf.reshape(tf.range(32.0), [8, 4])))

    change()
    return [*told, part_of(v)], v.numpy().tolist()


def errors():
    mesh, other = mesh_of("both"), mesh_of("four")
    a = tf.ones([4, 8], layout=layout(mesh, "batch", U))
    tries = {
        "meshes": lambda: a + tf.ones([4, 8], layout=layout(other, "batch", U)),
        "rank": lambda: dtensor.relayout(a, layout(mesh, "batch")),
        "sizes": lambda: dtensor.relayout(tf.ones([3, 8]), layout(mesh, "batch", U)),
        "shape": lambda: dtensor.DVariable(a).assign(tf.ones([4, 4])),
        "index": lambda: tf.gather(a, [9]).numpy(),
    }
    found = {}
    for name, attempt in tries.items():
        try:
            attempt()
            found[name] = "nothing"
        except Exception as error:  # noqa: BLE001 -- its class is what is asked for
            found[name] = type(error).__name__
    return found


def restored():
    """A checkpoint of 8 devices on 4."""
    (w, *_), _, _ = network("both")
    prefix = tempfile.mkdtemp() + "/saved"
    path = tf.train.Checkpoint(w=w).save(prefix)
    there = dtensor.DVariable(tf.zeros([32, 128], layout=layout(mesh_of("four"), U, "model")))
    tf.train.Checkpoint(w=there).restore(path).assert_consumed()
    return part_of(w), part_of(there), bool(np.array_equal(w.numpy(), there.numpy()))


def batches():
    mesh = mesh_of("both")
    rows = dtensor.DTensorDataset(
        tf.data.Dataset.from_tensor_slices(X),
        mesh=mesh,
        layouts=layout(mesh, "batch", U),
        global_batch_size=16,
        batch_dim="batch",
    )
    return [[list(dtensor.unpack(x)[0].shape), specs(x)] for x in rows][:2]


def mutant(name, function):
    """The layout that a function asks for, where something is wrong."""
    from talweg.execute.xla.rules import JaxHandler

    before = getattr(JaxHandler, name)
    setattr(JaxHandler, name, function)
    try:
        return operations()["inside"]
    finally:
        setattr(JaxHandler, name, before)


# -- Keras


def distributed(kind, shape=(2, 4)):
    keras = tf.keras.distribution
    devices = [f"cpu:{n}" for n in range(int(np.prod(shape)))]
    if kind == "data":
        return keras.DataParallel(devices=devices)
    mesh = keras.DeviceMesh(shape, ("batch", "model"), devices)
    layouts = keras.LayoutMap(mesh)
    layouts[".*up/kernel"], layouts[".*up/bias"] = (None, "model"), ("model",)
    layouts[".*down/kernel"] = ("model", None)
    return keras.ModelParallel(layout_map=layouts, batch_dim_name="batch")


def keras_model():
    keras = tf.keras
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((32,)),
            keras.layers.Dense(64, activation="gelu", name="up"),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(16, name="down"),
            keras.layers.LayerNormalization(),
            keras.layers.Dense(4),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    return model


def keras_fit(distribution):
    """Losses of batches of 16, of which the last has 8; the model."""
    tf.keras.distribution.set_distribution(distribution)
    model = keras_model()
    x = X[:40]
    found = model.fit(x, KINDS, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"]
    found += model.evaluate(x[:32], KINDS[:32], batch_size=16, verbose=0)
    return [*found, *model.predict(x[:32], batch_size=16, verbose=0)[::5].ravel().tolist()], model


def keras_programs():
    one, _ = keras_fit(None)
    found = {"one": one}
    found["data"], _ = keras_fit(distributed("data", (8,)))
    found["model"], model = keras_fit(distributed("model"))
    kernel = model.get_layer("up").kernel
    path = tempfile.mkdtemp() + "/model.weights.h5"
    model.save_weights(path)
    slots = [v for v in model.optimizer.variables if "up_kernel" in v.path]
    said = {"parts": [part_of(v.value) for v in [kernel, *slots]]}
    tf.keras.distribution.set_distribution(distributed("model", (2, 2)))
    fewer = keras_model()
    fewer.load_weights(path)
    said["restored"] = part_of(fewer.get_layer("up").kernel.value)
    said["equal"] = bool(np.array_equal(fewer.get_layer("up").kernel.numpy(), kernel.numpy()))
    tf.keras.distribution.set_distribution(None)
    return found, said


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 8)
    with settings.executor("xla"):
        found = {"one": trained(None)}
        found |= {name: trained(name) for name in ("data", "model", "both")}
        found |= {way: trained("both", way) for way in ("eager", "tape outside")}
        said = {
            "trained": found,
            "collectives": {name: collectives(name) for name in ("data", "model", "both")},
            "operations": operations(),
            "numbers": numbers(),
            "variables": variables(),
            "errors": errors(),
            "restored": restored(),
            "batches": batches(),
            "mutant": mutant("relayout", lambda self, x, layout: x),
            "keras": keras_programs(),
        }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
