"""A Keras model on talweg, and its training curves.

    python examples/keras_curves.py [curves.png]

Needs talweg's extras `keras` and `demo`.  Trains a convolutional network on the handwritten digits
of scikit-learn, with batch normalization, dropout, a learning-rate schedule and early stopping.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import talweg as tf

keras = tf.keras
Examples = tuple[NDArray[np.float32], NDArray[np.int64]]  # images and their digits


def data() -> tuple[Examples, Examples]:
    """Images [n, 8, 8, 1] in [0, 1] and their digits, for training and for testing."""
    digits: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x = (digits.images[order, ..., None] / 16).astype("float32")
    y = digits.target[order]
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])


def network() -> tf.keras.Model:
    """Two convolutions and a dense layer."""
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.3),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def plot(history: dict[str, list[float]], accuracy: float, path: Path) -> None:
    """Loss and accuracy by epoch, of what was trained on and of what was held out."""
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    epochs = np.arange(1, len(history["loss"]) + 1)
    for axis, name in zip(axes, ("loss", "accuracy")):
        axis.plot(epochs, history[name], color="tab:blue", label="training")
        axis.plot(epochs, history[f"val_{name}"], color="tab:orange", label="validation")
        axis.set(xlabel="epoch", title=name)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False)
    axes[0].set_yscale("log")
    figure.suptitle(f"Keras on talweg: {accuracy:.1%} of the test digits are right")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Train, test, plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        default="keras_curves.png",
        help="where the picture goes (%(default)s)",
    )
    path = Path(parser.parse_args().path)
    keras.utils.set_random_seed(0)
    training, testing = data()
    model = network()
    rate = keras.optimizers.schedules.CosineDecay(2e-3, decay_steps=30 * 35)
    loss = "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
    model.summary()
    history = model.fit(
        *training,
        batch_size=32,
        epochs=30,
        validation_split=0.2,
        verbose=2,
        callbacks=[keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)],
    )
    _, accuracy = model.evaluate(*testing, verbose=0)
    plot(history.history, accuracy, path)
    print(f"test accuracy {accuracy:.3f}; the curves are in {path}")


if __name__ == "__main__":
    main()
