"""Train a small convolutional network on real handwritten digits, by gradient tape.

The data are the 1,797 scans (8x8 grey values) that scikit-learn ships.  Prints loss and held-out
accuracy, and writes a picture of the loss curve and of the digits the network gets wrong.  Only
TensorFlow's API is used: with `import tensorflow as tf` the program runs there, too.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits

import talweg as tf

Images = NDArray[np.float32]  # [n, 8, 8, 1], grey values in [0, 1]
Labels = NDArray[np.int32]  # [n]


class Data(NamedTuple):
    """What is trained on, and what is held out."""

    images: Images
    labels: Labels
    held_images: Images
    held_labels: Labels


class Adam:
    """Kingma and Ba 2015, with the step sizes of the paper."""

    def __init__(
        self,
        variables: Sequence[tf.Variable],
        rate: float = 2e-3,
        decay1: float = 0.9,
        decay2: float = 0.999,
        epsilon: float = 1e-7,
    ) -> None:
        self.variables, self.rate = variables, rate
        self.decay1, self.decay2, self.epsilon = decay1, decay2, epsilon
        self.means = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.squares = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.steps = 0

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        """One step against the gradients."""
        self.steps += 1
        bias1, bias2 = 1 - self.decay1**self.steps, 1 - self.decay2**self.steps
        for v, g, mean, square in zip(self.variables, gradients, self.means, self.squares):
            mean.assign(self.decay1 * mean + (1 - self.decay1) * g)
            square.assign(self.decay2 * square + (1 - self.decay2) * g * g)
            v.assign_sub(self.rate * (mean / bias1) / (tf.sqrt(square / bias2) + self.epsilon))


class Network:
    """conv 3x3x16, relu, conv 3x3x32, relu, max pool, dense 64, relu, dropout, dense 10."""

    def __init__(self) -> None:
        def weights(*shape: int) -> tf.Variable:
            deviation = (2.0 / math.prod(shape[:-1])) ** 0.5  # He et al. 2015
            return tf.Variable(tf.random.truncated_normal(shape, stddev=deviation))

        self.filters1, self.bias1 = weights(3, 3, 1, 16), tf.Variable(tf.zeros(16))
        self.filters2, self.bias2 = weights(3, 3, 16, 32), tf.Variable(tf.zeros(32))
        self.weights3, self.bias3 = weights(4 * 4 * 32, 64), tf.Variable(tf.zeros(64))
        self.weights4, self.bias4 = weights(64, 10), tf.Variable(tf.zeros(10))
        self.variables: list[tf.Variable] = list(vars(self).values())

    def __call__(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        """The logits [n, 10] of images [n, 8, 8, 1]."""
        h = tf.nn.relu(tf.nn.conv2d(images, self.filters1, 1, "SAME") + self.bias1)
        h = tf.nn.relu(tf.nn.conv2d(h, self.filters2, 1, "SAME") + self.bias2)
        h = tf.nn.max_pool2d(h, 2, 2, "VALID")
        h = tf.reshape(h, [h.shape[0], -1])
        h = tf.nn.relu(h @ self.weights3 + self.bias3)
        if training:
            h = tf.nn.dropout(h, 0.3)
        return h @ self.weights4 + self.bias4


@dataclass
class History:
    """What the picture shows."""

    losses: list[float] = field(default_factory=list[float])
    accuracies: list[float] = field(default_factory=list[float])
    steps_per_epoch: int = 0


def load(seed: int) -> Data:
    """The digits in an order of the seed, the last 360 of them held out."""
    data: Any = load_digits()
    images = (data.images / 16.0).astype(np.float32)[..., None]
    order = np.random.default_rng(seed).permutation(len(images))
    train, held_out = order[:1437], order[1437:]
    labels = data.target.astype(np.int32)
    return Data(images[train], labels[train], images[held_out], labels[held_out])


def accuracy(network: Network, images: Images, labels: Labels) -> float:
    """The share of images classified rightly."""
    guesses = tf.argmax(network(tf.constant(images)), axis=1)
    return float(tf.reduce_mean(tf.cast(guesses == labels, tf.float32)))


def train(
    network: Network, data: Data, epochs: int, batch: int, seed: int, console: Console
) -> History:
    """Train, showing a progress bar; returns the losses and held-out accuracies."""
    optimizer = Adam(network.variables)
    random = np.random.default_rng(seed)
    steps = len(data.images) // batch
    history = History(steps_per_epoch=steps)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=epochs * steps, state="")
        for _ in range(epochs):
            order = random.permutation(len(data.images))
            for start in range(0, steps * batch, batch):
                rows = order[start : start + batch]
                with tf.GradientTape() as tape:
                    logits = network(tf.constant(data.images[rows]), training=True)
                    loss = tf.reduce_mean(
                        tf.nn.sparse_softmax_cross_entropy_with_logits(data.labels[rows], logits)
                    )
                optimizer.apply(tape.gradient(loss, network.variables))
                history.losses.append(float(loss))
                progress.update(task, advance=1)
            history.accuracies.append(accuracy(network, data.held_images, data.held_labels))
            state = f"loss {history.losses[-1]:.3f}  held out {history.accuracies[-1]:.1%}"
            progress.update(task, state=state)
    return history


def draw(network: Network, data: Data, history: History, path: Path) -> int:
    """Write the picture, whole or not at all; returns how many held-out digits are wrong."""
    probabilities = tf.nn.softmax(network(tf.constant(data.held_images))).numpy()
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != data.held_labels)
    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1))
    left, right = halves
    draw_curve(left.subplots(), history)
    draw_wrong(right, data, probabilities, wrong)
    temporary = path.with_suffix(".tmp.png")
    figure.savefig(temporary, dpi=130)
    os.replace(temporary, path)
    plt.close(figure)
    return len(wrong)


def draw_curve(axes: Axes, history: History) -> None:
    """Loss per step (thin), its running mean, and the held-out accuracy per epoch."""
    steps = np.arange(1, len(history.losses) + 1)
    window = history.steps_per_epoch
    smooth = np.convolve(history.losses, np.ones(window) / window, "valid")
    axes.semilogy(steps, history.losses, color="tab:blue", alpha=0.25, linewidth=0.8)
    axes.semilogy(steps[window - 1 :], smooth, color="tab:blue", label="training loss")
    axes.set(xlabel="step", ylabel="cross entropy", title="Training")
    right = axes.twinx()
    at = window * np.arange(1, len(history.accuracies) + 1)
    right.plot(
        at,
        [100 * a for a in history.accuracies],
        "o-",
        color="tab:orange",
        markersize=3,
        label="held-out accuracy",
    )
    right.set_ylabel("held-out accuracy (%)")
    right.set_ylim(80, 100.5)
    handles = [*axes.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    axes.legend(handles, [str(h.get_label()) for h in handles], loc="lower left")


def draw_wrong(
    figure: SubFigure, data: Data, probabilities: NDArray[np.float32], wrong: NDArray[np.intp]
) -> None:
    """Up to twelve of the held-out digits that are classified wrongly."""
    figure.suptitle(f"Wrong: {len(wrong)} of {len(data.held_labels)} held-out digits")
    if not len(wrong):
        return
    shown = min(len(wrong), 12)
    grid = figure.subplots(-(-shown // 4), min(shown, 4), squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for axes, i in zip(grid.flat, wrong):
        axes.imshow(data.held_images[i, :, :, 0], cmap="gray_r")
        guess, share = probabilities[i].argmax(), probabilities[i].max()
        axes.set_title(f"is {data.held_labels[i]}, read {guess} ({share:.0%})", fontsize=8)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("demo_output/digits.png"))
    options = parser.parse_args()
    console = Console()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    tf.random.set_seed(options.seed)
    data = load(options.seed)
    network = Network()
    version = getattr(tf, "__talweg_version__", tf.__version__)
    console.print(
        f"talweg {version}: {len(data.images)} digits to learn, {len(data.held_images)} held out"
    )
    start = time.perf_counter()
    history = train(network, data, options.epochs, options.batch, options.seed, console)
    seconds = time.perf_counter() - start
    wrong = draw(network, data, history, options.output)
    console.print(
        f"held-out accuracy {history.accuracies[-1]:.2%} "
        f"({wrong} of {len(data.held_images)} wrong), trained in {seconds:.1f} s\n"
        f"picture: {options.output}"
    )


if __name__ == "__main__":
    main()
