"""What `frozen_*` and `graphdef` share: graphs that TensorFlow wrote, imported and run.

A `build()` makes placeholders with names and returns the results.  Only the recorder calls it; the
bytes of the graph are kept (`support.given`), and every library imports those.
"""

from programs.support import given


def written(tf, build):
    """The serialized graph of what `build` returns, its variables turned into constants."""
    with tf.Graph().as_default() as graph:
        results = build()
        outputs = [tf.identity(y, name=f"out_{n:02}").op.name for n, y in enumerate(results)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            frozen = tf.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), outputs
            )
        return frozen.SerializeToString(deterministic=True)


def parsed(tf, data):
    """The `GraphDef` of serialized bytes."""
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(data)
    return graph_def


def results_of(tf, graph_def, feed):
    """Import into the default graph; the values of all `out_` nodes."""
    tf.import_graph_def(graph_def, name="")
    outputs = sorted(node.name for node in graph_def.node if node.name.startswith("out_"))
    with tf.Session() as session:
        return session.run([f"{name}:0" for name in outputs], feed)


def imported(tf, key, build, feed=None):
    """Import the graph that TensorFlow wrote under this key and run it."""
    data = given(key, lambda: written(tf, build))
    return results_of(tf, parsed(tf, data), feed)
