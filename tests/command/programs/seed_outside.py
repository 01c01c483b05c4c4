import tensorflow as tf

# Define a variable to be optimized
x = tf.Variable(3.0)
y = x**2 + 2*x + 1

# Use the gradient tape but fail to create a variable within the tape
with tf.GradientTape() as tape:
  #Note that we don't use x here
    z = y

# Compute the gradient of z with respect to x. This will be incorrect.
grad_x = tape.gradient(z, x)

print(f"Value of x: {x.numpy()}")
print(f"Gradient of z with respect to x: {grad_x}")
