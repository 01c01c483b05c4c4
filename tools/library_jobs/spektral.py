"""Spektral: layers on graphs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tensorflow as tf
from spektral.data import BatchLoader, Dataset, DisjointLoader, Graph, SingleLoader
from spektral.layers import GATConv, GCNConv, GINConv, GlobalSumPool, MinCutPool
from spektral.transforms import GCNFilter


def graph(size, seed):
    """A ring with a few chords."""
    generator = np.random.default_rng(seed)
    ring = np.roll(np.eye(size), 1, 1)
    chords = generator.random((size, size)) > 0.8
    adjacency = ((ring + ring.T + chords + chords.T) > 0) * (1 - np.eye(size))
    features = generator.normal(size=(size, 4)).astype("float32")
    return features, sp.csr_matrix(adjacency.astype("float32"))


class Graphs(Dataset):
    """A few graphs with a label each."""

    def read(self):
        found = []
        for seed in range(8):
            x, a = graph(5 + seed % 3, seed)
            found.append(Graph(x=x, a=a, y=np.eye(2, dtype="float32")[seed % 2]))
        return found


class Nodes(Dataset):
    """One graph with a label for each node."""

    def read(self):
        x, a = graph(12, 3)
        return [Graph(x=x, a=a, y=np.eye(3, dtype="float32")[np.arange(12) % 3])]


START = tf.keras.initializers.GlorotUniform


def job_node_classification():
    """A GCN on one graph whose adjacency is a sparse tensor."""
    data = Nodes(transforms=GCNFilter())
    x_in, a_in = tf.keras.Input((4,)), tf.keras.Input((None,), sparse=True)
    hidden = GCNConv(6, "relu", kernel_initializer=START(seed=1))([x_in, a_in])
    y = GCNConv(3, "softmax", kernel_initializer=START(seed=2))([hidden, a_in])
    model = tf.keras.Model([x_in, a_in], y)
    model.compile(tf.keras.optimizers.Adam(0.05), "categorical_crossentropy")
    loader = SingleLoader(data)
    history = model.fit(loader.load(), steps_per_epoch=1, epochs=5, verbose=0, shuffle=False)
    return history.history["loss"]


def job_graph_classification():
    """Messages and sums over graphs of different sizes, by a loop of one's own."""

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = GINConv(6, kernel_initializer=START(seed=1))
            self.second = GATConv(
                4,
                attn_heads=2,
                kernel_initializer=START(seed=2),
                attn_kernel_initializer=START(seed=3),
            )
            self.pool = GlobalSumPool()
            self.last = tf.keras.layers.Dense(2, "softmax", kernel_initializer=START(seed=4))

        def call(self, inputs):
            x, a, i = inputs
            return self.last(self.pool([self.second([self.first([x, a]), a]), i]))

    loader = DisjointLoader(Graphs(), batch_size=4, epochs=2, shuffle=False)
    model, losses = Net(), []
    optimizer, loss_of = tf.keras.optimizers.Adam(0.01), tf.keras.losses.CategoricalCrossentropy()

    @tf.function(input_signature=loader.tf_signature(), experimental_relax_shapes=True)
    def step(inputs, target):
        with tf.GradientTape() as tape:
            loss = loss_of(target, model(inputs, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        )
        return loss

    for batch in loader:
        losses.append(float(step(*batch)))
    return losses


def job_pooling():
    """MinCut pooling on dense batches, with its losses."""
    loader = BatchLoader(Graphs(), batch_size=8, epochs=1, shuffle=False)
    (x, a), _ = next(loader)
    layer = MinCutPool(3, kernel_initializer=START(seed=1))
    pooled, smaller = layer([tf.constant(x, tf.float32), tf.constant(a, tf.float32)])
    return pooled.numpy(), smaller.numpy(), [float(loss) for loss in layer.losses]
