"""Sessions: what can be fetched and fed, in which forms, and what a session owns."""

import collections

from programs.support import raised, run

Pair = collections.namedtuple("Pair", ["left", "right"])


def fetch_one(tf, np):
    with tf.Session() as session:
        return [session.run(tf.constant(3)), session.run(tf.constant([1.5, 2.5]))]


def fetch_nests(tf, np):
    x = tf.constant([1.0, 2.0])
    fetches = {"a": x, "b": [x * 2.0, (x * 3.0, x + 1.0)], "c": {"d": tf.constant(7)}}
    return run(tf, fetches)


def fetch_a_namedtuple(tf, np):
    x = tf.constant([1.0, 2.0])
    got = run(tf, Pair(x, [x + 1.0]))
    return [got.left, got.right, type(got).__name__]


def fetch_an_ordered_dict(tf, np):
    fetches = collections.OrderedDict([("z", tf.constant(1)), ("a", tf.constant(2))])
    got = run(tf, fetches)
    return [list(got), type(got).__name__, got["z"], got["a"]]


def fetch_tuples_and_lists(tf, np):
    a, b = tf.constant(1), tf.constant(2)
    got = run(tf, (a, [b], ()))
    return [type(got).__name__, type(got[1]).__name__, got]


def fetch_nothing(tf, np):
    tf.constant(1.0)
    with tf.Session() as session:
        empty = [session.run([]), session.run({}), session.run(())]
        return [empty, raised(lambda: session.run(None)), raised(lambda: session.run([None]))]


def fetch_from_an_empty_graph(tf, np):
    with tf.Session() as session:
        return raised(lambda: session.run([]))


def fetch_what_cannot_be_fetched(tf, np):
    tf.constant(1.0)
    with tf.Session() as session:
        return [raised(lambda: session.run(3.0)), raised(lambda: session.run([object()]))]


def fetch_operations_gives_none(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        first = session.run(v.initializer)
        second = session.run([tf.no_op(), v, tf.constant(1.0).op])
        return [first, second]


def fetch_the_same_twice(tf, np):
    v = tf.get_variable("v", initializer=0.0)
    grown = tf.assign_add(v, 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run([grown, grown, {"again": grown}]), session.run(v)]


def fetch_by_name(tf, np):
    tf.constant([1.0, 2.0], name="x")
    with tf.Session() as session:
        return [
            session.run("x:0"),
            session.run(["x:0", "x"]),
            raised(lambda: session.run("y:0")),
            raised(lambda: session.run("x:1")),
        ]


def fetch_variables(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    w = tf.Variable(5, name="w")
    return run(tf, {"v": v, "w": w, "v0": v[0], "sum": v + 1.0})


def fetch_text(tf, np):
    x = tf.constant(["a", "bc"])
    return run(tf, [x, x[1], x + x])


def fetch_indexed_slices(tf, np):
    v = tf.get_variable("v", initializer=np.zeros((4, 2), np.float32))
    gradient = tf.gradients(tf.reduce_sum(tf.gather(v, [1, 1, 3]) * 2.0), v)[0]
    got = run(tf, gradient)
    return [type(got).__name__, got.values, got.indices, got.dense_shape]


def fetch_sparse_tensors(tf, np):
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
    got = run(tf, sparse)
    return [type(got).__name__, got.indices, got.values, got.dense_shape]


def feed_a_sparse_placeholder(tf, np):
    x = tf.sparse_placeholder(tf.float32, [3, 2])
    value = tf.SparseTensorValue([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
    return run(tf, tf.sparse_tensor_to_dense(x), {x: value})


def feed_placeholders(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.placeholder(tf.float32)
    return run(tf, x * y, {x: np.float32([1, 2]), y: np.float32(3)})


def feed_lists_and_scalars(tf, np):
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.placeholder(tf.int32, [])
    z = tf.placeholder(tf.bool)
    fetches = [x * 2.0, y + 1, tf.logical_not(z)]
    return run(tf, fetches, {x: [[1, 2], [3, 4]], y: 5, z: [True, False]})


def feed_converts_to_the_dtype(tf, np):
    x = tf.placeholder(tf.float32)
    n = tf.placeholder(tf.int32)
    fetches = [tf.identity(x), tf.identity(n)]
    first = run(tf, fetches, {x: np.float64(1.25), n: np.int64(3)})
    second = run(tf, fetches, {x: True, n: np.array([1.0, 2.0])})
    return [first, second]


def feed_text(tf, np):
    x = tf.placeholder(tf.string, [None])
    return run(tf, [x, tf.concat([x, x], 0)], {x: ["one", b"three"]})


def feed_intermediate_tensors(tf, np):
    x = tf.constant(2.0)
    y = x * 3.0
    z = y + 1.0
    with tf.Session() as session:
        return [session.run(z), session.run(z, {y: 10.0}), session.run([x, y, z], {x: 1.0})]


def feed_skips_what_is_above(tf, np):
    x = tf.placeholder(tf.float32, [])
    y = tf.identity(x)
    z = y + 1.0
    with tf.Session() as session:
        return [session.run(z, {y: 4.0}), raised(lambda: session.run(z))]


def feed_a_variable_read(tf, np):
    v = tf.get_variable("v", initializer=3.0)
    read = v.read_value()
    y = read * 2.0
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(y), session.run(y, {read: 5.0}), session.run(v)]


def feed_by_name(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.multiply(x, x, name="y")
    with tf.Session() as session:
        return [session.run("y:0", {"x:0": [1.0, 3.0]}), session.run(y, {"x:0": [2.0, 2.0]})]


def feed_what_cannot_be_fed(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x * 2.0
    with tf.Session() as session:
        return [
            raised(lambda: session.run(y, {"nothing:0": 1.0})),
            raised(lambda: session.run(y, {3: 1.0})),
            raised(lambda: session.run(y, {x: tf.constant([1.0, 2.0])})),
            raised(lambda: session.run(y, [1.0, 2.0])),
            session.run(y, {x: [1.0, 2.0]}),
        ]


def feed_and_fetch_the_same(tf, np):
    x = tf.placeholder(tf.float32, [None])
    return run(tf, [x, x], {x: [1.0, 2.0, 3.0]})


def fed_array_is_not_the_fetched_one(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.identity(x)
    given = np.float32([1, 2])
    with tf.Session() as session:
        got = session.run(y, {x: given})
        got[0] = 9
        return [given, session.run(y, {x: given})]


def fetched_variable_is_a_snapshot(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    with tf.Session() as session:
        session.run(v.initializer)
        before = session.run(v)
        session.run(tf.assign_add(v, [10.0, 10.0]))
        return [before, session.run(v)]


def non_contiguous_feeds(tf, np):
    x = tf.placeholder(tf.float64, [3, 2])
    given = np.arange(12.0).reshape(2, 6)[:, ::2].T
    return run(tf, [x * 1.0, tf.reduce_sum(x, 0)], {x: given})


def big_endian_and_other_feeds(tf, np):
    x = tf.placeholder(tf.float32, [2])
    return run(tf, x + 1.0, {x: np.array([1, 2], ">f4").astype(np.float32)})


def feeds_of_every_dtype(tf, np):
    kinds = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 bool complex64 complex128"
    holders = [tf.placeholder(kind, [2]) for kind in kinds.split()]
    results = [tf.identity(holder) for holder in holders]
    feeds = {h: np.array([1, 0], h.dtype.as_numpy_dtype) for h in holders}
    return run(tf, results, feeds)


def eval_and_run_methods(tf, np):
    x = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=1.0)
    y = x * 2.0
    with tf.Session() as session:
        v.initializer.run()
        found = [y.eval({x: 3.0}), y.eval(feed_dict={x: 4.0}, session=session), v.eval()]
        tf.assign_add(v, 5.0).op.run()
        return [*found, v.eval(session)]


def eval_without_a_session(tf, np):
    x = tf.constant(1.0)
    return [raised(lambda: x.eval()), raised(lambda: x.op.run())]


def two_sessions_have_their_own_variables(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    grow = tf.assign_add(v, 1.0)
    first, second = tf.Session(), tf.Session()
    first.run(v.initializer)
    second.run(v.initializer)
    first.run(grow)
    first.run(grow)
    second.run(grow)
    found = [first.run(v), second.run(v)]
    first.close()
    found.append(second.run(v))
    second.close()
    return found


def second_session_starts_uninitialized(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(v.initializer)
    with tf.Session() as session:
        return raised(lambda: session.run(v))


def session_of_an_explicit_graph(tf, np):
    graph = tf.Graph()
    with graph.as_default():
        y = tf.constant(2.0) * 3.0
    with tf.Session(graph=graph) as session:
        return [session.run(y), session.graph is graph]


def graph_grows_between_runs(tf, np):
    x = tf.placeholder(tf.float32, [])
    found, y = [], x
    with tf.Session() as session:
        for _ in range(4):
            y = y * 2.0 + 1.0
            found.append(session.run(y, {x: 1.0}))
        v = tf.get_variable("late", initializer=4.0)
        session.run(v.initializer)
        return [*found, session.run(v + y, {x: 0.0})]


def closed_session(tf, np):
    y = tf.constant(1.0)
    session = tf.Session()
    value = session.run(y)
    session.close()
    session.close()
    return [value, raised(lambda: session.run(y))]


def session_after_its_block(tf, np):
    y = tf.constant(1.0)
    with tf.Session() as session:
        pass
    return raised(lambda: session.run(y))


def as_default_does_not_close(tf, np):
    y = tf.constant(1.0)
    session = tf.Session()
    with session.as_default() as same:
        found = [y.eval(), same is session]
    found.append(session.run(y))
    session.close()
    return found


def nested_default_sessions(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as outer:
        outer.run(v.initializer)
        with tf.Session() as inner:
            inner.run(v.initializer)
            tf.assign(v, 5.0).eval()
            inside = [tf.get_default_session() is inner, v.eval()]
        return [*inside, tf.get_default_session() is outer, v.eval()]


def interactive_session(tf, np):
    session = tf.InteractiveSession()
    x = tf.constant([1.0, 2.0])
    found = [x.eval(), tf.reduce_sum(x).eval(), tf.get_default_session() is session]
    session.close()
    return [*found, tf.get_default_session() is None]


def make_callable_without_feeds(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        grow = session.make_callable(tf.assign_add(v, 1.0))
        return [grow(), grow(), session.run(v)]


def make_callable_with_feeds(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        call = session.make_callable({"sum": x + y, "many": [x * y]}, feed_list=[x, y])
        both = call(np.float32([1, 2]), np.float32(3))
        nothing = session.make_callable(tf.no_op())
        return [both, call([3.0, 4.0], 5.0), nothing()]


def configuration_is_accepted(tf, np):
    config = tf.ConfigProto(
        allow_soft_placement=True,
        log_device_placement=False,
        inter_op_parallelism_threads=1,
        intra_op_parallelism_threads=1,
        device_count={"CPU": 1},
        gpu_options=tf.GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.5),
    )
    config.gpu_options.allow_growth = True
    with tf.Session(config=config) as session:
        return session.run(tf.constant(1.0) + 1.0)


def run_options_and_metadata(tf, np):
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=10000)
    metadata = tf.RunMetadata()
    y = tf.reduce_sum(tf.placeholder_with_default(np.ones((3, 3), np.float32), [3, 3], name="x"))
    with tf.Session() as session:
        value = session.run(y, options=options, run_metadata=metadata)
    devices = metadata.step_stats.dev_stats
    return [value, len(devices) > 0, any(len(device.node_stats) > 0 for device in devices)]


def a_failed_run_leaves_the_session_usable(tf, np):
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.linalg.inv(x)
    with tf.Session() as session:
        first = raised(lambda: session.run(y, {x: [[1.0, 2.0, 3.0]]}))
        second = raised(lambda: session.run(y, {x: [[0.0, 0.0], [0.0, 0.0]]}))
        return [first, second, session.run(y, {x: [[2.0, 0.0], [0.0, 4.0]]})]


def only_what_is_fetched_runs(tf, np):
    bad = tf.check_numerics(tf.constant(0.0) / 0.0, "bad")
    v = tf.get_variable("v", initializer=1.0)
    tf.assign_add(v, 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(v), session.run(v), raised(lambda: session.run(bad))]


def session_lists_devices(tf, np):
    with tf.Session() as session:
        return [device.device_type for device in session.list_devices()][:1]


def threads_share_a_session(tf, np):
    import threading

    x = tf.placeholder(tf.float32, [])
    y = x * x
    found = {}
    with tf.Session() as session:
        work = [
            threading.Thread(target=lambda n=n: found.update({n: session.run(y, {x: float(n)})}))
            for n in range(6)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    return [float(found[n]) for n in range(6)]


def other_threads_have_their_own_default(tf, np):
    import threading

    graph, seen = tf.get_default_graph(), []
    thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph() is graph))
    thread.start()
    thread.join()
    return seen


def containers_keep_their_type(tf, np):
    from collections import OrderedDict, UserDict, defaultdict, namedtuple

    class Own(dict):
        pass

    pair = namedtuple("pair", "a b")
    c, d = tf.constant(1.0), tf.constant(2.0)
    fetches = [
        defaultdict(list, {"b": c, "a": d}),
        OrderedDict(b=c, a=d),
        Own(b=c, a=d),
        pair(c, d),
        UserDict(b=c, a=d),
        {"k": defaultdict(int, z=[c, (d,)])},
    ]
    with tf.Session() as session:
        found = session.run(fetches)
    kinds = [type(x).__name__ for x in (*found, found[-1]["k"])]
    keys = [list(x) for x in found if not isinstance(x, tuple)]
    return [kinds, keys, [found[0].default_factory is list, found[-1]["k"]["absent"]]]


def errors_of_running(tf, np):
    """`eval` and `run` of operations raise what `session.run` raises."""
    x = tf.placeholder(tf.int32)
    y = tf.roll(x, 1, 0)
    v = tf.Variable([1.0, 2.0])
    failing = tf.debugging.assert_equal(x, 1)
    with tf.Session() as session:
        return [
            raised(lambda: y.eval({x: 7})),
            raised(lambda: session.run(y, {x: 7})),
            raised(lambda: y.op.run({x: 7})),
            raised(lambda: failing.run({x: 2})),
            raised(v.eval),
            raised(lambda: session.run(v)),
            raised(lambda: y.eval()),
        ]


def sparse_lookups_without_weights(tf, np):
    ids = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([0, 1, 0], tf.int64), [2, 2])
    table = tf.constant([[1.0], [3.0]])
    return run(
        tf,
        [
            tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum"),
            tf.nn.embedding_lookup_sparse(table, ids, sp_weights=None, combiner="mean"),
            tf.nn.safe_embedding_lookup_sparse(table, ids, None, "sqrtn"),
        ],
    )


PROGRAMS = [
    containers_keep_their_type,
    fetch_one,
    fetch_nests,
    fetch_a_namedtuple,
    fetch_an_ordered_dict,
    fetch_tuples_and_lists,
    fetch_nothing,
    fetch_from_an_empty_graph,
    fetch_what_cannot_be_fetched,
    fetch_operations_gives_none,
    fetch_the_same_twice,
    fetch_by_name,
    fetch_variables,
    fetch_text,
    fetch_indexed_slices,
    fetch_sparse_tensors,
    feed_a_sparse_placeholder,
    feed_placeholders,
    feed_lists_and_scalars,
    feed_converts_to_the_dtype,
    feed_text,
    feed_intermediate_tensors,
    feed_skips_what_is_above,
    feed_a_variable_read,
    feed_by_name,
    feed_what_cannot_be_fed,
    feed_and_fetch_the_same,
    fed_array_is_not_the_fetched_one,
    fetched_variable_is_a_snapshot,
    non_contiguous_feeds,
    big_endian_and_other_feeds,
    feeds_of_every_dtype,
    eval_and_run_methods,
    eval_without_a_session,
    two_sessions_have_their_own_variables,
    second_session_starts_uninitialized,
    session_of_an_explicit_graph,
    graph_grows_between_runs,
    closed_session,
    session_after_its_block,
    as_default_does_not_close,
    nested_default_sessions,
    interactive_session,
    make_callable_without_feeds,
    make_callable_with_feeds,
    configuration_is_accepted,
    run_options_and_metadata,
    a_failed_run_leaves_the_session_usable,
    only_what_is_fetched_runs,
    session_lists_devices,
    threads_share_a_session,
    other_threads_have_their_own_default,
    errors_of_running,
    sparse_lookups_without_weights,
]
