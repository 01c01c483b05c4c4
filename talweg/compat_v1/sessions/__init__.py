"""tf.compat.v1.Session: what is fetched and fed, the values of variables, runs of programs."""
