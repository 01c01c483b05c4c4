import talweg as tf

w = tf.Variable(tf.ones([4, 2]))


@tf.function
def forward(x):
    return tf.nn.relu(x @ w)


print(forward(tf.ones([5, 3])))
