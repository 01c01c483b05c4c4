"""Keras 2, as the package tf_keras."""

from __future__ import annotations

import tempfile

import numpy as np
import tensorflow as tf
import tf_keras as keras

DRAWN = np.random.RandomState(0)
X = DRAWN.randn(64, 8).astype("float32")
Y = (X[:, :1] > 0).astype("float32")
CLASSES = DRAWN.randint(0, 3, 64)


def fit(model, x=X, y=Y, loss="mse", optimizer="adam", **options):
    """The losses of two epochs."""
    model.compile(optimizer, loss)
    return model.fit(x, y, epochs=2, verbose=0, **options).history["loss"]


def job_sequential():
    """compile, fit, evaluate, predict."""
    layers = keras.layers
    model = keras.Sequential([layers.Dense(16, "relu"), layers.Dense(1, "sigmoid")])
    losses = fit(model, loss="binary_crossentropy")
    return losses, model.evaluate(X, Y, verbose=0), model.predict(X[:3], verbose=0)


def job_functions_of_tensorflow():
    """Functions of tf on symbolic inputs become layers."""
    inputs = keras.Input((8,))
    a = keras.layers.Dense(4, "tanh")(inputs)
    joined = tf.concat([tf.nn.relu(a) + a * 2.0, inputs], 1)
    model = keras.Model(inputs, keras.layers.Dense(3)(joined[:, 1:]))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    names = [layer.name for layer in model.layers]
    return fit(model, y=CLASSES, loss=loss, optimizer=keras.optimizers.SGD(0.1)), names


def job_images():
    """Convolution, batch normalization, pooling, dropout."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(4, 3, input_shape=(8, 8, 1)),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Dropout(0.3),
            layers.Flatten(),
            layers.Dense(3, "softmax"),
        ]
    )
    images = np.random.RandomState(3).randn(64, 8, 8, 1).astype("float32")
    return fit(model, images, CLASSES, "sparse_categorical_crossentropy", "rmsprop")


def job_sequences():
    """Embedding with a mask, LSTM, GRU, attention."""
    layers = keras.layers
    words = np.random.RandomState(1).randint(0, 20, (32, 7))
    model = keras.Sequential(
        [
            layers.Embedding(20, 8, mask_zero=True),
            layers.LSTM(8, return_sequences=True),
            layers.GRU(6),
            layers.Dense(1),
        ]
    )
    inputs = keras.Input((5, 8))
    attended = layers.LayerNormalization()(layers.MultiHeadAttention(2, 4)(inputs, inputs))
    other = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling1D()(attended)))
    values = np.random.RandomState(1).randn(16, 5, 8)
    return fit(model, words, np.ones((32, 1))), fit(other, values, np.ones((16, 1)))


class Blocks(keras.Model):
    """Layers in lists, dictionaries and tuples."""

    def __init__(self):
        super().__init__()
        self.blocks = [keras.layers.Dense(4, "relu") for _ in range(2)]
        self.named = {"out": keras.layers.Dense(1)}
        self.pair = (keras.layers.Dense(3),)

    def call(self, x):
        """All of them."""
        for block in self.blocks:
            x = block(x)
        return self.named["out"](self.pair[0](x))

    def train_step(self, data):
        """A step of one's own."""
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {m.name: m.result() for m in self.metrics}


def job_subclass_and_train_step():
    """A model of one's own, with names of variables and weights in a TensorFlow checkpoint."""
    model = Blocks()
    losses = fit(model)
    folder = tempfile.mkdtemp()
    model.save_weights(f"{folder}/w")
    names = [name for name, _ in tf.train.list_variables(f"{folder}/w")]
    return losses, [v.name for v in model.variables], sorted(names)


def job_files():
    """SavedModel, H5 and the .keras format, there and back."""
    same = []
    for ending in ("", ".h5", ".keras"):
        model = keras.Sequential([keras.layers.Dense(4, "relu", input_shape=(8,))])
        fit(model, y=np.ones((64, 4)))
        path = f"{tempfile.mkdtemp()}/model{ending}"
        model.save(path)
        loaded = keras.models.load_model(path)
        same.append(np.allclose(model.predict(X, verbose=0), loaded.predict(X, verbose=0)))
    return same


def job_subclass_as_saved_model():
    """A model of one's own as a SavedModel, before and after it was used, and exported."""
    same = []
    for optimizer in (True, False):
        model = Blocks()
        fit(model)
        expected = model.predict(X, verbose=0)
        path = tempfile.mkdtemp()
        model.save(path, include_optimizer=optimizer)
        loaded, restored = keras.models.load_model(path), tf.saved_model.load(path)
        same += [np.allclose(expected, loaded.predict(X, verbose=0), atol=1e-5)]
        same += [np.allclose(expected, restored(X), atol=1e-5)]
        same += [sorted(name for name in dir(restored) if not name.startswith("_"))]
        model.export(f"{path}/exported")
        served = tf.saved_model.load(f"{path}/exported")
        same += [np.allclose(expected, served.serve(X), atol=1e-5), len(served.variables)]
    return same


def job_optimizers():
    """Steps of new and legacy optimizers, and scaled losses."""
    found = []
    for where in (keras.optimizers, keras.optimizers.legacy):
        for name in ("Adam", "SGD", "RMSprop", "Adagrad", "Adamax", "Nadam", "Ftrl", "Adadelta"):
            optimizer, v = getattr(where, name)(0.1), tf.Variable([1.0, 2.0])
            for _ in range(3):
                optimizer.minimize(lambda v=v: tf.reduce_sum(v * v), [v])
            found.append(v.numpy())
    scaled = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    return found, scaled.get_scaled_loss(tf.constant(2.0)).numpy()


def job_features():
    """Feature columns, ragged inputs, text, stateful layers."""
    column = tf.feature_column
    ids = column.categorical_column_with_identity("c", 3)
    columns = [column.numeric_column("a"), column.embedding_column(ids, 2)]
    model = keras.Sequential([keras.layers.DenseFeatures(columns), keras.layers.Dense(1)])
    losses = fit(model, {"a": X[:, :1], "c": CLASSES[:, None]})
    inputs = keras.Input((None,), ragged=True, dtype=tf.int64)
    mean = tf.reduce_mean(keras.layers.Embedding(10, 4)(inputs), axis=1)
    ragged = keras.Model(inputs, keras.layers.Dense(1)(mean))
    texts = keras.layers.TextVectorization(output_sequence_length=4)
    texts.adapt(["a b c", "b c"])
    rows = tf.ragged.constant([[1, 2], [3]], dtype=tf.int64)
    return losses, ragged(rows).numpy(), texts(tf.constant(["c b z"])).numpy()


def job_loss_scales():
    """Scaled losses and gradients by hand, as mixed precision's guide does."""
    optimizer = keras.mixed_precision.LossScaleOptimizer(
        keras.optimizers.SGD(0.1), dynamic=False, initial_scale=8.0
    )
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
        scaled = optimizer.get_scaled_loss(loss)
    scaled_gradients = tape.gradient(scaled, [v])
    gradients = optimizer.get_unscaled_gradients(scaled_gradients)
    optimizer.apply_gradients(zip(gradients, [v]))
    dynamic = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    infinite = [tf.constant([np.inf, 1.0])]
    dynamic.apply_gradients(zip(infinite, [v]))
    return scaled, scaled_gradients, gradients, v.numpy(), dynamic.loss_scale


def job_stateful_layers():
    """States that stay from batch to batch, and reset_states."""
    layers = keras.layers
    rows = keras.Input(batch_shape=(2, 3, 4))
    model = keras.Model(rows, layers.Dense(1)(layers.LSTM(5, stateful=True)(rows)))
    x = np.random.RandomState(1).randn(2, 3, 4).astype("float32")
    first, second = model.predict(x, verbose=0), model.predict(x, verbose=0)
    model.reset_states()
    again = model.predict(x, verbose=0)
    return first, second, np.allclose(first, again), model.layers[1].states[0].numpy()


class OldStyle(keras.layers.Layer):
    """A layer of variables by name, as in the first generation."""

    @tf.compat.v1.keras.utils.track_tf1_style_variables
    def call(self, x):
        """A product and a bias."""
        with tf.compat.v1.variable_scope("old"):
            w = tf.compat.v1.get_variable("w", [8, 3], initializer=tf.ones_initializer())
            penalty = tf.compat.v1.keras.regularizers.l2(0.1)
            b = tf.compat.v1.get_variable("b", [3], regularizer=penalty)
        return x @ w + b


def job_tf1_style_variables():
    """get_variable in a layer, tracked and trained."""
    layer = OldStyle()
    model = keras.Sequential([layer, keras.layers.Dense(1)])
    losses = fit(model, optimizer="sgd")
    return losses, [v.name for v in layer.weights], len(layer.losses)


class Masked(tf.experimental.ExtensionType):
    """Values and which of them count."""

    values: tf.Tensor
    mask: tf.Tensor

    class Spec:
        """What Keras asks a spec for."""

        def __init__(self, shape, dtype=tf.float32):
            self.values = tf.TensorSpec(shape, dtype)
            self.mask = tf.TensorSpec(shape, tf.bool)

        @property
        def shape(self):
            return self.values.shape

    @property
    def shape(self):
        """The shape of the values."""
        return self.values.shape

    @property
    def dtype(self):
        """The dtype of the values."""
        return self.values.dtype


class Kept(keras.layers.Layer):
    """The values that count."""

    def call(self, x):
        """Zero for all others."""
        return tf.where(x.mask, x.values, 0.0)


def job_extension_types():
    """Input(type_spec=...) of an extension type."""
    inputs = keras.Input(type_spec=Masked.Spec([None, 8]))
    model = keras.Model(inputs, keras.layers.Dense(1)(Kept()(inputs)))
    return model(Masked(X, X > 0)), [layer.name for layer in model.layers]


def job_strategy():
    """A model under a strategy: variables mirrored, batches shared out."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(X, Y, epochs=2, batch_size=16, verbose=0, shuffle=False).history
    return history, strategy.num_replicas_in_sync, model.evaluate(X, Y, verbose=0)


def job_weights_of_tensorflow():
    """save_weights to a checkpoint and to H5, read back into another model."""

    def make():
        model = keras.Sequential([keras.layers.Dense(4, "relu", input_shape=(8,))])
        model.compile("adam", "mse")
        return model

    model, folder, found = make(), tempfile.mkdtemp(), []
    model.fit(X, np.ones((64, 4)), epochs=1, verbose=0)
    for path in (f"{folder}/weights", f"{folder}/weights.h5"):
        model.save_weights(path)
        other = make()
        status = other.load_weights(path)
        found.append(np.allclose(other.predict(X, verbose=0), model.predict(X, verbose=0)))
        if status is not None:
            status.assert_existing_objects_matched()
    return found, sorted(name for name, _ in tf.train.list_variables(f"{folder}/weights"))
