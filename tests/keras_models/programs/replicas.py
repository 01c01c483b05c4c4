"""Training in two replicas on one CPU (`tf.distribute.MirroredStrategy`)."""

from __future__ import annotations

import numpy as np

from .support import classes, losses, program, regression, seeded


def two_replicas(tf):
    """A strategy of two replicas, which add on one device: TensorFlow's collective operations know
    one strategy a process."""
    add = tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=add)


def sums(strategy, model):
    """The sum of each weight, in each replica."""
    values = [strategy.experimental_local_results(w.value) for w in model.trainable_weights]
    return [float(np.sum(np.asarray(part))) for parts in values for part in parts]


def network(keras, last, *middle, inputs=(6,)):
    """A network with given layers between two of its own."""
    return seeded(
        keras.Sequential(
            [keras.layers.Input(inputs), keras.layers.Dense(8, activation="tanh"), *middle, last]
        )
    )


@program
def replicas_fit_with_uneven_batches(tf, keras):
    x, y = regression(rows=27)
    strategy = two_replicas(tf)
    with strategy.scope():
        model = network(keras, keras.layers.Dense(1))
        model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(
        x, y, batch_size=8, epochs=3, verbose=0, shuffle=False, validation_data=(x[:9], y[:9])
    )
    return losses(history) + sums(strategy, model)


@program
def replicas_evaluate_and_predict(tf, keras):
    x, y = classes((6,), rows=22)
    strategy = two_replicas(tf)
    with strategy.scope():
        model = network(keras, keras.layers.Dense(3, activation="softmax"))
        model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    loss, accuracy = model.evaluate(x, y, batch_size=6, verbose=0)
    found = model.predict(x, batch_size=8, verbose=0)
    return [loss, accuracy, *found[::7].ravel().tolist(), float(len(found))]


@program
def replicas_with_weights_and_regularizers(tf, keras):
    x, y = classes((6,), rows=24)
    weights = np.linspace(0.5, 2.0, 24).astype("float32")
    strategy = two_replicas(tf)
    with strategy.scope():
        last = keras.layers.Dense(3, kernel_regularizer=keras.regularizers.L2(0.05))
        model = network(keras, last)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss)
    history = model.fit(
        x, y, batch_size=8, epochs=3, verbose=0, shuffle=False, sample_weight=weights
    )
    return losses(history) + sums(strategy, model)


@program
def replicas_with_normalization(tf, keras):
    x, y = classes((8, 8, 1), rows=16)
    found = []
    for together in (False, True):
        strategy = two_replicas(tf)
        with strategy.scope():
            model = seeded(
                keras.Sequential(
                    [
                        keras.layers.Input((8, 8, 1)),
                        keras.layers.Conv2D(4, 3),
                        keras.layers.BatchNormalization(synchronized=together),
                        keras.layers.ReLU(),
                        keras.layers.MaxPooling2D(),
                        keras.layers.Flatten(),
                        keras.layers.Dense(3),
                    ]
                )
            )
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(keras.optimizers.SGD(0.1), loss)
        found += losses(model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False))
        found += [float(np.sum(np.asarray(w))) for w in model.non_trainable_weights]
    return found


@program
def replicas_with_embeddings_and_memory(tf, keras):
    random = np.random.default_rng(3)
    x = random.integers(0, 20, (24, 7))
    y = random.integers(0, 2, (24, 1)).astype("float32")
    strategy = two_replicas(tf)
    with strategy.scope():
        model = seeded(
            keras.Sequential(
                [
                    keras.layers.Input((7,), dtype="int32"),
                    keras.layers.Embedding(20, 6),
                    keras.layers.GRU(5),
                    keras.layers.Dense(1, activation="sigmoid"),
                ]
            )
        )
        model.compile("rmsprop", "binary_crossentropy")
    history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False)
    return losses(history) + sums(strategy, model)


@program
def replicas_with_several_steps_at_once(tf, keras):
    x, y = regression(rows=40)
    strategy = two_replicas(tf)
    with strategy.scope():
        model = network(keras, keras.layers.Dense(1))
        model.compile("sgd", "mse", steps_per_execution=3)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    return losses(model.fit(dataset, epochs=3, verbose=0)) + sums(strategy, model)


@program
def replicas_with_averages_and_limits(tf, keras):
    x, y = regression(rows=32)
    found = []
    for options in (
        {"use_ema": True, "ema_momentum": 0.8},
        {"weight_decay": 0.01, "clipnorm": 0.5},
    ):
        strategy = two_replicas(tf)
        with strategy.scope():
            model = network(keras, keras.layers.Dense(1))
            model.compile(keras.optimizers.AdamW(0.02, **options), "mse")
        found += losses(model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False))
        found += sums(strategy, model)
    return found


@program
def replicas_eagerly(tf, keras):
    x, y = regression(rows=16)
    strategy = two_replicas(tf)
    with strategy.scope():
        model = network(keras, keras.layers.Dense(1))
        model.compile("adam", "mse", run_eagerly=True)
    history = model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False)
    return losses(history) + sums(strategy, model)


@program
def replicas_in_a_training_loop(tf, keras):
    x, y = classes((6,), rows=30)
    strategy = two_replicas(tf)
    size = 8
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(size)
    dataset = strategy.experimental_distribute_dataset(dataset)
    with strategy.scope():
        model = network(keras, keras.layers.Dense(3))
        optimizer = keras.optimizers.Adam(0.05)
        criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        test_loss = keras.metrics.Mean()

    def train(inputs):
        features, labels = inputs
        with tf.GradientTape() as tape:
            logits = model(features, training=True)
            each = criterion(labels, logits)
            loss = tf.nn.compute_average_loss(each, global_batch_size=size)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        accuracy.update_state(labels, logits)
        return loss

    def test(inputs):
        test_loss.update_state(criterion(inputs[1], model(inputs[0], training=False)))

    @tf.function
    def train_step(inputs):
        each = strategy.run(train, args=(inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, each, axis=None)

    @tf.function
    def test_step(inputs):
        return strategy.run(test, args=(inputs,))

    found = []
    for _ in range(3):
        found += [float(train_step(inputs)) for inputs in dataset]
        for inputs in dataset:
            test_step(inputs)
        found += [float(accuracy.result()), float(test_loss.result())]
        accuracy.reset_state()
        test_loss.reset_state()
    return found + sums(strategy, model)


@program
def replicas_with_datasets_of_their_own(tf, keras):
    x, y = regression(rows=32)
    strategy = two_replicas(tf)

    def make(context):
        size = context.get_per_replica_batch_size(8)
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(size)

    with strategy.scope():
        model = network(keras, keras.layers.Dense(1))
        model.compile("sgd", "mse")
    dataset = strategy.distribute_datasets_from_function(make)
    return losses(model.fit(dataset, epochs=2, verbose=0)) + sums(strategy, model)
