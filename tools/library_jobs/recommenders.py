"""TensorFlow Recommenders."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensorflow_recommenders as tfrs

USERS = [str(n % 5) for n in range(20)]
FILMS = [f"film {n * 3 % 7}" for n in range(20)]
RATINGS = np.array([1.0 + n % 4 for n in range(20)], "float32")
TITLES = sorted(set(FILMS))


def tower(words, seed):
    """Strings to embeddings."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.StringLookup(vocabulary=words, mask_token=None),
            tf.keras.layers.Embedding(
                len(words) + 1,
                4,
                embeddings_initializer=tf.keras.initializers.RandomNormal(seed=seed),
            ),
        ]
    )


def rows():
    """The data."""
    columns = {"user": USERS, "film": FILMS, "rating": RATINGS}
    return tf.data.Dataset.from_tensor_slices(columns).batch(5)


class Retrieval(tfrs.Model):
    """Two towers."""

    def __init__(self):
        super().__init__()
        self.users, self.films = tower(sorted(set(USERS)), 1), tower(TITLES, 2)
        titles = tf.data.Dataset.from_tensor_slices(TITLES).batch(4)
        candidates = tf.data.Dataset.zip((titles, titles.map(self.films)))
        self.task = tfrs.tasks.Retrieval(metrics=tfrs.metrics.FactorizedTopK(candidates, ks=(1, 3)))

    def compute_loss(self, features, training=False):
        users, films = self.users(features["user"]), self.films(features["film"])
        return self.task(users, films, candidate_ids=features["film"])


class Ranking(tfrs.Model):
    """Ratings by an MLP over both embeddings and their cross."""

    def __init__(self):
        super().__init__()
        self.users, self.films = tower(sorted(set(USERS)), 1), tower(TITLES, 2)
        start = tf.keras.initializers.GlorotUniform(seed=3)
        self.cross = tfrs.layers.dcn.Cross(kernel_initializer=start)
        self.rate = tf.keras.layers.Dense(1, kernel_initializer=start)
        self.task = tfrs.tasks.Ranking(
            tf.keras.losses.MeanSquaredError(), metrics=[tf.keras.metrics.RootMeanSquaredError()]
        )

    def compute_loss(self, features, training=False):
        both = tf.concat([self.users(features["user"]), self.films(features["film"])], 1)
        return self.task(labels=features["rating"], predictions=self.rate(self.cross(both)))


def job_retrieval():
    """Fit and evaluate the two towers, then look the best titles up by brute force."""
    model = Retrieval()
    model.compile(tf.keras.optimizers.Adagrad(0.5))
    history = model.fit(rows(), epochs=3, verbose=0)
    measures = model.evaluate(rows(), return_dict=True, verbose=0)
    index = tfrs.layers.factorized_top_k.BruteForce(model.users, k=3)
    titles = tf.data.Dataset.from_tensor_slices(TITLES).batch(4)
    index.index_from_dataset(tf.data.Dataset.zip((titles, titles.map(model.films))))
    scores, names = index(tf.constant(["1", "3"]))
    stream = tfrs.layers.factorized_top_k.Streaming(model.users, k=2)
    stream.index_from_dataset(titles.map(model.films))
    names = [[name.decode() for name in row] for row in names.numpy()]
    found = {key: value for key, value in measures.items() if "factorized" in key}
    return (
        history.history["total_loss"],
        found,
        scores.numpy(),
        names,
        stream(tf.constant(["1"]))[0].numpy(),
    )


def job_ranking():
    """Fit the ranking model."""
    model = Ranking()
    model.compile(tf.keras.optimizers.Adagrad(0.1))
    return model.fit(rows(), epochs=4, verbose=0).history


def job_save_an_index():
    """An index as a SavedModel."""
    import tempfile

    index = tfrs.layers.factorized_top_k.BruteForce(k=2)
    index.index(tf.constant(np.eye(4, dtype="float32")), tf.constant(["a", "b", "c", "d"]))
    index(tf.constant([[1.0, 0.5, 0.0, 0.0]]))
    folder = tempfile.mkdtemp()
    tf.saved_model.save(index, folder)
    scores, names = tf.saved_model.load(folder)(tf.constant([[0.0, 0.5, 1.0, 0.0]]))
    return scores.numpy(), [name.decode() for name in names.numpy()[0]]
