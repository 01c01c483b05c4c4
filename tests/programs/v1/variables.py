"""Variables in a session: creating, initializing, assigning, reading in order."""

from programs.support import names, raised, run, static


def variable_and_its_value(tf, np):
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as session:
        session.run(v.initializer)
        return {
            "name": v.name,
            "op name": v.op.name,
            "dtype": v.dtype.base_dtype,
            "shape": static(v),
            "values": session.run([v, v.value(), v.read_value(), v.initial_value, v + 1.0]),
        }


def variable_names_are_made_different(tf, np):
    made = [tf.Variable(float(n)) for n in range(3)] + [
        tf.Variable(float(n), name="w") for n in "12"
    ]
    with tf.name_scope("scope"):
        made.append(tf.Variable(5.0, name="w"))
    return names(made)


def variable_from_many_things(tf, np):
    made = [
        tf.Variable(3),
        tf.Variable(np.float64([1.5])),
        tf.Variable([[True], [False]]),
        tf.Variable("text"),
        tf.Variable([1, 2], dtype=tf.float32),
        tf.Variable(tf.zeros([2, 2]) + 1.0),
        tf.Variable(lambda: tf.constant([4.0]), dtype=tf.float32),
        tf.Variable(1.0, trainable=False),
    ]
    return [[v.dtype.base_dtype for v in made], run(tf, made), len(tf.trainable_variables())]


def variable_uses_another_in_its_initial_value(tf, np):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=False)
    w = tf.Variable(v.initialized_value() * 2.0, name="w", use_resource=False)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(w.initializer)
        return session.run([v, w])


def resource_and_reference_variables(tf, np):
    found = []
    for use_resource in (True, False):
        v = tf.Variable([1.0, 2.0], use_resource=use_resource)
        with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
            after = v.read_value()
        with tf.Session() as session:
            session.run(v.initializer)
            found.append([session.run(v), session.run(after), session.run(v * 2.0)])
    return found


def uninitialized_variables(tf, np):
    v = tf.get_variable("v", [2])
    w = tf.get_variable("w", initializer=2.0)
    with tf.Session() as session:
        session.run(w.initializer)
        return [
            raised(lambda: session.run(v)),
            raised(lambda: session.run(v + 1.0)),
            session.run(tf.assign(v, [5.0, 6.0])),
            session.run(w),
        ]


def update_of_an_uninitialized_variable(tf, np):
    v = tf.get_variable("v", [2])
    update = tf.assign_add(v, [1.0, 1.0])
    with tf.Session() as session:
        return raised(lambda: session.run(update))


def error_names_the_uninitialized_variable(tf, np):
    v = tf.get_variable("the_weights", [2])
    with tf.Session() as session:
        try:
            session.run(v * 2.0)
        except tf.errors.FailedPreconditionError as error:
            return "the_weights" in str(error)
    return None


def asking_what_is_initialized(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    flags = [tf.is_variable_initialized(x) for x in (v, w)]
    report = tf.report_uninitialized_variables()
    some = tf.report_uninitialized_variables([w])
    check = tf.assert_variables_initialized()
    with tf.Session() as session:
        found = [session.run([flags, report, some]), raised(lambda: session.run(check))]
        session.run(v.initializer)
        found.append(session.run([flags, report, some]))
        session.run(w.initializer)
        return [*found, session.run([flags, report, some]), raised(lambda: session.run(check))]


def initializer_called_again_later(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(v, 9.0))
        w = tf.get_variable("w", initializer=2.0)
        failed = raised(lambda: session.run(w))
        session.run(tf.global_variables_initializer())
        return [failed, session.run([v, w])]


def initializer_of_some(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    with tf.Session() as session:
        session.run(tf.variables_initializer([w]))
        return [
            session.run(w),
            raised(lambda: session.run(v)),
            run(tf, tf.variables_initializer([])),
        ]


def assignments(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    with tf.Session() as session:
        session.run(v.initializer)
        return [
            session.run(tf.assign(v, [3.0, 4.0])),
            session.run(tf.assign_add(v, [1.0, 1.0])),
            session.run(tf.assign_sub(v, [0.5, 0.5])),
            session.run(v.assign([7.0, 8.0])),
            session.run(v.assign_add([1.0, 0.0])),
            session.run(v.assign_sub([0.0, 1.0])),
            session.run(v),
        ]


def assignment_of_the_wrong_kind(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    return [
        raised(lambda: tf.assign(v, [1.0, 2.0, 3.0])),
        raised(lambda: v.assign(["a", "b"])),
        raised(lambda: v.assign(tf.constant([1, 2]))),
        raised(lambda: v.assign_add([[1.0, 2.0], [3.0, 4.0]])),
    ]


def assignment_of_another_shape(tf, np):
    v = tf.Variable([1.0, 2.0], validate_shape=False, shape=tf.TensorShape([None]))
    longer = tf.assign(v, [1.0, 2.0, 3.0])
    with tf.Session() as session:
        session.run(v.initializer)
        before = session.run(v)
        session.run(longer.op)
        return [static(v), before, session.run(v), session.run(tf.shape(v.read_value()))]


def assignment_from_a_placeholder(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    x = tf.placeholder(tf.float32)
    put = tf.assign(v, x)
    with tf.Session() as session:
        session.run(v.initializer)
        first = session.run(put, {x: [5.0, 6.0]})
        failed = raised(lambda: session.run(put, {x: [5.0, 6.0, 7.0]}))
        return [first, failed, session.run(v)]


def counting_up_to(tf, np):
    v = tf.get_variable("v", initializer=0, use_resource=False)
    count = tf.count_up_to(v, 3)
    with tf.Session() as session:
        session.run(v.initializer)
        counted = [session.run(count) for _ in range(3)]
        return [counted, raised(lambda: session.run(count)), session.run(v)]


def loading_a_value(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    with tf.Session() as session:
        v.load([3.0, 4.0], session)
        first = session.run(v)
        v.load(np.float32([5, 6]))
        return [first, v.eval(), raised(lambda: v.load([1.0, 2.0, 3.0], session))]


def increment_run_many_times(tf, np):
    x = tf.Variable(1.0)
    increment_x = tf.assign(x, x + 1)
    with tf.Session() as session:
        session.run(x.initializer)
        for _ in range(100):
            session.run(increment_x)
        return session.run(x)


def read_before_and_after(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    before = v.read_value()
    with tf.control_dependencies([before]):
        write = tf.assign(v, 10.0)
    with tf.control_dependencies([write]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run([before, after]), session.run([before, after])]


def writes_in_a_chain(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        second = tf.assign(v, v.read_value() * 10.0)
    with tf.control_dependencies([second]):
        third = tf.assign_sub(v, 5.0)
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(third), session.run(third)]


def swap_of_two_variables(tf, np):
    v, w = (tf.get_variable(name, initializer=value) for name, value in [("v", 1.0), ("w", 2.0)])
    old_v, old_w = v.read_value(), w.read_value()
    with tf.control_dependencies([old_v, old_w]):
        swap = tf.group(tf.assign(v, old_w), tf.assign(w, old_v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(swap)
        return session.run([v, w])


def value_of_assign_used_further(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    y = tf.assign_add(v, 2.0) * 10.0
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(y), session.run(y), session.run(v)]


def variable_in_arithmetic(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    made = [
        v + 1,
        1 - v,
        v * v,
        v[0],
        -v,
        v / 2,
        v**2,
        abs(v),
        v > 1.5,
        tf.matmul(v[None], v[:, None]),
    ]
    return [run(tf, made), [y.dtype for y in made]]


def get_variable_forms(tf, np):
    made = [
        tf.get_variable("a", [2, 3]),
        tf.get_variable("b", initializer=np.int32([1, 2])),
        tf.get_variable("c", shape=[], dtype=tf.float64, initializer=tf.ones_initializer()),
        tf.get_variable("d", [2], initializer=tf.constant_initializer([4.0, 5.0])),
        tf.get_variable("e", [2], trainable=False, initializer=tf.zeros_initializer),
        tf.get_variable("f", initializer=lambda: tf.constant([3.0])),
        tf.get_variable("g", [2, 2], initializer=tf.initializers.identity()),
        tf.get_variable("h", [2], tf.int32, tf.zeros_initializer()),
        tf.get_variable("i", 4, initializer=tf.constant_initializer(2)),
    ]
    return [
        names(made),
        [static(v) for v in made],
        [v.dtype.base_dtype for v in made],
        run(tf, made[1:]),
    ]


def get_variable_errors(tf, np):
    tf.get_variable("v", [2])
    return [
        raised(lambda: tf.get_variable("v", [2])),
        raised(lambda: tf.get_variable("w")),
        raised(lambda: tf.get_variable("x", [None, 2])),
        raised(lambda: tf.get_variable("y", [3], initializer=np.float32([1, 2]))),
    ]


def variable_of_constant_initializers(tf, np):
    kinds = [
        tf.zeros_initializer(),
        tf.ones_initializer(dtype=tf.float64),
        tf.constant_initializer(7.0),
        tf.constant_initializer([1, 2, 3, 4, 5, 6]),
        tf.initializers.zeros(),
        tf.initializers.constant(2.5),
        tf.initializers.ones(),
    ]
    return run(tf, [kind([2, 3], dtype=tf.float32) for kind in kinds])


def variable_of_random_initializers(tf, np):
    kinds = {
        "uniform": tf.random_uniform_initializer(-1.0, 1.0, seed=1),
        "normal": tf.random_normal_initializer(5.0, 0.1, seed=1),
        "truncated": tf.truncated_normal_initializer(0.0, 1.0, seed=1),
        "glorot": tf.glorot_uniform_initializer(seed=1),
        "glorot normal": tf.glorot_normal_initializer(seed=1),
        "he": tf.initializers.he_normal(seed=1),
        "lecun": tf.initializers.lecun_uniform(seed=1),
        "scaled": tf.variance_scaling_initializer(scale=2.0, mode="fan_avg", seed=1),
        "orthogonal": tf.orthogonal_initializer(seed=1),
    }
    made = {
        key: tf.get_variable(key.replace(" ", "_"), [20, 10], initializer=kind)
        for key, kind in kinds.items()
    }
    values = run(tf, made)
    bounds = {"glorot": np.sqrt(6 / 30), "lecun": np.sqrt(3 / 20), "uniform": 1.0, "truncated": 2.0}
    inside = {key: bool(np.all(np.abs(values[key]) <= bound)) for key, bound in bounds.items()}
    product = values["orthogonal"].T @ values["orthogonal"]
    kinds = {key: [value.dtype.name, value.shape] for key, value in values.items()}
    return [kinds, inside, np.round(product, 4) + 0.0, bool(abs(values["normal"].mean() - 5) < 0.1)]


def random_initializer_runs_once(tf, np):
    v = tf.get_variable("v", [4], initializer=tf.random_normal_initializer())
    with tf.Session() as session:
        session.run(v.initializer)
        first, second = session.run(v), session.run(v)
        session.run(v.initializer)
        return [bool(np.all(first == second)), bool(np.all(first == session.run(v)))]


def variable_lists(tf, np):
    tf.get_variable("a", [1])
    tf.get_variable("b", [1], trainable=False)
    tf.get_variable("c", [1], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.Variable(1.0, name="d", collections=["mine"])
    tf.get_variable("e", [1], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    lists = [
        tf.global_variables(),
        tf.trainable_variables(),
        tf.local_variables(),
        tf.get_collection("mine"),
        tf.model_variables(),
        tf.moving_average_variables(),
        tf.all_variables(),
        tf.trainable_variables("a"),
        tf.global_variables(scope="b"),
    ]
    return [names(variables) for variables in lists]


def local_variables(tf, np):
    v = tf.get_local_variable("v", initializer=3.0)
    w = tf.get_variable("w", initializer=4.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        failed = raised(lambda: session.run(v))
        session.run(tf.local_variables_initializer())
        return [failed, session.run([v, w]), names(tf.local_variables())]


def global_step(tf, np):
    before = tf.train.get_global_step()
    step = tf.train.get_or_create_global_step()
    again = tf.train.get_or_create_global_step()
    increase = tf.assign_add(step, 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(increase)
        number = tf.train.global_step(session, step)
    return [
        before,
        step.name,
        step.dtype.base_dtype,
        again is step,
        number,
        tf.train.get_global_step() is step,
        names(tf.trainable_variables()),
        raised(lambda: tf.train.create_global_step()),
    ]


def constraint_is_kept(tf, np):
    v = tf.get_variable(
        "v", initializer=np.float32([-1, 2]), constraint=lambda x: tf.maximum(x, 0.0)
    )
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(v * 3.0))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(step)
        return [session.run(v), v.constraint is not None]


def a_failed_run_changes_nothing_before_the_failure(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    bad = tf.check_numerics(tf.log(tf.constant(-1.0)), "bad")
    with tf.control_dependencies([bad]):
        write = tf.assign(v, 9.0)
    with tf.Session() as session:
        session.run(v.initializer)
        return [raised(lambda: session.run(write)), session.run(v)]


def variables_of_another_graph(tf, np):
    with tf.Graph().as_default():
        v = tf.get_variable("v", [1])
        first = names(tf.global_variables())
    with tf.Graph().as_default():
        w = tf.get_variable("v", [1])
        return [first, names(tf.global_variables()), v is w]


def gradient_reaches_variables(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    w = tf.get_variable("w", initializer=3.0)
    y = tf.reduce_sum(v * v * w)
    return run(tf, tf.gradients(y, [v, w]))


def printed_forms(tf, np):
    v = tf.get_variable("v", [2, 3], dtype=tf.float64)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    return [repr(v), str(x), repr(x.op.name), str(x.dtype)]


PROGRAMS = [
    variable_and_its_value,
    variable_names_are_made_different,
    variable_from_many_things,
    variable_uses_another_in_its_initial_value,
    resource_and_reference_variables,
    uninitialized_variables,
    update_of_an_uninitialized_variable,
    error_names_the_uninitialized_variable,
    asking_what_is_initialized,
    initializer_called_again_later,
    initializer_of_some,
    assignments,
    assignment_of_the_wrong_kind,
    assignment_of_another_shape,
    assignment_from_a_placeholder,
    counting_up_to,
    loading_a_value,
    increment_run_many_times,
    read_before_and_after,
    writes_in_a_chain,
    swap_of_two_variables,
    value_of_assign_used_further,
    variable_in_arithmetic,
    get_variable_forms,
    get_variable_errors,
    variable_of_constant_initializers,
    variable_of_random_initializers,
    random_initializer_runs_once,
    variable_lists,
    local_variables,
    global_step,
    constraint_is_kept,
    a_failed_run_changes_nothing_before_the_failure,
    variables_of_another_graph,
    gradient_reaches_variables,
    printed_forms,
]
