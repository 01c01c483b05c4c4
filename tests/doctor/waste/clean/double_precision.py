"""A program that is meant to compute in float64, and says so."""

import numpy as np

import talweg as tf

points = np.linspace(0.0, 1.0, 200)
theta = tf.Variable(tf.zeros([3], tf.float64))
design = tf.constant(np.stack([points**k for k in range(3)], axis=1))
target = tf.constant(np.sin(points))
for step in range(40):
    with tf.GradientTape() as tape:
        residual = tf.linalg.matvec(design, theta) - target
        loss = tf.reduce_sum(residual**2)
    theta.assign_sub(0.002 * tape.gradient(loss, theta))
print(float(loss))
