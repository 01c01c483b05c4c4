"""tf.compat.v1.Session: fetches and feeds, the values of variables, runs of programs."""
