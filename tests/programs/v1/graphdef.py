"""GraphDef messages: writing, reading, importing in parts, and `tf.graph_util`."""

import os
import tempfile

from programs.frozen import parsed
from programs.support import given, names, raised, run, static


def nodes(graph_def):
    """Name, operation and inputs of each node."""
    return [[node.name, node.op, list(node.input)] for node in graph_def.node]


def small(tf):
    """`y = x * x + z` of two placeholders."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    z = tf.placeholder(tf.float32, [2], name="z")
    return tf.add(tf.multiply(x, x, name="square"), z, name="y")


def small_graph_def(tf):
    """That graph as TensorFlow wrote it."""

    def make():
        with tf.Graph().as_default() as graph:
            small(tf)
            return graph.as_graph_def().SerializeToString(deterministic=True)

    return parsed(tf, given("small", make))


FEED = {"x:0": [[1.0, 2.0], [3.0, 4.0]], "z:0": [10.0, 20.0]}


def nodes_of_a_graph(tf, np):
    small(tf)
    return nodes(tf.get_default_graph().as_graph_def())


def attributes_of_nodes(tf, np):
    small(tf)
    by_name = {node.name: node for node in tf.get_default_graph().as_graph_def().node}
    x = by_name["x"].attr
    return {
        "dtype": x["dtype"].type == tf.float32.as_datatype_enum,
        "shape": [dim.size for dim in x["shape"].shape.dim],
        "T": by_name["square"].attr["T"].type == tf.float32.as_datatype_enum,
    }


def control_inputs_and_devices(tf, np):
    a = tf.placeholder(tf.float32, [], name="a")
    with tf.control_dependencies([a]), tf.device("/cpu:0"):
        tf.placeholder(tf.float32, [1], name="b")
    b = tf.get_default_graph().as_graph_def().node[1]
    return [list(b.input), b.device]


def second_outputs_as_inputs(tf, np):
    x = tf.placeholder(tf.float32, [4], name="x")
    values, indices = tf.unique_with_counts(x, name="u")[:2]
    tf.add(indices, indices, name="y")
    by_name = {node.name: node for node in tf.get_default_graph().as_graph_def().node}
    return [list(by_name["u"].input), list(by_name["y"].input)]


def constants_in_nodes(tf, np):
    tf.constant([[1.0, 2.0], [3.0, 4.0]], name="c")
    tf.constant([True, False], name="p")
    tf.constant(["a", "bc"], name="s")
    by_name = {node.name: node for node in tf.get_default_graph().as_graph_def().node}
    return [tf.make_ndarray(by_name[name].attr["value"].tensor) for name in "cps"]


def written_and_read_again(tf, np):
    small(tf)
    data = tf.get_default_graph().as_graph_def().SerializeToString()
    with tf.Graph().as_default():
        tf.import_graph_def(parsed(tf, data), name="")
        return run(tf, ["square:0", "y:0"], FEED)


def model_written_and_read_again(tf, np):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    W = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    hidden = tf.nn.relu(tf.matmul(x, W) - 1.0)
    y = tf.concat([hidden, tf.reduce_sum(x, 1, keepdims=True)], 1, name="y")
    gradient = tf.identity(tf.gradients(y, x)[0], name="g")
    feed = {"x:0": [[1.0, -2.0, 0.5], [0.0, 1.0, 2.0]]}
    before = run(tf, [y, gradient], feed)
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="again")
        after = run(tf, ["again/y:0", "again/g:0"], {"again/x:0": feed["x:0"]})
    return [before, after]


def control_flow_written_and_read_again(tf, np):
    n = tf.placeholder(tf.int32, [], name="n")
    total = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + i), [0, 0])[1]
    tf.identity(tf.cond(n > 3, lambda: total * 10, lambda: total), name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session:
            return [session.run("y:0", {"n:0": number}) for number in (0, 3, 5)]


def variables_written_and_read_again(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    tf.multiply(v, 3.0, name="y")
    tf.assign_add(v, [1.0, 1.0], name="grow")
    init = tf.global_variables_initializer()
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session:
            session.run(init.name)
            return session.run("y:0")


def import_under_the_default_name(tf, np):
    imported = tf.import_graph_def(small_graph_def(tf))
    operations = names(tf.get_default_graph().get_operations())
    return [imported, operations]


def import_under_a_name(tf, np):
    tf.import_graph_def(small_graph_def(tf), name="part")
    with tf.name_scope("outer"):
        tf.import_graph_def(small_graph_def(tf), name="part")
    return names(tf.get_default_graph().get_operations())


def import_twice(tf, np):
    graph_def = small_graph_def(tf)
    first = tf.import_graph_def(graph_def, return_elements=["y:0"])
    second = tf.import_graph_def(graph_def, return_elements=["y:0"])
    return names([*first, *second])


def import_without_a_name(tf, np):
    tf.import_graph_def(small_graph_def(tf), name="")
    y = tf.get_default_graph().get_tensor_by_name("y:0")
    return [static(y), y.dtype, names(y.op.inputs), run(tf, y, FEED)]


def import_returning_elements(tf, np):
    got = tf.import_graph_def(
        small_graph_def(tf), name="", return_elements=["y:0", "square", "x:0"]
    )
    kinds = [isinstance(got[0], tf.Tensor), isinstance(got[1], tf.Operation)]
    return [names(got), kinds, run(tf, got[0], FEED)]


def import_with_an_input_map(tf, np):
    x = tf.constant([[1.0, 1.0]])
    (y,) = tf.import_graph_def(
        small_graph_def(tf), input_map={"x:0": x * 3.0, "z": tf.zeros([2])}, return_elements=["y:0"]
    )
    return run(tf, y)


def import_replacing_a_part(tf, np):
    (y,) = tf.import_graph_def(
        small_graph_def(tf),
        name="",
        input_map={"square:0": tf.constant([[100.0, 200.0]])},
        return_elements=["y:0"],
    )
    return run(tf, y, {"z:0": [1.0, 2.0]})


def import_and_go_on(tf, np):
    (x, y) = tf.import_graph_def(small_graph_def(tf), return_elements=["x:0", "y:0"], name="m")
    gradient = tf.gradients(tf.reduce_sum(y), x)[0]
    return run(tf, [y * 2.0, gradient], {"m/" + key: value for key, value in FEED.items()})


def import_errors(tf, np):
    graph_def = small_graph_def(tf)

    def load(**options):
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, **options)

    return [
        raised(lambda: load(return_elements=["none"])),
        raised(lambda: load(return_elements=["y:7"])),
        raised(lambda: load(input_map={"none:0": 1.0})),
        raised(lambda: load(input_map={"x:0": tf.constant(["text"])})),
        raised(lambda: load(return_elements=[3])),
        raised(lambda: tf.import_graph_def("text")),
        raised(lambda: tf.import_graph_def(None)),
    ]


def node(tf, name, op, inputs=(), **attributes):
    """A node of a GraphDef made by hand."""
    made = tf.NodeDef()
    made.name, made.op = name, op
    made.input.extend(inputs)
    for key, value in attributes.items():
        made.attr[key].type = value.as_datatype_enum
    return made


def made_by_hand(tf, np):
    graph_def = tf.GraphDef()
    graph_def.node.add().CopyFrom(node(tf, "x", "Placeholder", dtype=tf.float32))
    graph_def.node.add().CopyFrom(node(tf, "y", "Neg", ["x"], T=tf.float32))
    tf.import_graph_def(graph_def, name="")
    return run(tf, "y:0", {"x:0": [1.0, 2.0]})


def bad_nodes(tf, np):
    def load(*made):
        graph_def = tf.GraphDef()
        for part in made:
            graph_def.node.add().CopyFrom(part)
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")

    x = node(tf, "x", "Placeholder", dtype=tf.float32)
    return [
        raised(lambda: load(node(tf, "y", "NoSuchOperation"))),
        raised(lambda: load(node(tf, "y", "Neg", ["x"], T=tf.float32))),
        raised(lambda: load(x, x)),
        raised(lambda: load(x, node(tf, "y", "Neg", ["x:4"], T=tf.float32))),
        raised(lambda: load(x, node(tf, "y", "Neg", [], T=tf.float32))),
        raised(lambda: load(x, node(tf, "y", "Neg", ["x"], T=tf.int32))),
        raised(lambda: load(x, node(tf, "y", "Neg", ["y"], T=tf.float32))),
        raised(lambda: load(x, node(tf, "y", "Neg", ["x", "x"], T=tf.float32))),
        raised(lambda: load(x, node(tf, "a b", "Neg", ["x"], T=tf.float32))),
        raised(lambda: load(node(tf, "y", "Placeholder"))),
        raised(lambda: load(x, node(tf, "y", "Neg", ["x"], T=tf.float32))),
    ]


def bad_constants(tf, np):
    def load(shape, content, values=()):
        made = node(tf, "c", "Const", dtype=tf.float32)
        tensor = made.attr["value"].tensor
        tensor.dtype = tf.float32.as_datatype_enum
        for size in shape:
            tensor.tensor_shape.dim.add().size = size
        tensor.tensor_content = content
        tensor.float_val.extend(values)
        graph_def = tf.GraphDef()
        graph_def.node.add().CopyFrom(made)
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")
            return run(tf, "c:0")

    whole = np.float32([1, 2]).tobytes()
    return [
        load([2], whole),
        load([2, 2], b"", [1.0, 7.0]),
        load([0, 3], b""),
        load([2], b""),
        raised(lambda: load([4], whole)) is not None,
        raised(lambda: load([2], whole[:5])) is not None,
        raised(lambda: load([-2], whole)) is not None,
    ]


def python_functions_are_not_imported(tf, np):
    made = tf.NodeDef(name="f", op="PyFunc")
    made.attr["token"].s = b"no such function"
    made.attr["Tin"].list.SetInParent()
    made.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
    graph_def = tf.GraphDef()
    graph_def.node.add().CopyFrom(made)
    return (
        raised(lambda: run(tf, tf.import_graph_def(graph_def, return_elements=["f:0"]))) is not None
    )


def nodes_in_any_order(tf, np):
    graph_def = tf.GraphDef()
    graph_def.node.add().CopyFrom(node(tf, "z", "Neg", ["y"], T=tf.float32))
    graph_def.node.add().CopyFrom(node(tf, "y", "Exp", ["x"], T=tf.float32))
    graph_def.node.add().CopyFrom(node(tf, "x", "Placeholder", dtype=tf.float32))
    tf.import_graph_def(graph_def, name="")
    return run(tf, "z:0", {"x:0": [0.0, 1.0]})


def damaged_bytes(tf, np):
    data = small_graph_def(tf).SerializeToString()
    kinds = [raised(lambda cut=cut: parsed(tf, data[:cut])) for cut in (3, len(data) // 2, -1)]
    return [kinds, raised(lambda: parsed(tf, b"\xff" * 40)), raised(lambda: parsed(tf, b""))]


def written_to_a_file(tf, np):
    small(tf)
    graph = tf.get_default_graph()
    with tempfile.TemporaryDirectory() as folder:
        tf.train.write_graph(graph, folder, "graph.pb", as_text=False)
        tf.train.write_graph(graph.as_graph_def(), folder, "graph.pbtxt", as_text=True)
        with open(os.path.join(folder, "graph.pb"), "rb") as file:
            graph_def = parsed(tf, file.read())
        there = sorted(os.listdir(folder))
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        return [there, run(tf, "y:0", FEED)]


def variables_become_constants(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.get_variable("v", initializer=np.float32([2, 3]))
    w = tf.get_variable("w", initializer=10.0, use_resource=False)
    tf.add(x * v, w, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(v, [4.0, 5.0]))
        frozen = tf.graph_util.convert_variables_to_constants(
            session, session.graph.as_graph_def(), ["y"]
        )
    kinds = {node.op for node in frozen.node}
    with tf.Graph().as_default():
        tf.import_graph_def(frozen, name="")
        value = run(tf, "y:0", {"x:0": [1.0, 2.0]})
    return [value, sorted(kinds & {"VarHandleOp", "VariableV2", "Assign", "AssignVariableOp"})]


def some_variables_become_constants(tf, np):
    v = tf.get_variable("v", initializer=2.0)
    w = tf.get_variable("w", initializer=3.0)
    tf.multiply(v, w, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(
            session,
            session.graph.as_graph_def(),
            ["y"],
            variable_names_blacklist=["w"],
        )
    kinds = {node.name: node.op for node in frozen.node}
    return [kinds["v"], kinds["w"], kinds["y"]]


def part_of_a_graph(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    z = tf.placeholder(tf.float32, [2], name="z")
    y = tf.negative(x, name="y")
    tf.add(y, z, name="sum")
    tf.exp(z, name="exp")
    graph_def = tf.get_default_graph().as_graph_def()
    parts = [tf.graph_util.extract_sub_graph(graph_def, [name]) for name in ("y", "exp", "sum")]
    missing = raised(lambda: tf.graph_util.extract_sub_graph(graph_def, ["none"]))
    wrong = raised(lambda: tf.graph_util.extract_sub_graph(graph_def, "y"))
    return [[[node.name for node in part.node] for part in parts], missing, wrong]


def training_nodes_removed(tf, np):
    graph_def = tf.GraphDef()
    graph_def.node.add().CopyFrom(node(tf, "x", "Placeholder", dtype=tf.float32))
    graph_def.node.add().CopyFrom(node(tf, "same", "Identity", ["x"], T=tf.float32))
    graph_def.node.add().CopyFrom(node(tf, "y", "Neg", ["same"], T=tf.float32))
    graph_def.node.add().CopyFrom(node(tf, "last", "Identity", ["y"], T=tf.float32))
    plain = tf.graph_util.remove_training_nodes(graph_def)
    protected = tf.graph_util.remove_training_nodes(graph_def, protected_nodes=["same"])
    return [nodes(plain), nodes(protected)]


def graph_def_helpers(tf, np):
    graph_def = small_graph_def(tf)
    x = next(node for node in graph_def.node if node.name == "x")
    shape = tf.graph_util.tensor_shape_from_node_def_name(import_graph(tf, graph_def), "x")
    return [shape.as_list(), x.op, graph_def.versions.producer > 0, len(graph_def.node)]


def import_graph(tf, graph_def):
    """A new graph that holds what is imported."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    return graph


def tensor_protos(tf, np):
    values = [np.float32([[1, 2], [3, 4]]), np.int64(7), np.array(["a", "b"]), np.array([True])]
    protos = [tf.make_tensor_proto(value) for value in values]
    return [tf.make_ndarray(proto) for proto in protos]


def nodes_of_graph_as_definition(tf, np):
    y = small(tf)
    definition = y.op.node_def
    return [definition.name, definition.op, list(definition.input)]


def added_shapes(tf, np):
    small(tf)
    graph_def = tf.get_default_graph().as_graph_def(add_shapes=True)
    y = next(node for node in graph_def.node if node.name == "y")
    return [[dim.size for dim in shape.dim] for shape in y.attr["_output_shapes"].list.shape]


PROGRAMS = [
    nodes_of_a_graph,
    attributes_of_nodes,
    control_inputs_and_devices,
    second_outputs_as_inputs,
    constants_in_nodes,
    written_and_read_again,
    model_written_and_read_again,
    control_flow_written_and_read_again,
    variables_written_and_read_again,
    import_under_the_default_name,
    import_under_a_name,
    import_twice,
    import_without_a_name,
    import_returning_elements,
    import_with_an_input_map,
    import_replacing_a_part,
    import_and_go_on,
    import_errors,
    made_by_hand,
    bad_nodes,
    bad_constants,
    python_functions_are_not_imported,
    nodes_in_any_order,
    damaged_bytes,
    written_to_a_file,
    variables_become_constants,
    some_variables_become_constants,
    part_of_a_graph,
    training_nodes_removed,
    graph_def_helpers,
    tensor_protos,
    nodes_of_graph_as_definition,
    added_shapes,
]
