"""One operation changes the value, and is run."""

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.Variable(1.0, name="x")
    increase = tf.assign_add(x, 1.0)
    init = tf.global_variables_initializer()
    session.run(init)
    for step in range(100):
        session.run(increase)
    print(session.run(x))
