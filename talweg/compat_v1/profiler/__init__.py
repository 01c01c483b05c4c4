"""`tf.compat.v1.profiler`: what operations of a graph cost, by name, scope and line of code."""
