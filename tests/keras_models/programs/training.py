"""Ways of training: custom steps, losses, schedules, precision, weights, callbacks."""

from __future__ import annotations

import numpy as np

from .support import classes, fit, generator, losses, program, regression, seeded


def small(keras, inputs=6, outputs=1, activation=None):
    """A network of two layers."""
    return seeded(
        keras.Sequential(
            [
                keras.layers.Input((inputs,)),
                keras.layers.Dense(8, activation="tanh"),
                keras.layers.Dense(outputs, activation=activation),
            ]
        )
    )


@program
def generative_adversarial(tf, keras):
    x, _ = regression((4,), rows=16)

    class Adversaries(keras.Model):
        def __init__(self):
            super().__init__()
            self.maker = seeded(
                keras.Sequential(
                    [keras.layers.Input((3,)), keras.layers.Dense(6, "relu"), keras.layers.Dense(4)]
                )
            )
            self.judge = seeded(
                keras.Sequential(
                    [
                        keras.layers.Input((4,)),
                        keras.layers.Dense(6, "leaky_relu"),
                        keras.layers.Dense(1),
                    ]
                )
            )
            self.noise = keras.random.SeedGenerator(11)

        def compile(self, maker, judge, loss):
            super().compile(loss=loss)
            self.maker_optimizer, self.judge_optimizer, self.criterion = maker, judge, loss
            self.maker_loss = keras.metrics.Mean(name="maker_loss")
            self.judge_loss = keras.metrics.Mean(name="judge_loss")

        @property
        def metrics(self):
            return [self.maker_loss, self.judge_loss]

        def train_step(self, real):
            rows = tf.shape(real)[0]
            made = self.maker(keras.random.normal((rows, 3), seed=self.noise))
            both = tf.concat([made, real], axis=0)
            labels = tf.concat([tf.ones((rows, 1)), tf.zeros((rows, 1))], axis=0)
            with tf.GradientTape() as tape:
                judge_loss = self.criterion(labels, self.judge(both))
            weights = self.judge.trainable_weights
            self.judge_optimizer.apply_gradients(zip(tape.gradient(judge_loss, weights), weights))
            noise = keras.random.normal((rows, 3), seed=self.noise)
            with tf.GradientTape() as tape:
                maker_loss = self.criterion(tf.zeros((rows, 1)), self.judge(self.maker(noise)))
            weights = self.maker.trainable_weights
            self.maker_optimizer.apply_gradients(zip(tape.gradient(maker_loss, weights), weights))
            self.maker_loss.update_state(maker_loss)
            self.judge_loss.update_state(judge_loss)
            return {m.name: m.result() for m in self.metrics}

    model = Adversaries()
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.optimizers.Adam(0.01),
        keras.losses.BinaryCrossentropy(from_logits=True),
    )
    return losses(model.fit(x, batch_size=16, epochs=20, verbose=0, shuffle=False))


@program
def custom_layer_with_state(tf, keras):
    x, y = regression()

    class Scaled(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")
            self.calls = self.add_weight(
                shape=(), initializer="zeros", trainable=False, name="calls"
            )

        def call(self, inputs, training=None):
            if training:
                self.calls.assign_add(1.0)
            self.add_loss(0.01 * tf.reduce_sum(tf.square(self.scale)))
            return inputs * self.scale

    model = seeded(keras.Sequential([keras.layers.Input((6,)), Scaled(), keras.layers.Dense(1)]))
    return fit(model, x, y, optimizer="adam", loss="mse") + [float(model.layers[0].calls)]


@program
def custom_loss_with_if(tf, keras):
    x, y = regression()

    def custom_loss(y_true, y_pred):
        error = tf.abs(y_true - y_pred)
        return tf.where(tf.reduce_mean(error) > 0.5, tf.square(error), error)

    return fit(small(keras), x, y, optimizer=keras.optimizers.Adam(0.05), loss=custom_loss)


@program
def custom_metric(tf, keras):
    x, y = regression()

    class Largest(keras.metrics.Metric):
        def __init__(self, **options):
            super().__init__(**options)
            self.largest = self.add_variable(shape=(), initializer="zeros", name="largest")

        def update_state(self, y_true, y_pred, sample_weight=None):
            error = keras.ops.max(keras.ops.abs(y_true - y_pred))
            self.largest.assign(keras.ops.maximum(self.largest, error))

        def result(self):
            return self.largest

    def mean_prediction(y_true, y_pred):
        return keras.ops.mean(y_pred)

    model = small(keras)
    model.compile("sgd", "mse", metrics=[Largest(), mean_prediction])
    return losses(model.fit(x, y, batch_size=10, epochs=6, verbose=0, shuffle=False))


@program
def gradient_tape_over_model(tf, keras):
    random = generator(0)
    x = tf.constant(random.normal(size=(2, 12, 12, 1)).astype("float32"))
    model = seeded(
        keras.models.Sequential(
            [
                keras.layers.Input((12, 12, 1)),
                keras.layers.Conv2D(4, (3, 3), activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dense(10),
            ]
        )
    )
    optimizer = keras.optimizers.Adam(0.01)
    found = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        found += [float(loss), float(tf.linalg.global_norm(gradients))]
    return found


@program
def training_loop_in_a_function(tf, keras):
    x, y = regression()
    model, optimizer = small(keras), keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    criterion, mean = keras.losses.MeanSquaredError(), keras.metrics.Mean()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = criterion(y, model(x, training=True))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        mean.update_state(loss)
        return loss

    found = [float(step(tf.constant(x), tf.constant(y))) for _ in range(20)]
    return found + [float(mean.result())]


@program
def transfer_with_frozen_layers(tf, keras):
    x, y = classes((8, 8, 1))
    base = seeded(
        keras.Sequential(
            [
                keras.layers.Input((8, 8, 1)),
                keras.layers.Conv2D(4, 3, activation="relu"),
                keras.layers.BatchNormalization(),
                keras.layers.GlobalAveragePooling2D(),
            ]
        )
    )
    base.trainable = False
    inputs = keras.Input((8, 8, 1))
    outputs = keras.layers.Dense(3, activation="softmax")(base(inputs, training=False))
    model = seeded(keras.Model(inputs, outputs))
    before = [w.copy() for w in base.get_weights()]
    result = fit(model, x, y, 10, "adam")
    assert all(np.array_equal(a, b) for a, b in zip(before, base.get_weights()))
    base.trainable = True
    return result + fit(model, x, y, 10, keras.optimizers.Adam(1e-3))


@program
def mixed_precision_bfloat16(tf, keras):
    x, y = classes((8,))
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        model = keras.Sequential(
            [
                keras.layers.Input((8,)),
                keras.layers.Dense(8, activation="relu"),
                keras.layers.Dense(3),
                keras.layers.Activation("softmax", dtype="float32"),
            ]
        )
        assert model.layers[0].compute_dtype == "bfloat16"
        return fit(seeded(model), x, y, 3)
    finally:
        keras.mixed_precision.set_global_policy("float32")


@program
def mixed_precision_float16(tf, keras):
    x, y = regression()
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = small(keras)
        result = fit(model, x, y, 5, "sgd", "mse")
        assert type(model.optimizer).__name__ == "LossScaleOptimizer"
        return result
    finally:
        keras.mixed_precision.set_global_policy("float32")


@program
def gradient_accumulation(tf, keras):
    x, y = regression()
    optimizer = keras.optimizers.Adam(0.01, gradient_accumulation_steps=3)
    return fit(small(keras), x, y, 12, optimizer, "mse")


@program
def exponential_moving_average(tf, keras):
    x, y = regression()
    optimizer = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9)
    model = small(keras)
    result = fit(model, x, y, 10, optimizer, "mse")
    return result + model.get_weights()[-1].tolist() + [float(model.evaluate(x, y, verbose=0))]


@program
def schedules(tf, keras):
    x, y = regression()
    made = keras.optimizers.schedules
    result = []
    for schedule in (
        made.ExponentialDecay(0.1, 3, 0.5),
        made.PiecewiseConstantDecay([3, 6], [0.1, 0.05, 0.01]),
        made.PolynomialDecay(0.1, 8),
        made.InverseTimeDecay(0.1, 2, 0.5),
        made.CosineDecay(0.01, 8, warmup_target=0.1, warmup_steps=3),
        made.CosineDecayRestarts(0.1, 3),
    ):
        result += fit(small(keras), x, y, 8, keras.optimizers.SGD(schedule), "mse")
    return result


@program
def clipped_and_decayed(tf, keras):
    x, y = regression()
    result = []
    for options in (
        {"clipnorm": 0.1},
        {"clipvalue": 0.05},
        {"global_clipnorm": 0.1},
        {"weight_decay": 0.01},
    ):
        result += fit(small(keras), x, y, 5, keras.optimizers.Adam(0.05, **options), "mse")
    return result


@program
def optimizers(tf, keras):
    x, y = regression()
    result = []
    for name in (
        "SGD",
        "RMSprop",
        "Adam",
        "AdamW",
        "Adadelta",
        "Adagrad",
        "Adamax",
        "Adafactor",
        "Nadam",
        "Ftrl",
        "Lion",
        "Lamb",
        "Muon",
    ):
        result += fit(small(keras), x, y, 6, getattr(keras.optimizers, name)(0.02), "mse")
    return result


@program
def weights_of_classes_and_samples(tf, keras):
    x, y = classes((6,))
    weights = generator(4).uniform(0.5, 2.0, 32).astype("float32")
    result = []
    for options in (
        {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
        {"sample_weight": weights},
        {"validation_split": 0.25},
        {"validation_data": (x[:8], y[:8])},
    ):
        model = small(keras, 6, 3, "softmax")
        model.compile("sgd", "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
        history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False, **options)
        result += losses(history)
    return result


@program
def eager_and_compiled(tf, keras):
    x, y = regression()
    result = []
    for options in (
        {"run_eagerly": True},
        {"run_eagerly": False},
        {"jit_compile": True},
        {"jit_compile": False},
        {"steps_per_execution": 2},
    ):
        model = small(keras)
        model.compile("adam", "mse", **options)
        history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False)
        result += losses(history) + [float(model.evaluate(x, y, batch_size=8, verbose=0))]
    return result


@program
def inputs_of_all_kinds(tf, keras):
    x, y = regression()

    def batches():
        for _ in range(10):
            for start in range(0, 32, 8):
                yield x[start : start + 8], y[start : start + 8]

    class Sequence(keras.utils.PyDataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return x[8 * index : 8 * index + 8], y[8 * index : 8 * index + 8]

    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    result = []
    for data, options in (
        (dataset.batch(8), {}),
        (dataset.batch(8).repeat(), {"steps_per_epoch": 4}),
        (dataset.map(lambda a, b: (a * 2.0, b)).batch(8).prefetch(2), {}),
        (batches(), {"steps_per_epoch": 4}),
        (Sequence(), {"shuffle": False}),
    ):
        model = small(keras)
        model.compile("sgd", "mse")
        result += losses(model.fit(data, epochs=3, verbose=0, **options))
        result.append(float(model.evaluate(dataset.batch(5), verbose=0)))
    tensors = tf.constant(x), tf.constant(y)
    model = small(keras)
    model.compile("sgd", "mse")
    return result + losses(model.fit(*tensors, batch_size=8, epochs=2, verbose=0, shuffle=False))


@program
def shuffled_datasets(tf, keras):
    x, y = regression((6,), rows=32)
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    tf.random.set_seed(5)
    result = []
    for data in (
        dataset.shuffle(32, seed=1).batch(8),
        dataset.shuffle(32).batch(8),
        dataset.shuffle(9, seed=1, reshuffle_each_iteration=False).batch(8),
        dataset.repeat(2).shuffle(9, seed=1).batch(8),
    ):
        model = small(keras)
        model.compile("sgd", "mse")
        result += losses(model.fit(data, epochs=3, verbose=0, validation_data=data))
    return result
