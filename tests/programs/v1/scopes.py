"""Variable scopes: names, sharing, defaults handed down, getters."""

from programs.support import names, raised, run


def nested_scopes_name_variables(tf, np):
    with tf.variable_scope("outer"):
        a = tf.get_variable("v", [1])
        with tf.variable_scope("inner"):
            b = tf.get_variable("v", [1])
            c = tf.Variable([1.0], name="w")
    with tf.variable_scope("outer/inner"):
        d = tf.get_variable("u", [1])
    return names([a, b, c, d])


def name_scope_does_not_name_get_variable(tf, np):
    with tf.name_scope("ignored"):
        a = tf.get_variable("a", [1])
        b = tf.Variable([1.0], name="b")
        with tf.variable_scope("seen"):
            c = tf.get_variable("c", [1])
            d = tf.placeholder(tf.float32, name="d")
    return names([a, b, c, d])


def scope_entered_again_names_operations_anew(tf, np):
    made = []
    for _ in range(2):
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            made += [tf.get_variable("v", [1]), tf.placeholder(tf.float32, name="x")]
    return [names(made), made[0] is made[2]]


def reuse_gives_the_same_variable(tf, np):
    with tf.variable_scope("s"):
        v = tf.get_variable("v", initializer=np.float32([1, 2]))
    with tf.variable_scope("s", reuse=True):
        w = tf.get_variable("v", [2])
        u = tf.get_variable("v")
    return [v is w, w is u, len(tf.global_variables())]


def reuse_errors(tf, np):
    with tf.variable_scope("s"):
        tf.get_variable("v", [2])

    def get(name, shape, dtype=None, reuse=None):
        with tf.variable_scope("s", reuse=reuse):
            return tf.get_variable(name, shape, dtype)

    return [
        raised(lambda: get("v", [2])),
        raised(lambda: get("w", [2], reuse=True)),
        raised(lambda: get("v", [3], reuse=True)),
        raised(lambda: get("v", [2], tf.int32, reuse=True)),
        raised(lambda: get("v", [3], reuse=tf.AUTO_REUSE)),
        raised(lambda: get("v", [2], reuse=True)),
    ]


def auto_reuse(tf, np):
    def layer(x):
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            W = tf.get_variable("W", [2, 2], initializer=tf.ones_initializer())
            return tf.matmul(x, W)

    x = tf.constant([[1.0, 2.0]])
    return [run(tf, layer(layer(x))), names(tf.global_variables())]


def reuse_variables_method(tf, np):
    with tf.variable_scope("s") as scope:
        v = tf.get_variable("v", [1])
        before = scope.reuse
        scope.reuse_variables()
        w = tf.get_variable("v", [1])
        after = scope.reuse
    tf.get_variable_scope().reuse_variables()
    return [v is w, bool(before), bool(after), raised(lambda: tf.get_variable("new", [1]))]


def reuse_is_handed_down(tf, np):
    with tf.variable_scope("a"), tf.variable_scope("b"):
        v = tf.get_variable("v", [1])
    with tf.variable_scope("a", reuse=True):
        with tf.variable_scope("b"):
            w = tf.get_variable("v", [1])
        with tf.variable_scope("b", reuse=False):
            u = tf.get_variable("v", [1])
    return [v is w, w is u]


def scope_object_reopened(tf, np):
    with tf.variable_scope("outer") as scope:
        a = tf.get_variable("a", [1])
    with tf.variable_scope("elsewhere"):
        with tf.variable_scope(scope):
            b = tf.get_variable("b", [1])
            x = tf.placeholder(tf.float32, name="x")
        with tf.variable_scope(scope, reuse=True):
            c = tf.get_variable("a", [1])
    return [scope.name, scope.original_name_scope, names([a, b, x]), a is c]


def scope_without_name_scope(tf, np):
    with tf.variable_scope("s"):
        pass
    with tf.variable_scope("s", auxiliary_name_scope=False):
        a = tf.get_variable("a", [1])
        x = tf.placeholder(tf.float32, name="x")
    return names([a, x])


def default_names(tf, np):
    made = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer"):
            made.append(tf.get_variable("v", [1]))
    with tf.variable_scope("given", "layer"):
        made.append(tf.get_variable("v", [1]))
    return [names(made), raised(lambda: tf.variable_scope(None).__enter__())]


def default_initializer(tf, np):
    with tf.variable_scope("s", initializer=tf.constant_initializer(3.0)):
        a = tf.get_variable("a", [2])
        b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
        with tf.variable_scope("inner"):
            c = tf.get_variable("c", [1])
        with tf.variable_scope("other", initializer=tf.ones_initializer()) as scope:
            d = tf.get_variable("d", [1])
            scope.set_initializer(tf.constant_initializer(8.0))
            e = tf.get_variable("e", [1])
    return run(tf, [a, b, c, d, e])


def default_dtype(tf, np):
    with tf.variable_scope("s", dtype=tf.float64):
        a = tf.get_variable("a", [2])
        b = tf.get_variable("b", [2], dtype=tf.float32)
    return [v.dtype.base_dtype for v in (a, b)]


def regularizers(tf, np):
    def half_of_squares(x):
        return 0.5 * tf.reduce_sum(x * x)

    with tf.variable_scope("s", regularizer=half_of_squares, initializer=tf.ones_initializer()):
        tf.get_variable("a", [4])
        tf.get_variable("b", [2], regularizer=lambda x: tf.reduce_sum(tf.abs(x)))
        tf.get_variable("c", [2], regularizer=lambda x: None)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return run(tf, [losses, tf.losses.get_regularization_loss()])


def regularizer_once_for_a_shared_variable(tf, np):
    for _ in range(3):
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            tf.get_variable("v", [2], regularizer=lambda x: tf.reduce_sum(x))
    return len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))


def custom_getter(tf, np):
    asked = []

    def listening(getter, name, *arguments, **options):
        asked.append(name)
        return getter(name, *arguments, **options)

    with tf.variable_scope("s", custom_getter=listening):
        a = tf.get_variable("a", [1])
        with tf.variable_scope("t"):
            b = tf.get_variable("b", [1])
    return [asked, names([a, b])]


def custom_getter_changes_the_value(tf, np):
    def doubled(getter, *arguments, **options):
        return getter(*arguments, **options) * 2.0

    def increased(getter, *arguments, **options):
        return getter(*arguments, **options) + 1.0

    with (
        tf.variable_scope("outer", custom_getter=doubled),
        tf.variable_scope("inner", custom_getter=increased),
    ):
        v = tf.get_variable("v", initializer=5.0)
    return [run(tf, v), names(tf.global_variables())]


def getter_of_one_variable(tf, np):
    def negated(getter, *arguments, **options):
        return -getter(*arguments, **options)

    return run(tf, tf.get_variable("v", initializer=5.0, custom_getter=negated))


def scope_knows_its_name(tf, np):
    found = [tf.get_variable_scope().name]
    with tf.variable_scope("a"), tf.variable_scope("b") as scope:
        found += [tf.get_variable_scope().name, scope.name, tf.get_variable_scope() is scope]
    return [*found, tf.get_variable_scope().name]


def variables_of_a_scope(tf, np):
    with tf.variable_scope("s") as scope:
        tf.get_variable("a", [1])
        tf.get_variable("b", [1], trainable=False)
    tf.get_variable("c", [1])
    return [names(scope.global_variables()), names(scope.trainable_variables())]


def scope_after_an_error(tf, np):
    def fail():
        with tf.variable_scope("s"):
            raise KeyError("inside")

    return [raised(fail), tf.get_variable_scope().name, tf.get_variable("v", [1]).name]


def operation_scope(tf, np):
    with tf.variable_op_scope([tf.constant(1.0)], "given", "default"):
        v = tf.get_variable("v", [1])
    return v.name


def templates_share_variables(tf, np):
    def scaled(x, name):
        return x * tf.get_variable(name, initializer=3.0)

    template = tf.make_template("scale", scaled, name="factor")
    first, second = template(tf.constant(1.0)), template(tf.constant(2.0))
    return [run(tf, [first, second]), names(tf.global_variables())]


def no_regularizer(tf, np):
    with tf.variable_scope("s", regularizer=tf.no_regularizer):
        tf.get_variable("v", [1])
    return len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))


def optimizer_slots_within_a_scope(tf, np):
    with tf.variable_scope("model"):
        v = tf.get_variable("v", initializer=np.float32([1, 2]))
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v * v))
    return names(tf.global_variables())


PROGRAMS = [
    nested_scopes_name_variables,
    name_scope_does_not_name_get_variable,
    scope_entered_again_names_operations_anew,
    reuse_gives_the_same_variable,
    reuse_errors,
    auto_reuse,
    reuse_variables_method,
    reuse_is_handed_down,
    scope_object_reopened,
    scope_without_name_scope,
    default_names,
    default_initializer,
    default_dtype,
    regularizers,
    regularizer_once_for_a_shared_variable,
    custom_getter,
    custom_getter_changes_the_value,
    getter_of_one_variable,
    scope_knows_its_name,
    variables_of_a_scope,
    scope_after_an_error,
    operation_scope,
    templates_share_variables,
    no_regularizer,
    optimizer_slots_within_a_scope,
]
