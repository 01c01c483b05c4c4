"""Mistakes that a type checker finds before the program runs: each line marked is an error."""

from __future__ import annotations

import talweg as tf


@tf.function
def double(x: tf.Tensor) -> tf.Tensor:
    """2 x."""
    return x * 2


x = tf.ones([2, 2])
tf.reduce_summ(x)  # WRONG
tf.matmul(x, x, transpose_q=True)  # WRONG
double(x, x)  # WRONG
double("text")  # WRONG
x.shap  # WRONG
tf.nn.conv2d(x)  # WRONG
tf.Variable(x).asign(x)  # WRONG
