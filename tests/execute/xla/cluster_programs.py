"""Programs of the workers of a cluster, each run in a process of its own by `test_clusters.py`.

`python -m tests.execute.xla.cluster_programs JOB NUMBER PORTS FOLDER`: job `train` ends with a
worker that is killed, `again` goes on from the last checkpoint.  Prints what was found.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

import talweg as tf

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(20, 3)).astype("float32")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "float32")
IMAGES = RANDOM.normal(size=(40, 8, 8, 1)).astype("float32")
KINDS = RANDOM.integers(0, 4, 40)
STEPS, EVERY, UNTIL = 8, 2, 5  # of the steps with checkpoints; the first job stops after UNTIL
EPOCHS, DIES = 3, (1, 1)  # of the network with a backup; the epoch and batch of a worker's end


def replica():
    return tf.distribute.get_replica_context()


def custom_loop(strategy, start=0.0):
    """Gradients are summed; the last batch of 20 rows by 8 has a part for each of two replicas."""
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    data = strategy.experimental_distribute_dataset(data)
    with strategy.scope():
        w = tf.Variable(tf.zeros([3, 1]) + start)
        seen = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(x @ w - y)) / 8
        w.assign_sub(0.1 * replica().all_reduce("SUM", tape.gradient(loss, w)))
        seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(train, args=(x, y)), axis=None)

    losses = [float(step(x, y)) for _ in range(2) for x, y in data]
    return [*losses, *w.numpy().ravel().tolist(), float(seen)]


def network(strategy):
    """Keras's fit, whose last batch has parts of other sizes; the weights of all layers."""
    keras = tf.keras
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((8, 8, 1)),
                keras.layers.Conv2D(4, 3, activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dense(4),
            ]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, metrics=["accuracy"])
    history = model.fit(IMAGES, KINDS, batch_size=16, epochs=1, shuffle=False, verbose=0).history
    weights = [weight.ravel().tolist() for weight in model.get_weights()]
    return [*history["loss"], *history["accuracy"], *sum(weights, [])]


def exchanges(strategy, own):
    """What replicas exchange, in and outside of functions."""
    with strategy.scope():
        mean = tf.Variable(1.0 + own, aggregation=tf.VariableAggregation.MEAN)
        first = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    def of_replica(x):
        context = replica()
        number = tf.cast(context.replica_id_in_sync_group, tf.float32)
        mean.assign_add(number)
        first.assign(number + 3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            every = context.all_gather(x[tf.newaxis] * (number + 1.0), axis=0)
            total = tf.reduce_sum(every * every)
        return context.all_reduce("SUM", x), every, tape.gradient(total, x)

    x = tf.constant(2.0 + own)
    eager = strategy.run(of_replica, args=(x,))
    traced = tf.function(lambda x: strategy.run(of_replica, args=(x,)))(x)
    rows = tf.range(1 + own)  # of different lengths
    return {
        "eager": [value.numpy().tolist() for value in eager],
        "traced": [value.numpy().tolist() for value in traced],
        "mean": float(mean),
        "first": float(first),
        "reduced": [
            float(strategy.reduce("SUM", x, axis=None)),
            float(strategy.reduce("MEAN", tf.cast(rows, tf.float32), axis=0)),
        ],
        "gathered": strategy.gather(rows, axis=0).numpy().tolist(),
        "half": strategy.gather(tf.constant([own + 0.5], tf.bfloat16), axis=0).numpy().tolist(),
    }


def with_checkpoints(strategy, own, folder, until):
    """Steps with a summary, every other one with a checkpoint: each worker makes them.

    What the first one makes is kept.
    """
    with strategy.scope():
        w, count = tf.Variable(tf.zeros([3])), tf.Variable(0)
    about = strategy.extended
    place = folder / ("checkpoints" if about.should_checkpoint else f"temporary-{own}")
    logs = folder / ("logs" if about.should_save_summary else f"temporary-logs-{own}")
    writer = tf.summary.create_file_writer(str(logs))
    checkpoint = tf.train.Checkpoint(w=w, count=count)
    manager = tf.train.CheckpointManager(checkpoint, str(place), 2)
    last = tf.train.latest_checkpoint(str(folder / "checkpoints"))
    checkpoint.restore(last)
    began = int(count)

    @tf.function
    def step(x):
        def of_replica(x):
            w.assign(0.5 * w + replica().all_reduce("SUM", x))
            count.assign(count + 1)

        strategy.run(of_replica, args=(x,))

    for number in range(began, until):
        step(tf.ones([3]) * (number + own))
        with writer.as_default(step=number):
            tf.summary.scalar("count", count)
        if (number + 1) % EVERY == 0:
            manager.save()
    writer.close()
    return began, w.numpy().tolist()


def summaries(folder):
    """The numbers of the steps whose summaries are in a folder."""
    read = tf.compat.v1.train.summary_iterator
    events = [event for path in sorted(folder.iterdir()) for event in read(str(path))]
    return [event.step for event in events if event.summary.value]


def with_backup(strategy, own, folder, dies):
    """Keras's fit with a backup after each epoch; the epochs that it ran, and all weights."""
    keras = tf.keras
    keras.utils.set_random_seed(2)
    keras.utils.clear_session()  # names count the models of this worker alone, too
    began, place = [], str(folder / f"backup-{own}")

    def end(epoch, batch):
        if dies and own == 1 and (epoch, batch) == DIES:
            os.kill(os.getpid(), signal.SIGKILL)

    class Follow(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            began.append(epoch)

        def on_train_batch_begin(self, batch, logs=None):
            end(began[-1], batch)

    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    callbacks = [keras.callbacks.BackupAndRestore(place), Follow()]
    rows = slice(0, 16)
    model.fit(X[rows], Y[rows], 8, epochs=EPOCHS, shuffle=False, verbose=0, callbacks=callbacks)
    weights = [w.numpy().ravel().tolist() for w in [*model.weights, *model.optimizer.variables]]
    return began, sum(weights, [])


def used(strategy):
    """How many programs were compiled for all devices together."""
    return sum(len(each._programs) for each in strategy.extended.on_devices.values())


def train(strategy, own, folder):
    found = {
        "replicas": [strategy.num_replicas_in_sync, strategy.extended.should_checkpoint],
        "loop": [custom_loop(strategy, start=5.0 * own)],
        "used": used(strategy),
        "exchanges": exchanges(strategy, own),
        "network": [network(strategy)],
    }
    with_checkpoints(strategy, own, folder, UNTIL)
    if own == 0:
        alone = tf.distribute.MirroredStrategy(["CPU:0"])
        found["loop"].append(custom_loop(alone))
        found["network"].append(network(alone))
    try:
        with_backup(strategy, own, folder, dies=True)
    except tf.errors.UnavailableError as error:
        found["error"] = str(error)
    return found


def again(strategy, own, folder):
    began, w = with_checkpoints(strategy, own, folder, STEPS)
    found = {"began": began, "w": w, "backup": with_backup(strategy, own, folder, dies=False)}
    found["summaries"] = summaries(folder / "logs")
    if own == 0:
        alone = tf.distribute.MirroredStrategy(["CPU:0"])
        found["without a stop"] = with_backup(alone, "alone", folder, dies=False)
    if own:  # the other script: what comes to the first worker is no such step

        @tf.function
        def other(x):
            return strategy.run(lambda x: replica().all_reduce("SUM", x[:2]), args=(x,))

        step = other
    else:

        @tf.function
        def step(x):
            return strategy.run(lambda x: replica().all_reduce("SUM", x), args=(x,))

    try:
        step(tf.ones([3]))
    except tf.errors.FailedPreconditionError as error:
        found["error"] = str(error)
    return found


def main():
    job, own, ports, folder = sys.argv[1:]
    workers = [f"localhost:{port}" for port in ports.split(",")]
    task = {"type": "worker", "index": int(own)}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    found = {"train": train, "again": again}[job](strategy, int(own), Path(folder))
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
