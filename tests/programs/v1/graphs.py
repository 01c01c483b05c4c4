"""The graph as a thing to look at: names, scopes, operations, collections, dependencies."""

from programs.support import names, raised, run


def default_graph_nesting(tf, np):
    outer = tf.get_default_graph()
    first, second = tf.Graph(), tf.Graph()
    seen = []
    with first.as_default() as entered:
        seen.append(entered is first and tf.get_default_graph() is first)
        with second.as_default():
            seen.append(tf.get_default_graph() is second)
            seen.append(tf.constant(1.0).graph is second)
        seen.append(tf.constant(1.0).graph is first)
    return [*seen, tf.get_default_graph() is outer]


def default_graph_after_an_error(tf, np):
    outer = tf.get_default_graph()

    def fail():
        with tf.Graph().as_default():
            raise KeyError("inside")

    return [raised(fail), tf.get_default_graph() is outer]


def reset_within_a_graph(tf, np):
    return raised(lambda: tf.reset_default_graph())


def session_makes_its_graph_default(tf, np):
    graph, outer = tf.Graph(), tf.get_default_graph()
    with tf.Session(graph=graph) as session:
        inside = tf.get_default_graph() is graph
        known = tf.get_default_session() is session
    return [inside, known, tf.get_default_graph() is outer, tf.get_default_session() is None]


def operations_in_order_of_creation(tf, np):
    a = tf.placeholder(tf.float32, [2], name="a")
    b = tf.placeholder(tf.float32, [2], name="b")
    tf.multiply(tf.add(a, b, name="sum"), b, name="product")
    return [(op.name, op.type, names(op.inputs)) for op in tf.get_default_graph().get_operations()]


def names_of_explicit_operations(tf, np):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.matmul(x, x, name="square")
    parts = tf.split(y, 2, axis=0, name="parts")
    return [x.name, y.name, y.op.name, names(parts), parts[1].value_index]


def equal_names_are_made_different(tf, np):
    made = [tf.placeholder(tf.float32, [size], name="x") for size in range(1, 4)]
    made.append(tf.placeholder(tf.float32, [1], name="x_1"))
    made.append(tf.placeholder(tf.float32, [1], name="X"))
    return names(made)


def names_that_are_refused(tf, np):
    bad = ["a b", "_a", "a:b", "-", "a$"]
    return [raised(lambda name=name: tf.placeholder(tf.float32, name=name)) for name in bad]


def unique_name(tf, np):
    graph = tf.get_default_graph()
    taken = [graph.unique_name("n"), graph.unique_name("n"), graph.unique_name("n_1")]
    return [*taken, graph.unique_name("n", mark_as_used=False), graph.unique_name("n")]


def name_scope_nesting(tf, np):
    found = []
    with tf.name_scope("outer") as outer:
        found += [outer, tf.placeholder(tf.float32, name="a").name]
        with tf.name_scope("inner") as inner:
            found += [inner, tf.placeholder(tf.float32, name="b").name]
        found.append(tf.placeholder(tf.float32, name="c").name)
    return [*found, tf.placeholder(tf.float32, name="d").name]


def name_scope_entered_twice(tf, np):
    found = []
    for _ in range(3):
        with tf.name_scope("scope") as scope:
            found += [scope, tf.placeholder(tf.float32, name="a").name]
    return found


def name_scope_reopened(tf, np):
    with tf.name_scope("scope") as scope:
        first = tf.placeholder(tf.float32, name="a")
    with tf.name_scope(scope):
        second = tf.placeholder(tf.float32, name="b")
    with tf.name_scope("other"), tf.name_scope(scope):
        third = tf.placeholder(tf.float32, name="c")
    return names([first, second, third])


def name_scope_left_for_the_root(tf, np):
    with tf.name_scope("scope"):
        with tf.name_scope(None) as root:
            a = tf.placeholder(tf.float32, name="a")
        with tf.name_scope(""):
            b = tf.placeholder(tf.float32, name="b")
    return [root, a.name, b.name]


def name_scope_default_name(tf, np):
    x = tf.placeholder(tf.float32, name="x")
    with tf.name_scope(None, "default", [x]) as scope:
        first = scope
    with tf.name_scope("given", "default", [x]) as scope:
        second = scope
    return [first, second]


def get_name_scope(tf, np):
    graph = tf.get_default_graph()
    found = [graph.get_name_scope()]
    with tf.name_scope("a"), graph.name_scope("b"):
        found.append(graph.get_name_scope())
    return found


def finding_operations_and_tensors(tf, np):
    with tf.name_scope("part"):
        x = tf.placeholder(tf.float32, [3], name="x")
    graph = tf.get_default_graph()
    return [
        graph.get_tensor_by_name("part/x:0") is x,
        graph.get_operation_by_name("part/x") is x.op,
        graph.as_graph_element("part/x") is x.op,
        graph.as_graph_element("part/x:0") is x,
        graph.as_graph_element(x) is x,
        graph.as_graph_element(x.op) is x.op,
    ]


def finding_what_is_not_there(tf, np):
    x = tf.placeholder(tf.float32, [3], name="x")
    graph = tf.get_default_graph()
    return [
        raised(lambda: graph.get_tensor_by_name("y:0")),
        raised(lambda: graph.get_tensor_by_name("x:1")),
        raised(lambda: graph.get_tensor_by_name("x")),
        raised(lambda: graph.get_operation_by_name("y")),
        raised(lambda: graph.get_operation_by_name("x:0")),
        raised(lambda: graph.get_tensor_by_name(x)),
        raised(lambda: graph.as_graph_element(3)),
        raised(lambda: graph.as_graph_element(x, allow_tensor=False)),
        raised(lambda: graph.as_graph_element(x.op, allow_operation=False)),
    ]


def finding_in_another_graph(tf, np):
    x = tf.placeholder(tf.float32, [3], name="x")
    other = tf.Graph()
    return [raised(lambda: other.as_graph_element(x)), raised(lambda: other.as_graph_element(x.op))]


def variable_as_graph_element(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1.0, 2.0]))
    element = tf.get_default_graph().as_graph_element(v)
    with tf.Session() as session:
        session.run(v.initializer)
        return [element.dtype.base_dtype, element.shape, session.run(element)]


def operation_types(tf, np):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    made = [
        x,
        x + x,
        x - x,
        x * x,
        x / x,
        -x,
        tf.matmul(x, x),
        tf.tanh(x),
        tf.nn.relu(x),
        tf.reduce_sum(x, 1),
        tf.reduce_mean(x, 0),
        tf.reshape(x, [4]),
        tf.transpose(x),
        tf.concat([x, x], 0),
        tf.stack([x, x]),
        tf.cast(x, tf.int32),
        tf.identity(x),
        tf.nn.softmax(x),
        tf.exp(x),
        tf.square(x),
        tf.maximum(x, x),
        tf.gather(x, [0]),
        tf.constant(1.0),
        tf.argmax(x, 1),
        tf.less(x, x),
        tf.shape(x),
        tf.squeeze(x[:1]),
        tf.expand_dims(x, 0),
        tf.tile(x, [1, 2]),
        x[0],
        tf.stop_gradient(x),
        tf.pow(x, x),
    ]
    return [tensor.op.type for tensor in made]


def operation_inputs_and_outputs(tf, np):
    x = tf.placeholder(tf.float32, [4, 2], name="x")
    parts = tf.split(x, 2, name="parts")
    total = tf.add(parts[0], parts[1], name="total")
    op = parts[0].op
    return {
        "outputs": names(op.outputs),
        "same": op.outputs[1] is parts[1],
        "values": names(op.values()),
        "inputs of total": names(total.op.inputs),
        "length": len(total.op.inputs),
        "first": total.op.inputs[0] is parts[0],
        "graph": op.graph is tf.get_default_graph(),
    }


def consumers_of_a_tensor(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    kept = [tf.add(x, y, name="a"), tf.multiply(x, x, name="b"), tf.negative(y, name="c")]
    return [sorted(set(names(x.consumers()))), sorted(set(names(y.consumers()))), len(kept)]


def operation_attributes(tf, np):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    product = tf.matmul(x, x, transpose_b=True).op
    image = tf.placeholder(tf.float32, [1, 4, 4, 1])
    pool = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID").op
    return [
        x.op.get_attr("dtype"),
        product.get_attr("T"),
        product.get_attr("transpose_a"),
        product.get_attr("transpose_b"),
        list(pool.get_attr("ksize")),
        pool.get_attr("padding"),
        tf.reduce_sum(x, 1, keepdims=True).op.get_attr("keep_dims"),
        tf.cast(x, tf.int32).op.get_attr("DstT"),
        raised(lambda: x.op.get_attr("nothing")),
    ]


def tensor_attributes(tf, np):
    x = tf.placeholder(tf.int64, [None, 3], name="x")
    return {
        "name": x.name,
        "dtype": x.dtype,
        "shape": x.shape,
        "get_shape": x.get_shape(),
        "list": x.shape.as_list(),
        "rank": x.shape.ndims,
        "index": x.value_index,
        "device": x.device,
        "graph": x.graph is tf.get_default_graph(),
        "op": x.op.outputs[0] is x,
    }


def tensors_have_no_truth_or_items(tf, np):
    x = tf.placeholder(tf.float32, [None], name="x")
    return [
        raised(lambda: bool(x)),
        raised(lambda: list(x)),
        raised(lambda: len(x)),
        raised(lambda: float(x)),
        raised(lambda: np.asarray(x)),
        raised(lambda: x.numpy()),
    ]


def tensors_as_keys(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    table = {x: "x", y: "y"}
    return [table[x], table[y], x in table, x == x, x == y, x != y, x.ref() == x.ref()]


def rows_are_unstacked(tf, np):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return [raised(lambda: list(x)), run(tf, tf.unstack(x))]


def collections(tf, np):
    graph = tf.get_default_graph()
    tf.add_to_collection("mine", 1)
    graph.add_to_collection("mine", "two")
    tf.add_to_collections(["mine", "yours"], 3)
    copy = tf.get_collection("mine")
    copy.append("lost")
    tf.get_collection_ref("mine").append(4)
    found = [tf.get_collection("mine"), graph.get_collection("yours"), tf.get_collection("none")]
    keys = sorted(graph.get_all_collection_keys())
    graph.clear_collection("mine")
    return [*found, keys, tf.get_collection("mine")]


def collections_of_a_scope(tf, np):
    for scope in ("left", "right"):
        with tf.variable_scope(scope):
            tf.get_variable("v", [1])
    key = tf.GraphKeys.GLOBAL_VARIABLES
    return [names(tf.get_collection(key, scope)) for scope in (None, "left", "r.*t/", "ight")]


def collection_keys(tf, np):
    keys = "GLOBAL_VARIABLES LOCAL_VARIABLES TRAINABLE_VARIABLES UPDATE_OPS LOSSES"
    keys += " REGULARIZATION_LOSSES GLOBAL_STEP MOVING_AVERAGE_VARIABLES SUMMARIES INIT_OP"
    return [getattr(tf.GraphKeys, key) for key in keys.split()]


def devices(tf, np):
    with tf.device("/cpu:0"):
        a = tf.placeholder(tf.float32, name="a")
        with tf.device(None):
            b = tf.placeholder(tf.float32, name="b")
    with tf.device("/job:worker/task:3"), tf.device("/device:CPU:1"):
        c = tf.placeholder(tf.float32, name="c")
    with tf.device(lambda op: "/cpu:0" if op.type == "Placeholder" else ""):
        d = tf.placeholder(tf.float32, name="d")
    return [a.device, b.device, c.op.device, d.device]


def run_on_a_device(tf, np):
    with tf.device("/cpu:0"):
        y = tf.constant([1.0, 2.0]) * 2.0
    return run(tf, y)


def control_dependencies_seen(tf, np):
    a = tf.placeholder(tf.float32, [1], name="a")
    b = tf.placeholder(tf.float32, [2], name="b")
    with tf.control_dependencies([a]):
        c = tf.negative(b, name="c")
        with tf.control_dependencies([b.op]):
            d = tf.placeholder(tf.float32, [3], name="d")
        with tf.control_dependencies(None):
            e = tf.placeholder(tf.float32, [4], name="e")
    return [sorted(names(x.op.control_inputs)) for x in (c, d, e)]


def control_dependency_runs_what_it_names(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        y = tf.identity(tf.constant(5.0))
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(y), session.run(v), session.run(y), session.run(v)]


def control_dependencies_order_prints(tf, np):
    seen = []
    first = tf.py_func(lambda: seen.append("first") or np.float32(1), [], tf.float32)
    with tf.control_dependencies([first]):
        second = tf.py_func(lambda: seen.append("second") or np.float32(2), [], tf.float32)
    run(tf, second)
    return seen


def control_dependency_of_what_is_no_graph_element(tf, np):
    def bad():
        with tf.control_dependencies([3.0]):
            pass

    return raised(bad)


def grouping(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    both = tf.group(tf.assign_add(v, 1.0), tf.assign_add(w, 1.0), name="both")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        result = session.run(both)
        return [result, both.name, both.type, session.run([v, w])]


def group_of_nothing(tf, np):
    return [run(tf, tf.group()), run(tf, tf.no_op())]


def tuples_wait_for_each_other(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    added = tf.assign_add(v, 1.0).op
    a, b = tf.tuple([tf.constant(3.0), tf.constant([4.0])], control_inputs=[added])
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(a), session.run(v), session.run(b), session.run(v)]


def identity_and_stop_gradient_values(tf, np):
    x = tf.constant([1.0, -2.0])
    return run(tf, [tf.identity(x), tf.stop_gradient(x), tf.identity_n([x, x * 2])])


def finalized_graphs_stay(tf, np):
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x * 2.0
    before = graph.finalized
    graph.finalize()
    with tf.Session() as session:
        value = session.run(y, {x: [1.0, 2.0]})
    return [before, graph.finalized, value, raised(lambda: x * 3.0), raised(lambda: tf.Variable(1))]


def feedable_and_fetchable(tf, np):
    graph = tf.get_default_graph()
    x = tf.constant(1.0)
    y = x + 1.0
    graph.prevent_feeding(y)
    graph.prevent_fetching(x.op)
    with tf.Session() as session:
        return [
            graph.is_feedable(x),
            graph.is_feedable(y),
            graph.is_fetchable(y.op),
            graph.is_fetchable(x.op),
            raised(lambda: session.run(y, {y: 3.0})),
        ]


def graph_seed(tf, np):
    graph = tf.get_default_graph()
    before = graph.seed
    tf.set_random_seed(7)
    return [before, graph.seed]


def values_that_meet_a_tensor(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    made = [x + 1, 2 - x, x * np.float32(3), x / [1.0, 2.0], x**2, x // 2, x % 2, -x, abs(x)]
    return [[y.dtype for y in made], run(tf, made, {x: [3.0, -4.0]})]


def values_that_do_not_fit_a_tensor(tf, np):
    x = tf.placeholder(tf.int32, [2], name="x")
    y = tf.placeholder(tf.float64, [2], name="y")
    return [
        raised(lambda: x + 1.5),
        raised(lambda: x + y),
        raised(lambda: x + "text"),
        raised(lambda: y + tf.constant(1.0)),
        raised(lambda: tf.add(x, tf.zeros([3], tf.int32))),
    ]


def conversion_of_nests(tf, np):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.convert_to_tensor([[x, 1.0], [2.0, x * 2]])
    return [y.shape.as_list(), run(tf, y, {x: 5.0})]


def name_attribute_of_results(tf, np):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    made = [
        tf.reduce_sum(x, name="total"),
        tf.nn.relu(x, name="active"),
        tf.reshape(x, [-1], name="flat"),
        tf.constant(3, name="three"),
        tf.gather(x, [1], name="row"),
        tf.concat([x, x], 1, name="wide"),
        tf.identity(x, name="same"),
        tf.nn.softmax(x, name="chances"),
    ]
    return names(made)


PROGRAMS = [
    default_graph_nesting,
    default_graph_after_an_error,
    reset_within_a_graph,
    session_makes_its_graph_default,
    operations_in_order_of_creation,
    names_of_explicit_operations,
    equal_names_are_made_different,
    names_that_are_refused,
    unique_name,
    name_scope_nesting,
    name_scope_entered_twice,
    name_scope_reopened,
    name_scope_left_for_the_root,
    name_scope_default_name,
    get_name_scope,
    finding_operations_and_tensors,
    finding_what_is_not_there,
    finding_in_another_graph,
    variable_as_graph_element,
    operation_types,
    operation_inputs_and_outputs,
    consumers_of_a_tensor,
    operation_attributes,
    tensor_attributes,
    tensors_have_no_truth_or_items,
    tensors_as_keys,
    rows_are_unstacked,
    collections,
    collections_of_a_scope,
    collection_keys,
    devices,
    run_on_a_device,
    control_dependencies_seen,
    control_dependency_runs_what_it_names,
    control_dependencies_order_prints,
    control_dependency_of_what_is_no_graph_element,
    grouping,
    group_of_nothing,
    tuples_wait_for_each_other,
    identity_and_stop_gradient_values,
    finalized_graphs_stay,
    feedable_and_fetchable,
    graph_seed,
    values_that_meet_a_tensor,
    values_that_do_not_fit_a_tensor,
    conversion_of_nests,
    name_attribute_of_results,
]
