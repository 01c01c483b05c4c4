"""GraphDef: writing graphs as TensorFlow's messages, and building graphs from them.

`messages` has the message classes, `operations` the signatures of TensorFlow's operations,
`attributes` and `tensor_protos` go between messages and Python values.  Reading: `reading` takes a
GraphDef apart and checks it, `regions` finds the branches and loops of TensorFlow's first
generation, `importing` builds the graph, with the rules of single operations in `rules_*`.
Writing: `expressions` says how a primitive is written, in the table of `writing_table`, and
`exporting` writes.  `utilities`, `files` and `meta_graph` are `tf.graph_util` and its kin.
"""
