"""`tf.compat.v1.profiler`: the costs of operations of a graph by name, scope and line of code."""
