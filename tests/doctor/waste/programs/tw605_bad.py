"""Operations are built to change a value, and nothing is computed."""

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.Variable(1.0, name="x")
    init = tf.global_variables_initializer()
    session.run(init)
    for step in range(100):
        y = x + float(step)  # here
    print(session.run(x))
