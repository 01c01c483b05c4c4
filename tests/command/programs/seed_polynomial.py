import tensorflow as tf

# Define a variable to be optimized
x = tf.Variable(3.0)

# Use the gradient tape
with tf.GradientTape() as tape:
    y = x**2 + 2*x + 1 # f(x) = x^2 + 2x + 1

# Compute the gradient of y with respect to x
grad_x = tape.gradient(y, x)

print(f"Value of x: {x.numpy()}")
print(f"Gradient of y with respect to x: {grad_x.numpy()}")
