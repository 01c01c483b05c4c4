"""The same troubles in a traced function, a loop, a branch, a session: for both executors."""

from __future__ import annotations

import talweg as tf


def weights(*values: float) -> tf.Variable:
    """A variable called w."""
    return tf.Variable(list(values), name="w")


def hidden_log(w):
    y = tf.math.log(w)  # log
    return tf.reduce_sum(tf.where(w > 0.0, y, 0.0))  # where


def in_a_loop(w, trips):
    x = w * 1.0
    for _ in tf.range(trips):
        x = x - 0.5
        x = x + tf.sqrt(x - 0.6) * 0.0  # sqrt in a loop
    return tf.reduce_sum(x)


def shrinking(w, trips):
    x = w * 1.0
    for _ in tf.range(trips):
        x = tf.sigmoid(x)  # sigmoid in a loop
    return tf.reduce_sum(x)


def in_a_branch(w):
    if w[0] > 100.0:
        return tf.reduce_sum(w * 2.0)
    return tf.reduce_sum(tf.nn.relu(-w))  # relu in a branch


def norm(w):
    squares = tf.reduce_sum(tf.square(w))
    return tf.sqrt(squares)  # norm


def train_step(loss, w):
    """A traced step with its tape inside."""

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss(w)
        gradient = tape.gradient(value, w)  # asked for
        w.assign_sub(0.1 * gradient)  # assigned
        return value

    return step
