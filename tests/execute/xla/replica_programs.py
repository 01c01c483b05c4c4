"""Programs of replicas, run by `test_replicas.py` in a process of 8 devices; prints their results.

Each takes a strategy, and gives numbers that must be the same on 1, 2 and 8 devices.
"""

from __future__ import annotations

import json

import numpy as np

import talweg as tf
from talweg.core import settings

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3)).astype("float32")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "float32")
IMAGES = RANDOM.normal(size=(40, 6, 6, 1)).astype("float32")
KINDS = RANDOM.integers(0, 4, 40)
PROGRAMS = {}
RECORDED = ("replicas_in_a_training_loop", "replicas_with_normalization")


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def replica():
    return tf.distribute.get_replica_context()


@program
def custom_loop(strategy):
    """Gradients are summed; the last batch of 40 rows by 16 has parts of one row or none."""
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
    data = strategy.experimental_distribute_dataset(data)
    with strategy.scope():
        w = tf.Variable(tf.zeros([3, 1]))
        seen = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(x @ w - y)) / 16
        w.assign_sub(0.1 * replica().all_reduce("SUM", tape.gradient(loss, w)))
        seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(train, args=(x, y)), axis=None)

    losses = [float(step(x, y)) for _ in range(3) for x, y in data]
    return [*losses, *w.numpy().ravel().tolist(), float(seen)]


def network(strategy, steps=1, policy="float32"):
    keras = tf.keras
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(policy)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((6, 6, 1)),
                keras.layers.Conv2D(4, 3, activation="gelu"),
                keras.layers.MaxPool2D(),
                keras.layers.Flatten(),
                keras.layers.Dense(4, dtype="float32"),
            ]
        )
        optimizer = keras.optimizers.Adam(1e-2)
        if policy == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, metrics=["accuracy"], steps_per_execution=steps)
    keras.mixed_precision.set_global_policy("float32")
    return model


def fitted(model, rows=40, epochs=2):
    x, y = IMAGES[:rows], KINDS[:rows]
    history = model.fit(x, y, batch_size=16, epochs=epochs, shuffle=False, verbose=0).history
    weights = [float(np.sum(np.abs(w))) for w in model.get_weights()]
    return [*history["loss"], *history["accuracy"], *weights]


@program
def keras_network(strategy):
    model = network(strategy)
    found = fitted(model)
    found += model.evaluate(IMAGES[:32], KINDS[:32], batch_size=16, verbose=0)
    return found + model.predict(IMAGES[:32], batch_size=16, verbose=0)[::5].ravel().tolist()


@program
def several_steps_at_once(strategy):
    return fitted(network(strategy, steps=2), 32, 2)


@program
def exchanges(strategy):
    """Values that only exist for several replicas, as what they say of all of them."""

    @tf.function
    def step(x):
        def own(x):
            context = replica()
            every = context.all_gather(x, axis=0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                total = context.all_reduce("MEAN", tf.reduce_sum(x * x))
            slope = tape.gradient(total, x)
            merged = context.merge_call(
                lambda s, v: s.reduce("SUM", v, axis=None), args=(tf.reduce_sum(x),)
            )
            return tf.reduce_sum(every), merged, context.all_reduce("SUM", tf.reduce_sum(slope))

        return strategy.run(own, args=(x,))

    data = tf.data.Dataset.from_tensor_slices(X[:16]).batch(16)
    batch = next(iter(strategy.experimental_distribute_dataset(data)))
    every, merged, slope = [strategy.experimental_local_results(v)[-1] for v in step(batch)]
    return [float(every), float(merged), float(slope)]


@program
def branches_and_loops(strategy):
    """Replicas meet inside of a branch, and in a loop that all of them make as often."""
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step(x, n):
        def own(x):
            context, i = replica(), tf.constant(0)
            found = tf.reduce_sum(x)
            while i < n:
                found = context.all_reduce("SUM", found) / strategy.num_replicas_in_sync
                i += 1
            if n > 2:
                found = context.merge_call(
                    lambda s, v: s.reduce("SUM", v, axis=None), args=(tf.reduce_sum(x),)
                )
            total.assign_add(found / strategy.num_replicas_in_sync)
            return found

        return strategy.reduce("MEAN", strategy.run(own, args=(x,)), axis=None)

    data = tf.data.Dataset.from_tensor_slices(X[:16]).batch(16)
    batch = next(iter(strategy.experimental_distribute_dataset(data)))
    found = [float(step(batch, tf.constant(3))) for _ in range(2)]
    return [*found, float(total)]


# -- what replicas do one after the other


def first_batch(strategy, rows):
    data = tf.data.Dataset.from_tensor_slices(X[:rows]).batch(rows)
    return next(iter(strategy.experimental_distribute_dataset(data)))


@program
def steps_in_python(strategy):
    """Functions of Python in the replicas, and what they exchange of that."""
    seen = []

    @tf.function
    def step(x):
        def own(x):
            def note(total):
                seen.append(float(total))
                return total * np.float32(2)

            found = tf.numpy_function(note, [tf.reduce_sum(x)], tf.float32)
            found = tf.py_function(lambda total: total + 1.0, [found], tf.float32)
            tf.print("a replica has", found, output_stream="file:///dev/null")
            number = tf.cast(strategy.num_replicas_in_sync, tf.float32)
            return replica().all_reduce("SUM", tf.ensure_shape(found, [])) - number

        return strategy.reduce("MEAN", strategy.run(own, args=(x,)), axis=None)

    found = [float(step(first_batch(strategy, 16))) for _ in range(2)]
    assert len(seen) == 2 * strategy.num_replicas_in_sync
    return [*found, sum(seen)]


@program
def uneven_batches(strategy):
    """Batches that cannot be divided evenly, between one that can."""
    with strategy.scope():
        rows = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    @tf.function
    def step(x):
        def own(x):
            rows.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
            return replica().all_reduce("SUM", tf.reduce_sum(x))

        return strategy.reduce("MEAN", strategy.run(own, args=(x,)), axis=None)

    found = [float(step(first_batch(strategy, count))) for count in (5, 16, 3)]
    return [*found, float(rows)]


# -- what is said of 8 replicas only


def meets_alone(strategy):
    """A branch that some replicas take, in which they would wait for the others."""

    @tf.function
    def step():
        def own():
            context = replica()
            found = tf.cast(context.replica_id_in_sync_group, tf.float32)
            if context.replica_id_in_sync_group > 3:
                found = context.all_reduce("SUM", found)
            return found

        return strategy.run(own)

    try:
        step()
    except Exception as error:  # noqa: BLE001 -- the text is what is asked for
        return type(error).__name__
    return "nothing"


def random_numbers(strategy):
    @tf.function
    def step():
        return strategy.run(lambda: tf.random.uniform([2], seed=3))

    tf.random.set_seed(2)
    values = [value.numpy().tolist() for _ in range(2) for value in step().values]
    return len({tuple(value) for value in values})


def errors(strategy):
    with strategy.scope():
        held = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.MEAN)

    @tf.function
    def step(i):
        def own():
            held.assign_add([1.0, 1.0])
            return tf.gather(held, i)

        return strategy.run(own)

    step(tf.constant(1))
    try:
        step(tf.constant(7))
    except tf.errors.InvalidArgumentError as error:
        text = str(error)
    step(tf.constant(0))
    return ["7" in text, [part.numpy().tolist() for part in held.values]]


def lost(strategy, mutant):
    """The custom loop where replicas meet wrongly."""
    from talweg.execute.xla.rules import JaxHandler

    before, JaxHandler.all_reduce = JaxHandler.all_reduce, mutant
    try:
        return custom_loop(strategy)
    finally:
        JaxHandler.all_reduce = before


def collectives(strategy):
    """How many collective operations the step of the custom loop is compiled to, by name."""
    texts = []
    for replicas in strategy.extended.on_devices.values():
        for version in replicas._programs.values():
            executable = version.executable
            arguments = (executable._kinds(executable.befores), executable._kinds(executable.rest))
            _, lowered = executable_of(executable, arguments)
            texts.append(lowered.compile().as_text())
    names = ("all-reduce(", "all-gather(", "all-to-all(", "collective-permute(")
    return [{name[:-1]: text.count(f" {name}") for name in names} for text in texts]


def executable_of(executable, arguments):
    from talweg.execute.xla import engine

    with engine.wide():
        return engine.jit_sharded(executable._everywhere(), arguments)


def recorded(name):
    """The losses that a program of Keras's gives on two devices."""
    from tests.keras_models.programs import replicas, support  # noqa: F401 -- registers programs

    tf.keras.utils.set_random_seed(1)
    tf.keras.backend.clear_session()
    return support.PROGRAMS[name](tf, tf.keras)


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 8)
    names = [f"CPU:{number}" for number in range(8)]
    found, used = {}, {}
    with settings.executor("xla"):
        for name, run in PROGRAMS.items():
            for count in (1, 2, 8):
                strategy = tf.distribute.MirroredStrategy(names[:count])
                found.setdefault(name, {})[count] = run(strategy)
                if count > 1:
                    known = strategy.extended.on_devices.values()
                    used[f"{name} {count}"] = sum(len(each._programs) for each in known)
        strategy = tf.distribute.MirroredStrategy()
        custom_loop(strategy)
        said = {
            "used": used,
            "collectives": collectives(strategy),
            "random": random_numbers(strategy),
            "errors": errors(strategy),
            "lost sum": lost(strategy, lambda self, x, count: x),
            "wrong divisor": lost(strategy, lambda self, x, count: x * (count + 1)),
            "alone": meets_alone(strategy),
            "float16": fitted(network(strategy, policy="mixed_float16"), 32, 1),
        }
        one = tf.distribute.MirroredStrategy(["CPU:0"])
        said["recorded"] = {name: recorded(name) for name in RECORDED}
        said["float16 alone"] = fitted(network(one, policy="mixed_float16"), 32, 1)
    print(json.dumps([found, said]))


if __name__ == "__main__":
    main()
