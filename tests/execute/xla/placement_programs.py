"""What a program sees on a machine with three GPUs; run by `test_placement.py` in its own process.

There is no GPU: three of four virtual CPU devices are called GPUs, where platforms are read.
"""

from __future__ import annotations

import json
import sys

import talweg as tf
from talweg.core.machine import machine
from talweg.execute import choice, executor


def kind(error, call):
    """The text of the error that a call raises."""
    try:
        call()
    except error as raised:
        return str(raised).splitlines()[0]
    return "nothing"


def before_anything_runs():
    gpus = tf.config.list_physical_devices("GPU")
    found = {
        "physical": [device.name for device in tf.config.list_physical_devices()],
        "logical": [device.name for device in tf.config.list_logical_devices()],
        "growth": [tf.config.experimental.get_memory_growth(gpu) for gpu in gpus],
    }
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    found["grown"] = [tf.config.experimental.get_memory_growth(gpu) for gpu in gpus]
    tf.config.set_visible_devices([], "GPU")
    found["hidden"] = [tf.config.list_logical_devices("GPU"), executor.chosen.value]
    tf.config.set_visible_devices(gpus[1:], "GPU")
    found["visible"] = [device.name for device in tf.config.get_visible_devices()]
    found["chosen"] = executor.chosen.value
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    found["divided"] = kind(
        ValueError, lambda: tf.config.set_logical_device_configuration(gpus[0], two)
    )
    found["jax"] = "jax" in sys.modules
    return found


def functions():
    compiled, interpreted = [], executor.xla_program.XlaProgram
    before = interpreted.__init__

    def counted(self, *args, **kwargs):
        compiled.append(1)
        before(self, *args, **kwargs)

    interpreted.__init__ = counted
    v = tf.Variable([1.0, 2.0])

    def double():
        @tf.function
        def doubled(x):
            v.assign_add(x)
            return v * 2.0

        return doubled

    def ran(call):
        before = len(compiled)
        result = call(tf.constant([1.0, 1.0]))
        return [len(compiled) - before, result.device.rpartition("device:")[2]]

    found = {"nowhere": ran(double())}
    with tf.device("/GPU:0"):
        found["gpu"] = ran(double())
        found["eager"] = (tf.constant(1.0) + 1.0).device.rpartition("device:")[2]
    with tf.device("/CPU:0"):
        found["cpu"] = ran(double())
    with tf.device("/GPU:7"):
        found["soft"] = ran(double())
    tf.config.set_soft_device_placement(False)
    found["hard"] = kind(tf.errors.InvalidArgumentError, lambda: tf.device("/GPU:7").__enter__())
    tf.config.set_soft_device_placement(True)
    found["value"] = v.numpy().tolist()
    return found


def number_of(tensor):
    """The name of a tensor's device, and the number of the device that JAX has it on."""
    (there,) = tensor._resident.devices()
    return [tensor.device.rpartition("device:")[2], there.id]


def placed():
    """Functions that run on the second GPU, and on the first one with what they gave."""
    v = tf.Variable([1.0, 2.0, 3.0])
    x = tf.constant([1.0, 0.0, -1.0])

    @tf.function
    def step(x):
        v.assign_add(x)
        return tf.reduce_sum(v * x)

    @tf.function
    def inside(x):
        with tf.device("/GPU:1"):
            return tf.exp(x) * v

    found = {"first": [], "second": [], "inside": [], "sums": []}
    for _ in range(3):
        for name, device in (("first", None), ("second", "/GPU:1")):
            for _ in range(3):
                with tf.device(device):
                    result = step(x)
                found[name].append(number_of(result))
                found["sums"].append(float(result))
        made = inside(x)
        found["inside"].append(number_of(made))
        step(tf.constant([0.0, 1.0, 0.0]))
        found["mixed"] = number_of(step(0.0 * x + made - made))
    found["value"] = v.numpy().tolist()

    with tf.device("/GPU:1"), tf.GradientTape() as tape:
        y = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * v))(x)
    gradient = tape.gradient(y, v)
    found["tape"] = [number_of(y), number_of(gradient)]
    found["gradient"] = gradient.numpy().tolist()
    with tf.device("/GPU:0"):
        half = tf.function(lambda x: (x, other_half(x)))
        other_half = tf.function(lambda x: 2.0 * x)
        found["nested"] = [number_of(part) for part in half(made)]
    return found


def replicas():
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        w = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step(x):
        def own(x):
            w.assign_add(x)
            return tf.distribute.get_replica_context().all_reduce("SUM", x)

        return strategy.run(own, args=(x,))

    value = step(tf.constant(3.0))  # the same in both
    known = strategy.extended.on_devices.values()
    return {
        "devices": [name.rpartition("device:")[2] for name in strategy.extended.worker_devices],
        "value": float(value),
        "w": float(w),
        "programs": sum(len(each._programs) for each in known),
        "jax": [device.id for device in strategy.extended.mesh.devices],
    }


def afterwards():
    gpus = tf.config.list_physical_devices("GPU")
    growth = tf.config.experimental.set_memory_growth
    info = tf.config.experimental.get_memory_info
    return {
        "growth": kind(RuntimeError, lambda: growth(gpus[0], False)),
        "visible": kind(RuntimeError, lambda: tf.config.set_visible_devices(gpus, "GPU")),
        "memory": kind(ValueError, lambda: info("GPU:0")),
        "no memory": kind(ValueError, lambda: info("GPU:5")),
        "details": tf.config.experimental.get_device_details(gpus[1]),
    }


def tpus():
    """No TPU, and then CPUs that are called cores of one."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
    begin = tf.tpu.experimental.initialize_tpu_system
    found = {"none": kind(tf.errors.NotFoundError, lambda: tf.distribute.TPUStrategy(resolver))}
    found["not begun"] = kind(tf.errors.NotFoundError, lambda: begin(resolver))
    machine.platforms["TPU"] = "cpu"
    begin(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step():
        context = tf.distribute.get_replica_context()
        own = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0
        v.assign_add(own)
        return context.all_reduce("SUM", own)

    results = strategy.experimental_local_results(strategy.run(step))
    programs = [len(each._programs) for each in strategy.extended.on_devices.values()]
    machine.platforms.pop("TPU")
    return found | {
        "devices": list(strategy.extended.worker_devices),
        "results": [float(value) for value in results],
        "variable": float(v.read_value()),
        "programs": programs,
    }


def main():
    machine._gpus, machine.platforms, machine.cpus = 3, {"GPU": "cpu"}, 4
    choice.follow_devices()
    parts = (before_anything_runs, functions, placed, replicas, tpus, afterwards)
    print(json.dumps({part.__name__: part() for part in parts}))


if __name__ == "__main__":
    main()
