"""Graphs of TensorFlow 1: building them, their gradients, running them, and how they grow."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

import gc
import tracemalloc

from benchmarks.declare import AtMost, Flat, Ratio, Unfit, benchmark

SLOW = 10_000  # operations that TensorFlow builds in an acceptable time


@benchmark(
    "graph.build",
    aims=[AtMost(3e-6), Ratio(0.02, of="tensorflow"), Flat(1.5)],
    sweep={"length": [1_000, 10_000, 100_000, 1_000_000]},
    per="length",
)
class Build:
    """A chain of x = x + 1.0 on a variable, per operation."""

    def tf(tf, peer, length):
        v1 = tf.compat.v1
        if peer == "tensorflow" and length > SLOW:
            raise Unfit("TensorFlow takes minutes")

        def build():
            with tf.Graph().as_default():
                x = v1.Variable(1.0)
                for _ in range(length):
                    x = x + 1.0

        return build


@benchmark("graph.bytes", aims=[AtMost(250)], unit="bytes", timed=False, rounds=1, fresh=True)
class Bytes:
    """Memory that Python allocates for one node of a chain of 100,000 (TensorFlow: 10,000)."""

    def tf(tf, peer):
        length = SLOW if peer == "tensorflow" else 100_000

        def grow():
            gc.collect()
            tracemalloc.start()
            with tf.Graph().as_default():
                x = tf.compat.v1.Variable(1.0)
                x = x + 1.0
                before = tracemalloc.get_traced_memory()[0]
                for _ in range(length):
                    x = x + 1.0
                after = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            return (after - before) / length

        return grow


@benchmark(
    "graph.gradient",
    aims=[Ratio(0.1, of="tensorflow"), Flat(1.5)],
    sweep={"length": [100, 1_000, 10_000, 100_000]},
    per="length",
)
class Gradient:
    """Building the gradient of a chain of x = tanh(x), per operation of the chain."""

    def tf(tf, peer, length):
        v1 = tf.compat.v1
        if peer == "tensorflow" and length > 1_000:
            raise Unfit("TensorFlow takes minutes")
        graph = tf.Graph()
        with graph.as_default():
            start = v1.placeholder(tf.float32, [])
            x = start
            for _ in range(length):
                x = tf.tanh(x)

        def build():
            with graph.as_default():
                v1.gradients(x, [start])

        return build


@benchmark("graph.run", aims=[AtMost(15e-6), Ratio(0.15, of="tensorflow")])
class Run:
    """session.run of a prepared tf.assign(x, x + 1)."""

    def tf(tf):
        v1 = tf.compat.v1
        graph = tf.Graph()
        with graph.as_default():
            x = v1.Variable(1.0, use_resource=True)
            increment = v1.assign(x, x + 1)
            session = v1.Session()
            session.run(v1.global_variables_initializer())

        def step():
            session.run(increment)

        return step


@benchmark("graph.feed", aims=[Ratio(0.15, of="tensorflow")])
class Feed:
    """session.run of a two-layer network's prediction, a batch of 8 fed."""

    def tf(tf, np):
        v1 = tf.compat.v1
        random = np.random.default_rng(0)
        batch = random.normal(size=(8, 32)).astype("float32")
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [None, 32])
            w = tf.constant(random.normal(size=(32, 16)).astype("float32"))
            y = tf.nn.softmax(tf.nn.relu(x @ w))
            session = v1.Session()
        return lambda: session.run(y, {x: batch})


def _operations(tf, graph):
    return len(graph.get_operations())


@benchmark("graph.initializers", aims=[AtMost(0)], unit="operations", timed=False, rounds=1)
class Initializers:
    """Operations added by running tf.global_variables_initializer() 100 more times."""

    def tf(tf):
        v1 = tf.compat.v1

        def grow():
            graph = tf.Graph()
            with graph.as_default(), v1.Session() as session:
                kept = [v1.Variable(float(i)) for i in range(10)]
                session.run(v1.global_variables_initializer())
                before = _operations(tf, graph)
                for _ in range(100):
                    session.run(v1.global_variables_initializer())
                assert kept
                return _operations(tf, graph) - before

        return grow


@benchmark("graph.constants", aims=[AtMost(1e5)], unit="bytes", timed=False, rounds=1)
class Constants:
    """Size of the serialised graph after summing one 8 MB array 3 times."""

    def tf(tf, np):
        v1 = tf.compat.v1
        many = np.ones((1000, 1000))

        def grow():
            with tf.Graph().as_default() as graph:
                kept = [tf.reduce_sum(many, axis=axis) for axis in (None, 0, 1)]
                size = graph.as_graph_def().ByteSize()
                assert kept and v1
                return size

        return grow
