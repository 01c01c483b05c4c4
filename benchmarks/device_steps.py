"""The bytes that a training step copies between the host and a device, beyond feeds and fetches.

    python -m benchmarks.device_steps fit

prints, as JSON, the bytes of a step in each direction, and those that are no feed and no fetch.
All steps train the same network (two dense layers, Adam or SGD) on batches of NumPy's arrays.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

import numpy as np

from benchmarks.device_calls import in_a_process

RATE, BATCH, WARM, STEPS = 0.01, 32, 4, 20
X = np.random.default_rng(0).normal(size=(BATCH * (WARM + STEPS), 64)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 10, len(X))
FEED = BATCH * (X[0].nbytes + Y[0].nbytes)
LOSS = 4  # bytes of a loss that is fetched


def observe(kind):
    """Bytes of a step: sent, fetched, and of both those that are no feed and no fetch."""
    import talweg as tf
    from talweg.core.transfers import transfers

    def copied(run):
        before = transfers.to_device, transfers.to_host
        run()
        return transfers.to_device - before[0], transfers.to_host - before[1]

    run, fetched = KINDS[kind](tf)
    few, many = (np.array(copied(lambda count=n: run(count))) for n in (WARM, WARM + STEPS))
    sent, back = (many - few) / STEPS
    return {"sent": sent, "fetched": back, "beyond": sent - FEED + back - fetched}


def batches(count):
    """As many batches."""
    return [slice(k * BATCH, (k + 1) * BATCH) for k in range(count)]


def fit(tf):
    """Keras's `fit`, which looks at the loss and the accuracy after each step."""
    tf.as_tensorflow()
    keras = import_module("keras")
    model = keras.Sequential([keras.layers.Dense(128, "relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])

    def run(count):
        size = count * BATCH
        model.fit(X[:size], Y[:size], batch_size=BATCH, verbose=0, shuffle=False)

    run(WARM)
    return run, 2 * LOSS


def network(tf, variable):
    """The network's variables, and its loss."""
    random = np.random.default_rng(2)
    sizes = [(64, 128), (128,), (128, 10), (10,)]
    held = [variable(0.1 * random.normal(size=size).astype(np.float32)) for size in sizes]

    def loss(x, y):
        w1, b1, w2, b2 = held
        logits = tf.nn.relu(x @ w1 + b1) @ w2 + b2
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return tf.reduce_mean(losses)

    return held, loss


def loop(tf, step):
    """Steps, the loss of each of which is fetched."""

    def run(count):
        for rows in batches(count):
            float(step(tf.constant(X[rows]), tf.constant(Y[rows])))

    run(WARM)
    return run, LOSS


def tape_inside(tf):
    """A loop whose step is one function."""
    held, loss = network(tf, tf.Variable)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(x, y)
        for variable, g in zip(held, tape.gradient(value, held), strict=True):
            variable.assign_sub(RATE * g)
        return value

    return loop(tf, step)


def tape_outside(tf):
    """A loop with the tape around a function, and a function that updates the variables."""
    held, loss = network(tf, tf.Variable)
    forward = tf.function(loss)

    @tf.function
    def update(gradients):
        for variable, g in zip(held, gradients, strict=True):
            variable.assign_sub(RATE * g)

    def step(x, y):
        with tf.GradientTape() as tape:
            value = forward(x, y)
        update(tape.gradient(value, held))
        return value

    return loop(tf, step)


def session(tf):
    """A loop of `session.run`."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [BATCH, 64])
        y = v1.placeholder(tf.int64, [BATCH])
        _, loss = network(tf, v1.Variable)
        value = loss(x, y)
        train = v1.train.AdamOptimizer(RATE).minimize(value)
        opened = v1.Session()
        opened.run(v1.global_variables_initializer())

    def run(count):
        for rows in batches(count):
            opened.run([value, train], {x: X[rows], y: Y[rows]})

    run(WARM)
    return run, LOSS


KINDS = {
    "fit": fit,
    "tape inside": tape_inside,
    "tape outside": tape_outside,
    "session": session,
}


def observed(kind):
    """`observe` in a process of its own, in which functions run through XLA."""
    return in_a_process("benchmarks.device_steps", kind)


if __name__ == "__main__":
    print(json.dumps(observe(sys.argv[1])))
