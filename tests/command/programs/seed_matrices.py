import tensorflow as tf

# Define trainable variables
W = tf.Variable(tf.random.normal((3, 2)))
b = tf.Variable(tf.zeros((2,)))
x = tf.constant([[1.0, 2.0, 3.0]], dtype=tf.float32)


# Compute gradients
with tf.GradientTape() as tape:
  output = tf.matmul(x, W) + b # Matrix Multiplication
  loss = tf.reduce_sum(output**2) # Sum of squares

#Get gradients with respect to our trainable variables W and b.
gradients = tape.gradient(loss, [W, b])


print("Gradients with respect to W:\n", gradients[0].numpy())
print("Gradients with respect to b:\n", gradients[1].numpy())
