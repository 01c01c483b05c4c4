"""What 10,000 eager training steps leave behind, in the process and in Python's own allocator."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from pathlib import Path

from benchmarks.declare import AtMost, benchmark
from benchmarks.models import RATE, two_layers

STEPS = 10_000
WARM_STEPS = 1_000
STATUS = Path("/proc/self/statm")


@benchmark("memory.resident", aims=[AtMost(1e6)], unit="bytes", timed=False, fresh=True, rounds=1)
class Resident:
    """Growth of resident memory from step 1,000 to step 10,000 of an eager training loop."""

    def tf(tf, np):
        return _growing(_tensorflow_step(tf, np), _resident)

    def torch(torch, np):
        return _growing(_torch_step(torch, np), _resident)


@benchmark("memory.traced", aims=[AtMost(50e3)], unit="bytes", timed=False, fresh=True, rounds=1)
class Traced:
    """Growth of what Python allocated (tracemalloc) over the same steps."""

    def talweg(tf, np):  # TensorFlow takes minutes under tracemalloc
        return _traced(_tensorflow_step(tf, np))

    def torch(torch, np):
        return _traced(_torch_step(torch, np))


def _growing(step, reading):
    """A callable: bytes that `reading` grows by between the warm steps and the last."""

    def growth():
        for _ in range(WARM_STEPS):
            step()
        gc.collect()
        before = reading()
        for _ in range(STEPS - WARM_STEPS):
            step()
        gc.collect()
        return reading() - before

    return growth


def _traced(step):
    def growth():
        tracemalloc.start()
        try:
            return _growing(step, lambda: tracemalloc.get_traced_memory()[0])()
        finally:
            tracemalloc.stop()

    return growth


def _resident():
    """Resident bytes now; where the system does not say, the most there ever were."""
    if STATUS.exists():
        return int(STATUS.read_text().split()[1]) * resource.getpagesize()
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _tensorflow_step(tf, np):
    parameters, features, labels = two_layers(np)
    w1, b1, w2, b2 = variables = [tf.Variable(value) for value in parameters]

    def step():
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(tf.constant(features), w1) + b1)
            logits = tf.matmul(hidden, w2) + b2
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * gradient)

    return step


def _torch_step(torch, np):
    parameters, features, labels = two_layers(np)
    w1, b1, w2, b2 = leaves = [torch.from_numpy(p).requires_grad_() for p in parameters]
    labels = torch.from_numpy(labels)

    def step():
        hidden = torch.relu(torch.from_numpy(features) @ w1 + b1)
        loss = torch.nn.functional.cross_entropy(hidden @ w2 + b2, labels)
        gradients = torch.autograd.grad(loss, leaves)
        with torch.no_grad():
            for leaf, gradient in zip(leaves, gradients, strict=True):
                leaf.sub_(gradient, alpha=RATE)

    return step
