import talweg as tf

w = tf.Variable([1.0, 2.0])
loss = tf.reduce_sum(w * w)
loss.backward()
