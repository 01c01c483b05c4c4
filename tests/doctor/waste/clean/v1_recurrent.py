"""A recurrent network written out over twenty steps, as TensorFlow 1 programs do."""

import numpy as np

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    inputs = tf.placeholder(tf.float32, [None, 20, 3])
    w = tf.Variable(tf.random_normal([3, 8], stddev=0.1, seed=1))
    u = tf.Variable(tf.random_normal([8, 8], stddev=0.1, seed=2))
    state = tf.zeros([tf.shape(inputs)[0], 8])
    for t in range(20):
        state = tf.tanh(tf.matmul(inputs[:, t], w) + tf.matmul(state, u))
    loss = tf.reduce_mean(tf.square(state - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    for step in range(20):
        batch = np.ones((4, 20, 3))
        value, _ = session.run([loss, train], {inputs: batch})
    print(value)
