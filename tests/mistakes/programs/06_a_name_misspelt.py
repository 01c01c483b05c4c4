import talweg as tf

print(tf.reduce_summ([1.0, 2.0]))
